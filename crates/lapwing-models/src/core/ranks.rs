//! Values by their rank: the median, and quantiles that hold a share of values yet to come.

/// The value of a rank, counted from 1.
pub(crate) fn of_rank(mut values: Vec<f64>, rank: usize) -> f64 {
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// The median, of an even number of values the upper one; `None` of none.
pub(crate) fn median(values: Vec<f64>) -> Option<f64> {
    let rank = values.len() / 2 + 1;
    (!values.is_empty()).then(|| of_rank(values, rank))
}

/// Rank ⌈(l + 1)·level⌉ among l values, at most l: another value drawn like these is at most that of this rank with the probability
/// `level` (split conformal prediction). A level such as 0.9 is not exact in binary, hence the slack.
pub(crate) fn conformal_rank(l: usize, level: f64) -> usize {
    (((l + 1) as f64 * level * (1.0 - 1e-12)).ceil() as usize).clamp(1, l.max(1))
}
