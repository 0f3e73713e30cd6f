//! The harmonic function of some targets on a graph.
//!
//! With L the Laplacian of the graph, S the labeled rows, cᵢ > 0 the weight of label i, C = diag(c) on S and 0 elsewhere,
//! c_tot = Σ cᵢ, ȳ = Σ cᵢyᵢ / c_tot:
//!
//! - **plain** (Belkin, Matveeva & Niyogi 2004): minimise (1/c_tot) Σ_S cᵢ(fᵢ − yᵢ)² + γ fᵀLf, that is A f = C y with
//!   A = γ·c_tot·L + C. Solved as A g = C(y − ȳ), f = g + ȳ, with every direction kept A-orthogonal to the constant
//!   vector, the one that ruins the conditioning.
//! - **hard** (Zhu, Ghahramani & Lafferty 2003): f = y on S and L_UU f_U = −L_US y_S on the others.
//! - **stable** (Stable-HFS, Calandriello et al. 2015, eq. 1): the plain objective over f with zero mean, for centered
//!   targets ỹ = C(y − ȳ): f = (P A P)⁺ ỹ, P = I − 11ᵀ/n. The paper writes (P A)⁺ỹ, which is not that minimiser, and
//!   an un-centered variant that differs; here targets are always centered. γ = ∞ gives f = L⁺ỹ.
//!
//! Components of the graph without a label are left out of the system; their rows are NaN. The zero-mean constraint is
//! one over all labeled components together.
//!
//! Where target rows sum to one number (one-hot, soft labels) the last column follows from the others.
//!
//! Cost: one system with c − 1 right-hand sides; see [`LaplacianSolver`] for how it is solved, in what time and memory, and what is
//! parallel.

use lapwing_data::{Csr, Error, Matrix, Result, Run, SolveSummary, Targets};
use lapwing_graph::{Components, Graph};
use lapwing_solve::{Constraint, LaplacianInfo, LaplacianParams, LaplacianSolver};

use super::certificate::{Certificate, Settling};
use super::refine::{Refinement, Refiner, Sparsified};
use super::{Clamp, Form, HarmonicParams};

/// A harmonic function on a graph.
#[derive(Clone, Debug)]
pub struct HarmonicFunction {
    /// Scores (n, c), NaN in rows no label reaches. Plain: on the scale of the targets; stable: centered.
    pub scores: Matrix,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
    /// Mean target ȳ (c).
    pub mean: Vec<f64>,
    /// γ used; 0 for hard clamping.
    pub graph_reg: f64,
    /// Form used, never [`Form::Auto`].
    pub form: Form,
    /// How the solve went.
    pub solve: SolveSummary,
    /// How far it was refined, where it was solved on a sparsified graph.
    pub refinement: Option<Refinement>,
    /// Bounds on the errors of the scores, where they were asked for.
    pub certificate: Option<Certificate>,
}

/// Harmonic function of `targets` on `graph`: regression, or the scores of a classification.
///
/// [`Form::Auto`] counts as stable here, or plain if clamped hard: choosing needs classes.
///
/// # Errors
/// [`Error::Param`] for a parameter outside its range, [`Error::Shape`] for targets of another number of rows,
/// [`Error::Interrupted`]. Not converging is no error: see [`HarmonicFunction::solve`].
///
/// # Example
/// ```
/// use lapwing_data::{Run, Targets};
/// use lapwing_graph::Graph;
/// use lapwing_models::{Form, HarmonicParams, harmonic::harmonic};
///
/// // On a path with its ends held at 0 and 3 the harmonic function is linear.
/// let path = Graph::from_edges(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)])?;
/// let targets = Targets::regression(&[0.0, f64::NAN, f64::NAN, 3.0], None)?;
/// let hard = HarmonicParams { form: Form::Plain, clamp: lapwing_models::Clamp::Hard, ..Default::default() };
/// let f = harmonic(&path, &targets, &hard, &Run::new(None, 0)?)?;
/// assert!((f.scores.row(1)[0] - 1.0).abs() < 1e-6 && (f.scores.row(2)[0] - 2.0).abs() < 1e-6);
/// # Ok::<(), lapwing_data::Error>(())
/// ```
pub fn harmonic(graph: &Graph, targets: &Targets, params: &HarmonicParams, run: &Run) -> Result<HarmonicFunction> {
    params.validate()?;
    if targets.n_samples() != graph.n_samples() {
        let got = format!("targets for {} rows", targets.n_samples());
        return Err(Error::shape(
            "the problem",
            format!("targets for {} rows, as the graph has", graph.n_samples()),
            got,
        ));
    }
    solve(graph, &graph.components(), targets, params, None, run)
}

