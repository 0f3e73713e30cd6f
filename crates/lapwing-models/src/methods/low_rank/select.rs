//! Chooses number of nearest landmarks, width, head and α by cross-validation over the labeled rows, with sums over the sample
//! that the landmarks came from.
//!
//! Candidates for anchors: the given `n_nearest`, 3, all landmarks, and all with twice the width; for each of these, propagation
//! with the given α and 0.01, 0.5, 0.9, 0.99, and the regression. For Nyström and learned factors only α is chosen. The given
//! values stay unless the best candidate has an accuracy above theirs by more than one standard error √(p(1−p)/l) over the l
//! labeled rows: with few labels, the best of many candidates is mostly the luckiest.
//!
//! A learned factor uses the sums of the fit itself. A fold costs O(l·k·c) for l labeled rows, and O(l·k² + k³) for the
//! regression. At most 20,000 labeled rows are used.

use lapwing_core::{Alone, Matrix, Report, Result, RowSource, Run, Targets};
use lapwing_graph::low_rank::{FactorSpace, HeldRows, Landmarks, RowFactor, RowKernel, RowPass, RowSample};
use lapwing_solve::products::{times, transposed_times};
use serde_json::{Value, json};

use super::fit::{Fit, GRAPH_REG, Summed, column_scale};
use super::judged::Judged;
use super::solve::{Spectrum, regress};
use super::{FactorKind, Head, LowRankParams, Select};
use crate::core::calibration::has_enough;
use crate::core::folds::folds;
use crate::core::held_out::Standings;
use crate::core::labeling::typical_temperature;
use crate::core::scores::largest;
use crate::{HeldOutSource, Rule};

/// Fewest labels of each class to choose by.
const LABELS_PER_CLASS: usize = 2;
/// Most labeled rows that are used.
pub(super) const MOST_LABELED: usize = 20_000;
const FOLDS: usize = 5;
/// Candidates for α.
const ALPHAS: [f64; 4] = [0.01, 0.5, 0.9, 0.99];

/// The chosen parameters.
pub(super) struct Selected {
    pub params: LowRankParams,
    /// Factor on the width.
    pub widening: f64,
    /// What the held-out labels say about confidence.
    pub held_out: Option<Judged>,
}

/// Parameters of a candidate that change the factor.
#[derive(Clone, Copy, PartialEq)]
struct View {
    n_nearest: usize,
    widening: f64,
}

/// Head of a candidate, with the α of propagation.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Propagate(f64),
    Regress,
}

/// A candidate, with place among the labels, scores and class of each held-out row.
struct Trial {
    view: View,
    way: Way,
    held_out: Vec<(usize, Vec<f64>, usize)>,
}

impl Trial {
    fn accuracy(&self) -> f64 {
        self.accuracy_on(|_| true)
    }

    /// Accuracy on the labels at some places.
    fn accuracy_on(&self, is_judge: impl Fn(usize) -> bool) -> f64 {
        let judges = self.held_out.iter().filter(|(at, ..)| is_judge(*at));
        let (right, n) = judges.fold((0usize, 0usize), |(right, n), (_, scores, class)| {
            (right + usize::from(largest(scores) == *class), n + 1)
        });
        right as f64 / n.max(1) as f64
    }

    /// Typical temperature of its scores.
    fn typical(&self, c: usize, run: &Run) -> Result<f64> {
        let values = self.held_out.iter().flat_map(|(_, scores, _)| scores).copied().collect();
        let scores = Matrix::new(self.held_out.len(), c, values)?;
        Ok(run.install(|| typical_temperature(&Rule::largest(vec![1.0; c]), &scores)))
    }

    fn describe(&self, kind: FactorKind) -> Value {
        let mut out = json!({ "accuracy": self.accuracy() });
        if kind == FactorKind::Anchor {
            out["n_nearest"] = json!(self.view.n_nearest);
            out["bandwidth_factor"] = json!(self.view.widening);
        }
        match self.way {
            Way::Propagate(alpha) => out["alpha"] = json!(alpha),
            Way::Regress => out["head"] = json!("regression"),
        }
        out
    }
}

/// Rows of the factor that have labels.
pub(super) struct Known {
    /// Rows of the factor (l, k).
    pub rows: Matrix,
    /// Roots of their degrees (l).
    pub roots: Vec<f64>,
}

/// The labels that candidates are compared on, in folds.
pub(super) struct Judges {
    /// All labels, or every s-th if there are more than [`MOST_LABELED`].
    pub targets: Targets,
    classes: Vec<usize>,
    /// The fold in which each label is held out.
    folds: Vec<usize>,
    /// Whether labels are enough to fit a temperature.
    is_enough: bool,
    /// Whether parameters are chosen. Otherwise only the given ones are tried, for the confidence.
    chooses: bool,
}

