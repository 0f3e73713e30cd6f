//! Smoothing over a graph: Z = (I + λ·L̂)⁻¹·F for many columns, or its unfolding into a finite number of steps.
//!
//! ```text
//! D = diag(self_loop + degrees),  L̂ = D^(−1/2)·L·D^(−1/2),  H = I + λ·L̂
//! exact      Z = H⁻¹·F = D^(1/2)·(D + λL)⁻¹·D^(1/2)·F
//! unfolded   Z⁰ = F,  Zᵗ⁺¹ = Zᵗ − α·(H·Zᵗ − F)
//! ```
//!
//! (Yang et al. 2021; Yang, Yang, Hu & Dereziński, HERTA, eq. 4.5, where αÂ stands for αλÂ.) That paper takes H for diagonally
//! dominant, which it is not; D + λL is, and gives the same solutions. The self loop is added to the degree only, so that nodes
//! without edges have a degree.
//!
//! **How.** Condition numbers are at most 1 + 2λ, so conjugate gradients with the diagonal converge in some ten iterations for λ
//! = 1 and twenty for λ = 20; a stronger preconditioner does not pay. Sixteen columns are solved together, each with its own
//! steps: in single precision they need one cache line for each edge. Tolerances beyond single precision are reached by
//! corrections in single precision of residuals in double. λ above 200 is iterated in double precision, above 1,000 by a
//! [`NormalizedSolver`].
//!
//! Cost: (2m + 10·n) numbers moved for each column and iteration; O(√λ·log 1/tol) iterations. Memory: 4 numbers for each row and
//! active column, 5 with corrections. Parallel over columns and blocks of rows; sums are taken in the order of the blocks, so
//! that any number of threads gives the same bits.

mod blocks;
mod params;
mod strips;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run, check_memory, lock};

pub use params::PropagatorParams;

use crate::blocks::BLOCK_ROWS;
use crate::check::check_values;
use crate::dispatch::WIDEST;
use crate::order::clusters;
use crate::precond::{CLUSTER, Jacobi};
use crate::real::Real;
use crate::{Graph, LaplacianParams, NormalizedSolver, SddMatrix};
use blocks::{is_usual, largest_of_columns};

/// λ above which the system gets a preconditioner of its own, and the relative residual to which it is solved.
const MOST_ITERATED: f64 = 1e3;
const STIFF_TOL: f64 = 1e-10;
/// Number of rows from which they are reordered so that neighbors lie close together: active columns then exceed the caches.
const ORDERED_ROWS: usize = 1 << 15;
/// Least tolerance that single precision reaches, and largest λ for which it does.
const LEAST_SINGLE: f64 = 1e-6;
const MOST_SINGLE: f64 = 200.0;
/// Least tolerance that corrections in single precision reach, the tolerance of each, and the most of them.
const LEAST_REFINED: f64 = 1e-12;
const CORRECTION: f64 = 3e-5;
const MOST_CORRECTIONS: usize = 8;
/// Most bytes of active columns. If strips need more, they are solved one after another, each in parallel over its rows.
const MOST_BYTES: usize = 1 << 27;
/// Most strips that are solved together.
const MOST_STRIPS: usize = 16;

/// Number of strips of n rows that are solved together.
fn together(n: usize, is_single: bool) -> usize {
    let bytes = 4 * n * WIDEST * if is_single { size_of::<f32>() } else { size_of::<f64>() };
    (MOST_BYTES / bytes.max(1)).clamp(1, MOST_STRIPS)
}

/// Writes columns of a block: gets their range and the block (n, w), row-major.
pub type Fill<'a, R> = &'a (dyn Fn(Range<usize>, &mut [R]) + Sync);

/// Takes columns of a block, as [`Fill`].
pub type Take<'a, R> = &'a mut (dyn FnMut(Range<usize>, &[R]) -> Result<()> + Send);

