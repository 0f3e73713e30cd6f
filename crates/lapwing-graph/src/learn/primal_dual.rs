//! Forward-backward-forward primal-dual iteration (Kalofolias & Perraudin 2019, eqs. 5 and 6; Komodakis & Pesquet 2015,
//! alg. 6), to check [`super::newton`] against.
//!
//! log-degree: f₁ = 2cᵀw on w ≥ 0, f₂(Sw) = −Σ log dᵢ, f₃ = ‖w‖², a dual variable v for each row, v → −λ, step
//! g = s/(2 + ‖S‖). l2-degree: f₃ = (a/2)·(2‖w‖² + ‖Sw‖²), f₂ the total weight, which is scaled so that its norm K is a quarter of
//! the curvature ζ = a·(2 + ‖S‖²), step g = s/(ζ + K). ‖S‖² is at most the maximum over pairs of the numbers of pairs of their
//! two rows together, and equal to it if all pairs are allowed.
//!
//! Every pair is stored in both of its rows with the same bits. An iteration of the log-degree model is therefore one pass that
//! reads and writes each weight once, gathers v and p, and sums rows without scatter; the l2-degree model needs a second
//! pass. Cost: hundreds to thousands of iterations of 24 bytes an entry. The duality gap, which takes another pass, is evaluated
//! every twenty iterations. Memory: 8 bytes an entry more (l2-degree 16).

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run, fallen};

use super::LearnModel;
use super::dual::{BLOCK, Multipliers, Problem};
use super::lanes::Step;
use super::steps::{Arrived, Spent};
use super::support::{SquaredDistance, Support};
use crate::relation::cut_rows;

/// Step s as a part of the longest one; the iteration converges below 1.
const STEP_PART: f64 = 0.9;
/// Norm of the scaled total weight as a part of the curvature; a larger one takes more iterations.
const TOTAL_PART: f64 = 0.25;
/// Iterations between two evaluations of the gap.
const CHECK_EVERY: usize = 20;
/// Least λ of an evaluation, where v is not negative yet.
const LEAST: f64 = 1e-12;

/// Iterates from zero weights until the relative gap is at most `tol`.
pub(super) fn primal_dual<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let norm = norm_bound(problem.support);
    let mut iterate = match problem.model {
        LearnModel::Log => Iterate::new(problem, 1.0, 1.0, STEP_PART / (2.0 + norm)),
        LearnModel::L2 => {
            let curvature = 2.0 + norm * norm;
            let total = TOTAL_PART * curvature;
            let scaling = 0.5 * total / (problem.support.n_pairs() as f64).sqrt();
            Iterate::new(problem, 1.0, scaling, STEP_PART / (curvature + total))
        }
    };
    let mut n_iter = 0;
    loop {
        for _ in 0..CHECK_EVERY.min(max_iter - n_iter) {
            run.check()?;
            run.install(|| iterate.step());
            n_iter += 1;
        }
        let state = problem.evaluate(iterate.multipliers(), run)?;
        let gap = state.relative_gap();
        let share = fallen(1.0, tol, gap).max(n_iter as f64 / max_iter as f64);
        run.share(share, &format!("{n_iter} iterations, gap {gap:.1e}"));
        let converged = state.is_within(tol);
        if converged || n_iter >= max_iter {
            return Ok(Arrived { state, spent: Spent { n_iter, n_products: 0 }, converged });
        }
    }
}

/// A bound of ‖S‖₂ from one pass over the support.
pub(super) fn norm_bound<R: SquaredDistance>(support: &Support<R>) -> f64 {
    let count = |row: u32| support.row(row as usize).0.len();
    let of_row = |row: u32| support.row(row as usize).0.iter().map(|&id| count(row) + count(id)).max();
    let largest = (0..support.n_samples() as u32).filter_map(of_row).max();
    (largest.unwrap_or(0) as f64).sqrt()
}

/// Weights and dual variables of the iteration.
pub(super) struct Iterate<'a, R> {
    problem: &'a Problem<'a, R>,
    /// a of the l2-degree model.
    ridge: f64,
    /// Factor on the total weight.
    scaling: f64,
    /// g.
    step: f64,
    /// w of every entry of the support (2m) before the projection: some may be negative.
    pub weights: Vec<f64>,
    /// w after the projection, where a second pass needs it.
    projected: Vec<f64>,
    /// Sw (n).
    degree: Vec<f64>,
    /// v of each row, or a single one for the total weight.
    pub dual: Vec<f64>,
}

impl<'a, R: SquaredDistance> Iterate<'a, R> {
    pub fn new(problem: &'a Problem<'a, R>, ridge: f64, scaling: f64, step: f64) -> Self {
        let (n, entries) = (problem.support.n_samples(), problem.support.ids.len());
        let (duals, projected) = match problem.model {
            LearnModel::Log => (n, 0),
            LearnModel::L2 => (1, entries),
        };
        Self {
            problem,
            ridge,
            scaling,
            step,
            weights: vec![0.0; entries],
            projected: vec![0.0; projected],
            degree: vec![0.0; n],
            dual: vec![0.0; duals],
        }
    }

