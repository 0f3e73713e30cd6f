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
use lapwing_graph::low_rank::{FactorSpace, HeldRows, Landmarks, RowFactor, RowKernel, RowPass, RowSample, Statistics};
use lapwing_solve::products::{times, transposed_times};
use serde_json::{Value, json};

use super::fit::{Fit, GRAPH_REG, Summed, column_scale};
use super::solve::{Spectrum, regress};
use super::{FactorKind, Head, LowRankParams, Select};
use crate::core::counts::{label_classes, label_counts};
use crate::core::held_out::Standings;
use crate::core::held_out::choosing::{choose_by_accuracy, note};
use crate::core::held_out::folds::{Dealing, FOLDS, Fold, dealt};
use crate::core::rule::typical_temperature;
use crate::core::scores::{largest, rows_at};
use crate::{HeldOutSource, Rule};

/// Fewest labels of each class to choose by.
const LABELS_PER_CLASS: usize = 2;
/// Most labeled rows that are used.
pub(super) const MOST_LABELED: usize = 20_000;
/// Candidates for α.
const ALPHAS: [f64; 4] = [0.01, 0.5, 0.9, 0.99];

/// The chosen parameters.
pub(super) struct Selected {
    pub params: LowRankParams,
    /// Factor on the width.
    pub widening: f64,
    /// Scores of held-out labels. Their size is another than that of the fit, because it depends on the rows that are summed over.
    pub held_out: Option<Standings>,
}

/// A candidate, and its scores (l, c) of each label that is held out.
struct Trial {
    params: LowRankParams,
    /// Factor on the width.
    widening: f64,
    scores: Matrix,
}

impl Trial {
    /// Typical temperature of its scores.
    fn typical(&self, run: &Run) -> f64 {
        let rule = Rule::largest(vec![1.0; self.scores.n_cols()]);
        run.install(|| typical_temperature(&rule, &self.scores))
    }

