//! Low-rank label propagation: local and global consistency (Zhou et al. 2003) on an affinity W ≈ F·Fᵀ that is never made,
//! for any number of rows (Petegrosso, Zhang, Li, Saad & Kuang, arXiv 1702.08884).
//!
//! 1. landmarks and the width of the kernel, from a sample of the rows;
//! 2. α and the kind of factor, by cross-validation on the sample, where there are labels for it (`select.rs`);
//! 3. sums over all rows: AᵀA and Aᵀf0 for rows A (n, k) of the scaled factor; one pass for anchors, two for Nyström
//!    (`fit.rs`);
//! 4. propagation on matrices (k, k) (`solve.rs`);
//! 5. scores A·P of all rows: one more pass (`extension.rs`).
//!
//! Departures from the paper: the root of G⁺ is that of the matrix; degrees of 0 or less are raised and the affinity is
//! scaled to a largest eigenvalue of at most 1; label columns are balanced, which allows an α of 0.9 in place of 0.01; nothing
//! of length n is ever exchanged between processes or held, as the iteration lives on (k, c).
//!
//! Cost: passes · O(n·k·d + n·k²) time for a factor of all landmarks, O(n·k·d) for anchors of few; memory a few MB for
//! each thread, k²·8 bytes for each block that waits for its neighbor, and the sample. Rows are read by all threads at
//! once; sums meet in a fixed tree of at most 256 blocks, so that any number of threads or processes gives the same bits.
//!
//! A factor that is learned instead (GLNP) is another way from rows to sums (`learned.rs`).
//!
//! With a fixed number of landmarks the scores soon stop to change as rows are added: [`LowRankParams::fit_rows`] fits on a
//! part of the rows, which then takes one pass over all.

mod checkpoint;
mod extension;
mod fit;
mod learned;
mod params;
mod plan;
mod select;
mod solve;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lapwing_data::communicator::agree;
use lapwing_data::model_file::ModelFile;
use lapwing_data::{
    Alone, Communicator, Error, Features, Matrix, Report, Result, RowSource, Run, SolveSummary, Stream, Targets,
    gather_finite, hash, peak_memory_bytes,
};
use lapwing_graph::GraphParams;
use lapwing_graph::low_rank::{LandmarkBandwidth, Landmarks, RowSample, labeled_within};
use rand::seq::index;

pub use checkpoint::remove as remove_checkpoint;
pub use extension::LowRankExtension;
pub use params::{Balance, DegreePolicy, FactorKind, Head, LowRankParams, PropagationSolver, Select};

use crate::labeling::typical_temperature;
use crate::{Fitted, Labeling, Method, Plan, Problem, ProblemSize, Rule, SizeParams, notes};
use checkpoint::Keeper;
use fit::{Fit, Solved, Summed};
use select::Selected;
use solve::Propagated;

/// Widths from the mean beyond which exponents are noise: distances have an error of 6e-8 of the square.
const MOST_WIDTHS: f64 = 1500.0;
/// Rows labeled at a time where their scores are held.
const LABEL_ROWS: usize = 1 << 16;
/// Name of the method.
pub const LOW_RANK: &str = "low-rank";

/// Classifier by low-rank label propagation: parameters, checked.
///
/// # Example
/// A hundred thousand rows that are made as they are read, thirty labels, and two passes over the rows:
/// ```
/// use lapwing_data::{Alone, GeneratedRows, Labels, Run, Targets};
/// use lapwing_models::{LowRank, LowRankParams};
///
/// let rows = GeneratedRows::new(100_000, 20, 3, 0)?;
/// let labels = Labels::from_integers((0..100_000).map(|i| (i < 30).then(|| rows.class(i) as i64)));
/// let targets = Targets::one_hot(&labels, None)?;
/// let run = Run::new(None, 0)?;
/// let method = LowRank::new(LowRankParams { n_landmarks: 20, ..Default::default() })?;
/// let fit = method.fit_rows(&rows, &targets, &Alone, &run)?;
///
/// let mut right = 0;
/// fit.label_rows(&rows, &targets, 0..100_000, &run, |first, labeling| {
///     right += (0..).zip(&labeling.labels).filter(|(at, label)| rows.class(first + at) == **label as usize).count();
///     Ok(())
/// })?;
/// assert!(right > 60_000);
/// # Ok::<(), lapwing_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LowRank {
    name: &'static str,
    params: LowRankParams,
    given: Option<Arc<Features<'static>>>,
}

