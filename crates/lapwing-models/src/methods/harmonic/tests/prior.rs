//! Fits that start from a prior: against dense closed forms, and what is chosen and refused.

use lapwing_core::params::Parameters;

use super::*;
use crate::method;
use crate::{MethodParams, Settings, method_names};

/// Shares of `c` classes that differ from row to row.
fn shares(n: usize, c: usize) -> Matrix {
    let weight = |row: usize, class: usize| 1.0 + ((row * 7 + class * 5) % 11) as f64;
    let mut shares = Matrix::filled(n, c, 0.0);
    for row in 0..n {
        let sum: f64 = (0..c).map(|class| weight(row, class)).sum();
        (0..c).for_each(|class| shares.row_mut(row)[class] = weight(row, class) / sum);
    }
    shares
}

/// (L + T + κD) f = T y + κD p by elimination; a row without edges counts as one of mean degree.
fn dense_with_prior(graph: &Graph, targets: &Targets, shares: &Matrix, params: &HarmonicParams) -> Matrix {
    let (n, c) = (graph.n_samples(), targets.n_columns());
    let (scale, kappa) =
        (params.graph_reg.unwrap() * targets.weights().iter().sum::<f64>(), params.prior_weight.unwrap());
    let mut weights = vec![vec![0.0; n]; n];
    let (mut excess, mut b) = (vec![0.0; n], Matrix::filled(n, c, 0.0));
    for row in 0..n {
        let (columns, values) = graph.adjacency().row(row);
        columns.iter().zip(values).for_each(|(&column, &weight)| weights[row][column as usize] = weight);
        let degree: f64 = values.iter().sum();
        excess[row] = kappa * if degree > 0.0 { degree } else { graph.mean_degree() };
        (0..c).for_each(|k| b.row_mut(row)[k] = excess[row] * shares.row(row)[k]);
    }
    for (at, &row) in targets.rows().iter().enumerate() {
        let weight = targets.weights()[at] / scale;
        excess[row as usize] += weight;
        (0..c).for_each(|k| b.row_mut(row as usize)[k] += weight * targets.values().row(at)[k]);
    }
    eliminate(weights, excess, &b)
}

fn fit<'a>(
    params: &HarmonicParams,
    affinity: &AffinityGraph,
    targets: &Targets,
    shares: &Matrix,
    run: &Run,
) -> Result<crate::Fitted<'a>> {
    let method = Harmonic::new(params.clone(), GraphParams::default()).unwrap();
    method.fit(&Problem { graph: Some(affinity), prior: Some(shares), ..Problem::new(targets) }, run)
}

#[test]
fn scores_equal_the_dense_closed_form_on_every_graph() {
    for (name, graph) in nasty_graphs() {
        let n = graph.n_samples();
        let label_weights: Vec<f64> = (0..n).map(|row| 0.5 + (row % 5) as f64).collect();
        let targets = Targets::one_hot(&three_classes(n), Some(&label_weights)).unwrap();
        let (shares, affinity) = (shares(n, targets.n_columns()), AffinityGraph::given(graph));
        for (graph_reg, weight) in [(1e-3, 0.01), (0.05, 1.0), (2.0, 30.0)] {
            let prior_weight = Some(weight);
            let params = HarmonicParams { decision: Decision::Argmax, prior_weight, ..exact(Form::Auto, graph_reg) };
            let fitted = fit(&params, &affinity, &targets, &shares, &run()).unwrap();
            let expected = dense_with_prior(&affinity.graph, &targets, &shares, &params);
            assert_close(&fitted.labeling.scores, &expected, 1e-9, &format!("{name}, γ {graph_reg}, κ {weight}"));
            let best: Vec<u32> = expected.rows().map(|row| crate::core::scores::largest(row) as u32).collect();
            for (row, certain) in fitted.labeling.certified.as_ref().unwrap().iter().enumerate() {
                assert!(!certain || fitted.labeling.labels[row] == best[row], "{name}: row {row}");
            }
            assert!(fitted.labeling.reached.iter().all(|reached| *reached), "{name}");
            assert_eq!(fitted.report.n_unreached, 0, "{name}");

            let centered = HarmonicParams { decision: Decision::RowMean, ..params };
            let fitted = fit(&centered, &affinity, &targets, &shares, &run()).unwrap();
            let mean = |k: usize| expected.rows().map(|row| row[k]).sum::<f64>() / n as f64;
            let means: Vec<f64> = (0..expected.n_cols()).map(mean).collect();
            let mut less = expected.clone();
            (0..n).for_each(|row| less.row_mut(row).iter_mut().zip(&means).for_each(|(f, mean)| *f -= mean));
            assert_close(&fitted.labeling.scores, &less, 1e-8, &format!("{name}, less the mean of all rows"));
        }
    }
}