/// Smoothing over a graph: Z = (I + λ·L̂)⁻¹·F for many columns, with L̂ = I − D^(−1/2)·(W + self_loop·I)·D^(−1/2) and D the
/// degrees with the self loop. With [`PropagatorParams::steps`], that many steps Z ← Z − α·(H·Z − F) of its unfolding instead.
///
/// Conjugate gradients with the diagonal, sixteen columns together: O(√λ·log 1/tol) iterations, each of which moves 2m + 10·n
/// numbers for a column.
///
/// # Example
/// ```
/// use lapwing_core::{Matrix, Run};
/// use lapwing_solve::{Graph, Propagator, PropagatorParams};
///
/// // Two nodes that are joined, one that is not: the second gets a part of the value of the first.
/// let pair = Graph::from_edges(3, &[(0, 1, 1.0)])?;
/// let run = Run::new(None, 0)?;
/// let propagator = Propagator::new(&pair, PropagatorParams::default(), &run)?;
/// let smooth = propagator.solve(&Matrix::new(3, 1, vec![1.0, 0.0, 1.0])?, 1e-10, &run)?;
/// // D = 2, L̂ = [[½, −½], [−½, ½]]: H⁻¹ = [[¾, ¼], [¼, ¾]].
/// assert!((smooth.row(0)[0] - 0.75).abs() < 1e-9 && (smooth.row(1)[0] - 0.25).abs() < 1e-9);
/// assert!((smooth.row(2)[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Propagator {
    params: PropagatorParams,
    /// The order of the rows, if they were reordered.
    order: Option<Order>,
    /// D/λ + L.
    matrix: SddMatrix<'static>,
    /// √D (n).
    root: Vec<f64>,
    jacobi: Jacobi,
    /// Largest degree of the graph relative to D, at least 1: the eigenvalues of H are at most this times 1 + 2λ.
    growth: f64,
    /// Whether the values of the matrix stay well within single precision.
    fits_single: bool,
    /// For λ above [`MOST_ITERATED`].
    solver: Option<NormalizedSolver>,
    passes: AtomicU64,
    shortfall: Mutex<Option<Shortfall>>,
}

/// A solve that did not reach its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// Iterations, or corrections in single precision.
    pub n_iter: usize,
    /// Relative residual that was reached; NaN if a column overflowed.
    pub residual: f64,
    /// Tolerance.
    pub tol: f64,
}

impl Shortfall {
    /// The one with the larger residual, where NaN is largest; `first` if they are equal.
    pub fn worst(first: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (first, other) {
            (Some(first), Some(other)) if other.residual > first.residual || other.residual.is_nan() => Some(other),
            _ => first.or(other),
        }
    }
}

/// An order of rows in which neighbors lie close together.
#[derive(Debug)]
struct Order {
    /// Node of each row.
    nodes: Vec<u32>,
    /// Row of each node.
    rows: Vec<u32>,
}

impl Order {
    fn new(nodes: Vec<u32>) -> Self {
        let mut rows = vec![0; nodes.len()];
        nodes.iter().enumerate().for_each(|(row, &node)| rows[node as usize] = row as u32);
        Self { nodes, rows }
    }
}

impl Propagator {
    /// Prepares `graph` (n).
    ///
    /// # Errors
    /// [`Error::Param`] for parameters outside their range; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(n + m) time, one copy of the matrix of 4 to 12 bytes an entry.
    pub fn new(graph: &Graph, params: PropagatorParams, run: &Run) -> Result<Self> {
        Self::with_degrees(graph, graph.degree(), params, run)
    }

    /// The same with the degrees (n) of another graph, of which `graph` is a sparsified or reweighted version: D = self_loop +
    /// `degrees`, L that of `graph`.
    ///
    /// # Errors
    /// As [`Propagator::new`]; [`Error::Shape`] unless there is a degree for each node; [`Error::Value`] for one that is negative or
    /// not finite.
    pub fn with_degrees(graph: &Graph, degrees: &[f64], params: PropagatorParams, run: &Run) -> Result<Self> {
        params.validate()?;
        let n = graph.n_samples();
        if degrees.len() != n {
            return Err(Error::shape("degrees", format!("{n} values"), degrees.len()));
        }
        let degree: Vec<f64> = degrees.iter().map(|degree| degree + params.self_loop).collect();
        check_values("degrees", &degree, "expected finite values of at least 0", |d| d > 0.0 && d.is_finite())?;
        let growth = graph.degree().iter().zip(&degree).map(|(own, degree)| own / degree).fold(1.0f64, f64::max);
        run.install(|| Self::prepare(graph, degree, growth, params, run))
    }

