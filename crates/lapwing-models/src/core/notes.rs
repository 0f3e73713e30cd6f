//! Warnings that several methods write into their reports.

use lapwing_core::{Report, SolveSummary, Targets, Warning};

use crate::Labeling;
use crate::core::counts::label_counts;
use crate::core::scores::largest;

/// A warning is given if one class gets more than this share of the rows, but has less than [`MOST_SHARE_OF_LABELS`] of the labels.
const MOST_SHARE: f64 = 0.95;
const MOST_SHARE_OF_LABELS: f64 = 0.7;

/// The number of classes; a warning if all labels are of one.
pub(crate) fn classes(report: &mut Report, targets: &Targets) {
    let mean = targets.mean();
    report.n_classes = Some(mean.len());
    if mean.iter().filter(|m| **m > 0.0).count() < 2 {
        let class = targets.class_name(largest(&mean));
        report.warnings.push(Warning::OneClass { class });
    }
}

/// A warning if the recall of the neighbor search is below its target.
pub(crate) fn low_recall(report: &mut Report, target: f64) {
    if let Some(recall) = report.graph.as_ref().and_then(|graph| graph.recall).filter(|recall| *recall < target) {
        report.warnings.push(Warning::LowRecall { recall, target });
    }
}

/// A warning if nearly all rows got one class, though the given labels are of several.
pub(crate) fn lost_classes(report: &mut Report, labeling: &Labeling, targets: &Targets) {
    let counts = label_counts(targets);
    let mut sizes = vec![0usize; counts.len()];
    let reached = labeling.labels.iter().zip(&labeling.reached).filter(|(_, reached)| **reached);
    reached.for_each(|(&label, _)| sizes[label as usize] += 1);
    let (n, l): (usize, usize) = (sizes.iter().sum(), counts.iter().sum());
    let class = (1..sizes.len()).fold(0, |most, k| if sizes[k] > sizes[most] { k } else { most });
    let [share, among_labels] = [sizes[class] as f64 / n.max(1) as f64, counts[class] as f64 / l.max(1) as f64];
    if n > l && share > MOST_SHARE && among_labels < MOST_SHARE_OF_LABELS {
        report.warnings.push(Warning::LostClasses { class: targets.class_name(class), share, among_labels });
    }
}

/// A warning if no label reaches some rows. Its advice depends on whether the graph was built here or given.
pub(crate) fn unreached(report: &mut Report) {
    if report.n_unreached > 0 {
        let (n_rows, n_components) = (report.n_unreached, report.n_unlabeled_components);
        let advice = advice(report);
        report.warnings.push(Warning::Unreached { n_rows, n_components, advice });
    }
}

/// A warning if methods that look at features alone label rows that no label reaches through the graph.
pub(crate) fn reached_by_features(report: &mut Report, n_rows: usize) {
    if n_rows > 0 {
        let (n_components, advice) = (report.n_unlabeled_components, advice(report));
        report.warnings.push(Warning::ReachedByFeatures { n_rows, n_components, advice });
    }
}

/// How labels reach all parts of the graph.
fn advice(report: &Report) -> &'static str {
    let is_built = report.graph.as_ref().is_some_and(|graph| graph.recall.is_some() || graph.learned.is_some());
    match is_built {
        true => "label one row in each, or raise the number of neighbors",
        false => "label one row in each, or give a graph with edges between them and the labeled rows",
    }
}

/// What to do about a solve that did not converge, where its limits are parameters.
pub(crate) const RAISE_LIMITS: &str = "raise max_iter or tol";

