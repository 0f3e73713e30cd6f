//! Eliminations against Schur complements.

use super::*;

/// The mean of many random eliminations of a star is its Schur complement, the clique wᵢwⱼ/W.
#[test]
fn the_sampled_tree_is_the_clique_in_the_mean() {
    let weights = [0.1f32, 0.2, 0.2, 0.5, 1.0];
    let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    for copies in [1, 2, 3] {
        let n = weights.len() + 1;
        let mut mean = vec![0.0; n * n];
        let rounds = 20_000;
        for seed in 0..rounds {
            let mut star = Elimination::new(1, n, 5);
            let row = (1..n).map(|i| Record { id: i as u32, weight: weights[i - 1] });
            star.set_row(0, copies, row);
            let rule = Rule { seed, cliques: Cliques::Trees(copies), max_entries: 100 };
            let done = star.run(rule, |v| v as u32, &Run::new(Some(1), 0).unwrap()).unwrap().unwrap();
            for (a, b, w) in done.fill {
                mean[a.min(b) as usize * n + a.max(b) as usize] += f64::from(w) / rounds as f64;
            }
            assert!((done.columns.shares.iter().map(|&s| f64::from(s)).sum::<f64>() - 1.0).abs() == 0.0);
            assert!((done.columns.pivots[0] - total).abs() < 1e-6);
        }
        for i in 1..n {
            for j in i + 1..n {
                let expected = f64::from(weights[i - 1]) * f64::from(weights[j - 1]) / total;
                // Standard error below 0.0015: weights are at most 0.2 in 20,000 rounds.
                assert!((mean[i * n + j] - expected).abs() < 0.006, "{copies} {i} {j}");
            }
        }
    }
}

#[test]
fn long_suffixes_are_searched_to_the_right_place() {
    let suffixes = [10.0, 6.0, 3.0, 1.0, 0.0];
    for (t, expected) in [(5.9, 1), (3.0, 1), (2.9, 2), (1.0, 2), (0.5, 3), (0.0, 3)] {
        assert_eq!(choose(&suffixes, 1, t), expected, "{t}");
    }
}
