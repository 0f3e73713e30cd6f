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
//! it. λ above 200 is iterated in double precision, above 1,000 left to a [`LaplacianSolver`].
//!
//! Cost: (2m + 10·n) numbers moved for each column and iteration; O(√λ·log 1/tol) iterations. Memory: 4 numbers a row and
//! column of the columns under way, 5 with corrections. Parallel over columns and blocks of rows, sums in the order of the
//! blocks: any number of threads gives the same bits.

mod steps;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use lapwing_data::{Error, Matrix, Result, Run, check_memory};
use rayon::prelude::*;

use crate::dispatch::WIDEST;
use crate::kernels::{BLOCK_ROWS, sdd_product};
use crate::order::clusters;
use crate::pages::{Real, zeros};
use crate::precond::CLUSTER;
use crate::{Constraint, Graph, LaplacianParams, LaplacianSolver, SddMatrix};

/// Which smoothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropagatorParams {
    /// λ ≥ 0, weight of smoothness; default 1. 0 leaves everything as it is.
    pub graph_reg: f64,
    /// What is added to every degree, above 0; default 1 (Yang et al. 2021).
    pub self_loop: f64,
    /// So many steps of the unfolding in the place of the solution; default none.
    pub steps: Option<usize>,
    /// α of the unfolding, in (0, 2/(1 + 2λ)); default 1/(1 + λ).
    pub step_size: Option<f64>,
}

impl Default for PropagatorParams {
    fn default() -> Self {
        Self { graph_reg: 1.0, self_loop: 1.0, steps: None, step_size: None }
    }
}

impl PropagatorParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        let Self { graph_reg, self_loop, steps, step_size } = *self;
        if !(0.0..=1e12).contains(&graph_reg) {
            return Err(Error::param("graph_reg", graph_reg, "a number between 0 and 1e12"));
        }
        if !(self_loop > 0.0 && self_loop.is_finite()) {
            return Err(Error::param("self_loop", self_loop, "a positive number"));
        }
        if let Some(steps) = steps.filter(|steps| !(1..=MOST_STEPS).contains(steps)) {
            let expected = format!("between 1 and {MOST_STEPS}, or exact, to which more steps lead");
            return Err(Error::param("steps", steps, expected));
        }
        let most = 2.0 / (1.0 + 2.0 * graph_reg);
        match step_size {
            Some(alpha) if !(alpha > 0.0 && alpha < most) => {
                let expected = format!("above 0 and below 2/(1 + 2·graph_reg) = {most:.3e}: the steps diverge beyond");
                Err(Error::param("step_size", alpha, expected))
            }
            _ => Ok(()),
        }
    }
}

