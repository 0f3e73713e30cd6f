//! Numbers of labels, and the shares of classes that they suggest.

use lapwing_core::Targets;

use super::scores::largest;

/// Normal quantile of the Wilson intervals: 90 % of them contain the true share.
pub(crate) const Z: f64 = 1.645;

/// Wilson's 90 % interval of a share that is `p` among `n` draws.
pub(crate) fn wilson(p: f64, n: f64) -> (f64, f64) {
    let z = Z * Z / n;
    let middle = (p + z / 2.0) / (1.0 + z);
    let half = (z * (p * (1.0 - p) + z / 4.0)).sqrt() / (1.0 + z);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// Labels of each class (c); soft labels count for their largest share.
pub(crate) fn label_counts(targets: &Targets) -> Vec<usize> {
    let mut counts = vec![0; targets.n_columns()];
    targets.values().rows().for_each(|row| counts[largest(row)] += 1);
    counts
}

/// Shares of the classes (c) from numbers of labels, drawn toward equal shares by as much as the differences among the numbers may be chance:
/// fully if labels were chosen evenly, hardly if there are many.
///
/// The shrinkage λ = (1 − Σ pₖ²) / ((l − 1)·Σ (1/c − pₖ)²), at most 1, of Hausser & Strimmer (2009) has the least expected squared error.
pub(crate) fn shrunken_shares(counts: &[usize]) -> Vec<f64> {
    let (l, equal) = (counts.iter().sum::<usize>() as f64, (counts.len() as f64).recip());
    let shares = || counts.iter().map(|&count| count as f64 / l.max(1.0));
    let rest = (1.0 - shares().map(|p| p * p).sum::<f64>()).max(0.0);
    let spread = (l - 1.0) * shares().map(|p| (equal - p).powi(2)).sum::<f64>();
    let lambda = if rest < spread { rest / spread } else { 1.0 };
    shares().map(|p| lambda * equal + (1.0 - lambda) * p).collect()
}
