//! Leave-one-out scores of the plain harmonic function, without leaving anything out, and what they decide.
//!
//! With A = L + T, T = diag(t) the label weights over γ, H = A⁻¹T, the score of row i without its own label is exactly
//!
//! ```text
//! Lᵢ = yᵢ − (yᵢ − fᵢ) / kᵢ,   kᵢ = 1 − Hᵢᵢ = (L·H)ᵢᵢ / tᵢ,
//! ```
//!
//! and with a prior of weights κd the same for A = L + T + κD, where kᵢ = ((L·H)ᵢᵢ + κdᵢHᵢᵢ) / tᵢ. The prior itself stays: the shares
//! of a labeled row must come from a classifier that did not see its label.
//!
//! The mean over the n rows that labels reach becomes mean(f) − gᵢ(yᵢ − Lᵢ), gᵢ = tᵢ(A⁻¹1)ᵢ/n (rank-one update). Unless H
//! is known to rounding, the second form of kᵢ, the flow out of the row, is used: 1 − Hᵢᵢ loses digits if kᵢ is small, that is, if the
//! label nearly fixes the score of its row. Scores of a harmonic function lie between its labels, so Lᵢ is clipped to that range. Each label needs
//! its column of H. Estimates of the diagonal from random signs are too rough: scores of classes may differ by only a few
//! percent of the influence of a label on its own row.
//!
//! **What they decide.** How far scores are trusted against the sizes of the classes, see [`level`](super::level).
//!
//! Cost: on small graphs that of the diagonal of A⁻¹, which a complete factor gives; if some k is small, or on other graphs, one solve
//! with a column for each label that is left out, to a residual of [`TOL`]. At most [`MOST_LABELS`] labels, drawn
//! at random, are left out, with at most [`MOST_VALUES`] values in their columns. If that allows fewer than [`FEWEST_LABELS`], no
//! label is left out.

use lapwing_data::{Matrix, Result, Run, Stream, Targets};
use lapwing_graph::{Components, Graph};
use lapwing_solve::LaplacianSolver;
use rand::seq::index::sample;

use super::function::HarmonicFunction;
use super::level::{Sizes, Trust};
use super::parts::Part;
use super::{Decision, Form};
use crate::HeldOutSource;
use crate::class_sizes::{LabelsDrawn, label_counts};
use crate::held_out::Standings;
use crate::label_loop::{Centering, LEAST_DIFFERENCE, leave_one_out_scores};
use crate::labeling::largest;

/// Labels that are left out, at most.
const MOST_LABELS: usize = 128;
/// Fewest labels to leave out: fewer decide nothing reliably.
pub(super) const FEWEST_LABELS: usize = 16;
/// Most values (rows × columns) to solve for, so that leaving out costs little beside the solve itself.
const MOST_VALUES: usize = 1 << 20;
/// Relative residual of the columns.
const TOL: f64 = 1e-4;
/// Fewest labels per class, on average, to leave one out.
pub(super) const LEAST_PER_CLASS: usize = 2;

/// Influence of labels on the scores.
#[derive(Clone, Debug)]
pub(super) struct Influence {
    /// Positions of these labels among all, ascending (q).
    labels: Vec<usize>,
    /// kᵢ: share of the other labels in the score of the label's own row (q).
    slack: Vec<f64>,
    /// gᵢ: share of the label in the mean of the scores over the rows (q).
    pub(super) reach: Vec<f64>,
}

/// The value with which plain scores are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Their mean over the rows that labels reach.
    RowMean,
    /// The mean of the labels.
    LabeledMean,
    /// Nothing: they are shares.
    Zero,
}

impl Level {
    /// The decision that compares scores with it.
    pub fn decision(self) -> Decision {
        match self {
            Self::RowMean => Decision::RowMean,
            Self::LabeledMean => Decision::Centered,
            Self::Zero => Decision::Argmax,
        }
    }
}

/// Level, held-out scores and accuracy from leaving out each label.
pub(super) struct Verdict {
    pub level: Level,
    /// How far scores are trusted, and what is added to those above the level for it (c).
    pub trust: Trust,
    pub shift: Vec<f64>,
    /// Leave-one-out scores above the level, with the shift; `None` if labels are too few.
    pub held_out: Option<Standings>,
    /// Share of labels that the leave-one-out scores get right at this level; `None` if labels are too few.
    pub accuracy: Option<f64>,
}