/// Most steps of an unfolding.
const MOST_STEPS: usize = 100_000;
/// λ above which a preconditioner of its own is made for the system.
const MOST_ITERATED: f64 = 1e3;
/// Rows from which they are put in an order in which neighbors lie close together: the columns under way leave the caches.
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
    /// 1 / diagonal of the matrix (n).
    inverse: Vec<f64>,
    /// Largest degree of the graph over those of D, at least 1: H is at most 1 + 2λ times it.
    growth: f64,
    /// Whether numbers of the matrix stay well within single precision.
    fits_single: bool,
    /// For λ beyond what is iterated here.
    solver: Option<LaplacianSolver>,
    passes: AtomicU64,
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
        run.install(|| {
            let adjacency = graph.adjacency();
            let degree: Vec<f64> = degrees.iter().map(|degree| degree + params.self_loop).collect();
            if let Some(row) = degree.iter().position(|d| !(*d > 0.0 && d.is_finite())) {
                return Err(Error::Value {
                    what: "degrees".into(),
                    row,
                    col: None,
                    value: degree[row].to_string(),
                    advice: "expected finite values of at least 0".into(),
                });
            }
            // λ = 0 leaves columns as they are; any matrix will do.
            let reg = if params.graph_reg > 0.0 { params.graph_reg } else { 1.0 };
            let shift: Vec<f64> = degree.iter().map(|d| d / reg).collect();
            let solver = if params.graph_reg > MOST_ITERATED && params.steps.is_none() {
                let params = LaplacianParams { tol: 1e-10, ..LaplacianParams::default() };
                Some(LaplacianSolver::new(graph, Some(&shift), params, run)?)
            } else {
                None
            };
            let natural = SddMatrix::borrowed(adjacency, &shift);
            let order = match n {
                ORDERED_ROWS.. => Some(Order::new(clusters(n, CLUSTER, |v| adjacency.row(v).0, run)?.order)),
                _ => None,
            };
            let identity: Vec<u32>;
            let rows = match &order {
                Some(order) => &order.nodes,
                None => {
                    identity = (0..n as u32).collect();
                    &identity
                }
            };
            let matrix = natural.reordered(rows, run)?;
            let own = graph.degree().iter().zip(&degree).map(|(own, degree)| own / degree);
            let growth = own.fold(1.0f64, f64::max);
            check_step_size(&params, growth)?;
            let root: Vec<f64> = rows.iter().map(|&node| degree[node as usize].sqrt()).collect();
            let inverse: Vec<f64> = crate::Operator::diagonal(&matrix).into_iter().map(f64::recip).collect();
            let fits_single = root.iter().chain(&inverse).all(|x| (1e-12..1e12).contains(x));
            let passes = AtomicU64::new(0);
            Ok(Self { params, order, matrix, root, inverse, growth, fits_single, solver, passes })
        })
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

    /// Z (n, s) for F (n, s), to a residual of `tol` in (0, 1), relative to each column, in the norm of the inverse diagonal; in
    /// single precision where `tol` and the values allow it, that is from 1e-6 on, and by corrections in it below.
    ///
    /// # Errors
    /// [`Error::Shape`] unless F has n rows; [`Error::NotConverged`] for columns whose iteration broke down, as overflowing
    /// ones do; [`Error::Interrupted`].
    pub fn solve(&self, f: &Matrix, tol: f64, run: &Run) -> Result<Matrix> {
        let (n, s) = (self.n(), f.n_cols());
        if f.n_rows() != n {
            return Err(Error::shape("columns to smooth", format!("{n} rows"), format!("{} rows", f.n_rows())));
        }
        if self.params.graph_reg == 0.0 || n == 0 || s == 0 {
            return Ok(f.clone());
        }
        let bytes = (16 * n as u64).saturating_mul(s as u64);
        check_memory(&format!("smoothing {s} columns of {n} rows"), bytes, "give fewer columns, or fewer rows")?;
        if let Some(solver) = &self.solver {
            return self.solve_stiff(solver, f, run);
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
                narrow(columns, self.solve_stiff(solver, &part, run)?.values())?;
            }
            return Ok(());
        }
        self.strips(n_columns, tol, run, wide, narrow)
    }

    /// By a solver with a preconditioner: (D/λ + L)·u = D^(1/2)·f/λ.
    fn solve_stiff(&self, solver: &LaplacianSolver, f: &Matrix, run: &Run) -> Result<Matrix> {
        let mut b = f.clone();
        let root = |at: usize| self.root[at] / self.params.graph_reg;
        // The solver has its own order of rows.
        let scale = |block: &mut Matrix, factor: &dyn Fn(usize) -> f64| {
            (0..block.n_rows()).for_each(|row| {
                let factor = factor(self.order.as_ref().map_or(row, |order| order.rows[row] as usize));
                block.row_mut(row).iter_mut().for_each(|x| *x *= factor);
            });
        };
        scale(&mut b, &root);
        let (mut u, info) = solver.solve(&b, None, Constraint::None, run)?;
        if !info.converged {
            return Err(not_converged(
                info.iterations.iter().copied().max().unwrap_or(0),
                info.summary().residual,
                1e-10,
            ));
        }
        self.passes.fetch_add(info.iterations.iter().map(|&one| one as u64).sum(), Ordering::Relaxed);
        scale(&mut u, &|at| self.root[at]);
        Ok(u)
    }

    fn strips<R: Real>(
        &self,
        n_columns: usize,
        tol: f64,
        run: &Run,
        fill: impl Fn(Range<usize>, &mut [R]) + Sync,
        mut take: impl FnMut(Range<usize>, &[R]) -> Result<()> + Send,
    ) -> Result<()> {
        let together = together(self.n(), size_of::<R>() == size_of::<f32>());
        let all: Vec<Range<usize>> = strips_of(n_columns).collect();
        run.install(|| {
            for group in all.chunks(together) {
                let solved = group.par_iter().map(|columns| self.strip(columns.clone(), tol, run, &fill));
                let solved = solved.collect::<Result<Vec<Vec<R>>>>()?;
                group.iter().zip(solved).try_for_each(|(columns, part)| take(columns.clone(), &part))?;
            }
            Ok(())
        })
    }

    /// A few columns of Z.
    fn strip<R: Real>(
        &self,
        columns: Range<usize>,
        tol: f64,
        run: &Run,
        fill: &(impl Fn(Range<usize>, &mut [R]) + Sync),
    ) -> Result<Vec<R>> {
        let (n, s) = (self.n(), columns.len());
        let mut part = zeros::<R>(n * s);
        fill(columns, &mut part);
        // Squares of very small or large values are not numbers that an iteration can divide by: such columns are scaled by
        // a power of two, which rounds nothing.
        let largest = largest_of_columns(&part, s);
        let is_scaled = !largest.iter().copied().all(is_usual);
        let unit: Vec<i32> = largest.into_iter().map(|x| if is_usual(x) { 0 } else { R::exponent(x) }).collect();
        if is_scaled {
            scale_columns(&mut part, &unit.iter().map(|e| R::round(2f64.powi(-e))).collect::<Vec<R>>());
        }
        // D^(1/2)·F/λ in the order of the rows.
        let scale = |row: usize| R::round(self.root[row] / self.params.graph_reg);
        let g = match &self.order {
            Some(order) => {
                let mut g = zeros::<R>(n * s);
                scaled_rows(&part, s, &order.nodes, &mut g, |row, _| scale(row));
                g
            }
            None => {
                scale_rows(&mut part, s, scale);
                std::mem::take(&mut part)
            }
        };
        let mut u = match self.params.steps {
            Some(steps) => self.unfold(&g, s, steps, run)?,
            None if (LEAST_REFINED..LEAST_SINGLE).contains(&tol) && self.is_mild() => self.refine(g, s, tol, run)?,
            None => self.iterate(g, s, tol, run)?,
        };
        let mut z = match &self.order {
            Some(order) => {
                scaled_rows(&u, s, &order.rows, &mut part, |_, row| R::round(self.root[row]));
                part
            }
            None => {
                scale_rows(&mut u, s, |row| R::round(self.root[row]));
                u
            }
        };
        if is_scaled {
            scale_columns(&mut z, &unit.iter().map(|e| R::round(2f64.powi(*e))).collect::<Vec<R>>());
        }
        Ok(z)
    }

    /// u ← u − αλ·D⁻¹·(M·u − g), M = D/λ + L, from u = λ·D⁻¹·g.
    fn unfold<R: Real>(&self, g: &[R], s: usize, steps: usize, run: &Run) -> Result<Vec<R>> {
        let reg = self.params.graph_reg;
        let alpha = self.params.step_size.unwrap_or(1.0 / (1.0 + reg * self.growth));
        let mut u = g.to_vec();
        scale_rows(&mut u, s, |row| R::round(reg / (self.root[row] * self.root[row])));
        let mut product = zeros::<R>(u.len());
        for _ in 0..steps {
            run.check()?;
            sdd_product(&self.matrix, &u, &mut product, s);
            u.par_chunks_mut(s)
                .zip(&self.root)
                .zip(product.par_chunks(s).zip(g.par_chunks(s)))
                .with_min_len(BLOCK_ROWS)
                .for_each(|((u, root), (product, g))| {
                    let factor = R::round(alpha * reg / (root * root));
                    u.iter_mut().zip(product).zip(g).for_each(|((u, p), g)| *u = *u - factor * (*p - *g));
                });
        }
        self.passes.fetch_add((steps * s) as u64, Ordering::Relaxed);
        Ok(u)
    }

    /// M·u = g by corrections in single precision for what is left, r = g − M·u, which is kept in that of the columns.
    fn refine<R: Real>(&self, g: Vec<R>, s: usize, tol: f64, run: &Run) -> Result<Vec<R>> {
        let mut r = g;
        let (mut u, mut product) = (zeros::<R>(r.len()), zeros::<R>(r.len()));
        let mut rz = steps::descend(&mut u, &mut r, &product, &product, &self.inverse, &vec![0.0; s]);
        let first = rz.clone();
        let mut left = 1.0;
        for _ in 0..MOST_CORRECTIONS {
            let lengths: Vec<f64> = rz.iter().map(|rz| rz.sqrt()).collect();
            let unit: Vec<f64> = lengths.iter().map(|l| if *l > 0.0 { l.recip() } else { 0.0 }).collect();
            let mut scaled = zeros::<f32>(r.len());
            scaled.par_chunks_mut(s).zip(r.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(to, r)| {
                to.iter_mut().zip(r).zip(&unit).for_each(|((to, r), unit)| *to = (r.wide() * unit) as f32);
            });
            let found = self.iterate(scaled, s, (0.5 * tol / left).max(CORRECTION), run)?;
            let mut correction = zeros::<R>(r.len());
            correction.par_iter_mut().zip(found).with_min_len(BLOCK_ROWS).for_each(|(to, x)| *to = R::round(x.into()));
            sdd_product(&self.matrix, &correction, &mut product, s);
            self.passes.fetch_add(s as u64, Ordering::Relaxed);
            rz = steps::descend(&mut u, &mut r, &correction, &product, &self.inverse, &lengths);
            left = worst(&rz, &first);
            if left <= tol {
                return Ok(u);
            }
        }
        Err(not_converged(MOST_CORRECTIONS, left, tol))
    }

    /// Conjugate gradients with the diagonal, from zero: M·u = g, each column with its own steps.
    fn iterate<R: Real>(&self, g: Vec<R>, s: usize, tol: f64, run: &Run) -> Result<Vec<R>> {
        let mut r = g;
        let (mut x, mut p, mut q) = (zeros::<R>(r.len()), zeros::<R>(r.len()), zeros::<R>(r.len()));
        let mut rz = steps::descend(&mut x, &mut r, &p, &q, &self.inverse, &vec![0.0; s]);
        let first = rz.clone();
        let mut beta = vec![0.0; s];
        // Twice what the condition number allows at most.
        let most = (self.condition().sqrt() * (2.0 / tol).ln()).ceil() as usize + 20;
        let mut left = 1.0;
        for iteration in 0..most {
            run.check()?;
            steps::turn(&mut p, &r, &self.inverse, &beta);
            let curvature = sdd_product(&self.matrix, &p, &mut q, s);
            let step: Vec<f64> =
                rz.iter().zip(&curvature).map(|(rz, pq)| if *pq > 0.0 { rz / pq } else { 0.0 }).collect();
            let new = steps::descend(&mut x, &mut r, &p, &q, &self.inverse, &step);
            beta = new.iter().zip(&rz).map(|(new, old)| if *old > 0.0 { new / old } else { 0.0 }).collect();
            rz = new;
            left = worst(&rz, &first);
            if left <= tol {
                self.passes.fetch_add(((iteration + 1) * s) as u64, Ordering::Relaxed);
                return Ok(x);
            }
        }
        Err(not_converged(most, left, tol))
    }
}