/// Two rings of 60 rows, one of each class, with some edges between them.
fn rings() -> (AffinityGraph, Targets, Vec<usize>) {
    let ring = |first: u32| (0..60u32).flat_map(move |i| [1, 2].map(|s| (first + i, first + (i + s) % 60, 1.0)));
    let between = (0..6u32).map(|i| (i * 9, 60 + i * 7, 1.0));
    let graph = Graph::from_edges(120, &ring(0).chain(ring(60)).chain(between).collect::<Vec<_>>()).unwrap();
    let labels = Labels::from_integers((0..120).map(|row| (row % 6 == 0).then_some((row / 60) as i64)));
    let classes = (0..120).map(|row| row / 60).collect();
    (AffinityGraph::given(graph), Targets::one_hot(&labels, None).unwrap(), classes)
}

fn of_class(class: impl Fn(usize) -> usize, share: f64) -> Matrix {
    let mut shares = Matrix::filled(120, 2, 1.0 - share);
    (0..120).for_each(|row| shares.row_mut(row)[class(row)] = share);
    shares
}

#[test]
fn the_weight_goes_by_what_the_labels_say_about_the_prior() {
    let (affinity, targets, classes) = rings();
    let chosen = |shares: &Matrix| {
        let fitted = fit(&HarmonicParams::default(), &affinity, &targets, shares, &run()).unwrap();
        let right = classes.iter().zip(&fitted.labeling.labels).filter(|(class, label)| **class == **label as usize);
        assert!(fitted.report.parts["leave_one_out"]["accuracy"].is_number());
        (fitted.report.chosen["prior_weight"].as_f64().unwrap(), right.count())
    };
    // The graph says little of classes that alternate along the rings.
    let alternating =
        Targets::one_hot(&Labels::from_integers((0..120).map(|row| (row % 3 == 0).then_some((row % 2) as i64))), None);
    let known = of_class(|row| row % 2, 0.9);
    let fitted = fit(&HarmonicParams::default(), &affinity, &alternating.unwrap(), &known, &run()).unwrap();
    assert!((0..120).all(|row| fitted.labeling.labels[row] as usize == row % 2));
    assert!(fitted.report.chosen["prior_weight"].as_f64().is_some_and(|weight| weight >= 0.1));
    // A prior of chance takes little weight, and does little harm.
    let (weight, right) = chosen(&of_class(|row| row * 5 % 7 % 2, 0.8));
    assert!(weight <= 0.1 && right >= 114, "κ {weight}, {right} right");
    let (_, right) = chosen(&of_class(|row| classes[row], 0.8));
    assert_eq!(right, 120);
}

#[test]
fn a_prior_alone_labels_what_no_label_reaches() {
    // Labels in one component; a pair and a single row without.
    let graph = Graph::from_edges(6, &[(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0)]).unwrap();
    let labels = Labels::from_integers([Some(0), None, Some(1), None, None, None]);
    let targets = Targets::one_hot(&labels, None).unwrap();
    let shares = [[0.5, 0.5], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8], [0.3, 0.7], [0.9, 0.1]];
    let shares = Matrix::new(6, 2, shares.concat()).unwrap();
    let params = HarmonicParams { decision: Decision::Argmax, ..HarmonicParams::default() };
    let fitted = fit(&params, &AffinityGraph::given(graph), &targets, &shares, &run()).unwrap();
    assert_eq!(fitted.labeling.labels, [0, 0, 1, 1, 1, 0]);
    assert_eq!((fitted.report.n_unreached, fitted.report.n_unlabeled_components), (0, 0));
    assert!((fitted.labeling.scores.row(5)[0] - 0.9).abs() < 1e-6, "a row without edges keeps its prior");
    // Without labels left out there is no temperature: scores are shares.
    assert!(fitted.rule.temperature.is_none());
    assert_eq!(fitted.labeling.label_distributions.row(5), fitted.labeling.scores.row(5));
}

