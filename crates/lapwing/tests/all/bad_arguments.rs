//! No argument makes a function of the facade panic: what cannot be used is an error.

use std::sync::Arc;

use lapwing::data::params::{Parameters, Value, set_all};
use lapwing::data::read::{
    EdgeFile, EdgeOptions, LabelFileOptions, NodeOptions, ReadOptions, RowFile, read_graph, read_label_file,
    read_labels, read_named_graph, read_names, read_samples,
};
use lapwing::data::write::{LabelColumns, LabelWriter, LabeledRows, write_graph};
use lapwing::data::{
    Alone, ClassNames, Csr, Edge, GeneratedRows, RowNames, Scaling, SparseLabels, Standardizer, UNLABELED,
};
use lapwing::graph::learn::learn_graph;
use lapwing::graph::sparsify::{
    ResistanceMethod, RidgeParams, Sparsifier, SparsifyParams, effective_resistances, sparsify, sparsify_ridge,
};
use lapwing::graph::{KnnEdges, KnnParams, NeighborIndex, Neighbors, Weighting, kneighbors, query, weigh};
use lapwing::models::lapsvm::{FitOptions, KernelKind, ValidationSet};
use lapwing::models::split::{keep_labels, keep_labels_per_class};
use lapwing::models::{
    ClassPrior, Classifier, CompareParams, Extended, Keep, LapSvm, LapSvmParams, LowRank, LowRankParams, METHODS,
    Method, RowProblem, Rule, Settings, SizeParams, WithSizes, compare,
};
use lapwing::prelude::*;
use lapwing::solve::{
    EigenParams, LaplacianParams, LaplacianSolver, NormalizedSolver, Propagator, PropagatorParams, smallest_eigenpairs,
};
use lapwing::{Error, Result};

const N: usize = 40;

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

/// Two clusters of three columns.
fn rows(n: usize, d: usize) -> Features<'static> {
    let value = |at: usize| ((at * 37) % 101) as f32 / 101.0 + if (at / d).is_multiple_of(2) { 0.0 } else { 5.0 };
    Features::from_f32(n, d, (0..n * d).map(value).collect()).unwrap()
}

fn labels(n: usize) -> Labels {
    Labels::from_integers((0..n).map(|row| (row < 6).then_some((row % 2) as i64)))
}

fn targets(n: usize) -> Targets {
    Targets::one_hot(&labels(n), None).unwrap()
}

fn path(n: usize) -> Graph {
    Graph::from_edges(n, &(0..n as u32 - 1).map(|u| (u, u + 1, 1.0)).collect::<Vec<_>>()).unwrap()
}

#[track_caller]
fn refused<T>(result: Result<T>) -> Error {
    result.err().expect("an error")
}

#[test]
fn arrays_check_their_sizes() {
    refused(Matrix::new(usize::MAX, 2, vec![]));
    refused(Features::from_f64(2, 3, vec![0.0; 5]));
    refused(rows(3, 2).select(&[3]));
    refused(Csr::<f64>::new(2, 2, vec![0, 5, 1], vec![0], vec![1.0]));
    refused(Csr::<f64>::new(2, 2, vec![], vec![], vec![]));
    refused(Csr::from_entries(2, 2, &[(0, 2, 1.0)]));
    refused(Graph::new(Csr::from_entries(2, 3, &[(0, 2, 1.0)]).unwrap()));
    refused(Graph::from_edges(2, &[(0, 2, 1.0)]));
    refused(Graph::from_edges(2, &[(0, 1, f64::NAN)]));
    refused(GeneratedRows::new(10, 0, 3, 0));
    let standardizer = Standardizer::fit(&rows(9, 3), &run()).unwrap();
    refused(standardizer.apply(&rows(9, 2), &run()));
    refused(Standardizer { mean: vec![], ..standardizer }.apply(&rows(9, 2), &run()));
    refused(Edge { u: 0, v: 9, weight: 1.0 }.check(2, 0));
}

