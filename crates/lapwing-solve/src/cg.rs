//! Block preconditioned conjugate gradients: A·X = B for s right-hand sides at once (Hestenes & Stiefel 1952).
//!
//! The columns are independent iterations with their own step lengths; what they share is each pass over A. A column
//! that has converged leaves the block, so the last ones do not pay for the first. A [`Projection`] takes a known
//! vector out of the iteration: the zero-mean constraint of stable harmonic functions, or the constant vector that
//! ruins the conditioning of plain ones.
//!
//! Cost: one product with A, one with M⁻¹ and some ten vector passes per iteration; memory 5 blocks (n, s) of f64.
//! Parallel over blocks of rows; sums are taken block by block in row order, so results do not depend on threads.
//!
//! Stops at ‖rᵢ‖₂ ≤ tol·‖bᵢ‖₂ for every column. The residual reported is recomputed from B − A·X at the end; a column
//! whose recursive residual had drifted from it is iterated again.

use std::time::Instant;

use lapwing_data::{Error, Matrix, Result, Run, SolveSummary};
use rayon::prelude::*;

use crate::Operator;
use crate::kernels::{BLOCK_ROWS, reduce};
use crate::precond::Preconditioner;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgParams {
    /// Relative residual ‖b − Ax‖ / ‖b‖ at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
}

impl Default for CgParams {
    fn default() -> Self {
        Self { tol: 1e-6, max_iter: 10_000 }
    }
}

/// A vector known beforehand to be kept out of the iteration.
#[derive(Clone, Copy, Debug)]
pub enum Projection<'a> {
    /// Nothing: A is positive definite and well enough conditioned.
    None,
    /// Solve P·A·P·x = P·b with P = I − 11ᵀ/n: minimise over zero-mean vectors. A may be singular on constants.
    ZeroMean,
    /// Keep directions A-orthogonal to 1, where A·1 = c (n), c ≥ 0: every z becomes z − (cᵀz)/(Σc). Needs 1ᵀb = 0; the
    /// solution has cᵀx = 0.
    OrthogonalToOnes(&'a [f64]),
}

/// How a solve went, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgInfo {
    /// Iterations of each column (s).
    pub iterations: Vec<usize>,
    /// Relative residual of each column (s), recomputed from the solution.
    pub residuals: Vec<f64>,
    /// Whether every column reached the tolerance.
    pub converged: bool,
    /// Largest relative residual among the columns still iterating, after each iteration.
    pub curve: Vec<f64>,
    /// Wall seconds.
    pub seconds: f64,
}

impl CgInfo {
    /// The part of it that goes into a report.
    pub fn summary(&self) -> SolveSummary {
        SolveSummary {
            n_iter: self.iterations.iter().copied().max().unwrap_or(0),
            residual: self.residuals.iter().fold(0.0, |most, &r| if r.is_nan() || r > most { r } else { most }),
            converged: self.converged,
            residual_curve: self.curve.clone(),
        }
    }
}

/// Recursive residuals may drift; this many times a column is restarted from its recomputed one.
const RESTARTS: usize = 3;