impl Judges {
    /// `None` if nothing is to be chosen or labels are too few.
    pub fn new(targets: &Targets, select: Select, run: &Run) -> Result<Option<Self>> {
        let c = targets.n_columns();
        let classes: Vec<usize> = targets.values().rows().map(largest).collect();
        let fewest = (0..c).map(|class| classes.iter().filter(|&&k| k == class).count()).min().unwrap_or(0);
        if c < 2 || fewest < LABELS_PER_CLASS {
            return Ok(None);
        }
        let is_enough = has_enough(targets);
        let stride = targets.rows().len().div_ceil(MOST_LABELED);
        let targets = targets.subset(|at| at % stride == 0)?;
        let classes: Vec<usize> = classes.into_iter().step_by(stride).collect();
        let folds = folds(&classes, c, run);
        Ok(Some(Self { targets, classes, folds, is_enough, chooses: select == Select::Auto }))
    }

    /// The best trial for some labels if it is better than the first, that of the given parameters, by more than a standard error; else the
    /// first.
    fn best(&self, trials: &[Trial], is_judge: impl Fn(usize) -> bool) -> usize {
        let accuracies: Vec<f64> = trials.iter().map(|trial| trial.accuracy_on(&is_judge)).collect();
        let (standard, n) = (accuracies[0], (0..self.classes.len()).filter(|&at| is_judge(at)).count());
        let error = (standard * (1.0 - standard) / n.max(1) as f64).sqrt();
        let best = largest(&accuracies);
        if accuracies[best] > standard + error { best } else { 0 }
    }

    /// Place, scores and class of each label, by the trial that is the best for the labels of the other folds: the luck of the choice does
    /// not count. Scores are in the unit of those of the trial `chosen`.
    fn nested(&self, trials: &[Trial], chosen: usize, run: &Run) -> Result<Vec<(usize, Vec<f64>, usize)>> {
        let c = self.targets.n_columns();
        let unit = trials[chosen].typical(c, run)?;
        let mut all = Vec::new();
        for fold in 0..FOLDS {
            let trial = &trials[self.best(trials, |at| self.folds[at] != fold)];
            let scale = Some(unit / trial.typical(c, run)?).filter(|scale| scale.is_normal()).unwrap_or(1.0);
            let own = trial.held_out.iter().filter(|(at, ..)| self.folds[*at] == fold);
            all.extend(own.map(|(at, scores, class)| (*at, scores.iter().map(|s| s * scale).collect(), *class)));
        }
        all.sort_unstable_by_key(|(at, ..)| *at);
        Ok(all)
    }

    /// The best trial for all labels.
    fn choose(&self, trials: &[Trial], params: &LowRankParams, report: &mut Report, run: &Run) -> Result<Selected> {
        if trials.is_empty() {
            return Ok(Selected::given(params));
        }
        let chosen = self.best(trials, |_| true);
        if self.chooses {
            let table: Vec<Value> = trials.iter().map(|trial| trial.describe(params.factor)).collect();
            report.choose("cross_validation", table);
        }
        let trial = &trials[chosen];
        let mut params = LowRankParams { n_nearest: trial.view.n_nearest, ..params.clone() };
        match trial.way {
            Way::Propagate(alpha) => (params.alpha, params.head) = (alpha, Head::Propagation),
            Way::Regress => params.head = Head::Regression,
        }
        let held_out = self.nested(trials, chosen, run)?;
        let standings = Standings {
            rows: held_out.iter().map(|(at, ..)| self.targets.rows()[*at]).collect(),
            classes: held_out.iter().map(|(.., class)| *class as u32).collect(),
            values: held_out.iter().map(|(_, scores, _)| scores.clone()).collect(),
            source: HeldOutSource::Folds(FOLDS),
        };
        let judged = Judged::new(standings, self.targets.n_columns(), self.is_enough, run)?;
        Ok(Selected { params, widening: trial.view.widening, held_out: Some(judged) })
    }
}

impl Selected {
    pub fn given(params: &LowRankParams) -> Self {
        Self { params: params.clone(), widening: 1.0, held_out: None }
    }
}

