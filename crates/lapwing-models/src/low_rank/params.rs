//! Parameters of low-rank label propagation.

use std::path::PathBuf;

use lapwing_data::{Error, Result, available_memory_bytes};
use lapwing_graph::low_rank::{GlnpParams, GlnpSolver, GlnpStart, LandmarkBandwidth, LandmarkRule};
use serde::{Deserialize, Serialize};

use crate::ClassPrior;
use crate::named::named;

/// Which factor stands for the affinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactorKind {
    /// Shares of the nearest landmarks: the default. One pass to fit, all degrees 1.
    #[default]
    Anchor,
    /// Nyström approximation of a Gaussian kernel: two passes to fit.
    Nystrom,
    /// Global linear neighbourhoods: learned from the rows so that each is a combination of the others (GLNP). A pass for
    /// each of its iterations, and k numbers held for each row of the fit.
    Glnp,
}

/// How label columns are scaled before they are propagated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Each class over the sum of √d of its labels: no class gains by having more of them.
    #[default]
    Balanced,
    /// One-hot rows as they are.
    Raw,
    /// Balanced, times the class prior.
    Prior,
}

/// What makes scores of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Propagation (local and global consistency).
    #[default]
    Propagation,
    /// Least squares on the shares of landmarks, smooth over the graph (anchor graph regularisation); anchors only.
    Regression,
}

/// Whether parameters are chosen by cross-validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// Where every class has two labels: what is given, unless another choice is better by more than a standard error.
    #[default]
    Auto,
    /// What is given.
    Off,
}

/// How the propagation is solved; both give the same within 1e-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropagationSolver {
    /// In closed form, by the eigenvalues of a matrix (k, k).
    #[default]
    Closed,
    /// By iteration, on the same small matrix.
    Iterative,
}

/// What becomes of degrees of the Nyström factor that are 0, negative or tiny.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DegreePolicy {
    /// They are raised to a thousandth of the mean.
    #[default]
    Floor,
    /// The first of 0 or less is an error.
    Error,
}

/// Parameters of low-rank label propagation (Petegrosso et al., arXiv 1702.08884), with defaults of our measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LowRankParams {
    /// k, landmarks, at least 1; of fewer rows all are taken, with a warning. Default 100. Accuracy rises with it.
    pub n_landmarks: usize,
    /// Which factor; default anchor.
    pub factor: FactorKind,
    /// Where landmarks come from; default k-means.
    pub landmarks: LandmarkRule,
    /// s, landmarks that each row is a mixture of, for anchors; 0 for all; default 3.
    pub n_nearest: usize,
    /// σ of exp(−D/(2σ²)), D the squared distance to a landmark; default by a rule.
    pub bandwidth: LandmarkBandwidth,
    /// α, share taken from the neighbours, in [0, 1); default 0.9.
    pub alpha: f64,
    /// Scaling of label columns; default balanced.
    pub balance: Balance,
    /// Class prior, for `Balance::Prior` and for rows without evidence; default the labeled frequencies.
    pub class_prior: ClassPrior,
    /// What makes scores of labels; default propagation.
    pub head: Head,
    /// γ, weight of smoothness in the regression, ≥ 0; default 0.01.
    pub graph_reg: f64,
    /// Whether parameters are chosen by cross-validation; default auto.
    pub select: Select,
    /// How the propagation is solved; default closed.
    pub solver: PropagationSolver,
    /// Largest change relative to the largest value at which the iteration stops, in (0, 1); default 1e-10.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// Eigenvalues of the landmarks' kernel below this share of the largest are left out, in [1e-8, 1); default 1e-6.
    pub rcond: f64,
    /// What becomes of tiny and negative degrees; default floor.
    pub degree_policy: DegreePolicy,
    /// How a factor is learned; default accelerated gradient.
    pub glnp_solver: GlnpSolver,
    /// Where a learned factor starts; default at the clusters of the landmarks.
    pub glnp_start: GlnpStart,
    /// Most iterations of learning a factor; default 100, which usually ends it.
    pub glnp_max_iter: usize,
    /// Share of the squared norm of the rows that five iterations must lower the objective by; in [0, 1), default 1e-5.
    pub glnp_tol: f64,
    /// Rows drawn to fit on beside the labeled ones; default all.
    pub fit_rows: Option<usize>,
    /// File that keeps the sums of a fit while it lasts, from which another run goes on; default none.
    #[serde(skip)]
    pub checkpoint: Option<PathBuf>,
}

