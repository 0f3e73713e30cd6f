//! What a graph is learned with.

use lapwing_data::{Error, Result, parse_choice};
use serde::{Deserialize, Serialize};

use crate::{GraphParams, KnnParams, Metric};

/// What is asked of the degrees of a learned graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnModel {
    /// −α·Σ log dᵢ: every row has a positive degree, whatever its distances.
    #[default]
    Log,
    /// (a/2)·‖d‖² at total degree n: degrees are alike, and rows far from all others may have none.
    L2,
}

/// How the weights are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnSolver {
    /// Newton.
    #[default]
    Auto,
    /// Damped Newton on the dual.
    Newton,
    /// Forward-backward-forward primal-dual iteration, the paper's.
    PrimalDual,
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

/// How a graph is learned, beside the number of neighbours wanted and the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearnParams {
    /// r ≥ 1: as many as r times the neighbours wanted of each row (at least one more than wanted) may carry weight; `None`
    /// allows all pairs. Default 3 (Kalofolias & Perraudin 2019, section 3).
    pub support_factor: Option<f64>,
    /// θ > 0, the larger the sparser; `None`, the default, from the number of neighbours.
    pub sparsity: Option<f64>,
    /// δ > 0 that all weights are multiplied by; default 1.
    pub scale: f64,
    /// Default Newton.
    pub solver: LearnSolver,
    /// Duality gap at which the solver stops, relative to the size of the objective's terms, in (0, 1); default 1e-8.
    pub tol: f64,
    /// Most steps; `None`, the default, is 100 for Newton and 10,000 for primal-dual.
    pub max_iter: Option<usize>,
    /// Whether pairs that were not allowed but would carry weight are looked for and added; default false.
    pub repair: bool,
}

impl Default for LearnParams {
    fn default() -> Self {
        Self {
            support_factor: Some(3.0),
            sparsity: None,
            scale: 1.0,
            solver: LearnSolver::default(),
            tol: 1e-8,
            max_iter: None,
            repair: false,
        }
    }
}

impl LearnParams {
    /// Those of regularisers α, β > 0 (log-degree) or a = α (l2-degree, β = 1): θ = 1/√(αβ), δ = √(α/β), or θ = 1/a.
    ///
    /// # Errors
    /// [`Error::Param`] for a value outside its range.
    pub fn of_regularizers(model: LearnModel, alpha: f64, beta: f64) -> Result<Self> {
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

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        if let Some(factor) = self.support_factor
            && !(factor >= 1.0 && factor.is_finite())
        {
            return Err(Error::param("support_factor", factor, "a number of at least 1"));
        }
        let positive = [("sparsity", self.sparsity), ("scale", Some(self.scale))];
        for (name, value) in positive {
            if let Some(value) = value
                && !(value > 0.0 && value.is_finite())
            {
                return Err(Error::param(name, value, "a positive number"));
            }
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "between 0 and 1"));
        }
        if self.max_iter == Some(0) {
            return Err(Error::param("max_iter", 0, "at least 1"));
        }
        Ok(())
    }

    /// Most steps.
    pub(super) fn iterations(&self) -> usize {
        self.max_iter.unwrap_or(match self.solver {
            LearnSolver::PrimalDual => 10_000,
            LearnSolver::Auto | LearnSolver::Newton => 100,
        })
    }

    /// Neighbours of each of `n` rows, any number of them, that are allowed for `k` wanted.
    pub(crate) fn n_allowed(&self, k: usize, n: usize) -> usize {
        let most = n.saturating_sub(1);
        self.support_factor.map_or(most, |_| self.n_allowed_of_new(k).min(most))
    }
}

impl LearnParams {
    /// Fitted rows that a new one may be joined to, where the fitted ones wanted `k` neighbours.
    pub(crate) fn n_allowed_of_new(&self, k: usize) -> usize {
        let factor = self.support_factor.or(Self::default().support_factor).unwrap_or(1.0);
        ((factor * k as f64).ceil() as usize).max(k + 1)
    }
}

impl GraphParams {
    /// The neighbour search for a graph of `n` rows that is learned.
    pub(super) fn learn_search(&self, n: usize) -> Result<KnnParams> {
        let n_neighbors = self.learn.n_allowed(self.n_neighbors, n);
        if self.learn.sparsity.is_none() && n_neighbors <= self.n_neighbors {
            let expected = format!(
                "at most {}, the number of rows less 2: the sparsity looks at one neighbor more",
                n.saturating_sub(2)
            );
            return Err(Error::param("n_neighbors", self.n_neighbors, expected));
        }
        if self.metric == Metric::InnerProduct {
            return Err(Error::param("metric", "inner-product", "a distance: a graph is learned from distances"));
        }
        Ok(KnnParams { n_neighbors: n_neighbors.max(1), ..self.knn() })
    }
}

/// Bytes that learning takes beside the features, for `k` allowed neighbours of each of `n` rows: the table, the table
/// turned around, and the support, two entries a pair.
pub(crate) fn learn_bytes(n: usize, k: usize) -> usize {
    n.saturating_mul(k).saturating_mul(8 + 20 + 16) + n.saturating_mul(120)
}

impl LearnModel {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("model", name, &[("log", Self::Log), ("l2", Self::L2)])
    }
}

impl LearnSolver {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        let names = [("auto", Self::Auto), ("newton", Self::Newton), ("primal-dual", Self::PrimalDual)];
        parse_choice("solver", name, &names)
    }

    /// What `Auto` stands for.
    pub(super) fn resolved(self) -> Self {
        if self == Self::Auto { Self::Newton } else { self }
    }
}
