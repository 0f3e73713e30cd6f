//! Leave-one-out scores of the smoother, without leaving anything out.
//!
//! With hᵢ = tᵢ/λ·((A⁻¹)ᵢᵢ − oᵢ²/1ᵀo) the leverage of label i, in [0, 1), and ȳ₋ᵢ the mean of the other labels, the score of row i
//! without its label is exactly
//!
//! ```text
//! Lᵢ = (yᵢ − ȳ) − ((yᵢ − ȳ) − fᵢ)/(1 − hᵢ) − (ȳ₋ᵢ − ȳ)·gᵢ,   gᵢ = 1 − (n·oᵢ/1ᵀo)/(1 − hᵢ),
//! ```
//!
//! with n, o and ȳ those of its component, plus the level of the component without the label. Scores of classes are clipped to [−1, 1].
//!
//! On small graphs a complete factor gives the diagonal of A⁻¹, and with it all h. Otherwise, or if some h is nearly 1, 1 − hᵢ is the
//! outflow of the row, (L·A⁻¹T)ᵢᵢ/(tᵢ/λ), plus tᵢ/λ·oᵢ²/1ᵀo: both terms are positive, so no digits are lost. Up to [`EXACT`] labels then
//! have a column each. Beyond, [`COLORS`] columns hold the labels of one color each, with random signs (see [`colors`](super::colors)), and
//! up to [`EXACT`] labels with h > ½ are solved for exactly. So the cost does not depend on the number of labels: c + 32 columns, up to
//! 128 more.
//!
//! A label is not judged if it is the only one of its class, or of its component.
//!
//! The same columns serve the plain harmonic function, f = A⁻¹TY, whose scores without a label are Lᵢ = yᵢ − (yᵢ − fᵢ)/kᵢ with kᵢ the
//! outflow alone, and its scores above their mean over the rows of the component, which becomes mean(f) − gᵢ(yᵢ − Lᵢ), gᵢ =
//! tᵢoᵢ/(λn). [`leave_one_out_scores`] gives all three.

use lapwing_core::{Error, Matrix, Result, Run, Stream, Targets};
use lapwing_graph::Graph;
use rand::RngExt;

use super::colors::colors;
use super::{Probe, Smooth, Smoother, moderate};
use crate::core::counts::label_counts;
use crate::core::scores::largest;

/// Most labels with a column each.
const EXACT: usize = 128;
/// Columns that estimate the leverages of more labels.
const COLORS: usize = 32;
/// Share of the time for them.
const ESTIMATED: f64 = 0.5;
/// Leverage above which it is solved for exactly.
const LARGE: f64 = 0.5;
/// Below, 1 less h has lost half of its digits.
const LEAST_DIFFERENCE: f64 = 1e-7;
/// Least 1 − h.
const LEAST_SLACK: f64 = 1e-9;

/// Leave-one-out scores.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    /// Scores (l, c), −∞ for a class without another label; NaN where no other label reaches the row.
    pub scores: Matrix,
    /// hᵢ (l).
    pub leverage: Vec<f64>,
    /// Whether the class has another label, and the component too (l).
    pub judged: Vec<bool>,
}

impl LeftOut {
    /// Leaves each label out of the solution `smooth`.
    pub fn new(smoother: &Smoother<'_>, smooth: &Smooth, targets: &Targets, run: &Run) -> Result<Self> {
        let slack = slack(smoother, smooth, run)?;
        let c = targets.n_columns();
        let mut left_out = Self {
            scores: Matrix::filled(slack.len(), c, f64::NAN),
            leverage: slack.iter().map(|slack| 1.0 - slack).collect(),
            judged: vec![false; slack.len()],
        };
        let counts = label_counts(targets);
        for (at, &slack) in slack.iter().enumerate() {
            let class = largest(targets.values().row(at));
            let part = &smoother.parts[smoother.of_label[at]];
            left_out.judged[at] = part.n() > 1 && (c == 1 || counts[class] > 1);
            let out = left_out.scores.row_mut(at);
            let is_scored =
                score(smoother, smooth, targets, at, slack, out) && out.iter().all(|score| score.is_finite());
            left_out.judged[at] &= is_scored;
            if !is_scored || c == 1 {
                continue;
            }
            let is_left = |k: usize| counts[k] > usize::from(k == class);
            (0..c).filter(|&k| !is_left(k)).for_each(|k| out[k] = f64::NEG_INFINITY);
        }
        Ok(left_out)
    }
}

