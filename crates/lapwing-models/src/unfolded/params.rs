//! Parameters of unfolded graph networks.

use lapwing_data::{Error, Result};
use lapwing_solve::PropagatorParams;
use serde::{Deserialize, Serialize};

use crate::named::named;

/// What is minimised over the labelled nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeLoss {
    /// Σ mᵤ·(logsumexp zᵤ − yᵤᵀzᵤ).
    #[default]
    CrossEntropy,
    /// ½·Σ mᵤ·‖zᵤ − yᵤ‖².
    Mse,
}

/// How the weights are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerSolver {
    /// Whichever is estimated to be fastest; the estimates are reported.
    #[default]
    Auto,
    /// Features are smoothed once, one solve for each column or labelled node, and a linear model fitted to them.
    Direct,
    /// The same smoothed roughly, for a preconditioner; iterations on the graph itself.
    RoughPcg,
    /// HERTA: smoothed roughly on a sparsified graph and sketched, for a preconditioner; iterations on the graph itself.
    Herta,
    /// The same, on the sparsified graph first, as long as that takes the weights nearer (the mixed strategy of the paper).
    HertaMixed,
    /// Iterations on the graph, with estimates of the diagonal for a preconditioner.
    MatrixFree,
    /// Gradient descent.
    Gd,
    /// Adam.
    Adam,
}

/// What iterates where there is a preconditioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerOptimizer {
    /// Conjugate gradients for squares, L-BFGS for cross-entropy.
    #[default]
    Auto,
    /// Conjugate gradients on the normal equations, for squares.
    Cg,
    /// L-BFGS with an exact line search.
    Lbfgs,
    /// Gradient descent, as published.
    Gd,
    /// Adam on the preconditioned weights, as published.
    Adam,
}

/// Rows of the Hadamard sketch that a preconditioner is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SketchSize {
    /// Sixteen for each column where that is less than half the labelled rows; else none.
    #[default]
    Auto,
    /// No sketch.
    None,
    /// So many.
    Rows(usize),
}

named!(NodeLoss, "loss", "cross-entropy" => CrossEntropy, "mse" => Mse);
named!(LayerSolver, "solver", "auto" => Auto, "direct" => Direct, "rough-pcg" => RoughPcg, "herta" => Herta,
    "herta-mixed" => HertaMixed, "matrix-free" => MatrixFree, "gd" => Gd, "adam" => Adam);
named!(LayerOptimizer, "optimizer", "auto" => Auto, "cg" => Cg, "l-bfgs" => Lbfgs, "gd" => Gd, "adam" => Adam);

impl NodeLoss {
    /// Default ρ where `spread` is the squared distance of smoothed rows from their mean, times the trust in each, all together.
    pub(super) fn ridge(self, spread: f64, trust: &[f64]) -> f64 {
        let mean = spread / trust.iter().sum::<f64>();
        // Rows that are all the same leave no scale.
        self.typical_reg() * if mean > 0.0 { mean } else { 1.0 }
    }

    /// Default ρ over the mean squared distance of smoothed rows from their mean: 0.1 for cross-entropy, 0.7 for squares. On
    /// citation and purchase graphs, with 20 labels of a class and with 80 % of them, near the best found for each.
    pub fn typical_reg(self) -> f64 {
        match self {
            Self::CrossEntropy => 0.1,
            Self::Mse => 0.7,
        }
    }
}

/// How an unfolded graph network is made and trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnfoldedParams {
    /// λ ≥ 0, weight of smoothness over the graph; `None`, the default: the best of 1, 2, 5, 10 and 20 for labels that are held
    /// out, and 10 where a class has fewer than three labels. 0 leaves a linear model of the features.
    pub graph_reg: Option<f64>,
    /// What is added to every degree, above 0; default 1 (Yang et al. 2021).
    pub self_loop: f64,
    /// Loss; default cross-entropy.
    pub loss: NodeLoss,
    /// ρ ≥ 0 of (ρ/2)·‖W‖², beside sums (not means) over the labelled nodes; `None`: [`NodeLoss::typical_reg`] times the mean
    /// squared length of the labelled rows of Q = H⁻¹X, less what they have of H⁻¹1, to which a constant is smoothed: scale and
    /// shifts of the features have no part in it.
    pub l2_reg: Option<f64>,
    /// How weights are found; default auto.
    pub solver: LayerSolver,
    /// What iterates in `Direct`, `RoughPcg`, `Herta`, `HertaMixed` and `MatrixFree`; default auto.
    pub optimizer: LayerOptimizer,
    /// So many steps of the unfolding in the place of the exact solution; default none.
    pub steps: Option<usize>,
    /// α of the unfolding, in (0, 2/(1 + 2λ)); default 1/(1 + λ).
    pub step_size: Option<f64>,
    /// Units of a hidden layer, with rectifiers; default none: f is linear.
    pub hidden: Option<usize>,
    /// p in (0, 2) of edges that are reweighted by how far their ends came apart; default none.
    pub attention: Option<f64>,
    /// A constant column beside the features; default true.
    pub bias: bool,
    /// Step of gradient descent and Adam, above 0; default by rule: 2/(ν₁ + ν_d) of estimated extreme eigenvalues, 0.05 for
    /// Adam.
    pub learning_rate: Option<f64>,
    /// Share of the edges that HERTA keeps, in (0, 1]; default by rule: 6n·(1 + λ/20) edges where that is less than half of
    /// all, else all.
    pub edges: Option<f64>,
    /// Rows of HERTA's sketch; default auto.
    pub sketch_size: SketchSize,
    /// Suboptimality (ℓ − ℓ*)/ℓ* at which training stops, as bounded or estimated, in (0, 1); default 1e-6. With a hidden layer it
    /// stops when ten steps together lower the loss by less than √tol of it.
    pub tol: f64,
    /// Most iterations; default 1,000.
    pub max_iter: usize,
}

