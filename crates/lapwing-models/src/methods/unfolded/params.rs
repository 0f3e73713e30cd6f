//! Parameters of unfolded graph networks.

use lapwing_core::params::{Parameters, above, at_least};
use lapwing_core::{Error, Result, choices, parameters};
use lapwing_solve::PropagatorParams;

use crate::maps::loss::NodeLoss;

choices! {
    /// How the weights of the layer are found.
    pub enum LayerSolver("solver", default Auto) {
        /// Whichever is estimated to be fastest; the estimates are reported.
        Auto = "auto",
        /// Features are smoothed once, one solve for each column or labeled node, and a linear model is fitted to them.
        Direct = "direct",
        /// Iterations on the graph, with a preconditioner from roughly smoothed features.
        RoughPcg = "rough-pcg",
        /// HERTA: iterations on the graph, with a preconditioner from features that are roughly smoothed on a sparsified graph and
        /// sketched.
        Herta = "herta",
        /// HERTA, with iterations on the sparsified graph first, as long as they make progress (the mixed strategy of the paper).
        HertaMixed = "herta-mixed",
        /// Iterations on the graph, with an estimate of the diagonal as preconditioner.
        MatrixFree = "matrix-free",
        /// Gradient descent.
        Gd = "gd",
        /// Adam.
        Adam = "adam",
    }
}

choices! {
    /// Iteration of solvers with a preconditioner.
    pub enum LayerOptimizer("optimizer", default Auto) {
        /// Conjugate gradients for squares, L-BFGS for cross-entropy.
        Auto = "auto",
        /// Conjugate gradients on the normal equations, for squares.
        Cg = "cg",
        /// L-BFGS with an exact line search.
        Lbfgs = "l-bfgs",
        /// Gradient descent, as published.
        Gd = "gd",
        /// Adam on the preconditioned weights, as published.
        Adam = "adam",
    }
}

impl NodeLoss {
    /// Default ρ of a linear network. `spread` is the sum of the squared distances of smoothed rows from their mean, each times
    /// the trust in its label.
    ///
    /// Relative to the mean squared distance it is 0.1 for cross-entropy, 0.7 for squares. On citation and purchase graphs, with 20
    /// labels of a class and with 80 % of them, near the best found for each.
    pub(super) fn ridge(self, spread: f64, trust: &[f64]) -> f64 {
        let share = match self {
            Self::CrossEntropy => 0.1,
            Self::Mse => 0.7,
        };
        share * scale(spread, trust)
    }

    /// The same for a network with hidden units, of either loss. Its penalty counts both layers, and with 0.7 squares have their
    /// minimum at 0 where labels are few.
    pub(super) fn hidden_ridge(spread: f64, trust: &[f64]) -> f64 {
        0.1 * scale(spread, trust)
    }
}

/// Mean squared distance of smoothed rows from their mean; 1 if all rows are equal, so that there is no scale.
fn scale(spread: f64, trust: &[f64]) -> f64 {
    let mean = spread / trust.iter().sum::<f64>();
    if mean > 0.0 { mean } else { 1.0 }
}

parameters! {
    /// Parameters of an unfolded graph network and its training.
    pub struct UnfoldedParams {
        /// Weight λ of smoothness over the graph. 0 leaves a linear model of the features. Auto is the best of 1, 2, 5, 10 and 20
        /// for labels that are held out, and 10 if a class has fewer than three labels.
        graph_reg: Option<f64> = None, or "auto", in at_least(0.0);
        /// Number added to every degree. 1 as in Yang et al. 2021.
        self_loop: f64 = 1.0, in above(0.0);
        /// Loss over the labeled nodes.
        loss: NodeLoss = NodeLoss::CrossEntropy;
        /// Weight ρ of the squared norm of the weights, (ρ/2)·‖W‖², beside sums (not means) over the labeled nodes. With a hidden layer
        /// V also (ρκ/2)·‖V‖², κ the mean of ‖x‖². Auto is 0.1 for cross-entropy or a hidden layer and 0.7 for mse, times the mean
        /// squared distance of the smoothed labeled rows from their mean.
        l2_reg: Option<f64> = None, or "auto", in at_least(0.0);
        /// How the weights are found.
        solver: LayerSolver = LayerSolver::Auto;
        /// Iteration of solvers with a preconditioner.
        optimizer: LayerOptimizer = LayerOptimizer::Auto;
        /// Steps of the unfolding. Exact solves the propagation instead.
        steps: Option<usize> = None, or "exact", in at_least(1.0);
        /// Units of a hidden layer, with rectifiers. None leaves the network linear.
        hidden: Option<usize> = None, or "none", in at_least(1.0).at_most(4096.0);
        /// Power p by which edges are reweighted: an edge counts less, the farther apart its ends are after smoothing. None
        /// keeps the weights.
        attention: Option<f64> = None, or "none", in above(0.0).below(2.0);
        /// Whether a constant column is added to the features.
        bias: bool = true;
        /// Step of gradient descent and Adam. Auto is 2/(ν₁ + ν_d) of estimated extreme eigenvalues, and 0.05 for Adam.
        learning_rate: Option<f64> = None, or "auto", in above(0.0), if [solver: "gd", "adam"], if [optimizer: "gd", "adam"],
            if [hidden: "given"];
        /// Share of the edges that HERTA keeps. Auto is 6n·(1 + λ/20) edges if that is less than half of all, else all.
        edges: Option<f64> = None, or "auto", in above(0.0).at_most(1.0), if [solver: "auto", "herta", "herta-mixed"];
        /// Suboptimality (ℓ − ℓ*)/ℓ* at which training stops, as bounded or estimated. With a hidden layer it stops when ten steps
        /// together lower the loss by less than √tol of it.
        tol: f64 = 1e-6, in above(0.0).below(1.0);
        /// Most iterations of the training.
        max_iter: usize = 1000, in at_least(1.0);
    }
}

/// Default step of Adam.
pub(super) const TYPICAL_ADAM: f64 = 0.05;

impl UnfoldedParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        self.propagation().validate()?;
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

    /// Parameters of the smoothing.
    pub(super) fn propagation(&self) -> PropagatorParams {
        PropagatorParams { graph_reg: self.graph_reg(), self_loop: self.self_loop, steps: self.steps }
    }

    /// λ, given or chosen.
    pub(super) fn graph_reg(&self) -> f64 {
        self.graph_reg.unwrap_or(CANDIDATES[0])
    }

    /// The same parameters with that λ.
    pub(super) fn with_graph_reg(&self, graph_reg: f64) -> Self {
        Self { graph_reg: Some(graph_reg), ..self.clone() }
    }
}

/// Candidates for λ. The first is the default, for too few labels to choose by.
pub(super) const CANDIDATES: [f64; 5] = [10.0, 1.0, 2.0, 5.0, 20.0];