/// Solves A·X = B (n, s) from the start `x`, which becomes the solution. Under a projection the start must satisfy it
/// (zero does).
///
/// # Errors
/// [`Error::Shape`] for sizes that disagree; [`Error::Interrupted`]. Not converging is no error: see [`CgInfo`].
pub fn solve(
    operator: &dyn Operator,
    preconditioner: &dyn Preconditioner,
    projection: Projection<'_>,
    b: &Matrix,
    x: &mut Matrix,
    params: CgParams,
    run: &Run,
) -> Result<CgInfo> {
    let (n, s) = (operator.n(), b.n_cols());
    for (what, block) in [("right-hand side", b), ("start", &*x)] {
        if (block.n_rows(), block.n_cols()) != (n, s) {
            let got = format!("{} × {}", block.n_rows(), block.n_cols());
            return Err(Error::shape(what, format!("{n} × {s} values"), got));
        }
    }
    let start = Instant::now();
    let mut info = CgInfo { iterations: vec![0; s], residuals: vec![0.0; s], converged: true, ..CgInfo::default() };
    if n == 0 || s == 0 {
        return Ok(info);
    }
    run.install(|| {
        let norms = column_norms(b.values(), n, s);
        let mut open: Vec<usize> = (0..s).filter(|&c| norms[c] > 0.0).collect();
        zero_columns(x, &norms);
        let ones_product = if let Projection::OrthogonalToOnes(c) = projection { c.iter().sum() } else { 0.0 };
        let problem = Iteration { operator, preconditioner, projection, params, run, norms: &norms, ones_product };
        for attempt in 0..=RESTARTS {
            let mut residual = problem.residual(b, x, &open);
            let relative: Vec<f64> =
                column_norms(&residual, n, open.len()).iter().zip(&open).map(|(r, &c)| r / norms[c]).collect();
            open.iter().zip(&relative).for_each(|(&c, &r)| info.residuals[c] = r);
            // A little slack: the recursion stopped at tol, the recomputed residual may be a rounding above.
            let unsolved: Vec<usize> = (0..open.len()).filter(|&at| relative[at] > params.tol * 1.01).collect();
            let budget = |c: &usize| info.iterations[*c] < params.max_iter;
            if unsolved.is_empty() || attempt == RESTARTS || !unsolved.iter().any(|&at| budget(&open[at])) {
                break;
            }
            // The block of all columns goes before the iteration allocates its own.
            let residual = keep_columns(&std::mem::take(&mut residual), open.len(), &unsolved);
            open = unsolved.iter().map(|&at| open[at]).collect();
            problem.iterate(residual, x, &open, &mut info)?;
        }
        info.converged = info.residuals.iter().all(|r| *r <= params.tol * 1.01);
        info.seconds = start.elapsed().as_secs_f64();
        Ok(info)
    })
}

struct Iteration<'a> {
    operator: &'a dyn Operator,
    preconditioner: &'a dyn Preconditioner,
    projection: Projection<'a>,
    params: CgParams,
    run: &'a Run,
    norms: &'a [f64],
    /// 1ᵀA1 = Σc where constants are projected out, else unused.
    ones_product: f64,
}