/// γ for "auto", in units of the inverse mean degree d̄: plain 0.01. Stable: c / c_tot for classes, 1 / (labels per
/// class), for with few labels each must be heard far away, with many each counts for its surroundings; 0.1 in
/// regression. From measurements on six data sets, see `docs/results.md`.
pub(super) fn default_graph_reg(form: Form, mean_degree: f64, targets: &Targets) -> f64 {
    let degree = if mean_degree > 0.0 { mean_degree } else { 1.0 };
    match (form, targets.n_columns()) {
        (Form::Plain, _) => 0.01 / degree,
        (_, 1) => 0.1 / degree,
        (_, c) => (c as f64 / targets.rows().len() as f64) / degree,
    }
}

pub(super) fn solve(
    graph: &Graph,
    components: &Components,
    targets: &Targets,
    params: &HarmonicParams,
    refiner: Option<&Refiner<'_>>,
    run: &Run,
) -> Result<HarmonicFunction> {
    let is_hard = params.clamp == Clamp::Hard;
    let form = match params.form {
        Form::Auto if is_hard => Form::Plain,
        Form::Auto => Form::Stable,
        form => form,
    };
    let holds = components.holding(targets.rows());
    let reached: Vec<bool> = components.id.iter().map(|&id| holds[id as usize]).collect();
    let part = Part::of(graph, &reached, targets)?;
    let mean = targets.mean();
    let graph_reg = match params.graph_reg {
        _ if is_hard => 0.0,
        Some(graph_reg) => graph_reg,
        None => default_graph_reg(form, graph.mean_degree(), targets),
    };
    let is_last_implied = is_last_implied(targets);
    let settling = match refiner {
        // Refined on other edges than those of the solve.
        Some(_) => None,
        None => Settling::of(params, targets, &mean, is_last_implied)?,
    };
    let (tol, max_iter) = (params.tol, params.max_iter);
    let solver = LaplacianParams { tol, max_iter, certify: settling.is_some(), ..LaplacianParams::default() };
    let system = System {
        part: &part,
        targets,
        mean: &mean,
        solver,
        settling: settling.as_ref(),
        is_last_implied,
        refiner,
        run,
    };
    let Solution { x: centered, info, refinement, certificate } = match form {
        _ if is_hard => system.hard()?,
        Form::Stable if graph_reg.is_infinite() => system.pseudo_inverse()?,
        Form::Stable => system.stable(graph_reg)?,
        _ => system.plain(graph_reg)?,
    };
    let shift = if form == Form::Stable { vec![0.0; mean.len()] } else { mean.clone() };
    let scores = part.spread(&centered, &shift, is_last_implied, &reached);
    let certificate =
        certificate.map(|certificate| certificate.placed(|row| part.whole(row as usize) as u32, part.n()));
    Ok(HarmonicFunction { scores, reached, mean, graph_reg, form, solve: info.summary(), refinement, certificate })
}

/// Whether target rows all sum to 1, so that the last centered column is minus the sum of the others.
fn is_last_implied(targets: &Targets) -> bool {
    targets.n_columns() > 1 && targets.values().rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() <= 1e-12)
}

/// The rows of the labeled components, and their graph.
struct Part<'a> {
    /// Their numbers in the whole; `None` if they are all of it.
    rows: Option<Vec<u32>>,
    adjacency: std::borrow::Cow<'a, Csr<f64>>,
    /// Labeled rows, by their number in the part.
    labeled: Vec<u32>,
}

impl<'a> Part<'a> {
    fn of(graph: &'a Graph, reached: &[bool], targets: &Targets) -> Result<Self> {
        if reached.iter().all(|reached| *reached) {
            let adjacency = std::borrow::Cow::Borrowed(graph.adjacency());
            return Ok(Self { rows: None, adjacency, labeled: targets.rows().to_vec() });
        }
        let (adjacency, rows) = restrict(graph.adjacency(), reached)?;
        let place = |row: &u32| rows.partition_point(|r| r < row) as u32;
        let labeled = targets.rows().iter().map(place).collect();
        Ok(Self { rows: Some(rows), adjacency: std::borrow::Cow::Owned(adjacency), labeled })
    }