#[test]
fn labels_out_of_range_are_named() {
    let wrong = Labels { index: vec![0, 1, 7, -5, UNLABELED, 0, 1], ..labels(7) };
    assert!(refused(keep_labels(&wrong, 2, 0, &run())).to_string().contains("row 2 has class index 7"));
    refused(keep_labels_per_class(&wrong, 1, 0, &run()));
    refused(Targets::one_hot(&wrong, None));
    refused(Targets::one_hot(&labels(7), Some(&[1.0])));
    refused(Targets::regression(&[f64::NAN; 3], None));
    refused(Targets::new(3, vec![2, 1], Matrix::filled(2, 1, 0.0), vec![1.0; 2]));
    refused(Targets::new(3, vec![1], Matrix::filled(2, 1, 0.0), vec![1.0; 2]));
    refused(targets(9).moved(9, vec![1]));
    refused(targets(9).subset(|_| false));
    let sparse = SparseLabels { n_samples: 3, classes: ClassNames::Integers(vec![0]), rows: vec![9], index: vec![0] };
    refused(Targets::from_sparse(&sparse));
    assert!(lapwing::models::metrics::accuracy(&[0, 1], &[], |_| true).is_nan());
}

#[test]
fn neighbors_check_rows_and_lists() {
    let params = |n_neighbors| KnnParams { n_neighbors, ..Default::default() };
    let graph = |n_neighbors| GraphParams { n_neighbors, ..Default::default() };
    let edges =
        |n_neighbors| affinity_graph(&rows(9, 2), &graph(n_neighbors), &run()).map(|built| built.graph.n_edges());
    for n_neighbors in [0, 9, 1000, usize::MAX] {
        refused(kneighbors(&rows(9, 2), &params(n_neighbors), &run()));
        refused(learn_graph(&rows(9, 2), &graph(n_neighbors), None, &run()));
    }
    refused(edges(0));
    refused(KnnEdges::new(&rows(9, 2), &graph(0), &run()));
    // A graph has no more neighbors than there are.
    for n_neighbors in [9, 1000, usize::MAX] {
        assert_eq!(edges(n_neighbors).unwrap(), edges(8).unwrap());
        KnnEdges::new(&rows(9, 2), &graph(n_neighbors), &run()).unwrap();
    }
    refused(kneighbors(&Features::from_f32(0, 0, vec![]).unwrap(), &params(1), &run()));
    refused(query(&rows(9, 2), &rows(4, 3), &params(2), &run()));
    refused(query(&rows(9, 2), &rows(4, 2), &params(10), &run()));
    refused(NeighborIndex::build(&rows(1, 2), &params(1), &run()));
    let index = NeighborIndex::build(&rows(300, 2), &params(2), &run()).unwrap();
    refused(index.query(&rows(9, 2), &rows(4, 2), &params(2), &run()));
    refused(index.query(&rows(300, 2), &rows(4, 3), &params(2), &run()));
    for neighbors in [
        Neighbors { n_neighbors: 0, indices: vec![], distances: vec![] },
        Neighbors { n_neighbors: 0, indices: vec![1], distances: vec![1.0] },
        Neighbors { n_neighbors: 1, indices: vec![1, 9], distances: vec![1.0, 1.0] },
        Neighbors { n_neighbors: 2, indices: vec![1, 0, 0], distances: vec![1.0; 3] },
        Neighbors { n_neighbors: 1, indices: vec![1, 0], distances: vec![f32::NAN; 2] },
    ] {
        let _ = (neighbors.last(), neighbors.n_samples());
        refused(weigh(neighbors.clone(), &GraphParams::default(), &run()));
        refused(weigh(neighbors, &GraphParams { weights: Weighting::Learned, ..Default::default() }, &run()));
    }
}