    #[cfg(test)]
    pub fn problem(&self) -> &'a Problem<'a, R> {
        self.problem
    }

    /// The multipliers that the dual variables stand for, with a = 1.
    pub fn multipliers(&self) -> Multipliers {
        match self.problem.model {
            LearnModel::Log => self.problem.multipliers(self.dual.iter().map(|v| (-v).max(LEAST)).collect(), 0.0),
            LearnModel::L2 => {
                self.problem.multipliers(self.degree.iter().map(|d| -d).collect(), self.scaling * self.dual[0])
            }
        }
    }

    /// One iteration.
    pub fn step(&mut self) {
        match self.problem.model {
            LearnModel::Log => self.step_log(),
            LearnModel::L2 => self.step_l2(),
        }
    }

    fn step_log(&mut self) {
        let (g, theta) = (self.step, self.problem.sparsity);
        let prox = |(&v, &d): (&f64, &f64)| {
            let y = v + g * d;
            let root = (y * y + 4.0 * g).sqrt();
            if y > 0.0 { -2.0 * g / (y + root) } else { 0.5 * (y - root) }
        };
        let p: Vec<f64> = self.dual.par_iter().zip(&self.degree).with_min_len(BLOCK).map(prox).collect();
        let duals = self.dual.par_iter().zip(&p).with_min_len(BLOCK);
        let duals: Vec<[f64; 2]> = duals.map(|(v, p)| [g * v, g * (v - p)]).collect();
        let task = Step { support: self.problem.support, sparsity: theta, step: g, duals: &duals };
        let sums = self.sweep(|first, weights, _, sums| task.advance(first, weights, sums));
        let duals = self.dual.par_iter_mut().zip(&mut self.degree).zip(p).zip(sums);
        duals.with_min_len(BLOCK).for_each(|(((v, d), p), [projected, degree])| {
            // v − y + q with y = v + g·Sw, q = p + g·SP.
            *v = p + g * (projected - *d);
            *d = degree;
        });
    }

    fn step_l2(&mut self) {
        let (g, a, theta) = (self.step, self.ridge, self.problem.sparsity);
        let (v, k) = (self.dual[0], self.scaling);
        let support = self.problem.support;
        let n = self.degree.len() as f64;
        let degree = std::mem::take(&mut self.degree);
        let forward = |w: f64, own: f64, other: f64| w - g * (a * (2.0 * w + (own + other)) + 2.0 * k * v);
        // Rows with their places among the entries of their block.
        let rows = |first: usize, count: usize| {
            let entry = |row: usize| support.starts[row] as usize;
            let at = entry(first);
            (first..first + count).map(move |row| (row, entry(row) - at..entry(row + 1) - at))
        };
        let projected = self.sweep(|first, weights, projected, sums| {
            for ((row, entries), sum) in rows(first, sums.len()).zip(&mut *sums) {
                let (ids, squared) = support.row(row);
                let pairs = weights[entries.clone()].iter().zip(&mut projected[entries]).zip(ids).zip(squared);
                for (((w, new), &id), &z) in pairs {
                    let y = forward(*w, degree[row], degree[id as usize]);
                    *new = (y - 2.0 * g * theta * z.into()).max(0.0);
                    sum[0] += *new;
                }
            }
        });
        // The sum over rows is twice that over pairs.
        let total = |degrees: f64| k * degrees;
        let p = v + g * total(degree.iter().sum()) - g * k * n;
        let sums = self.sweep(|first, weights, news, sums| {
            for ((row, entries), sum) in rows(first, sums.len()).zip(&mut *sums) {
                let pairs = weights[entries.clone()].iter_mut().zip(&news[entries]).zip(support.row(row).0);
                for ((w, &new), &id) in pairs {
                    let other = id as usize;
                    let y = forward(*w, degree[row], degree[other]);
                    *w += new - g * (a * (2.0 * new + (projected[row][0] + projected[other][0])) + 2.0 * k * p) - y;
                    sum[0] += *w;
                }
            }
        });
        let change = total(projected.iter().map(|sum| sum[0]).sum()) - total(degree.iter().sum());
        self.dual[0] = p + g * change;
        self.degree = sums.into_iter().map(|sum| sum[0]).collect();
    }

    /// Calls `change(first, weights, projected, sums)` for each block of rows, where `first` is its first row and `sums` are
    /// zero at first. Returns the sums of all rows (n).
    fn sweep(&mut self, change: impl Fn(usize, &mut [f64], &mut [f64], &mut [[f64; 2]]) + Sync) -> Vec<[f64; 2]> {
        let starts = &self.problem.support.starts;
        let mut sums = vec![[0.0; 2]; starts.len() - 1];
        let weights = cut_rows(&mut self.weights, starts, BLOCK).zip(cut_rows(&mut self.projected, starts, BLOCK));
        let blocks: Vec<_> = weights.zip(sums.chunks_mut(BLOCK)).enumerate().collect();
        blocks.into_par_iter().for_each(|(block, ((weights, projected), sums))| {
            change(block * BLOCK, weights, projected, sums);
        });
        sums
    }
}
