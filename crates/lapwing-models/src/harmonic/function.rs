//! The harmonic function of some targets on a graph.
//!
//! With L the Laplacian of the graph, S the labeled rows, cᵢ > 0 the weight of label i, C = diag(c) on S and 0 elsewhere,
//! c_tot = Σ cᵢ, ȳ = Σ cᵢyᵢ / c_tot:
//!
//! - **plain** (Belkin, Matveeva & Niyogi 2004): minimize (1/c_tot) Σ_S cᵢ(fᵢ − yᵢ)² + γ fᵀLf, that is A f = C y with
//!   A = γ·c_tot·L + C. Solved as A g = C(y − ȳ), f = g + ȳ. The constant vector alone makes the conditioning bad, so every
//!   direction is kept A-orthogonal to it.
//! - **hard** (Zhu, Ghahramani & Lafferty 2003): f = y on S and L_UU f_U = −L_US y_S on the others.
//! - **stable** (Stable-HFS, Calandriello et al. 2015, eq. 1): the plain objective over f with zero mean, for centered
//!   targets ỹ = C(y − ȳ): f = (P A P)⁺ ỹ, P = I − 11ᵀ/n. The paper writes (P A)⁺ỹ, which is not that minimizer, and
//!   an un-centered variant that differs; here targets are always centered. γ = ∞ gives f = L⁺ỹ.
//! - **plain with a prior** p (n, c): the plain objective plus γ·κ Σᵢ dᵢ|fᵢ − pᵢ|², see [`prior`](super::prior).
//!
//! Components of the graph without a label are left out of the system; their rows are NaN. In the stable form every labeled
//! component is a problem of its own, with its own mean of labels and zero mean over its own rows. One constraint over all
//! components would not do: a small component with labels of one class would shift all other rows. A component whose labels
//! are equal needs no system: its rows get this label minus ȳ.
//!
//! If all target rows sum to 1 (one-hot, soft labels), the last column follows from the others and is not solved for.
//!
//! Cost: one system with c − 1 right-hand sides; see [`LaplacianSolver`] for how it is solved, in what time and memory, and what is
//! parallel.

use lapwing_data::{Error, Matrix, Result, Run, SolveSummary, Targets};
use lapwing_graph::{Components, Graph};
use lapwing_solve::{LaplacianParams, LaplacianSolver, RightHandSides, SolveInfo, times_power};

use super::certificate::Certificate;
use super::leave_one_out::Influence;
use super::parts::{Labeled, Part, by_component, kept_rows};
use super::prior::{self, Prior};
use super::refine::{Refinement, Refiner, Sparsified};
use super::settling::Settling;
use super::{Clamp, Form, HarmonicParams};
use crate::class_sizes::{LabelsDrawn, label_counts};

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
    /// Passes and residuals of the refinement, if it was solved on a sparsified graph.
    pub refinement: Option<Refinement>,
    /// How much each label changes the score of its own row, if [`Solving::influence`] is set.
    pub(super) influence: Option<Influence>,
    /// Bounds on the errors of the scores; none if `certify` is off.
    pub certificate: Option<Certificate>,
}

/// Harmonic function of `targets` on `graph`: regression, or the scores of a classification.
///
/// [`Form::Auto`] is plain here for several columns or hard clamping, and stable otherwise.
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
    let components = graph.components();
    let solving = Solving {
        graph,
        components: &components,
        targets,
        params,
        prior: None,
        refiner: None,
        influence: false,
        start: None,
    };
    solve(&solving, run)
}

/// γ for "auto", times the mean degree: 0.01 for the plain form, 0.1 for a regression. With m labels per class, the stable form
/// takes 1 / m: few labels have to reach far, many only their surroundings. Form auto takes m^(−3/2), or m^(−3) for labels that
/// look drawn at random, whose shares per class then survive the smoothing; at least 0.01. From measurements, see
/// `docs/results/accuracy.md`.
pub(super) fn default_graph_reg(form: Form, mean_degree: f64, targets: &Targets) -> f64 {
    let degree = if mean_degree > 0.0 { mean_degree } else { 1.0 };
    let rarity = targets.n_columns() as f64 / targets.rows().len() as f64;
    let power = || match LabelsDrawn::Auto.resolved(&label_counts(targets)) {
        LabelsDrawn::Balanced => 1.5,
        _ => 3.0,
    };
    match (form, targets.n_columns()) {
        (Form::Plain, _) => 0.01 / degree,
        (_, 1) => 0.1 / degree,
        (Form::Stable, _) => rarity / degree,
        (Form::Auto, _) => rarity.powf(power()).clamp(0.01, 1.0) / degree,
    }
}

