//! Trains the weights of a linear model from features, graph and labels. A route determines which matrices are stored, which
//! preconditioner is built, and which optimizer iterates.

use std::time::Instant;

use lapwing_core::{Error, Features, Matrix, Report, Result, Run, Warning, available_memory_bytes};
use lapwing_graph::Graph;
use lapwing_solve::products::times;
use lapwing_solve::{Propagator, Shortfall};
use serde::Serialize;

use super::attention::SCORES_TOL;
use super::map::OnGraph;
use super::params::{LayerOptimizer, LayerSolver, TYPICAL_ADAM, UnfoldedParams};
use super::routes::{Route, Sizes, column_tol, inner_tol};
use super::smooth::{NODES_TOL, Sketched, Sparsifier, by_columns, by_nodes, constant, reduced, roughness, weighted};
use crate::maps::{
    Inputs, Layers, Loss, Map, NodeLoss, Preconditioner, State, Stored, StoredValues, Task, Trace, lbfgs,
    optimize::Rule, optimize::cg, optimize::descend, optimize::dot, optimize::spectrum, precondition::spread,
};

/// Summary of the training for the report.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// The solver and the optimizer.
    pub solver: &'static str,
    pub optimizer: &'static str,
    /// ρ.
    pub l2_reg: f64,
    /// ℓ + penalty at zero and after each iteration, and seconds since the fit began.
    pub loss: Vec<f64>,
    pub seconds: Vec<f64>,
    /// Estimated (ℓ − ℓ*)/ℓ* at the end.
    pub gap: Option<f64>,
    /// Estimated condition number after preconditioning.
    pub condition: Option<f64>,
    /// Products of the graph with one column.
    pub edge_passes: u64,
    /// Dimension of the space of weights that have an effect.
    pub rank: Option<usize>,
    /// Columns of zeros among the features.
    pub n_zero_columns: usize,
    /// The estimated cost of each route, if one was chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// HERTA only: number of kept edges, n_λ, rows of the sketch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_kept_edges: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_dimension: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sketch_size: Option<usize>,
}

/// The inputs of a training.
pub(super) struct Training<'t, 'a> {
    pub params: &'t UnfoldedParams,
    pub inputs: &'t Inputs<'t, 'a>,
    pub propagator: &'t Propagator,
    pub graph: &'t Graph,
    /// Labeled nodes, ascending (l).
    pub labeled: &'t [u32],
    pub loss: &'t Loss<'t>,
    /// Start of the fit.
    pub start: Instant,
    pub run: &'t Run,
}

/// Residual of the pilot solve, and of estimates of the diagonal.
const PILOT: f64 = 1e-3;
/// Suboptimality below which single precision is not accurate enough.
const LEAST_SINGLE: f64 = 1e-8;
/// Mixed strategy: the factor by which a round lowers the suboptimality, and the most that the whole graph may then have left,
/// relative to that.
const DIGIT: f64 = 0.1;
const LIMITED: f64 = 3.0;
/// Iterations that estimate the extreme eigenvalues of a problem.
const LOOKS: usize = 12;

/// Weights and how they were found.
pub(super) struct Trained {
    /// W (k, c).
    pub weights: Matrix,
    pub trace: Trace,
    pub summary: Summary,
}