impl Influence {
    /// The influence of labels of the `weights` (n) in a plain system whose diagonal they are, plus the `pulls` (n) of a prior.
    /// `part` holds all labels.
    pub fn find(
        solver: &mut LaplacianSolver,
        part: &Part<'_>,
        weights: &[f64],
        pulls: Option<&[f64]>,
        run: &Run,
    ) -> Result<Self> {
        let (n, l) = (part.n(), part.labeled.len());
        let mut labels = sample(&mut run.rng(Stream::LeftOut, 0), l, most_labels(n).min(l)).into_vec();
        labels.sort_unstable();
        solver.set_tol(TOL)?;
        let share = (n as f64).recip();
        let rows: Vec<usize> = labels.iter().map(|&at| part.labeled[at] as usize).collect();
        let differences = |inverse: Vec<f64>| rows.iter().map(|&row| 1.0 - weights[row] * inverse[row]).collect();
        let known: Option<Vec<f64>> = solver.inverse_diagonal(run)?.map(differences);
        if let Some(slack) = known.filter(|slack| slack.iter().all(|slack| *slack >= LEAST_DIFFERENCE)) {
            let b = Matrix::filled(n, 1, share);
            let (x, _) = solver.solve(&b, None, run)?;
            let reach = rows.iter().map(|&row| weights[row] * x.row(row)[0]).collect();
            return Ok(Self { labels, slack, reach });
        }
        let q = labels.len();
        let mut b = Matrix::filled(n, q + 1, 0.0);
        for row in 0..n {
            b.row_mut(row)[q] = share;
        }
        for (column, &row) in rows.iter().enumerate() {
            b.row_mut(row)[column] = weights[row];
        }
        let (x, _) = solver.solve(&b, None, run)?;
        let (mut slack, mut reach) = (Vec::with_capacity(q), Vec::with_capacity(q));
        for (column, &row) in rows.iter().enumerate() {
            let (neighbors, edges) = part.graph.adjacency().row(row);
            let own = x.row(row);
            let flow =
                neighbors.iter().zip(edges).map(|(&id, weight)| weight * (own[column] - x.row(id as usize)[column]));
            let pull = pulls.map_or(0.0, |pulls| pulls[row] * own[column]);
            slack.push(((flow.sum::<f64>() + pull) / weights[row]).clamp(0.0, 1.0));
            reach.push(weights[row] * own[q]);
        }
        Ok(Self { labels, slack, reach })
    }
}

/// Most labels that may be left out on a graph of n rows.
pub(super) fn most_labels(n: usize) -> usize {
    MOST_LABELS.min(MOST_VALUES / n.max(1))
}

/// Whether every label is of one class, there are enough labels to leave one out, and rows are few enough for a column for each of
/// [`FEWEST_LABELS`] labels.
pub(super) fn applies(targets: &Targets) -> bool {
    are_enough(targets) && most_labels(targets.n_samples()) >= FEWEST_LABELS
}

/// Whether every label is of one class and there are enough labels to leave one out.
pub(super) fn are_enough(targets: &Targets) -> bool {
    let is_soft = |y: &[f64]| y.iter().any(|share| *share != 0.0 && *share != 1.0);
    if targets.values().rows().any(is_soft) {
        return false;
    }
    let n_classes = label_counts(targets).iter().filter(|count| **count > 0).count();
    n_classes > 1 && targets.rows().len() >= LEAST_PER_CLASS * n_classes
}

impl Verdict {
    /// A level for too few labels, and what is added to scores above it (c).
    pub fn without_labels(level: Level, trust: Trust, shift: Vec<f64>) -> Self {
        Self { level, trust, shift, held_out: None, accuracy: None }
    }

    /// Leaves each label out of the plain `function`, whose classes have these `sizes`: scores above the mean of the rows.
    pub fn new(
        function: &HarmonicFunction,
        influence: &Influence,
        targets: &Targets,
        components: &Components,
        sizes: Sizes,
    ) -> Self {
        let left_out = LeftOut::new(function, influence, targets, components);
        let standings = left_out.at(Level::RowMean);
        let known = standings.iter().zip(&left_out.classes).filter_map(|(standing, &class)| {
            standing.as_deref().filter(|standing| standing[class].is_finite()).map(|standing| (standing, class))
        });
        let trust = sizes.trust(&known.collect::<Vec<_>>(), &influence.reach);
        left_out.verdict(Level::RowMean, standings, trust, sizes.shift(trust))
    }