impl Iteration<'_> {
    /// B − A·X for the columns `open`, projected.
    fn residual(&self, b: &Matrix, x: &Matrix, open: &[usize]) -> Vec<f64> {
        let (n, s, width) = (b.n_rows(), b.n_cols(), open.len());
        let x_open = keep_columns(x.values(), s, open);
        let mut product = vec![0.0; n * width];
        if width > 0 {
            self.operator.apply(&x_open, &mut product, width);
            product.par_chunks_mut(width).zip(b.values().par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(p, b)| {
                p.iter_mut().zip(open).for_each(|(p, &c)| *p = b[c] - *p);
            });
            self.project_range(&mut product, width);
        }
        product
    }

    /// Projects what lies in the range of A: residuals and products.
    fn project_range(&self, r: &mut [f64], s: usize) {
        if matches!(self.projection, Projection::ZeroMean) {
            subtract_mean(r, s);
        }
    }

    /// Projects what lies in the domain of A: preconditioned residuals.
    fn project_domain(&self, z: &mut [f64], s: usize) {
        match self.projection {
            Projection::None => {}
            Projection::ZeroMean => subtract_mean(z, s),
            Projection::OrthogonalToOnes(c) => {
                let n = c.len();
                let mut shift = reduce(n, s, |rows, sums| {
                    for row in rows.filter(|&row| c[row] != 0.0) {
                        sums.iter_mut().zip(&z[row * s..]).for_each(|(sum, z)| *sum += c[row] * z);
                    }
                });
                shift.iter_mut().for_each(|v| *v /= self.ones_product);
                subtract(z, &shift);
            }
        }
    }

    /// Conjugate gradients from the residual `r` of the columns `open`; adds the corrections to `x`.
    fn iterate(&self, mut r: Vec<f64>, x: &mut Matrix, open: &[usize], info: &mut CgInfo) -> Result<()> {
        let n = x.n_rows();
        let mut open = open.to_vec();
        let mut s = open.len();
        let mut z = vec![0.0; n * s];
        self.preconditioner.apply(&r, &mut z, s);
        self.project_domain(&mut z, s);
        let mut rz = column_dots(&r, &z, n, s);
        let mut p = z.clone();
        let mut q = vec![0.0; n * s];
        loop {
            self.run.check()?;
            self.operator.apply(&p, &mut q, s);
            self.project_range(&mut q, s);
            let curvature = column_dots(&p, &q, n, s);
            // A column whose curvature is not positive has reached the end of what f64 can do for it.
            let step: Vec<f64> =
                rz.iter().zip(&curvature).map(|(rz, pq)| if *pq > 0.0 { rz / pq } else { 0.0 }).collect();
            add_to_columns(x, &open, &p, &step);
            let squares = descend(&mut r, &q, &step, n, s);
            let mut worst: f64 = 0.0;
            let mut kept = Vec::with_capacity(s);
            for at in 0..s {
                let column = open[at];
                info.iterations[column] += 1;
                let relative = squares[at].sqrt() / self.norms[column];
                worst = worst.max(relative);
                let is_stuck = !(step[at] != 0.0 && step[at].is_finite());
                if relative > self.params.tol && !is_stuck && info.iterations[column] < self.params.max_iter {
                    kept.push(at);
                }
            }
            info.curve.push(worst);
            self.run.progress().update(info.curve.len() as u64, &format!("residual {worst:.1e}"));
            if kept.is_empty() {
                return Ok(());
            }
            if kept.len() < s {
                for block in [&mut r, &mut p] {
                    *block = keep_columns(block, s, &kept);
                }
                z.truncate(n * kept.len());
                q.truncate(n * kept.len());
                open = kept.iter().map(|&at| open[at]).collect();
                rz = kept.iter().map(|&at| rz[at]).collect();
                s = kept.len();
            }
            self.preconditioner.apply(&r, &mut z, s);
            self.project_domain(&mut z, s);
            let rz_new = column_dots(&r, &z, n, s);
            let beta: Vec<f64> = rz_new.iter().zip(&rz).map(|(new, old)| new / old).collect();
            rz = rz_new;
            p.par_chunks_mut(BLOCK_ROWS * s).zip(z.par_chunks(BLOCK_ROWS * s)).for_each(|(p, z)| {
                for (p, z) in p.chunks_exact_mut(s).zip(z.chunks_exact(s)) {
                    p.iter_mut().zip(z).zip(&beta).for_each(|((p, z), beta)| *p = z + beta * *p);
                }
            });
        }
    }
}

/// x[:, open] += p · diag(step).
fn add_to_columns(x: &mut Matrix, open: &[usize], p: &[f64], step: &[f64]) {
    let (total, s) = (x.n_cols(), open.len());
    x.values_mut().par_chunks_mut(BLOCK_ROWS * total).zip(p.par_chunks(BLOCK_ROWS * s)).for_each(|(x, p)| {
        for (x, p) in x.chunks_exact_mut(total).zip(p.chunks_exact(s)) {
            open.iter().zip(p).zip(step).for_each(|((&c, p), step)| x[c] += step * p);
        }
    });
}

/// r −= q · diag(step); returns Σ r² of each column.
fn descend(r: &mut [f64], q: &[f64], step: &[f64], n: usize, s: usize) -> Vec<f64> {
    r.par_chunks_mut(BLOCK_ROWS * s).zip(q.par_chunks(BLOCK_ROWS * s)).for_each(|(r, q)| {
        for (r, q) in r.chunks_exact_mut(s).zip(q.chunks_exact(s)) {
            r.iter_mut().zip(q).zip(step).for_each(|((r, q), step)| *r -= step * q);
        }
    });
    column_dots(r, r, n, s)
}

/// Σ aᵢ·bᵢ of each column.
fn column_dots(a: &[f64], b: &[f64], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        for (a, b) in a[range.clone()].chunks_exact(s).zip(b[range].chunks_exact(s)) {
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
        }
    })
}

