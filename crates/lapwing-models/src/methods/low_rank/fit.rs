//! The passes of a fit over the rows, the solve for coefficients from their sums, and the rule that decides by their scores.

use std::sync::Mutex;

use lapwing_core::communicator::agree;
use lapwing_core::{Communicator, Error, Matrix, Report, Result, RowSource, Run, Targets, Warning};
use lapwing_graph::low_rank::{
    BlockSums, Blocks, FactorSpace, FactorSums, Landmarks, NystromMap, RowFactor, RowKernel, RowPass, Statistics,
    SumTree,
};
use serde_json::json;

use super::checkpoint::Keeper;
use super::solve::{Propagated, Spectrum, anchor_map, regress};
use super::{Balance, FactorKind, Head, LowRankParams};
use crate::core::calibration::{Sharpness, has_enough, note};
use crate::core::expected::note_expected;
use crate::core::held_out::Standings;
use crate::core::rule::typical_temperature;
use crate::{HeldOut, Rule};

/// Eigenvalues of the landmarks' kernel below this share of the largest are left out. Kernels are in single precision, so that less
/// than 1e-8 would be noise.
pub(super) const RCOND: f64 = 1e-6;
/// Weight γ of smoothness in the regression.
pub(super) const GRAPH_REG: f64 = 0.01;
/// Least degree, in units of the mean.
pub(super) const FLOOR: f64 = 1e-3;
/// Share of rows of degree 0 or less above which the bandwidth is refused.
const MOST_NONPOSITIVE: f64 = 0.2;
/// Share of rows of degree 0 or less above which there is a warning.
const MANY_NONPOSITIVE: f64 = 0.01;
/// Largest eigenvalue without a warning.
const TOLERATED: f64 = 1.0 + 1e-6;

/// Rows, labels and landmarks of a fit, and the processes and checkpoint that take part in its sums.
pub(super) struct Fit<'f> {
    pub source: &'f dyn RowSource,
    /// Subtracted from the rows (d), as from the landmarks; empty if that is done already.
    pub center: &'f [f64],
    pub landmarks: &'f Landmarks,
    pub targets: &'f Targets,
    pub communicator: &'f dyn Communicator,
    pub keeper: Option<&'f Keeper>,
}

/// The factor, the sums over its rows, and the map N from landmarks to the factor.
pub(super) struct Summed<F = RowFactor> {
    pub factor: F,
    pub statistics: Statistics,
    pub map: Matrix,
    pub nystrom: Option<NystromMap>,
    pub passes: usize,
}

/// The solution of a fit.
pub(super) struct Solved {
    /// Coefficients (k, c) of rows of the factor, (1−α) included.
    pub coefficients: Matrix,
    /// Factor (c) of trust times target, which a labeled row adds to its own score.
    pub own: Vec<f64>,
    pub largest_eigenvalue: f64,
    pub how: Propagated,
}

