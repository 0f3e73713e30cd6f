use std::collections::HashSet;

use crate::testkit::blobs;
use lapwing_core::Labels;
use lapwing_graph::{GraphParams, affinity_graph};

use super::*;

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 4).unwrap()
}

/// A neighbor graph of blobs, and which blob each row is of.
fn problem(n: usize) -> (Graph, Vec<i64>) {
    let graph = affinity_graph(&blobs(n, 3, 8), &GraphParams::default(), &run(2)).unwrap().graph;
    let components = graph.components();
    let classes = components.id.iter().map(|&id| i64::from(id % 3)).collect();
    (graph, classes)
}

fn targets(classes: &[i64], labeled: impl Fn(usize) -> bool) -> Targets {
    let given = classes.iter().enumerate().map(|(row, &class)| labeled(row).then_some(class));
    Targets::one_hot(&Labels::from_integers(given), None).unwrap()
}

fn next(graph: &Graph, targets: Option<&Targets>, n: usize, params: &SuggestParams, run: &Run) -> Suggestions {
    let mut suggester = Suggester::new(graph, run).unwrap();
    suggester.next(targets, &Wanted { n, ..Wanted::default() }, params, run).unwrap()
}

fn numbers(found: &Suggestions) -> Vec<u32> {
    found.rows.iter().map(|row| row.row).collect()
}

#[test]
fn the_first_rows_cover_every_part() {
    // Four cliques of different sizes and nothing between them.
    let mut edges = Vec::new();
    let mut first = 0u32;
    let sizes = [40, 25, 12, 6];
    for size in sizes {
        edges.extend((0..size).flat_map(|a| (a + 1..size).map(move |b| (first + a, first + b, 1.0))));
        first += size;
    }
    let graph = Graph::from_edges(first as usize, &edges).unwrap();
    let found = next(&graph, None, 4, &SuggestParams::default(), &run(1));
    let components = graph.components();
    let parts: Vec<u32> = numbers(&found).iter().map(|&row| components.id[row as usize]).collect();
    assert_eq!(parts.iter().collect::<HashSet<_>>().len(), 4, "{parts:?}");
    assert_eq!(parts[0], 0, "the largest part comes first: {parts:?}");
    assert!(found.rows.iter().all(|row| row.reason == Reason::Cover && row.guess.is_none()));
    let part = &found.report.parts["suggest"];
    assert_eq!((part["share_unreached"].as_f64(), part["share_unreached_after"].as_f64()), (Some(1.0), Some(0.0)));
}

#[test]
fn suggestions_are_free_distinct_and_the_same_for_any_threads() {
    let (graph, classes) = problem(600);
    let given = targets(&classes, |row| row % 20 == 0);
    for strategy in Strategy::ALL {
        let params = SuggestParams { strategy: *strategy, check: 0.2, explore: 0.2 };
        let found = next(&graph, Some(&given), 20, &params, &run(1));
        let rows = numbers(&found);
        assert_eq!(rows.iter().collect::<HashSet<_>>().len(), 20, "{strategy:?}");
        assert!(rows.iter().all(|row| given.rows().binary_search(row).is_err()), "{strategy:?}");
        let reasons: Vec<Reason> = found.rows.iter().map(|row| row.reason).collect();
        assert_eq!(reasons.iter().filter(|reason| **reason == Reason::Far).count(), 4, "{strategy:?}");
        assert!(reasons[16..].iter().all(|reason| *reason == Reason::Check), "{strategy:?}: {reasons:?}");
        for threads in [2, 7] {
            assert_eq!(numbers(&next(&graph, Some(&given), 20, &params, &run(threads))), rows, "{strategy:?}");
        }
    }
}

#[test]
fn labels_decide_which_strategy_is_taken() {
    let (graph, classes) = problem(300);
    let n_classes = classes.iter().collect::<HashSet<_>>().len();
    let taken = |targets: Option<&Targets>, strategy: Strategy| {
        let found = next(&graph, targets, 6, &SuggestParams { strategy, ..SuggestParams::default() }, &run(1));
        let part = &found.report.parts["suggest"];
        let n_border = found.rows.iter().filter(|row| row.reason == Reason::Border).count();
        (part["reason"].as_str().unwrap_or("").to_owned(), n_border)
    };
    assert_eq!(taken(None, Strategy::Mix), ("no labels yet".into(), 0));
    if n_classes > 1 {
        let many = targets(&classes, |row| row % 5 == 0);
        assert_eq!(taken(Some(&many), Strategy::Mix), (String::new(), 3));
        assert_eq!(taken(Some(&many), Strategy::Border).1, 6);
        assert_eq!(taken(Some(&many), Strategy::Cover).1, 0);
    }
    let one_class = targets(&vec![5; 300], |row| row % 5 == 0);
    assert_eq!(taken(Some(&one_class), Strategy::Mix).0, "labels of one class only");
}

