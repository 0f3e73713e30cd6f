//! Choosing γ_A and γ_I by leaving one label out, at the cost of one eigenproblem.
//!
//! On the span of some columns of the Gram matrix (Nyström), K ≈ Z·Zᵀ and ZᵀL^pZ = U·Θ·Uᵀ, so that for every pair (γ_A, γ_I)
//!
//! ```text
//! Q = B·(γ_A·I + γ_I·Θ)⁻¹·Bᵀ,   B = Z_l·U (l, r)
//! ```
//!
//! needs no further eigenproblem. The least-squares machine without label i has the value yᵢ − ρᵢ / Pᵢᵢ at row i, where P is the
//! inverse of A⁻¹ + Q (its part orthogonal to 1 if there is a bias) and ρ = P·y. This is exact, for all classes at once. Machines
//! with either loss use the γ chosen this way. Likewise, the values at the rows F of a fold, of the machine without their labels, are
//! y_F − (P_FF)⁻¹·ρ_F. Cost: O(n·k²) once for k columns, O(l²·k + l³) for each pair.

use lapwing_core::{Error, Matrix, Report, Result, Run, Stream, Targets};
use lapwing_solve::Lu;
use lapwing_solve::dense::eigen_symmetric;
use lapwing_solve::products::{product, times};
use rand::seq::index::sample;
use serde_json::json;

use super::gram::{Factor, Gram, nystrom_map, products, symmetrized};
use super::newton::ill_posed;
use super::smoothness::Smoothness;
use crate::core::held_out::Standings;
use crate::core::held_out::choosing::{Trial, choose, note};
use crate::core::held_out::folds::Fold;
use crate::core::scores::largest;
use crate::core::uncertainty::HeldOutErrors;
use crate::{HeldOutSource, Rule};

/// Least and most columns of the Gram matrix that represent it; in between, as many as hold [`HELD`] numbers.
const COLUMNS: std::ops::RangeInclusive<usize> = 64..=400;
const HELD: usize = 50_000_000;
/// Most columns of a factor whose eigenproblem is solved.
pub(super) const MOST_RANK: usize = 1024;
/// Most labels that are left out one by one.
pub(super) const MOST_LABELS: usize = 1000;
/// Eigenvalues of the columns' kernel below this share of the largest are left out.
const RCOND: f64 = 1e-7;

/// The candidates, in the units of [`Units`].
pub(super) const AMBIENT: [f64; 5] = [1e-6, 1e-4, 1e-2, 0.1, 1.0];
pub(super) const GRAPH: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];

/// Share of the time for what all candidates have in common.
const SPECTRUM: f64 = 0.5;

/// The units of the candidates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Mean of k(x, x).
    pub ambient: f64,
    /// Labels over rows.
    pub graph: f64,
}

/// The data by which γ_A and γ_I are chosen.
pub(super) struct Question<'q> {
    pub gram: &'q Gram<'q>,
    pub smoothness: Option<&'q Smoothness<'q>>,
    /// ZᵀL^pZ, if the Gram matrix is a factor and this is known.
    pub smooth_gram: Option<&'q Matrix>,
    pub targets: &'q Targets,
    pub has_bias: bool,
    pub is_regression: bool,
    pub units: Units,
    /// γ_A and γ_I if given.
    pub given: (Option<f64>, Option<f64>),
    /// The default, which stays unless another pair is better by more than a standard error.
    pub default: Regs,
}

/// γ_A and γ_I.
pub(super) type Regs = (f64, f64);

/// What was found of labeled rows without their labels.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Values without the row's own label, for classes.
    pub held_out: Option<Standings>,
    /// Errors of values without the row's own, in a regression; none if nothing was left out.
    pub errors: Option<HeldOutErrors>,
    /// Values (l, c) by machines without the labels of their folds, if there are folds.
    pub folded: Option<Matrix>,
}

