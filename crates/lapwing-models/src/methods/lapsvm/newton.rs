//! Newton's method on matrices of labeled rows, or of weights, whose sizes do not depend on n.
//!
//! With G = γ_A·I + γ_I·L^p·K, M = G⁻¹·Jᵀ (n, l) and Q = J·K·M (l, l), symmetric and positive semidefinite, the coefficients are
//! α = M·ρ, and the objective is ½·[loss(Q·ρ + b) + ρᵀQρ]: that of a machine on the labeled rows alone, with Q as kernel. A step
//! solves
//!
//! ```text
//! [ 0   1ᵀ          ] [ b ]   [ 0    ]
//! [ 1   A⁻¹ + Q_EE  ] [ ρ ] = [ A⁻¹t ]    on the error vectors E, of weights A = diag(a)
//! ```
//!
//! (Melacci & Belkin 2011, eq. 11, after eliminating the unlabeled rows; the bias equation is that of the objective itself, valid
//! for any Laplacian). M and Q serve all problems. If K = Z·Zᵀ has fewer columns than there are labels, the unknowns are the
//! weights w of f = Z·w instead, with γ_A·I + γ_I·ZᵀL^pZ for the norm. One factorization, and a few small ones for each problem.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run};
use lapwing_solve::Lu;
use lapwing_solve::products::add_transposed_product;

use super::gram::{Gram, products, symmetrized};
use super::loss::{Active, Loss};
use super::objective::{Objective, Solution};

/// Columns of the Gram matrix that are fetched together, and of these the number smoothed together: a block that fits the caches.
pub(super) const FETCHED: usize = 512;
pub(super) const SMOOTHED: usize = 32;
/// M is refined if there are at least so many rows for each labeled one: its products with K then cost little beside the
/// factorization.
const REFINED_SHARE: usize = 8;
/// Most steps; a handful is usual.
const MOST_STEPS: usize = 200;

/// The unknowns of Newton's method: numbers c (k), and a linear map to the outputs o = outputs(c) + b at the labeled rows.
pub(super) trait Space {
    /// Values at the labeled rows (l), without bias.
    fn outputs(&self, c: &[f64]) -> Vec<f64>;
    /// The inner product of the norm: its square is γ_A·αᵀKα + γ_I·fᵀL^p f.
    fn inner(&self, a: &[f64], b: &[f64]) -> f64;
    /// The minimizer of the quadratic model whose terms are `active`, and its bias.
    fn minimizer(&self, active: &Active, has_bias: bool, run: &Run) -> Result<(Vec<f64>, f64)>;
    /// Number of unknowns c.
    fn dimension(&self) -> usize;
}

/// The result of Newton's method.
pub(super) struct Found {
    pub c: Vec<f64>,
    pub bias: f64,
    pub objective: f64,
    pub n_iter: usize,
    pub converged: bool,
    pub curve: Vec<f64>,
}

/// The minimum of J.
pub(super) fn newton(space: &dyn Space, loss: &Loss, has_bias: bool, n_labeled: usize, run: &Run) -> Result<Found> {
    let (mut c, mut bias) = (vec![0.0; space.dimension()], 0.0);
    let mut values = vec![0.0; n_labeled];
    let (mut active, squares) = loss.at(&values);
    let mut objective = 0.5 * squares;
    let mut curve = vec![objective];
    for step in 1..=MOST_STEPS {
        run.check()?;
        let (new, new_bias) = space.minimizer(&active, has_bias, run)?;
        let new_values = space.outputs(&new);
        let shifted = |values: &[f64], bias: f64| values.iter().map(|value| value + bias).collect::<Vec<f64>>();
        let (new_active, squares) = loss.at(&shifted(&new_values, new_bias));
        let reached = 0.5 * (squares + space.inner(&new, &new));
        let is_exact = new_active == active;
        // A full step that does not descend would cycle: the line search stops at the lowest point along it.
        if is_exact || reached <= objective * (1.0 + 1e-12) {
            (c, bias, values, active) = (new, new_bias, new_values, new_active);
            (objective, _) = (reached, curve.push(reached));
            if is_exact {
                return Ok(Found { c, bias, objective, n_iter: step, converged: true, curve });
            }
            continue;
        }
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let (d, q) = (difference(&new, &c), difference(&new_values, &values));
        let q_bias = new_bias - bias;
        let s = loss.step(&shifted(&values, bias), &shifted(&q, q_bias), space.inner(&d, &c), space.inner(&d, &d));
        if s <= 0.0 {
            return Ok(Found { c, bias, objective, n_iter: step, converged: true, curve });
        }
        c.iter_mut().zip(&d).for_each(|(c, d)| *c += s * d);
        values.iter_mut().zip(&q).for_each(|(value, q)| *value += s * q);
        bias += s * q_bias;
        let squares;
        (active, squares) = loss.at(&shifted(&values, bias));
        objective = 0.5 * (squares + space.inner(&c, &c));
        curve.push(objective);
    }
    Ok(Found { c, bias, objective, n_iter: MOST_STEPS, converged: false, curve })
}

