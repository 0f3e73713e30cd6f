use crate::testkit::blobs;
use lapwing_core::Labels;
use lapwing_graph::{GraphParams, affinity_graph};

use super::*;
use crate::core::smoother::leave_one_out::Centering;

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 4).unwrap()
}

/// Two rings of rows around two centers, and their labels.
fn rings(n: usize) -> (Features<'static>, Vec<i64>) {
    let values = (0..n).flat_map(|row| {
        let (angle, class) = (row as f64 * 2.399, row % 2);
        let radius = 1.0 + 0.3 * ((row * 7919 % 101) as f64 / 101.0);
        [6.0 * class as f64 + radius * angle.cos(), radius * angle.sin()]
    });
    (Features::from_f64(n, 2, values.collect()).unwrap(), (0..n as i64).map(|row| row % 2).collect())
}

fn targets(classes: &[i64], every: usize) -> Targets {
    let given = classes.iter().enumerate().map(|(row, &class)| (row % every == 0).then_some(class));
    Targets::one_hot(&Labels::from_integers(given), None).unwrap()
}

fn audited(features: &Features<'_>, targets: &Targets, params: &AuditParams, threads: usize) -> Audit {
    let run = run(threads);
    let graph = affinity_graph(features, &GraphParams::default(), &run).unwrap().graph;
    audit(&graph, Some((features, Metric::Euclidean)), targets, params, &run).unwrap()
}

