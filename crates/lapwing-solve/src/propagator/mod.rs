//! Smoothing over a graph: Z = (I + λ·L̂)⁻¹·F for many columns, or its unfolding into a finite number of steps.
//!
//! ```text
//! D = diag(self_loop + degrees),  L̂ = D^(−1/2)·L·D^(−1/2),  H = I + λ·L̂
//! exact      Z = H⁻¹·F = D^(1/2)·(D + λL)⁻¹·D^(1/2)·F
//! unfolded   Z⁰ = F,  Zᵗ⁺¹ = Zᵗ − α·(H·Zᵗ − F)
//! ```
//!
//! (Yang et al. 2021; Yang, Yang, Hu & Dereziński, HERTA, eq. 4.5, where αÂ stands for αλÂ.) H is not diagonally dominant, as
//! that paper has it: D + λL is, and its solutions are the same. The self loop enters the degree only, so that nodes without
//! edges have one.
//!
//! **How.** Condition numbers are at most 1 + 2λ, so conjugate gradients with the diagonal arrive in some ten iterations for
//! λ = 1 and twenty for λ = 20; nothing else pays. Sixteen columns go together, each with its own steps: one line of memory
//! for each edge in single precision, which finds corrections of what is left in double precision where a tolerance is beyond
//! it. λ above 200 is iterated in double precision, above 1,000 left to a [`NormalizedSolver`].
//!
//! Cost: (2m + 10·n) numbers moved for each column and iteration; O(√λ·log 1/tol) iterations. Memory: 4 numbers a row and
//! column of the columns under way, 5 with corrections. Parallel over columns and blocks of rows, sums in the order of the
//! blocks: any number of threads gives the same bits.

mod blocks;
mod params;
mod strips;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lapwing_data::{Error, Matrix, Result, Run, check_memory};
use rayon::prelude::*;

pub use params::PropagatorParams;

use crate::check::check_values;
use crate::dispatch::WIDEST;
use crate::kernels::BLOCK_ROWS;
use crate::order::clusters;
use crate::pages::Real;
use crate::precond::{CLUSTER, Jacobi};
use crate::{Graph, LaplacianParams, NormalizedSolver, SddMatrix};
use blocks::{is_usual, largest_of_columns};

/// λ above which a preconditioner of its own is made for the system, and the relative residual that it is solved to.
const MOST_ITERATED: f64 = 1e3;
const STIFF_TOL: f64 = 1e-10;
/// Number of rows from which they are reordered so that neighbors lie close together: columns under way then exceed the caches.
const ORDERED_ROWS: usize = 1 << 15;
/// Least tolerance that single precision holds, and most λ for which it does.
const LEAST_SINGLE: f64 = 1e-6;
const MOST_SINGLE: f64 = 200.0;
/// Least tolerance that corrections in single precision are made for, what each is taken to, and how many there are at most.
const LEAST_REFINED: f64 = 1e-12;
const CORRECTION: f64 = 3e-5;
const MOST_CORRECTIONS: usize = 8;
/// Bytes of columns under way at most; strips beyond go one after the other, each in parallel over its rows.
const MOST_BYTES: usize = 1 << 27;
/// Strips that are worked on together at most.
const MOST_STRIPS: usize = 16;

/// Strips of n rows that are worked on together.
fn together(n: usize, is_single: bool) -> usize {
    let bytes = 4 * n * WIDEST * if is_single { size_of::<f32>() } else { size_of::<f64>() };
    (MOST_BYTES / bytes.max(1)).clamp(1, MOST_STRIPS)
}