/// The error for a system that is singular in double precision, in terms of the parameters.
pub(super) fn ill_posed(error: Error) -> Error {
    match error {
        Error::Param { name, .. } if name == "matrix" => {
            let expected = "a larger one, or label weights nearer to 1: the system is singular in double precision";
            Error::param("ambient_reg", "too small for this kernel", expected)
        }
        other => other,
    }
}

/// Solves [0 1ᵀ; 1 H]·[b; x] = [β; y], or H·x = y without bias; H (m, m) column after column.
fn bordered(h: Vec<f64>, ones: &[f64], y: &[f64], corner: f64, beta: f64, run: &Run) -> Result<(Vec<f64>, f64)> {
    let m = y.len();
    let mut all = vec![0.0; (m + 1) * (m + 1)];
    all[0] = corner;
    for j in 0..m {
        all[j + 1] = ones[j];
        let column = &mut all[(j + 1) * (m + 1)..(j + 2) * (m + 1)];
        column[0] = ones[j];
        column[1..].copy_from_slice(&h[j * m..(j + 1) * m]);
    }
    let mut x = Vec::with_capacity(m + 1);
    x.push(beta);
    x.extend_from_slice(y);
    Lu::factor(m + 1, all, run, |_| ()).map_err(ill_posed)?.solve(&mut x, run)?;
    let bias = x.remove(0);
    Ok((x, bias))
}

/// Q (l, l) and, as rows, the coefficients of each labeled row: α or w = Σ ρᵢ·Mᵢ.
pub(super) struct Resolvent {
    pub q: Matrix,
    m: Vec<f64>,
}

impl Resolvent {
    /// The resolvent of a Gram matrix: by one factorization of G (n, n), or none if nothing is smoothed.
    ///
    /// # Errors
    /// Errors of blocks that are computed; [`Error::Interrupted`].
    pub fn new(objective: &Objective<'_>, run: &Run) -> Result<Self> {
        let Gram::Matrix(gram) = objective.gram else {
            return Err(Error::Internal { reason: "a factor has a resolvent of its own".into() });
        };
        let (n, labeled) = (gram.n(), objective.labeled);
        let mut m = vec![0.0; labeled.len() * n];
        for (row, m) in labeled.iter().zip(m.chunks_exact_mut(n)) {
            m[*row as usize] = 1.0;
        }
        match objective.smoothness {
            None => m.iter_mut().for_each(|m| *m /= objective.ambient_reg),
            Some(smoothness) => {
                let mut g = vec![0.0; n * n];
                for (number, columns) in g.chunks_mut(FETCHED * n).enumerate() {
                    let first = (number * FETCHED) as u32;
                    let cols: Vec<u32> = (first..first + (columns.len() / n) as u32).collect();
                    columns.copy_from_slice(&gram.columns(&cols, run)?);
                    for part in columns.chunks_mut(SMOOTHED * n) {
                        let s = part.len() / n;
                        let mut block = transposed(part, n);
                        smoothness.apply(&mut block, s, run)?;
                        part.copy_from_slice(&transposed(&block, s));
                    }
                    run.install(|| columns.par_iter_mut().for_each(|value| *value *= objective.graph_reg));
                    for (at, column) in columns.chunks_exact_mut(n).enumerate() {
                        column[first as usize + at] += objective.ambient_reg;
                    }
                }
                let progress = |done: usize| run.progress().update(done as u64, "columns");
                let lu = Lu::factor(n, g, run, progress).map_err(ill_posed)?;
                lu.solve(&mut m, run)?;
                if labeled.len() * REFINED_SHARE <= n {
                    refine(&lu, objective, &mut m, run)?;
                }
            }
        }
        let rows = gram.columns(labeled, run)?;
        let q = symmetrized(products(&rows, &m, n, run)?);
        Ok(Self { q, m })
    }