/// Chooses the parameters that are not given.
pub(super) fn select(question: &Question<'_>, report: &mut Report, run: &Run) -> Result<(Regs, LeftOut)> {
    let targets = drawn(question.targets, run)?;
    let spectrum = Spectrum::new(question, targets.rows(), &run.part(0.0..SPECTRUM, ""))?;
    let y = signed(&targets, question.is_regression);
    // A class without a label is never predicted.
    let rule = Rule::largest(targets.mean());
    let classes: Vec<usize> = (0..rule.scale.len()).filter(|&class| rule.scale[class] > 0.0).collect();
    let mut trials: Vec<Trial<Regs, Matrix>> = Vec::new();
    let pairs = question.pairs();
    let run = &run.part(SPECTRUM..1.0, "");
    for (at, &candidate) in pairs.iter().enumerate() {
        run.check()?;
        run.share(at as f64 / pairs.len() as f64, &format!("pair {} of {}", at + 1, pairs.len()));
        if trials.iter().any(|trial| trial.candidate == candidate) {
            continue;
        }
        let q = spectrum.kernel(candidate, run)?;
        let found = leave_one_out(q, &y, targets.weights(), question.has_bias, run)?;
        let losses = losses(&found, &classes, &targets, &y, question.is_regression);
        trials.push(Trial { candidate, losses, found });
    }
    let describe = |trial: &Trial<Regs, Matrix>| {
        let (ambient, graph) = trial.candidate;
        json!({"ambient_reg": ambient, "graph_reg": graph, "loss": trial.loss()})
    };
    note(&trials, describe, report);
    let chosen = choose(&trials, 1.0);
    let Trial { candidate, found, .. } = trials.swap_remove(chosen);
    if question.is_regression {
        let errors = found.rows().zip(y.rows()).map(|(value, given)| given[0] - value[0]);
        let errors = HeldOutErrors::new(targets.rows().iter().copied().zip(errors), HeldOutSource::LeaveOneOut);
        return Ok((candidate, LeftOut { errors: Some(errors), ..LeftOut::default() }));
    }
    let held_out = Standings::left_out(&targets, found).compared(&rule);
    Ok((candidate, LeftOut { held_out: Some(held_out), ..LeftOut::default() }))
}

impl Question<'_> {
    /// The pairs to try, the default first.
    fn pairs(&self) -> Vec<Regs> {
        let choices = |given: Option<f64>, all: &[f64], unit: f64, default: f64| match given {
            Some(given) => vec![given],
            None => std::iter::once(default).chain(all.iter().map(|share| share * unit)).collect::<Vec<f64>>(),
        };
        let ambient = choices(self.given.0, &AMBIENT, self.units.ambient, self.default.0);
        let graph = choices(self.given.1, &GRAPH, self.units.graph, self.default.1);
        ambient.iter().flat_map(|a| graph.iter().map(move |g| (*a, *g))).collect()
    }
}

/// Errors of left-out values with the γ_A and γ_I that are given; none if the system of the labels is singular in f64.
pub(super) fn errors_as_given(question: &Question<'_>, run: &Run) -> Result<Option<HeldOutErrors>> {
    match select(question, &mut Report::default(), run) {
        Ok((_, left_out)) => Ok(left_out.errors),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(_) => Ok(None),
    }
}

/// The labels that are left out one by one: all, or a random sample.
fn drawn(targets: &Targets, run: &Run) -> Result<Targets> {
    let l = targets.rows().len();
    if l <= MOST_LABELS {
        return Ok(targets.clone());
    }
    let mut kept = vec![false; l];
    sample(&mut run.rng(Stream::Split, 1 << 40), l, MOST_LABELS).iter().for_each(|at| kept[at] = true);
    targets.subset(|at| kept[at])
}

/// ±1 for classes (l, c), two columns for two; values less their mean for a regression.
fn signed(targets: &Targets, is_regression: bool) -> Matrix {
    let mut y = targets.values().clone();
    let mean = targets.mean();
    let sign = |y: &mut f64| *y = 2.0 * *y - 1.0;
    if is_regression {
        y.values_mut().iter_mut().for_each(|y| *y -= mean[0]);
    } else {
        y.values_mut().iter_mut().for_each(sign);
    }
    y
}

/// B (l, r) and Θ (r).
struct Spectrum {
    rows: Matrix,
    values: Vec<f64>,
}

impl Spectrum {
    fn new(question: &Question<'_>, rows: &[u32], run: &Run) -> Result<Self> {
        let own;
        let factor = match question.gram {
            Gram::Factor(factor) if is_small(factor) => factor,
            gram => {
                own = compressed(gram, rows, run)?;
                &own
            }
        };
        let rank = factor.rank();
        let known = question.smooth_gram.filter(|gram| gram.n_rows() == rank);
        let z = factor.rows(rows);
        let (values, vectors) = match (known, question.smoothness) {
            (Some(gram), _) => eigen_symmetric(gram)?,
            (None, Some(smoothness)) => eigen_symmetric(&factor.smooth_gram(smoothness, run, |_| ())?)?,
            (None, None) => return Ok(Self { rows: Matrix::new(rows.len(), rank, z)?, values: vec![0.0; rank] }),
        };
        let mut rows = Matrix::filled(rows.len(), rank, 0.0);
        product(&z, vectors.values(), rank, rows.values_mut());
        Ok(Self { rows, values: values.into_iter().map(|value| value.max(0.0)).collect() })
    }

