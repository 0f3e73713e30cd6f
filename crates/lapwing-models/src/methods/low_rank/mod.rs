//! Low-rank label propagation: local and global consistency (Zhou et al. 2003) on an affinity W ≈ F·Fᵀ that is never computed,
//! for any number of rows (Petegrosso, Zhang, Li, Saad & Kuang, arXiv 1702.08884).
//!
//! 1. landmarks and the width of the kernel, from a sample of the rows;
//! 2. α, head and number of nearest landmarks, by cross-validation on the sample, if there are enough labels (`select.rs`);
//! 3. sums over all rows: AᵀA and Aᵀf0 for rows A (n, k) of the scaled factor; one pass for anchors, two for Nyström
//!    (`fit.rs`);
//! 4. propagation on matrices (k, k) (`solve.rs`);
//! 5. scores A·P of all rows: one more pass (`extension.rs`).
//!
//! Departures from the paper: the root of G⁺ is the matrix root, not the element-wise one; degrees of 0 or less are raised and
//! the affinity is scaled to a largest eigenvalue of at most 1; label columns are balanced, which allows an α of 0.9 instead of
//! 0.01; the iteration is on (k, c), so that nothing of length n is held or exchanged between processes.
//!
//! Cost: passes · O(n·k·d + n·k²) time for a factor of all landmarks, O(n·k·d) for anchors with few nearest landmarks. Memory: a
//! few MB for each thread, k²·8 bytes for each block whose sums are not yet merged, and the sample. All threads read rows at
//! once. Sums are added in a fixed tree of at most 256 blocks, so that any number of threads or processes gives the same bits.
//!
//! A learned factor (GLNP) has sums of its own (`learned.rs`).
//!
//! With a fixed number of landmarks, more rows hardly change the scores beyond some number. [`RowProblem::fit_rows`] fits a sample of about
//! that many rows instead.

mod checkpoint;
mod extension;
mod factor;
mod fit;
mod learned;
mod params;
mod plan;
mod select;
mod sharing;
mod solve;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lapwing_core::communicator::agree;
use lapwing_core::{
    Alone, Communicator, Error, Features, Report, Result, RowSource, Run, Scaling, SolveSummary, Targets, Warning,
    peak_memory_bytes,
};
use lapwing_graph::low_rank::{LandmarkBandwidth, RowSample};

pub use checkpoint::remove as remove_checkpoint;
pub(crate) use extension::KIND;
pub use extension::LowRankExtension;
pub(crate) use params::LOW_RANK;
pub use params::{Balance, FactorKind, Head, LowRankParams, PropagationSolver, Select};

use crate::core::notes;
use crate::core::row_fit::Known;
use crate::core::sampling;
use crate::{Fitted, HeldOut, Method, Plan, Problem, ProblemSize, RowFit, RowProblem, Rule};
use checkpoint::Keeper;
use fit::{Fit, Solved, Summed, rule};
use select::Selected;
use sharing::{Setup, identity, share_model};
use solve::Propagated;

/// Largest distance of a row from the mean, in widths. Beyond it the exponents D/(2σ²) are noise: rounding makes an error of 6e-8
/// of the squared distance to the mean.
const MOST_WIDTHS: f64 = 1500.0;
/// Share of the largest difference from a mean that single precision must tell apart.
const LEAST_SHARE: f64 = 1e-3;

