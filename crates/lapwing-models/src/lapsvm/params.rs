//! Parameters of Laplacian SVM and Laplacian regularised least squares.

use lapwing_data::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::named::named;

/// How similar two rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelKind {
    /// exp(−|x − x′|²/(2σ²)).
    #[default]
    Rbf,
    /// (xᵀx′)^degree.
    Poly,
    /// xᵀx′.
    Linear,
    /// Features are similarities to the rows of the fit: (n, n) to fit, (m, n) to predict.
    Precomputed,
    /// The first, by similarities to landmarks (Nyström), for any number of rows.
    LowRank,
}

/// Which Laplacian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaplacianKind {
    /// I − D^(−1/2)·W·D^(−1/2); a node without edges counts as 1.
    #[default]
    Normalized,
    /// D − W.
    Combinatorial,
}

/// How the problem is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSolver {
    /// Newton where a factorisation is cheap, conjugate gradients elsewhere.
    #[default]
    Auto,
    /// Newton on matrices of labelled rows, or of weights where there are fewer; least squares in closed form.
    Newton,
    /// Preconditioned conjugate gradients with exact line search.
    Cg,
    /// The hinge loss instead of the squared hinge, in the dual.
    Dual,
}

/// When conjugate gradients stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopping {
    /// When hardly an unlabeled row changes sides, or its class, any more, and the objective hardly falls.
    #[default]
    Stability,
    /// When the error on a validation set no longer falls.
    Validation,
    /// When both hold at the same check.
    Mixed,
    /// When the gradient has vanished.
    Gradient,
}

/// What numbers a Gram matrix is stored as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GramPrecision {
    /// Double up to 4,096 rows, single beyond.
    #[default]
    Auto,
    /// f32.
    Single,
    /// f64.
    Double,
}

/// Landmarks of a kernel of low rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelLandmarks {
    /// All rows up to [`EXACT_ROWS`], [`TYPICAL_LANDMARKS`] beyond (rbf and poly), and always for low-rank.
    #[default]
    Auto,
    /// So many.
    Count(usize),
    /// None: the kernel itself, whatever it costs.
    All,
}

/// Most rows whose kernel is not approximated unless asked for.
pub const EXACT_ROWS: usize = 30_000;
/// Landmarks that are taken by default.
pub const TYPICAL_LANDMARKS: usize = 500;

/// Parameters of the kernel methods on a graph (Melacci & Belkin, JMLR 12, 2011), with defaults of our measurements where the
/// paper selects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LapSvmParams {
    /// Kernel; default rbf.
    pub kernel: KernelKind,
    /// σ of the rbf kernel, > 0, in the unit of distances. `None` ("auto"): half the median distance of two rows.
    pub bandwidth: Option<f64>,
    /// Degree of the polynomial kernel, from 1 to 100; default 3.
    pub degree: u32,
    /// Landmarks that stand for an rbf or polynomial kernel, from 1 to 2,048; default auto.
    pub n_landmarks: KernelLandmarks,
    /// γ_A, weight of the norm in the space of the kernel, > 0. `None` ("auto"): by cross-validation where every class has
    /// two labels, else 1e-4 of the mean similarity of a row with itself.
    pub ambient_reg: Option<f64>,
    /// γ_I, weight of fᵀL^p f, ≥ 0; 0 leaves the supervised machine. `None` ("auto"): by cross-validation likewise, else
    /// the number of labels over the number of rows.
    pub graph_reg: Option<f64>,
    /// Which Laplacian; default normalized.
    pub laplacian: LaplacianKind,
    /// p, power of the Laplacian, from 1 to 100; default 1.
    pub laplacian_power: usize,
    /// Whether a bias is fitted; default false. It costs nothing in the norm, and is not smoothed.
    pub bias: bool,
    /// How it is solved; default auto.
    pub solver: KernelSolver,
    /// When conjugate gradients stop; default by stability.
    pub stopping: Stopping,
    /// η, largest share of unlabelled rows that change sides between checks of stable labels, in (0, 1); default 0.015 (the
    /// paper's).
    pub stability_tol: f64,
    /// θ, iterations between checks, at least 1. `None` ("auto"): √n / 2, the paper's.
    pub check_every: Option<usize>,
    /// Share of the labelled rows whose labels are held back for validation where no rows are given for it, in (0, 1);
    /// default 0.2.
    pub validation_share: f64,
    /// Gradient √(gᵀKg) relative to that of zero which ends any iteration, in (0, 1); default 1e-8. The dual ends where no
    /// optimality condition is violated by more than √tol.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// What the Gram matrix is stored as; default auto.
    pub precision: GramPrecision,
    /// Most bytes that the Gram matrix may take; above, it is made block by block in every product. `None`: half of what
    /// the machine has free.
    pub memory: Option<u64>,
}

