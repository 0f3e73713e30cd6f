//! Parameters of learned graphs.

use lapwing_core::params::{above, at_least};
use lapwing_core::{Error, Result, choices, parameters};
use serde::{Deserialize, Serialize};

choices! {
    /// Model of the degrees of a learned graph.
    pub enum LearnModel("model", default Log) {
        /// −α·Σ log dᵢ: every row has a positive degree, whatever its distances.
        Log = "log",
        /// (a/2)·‖d‖² at total degree n: degrees are alike, and rows far from all others may have none.
        L2 = "l2",
    }

    /// How the weights of a learned graph are found.
    pub enum LearnSolver("solver", default Auto) {
        /// Newton.
        Auto = "auto",
        /// Damped Newton on the dual.
        Newton = "newton",
        /// Forward-backward-forward primal-dual iteration, the paper's; for comparison.
        PrimalDual = "primal-dual",
    }
}

/// How the ends of the rows' intervals of sparsity are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SparsityMean {
    /// As in the paper.
    Arithmetic,
    /// Robust against rows that nearly coincide.
    Geometric,
}

parameters! {
    /// How a graph is learned, besides the number of neighbors and the model.
    pub struct LearnParams {
        /// Pairs of a row that may carry weight, as a multiple of its neighbors. At least one pair more than neighbors; none
        /// allows all pairs (Kalofolias & Perraudin 2019, section 3, have 3).
        support_factor: Option<f64> = Some(3.0), or "none", in at_least(1.0), if [weights: "learned", "learned-l2"];
        /// Sparsity θ of the graph: the larger, the sparser. Auto derives it from the number of neighbors.
        sparsity: Option<f64> = None, or "auto", in above(0.0), if [weights: "learned", "learned-l2"];
        /// How the weights are found.
        solver: LearnSolver = LearnSolver::Auto, if [weights: "learned", "learned-l2"];
        /// Duality gap at which the solver stops, relative to the size of the objective's terms.
        tol: f64 = 1e-8, in above(0.0).below(1.0), if [weights: "learned", "learned-l2"];
        /// Most steps of the solver. Auto is 100 for newton and 10,000 for primal-dual.
        max_iter: Option<usize> = None, or "auto", in at_least(1.0), if [weights: "learned", "learned-l2"];
        /// Whether to search for pairs outside the support that would get weight, and add them.
        repair: bool = false, if [weights: "learned", "learned-l2"];
    }
    extra {
        /// Factor δ > 0 of all learned weights, which follows from regularizers; default 1.
        scale: f64 = 1.0
    }
}

impl LearnParams {
    /// Parameters for regularizers α, β > 0 (log-degree) or a = α (l2-degree, β = 1): θ = 1/√(αβ), δ = √(α/β), or θ = 1/a.
    ///
    /// # Errors
    /// [`Error::Param`] for a value outside its range.
    pub fn from_regularizers(model: LearnModel, alpha: f64, beta: f64) -> Result<Self> {
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::param(name, value, "a positive number"));
            }
        }
        let (sparsity, scale) = match model {
            LearnModel::Log => (1.0 / (alpha.sqrt() * beta.sqrt()), (alpha / beta).sqrt()),
            LearnModel::L2 if beta != 1.0 => {
                return Err(Error::param("beta", beta, "1: the l2 model has a single regularizer"));
            }
            LearnModel::L2 => (1.0 / alpha, 1.0),
        };
        Ok(Self { sparsity: Some(sparsity), scale, ..Self::default() })
    }

    /// The objective of the problem in Z, α and β (or a) at these weights, from the one in θZ with α = β = 1.
    pub fn objective(&self, model: LearnModel, normalized: f64, n: usize) -> f64 {
        let sparsity = self.sparsity.unwrap_or(1.0);
        let alpha = self.scale / sparsity;
        match model {
            LearnModel::Log => alpha * (normalized - n as f64 * self.scale.ln()),
            LearnModel::L2 => alpha * normalized,
        }
    }

    /// Most steps.
    pub(crate) fn iterations(&self) -> usize {
        self.max_iter.unwrap_or(match self.solver {
            LearnSolver::PrimalDual => 10_000,
            LearnSolver::Auto | LearnSolver::Newton => 100,
        })
    }

    /// Number of allowed neighbors for each of `n` rows if `k` are requested.
    pub(crate) fn n_allowed(&self, k: usize, n: usize) -> usize {
        let most = n.saturating_sub(1);
        self.support_factor.map_or(most, |_| self.n_allowed_of_new(k).min(most))
    }

    /// Number of fitted rows to which a new row may be joined, if the graph was learned for `k` neighbors.
    pub(crate) fn n_allowed_of_new(&self, k: usize) -> usize {
        let factor = self.support_factor.or(Self::default().support_factor).unwrap_or(1.0);
        ((factor * k as f64).ceil() as usize).max(k + 1)
    }
}

impl LearnSolver {
    /// What `Auto` stands for.
    pub(crate) fn resolved(self) -> Self {
        if self == Self::Auto { Self::Newton } else { self }
    }
}