#[test]
fn solvers_check_sizes_and_parameters() {
    let (graph, run) = (path(N), run());
    let params = LaplacianParams::default;
    refused(LaplacianSolver::new(&graph, Some(&[1.0]), params(), &run));
    refused(LaplacianSolver::new(&graph, Some(&[-1.0; N]), params(), &run));
    refused(LaplacianSolver::new(&graph, None, LaplacianParams { tol: f64::NAN, ..params() }, &run));
    refused(NormalizedSolver::new(&graph, f64::NAN, params(), &run));
    let solver = LaplacianSolver::new(&graph, Some(&[1.0; N]), params(), &run).unwrap();
    let (short, right) = (Matrix::filled(3, 1, 1.0), Matrix::filled(N, 1, 1.0));
    refused(solver.solve(&short, None, &run));
    refused(solver.solve(&right, Some(&short), &run));
    refused(solver.solve(Matrix::filled(N, 1, f64::NAN), None, &run));
    refused(solver.precondition(&short, &run));
    let _ = solver.solve(Matrix::filled(N, 0, 1.0), None, &run);
    let _ = LaplacianSolver::new(&Graph::from_edges(0, &[]).unwrap(), None, params(), &run)
        .and_then(|solver| solver.solve(Matrix::filled(0, 2, 1.0), None, &run));
    for n_pairs in [0, N + 1] {
        refused(smallest_eigenpairs(&graph, n_pairs, &EigenParams::default(), &run));
    }
    let smoothing = PropagatorParams::default;
    refused(Propagator::with_degrees(&graph, &[1.0], smoothing(), &run));
    let propagator = Propagator::new(&graph, smoothing(), &run).unwrap();
    refused(propagator.solve(&short, 1e-6, &run));
    for tol in [f64::NAN, 0.0, -1.0, 1.0] {
        refused(propagator.solve(&right, tol, &run));
    }
}

#[test]
fn sparsifiers_check_edges_and_parameters() {
    let (graph, run) = (path(N), run());
    let _ = Sparsifier::new(0, SparsifyParams::default(), &run).and_then(|sparsifier| sparsifier.finish(&run));
    let mut sparsifier = Sparsifier::new(3, SparsifyParams::default(), &run).unwrap();
    for edge in [(0, 3, 1.0), (7, 1, 1.0), (0, 1, f64::NAN), (0, 1, -1.0)] {
        let edge = Edge { u: edge.0, v: edge.1, weight: edge.2 };
        refused(sparsifier.add(&[edge], &run));
    }
    refused(Sparsifier::new(3, SparsifyParams::default(), &run).unwrap().with_probes(Matrix::filled(2, 1, 1.0)));
    refused(Sparsifier::from_bytes(&[1, 2, 3]));
    let edges = Csr::from_entries(2, 2, &[(0, 1, 1.0), (1, 0, 1.0)]).unwrap();
    let _ = sparsify(&edges, SparsifyParams::default(), &run);
    refused(effective_resistances(&graph, ResistanceMethod::Projection { n_projections: 0, tol: 0.1 }, &run));
    refused(effective_resistances(&graph, ResistanceMethod::Projection { n_projections: 2, tol: f64::NAN }, &run));
    for params in [
        RidgeParams::new(f64::NAN, 9),
        RidgeParams::new(1.0, 0),
        RidgeParams { n_projections: 0, ..RidgeParams::new(1.0, 9) },
    ] {
        refused(sparsify_ridge(&graph, &params, &run));
    }
    let _ = effective_resistances(&Graph::from_edges(0, &[]).unwrap(), ResistanceMethod::Exact, &run);
}

#[test]
fn every_method_checks_its_problem_and_its_new_rows() {
    let run = run();
    let params = MethodParams::default();
    assert!(method("no such method", &params).is_err());
    for spec in METHODS {
        let method = method(spec.name, &params).unwrap();
        let (fits, few, one) = (rows(N, 3), rows(5, 3), rows(1, 1));
        let (targets, of_one) = (targets(N), Targets::regression(&[1.0], None).unwrap());
        let wrong = AffinityGraph::given(path(9));
        refused(method.fit(&Problem { features: Some(&few), ..Problem::new(&targets) }, &run));
        refused(method.fit(&Problem { features: Some(&fits), graph: Some(&wrong), ..Problem::new(&targets) }, &run));
        let nan = Features::from_f32(N, 3, vec![f32::NAN; 3 * N]).unwrap();
        refused(method.fit(&Problem { features: Some(&nan), ..Problem::new(&targets) }, &run));
        // Problems without features, of one row, of one class or without columns: an error or a fit.
        let none = Features::from_f32(N, 0, vec![]).unwrap();
        let single = Targets::one_hot(&Labels::from_integers((0..N).map(|i| (i < 3).then_some(1))), None).unwrap();
        for problem in [
            Problem::new(&targets),
            Problem { features: Some(&one), ..Problem::new(&of_one) },
            Problem { features: Some(&none), ..Problem::new(&targets) },
            Problem { features: Some(&fits), ..Problem::new(&single) },
        ] {
            let _ = method.fit(&problem, &run);
        }
        let Ok(fitted) = method.fit(&Problem { features: Some(&fits), ..Problem::new(&targets) }, &run) else {
            continue;
        };
        let Some(extension) = fitted.extension else { continue };
        refused(extension.scores_of(&rows(4, 2), &run));
        refused(extension.extend(&Features::from_f32(1, 3, vec![f32::INFINITY; 3]).unwrap(), &run));
        let rule = Rule { prior: vec![1.0], ..fitted.rule.clone() };
        let classes = labels(N).classes;
        let (method, scaling) = (spec.name.into(), Scaling::None);
        let classifier = Classifier { method, classes, scaling, rule: fitted.rule, extension };
        let mut model = Model::from(classifier);
        assert_eq!(model.predict(&rows(4, 3), &run).unwrap().labels.len(), 4, "{}", spec.name);
        refused(model.predict_on(&rows(4, 3), &path(5), &run));
        model.classifier.rule = rule;
        refused(model.predict(&rows(4, 3), &run));
    }
}

