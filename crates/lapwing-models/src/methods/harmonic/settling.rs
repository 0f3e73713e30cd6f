//! Stopping rule of a certified solve: every label is certified, or the error of every regression value is small enough.

use lapwing_core::ordered::sum_over_rows;
use lapwing_core::{Result, Targets};
use lapwing_solve::{CountOpen, ErrorBounds, Goal, Solution};

use super::certificate::{Pairs, size};
use super::params::{Certify, Decision, HarmonicParams};
use crate::core::scores::{largest, present};

/// Residuals above which certificates are not worth their cost.
const MOST_TOL: f64 = 1e-4;
/// Error of a regression value that is small enough, as a share of the range of the targets.
const SMALL_ERROR: f64 = 1e-4;

/// Rows whose scores are added up together.
const BLOCK_ROWS: usize = 2048;

/// Offset and scale by which the scores of classes are compared.
struct Standing {
    offset: Vec<f64>,
    scale: Vec<f64>,
    /// Whether the offset is the mean over the rows, which has an error too.
    is_row_mean: bool,
}

impl Standing {
    /// The best class, and (score − offset)·scale of each class in `standing` (c).
    fn of(&self, scores: &[f64], standing: &mut [f64]) -> usize {
        let compared = scores.iter().zip(&self.offset).zip(&self.scale);
        standing.iter_mut().zip(compared).for_each(|(standing, ((score, offset), scale))| {
            *standing = if *scale > 0.0 { (score - offset) * scale } else { f64::NEG_INFINITY };
        });
        largest(standing)
    }
}

/// The goal of a solve, from the decision rule.
pub(super) struct Settling {
    decision: Decision,
    /// Weighted mean of the targets (c). The solution holds scores minus this mean.
    mean: Vec<f64>,
    prior: Vec<f64>,
    is_last_implied: bool,
    is_first: bool,
    /// Error of a regression value that is small enough.
    radius: f64,
}

impl Settling {
    /// The goal; `None` if nothing is to be certified.
    pub fn new(
        params: &HarmonicParams,
        targets: &Targets,
        mean: &[f64],
        is_last_implied: bool,
    ) -> Result<Option<Self>> {
        let is_first = params.certify == Certify::First;
        let is_coarse = params.tol > MOST_TOL && !is_first;
        if params.certify == Certify::Off || is_coarse || targets.rows().is_empty() {
            return Ok(None);
        }
        let values = || targets.values().values().iter();
        let range = values().fold(f64::NEG_INFINITY, |most, &v| most.max(v))
            - values().fold(f64::INFINITY, |least, &v| least.min(v));
        let prior = match targets.n_columns() {
            1 => vec![1.0],
            _ => params.class_prior.shares(mean)?,
        };
        let (decision, mean) = (params.decision, mean.to_vec());
        Ok(Some(Self { decision, mean, prior, is_last_implied, is_first, radius: SMALL_ERROR * range }))
    }

    /// Every offset and scale that the decision may end up with, given the solution `x` so far.
    fn rules(&self, x: &dyn Solution) -> Vec<Standing> {
        let c = self.mean.len();
        let present = present(&self.mean);
        let labeled_mean = || Standing { offset: vec![0.0; c], scale: present.clone(), is_row_mean: false };
        let row_mean = || Standing { offset: self.row_mean(x), scale: present.clone(), is_row_mean: true };
        match self.decision {
            Decision::Centered => vec![labeled_mean()],
            Decision::RowMean => vec![row_mean()],
            // Which of them depends on the form. What is added for the sizes of classes is known only after the solve; it is near.
            Decision::Auto | Decision::Sizes => vec![labeled_mean(), row_mean()],
            Decision::Argmax => {
                let offset = self.mean.iter().map(|m| -m).collect();
                vec![Standing { offset, scale: present, is_row_mean: false }]
            }
            Decision::Mass => vec![self.by_mass(x, &present)],
        }
    }

    /// Sum of the scores over all rows (c).
    fn sums(&self, x: &dyn Solution) -> Vec<f64> {
        let mut sums = vec![0.0; self.mean.len()];
        let solved = sum_over_rows(x.n_rows(), BLOCK_ROWS, x.n_cols(), |rows, sums| {
            let mut values = vec![0.0; x.n_cols()];
            for row in rows {
                x.read(row, &mut values);
                sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
            }
        });
        self.complete(&solved, &mut sums);
        sums
    }

    /// Mean of the scores over all rows (c).
    fn row_mean(&self, x: &dyn Solution) -> Vec<f64> {
        let rows = x.n_rows().max(1) as f64;
        self.sums(x).into_iter().map(|sum| sum / rows).collect()
    }

    /// Offset and scale of class mass normalization.
    fn by_mass(&self, x: &dyn Solution, present: &[f64]) -> Standing {
        let c = self.mean.len();
        let offset: Vec<f64> = self.mean.iter().map(|m| -m).collect();
        let rows = x.n_rows() as f64;
        let mass: Vec<f64> = self.sums(x).iter().zip(&offset).map(|(sum, offset)| sum - rows * offset).collect();
        let scale =
            |class: usize| if mass[class] > 0.0 { present[class] * self.prior[class] / mass[class] } else { 0.0 };
        Standing { scale: (0..c).map(scale).collect(), offset, is_row_mean: false }
    }

    /// Copies the solved columns and adds the last one if it was left out.
    fn complete(&self, row: &[f64], scores: &mut [f64]) {
        scores[..row.len()].copy_from_slice(row);
        if self.is_last_implied {
            scores[row.len()] = -row.iter().sum::<f64>();
        }
    }
}

impl Goal for Settling {
    fn count_open<'a>(&'a self, x: &dyn Solution, deviations: &[f64], errors: &'a ErrorBounds) -> CountOpen<'a> {
        let (c, s) = (self.mean.len(), x.n_cols());
        if c == 1 {
            let bound = errors.of(&[1.0]);
            let is_open = move |deviation: &&f64| bound.at(**deviation) > self.radius;
            return Box::new(move |_, deviations| deviations.iter().filter(is_open).count());
        }
        let differences = errors.differences(self.is_last_implied);
        let pairs =
            |rule: &Standing| Pairs::new(&rule.scale, &[], differences.clone(), rule.is_row_mean.then_some(0.0));
        let rules: Vec<_> = self.rules(x).into_iter().map(|rule| (pairs(&rule), rule)).collect();
        let mean_deviation = deviations.iter().sum::<f64>() / deviations.len().max(1) as f64;
        Box::new(move |rows, deviations| {
            let (mut scores, mut standing) = (vec![0.0; c], vec![0.0; c]);
            let mut is_open = |row: &[f64], deviation: f64| {
                self.complete(row, &mut scores);
                !rules.iter().all(|(pairs, rule)| {
                    let best = rule.of(&scores, &mut standing);
                    let deviation = deviation + if rule.is_row_mean { mean_deviation } else { 0.0 };
                    pairs.is_settled(&standing, best, deviation, size(&scores) + size(&rule.offset))
                })
            };
            rows.chunks_exact(s).zip(deviations).filter(|(row, deviation)| is_open(row, **deviation)).count()
        })
    }

    fn is_all(&self) -> bool {
        self.is_first
    }
}