/// Classifier by low-rank label propagation: parameters, checked.
///
/// # Example
/// A hundred thousand rows that are generated while they are read, thirty labels, and two passes over the rows:
/// ```
/// use lapwing_core::{Alone, GeneratedRows, Labels, Run, Targets};
/// use lapwing_models::{LowRank, LowRankParams, Method, RowProblem};
///
/// let rows = GeneratedRows::new(100_000, 20, 3, 0)?;
/// let labels = Labels::from_integers((0..100_000).map(|i| (i < 30).then(|| rows.class(i) as i64)));
/// let targets = Targets::one_hot(&labels, None)?;
/// let run = Run::new(None, 0)?;
/// let method = LowRank::new(LowRankParams { n_landmarks: 20, ..Default::default() })?;
/// let fit = method.fit_rows(&RowProblem::new(&rows, &targets), &Alone, &run)?;
///
/// let mut right = 0;
/// fit.label_rows(&rows, &targets, 0..100_000, &run, |first, labeling| {
///     right += (0..).zip(&labeling.labels).filter(|(at, label)| rows.class(first + at) == **label as usize).count();
///     Ok(())
/// })?;
/// assert!(right > 60_000);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LowRank {
    name: &'static str,
    params: LowRankParams,
    given: Option<Arc<Features<'static>>>,
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

    /// The method with a fixed `factor` instead of that of the parameters, named after it.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn with_factor(factor: FactorKind, params: &LowRankParams) -> Result<Self> {
        Ok(Self { name: factor.name(), ..Self::new(LowRankParams { factor, ..params.clone() })? })
    }

    /// Parameters.
    pub fn params(&self) -> &LowRankParams {
        &self.params
    }

    /// Takes landmarks (k, d) instead of choosing them; `n_landmarks` and `landmarks` of the parameters then have no effect.
    #[must_use]
    pub fn with_landmarks(mut self, landmarks: Features<'static>) -> Self {
        self.params.n_landmarks = landmarks.n_rows();
        self.given = Some(Arc::new(landmarks));
        self
    }

    /// Learns a factor. Every process learns all of it, and gets the same.
    fn learn(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        setup: &Setup,
        mut report: Report,
        run: &Run,
    ) -> Result<RowFit> {
        let fit = learned::fit(source, targets, setup, &mut report, run)?;
        check_solved(&fit.solved)?;
        note_solve(&mut report, &fit.solved);
        let (rule, held_out) = rule(&fit.params, targets, &fit.scores, fit.held_out, &mut report, run)?;
        let known = Known::Own { own: fit.solved.own, scores: Some(fit.scores) };
        Ok(row_fit(fit.extension, rule, held_out, report, known))
    }

    /// Fits by sums over the rows of all processes.
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
        let mut held_out = None;
        let model = match &setup.sample {
            Some(sample) => {
                let model = self.finish(setup, sample, &summed, &solved, targets, &mut report, run);
                model.map(|(extension, rule, found)| {
                    held_out = found;
                    Some((extension, rule))
                })
            }
            None => Ok(None),
        };
        let (extension, rule) = share_model(agree(communicator, model)?, targets.n_columns(), communicator)?;
        Ok(row_fit(extension, rule, held_out, report, Known::Own { own: solved.own, scores: None }))
    }

    /// At rank 0: sample, landmarks, width, and parameters chosen by cross-validation.
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
        let n_landmarks = self.n_landmarks(source.n_rows(), targets.n_columns(), report);
        let (sample, mut landmarks) = report.time("landmarks", run, |_| -> Result<_> {
            let sample = RowSample::draw(source, n_landmarks, run)?;
            // A learned factor takes the centers of clusters and no width.
            let is_learned = params.factor == FactorKind::Glnp;
            let bandwidth = match params.bandwidth {
                _ if is_learned => LandmarkBandwidth::None,
                Some(width) => LandmarkBandwidth::Value(width),
                None => LandmarkBandwidth::Auto,
            };
            let landmarks = match &self.given {
                Some(given) => sample.given(given, bandwidth, run)?,
                None => sample.landmarks(n_landmarks, params.landmarks, bandwidth, run)?,
            };
            Ok((sample, landmarks))
        })?;
        if params.factor == FactorKind::Glnp {
            let farthest = landmarks.center.iter().fold(0.0f64, |most, center| most.max(center.abs()));
            let extent = sample.extent();
            if farthest * f64::from(f32::EPSILON) > LEAST_SHARE * extent {
                report.warnings.push(Warning::FarColumns { farthest, extent });
            }
            // For a learned factor, α is chosen later, from sums over that factor.
            return Ok(Some(Setup { landmarks, params: params.clone(), held_out: None, sample: None }));
        }
        let Selected { params, widening, held_out } = report
            .time("select", run, |report| select::select(source, &sample, &landmarks, targets, params, report, run))?;
        landmarks.width *= widening;
        report.choose("bandwidth", landmarks.width);
        let (extent, bandwidth) = (sample.extent(), landmarks.width);
        if extent > MOST_WIDTHS * bandwidth {
            report.warnings.push(Warning::FarRows { extent, bandwidth });
        }
        if self.params.select == Select::Auto {
            report.choose("alpha", params.alpha);
            if params.factor == FactorKind::Anchor {
                report.choose("n_nearest", params.n_nearest);
                report.choose("head", if params.head == Head::Regression { "regression" } else { "propagation" });
            }
        }
        Ok(Some(Setup { landmarks, params, held_out, sample: Some(sample) }))
    }

    /// The number of landmarks for `n` rows of `c` classes; a warning if it is small, or larger than n.
    fn n_landmarks(&self, n: usize, c: usize, report: &mut Report) -> usize {
        let given = self.params.n_landmarks;
        let count = given.min(n);
        if self.given.is_none() && count == given && count < 2 * c {
            report.warnings.push(Warning::FewLandmarks { n_landmarks: given, n_classes: c });
        }
        if self.given.is_none() && count < given {
            report.choose("n_landmarks", count);
            report.warnings.push(Warning::ManyLandmarks { given, n_samples: n });
        }
        count
    }

    /// Sums over the rows.
    fn sum(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        setup: &Setup,
        communicator: &dyn Communicator,
        report: &mut Report,
        run: &Run,
    ) -> Result<Summed> {
        let Setup { landmarks, params, .. } = setup;
        // The path is in this rank's own parameters: rank 0 sends its parameters without paths.
        let keeper = match &self.params.checkpoint {
            Some(path) => Some(Keeper::open(path, identity(source, targets, setup, communicator, run)?, communicator)?),
            None => None,
        };
        let center = &landmarks.center;
        let fit = Fit { source, center, landmarks, targets, communicator, keeper: keeper.as_ref() };
        fit.sum(params.factor, params, report, run)
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
        let summed = self.sum(source, targets, setup, communicator, report, run)?;
        let solved = report.time("solve", run, |_| summed.solve(params, &prior))?;
        summed.note(Some(landmarks), &solved, source.n_rows(), report)?;
        check_solved(&solved)?;
        note_solve(report, &solved);
        let passes = summed.passes;
        report.add_part("passes", &serde_json::json!({ "fit": passes, "bytes": passes as u64 * source.bytes() }))?;
        Ok((summed, solved))
    }

    /// At rank 0: the model. Its temperature is typical of the scores of the sample, times the fitted sharpness.
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
    ) -> Result<(LowRankExtension, Rule, Option<HeldOut>)> {
        let extension = LowRankExtension::new(&setup.landmarks, summed.factor.clone(), &solved.coefficients);
        let scores = extension.held(&sample.held, &run.quiet())?;
        let (rule, held_out) = rule(&setup.params, targets, &scores, setup.held_out.clone(), report, run)?;
        Ok((extension, rule, held_out))
    }
}