/// Seed of the random columns of a certificate, and of the choice of labels that are left out.
const PROBE_SEED: u64 = 0x6c61_7077_696e_6721;

/// A problem and how to solve it.
pub(super) struct Solving<'a> {
    pub graph: &'a Graph,
    pub components: &'a Components,
    pub targets: &'a Targets,
    pub params: &'a HarmonicParams,
    /// For the plain form with soft clamping. All rows then count as one component.
    pub prior: Option<Prior<'a>>,
    pub refiner: Option<&'a Refiner<'a>>,
    /// Whether to compute [`Influence`] as well; for the plain form with soft clamping.
    pub influence: bool,
    /// Scores (n, c) near the solution.
    pub start: Option<&'a Matrix>,
}

/// Solves. Edge weights near the limits of f64 are first scaled by a power of 2, and γ by its inverse. With γ = ∞ the scores
/// are those of the scaled graph, since the others may overflow. With refinement nothing is scaled, because the refiner reads the
/// original edges.
pub(super) fn solve(solving: &Solving<'_>, run: &Run) -> Result<HarmonicFunction> {
    let Some((graph, exponent)) = solving.graph.moderate().filter(|_| solving.refiner.is_none()) else {
        return solve_as_given(solving, run);
    };
    let graph_reg = solving.params.graph_reg.map(|graph_reg| times_power(graph_reg, -exponent));
    let params = HarmonicParams { graph_reg, ..solving.params.clone() };
    let mut found = solve_as_given(&Solving { graph: &graph, params: &params, ..*solving }, run)?;
    found.graph_reg = times_power(found.graph_reg, exponent);
    Ok(found)
}

fn solve_as_given(solving: &Solving<'_>, run: &Run) -> Result<HarmonicFunction> {
    let Solving { graph, components, targets, params, .. } = *solving;
    let is_hard = params.clamp == Clamp::Hard;
    let (form, graph_reg) = resolved(solving);
    let holds = components.holding(targets.rows());
    let reached: Vec<bool> = components.id.iter().map(|&id| holds[id as usize]).collect();
    let mean = targets.mean();
    // Allocated after the first system is solved, which takes the most memory.
    let mut scores = None;
    let unreached = || Matrix::filled(reached.len(), mean.len(), f64::NAN);
    // If no part needs a system, the result is exact.
    let mut solved =
        Solved { summary: SolveSummary { converged: true, ..SolveSummary::default() }, ..Solved::default() };
    let is_last_implied = is_last_implied(targets);
    let settling = match solving.refiner {
        // A certificate would hold for the sparsified graph, not for the one that refinement solves.
        Some(_) => None,
        None => Settling::new(params, targets, &mean, is_last_implied)?,
    };
    solved.certificate = settling.as_ref().map(|_| Certificate::default());
    let parts =
        if form == Form::Stable { by_component(components, targets) } else { vec![Labeled::all(&reached, targets)] };
    // Scratch space of `Graph::part`.
    let mut place = Vec::new();
    for labeled in parts {
        if let Some(value) = labeled.only_value(targets, form) {
            let centered: Vec<f64> = value.iter().zip(&mean).map(|(y, mean)| y - mean).collect();
            let scores = scores.get_or_insert_with(unreached);
            labeled.rows(&reached).for_each(|row| scores.row_mut(row).copy_from_slice(&centered));
            continue;
        }
        // The stable form centers each component by the mean of its own labels.
        let center = if form == Form::Stable { labeled.mean(targets) } else { mean.clone() };
        let part = Part::new(graph, labeled, &reached, targets, &mut place)?;
        let system = System { part: &part, mean: &center, settling: settling.as_ref(), is_last_implied, solving, run };
        let solution = match form {
            _ if is_hard => system.hard()?,
            Form::Stable if graph_reg.is_infinite() => system.pseudo_inverse()?,
            Form::Stable => system.stable(graph_reg)?,
            _ => system.plain(graph_reg)?,
        };
        let scores = scores.get_or_insert_with(unreached);
        part.spread(&solution.x, &level(form, &center, &mean), is_last_implied, scores);
        solved.add(solution, &part);
    }
    let scores = scores.unwrap_or_else(unreached);
    let Solved { summary, refinement, influence, certificate } = solved;
    Ok(HarmonicFunction { scores, reached, mean, graph_reg, form, solve: summary, refinement, influence, certificate })
}