fn column_norms(a: &[f64], n: usize, s: usize) -> Vec<f64> {
    if s == 0 { Vec::new() } else { column_dots(a, a, n, s).into_iter().map(f64::sqrt).collect() }
}

fn subtract_mean(block: &mut [f64], s: usize) {
    let n = block.len() / s;
    let mut mean = reduce(n, s, |rows, sums| {
        for row in block[rows.start * s..rows.end * s].chunks_exact(s) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        }
    });
    mean.iter_mut().for_each(|m| *m /= n as f64);
    subtract(block, &mean);
}

fn subtract(block: &mut [f64], shift: &[f64]) {
    let s = shift.len();
    block.par_chunks_mut(BLOCK_ROWS * s).for_each(|rows| {
        rows.chunks_exact_mut(s).for_each(|row| row.iter_mut().zip(shift).for_each(|(v, shift)| *v -= shift));
    });
}

/// The columns `keep` of a block (n, s).
fn keep_columns(block: &[f64], s: usize, keep: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; block.len() / s * keep.len()];
    if !keep.is_empty() {
        out.par_chunks_mut(keep.len()).zip(block.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(out, row)| {
            out.iter_mut().zip(keep).for_each(|(out, &c)| *out = row[c]);
        });
    }
    out
}

/// A zero right-hand side has the solution zero, whatever the start.
fn zero_columns(x: &mut Matrix, norms: &[f64]) {
    let s = x.n_cols();
    if norms.contains(&0.0) {
        x.values_mut().chunks_exact_mut(s).for_each(|row| {
            row.iter_mut().zip(norms).filter(|(_, norm)| **norm == 0.0).for_each(|(v, _)| *v = 0.0);
        });
    }
}

#[cfg(test)]
mod tests {
    use lapwing_data::Csr;
    use proptest::prelude::*;

    use super::*;
    use crate::precond::Jacobi;
    use crate::{SddMatrix, dense};

    /// A connected weighted graph of n nodes: a path with chords.
    fn adjacency(n: usize, seed: u64) -> Csr<f64> {
        let mut entries = Vec::new();
        for i in 0..n {
            for j in 0..i {
                let hash = (i as u64 * 7919 + j as u64 * 104_729 + seed * 31) % 97;
                if j + 1 == i || hash < 20 {
                    let weight = 0.1 + hash as f64 / 10.0;
                    entries.extend([(i as u32, j as u32, weight), (j as u32, i as u32, weight)]);
                }
            }
        }
        Csr::from_entries(n, n, &entries).unwrap()
    }