impl Training<'_, '_> {
    /// Finds the weights by the given route, or by the cheapest one.
    pub fn train(&self, report: &mut Report) -> Result<Trained> {
        let run = self.run;
        let on_graph = self.on_graph(PILOT);
        let before = self.propagator.n_passes();
        let spread = report
            .time("pilot", run, |_| spread(&on_graph, self.inputs.n_features(), self.loss.trust, &self.constant()?))?;
        let pilot = (self.propagator.n_passes() - before) as f64 / 17.0;
        let ridge = self.params.l2_reg.unwrap_or_else(|| self.params.loss.ridge(spread, self.loss.trust));
        if self.params.l2_reg.is_none() {
            report.choose("l2_reg", ridge);
        }
        let squares = self.inputs.column_squares();
        let n_zero_columns = squares.iter().filter(|x| **x == 0.0).count();
        let sizes = Sizes {
            params: self.params,
            inputs: self.inputs,
            propagator: self.propagator,
            graph: self.graph,
            n_labeled: self.labeled.len(),
            n_outputs: self.loss.n_outputs(),
            pilot,
            spread: 1.0 + spread / ridge.max(f64::MIN_POSITIVE),
            memory: available_memory_bytes().map_or(u64::MAX, |bytes| bytes / 2),
        };
        let (mut solver, mut routes) = (self.params.solver, Vec::new());
        if solver == LayerSolver::Auto {
            routes = sizes.routes();
            solver = routes.first().map_or(LayerSolver::MatrixFree, |route| route.kind);
            report.choose("solver", solver.name());
        }
        let summary = Summary { solver: solver.name(), l2_reg: ridge, n_zero_columns, routes, ..Summary::default() };
        let mut trained = match solver {
            LayerSolver::Direct if sizes.is_by_nodes() => self.by_nodes(ridge, summary, report)?,
            LayerSolver::Direct => self.direct(ridge, summary, report)?,
            LayerSolver::RoughPcg | LayerSolver::Herta | LayerSolver::HertaMixed => {
                let rough = roughness(sizes.spread, self.inputs.width());
                self.preconditioned(solver, (ridge, rough), summary, report)?
            }
            _ => self.on_the_graph(solver, ridge, (&squares, spread), summary, report)?,
        };
        if trained.weights.values().iter().any(|w| !w.is_finite()) {
            let (solver, tol) = (format!("training by {}", trained.summary.optimizer), self.params.tol);
            return Err(Error::NotConverged { solver, iterations: trained.trace.n_iter, residual: f64::NAN, tol });
        }
        let trace = &trained.trace;
        trained.summary.edge_passes += self.propagator.n_passes();
        trained.summary.gap = Some(trace.relative_gap()).filter(|gap| gap.is_finite());
        trained.summary.condition = trace.condition;
        trained.summary.loss.clone_from(&trace.values);
        trained.summary.seconds.clone_from(&trace.seconds);
        report.solve = Some(trace.summary(trained.summary.optimizer));
        Ok(trained)
    }

    /// The layers of a linear model, and the trace and summary of its training.
    pub fn layers(&self, report: &mut Report) -> Result<(Layers, Trace, Summary)> {
        let Trained { weights, trace, summary } = self.train(report)?;
        let (bias, center) = (self.params.bias, self.inputs.center.to_vec());
        Ok((Layers { hidden: None, output: weights, bias, center }, trace, summary))
    }

    /// Outputs f of the layers, and scores Z = H⁻¹·f, of all nodes.
    pub fn scores(&self, layers: &Layers, features: &Features<'_>) -> Result<(Matrix, Matrix)> {
        let f = match layers.hidden {
            None => self.inputs.times(&layers.output, self.run)?,
            Some(_) => layers.outputs(features, self.run)?,
        };
        // The loss is computed from these scores, so its error is of the same order.
        let z = self.propagator.solve(&f, inner_tol(self.params.tol).min(SCORES_TOL), self.run)?;
        Ok((f, z))
    }

    /// H⁻¹1 at the labeled nodes (l).
    pub fn constant(&self) -> Result<Vec<f64>> {
        constant(self.propagator, self.labeled, PILOT, self.run)
    }

    /// Returns an error for matrices that exceed the memory.
    fn check_memory(&self, solver: LayerSolver, bytes: u64) -> Result<()> {
        let what = format!("the layer solver {}", solver.name());
        lapwing_core::check_memory(&what, bytes, "take the solver matrix-free, which stores nothing")
    }

