//! Parameters of Laplacian SVM and Laplacian regularized least squares.

use lapwing_core::params::{Domain, Number, ParameterType, Parameters, Value, above, at_least};
use lapwing_core::{Error, Result, choices, parameters};
use serde::{Deserialize, Serialize};

choices! {
    /// How similar two rows are.
    pub enum KernelKind("kernel", default Rbf) {
        /// exp(−‖x − x′‖²/(2σ²)), σ the bandwidth.
        Rbf = "rbf",
        /// (xᵀx′)^degree.
        Poly = "poly",
        /// xᵀx′.
        Linear = "linear",
        /// Features are similarities to the rows of the fit: (n, n) to fit (with graph_reg 0, or a graph), (m, n) to predict.
        Precomputed = "precomputed",
        /// The rbf kernel by similarities to landmarks (Nyström), for any number of rows.
        LowRank = "low-rank",
    }
}

choices! {
    /// Which Laplacian of the graph.
    pub enum LaplacianKind("laplacian", default Normalized) {
        /// I − D^(−1/2)·W·D^(−1/2); a node without edges counts as 1.
        Normalized = "normalized",
        /// D − W.
        Combinatorial = "combinatorial",
    }
}

choices! {
    /// How the problem of a kernel machine is solved.
    pub enum KernelSolver("solver", default Auto) {
        /// Newton if a factorization is cheap, else conjugate gradients.
        Auto = "auto",
        /// Newton on matrices of labeled rows, or of weights where there are fewer; least squares in closed form.
        Newton = "newton",
        /// Preconditioned conjugate gradients with exact line search.
        Cg = "cg",
        /// The hinge loss instead of the squared hinge, in the dual (lapsvm).
        Dual = "dual",
    }
}

choices! {
    /// When conjugate gradients stop.
    pub enum Stopping("stopping", default Stability) {
        /// When hardly any unlabeled row changes its side or class any more, and the objective hardly falls.
        Stability = "stability",
        /// When hardly any unlabeled row changes its side any more: the published rule, which stops early with many classes.
        Sides = "sides",
        /// When the error on a validation set no longer falls.
        Validation = "validation",
        /// When both hold at the same check.
        Mixed = "mixed",
        /// When the gradient has vanished.
        Gradient = "gradient",
    }
}

/// Number of landmarks of a low-rank kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KernelLandmarks {
    /// All rows up to 30,000; beyond, 500 (rbf and poly), and always for low-rank.
    #[default]
    Auto,
    /// This number.
    Count(usize),
    /// None: the exact kernel, for any number of rows.
    All,
}

/// Most rows whose kernel is exact by default.
pub(super) const EXACT_ROWS: usize = 30_000;
/// Landmarks that are taken by default.
pub(super) const TYPICAL_LANDMARKS: usize = 500;

parameters! {
    /// Parameters of the kernel methods on a graph (Melacci & Belkin, JMLR 12, 2011), with defaults of our measurements where the
    /// paper selects.
    pub struct LapSvmParams {
        /// Kernel: how similar two rows are.
        kernel: KernelKind = KernelKind::Rbf;
        /// Width σ of the rbf kernel, in the unit of distances. Auto is half the median distance of two rows.
        bandwidth: Option<f64> = None, or "auto", in above(0.0), if [kernel: "rbf", "low-rank"];
        /// Degree of the polynomial kernel.
        degree: u32 = 3, in at_least(1.0).at_most(100.0), if [kernel: "poly"];
        /// Number of landmarks that approximate the kernel. Auto is none up to 30,000 rows and 500 beyond. None takes the exact
        /// kernel for any number of rows.
        n_landmarks: KernelLandmarks = KernelLandmarks::Auto, if [kernel: "rbf", "poly", "low-rank"];
        /// Weight γ_A of the squared norm in the RKHS of the kernel. Auto chooses by cross-validation if every class has two
        /// labels; otherwise it is 1e-4 of the mean similarity of a row with itself.
        ambient_reg: Option<f64> = None, or "auto", in above(0.0);
        /// Weight γ_I of smoothness fᵀLᵖf over the graph. 0 leaves the supervised machine. Auto chooses by cross-validation if
        /// every class has two labels; otherwise it is the number of labels divided by the number of rows.
        graph_reg: Option<f64> = None, or "auto", in at_least(0.0);
        /// Laplacian of the graph.
        laplacian: LaplacianKind = LaplacianKind::Normalized;
        /// Power p of the Laplacian.
        laplacian_power: usize = 1, in at_least(1.0).at_most(100.0);
        /// Whether a bias is fitted. It is neither in the norm nor smoothed.
        bias: bool = false;
        /// How the problem is solved.
        solver: KernelSolver = KernelSolver::Auto;
        /// When conjugate gradients stop.
        stopping: Stopping = Stopping::Stability, if [solver: "auto", "cg"];
        /// Gradient √(gᵀKg), relative to the one at zero, at which any iteration ends. The dual ends when no optimality
        /// condition is violated by more than √tol.
        tol: f64 = 1e-8, in above(0.0).below(1.0);
        /// Most iterations.
        max_iter: usize = 10_000, in at_least(1.0);
    }
}

impl ParameterType for KernelLandmarks {
    fn domain() -> Domain {
        let most = at_least(1.0).at_most(MOST_LANDMARKS as f64);
        Domain::from_number(Number::Count).within(most).or_words(&["auto", "none"])
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(Self::All),
            Value::Word(word) if word == "auto" => Some(Self::Auto),
            Value::Word(word) if word == "none" => Some(Self::All),
            number => usize::from_value(number).map(Self::Count),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Auto => Value::Word("auto".into()),
            Self::Count(count) => Value::Count(*count as u64),
            Self::All => Value::Word("none".into()),
        }
    }
}

impl LapSvmParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if self.n_landmarks == KernelLandmarks::All && self.kernel == KernelKind::LowRank {
            return Err(Error::param("n_landmarks", "none", "a number, or kernel rbf"));
        }
        Ok(())
    }
}

/// Most landmarks, whose eigenproblem is solved.
const MOST_LANDMARKS: usize = 2048;
/// Most weights of a factor for which matrices of them are formed.
pub(super) const MOST_WEIGHTS: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_their_range_are_named() {
        LapSvmParams::default().validate().unwrap();
        let text = |params: LapSvmParams| params.validate().unwrap_err().to_string();
        let base = LapSvmParams::default;
        assert!(text(LapSvmParams { ambient_reg: Some(0.0), ..base() }).starts_with("ambient_reg is 0;"));
        assert!(text(LapSvmParams { graph_reg: Some(-1.0), ..base() }).starts_with("graph_reg is -1;"));
        assert!(text(LapSvmParams { bandwidth: Some(f64::NAN), ..base() }).starts_with("bandwidth is NaN;"));
        assert!(text(LapSvmParams { degree: 0, ..base() }).starts_with("degree is 0;"));
        assert!(text(LapSvmParams { laplacian_power: 101, ..base() }).starts_with("laplacian_power is 101;"));
        assert!(text(LapSvmParams { tol: 1.0, ..base() }).starts_with("tol is 1;"));
        assert!(text(LapSvmParams { n_landmarks: KernelLandmarks::Count(9000), ..base() }).starts_with("n_landmarks"));
        assert!(KernelKind::parse("sigmoid").unwrap_err().to_string().contains("rbf, poly, linear"));
    }
}
