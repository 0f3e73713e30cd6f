//! Certifies labels to be those of the exact harmonic function of the graph, and bounds the errors of values.
//!
//! A solve comes with bounds on the error of every row and of every difference of columns ([`lapwing_solve::Certificate`]). The
//! standing of a class is s = (score − offset)·scale. Row i with label a is certified if s_a exceeds the standing of every other
//! class b by more than the bound on the error of the difference: s_a − s_b > √vᵢ·E_ab/λ. Other rows keep their label and are
//! called undecided; ties always are. If the mean score of the rows was subtracted, its error is at most the mean of their
//! bounds, so √vᵢ + mean √v takes the place of √vᵢ; for a weighted mean see `Opening`. A certified label is that of the exact
//! solution on this graph, with its weights as they are in f64; it need not be correct. What is added for the sizes of classes counts
//! as given.
//!
//! Most rows are settled by one comparison: of the best class with the next one, and the largest bound for any pair. Only the others
//! are compared with each class by the bound of that pair, in O(1) each ([`lapwing_solve::Differences`]).
//!
//! Cost: O(n·c), and O(s²) for each system of s ≤ [`ErrorBounds::MOST_JOINT`] columns; n rows, c classes.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Warning};
use lapwing_solve::{Differences, ErrorBounds, RowError, SolveInfo};
use serde::Serialize;

use super::level::{Level, openness};
use super::params::Decision;
use crate::Rule;

/// Relative rounding error of a difference of standings, for each class.
const ROUNDINGS: f64 = 16.0 * f64::EPSILON;

/// Bounds on the errors of a harmonic function, for each of its systems.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    systems: Vec<System>,
}

/// Bounds on the errors of one system.
#[derive(Clone, Debug)]
struct System {
    /// Its rows; `None` for all rows of the graph.
    rows: Option<Vec<u32>>,
    bounds: lapwing_solve::Certificate,
    is_last_implied: bool,
    n_iter: usize,
    /// Rounding error of the mean over the rows, if it was subtracted from the scores.
    mean_rounding: Option<f64>,
}

/// Summary of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CertificateSummary {
    /// Reached rows that are undecided.
    pub n_open: usize,
    /// Probability that the bounds do not hold.
    pub failure: f64,
    /// Least bound on the smallest eigenvalue of the preconditioned systems; 0 where it is unknown.
    pub lambda: f64,
    /// Largest bound on the error of a score.
    pub largest_radius: Option<f64>,
    /// Whether all undecided rows are ties or have margins too small for f64, so that no further iteration would help.
    pub is_exhausted: bool,
    /// Iterations until the residual was within the tolerance.
    pub n_iter_residual: usize,
    /// Iterations in all.
    pub n_iter: usize,
}

impl CertificateSummary {
    /// A warning if labels are undecided that more iterations might certify.
    pub(super) fn warning(&self) -> Option<Warning> {
        let Self { n_open, n_iter, is_exhausted, .. } = *self;
        (n_open > 0 && !is_exhausted).then_some(Warning::Undecided { n_iter, n_open })
    }
}

impl Certificate {
    /// Adds the bounds of the system on `rows`, or on all.
    pub(super) fn add(
        &mut self,
        rows: Option<Vec<u32>>,
        bounds: lapwing_solve::Certificate,
        is_last_implied: bool,
        info: &SolveInfo,
    ) {
        self.systems.push(System { rows, bounds, is_last_implied, n_iter: info.n_iter(), mean_rounding: None });
    }

    /// Adds the systems of another certificate.
    pub(super) fn join(&mut self, other: Self) {
        self.systems.extend(other.systems);
    }

    /// Renumbers the rows: `whole` gives the number in the whole graph of a row of the part.
    pub(super) fn placed(mut self, whole: impl Fn(u32) -> u32, n: usize) -> Self {
        for system in &mut self.systems {
            let rows = system.rows.take().unwrap_or_else(|| (0..n as u32).collect());
            system.rows = Some(rows.into_iter().map(&whole).collect());
        }
        self
    }

