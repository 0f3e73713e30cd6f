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
//! The mean over the n_k rows of the component of row i becomes mean(f) − gᵢ(yᵢ − Lᵢ), gᵢ = tᵢ(A⁻¹1)ᵢ/n_k (rank-one update). Unless H
//! is known to rounding, the second form of kᵢ, the flow out of the row, is used: 1 − Hᵢᵢ loses digits if kᵢ is small, that is, if the
//! label nearly fixes the score of its row. Scores of a harmonic function lie between its labels, so Lᵢ is clipped to that range. Each label needs
//! its column of H. Estimates of the diagonal from random signs are too rough: scores of classes may differ by only a few
//! percent of the influence of a label on its own row.
//!
//! **What they decide.** Far from all labels, plain scores are nearly constant, and the constant says nothing. There it is safe to
//! compare scores with their mean over the rows. If labels reach far, it is better to compare them with the mean of the labels,
//! above all for small classes. The mean of the labels is chosen only if it gets more labels right than the mean of the rows, by
//! [`SIGNIFICANT`] standard deviations of a fair coin (sign test).
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
use super::parts::Part;
use super::{Decision, Form};
use crate::HeldOutSource;
use crate::class_sizes::label_counts;
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
/// Standard deviations by which the mean of the labels has to be better.
const SIGNIFICANT: f64 = 2.0;
/// Fewest labels per class, on average, to leave one out.
pub(super) const LEAST_PER_CLASS: usize = 2;

/// Influence of labels on the scores.
#[derive(Clone, Debug)]
pub(super) struct Influence {
    /// Positions of these labels among all, ascending (q).
    labels: Vec<usize>,
    /// kᵢ: share of the other labels in the score of the label's own row (q).
    slack: Vec<f64>,
    /// gᵢ: share of the label in the mean of the scores over its component (q).
    reach: Vec<f64>,
}