    pub fn on_graph(&self, tol: f64) -> OnGraph<'_> {
        OnGraph { inputs: self.inputs, propagator: self.propagator, labeled: self.labeled, tol, run: self.run }
    }

    fn task<'s>(&'s self, map: &'s dyn Map, ridge: f64, preconditioner: &'s Preconditioner) -> Task<'s> {
        let UnfoldedParams { tol, max_iter, .. } = *self.params;
        // If classes are well separated, the Hessian of cross-entropy is far below QᵀMQ.
        let is_close = self.params.loss == NodeLoss::Mse
            && !matches!(preconditioner, Preconditioner::Identity | Preconditioner::Diagonal(_));
        Task { map, loss: self.loss, ridge, preconditioner, is_close, tol, max_iter, run: self.run }
    }

    /// The optimizer, which is never auto.
    fn optimizer(&self) -> LayerOptimizer {
        match (self.params.optimizer, self.params.loss) {
            (LayerOptimizer::Auto, NodeLoss::Mse) => LayerOptimizer::Cg,
            (LayerOptimizer::Auto, NodeLoss::CrossEntropy) => LayerOptimizer::Lbfgs,
            (optimizer, _) => optimizer,
        }
    }

    /// Runs an optimizer from the given state, or from zero.
    fn optimize(
        &self,
        optimizer: LayerOptimizer,
        task: &Task<'_>,
        start: Option<State>,
        trace: &mut Trace,
        report: &mut Report,
    ) -> Result<State> {
        let name = if trace.values.is_empty() { "solve" } else { "refine" };
        trace.begin(task.max_iter);
        report.time(name, self.run, |_| {
            let mut state = match start {
                Some(state) => state,
                None => State::new(None, task)?,
            };
            match optimizer {
                LayerOptimizer::Cg | LayerOptimizer::Auto => cg(&mut state, task, trace)?,
                LayerOptimizer::Lbfgs => lbfgs(&mut state, task, trace)?,
                LayerOptimizer::Gd => {
                    let (least, most) = spectrum(task, LOOKS)?;
                    let is_plain = matches!(task.preconditioner, Preconditioner::Identity);
                    let step = match self.params.loss {
                        _ if self.params.learning_rate.is_some() => self.params.learning_rate.unwrap_or(most.recip()),
                        // Without a preconditioner the least eigenvalue takes many iterations to estimate.
                        NodeLoss::Mse if is_plain => most.recip(),
                        NodeLoss::Mse => 2.0 / (least + most),
                        // The curvature of cross-entropy is at most half that of squares.
                        NodeLoss::CrossEntropy => 2.0 / (most + if is_plain { task.ridge } else { 1.0 }),
                    };
                    let known = (!is_plain && self.params.loss == NodeLoss::Mse).then_some(least);
                    descend(Rule::Gradient(step), known, &mut state, task, trace)?;
                    trace.condition = known.map(|least| most / least);
                }
                LayerOptimizer::Adam => {
                    let rate = self.params.learning_rate.unwrap_or(TYPICAL_ADAM);
                    descend(Rule::Adam(rate), None, &mut state, task, trace)?;
                }
            }
            Ok(state)
        })
    }

    /// Solves once for each of few labeled nodes.
    fn by_nodes(&self, ridge: f64, mut summary: Summary, report: &mut Report) -> Result<Trained> {
        let (l, k) = (self.labeled.len() as u64, self.inputs.width() as u64);
        self.check_memory(LayerSolver::Direct, 16 * l * k + 32 * l * l)?;
        let reduced = report.time("smooth", self.run, |_| {
            let q = by_nodes(self.inputs, self.propagator, self.labeled, NODES_TOL, self.run)?;
            reduced(&q, self.inputs.width(), self.run)
        })?;
        let (r, c) = (reduced.rows.width, self.loss.n_outputs());
        let mut trace = Trace::new(self.start);
        if r == 0 {
            // The smoothed features of all labeled nodes are zero: the loss does not depend on the weights.
            let zero = Matrix::filled(self.labeled.len(), c, 0.0);
            trace.note(self.run.install(|| self.loss.residual(&zero).0), self.run);
            (trace.gap, trace.converged) = (0.0, true);
            (summary.optimizer, summary.rank) = (self.optimizer().name(), Some(0));
            return Ok(Trained { weights: Matrix::filled(self.inputs.width(), c, 0.0), trace, summary });
        }
        let wants_root = self.optimizer() == LayerOptimizer::Adam;
        let (preconditioner, rank) =
            Preconditioner::from_rows(&weighted(&reduced.rows, self.loss.trust), r, ridge, wants_root, self.run)?;
        let map = Stored { rows: &reduced.rows, run: self.run };
        let task = self.task(&map, ridge, &preconditioner);
        let optimizer = self.optimizer();
        let inner = self.optimize(optimizer, &task, None, &mut trace, report)?.weights;
        let weights = times(&reduced.back, &inner);
        (summary.optimizer, summary.rank) = (optimizer.name(), Some(rank));
        Ok(Trained { weights, trace, summary })
    }

    /// Smooths the features once, and fits a linear model to them.
    fn direct(&self, ridge: f64, mut summary: Summary, report: &mut Report) -> Result<Trained> {
        let tol = column_tol(self.params.tol);
        let k = self.inputs.width();
        self.check_memory(LayerSolver::Direct, (4 * self.labeled.len() as u64 + 16 * k as u64) * k as u64)?;
        let rows = report.time_steps("smooth", k as u64, self.run, |_| {
            by_columns(self.inputs, self.propagator, self.labeled, tol, self.run)
        })?;
        let mut trace = Trace::new(self.start);
        let (preconditioner, rank) = report.time("factor", self.run, |_| {
            let is_plain = self.loss.trust.iter().all(|m| *m == 1.0);
            let wants_root = self.optimizer() == LayerOptimizer::Adam;
            match &rows.values {
                StoredValues::Single(values) if is_plain => {
                    Preconditioner::from_rows(values, k, ridge, wants_root, self.run)
                }
                _ => Preconditioner::from_rows(&weighted(&rows, self.loss.trust), k, ridge, wants_root, self.run),
            }
        })?;
        let map = Stored { rows: &rows, run: self.run };
        let task = self.task(&map, ridge, &preconditioner);
        let optimizer = self.optimizer();
        let mut weights = self.optimize(optimizer, &task, None, &mut trace, report)?.weights;
        if self.params.tol < LEAST_SINGLE {
            let map = self.on_graph(inner_tol(self.params.tol));
            let task = self.task(&map, ridge, &preconditioner);
            let start = State::new(Some(weights), &task)?;
            weights = self.optimize(optimizer, &task, Some(start), &mut trace, report)?.weights;
        }
        (summary.optimizer, summary.rank) = (optimizer.name(), Some(rank));
        Ok(Trained { weights, trace, summary })
    }

    /// Builds a preconditioner from roughly smoothed features, and iterates on the graph.
    fn preconditioned(
        &self,
        solver: LayerSolver,
        (ridge, rough): (f64, f64),
        mut summary: Summary,
        report: &mut Report,
    ) -> Result<Trained> {
        let (k, optimizer) = (self.inputs.width(), self.optimizer());
        self.check_memory(solver, (4 * self.labeled.len() as u64 + 16 * k as u64) * k as u64)?;
        let is_sampled = solver != LayerSolver::RoughPcg;
        let found = report.time_steps("smooth", k as u64, self.run, |_| self.sketched(is_sampled, rough))?;
        let (preconditioner, rank) = report.time("factor", self.run, |_| {
            Preconditioner::from_rows(&found.rows, k, ridge, optimizer == LayerOptimizer::Adam, self.run)
        })?;
        let Sketched { rows, n_rows, is_sketched, sparsifier } = found;
        drop(rows);
        summary.n_kept_edges = sparsifier.as_ref().map(|thin| thin.n_edges);
        summary.effective_dimension = sparsifier.as_ref().map(|thin| thin.effective_dimension);
        summary.sketch_size = is_sketched.then_some(n_rows);
        let mut trace = Trace::new(self.start);
        let map = self.on_graph(inner_tol(self.params.tol));
        // A sketch with fewer rows than columns does not span all directions.
        let task = self.task(&map, ridge, &preconditioner);
        let task = Task { is_close: task.is_close && (n_rows >= k || !is_sketched), ..task };
        let mut first = None;
        if let Some(Sparsifier { propagator: thin, .. }) = sparsifier {
            if solver == LayerSolver::HertaMixed {
                first = self.on_sparsifier(&thin, optimizer, &task, &mut trace, report)?;
            }
            summary.edge_passes = thin.n_passes();
        }
        let weights = self.optimize(optimizer, &task, first, &mut trace, report)?.weights;
        (summary.optimizer, summary.rank) = (optimizer.name(), Some(rank));
        if trace.condition.is_none() {
            let (least, most) = spectrum(&task, LOOKS)?;
            trace.condition = Some(most / least);
        }
        Ok(Trained { weights, trace, summary })
    }

    /// The mixed strategy: minimizes on the sparsified graph, digit by digit, until the gradient on the whole graph comes mainly
    /// from the missing edges. `None` if the sparsified graph makes no progress.
    fn on_sparsifier(
        &self,
        thin: &Propagator,
        optimizer: LayerOptimizer,
        task: &Task<'_>,
        trace: &mut Trace,
        report: &mut Report,
    ) -> Result<Option<State>> {
        let map = OnGraph { propagator: thin, ..self.on_graph(inner_tol(task.tol)) };
        let (mut on_thin, mut on_whole, mut tol) = (None, None, DIGIT);
        while tol > task.tol {
            let found = self.optimize(optimizer, &Task { map: &map, tol, ..*task }, on_thin, trace, report)?;
            let (has_arrived, first) = (trace.converged, trace.values[0]);
            let whole = State::new(Some(found.weights.clone()), task)?;
            let left = 0.5 * dot(&whole.gradient, &task.preconditioner.apply(&whole.gradient));
            if whole.value.is_nan() || whole.value >= first {
                trace.turn(first);
                return Ok(None);
            }
            trace.turn(whole.value);
            let is_limited = left > LIMITED * tol * whole.value;
            (on_thin, on_whole) = (Some(found), Some(whole));
            if is_limited || !has_arrived {
                break;
            }
            tol *= DIGIT;
        }
        Ok(on_whole)
    }

    /// Iterates on the graph, without a preconditioner or with the diagonal.
    fn on_the_graph(
        &self,
        solver: LayerSolver,
        ridge: f64,
        (squares, spread): (&[f64], f64),
        mut summary: Summary,
        report: &mut Report,
    ) -> Result<Trained> {
        // The root of the diagonal that the norms of columns predict. These norms ignore smoothing: the whole diagonal would damp
        // frequent words, which matter most, too much.
        let scale = spread / squares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let inverse = |x: &f64| {
            let value = (x * scale + ridge).sqrt();
            if value > 0.0 { value.recip() } else { 0.0 }
        };
        let (preconditioner, optimizer) = match solver {
            LayerSolver::Gd => (Preconditioner::Identity, LayerOptimizer::Gd),
            LayerSolver::Adam => (Preconditioner::Identity, LayerOptimizer::Adam),
            _ => {
                let optimizer = self.optimizer();
                (Preconditioner::Diagonal(squares.iter().map(inverse).collect()), optimizer)
            }
        };
        let map = self.on_graph(inner_tol(self.params.tol));
        let task = self.task(&map, ridge, &preconditioner);
        let mut trace = Trace::new(self.start);
        let weights = self.optimize(optimizer, &task, None, &mut trace, report)?.weights;
        summary.optimizer = optimizer.name();
        Ok(Trained { weights, trace, summary })
    }
}

/// Warns if features or scores were not smoothed to the tolerance.
pub(super) fn note_shortfall(shortfall: Option<Shortfall>, report: &mut Report) {
    if let Some(Shortfall { n_iter, residual, tol }) = shortfall {
        report.warnings.push(Warning::SmoothingNotConverged { n_iter, residual, tol });
    }
}
