//! Systems of graph Laplacians: L·x = b, (L + D)·x = b with a diagonal D ≥ 0, (I + λL̂)·x = b.
//!
//! [`LaplacianSolver`] chooses and builds a preconditioner that suits the system, and solves for any number of right-hand sides
//! by block conjugate gradients. Rows are reordered so that neighbors lie close together.
//!
//! **Which preconditioner.** None is best everywhere. On graphs in which a random walk mixes fast (hubs, random graphs) the
//! diagonal is enough. On neighbor graphs the diagonal spends most iterations on shifting the level of whole regions; a coarse
//! system on cells of the graph does that at once. On meshes, chains, trees and weights over many orders of magnitude both are
//! slow, and an approximate Cholesky factor converges in some forty iterations. On small graphs, and on larger ones with small separators,
//! the complete factor costs as little as some iterations do, and one step is enough. `Auto` decides by a bound on the condition number
//! if the diagonal gives one. Otherwise it decides by a few trial iterations on right-hand sides that are random by row and by
//! cell. If the choice turns out slow, the factor is built once the iterations have cost as much as it does, and the solve
//! continues from its last solution.
//!
//! **Never a silent wrong answer.** Factors are random. One that stagnates is replaced by the factor of the next
//! [`FallbackLevel`] (trees on two copies of each edge, on four, on small graphs all pairs), from the last solution. The residual
//! that is returned is recomputed from b − A·x.
//!
//! **Singular systems.** A component of the graph without a positive entry of D is singular on its constants. The mean of the
//! right-hand side there is dropped and reported, and the solution of least norm, of mean zero there, is returned.
//!
//! **Cost.** O(m) for the preparation and for each iteration and column: 80 iterations are typical of neighbor graphs with cells,
//! 20 to 40 of factors. The page `docs/methods/laplacian-solver.md` has figures.

mod attempt;
mod bounds;
mod certificate;
mod choice;
mod fallback;
mod goal;
mod monitor;
mod normalized;
mod params;
mod placed;
mod scales;
mod singular;
mod system;
mod task;

use std::borrow::Cow;
use std::time::Instant;

use lapwing_core::parallel::*;
use lapwing_core::params::Parameters;
use lapwing_core::{Error, Matrix, Result, Run, check_memory, lock};

pub use bounds::{Differences, ErrorBounds, RowError};
pub use goal::{Certificate, CountOpen, Goal};
pub use normalized::NormalizedSolver;
pub use params::{LaplacianParams, PreconditionerChoice};

use crate::blocks::scatter;
use crate::cg::{Projection, SolveInfo};
use crate::check::{check_values, is_weight};
use crate::columns::{columns, write_columns};
use crate::dispatch::WIDEST;
use crate::precond::FallbackLevel;
use crate::{Graph, RightHandSides};
use fallback::Ladder;
use goal::{Nothing, Scaled, count_open};
use task::Columns;

/// Most rows of systems whose blocks of columns are solved side by side, a block by one thread: the vectors of a block then stay in the
/// caches of a core. And the blocks whose solutions are held until all of them are solved; a fixed number, so that results do not depend
/// on threads.
const MOST_ROWS_TOGETHER: usize = 1 << 14;
const BLOCKS_TOGETHER: usize = 32;

/// A solver for one Laplacian system and any number of right-hand sides; see the [module](self).
///
/// # Example
/// ```
/// use lapwing_core::{Matrix, Run};
/// use lapwing_solve::{Graph, LaplacianParams, LaplacianSolver};
///
/// // A path of four vertices, a current of 1 from one end to the other: potentials fall by 1 over each edge.
/// let path = Graph::from_edges(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)])?;
/// let run = Run::new(None, 0)?;
/// let solver = LaplacianSolver::new(&path, None, LaplacianParams::default(), &run)?;
/// let current = Matrix::new(4, 1, vec![1.0, 0.0, 0.0, -1.0])?;
/// let (potential, info) = solver.solve(&current, None, &run)?;
/// assert!(info.converged && (potential.row(0)[0] - potential.row(3)[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LaplacianSolver {
    ladder: Ladder,
    setup_seconds: f64,
}