impl Default for LowRankParams {
    fn default() -> Self {
        Self {
            n_landmarks: 100,
            factor: FactorKind::default(),
            landmarks: LandmarkRule::default(),
            n_nearest: 3,
            bandwidth: LandmarkBandwidth::default(),
            alpha: 0.9,
            balance: Balance::default(),
            class_prior: ClassPrior::default(),
            head: Head::default(),
            graph_reg: 0.01,
            select: Select::default(),
            solver: PropagationSolver::default(),
            tol: 1e-10,
            max_iter: 10_000,
            rcond: 1e-6,
            degree_policy: DegreePolicy::default(),
            glnp_solver: GlnpSolver::default(),
            glnp_start: GlnpStart::default(),
            glnp_max_iter: 100,
            glnp_tol: 1e-5,
            fit_rows: None,
            checkpoint: None,
        }
    }
}

named!(FactorKind, "factor", "anchor" => Anchor, "nystrom" => Nystrom, "glnp" => Glnp);
named!(Balance, "balance", "balanced" => Balanced, "raw" => Raw, "prior" => Prior);
named!(Head, "head", "propagation" => Propagation, "regression" => Regression);
named!(Select, "select", "auto" => Auto, "off" => Off);
named!(PropagationSolver, "solver", "closed" => Closed, "iterative" => Iterative);
named!(DegreePolicy, "degree_policy", "floor" => Floor, "error" => Error);

impl LowRankParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        let counts =
            [("n_landmarks", self.n_landmarks), ("max_iter", self.max_iter), ("fit_rows", self.fit_rows.unwrap_or(1))];
        if let Some((name, value)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::param(name, value, "at least 1"));
        }
        // Landmarks are numbered in single precision, and their matrices are held.
        if self.n_landmarks > 1 << 16 {
            return Err(Error::param("n_landmarks", self.n_landmarks, "at most 65,536"));
        }
        if !(self.alpha >= 0.0 && self.alpha < 1.0) {
            return Err(Error::param("alpha", self.alpha, "at least 0 and below 1"));
        }
        if !(self.graph_reg >= 0.0 && self.graph_reg.is_finite()) {
            return Err(Error::param("graph_reg", self.graph_reg, "at least 0"));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "above 0 and below 1"));
        }
        if !(self.rcond >= 1e-8 && self.rcond < 1.0) {
            return Err(Error::param("rcond", self.rcond, "at least 1e-8 (sums are in single precision) and below 1"));
        }
        if self.head == Head::Regression && self.factor != FactorKind::Anchor {
            return Err(Error::param("head", "regression", "propagation, or factor anchor"));
        }
        self.class_prior.validate()?;
        if !(self.glnp_tol >= 0.0 && self.glnp_tol < 1.0) {
            return Err(Error::param("glnp_tol", self.glnp_tol, "at least 0 and below 1"));
        }
        if self.checkpoint.is_some() && (self.factor == FactorKind::Glnp || self.fit_rows.is_some()) {
            let expected = "none: only sums over all rows are kept, not what fit_rows or a learned factor take";
            return Err(Error::param("checkpoint", "given", expected));
        }
        if self.factor == FactorKind::Glnp && self.degree_policy == DegreePolicy::Error {
            return Err(Error::param("degree_policy", "error", "floor, or factor nystrom"));
        }
        self.bandwidth.validate()
    }

    /// What is asked of a factor that is learned.
    pub(super) fn glnp(&self) -> GlnpParams {
        GlnpParams {
            rank: self.n_landmarks,
            solver: self.glnp_solver,
            start: self.glnp_start,
            max_iter: self.glnp_max_iter,
            tol: self.glnp_tol,
            // More would end the process, or the machine.
            memory: available_memory_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_their_range_are_named() {
        LowRankParams::default().validate().unwrap();
        let text = |params: LowRankParams| params.validate().unwrap_err().to_string();
        let base = LowRankParams::default;
        assert!(text(LowRankParams { alpha: 1.0, ..base() }).starts_with("alpha is 1;"));
        assert!(text(LowRankParams { alpha: f64::NAN, ..base() }).starts_with("alpha is NaN;"));
        assert!(text(LowRankParams { n_landmarks: 0, ..base() }).starts_with("n_landmarks is 0;"));
        assert!(text(LowRankParams { rcond: 1e-10, ..base() }).starts_with("rcond"));
        assert!(text(LowRankParams { bandwidth: LandmarkBandwidth::Value(-1.0), ..base() }).starts_with("bandwidth"));
        let nystrom = LowRankParams { factor: FactorKind::Nystrom, head: Head::Regression, ..base() };
        assert!(text(nystrom).starts_with("head is regression"));
        let kept = LowRankParams { factor: FactorKind::Glnp, checkpoint: Some("sums".into()), ..base() };
        assert!(text(kept).starts_with("checkpoint is given"));
        assert!(text(LowRankParams { glnp_tol: 1.0, ..base() }).starts_with("glnp_tol is 1;"));
        assert!(Balance::parse("even").unwrap_err().to_string().contains("balanced, raw, prior"));
    }
}