/// A fit that has seen all rows and holds none.
#[derive(Clone, Debug)]
pub struct RowFit {
    /// What scores rows.
    pub extension: LowRankExtension,
    /// How scores become labels.
    pub rule: Rule,
    /// What was built, chosen and spent.
    pub report: Report,
    /// What a labeled row adds to its own score, times trust and target (c).
    own: Vec<f64>,
    /// Scores of all rows (n, c), where a factor was learned from all of them.
    scores: Option<Matrix>,
}

/// Landmarks and parameters as rank 0 chose them.
struct Setup {
    landmarks: Landmarks,
    params: LowRankParams,
    /// Temperature as a multiple of the typical one.
    sharpness: Option<f64>,
    /// At rank 0.
    sample: Option<RowSample>,
}

impl LowRank {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: LowRankParams) -> Result<Self> {
        params.validate()?;
        Ok(Self { name: LOW_RANK, params, given: None })
    }

    /// The method under the name of one factor, which takes the place of the one in the parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn of_factor(factor: FactorKind, params: &LowRankParams) -> Result<Self> {
        Ok(Self { name: factor.name(), ..Self::new(LowRankParams { factor, ..params.clone() })? })
    }

    /// Parameters.
    pub fn params(&self) -> &LowRankParams {
        &self.params
    }

    /// Takes landmarks (k, d) instead of choosing them; `n_landmarks` and `landmarks` of the parameters then mean nothing.
    #[must_use]
    pub fn with_landmarks(mut self, landmarks: Features<'static>) -> Self {
        self.params.n_landmarks = landmarks.n_rows();
        self.given = Some(Arc::new(landmarks));
        self
    }

    /// Fits on rows that are read and not held, by this process or several; all of them return the same.
    ///
    /// # Errors
    /// [`Error::Shape`] for targets of another number of rows, [`Error::Value`] naming a value that is not finite,
    /// [`Error::Param`] for a width that the rows do not allow; what the source cannot do;
    /// [`Error::Comm`] where another process failed; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// One pass for anchors, two for Nyström, of O(k·d) a row; see the module.
    pub fn fit_rows(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        communicator: &dyn Communicator,
        run: &Run,
    ) -> Result<RowFit> {
        let mut report = Report {
            method: self.name.into(),
            n_samples: source.n_rows(),
            n_features: Some(source.n_cols()),
            n_labeled: targets.rows().len(),
            ..Report::default()
        };
        notes::classes(&mut report, targets);
        let setup = if communicator.is_root() { self.set_up(source, targets, &mut report, run) } else { Ok(None) };
        let setup = Setup::share(agree(communicator, setup)?, communicator)?;
        let mut fit = match setup.params.factor {
            FactorKind::Glnp => {
                let fit = self.learn(source, targets, &setup, report, run);
                agree(communicator, fit)?
            }
            FactorKind::Anchor | FactorKind::Nystrom => {
                self.stream(source, targets, &setup, communicator, report, run)?
            }
        };
        fit.report.peak_bytes = peak_memory_bytes();
        Ok(fit)
    }

    /// Learns a factor, as every process does for itself.
    fn learn(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        setup: &Setup,
        mut report: Report,
        run: &Run,
    ) -> Result<RowFit> {
        let fit_rows = setup.params.fit_rows.filter(|rows| *rows < source.n_rows());
        let part = fit_rows.map(|rows| Part::draw(source, targets, &[], rows, run)).transpose()?;
        let fit = match &part {
            Some(part) => learned::fit(&part.rows, &part.targets, setup, &mut report, run)?,
            None => learned::fit(source, targets, setup, &mut report, run)?,
        };
        check_solved(&fit.solved)?;
        note_solve(&mut report, &fit.solved, self.params.tol);
        let rule = rule(&fit.params, targets, &fit.scores, fit.sharpness, &mut report, run)?;
        let scores = part.is_none().then_some(fit.scores);
        Ok(RowFit { extension: fit.extension, rule, report, own: fit.solved.own, scores })
    }

    /// Sums over the rows of all processes, and solves.
    fn stream(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        setup: &Setup,
        communicator: &dyn Communicator,
        mut report: Report,
        run: &Run,
    ) -> Result<RowFit> {
        let (summed, solved) = self.sum_and_solve(source, targets, setup, communicator, &mut report, run)?;
        let model = match &setup.sample {
            Some(sample) => {
                let model = self.finish(setup, sample, &summed, &solved, targets, &mut report, run);
                model.map(Some)
            }
            None => Ok(None),
        };
        let (extension, rule) = share_model(agree(communicator, model)?, targets.n_columns(), communicator)?;
        Ok(RowFit { extension, rule, report, own: solved.own, scores: None })
    }

    /// At rank 0: sample, landmarks, width, and what cross-validation says.
    fn set_up(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        report: &mut Report,
        run: &Run,
    ) -> Result<Option<Setup>> {
        check(source, targets)?;
        let params = &self.params;
        params.validate()?;
        let n_landmarks = params.n_landmarks.min(source.n_rows());
        if self.given.is_none() && n_landmarks == params.n_landmarks && n_landmarks < 2 * targets.n_columns() {
            let (k, c) = (params.n_landmarks, targets.n_columns());
            report
                .warnings
                .push(format!("n_landmarks is {k}, too few to tell {c} classes apart; take {} or more", 2 * c));
        }
        if self.given.is_none() && n_landmarks < params.n_landmarks {
            report.choose("n_landmarks", n_landmarks);
            let (given, n) = (params.n_landmarks, source.n_rows());
            report.warnings.push(format!("n_landmarks is {given}, but there are only {n} rows; using {n}"));
        }
        let (sample, mut landmarks) = report.time("landmarks", run, |_| -> Result<_> {
            let sample = RowSample::draw(source, n_landmarks, run)?;
            // Centers of clusters are all that a learned factor asks of them.
            let is_learned = params.factor == FactorKind::Glnp;
            let bandwidth = if is_learned { LandmarkBandwidth::None } else { params.bandwidth };
            let landmarks = match &self.given {
                Some(given) => sample.given(given, bandwidth, run)?,
                None => sample.landmarks(n_landmarks, params.landmarks, bandwidth, run)?,
            };
            Ok((sample, landmarks))
        })?;
        if params.factor == FactorKind::Glnp {
            // Its α is chosen by its own sums, once there are any.
            return Ok(Some(Setup { landmarks, params: params.clone(), sharpness: None, sample: None }));
        }
        let Selected { params, widening, sharpness } = report
            .time("select", run, |report| select::select(source, &sample, &landmarks, targets, params, report, run))?;
        landmarks.width *= widening;
        report.choose("bandwidth", landmarks.width);
        if sample.extent() > MOST_WIDTHS * landmarks.width {
            report.warnings.push(format!(
                "rows reach {:.0} times the bandwidth {:.3e} from their mean, too far to be told apart in single precision; \
                 scale the features, or take fewer landmarks",
                sample.extent() / landmarks.width,
                landmarks.width
            ));
        }
        if self.params.select == Select::Auto {
            report.choose("alpha", params.alpha);
            if params.factor == FactorKind::Anchor {
                report.choose("n_nearest", params.n_nearest);
                report.choose("head", if params.head == Head::Regression { "regression" } else { "propagation" });
            }
        }
        Ok(Some(Setup { landmarks, params, sharpness, sample: Some(sample) }))
    }

    fn sum_and_solve(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        setup: &Setup,
        communicator: &dyn Communicator,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Summed, Solved)> {
        let Setup { landmarks, params, .. } = setup;
        let prior = params.class_prior.shares(&targets.mean())?;
        let n = source.n_rows();
        let (summed, share) = match params.fit_rows.filter(|rows| *rows < n) {
            Some(rows) => {
                // Few enough for every process to take them all.
                let part = agree(communicator, Part::draw(source, targets, &landmarks.center, rows, run))?;
                let (source, targets) = (&part.rows, &part.targets);
                let fit = Fit { source, center: &[], landmarks, targets, communicator: &Alone, keeper: None };
                let summed = agree(communicator, fit.sum(params.factor, params, report, run))?;
                (summed, source.n_rows() as f64 / n as f64)
            }
            None => {
                // Not of what rank 0 chose, which has no paths: each rank was told of the file.
                let keeper = match &self.params.checkpoint {
                    Some(path) => {
                        let of = identity(source, targets, setup, communicator, run)?;
                        Some(Keeper::open(path, of, communicator)?)
                    }
                    None => None,
                };
                let center = &landmarks.center;
                let fit = Fit { source, center, landmarks, targets, communicator, keeper: keeper.as_ref() };
                (fit.sum(params.factor, params, report, run)?, 1.0)
            }
        };
        let solved = report.time("solve", run, |_| summed.solve(params, &prior, share))?;
        let n_summed = if share < 1.0 { (share * n as f64).round() as usize } else { n };
        summed.note(Some(landmarks), &solved, n_summed, report)?;
        check_solved(&solved)?;
        note_solve(report, &solved, params.tol);
        let passes = if share < 1.0 { 0 } else { summed.passes };
        report.add_part("passes", &serde_json::json!({ "fit": passes, "bytes": passes as u64 * source.bytes() }))?;
        Ok((summed, solved))
    }

    /// At rank 0: the model, with the temperature that the sample asks for where none was fitted.
    #[allow(clippy::too_many_arguments)]
    fn finish(
        &self,
        setup: &Setup,
        sample: &RowSample,
        summed: &Summed,
        solved: &Solved,
        targets: &Targets,
        report: &mut Report,
        run: &Run,
    ) -> Result<(LowRankExtension, Rule)> {
        let extension = LowRankExtension::new(&setup.landmarks, summed.factor.clone(), &solved.coefficients);
        let zero = vec![0.0; sample.center.len()];
        let centered = LowRankExtension::new(
            &Landmarks { center: zero, ..setup.landmarks.clone() },
            summed.factor.clone(),
            &solved.coefficients,
        );
        let rows = Features::from_f32(sample.rows.len(), sample.center.len(), sample.values.clone())?;
        let scores = centered.extend(&rows, &run.quiet())?;
        let rule = rule(&setup.params, targets, &scores, setup.sharpness, report, run)?;
        Ok((extension, rule))
    }
}