/// The most of √(rz/first) over the columns, or NaN.
fn worst(rz: &[f64], first: &[f64]) -> f64 {
    let relative = rz.iter().zip(first).map(|(rz, first)| if *first > 0.0 { (rz / first).sqrt() } else { 0.0 });
    relative.fold(0.0f64, |worst, r| if r.is_nan() || r > worst { r } else { worst })
}

/// The steps diverge beyond 2 over the largest eigenvalue of H, which reweighted edges may raise above 1 + 2λ.
fn check_step_size(params: &PropagatorParams, growth: f64) -> Result<()> {
    let most = 2.0 / (1.0 + 2.0 * params.graph_reg * growth);
    match (params.steps, params.step_size) {
        (Some(_), Some(alpha)) if alpha >= most => {
            Err(Error::param("step_size", alpha, format!("below {most:.3e} on edges that were reweighted")))
        }
        _ => Ok(()),
    }
}

fn not_converged(iterations: usize, residual: f64, tol: f64) -> Error {
    Error::NotConverged { solver: "propagation over the graph".into(), iterations, residual, tol }
}

/// Columns in strips of the width of the kernels.
fn strips_of(n_columns: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_columns).step_by(WIDEST).map(move |first| first..(first + WIDEST).min(n_columns))
}

/// Rows of a block (n, s), each times its factor.
/// The largest absolute value of each of `s` columns.
fn largest_of_columns<R: Real>(block: &[R], s: usize) -> Vec<f64> {
    let of_rows = |rows: &[R]| {
        let mut most = vec![0.0f64; s];
        rows.chunks(s).for_each(|row| most.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(x.wide().abs())));
        most
    };
    block.par_chunks(BLOCK_ROWS * s).map(of_rows).reduce(
        || vec![0.0; s],
        |mut most, other| {
            most.iter_mut().zip(other).for_each(|(most, x)| *most = most.max(x));
            most
        },
    )
}