    /// Adds the error of the level, a mean over the `reached` rows (n), to their bounds. `scores` (n, c) are those before it is subtracted.
    pub(super) fn center(&mut self, scores: &Matrix, reached: &[bool], level: Level) {
        let n_reached = reached.iter().filter(|reached| **reached).count().max(1) as f64;
        // A mean of n values is off by no more than the rounding of the sum of their sizes.
        let sizes = scores.rows().zip(reached).filter(|(_, reached)| **reached).map(|(scores, _)| size(scores));
        let mut rounding = f64::EPSILON * sizes.sum::<f64>();
        let opening =
            (level == Level::OpenMean).then(|| Opening::new(scores, &self.radii(scores.n_rows(), scores.n_cols())));
        rounding = opening.as_ref().map_or(rounding, |opening| rounding.max(opening.absolute));
        for system in &mut self.systems {
            let mut mean = system.rows().map(|(_, deviation)| deviation).sum::<f64>() / n_reached;
            if let Some(Opening { weights, least, .. }) = &opening {
                // The bounds of scores above the mean of all rows stay true as well.
                mean = mean.max(system.rows().map(|(row, deviation)| weights[row] * deviation).sum::<f64>() / least);
            }
            // Rows with labels that are kept exactly are not in the system, but the mean is subtracted from them too.
            let mut deviations: Vec<f64> = reached.iter().map(|&reached| if reached { mean } else { 0.0 }).collect();
            system.rows().for_each(|(row, deviation)| deviations[row] += deviation);
            system.bounds.deviations = deviations;
            system.rows = None;
            system.mean_rounding = Some(rounding);
        }
    }

    /// Bound on the error of each row's scores (n), the largest over the classes; 0 for exact scores, infinite without a bound.
    pub(super) fn radii(&self, n: usize, n_classes: usize) -> Vec<f64> {
        let mut radii = vec![0.0; n];
        for system in &self.systems {
            let pairs = system.pairs(&vec![1.0; n_classes], &[]);
            let bounds = largest_ones(pairs.own);
            for (row, deviation) in system.rows() {
                radii[row] = bounds.iter().fold(radii[row], |most, bound| bound.at(deviation).max(most));
            }
        }
        radii
    }

    /// Whether each of the `labels` (n) is certified, given `scores` (n, c) and the decision rule.
    pub fn certified(&self, scores: &Matrix, labels: &[u32], rule: &Rule, decision: Decision) -> Vec<bool> {
        let c = scores.n_cols();
        let mut certified: Vec<bool> = scores.rows().map(|row| !row.iter().any(|s| s.is_nan())).collect();
        let widening = match decision {
            Decision::Mass => self.mass_errors(scores, rule),
            _ => Vec::new(),
        };
        for system in &self.systems {
            let pairs = system.pairs(&rule.scale, &widening);
            let rows: Vec<(usize, f64)> = system.rows().collect();
            let marks: Vec<(usize, bool)> = rows
                .par_iter()
                .with_min_len(1024)
                .map_init(
                    || vec![0.0; c],
                    |standing, &(row, deviation)| {
                        let scores = scores.row(row);
                        rule.standing(scores, standing);
                        let rounding = size(scores) + size(&rule.offset);
                        (row, pairs.is_settled(standing, labels[row] as usize, deviation, rounding))
                    },
                )
                .collect();
            marks.iter().for_each(|&(row, is_certain)| certified[row] &= is_certain);
        }
        certified
    }