    /// The resolvent of a factor, by the inverse of its norm: M = (γ_A·I + γ_I·S)⁻¹·Z_lᵀ.
    pub fn from_factor(norm: &Matrix, z: Vec<f64>, run: &Run) -> Result<Self> {
        let rank = norm.n_rows();
        let mut m = z.clone();
        Lu::factor(rank, norm.values().to_vec(), run, |_| ()).map_err(ill_posed)?.solve(&mut m, run)?;
        Ok(Self { q: symmetrized(products(&z, &m, rank, run)?), m })
    }

    /// Σ ρᵢ·Mᵢ.
    pub fn coefficients(&self, rho: &[f64]) -> Vec<f64> {
        let width = self.m.len() / rho.len().max(1);
        let mut out = vec![0.0; width];
        for (m, rho) in self.m.chunks_exact(width.max(1)).zip(rho).filter(|(_, rho)| **rho != 0.0) {
            out.iter_mut().zip(m).for_each(|(out, m)| *out += rho * m);
        }
        out
    }
}

/// A step of iterative refinement: M ← M + G⁻¹·(Jᵀ − G·M), with the residual from products with K and L, a few columns at a time.
fn refine(lu: &Lu, objective: &Objective<'_>, m: &mut [f64], run: &Run) -> Result<()> {
    let n = objective.gram.n();
    for (part, labeled) in m.chunks_mut(SMOOTHED * n).zip(objective.labeled.chunks(SMOOTHED)) {
        let s = labeled.len();
        let mut residual = vec![0.0; part.len()];
        objective.gram.apply(part, &mut residual, run)?;
        if let Some(smoothness) = objective.smoothness {
            let mut block = transposed(&residual, n);
            smoothness.apply(&mut block, s, run)?;
            residual = transposed(&block, s);
        }
        residual.iter_mut().zip(&*part).for_each(|(r, m)| *r = -(objective.graph_reg * *r + objective.ambient_reg * m));
        labeled.iter().enumerate().for_each(|(at, &row)| residual[at * n + row as usize] += 1.0);
        lu.solve(&mut residual, run)?;
        part.iter_mut().zip(&residual).for_each(|(m, r)| *m += r);
    }
    Ok(())
}

/// (a, b) → (b, a), for rows of `width` numbers.
fn transposed(values: &[f64], width: usize) -> Vec<f64> {
    const EDGE: usize = 32;
    let height = values.len() / width.max(1);
    let mut out = vec![0.0; values.len()];
    for i0 in (0..height).step_by(EDGE) {
        for j0 in (0..width).step_by(EDGE) {
            for i in i0..(i0 + EDGE).min(height) {
                for j in j0..(j0 + EDGE).min(width) {
                    out[j * height + i] = values[i * width + j];
                }
            }
        }
    }
    out
}

/// c = ρ: one number for each labeled row.
impl Space for Matrix {
    fn outputs(&self, c: &[f64]) -> Vec<f64> {
        self.rows().map(|row| row.iter().zip(c).map(|(q, c)| q * c).sum()).collect()
    }

    fn inner(&self, a: &[f64], b: &[f64]) -> f64 {
        self.outputs(b).iter().zip(a).map(|(qb, a)| qb * a).sum()
    }

