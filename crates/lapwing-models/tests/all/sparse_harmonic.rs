//! Harmonic functions on sparsified graphs against those on the graphs themselves.

use crate::edges::Edges;
use lapwing_core::{Edge, EdgeReader, EdgeSource, Features, Labels, Result, Run, Stream, Targets};
use lapwing_graph::sparsify::{Budget, SparsifyParams};
use lapwing_graph::{AffinityGraph, Graph, GraphParams, Symmetrize, Weighting, affinity_graph};
use lapwing_models::{
    Clamp, Fitted, Form, Harmonic, HarmonicParams, Method, Problem, SparseHarmonic, SparseHarmonicParams,
};
use rand::RngExt;

fn run() -> Run {
    Run::new(Some(2), 1).unwrap()
}

/// Eight clusters of 200 nodes in a row, each joined to the next by three edges of weight 0.2; 38 edges a node.
fn chain() -> Graph {
    let mut rng = run().rng(Stream::Synthetic, 8);
    let mut edges = Vec::new();
    for cluster in 0..8u32 {
        let first = cluster * 200;
        for u in 0..200 {
            edges.extend((0..u).filter(|_| rng.random::<f64>() < 0.382).map(|v| (first + v, first + u, 1.0)));
        }
        if cluster > 0 {
            edges.extend((0..3).map(|i| (first + 60 * i, first - 200 + 50 * i, 0.2)));
        }
    }
    Graph::from_edges(1600, &edges).unwrap()
}

/// Labels of one node in each of the clusters at the ends.
fn ends() -> Targets {
    let labels = (0..1600).map(|i| {
        if i == 10 {
            "a"
        } else if i == 1500 {
            "b"
        } else {
            ""
        }
    });
    Targets::one_hot(&Labels::from_texts(labels, None), None).unwrap()
}

fn sparse_harmonic(params: HarmonicParams, graph: GraphParams, edges: usize, passes: Option<usize>) -> SparseHarmonic {
    let sparsify = SparsifyParams { budget: Budget::Edges(edges), ..SparsifyParams::default() };
    let sparse = SparseHarmonicParams { sparsify, refinements: passes, checkpoint: None };
    SparseHarmonic::new(Harmonic::new(params, graph).unwrap(), sparse).unwrap()
}

