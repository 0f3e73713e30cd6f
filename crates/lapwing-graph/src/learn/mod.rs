//! Graphs learned from features: weights under which the rows are smooth and every row has neighbors.
//!
//! For squared distances Z, `min ‖W ∘ Z‖₁,₁ + f(W)` over symmetric W ≥ 0 with empty diagonal (Kalofolias 2016; Kalofolias &
//! Perraudin 2019, eq. 2), with f(W) = −α·1ᵀlog(W1) + (β/2)·‖W‖²_F, the log-degree model (eq. 3), or (a/2)·(‖W1‖² + ‖W‖²_F)
//! under ‖W‖₁,₁ = n, the l2-degree model (eq. 4, whose α is a/2). Since W*(Z, α, β) = δ·W*(θZ, 1, 1) for θ = 1/√(αβ) and δ =
//! √(α/β) (Proposition 1), the only parameter is the sparsity θ, which follows from the requested number of neighbors
//! (`sparsity.rs`). Likewise W*(Z, a) = W*(θZ, 1) for θ = 1/a.
//!
//! [`learn_graph`] takes the steps in order: neighbors, `support.rs`, `sparsity.rs`, the solver, `repair.rs`. `dual.rs` states
//! the problem for all solvers, `newton.rs` and `active.rs` are the default solver, `primal_dual.rs` is that of the paper, and
//! `single_node.rs` solves one row by itself.
//!
//! Departures from the paper: the support keeps pairs at distance 0; the solver is Newton's on the dual, to a certified gap;
//! weights are exact zeros or positive, without a threshold; θ has guards against ties.
//!
//! Cost: that of the neighbor search for r·k neighbors, then O(n·r·k) for each of about ten passes. Memory: 20 bytes for
//! each allowed pair, and 32·n·r·k bytes while the support is made. Take a plain neighbor graph if weights do not matter or
//! distances carry no information.

mod active;
mod dual;
mod lanes;
mod newton;
mod offsets;
mod params;
mod primal_dual;
mod repair;
mod report;
mod single_node;
mod smooth;
mod sparsity;
mod steps;
mod support;
#[cfg(test)]
mod tests;
mod weights;

use std::time::Instant;

use lapwing_core::params::Parameters;
use lapwing_core::{Error, Features, Phase, Result, Run};

use crate::knn::{KnnReport, kneighbors, sorted_neighbors};
use crate::{Graph, GraphParams};
use dual::Problem;
use newton::newton;
use primal_dual::primal_dual;
use repair::Repair;
use report::describe;
use steps::Arrived;
use support::check_memory;

pub use crate::params::{LearnModel, LearnParams, LearnSolver, SparsityMean};
pub(crate) use params::learn_bytes;
pub use report::LearnReport;
pub use single_node::{SingleNode, single_node, single_node_weights};
pub use sparsity::Sparsity;
pub use support::{NeighborTable, SquaredDistance, Support};
pub use weights::LearnedWeights;

/// A learned graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LearnedGraph {
    /// The graph; weights are those of the model times the scale δ.
    pub graph: Graph,
    /// The weights as a function of pairs.
    pub weights: LearnedWeights,
    /// Report of the neighbor search; `None` where the neighbors were given.
    pub knn: Option<KnnReport>,
    /// Report of the learning.
    pub report: LearnReport,
}

/// Share of the time for learning that is expected to be left after each fit, if fits are repaired.
const LEFT: f64 = 0.4;

/// If every row has at least one in so many rows as neighbors, they are found by sorting all distances.
const WIDE: usize = 8;

