//! Decisions that hold classes to sizes.

use lapwing_core::Labels;
use lapwing_graph::{AffinityGraph, Graph};
use proptest::prelude::*;

use super::*;

fn run() -> Run {
    Run::new(Some(2), 5).unwrap()
}

/// Scores that have no ties.
fn scores(n: usize, c: usize, seed: u64) -> Matrix {
    let value = |at: usize| lapwing_core::hash::uniform(seed.wrapping_mul(1 << 20).wrapping_add(at as u64));
    Matrix::new(n, c, (0..n * c).map(value).collect()).unwrap()
}

fn rule(c: usize) -> Rule {
    Rule {
        offset: vec![0.0; c],
        scale: vec![1.0; c],
        temperature: Some(1.0),
        flattened: false,
        venn_abers: None,
        prior: vec![1.0 / c as f64; c],
    }
}

fn sizes_of(rule: &Rule, scores: &Matrix) -> Vec<usize> {
    let labeling = rule.decide(Arc::new(scores.clone()));
    let mut sizes = vec![0; scores.n_cols()];
    labeling.labels.iter().zip(&labeling.reached).filter(|(_, r)| **r).for_each(|(&k, _)| sizes[k as usize] += 1);
    sizes
}

/// The largest total score of labels with exactly these class sizes: min-cost assignment by augmenting paths between classes.
fn best_total(scores: &Matrix, sizes: &[usize]) -> f64 {
    let (n, c) = (scores.n_rows(), scores.n_cols());
    let mut labels: Vec<usize> = sizes.iter().enumerate().flat_map(|(k, &size)| std::iter::repeat_n(k, size)).collect();
    assert_eq!(labels.len(), n);
    // Cancel positive cycles of moves between classes (Bellman–Ford on the classes) until there is none.
    loop {
        let mut gain = vec![vec![(f64::NEG_INFINITY, 0); c]; c];
        for row in 0..n {
            for to in (0..c).filter(|&to| to != labels[row]) {
                let by = scores.row(row)[to] - scores.row(row)[labels[row]];
                if by > gain[labels[row]][to].0 {
                    gain[labels[row]][to] = (by, row);
                }
            }
        }
        let (mut best, mut before) = (vec![0.0; c], vec![usize::MAX; c]);
        let mut last = usize::MAX;
        for _ in 0..c {
            last = usize::MAX;
            for from in 0..c {
                for to in 0..c {
                    if from != to && best[from] + gain[from][to].0 > best[to] + 1e-12 {
                        (best[to], before[to], last) = (best[from] + gain[from][to].0, from, to);
                    }
                }
            }
        }
        if last == usize::MAX {
            break;
        }
        let mut at = last;
        (0..c).for_each(|_| at = before[at]);
        let (start, mut moves) = (at, Vec::new());
        loop {
            moves.push((gain[before[at]][at].1, at));
            at = before[at];
            if at == start {
                break;
            }
        }
        moves.into_iter().for_each(|(row, to)| labels[row] = to);
    }
    labels.iter().enumerate().map(|(row, &k)| scores.row(row)[k]).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn given_sizes_are_met_by_the_best_assignment(n in 12usize..60, c in 2usize..5, seed in 0u64..10_000) {
        let scores = scores(n, c, seed);
        let mut sizes = vec![1 + n / (2 * c); c];
        sizes[seed as usize % c] += n - sizes.iter().sum::<usize>();
        let shares: Vec<f64> = sizes.iter().map(|&size| size as f64 / n as f64).collect();
        let bounds = SizeBounds { lower: shares.clone(), upper: shares, is_given: true };
        let mut rule = rule(c);
        let held = hold_sizes(&mut rule, &scores, &bounds, &run()).unwrap();
        prop_assert!(held.miss <= 1, "{held:?} {sizes:?}");
        prop_assert_eq!(&sizes_of(&rule, &scores), &held.sizes);
        // Offsets are prices: with the sizes they reach, no other labels have a larger total score.
        let labeling = rule.decide(Arc::new(scores.clone()));
        let total: f64 = labeling.labels.iter().enumerate().map(|(row, &k)| scores.row(row)[k as usize]).sum();
        prop_assert!((total - best_total(&scores, &held.sizes)).abs() < 1e-9);
    }

    #[test]
    fn sizes_within_their_bounds_stay(n in 10usize..200, seed in 0u64..1000) {
        let scores = scores(n, 3, seed);
        let bounds = SizeBounds { lower: vec![0.0; 3], upper: vec![1.0; 3], is_given: false };
        let mut held = rule(3);
        hold_sizes(&mut held, &scores, &bounds, &run()).unwrap();
        prop_assert_eq!(held, rule(3));
    }
}