    fn prepare(graph: &Graph, degree: Vec<f64>, growth: f64, params: PropagatorParams, run: &Run) -> Result<Self> {
        let (n, adjacency) = (graph.n_samples(), graph.adjacency());
        // λ = 0 leaves columns unchanged, whatever the matrix.
        let reg = if params.graph_reg > 0.0 { params.graph_reg } else { 1.0 };
        let shift: Vec<f64> = degree.iter().map(|d| d / reg).collect();
        let order = match n {
            ORDERED_ROWS.. => Some(Order::new(clusters(n, CLUSTER, |v| adjacency.row(v).0, run)?.order)),
            _ => None,
        };
        let natural: Vec<u32> = if order.is_none() { (0..n as u32).collect() } else { Vec::new() };
        let rows = order.as_ref().map_or(&natural, |order| &order.nodes);
        let matrix = SddMatrix::new(graph, &shift)?.reordered(rows, run)?;
        let root: Vec<f64> = rows.iter().map(|&node| degree[node as usize].sqrt()).collect();
        let jacobi = Jacobi::new(matrix.diagonal())?;
        let fits_single = root.iter().chain(jacobi.values()).all(|x| (1e-12..1e12).contains(x));
        let is_stiff = params.graph_reg > MOST_ITERATED && params.steps.is_none();
        let stiff = || {
            let inner = LaplacianParams { tol: STIFF_TOL, ..LaplacianParams::default() };
            NormalizedSolver::with_degrees(graph, degree, params.graph_reg, inner, run)
        };
        let solver = is_stiff.then(stiff).transpose()?;
        let (passes, shortfall) = (AtomicU64::new(0), Mutex::new(None));
        Ok(Self { params, order, matrix, root, jacobi, growth, fits_single, solver, passes, shortfall })
    }

    /// Nodes n.
    pub fn n(&self) -> usize {
        self.root.len()
    }

    /// Bytes of a propagator of `n` nodes and `n_edges` edges: its matrix with 12 bytes for each direction, root, diagonal and
    /// its inverse, and the order of the rows.
    pub fn memory_bytes(n: usize, n_edges: usize) -> usize {
        2 * 12 * n_edges + 40 * n
    }

    /// Bytes of active columns while `n_columns` are solved, besides input and output: four or five numbers a row for strips that
    /// a thread works on, one for those that wait for their group.
    pub fn strip_bytes(n: usize, n_columns: usize, is_single: bool, threads: usize) -> usize {
        let width = n * WIDEST.min(n_columns) * if is_single { size_of::<f32>() } else { size_of::<f64>() };
        let together = together(n, is_single).min(n_columns.div_ceil(WIDEST));
        let active = together.min(threads.max(1));
        // Residual, solution, direction and product; columns in the caller's order, or the residual in double precision.
        let blocks = 4 + usize::from(n >= ORDERED_ROWS) + usize::from(!is_single);
        width * (blocks * active + (together - active))
    }

    /// Entries of the adjacency matrix: twice the edges.
    pub fn n_entries(&self) -> usize {
        self.matrix.n_entries()
    }

    /// Parameters of the smoothing.
    pub fn params(&self) -> &PropagatorParams {
        &self.params
    }

    /// Upper bound on the condition number of H: 1 + 2λ, or more if edges were reweighted.
    pub fn condition(&self) -> f64 {
        1.0 + 2.0 * self.params.graph_reg * self.growth
    }

    /// Products of the graph with one column so far.
    pub fn n_passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// The worst solve so far that did not reach its tolerance; columns that overflow never reach it.
    pub fn shortfall(&self) -> Option<Shortfall> {
        *lock(&self.shortfall)
    }

    fn note(&self, found: Option<Shortfall>) {
        let mut worst = lock(&self.shortfall);
        *worst = Shortfall::worst(*worst, found);
    }

    /// Z (n, s) for F (n, s), to a residual of `tol` in (0, 1), relative to each column, in the norm of the inverse diagonal. In
    /// single precision if the values allow it: directly for `tol` from 1e-6 on, by corrections below.
    ///
    /// # Errors
    /// [`Error::Shape`] unless F has n rows; [`Error::Param`] for `tol`; [`Error::Interrupted`]. Not converging is no error: see [`Propagator::shortfall`].
    pub fn solve(&self, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (n, s) = (self.n(), f.n_cols());
        if f.n_rows() != n {
            return Err(Error::shape("columns to smooth", format!("{n} rows"), format!("{} rows", f.n_rows())));
        }
        check_tol(tol)?;
        if self.params.graph_reg == 0.0 || n == 0 || s == 0 {
            return Ok(f.clone());
        }
        let bytes = (16 * n as u64).saturating_mul(s as u64);
        check_memory(&format!("smoothing {s} columns of {n} rows"), bytes, "give fewer columns, or fewer rows")?;
        if let Some(solver) = &self.solver {
            return self.solve_stiff(solver, f, tol, run);
        }
        // Rounding to single precision may lose columns with other values than these.
        if self.is_single(tol) && largest_of_columns(f.values(), s).into_iter().all(is_usual) {
            self.solve_in::<f32>(f, tol, run)
        } else {
            self.solve_in::<f64>(f, tol, run)
        }
    }

