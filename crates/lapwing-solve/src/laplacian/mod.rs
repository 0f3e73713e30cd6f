//! Systems of graph Laplacians: L·x = b, (L + D)·x = b with a diagonal D ≥ 0, (I + λL̂)·x = b.
//!
//! [`LaplacianSolver`] checks the matrix, looks how hard it is, chooses and builds a preconditioner, and solves for any
//! number of right-hand sides by block conjugate gradients, all in an order of the rows in which neighbors lie close
//! together.
//!
//! **Which preconditioner.** No one wins everywhere. On graphs in which a random walk mixes fast (hubs, random graphs) the
//! diagonal is enough; on neighbor graphs it spends most iterations on moving levels of whole regions, which a coarse
//! system on cells of the graph does at once; on meshes, chains, trees and weights over many orders of magnitude neither
//! arrives, and an approximate Cholesky factor does in some forty iterations. `Auto` tells them apart by a bound on the
//! condition number where the diagonal gives one, else by a few trial iterations on right-hand sides that are random from
//! row to row and from cell to cell. Should the choice turn out slow, the factor is built when as much has been spent as it
//! costs, and the iteration goes on from where it is.
//!
//! **Never a silent wrong answer.** Factors are random: one that stagnates is replaced by a better one (trees on two copies of each
//! edge, on four, on small graphs all pairs), from the iterate reached. What is returned is the residual recomputed from b − A·x.
//!
//! **Singular systems.** A component of the graph without a positive entry of D is singular on its constants: what the
//! right-hand side has of them is dropped and reported, and the solution of least norm is returned, of mean zero there.
//!
//! **Cost.** O(m) for the preparation and for each iteration and column: 80 iterations are typical of neighbor graphs with cells,
//! 20 to 40 of factors. The page `docs/methods/laplacian-solver.md` has figures.

mod applied;
mod attempt;
mod certificate;
mod ladder;
mod monitor;
mod params;
mod scales;
mod singular;
mod trial;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use lapwing_data::{Error, Matrix, Result, Run, check_memory};

pub use certificate::{Certificate, ErrorBounds, Goal, RowError, Settled};
pub use params::{Constraint, LaplacianInfo, LaplacianParams, PreconditionerChoice};

use crate::cg::{Stop, subtract_component_means};
use crate::kernels::{column_dots, gather, scatter};
use crate::order::clusters;
use crate::precond::{ApproxCholesky, ApproxCholeskyParams, CLUSTER, Cells, Coarse, Jacobi, Preconditioner};
use crate::{Graph, SddMatrix};
use applied::Applied;
use attempt::{Certified, Task, is_sparse};
use ladder::{LADDER, MOST_EXACT_ROWS, Placed, TINY, rung_of};
use monitor::Outcome;
use scales::{column_scales, scale_columns};
use singular::SingularComponents;
use trial::Trial;