impl Default for LapSvmParams {
    fn default() -> Self {
        Self {
            kernel: KernelKind::default(),
            bandwidth: None,
            degree: 3,
            n_landmarks: KernelLandmarks::default(),
            ambient_reg: None,
            graph_reg: None,
            laplacian: LaplacianKind::default(),
            laplacian_power: 1,
            bias: false,
            solver: KernelSolver::default(),
            stopping: Stopping::default(),
            stability_tol: 0.015,
            check_every: None,
            validation_share: 0.2,
            tol: 1e-8,
            max_iter: 10_000,
            precision: GramPrecision::default(),
            memory: None,
        }
    }
}

named!(KernelKind, "kernel", "rbf" => Rbf, "poly" => Poly, "linear" => Linear, "precomputed" => Precomputed, "low-rank" => LowRank);
named!(LaplacianKind, "laplacian", "normalized" => Normalized, "combinatorial" => Combinatorial);
named!(KernelSolver, "solver", "auto" => Auto, "newton" => Newton, "cg" => Cg, "dual" => Dual);
named!(Stopping, "stopping", "stability" => Stability, "validation" => Validation, "mixed" => Mixed, "gradient" => Gradient);
named!(GramPrecision, "precision", "auto" => Auto, "single" => Single, "double" => Double);

impl LapSvmParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        let positive = [("bandwidth", self.bandwidth), ("ambient_reg", self.ambient_reg)];
        if let Some((name, Some(value))) =
            positive.into_iter().find(|(_, v)| v.is_some_and(|v| !(v > 0.0 && v.is_finite())))
        {
            return Err(Error::param(name, value, "a positive number, or auto"));
        }
        if let Some(reg) = self.graph_reg.filter(|reg| !(*reg >= 0.0 && reg.is_finite())) {
            return Err(Error::param("graph_reg", reg, "a number of at least 0, or auto"));
        }
        let shares =
            [("stability_tol", self.stability_tol), ("validation_share", self.validation_share), ("tol", self.tol)];
        if let Some((name, value)) = shares.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0)) {
            return Err(Error::param(name, value, "a number between 0 and 1"));
        }
        let landmarks = if let KernelLandmarks::Count(count) = self.n_landmarks { count } else { 1 };
        let counts = [
            ("degree", self.degree as usize),
            ("check_every", self.check_every.unwrap_or(1)),
            ("max_iter", self.max_iter),
            ("laplacian_power", self.laplacian_power),
            ("n_landmarks", landmarks),
        ];
        if let Some((name, value)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::param(name, value, "at least 1"));
        }
        if self.degree > 100 {
            return Err(Error::param("degree", self.degree, "at most 100"));
        }
        if self.laplacian_power > 100 {
            return Err(Error::param("laplacian_power", self.laplacian_power, "at most 100"));
        }
        if landmarks > MOST_LANDMARKS {
            return Err(Error::param(
                "n_landmarks",
                landmarks,
                format!("at most {MOST_LANDMARKS}: an eigenproblem of them is solved"),
            ));
        }
        if self.n_landmarks == KernelLandmarks::All && self.kernel == KernelKind::LowRank {
            return Err(Error::param("n_landmarks", "none", "a number, or kernel rbf"));
        }
        Ok(())
    }
}

/// Most landmarks.
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