    /// Leaves each label out of a `function` with a prior: the verdict at this level.
    pub fn with_prior(
        function: &HarmonicFunction,
        influence: &Influence,
        targets: &Targets,
        components: &Components,
        level: Level,
    ) -> Self {
        let left_out = LeftOut::new(function, influence, targets, components);
        let standings = left_out.at(level);
        left_out.verdict(level, standings, Trust::default(), vec![0.0; targets.n_columns()])
    }
}

/// Scores of a label's row above the level (c); `None` if no other label reaches the row.
type Standing = Option<Vec<f64>>;

/// Factor of the standing of a class that had `count` labels before one was left out, where labels are so many of each class. Scores grow
/// with the number of labels of a class: with one of five left out, a class falls behind the others by a fifth, which it does in no row
/// without a label. So the accuracy of uncorrected standings is too low, by up to 0.2 with five labels a class. Labels drawn at random need
/// no factor: without one of them they are as good a draw, of one label less.
fn restoring(standing: f64, count: usize) -> f64 {
    if standing > 0.0 && standing.is_finite() && count > 1 { count as f64 / (count - 1) as f64 } else { 1.0 }
}

/// Whether labels are so many of each class.
fn are_balanced(counts: &[usize]) -> bool {
    LabelsDrawn::Auto.resolved(counts) == LabelsDrawn::Balanced
}

/// Standings of all labels, each left out alone, by the closed form of [`leave_one_out_scores`]: c + 32 columns whatever their number.
///
/// If `is_restored`, scores stand above the mean of the rows as those of a row without a label do: see [`restoring`].
pub(super) fn all_standings(
    graph: &Graph,
    function: &HarmonicFunction,
    targets: &Targets,
    is_centered: bool,
    is_restored: bool,
    run: &Run,
) -> Result<Standings> {
    let smoothness = function.graph_reg * targets.weights().iter().sum::<f64>() * graph.mean_degree();
    let centering = match (function.form, is_centered) {
        (Form::Stable, _) => Centering::Stable,
        (_, true) => Centering::RowMean,
        _ => Centering::Plain,
    };
    let mut scores = leave_one_out_scores(graph, targets, smoothness, centering, run)?;
    let counts = label_counts(targets);
    let is_restored = is_restored && are_balanced(&counts);
    for at in 0..targets.rows().len() {
        let (class, row) = (largest(targets.values().row(at)), scores.row_mut(at));
        let levels = mean_without(&function.mean, targets, at);
        if is_restored {
            row[class] *= restoring(row[class], counts[class]);
        }
        let is_known = !row[class].is_nan();
        row.iter_mut()
            .zip(&levels)
            .filter(|(_, level)| is_known && !is_left(**level))
            .for_each(|(score, _)| *score = f64::NEG_INFINITY);
    }
    Ok(Standings::left_out(targets, &scores))
}

/// Whether a class of this share of the other labels has a label among them.
fn is_left(share: f64) -> bool {
    share > f64::EPSILON
}

/// Mean of the labels (c), given that of all of them, without label `at`.
fn mean_without(mean: &[f64], targets: &Targets, at: usize) -> Vec<f64> {
    let (total, own): (f64, f64) = (targets.weights().iter().sum(), targets.weights()[at]);
    let pairs = mean.iter().zip(targets.values().row(at));
    pairs.map(|(mean, y)| ((mean * total - own * y) / (total - own)).max(0.0)).collect()
}

/// Scores of labeled rows without their own labels.
struct LeftOut<'a> {
    function: &'a HarmonicFunction,
    influence: &'a Influence,
    targets: &'a Targets,
    /// Classes of the labels that are left out (q).
    classes: Vec<usize>,
    /// Whether no other label is in the component (q).
    is_alone: Vec<bool>,
    /// Mean score over the rows (c).
    mean: Vec<f64>,
}

impl<'a> LeftOut<'a> {
    fn new(
        function: &'a HarmonicFunction,
        influence: &'a Influence,
        targets: &'a Targets,
        components: &'a Components,
    ) -> Self {
        let all: Vec<usize> = targets.values().rows().map(largest).collect();
        let classes = influence.labels.iter().map(|&at| all[at]).collect();
        let home = |row: u32| components.id[row as usize] as usize;
        let mut counts = vec![0usize; components.sizes.len()];
        targets.rows().iter().for_each(|&row| counts[home(row)] += 1);
        let is_alone = influence.labels.iter().map(|&at| counts[home(targets.rows()[at])] < 2).collect();
        Self { function, influence, targets, classes, is_alone, mean: row_mean(&function.scores) }
    }