/// Smoothing over a graph: Z = (I + λ·L̂)⁻¹·F for many columns, L̂ = I − D^(−1/2)·(W + self_loop·I)·D^(−1/2) and D the degrees with
/// the self loop; or so many steps Z ← Z − α·(H·Z − F) of its unfolding.
///
/// By conjugate gradients with the diagonal, sixteen columns together: O(√λ·log 1/tol) iterations, each of which moves 2m + 10·n
/// numbers for a column.
///
/// # Example
/// ```
/// use lapwing_data::{Matrix, Run};
/// use lapwing_solve::{Graph, Propagator, PropagatorParams};
///
/// // Two nodes that are joined, one that is not: what the first has is shared with the second.
/// let pair = Graph::from_edges(3, &[(0, 1, 1.0)])?;
/// let run = Run::new(None, 0)?;
/// let propagator = Propagator::new(&pair, PropagatorParams::default(), &run)?;
/// let smooth = propagator.solve(&Matrix::new(3, 1, vec![1.0, 0.0, 1.0])?, 1e-10, &run)?;
/// // D = 2, L̂ = [[½, −½], [−½, ½]]: H⁻¹ = [[¾, ¼], [¼, ¾]].
/// assert!((smooth.row(0)[0] - 0.75).abs() < 1e-9 && (smooth.row(1)[0] - 0.25).abs() < 1e-9);
/// assert!((smooth.row(2)[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), lapwing_data::Error>(())
/// ```
#[derive(Debug)]
pub struct Propagator {
    params: PropagatorParams,
    /// Where rows were put in an order.
    order: Option<Order>,
    /// D/λ + L.
    matrix: SddMatrix<'static>,
    /// √D (n).
    root: Vec<f64>,
    jacobi: Jacobi,
    /// Largest degree of the graph over those of D, at least 1: H is at most 1 + 2λ times it.
    growth: f64,
    /// Whether numbers of the matrix stay well within single precision.
    fits_single: bool,
    /// For λ beyond what is iterated here.
    solver: Option<NormalizedSolver>,
    passes: AtomicU64,
    shortfall: Mutex<Option<Shortfall>>,
}

/// A solve that did not reach its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortfall {
    /// Iterations, or corrections in single precision.
    pub n_iter: usize,
    /// Relative residual that was reached; NaN for columns that left the range of numbers.
    pub residual: f64,
    /// Tolerance.
    pub tol: f64,
}

impl Shortfall {
    /// The one of the larger residual, NaN above all; `first` where they are equal.
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