    fn minimizer(&self, active: &Active, has_bias: bool, run: &Run) -> Result<(Vec<f64>, f64)> {
        let vectors: Vec<usize> = (0..self.n_rows()).filter(|&i| active.weights[i] > 0.0).collect();
        let m = vectors.len();
        let mut rho = vec![0.0; self.n_rows()];
        if m == 0 {
            return Ok((rho, 0.0));
        }
        let mut h = Vec::with_capacity(m * m);
        for &j in &vectors {
            h.extend(vectors.iter().map(|&i| self.row(j)[i]));
        }
        (0..m).for_each(|at| h[at * m + at] += active.weights[vectors[at]].recip());
        let y: Vec<f64> = vectors.iter().map(|&i| active.targets[i] / active.weights[i]).collect();
        let (ones, corner) = if has_bias { (1.0, 0.0) } else { (0.0, 1.0) };
        let (found, bias) = bordered(h, &vec![ones; m], &y, corner, 0.0, run)?;
        vectors.iter().zip(found).for_each(|(&i, value)| rho[i] = value);
        Ok((rho, bias))
    }

    fn dimension(&self) -> usize {
        self.n_rows()
    }
}

/// c = w: weights of the columns of a factor, for more labels than columns.
pub(super) struct Weights<'w> {
    /// γ_A·I + γ_I·ZᵀL^pZ (r, r).
    pub norm: &'w Matrix,
    /// Labeled rows of Z (l, r).
    pub z: &'w [f64],
}

impl Space for Weights<'_> {
    fn outputs(&self, c: &[f64]) -> Vec<f64> {
        self.z.chunks_exact(c.len().max(1)).map(|z| z.iter().zip(c).map(|(z, c)| z * c).sum()).collect()
    }

    fn inner(&self, a: &[f64], b: &[f64]) -> f64 {
        self.norm.inner(a, b)
    }

    fn minimizer(&self, active: &Active, has_bias: bool, run: &Run) -> Result<(Vec<f64>, f64)> {
        let rank = self.norm.n_rows();
        // ZᵀAZ and its right-hand sides, over the error vectors.
        let mut h = self.norm.values().to_vec();
        let mut roots = Vec::new();
        let (mut y, mut ones, mut corner, mut beta) = (vec![0.0; rank], vec![0.0; rank], 0.0, 0.0);
        for ((z, a), t) in self.z.chunks_exact(rank.max(1)).zip(&active.weights).zip(&active.targets) {
            if *a > 0.0 {
                let root = a.sqrt();
                roots.extend(z.iter().map(|z| root * z));
                y.iter_mut().zip(z).for_each(|(y, z)| *y += t * z);
                ones.iter_mut().zip(z).for_each(|(one, z)| *one += a * z);
                (corner, beta) = (corner + a, beta + t);
            }
        }
        if roots.is_empty() {
            return Ok((vec![0.0; rank], 0.0));
        }
        let count = roots.len() / rank;
        run.install(|| {
            h.par_chunks_mut(SMOOTHED * rank).enumerate().try_for_each(|(block, out)| {
                run.check()?;
                let (first, width) = (block * SMOOTHED, out.len() / rank);
                let columns: Vec<f64> =
                    roots.chunks_exact(rank).flat_map(|z| &z[first..first + width]).copied().collect();
                add_transposed_product(&columns, &roots, count, out);
                Ok::<(), Error>(())
            })
        })?;
        if !has_bias {
            (ones, corner, beta) = (vec![0.0; rank], 1.0, 0.0);
        }
        bordered(h, &ones, &y, corner, beta, run)
    }

    fn dimension(&self) -> usize {
        self.norm.n_rows()
    }
}

impl Found {
    /// The solution with these coefficients and values.
    pub fn solution(self, coefficients: Vec<f64>, is_of_rows: bool, values: Vec<f64>) -> Solution {
        Solution {
            coefficients,
            is_of_rows,
            bias: self.bias,
            values,
            objective: self.objective,
            n_iter: self.n_iter,
            residual: 0.0,
            converged: self.converged,
            curve: self.curve,
        }
    }
}
