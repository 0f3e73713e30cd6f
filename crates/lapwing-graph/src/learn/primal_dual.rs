//! Forward-backward-forward primal-dual iteration (Kalofolias & Perraudin 2019, eqs. 5 and 6; Komodakis & Pesquet 2015, alg. 6), the twin
//! that checks [`super::newton`].
//!
//! log-degree: f₁ = 2cᵀw on w ≥ 0, f₂(Sw) = −Σ log dᵢ, f₃ = ‖w‖², a dual variable v for each row, v → −λ, step
//! g = s/(2 + ‖S‖). l2-degree: f₃ = (a/2)·(2‖w‖² + ‖Sw‖²), f₂ the total weight, which is scaled so that its norm is 2, step
//! g = s/(a·(2 + ‖S‖²) + 2). ‖S‖² ≤ max over pairs of the sum of the two rows' numbers of pairs, with equality for all pairs.
//!
//! Every pair is kept in both of its rows with the same bits, so that an iteration of the log-degree model is one pass that
//! reads and writes each weight once, gathers v and p, and sums rows without scatter; the l2-degree model needs a second
//! pass. Cost of an iteration: 24 bytes an entry, hundreds to thousands of them. Stops by the duality gap, which takes a pass of its own, every
//! twenty iterations. Memory: 8 bytes an entry more (l2-degree 16).

use lapwing_data::{Result, Run};
use rayon::prelude::*;

use super::LearnModel;
use super::dual::{BLOCK, Multipliers, Problem};
use super::newton::Arrived;
use super::support::{SquaredDistance, Support};

/// Share s of the longest step; the iteration converges below 1.
const STEP_SHARE: f64 = 0.9;
/// Iterations between two looks at the gap.
const LOOK_EVERY: usize = 20;
/// Least λ that is tried, where v is no bound yet.
const LEAST: f64 = 1e-12;