    /// Q (l, l).
    fn kernel(&self, (ambient, graph): Regs, run: &Run) -> Result<Matrix> {
        let mut scaled = self.rows.clone();
        for row in 0..scaled.n_rows() {
            let values = scaled.row_mut(row).iter_mut().zip(&self.values);
            values.for_each(|(b, theta)| *b /= ambient + graph * theta);
        }
        Ok(symmetrized(products(scaled.values(), self.rows.values(), self.values.len(), run)?))
    }
}

fn identity(n: usize) -> Matrix {
    let mut out = Matrix::filled(n, n, 0.0);
    (0..n).for_each(|at| out.row_mut(at)[at] = 1.0);
    out
}

/// Whether the factor is small enough to be used as it is.
pub(super) fn is_small(factor: &Factor) -> bool {
    factor.rank() <= MOST_RANK
}

/// Number of columns that represent all of n rows.
pub(super) fn n_columns(n: usize) -> usize {
    (HELD / n.max(1)).clamp(*COLUMNS.start(), *COLUMNS.end()).min(n)
}

/// A factor of the Gram matrix from some of its columns, half of them of labeled rows.
fn compressed(gram: &Gram<'_>, labeled: &[u32], run: &Run) -> Result<Factor> {
    let n = gram.n();
    let chosen = super::basis::landmark_rows(n, n_columns(n), labeled, run);
    let k = chosen.len();
    let columns = gram.columns(&chosen, run)?;
    let mut among = Matrix::filled(k, k, 0.0);
    for (at, column) in columns.chunks_exact(n).enumerate() {
        among.row_mut(at).iter_mut().zip(&chosen).for_each(|(out, &row)| *out = column[row as usize]);
    }
    let map = nystrom_map(among, RCOND)?;
    let similarities = |rows: std::ops::Range<usize>| {
        let mut out = vec![0.0; rows.len() * k];
        for (at, column) in columns.chunks_exact(n).enumerate() {
            out[at..].iter_mut().step_by(k).zip(&column[rows.clone()]).for_each(|(out, value)| *out = *value);
        }
        Ok(out)
    };
    Factor::nystrom(similarities, n, &map, run)
}

/// Values of the classes (l, c) at each labeled row, by the least-squares machine without the labels of its fold; `folds` (l) holds
/// the fold of each label.
pub(super) fn without_folds(question: &Question<'_>, regs: Regs, folds: &[usize], run: &Run) -> Result<Matrix> {
    let targets = question.targets;
    let spectrum = Spectrum::new(question, targets.rows(), run)?;
    let y = signed(targets, false);
    let p = residual_map(spectrum.kernel(regs, run)?, targets.weights(), question.has_bias, run)?;
    leave_folds_out(&p, &y, folds, run)
}

/// Values at each row of the machine fitted without the labels of its fold (l, columns).
fn leave_folds_out(p: &Matrix, y: &Matrix, folds: &[usize], run: &Run) -> Result<Matrix> {
    let rho = run.install(|| times(p, y));
    let mut scores = y.clone();
    for Fold { held: own, .. } in Fold::all(folds) {
        let block: Vec<f64> =
            own.iter().flat_map(|&i| own.iter().map(move |&j| (i, j))).map(|(i, j)| p.row(i)[j]).collect();
        // One column of ρ after the other.
        let mut errors: Vec<f64> =
            (0..rho.n_cols()).flat_map(|k| own.iter().map(move |&i| (i, k))).map(|(i, k)| rho.row(i)[k]).collect();
        Lu::factor(own.len(), block, run, |_| ()).map_err(ill_posed)?.solve(&mut errors, run)?;
        for (place, &at) in own.iter().enumerate() {
            let errors = errors[place..].iter().step_by(own.len());
            scores.row_mut(at).iter_mut().zip(errors).for_each(|(score, error)| *score -= error);
        }
    }
    Ok(scores)
}

/// Values at each row of the machine fitted without its label (l, columns).
fn leave_one_out(q: Matrix, y: &Matrix, weights: &[f64], has_bias: bool, run: &Run) -> Result<Matrix> {
    let inverse = residual_map(q, weights, has_bias, run)?;
    let mut out = run.install(|| times(&inverse, y));
    for at in 0..y.n_rows() {
        let own = inverse.row(at)[at];
        out.row_mut(at).iter_mut().zip(y.row(at)).for_each(|(out, y)| *out = y - *out / own);
    }
    Ok(out)
}

