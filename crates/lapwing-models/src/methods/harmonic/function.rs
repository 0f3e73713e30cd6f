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
//! If all target rows sum to 1 (one-hot, soft labels), the last column follows from the others and is not solved for, unless there are
//! many of them.
//!
//! Cost: one system with c − 1 right-hand sides; see [`LaplacianSolver`](lapwing_solve::LaplacianSolver) for how it is solved, in what time and memory, and what is
//! parallel.

use lapwing_core::{Matrix, Result, Run, SolveSummary, Targets};
use lapwing_solve::{ErrorBounds, times_power};

use super::certificate::Certificate;
use super::influence::Influence;
use super::params::{Clamp, Form, HarmonicParams};
use super::prior;
use super::refine::Refinement;
use super::settling::Settling;
use super::solving::Solving;
use super::system::{Solution, System};
use crate::core::class_sizes::LabelsDrawn;
use crate::core::counts::label_counts;
use crate::core::parts::{Labeled, Part, by_component};

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
    /// How much each label changes the score of its own row, if that was asked for.
    pub(super) influence: Option<Influence>,
    /// Bounds on the errors of the scores; none if `certify` is off.
    pub certificate: Option<Certificate>,
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
        // In the stable form the solution is the common value of all labels of a component.
        if let Some(value) = labeled.only_value(targets).filter(|_| form == Form::Stable) {
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

/// Whether target rows all sum to 1, so that the last centered column is minus the sum of the others. Of many columns the last is solved
/// for nevertheless: that costs little, and bounds its errors better than those of all the others do.
pub(super) fn is_last_implied(targets: &Targets) -> bool {
    (2..=ErrorBounds::MOST_JOINT).contains(&targets.n_columns())
        && targets.values().rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() <= 1e-12)
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