/// The form (never auto) and γ.
fn resolved(solving: &Solving<'_>) -> (Form, f64) {
    let Solving { graph, targets, params, .. } = *solving;
    if params.clamp == Clamp::Hard {
        return (Form::Plain, 0.0);
    }
    let form = match params.form {
        Form::Auto if targets.n_columns() == 1 => Form::Stable,
        _ => params.resolved_form(),
    };
    if solving.prior.is_some() {
        let default = || prior::default_graph_reg(graph.mean_degree(), targets);
        return (form, params.graph_reg.unwrap_or_else(default));
    }
    // The default γ of `Form::Auto` is for classes only.
    let is_auto = params.form == Form::Auto && targets.n_columns() > 1;
    let weighted = if is_auto { Form::Auto } else { form };
    (form, params.graph_reg.unwrap_or_else(|| default_graph_reg(weighted, graph.mean_degree(), targets)))
}

/// Whether target rows all sum to 1, so that the last centered column is minus the sum of the others.
fn is_last_implied(targets: &Targets) -> bool {
    targets.n_columns() > 1 && targets.values().rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() <= 1e-12)
}

/// Vector (c) to add to the scores of a part whose targets had `center` subtracted; `mean` is that of all targets.
fn level(form: Form, center: &[f64], mean: &[f64]) -> Vec<f64> {
    match form {
        // In regression the level of a component is that of its values.
        Form::Stable if mean.len() == 1 => vec![center[0] - mean[0]],
        Form::Stable => vec![0.0; mean.len()],
        _ => mean.to_vec(),
    }
}

/// Summary of the systems of all parts.
#[derive(Default)]
struct Solved {
    summary: SolveSummary,
    refinement: Option<Refinement>,
    influence: Option<Influence>,
    certificate: Option<Certificate>,
}

impl Solved {
    /// Adds the solution of a part. Iterations and residual curve are those of the slowest system, the residual is the largest.
    fn add(&mut self, solution: Solution, part: &Part<'_>) {
        let Solution { info, refinement, influence, certificate, .. } = solution;
        let one = info.summary();
        let is_first = self.summary.preconditioner.is_empty();
        let (residual, converged) = (self.summary.residual, self.summary.converged);
        let (this, is_converged) = (one.residual, one.converged);
        if is_first || one.n_iter > self.summary.n_iter {
            self.summary = one;
        }
        if !is_first {
            self.summary.residual = if residual.is_nan() || residual > this { residual } else { this };
            self.summary.converged = is_converged && converged;
        }
        self.refinement = refinement.or(self.refinement.take());
        self.influence = influence.or(self.influence.take());
        if let (Some(all), Some(one)) = (&mut self.certificate, certificate) {
            all.join(one.placed(|row| part.whole(row as usize) as u32, part.n()));
        }
    }
}

struct System<'a> {
    part: &'a Part<'a>,
    /// Mean that is subtracted from the targets (c).
    mean: &'a [f64],
    settling: Option<&'a Settling>,
    is_last_implied: bool,
    solving: &'a Solving<'a>,
    run: &'a Run,
}

/// A solution on the part, and how it was found.
struct Solution {
    x: Matrix,
    info: SolveInfo,
    refinement: Option<Refinement>,
    influence: Option<Influence>,
    certificate: Option<Certificate>,
}

