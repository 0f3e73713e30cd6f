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

/// How often each of `c` classes occurs (c).
pub(crate) fn counted(classes: impl IntoIterator<Item = usize>, c: usize) -> Vec<usize> {
    let mut counts = vec![0; c];
    classes.into_iter().for_each(|class| counts[class] += 1);
    counts
}

/// Class of each label (l); that of the largest share of soft ones.
pub(crate) fn label_classes(targets: &Targets) -> Vec<usize> {
    targets.values().rows().map(largest).collect()
}

/// Labels of each class (c); soft labels count for their largest share.
pub(crate) fn label_counts(targets: &Targets) -> Vec<usize> {
    counted(targets.values().rows().map(largest), targets.n_columns())
}

/// Number of classes that occur.
pub(crate) fn n_present(counts: &[usize]) -> usize {
    counts.iter().filter(|count| **count > 0).count()
}

/// Whether labels are of two classes or more, and `least` for each of these on average.
pub(crate) fn has_mean(targets: &Targets, least: usize) -> bool {
    let n_present = n_present(&label_counts(targets));
    n_present > 1 && targets.rows().len() >= least * n_present
}

/// Whether labels are of two classes or more, and `least` or more of each of these.
pub(crate) fn has_each(targets: &Targets, least: usize) -> bool {
    let counts = label_counts(targets);
    n_present(&counts) > 1 && counts.iter().all(|count| *count == 0 || *count >= least)
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
