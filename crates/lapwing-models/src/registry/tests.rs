//! Every method by its name, with its parameters by theirs.

use std::sync::Arc;

use lapwing_core::params::set_all;
use lapwing_core::{Features, Labels, Run, Targets, hash};
use lapwing_graph::GraphParams;

use super::*;
use crate::Problem;
use crate::methods::unfolded::NodeLoss;
use crate::{LapSvmParams, UnfoldedParams};

#[test]
fn every_method_can_be_made_from_its_own_defaults() {
    for spec in METHODS {
        let mut settings = Settings::new(spec.name).unwrap();
        let list = settings.list();
        let names: Vec<&str> = list.iter().map(|parameter| parameter.name).collect();
        let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{}: {names:?}", spec.name);
        for parameter in &list {
            assert_eq!(settings.get(parameter.name).as_ref(), Some(&parameter.default), "{}", parameter.name);
            settings.set(parameter.name, &parameter.default).unwrap();
            let summary = parameter.summary();
            // A full stop within brackets would end the summary there.
            let is_whole = summary.len() > 8 && summary.matches('(').count() == summary.matches(')').count();
            assert!(is_whole, "{} of {}: {summary}", parameter.name, spec.name);
            for condition in parameter.cases.iter().flatten() {
                assert!(names.contains(&condition.parameter), "{} needs {condition:?}", parameter.name);
            }
        }
        assert_eq!(settings.method().unwrap().name(), spec.name);
    }
}

#[test]
fn names_are_those_of_the_method() {
    let mut settings = Settings::new("lapsvm").unwrap();
    settings.set("bandwidth", &Value::Real(2.0)).unwrap();
    settings.set("graph_bandwidth", &Value::Real(0.3)).unwrap();
    assert_eq!((settings.params.lapsvm.bandwidth, settings.params.graph.bandwidth), (Some(2.0), Some(0.3)));
    assert!(settings.set("n_landmark", &Value::Count(1)).unwrap_err().to_string().contains("n_landmarks"));
    assert!(Settings::new("lapsvn").unwrap_err().to_string().contains("the nearest is lapsvm"));
}

#[test]
fn a_method_of_one_factor_has_the_parameters_of_that_factor() {
    let names =
        |method: &str| Settings::new(method).unwrap().list().iter().map(|parameter| parameter.name).collect::<Vec<_>>();
    assert!(names("nystrom").contains(&"bandwidth") && !names("nystrom").contains(&"n_nearest"));
    assert!(names("anchor").contains(&"n_nearest") && !names("anchor").contains(&"glnp_tol"));
    assert!(!names("glnp").contains(&"factor") && names("low-rank").contains(&"factor"));
    let tol = Settings::new("glnp").unwrap().list().into_iter().find(|p| p.name == "glnp_tol").unwrap();
    assert_eq!(tol.needs(str::to_owned), None);
}

#[test]
fn a_prior_is_one_parameter_of_propagation_and_of_sizes() {
    let mut settings = Settings::new("low-rank").unwrap();
    let prior = Value::List(vec![0.25, 0.75]);
    set_all(&mut settings, [("class_prior", &prior), ("decision", &Value::Word("sizes".into()))]).unwrap();
    assert_eq!(settings.params.low_rank.class_prior, settings.params.sizing.class_prior);
    assert!(settings.sizes().is_some() && Settings::new("low-rank").unwrap().sizes().is_none());
}

#[test]
fn methods_that_name_another_give_its_results() {
    use lapwing_core::{Features, Labels, Run, Targets};

    use crate::{Problem, ProblemSize};
    let n = 300;
    // Three classes that overlap.
    let noise = |i: usize| (i * 7919 % 1013) as f64 / 1013.0;
    let values = (0..2 * n).map(|at| (at / 2 % 3) as f64 * 0.4 * (at % 2) as f64 + noise(at)).collect();
    let features = Features::from_f64(n, 2, values).unwrap();
    let labels = Labels::from_integers((0..n as i64).map(|i| (i < 12).then_some(i % 3)));
    let (targets, run) = (Targets::one_hot(&labels, None).unwrap(), Run::new(Some(1), 0).unwrap());
    let size = |n_samples| ProblemSize {
        n_samples,
        n_features: 2,
        n_edges: None,
        input_bytes: 0,
        sparse: false,
        streamed: false,
        n_classes: 3,
        n_labeled: 12,
        threads: 1,
    };
    let scores = |method: &dyn Method| {
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        method.fit(&problem, &run).unwrap().labeling.scores
    };
    let own = |name| method(name, &MethodParams::default()).unwrap();
    for name in ["sparse-harmonic", "subsampling"] {
        let same = own(name).same_as(&size(n)).unwrap();
        assert_eq!(same, "harmonic");
        // Certified solves go on for longer.
        let (found, expected) = (scores(&*own(name)), scores(&*own(same)));
        let worst = found.values().iter().zip(expected.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-6, "{name}: {worst}");
    }
    assert_eq!(own("subsampling").same_as(&size(2001)), None);
    let mut thinned = MethodParams::default();
    thinned.sparse.sparsify.budget = lapwing_graph::sparsify::Budget::Edges(500);
    assert_eq!(method("sparse-harmonic", &thinned).unwrap().same_as(&size(n)), None);
    assert!(method_names().filter(|name| own(name).same_as(&size(n)).is_some()).count() == 2);
}