/// P (l, l), which maps the labels to ρ.
fn residual_map(mut q: Matrix, weights: &[f64], has_bias: bool, run: &Run) -> Result<Matrix> {
    let l = q.n_rows();
    (0..l).for_each(|at| q.row_mut(at)[at] += weights[at].recip());
    let mut inverse = identity(l).into_values();
    Lu::factor(l, q.into_values(), run, |_| ()).map_err(ill_posed)?.solve(&mut inverse, run)?;
    if has_bias {
        let sums: Vec<f64> = inverse.chunks_exact(l).map(|row| row.iter().sum()).collect();
        let total: f64 = sums.iter().sum();
        for (row, sum) in inverse.chunks_exact_mut(l).zip(&sums) {
            row.iter_mut().zip(&sums).for_each(|(p, other)| *p -= sum * other / total);
        }
    }
    Matrix::new(l, l, inverse)
}

/// The loss of each row, times the trust in its label.
fn losses(left_out: &Matrix, classes: &[usize], targets: &Targets, y: &Matrix, is_regression: bool) -> Vec<f64> {
    let weights = targets.weights();
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let of = |at: usize| {
        let found = left_out.row(at);
        if is_regression {
            return (found[0] - y.row(at)[0]).powi(2);
        }
        let given = largest(&picked(targets.values().row(at), classes));
        f64::from(u8::from(largest(&picked(found, classes)) != given))
    };
    (0..y.n_rows()).map(|at| of(at) * weights[at] / mean).collect()
}

/// Some of the values of a row.
fn picked(row: &[f64], columns: &[usize]) -> Vec<f64> {
    columns.iter().map(|&column| row[column]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of folds against a machine that is fitted without their labels.
    fn folds_left_out(q: &Matrix, y: &Matrix, weights: &[f64], has_bias: bool) {
        let (run, l) = (Run::new(Some(2), 0).unwrap(), y.n_rows());
        let folds: Vec<usize> = (0..l).map(|at| at % 3).collect();
        let p = residual_map(q.clone(), weights, has_bias, &run).unwrap();
        let found = leave_folds_out(&p, y, &folds, &run).unwrap();
        for fold in 0..3 {
            let values = Matrix::new(l, 1, y.values().iter().map(|y| 0.5 * (y + 1.0)).collect()).unwrap();
            let targets = Targets::new(l, (0..l as u32).collect(), values, weights.to_vec()).unwrap();
            let kind = super::super::loss::LossKind::Squares;
            let loss =
                super::super::loss::Loss::problems(&targets, kind, false).remove(0).subset(|at| folds[at] != fold);
            let machine = super::super::newton::newton(q, &loss, has_bias, l, &run).unwrap();
            let values = super::super::newton::Space::outputs(q, &machine.c);
            for at in (0..l).filter(|&at| folds[at] == fold) {
                let value = values[at] + machine.bias;
                assert!((found.row(at)[0] - value).abs() < 1e-9, "{has_bias} {at}: {} {value}", found.row(at)[0]);
            }
        }
    }

    #[test]
    fn left_out_values_are_those_of_machines_without_the_label() {
        let run = Run::new(Some(2), 0).unwrap();
        let l = 9;
        let b = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0;
        let mut q = Matrix::filled(l, l, 0.0);
        for i in 0..l {
            for j in 0..l {
                q.row_mut(i)[j] = (0..4).map(|k| b(i, k) * b(j, k)).sum();
            }
        }
        let y = Matrix::new(l, 1, (0..l).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect()).unwrap();
        let weights: Vec<f64> = (0..l).map(|i| 1.0 + (i % 2) as f64).collect();
        for has_bias in [false, true] {
            folds_left_out(&q, &y, &weights, has_bias);
            let found = leave_one_out(q.clone(), &y, &weights, has_bias, &run).unwrap();
            for out in 0..l {
                let values = Matrix::new(l, 1, y.values().iter().map(|y| 0.5 * (y + 1.0)).collect()).unwrap();
                let targets = Targets::new(l, (0..l as u32).collect(), values, weights.clone()).unwrap();
                let kind = super::super::loss::LossKind::Squares;
                let loss = super::super::loss::Loss::problems(&targets, kind, false).remove(0).subset(|at| at != out);
                let machine = super::super::newton::newton(&q, &loss, has_bias, l, &run).unwrap();
                let value = super::super::newton::Space::outputs(&q, &machine.c)[out] + machine.bias;
                assert!((found.row(out)[0] - value).abs() < 1e-9, "{has_bias} {out}: {} {value}", found.row(out)[0]);
            }
        }
    }
}