#[test]
fn candidates_costs_and_errors() {
    let (graph, classes) = problem(120);
    let given = targets(&classes, |row| row < 20);
    let run = run(1);
    let mut suggester = Suggester::new(&graph, &run).unwrap();
    let params = SuggestParams::default();
    let candidates: Vec<u32> = (10..40).collect();
    let wanted = Wanted { n: 20, candidates: Some(&candidates), ..Wanted::default() };
    let found = suggester.next(Some(&given), &wanted, &params, &run).unwrap();
    assert_eq!(numbers(&found).into_iter().collect::<HashSet<_>>(), (20..40).collect());
    // Rows that cost a thousand times more are not chosen while others are free.
    let cost: Vec<f64> = (0..120).map(|row| if row % 2 == 0 { 1.0 } else { 1000.0 }).collect();
    let found = suggester.next(None, &Wanted { n: 10, cost: Some(&cost), ..Wanted::default() }, &params, &run).unwrap();
    assert!(numbers(&found).iter().all(|row| row % 2 == 0), "{:?}", numbers(&found));
    let mut text = |wanted: Wanted<'_>, params: &SuggestParams| {
        suggester.next(Some(&given), &wanted, params, &run).unwrap_err().to_string()
    };
    let wanted = Wanted { n: 5, ..Wanted::default() };
    assert!(text(Wanted { n: 0, ..wanted }, &params).contains("n is 0"));
    assert!(text(Wanted { n: 101, ..wanted }, &params).contains("at most 100"));
    assert!(text(Wanted { candidates: Some(&[120]), ..wanted }, &params).contains("rows from 0 to 119"));
    assert!(text(Wanted { cost: Some(&[1.0]), ..wanted }, &params).contains("120 values"));
    let bad: Vec<f64> = (0..120).map(|row| if row == 7 { f64::NAN } else { 1.0 }).collect();
    assert!(text(Wanted { cost: Some(&bad), ..wanted }, &params).contains("row 7"));
    let too_much = SuggestParams { check: 0.6, explore: 0.5, ..params.clone() };
    assert!(text(wanted, &too_much).contains("explore is 0.5"));
    let border = SuggestParams { strategy: Strategy::Border, ..params };
    let error = suggester.next(None, &wanted, &border, &run).unwrap_err().to_string();
    assert!(error.contains("cover, which needs no labels"), "{error}");
}

#[test]
fn a_class_that_nobody_has_named_is_far() {
    // Six cliques in a chain of single edges; labels in the first three only.
    let (size, parts) = (30u32, 6u32);
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for part in 0..parts {
        let first = part * size;
        edges.extend((0..size).flat_map(|a| (a + 1..size).map(move |b| (first + a, first + b, 1.0))));
        if part > 0 {
            edges.push((first - 1, first, 0.5));
        }
    }
    let graph = Graph::from_edges((size * parts) as usize, &edges).unwrap();
    let classes: Vec<i64> = (0..size * parts).map(|row| i64::from(row / size)).collect();
    let given = targets(&classes, |row| row < 90 && row % 5 == 0);
    let params = SuggestParams { explore: 1.0, ..SuggestParams::default() };
    let found = next(&graph, Some(&given), 10, &params, &run(1));
    assert!(found.rows.iter().all(|row| row.reason == Reason::Far && row.row >= 90), "{:?}", numbers(&found));
    assert!(found.rows[..3].iter().all(|row| row.row >= 150), "{:?}", numbers(&found));
}

#[test]
fn batches_follow_each_other_and_warm_solves_agree() {
    let (graph, classes) = problem(500);
    let run = run(2);
    let mut warm = Suggester::new(&graph, &run).unwrap();
    let mut labeled: HashSet<usize> = (0..500).step_by(40).collect();
    for _ in 0..3 {
        let given = targets(&classes, |row| labeled.contains(&row));
        let wanted = Wanted { n: 10, ..Wanted::default() };
        let found = warm.next(Some(&given), &wanted, &SuggestParams::default(), &run).unwrap();
        let cold = next(&graph, Some(&given), 10, &SuggestParams::default(), &run);
        let same = numbers(&found).iter().filter(|row| numbers(&cold).contains(row)).count();
        assert!(same >= 8, "{same}");
        labeled.extend(found.rows.iter().map(|row| row.row as usize));
    }
    assert_eq!(labeled.len(), 13 + 30);
    let given = targets(&classes, |row| labeled.contains(&row));
    assert!(warm.distance_from_labels(&given, &run).unwrap().iter().all(|o| *o > 0.0));
    // Check rows of one batch say nothing about those of the next.
    let params = SuggestParams { check: 1.0, ..SuggestParams::default() };
    let first = numbers(&next(&graph, Some(&given), 40, &params, &run));
    labeled.insert(first[0] as usize);
    let given = targets(&classes, |row| labeled.contains(&row));
    let second = numbers(&next(&graph, Some(&given), 40, &params, &run));
    let near = first.iter().zip(&second).filter(|(a, b)| a.abs_diff(**b) < 4).count();
    assert!(near < 8, "{near}");
}

#[test]
fn graphs_without_edges_have_suggestions_too() {
    let graph = Graph::from_edges(50, &[]).unwrap();
    let found = next(&graph, None, 30, &SuggestParams::default(), &run(1));
    assert_eq!(numbers(&found).into_iter().collect::<HashSet<_>>().len(), 30);
    let given = targets(&(0..50).map(|row| row % 2).collect::<Vec<_>>(), |row| row < 12);
    let found = next(&graph, Some(&given), 30, &SuggestParams::default(), &run(1));
    assert_eq!(numbers(&found).into_iter().collect::<HashSet<_>>().len(), 30);
}