#[test]
fn rules_sizes_and_comparisons_check_their_arguments() {
    let run = run();
    let rule = Rule {
        offset: vec![0.0; 2],
        scale: vec![1.0; 2],
        temperature: None,
        flattened: false,
        venn_abers: None,
        prior: vec![0.5; 2],
    };
    let scores = |c| Arc::new(Matrix::filled(N, c, 0.5));
    assert!(refused(rule.apply(scores(3))).to_string().contains("3 classes"));
    refused(rule.apply(scores(0)));
    refused(rule.apply_with_errors(Extended { scores: Matrix::filled(2, 2, 0.5), errors: Some(vec![0.0; 9]) }));
    let sizes = SizeParams { class_prior: ClassPrior::Given(vec![0.5, 0.5]), ..Default::default() };
    refused(sizes.decide(scores(3), rule.clone(), &targets(N), &run));
    refused(sizes.decide(scores(2), Rule { scale: vec![], ..rule.clone() }, &targets(N), &run));
    let three = SizeParams { class_prior: ClassPrior::Given(vec![0.5, 0.25, 0.25]), ..Default::default() };
    refused(three.decide(scores(2), rule, &targets(N), &run));
    let negative = SizeParams { class_prior: ClassPrior::Given(vec![-1.0, 2.0]), ..Default::default() };
    refused(WithSizes::new(method("harmonic", &MethodParams::default()).unwrap(), negative));
    let methods = [method("harmonic", &MethodParams::default()).unwrap()];
    let params = |n, repeats| CompareParams { keep: vec![Keep::Total(n)], repeats: Some(repeats), budget: None };
    refused(compare(Some(&rows(9, 2)), None, &labels(N), &methods, &params(2, 1), &run));
    refused(compare(None, None, &labels(N), &methods, &params(2, 1), &run));
    refused(compare(Some(&rows(N, 2)), None, &labels(N), &methods, &params(2, 0), &run));
    refused(compare(Some(&rows(N, 2)), None, &labels(N), &methods, &params(60, 1), &run));
    for keep in [Keep::PerClass(0), Keep::PerClass(N), Keep::Folds(0), Keep::Folds(1), Keep::Folds(2 * N)] {
        let params = CompareParams { keep: vec![keep], ..CompareParams::default() };
        refused(compare(Some(&rows(N, 2)), None, &labels(N), &methods, &params, &run));
    }
    let wrong = Labels { index: vec![9; N], ..labels(N) };
    refused(compare(Some(&rows(N, 2)), None, &wrong, &methods, &params(2, 1), &run));
}