#[test]
fn rows_that_no_label_reaches_take_no_part_and_barred_classes_get_none() {
    let mut scores = scores(100, 3, 1);
    (0..40).for_each(|row| scores.row_mut(row).fill(f64::NAN));
    let mut rule = Rule { scale: vec![1.0, 0.0, 1.0], ..rule(3) };
    let bounds = SizeBounds::around(&[0.5, 0.25, 0.25], 0.0, &[3, 0, 3]);
    let held = hold_sizes(&mut rule, &scores, &bounds, &run()).unwrap();
    assert_eq!((held.n_reached, held.sizes), (60, vec![40, 0, 20]));
}

#[test]
fn equal_rows_come_as_near_as_they_can_and_say_so() {
    let scores = Matrix::new(40, 2, [0.5, 0.4].repeat(40)).unwrap();
    let mut rule = rule(2);
    let bounds = SizeBounds::around(&[0.6, 0.4], 0.0, &[1, 1]);
    let held = hold_sizes(&mut rule, &scores, &bounds, &run()).unwrap();
    let targets = Targets::one_hot(&Labels::from_integers([Some(7), Some(9)]), None).unwrap();
    let warning = held.warning(&targets).unwrap().to_string();
    assert!(held.miss == 16 && warning.starts_with("class 7 misses its size by 16 of 40 rows"), "{warning}");
}

#[test]
fn intervals_are_those_of_wilson_and_even_counts_say_nothing() {
    let bounds = SizeBounds::from_labels(&[3, 7]);
    // Wilson 1927 for 3 of 10 at 90 %, by hand.
    assert!((bounds.lower[0] - 0.1269).abs() < 1e-4 && (bounds.upper[0] - 0.5583).abs() < 1e-4, "{bounds:?}");
    for (counts, expected) in [
        (vec![5, 5, 5], true),
        (vec![5, 6, 5], true),
        (vec![30, 31, 29, 30, 32, 30, 28, 30, 30, 30], true),
        (vec![9, 1], false),
        (vec![12, 4, 9, 5], false),
        (vec![7], true),
        (vec![0, 4, 4, 0], true),
    ] {
        assert_eq!(are_balanced(&counts), expected, "{counts:?}");
    }
}

/// Two dense groups of 30 and 90 rows, joined by a few edges, one label in each.
fn two_groups() -> (AffinityGraph, Targets) {
    let mut edges = Vec::new();
    for (first, size) in [(0u32, 30u32), (30, 90)] {
        for i in 0..size {
            for step in [1, 2, 5, 7] {
                edges.push((first + i, first + (i + step) % size, 1.0));
            }
        }
    }
    edges.extend([(0, 30, 1.0), (1, 31, 1.0), (2, 33, 1.0)]);
    let graph = Graph::from_edges(120, &edges).unwrap();
    let labels = Labels::from_integers((0..120).map(|row| match row {
        12 => Some(0),
        80 => Some(1),
        _ => None,
    }));
    (AffinityGraph::given(graph), Targets::one_hot(&labels, None).unwrap())
}

#[test]
fn refinement_finds_groups_of_the_given_sizes() {
    let (affinity, targets) = two_groups();
    let bounds = SizeBounds::around(&[0.25, 0.75], 0.0, &[1, 1]);
    // Every fifth label of the start is wrong.
    let labels: Vec<u32> = (0..120).map(|row| u32::from(row >= 30) ^ u32::from(row % 5 == 0)).collect();
    let refined = |threads: usize| {
        let run = Run::new(Some(threads), 0).unwrap();
        refine(&affinity.graph, &targets, &labels, &[true; 120], &bounds, &rule(2), &run).unwrap()
    };
    let one = refined(1);
    assert_eq!(one.held.sizes, [30, 90]);
    let found = one.rule.decide(Arc::new(one.scores.clone())).labels;
    assert!((0..120).all(|row| found[row] == u32::from(row >= 30)), "{found:?}");
    for threads in [2, 7] {
        let other = refined(threads);
        assert!(other.scores == one.scores && other.rule == one.rule);
    }
}

#[test]
fn shares_are_checked_before_anything_else() {
    let text = |prior: Vec<f64>, slack: f64| {
        let options = SizeOptions { size_slack: slack, ..SizeOptions::default() };
        SizeParams { class_prior: ClassPrior::Given(prior), options }.validate(2).unwrap_err().to_string()
    };
    assert!(text(vec![0.5, 0.4], 0.0).contains("add up to 1"));
    assert!(text(vec![1.5, -0.5], 0.0).contains("positive"));
    assert!(text(vec![0.5, 0.25, 0.25], 0.0).contains("one per class"));
    assert!(text(vec![0.5, 0.5], 1.0).contains("below 1"));
}