/// Refuses coefficients that single precision, in which a model keeps them, does not hold.
fn check_solved(solved: &Solved) -> Result<()> {
    let largest =
        solved.coefficients.values().iter().fold(0.0f64, |most, x| if x.is_nan() { *x } else { most.max(x.abs()) });
    if largest <= f64::from(f32::MAX) && (largest == 0.0 || largest >= f64::from(f32::MIN_POSITIVE)) {
        return Ok(());
    }
    let expected = "weights near 1: scores would not fit single precision";
    Err(Error::param("label weights", format!("such that coefficients reach {largest:.1e}"), expected))
}

/// Notes how the propagation went.
fn note_solve(report: &mut Report, solved: &Solved, tol: f64) {
    let Propagated { n_iter, residual, converged } = solved.how;
    notes::solved(report, SolveSummary { n_iter, residual, converged, ..SolveSummary::default() }, tol);
}

/// How scores become labels, by the temperature that is typical of `scores`, times the sharpness where that is known.
fn rule(
    params: &LowRankParams,
    targets: &Targets,
    scores: &Matrix,
    sharpness: Option<f64>,
    report: &mut Report,
    run: &Run,
) -> Result<Rule> {
    let mean = targets.mean();
    let prior = params.class_prior.shares(&mean)?;
    let rule = Rule { prior, ..Rule::of_largest(mean) };
    let typical = run.install(|| typical_temperature(&rule, scores));
    let temperature = typical * sharpness.unwrap_or(1.0);
    report.choose("temperature", temperature);
    Ok(Rule { temperature: Some(temperature), ..rule })
}