#[test]
fn every_method_labels_rows_far_from_zero_as_near_ones() {
    let run = Run::new(Some(2), 0).unwrap();
    let (n, d) = (240, 4);
    // On a grid, so that double precision holds the far rows exactly.
    let at = |at: usize| {
        let class = at / d % 3;
        let noise = hash::uniform(at as u64) + hash::uniform(at as u64 + 1_000_000);
        ((noise + 1.5 * f64::from(u8::from(at % d == class))) * 256.0).round() / 256.0
    };
    let labels = Labels::from_integers((0..n).map(|row| (row % 5 == 0).then_some((row % 3) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    for name in method_names() {
        let labeled = |offset: f64| {
            let features = Features::from_f64(n, d, (0..n * d).map(|i| at(i) + offset).collect()).unwrap();
            let new = Features::from_f64(n, d, (0..n * d).map(|i| at(i + n * d) + offset).collect()).unwrap();
            let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
            let fitted = method(name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
            let scores = fitted.extension.unwrap().scores_of(&new, &run).unwrap();
            let new = fitted.rule.decide(Arc::new(scores)).labels;
            let is_told = fitted.report.warnings.iter().any(|warning| warning.kind() == "indistinct-rows");
            ([fitted.labeling.labels, new].concat(), is_told)
        };
        let (near, far) = (labeled(0.0), labeled(1.7e12));
        assert_eq!(far.1, name == "glnp", "{name}");
        // Rounding may move a row at the border of two classes.
        let n_moved = far.0.iter().zip(&near.0).filter(|(far, near)| far != near).count();
        assert!(far.1 || n_moved <= n / 100, "{name}: {n_moved}");
    }
}

#[test]
fn every_regressor_gives_values_in_their_own_unit() {
    let run = Run::new(Some(2), 0).unwrap();
    let (n, d) = (150, 3);
    let features = Features::from_f64(n, d, (0..n * d).map(|at| hash::uniform(at as u64)).collect()).unwrap();
    let Features::Dense(rows) = &features else { unreachable!() };
    let value = |row: usize, unit: f64| {
        let mut x = vec![0.0; d];
        rows.copy_row_f64(row, &mut x);
        let noise = hash::uniform(row as u64 + 1_000_000);
        if row.is_multiple_of(3) { (3.0 * x[0] - 2.0 * x[1] + 0.3 * noise) * unit } else { f64::NAN }
    };
    let regressed = |name: &str, unit: f64| {
        let values: Vec<f64> = (0..n).map(|row| value(row, unit)).collect();
        let targets = Targets::regression(&values, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let graph = GraphParams::default();
        match name {
            "harmonic" => Harmonic::new(HarmonicParams::default(), graph).unwrap().regress(&problem, &run),
            "laprls" => LapSvm::least_squares(LapSvmParams::default(), graph).unwrap().regress(&problem, &run),
            _ => {
                let params = UnfoldedParams { loss: NodeLoss::Mse, ..UnfoldedParams::default() };
                UnfoldedGnn::new(params, graph).unwrap().regress(&problem, &run)
            }
        }
        .unwrap()
    };
    for name in ["harmonic", "laprls", "unfolded-gnn"] {
        let expected = regressed(name, 1.0);
        for unit in [2f64.powi(-330), 2f64.powi(-260), 2f64.powi(260), 2f64.powi(325)] {
            let found = regressed(name, unit);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a / unit - b).abs() <= 1e-6);
            assert!(close(found.values.values(), expected.values.values()), "{name} {unit:e}");
            assert!(close(&found.uncertainty.unwrap(), expected.uncertainty.as_ref().unwrap()), "{name} {unit:e}");
        }
    }
}

#[test]
fn what_labels_are_for_decides_what_auto_leaves_open() {
    let words = |settings: Settings| ["labels_drawn", "calibration"].map(|name| settings.get(name));
    let word = |word: &str| Some(Value::Word(word.into()));
    let new = || Settings::new("harmonic").unwrap();
    assert_eq!(words(new().for_suggested().for_sets()), [word("balanced"), word("leave-one-out")]);
    let mut given = new();
    given.set("labels_drawn", &Value::Word("random".into())).unwrap();
    assert_eq!(words(given.for_suggested()), [word("random"), word("auto")]);
    let linear = Settings::new("linear").unwrap().for_suggested().for_sets();
    assert_eq!(words(linear), [word("balanced"), None]);
}
