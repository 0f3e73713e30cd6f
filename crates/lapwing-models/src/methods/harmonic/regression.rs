//! From the harmonic function to the values of a regression, with their intervals.
//!
//! Cost beyond the function: see `core::uncertainty`.

use std::sync::Arc;

use lapwing_core::{Result, Run};

use super::{Harmonic, Solved, select_regression};
use crate::core::fitting::Fitting;
use crate::{FittedRegression, Method, Problem};

impl Harmonic {
    /// Values for every row of a regression: `problem.targets` has one column. [`Form::Auto`](super::Form::Auto) chooses form and γ by
    /// cross-validation over the values.
    ///
    /// # Errors
    /// As [`Method::fit`].
    pub fn regress<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
        let mut fitting = Fitting::regression(self.name(), problem, run)?;
        let Solved { function, is_centered, built, errors, .. } = self.solved(&mut fitting)?;
        let affinity = problem.graph.or(built.as_ref());
        let mut uncertainty = fitting.uncertainty(affinity, |run| match (errors, affinity) {
            (None, Some(affinity)) => {
                select_regression::errors(&affinity.graph, problem.targets, &self.params, run).map(Some)
            }
            (errors, _) => Ok(errors),
        })?;
        let widths = uncertainty.iter_mut().flatten().zip(&function.reached);
        widths.filter(|(_, reached)| !**reached).for_each(|(width, _)| *width = f64::NAN);
        let score_radius = self.radii(&function, 0, &mut fitting.report)?;
        let offset = if is_centered { function.mean[0] } else { 0.0 };
        let mut values = function.scores;
        values.values_mut().iter_mut().for_each(|v| *v += offset);
        let values = Arc::new(values);
        let extension = self.extension(problem, built.as_ref(), &values);
        let regressed = fitting.regressed(values, extension, built);
        Ok(FittedRegression { reached: function.reached, score_radius, uncertainty, ..regressed })
    }
}