    /// The same with the degrees (n) of another graph, from which this one was made by dropping and reweighting edges:
    /// D = self_loop + `degrees`, L that of `graph`.
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
        params.check_step_size(growth)?;
        run.install(|| Self::prepare(graph, degree, growth, params, run))
    }

    fn prepare(graph: &Graph, degree: Vec<f64>, growth: f64, params: PropagatorParams, run: &Run) -> Result<Self> {
        let (n, adjacency) = (graph.n_samples(), graph.adjacency());
        // λ = 0 leaves columns as they are; any matrix is right.
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
    /// its inverse, and places of the rows.
    pub fn memory_bytes(n: usize, n_edges: usize) -> usize {
        2 * 12 * n_edges + 40 * n
    }

    /// Bytes of columns under way while `n_columns` are solved for, besides those that come in and go out: four or five numbers a
    /// row for strips that a thread works on, one for those that wait for their group.
    pub fn strip_bytes(n: usize, n_columns: usize, is_single: bool, threads: usize) -> usize {
        let width = n * WIDEST.min(n_columns) * if is_single { size_of::<f32>() } else { size_of::<f64>() };
        let together = together(n, is_single).min(n_columns.div_ceil(WIDEST));
        let active = together.min(threads.max(1));
        // Residual, solution, direction and product; columns in the caller's order, or what is corrected in double precision.
        let blocks = 4 + usize::from(n >= ORDERED_ROWS) + usize::from(!is_single);
        width * (blocks * active + (together - active))
    }

    /// Entries of the adjacency matrix: twice the edges.
    pub fn n_entries(&self) -> usize {
        self.matrix.n_entries()
    }

    /// Which smoothing it is.
    pub fn params(&self) -> &PropagatorParams {
        &self.params
    }

    /// The most that the condition number of H can be: 1 + 2λ, or more where edges were reweighted.
    pub fn condition(&self) -> f64 {
        1.0 + 2.0 * self.params.graph_reg * self.growth
    }

    /// Products of the graph with one column so far.
    pub fn n_passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    /// The worst solve so far that did not reach its tolerance, as those of overflowing columns do not.
    pub fn shortfall(&self) -> Option<Shortfall> {
        // Nothing panics while it is held.
        *self.shortfall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, found: Option<Shortfall>) {
        let mut worst = self.shortfall.lock().unwrap_or_else(PoisonError::into_inner);
        *worst = Shortfall::worst(*worst, found);
    }

    /// Z (n, s) for F (n, s), to a residual of `tol` in (0, 1), relative to each column, in the norm of the inverse diagonal; in
    /// single precision where `tol` and the values allow it, that is from 1e-6 on, and by corrections in it below.
    ///
    /// # Errors
    /// [`Error::Shape`] unless F has n rows; [`Error::Interrupted`]. Not converging is no error: see [`Propagator::shortfall`].
    pub fn solve(&self, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (n, s) = (self.n(), f.n_cols());
        if f.n_rows() != n {
            return Err(Error::shape("columns to smooth", format!("{n} rows"), format!("{} rows", f.n_rows())));
        }
        if tol.is_nan() || tol < 0.0 {
            return Err(Error::param("tol", tol, "a number of at least 0"));
        }
        if self.params.graph_reg == 0.0 || n == 0 || s == 0 {
            return Ok(f.clone());
        }
        let bytes = (16 * n as u64).saturating_mul(s as u64);
        check_memory(&format!("smoothing {s} columns of {n} rows"), bytes, "give fewer columns, or fewer rows")?;
        if let Some(solver) = &self.solver {
            return self.solve_stiff(solver, f, tol, run);
        }
        // A column of others than these may be lost when it is rounded to single precision.
        if self.is_single(tol) && largest_of_columns(f.values(), s).into_iter().all(is_usual) {
            self.solve_in::<f32>(f, tol, run)
        } else {
            self.solve_in::<f64>(f, tol, run)
        }
    }

    /// Whether single precision holds a residual.
    fn is_single(&self, tol: f64) -> bool {
        tol >= LEAST_SINGLE && self.is_mild() && self.params.steps.is_none()
    }

    /// Whether single precision will do at all.
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
        self.strips(s, tol, run, fill, |columns, part: &[R]| {
            let rows = out.values_mut().par_chunks_mut(s).zip(part.par_chunks(columns.len()));
            rows.with_min_len(BLOCK_ROWS).for_each(|(row, part)| {
                row[columns.clone()].iter_mut().zip(part).for_each(|(out, x)| *out = x.wide());
            });
            Ok(())
        })?;
        Ok(out)
    }

    /// Z for `n_columns` columns, some at a time: `fill` writes columns of F (n, w), row-major, and `take` gets those of Z
    /// in their order. In single precision, where `tol` allows it.
    ///
    /// # Errors
    /// As [`Propagator::solve`], and those of `take`.
    pub fn solve_wide(
        &self,
        n_columns: usize,
        tol: f64,
        run: &Run,
        fill: impl Fn(Range<usize>, &mut [f32]) + Sync,
        mut take: impl FnMut(Range<usize>, &[f32]) -> Result<()> + Send,
    ) -> Result<()> {
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
        self.strips(n_columns, tol, run, wide, narrow)
    }

    /// By a solver with a preconditioner.
    fn solve_stiff(&self, solver: &NormalizedSolver, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (z, info) = solver.solve(f, None, run)?;
        let residual = info.summary().residual;
        let is_within = info.converged || residual <= tol;
        self.note((!is_within).then(|| Shortfall { n_iter: info.n_iter(), residual, tol: tol.max(STIFF_TOL) }));
        self.passes.fetch_add(info.iterations.iter().map(|&one| one as u64).sum(), Ordering::Relaxed);
        Ok(z)
    }
}

/// Columns in strips of the width of the kernels.
fn strips_of(n_columns: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_columns).step_by(WIDEST).map(move |first| first..(first + WIDEST).min(n_columns))
}