impl Fit<'_> {
    /// Pass `number` over the rows: this process sums its blocks, and the sums of all processes are added.
    fn pass(&self, number: usize, factor: &RowFactor, sums: FactorSums, run: &Run) -> Result<BlockSums> {
        let kernel = RowKernel::new(self.source, self.center, &self.landmarks.values, self.landmarks.width);
        let pass = RowPass { source: self.source, center: self.center, kernel: &kernel };
        let blocks = Blocks::new(self.source.n_rows());
        let kept = self.keeper.and_then(|keeper| keeper.tree(number, blocks.count(), sums.count()));
        let tree = Mutex::new(kept.unwrap_or_else(|| SumTree::new(blocks.count(), sums.count())));
        // The closures run on other threads; they may not hold the communicator.
        let (targets, keeper) = (self.targets, self.keeper);
        let done = pass.sum(
            blocks,
            blocks.owned(self.communicator),
            &tree,
            run,
            FactorSpace::default,
            |space, chunk, out| {
                sums.add(factor, chunk, targets, space, out);
                Ok(())
            },
            |tree| keeper.map_or(Ok(()), |keeper| keeper.keep(number, tree)),
        );
        agree(self.communicator, done)?;
        let tree = tree.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let total = tree.total_over(self.communicator)?;
        if let Some(keeper) = self.keeper {
            agree(self.communicator, keeper.keep_now(number, &tree))?;
        }
        Ok(total)
    }

    /// All passes of a factor of this kind.
    pub fn sum(&self, kind: FactorKind, params: &LowRankParams, report: &mut Report, run: &Run) -> Result<Summed> {
        let k = self.landmarks.values.len() / self.landmarks.center.len().max(1);
        let blocks = Blocks::new(self.source.n_rows()).owned(self.communicator).len() as u64;
        let sums = FactorSums::new(k, self.targets.n_columns(), params.head == Head::Regression);
        match kind {
            FactorKind::Anchor => {
                let factor = RowFactor::Anchor { n_nearest: params.n_nearest };
                let total = report.time_steps("sums", blocks, run, |_| self.pass(0, &factor, sums, run))?;
                let statistics = sums.statistics(total)?;
                let map = anchor_map(&statistics.sums);
                Ok(Summed { factor, statistics, map, nystrom: None, passes: 1 })
            }
            FactorKind::Nystrom => {
                let Landmarks { center, values, width, .. } = self.landmarks;
                let nystrom = NystromMap::new(values, center.len(), *width, RCOND)?;
                let total =
                    report.time_steps("degrees", blocks, run, |_| self.pass(0, &RowFactor::Similarities, sums, run))?;
                let totals = sums.statistics(total)?.sums;
                let weights = nystrom.degree_weights(&totals);
                let volume: f64 = totals.iter().zip(&weights).map(|(c, v)| c * v).sum();
                let mean = volume / self.source.n_rows() as f64;
                if !(mean > 0.0 && mean.is_finite()) {
                    return Err(Error::param(
                        "bandwidth",
                        width,
                        "a larger one: no row is similar to any landmark in single precision",
                    ));
                }
                let factor = RowFactor::Nystrom { weights, floor: FLOOR * mean };
                let total = report.time_steps("sums", blocks, run, |_| self.pass(1, &factor, sums, run))?;
                let statistics = sums.statistics(total)?;
                self.check_degrees(&statistics, report)?;
                Ok(Summed { factor, statistics, map: nystrom.map.clone(), nystrom: Some(nystrom), passes: 2 })
            }
            FactorKind::Glnp => {
                Err(Error::Internal { reason: "a factor that is learned has no pass of its own".into() })
            }
        }
    }

    fn check_degrees(&self, statistics: &Statistics, report: &mut Report) -> Result<()> {
        let (found, n) = (&statistics.degrees, self.source.n_rows());
        let share = found.n_nonpositive as f64 / n as f64;
        if share > MOST_NONPOSITIVE {
            let expected =
                format!("a wider one: {:.0} % of the rows have degree 0 or less; or factor anchor", 100.0 * share);
            return Err(Error::param("bandwidth", self.landmarks.width, expected));
        }
        if share > MANY_NONPOSITIVE {
            report.warnings.push(Warning::RaisedDegrees { n_rows: found.n_nonpositive as usize, n_samples: n });
        }
        Ok(())
    }
}

/// Factors (c) of the label columns, for masses Σ t·y·√d (c); 0 for classes without a label, except [`Balance::Raw`].
pub(super) fn column_scale(mass: &[f64], balance: Balance, prior: &[f64]) -> Vec<f64> {
    let balanced = |class: usize| if mass[class] > 0.0 { 1.0 / mass[class] } else { 0.0 };
    (0..mass.len())
        .map(|class| match balance {
            Balance::Raw => 1.0,
            Balance::Balanced => balanced(class),
            Balance::Prior => prior[class] * balanced(class),
        })
        .collect()
}