/// Largest difference of the scores over their largest value.
fn error(found: &Fitted<'_>, expected: &Fitted<'_>) -> f64 {
    let pairs = found.labeling.scores.values().iter().zip(expected.labeling.scores.values());
    let scale = expected.labeling.scores.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn refining_brings_the_answer_of_the_graph_itself() {
    let (affinity, targets) = (AffinityGraph::given(chain()), ends());
    let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
    let cases = [(Form::Stable, 0.05), (Form::Stable, 1e-4), (Form::Stable, f64::INFINITY), (Form::Plain, 0.05)];
    for (form, graph_reg) in cases {
        let params = HarmonicParams { form, graph_reg: Some(graph_reg), tol: 1e-10, ..HarmonicParams::default() };
        let exact = Harmonic::new(params.clone(), GraphParams::default()).unwrap();
        let expected = exact.fit(&problem, &run()).unwrap();
        let fit = |passes| {
            let method = sparse_harmonic(params.clone(), GraphParams::default(), 16_000, Some(passes));
            method.fit(&problem, &run()).unwrap()
        };
        let errors = [0, 1, 3, 25].map(|passes| error(&fit(passes), &expected));
        assert!(errors[0] < 0.5 && errors[2] <= 0.01 && errors[3] < 1e-6, "{form:?} {graph_reg}: {errors:?}");
        assert!(errors[2] < errors[0], "{form:?} {graph_reg}: {errors:?}");
        let report = fit(25).report;
        let last = report.parts["refine"]["residuals"].as_array().unwrap().last().unwrap().as_f64().unwrap();
        assert!(last <= 1e-8, "{form:?} {graph_reg}: {last}");
    }
}

#[test]
fn a_stream_and_a_graph_give_the_same_and_threads_do_not_show() {
    let (graph, targets) = (chain(), ends());
    let mut edges = Vec::new();
    graph.adjacency().open(&run()).unwrap().read(1 << 20, &mut edges, &run()).unwrap();
    let stream = Edges(1600, &edges);
    let affinity = AffinityGraph::given(graph);
    let sparse = sparse_harmonic(HarmonicParams::default(), GraphParams::default(), 12_800, None);
    let fit = |problem: &Problem<'_, '_>, threads| {
        let fitted = sparse.fit(problem, &Run::new(Some(threads), 1).unwrap()).unwrap();
        let bits: Vec<u64> = fitted.labeling.scores.values().iter().map(|v| v.to_bits()).collect();
        (bits, fitted.labeling.labels)
    };
    let expected = fit(&Problem { graph: Some(&affinity), ..Problem::new(&targets) }, 1);
    for threads in [1, 2, 7] {
        assert_eq!(fit(&Problem { edges: Some(&stream), ..Problem::new(&targets) }, threads), expected);
    }
    let right = expected.1.iter().enumerate().filter(|(row, label)| **label == u32::from(*row >= 800)).count();
    assert!(right >= 1580, "{right}");
}

#[test]
fn from_features_the_graph_is_never_held_and_new_rows_are_labeled() {
    let mut rng = run().rng(Stream::Synthetic, 3);
    let values: Vec<f64> = (0..2 * 800).map(|at| 3.0 * f64::from(at / 2 % 2) + rng.random::<f64>() * 2.0).collect();
    let features = Features::from_f64(800, 2, values).unwrap();
    let labels = Labels::from_texts((0..800).map(|i| ["a", "b", "", ""][i.min(3)]), None);
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    for n_neighbors in [20, 200] {
        let graph = GraphParams { n_neighbors, ..GraphParams::default() };
        let sparse = sparse_harmonic(HarmonicParams::default(), graph.clone(), 4800, None);
        let fitted = sparse.fit(&problem, &run()).unwrap();
        let right = (0..800).filter(|&i| fitted.labeling.labels[i] == (i % 2) as u32).count();
        assert!(right >= 790, "{n_neighbors}: {right}");
        let built = affinity_graph(&features, &graph, &run()).unwrap();
        assert_eq!(fitted.graph.unwrap().widths, built.widths);
        let new = Features::from_f64(2, 2, vec![1.0, 1.0, 4.0, 4.0]).unwrap();
        let scores = fitted.extension.unwrap().scores_of(&new, &run()).unwrap();
        assert_eq!(fitted.rule.apply(scores.into()).unwrap().labels, [0, 1]);
        assert!(["sparsify", "refine"].iter().all(|part| fitted.report.parts.contains_key(*part)));
    }
}

#[test]
fn parts_without_a_label_stay_unreached() {
    let mut edges: Vec<Edge> = Vec::new();
    for first in [0u32, 60, 120] {
        edges.extend((0..60).flat_map(|u| (0..u).map(move |v| Edge { u: first + u, v: first + v, weight: 1.0 })));
    }
    let text = |i: usize| ["a", "b"].get(i / 60).filter(|_| i % 60 == 3).copied().unwrap_or("");
    let targets = Targets::one_hot(&Labels::from_texts((0..181).map(text), None), None).unwrap();
    let stream = Edges(181, &edges);
    let sparse = sparse_harmonic(HarmonicParams::default(), GraphParams::default(), 1000, None);
    let fitted = sparse.fit(&Problem { edges: Some(&stream), ..Problem::new(&targets) }, &run()).unwrap();
    assert_eq!(fitted.report.n_unreached, 61);
    assert!((0..181).all(|i| fitted.labeling.reached[i] == (i < 120)));
    assert!((0..120).all(|i| fitted.labeling.labels[i] == (i / 60) as u32));
    assert!(fitted.report.parts["refine"]["passes"].as_u64().is_some_and(|passes| passes >= 1));
}

/// Edges that can be read once.
struct Pipe<'a>(Edges<'a>);

