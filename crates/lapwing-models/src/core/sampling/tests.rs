//! Samples of rows with small clusters, and fits on them.

use lapwing_core::{Alone, Labels, Targets};

use super::*;
use crate::testkit::dense_values;
use crate::{MethodParams, method};

const N: usize = 20_000;
const CLUSTERS: usize = 6;
const SMALL: usize = 60;

/// Two broad classes, and small clusters far from them; the class of each row.
fn rows() -> (Features<'static>, Vec<usize>) {
    let run = Run::new(Some(1), 5).unwrap();
    let noise = |row: usize, col: usize| {
        let at = (row * 8 + col) as u64;
        (0..6).map(|part| hash::uniform(hash::mix(at) ^ part)).sum::<f64>() - 3.0
    };
    let class = |row: usize| {
        let spread = (hash::mix(row as u64) % N as u64) as usize;
        if spread < CLUSTERS * SMALL { 2 + spread / SMALL } else { spread % 2 }
    };
    let classes: Vec<usize> = (0..N).map(class).collect();
    let values = (0..N).flat_map(|row| {
        let class = classes[row];
        let scale = if class < 2 { 1.0 } else { 0.1 };
        let center = move |col: usize| if col == class { 12.0 } else { 0.0 };
        (0..8).map(move |col| center(col) + scale * noise(row, col))
    });
    let features = Features::from_f64(N, 8, values.collect()).unwrap();
    assert!(features.check(&run).is_ok() && dense_values(&features).len() == 8 * N);
    (features, classes)
}

#[test]
fn clusters_of_which_no_row_is_drawn_get_their_label() {
    let (features, classes) = rows();
    let first = |class: usize| (0..N).filter(move |&row| row % 3 == 1).find(|&row| classes[row] == class).unwrap();
    let labeled: Vec<usize> = (0..2 + CLUSTERS).map(&first).collect();
    let (_, classes) = rows();
    let labels = Labels::from_integers((0..N).map(|row| labeled.contains(&row).then(|| classes[row] as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let run = Run::new(Some(2), 0).unwrap();
    let method = method("harmonic", &MethodParams::default()).unwrap();
    let problem = RowProblem { fit_rows: 1000, ..RowProblem::new(&features, &targets) };
    let fit = method.fit_rows(&problem, &Alone, &run).unwrap();
    let (mut wrong, mut unreached) = (0, Vec::new());
    let take = |first: usize, labeling: crate::Labeling| {
        for (row, class) in (first..).zip(labeling.chosen()) {
            match class {
                Some(class) => wrong += usize::from(classes[row] != class),
                None => unreached.push(classes[row]),
            }
        }
        Ok(())
    };
    fit.label_rows(&features, &targets, 0..N, &run, take).unwrap();
    assert_eq!(wrong, 0);
    // Rows at the margin of the broad classes may be beyond the sample; none of a small cluster is.
    assert!(unreached.len() < N / 500 && unreached.iter().all(|&class| class < 2), "{unreached:?}");
    assert!(fit.report.parts["sample"]["n_rows"].as_u64().unwrap() < 1500);
}

#[test]
fn a_sample_holds_all_labeled_rows_and_their_neighbors() {
    let (features, _) = rows();
    let run = Run::new(Some(2), 0).unwrap();
    let labeled: Vec<u32> = (0..40).map(|at| at * 499).collect();
    let sample = Sample::draw(&features, Draw::new(N, &labeled, 4000, true, 0), Standardize::Off, &run).unwrap();
    assert!(labeled.iter().all(|row| sample.rows.binary_search(row).is_ok()));
    assert!(sample.rows.is_sorted_by(|a, b| a < b) && (3000..4400).contains(&sample.rows.len()));
    assert_eq!(dense_values(&sample.features), dense_values(&features.select(&sample.rows).unwrap()));
    let other = Sample::draw(
        &features,
        Draw::new(N, &labeled, 4000, true, 0),
        Standardize::Off,
        &Run::new(Some(1), 0).unwrap(),
    )
    .unwrap();
    assert_eq!(sample.rows, other.rows);
}

#[test]
fn clusters_without_a_label_of_which_no_row_is_drawn_are_found() {
    let run = Run::new(Some(2), 0).unwrap();
    let (broad, _) = rows();
    let mut values = dense_values(&broad);
    let (tiny, of) = (8, |row: usize| (row % 2048 == 7).then_some(row / 2048));
    let mut members = Vec::new();
    for row in 0..N {
        for at in 0..tiny {
            // Eight rows on, so that rows of a cluster lie far from each other in the file.
            if let Some(cluster) = of(row) {
                let row = (row + 100 * at) % N;
                members.push((cluster, row as u32));
                (0..8).for_each(|col| {
                    values[row * 8 + col] =
                        if col == cluster % 8 { -100.0 * (1 + cluster) as f64 } else { 0.01 * at as f64 }
                });
            }
        }
    }
    let features = Features::from_f64(N, 8, values).unwrap();
    let sample = Sample::draw(&features, Draw::new(N, &[0, 1], 1000, true, 0), Standardize::Off, &run).unwrap();
    assert!(sample.far.len() >= sample.n_far_taken && sample.n_far_taken > 0);
    for cluster in 0..members.iter().map(|member| member.0).max().unwrap() {
        let is_in = |row: &u32| sample.rows.binary_search(row).is_ok();
        assert!(members.iter().any(|(of, row)| *of == cluster && is_in(row)), "cluster {cluster}");
    }
}
