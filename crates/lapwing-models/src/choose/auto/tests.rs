use crate::testkit::{blobs, dense_values};
use lapwing_core::params::{ParameterType, Parameters, Seconds, Value};
use lapwing_core::{Features, Labels, Targets};
use lapwing_graph::{AffinityGraph, Graph, GraphParams, affinity_graph};

use super::*;
use crate::choose::auto::params::CANDIDATES;
use crate::core::metrics::accuracy;
use crate::{ClassPrior, SizeParams};

const N: usize = 300;

/// Three clouds, whose rows take turns, and their classes.
fn clouds() -> (Features<'static>, Vec<i32>) {
    (blobs(N, 3, 3), (0..N).map(|row| (row % 3) as i32).collect())
}

/// Labels of `per_class` rows of each class.
fn targets(classes: &[i32], per_class: usize) -> Targets {
    let step = N / 3 / per_class;
    let is_given = |row: usize| (row / 3).is_multiple_of(step) && row / 3 / step < per_class;
    let labels = classes.iter().enumerate().map(|(row, class)| is_given(row).then_some(i64::from(*class)));
    Targets::one_hot(&Labels::from_integers(labels), None).unwrap()
}

fn auto(params: AutoParams) -> Auto {
    Auto::new(params, GraphParams { n_neighbors: 8, ..GraphParams::default() }).unwrap()
}

fn named(candidates: &[&str]) -> AutoParams {
    let names = candidates.iter().map(|name| name.to_string()).collect();
    AutoParams { candidates: Candidates::Given(names), ..AutoParams::default() }
}

fn rows_of(fitted: &Fitted<'_>) -> Vec<(String, Option<f64>, f64)> {
    let rows = fitted.report.parts["candidates"].as_array().unwrap();
    let row = |row: &Value_| {
        (row["name"].as_str().unwrap().to_owned(), row["estimate"].as_f64(), row["weight"].as_f64().unwrap())
    };
    rows.iter().map(row).collect()
}

type Value_ = serde_json::Value;