/// Learns the graph of `features` (n, d) by `params`, whose weights name the model: neighbors, support, sparsity, weights, and
/// repairs if requested. `start` are the multipliers of a similar fit among the same rows ([`LearnedWeights::start`]).
///
/// # Errors
/// [`Error::Param`] for parameters outside their range, among them more neighbors than the rows allow; [`Error::Graph`] where
/// no sparsity follows from the distances; [`Error::TooLarge`] where the support would not fit in memory; those of
/// [`kneighbors`]; [`Error::Interrupted`].
///
/// # Complexity
/// That of [`kneighbors`] for r·k neighbors, and O(n·r·k) for each of about ten passes.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Run};
/// use lapwing_graph::learn::learn_graph;
/// use lapwing_graph::{GraphParams, Weighting};
///
/// // Two groups far apart, and a point between: the graph gives it a few weak edges, and no row is left alone.
/// let x = [0.0, 1.0, 2.0, 3.5, 30.0, 31.0, 32.5, 33.0, 14.0];
/// let features = Features::from_f64(9, 1, x.to_vec())?;
/// let params = GraphParams { n_neighbors: 2, weights: Weighting::Learned, ..GraphParams::default() };
/// let learned = learn_graph(&features, &params, None, &Run::new(Some(1), 0)?)?;
/// assert!(learned.report.gap < 1e-8 && learned.graph.degree().iter().all(|&d| d > 0.0));
/// assert!(learned.graph.degree()[8] < learned.graph.degree()[1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn learn_graph(
    features: &Features<'_>,
    params: &GraphParams,
    start: Option<&[f64]>,
    run: &Run,
) -> Result<LearnedGraph> {
    params.validate()?;
    let params = &params.resolved(features);
    let mut clock = Clock::default();
    let n = features.n_rows();
    let knn = params.learn_search(n, features.n_cols())?;
    let bytes = learn_bytes(n, knn.n_neighbors) as u64;
    check_memory(&format!("a graph with {} allowed neighbors of each row", knn.n_neighbors), bytes)?;
    let is_wide = WIDE * knn.n_neighbors >= n;
    let search = if is_wide { sorted_neighbors } else { kneighbors };
    let (neighbors, report) = clock.time("neighbors", || search(features, &knn, run))?;
    // The search was the first phase of the progress; learning is the next one.
    run.progress().finish();
    run.progress().start("learn", 0);
    let table = NeighborTable::from_neighbors(neighbors, params.metric(), run)?;
    let repair = params.learn.repair.then(|| Repair::new(features, &knn));
    let mut learned = learn((table, report.is_exact()), params, start, repair, &mut clock, run)?;
    learned.knn = Some(report);
    Ok(learned)
}

/// Learns a graph from given neighbors, as [`learn_graph`] does from features.
///
/// # Errors
/// As [`learn_graph`]; [`Error::Graph`] or [`Error::Shape`] for an invalid table; [`Error::Param`] for repairs, which need the
/// features.
pub fn learn_from_table<R: SquaredDistance>(
    table: NeighborTable<R>,
    params: &GraphParams,
    start: Option<&[f64]>,
    run: &Run,
) -> Result<LearnedGraph> {
    params.validate()?;
    table.check()?;
    if params.learn.repair {
        return Err(Error::param("repair", true, "false without features, among which more neighbors could be found"));
    }
    learn((table, true), params, start, None, &mut Clock::default(), run)
}

/// The weights of the pairs of `support` under `model`; the parameters must name the sparsity.
///
/// # Errors
/// [`Error::Param`] for parameters outside their range; [`Error::Graph`] naming a row without pairs in the log-degree
/// model, which gives every row a degree; [`Error::Interrupted`].
///
/// # Complexity
/// Newton: ten to thirty passes over the 2m entries of the support.
pub fn learn_weights<R: SquaredDistance>(
    support: &Support<R>,
    model: LearnModel,
    params: &LearnParams,
    start: Option<&[f64]>,
    run: &Run,
) -> Result<(LearnedWeights, LearnReport)> {
    params.check_ranges()?;
    let Some(sparsity) = params.sparsity else {
        return Err(Error::param("sparsity", "auto", "a number: only neighbors of rows tell what it should be"));
    };
    let mut clock = Clock::default();
    let start = checked_start(start, support.n_samples(), model)?;
    let problem = Problem::new(model, support, sparsity, run);
    let arrived = clock.time("learn", || solve(&problem, params, start, run))?;
    let weights = LearnedWeights::new(&problem, &arrived.state, params.scale, run);
    let mut report = describe(&problem, params, &arrived);
    report.phases = clock.phases;
    Ok((weights, report))
}

/// The model that the weights of `params` name.
fn model_of(params: &GraphParams) -> Result<LearnModel> {
    params.weights.model().ok_or_else(|| {
        Error::param("weights", params.weights.name(), "learned or learned-l2, where a graph is to be learned")
    })
}