/// Whether a column whose largest value this is can be solved for as it is, in single precision as well.
fn is_usual(largest: f64) -> bool {
    largest == 0.0 || (1e-20..1e20).contains(&largest)
}

fn scale_columns<R: Real>(block: &mut [R], factors: &[R]) {
    block.par_chunks_mut(factors.len()).with_min_len(BLOCK_ROWS).for_each(|row| {
        row.iter_mut().zip(factors).for_each(|(value, factor)| *value = *value * *factor);
    });
}

fn scale_rows<R: Real>(block: &mut [R], s: usize, factor: impl Fn(usize) -> R + Sync) {
    block.par_chunks_mut(s).enumerate().with_min_len(BLOCK_ROWS).for_each(|(row, values)| {
        let factor = factor(row);
        values.iter_mut().for_each(|value| *value = *value * factor);
    });
}

/// Row i ← row `rows[i]` of another block (n, s), times `factor(i, rows[i])`.
fn scaled_rows<R: Real>(from: &[R], s: usize, rows: &[u32], to: &mut [R], factor: impl Fn(usize, usize) -> R + Sync) {
    to.par_chunks_mut(s).enumerate().zip(rows).with_min_len(BLOCK_ROWS).for_each(|((at, to), &row)| {
        let factor = factor(at, row as usize);
        to.iter_mut().zip(&from[row as usize * s..][..s]).for_each(|(to, x)| *to = *x * factor);
    });
}

#[cfg(test)]
mod tests;
