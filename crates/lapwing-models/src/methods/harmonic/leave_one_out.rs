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
//! All scores become f − hᵢ(yᵢ − Lᵢ)ᵀ, hᵢ the column of H (rank-one update), and their mean over the n rows that labels reach
//! mean(f) − gᵢ(yᵢ − Lᵢ), gᵢ = tᵢ(A⁻¹1)ᵢ/n. The second form of kᵢ, the flow out of the row, is used: 1 − Hᵢᵢ loses digits if kᵢ is
//! small, that is, if the label nearly fixes the score of its row. Scores of a harmonic function lie between its labels, so Lᵢ is
//! clipped to that range. Each label needs its column of H. Estimates of the diagonal from random signs are too rough: scores of classes
//! may differ by only a few percent of the influence of a label on its own row.
//!
//! **What they decide.** The level, and how far scores are trusted against the sizes of the classes, see [`trust`](super::trust).
//!
//! Cost: one solve with a column for each label that is left out, to a residual of `TOL`; then O(n·c) for each of these labels. At
//! most `MOST_LABELS` labels, drawn at random, are left out, with at most `MOST_VALUES` values in their columns. If that allows fewer
//! than [`FEWEST_LABELS`], no label is left out.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Targets};
use lapwing_graph::{Components, Graph};

use super::function::HarmonicFunction;
use super::influence::{FEWEST_LABELS, Influence, most_labels};
use super::level::{Level, OpenMean, reached, row_mean};
use super::params::Form;
use super::trust::{Sizes, Trust};
use crate::HeldOutSource;
use crate::core::class_sizes::LabelsDrawn;
use crate::core::counts::{label_classes, label_counts};
use crate::core::held_out::Standings;
use crate::core::held_out::folds::can_hold_out;
use crate::core::scores::largest;
use crate::core::smoother::leave_one_out::{Centering, leave_one_out_scores};

/// Level, held-out scores and accuracy from leaving out each label.
pub(super) struct Verdict {
    pub level: Level,
    /// How far scores are trusted, and what is added for it to those above the mean of the rows, or above the level if that is another (c).
    pub trust: Trust,
    pub shift: Vec<f64>,
    /// Leave-one-out scores above the level, with what is added; `None` if labels are too few.
    pub held_out: Option<Standings>,
    /// Share of labels that the leave-one-out scores get right at this level; `None` if labels are too few.
    pub accuracy: Option<f64>,
}

/// Whether every label is of one class, there are enough labels to leave one out, and rows are few enough for a column for each of
/// [`FEWEST_LABELS`] labels.
pub(super) fn applies(targets: &Targets) -> bool {
    can_hold_out(targets) && most_labels(targets.n_samples()) >= FEWEST_LABELS
}

impl Verdict {
    /// The verdict on too few labels.
    pub fn without_labels(level: Level, trust: Trust, shift: Vec<f64>) -> Self {
        Self { level, trust, shift, held_out: None, accuracy: None }
    }

    /// Leaves each label out of the plain `function`, whose classes have these `sizes`: scores above the level that fits them best.
    pub fn new(
        function: &HarmonicFunction,
        influence: &Influence,
        targets: &Targets,
        components: &Components,
        sizes: &Sizes,
        run: &Run,
    ) -> Result<Self> {
        let left_out = LeftOut::new(function, influence, targets, components);
        let (of_rows, of_open) = (left_out.at(Level::RowMean, run)?, left_out.at(Level::OpenMean, run)?);
        let known = |standings: &[Standing]| {
            let pairs = standings.iter().zip(&left_out.classes);
            let known = pairs.filter_map(|(standing, &class)| Some((standing.clone()?, class)));
            known.filter(|(standing, class)| standing[*class].is_finite()).collect()
        };
        let trust = sizes.trust(&[known(&of_rows), known(&of_open)], &influence.reach, run)?;
        let standings = if trust.level == Level::OpenMean { of_open } else { of_rows };
        let verdict = left_out.verdict(trust.level, standings, trust, &sizes.added(trust));
        Ok(Verdict { shift: sizes.shift(trust), ..verdict })
    }

    /// Leaves each label out of a `function` with a prior: the verdict at this level.
    pub fn with_prior(
        function: &HarmonicFunction,
        influence: &Influence,
        targets: &Targets,
        components: &Components,
        level: Level,
        run: &Run,
    ) -> Result<Self> {
        let left_out = LeftOut::new(function, influence, targets, components);
        let standings = left_out.at(level, run)?;
        Ok(left_out.verdict(level, standings, Trust::default(), &vec![0.0; targets.n_columns()]))
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
    Ok(Standings::left_out(targets, scores))
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

/// Labels that are left out, each alone, in one pass over the rows.
const LABELS_TOGETHER: usize = 16;

/// Scores of labeled rows without their own labels.
struct LeftOut<'a> {
    function: &'a HarmonicFunction,
    influence: &'a Influence,
    targets: &'a Targets,
    /// Classes of the labels that are left out (q).
    classes: Vec<usize>,
    /// Whether no other label is in the component (q).
    is_alone: Vec<bool>,
    /// Scores of the rows that labels reach, and their mean (c).
    reached: Vec<&'a [f64]>,
    mean: Vec<f64>,
}

impl<'a> LeftOut<'a> {
    fn new(
        function: &'a HarmonicFunction,
        influence: &'a Influence,
        targets: &'a Targets,
        components: &'a Components,
    ) -> Self {
        let all = label_classes(targets);
        let classes = influence.labels.iter().map(|&at| all[at]).collect();
        let home = |row: u32| components.id[row as usize] as usize;
        let mut counts = vec![0usize; components.sizes.len()];
        targets.rows().iter().for_each(|&row| counts[home(row)] += 1);
        let is_alone = influence.labels.iter().map(|&at| counts[home(targets.rows()[at])] < 2).collect();
        let reached = reached(&function.scores).collect();
        Self { function, influence, targets, classes, is_alone, reached, mean: row_mean(&function.scores) }
    }