    /// Bound on the error of a difference of two standings in each row (n): the largest over pairs of classes, plus the rounding
    /// of a mean over `n_neighbors` rows. `None` for class mass normalization, whose factors have errors too.
    pub(super) fn standing_errors(
        &self,
        scores: &Matrix,
        rule: &Rule,
        decision: Decision,
        n_neighbors: usize,
    ) -> Option<Vec<f64>> {
        let (n, c) = (scores.n_rows(), scores.n_cols());
        if decision == Decision::Mass {
            return None;
        }
        let largest = rule.scale.iter().fold(0.0f64, |most, &scale| most.max(scale));
        let rounding = ROUNDINGS * (c + n_neighbors) as f64 * largest;
        let offset = size(&rule.offset);
        let mut errors = vec![0.0; n];
        for system in &self.systems {
            let bound = system.pairs(&rule.scale, &[]).largest();
            system.rows().for_each(|(row, deviation)| errors[row] = bound.at(deviation).max(errors[row]));
        }
        for (error, row) in errors.iter_mut().zip(scores.rows()) {
            let size = size(row) + offset;
            // Rows that no label reaches are left out of means over neighbors.
            *error = if size.is_nan() { f64::INFINITY } else { *error + rounding * size };
        }
        Some(errors)
    }

    /// Relative errors of the class masses Σ (score − offset) over all rows. A mass of 0 or less excludes its class; if its exact
    /// value may be positive, all errors are infinite.
    fn mass_errors(&self, scores: &Matrix, rule: &Rule) -> Vec<f64> {
        let (offset, c) = (&rule.offset, rule.offset.len());
        let (mut mass, mut sizes) = (vec![0.0; c], vec![0.0; c]);
        for row in scores.rows().filter(|row| !row.iter().any(|s| s.is_nan())) {
            for class in 0..c {
                mass[class] += row[class] - offset[class];
                sizes[class] += row[class].abs() + offset[class].abs();
            }
        }
        let mut absolute = vec![0.0; c];
        for system in &self.systems {
            let (total, rows) = (system.bounds.total_deviation, system.bounds.deviations.len() as f64);
            for (absolute, bound) in absolute.iter_mut().zip(system.pairs(&vec![1.0; c], &[]).own) {
                *absolute += (if total > 0.0 { bound.slope * total } else { 0.0 }) + bound.constant * rows;
            }
        }
        absolute.iter_mut().zip(&sizes).for_each(|(absolute, size)| {
            *absolute += f64::EPSILON * scores.n_rows() as f64 * size;
        });
        let is_barred = |class: usize| mass[class] <= 0.0;
        if (0..c).any(|class| rule.prior[class] > 0.0 && is_barred(class) && mass[class] + absolute[class] > 0.0) {
            return vec![f64::INFINITY; c];
        }
        (0..c).map(|class| if is_barred(class) { 0.0 } else { absolute[class] / mass[class] }).collect()
    }

    /// The summary, with the number of undecided labels and the bounds `radii`.
    pub fn summary(&self, n_open: usize, radii: &[f64]) -> CertificateSummary {
        let systems = || self.systems.iter();
        let largest = radii.iter().fold(0.0f64, |most, &radius| most.max(radius));
        let solved = systems().filter(|system| !system.bounds.errors.is_zero());
        let lambda = solved.map(|system| system.bounds.errors.lambda).fold(f64::INFINITY, f64::min);
        CertificateSummary {
            n_open,
            failure: systems().map(|system| system.bounds.failure).sum(),
            lambda: if lambda.is_finite() { lambda } else { 1.0 },
            largest_radius: Some(largest).filter(|radius| radius.is_finite()),
            is_exhausted: systems().all(|system| system.bounds.is_exhausted || system.bounds.errors.is_zero()),
            n_iter_residual: systems().map(|system| system.bounds.n_iter_residual).max().unwrap_or(0),
            n_iter: systems().map(|system| system.n_iter).max().unwrap_or(0),
        }
    }
}

/// Bound on the error of a mean of scores that are weighted by their openness w. With rows off by ε at most, w is off by
/// δ = 2ε Σ f + cε², and the mean by (Σ wε + Σ δ(|f − m| + ε)) / (Σ w − Σ δ).
struct Opening {
    /// w (n).
    weights: Vec<f64>,
    /// Σ w − Σ δ; 0 if that is not positive.
    least: f64,
    /// The second part of the bound, and rounding.
    absolute: f64,
}

