//! Parameters of low-rank label propagation.

use std::path::PathBuf;

use lapwing_core::params::{Parameters, above, at_least};
use lapwing_core::{Error, Result, choices, parameters};
use lapwing_graph::low_rank::{GlnpParams, GlnpSolver, GlnpStart, LandmarkRule};

use crate::ClassPrior;

/// Name of the method.
pub(crate) const LOW_RANK: &str = "low-rank";

choices! {
    /// Factor F of the affinity F·Fᵀ.
    pub enum FactorKind("factor", default Anchor) {
        /// Shares of the nearest landmarks (anchor graph): one pass to fit, all degrees 1.
        Anchor = "anchor",
        /// Nyström approximation of a Gaussian kernel: two passes to fit.
        Nystrom = "nystrom",
        /// Global linear neighborhoods (GLNP): learned so that each row is a combination of the others. Each iteration is a pass
        /// over the rows, and k numbers are held for each row of the fit.
        Glnp = "glnp",
    }
}

choices! {
    /// How label columns are scaled before they are propagated.
    pub enum Balance("balance", default Balanced) {
        /// Each class divided by the sum of √d of its labels, so that no class gains from having more labels.
        Balanced = "balanced",
        /// Not scaled.
        Raw = "raw",
        /// Balanced, times the class prior.
        Prior = "prior",
    }
}

choices! {
    /// How scores are computed from landmarks.
    pub enum Head("head", default Propagation) {
        /// Propagation (local and global consistency).
        Propagation = "propagation",
        /// Least squares on the shares of landmarks, smooth over the graph (anchor graph regularization); anchors only.
        Regression = "regression",
    }
}

choices! {
    /// Whether parameters are chosen by cross-validation.
    pub enum Select("select", default Auto) {
        /// Chosen if every class has two labels. The given values stay unless others are better by more than a standard error.
        Auto = "auto",
        /// The given values stay.
        Off = "off",
    }
}

choices! {
    /// How the propagation is solved; both give the same within 1e-8.
    pub enum PropagationSolver("solver", default Closed) {
        /// In closed form, by the eigenvalues of a matrix (k, k).
        Closed = "closed",
        /// By iteration, on the same small matrix.
        Iterative = "iterative",
    }
}

parameters! {
    /// Parameters of low-rank label propagation (Petegrosso et al., arXiv 1702.08884), with defaults of our measurements.
    pub struct LowRankParams {
        /// Number of landmarks k. More are more accurate and take longer. If there are fewer rows, all are taken, with a warning.
        n_landmarks: usize = 100, in at_least(1.0).at_most(65536.0);
        /// Factor F of the affinity F·Fᵀ.
        factor: FactorKind = FactorKind::Anchor;
        /// How landmarks are chosen.
        landmarks: LandmarkRule = LandmarkRule::KMeans;
        /// Number of nearest landmarks that each row is a mixture of. 0 means all.
        n_nearest: usize = 3, in at_least(0.0), if [factor: "anchor"];
        /// Width σ of exp(−D/(2σ²)), D the squared distance to a landmark. Auto follows from the distances of rows to their
        /// nearest landmark.
        bandwidth: Option<f64> = None, or "auto", in above(0.0);
        /// Share α of a row's score that comes from the other rows.
        alpha: f64 = 0.9, in at_least(0.0).below(1.0);
        /// How label columns are scaled before they are propagated.
        balance: Balance = Balance::Balanced;
        /// Shares of the classes, one for each class in the order of their names. Labeled uses the frequencies of the given
        /// labels. Shares are positive and add up to 1. For balance prior, and for rows without evidence.
        class_prior: ClassPrior = ClassPrior::Labeled;
        /// How scores are computed from landmarks.
        head: Head = Head::Propagation, if [factor: "anchor"];
        /// Whether n_nearest, bandwidth, alpha and head are chosen by cross-validation.
        select: Select = Select::Auto;
        /// How the propagation is solved; both give the same.
        solver: PropagationSolver = PropagationSolver::Closed;
        /// How a factor is learned.
        glnp_solver: GlnpSolver = GlnpSolver::AcceleratedGradient, if [factor: "glnp"];
        /// Where a learned factor starts.
        glnp_start: GlnpStart = GlnpStart::KMeans, if [factor: "glnp"];
        /// Most iterations of learning a factor, each of which reads all rows. It usually converges within 500.
        glnp_max_iter: usize = 1000, in at_least(0.0), if [factor: "glnp"];
        /// Learning ends once five iterations lower the objective by less than this share of the squared norm of the rows.
        glnp_tol: f64 = 1e-5, in at_least(0.0).below(1.0), if [factor: "glnp"];
    }
    extra {
        /// File in which the sums are saved during a fit, so that a stopped fit can be resumed; default none.
        #[serde(skip)]
        checkpoint: Option<PathBuf> = None
    }
}

impl LowRankParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if self.head == Head::Regression && self.factor != FactorKind::Anchor {
            return Err(Error::param("head", "regression", "propagation, or factor anchor"));
        }
        self.class_prior.validate()?;
        if self.checkpoint.is_some() && self.factor == FactorKind::Glnp {
            let expected = "none: only sums over rows are kept, not what a learned factor takes";
            return Err(Error::param("checkpoint", "given", expected));
        }
        Ok(())
    }

    /// Parameters of learning the factor.
    pub(super) fn glnp(&self) -> GlnpParams {
        GlnpParams {
            rank: self.n_landmarks,
            solver: self.glnp_solver,
            start: self.glnp_start,
            max_iter: self.glnp_max_iter,
            tol: self.glnp_tol,
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
        assert!(text(LowRankParams { bandwidth: Some(-1.0), ..base() }).starts_with("bandwidth"));
        let nystrom = LowRankParams { factor: FactorKind::Nystrom, head: Head::Regression, ..base() };
        assert!(text(nystrom).starts_with("head is regression"));
        let kept = LowRankParams { factor: FactorKind::Glnp, checkpoint: Some("sums".into()), ..base() };
        assert!(text(kept).starts_with("checkpoint is given"));
        assert!(text(LowRankParams { glnp_tol: 1.0, ..base() }).starts_with("glnp_tol is 1;"));
        assert!(Balance::parse("even").unwrap_err().to_string().contains("balanced, raw, prior"));
    }
}