    fn describe(&self, accuracy: f64) -> Value {
        let LowRankParams { factor, n_nearest, alpha, head, .. } = &self.params;
        let mut out = json!({ "accuracy": accuracy });
        if *factor == FactorKind::Anchor {
            (out["n_nearest"], out["bandwidth_factor"]) = (json!(n_nearest), json!(self.widening));
        }
        match head {
            Head::Propagation => out["alpha"] = json!(alpha),
            Head::Regression => out["head"] = json!("regression"),
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
    /// Whether parameters are chosen. Otherwise only the given ones are tried, for the confidence.
    chooses: bool,
}

impl Judges {
    /// `None` if nothing is to be chosen or labels are too few.
    pub fn new(targets: &Targets, select: Select, run: &Run) -> Result<Option<Self>> {
        let c = targets.n_columns();
        if c < 2 || label_counts(targets).iter().any(|count| *count < LABELS_PER_CLASS) {
            return Ok(None);
        }
        let stride = targets.rows().len().div_ceil(MOST_LABELED);
        let targets = targets.subset(|at| at % stride == 0)?;
        let classes = label_classes(&targets);
        let folds = dealt(&classes, c, FOLDS, Dealing::Anew, run);
        Ok(Some(Self { targets, classes, folds, chooses: select == Select::Auto }))
    }

    /// Accuracy of a trial on some of the labels.
    fn accuracy(&self, trial: &Trial, judges: &[usize]) -> f64 {
        let right = judges.iter().filter(|&&at| largest(trial.scores.row(at)) == self.classes[at]).count();
        right as f64 / judges.len().max(1) as f64
    }

    /// The best trial for some labels.
    fn best(&self, trials: &[Trial], judges: &[usize]) -> usize {
        let accuracies: Vec<f64> = trials.iter().map(|trial| self.accuracy(trial, judges)).collect();
        choose_by_accuracy(&accuracies, judges.len())
    }

    /// Scores (l, c) of each label, by the trial that is the best for the labels of the other folds: the luck of the choice does
    /// not count. Scores are in the unit of those of the trial `chosen`.
    fn nested(&self, trials: &[Trial], chosen: usize, run: &Run) -> Matrix {
        let (mut all, unit) = (trials[chosen].scores.clone(), trials[chosen].typical(run));
        for fold in Fold::all(&self.folds) {
            let others: Vec<usize> = (0..self.folds.len()).filter(|&at| fold.is_kept(at)).collect();
            let trial = &trials[self.best(trials, &others)];
            let scale = Some(unit / trial.typical(run)).filter(|scale| scale.is_normal()).unwrap_or(1.0);
            for at in fold.held {
                all.row_mut(at).iter_mut().zip(trial.scores.row(at)).for_each(|(out, score)| *out = score * scale);
            }
        }
        all
    }

    /// The best trial for all labels.
    fn choose(&self, trials: &[Trial], params: &LowRankParams, report: &mut Report, run: &Run) -> Selected {
        if trials.is_empty() {
            return Selected::given(params);
        }
        let all: Vec<usize> = (0..self.classes.len()).collect();
        let chosen = self.best(trials, &all);
        if self.chooses {
            note(trials, |trial| trial.describe(self.accuracy(trial, &all)), report);
        }
        let Trial { params, widening, .. } = &trials[chosen];
        let scores = self.nested(trials, chosen, run);
        let held_out = Standings::new(&self.targets, &all, scores, HeldOutSource::Folds(FOLDS));
        Selected { params: params.clone(), widening: *widening, held_out: Some(held_out) }
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

    let mut views = vec![(params.clone(), 1.0)];
    if params.factor == FactorKind::Anchor && judges.chooses {
        let others = [(3, 1.0), (0, 1.0), (0, 2.0)].into_iter().filter(|view| *view != (params.n_nearest, 1.0));
        let view =
            |(n_nearest, widening)| (LowRankParams { n_nearest, head: Head::Propagation, ..params.clone() }, widening);
        views.extend(others.map(view));
    }
    let mut trials: Vec<Trial> = Vec::new();
    for (at, (params, widening)) in views.iter().enumerate() {
        run.check()?;
        let run = &run.part_of(at, views.len(), &format!("factor {} of {}", at + 1, views.len()));
        let landmarks = Landmarks { width: landmarks.width * widening, ..landmarks.clone() };
        let summed = summed(&sample.held, &landmarks, params, &labeled, &judges.targets, run)?;
        let Ok((summed, known)) = summed else { continue };
        trials.extend(trials_of((params, *widening), &summed, &known, &judges, share, run)?);
    }
    Ok(judges.choose(&trials, params, report, run))
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
    let trials = trials_of((params, 1.0), summed, known, judges, 1.0, run)?;
    Ok(judges.choose(&trials, params, report, run))
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
    let params = LowRankParams { head: Head::Propagation, ..params.clone() };
    let summed = match fit.sum(params.factor, &params, &mut Report::default(), run) {
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

/// Trials of all heads and α with one factor, and a factor on its width.
fn trials_of<F>(
    (params, widening): (&LowRankParams, f64),
    summed: &Summed<F>,
    known: &Known,
    judges: &Judges,
    share: f64,
    run: &Run,
) -> Result<Vec<Trial>> {
    let Judges { targets, folds, .. } = judges;
    run.check()?;
    let spectrum = Spectrum::new(&summed.map, &summed.statistics.gram)?;
    run.check()?;
    // Coordinates along the eigenvectors, in which propagation with another α is only another scaling.
    let along = times(&known.rows, &spectrum.basis);
    let wanted = variants(params).into_iter().take(if judges.chooses { usize::MAX } else { 1 });
    let scores = Matrix::filled(folds.len(), targets.n_columns(), f64::NAN);
    let mut trials: Vec<Trial> = wanted.map(|params| Trial { params, widening, scores: scores.clone() }).collect();
    let prior = params.class_prior.shares(&targets.mean())?;
    // The Gram matrix of all labeled rows is computed once. For each fold that of the held-out rows is subtracted.
    let is_regressed = trials.iter().any(|trial| trial.params.head == Head::Regression);
    let all: Vec<usize> = (0..folds.len()).collect();
    let labeled_gram = is_regressed.then(|| weighted_gram(known, targets, &all));
    for fold in Fold::all(folds) {
        run.check()?;
        // The eigenvectors take the first half, about.
        run.share(0.5 + 0.5 * fold.number as f64 / FOLDS as f64, "");
        let kept: Vec<usize> = (0..folds.len()).filter(|&at| fold.is_kept(at)).collect();
        let labels = scaled_labels(&kept, known, targets, params, &prior);
        let start = transposed_times(&select_rows(&along, &kept), &labels);
        for trial in &mut trials {
            let scores = match (&trial.params.head, &labeled_gram) {
                (Head::Propagation, _) => {
                    times(&select_rows(&along, &fold.held), &propagated(&spectrum, &start, trial.params.alpha))
                }
                (Head::Regression, None) => continue,
                (Head::Regression, Some(labeled_gram)) => {
                    run.check()?;
                    let cross = transposed_times(&select_rows(&known.rows, &kept), &labels);
                    let (mut gram, away) = (labeled_gram.clone(), weighted_gram(known, targets, &fold.held));
                    gram.values_mut().iter_mut().zip(away.values()).for_each(|(all, away)| *all -= away);
                    let Statistics { gram: of_rows, sums, .. } = &summed.statistics;
                    let found = regress(&gram, of_rows, sums, &cross, GRAPH_REG / share)?;
                    times(&select_rows(&known.rows, &fold.held), &found)
                }
            };
            fold.put(&scores, &mut trial.scores);
        }
    }
    Ok(trials)
}

/// The parameters with all heads and α to try, the given ones first.
fn variants(params: &LowRankParams) -> Vec<LowRankParams> {
    let propagation = |alpha: f64| LowRankParams { head: Head::Propagation, alpha, ..params.clone() };
    let regression = LowRankParams { head: Head::Regression, ..params.clone() };
    let others = ALPHAS.into_iter().filter(|alpha| *alpha != params.alpha);
    let mut variants: Vec<LowRankParams> = std::iter::once(params.alpha).chain(others).map(propagation).collect();
    match (params.head, params.factor) {
        (Head::Regression, _) => variants.insert(0, regression),
        (Head::Propagation, FactorKind::Anchor) => variants.push(regression),
        _ => {}
    }
    variants
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
    rows_at(matrix, rows.iter().copied())
}