impl<F> Summed<F> {
    /// Scales the label columns and solves.
    pub fn solve(&self, params: &LowRankParams, prior: &[f64]) -> Result<Solved> {
        let Statistics { gram, cross, mass, .. } = &self.statistics;
        let scale = column_scale(mass, params.balance, prior);
        let mut cross = cross.clone();
        for row in 0..cross.n_rows() {
            cross.row_mut(row).iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale);
        }
        let spectrum = Spectrum::new(&self.map, gram)?;
        let largest_eigenvalue = spectrum.largest();
        let (coefficients, own, how) = match (params.head, &self.statistics.labeled_gram) {
            (Head::Regression, Some(labeled)) => {
                let coefficients = regress(labeled, gram, &self.statistics.sums, &cross, GRAPH_REG)?;
                (coefficients, vec![0.0; scale.len()], Propagated { n_iter: 0, residual: 0.0, converged: true })
            }
            _ => {
                let (coefficients, how) = spectrum.propagate(&cross, params.alpha, params.solver);
                (coefficients, scale.iter().map(|scale| (1.0 - params.alpha) * scale).collect(), how)
            }
        };
        Ok(Solved { coefficients, own, largest_eigenvalue, how })
    }

    /// Adds the factor of `n` rows to the report, with warnings. `landmarks` is `None` for a learned factor.
    pub fn note(&self, landmarks: Option<&Landmarks>, solved: &Solved, n: usize, report: &mut Report) -> Result<()> {
        let degrees = self.statistics.degrees;
        // The degrees of anchors are all 1 and not reported.
        let has_degrees = self.nystrom.is_some() || landmarks.is_none();
        let unused = if has_degrees { 0 } else { self.statistics.sums.iter().filter(|sum| **sum <= 0.0).count() };
        report.add_part(
            "low_rank",
            &json!({
                "n_landmarks": self.map.n_rows(),
                "rank": self.map.n_cols() - unused,
                "bandwidth": landmarks.map(|landmarks| landmarks.width),
                "mean_distance": landmarks.map(|landmarks| landmarks.mean_distance),
                "landmark_eigenvalues": self.nystrom.as_ref().map(|nystrom| nystrom.eigenvalues),
                "largest_eigenvalue": solved.largest_eigenvalue,
                "unused_landmarks": unused,
                "least_degree": has_degrees.then_some(degrees.least),
                "mean_degree": has_degrees.then_some(degrees.sum / n as f64),
                "n_nonpositive_degrees": degrees.n_nonpositive,
                "n_floored_degrees": degrees.n_floored,
            }),
        )?;
        if solved.largest_eigenvalue > TOLERATED {
            report.warnings.push(Warning::LargeEigenvalue { eigenvalue: solved.largest_eigenvalue });
        }
        if unused > 0 {
            report.warnings.push(Warning::UnusedLandmarks { n_landmarks: unused });
        }
        Ok(())
    }
}

/// The decision rule, with the typical temperature of `scores`, times the sharpness that fits held-out labels if there are enough; and the
/// class shares of these.
pub(super) fn rule(
    params: &LowRankParams,
    targets: &Targets,
    scores: &Matrix,
    held_out: Option<Standings>,
    report: &mut Report,
    run: &Run,
) -> Result<(Rule, Option<HeldOut>)> {
    let mean = targets.mean();
    let prior = params.class_prior.shares(&mean)?;
    let mut rule = Rule { prior, ..Rule::largest(mean) };
    let typical = run.install(|| typical_temperature(&rule, scores));
    rule.temperature = Some(typical);
    let is_fitted = held_out.is_some() && has_enough(targets);
    let held_out = held_out.map(|mut standings| {
        let own = run.install(|| typical_temperature(&rule, &standings.values));
        if is_fitted {
            Sharpness::fitted(&standings, own, &rule).apply(&mut rule, typical);
        }
        standings.values.values_mut().iter_mut().for_each(|score| *score *= typical / own);
        standings.shares(&rule)
    });
    report.choose("temperature", rule.temperature);
    note(report, targets, is_fitted);
    note_expected(report, held_out.as_ref());
    Ok((rule, held_out))
}