/// The parameters to fit with.
pub(super) fn select(
    source: &dyn RowSource,
    sample: &RowSample,
    landmarks: &Landmarks,
    targets: &Targets,
    params: &LowRankParams,
    report: &mut Report,
    run: &Run,
) -> Result<Selected> {
    let Some(judges) = Judges::new(targets, params.select, run)? else { return Ok(Selected::given(params)) };
    let labeled = HeldRows::gather(source, judges.targets.rows(), &sample.center, run)?;
    let share = sample.rows.len() as f64 / source.n_rows() as f64;

    let first = View { n_nearest: params.n_nearest, widening: 1.0 };
    let mut views = vec![first];
    if params.factor == FactorKind::Anchor && judges.chooses {
        let others = [(3, 1.0), (0, 1.0), (0, 2.0)].map(|(n_nearest, widening)| View { n_nearest, widening });
        views.extend(others.into_iter().filter(|view| *view != first));
    }
    let mut trials: Vec<Trial> = Vec::new();
    let n_views = views.len();
    for (at, view) in views.into_iter().enumerate() {
        run.check()?;
        let run = &run.part_of(at, n_views, &format!("factor {} of {n_views}", at + 1));
        let landmarks = Landmarks { width: landmarks.width * view.widening, ..landmarks.clone() };
        let viewed = LowRankParams { n_nearest: view.n_nearest, head: Head::Propagation, ..params.clone() };
        let summed = summed(&sample.held, &landmarks, &viewed, &labeled, &judges.targets, run)?;
        let Ok((summed, known)) = summed else { continue };
        trials.extend(trials_of(view, &summed, &known, &judges, params, share, run)?);
    }
    judges.choose(&trials, params, report, run)
}

/// Chooses α only, with sums and labeled rows of the fit itself.
pub(super) fn select_alpha<F>(
    summed: &Summed<F>,
    known: &Known,
    judges: &Judges,
    params: &LowRankParams,
    report: &mut Report,
    run: &Run,
) -> Result<Selected> {
    let view = View { n_nearest: params.n_nearest, widening: 1.0 };
    let trials = trials_of(view, summed, known, judges, params, 1.0, run)?;
    judges.choose(&trials, params, report, run)
}

/// Sums over the sample, and rows of the factor that have labels. The inner error is a factor that fails on the sample: its
/// candidates are skipped.
fn summed(
    sampled: &HeldRows,
    landmarks: &Landmarks,
    params: &LowRankParams,
    labeled: &HeldRows,
    targets: &Targets,
    run: &Run,
) -> Result<Result<(Summed, Known)>> {
    // These sums contain no labels: labels are added fold by fold.
    let none = Targets::new(sampled.n_rows(), vec![0], Matrix::filled(1, targets.n_columns(), 0.0), vec![1.0])?;
    let (rows, center) = (sampled.features()?, sampled.center());
    let fit = Fit { source: &rows, center, landmarks, targets: &none, communicator: &Alone, keeper: None };
    let summed = match fit.sum(params.factor, params, &mut Report::default(), run) {
        Ok(summed) => summed,
        Err(lapwing_core::Error::Interrupted) => return Err(lapwing_core::Error::Interrupted),
        Err(error) => return Ok(Err(error)),
    };
    let known = known(labeled, landmarks, &summed.factor, run)?;
    Ok(Ok((summed, known)))
}

fn known(labeled: &HeldRows, landmarks: &Landmarks, factor: &RowFactor, run: &Run) -> Result<Known> {
    let (features, center) = (labeled.features()?, labeled.center());
    let kernel = RowKernel::new(&features, center, &landmarks.values, landmarks.width);
    let k = kernel.n_landmarks();
    let pass = RowPass { source: &features, center, kernel: &kernel };
    let (mut rows, mut roots) = (Vec::new(), Vec::new());
    pass.visit(
        0..labeled.n_rows(),
        &run.quiet(),
        FactorSpace::default,
        |space, chunk| Ok(factor.rows(chunk, k, space)),
        |_, (more, more_roots)| {
            rows.extend(more);
            roots.extend(more_roots);
            Ok(())
        },
    )?;
    Ok(Known { rows: Matrix::new(labeled.n_rows(), k, rows)?, roots })
}