/// Iterates from zero weights until the relative gap is at most `tol`.
///
/// # Errors
/// [`lapwing_data::Error::Interrupted`].
pub(super) fn primal_dual<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let norm = norm_bound(problem.support);
    let mut iterate = match problem.model {
        LearnModel::Log => Iterate::new(problem, 1.0, 1.0, STEP_SHARE / (2.0 + norm)),
        LearnModel::L2 => {
            let scaling = 1.0 / (problem.support.n_pairs() as f64).sqrt();
            Iterate::new(problem, 1.0, scaling, STEP_SHARE / (2.0 + norm * norm + 2.0))
        }
    };
    let mut n_iter = 0;
    loop {
        for _ in 0..LOOK_EVERY.min(max_iter - n_iter) {
            run.check()?;
            run.install(|| iterate.step());
            n_iter += 1;
        }
        let state = problem.evaluate(iterate.multipliers(), run)?;
        run.progress().update(n_iter as u64, &format!("iterations, gap {:.1e}", state.relative_gap()));
        let converged = state.relative_gap() <= tol;
        if converged || n_iter >= max_iter {
            return Ok(Arrived { state, n_iter, n_products: 0, converged });
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
    /// What the total weight is multiplied by.
    scaling: f64,
    /// g.
    step: f64,
    /// w of every entry of the support (2m); not projected, so some may be negative.
    pub weights: Vec<f64>,
    /// w after the projection, where a second pass needs it.
    projected: Vec<f64>,
    /// Sw (n).
    degree: Vec<f64>,
    /// v: of each row, or a single one for the total weight.
    pub dual: Vec<f64>,
}

/// A row's weights, to be changed, and its sum after the change.
struct RowOf<'r, R> {
    row: usize,
    weights: &'r mut [f64],
    projected: &'r mut [f64],
    ids: &'r [u32],
    squared: &'r [R],
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

    /// What is iterated on.
    #[cfg(test)]
    pub fn problem(&self) -> &'a Problem<'a, R> {
        self.problem
    }

    /// What the dual variables stand for in the dual of the model; with a = 1.
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
        // v and p side by side: both are gathered.
        let pairs: Vec<[f64; 2]> = self
            .dual
            .par_iter()
            .zip(&self.degree)
            .map(|(&v, &d)| {
                let y = v + g * d;
                let root = (y * y + 4.0 * g).sqrt();
                [v, if y > 0.0 { -2.0 * g / (y + root) } else { 0.5 * (y - root) }]
            })
            .collect();
        let sums = self.sweep(|RowOf { row, weights, ids, squared, .. }| {
            let [v, p] = pairs[row];
            let (mut projected, mut degree) = (0.0, 0.0);
            for ((w, &id), &z) in weights.iter_mut().zip(ids).zip(squared) {
                let [other_v, other_p] = pairs[id as usize];
                let y = *w - g * (2.0 * *w + (v + other_v));
                let new = (y - 2.0 * g * theta * z.into()).max(0.0);
                *w += (new - g * (2.0 * new + (p + other_p))) - y;
                projected += new;
                degree += *w;
            }
            [projected, degree]
        });
        let duals = self.dual.par_iter_mut().zip(&mut self.degree).zip(pairs).zip(sums);
        duals.with_min_len(BLOCK).for_each(|(((v, d), [_, p]), [projected, degree])| {
            // v − y + q with y = v + g·Sw, q = p + g·SP.
            *v = p + g * (projected - *d);
            *d = degree;
        });
    }

    fn step_l2(&mut self) {
        let (g, a, theta) = (self.step, self.ridge, self.problem.sparsity);
        let (v, k) = (self.dual[0], self.scaling);
        let n = self.degree.len() as f64;
        let degree = std::mem::take(&mut self.degree);
        let forward = |w: f64, own: f64, other: f64| w - g * (a * (2.0 * w + (own + other)) + 2.0 * k * v);
        let projected = self.sweep(|RowOf { row, weights, projected, ids, squared }| {
            let mut sum = 0.0;
            for (((w, new), &id), &z) in weights.iter().zip(projected).zip(ids).zip(squared) {
                let y = forward(*w, degree[row], degree[id as usize]);
                *new = (y - 2.0 * g * theta * z.into()).max(0.0);
                sum += *new;
            }
            [sum, 0.0]
        });
        // The sum over rows is twice that over pairs.
        let total = |degrees: f64| k * degrees;
        let p = v + g * total(degree.iter().sum()) - g * k * n;
        let sums = self.sweep(|RowOf { row, weights, projected: news, ids, .. }| {
            let mut sum = 0.0;
            for ((w, &new), &id) in weights.iter_mut().zip(&*news).zip(ids) {
                let other = id as usize;
                let y = forward(*w, degree[row], degree[other]);
                *w += new - g * (a * (2.0 * new + (projected[row][0] + projected[other][0])) + 2.0 * k * p) - y;
                sum += *w;
            }
            [sum, 0.0]
        });
        let change = total(projected.iter().map(|sum| sum[0]).sum()) - total(degree.iter().sum());
        self.dual[0] = p + g * change;
        self.degree = sums.into_iter().map(|sum| sum[0]).collect();
    }

    /// Changes the weights of all rows; what `of_row` returns for each (n).
    fn sweep(&mut self, of_row: impl Fn(RowOf<'_, R>) -> [f64; 2] + Sync) -> Vec<[f64; 2]> {
        let support = self.problem.support;
        let n = support.n_samples();
        let (mut weights_left, mut projected_left) = (self.weights.as_mut_slice(), self.projected.as_mut_slice());
        let mut sums = vec![[0.0; 2]; n];
        let mut blocks = Vec::with_capacity(n.div_ceil(BLOCK));
        for (block, sums) in sums.chunks_mut(BLOCK).enumerate() {
            let first = block * BLOCK;
            let entries = (support.starts[first + sums.len()] - support.starts[first]) as usize;
            let (weights, rest) = weights_left.split_at_mut(entries);
            let (projected, rest_projected) = projected_left.split_at_mut(entries.min(projected_left.len()));
            (weights_left, projected_left) = (rest, rest_projected);
            blocks.push((first, weights, projected, sums));
        }
        blocks.into_par_iter().for_each(|(first, mut weights, mut projected, sums)| {
            for (offset, sum) in sums.iter_mut().enumerate() {
                let (ids, squared) = support.row(first + offset);
                let (own, rest) = std::mem::take(&mut weights).split_at_mut(ids.len());
                let (news, rest_news) = {
                    let at = ids.len().min(projected.len());
                    std::mem::take(&mut projected).split_at_mut(at)
                };
                (weights, projected) = (rest, rest_news);
                *sum = of_row(RowOf { row: first + offset, weights: own, projected: news, ids, squared });
            }
        });
        sums
    }
}