/// Checks that rows and targets fit together, before anything is read.
fn check(source: &dyn RowSource, targets: &Targets) -> Result<()> {
    if source.n_rows() == 0 || source.n_cols() == 0 {
        let size = format!("{} rows and {} columns", source.n_rows(), source.n_cols());
        return Err(Error::shape("features", "at least one row (n_samples) and one column", size));
    }
    if targets.n_samples() != source.n_rows() {
        let expected = format!("{} rows, as there are labels", targets.n_samples());
        return Err(Error::shape("features", expected, format!("{} rows", source.n_rows())));
    }
    Ok(())
}

/// What tells a fit from others: rows, labels, landmarks, parameters and seed. Rank 0 looks at the rows for all.
fn identity(
    source: &dyn RowSource,
    targets: &Targets,
    setup: &Setup,
    communicator: &dyn Communicator,
    run: &Run,
) -> Result<String> {
    let of = if communicator.is_root() { identity_here(source, targets, setup, run) } else { Ok(String::new()) };
    let of = communicator.broadcast(agree(communicator, of)?.into_bytes())?;
    Ok(String::from_utf8_lossy(&of).into_owned())
}

fn identity_here(source: &dyn RowSource, targets: &Targets, setup: &Setup, run: &Run) -> Result<String> {
    let mut all = hash::mix(run.seed);
    let mut add = |bytes: &[u8]| bytes.iter().for_each(|byte| all = hash::mix(all ^ u64::from(*byte)));
    add(setup.file()?.to_bytes().as_slice());
    targets.rows().iter().for_each(|row| add(&row.to_le_bytes()));
    targets.values().values().iter().chain(targets.weights()).for_each(|x| add(&x.to_bits().to_le_bytes()));
    let rows = source.identity(run)?.unwrap_or_default();
    Ok(format!("{all:016x} of {rows}, {} x {}", source.n_rows(), source.n_cols()))
}

