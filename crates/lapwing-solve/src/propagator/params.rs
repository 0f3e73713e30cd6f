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
    /// Number of steps of the unfolding, of size 1/(1 + λ), instead of the exact solution; default none.
    pub steps: Option<usize>,
}

impl Default for PropagatorParams {
    fn default() -> Self {
        Self { graph_reg: 1.0, self_loop: 1.0, steps: None }
    }
}

impl PropagatorParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        let Self { graph_reg, self_loop, steps } = *self;
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
        Ok(())
    }
}