impl Opening {
    /// `radii` (n) are ε. |f − m| is 1 at most.
    fn new(scores: &Matrix, radii: &[f64]) -> Self {
        let c = scores.n_cols() as f64;
        let mut shares = vec![0.0; scores.n_cols()];
        let weight = |row: &[f64]| if row.iter().any(|f| f.is_nan()) { 0.0 } else { openness(row, &mut shares) };
        let weights: Vec<f64> = scores.rows().map(weight).collect();
        let (mut moved, mut carried) = (0.0, 0.0);
        for ((row, &radius), _) in scores.rows().zip(radii).zip(&weights).filter(|(_, weight)| **weight > 0.0) {
            let total: f64 = row.iter().map(|f| f.clamp(0.0, 1.0)).sum();
            let shift = 2.0 * radius * total + c * radius * radius + 4.0 * c * f64::EPSILON;
            moved += shift;
            carried += shift * (1.0 + radius);
        }
        let least = weights.iter().sum::<f64>() - moved;
        let rounding = f64::EPSILON * weights.len() as f64 * (c + 1.0);
        // Also if it is not a number.
        if least > 0.0 {
            Self { weights, least, absolute: carried / least + rounding }
        } else {
            Self { weights, least: 0.0, absolute: f64::INFINITY }
        }
    }
}

impl System {
    /// Row numbers, each with √vᵢ.
    fn rows(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let place = |at: usize| self.rows.as_ref().map_or(at, |rows| rows[at] as usize);
        self.bounds.deviations.iter().enumerate().map(move |(at, &deviation)| (place(at), deviation))
    }

    /// Bounds on the differences of the standings of two classes; `widening` are the relative errors of the scales, if they have any.
    fn pairs(&self, scale: &[f64], widening: &[f64]) -> Pairs<'_> {
        Pairs::new(scale, widening, self.bounds.errors.differences(self.is_last_implied), self.mean_rounding)
    }
}

/// The bounds that are the largest for some deviation: others are below one of these everywhere.
fn largest_ones(mut bounds: Vec<RowError>) -> Vec<RowError> {
    bounds.sort_unstable_by(|a, b| b.slope.total_cmp(&a.slope).then(b.constant.total_cmp(&a.constant)));
    let mut most = f64::NEG_INFINITY;
    bounds.retain(|bound| {
        let is_largest = bound.constant > most;
        most = most.max(bound.constant);
        is_largest
    });
    bounds
}

/// Sum of the absolute values.
pub(super) fn size(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum()
}

/// Bounds on the error of the difference of the standings of two classes.
pub(super) struct Pairs<'e> {
    scale: Vec<f64>,
    /// Relative errors of the scales; empty if they are exact.
    widening: Vec<f64>,
    differences: Differences<'e>,
    /// Rounding error of the mean that was subtracted from each score, if one was.
    mean_rounding: Option<f64>,
    /// Bound on the error of each standing (c).
    own: Vec<RowError>,
    /// The largest scale, and a bound on the error of any standing.
    any: (f64, RowError),
}

impl<'e> Pairs<'e> {
    pub fn new(scale: &[f64], widening: &[f64], differences: Differences<'e>, mean_rounding: Option<f64>) -> Self {
        let mut pairs = Self {
            scale: scale.to_vec(),
            widening: widening.to_vec(),
            differences,
            mean_rounding,
            own: Vec::new(),
            any: Default::default(),
        };
        let own = |class: usize| pairs.with_mean(pairs.differences.one(class, scale[class]), scale[class]);
        pairs.own = (0..scale.len()).map(own).collect();
        let largest = scale.iter().fold(0.0f64, |most, scale| most.max(*scale));
        pairs.any = (largest, pairs.own.iter().copied().fold(RowError::default(), RowError::or));
        pairs
    }

    /// The bound with the error of a mean that was subtracted, for scores of these weights in all.
    fn with_mean(&self, error: RowError, weights: f64) -> RowError {
        self.mean_rounding.map_or(error, |rounding| error.with_mean(rounding * weights))
    }