/// Default step of Adam.
pub(super) const TYPICAL_ADAM: f64 = 0.05;

impl Default for UnfoldedParams {
    fn default() -> Self {
        Self {
            graph_reg: None,
            self_loop: 1.0,
            loss: NodeLoss::default(),
            l2_reg: None,
            solver: LayerSolver::default(),
            optimizer: LayerOptimizer::default(),
            steps: None,
            step_size: None,
            hidden: None,
            attention: None,
            bias: true,
            learning_rate: None,
            edges: None,
            sketch_size: SketchSize::default(),
            tol: 1e-6,
            max_iter: 1000,
        }
    }
}

impl UnfoldedParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        match self.graph_reg {
            Some(_) => self.propagation().validate()?,
            // The least that is tried leaves most room for a step size.
            None => {
                self.with_graph_reg(CANDIDATES.into_iter().fold(f64::INFINITY, f64::min)).propagation().validate()?
            }
        }
        if let Some(reg) = self.l2_reg.filter(|reg| !(*reg >= 0.0 && reg.is_finite())) {
            return Err(Error::param("l2_reg", reg, "a number of at least 0, or auto"));
        }
        if let Some(rate) = self.learning_rate.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
            return Err(Error::param("learning_rate", rate, "a positive number, or auto"));
        }
        if let Some(share) = self.edges.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            return Err(Error::param("edges", share, "above 0 and at most 1, or auto"));
        }
        if let Some(power) = self.attention.filter(|power| !(*power > 0.0 && *power < 2.0)) {
            return Err(Error::param("attention", power, "above 0 and below 2, or none"));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "a number between 0 and 1"));
        }
        let rows = if let SketchSize::Rows(rows) = self.sketch_size { rows } else { 1 };
        let counts = [("hidden", self.hidden.unwrap_or(1)), ("sketch_size", rows), ("max_iter", self.max_iter)];
        if let Some((name, value)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::param(name, value, "at least 1"));
        }
        if self.hidden.is_some_and(|units| units > MOST_UNITS) {
            return Err(Error::param("hidden", self.hidden.unwrap_or(0), format!("at most {MOST_UNITS}")));
        }
        if self.loss == NodeLoss::CrossEntropy && self.optimizer == LayerOptimizer::Cg {
            return Err(Error::param("optimizer", "cg", "auto, l-bfgs, gd or adam: cg is for loss mse"));
        }
        if self.hidden.is_some() && self.optimizer != LayerOptimizer::Auto {
            return Err(Error::param("optimizer", self.optimizer.name(), "auto where there is a hidden layer"));
        }
        if self.hidden.is_some() && !matches!(self.solver, LayerSolver::Auto | LayerSolver::Adam) {
            return Err(Error::param("solver", self.solver.name(), "auto or adam where there is a hidden layer"));
        }
        Ok(())
    }

    /// How the graph smooths.
    pub(super) fn propagation(&self) -> PropagatorParams {
        let Self { self_loop, steps, step_size, .. } = *self;
        PropagatorParams { graph_reg: self.graph_reg(), self_loop, steps, step_size }
    }

    /// λ as given or chosen.
    pub(super) fn graph_reg(&self) -> f64 {
        self.graph_reg.unwrap_or(CANDIDATES[0])
    }

    /// The same with that λ.
    pub(super) fn with_graph_reg(&self, graph_reg: f64) -> Self {
        Self { graph_reg: Some(graph_reg), ..self.clone() }
    }
}

/// λ that are tried where none is given, the default first: the one for few labels, where there is nothing to choose by.
pub(super) const CANDIDATES: [f64; 5] = [10.0, 1.0, 2.0, 5.0, 20.0];

/// Most units of a hidden layer.
const MOST_UNITS: usize = 4096;
