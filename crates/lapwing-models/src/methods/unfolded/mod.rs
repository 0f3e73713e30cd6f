//! Unfolded graph networks, trained to the optimum of the stated loss: node classifiers and regressors whose hidden states
//! minimize an energy (Yang et al. 2021, TWIRLS; Yang, Yang, Hu & Dereziński, HERTA).
//!
//! ```text
//! E(Z) = ½‖Z − F‖² + (λ/2)·tr ZᵀL̂Z,  F = f(X; W),   Z = H⁻¹F,  H = I + λL̂,  L̂ = D^(−1/2)·L·D^(−1/2),  D = self_loop + degrees
//! min over W of Σ mᵤ·loss(zᵤ, yᵤ) + (ρ/2)·‖W‖²     over the labeled nodes; ∇ = Xᵀ·H⁻¹·R + ρW,  R = ∂loss/∂Z
//! ```
//!
//! f is linear, with a constant column, or has a hidden layer (`network.rs`). Losses are sums, not means: ρ is not divided by the
//! number of labels. [`lapwing_solve::Propagator`] applies H⁻¹, or its unfolding into finitely many steps.
//!
//! **Training.** For a linear f the loss depends on the graph only through Q = H⁻¹X. There are several routes; `routes.rs` states
//! their costs, and `Auto` takes the cheapest. `Direct` stores Q at the labeled nodes and fits a linear model to it. The others
//! iterate on the graph, with a preconditioner from a rough Q (`RoughPcg`), from a sparsified graph and a sketch as published
//! (`Herta`, `HertaMixed`), or from norms of columns (`MatrixFree`). Block conjugate gradients minimize squares, L-BFGS minimizes
//! cross-entropy. Gradient descent and Adam follow the authors' programs.
//!
//! Departures from the papers: losses over the labeled nodes only, with Hessian QᵀMQ; W = P^(−1/2)·W′ is mapped back; the direct
//! route; block conjugate gradients; systems D + λL, which are diagonally dominant while H is not.
//!
//! Cost: see `routes.rs`; memory 4·l·k bytes for stored features of l labeled nodes and k columns, 8·k² for a
//! preconditioner, 8·n·c for scores. Parallel over columns, rows and blocks of fixed size added in order: any number of threads
//! gives the same bits.
//!
//! [`Harmonic`](crate::Harmonic) needs no features, for labels that only follow the graph.

mod attention;
mod extension;
mod map;
mod network;
mod params;
mod plan;
mod reach;
mod routes;
mod select;
mod smooth;
#[cfg(test)]
mod tests;
mod train;

use std::sync::Arc;
use std::time::Instant;

use lapwing_core::{Dense, Error, Features, Matrix, Report, Result, Run, Targets, Warning};
use lapwing_graph::{AffinityGraph, Graph, GraphParams};
use lapwing_solve::{Propagator, Shortfall};

use crate::maps::Loss;
use crate::maps::rows::Inputs;
pub use crate::maps::{Layers, NodeLoss};
pub(crate) use extension::{KIND, UnfoldedExtension};
pub use params::{LayerOptimizer, LayerSolver, UnfoldedParams};

use self::attention::{Attention, ROUNDS, smoothed};
use self::extension::{Settings, per_root};
use self::select::{Question, Selected, select};
use self::train::{Training, note_shortfall};
use crate::core::calibration::Fallback;
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::held_out::folds::{FOLDS, in_turn};
use crate::core::scores::rows_at;
use crate::core::uncertainty::HeldOutErrors;
use crate::{Fitted, FittedRegression, HeldOutSource, Method, NeighborExtension, Plan, Problem, ProblemSize};

/// Name of the method.
pub(crate) const UNFOLDED: &str = "unfolded-gnn";

/// Mean degree, as a share of `self_loop`, below which edges have nearly no effect.
const MOST_FAINT: f64 = 1e-3;

/// An unfolded graph network with validated parameters.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_graph::{AffinityGraph, Graph, GraphParams};
/// use lapwing_models::{Method, Problem, UnfoldedGnn, UnfoldedParams};
///
/// // Two rings of ten nodes, a feature that separates them except at every fifth node, and one label in each.
/// let ring = |first: u32| (0..10).map(move |i| (first + i, first + (i + 1) % 10, 1.0));
/// let edges: Vec<_> = ring(0).chain(ring(10)).collect();
/// let graph = AffinityGraph::given(Graph::from_edges(20, &edges)?);
/// let values = (0..20).map(|i| if (i < 10) == (i % 5 != 3) { 1.0 } else { -1.0 }).collect();
/// let features = Features::from_f64(20, 1, values)?;
/// let labels = Labels::from_integers((0..20).map(|i| match i { 0 => Some(0), 10 => Some(1), _ => None }));
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), graph: Some(&graph), ..Problem::new(&targets) };
/// let run = Run::new(None, 0)?;
/// let params = UnfoldedParams { graph_reg: Some(5.0), ..Default::default() };
/// let fitted = UnfoldedGnn::new(params, GraphParams::default())?.fit(&problem, &run)?;
/// assert!((0..20).all(|node| fitted.labeling.labels[node] == u32::from(node >= 10)));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnfoldedGnn {
    params: UnfoldedParams,
    graph: GraphParams,
}