/// Writes Lᵢ (c) of label `at`; false if its component has no other label.
fn score(smoother: &Smoother<'_>, smooth: &Smooth, targets: &Targets, at: usize, slack: f64, out: &mut [f64]) -> bool {
    let (row, number) = (targets.rows()[at] as usize, smoother.of_label[at]);
    let (part, y) = (&smoother.parts[number], targets.values().row(at));
    let Some(without) = part.mean_without(y, targets.weights()[at]) else { return false };
    let (mean, all) = (part.mean(), smoother.mean_without(y, targets.weights()[at]));
    let constant = part.n_rows as f64 * smooth.potential[row] / smooth.potential_sums[number];
    let g = 1.0 - constant / slack;
    // Without a column for each class, values have no range to clip to.
    let range = if y.len() > 1 { 1.0 } else { f64::INFINITY };
    for (k, out) in out.iter_mut().enumerate() {
        let (own, has_level) = (y[k] - mean[k], y.len() > 1);
        let centered = smooth.scores.row(row)[k] - if has_level { mean[k] - smoother.mean[k] } else { 0.0 };
        let left = own - (own - centered) / slack - (without[k] - mean[k]) * g;
        *out = (left + if has_level { without[k] - all[k] } else { 0.0 }).clamp(-range, range);
    }
    true
}

/// 1 − hᵢ of each label (l).
fn slack(smoother: &Smoother<'_>, smooth: &Smooth, run: &Run) -> Result<Vec<f64>> {
    let known = smoother.all_slacks(smooth, run)?.filter(|slack| slack.iter().all(|slack| *slack >= LEAST_DIFFERENCE));
    let mut slack = match known {
        Some(slack) => slack,
        None => solved_slack(smoother, smooth, run)?,
    };
    slack.iter_mut().for_each(|slack| *slack = slack.clamp(LEAST_SLACK, 1.0));
    Ok(slack)
}

/// The same from columns that are solved for: one for each label, or one for each color, with the largest slacks once more one by one.
fn solved_slack(smoother: &Smoother<'_>, smooth: &Smooth, run: &Run) -> Result<Vec<f64>> {
    let l = smoother.trust.len();
    let exact = |labels: &[usize], run: &Run| {
        let probes: Vec<Probe> =
            labels.iter().enumerate().map(|(column, &label)| Probe { label, column, sign: 1.0 }).collect();
        smoother.slacks(&probes, smooth, run)
    };
    if l <= EXACT {
        return exact(&(0..l).collect::<Vec<_>>(), run);
    }
    let probes = probes(smoother, COLORS, run)?;
    // Labels of large leverage are up to four times as many as the colors, and usually few.
    let mut slack = smoother.slacks(&probes, smooth, &run.part(0.0..ESTIMATED, "leverages"))?;
    let mut large: Vec<usize> = (0..l).filter(|&at| slack[at] < 1.0 - LARGE).collect();
    large.sort_by(|&a, &b| slack[a].total_cmp(&slack[b]).then(a.cmp(&b)));
    large.truncate(EXACT);
    let found = exact(&large, &run.part(ESTIMATED..1.0, "largest leverages"))?;
    large.iter().zip(found).for_each(|(&at, found)| slack[at] = found);
    Ok(slack)
}

/// All labels, each in the column of its color with a random sign.
fn probes(smoother: &Smoother<'_>, n_colors: usize, run: &Run) -> Result<Vec<Probe>> {
    let (graph, labeled) = smoother.system();
    let colors = colors(graph, labeled, n_colors, run)?;
    let mut rng = run.rng(Stream::LeftOut, 1);
    let probe = |(label, &color): (usize, &u32)| {
        let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
        Probe { label, column: color as usize, sign }
    };
    Ok(colors.iter().enumerate().map(probe).collect())
}

/// What scores of a harmonic function are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Centering {
    /// The stable form: zero mean over the rows of each component.
    Stable,
    /// The plain form as it is.
    Plain,
    /// The plain form less its mean over the rows that labels reach.
    RowMean,
}

/// Share of the time for the scores themselves.
const SOLVED: f64 = 0.15;
/// Relative residual of the solves.
pub(crate) const TOL: f64 = 1e-5;

