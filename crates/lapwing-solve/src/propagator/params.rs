//! Parameters of a smoothing.

use lapwing_core::{Error, Result};

/// Most steps of an unfolding.
const MOST_STEPS: usize = 100_000;

/// Parameters of a [`Propagator`](super::Propagator).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropagatorParams {
    /// λ ≥ 0, weight of smoothness; default 1. 0 leaves columns unchanged.
    pub graph_reg: f64,
    /// Added to every degree, above 0; default 1 (Yang et al. 2021).
    pub self_loop: f64,
    /// Number of steps of the unfolding, instead of the exact solution; default none.
    pub steps: Option<usize>,
    /// α of the unfolding, in (0, 2/(1 + 2λ)); default 1/(1 + λ).
    pub step_size: Option<f64>,
}

impl Default for PropagatorParams {
    fn default() -> Self {
        Self { graph_reg: 1.0, self_loop: 1.0, steps: None, step_size: None }
    }
}

impl PropagatorParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        let Self { graph_reg, self_loop, steps, step_size } = *self;
        if !(0.0..=1e12).contains(&graph_reg) {
            return Err(Error::param("graph_reg", graph_reg, "a number between 0 and 1e12"));
        }
        if !(self_loop > 0.0 && self_loop.is_finite()) {
            return Err(Error::param("self_loop", self_loop, "a positive number"));
        }
        if let Some(steps) = steps.filter(|steps| !(1..=MOST_STEPS).contains(steps)) {
            let expected = format!("between 1 and {MOST_STEPS}, or exact, to which more steps lead");
            return Err(Error::param("steps", steps, expected));
        }
        let most = 2.0 / (1.0 + 2.0 * graph_reg);
        match step_size {
            Some(alpha) if !(alpha > 0.0 && alpha < most) => {
                let expected = format!("above 0 and below 2/(1 + 2·graph_reg) = {most:.3e}: the steps diverge beyond");
                Err(Error::param("step_size", alpha, expected))
            }
            _ => Ok(()),
        }
    }

    /// Checks the step size if the largest degree of the graph is `growth` times that of D. Steps diverge beyond 2 over the
    /// largest eigenvalue of H, and reweighted edges may raise that eigenvalue above 1 + 2λ.
    pub(super) fn check_step_size(&self, growth: f64) -> Result<()> {
        let most = 2.0 / (1.0 + 2.0 * self.graph_reg * growth);
        match (self.steps, self.step_size) {
            (Some(_), Some(alpha)) if alpha >= most => {
                Err(Error::param("step_size", alpha, format!("below {most:.3e} on edges that were reweighted")))
            }
            _ => Ok(()),
        }
    }
}