/// Rows that were drawn to be fitted on, with all that have labels.
struct Part {
    rows: Features<'static>,
    targets: Targets,
}

impl Part {
    fn draw(source: &dyn RowSource, targets: &Targets, center: &[f32], count: usize, run: &Run) -> Result<Self> {
        let n = source.n_rows();
        let mut rng = run.rng(Stream::Nodes, 0);
        let mut rows: Vec<u32> = index::sample(&mut rng, n, count).into_iter().map(|row| row as u32).collect();
        rows.extend(targets.rows());
        rows.sort_unstable();
        rows.dedup();
        let values = gather_finite(source, &rows, center, run)?;
        let places = targets.rows().iter().map(|row| rows.partition_point(|other| other < row) as u32).collect();
        let targets = targets.moved(rows.len(), places)?;
        Ok(Self { rows: Features::from_f32(rows.len(), source.n_cols(), values)?, targets })
    }
}

impl Setup {
    fn file(&self) -> Result<ModelFile> {
        let Landmarks { center, values, width, mean_distance, .. } = &self.landmarks;
        let meta = serde_json::json!({
            "width": width, "mean_distance": mean_distance, "params": self.params, "sharpness": self.sharpness,
        });
        let mut file = ModelFile::new("low-rank-setup", meta);
        file.insert("landmarks", &[values.len()], values.clone())?;
        file.insert("center", &[center.len()], center.clone())?;
        Ok(file)
    }

