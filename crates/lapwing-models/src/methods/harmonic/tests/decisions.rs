//! Decisions, defaults and their accuracy, on digits and on groups of rows.

use serde_json::json;

use super::*;
use crate::Rule;
use crate::core::class_sizes::LabelsDrawn;

/// The table of decision rules on the 1797 digits: centered decisions must not collapse to one class; the others do.
#[test]
fn centered_decisions_survive_strong_regularization_and_unbalanced_labels() {
    let Some((features, labels)) = digits() else { return };
    // The table was measured with the weights of Zelnik-Manor & Perona.
    let params = GraphParams { n_neighbors: 10, bandwidth: Some(1.0), ..GraphParams::default() };
    let affinity = affinity_graph(&features, &params, &run()).unwrap();
    let by_class = labels.rows_by_class().unwrap();
    // 1, 3, …, 19 labels per class.
    let unbalanced = |draw: usize| {
        let mut index = vec![lapwing_core::UNLABELED; labels.len()];
        for (class, rows) in by_class.iter().enumerate() {
            (0..2 * class + 1).for_each(|at| index[rows[(at * 7 + draw * 13) % rows.len()]] = class as i32);
        }
        Labels { classes: labels.classes.clone(), index }
    };
    let accuracy = |form, decision, graph_reg: f64| {
        let each = (0..5).map(|draw| {
            let kept = unbalanced(draw);
            let targets = Targets::one_hot(&kept, None).unwrap();
            let params = HarmonicParams { form, decision, graph_reg: Some(graph_reg), ..HarmonicParams::default() };
            let method = Harmonic::new(params, GraphParams::default()).unwrap();
            let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
            let labeling = method.fit(&problem, &run()).unwrap().labeling;
            metrics::accuracy(&labels.index, &labeling.labels, |row| kept.index[row] < 0)
        });
        each.sum::<f64>() / 5.0
    };
    let (plain, stable) = (Form::Plain, Form::Stable);
    assert!(accuracy(plain, Decision::Argmax, 1.0) < 0.2, "plain argmax falls for the majority class");
    assert!(accuracy(plain, Decision::Centered, 1.0) > 0.8);
    assert!(accuracy(stable, Decision::Centered, 1.0) > 0.8);
    assert!(accuracy(plain, Decision::Centered, 1e-2) > 0.87);
    assert!(accuracy(stable, Decision::Centered, 1e-2) > 0.86);
    assert!(accuracy(stable, Decision::Argmax, 1.0) < 0.2, "adding the mean back brings the collapse back");
}

/// The digits of `lapwing demo`.
fn digits() -> Option<(lapwing_core::Features<'static>, Labels)> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../lapwing-cli/data/digits.csv.gz");
    let options = lapwing_table::read::ReadOptions { label_column: Some("digit".into()), ..Default::default() };
    let samples = lapwing_table::read_samples(&path, &options, &run()).ok()?;
    Some((samples.features, samples.labels?))
}