#[test]
fn bits_do_not_depend_on_threads() {
    let (affinity, targets, _) = rings();
    let bits = |threads: usize| {
        let run = Run::new(Some(threads), 3).unwrap();
        let fitted = fit(&HarmonicParams::default(), &affinity, &targets, &shares(120, 2), &run).unwrap();
        fitted.labeling.label_distributions.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let one = bits(1);
    assert!([2, 7].into_iter().all(|threads| bits(threads) == one));
}

#[test]
fn a_sparsified_graph_takes_a_prior_too() {
    let (affinity, targets, _) = rings();
    let params = HarmonicParams { prior_weight: Some(0.3), ..HarmonicParams::default() };
    let whole = fit(&params, &affinity, &targets, &shares(120, 2), &run()).unwrap();
    let harmonic = Harmonic::new(params, GraphParams::default()).unwrap();
    let sparse = SparseHarmonic::new(harmonic, SparseHarmonicParams::default()).unwrap();
    let shares = shares(120, 2);
    let problem = Problem { graph: Some(&affinity), prior: Some(&shares), ..Problem::new(&targets) };
    let fitted = sparse.fit(&problem, &run()).unwrap();
    assert_eq!(fitted.labeling.labels, whole.labeling.labels);
}

#[test]
fn what_is_no_prior_is_refused() {
    let (affinity, targets, _) = rings();
    let text = |params: HarmonicParams, shares: &Matrix| {
        fit(&params, &affinity, &targets, shares, &run()).unwrap_err().to_string()
    };
    let default = HarmonicParams::default;
    assert!(text(default(), &shares(119, 2)).contains("the prior has 119 rows and 2 columns; expected 120 rows"));
    assert!(text(default(), &shares(120, 3)).contains("expected 120 rows and 2 columns, one per class"));
    let with = |row: usize, values: [f64; 2]| {
        let mut shares = shares(120, 2);
        shares.row_mut(row).copy_from_slice(&values);
        shares
    };
    assert!(text(default(), &with(7, [f64::NAN, 1.0])).contains("row 7 of the prior holds NaN (column 0)"));
    assert!(text(default(), &with(8, [1.5, -0.5])).contains("row 8 of the prior holds -0.5 (column 1)"));
    assert!(text(default(), &with(9, [0.5, 0.25])).contains("row 9 of the prior holds shares that sum to 0.75"));

    let good = shares(120, 2);
    assert!(text(HarmonicParams { form: Form::Stable, ..default() }, &good).contains("form is stable"));
    let hard = HarmonicParams { form: Form::Plain, clamp: Clamp::Hard, ..default() };
    assert!(text(hard, &good).contains("clamp is hard; expected soft with a prior"));
    let endless = HarmonicParams { graph_reg: Some(f64::INFINITY), ..default() };
    assert!(text(endless, &good).contains("graph_reg is inf"));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let params = HarmonicParams { prior_weight: Some(weight), ..default() };
        assert!(params.validate().unwrap_err().to_string().contains("prior_weight is"), "{weight}");
    }
}

#[test]
fn methods_without_a_use_for_a_prior_refuse_it() {
    let features = blobs(120, 3, 2);
    let (_, targets, _) = rings();
    let good = shares(120, 2);
    let problem = Problem { features: Some(&features), prior: Some(&good), ..Problem::new(&targets) };
    for name in method_names() {
        let method = method(name, &MethodParams::default()).unwrap();
        let found = method.fit(&problem, &run());
        assert_eq!(found.is_ok(), method.takes_prior(), "{name}: {:?}", found.err());
        if let Err(error) = found {
            assert!(error.to_string().contains("prior is given; expected none for"), "{name}: {error}");
        }
    }
    assert!(Settings::new("subsampling").unwrap().list().iter().all(|parameter| parameter.name != "prior_weight"));
    let values = Targets::regression(&[1.0; 120], None).unwrap();
    let regression = Problem { targets: &values, prior: Some(&good), ..problem };
    let harmonic = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    assert!(harmonic.regress(&regression, &run()).unwrap_err().to_string().contains("prior is given"));
}