    /// What rank 0 chose, at all ranks.
    fn share(own: Option<Self>, communicator: &dyn Communicator) -> Result<Self> {
        if communicator.size() == 1
            && let Some(own) = own
        {
            return Ok(own);
        }
        let bytes = own.as_ref().map_or(Ok(Vec::new()), |own| own.file().map(|file| file.to_bytes()))?;
        let bytes = communicator.broadcast(bytes)?;
        if let Some(own) = own {
            return Ok(own);
        }
        let file = ModelFile::from_bytes(&bytes, "what rank 0 chose")?;
        let read = |name: &str| file.meta[name].as_f64().ok_or_else(|| file.error(format!("{name} is missing")));
        let params = serde_json::from_value(file.meta["params"].clone()).map_err(|e| file.error(e.to_string()))?;
        Ok(Self {
            landmarks: Landmarks {
                center: file.array::<f32>("center", &[None])?.1.as_slice().to_vec(),
                values: file.array::<f32>("landmarks", &[None])?.1.as_slice().to_vec(),
                width: read("width")?,
                mean_distance: read("mean_distance")?,
                rows: None,
            },
            params,
            sharpness: file.meta["sharpness"].as_f64(),
            sample: None,
        })
    }
}

/// The model of rank 0, at all ranks.
fn share_model(
    own: Option<(LowRankExtension, Rule)>,
    n_classes: usize,
    communicator: &dyn Communicator,
) -> Result<(LowRankExtension, Rule)> {
    if communicator.size() == 1
        && let Some(own) = own
    {
        return Ok(own);
    }
    let mut bytes = Vec::new();
    if let Some((extension, rule)) = &own {
        let mut file = ModelFile::new(LOW_RANK, serde_json::json!({ "rule": rule }));
        extension.store(&mut file)?;
        bytes = file.to_bytes();
    }
    let bytes = communicator.broadcast(bytes)?;
    if let Some(own) = own {
        return Ok(own);
    }
    let file = ModelFile::from_bytes(&bytes, "the model of rank 0")?;
    let rule = serde_json::from_value(file.meta["rule"].clone()).map_err(|e| file.error(e.to_string()))?;
    Ok((LowRankExtension::stored(&file, n_classes)?, rule))
}

/// Rows whose sizes stand for those of all.
const SIZED_ROWS: usize = 1 << 17;

impl RowFit {
    /// Moves the offsets of the rule so that every class gets its size, in one more pass over the rows; sizes are those of
    /// at most 131,072 rows, drawn at random, which estimate a share of all rows to within 0.3 %.
    ///
    /// Every one of several processes reads all rows, and comes to the same rule.
    ///
    /// # Errors
    /// As [`SizeParams::validate`] and [`LowRankExtension::each`].
    pub fn hold_sizes(
        &mut self,
        source: &dyn RowSource,
        sizes: &SizeParams,
        targets: &Targets,
        run: &Run,
    ) -> Result<()> {
        let (n, c) = (source.n_rows(), targets.n_columns());
        sizes.validate(c)?;
        let share = SIZED_ROWS as f64 / n as f64;
        let seed = hash::mix(run.seed);
        let is_drawn = |row: usize| hash::uniform(seed ^ row as u64) < share;
        let mut report = std::mem::take(&mut self.report);
        let scores = report.time_steps("sizes", n as u64, run, |_| -> Result<Matrix> {
            let mut drawn = Vec::new();
            let keep = |first: usize, scores: Vec<f64>| {
                let rows = scores.chunks_exact(c).enumerate().filter(|(at, _)| is_drawn(first + at));
                Ok(rows.flat_map(|(_, row)| row.to_vec()).collect::<Vec<f64>>())
            };
            self.extension.each(source, 0..n, run, keep, |_, scores| {
                drawn.extend(scores);
                Ok(())
            })?;
            Matrix::new(drawn.len() / c, c, drawn)
        });
        let sized = sizes.decide(Arc::new(scores?), self.rule.clone(), targets, run)?;
        self.rule = sized.rule;
        report.parts.insert("sizes".into(), sized.part);
        report.warnings.extend(sized.warnings);
        self.report = report;
        Ok(())
    }