/// Learns a graph from neighbors, of which is told whether they are the nearest.
fn learn<R: SquaredDistance>(
    (table, are_nearest): (NeighborTable<R>, bool),
    params: &GraphParams,
    start: Option<&[f64]>,
    mut repair: Option<Repair<'_>>,
    clock: &mut Clock,
    run: &Run,
) -> Result<LearnedGraph> {
    let model = model_of(params)?;
    let repairs = repair.is_some();
    let (n, knows_all) = (table.n_samples(), table.n_neighbors + 1 >= table.n_samples());
    let start = checked_start(start, n, model)?;
    let (chosen, mut reach, mut support) = clock.time("support", || {
        let choose = || sparsity::choose(model, &table, params.n_neighbors, run);
        let chosen = if params.learn.sparsity.is_none() { Some(choose()?) } else { None };
        Ok((chosen, table.last(), Support::from_table(table, run)?))
    })?;
    let sparsity = params.learn.sparsity.or(chosen.map(|chosen| chosen.value)).unwrap_or(1.0);
    let fit = |support: &Support<R>, start, clock: &mut Clock, run: &Run| {
        let problem = Problem::new(model, support, sparsity, run);
        clock.time("learn", || solve(&problem, &params.learn, start, run))
    };
    // Each fit is expected to take most of the time that is left if it may be repaired.
    let share = |fits: i32| if repairs { 1.0 - LEFT.powi(fits) } else { f64::from(fits) };
    let mut arrived = fit(&support, start, clock, &run.part(0.0..share(1), ""))?;
    let (mut n_fits, mut n_repaired) = (1, 0);
    // Rows can be certified only by multipliers of a converged solution.
    while let Some(repair) = repair.as_mut().filter(|_| arrived.converged) {
        let problem = Problem::new(model, &support, sparsity, run);
        let run = &run.part(share(n_fits)..share(n_fits + 1), "repair");
        let missing = clock.time("repair", || repair.missing(&problem, &arrived.state, &mut reach, run))?;
        let Some(missing) = missing else { break };
        let start = (problem.lambdas(&arrived.state.multipliers), arrived.state.multipliers.level);
        n_repaired += missing.len();
        support = support.with(&missing, run);
        let next = fit(&support, Some(start), clock, run)?;
        n_fits += 1;
        arrived = Arrived { spent: arrived.spent + next.spent, ..next };
    }
    let problem = Problem::new(model, &support, sparsity, run);
    let weights = LearnedWeights::new(&problem, &arrived.state, params.learn.scale, run);
    let graph = clock.time("graph", || weights.graph(&support, &arrived.state, run))?;
    let is_exact = are_nearest && repair.is_none_or(|repair| repair.is_exact());
    let n_uncertified = match (knows_all, is_exact) {
        (true, _) => 0,
        (false, true) => repair::uncertified(&problem, &arrived.state, &reach).count(),
        // A row that the search has missed may be nearer than any that it found.
        (false, false) => n,
    };
    let report = LearnReport {
        chosen,
        n_repaired,
        repair: params.learn.repair,
        n_uncertified,
        exact_neighbors: is_exact,
        phases: std::mem::take(&mut clock.phases),
        ..describe(&problem, &params.learn, &arrived)
    };
    Ok(LearnedGraph { graph, weights, knn: None, report })
}

/// Solves a model on a support.
fn solve<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    params: &LearnParams,
    start: Option<Start>,
    run: &Run,
) -> Result<Arrived> {
    let support = problem.support;
    let is_lonely = |row: &usize| problem.model == LearnModel::Log && support.row(*row).0.is_empty();
    if let Some(row) = (0..support.n_samples()).find(is_lonely) {
        let reason = format!("row {row} has no allowed pair; the log-degree model gives every row one or more");
        return Err(Error::graph(reason));
    }
    let beyond = || Error::graph("squared distances times the sparsity leave f64; rescale the features");
    if problem.is_beyond() {
        return Err(beyond());
    }
    if support.n_pairs() == 0 {
        return Err(Error::graph("there is no allowed pair, so nothing to learn"));
    }
    let arrived = match params.solver.resolved() {
        LearnSolver::PrimalDual => primal_dual(problem, params.tol, params.iterations(), run)?,
        LearnSolver::Auto | LearnSolver::Newton => {
            let start = match start {
                Some((lambdas, level)) => problem.multipliers(lambdas, level),
                None => problem.start(),
            };
            newton(problem, start, params.tol, params.iterations(), run)?
        }
    };
    if arrived.state.dual.is_finite() { Ok(arrived) } else { Err(beyond()) }
}

/// λ of each row, and ν.
type Start = (Vec<f64>, f64);

/// Multipliers of an earlier fit, checked.
fn checked_start(start: Option<&[f64]>, n: usize, model: LearnModel) -> Result<Option<Start>> {
    let Some(start) = start else { return Ok(None) };
    if start.len() != n + 1 {
        return Err(Error::shape("start", format!("{} values, one a row and the level", n + 1), start.len()));
    }
    let (nodes, level) = (&start[..n], start[n]);
    let is_fine = |node: &f64| node.is_finite() && (model == LearnModel::L2 || *node > 0.0);
    match nodes.iter().position(|node| !is_fine(node)) {
        Some(row) => Err(Error::Value {
            what: "start".into(),
            row,
            col: None,
            value: nodes[row].to_string(),
            advice: "the multipliers of a fit of the same model are wanted".into(),
        }),
        None if !level.is_finite() || (model == LearnModel::Log && level != 0.0) => {
            Err(Error::param("start", level, "a finite level last, which is 0 in the log-degree model"))
        }
        None => Ok(Some((nodes.to_vec(), level))),
    }
}

/// Seconds of the phases of a fit; those of one name add up.
#[derive(Default)]
struct Clock {
    phases: Vec<Phase>,
}

impl Clock {
    fn time<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let out = work();
        let seconds = start.elapsed().as_secs_f64();
        match self.phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => phase.seconds += seconds,
            None => self.phases.push(Phase { name: name.into(), seconds }),
        }
        out
    }
}