    fn pair(&self, a: usize, b: usize) -> RowError {
        let (wa, wb) = (self.scale[a], self.scale[b]);
        self.with_mean(self.differences.of((a, wa), (b, wb)), wa + wb)
    }

    /// A bound for every pair. For many classes it is twice that of any class.
    fn largest(&self) -> RowError {
        let c = self.scale.len();
        if c > ErrorBounds::MOST_JOINT {
            return self.any.1.plus(self.any.1);
        }
        let pairs = (0..c).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.fold(RowError::default(), |most, (a, b)| most.or(self.pair(a, b)))
    }

    /// Whether the standing of `best` is certainly the largest; `rounding` is the sum of the absolute values that were rounded.
    pub fn is_settled(&self, standing: &[f64], best: usize, deviation: f64, rounding: f64) -> bool {
        let c = standing.len();
        let others = || (0..c).filter(|&other| other != best && self.scale[other] > 0.0);
        let exceeds = |other: f64, bound: RowError, scale: f64, widening: f64| {
            let slack = ROUNDINGS * c as f64 * scale * rounding;
            let shifted = (standing[best].abs() + other.abs()) * widening;
            widening < 0.5 && standing[best] - other > (bound.at(deviation) + slack + shifted) / (1.0 - widening)
        };
        // By the triangle inequality the own bounds of two classes bound their difference.
        let (scale, most) = self.any;
        let next = others().map(|other| standing[other]).fold(f64::NEG_INFINITY, f64::max);
        if self.widening.is_empty() && exceeds(next, self.own[best].plus(most), scale, 0.0) {
            return true;
        }
        let widening = |class: usize| self.widening.get(class).copied().unwrap_or(0.0);
        others().all(|other| {
            let scale = self.scale[best].max(self.scale[other]);
            exceeds(standing[other], self.pair(best, other), scale, widening(best).max(widening(other)))
        })
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::hash::uniform;

    use super::super::level::open_mean;
    use super::*;

    /// Shares of random rows, some settled, some open, moved by up to a row's radius in every class: the mean of open rows moves by no
    /// more than its bound.
    #[test]
    fn means_of_open_rows_are_off_by_no_more_than_their_bound() {
        let (n, mut most) = (40, 0.0f64);
        for trial in 0..300u64 {
            let draw = |at: usize| uniform(trial << 20 | at as u64);
            let c = 2 + trial as usize % 4;
            let radii: Vec<f64> = (0..n).map(|row| 10f64.powf(-2.0 - 4.0 * draw(row))).collect();
            let (mut scores, mut moved) = (Matrix::filled(n, c, 0.0), Matrix::filled(n, c, 0.0));
            for row in 0..n {
                let power = if row % 3 == 0 { 20.0 } else { 1.0 };
                let own: Vec<f64> = (0..c).map(|class| draw(100 + row * 10 + class).powf(power)).collect();
                let total: f64 = own.iter().sum();
                for class in 0..c {
                    let sign = if draw(1000 + row * 10 + class) < 0.5 { -1.0 } else { 1.0 };
                    scores.row_mut(row)[class] = own[class] / total;
                    moved.row_mut(row)[class] = (own[class] / total + sign * radii[row]).clamp(0.0, 1.0);
                }
            }
            let opening = Opening::new(&scores, &radii);
            let carried: f64 = opening.weights.iter().zip(&radii).map(|(weight, radius)| weight * radius).sum();
            let bound = carried / opening.least + opening.absolute;
            let pairs = open_mean(&scores).into_iter().zip(open_mean(&moved));
            let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off <= bound, "{trial}: {off} {bound}");
            most = most.max(off / bound);
        }
        assert!(most > 0.05, "the bound says nothing: {most}");
    }

    #[test]
    fn rows_that_may_all_be_settled_bound_nothing() {
        let scores = Matrix::new(2, 2, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        assert!(Opening::new(&scores, &[1e-6, 1e-6]).absolute.is_infinite());
    }
}