    /// Hands labels of the rows `rows` to `take`, in blocks in the order of the rows: the first row of the block, and its
    /// labeling. `targets` are those of the fit.
    ///
    /// # Errors
    /// As [`LowRankExtension::each`].
    ///
    /// # Complexity
    /// One pass; none where a factor was learned from all rows.
    pub fn label_rows(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        rows: std::ops::Range<usize>,
        run: &Run,
        mut take: impl FnMut(usize, Labeling) -> Result<()> + Send,
    ) -> Result<()> {
        let c = targets.n_columns();
        let label = |first: usize, mut scores: Vec<f64>| {
            let n_rows = scores.len() / c;
            for at in labeled_within(targets, first..first + n_rows) {
                let row = &mut scores[(targets.rows()[at] as usize - first) * c..][..c];
                let (y, trust) = (targets.values().row(at), targets.weights()[at]);
                for ((score, y), own) in row.iter_mut().zip(y).zip(&self.own) {
                    let own = trust * y * own;
                    *score = if score.is_nan() { own } else { *score + own };
                }
                if row.iter().all(|score| *score == 0.0) {
                    row.fill(f64::NAN);
                }
            }
            Ok(self.rule.apply(Arc::new(Matrix::new(n_rows, c, scores)?)))
        };
        let Some(scores) = &self.scores else { return self.extension.each(source, rows, run, label, take) };
        for first in rows.clone().step_by(LABEL_ROWS) {
            run.check()?;
            let end = rows.end.min(first + LABEL_ROWS);
            take(first, run.install(|| label(first, scores.values()[first * c..end * c].to_vec()))?)?;
            run.progress().update((end - rows.start) as u64, "rows");
        }
        Ok(())
    }

    /// Counts the rows that were left without evidence, for the report.
    pub fn note_unreached(report: &mut Report) {
        if report.n_unreached > 0 {
            let n = report.n_samples;
            report.warnings.push(format!(
                "{} of {n} rows have no evidence: they are so far from all landmarks, or from those of any label, that \
                 similarities are 0; a wider bandwidth gives them some",
                report.n_unreached
            ));
        }
    }
}

impl Method for LowRank {
    fn name(&self) -> &'static str {
        self.name
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        None
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        problem.check()?;
        let (features, targets) = (problem.required_features(LOW_RANK)?, problem.targets);
        features.check(run)?;
        let fit = self.fit_rows(features, targets, &Alone, run)?;
        let mut report = fit.report.clone();
        let (n, c) = (features.n_rows(), targets.n_columns());
        let mut all = Labeling {
            scores: Arc::default(),
            label_distributions: Matrix::filled(n, c, 0.0),
            labels: Vec::with_capacity(n),
            confidence: Vec::with_capacity(n),
            reached: Vec::with_capacity(n),
            certified: None,
            score_radius: None,
        };
        let mut scores = Matrix::filled(n, c, 0.0);
        report.time_steps("apply", n as u64, run, |_| {
            fit.label_rows(features, targets, 0..n, run, |first, part| {
                let place = first * c..first * c + part.scores.values().len();
                scores.values_mut()[place.clone()].copy_from_slice(part.scores.values());
                all.label_distributions.values_mut()[place].copy_from_slice(part.label_distributions.values());
                all.labels.extend(part.labels);
                all.confidence.extend(part.confidence);
                all.reached.extend(part.reached);
                Ok(())
            })
        })?;
        all.scores = Arc::new(scores);
        report.n_unreached = all.reached.iter().filter(|reached| !**reached).count();
        RowFit::note_unreached(&mut report);
        report.peak_bytes = peak_memory_bytes();
        Ok(Fitted { labeling: all, rule: fit.rule, extension: Some(fit.extension.into()), graph: None, report })
    }

    fn reads_rows(&self) -> bool {
        true
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.params, size)
    }
}