/// Adds the summary of a solve; a warning with `advice` if it stopped above its tolerance.
pub(crate) fn solved(report: &mut Report, solve: SolveSummary, tol: f64, advice: &'static str) {
    let solve = report.solve.insert(solve);
    if !solve.converged {
        let (n_iter, residual) = (solve.n_iter, solve.residual);
        report.warnings.push(Warning::NotConverged { n_iter, residual, tol, advice });
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Features, Labels, Run};
    use lapwing_graph::{AffinityGraph, Graph, GraphParams};

    use super::*;
    use crate::method;
    use crate::methods::harmonic::{Harmonic, HarmonicParams};
    use crate::methods::unfolded;
    use crate::{LapSvm, LapSvmParams, MethodParams, Problem, UnfoldedGnn, UnfoldedParams, method_names};

    const N: usize = 60;

    /// Two groups of points on a line.
    fn features() -> Features<'static> {
        let places = (0..N).map(|row| (row % 30) as f64 * 0.1 + if row < 30 { 0.0 } else { 50.0 });
        Features::from_f64(N, 1, places.collect()).unwrap()
    }

    fn labels(names: [Option<&str>; 2]) -> Targets {
        let text = |row: usize| if row.is_multiple_of(5) { names[row / 30].unwrap_or("") } else { "" };
        Targets::one_hot(&Labels::from_texts((0..N).map(text), None), None).unwrap()
    }

    fn graph() -> AffinityGraph {
        let edges: Vec<(u32, u32, f64)> = (1..N as u32).filter(|&i| i != 30).map(|i| (i - 1, i, 1.0)).collect();
        AffinityGraph::given(Graph::from_edges(N, &edges).unwrap())
    }

    fn run() -> Run {
        Run::new(Some(2), 0).unwrap()
    }

    fn warnings(name: &str, targets: &Targets, graph: Option<&AffinityGraph>) -> Vec<Warning> {
        let (features, options) = (features(), MethodParams::default());
        let method = method(name, &options).unwrap();
        let problem = Problem { features: Some(&features), graph, ..Problem::new(targets) };
        method.fit(&problem, &run()).unwrap().report.warnings
    }

    #[test]
    fn a_single_class_is_called_by_its_name() {
        let (spam, targets) = (Warning::OneClass { class: "'spam'".into() }, labels([Some("spam"); 2]));
        for name in method_names() {
            let warnings = warnings(name, &targets, None);
            assert_eq!(warnings.iter().filter(|warning| **warning == spam).count(), 1, "{name}: {warnings:?}");
        }
        let numbers = Labels::from_integers((0..N).map(|row| row.is_multiple_of(5).then_some(7)));
        let targets = Targets::one_hot(&numbers, None).unwrap();
        assert_eq!(warnings("harmonic", &targets, None)[0], Warning::OneClass { class: "7".into() });
    }

    #[test]
    fn targets_keep_the_names_of_their_classes() {
        let targets = labels([Some("ham"), Some("sp\nam")]);
        let all = (0..targets.rows().len() as u32).collect();
        let derived = [
            targets.subset(|at| at > 1).unwrap(),
            targets.shifted(0.5).unwrap(),
            targets.moved(targets.rows().len(), all).unwrap(),
        ];
        for targets in [targets].into_iter().chain(derived) {
            assert_eq!([0, 1].map(|class| targets.class_name(class)), ["'ham'", "'sp am'"]);
        }
        let unnamed = Targets::regression(&[1.0, f64::NAN], None).unwrap();
        assert_eq!(unnamed.class_name(0), "0");
    }

    #[test]
    fn advice_fits_the_graph() {
        let (targets, given) = (labels([Some("ham"), None]), graph());
        for name in ["harmonic", "simple-harmonic", "sparse-harmonic"] {
            for (graph, end) in [(None, "raise the number of neighbors"), (Some(&given), "and the labeled rows")] {
                let all = warnings(name, &targets, graph);
                let unreached = all.iter().find(|warning| warning.kind() == "unreached").unwrap();
                assert!(unreached.to_string().ends_with(end), "{name}");
            }
        }
    }

    #[test]
    fn every_fit_and_regression_fills_its_report() {
        let (features, targets, run) = (features(), labels([Some("ham"), Some("spam")]), run());
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let check = |report: &Report, name: &str, n_classes: Option<usize>| {
            assert_eq!((report.method.as_str(), report.n_samples, report.n_features), (name, N, Some(1)));
            assert_eq!((report.n_classes, report.n_labeled), (n_classes, 12), "{name}");
            assert!(report.peak_bytes > Some(0) && !report.phases.is_empty(), "{name}: {report:?}");
        };
        for name in method_names() {
            check(&method(name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap().report, name, Some(2));
        }
        let values: Vec<f64> = (0..N).map(|row| if row.is_multiple_of(5) { row as f64 } else { f64::NAN }).collect();
        let targets = Targets::regression(&values, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let graph = GraphParams::default;
        let harmonic = Harmonic::new(HarmonicParams::default(), graph()).unwrap();
        check(&harmonic.regress(&problem, &run).unwrap().report, "harmonic", None);
        let machine = LapSvm::least_squares(LapSvmParams::default(), graph()).unwrap();
        check(&machine.regress(&problem, &run).unwrap().report, "laprls", None);
        let params = UnfoldedParams { loss: unfolded::NodeLoss::Mse, ..UnfoldedParams::default() };
        let network = UnfoldedGnn::new(params, graph()).unwrap();
        check(&network.regress(&problem, &run).unwrap().report, unfolded::UNFOLDED, None);
    }
}