/// Score (l, c) of each labeled row by the harmonic function of that `smoothness` (γ·Σtᵢ times the mean degree) without its own label;
/// NaN where no other label reaches the row. Stable scores have the level of the component, and are −∞ for a class without another
/// label.
///
/// # Errors
/// [`Error::Shape`] for targets of another number of rows; [`Error::Interrupted`].
pub fn leave_one_out_scores(
    graph: &Graph,
    targets: &Targets,
    smoothness: f64,
    centering: Centering,
    run: &Run,
) -> Result<Matrix> {
    check_size(graph, targets)?;
    let (graph, components) = (moderate(graph), graph.components());
    let smoother = Smoother::new(&graph, &components, targets, smoothness, TOL, run)?;
    let smooth = smoother.solve(None, &run.part(0.0..SOLVED, ""))?;
    let run = &run.part(SOLVED..1.0, "");
    match centering {
        Centering::Stable => Ok(LeftOut::new(&smoother, &smooth, targets, run)?.scores),
        _ => plain(&smoother, &smooth, targets, centering == Centering::RowMean, run),
    }
}

/// Leave-one-out scores of the plain function, above their mean over the rows if `is_centered`.
fn plain(smoother: &Smoother<'_>, smooth: &Smooth, targets: &Targets, is_centered: bool, run: &Run) -> Result<Matrix> {
    let slack = slack(smoother, smooth, run)?;
    let mut scores = Matrix::filled(slack.len(), targets.n_columns(), f64::NAN);
    let n_reached = smoother.parts.iter().map(|part| part.n_rows).sum::<usize>() as f64;
    let mut level = vec![0.0; targets.n_columns()];
    for (number, part) in smoother.parts.iter().enumerate() {
        let sums = part.mean().into_iter().enumerate();
        let sums = sums.map(|(k, mean)| smooth.plain_sum(number, k) + part.n_rows as f64 * mean);
        level.iter_mut().zip(sums).for_each(|(level, sum)| *level += sum / n_reached);
    }
    for (at, &row) in targets.rows().iter().enumerate() {
        let (number, o) = (smoother.of_label[at], smooth.potential[row as usize]);
        let (part, y) = (&smoother.parts[number], targets.values().row(at));
        if part.n() < 2 {
            continue;
        }
        // 1 − hᵢ of the stable form less the share of its level.
        let outflow = (slack[at] - smoother.trust[at] * o * o / smooth.potential_sums[number]).max(LEAST_SLACK);
        let reach = smoother.trust[at] * o / n_reached;
        let mean = part.mean();
        for (k, out) in scores.row_mut(at).iter_mut().enumerate() {
            let f = smooth.plain(row as usize, k) + mean[k];
            let left = y[k] - (y[k] - f) / outflow;
            let level = level[k] - reach * (y[k] - left);
            *out = if is_centered { left - level } else { left };
        }
    }
    Ok(scores)
}

/// Scores (l, 1) of the values of a regression without themselves: above the mean of the others if the form is stable, else the plain
/// function.
pub(crate) fn of_values(
    smoother: &Smoother<'_>,
    smooth: &Smooth,
    targets: &Targets,
    is_stable: bool,
    run: &Run,
) -> Result<Matrix> {
    match is_stable {
        true => LeftOut::new(smoother, smooth, targets, run).map(|left_out| left_out.scores),
        false => plain(smoother, smooth, targets, false, run),
    }
}

/// Refuses targets that are not values of a regression, one column for the rows of the graph.
pub(crate) fn check_values(graph: &Graph, targets: &Targets) -> Result<()> {
    check_size(graph, targets)?;
    match targets.n_columns() {
        1 => Ok(()),
        c => Err(Error::shape("targets of a regression", "1 column", format!("{c} columns"))),
    }
}

/// Refuses targets of another number of rows than the graph has.
pub(crate) fn check_size(graph: &Graph, targets: &Targets) -> Result<()> {
    let (n, rows) = (graph.n_samples(), targets.n_samples());
    match rows == n {
        true => Ok(()),
        false => Err(Error::shape(
            "the problem",
            format!("labels for {n} rows, as the graph has"),
            format!("labels for {rows} rows"),
        )),
    }
}

#[cfg(test)]
mod tests;