/// A fit before the decision rule.
struct Trained<'a> {
    /// Z (n, c).
    scores: Arc<Matrix>,
    extension: UnfoldedExtension<'a>,
    graph: Option<AffinityGraph>,
    /// Z of labeled nodes without the labels of their fold.
    held_out: Option<Standings>,
    /// Half-widths of the intervals of a regression.
    uncertainty: Option<Vec<f64>>,
}

impl UnfoldedGnn {
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: UnfoldedParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// Values for every row of a regression, by squares: `problem.targets` has one column.
    ///
    /// # Errors
    /// As [`Method::fit`]; [`Error::Param`] for cross-entropy, which is a loss of classes.
    pub fn regress<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
        let mut fitting = Fitting::regression(UNFOLDED, problem, run)?;
        if self.params.loss != NodeLoss::Mse {
            return Err(Error::param("loss", self.params.loss.name(), "mse for a regression"));
        }
        let Trained { scores, extension, graph, uncertainty, .. } = self.train(&mut fitting, true)?;
        Ok(FittedRegression { uncertainty, ..fitting.regressed(scores, Some(Arc::new(extension)), graph) })
    }

    fn train<'a>(&self, fitting: &mut Fitting<'_, '_, 'a>, is_regression: bool) -> Result<Trained<'a>> {
        let start = Instant::now();
        let features = fitting.features()?;
        Loss::check(self.params.loss, fitting.problem.targets)?;
        let affinity = fitting.described_graph(&self.graph)?;
        let Fitting { problem, ref mut report, run } = *fitting;
        report.warnings.extend(faint_edges(&affinity.graph, self.params.self_loop));
        if self.params.l2_reg == Some(0.0) && self.params.loss == NodeLoss::CrossEntropy {
            report.warnings.push(Warning::NoMinimizer {});
        }
        // Neither the norm nor the degrees are to act on the mean of the values.
        let offset = if is_regression { problem.targets.mean()[0] } else { 0.0 };
        let centered = if offset == 0.0 { None } else { Some(problem.targets.shifted(offset)?) };
        let targets = centered.as_ref().unwrap_or(problem.targets);
        let center = match features {
            Features::Dense(dense) if self.params.bias => far_means(dense, run),
            _ => Vec::new(),
        };
        let center = &center[..];
        let question =
            Question { params: &self.params, features, center, graph: &affinity.graph, targets, is_regression };
        let Selected { graph_reg, held_out, errors } =
            report.time("select", run, |report| run.install(|| select(&question, report, run)))?;
        let network = Self { params: self.params.with_graph_reg(graph_reg), graph: self.graph.clone() };
        let inputs = (features, center);
        let trained = run.install(|| network.smooth_and_train(inputs, &affinity, targets, start, report, run));
        let (mut scores, layers) = trained?;
        let uncertainty = match is_regression {
            true => fitting.uncertainty(Some(&*affinity), |run| match errors {
                None => network.held_out_errors(&question, &affinity, run),
                errors => Ok(errors),
            })?,
            false => None,
        };
        let settings = Settings {
            graph_reg,
            self_loop: self.params.self_loop,
            steps: self.params.steps,
            attention: self.params.attention,
            offset,
        };
        let hidden = Arc::new(per_root(&scores, affinity.graph.adjacency(), self.params.self_loop));
        let neighbors = NeighborExtension::from_graph(problem, &affinity, &self.graph, &hidden);
        let extension = UnfoldedExtension::new(layers, settings, neighbors);
        scores.values_mut().iter_mut().for_each(|z| *z += offset);
        Ok(Trained { scores: Arc::new(scores), extension, graph: affinity.into_built(), held_out, uncertainty })
    }

    /// Errors of values without those of their fold, by one training for each fold.
    fn held_out_errors(
        &self,
        question: &Question<'_, '_>,
        affinity: &AffinityGraph,
        run: &Run,
    ) -> Result<Option<HeldOutErrors>> {
        let Some(folds) = question.folds(run) else { return Ok(None) };
        let values = in_turn(question.targets, &folds, run, |kept, fold, _| {
            let (mut report, inputs) = (Report::default(), (question.features, question.center));
            let (z, _) = self.smooth_and_train(inputs, affinity, kept, Instant::now(), &mut report, run)?;
            Ok(fold.rows_of(&z, question.targets))
        })?;
        Ok(Some(HeldOutErrors::of(question.targets, &values, HeldOutSource::Folds(FOLDS))))
    }

    /// The layers and Z of all nodes, trained again after each reweighting of the edges, from features and their center.
    fn smooth_and_train(
        &self,
        (features, center): (&Features<'_>, &[f64]),
        affinity: &AffinityGraph,
        targets: &Targets,
        start: Instant,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Matrix, Layers)> {
        let (params, graph) = (&self.params, &affinity.graph);
        let mut propagator = Propagator::new(graph, params.propagation(), run)?;
        let inputs = Inputs::centered(features, params.bias, center)?;
        let (mut attention, mut shortfall) = (params.attention.map(Attention::new), None);
        let mut rounds = if attention.is_some() { ROUNDS } else { 0 };
        loop {
            let loss = Loss::new(params.loss, targets);
            let training = Training {
                params,
                inputs: &inputs,
                propagator: &propagator,
                graph,
                labeled: targets.rows(),
                loss: &loss,
                start,
                run,
            };
            let (layers, mut trace, mut summary) = match params.hidden {
                Some(units) => network::train(&training, features, units, report)?,
                None => training.layers(report)?,
            };
            let (f, mut z) = report.time("propagate", run, |_| training.scores(&layers, features))?;
            shortfall = Shortfall::worst(shortfall, propagator.shortfall());
            if let Some(attention) = attention.as_mut().filter(|_| rounds > 0) {
                rounds -= 1;
                let reweighted = run.install(|| attention.reweighted(graph, params.self_loop, &z))?;
                propagator = Propagator::with_degrees(&reweighted, graph.degree(), params.propagation(), run)?;
                continue;
            }
            // So far the loss came from rough solves and single precision.
            trace.correct(run.install(|| exact_loss(&loss, targets, &z, &layers, &inputs, summary.l2_reg)));
            summary.loss.clone_from(&trace.values);
            if params.attention.is_some() {
                // Predictions on this graph start from its original weights, so the scores are computed from these too.
                let found;
                (z, found) = smoothed(graph, params.propagation(), params.attention, &f, run)?;
                shortfall = Shortfall::worst(shortfall, found);
            }
            trace.note_unconverged(params.tol, "raise max_iter or tol, or take solver auto", report);
            note_shortfall(shortfall, report);
            report.add_part("unfolded", &summary)?;
            return Ok((z, layers));
        }
    }
}