    fn n(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// Number in the whole of a row of the part.
    fn whole(&self, row: usize) -> usize {
        self.rows.as_ref().map_or(row, |rows| rows[row] as usize)
    }

    /// Scores of all rows: `centered` plus `shift`, the last column completed if it was left out, NaN outside.
    fn spread(&self, centered: &Matrix, shift: &[f64], is_last_implied: bool, reached: &[bool]) -> Matrix {
        let solved = centered.n_cols();
        let mut scores = Matrix::filled(reached.len(), shift.len(), f64::NAN);
        for (row, values) in centered.rows().enumerate() {
            let out = scores.row_mut(self.whole(row));
            out[..solved].copy_from_slice(values);
            if is_last_implied {
                out[solved] = -values.iter().sum::<f64>();
            }
            out.iter_mut().zip(shift).for_each(|(out, shift)| *out += shift);
        }
        scores
    }
}

/// The rows and columns of a matrix where `keep` holds, and their numbers.
pub(crate) fn restrict(matrix: &Csr<f64>, keep: &[bool]) -> Result<(Csr<f64>, Vec<u32>)> {
    let rows: Vec<u32> = (0..keep.len() as u32).filter(|&row| keep[row as usize]).collect();
    let mut place = vec![u32::MAX; keep.len()];
    rows.iter().enumerate().for_each(|(at, &row)| place[row as usize] = at as u32);
    let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for &row in &rows {
        let (columns, weights) = matrix.row(row as usize);
        for (&column, &weight) in columns.iter().zip(weights) {
            if keep[column as usize] {
                indices.push(place[column as usize]);
                values.push(weight);
            }
        }
        indptr.push(indices.len() as u64);
    }
    Ok((Csr::new(rows.len(), rows.len(), indptr, indices, values)?, rows))
}

struct System<'a> {
    part: &'a Part<'a>,
    targets: &'a Targets,
    mean: &'a [f64],
    solver: LaplacianParams,
    settling: Option<&'a Settling>,
    is_last_implied: bool,
    refiner: Option<&'a Refiner<'a>>,
    run: &'a Run,
}

/// A solution on the part, and how it was found.
struct Solution {
    x: Matrix,
    info: LaplacianInfo,
    refinement: Option<Refinement>,
    certificate: Option<Certificate>,
}