    /// Whether single precision reaches the tolerance.
    fn is_single(&self, tol: f64) -> bool {
        tol >= LEAST_SINGLE && self.is_mild() && self.params.steps.is_none()
    }

    /// Whether single precision can be used at all.
    fn is_mild(&self) -> bool {
        self.params.graph_reg * self.growth <= MOST_SINGLE && self.fits_single
    }

    fn solve_in<R: Real>(&self, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (n, s) = (self.n(), f.n_cols());
        let mut out = Matrix::filled(n, s, 0.0);
        let fill = |columns: Range<usize>, part: &mut [R]| {
            let rows = part.par_chunks_mut(columns.len()).zip(f.values().par_chunks(s)).with_min_len(BLOCK_ROWS);
            rows.for_each(|(part, row)| {
                part.iter_mut().zip(&row[columns.clone()]).for_each(|(part, x)| *part = R::round(*x));
            });
        };
        self.strips(s, tol, run, &fill, &mut |columns, part: &[R]| {
            let rows = out.values_mut().par_chunks_mut(s).zip(part.par_chunks(columns.len()));
            rows.with_min_len(BLOCK_ROWS).for_each(|(row, part)| {
                row[columns.clone()].iter_mut().zip(part).for_each(|(out, x)| *out = x.wide());
            });
            Ok(())
        })?;
        Ok(out)
    }

    /// Z for `n_columns` columns, some at a time: `fill` writes columns of F (n, w), row-major, and `take` gets those of Z in
    /// their order. In single precision if `tol` allows it.
    ///
    /// # Errors
    /// As [`Propagator::solve`], and those of `take`.
    pub fn solve_wide(
        &self,
        n_columns: usize,
        tol: f64,
        run: &Run,
        fill: Fill<'_, f32>,
        take: Take<'_, f32>,
    ) -> Result<()> {
        check_tol(tol)?;
        let n = self.n();
        if self.params.graph_reg == 0.0 || n == 0 {
            for columns in strips_of(n_columns) {
                let mut part = vec![0.0; n * columns.len()];
                fill(columns.clone(), &mut part);
                take(columns, &part)?;
            }
            return Ok(());
        }
        if self.is_single(tol) || (self.params.steps.is_some() && self.fits_single) {
            return self.strips(n_columns, tol, run, fill, take);
        }
        let wide = |columns: Range<usize>, part: &mut [f64]| {
            let mut single = vec![0.0; part.len()];
            fill(columns, &mut single);
            part.par_iter_mut().zip(&single).with_min_len(BLOCK_ROWS).for_each(|(wide, x)| *wide = (*x).into());
        };
        let mut narrow = |columns: Range<usize>, part: &[f64]| {
            let single: Vec<f32> = part.par_iter().with_min_len(BLOCK_ROWS).map(|&x| x as f32).collect();
            take(columns, &single)
        };
        if let Some(solver) = &self.solver {
            for columns in strips_of(n_columns) {
                let mut part = Matrix::filled(n, columns.len(), 0.0);
                wide(columns.clone(), part.values_mut());
                narrow(columns, self.solve_stiff(solver, &part, tol, run)?.values())?;
            }
            return Ok(());
        }
        self.strips(n_columns, tol, run, &wide, &mut narrow)
    }

    /// Solves by a solver with a preconditioner.
    fn solve_stiff(&self, solver: &NormalizedSolver, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (z, info) = solver.solve(f, None, &run.quiet())?;
        let residual = info.summary().residual;
        let is_within = info.converged || residual <= tol;
        self.note((!is_within).then(|| Shortfall { n_iter: info.n_iter(), residual, tol: tol.max(STIFF_TOL) }));
        self.passes.fetch_add(info.iterations.iter().map(|&one| one as u64).sum(), Ordering::Relaxed);
        Ok(z)
    }
}

fn check_tol(tol: f64) -> Result<()> {
    if tol > 0.0 && tol < 1.0 { Ok(()) } else { Err(Error::param("tol", tol, "above 0 and below 1")) }
}

/// Columns in strips of the width of the kernels.
fn strips_of(n_columns: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_columns).step_by(WIDEST).map(move |first| first..(first + WIDEST).min(n_columns))
}
