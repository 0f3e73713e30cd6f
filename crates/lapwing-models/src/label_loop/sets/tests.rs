use lapwing_core::{Run, Stream};
use rand::RngExt;

use super::*;

/// Rows whose class is drawn by their own shares: held out and new ones.
fn drawn(n: usize, seed: u64) -> (Vec<u32>, Matrix) {
    let mut rng = Run::new(Some(1), seed).unwrap().rng(Stream::Synthetic, 0);
    let mut shares = Matrix::filled(n, 4, 0.0);
    let mut classes = Vec::new();
    for row in 0..n {
        let out = shares.row_mut(row);
        out.iter_mut().for_each(|share| *share = rng.random::<f64>().powi(3) + 1e-6);
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|share| *share /= total);
        let (mut at, mut left) = (0, rng.random::<f64>());
        while at < 3 && left > out[at] {
            left -= out[at];
            at += 1;
        }
        classes.push(at as u32);
    }
    (classes, shares)
}

#[test]
fn sets_hold_the_class_as_often_as_the_level_says() {
    for by_class in [false, true] {
        let (mut covered, mut total, mut low, mut high) = (0usize, 0usize, 0usize, 0usize);
        for seed in 0..40 {
            let ((classes, held_out), (truth, shares)) = (drawn(200, seed), drawn(1000, 1000 + seed));
            let params = SetsParams { level: 0.9, by_class };
            let found = prediction_sets(&classes, &held_out, &shares, &[true; 1000], &params).unwrap();
            let right = (0..1000).filter(|&row| found.holds[row * 4 + truth[row] as usize]).count();
            covered += right;
            total += 1000;
            let [least, most] = found.summary.expected;
            low += usize::from((right as f64 / 1000.0) < least - 0.02);
            high += usize::from((right as f64 / 1000.0) > most + 0.02);
        }
        let coverage = covered as f64 / total as f64;
        assert!((0.885..0.925).contains(&coverage), "{by_class}: {coverage}");
        // Some 5 % of the draws are outside at each end.
        assert!(by_class || (low <= 6 && high <= 6), "{low} {high}");
    }
}

#[test]
fn the_expected_range_is_that_of_the_beta_distribution() {
    // Beta(46, 5) of 50 labels and Beta(181, 20) of 200.
    let [low, high] = expected(50, 0.9);
    assert!((low - 0.826).abs() < 0.005 && (high - 0.960).abs() < 0.005, "{low} {high}");
    let [low, high] = expected(200, 0.9);
    assert!((low - 0.863).abs() < 0.005 && (high - 0.932).abs() < 0.005, "{low} {high}");
}

#[test]
fn levels_that_labels_do_not_allow_are_refused_with_the_number_needed() {
    assert_eq!([0.5, 0.8, 0.9, 0.95, 0.99].map(least_labels), [1, 4, 9, 19, 99]);
    let (classes, held_out) = drawn(8, 1);
    let shares = held_out.clone();
    let text = |level: f64, by_class: bool| {
        prediction_sets(&classes, &held_out, &shares, &[true; 8], &SetsParams { level, by_class })
            .unwrap_err()
            .to_string()
    };
    assert!(text(0.9, false).contains("at least 9 labels"), "{}", text(0.9, false));
    assert!(text(0.8, true).contains("of class number"), "{}", text(0.8, true));
    assert!(text(1.0, false).contains("level is 1"));
    assert!(
        prediction_sets(&classes, &held_out, &shares, &[true; 8], &SetsParams { level: 0.8, by_class: false }).is_ok()
    );
}

#[test]
fn no_set_is_empty_and_unreached_rows_have_all_classes() {
    let held_out = Matrix::new(20, 2, [1.0, 0.0].repeat(20)).unwrap();
    let shares = Matrix::new(3, 2, vec![0.6, 0.4, 1.0, 0.0, 0.5, 0.5]).unwrap();
    let found = prediction_sets(&[0; 20], &held_out, &shares, &[true, true, false], &SetsParams::default()).unwrap();
    // The threshold is 0: only sure classes are in, else the likeliest.
    assert_eq!(found.holds, [true, false, true, false, true, true]);
    assert_eq!((found.summary.n_unreached, found.summary.n_classes_seen, found.summary.mean_size), (1, 2, 1.0));
}