#[test]
fn candidates_are_weighed_and_the_same_bits_come_from_any_number_of_threads() {
    let (features, classes) = clouds();
    let targets = targets(&classes, 6);
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fits: Vec<Fitted<'_>> = [1, 3]
        .map(|threads| auto(AutoParams::default()).fit(&problem, &Run::new(Some(threads), 5).unwrap()).unwrap())
        .into();
    let rows = rows_of(&fits[0]);
    let names: Vec<&str> = rows.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["harmonic", "harmonic-plain", "majority", "nearest-label", "linear", "forest", "laprls"]);
    assert!((rows.iter().map(|row| row.2).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(rows.iter().all(|row| row.1.is_some()) && rows[2].2 == 0.0, "{rows:?}");
    assert_eq!(fits[0].labeling.label_distributions, fits[1].labeling.label_distributions);
    assert_eq!(rows, rows_of(&fits[1]));
    assert!(accuracy(&classes, &fits[0].labeling.labels, |_| true) > 0.95);
    let held_out = fits[0].held_out.as_ref().unwrap();
    assert_eq!(held_out.rows, targets.rows());
    assert!(held_out.shares.rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
}

#[test]
fn of_many_classes_slow_candidates_are_left_out_and_fewer_labels_held_out() {
    // 120 tight clouds on a grid, with labels for 20 rows of 23 each.
    let (c, per_class) = (120, 23);
    let n = c * per_class;
    let place = |row: usize| [(row % c % 12) as f64, (row % c / 12) as f64];
    let jitter = |row: usize| 1e-3 * (row / c) as f64;
    let features =
        Features::from_f64(n, 2, (0..n).flat_map(|row| place(row).map(|x| x + jitter(row))).collect()).unwrap();
    let labels = Labels::from_integers((0..n).map(|row| (row / c < 20).then_some((row % c) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = auto(AutoParams::default()).fit(&problem, &Run::new(Some(2), 0).unwrap()).unwrap();
    let tried = ["harmonic", "majority", "nearest-label", "forest"];
    for (name, estimate, weight) in rows_of(&fitted) {
        let is_tried = tried.contains(&name.as_str());
        assert_eq!((estimate.is_some(), is_tried || weight == 0.0), (is_tried, true), "{name}");
    }
    let texts: Vec<String> = fitted.report.warnings.iter().map(ToString::to_string).collect();
    let said = texts.iter().filter(|text| text.contains("left out: harmonic-plain, linear, laprls (120 classes"));
    assert_eq!(said.count(), 1, "{texts:?}");
    assert!(fitted.labeling.labels.iter().enumerate().all(|(row, label)| *label as usize == row % c));
    // Three folds of five hold a thousand labels.
    let held_out = fitted.held_out.unwrap();
    assert_eq!((held_out.rows.len(), held_out.shares.n_rows()), (1440, 1440));
    assert!(held_out.rows.iter().zip(&held_out.classes).all(|(row, class)| *row as usize % c == *class as usize));
    // A candidate that is named is waited for, and planned.
    let size = problem.size(&Run::new(Some(2), 0).unwrap());
    let steps =
        |params: AutoParams| auto(params).plan(&size).steps.into_iter().map(|step| step.name).collect::<Vec<_>>();
    assert!(
        !steps(AutoParams::default()).contains(&"linear".into())
            && steps(named(&["linear"])).contains(&"linear".into())
    );
    assert!(are_many_classes(600, 3000) && !are_many_classes(120, 2000) && !are_many_classes(50, 1_000_000));
}

#[test]
fn too_few_labels_leave_the_default_alone() {
    let (features, classes) = clouds();
    let targets = targets(&classes, 2);
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let run = Run::new(Some(2), 0).unwrap();
    let fitted = auto(AutoParams::default()).fit(&problem, &run).unwrap();
    let rows = rows_of(&fitted);
    assert!(rows[0].2 == 1.0 && rows.iter().all(|row| row.1.is_none()), "{rows:?}");
    let graph = GraphParams { n_neighbors: 8, ..GraphParams::default() };
    let harmonic = crate::Harmonic::new(crate::HarmonicParams::default(), graph).unwrap().fit(&problem, &run).unwrap();
    assert_eq!(fitted.labeling.labels, harmonic.labeling.labels);
    assert_eq!(fitted.labeling.certified, harmonic.labeling.certified);
}

#[test]
fn without_time_only_the_first_candidate_is_tried() {
    let (features, classes) = clouds();
    let targets = targets(&classes, 6);
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let params = AutoParams { budget: Some(Seconds(1e-9)), ..AutoParams::default() };
    let fitted = auto(params).fit(&problem, &Run::new(Some(2), 0).unwrap()).unwrap();
    let rows = rows_of(&fitted);
    assert!(rows[0].1.is_some() && rows[0].2 == 1.0, "{rows:?}");
    assert!(rows[1..].iter().all(|row| row.1.is_none() && row.2 == 0.0), "{rows:?}");
    assert!(AutoParams { budget: Some(Seconds(0.0)), ..AutoParams::default() }.validate().is_err());
}

#[test]
fn a_graph_alone_leaves_out_methods_that_need_features() {
    let (features, classes) = clouds();
    let (targets, run) = (targets(&classes, 6), Run::new(Some(2), 0).unwrap());
    let built = affinity_graph(&features, &GraphParams { n_neighbors: 8, ..GraphParams::default() }, &run).unwrap();
    let problem = Problem { graph: Some(&built), ..Problem::new(&targets) };
    let fitted = auto(AutoParams::default()).fit(&problem, &run).unwrap();
    assert!(fitted.extension.is_none());
    let names: Vec<String> = rows_of(&fitted).into_iter().map(|row| row.0).collect();
    assert_eq!(names, ["harmonic", "harmonic-plain", "majority"]);
    let refused = auto(named(&["linear"])).fit(&problem, &run).unwrap_err().to_string();
    assert!(refused.contains("candidates") && refused.contains("linear"), "{refused}");
    // With features too, the network is among the candidates.
    let both = Problem { features: Some(&features), ..problem };
    let names: Vec<String> =
        rows_of(&auto(AutoParams::default()).fit(&both, &run).unwrap()).into_iter().map(|r| r.0).collect();
    assert!(names.iter().any(|name| name == "unfolded-gnn"), "{names:?}");
}

#[test]
fn the_best_candidate_gets_the_weight_and_labels_new_rows() {
    // Rows on a line, the class of each by its place; the graph joins rows at random, so that it says nothing.
    let n = 200;
    let features = Features::from_f64(n, 1, (0..n).map(|i| i as f64 / n as f64).collect()).unwrap();
    let labels = Labels::from_integers((0..n).map(|i| (i % 4 == 0).then_some(i64::from(i >= n / 2))));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let edges: Vec<(u32, u32, f64)> =
        (0..n as u32).map(|i| (i, (i * 37 + 11) % n as u32, 1.0)).filter(|(i, j, _)| i != j).collect();
    let graph = AffinityGraph::given(Graph::from_edges(n, &edges).unwrap());
    let problem = Problem { features: Some(&features), graph: Some(&graph), ..Problem::new(&targets) };
    let fitted = auto(named(&["harmonic", "linear"])).fit(&problem, &Run::new(Some(2), 0).unwrap()).unwrap();
    let rows = rows_of(&fitted);
    assert!(rows[1].0 == "linear" && rows[1].2 == 1.0, "{rows:?}");
    let new = Features::from_f64(2, 1, vec![0.05, 0.95]).unwrap();
    let scores = fitted.extension.unwrap().scores_of(&new, &Run::new(Some(1), 0).unwrap()).unwrap();
    assert_eq!(fitted.rule.apply(scores.into()).unwrap().labels, [0, 1]);
}

#[test]
fn candidates_are_words_with_commas() {
    let mut params = AutoParams::default();
    params.set("candidates", &Value::Word("linear, harmonic".into())).unwrap();
    assert_eq!(params.candidates, Candidates::Given(vec!["linear".into(), "harmonic".into()]));
    let wrong = params.set("candidates", &Value::Word("linear,tree".into())).unwrap_err().to_string();
    assert!(wrong.contains("one or more of harmonic, harmonic-plain"), "{wrong}");
}

#[test]
fn candidates_that_lack_something_are_refused_by_name() {
    let (features, classes) = clouds();
    let (targets, run) = (targets(&classes, 6), Run::new(Some(2), 0).unwrap());
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    for (name, needs) in [("prior", "a prior"), ("harmonic-joined", "a graph beside the features")] {
        let refused = auto(named(&["harmonic", name])).fit(&problem, &run).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains(needs), "{refused}");
    }
    assert!(Candidates::from_value(&Value::Word("auto,linear".into())).is_none());
}

#[test]
fn rows_that_only_features_reach_are_counted_in_a_warning() {
    // Two clouds far apart, each its own component; all labels are in the first, of two classes by the place in it.
    let n = 200;
    let at = |row: usize| if row < 100 { row as f64 / 100.0 } else { 1000.0 + row as f64 / 100.0 };
    let features = Features::from_f64(n, 1, (0..n).map(at).collect()).unwrap();
    let labels = Labels::from_integers((0..n).map(|row| (row < 100 && row % 4 == 0).then_some(i64::from(row >= 50))));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let run = Run::new(Some(2), 0).unwrap();
    let fitted = auto(named(&["harmonic", "linear"])).fit(&problem, &run).unwrap();
    let rows = rows_of(&fitted);
    assert!(rows.iter().all(|row| row.2 > 0.0), "both take part: {rows:?}");
    let texts: Vec<String> = fitted.report.warnings.iter().map(ToString::to_string).collect();
    assert!(fitted.labeling.reached.iter().all(|reached| *reached));
    assert!(
        texts.iter().any(|text| text.contains("no label reaches 100 rows through the graph, in 1 component")),
        "{texts:?}"
    );
}

#[test]
fn labels_of_given_sizes_have_no_expected_accuracy() {
    // The labels are as many of each class, and the sizes are not: shares that were held out say nothing of labels by sizes.
    let (features, classes) = clouds();
    let (targets, run) = (targets(&classes, 8), Run::new(Some(2), 0).unwrap());
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let class_prior = ClassPrior::Given(vec![0.6, 0.3, 0.1]);
    let sizes = SizeParams { class_prior, ..SizeParams::default() };
    let fitted = auto(AutoParams::default()).fit(&problem, &run).unwrap();
    assert!(fitted.report.parts.contains_key("expected_accuracy"));
    let sized = sizes.decide(fitted.labeling.scores.clone(), fitted.rule.clone(), &targets, &run).unwrap();
    let fitted = fitted.sized(sized);
    assert!(fitted.held_out.is_none() && !fitted.report.parts.contains_key("expected_accuracy"));
}

#[test]
fn every_candidate_is_the_method_of_its_name() {
    for &name in CANDIDATES {
        let candidate = Candidate::new(name, &GraphParams::default()).unwrap();
        let method = candidate.method.name();
        let expected = name.strip_suffix("-joined").or(name.strip_suffix("-plain")).or(name.strip_suffix("-prior"));
        assert!(method.starts_with(expected.unwrap_or(name)), "{name} is {method}");
    }
}

/// A graph of 200 nodes joined at random, and a ring of 50 others that no label reaches.
fn two_parts() -> (AffinityGraph, Targets) {
    let random = (0..200u32).map(|i| (i, (i * 37 + 11) % 200)).filter(|(i, j)| i != j);
    let ring = (0..50u32).map(|i| (200 + i, 200 + (i + 1) % 50));
    let edges: Vec<(u32, u32, f64)> = random.chain(ring).map(|(i, j)| (i, j, 1.0)).collect();
    let graph = AffinityGraph::given(Graph::from_edges(250, &edges).unwrap());
    let labels = Labels::from_integers((0..250).map(|i| (i < 200 && i % 4 == 0).then_some(i64::from(i % 5 == 0))));
    (graph, Targets::one_hot(&labels, None).unwrap())
}

#[test]
fn the_most_frequent_class_reaches_no_row_that_labels_do_not() {
    let ((graph, targets), run) = (two_parts(), Run::new(Some(2), 0).unwrap());
    let problem = Problem { graph: Some(&graph), ..Problem::new(&targets) };
    for (params, is_alone) in [(AutoParams::default(), false), (named(&["majority"]), true)] {
        let fitted = auto(params).fit(&problem, &run).unwrap();
        let rows = rows_of(&fitted);
        assert!(rows.iter().any(|row| row.0 == "majority" && (row.2 > 0.0 || !is_alone)), "{rows:?}");
        assert!((0..250).all(|row| fitted.labeling.reached[row] == (row < 200)));
        assert_eq!(fitted.report.n_unreached, 50);
        let unreached = fitted.report.warnings.iter().filter(|warning| warning.kind() == "unreached");
        assert_eq!(unreached.count(), 1, "{:?}", fitted.report.warnings);
    }
}

#[test]
fn a_candidate_that_cannot_run_is_left_out_and_named() {
    // A row so far away that distances overflow in single precision; the graph is given.
    let (clouds, classes) = clouds();
    let mut values = dense_values(&clouds);
    values[3 * 7..3 * 8].fill(3e38);
    let features = Features::from_f64(N, 3, values).unwrap();
    let (targets, run) = (targets(&classes, 6), Run::new(Some(2), 0).unwrap());
    let built = affinity_graph(&clouds, &GraphParams { n_neighbors: 8, ..GraphParams::default() }, &run).unwrap();
    let names = ["harmonic", "nearest-label", "linear"];
    let problem = Problem { features: Some(&features), graph: Some(&built), ..Problem::new(&targets) };
    let check = |fitted: &Fitted<'_>, failed: &str| {
        let texts: Vec<String> = fitted.report.warnings.iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains(failed) && text.contains("row 7 of features")), "{texts:?}");
        let rows = fitted.report.parts["candidates"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == "nearest-label").unwrap();
        assert!(row["failure"].is_string() && row["weight"] == 0.0, "{row}");
        assert!(accuracy(&classes, &fitted.labeling.labels, |row| row != 7) > 0.9);
    };
    check(&auto(named(&names)).fit(&problem, &run).unwrap(), "nearest-label");
    // Without the graph, which cannot be built, one of the candidates that need none labels alone.
    let problem = Problem { graph: None, ..problem };
    let fitted = auto(AutoParams::default()).fit(&problem, &run).unwrap();
    check(&fitted, "harmonic");
    assert_eq!(rows_of(&fitted).iter().filter(|row| row.2 > 0.0).count(), 1);
    // The most frequent class is not enough.
    let error = auto(named(&["harmonic", "majority", "nearest-label"])).fit(&problem, &run).unwrap_err().to_string();
    assert!(error.contains("row 7 of features"), "{error}");
    // With few labels, the next candidate labels alone.
    let labels = Labels::from_integers((0..N).map(|row| [0, 1, 2].contains(&row).then_some(row as i64)));
    let few = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&few) };
    let rows = rows_of(&auto(named(&names)).fit(&problem, &run).unwrap());
    assert!(rows[2].2 == 1.0, "{rows:?}");
    // What all candidates need ends the fit.
    let gap = Features::from_f64(N, 3, dense_values(&clouds).iter().map(|_| f64::NAN).collect());
    let gap = gap.unwrap();
    let problem = Problem { features: Some(&gap), ..Problem::new(&targets) };
    assert!(auto(AutoParams::default()).fit(&problem, &run).is_err());
}