/// Trials of all heads and α with one view.
fn trials_of<F>(
    view: View,
    summed: &Summed<F>,
    known: &Known,
    judges: &Judges,
    params: &LowRankParams,
    share: f64,
    run: &Run,
) -> Result<Vec<Trial>> {
    let Judges { targets, classes, folds, .. } = judges;
    run.check()?;
    let spectrum = Spectrum::new(&summed.map, &summed.statistics.gram)?;
    run.check()?;
    // Coordinates along the eigenvectors, in which propagation with another α is only another scaling.
    let along = times(&known.rows, &spectrum.basis);
    let ways = ways(view, params).into_iter().take(if judges.chooses { usize::MAX } else { 1 });
    let mut trials: Vec<Trial> = ways.map(|way| Trial { view, way, held_out: Vec::new() }).collect();
    let prior = params.class_prior.shares(&targets.mean())?;
    let gram_of = |places: &[usize]| weighted_gram(known, targets, places);
    // The Gram matrix of all labeled rows is computed once. For each fold that of the held-out rows is subtracted.
    let is_regressed = trials.iter().any(|trial| trial.way == Way::Regress);
    let all: Vec<usize> = (0..classes.len()).collect();
    let labeled_gram = is_regressed.then(|| gram_of(&all));
    for fold in 0..FOLDS {
        run.check()?;
        // The eigenvectors take the first half, about.
        run.share(0.5 + 0.5 * fold as f64 / FOLDS as f64, "");
        let kept: Vec<usize> = (0..classes.len()).filter(|&at| folds[at] != fold).collect();
        let held_out: Vec<usize> = (0..classes.len()).filter(|&at| folds[at] == fold).collect();
        if kept.is_empty() || held_out.is_empty() {
            continue;
        }
        let labels = scaled_labels(&kept, known, targets, params, &prior);
        let start = transposed_times(&select_rows(&along, &kept), &labels);
        for trial in &mut trials {
            let scores = match trial.way {
                Way::Propagate(alpha) => times(&select_rows(&along, &held_out), &propagated(&spectrum, &start, alpha)),
                Way::Regress => {
                    run.check()?;
                    let cross = transposed_times(&select_rows(&known.rows, &kept), &labels);
                    let Some(mut labeled_gram) = labeled_gram.clone() else { continue };
                    let away = gram_of(&held_out);
                    labeled_gram.values_mut().iter_mut().zip(away.values()).for_each(|(all, away)| *all -= away);
                    let statistics = &summed.statistics;
                    let found = regress(&labeled_gram, &statistics.gram, &statistics.sums, &cross, GRAPH_REG / share)?;
                    times(&select_rows(&known.rows, &held_out), &found)
                }
            };
            let pairs = held_out.iter().zip(scores.rows()).map(|(&at, scores)| (at, scores.to_vec(), classes[at]));
            trial.held_out.extend(pairs);
        }
    }
    Ok(trials)
}

/// The heads and α to try with a view, the given one first.
fn ways(view: View, params: &LowRankParams) -> Vec<Way> {
    let is_first = view == View { n_nearest: params.n_nearest, widening: 1.0 };
    let mut ways = match (is_first, params.head) {
        (true, Head::Regression) => vec![Way::Regress, Way::Propagate(params.alpha)],
        _ => vec![Way::Propagate(params.alpha)],
    };
    ways.extend(ALPHAS.iter().filter(|alpha| **alpha != params.alpha).map(|alpha| Way::Propagate(*alpha)));
    if params.factor == FactorKind::Anchor && !ways.contains(&Way::Regress) {
        ways.push(Way::Regress);
    }
    ways
}

/// The Gram matrix (k, k) of the labeled rows at `places`, weighted by their trust.
fn weighted_gram(known: &Known, targets: &Targets, places: &[usize]) -> Matrix {
    let mut rows = select_rows(&known.rows, places);
    for (row, &at) in places.iter().enumerate() {
        let root = targets.weights()[at].sqrt();
        rows.row_mut(row).iter_mut().for_each(|x| *x *= root);
    }
    transposed_times(&rows, &rows)
}

/// Propagates `start` (k, c), label sums along the eigenvectors, with the share `alpha`.
fn propagated(spectrum: &Spectrum, start: &Matrix, alpha: f64) -> Matrix {
    let mut solved = start.clone();
    let damped = spectrum.damped(alpha);
    for (row, value) in spectrum.values.iter().enumerate() {
        let factor = (1.0 - alpha) * damped / (1.0 - damped * value);
        solved.row_mut(row).iter_mut().for_each(|x| *x *= factor);
    }
    solved
}

/// Trust times target of the kept rows, with columns scaled as in the fit (kept, c).
fn scaled_labels(kept: &[usize], known: &Known, targets: &Targets, params: &LowRankParams, prior: &[f64]) -> Matrix {
    let c = targets.n_columns();
    let (mut out, mut mass) = (Matrix::filled(kept.len(), c, 0.0), vec![0.0; c]);
    for (row, &at) in kept.iter().enumerate() {
        let trust = targets.weights()[at];
        for (class, y) in targets.values().row(at).iter().enumerate() {
            out.row_mut(row)[class] = trust * y;
            mass[class] += trust * y * known.roots[at];
        }
    }
    let scale = column_scale(&mass, params.balance, prior);
    (0..kept.len()).for_each(|row| out.row_mut(row).iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale));
    out
}

fn select_rows(matrix: &Matrix, rows: &[usize]) -> Matrix {
    let mut out = Matrix::filled(rows.len(), matrix.n_cols(), 0.0);
    rows.iter().enumerate().for_each(|(to, &from)| out.row_mut(to).copy_from_slice(matrix.row(from)));
    out
}