    /// Standings of all labels (q).
    fn at(&self, level: Level) -> Vec<Standing> {
        (0..self.classes.len()).map(|place| self.standing(place, level)).collect()
    }

    fn verdict(&self, level: Level, standings: Vec<Standing>, trust: Trust, shift: Vec<f64>) -> Verdict {
        let unknown = || vec![f64::NAN; self.targets.n_columns()];
        let counts = label_counts(self.targets);
        // Shares do not grow with the number of labels.
        let is_restored = level != Level::Zero && are_balanced(&counts);
        let moved = |standing: &[f64]| standing.iter().zip(&shift).map(|(s, shift)| s + shift).collect::<Vec<f64>>();
        let is_right = |(standing, class): &(&Standing, &usize)| {
            standing.as_ref().is_some_and(|standing| largest(&moved(standing)) == **class)
        };
        let n_right = standings.iter().zip(&self.classes).filter(is_right).count();
        let restored = |(standing, &class): (Standing, &usize)| {
            let mut standing = standing.unwrap_or_else(unknown);
            if is_restored {
                standing[class] *= restoring(standing[class], counts[class]);
            }
            moved(&standing)
        };
        let held_out = Standings {
            rows: self.influence.labels.iter().map(|&at| self.targets.rows()[at]).collect(),
            classes: self.classes.iter().map(|&class| class as u32).collect(),
            values: standings.into_iter().zip(&self.classes).map(restored).collect(),
            source: HeldOutSource::LeaveOneOut,
        };
        let accuracy = Some(n_right as f64 / self.classes.len() as f64);
        Verdict { level, trust, held_out: Some(held_out), accuracy, shift }
    }

    /// Leave-one-out scores minus the level (c) of the label at `place` among those left out; `None` if no other label
    /// reaches its row.
    fn standing(&self, place: usize, level: Level) -> Option<Vec<f64>> {
        let at = self.influence.labels[place];
        let row = self.targets.rows()[at] as usize;
        let (scores, y) = (self.function.scores.row(row), self.targets.values().row(at));
        let slack = self.influence.slack[place];
        if self.is_alone[place] || slack <= 0.0 {
            return None;
        }
        let without: Vec<f64> = scores.iter().zip(y).map(|(f, y)| (y - (y - f) / slack).clamp(0.0, 1.0)).collect();
        let labeled_mean = mean_without(&self.function.mean, self.targets, at);
        let level: Vec<f64> = match level {
            Level::RowMean => {
                let g = self.influence.reach[place];
                let means = self.mean.iter().zip(y).zip(&without);
                means.map(|((mean, y), without)| mean - g * (y - without)).collect()
            }
            Level::Zero => vec![0.0; y.len()],
            Level::LabeledMean => labeled_mean.clone(),
        };
        let standing = without.iter().zip(&level).zip(&labeled_mean);
        Some(standing.map(|((f, level), mean)| if is_left(*mean) { f - level } else { f64::NEG_INFINITY }).collect())
    }
}

/// Mean of the scores (c) over the rows that labels reach. One mean for all of them: where parts of the graph hang together by edges
/// that vanish, their scores tend to those of separate components, and so must the level. A mean for each component would take away
/// the very class that most of its labels have.
pub(super) fn row_mean(scores: &Matrix) -> Vec<f64> {
    let (mut mean, mut n) = (vec![0.0; scores.n_cols()], 0usize);
    for row in scores.rows().filter(|row| !row.iter().any(|score| score.is_nan())) {
        mean.iter_mut().zip(row).for_each(|(mean, score)| *mean += score);
        n += 1;
    }
    mean.iter_mut().for_each(|mean| *mean /= n.max(1) as f64);
    mean
}

/// Subtracts their mean over the rows from plain scores.
pub(super) fn center_rows(function: &mut HarmonicFunction) {
    let mean = row_mean(&function.scores);
    if let Some(certificate) = &mut function.certificate {
        certificate.center(&function.scores, &function.reached);
    }
    for row in 0..function.scores.n_rows() {
        function.scores.row_mut(row).iter_mut().zip(&mean).for_each(|(score, mean)| *score -= mean);
    }
}

#[cfg(test)]
mod tests;