/// A warning if degrees are so small relative to `self_loop` that edges have nearly no effect.
fn faint_edges(graph: &Graph, self_loop: f64) -> Option<Warning> {
    let degree = graph.degree().iter().sum::<f64>() / graph.n_samples().max(1) as f64;
    (degree > 0.0 && degree < MOST_FAINT * self_loop).then_some(Warning::FaintEdges { self_loop, degree })
}

/// ℓ and penalty of the hidden states of all nodes (n, c).
fn exact_loss(
    loss: &Loss<'_>,
    targets: &Targets,
    z: &Matrix,
    layers: &Layers,
    inputs: &Inputs<'_, '_>,
    ridge: f64,
) -> f64 {
    let norm = |values: &[f64]| values.iter().map(|w| w * w).sum::<f64>();
    let labeled = rows_at(z, targets.rows().iter().map(|&row| row as usize));
    let hidden = layers.hidden.iter().flat_map(|layer| layer.rows().zip(inputs.mean_squares()));
    let hidden: f64 = hidden.map(|(row, square)| square * norm(row)).sum();
    loss.residual(&labeled).0 + 0.5 * ridge * (hidden + norm(layers.output.values()))
}

/// Means of the columns that are far from 0, which are left to the bias: else they would count as the scale of the column; 0 for the
/// others. Empty if there are none.
fn far_means(dense: &Dense<'_>, run: &Run) -> Vec<f64> {
    /// A mean is far from 0 if it is so many ranges of the column.
    const FAR: f64 = 3.0;
    let is_far = |mean: f64, range: f64| mean.abs() > FAR * range && range > 0.0;
    let means = dense.column_means(run).into_iter().zip(dense.column_ranges(run));
    let means: Vec<f64> = means.map(|(mean, range)| if is_far(mean, range) { mean } else { 0.0 }).collect();
    if means.iter().all(|mean| *mean == 0.0) { Vec::new() } else { means }
}

impl Method for UnfoldedGnn {
    fn name(&self) -> &'static str {
        UNFOLDED
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        Some(&self.graph)
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(UNFOLDED, problem, run)?;
        let Trained { scores, extension, graph, held_out, .. } = self.train(&mut fitting, false)?;
        // Scores of cross-entropy are log-probabilities; those of squares have no scale of their own.
        let fallback = match self.params.loss {
            NodeLoss::Mse => Fallback::Typical,
            NodeLoss::CrossEntropy => Fallback::One,
        };
        Ok(fitting.decide(scores, held_out, fallback, Some(Arc::new(extension)), graph))
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.params, &self.graph, size)
    }
}