    fn dense_of(op: &SddMatrix<'_>) -> Matrix {
        let n = op.n();
        let mut eye = Matrix::filled(n, n, 0.0);
        (0..n).for_each(|i| eye.row_mut(i)[i] = 1.0);
        let mut out = Matrix::filled(n, n, 0.0);
        op.apply(eye.values(), out.values_mut(), n);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn solutions_equal_the_dense_ones(n in 3usize..40, s in 1usize..12, seed in 0u64..1000, gamma in 0.01..50.0f64) {
            let run = Run::new(Some(2), 0).unwrap();
            let w = adjacency(n, seed);
            let mut c = vec![0.0; n];
            c[0] = 1.0;
            c[n / 2] = 2.5;
            let op = SddMatrix::new(&w, gamma, c.clone()).unwrap();
            let mut b = Matrix::filled(n, s, 0.0);
            b.values_mut().iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 37 + seed as usize) % 19) as f64 - 9.0);
            let mut x = Matrix::filled(n, s, 0.0);
            let params = CgParams { tol: 1e-11, max_iter: 1000 };
            let jacobi = Jacobi::new(&op).unwrap();
            let info = solve(&op, &jacobi, Projection::None, &b, &mut x, params, &run).unwrap();
            prop_assert!(info.converged, "{info:?}");
            let exact = dense::solve_spd(&dense_of(&op), &b).unwrap();
            let scale = exact.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
            for (a, e) in x.values().iter().zip(exact.values()) {
                prop_assert!((a - e).abs() <= 1e-7 * scale);
            }
        }

        #[test]
        fn reported_residuals_are_true(n in 3usize..60, seed in 0u64..1000) {
            let run = Run::new(Some(1), 0).unwrap();
            let w = adjacency(n, seed);
            let shift = vec![0.01; n];
            let op = SddMatrix::new(&w, 1.0, shift.clone()).unwrap();
            let b = Matrix::new(n, 1, (0..n).map(|i| ((i * i) % 7) as f64 - 2.0).collect()).unwrap();
            let mut x = Matrix::filled(n, 1, 0.0);
            let jacobi = Jacobi::new(&op).unwrap();
            let info = solve(&op, &jacobi, Projection::None, &b, &mut x, CgParams { tol: 1e-3, max_iter: 5 }, &run).unwrap();
            let mut product = vec![0.0; n];
            op.apply(x.values(), &mut product, 1);
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
            let residual = norm(&mut b.values().iter().zip(&product).map(|(b, p)| b - p)) / norm(&mut b.values().iter().copied());
            prop_assert!((info.residuals[0] - residual).abs() <= 1e-12);
            prop_assert_eq!(info.converged, residual <= 1e-3 * 1.01);
        }
    }

    #[test]
    fn zero_mean_projection_solves_the_singular_system() {
        let run = Run::new(Some(2), 0).unwrap();
        let n = 50;
        let w = adjacency(n, 3);
        let op = SddMatrix::new(&w, 1.0, vec![0.0; n]).unwrap();
        let mut b = Matrix::filled(n, 2, 0.0);
        (b.row_mut(3)[0], b.row_mut(40)[0], b.row_mut(0)[1], b.row_mut(9)[1]) = (1.0, -1.0, 2.0, -2.0);
        let mut x = Matrix::filled(n, 2, 0.0);
        let params = CgParams { tol: 1e-12, max_iter: 1000 };
        let info = solve(&op, &Jacobi::new(&op).unwrap(), Projection::ZeroMean, &b, &mut x, params, &run).unwrap();
        assert!(info.converged, "{info:?}");
        for c in 0..2 {
            assert!(x.rows().map(|row| row[c]).sum::<f64>().abs() < 1e-10);
        }
        let mut product = vec![0.0; n * 2];
        op.apply(x.values(), &mut product, 2);
        assert!(product.iter().zip(b.values()).all(|(p, b)| (p - b).abs() < 1e-10));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let n = 9000;
        let entries: Vec<_> = (0..n as u32 - 1)
            .flat_map(|i| [(i, i + 1, 1.0 + f64::from(i % 7)), (i + 1, i, 1.0 + f64::from(i % 7))])
            .collect();
        let w = Csr::from_entries(n, n, &entries).unwrap();
        let shift: Vec<f64> = (0..n).map(|i| if i % 100 == 0 { 1.0 } else { 0.0 }).collect();
        let op = SddMatrix::new(&w, 1.0, shift.clone()).unwrap();
        let b = Matrix::new(n, 3, (0..3 * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect()).unwrap();
        let solutions: Vec<Matrix> = [1, 2, 7]
            .iter()
            .map(|&threads| {
                let mut x = Matrix::filled(n, 3, 0.0);
                let run = Run::new(Some(threads), 0).unwrap();
                solve(&op, &Jacobi::new(&op).unwrap(), Projection::None, &b, &mut x, CgParams::default(), &run)
                    .unwrap();
                x
            })
            .collect();
        assert!(solutions[0] == solutions[1] && solutions[1] == solutions[2]);
    }

    #[test]
    fn a_zero_right_hand_side_has_the_solution_zero() {
        let run = Run::new(Some(1), 0).unwrap();
        let w = adjacency(10, 1);
        let op = SddMatrix::new(&w, 1.0, vec![1.0; 10]).unwrap();
        let mut b = Matrix::filled(10, 2, 0.0);
        b.row_mut(4)[1] = 1.0;
        let mut x = Matrix::filled(10, 2, 5.0);
        let info =
            solve(&op, &Jacobi::new(&op).unwrap(), Projection::None, &b, &mut x, CgParams::default(), &run).unwrap();
        assert!(info.converged && x.rows().all(|row| row[0] == 0.0));
    }
}
