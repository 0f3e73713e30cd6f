//! Every method by its name, with its parameters by theirs.

use lapwing_data::params::set_all;

use super::*;

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
    assert!(names("nystrom").contains(&"rcond") && !names("nystrom").contains(&"n_nearest"));
    assert!(names("anchor").contains(&"n_nearest") && !names("anchor").contains(&"glnp_tol"));
    assert!(!names("glnp").contains(&"factor") && names("low-rank").contains(&"factor"));
    let rcond = Settings::new("nystrom").unwrap().list().into_iter().find(|p| p.name == "rcond").unwrap();
    assert_eq!(rcond.needs(str::to_owned), None);
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
    use lapwing_data::{Features, Labels, Run, Targets};

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