impl System<'_> {
    fn columns(&self) -> usize {
        self.targets.n_columns() - usize::from(self.is_last_implied)
    }

    /// Label weights as shares of their sum: the system is divided by c_tot, so that their scale does not matter.
    fn label_shares(&self) -> impl Iterator<Item = f64> {
        let total: f64 = self.targets.weights().iter().sum();
        self.targets.weights().iter().map(move |weight| weight / total)
    }

    /// C(y − ȳ)/c_tot on the part, for the columns to be solved.
    fn centered_targets(&self) -> Matrix {
        let columns = self.columns();
        let mut b = Matrix::filled(self.part.n(), columns, 0.0);
        for (at, (&row, weight)) in self.part.labeled.iter().zip(self.label_shares()).enumerate() {
            let (values, out) = (self.targets.values().row(at), b.row_mut(row as usize));
            out.iter_mut().zip(values).zip(self.mean).for_each(|((out, y), mean)| *out = weight * (y - mean));
        }
        b
    }

    fn label_weights(&self) -> Vec<f64> {
        let mut c = vec![0.0; self.part.n()];
        self.part.labeled.iter().zip(self.label_shares()).for_each(|(&row, weight)| c[row as usize] = weight);
        c
    }

    /// A = γL + C/c_tot, divided by γ: (L + C/(γ·c_tot))·f = b/γ.
    fn solve_regularized(&self, graph_reg: f64, c: &[f64], constraint: Constraint) -> Result<Solution> {
        let diagonal: Vec<f64> = c.iter().map(|c| c / graph_reg).collect();
        let mut b = self.centered_targets();
        b.values_mut().iter_mut().for_each(|value| *value /= graph_reg);
        self.solve(&self.part.adjacency, Some(&diagonal), constraint, &b)
    }

    fn solve(
        &self,
        adjacency: &Csr<f64>,
        diagonal: Option<&[f64]>,
        constraint: Constraint,
        b: &Matrix,
    ) -> Result<Solution> {
        let solver = LaplacianSolver::new(adjacency, diagonal, self.solver.clone(), self.run)?;
        if let Some(goal) = self.settling {
            let (x, info, bounds) = solver.solve_certified(b, constraint, goal, self.run)?;
            let mut certificate = Certificate::default();
            certificate.add(None, bounds, self.is_last_implied, &info);
            return Ok(Solution { x, info, refinement: None, certificate: Some(certificate) });
        }
        let (mut x, info) = solver.solve(b, None, constraint, self.run)?;
        let refinement = match self.refiner {
            Some(refiner) => {
                let rows = self.part.rows.as_deref();
                let system = Sparsified { solver: &solver, rows, diagonal, constraint, tol: self.solver.tol };
                Some(refiner.refine(&system, b, &mut x, self.run)?)
            }
            None => None,
        };
        Ok(Solution { x, info, refinement, certificate: None })
    }

    /// P A P f = ỹ.
    fn stable(&self, graph_reg: f64) -> Result<Solution> {
        self.solve_regularized(graph_reg, &self.label_weights(), Constraint::ZeroMean)
    }

    /// A g = ỹ with cᵀg = 0, the identity of exact solutions, restored at the end; what is certified stays as it is.
    fn plain(&self, graph_reg: f64) -> Result<Solution> {
        let c = self.label_weights();
        let mut solution = self.solve_regularized(graph_reg, &c, Constraint::None)?;
        if solution.certificate.is_some() {
            return Ok(solution);
        }
        let g = &mut solution.x;
        let mut shift = vec![0.0; g.n_cols()];
        for (row, weight) in g.rows().zip(&c).filter(|(_, weight)| **weight > 0.0) {
            shift.iter_mut().zip(row).for_each(|(shift, g)| *shift += weight * g);
        }
        let columns = g.n_cols().max(1);
        g.values_mut().chunks_exact_mut(columns).for_each(|row| {
            row.iter_mut().zip(&shift).for_each(|(g, shift)| *g -= shift);
        });
        Ok(solution)
    }

    /// L⁺ỹ (label weights as they are given): the solver brings the targets into the range of L, whose null space has one
    /// vector per component.
    fn pseudo_inverse(&self) -> Result<Solution> {
        let mut b = self.centered_targets();
        let total: f64 = self.targets.weights().iter().sum();
        b.values_mut().iter_mut().for_each(|value| *value *= total);
        self.solve(&self.part.adjacency, None, Constraint::None, &b)
    }

    /// g = y − ȳ on S, L_UU g_U = W_US g_S on the others.
    fn hard(&self) -> Result<Solution> {
        let mut g = Matrix::filled(self.part.n(), self.columns(), 0.0);
        let mut is_open = vec![true; self.part.n()];
        for (at, &row) in self.part.labeled.iter().enumerate() {
            is_open[row as usize] = false;
            let values = self.targets.values().row(at).iter().zip(self.mean).map(|(y, mean)| y - mean);
            g.row_mut(row as usize).iter_mut().zip(values).for_each(|(g, value)| *g = value);
        }
        let (adjacency, open) = restrict(&self.part.adjacency, &is_open)?;
        let (mut b, mut cut) = (Matrix::filled(open.len(), g.n_cols(), 0.0), vec![0.0; open.len()]);
        for (at, &row) in open.iter().enumerate() {
            let (columns, weights) = self.part.adjacency.row(row as usize);
            for (&column, weight) in columns.iter().zip(weights).filter(|(column, _)| !is_open[**column as usize]) {
                cut[at] += weight;
                b.row_mut(at).iter_mut().zip(g.row(column as usize)).for_each(|(b, g)| *b += weight * g);
            }
        }
        let solved = self.solve(&adjacency, Some(&cut), Constraint::None, &b)?;
        open.iter().zip(solved.x.rows()).for_each(|(&row, values)| g.row_mut(row as usize).copy_from_slice(values));
        let n_open = open.len();
        let certificate = solved.certificate.map(|certificate| certificate.placed(|row| open[row as usize], n_open));
        Ok(Solution { x: g, certificate, ..solved })
    }
}