/// A fit of rows that are not scaled.
fn row_fit(extension: LowRankExtension, rule: Rule, held_out: Option<HeldOut>, report: Report, known: Known) -> RowFit {
    RowFit { scaling: Scaling::None, extension: Arc::new(extension), rule, held_out, report, known }
}

/// Refuses coefficients that overflow or vanish in single precision, in which a model holds them.
fn check_solved(solved: &Solved) -> Result<()> {
    let largest =
        solved.coefficients.values().iter().fold(0.0f64, |most, x| if x.is_nan() { *x } else { most.max(x.abs()) });
    if largest <= f64::from(f32::MAX) && (largest == 0.0 || largest >= f64::from(f32::MIN_POSITIVE)) {
        return Ok(());
    }
    let expected = "weights near 1: scores would not fit single precision";
    Err(Error::param("label weights", format!("such that coefficients reach {largest:.1e}"), expected))
}

/// Adds the propagation to the report.
fn note_solve(report: &mut Report, solved: &Solved) {
    let Propagated { n_iter, residual, converged } = solved.how;
    let summary = SolveSummary { n_iter, residual, converged, ..SolveSummary::default() };
    notes::solved(report, summary, solve::TOL, "take solver closed");
}

/// Checks that rows and targets match, before anything is read.
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

impl Method for LowRank {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        problem.refuse_prior(self.name())?;
        problem.check()?;
        let (features, targets) = (problem.required_features(LOW_RANK)?, problem.targets);
        features.check(run)?;
        self.fit_rows(&RowProblem::new(features, targets), &Alone, run)?.into_fitted(Some(features), targets, run)
    }

    fn reads_rows(&self) -> bool {
        true
    }

    /// Sums over all rows, unless a sample of them is to be fitted.
    ///
    /// # Errors
    /// [`Error::Shape`] for targets of another number of rows, [`Error::Value`] naming a value that is not finite,
    /// [`Error::Param`] for a width that the rows do not allow; what the source cannot do;
    /// [`Error::Comm`] where another process failed; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// One pass for anchors, two for Nyström, of O(k·d) a row; see the module.
    fn fit_rows(&self, problem: &RowProblem<'_>, communicator: &dyn Communicator, run: &Run) -> Result<RowFit> {
        let RowProblem { source, targets, fit_rows, .. } = *problem;
        if fit_rows < source.n_rows() {
            return sampling::fit(self, problem, run);
        }
        let mut report = Report::new(self.name, source.n_rows(), Some(source.n_cols()), targets.rows().len());
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

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.params, size)
    }
}