impl System<'_> {
    fn columns(&self) -> usize {
        self.solving.targets.n_columns() - usize::from(self.is_last_implied)
    }

    /// Label weights as shares of their sum: the system is divided by c_tot, so that their scale does not matter.
    fn label_shares(&self) -> impl Iterator<Item = f64> {
        let weights = self.solving.targets.weights();
        let total: f64 = weights.iter().sum();
        self.part.labels.iter().map(move |&at| weights[at] / total)
    }

    /// C(y − ȳ)/c_tot, divided by `divisor`, at the labeled rows of the part, for the columns to be solved.
    fn centered_targets(&self, divisor: f64) -> Result<RightHandSides<'_>> {
        let mut values = Matrix::filled(self.part.labels.len(), self.columns(), 0.0);
        for (place, (weight, &at)) in self.label_shares().zip(&self.part.labels).enumerate() {
            let (targets, out) = (self.solving.targets.values().row(at), values.row_mut(place));
            out.iter_mut()
                .zip(targets)
                .zip(self.mean)
                .for_each(|((out, y), mean)| *out = weight * (y - mean) / divisor);
        }
        RightHandSides::of_rows(self.part.n(), &self.part.labeled, values)
    }

    fn label_weights(&self) -> Vec<f64> {
        let mut c = vec![0.0; self.part.n()];
        self.part.labeled.iter().zip(self.label_shares()).for_each(|(&row, weight)| c[row as usize] = weight);
        c
    }

    /// A = γL + C/c_tot, divided by γ: (L + C/(γ·c_tot))·f = b/γ; with a prior plus κD on the left and κD(p − ȳ) on the right.
    fn solve_regularized(&self, graph_reg: f64, c: &[f64], zero_mean: bool) -> Result<Solution> {
        let diagonal: Vec<f64> = c.iter().map(|c| c / graph_reg).collect();
        let mut b = self.centered_targets(graph_reg)?;
        if let Some(prior) = &self.solving.prior {
            let mut all = b.to_matrix().into_owned();
            prior.add_targets(&self.part.graph, self.mean, &mut all);
            b = all.into();
        }
        self.solve(&self.part.graph, Some(&diagonal), zero_mean, b)
    }

    /// Solves with L of `graph`, the label weights or cut edges `weights`, and the pulls of the prior.
    fn solve(
        &self,
        graph: &Graph,
        weights: Option<&[f64]>,
        zero_mean: bool,
        b: RightHandSides<'_>,
    ) -> Result<Solution> {
        let HarmonicParams { tol, max_iter, .. } = *self.solving.params;
        let params = LaplacianParams { tol, max_iter, zero_mean, ..LaplacianParams::default() };
        let pulls = self.solving.prior.as_ref().map(|prior| prior.pulls(graph));
        let whole: Option<Vec<f64>> = match (weights, &pulls) {
            (Some(weights), Some(pulls)) => {
                Some(weights.iter().zip(pulls).map(|(weight, pull)| weight + pull).collect())
            }
            _ => None,
        };
        let diagonal = whole.as_deref().or(weights);
        let mut solver = LaplacianSolver::new(graph, diagonal, params, self.run)?;
        let start = self.start(graph.n_samples(), b.n_cols(), zero_mean);
        if let Some(goal) = self.settling {
            // A fixed seed, so that fits without a seed give the same bits each time.
            let run = self.run.with_seed(PROBE_SEED);
            let (x, info, bounds) = solver.solve_certified(b, start.as_ref(), goal, &run)?;
            let mut certificate = Certificate::default();
            certificate.add(None, bounds, self.is_last_implied, &info);
            let influence = self.influence(&mut solver, weights, pulls.as_deref())?;
            return Ok(Solution { x, info, refinement: None, influence, certificate: Some(certificate) });
        }
        let (mut x, info) = solver.solve(&b, start.as_ref(), self.run)?;
        let refinement = match self.solving.refiner {
            Some(refiner) => {
                let rows = self.part.rows.as_deref();
                let system = Sparsified { solver: &solver, rows, diagonal, zero_mean, tol };
                Some(refiner.refine(&system, &b.to_matrix(), &mut x, self.run)?)
            }
            None => None,
        };
        let influence = self.influence(&mut solver, weights, pulls.as_deref())?;
        Ok(Solution { x, info, refinement, influence, certificate: None })
    }

    /// The start on the rows of the part (n, columns): 0 where it has no scores. With `zero_mean` its columns have mean zero, as the
    /// solution has. `None` if it is of other rows or classes, or the system is not on all rows of the part.
    fn start(&self, n: usize, columns: usize, zero_mean: bool) -> Option<Matrix> {
        let Solving { targets, .. } = self.solving;
        let fits = |start: &&Matrix| {
            (start.n_rows(), start.n_cols()) == (targets.n_samples(), targets.n_columns()) && n == self.part.n()
        };
        let scores = self.solving.start.filter(fits)?;
        let mut start = Matrix::filled(n, columns, 0.0);
        for row in 0..n {
            let own = scores.row(self.part.whole(row)).iter().map(|score| if score.is_finite() { *score } else { 0.0 });
            start.row_mut(row).iter_mut().zip(own).for_each(|(start, score)| *start = score);
        }
        if zero_mean {
            for column in 0..columns {
                let mean = start.rows().map(|row| row[column]).sum::<f64>() / n.max(1) as f64;
                (0..n).for_each(|row| start.row_mut(row)[column] -= mean);
            }
        }
        Some(start)
    }

    /// The influence of the labels, of the given `weights`, if [`Solving::influence`] is set.
    fn influence(
        &self,
        solver: &mut LaplacianSolver,
        weights: Option<&[f64]>,
        pulls: Option<&[f64]>,
    ) -> Result<Option<Influence>> {
        match weights.filter(|_| self.solving.influence) {
            Some(weights) => {
                let run = self.run.with_seed(PROBE_SEED);
                Influence::find(solver, self.part, weights, pulls, self.solving.components, &run).map(Some)
            }
            None => Ok(None),
        }
    }

    /// P A P f = ỹ.
    fn stable(&self, graph_reg: f64) -> Result<Solution> {
        self.solve_regularized(graph_reg, &self.label_weights(), true)
    }

    /// A g = ỹ. Without a prior, exact solutions have cᵀg = 0; this is restored at the end, except for certified solutions, whose
    /// bounds hold for g as solved.
    fn plain(&self, graph_reg: f64) -> Result<Solution> {
        let c = self.label_weights();
        let mut solution = self.solve_regularized(graph_reg, &c, false)?;
        if solution.certificate.is_some() || self.solving.prior.is_some() {
            return Ok(solution);
        }
        let g = &mut solution.x;
        let mut mean = vec![0.0; g.n_cols()];
        for (row, weight) in g.rows().zip(&c).filter(|(_, weight)| **weight > 0.0) {
            mean.iter_mut().zip(row).for_each(|(mean, g)| *mean += weight * g);
        }
        let columns = g.n_cols().max(1);
        g.values_mut().chunks_exact_mut(columns).for_each(|row| {
            row.iter_mut().zip(&mean).for_each(|(g, mean)| *g -= mean);
        });
        Ok(solution)
    }

    /// L⁺ỹ, with the label weights as given, not as shares. The solver projects the targets on the range of L.
    fn pseudo_inverse(&self) -> Result<Solution> {
        let total: f64 = self.solving.targets.weights().iter().sum();
        self.solve(&self.part.graph, None, false, self.centered_targets(total.recip())?)
    }

    /// g = y − ȳ on S, L_UU g_U = W_US g_S on the others.
    fn hard(&self) -> Result<Solution> {
        let mut g = Matrix::filled(self.part.n(), self.columns(), 0.0);
        let mut is_open = vec![true; self.part.n()];
        for (&row, &at) in self.part.labeled.iter().zip(&self.part.labels) {
            is_open[row as usize] = false;
            let values = self.solving.targets.values().row(at).iter().zip(self.mean).map(|(y, mean)| y - mean);
            g.row_mut(row as usize).iter_mut().zip(values).for_each(|(g, value)| *g = value);
        }
        let open = kept_rows(&is_open);
        let graph = self.part.graph.part(&open, &mut Vec::new())?;
        let (mut b, mut cut) = (Matrix::filled(open.len(), g.n_cols(), 0.0), vec![0.0; open.len()]);
        for (at, &row) in open.iter().enumerate() {
            let (columns, weights) = self.part.graph.adjacency().row(row as usize);
            for (&column, weight) in columns.iter().zip(weights).filter(|(column, _)| !is_open[**column as usize]) {
                cut[at] += weight;
                b.row_mut(at).iter_mut().zip(g.row(column as usize)).for_each(|(b, g)| *b += weight * g);
            }
        }
        let solved = self.solve(&graph, Some(&cut), false, b.into())?;
        open.iter().zip(solved.x.rows()).for_each(|(&row, values)| g.row_mut(row as usize).copy_from_slice(values));
        let n_open = open.len();
        let certificate = solved.certificate.map(|certificate| certificate.placed(|row| open[row as usize], n_open));
        Ok(Solution { x: g, certificate, ..solved })
    }
}