#[test]
fn kernel_machines_and_streams_check_their_arguments() {
    let run = run();
    let (features, targets) = (rows(N, 3), targets(N));
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let svm = LapSvm::new(LapSvmParams::default(), GraphParams::default()).unwrap();
    refused(svm.regress(&problem, &run));
    let (other, of_other) = (rows(8, 2), self::targets(8));
    let validation = Some(ValidationSet { features: &other, targets: &of_other });
    refused(svm.fit_with(&problem, &FitOptions { validation, start: None }, &run));
    let kernel = LapSvmParams { kernel: KernelKind::Precomputed, graph_reg: 0.0.into(), ..Default::default() };
    refused(LapSvm::new(kernel, GraphParams::default()).unwrap().fit(&problem, &run));
    let low_rank = LowRank::new(LowRankParams::default()).unwrap();
    refused(low_rank.fit_rows(&RowProblem::new(&rows(9, 3), &targets), &Alone, &run));
    refused(low_rank.clone().with_landmarks(rows(4, 2)).fit_rows(&RowProblem::new(&features, &targets), &Alone, &run));
    refused(low_rank.clone().with_landmarks(rows(0, 3)).fit_rows(&RowProblem::new(&features, &targets), &Alone, &run));
    let fit = low_rank.fit_rows(&RowProblem::new(&features, &targets), &Alone, &run).unwrap();
    refused(fit.label_rows(&rows(9, 2), &targets, 0..9, &run, |_, _| Ok(())));
    refused(fit.label_rows(&features, &targets, 0..N + 9, &run, |_, _| Ok(())));
}

#[test]
fn parameters_by_name_are_refused_by_name() {
    let mut settings = Settings::new("harmonic").unwrap();
    refused(Settings::new("harmonics"));
    refused(set_all(&mut settings, [("no_such_parameter", &Value::Count(3))]));
    refused(set_all(&mut settings, [("n_neighbors", &Value::Word("many".into()))]));
    set_all(&mut settings, [("n_neighbors", &Value::Count(0))]).unwrap();
    refused(settings.method());
    let mut graph = GraphParams { bandwidth: Some(f64::NAN), ..Default::default() };
    refused(graph.check_ranges());
    refused(graph.set("metric", &Value::Word("manhattan".into())));
}

#[test]
fn files_that_are_not_there_and_tables_that_do_not_fit_are_errors() {
    let (folder, run) = (tempfile::tempdir().unwrap(), run());
    let gone = |name: &str| folder.path().join("none").join(name);
    let names = RowNames::of_rows("id", ["a", "b"]).unwrap();
    refused(RowNames::of_rows("id", ["a", ""]));
    for ending in ["csv", "npy", "npz", "txt", "lapwing", ""] {
        let file = gone(&format!("file.{ending}"));
        refused(read_samples(&file, &ReadOptions::default(), &run));
        refused(read_labels(&file, 3, None));
        refused(read_graph(&file, None, &run));
        refused(read_named_graph(&file, &NodeOptions::default(), &run));
        refused(read_named_graph(&file, &NodeOptions { names: Some(&names), ..NodeOptions::default() }, &run));
        refused(EdgeFile::open_with(&file, &EdgeOptions::default(), &run));
        refused(EdgeFile::open_with(&file, &EdgeOptions { are_names: true, ..EdgeOptions::default() }, &run));
        refused(read_label_file(&file, 3, None, &LabelFileOptions::default()));
        refused(read_label_file(&file, 2, Some(&names), &LabelFileOptions::default()));
        refused(read_names(&file, &ReadOptions { id: Some("id".into()), ..ReadOptions::default() }, &run));
        refused(read_names(&file, &ReadOptions::default(), &run));
        refused(EdgeFile::open(&file, None, &run));
        refused(RowFile::open(&file, &ReadOptions::default(), &run));
        refused(Model::load(&file));
        refused(write_graph(&file, path(3).adjacency()));
    }
    let classes = ClassNames::Integers(vec![0, 1]);
    let table = |labels: &'static [Option<usize>], confidence: &'static [f64]| LabeledRows {
        classes: &classes,
        labels,
        confidence,
        reached: &[true, true],
        certified: None,
        probabilities: None,
    };
    let file = folder.path().join("labels.csv");
    refused(LabelWriter::create(&gone("labels.csv"), &classes, 2, LabelColumns::default()));
    let writer = || LabelWriter::create(&file, &classes, 2, LabelColumns::default()).unwrap();
    refused(writer().write(0, &table(&[Some(0)], &[1.0, 1.0])));
    refused(writer().write(0, &table(&[Some(0), Some(9)], &[1.0, 1.0])));
    let mut writer = writer();
    refused(writer.write(1, &table(&[Some(0), None], &[1.0, 1.0])));
    let reached = Arc::new(RowNames::of_rows("reached", ["a", "b"]).unwrap());
    refused(LabelWriter::create_named(&file, &classes, reached, LabelColumns::default()));
}