impl LaplacianSolver {
    /// Prepares the system L + diag(`diagonal`), L the Laplacian of `graph` (n); without a diagonal, L.
    ///
    /// # Errors
    /// [`Error::Param`], [`Error::Shape`]; [`Error::Value`] naming the first entry of the diagonal that is negative or not finite,
    /// or the first row whose sum is not finite; [`Error::TooLarge`] if an approximate Cholesky factor that was asked for exceeds
    /// `max_fill`; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(m) time for the diagonal, some 100 ns for each entry of a factor (2 to 5 an edge). Memory: a copy of the matrix,
    /// of 4 to 12 bytes an entry, and 8 bytes for each entry of the factor.
    pub fn new(graph: &Graph, diagonal: Option<&[f64]>, params: LaplacianParams, run: &Run) -> Result<Self> {
        params.check_ranges()?;
        let start = Instant::now();
        let diagonal = checked_diagonal(diagonal, graph.n_samples())?;
        let ladder = Ladder::new(graph, &diagonal, params, run)?;
        Ok(Self { ladder, setup_seconds: start.elapsed().as_secs_f64() })
    }

    /// Number of rows n.
    pub fn n(&self) -> usize {
        self.ladder.system.n()
    }

    /// The preconditioner in use; the one chosen if the parameter was [`PreconditionerChoice::Auto`].
    pub fn preconditioner(&self) -> PreconditionerChoice {
        self.ladder.system.chosen
    }

    /// Changes the tolerance of later solves.
    ///
    /// # Errors
    /// [`Error::Param`] unless it is above 0 and below 1.
    pub fn set_tol(&mut self, tol: f64) -> Result<()> {
        let params = LaplacianParams { tol, ..self.ladder.params.clone() };
        params.check_ranges()?;
        self.ladder.params = params;
        Ok(())
    }

    /// Wall seconds of the preparation.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }

    /// Entries of the factors built so far.
    pub fn n_factor_entries(&self) -> usize {
        lock(&self.ladder.factors).iter().map(|placed| placed.factor.n_entries()).sum()
    }

    /// Bytes held: the matrix and the factors built so far.
    pub fn bytes(&self) -> usize {
        self.ladder.system.bytes()
            + lock(&self.ladder.factors).iter().map(|placed| placed.factor.bytes()).sum::<usize>()
    }

    /// Components of the graph on which the system is singular.
    pub fn n_singular_components(&self) -> usize {
        self.ladder.system.singular.sizes.len()
    }

    /// Number of columns, of `s`, that [`LaplacianSolver::solve`] solves together: at most sixteen, which fill whole vector
    /// registers. The last block has what remains.
    pub fn block_width(s: usize) -> usize {
        s.min(WIDEST)
    }

    /// Number of these blocks, of a system of `n` rows and `s` right-hand sides, that `threads` threads solve at the same time.
    pub fn blocks_at_once(n: usize, s: usize, threads: usize) -> usize {
        if n <= MOST_ROWS_TOGETHER { s.div_ceil(WIDEST).min(threads).max(1) } else { 1 }
    }

