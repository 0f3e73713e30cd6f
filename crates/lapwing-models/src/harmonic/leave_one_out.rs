//! Leave-one-out scores of the plain harmonic function, without leaving anything out, and what they decide.
//!
//! With A = L + T, T = diag(t) the label weights over γ, H = A⁻¹T, the score of row i without its own label is exactly
//!
//! ```text
//! Lᵢ = yᵢ − (yᵢ − fᵢ) / kᵢ,   kᵢ = 1 − Hᵢᵢ = (L·H)ᵢᵢ / tᵢ,
//! ```
//!
//! and the mean over the n_k rows of its component becomes mean(f) − gᵢ(yᵢ − Lᵢ), gᵢ = tᵢ(A⁻¹1)ᵢ/n_k (rank-one update). The
//! second form of kᵢ, the flow out of the row, is used: 1 − Hᵢᵢ loses digits if kᵢ is small, that is, if the label nearly fixes
//! the score of its row. Scores of a harmonic function lie between its labels, so Lᵢ is clipped to that range. Each label needs
//! its column of H. Estimates of the diagonal from random signs are too rough: scores of classes may differ by only a few
//! percent of the influence of a label on its own row.
//!
//! **What they decide.** Far from all labels, plain scores are nearly constant, and the constant says nothing. There it is safe to
//! compare scores with their mean over the rows. If labels reach far, it is better to compare them with the mean of the labels,
//! above all for small classes. The mean of the labels is chosen only if it gets more labels right than the mean of the rows, by
//! [`SIGNIFICANT`] standard deviations of a fair coin (sign test).
//!
//! Cost: one solve with a column for each label that is left out, to a residual of [`TOL`]. At most [`MOST_LABELS`] labels, drawn
//! at random, are left out, with at most [`MOST_VALUES`] values in their columns. If that allows fewer than [`FEWEST_LABELS`], no
//! label is left out.

use lapwing_data::{Matrix, Result, Run, Stream, Targets};
use lapwing_graph::Components;
use lapwing_solve::LaplacianSolver;
use rand::seq::index::sample;

use super::function::HarmonicFunction;
use super::parts::Part;
use crate::HeldOutSource;
use crate::class_sizes::label_counts;
use crate::held_out::Standings;
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
    /// The influence of labels in a plain system with the diagonal `weights` (n). `part` holds all labels.
    pub fn find(
        solver: &mut LaplacianSolver,
        part: &Part<'_>,
        weights: &[f64],
        components: &Components,
        run: &Run,
    ) -> Result<Self> {
        let (n, l) = (part.n(), part.labeled.len());
        let mut labels = sample(&mut run.rng(Stream::LeftOut, 0), l, most_labels(n).min(l)).into_vec();
        labels.sort_unstable();
        let q = labels.len();
        let mut b = Matrix::filled(n, q + 1, 0.0);
        for row in 0..n {
            let size = components.sizes[components.id[part.whole(row)] as usize];
            b.row_mut(row)[q] = 1.0 / size as f64;
        }
        for (column, &at) in labels.iter().enumerate() {
            let row = part.labeled[at] as usize;
            b.row_mut(row)[column] = weights[row];
        }
        solver.set_tol(TOL)?;
        let (x, _) = solver.solve(&b, None, &run.quiet())?;
        let (mut slack, mut reach) = (Vec::with_capacity(q), Vec::with_capacity(q));
        for (column, &at) in labels.iter().enumerate() {
            let row = part.labeled[at] as usize;
            let (neighbors, edges) = part.graph.adjacency().row(row);
            let own = x.row(row);
            let flow =
                neighbors.iter().zip(edges).map(|(&id, weight)| weight * (own[column] - x.row(id as usize)[column]));
            slack.push((flow.sum::<f64>() / weights[row]).clamp(0.0, 1.0));
            reach.push(weights[row] * own[q]);
        }
        Ok(Self { labels, slack, reach })
    }
}

/// Most labels that may be left out on a graph of n rows.
pub(super) fn most_labels(n: usize) -> usize {
    MOST_LABELS.min(MOST_VALUES / n.max(1))
}

/// Whether every label is of one class and there are enough labels to leave one out.
pub(super) fn applies(targets: &Targets) -> bool {
    let is_soft = |y: &[f64]| y.iter().any(|share| *share != 0.0 && *share != 1.0);
    if targets.values().rows().any(is_soft) {
        return false;
    }
    let n_classes = label_counts(targets).iter().filter(|count| **count > 0).count();
    let may_leave_out = most_labels(targets.n_samples()) >= FEWEST_LABELS;
    may_leave_out && n_classes > 1 && targets.rows().len() >= LEAST_PER_CLASS * n_classes
}