#[test]
fn few_labels_on_the_digits_reach_their_accuracy() {
    let Some((features, labels)) = digits() else { return };
    let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    let each = (0..10).map(|draw| {
        let kept = crate::core::split::keep_labels(&labels, 50, draw, &run()).unwrap();
        let targets = Targets::one_hot(&kept, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let labeling = method.fit(&problem, &run()).unwrap().labeling;
        metrics::accuracy(&labels.index, &labeling.labels, |row| kept.index[row] < 0)
    });
    let mean = each.sum::<f64>() / 10.0;
    assert!(mean >= 0.93, "{mean}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let features = blobs(3000, 6, 3);
    let labels = Labels::from_integers((0..3000).map(|row| (row < 30).then_some((row % 3) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    let fits: Vec<_> = [1, 2, 7]
        .iter()
        .map(|&threads| {
            let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
            method.fit(&problem, &Run::new(Some(threads), 3).unwrap()).unwrap().labeling
        })
        .collect();
    for fit in &fits[1..] {
        assert_eq!(fit.scores, fits[0].scores);
        assert_eq!(fit.label_distributions, fits[0].label_distributions);
    }
}

#[test]
fn a_canceled_fit_stops() {
    let cancel = lapwing_core::CancelToken::default();
    cancel.cancel();
    let features = blobs(500, 3, 2);
    let targets = Targets::one_hot(&three_classes(500), None).unwrap();
    let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let outcome = method.fit(&problem, &run().with_cancel(cancel));
    assert!(matches!(outcome, Err(Error::Interrupted)));
}

#[test]
fn the_default_says_what_it_chose_and_asked_forms_are_kept() {
    let features = blobs(400, 4, 2);
    let labels = Labels::from_integers((0..400).map(|row| (row < 40).then_some((row % 2) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fit =
        |params: HarmonicParams| Harmonic::new(params, GraphParams::default()).unwrap().fit(&problem, &run()).unwrap();
    let report = fit(HarmonicParams::default()).report;
    assert_eq!((&report.chosen["form"], &report.chosen["labels_drawn"]), (&json!("plain"), &json!("balanced")));
    assert!(report.parts["leave_one_out"]["accuracy"].as_f64().is_some_and(|accuracy| accuracy > 0.9));
    let stable = HarmonicParams { form: Form::Stable, ..HarmonicParams::default() };
    let fitted = fit(stable.clone());
    assert!(!fitted.report.chosen.contains_key("form"));
    let graph = fitted.graph.unwrap().graph;
    assert_eq!(*fitted.labeling.scores, harmonic(&graph, &targets, &stable, &run()).unwrap().scores);
}

/// Groups of rows, `sizes[g]` in group g, each a dense ring. If `bridge` is above 0, edges of this weight join them in a chain.
fn groups(sizes: &[u32], bridge: f64) -> AffinityGraph {
    let (mut edges, mut first) = (Vec::new(), 0);
    for &size in sizes {
        for i in 0..size {
            edges.extend([1, 2, 4, 7].map(|step| (first + i, first + (i + step) % size, 1.0)));
        }
        if first > 0 && bridge > 0.0 {
            edges.push((first - 1, first, bridge));
        }
        first += size;
    }
    AffinityGraph::given(Graph::from_edges(first as usize, &edges).unwrap())
}

/// Many labels of one class in a small part do not take the rows of other parts, whether the parts are joined or not.
#[test]
fn parts_and_nearly_separate_parts_keep_their_own_labels() {
    for bridge in [0.0, 1e-9, 1e-4] {
        let affinity = groups(&[40, 300, 300, 60], bridge);
        let truth = |row: usize| i64::from((340..640).contains(&row));
        // Forty labels of class 0 in the first part; few, of both classes, in the others.
        let is_labeled = |row: usize| row < 40 || [50, 150, 250, 400, 500, 600, 650, 660].contains(&row);
        let labels = Labels::from_integers((0..700).map(|row| is_labeled(row).then(|| truth(row))));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
        // A small component has too many labels to be drawn at random. This is detected only if no edge joins it to the rest.
        let labels_drawn = if bridge > 0.0 { LabelsDrawn::Balanced } else { LabelsDrawn::Auto };
        let sizes = SizeOptions { labels_drawn, ..SizeOptions::default() };
        let wrong = |params: HarmonicParams| {
            let params = HarmonicParams { sizes: sizes.clone(), ..params };
            let labeling =
                Harmonic::new(params, GraphParams::default()).unwrap().fit(&problem, &run()).unwrap().labeling;
            (0..700).filter(|&row| i64::from(labeling.labels[row]) != truth(row)).count()
        };
        assert_eq!(wrong(HarmonicParams::default()), 0, "bridge {bridge}");
        if bridge == 0.0 {
            assert_eq!(wrong(HarmonicParams { form: Form::Stable, ..HarmonicParams::default() }), 0);
        }
    }
}

#[test]
fn a_class_that_swallows_the_others_is_said() {
    let affinity = groups(&[300, 300], 1e-6);
    let labels = Labels::from_integers(
        (0..600).map(|row| [10, 20, 30, 310, 320, 330].contains(&row).then_some(i64::from(row > 300))),
    );
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
    let warnings = |class_prior: ClassPrior| {
        let params = HarmonicParams { decision: Decision::Sizes, class_prior, ..HarmonicParams::default() };
        Harmonic::new(params, GraphParams::default()).unwrap().fit(&problem, &run()).unwrap().report.warnings
    };
    // Balanced labels say nothing about sizes: there is a warning, and no class is lost.
    assert!(warnings(ClassPrior::Labeled).iter().all(|warning| *warning == Warning::UnknownSizes {}));
    assert!(warnings(ClassPrior::Given(vec![0.5, 0.5])).is_empty());
    // Scores that all favor one class.
    let favored = Matrix::new(600, 2, [1.0, 0.0].repeat(600)).unwrap();
    let rule = Rule {
        offset: vec![0.0; 2],
        scale: vec![1.0; 2],
        temperature: None,
        flattened: false,
        venn_abers: None,
        prior: vec![0.5; 2],
    };
    let mut report = Report::default();
    notes::lost_classes(&mut report, &rule.decide(Arc::new(favored)), &targets);
    let said = report.warnings[0].to_string();
    assert!(said.contains("class 0 was") && said.contains("100.0 %"), "{said}");
}

/// Labels of groups of rows in which one label of four or five is wrong, by the default.
fn labels_of_groups(sizes: &[u32], bridge: f64, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let affinity = groups(sizes, bridge);
    let (mut truth, mut given) = (Vec::new(), Vec::new());
    for (group, &size) in sizes.iter().enumerate() {
        let first = given.len();
        truth.extend(std::iter::repeat_n(group as u32, size as usize));
        given.resize(first + size as usize, None);
        let n_labels = 4 + group % 2;
        for at in 0..n_labels {
            let row = first + (seed as usize * 7 + at * size as usize / n_labels) % size as usize;
            let class = if at == 0 { (group + 1) % sizes.len() } else { group };
            given[row] = Some(class as i64);
        }
    }
    let targets = Targets::one_hot(&Labels::from_integers(given), None).unwrap();
    let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
    let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    (method.fit(&problem, &run()).unwrap().labeling.labels, truth)
}

/// Each group keeps the class of most of its labels, whether groups are joined or not, and however weakly.
#[test]
fn groups_keep_the_class_of_most_of_their_labels_at_any_bridge() {
    for sizes in [&[200u32, 200][..], &[40, 300, 120], &[60, 60, 60, 90, 250]] {
        for seed in 0..3 {
            let (apart, truth) = labels_of_groups(sizes, 0.0, seed);
            let right = apart.iter().zip(&truth).filter(|(found, truth)| found == truth).count();
            assert!(right as f64 > 0.85 * truth.len() as f64, "{sizes:?}, {seed}: {right} of {}", truth.len());
            for bridge in [1e-12, 1e-9, 1e-6] {
                assert_eq!(labels_of_groups(sizes, bridge, seed).0, apart, "{sizes:?}, {seed}, bridge {bridge}");
            }
        }
    }
}

/// In a pile of equal rows nothing but the labels can decide.
#[test]
fn a_pile_of_rows_gets_the_class_of_most_of_its_labels() {
    let clique = |first: u32, size: u32| {
        (first..first + size).flat_map(move |i| (i + 1..first + size).map(move |j| (i, j, 1.0)))
    };
    for (labels, n_piles) in
        [(vec![0, 0, 0, 1], 2u32), (vec![0, 0, 1], 1), (vec![1, 0, 0, 0, 0, 1], 1), (vec![0, 0, 0, 1, 2], 1)]
    {
        let n = 20 * n_piles;
        let graph = Graph::from_edges(n as usize, &(0..n_piles).flat_map(|p| clique(20 * p, 20)).collect::<Vec<_>>());
        let affinity = AffinityGraph::given(graph.unwrap());
        let mut given = vec![None; n as usize];
        for pile in 0..n_piles as usize {
            labels.iter().enumerate().for_each(|(at, class)| {
                given[20 * pile + at] = Some((class + pile as i64) % 2 + i64::from(*class > 1) * 2)
            });
        }
        let targets = Targets::one_hot(&Labels::from_integers(given), None).unwrap();
        let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
        let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
        let found = method.fit(&problem, &run()).unwrap().labeling.labels;
        for pile in 0..n_piles {
            let rest = &found[20 * pile as usize + labels.len()..20 * (pile as usize + 1)];
            assert!(rest.iter().all(|&class| class == pile), "{labels:?}, pile {pile}: {rest:?}");
        }
    }
}

/// Where features say nothing, the expected accuracy is that of guessing, for labels of each class and at random.
#[test]
fn the_expected_accuracy_holds_where_features_say_nothing() {
    for n_classes in [3usize, 10] {
        let (mut difference, mut held, n_draws) = (0.0, 0, 12u64);
        for draw in 0..n_draws {
            let features = blobs(300, 3, 1);
            let class = |row: u64| (lapwing_core::hash::uniform(row + 1000 * draw) * n_classes as f64) as usize;
            let truth: Vec<usize> = (0..300).map(class).collect();
            let mut counts = vec![0; n_classes];
            let labels = Labels::from_integers((0..300).map(|row| {
                counts[truth[row]] += 1;
                let is_given = if draw % 2 == 0 { counts[truth[row]] <= 6 } else { row < 6 * n_classes };
                is_given.then_some(truth[row] as i64)
            }));
            let targets = Targets::one_hot(&labels, None).unwrap();
            let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
            let fitted =
                Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap().fit(&problem, &run());
            let fitted = fitted.unwrap();
            let expected = fitted.expected_accuracy().unwrap();
            let hidden: Vec<usize> = (0..300).filter(|&row| labels.index[row] < 0).collect();
            let right = hidden.iter().filter(|&&row| fitted.labeling.labels[row] as usize == truth[row]).count();
            let accuracy = right as f64 / hidden.len() as f64;
            difference += (expected.value - accuracy) / n_draws as f64;
            held += usize::from(expected.low <= accuracy && accuracy <= expected.high);
        }
        assert!(difference.abs() < 0.07 && held >= 8, "{n_classes} classes: {difference}, {held} of {n_draws}");
    }
}
