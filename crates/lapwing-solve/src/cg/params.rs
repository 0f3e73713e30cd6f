//! When a solve stops.

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgParams {
    /// Relative residual ‖b − Ax‖ / ‖b‖ at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// Iterations without a new smallest residual of any column after which the solve stops as [`Stop::Stagnated`](super::Stop::Stagnated); default none.
    pub patience: usize,
    /// Iterations after which the solve stops as [`Stop::Slow`](super::Stop::Slow) if, at the rate so far, as many again would not be enough;
    /// default none. After twice as many it stops also if residuals are small but estimated errors are not.
    pub budget: usize,
    /// Largest √(M⁻¹)ᵢᵢ; default 0. If above 0, √(rᵀM⁻¹r) times it estimates the largest error of a column, and a column counts
    /// as solved only when that is within tol·√n of the range of its values. The residual alone misses errors at rows of small
    /// weights.
    pub largest_deviation: f64,
    /// √trace(M⁻¹), which bounds √(rᵀM⁻¹r) by ‖r‖ times it; default ∞. For `largest_deviation` only.
    pub total_deviation: f64,
    /// Norm of the residuals; default `Residual`.
    pub measure: Measure,
    /// Whether M⁻¹ may vary from step to step; default false. Needs one more block.
    pub is_flexible: bool,
}

/// A norm of residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// ‖r‖₂.
    #[default]
    Residual,
    /// √(rᵀM⁻¹r), if M⁻¹ is applied within the steps.
    Energy,
}

impl Default for CgParams {
    fn default() -> Self {
        Self {
            tol: 1e-6,
            max_iter: 10_000,
            patience: usize::MAX,
            budget: usize::MAX,
            largest_deviation: 0.0,
            total_deviation: f64::INFINITY,
            measure: Measure::Residual,
            is_flexible: false,
        }
    }
}