/// The value with which plain scores are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Their mean over the rows of the component.
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
    /// Leave-one-out scores above the level; `None` if labels are too few.
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
        components: &Components,
        run: &Run,
    ) -> Result<Self> {
        let (n, l) = (part.n(), part.labeled.len());
        let mut labels = sample(&mut run.rng(Stream::LeftOut, 0), l, most_labels(n).min(l)).into_vec();
        labels.sort_unstable();
        solver.set_tol(TOL)?;
        let sizes = |row: usize| components.sizes[components.id[part.whole(row)] as usize] as f64;
        let rows: Vec<usize> = labels.iter().map(|&at| part.labeled[at] as usize).collect();
        let differences = |inverse: Vec<f64>| rows.iter().map(|&row| 1.0 - weights[row] * inverse[row]).collect();
        let known: Option<Vec<f64>> = solver.inverse_diagonal(run)?.map(differences);
        if let Some(slack) = known.filter(|slack| slack.iter().all(|slack| *slack >= LEAST_DIFFERENCE)) {
            let b = Matrix::new(n, 1, (0..n).map(|row| sizes(row).recip()).collect())?;
            let (x, _) = solver.solve(&b, None, run)?;
            let reach = rows.iter().map(|&row| weights[row] * x.row(row)[0]).collect();
            return Ok(Self { labels, slack, reach });
        }
        let q = labels.len();
        let mut b = Matrix::filled(n, q + 1, 0.0);
        for row in 0..n {
            b.row_mut(row)[q] = sizes(row).recip();
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
    /// A level for too few labels.
    pub fn without_labels(level: Level) -> Self {
        Self { level, held_out: None, accuracy: None }
    }

    /// Leaves each label out of the plain `function`.
    pub fn new(function: &HarmonicFunction, influence: &Influence, targets: &Targets, components: &Components) -> Self {
        let left_out = LeftOut::new(function, influence, targets, components);
        let classes = &left_out.classes;
        let q = classes.len();
        let (row_mean, labeled_mean) = (left_out.at(Level::RowMean), left_out.at(Level::LabeledMean));
        let right = |standings: &[Standing], at: usize| {
            standings[at].as_ref().is_some_and(|standing| largest(standing) == classes[at])
        };
        let only = |these: &[Standing], others: &[Standing]| {
            (0..q).filter(|&at| right(these, at) && !right(others, at)).count() as f64
        };
        let (wins, losses) = (only(&labeled_mean, &row_mean), only(&row_mean, &labeled_mean));
        let is_better = wins - losses > SIGNIFICANT * (wins + losses).sqrt();
        let (level, standings) =
            if is_better { (Level::LabeledMean, labeled_mean) } else { (Level::RowMean, row_mean) };
        left_out.verdict(level, standings)
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
        left_out.verdict(level, standings)
    }
}

/// Scores of a label's row above the level (c); `None` if no other label reaches the row.
type Standing = Option<Vec<f64>>;

/// Factor of the standing of a class that had `count` labels before one was left out. Scores grow with the number of labels of a
/// class: with one of five left out, a class falls behind the others by a fifth, which it does in no row without a label. So the
/// accuracy of uncorrected standings is too low, by up to 0.2 with five labels a class.
fn restoring(standing: f64, count: usize) -> f64 {
    if standing > 0.0 && standing.is_finite() && count > 1 { count as f64 / (count - 1) as f64 } else { 1.0 }
}

/// Standings of all labels, each left out alone, by the closed form of [`leave_one_out_scores`]: c + 32 columns whatever their number.
///
/// If `is_restored`, plain scores stand above their level as those of a row without a label do: see [`restoring`]. Scores that are not
/// centered then stand above the mean of the other labels, while the rule compares them with the mean of all.
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
    for at in 0..targets.rows().len() {
        let (class, row) = (largest(targets.values().row(at)), scores.row_mut(at));
        let levels = mean_without(&function.mean, targets, at);
        if is_restored {
            if !is_centered {
                let moves = levels.iter().zip(&function.mean);
                row.iter_mut().zip(moves).for_each(|(score, (level, mean))| *score += mean - level);
            }
            let base = if is_centered { 0.0 } else { function.mean[class] };
            row[class] = base + (row[class] - base) * restoring(row[class] - base, counts[class]);
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

/// Labels of each class in every labeled component.
struct Tally {
    /// Number of the component of each label (l).
    home: Vec<usize>,
    /// Labels of each class (labeled components, c).
    counts: Vec<Vec<usize>>,
}

impl Tally {
    fn new(targets: &Targets, components: &Components, classes: &[usize]) -> Self {
        let mut number = vec![usize::MAX; components.sizes.len()];
        let (mut home, mut counts) = (Vec::with_capacity(classes.len()), Vec::new());
        for (&row, &class) in targets.rows().iter().zip(classes) {
            let number = &mut number[components.id[row as usize] as usize];
            if *number == usize::MAX {
                *number = counts.len();
                counts.push(vec![0; targets.n_columns()]);
            }
            counts[*number][class] += 1;
            home.push(*number);
        }
        Self { home, counts }
    }

    /// Number of classes with labels in the component of label `at`, of `class`, once it is left out.
    fn n_classes_without(&self, at: usize, class: usize) -> usize {
        let counts = &self.counts[self.home[at]];
        counts.iter().enumerate().filter(|(k, count)| **count > usize::from(*k == class)).count()
    }
}

/// Scores of labeled rows without their own labels.
struct LeftOut<'a> {
    function: &'a HarmonicFunction,
    influence: &'a Influence,
    targets: &'a Targets,
    components: &'a Components,
    /// Classes of the labels that are left out (q).
    classes: Vec<usize>,
    tally: Tally,
    /// Mean score of each component (k, c).
    means: Matrix,
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
        let tally = Tally::new(targets, components, &all);
        let means = component_means(&function.scores, components);
        Self { function, influence, targets, components, classes, tally, means }
    }

    /// Standings of all labels (q).
    fn at(&self, level: Level) -> Vec<Standing> {
        self.classes.iter().enumerate().map(|(at, &class)| self.standing(at, class, level)).collect()
    }

    fn verdict(&self, level: Level, standings: Vec<Standing>) -> Verdict {
        let is_right =
            |(standing, class): &(&Standing, &usize)| standing.as_ref().is_some_and(|s| largest(s) == **class);
        let n_right = standings.iter().zip(&self.classes).filter(is_right).count();
        let unknown = || vec![f64::NAN; self.targets.n_columns()];
        let counts = label_counts(self.targets);
        let restored = |(standing, &class): (Standing, &usize)| {
            let mut standing = standing.unwrap_or_else(unknown);
            // Shares do not grow with the number of labels.
            if level != Level::Zero {
                standing[class] *= restoring(standing[class], counts[class]);
            }
            standing
        };
        let held_out = Standings {
            rows: self.influence.labels.iter().map(|&at| self.targets.rows()[at]).collect(),
            classes: self.classes.iter().map(|&class| class as u32).collect(),
            values: standings.into_iter().zip(&self.classes).map(restored).collect(),
            source: HeldOutSource::LeaveOneOut,
        };
        Verdict { level, held_out: Some(held_out), accuracy: Some(n_right as f64 / self.classes.len() as f64) }
    }

    /// Leave-one-out scores minus the level (c) of the label at `place` among those left out, of class `class`; `None` if no
    /// other label reaches its row.
    fn standing(&self, place: usize, class: usize, level: Level) -> Option<Vec<f64>> {
        let at = self.influence.labels[place];
        let row = self.targets.rows()[at] as usize;
        let n_classes = self.tally.n_classes_without(at, class);
        let (scores, y) = (self.function.scores.row(row), self.targets.values().row(at));
        let slack = self.influence.slack[place];
        if n_classes == 0 || slack <= 0.0 {
            return None;
        }
        let without: Vec<f64> = scores.iter().zip(y).map(|(f, y)| (y - (y - f) / slack).clamp(0.0, 1.0)).collect();
        let labeled_mean = mean_without(&self.function.mean, self.targets, at);
        let level: Vec<f64> = match level {
            Level::RowMean if n_classes > 1 => {
                let g = self.influence.reach[place];
                let means = self.means.row(self.components.id[row] as usize).iter().zip(y).zip(&without);
                means.map(|((mean, y), without)| mean - g * (y - without)).collect()
            }
            Level::Zero => vec![0.0; y.len()],
            _ => labeled_mean.clone(),
        };
        let standing = without.iter().zip(&level).zip(&labeled_mean);
        Some(standing.map(|((f, level), mean)| if is_left(*mean) { f - level } else { f64::NEG_INFINITY }).collect())
    }
}

/// Mean score of each component (k, c); NaN for components without labels.
pub(super) fn component_means(scores: &Matrix, components: &Components) -> Matrix {
    let mut means = Matrix::filled(components.sizes.len(), scores.n_cols(), 0.0);
    for (row, &id) in scores.rows().zip(&components.id) {
        means.row_mut(id as usize).iter_mut().zip(row).for_each(|(mean, score)| *mean += score);
    }
    for (id, &size) in components.sizes.iter().enumerate() {
        means.row_mut(id).iter_mut().for_each(|mean| *mean /= size as f64);
    }
    means
}

/// Subtracts the level from plain scores: the mean over the rows in components with labels of several classes, the mean of
/// the labels (`function.mean`) in the others.
pub(super) fn center_rows(function: &mut HarmonicFunction, components: &Components, targets: &Targets) {
    let mut means = component_means(&function.scores, components);
    let mut first: Vec<Option<usize>> = vec![None; components.sizes.len()];
    let mut is_mixed = vec![false; components.sizes.len()];
    for (&row, y) in targets.rows().iter().zip(targets.values().rows()) {
        let (id, class) = (components.id[row as usize] as usize, largest(y));
        is_mixed[id] |= first[id].is_some_and(|known| known != class);
        first[id] = Some(class);
    }
    if let Some(certificate) = &mut function.certificate {
        certificate.center(&function.scores, components, &is_mixed);
    }
    for id in (0..is_mixed.len()).filter(|&id| !is_mixed[id]) {
        means.row_mut(id).copy_from_slice(&function.mean);
    }
    for (row, &id) in components.id.iter().enumerate() {
        let mean = means.row(id as usize);
        function.scores.row_mut(row).iter_mut().zip(mean).for_each(|(score, mean)| *score -= mean);
    }
}

#[cfg(test)]
mod tests;