    /// Standings of all labels (q).
    fn at(&self, level: Level, run: &Run) -> Result<Vec<Standing>> {
        let places: Vec<usize> = (0..self.classes.len()).collect();
        let together = |places: &[usize]| run.check().map(|()| self.standings(places, level));
        let found: Vec<Vec<Standing>> = places.par_chunks(LABELS_TOGETHER).map(together).collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The verdict, given what is added to standings at the level (c).
    fn verdict(&self, level: Level, standings: Vec<Standing>, trust: Trust, added: &[f64]) -> Verdict {
        let unknown = || vec![f64::NAN; self.targets.n_columns()];
        let counts = label_counts(self.targets);
        // Shares do not grow with the number of labels.
        let is_restored = level != Level::Zero && are_balanced(&counts);
        let moved = |standing: &[f64]| standing.iter().zip(added).map(|(s, added)| s + added).collect::<Vec<f64>>();
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
        let mut values = Matrix::filled(standings.len(), self.targets.n_columns(), f64::NAN);
        for (at, restored) in standings.into_iter().zip(&self.classes).map(restored).enumerate() {
            values.row_mut(at).copy_from_slice(&restored);
        }
        let held_out = Standings::new(self.targets, &self.influence.labels, values, HeldOutSource::LeaveOneOut);
        let accuracy = Some(n_right as f64 / self.classes.len() as f64);
        Verdict { level, trust, held_out: Some(held_out), accuracy, shift: added.to_vec() }
    }

    /// Leave-one-out scores minus the level (c) of the labels at `places` among those left out; `None` where no other label reaches the row.
    fn standings(&self, places: &[usize], level: Level) -> Vec<Standing> {
        let without: Vec<Option<Vec<f64>>> = places.iter().map(|&place| self.without(place)).collect();
        let mut open = match level {
            Level::OpenMean => self.open_means(places, &without),
            _ => Vec::new(),
        }
        .into_iter();
        let standing = |(&place, without): (&usize, Option<Vec<f64>>)| {
            let without = without?;
            let at = self.influence.labels[place];
            let labeled_mean = mean_without(&self.function.mean, self.targets, at);
            let level: Vec<f64> = match level {
                Level::RowMean => {
                    let (g, y) = (self.influence.reach[place], self.targets.values().row(at));
                    let means = self.mean.iter().zip(y).zip(&without);
                    means.map(|((mean, y), without)| mean - g * (y - without)).collect()
                }
                Level::OpenMean => open.next()?,
                Level::Zero => vec![0.0; without.len()],
                Level::LabeledMean => labeled_mean.clone(),
            };
            let standing = without.iter().zip(&level).zip(&labeled_mean);
            Some(
                standing.map(|((f, level), mean)| if is_left(*mean) { f - level } else { f64::NEG_INFINITY }).collect(),
            )
        };
        places.iter().zip(without).map(standing).collect()
    }

    /// The score (c) that the others give the label at `place`; `None` if no other label reaches its row.
    fn without(&self, place: usize) -> Option<Vec<f64>> {
        let at = self.influence.labels[place];
        let row = self.targets.rows()[at] as usize;
        let slack = self.influence.slack[place];
        let pairs = self.function.scores.row(row).iter().zip(self.targets.values().row(at));
        let is_known = !self.is_alone[place] && slack > 0.0;
        is_known.then(|| pairs.map(|(f, y)| (y - (y - f) / slack).clamp(0.0, 1.0)).collect())
    }

    /// The means of the rows, weighted by how open they are, if the labels at `places` have the scores `without` (c) of the others, for
    /// each that has any. Rows stay in the caches for all of them.
    fn open_means(&self, places: &[usize], without: &[Option<Vec<f64>>]) -> Vec<Vec<f64>> {
        let known = places.iter().zip(without).filter_map(|(&place, without)| Some((place, without.as_ref()?)));
        let mut means: Vec<(usize, Vec<f64>, OpenMean)> = known
            .map(|(place, without)| {
                let y = self.targets.values().row(self.influence.labels[place]);
                let change = y.iter().zip(without).map(|(y, without)| y - without).collect();
                (place, change, OpenMean::new(y.len()))
            })
            .collect();
        for (scores, influence) in self.reached.iter().zip(self.influence.columns.rows()) {
            means.iter_mut().for_each(|(place, change, mean)| mean.add(scores, change, influence[*place]));
        }
        means.into_iter().map(|(_, _, mean)| mean.value()).collect()
    }
}

/// Subtracts their mean over the rows from plain scores, whose bounds then hold at this level too.
pub(super) fn center_rows(function: &mut HarmonicFunction, level: Level) {
    let mean = row_mean(&function.scores);
    if let Some(certificate) = &mut function.certificate {
        certificate.center(&function.scores, &function.reached, level);
    }
    subtract(&mut function.scores, &mean);
}

/// Subtracts their mean over the rows from plain scores.
pub(super) fn center(scores: &mut Matrix) {
    let mean = row_mean(scores);
    subtract(scores, &mean);
}

fn subtract(scores: &mut Matrix, mean: &[f64]) {
    for row in 0..scores.n_rows() {
        scores.row_mut(row).iter_mut().zip(mean).for_each(|(score, mean)| *score -= mean);
    }
}

#[cfg(test)]
mod tests;