/// A solver for one Laplacian system and any number of right-hand sides; see the [module](self).
///
/// # Example
/// ```
/// use lapwing_data::{Matrix, Run};
/// use lapwing_solve::{Constraint, Graph, LaplacianParams, LaplacianSolver};
///
/// // A path of four vertices, a current of 1 from one end to the other: potentials fall by 1 over each edge.
/// let path = Graph::from_edges(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)])?;
/// let run = Run::new(None, 0)?;
/// let solver = LaplacianSolver::new(&path, None, LaplacianParams::default(), &run)?;
/// let current = Matrix::new(4, 1, vec![1.0, 0.0, 0.0, -1.0])?;
/// let (potential, info) = solver.solve(&current, None, Constraint::None, &run)?;
/// assert!(info.converged && (potential.row(0)[0] - potential.row(3)[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), lapwing_data::Error>(())
/// ```
#[derive(Debug)]
pub struct LaplacianSolver {
    params: LaplacianParams,
    seed: u64,
    /// The vertex of each row of the system as it is solved (n).
    order: Vec<u32>,
    matrix: SddMatrix<'static>,
    /// Factors s of A = diag(s)·(L + D)·diag(s), for normalized systems.
    scaling: Option<Vec<f64>>,
    singular: SingularComponents,
    jacobi: Jacobi,
    /// The coarse system of the two-level preconditioner, where that is used.
    coarse: Option<Coarse>,
    /// Whether preconditioned residuals near 1 stay well within single precision.
    fits_single: bool,
    chosen: PreconditionerChoice,
    /// Factors built so far, in the order of the ladder, at most one of each kind.
    factors: Mutex<Vec<Arc<Placed>>>,
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
        params.validate()?;
        let start = Instant::now();
        let diagonal = checked_diagonal(diagonal, graph.n_samples())?;
        let mut solver = run.install(|| Self::prepare(graph, &diagonal, None, params, run))?;
        solver.setup_seconds = start.elapsed().as_secs_f64();
        Ok(solver)
    }

    /// Prepares I + `regularization`·L̂, L̂ = I − D^(−1/2)·W·D^(−1/2); rows without edges are those of the identity.
    ///
    /// # Errors
    /// As [`LaplacianSolver::new`]; [`Error::Param`] unless `regularization` is finite and at least 0; [`Error::Graph`] for weights
    /// that exceed double precision when they are multiplied by it.
    pub fn normalized(graph: &Graph, regularization: f64, params: LaplacianParams, run: &Run) -> Result<Self> {
        params.validate()?;
        if !(regularization >= 0.0 && regularization.is_finite()) {
            return Err(Error::param("regularization", regularization, "finite and at least 0"));
        }
        let start = Instant::now();
        let mut solver = run.install(|| {
            // I + λL̂ = S·(λL + D)·S with S = D^(−1/2).
            let degree: Vec<f64> = graph.degree().iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect();
            let scaling = degree.iter().map(|d| d.sqrt().recip()).collect();
            Self::prepare(&graph.scaled(regularization)?, &degree, Some(scaling), params, run)
        })?;
        solver.setup_seconds = start.elapsed().as_secs_f64();
        Ok(solver)
    }

    fn prepare(
        graph: &Graph,
        diagonal: &[f64],
        scaling: Option<Vec<f64>>,
        params: LaplacianParams,
        run: &Run,
    ) -> Result<Self> {
        let adjacency = graph.adjacency();
        let n = adjacency.n_rows();
        let bytes = 8 * adjacency.nnz() as u64 + 64 * n as u64;
        check_memory(&format!("a system of {n} rows and {} entries", adjacency.nnz()), bytes, "give fewer edges")?;
        let mut singular = SingularComponents::new(graph, diagonal);
        let natural = SddMatrix::borrowed(adjacency, diagonal);
        let jacobi = match params.preconditioner {
            PreconditionerChoice::None => Jacobi::identity(n),
            _ => Jacobi::new(&natural)?,
        };
        run.check()?;
        let mut cells = None;
        let mut chosen = params.preconditioner;
        let mut is_ordered = true;
        if chosen == PreconditionerChoice::Auto {
            let trial = Trial { matrix: &natural, jacobi: &jacobi };
            chosen = if n <= TINY {
                PreconditionerChoice::ApproxCholesky
            } else if trial.is_easy(run)? {
                // Not even worth an order.
                is_ordered = false;
                PreconditionerChoice::Jacobi
            } else if is_sparse(adjacency.nnz(), n) {
                PreconditionerChoice::ApproxCholesky
            } else {
                let found = cells.insert(Cells::new(graph, diagonal, run)?);
                match trial.is_mixing(found, run)? {
                    true => PreconditionerChoice::TwoLevel,
                    false => PreconditionerChoice::ApproxCholesky,
                }
            };
        }
        let mut factors = Vec::new();
        let (mut coarse, mut order) = (None, None);
        if chosen == PreconditionerChoice::ApproxCholesky {
            let (name, cliques) = LADDER[if params.preconditioner == chosen || n > TINY { 0 } else { 3 }];
            let factor_params = ApproxCholeskyParams { cliques, max_fill: params.max_fill };
            match ApproxCholesky::new(graph, diagonal, factor_params, run) {
                Ok(factor) => {
                    order = Some(factor.order().to_vec());
                    factors.push(Arc::new(Placed { name, factor, rows: None }));
                }
                // Nobody asked for a factor of that size.
                Err(Error::TooLarge { .. }) if params.preconditioner == PreconditionerChoice::Auto => {
                    chosen = PreconditionerChoice::TwoLevel;
                }
                Err(error) => return Err(error),
            }
        }
        if chosen == PreconditionerChoice::TwoLevel {
            let cells = match cells {
                Some(cells) => cells,
                None => Cells::new(graph, diagonal, run)?,
            };
            let (found, rows) = Coarse::new(graph, diagonal, &cells, &singular.ids, run)?;
            order = Some(rows);
            match found {
                Some(found) => coarse = Some(found),
                None => chosen = PreconditionerChoice::Jacobi,
            }
        }
        let order = match order {
            Some(order) => order,
            None if is_ordered => clusters(n, CLUSTER, |v| adjacency.row(v).0, run)?.order,
            None => (0..n as u32).collect(),
        };
        let matrix = natural.reordered(&order, run)?;
        let in_order = |values: Vec<f64>| -> Vec<f64> { order.iter().map(|&v| values[v as usize]).collect() };
        let scaling = scaling.map(in_order);
        let mut jacobi = jacobi.reordered(&order);
        if let (Some(scaling), true) = (&scaling, chosen != PreconditionerChoice::None) {
            jacobi.scale(|row| scaling[row].powi(-2));
        }
        let fits_single = jacobi.diagonal().unwrap_or_default().iter().all(|inverse| (1e-15..1e15).contains(inverse));
        if !singular.sizes.is_empty() {
            singular.ids = order.iter().map(|&v| singular.ids[v as usize]).collect();
        }
        Ok(Self {
            params,
            seed: run.seed,
            order,
            matrix,
            scaling,
            singular,
            fits_single,
            jacobi,
            coarse,
            chosen,
            factors: Mutex::new(factors),
            setup_seconds: 0.0,
        })
    }

    /// Number of rows n.
    pub fn n(&self) -> usize {
        self.order.len()
    }

    /// The preconditioner in use, chosen if it was left to [`PreconditionerChoice::Auto`].
    pub fn preconditioner(&self) -> PreconditionerChoice {
        self.chosen
    }

    /// Changes the tolerance of the solves to come.
    ///
    /// # Errors
    /// [`Error::Param`] unless it is above 0 and below 1.
    pub fn set_tol(&mut self, tol: f64) -> Result<()> {
        let params = LaplacianParams { tol, ..self.params.clone() };
        params.validate()?;
        self.params = params;
        Ok(())
    }

    /// Wall seconds of the preparation.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }

    /// Entries of the factors built so far.
    pub fn n_factor_entries(&self) -> usize {
        self.lock().iter().map(|placed| placed.factor.n_entries()).sum()
    }

    /// Bytes held: the matrix and the factors built so far.
    pub fn bytes(&self) -> usize {
        let factors: usize = self.lock().iter().map(|placed| placed.factor.bytes()).sum();
        factors
            + self.coarse.as_ref().map_or(0, Coarse::bytes)
            + self.matrix.bytes()
            + self.singular.bytes()
            + 12 * self.order.len()
    }

    /// Components of the graph on which the system is singular.
    pub fn n_singular_components(&self) -> usize {
        self.singular.sizes.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Placed>>> {
        // Nothing panics while it is held, and the factors are whole at any time.
        self.factors.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Solves for the columns of `b` (n, s), from `start` (n, s) if there is one, else from zero.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Value`] for values that are not finite, [`Error::Interrupted`]. Not converging is no error: see
    /// [`LaplacianInfo::converged`].
    ///
    /// # Complexity
    /// Each iteration reads the matrix, the factor and the blocks of vectors once. Memory, beside `b` and `start`: 6 blocks
    /// (n, s) of f64, 5½ where directions are in single precision, 7 with a factor. For moments more: one while columns
    /// that have converged leave the block or large parts of a factor are swept, one or two for the scaling of normalized
    /// systems, two for a factor that was built during a solve and has an order of its own.
    pub fn solve(
        &self,
        b: &Matrix,
        start: Option<&Matrix>,
        constraint: Constraint,
        run: &Run,
    ) -> Result<(Matrix, LaplacianInfo)> {
        let (x, info, _) = self.solved(b, start, constraint, None, run)?;
        Ok((x, info))
    }

    /// The same until every row is settled as `goal` asks, with bounds on the errors of every row; see [`Certificate`]. The solve goes on
    /// beyond the tolerance as long as that settles more rows.
    ///
    /// # Errors
    /// As [`LaplacianSolver::solve`]. Rows that stay open are no error.
    ///
    /// # Complexity
    /// As [`LaplacianSolver::solve`], of one column more, or two where there are more than four; directions in double precision.
    pub fn solve_certified(
        &self,
        b: &Matrix,
        constraint: Constraint,
        goal: &dyn Goal,
        run: &Run,
    ) -> Result<(Matrix, LaplacianInfo, Certificate)> {
        self.solved(b, None, constraint, Some(goal), run)
    }

    fn solved(
        &self,
        b: &Matrix,
        start: Option<&Matrix>,
        constraint: Constraint,
        goal: Option<&dyn Goal>,
        run: &Run,
    ) -> Result<(Matrix, LaplacianInfo, Certificate)> {
        let (n, s) = (self.n(), b.n_cols());
        for (what, block) in [Some(("right-hand side", b)), start.map(|x| ("start", x))].into_iter().flatten() {
            if (block.n_rows(), block.n_cols()) != (n, s) {
                let got = format!("{} × {} values", block.n_rows(), block.n_cols());
                return Err(Error::shape(what, format!("{n} × {s}"), got));
            }
            if let Some(at) = block.values().iter().position(|v| !v.is_finite()) {
                return Err(Error::Value {
                    what: what.into(),
                    row: at / s,
                    col: Some(at % s),
                    value: block.values()[at].to_string(),
                    advice: "finite values are needed".into(),
                });
            }
        }
        let bytes = (6 * 8 * n as u64).saturating_mul(s as u64);
        check_memory(&format!("a system of {n} rows and {s} right-hand sides"), bytes, "solve for fewer at a time")?;
        let begun = Instant::now();
        let (x, mut info, certificate) = run.install(|| self.solve_in_order(b, start, constraint, goal, run))?;
        info.seconds = begun.elapsed().as_secs_f64();
        Ok((x, info, certificate))
    }

    fn solve_in_order(
        &self,
        b: &Matrix,
        start: Option<&Matrix>,
        constraint: Constraint,
        goal: Option<&dyn Goal>,
        run: &Run,
    ) -> Result<(Matrix, LaplacianInfo, Certificate)> {
        let (n, s) = (self.n(), b.n_cols());
        let mut info = LaplacianInfo { iterations: vec![0; s], converged: true, ..LaplacianInfo::default() };
        if s == 0 || n == 0 {
            let (deviations, errors) = (vec![0.0; n], ErrorBounds::exact(s));
            return Ok((b.clone(), info, Certificate { deviations, errors, ..Certificate::default() }));
        }
        let mut b = self.gathered(b);
        // Powers of two that bring the largest value of each column near 1: squares must neither vanish nor overflow.
        let scales = column_scales(&b);
        scale_columns(&mut b, &scales, 1.0);
        info.discarded = self.discard(&mut b, constraint);
        let mut x = start.map_or_else(|| Matrix::filled(n, s, 0.0), |start| self.gathered(start));
        scale_columns(&mut x, &scales, 1.0);
        self.discard(&mut x, constraint);
        let mut rung = self.lock().first().map(|placed| rung_of(placed.name));
        let last = if n <= MOST_EXACT_ROWS { LADDER.len() } else { LADDER.len() - 1 };
        let mut certified = Certified::default();
        loop {
            let placed = match rung {
                Some(rung) => match self.factor(rung, run) {
                    // What has been reached is worth more than an error about a factor that is too large.
                    Err(Error::TooLarge { .. }) if !info.preconditioners.is_empty() => break,
                    placed => Some(placed?),
                },
                None => None,
            };
            let next = rung.map_or(0, |rung| rung + 1);
            let may_climb = next < last
                && matches!(
                    self.params.preconditioner,
                    PreconditionerChoice::Auto | PreconditionerChoice::ApproxCholesky
                );
            let engine = self.engine(placed.as_deref(), constraint);
            let task = Task { b: &b, scales: &scales, goal, may_climb };
            let one = self.attempt(&engine, &task, &mut x, &mut certified, &info, run)?;
            info.preconditioners.push(placed.as_ref().map_or(self.chosen.name(), |placed| placed.name));
            info.iterations.iter_mut().zip(&one.iterations).for_each(|(all, one)| *all += one);
            info.curve.extend(&one.curve);
            (info.residuals, info.converged, info.reason) = (one.residuals, one.converged, one.reason);
            if info.reason == Stop::Stagnated && self.is_rounding(&b, &x, &info.residuals) {
                info.reason = Stop::Rounding;
            }
            let is_done = info.converged || info.reason == Stop::Rounding;
            if let Some(goal) = goal {
                self.discard(&mut x, constraint);
                certified.certify(self, &engine, &task, &x);
                if is_done && certified.wants_more(goal, &x, &scales) {
                    continue;
                }
            }
            let is_loose = may_climb && certified.outcome == Some(Outcome::Loose);
            if is_done && !is_loose || info.reason == Stop::MaxIter || !may_climb {
                break;
            }
            rung = Some(next);
        }
        self.discard(&mut x, constraint);
        scale_columns(&mut x, &scales, -1.0);
        drop(b);
        let mut certificate = certified.certificate;
        let deviations = std::mem::replace(&mut certificate.deviations, vec![0.0; n]);
        scatter(&deviations, &self.order, &mut certificate.deviations, 1);
        Ok((self.scattered(&x), info, certificate))
    }

    /// Takes off what singular components or the constraint rule out; returns its share of each column.
    fn discard(&self, block: &mut Matrix, constraint: Constraint) -> Vec<f64> {
        let (n, s) = (block.n_rows(), block.n_cols());
        if constraint == Constraint::None && self.singular.sizes.is_empty() || s == 0 {
            return vec![0.0; s];
        }
        let before = column_dots(block.values(), block.values(), n, s);
        match constraint {
            Constraint::ZeroMean => subtract_component_means(block.values_mut(), s, &vec![0; n], &[n]),
            Constraint::None => {
                subtract_component_means(block.values_mut(), s, &self.singular.ids, &self.singular.sizes);
            }
        }
        let after = column_dots(block.values(), block.values(), n, s);
        before.iter().zip(&after).map(|(b, a)| if *b > 0.0 { ((b - a).max(0.0) / b).sqrt() } else { 0.0 }).collect()
    }

    /// A block of the caller's, in the solver's order of rows.
    fn gathered(&self, block: &Matrix) -> Matrix {
        let mut out = Matrix::filled(block.n_rows(), block.n_cols(), 0.0);
        gather(block.values(), &self.order, out.values_mut(), block.n_cols());
        out
    }

    /// A block of the solver's, in the caller's order of rows.
    fn scattered(&self, block: &Matrix) -> Matrix {
        let mut out = Matrix::filled(block.n_rows(), block.n_cols(), 0.0);
        scatter(block.values(), &self.order, out.values_mut(), block.n_cols());
        out
    }

    /// Z ← M⁻¹·R with the best factor so far, or the diagonal, in the caller's order of rows: for iterations elsewhere.
    ///
    /// # Errors
    /// [`Error::Shape`] unless R has n rows.
    pub fn precondition(&self, r: &Matrix, run: &Run) -> Result<Matrix> {
        if r.n_rows() != self.n() {
            return Err(Error::shape("right-hand side", format!("{} rows", self.n()), format!("{} rows", r.n_rows())));
        }
        if r.n_cols() == 0 || self.n() == 0 {
            return Ok(r.clone());
        }
        let placed = self.lock().last().cloned();
        run.install(|| {
            let mut r = self.gathered(r);
            self.discard(&mut r, Constraint::None);
            let mut z = Matrix::filled(r.n_rows(), r.n_cols(), 0.0);
            match &placed {
                Some(placed) => Applied { solver: self, placed }.apply(r.values(), z.values_mut(), r.n_cols()),
                None => match &self.coarse {
                    Some(coarse) => self.two_level(coarse).apply(r.values(), z.values_mut(), r.n_cols()),
                    None => self.jacobi.apply(r.values(), z.values_mut(), r.n_cols()),
                },
            }
            self.discard(&mut z, Constraint::None);
            Ok(self.scattered(&z))
        })
    }
}

fn checked_diagonal(diagonal: Option<&[f64]>, n: usize) -> Result<Cow<'_, [f64]>> {
    let Some(diagonal) = diagonal else { return Ok(Cow::Owned(vec![0.0; n])) };
    if diagonal.len() != n {
        return Err(Error::shape("diagonal", format!("{n} values"), format!("{} values", diagonal.len())));
    }
    match diagonal.iter().position(|g| !(*g >= 0.0 && g.is_finite())) {
        None => Ok(Cow::Borrowed(diagonal)),
        Some(row) => Err(Error::Value {
            what: "diagonal".into(),
            row,
            col: None,
            value: diagonal[row].to_string(),
            advice: "expected finite values of at least 0".into(),
        }),
    }
}