#[test]
fn wrong_labels_are_the_most_doubtful_ones_and_flagged() {
    let (features, mut classes) = rings(400);
    let wrong: Vec<usize> = (0..400).step_by(37).collect();
    wrong.iter().for_each(|&row| classes[row] = 1 - classes[row]);
    for rounds in [1, 2] {
        let params = AuditParams { rounds, ..AuditParams::default() };
        let found = audited(&features, &targets(&classes, 1), &params, 2);
        let mut order: Vec<usize> = (0..400).collect();
        order.sort_by(|&a, &b| found.quality[a].total_cmp(&found.quality[b]));
        let mut first = order[..wrong.len()].to_vec();
        first.sort_unstable();
        assert_eq!(first, wrong);
        assert!(wrong.iter().all(|&row| found.flagged[row] && found.proposed[row] == Some(1 - classes[row] as u32)));
        assert_eq!(found.flagged.iter().filter(|flagged| **flagged).count(), wrong.len());
        let facts = &found.report.parts["audit"];
        assert!(facts["foretold"].as_f64().unwrap() > 0.95 && facts["flags_are_doubtful"] == false, "{facts}");
        assert_eq!(facts["confused"][0]["n_flagged"], wrong.len());
        assert_eq!(found.confusion.row(0).iter().chain(found.confusion.row(1)).sum::<f64>(), 400.0);
        // The bits do not depend on threads.
        let same = audited(&features, &targets(&classes, 1), &params, 7);
        assert!(found.quality.iter().zip(&same.quality).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn rows_without_labels_are_predicted_and_not_judged() {
    let (features, classes) = rings(300);
    let found = audited(&features, &targets(&classes, 5), &AuditParams::default(), 1);
    for row in 0..300 {
        let is_labeled = row % 5 == 0;
        assert_eq!(
            (found.judged[row], found.quality[row].is_nan(), found.leverage[row].is_nan()),
            (is_labeled, !is_labeled, !is_labeled)
        );
        assert!(found.reached[row] && found.proposed[row] == Some(classes[row] as u32));
    }
    // The only label of a class is not judged.
    let mut odd = classes.clone();
    odd[10] = 7;
    let found = audited(&features, &targets(&odd, 5), &AuditParams::default(), 1);
    assert!(!found.judged[10] && found.quality[10].is_nan() && !found.flagged[10]);
    assert_eq!(found.report.parts["audit"]["n_not_judged"], 1);
}

#[test]
fn chance_neighbors_in_few_dimensions_are_no_duplicates() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for d in [1, 2, 3, 6] {
        let features = Features::from_f64(1000, d, (0..1000 * d).map(|_| next()).collect()).unwrap();
        let classes: Vec<i64> = (0..1000).map(|row| row % 2).collect();
        let found = audited(&features, &targets(&classes, 1), &AuditParams::default(), 2);
        assert!(found.duplicate_group.iter().flatten().count() <= 4, "{d}");
    }
}

#[test]
fn near_duplicates_are_found_however_many_rows_have_some() {
    let (n, d) = (300, 12);
    let noise = |at: usize, purpose: u64| {
        let mixed = lapwing_core::hash::mix(at as u64 ^ (purpose << 40));
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    };
    for (every, copies) in [(10, 1), (2, 1), (1, 1), (1, 3), (1, 6)] {
        let mut rows: Vec<f64> = (0..n * d).map(|at| noise(at, 0)).collect();
        let mut of: Vec<usize> = (0..n).collect();
        for (copy, row) in (0..copies).flat_map(|copy| (0..n).step_by(every).map(move |row| (copy, row))) {
            rows.extend((row * d..(row + 1) * d).map(|at| noise(at, 0) + 1e-3 * noise(at, copy + 1)));
            of.push(row);
        }
        let features = Features::from_f64(of.len(), d, rows).unwrap();
        let classes: Vec<i64> = of.iter().map(|&row| row as i64 % 2).collect();
        let group = audited(&features, &targets(&classes, 1), &AuditParams::default(), 2).duplicate_group;
        for (at, &row) in of.iter().enumerate() {
            assert_eq!(group[at].is_some(), row % every == 0, "{every} {copies}: row {at}");
            assert_eq!(group[at], group[row]);
        }
        let n_groups = group.iter().flatten().max().map_or(0, |most| most + 1);
        assert_eq!(n_groups as usize, n.div_ceil(every));
    }
}

#[test]
fn only_ratios_of_weights_count() {
    let (features, mut classes) = rings(300);
    classes[17] = 1 - classes[17];
    let weighed = |weight: f64| {
        let labels = Labels::from_integers(classes.iter().map(|&class| Some(class)));
        let targets = Targets::one_hot(&labels, Some(&vec![weight; 300])).unwrap();
        audited(&features, &targets, &AuditParams { rounds: 2, ..AuditParams::default() }, 1).quality
    };
    assert!(weighed(1.0).iter().zip(weighed(64.0)).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn duplicates_are_equal_or_nearly_equal_rows() {
    let mut rows: Vec<f64> = {
        let features = blobs(300, 3, 12);
        let Features::Dense(dense) = &features else { panic!() };
        (0..300)
            .flat_map(|row| (0..dense.n_cols()).map(move |column| (row, column)))
            .map(|(row, column)| {
                let mut values = vec![0.0; dense.n_cols()];
                dense.copy_row_f64(row, &mut values);
                values[column]
            })
            .collect()
    };
    let d = rows.len() / 300;
    for (copy, shift) in [(20, 0.0), (40, 0.0), (60, 1e-4)] {
        let own: Vec<f64> = rows[copy * d..(copy + 1) * d].iter().map(|value| value + shift).collect();
        rows.extend(own);
    }
    let features = Features::from_f64(303, d, rows).unwrap();
    let mut classes: Vec<i64> = (0..303).map(|row| row % 2).collect();
    (classes[300], classes[301]) = (1 - classes[20], classes[40]);
    let found = audited(&features, &targets(&classes, 1), &AuditParams::default(), 2);
    for (copy, row) in [(20, 300), (40, 301), (60, 302)] {
        assert!(found.duplicate_group[row].is_some() && found.duplicate_group[row] == found.duplicate_group[copy]);
    }
    assert!(found.contradicts[300] && found.contradicts[20] && !found.contradicts[301] && !found.contradicts[40]);
    let exact =
        audited(&features, &targets(&classes, 1), &AuditParams { duplicates: 0.0, ..AuditParams::default() }, 2);
    assert_eq!(exact.duplicate_group.iter().flatten().count(), 4);
    assert!(found.outlier_percentile.iter().all(|percentile| (0.0..=100.0).contains(percentile)));
}

#[test]
fn labels_with_nothing_to_compare_are_refused() {
    let (features, classes) = rings(60);
    let run = run(1);
    let graph = affinity_graph(&features, &GraphParams::default(), &run).unwrap().graph;
    let text = |targets: &Targets| audit(&graph, None, targets, &AuditParams::default(), &run).unwrap_err().to_string();
    assert!(text(&targets(&vec![3; 60], 2)).contains("all labels are of one class"));
    assert!(text(&targets(&(0..60).collect::<Vec<_>>(), 2)).contains("the only one of its class"));
    let params = AuditParams { rounds: 0, ..AuditParams::default() };
    let error = audit(&graph, None, &targets(&classes, 2), &params, &run).unwrap_err().to_string();
    assert!(error.contains("rounds is 0"), "{error}");
    // Without edges nothing is judged.
    let bare = Graph::from_edges(60, &[]).unwrap();
    let found = audit(&bare, None, &targets(&classes, 3), &AuditParams::default(), &run).unwrap();
    let facts = &found.report.parts["audit"];
    assert!(!found.judged.contains(&true) && facts["n_judged"] == 0 && facts["foretold"].is_null());
    assert!(facts["flags_are_doubtful"] == false && found.report.warnings[0].kind() == "not-judged");
}

#[test]
fn values_of_a_regression_are_ranked_by_their_residuals() {
    let (features, _) = rings(200);
    let run = run(2);
    let graph = affinity_graph(&features, &GraphParams::default(), &run).unwrap().graph;
    let mut values: Vec<f64> = (0..200).map(|row| (row as f64 * 2.399).sin() + 10.0 * (row % 2) as f64).collect();
    values[44] += 3.0;
    let targets = Targets::regression(&values, None).unwrap();
    let found = audit_regression(&graph, &targets, 1.0, Centering::Stable, &run).unwrap();
    let worst = (0..200).min_by(|&a, &b| found.quality[a].total_cmp(&found.quality[b])).unwrap();
    assert_eq!(worst, 44);
    assert!((found.residual[44] - 3.0).abs() < 1.0, "{}", found.residual[44]);
    // Where values are noisy, a large residual says less: the smaller error among quiet values is the more doubtful one.
    let noise = |row: usize| if row.is_multiple_of(2) { 0.01 } else { 4.0 } * ((row * 7919 % 101) as f64 / 50.0 - 1.0);
    let mut values: Vec<f64> = (0..200).map(noise).collect();
    values[44] += 3.0;
    let targets = Targets::regression(&values, None).unwrap();
    let found = audit_regression(&graph, &targets, 1.0, Centering::Stable, &run).unwrap();
    let largest = (0..200).max_by(|&a, &b| found.residual[a].abs().total_cmp(&found.residual[b].abs())).unwrap();
    assert!(largest % 2 == 1 && found.quality[44] == 0.005, "{largest} {}", found.quality[44]);
    let few = Targets::regression(&[1.0, 2.0, f64::NAN], None).unwrap();
    let graph = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0)]).unwrap();
    assert!(
        audit_regression(&graph, &few, 1.0, Centering::Plain, &run).unwrap_err().to_string().contains("at least 3")
    );
}