    /// Solves for the columns of `b` (n, s), from `start` (n, s) if there is one, else from zero.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Value`] for values that are not finite, [`Error::Interrupted`]. Not converging is no error: see
    /// [`SolveInfo::converged`].
    ///
    /// # Complexity
    /// Up to sixteen columns are solved together; each iteration reads the matrix, the factor and the blocks of these vectors
    /// once. Up to 16,384 rows, every thread solves for sixteen columns of its own. Memory of each, beside `b` and the solution: 4 blocks of
    /// f64 without a factor, 5 with one, and copies of `b` and `start`; in single precision, which graphs that mix fast allow, 4 blocks of
    /// f32. One block more for short times: while residuals are recomputed, while converged columns leave the block, while large parts of a
    /// factor are swept, and for a factor that was built during a solve and has an order of its own.
    pub fn solve<'a>(
        &self,
        b: impl Into<RightHandSides<'a>>,
        start: Option<&Matrix>,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo)> {
        let b = b.into();
        let (n, s) = (self.n(), b.n_cols());
        self.check(&b, start)?;
        let width = Self::block_width(s);
        if width == s {
            let (x, info, _) = self.solve_block(&b, start, None, self.ladder.first_level(), run)?;
            return Ok((x, info));
        }
        let blocks: Vec<Vec<usize>> =
            (0..s).step_by(width).map(|first| (first..(first + width).min(s)).collect()).collect();
        let (mut x, mut all) = (Matrix::filled(n, s, 0.0), SolveInfo::new(0));
        // The first block finds out which preconditioner suits. The others start with that one, whatever becomes of each other.
        let others = if n <= MOST_ROWS_TOGETHER { BLOCKS_TOGETHER } else { 1 };
        let mut n_done = 0;
        for group in std::iter::once(&blocks[..1]).chain(blocks[1..].chunks(others)) {
            let level = self.ladder.first_level();
            let end = n_done + group.len();
            let share = |n_blocks: usize| n_blocks as f64 / blocks.len() as f64;
            let run = &run.part(share(n_done)..share(end), &format!("block {end} of {}", blocks.len()));
            n_done = end;
            let solve = |at: &Vec<usize>| {
                let part = |block: &Matrix| Matrix::new(n, at.len(), columns(block.values(), s, at));
                self.solve_block(&b.columns(at)?, start.map(part).transpose()?.as_ref(), None, level, run)
            };
            let solved: Vec<_> = run.install(|| group.par_iter().with_max_len(1).map(solve).collect::<Result<_>>())?;
            for (at, (found, info, _)) in group.iter().zip(solved) {
                run.install(|| write_columns(x.values_mut(), s, found.values(), at.len(), at));
                all.join(info);
            }
        }
        Ok((x, all))
    }

    /// Solves from `start` until `goal` settles every row, with bounds on the errors of every row; see [`Certificate`]. The solve continues
    /// beyond the tolerance as long as that settles more rows. All columns are solved together; more than [`ErrorBounds::MOST_JOINT`] of
    /// them in blocks, if the factor is complete.
    ///
    /// # Errors
    /// As [`LaplacianSolver::solve`]. Rows that stay open are no error.
    ///
    /// # Complexity
    /// As [`LaplacianSolver::solve`] with one additional column, or two for more than four columns.
    pub fn solve_certified<'a>(
        &self,
        b: impl Into<RightHandSides<'a>>,
        start: Option<&Matrix>,
        goal: &dyn Goal,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo, Certificate)> {
        let b = b.into();
        self.check(&b, start)?;
        if self.n() > 0 && b.n_cols() > ErrorBounds::MOST_JOINT && self.ladder.first_level() == FallbackLevel::Cholesky
        {
            return self.certified_in_blocks(&b, start, goal, run);
        }
        self.solve_block(&b, start, Some(goal), self.ladder.first_level(), run)
    }

    /// Solves for many columns with a complete factor, which leaves errors of rounding alone. The columns are solved without bounds, in
    /// blocks that stay in the caches. One block is solved again with probes, whose λ bounds the errors of all columns. If these bounds
    /// leave rows open, all columns are solved together, from the solution so far.
    fn certified_in_blocks(
        &self,
        b: &RightHandSides<'_>,
        start: Option<&Matrix>,
        goal: &dyn Goal,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo, Certificate)> {
        // The solution, right-hand sides, solution and residuals in the solver's order, and residuals beside what M⁻¹ makes of them.
        self.check_room(b.n_cols(), 6)?;
        let level = self.ladder.first_level();
        let (x, info) = self.solve(b, start, &run.part(0.0..0.8, "blocks"))?;
        let first: Vec<usize> = (0..Self::block_width(b.n_cols())).collect();
        let rest = run.part(0.8..1.0, "bounds");
        let (_, _, known) = self.solve_block(&b.columns(&first)?, None, Some(&Nothing), level, &rest)?;
        let (errors, n_open) = run.install(|| {
            let (columns, found) = Columns::new(&self.ladder.system, b, Some(&x));
            let found = found.unwrap_or_else(|| Matrix::filled(0, 0, 0.0));
            let placed = self.ladder.placed(level, run)?;
            let engine = self.ladder.system.engine(placed.as_deref());
            let errors = self.ladder.system.error_bounds(&engine, &columns, &found, known.errors.lambda, run)?;
            let deviations: Vec<f64> =
                self.ladder.system.order.iter().map(|&row| known.deviations[row as usize]).collect();
            let n_open = count_open(goal, &Scaled::new(&found, &columns.scales), &deviations, &errors);
            Ok((errors, n_open))
        })?;
        if n_open > 0 {
            return self.solve_block(b, Some(&x), Some(goal), level, run);
        }
        let certificate = Certificate { errors, n_iter_residual: info.n_iter(), is_exhausted: true, ..known };
        Ok((x, info, certificate))
    }

    /// Checks that right-hand sides and start have the rows of the system, as many columns as each other, and finite values.
    fn check(&self, b: &RightHandSides<'_>, start: Option<&Matrix>) -> Result<()> {
        let (n, s) = (self.n(), b.n_cols());
        let check = |what: &str, (rows, columns): (usize, usize), given: &Matrix, row_of: &dyn Fn(usize) -> usize| {
            if (rows, columns) != (n, s) {
                return Err(Error::shape(what, format!("{n} × {s}"), format!("{rows} × {columns} values")));
            }
            match given.values().iter().position(|v| !v.is_finite()) {
                None => Ok(()),
                Some(at) => Err(Error::Value {
                    what: what.into(),
                    row: row_of(at / s),
                    col: Some(at % s),
                    value: given.values()[at].to_string(),
                    advice: "finite values are needed".into(),
                }),
            }
        };
        check("right-hand side", (b.n_rows(), s), &b.given, &|at| b.row_of(at))?;
        let Some(start) = start else { return Ok(()) };
        check("start", (start.n_rows(), start.n_cols()), start, &|at| at)
    }

    /// Checks that there is memory for `n_blocks` blocks of vectors (n, s).
    fn check_room(&self, s: usize, n_blocks: u64) -> Result<()> {
        let n = self.n();
        let bytes = (8 * n_blocks * n as u64).saturating_mul(s as u64);
        check_memory(&format!("a system of {n} rows and {s} right-hand sides"), bytes, "solve for fewer at a time")
    }

    /// Solves for the columns of one block, beginning with the preconditioner of a `level`.
    fn solve_block(
        &self,
        b: &RightHandSides<'_>,
        start: Option<&Matrix>,
        goal: Option<&dyn Goal>,
        level: FallbackLevel,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo, Certificate)> {
        let (n, s) = (self.n(), b.n_cols());
        if s == 0 || n == 0 {
            let (deviations, errors) = (vec![0.0; n], ErrorBounds::exact(s));
            let certificate = Certificate { deviations, errors, ..Certificate::default() };
            return Ok((Matrix::filled(n, s, 0.0), SolveInfo::new(s), certificate));
        }
        // Solution, a copy of it, residuals and products; in single precision corrections and directions, in double also preconditioned residuals.
        let is_single = level <= FallbackLevel::TwoLevel && self.ladder.allows_single();
        self.check_room(s, if is_single { 4 } else { 6 })?;
        let begun = Instant::now();
        run.install(|| {
            let (columns, x) = Columns::new(&self.ladder.system, b, start);
            let (mut x, mut info, mut certificate) = self.ladder.attempts(&columns, x, goal, level, run)?;
            info.seconds = begun.elapsed().as_secs_f64();
            self.ladder.system.discard(&mut x);
            columns.unscale(&mut x);
            drop(columns);
            let deviations = std::mem::replace(&mut certificate.deviations, vec![0.0; n]);
            scatter(&deviations, &self.ladder.system.order, &mut certificate.deviations, 1);
            Ok((self.ladder.system.scattered(&x), info, certificate))
        })
    }

    /// diag(A⁻¹) (n), if the system has a complete factor and is not singular: for what each row does to itself, without a solve for each.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    ///
    /// # Complexity
    /// About twice the multiplications of the factor.
    pub fn inverse_diagonal(&self, run: &Run) -> Result<Option<Vec<f64>>> {
        let placed = lock(&self.ladder.factors).iter().find(|placed| placed.level == FallbackLevel::Cholesky).cloned();
        let Some(placed) = placed.filter(|_| matches!(self.ladder.system.projection(), Projection::None)) else {
            return Ok(None);
        };
        let Some(diagonal) = placed.inverse_diagonal(run)? else { return Ok(None) };
        let mut out = vec![0.0; diagonal.len()];
        scatter(&diagonal, &self.ladder.system.order, &mut out, 1);
        Ok(Some(out))
    }

    /// Z ← M⁻¹·R with the strongest factor built so far, or the diagonal, in the caller's order of rows: for iterations
    /// elsewhere.
    ///
    /// # Errors
    /// [`Error::Shape`] unless R has n rows.
    pub fn precondition(&self, r: &Matrix, run: &Run) -> Result<Matrix> {
        if r.n_rows() != self.n() {
            return Err(Error::shape("right-hand side", format!("{} rows", self.n()), format!("{} rows", r.n_rows())));
        }
        let s = r.n_cols();
        if s == 0 || self.n() == 0 {
            return Ok(r.clone());
        }
        let placed = lock(&self.ladder.factors).last().cloned();
        run.install(|| {
            let mut r = self.ladder.system.gathered(r);
            self.ladder.system.discard(&mut r);
            let mut z = Matrix::filled(r.n_rows(), s, 0.0);
            match &placed {
                Some(placed) => placed.product(r.values(), z.values_mut(), s),
                None => self.ladder.system.levels().product(r.values(), z.values_mut(), s),
            }
            self.ladder.system.discard(&mut z);
            Ok(self.ladder.system.scattered(&z))
        })
    }
}

fn checked_diagonal(diagonal: Option<&[f64]>, n: usize) -> Result<Cow<'_, [f64]>> {
    let Some(diagonal) = diagonal else { return Ok(Cow::Owned(vec![0.0; n])) };
    if diagonal.len() != n {
        return Err(Error::shape("diagonal", format!("{n} values"), format!("{} values", diagonal.len())));
    }
    check_values("diagonal", diagonal, "expected finite values of at least 0", is_weight)?;
    Ok(Cow::Borrowed(diagonal))
}