impl Verdict {
    /// The default for too few labels.
    pub fn without_labels() -> Self {
        Self { level: Level::RowMean, held_out: None, accuracy: None }
    }

    /// Leaves each label out of the plain `function`.
    pub fn new(function: &HarmonicFunction, influence: &Influence, targets: &Targets, components: &Components) -> Self {
        let all: Vec<usize> = targets.values().rows().map(largest).collect();
        let classes: Vec<usize> = influence.labels.iter().map(|&at| all[at]).collect();
        let q = classes.len();
        let tally = Tally::new(targets, components, &all);
        let means = component_means(&function.scores, components);
        let left_out = LeftOut { function, influence, targets, components, tally, means };
        let at_level = |level: Level| -> Vec<Option<Vec<f64>>> {
            (0..q).map(|at| left_out.standing(at, classes[at], level)).collect()
        };
        let (row_mean, labeled_mean) = (at_level(Level::RowMean), at_level(Level::LabeledMean));
        let right = |standings: &[Option<Vec<f64>>], at: usize| {
            standings[at].as_ref().is_some_and(|standing| largest(standing) == classes[at])
        };
        let only = |these: &[Option<Vec<f64>>], others: &[Option<Vec<f64>>]| {
            (0..q).filter(|&at| right(these, at) && !right(others, at)).count() as f64
        };
        let (wins, losses) = (only(&labeled_mean, &row_mean), only(&row_mean, &labeled_mean));
        let is_better = wins - losses > SIGNIFICANT * (wins + losses).sqrt();
        let (level, standings) =
            if is_better { (Level::LabeledMean, labeled_mean) } else { (Level::RowMean, row_mean) };
        let n_right = (0..q).filter(|&at| right(&standings, at)).count();
        let unknown = || vec![f64::NAN; targets.n_columns()];
        let counts = label_counts(targets);
        let restored = |(standing, &class): (Option<Vec<f64>>, &usize)| {
            let mut standing = standing.unwrap_or_else(unknown);
            standing[class] *= restoring(standing[class], counts[class]);
            standing
        };
        let values = standings.into_iter().zip(&classes).map(restored).collect();
        let held_out = Standings {
            rows: influence.labels.iter().map(|&at| targets.rows()[at]).collect(),
            classes: classes.iter().map(|&class| class as u32).collect(),
            values,
            source: HeldOutSource::LeaveOneOut,
        };
        Self { level, held_out: Some(held_out), accuracy: Some(n_right as f64 / q as f64) }
    }
}

/// Factor of the standing of a class that had `count` labels before one was left out. Scores grow with the number of labels of a
/// class: with one of five left out, a class falls behind the others by a fifth, which it does in no row without a label. So the
/// accuracy of uncorrected standings is too low, by up to 0.2 with five labels a class.
fn restoring(standing: f64, count: usize) -> f64 {
    if standing > 0.0 && standing.is_finite() && count > 1 { count as f64 / (count - 1) as f64 } else { 1.0 }
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
    tally: Tally,
    /// Mean score of each component (k, c).
    means: Matrix,
}