impl EdgeSource for Pipe<'_> {
    fn n_nodes(&self) -> usize {
        self.0.n_nodes()
    }

    fn n_edges(&self) -> Option<u64> {
        None
    }

    fn is_rereadable(&self) -> bool {
        false
    }

    fn open<'s>(&'s self, run: &Run) -> Result<Box<dyn EdgeReader + 's>> {
        self.0.open(run)
    }
}

#[test]
fn what_cannot_be_refined_is_said_before_anything_is_read() {
    let edges = [Edge { u: 0, v: 1, weight: 1.0 }];
    let pipe = Pipe(Edges(1600, &edges));
    let targets = ends();
    let problem = Problem { edges: Some(&pipe), ..Problem::new(&targets) };
    let sparse = sparse_harmonic(HarmonicParams::default(), GraphParams::default(), 1000, Some(2));
    let text = sparse.fit(&problem, &run()).unwrap_err().to_string();
    assert!(text.contains("refinements is 2; expected 0 for edges that can be read only once"), "{text}");
    let hard = HarmonicParams { form: Form::Plain, clamp: Clamp::Hard, ..HarmonicParams::default() };
    let harmonic = Harmonic::new(hard, GraphParams::default()).unwrap();
    let params = SparseHarmonicParams { refinements: Some(1), ..Default::default() };
    assert!(SparseHarmonic::new(harmonic, params).unwrap_err().to_string().contains("clamped hard"));
}

/// Four boxes one above another, the outer two of twice the rows; two labels in each of the outer ones. A tenth of the
/// published size.
fn boxes(seed: u64) -> (Features<'static>, Targets, Vec<u32>) {
    let mut rng = Run::new(Some(1), seed).unwrap().rng(Stream::Synthetic, 4);
    let boxes = [(400, 3.0, 0), (205, 0.5, 0), (205, 3.0, 1), (400, 0.0, 1)];
    let (mut values, mut truth, mut top) = (Vec::new(), Vec::new(), 0.0);
    for (size, gap, class) in boxes {
        (0..size).for_each(|_| values.extend([rng.random::<f64>(), top - rng.random::<f64>()]));
        truth.extend(std::iter::repeat_n(class, size));
        top -= 1.0 + gap;
    }
    let known = [0..200, 200..400, 810..1000, 1000..1210].map(|rows| rng.random_range(rows));
    let text = |i: usize| if known.contains(&i) { ["0", "1"][truth[i] as usize] } else { "" };
    let targets = Targets::one_hot(&Labels::from_texts((0..1210).map(text), None), None).unwrap();
    (Features::from_f64(1210, 2, values).unwrap(), targets, truth)
}

#[test]
fn four_boxes_need_large_k_and_few_of_its_edges() {
    let params = HarmonicParams { graph_reg: Some(1.0), tol: 1e-9, ..HarmonicParams::default() };
    let graph = |n_neighbors| GraphParams {
        n_neighbors,
        weights: Weighting::Binary,
        symmetrize: Symmetrize::Union,
        ..GraphParams::default()
    };
    let accuracy = |method: &dyn Method| {
        let accuracies = (0..5).map(|seed| {
            let (features, targets, truth) = boxes(seed);
            let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
            let labeling = method.fit(&problem, &run()).unwrap().labeling;
            // Neither counts: rows no label reaches, and ties.
            let scores = &labeling.scores;
            let largest = scores.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let is_right = |&i: &usize| {
                let (row, class) = (scores.row(i), truth[i] as usize);
                labeling.reached[i] && row[class] - row[1 - class] > 1e-7 * largest
            };
            (0..1210).filter(is_right).count() as f64 / 1210.0
        });
        accuracies.sum::<f64>() / 5.0
    };
    let stable = [390, 450, 800, 1000].map(|k| accuracy(&Harmonic::new(params.clone(), graph(k)).unwrap()));
    assert!(stable[0] < 0.68 && stable[1] > 0.99 && stable[2] < 0.85 && stable[3] < 0.65, "{stable:?}");
    let sparse =
        [10, 20].map(|per_node| accuracy(&sparse_harmonic(params.clone(), graph(450), 1210 * per_node, Some(0))));
    assert!(sparse[0] > 0.88 && sparse[1] > 0.91, "{sparse:?}");
}