impl LeftOut<'_> {
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
        let labeled_mean = self.labeled_mean_without(at);
        let level: Vec<f64> = match level {
            Level::RowMean if n_classes > 1 => {
                let g = self.influence.reach[place];
                let means = self.means.row(self.components.id[row] as usize).iter().zip(y).zip(&without);
                means.map(|((mean, y), without)| mean - g * (y - without)).collect()
            }
            _ => labeled_mean.clone(),
        };
        let is_left = |mean: &f64| *mean > f64::EPSILON;
        let standing = without.iter().zip(&level).zip(&labeled_mean);
        Some(standing.map(|((f, level), mean)| if is_left(mean) { f - level } else { f64::NEG_INFINITY }).collect())
    }

    /// Mean of the labels (c) without label `at`.
    fn labeled_mean_without(&self, at: usize) -> Vec<f64> {
        let (total, own): (f64, f64) = (self.targets.weights().iter().sum(), self.targets.weights()[at]);
        let mean = self.function.mean.iter().zip(self.targets.values().row(at));
        mean.map(|(mean, y)| ((mean * total - own * y) / (total - own)).max(0.0)).collect()
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
mod tests {
    use lapwing_data::Labels;
    use lapwing_graph::Graph;

    use super::*;
    use crate::harmonic::function::{Solving, solve};
    use crate::{Form, HarmonicParams};

    /// Two rings with chords, of 40 rows and of 10, with varying weights.
    fn graph() -> Graph {
        let mut edges = Vec::new();
        for (first, size) in [(0u32, 40u32), (40, 10)] {
            for i in 0..size {
                for step in [1, 3] {
                    edges.push((first + i, first + (i + step) % size, 0.2 + f64::from((i * 7 + step) % 5)));
                }
            }
        }
        Graph::from_edges(50, &edges).unwrap()
    }

    fn targets(labeled: impl Fn(usize) -> Option<i64>, n_classes: usize) -> Targets {
        let labels = Labels::from_integers((0..50).map(labeled));
        let weights: Vec<f64> = (0..50).map(|row| 1.0 + (row % 3) as f64).collect();
        let targets = Targets::one_hot(&labels, Some(&weights)).unwrap();
        assert_eq!(targets.n_columns(), n_classes);
        targets
    }

    fn solved(graph: &Graph, targets: &Targets, graph_reg: f64, influence: bool) -> HarmonicFunction {
        let params =
            HarmonicParams { form: Form::Plain, graph_reg: Some(graph_reg), tol: 1e-12, ..HarmonicParams::default() };
        let components = graph.components();
        let solving = Solving { graph, components: &components, targets, params: &params, refiner: None, influence };
        solve(&solving, &Run::new(Some(2), 0).unwrap()).unwrap()
    }

    /// The scores that a solve without label `at` finds in its row, less the level.
    fn by_brute_force(graph: &Graph, targets: &Targets, graph_reg: f64, at: usize, level: Level) -> Vec<f64> {
        let kept = targets.subset(|other| other != at).unwrap();
        // The weight of smoothness is relative to the sum of the label weights.
        let (all, left) = (targets.weights().iter().sum::<f64>(), kept.weights().iter().sum::<f64>());
        let function = solved(graph, &kept, graph_reg * all / left, false);
        let (components, row) = (graph.components(), targets.rows()[at] as usize);
        let level = match level {
            Level::RowMean => component_means(&function.scores, &components).row(components.id[row] as usize).to_vec(),
            Level::LabeledMean => function.mean.clone(),
        };
        function.scores.row(row).iter().zip(level).map(|(f, level)| f - level).collect()
    }

    #[test]
    fn leaving_out_equals_solving_without() {
        let graph = graph();
        let targets = targets(|row| [3, 11, 20, 33, 42, 45, 47].contains(&row).then_some((row % 2) as i64), 2);
        for graph_reg in [1e-3, 0.05, 2.0] {
            let function = solved(&graph, &targets, graph_reg, true);
            let components = graph.components();
            let classes: Vec<usize> = targets.values().rows().map(largest).collect();
            let left_out = LeftOut {
                function: &function,
                influence: function.influence.as_ref().unwrap(),
                targets: &targets,
                components: &components,
                tally: Tally::new(&targets, &components, &classes),
                means: component_means(&function.scores, &components),
            };
            for at in 0..classes.len() {
                let n_left = left_out.tally.n_classes_without(at, classes[at]);
                for level in [Level::RowMean, Level::LabeledMean] {
                    let found = left_out.standing(at, classes[at], level).unwrap();
                    let level = if n_left > 1 { level } else { Level::LabeledMean };
                    let expected = by_brute_force(&graph, &targets, graph_reg, at, level);
                    for (f, e) in found.iter().zip(&expected) {
                        // The columns are solved to a residual of `TOL` only.
                        assert!((f - e).abs() < 0.02, "γ {graph_reg}, label {at}, {level:?}: {found:?} {expected:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_label_alone_in_its_component_says_nothing() {
        let graph = graph();
        let targets = targets(|row| [3, 11, 20, 33, 42].contains(&row).then_some((row % 2) as i64), 2);
        let function = solved(&graph, &targets, 0.05, true);
        let influence = function.influence.as_ref().unwrap();
        assert!(influence.slack[4] < 0.01, "{:?}", influence.slack);
        let verdict = Verdict::new(&function, influence, &targets, &graph.components());
        assert!(verdict.accuracy.is_some_and(|accuracy| accuracy <= 0.8));
    }

    #[test]
    fn centered_rows_have_zero_mean_in_mixed_components_and_their_label_elsewhere() {
        let graph = graph();
        let targets = targets(|row| [3, 10, 20, 42, 44].contains(&row).then_some((row % 2) as i64), 2);
        let (mut function, components) = (solved(&graph, &targets, 0.05, false), graph.components());
        center_rows(&mut function, &components, &targets);
        let means = component_means(&function.scores, &components);
        assert!(means.row(0).iter().all(|mean| mean.abs() < 1e-12));
        for row in 40..50 {
            let scores = function.scores.row(row);
            assert!((scores[0] - (1.0 - function.mean[0])).abs() < 1e-9 && scores[1] < 0.0, "{scores:?}");
        }
    }
}
