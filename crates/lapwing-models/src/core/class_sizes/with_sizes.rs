//! [`WithSizes`] holds the labels of any method with scores to class sizes.

use lapwing_core::params::Parameters;
use lapwing_core::{Error, Result, Run, Warning};

use super::{SizeParams, decide};
use crate::core::class_prior::ClassPrior;
use crate::{Fitted, Method, Plan, Problem, ProblemSize};

/// A method whose labels are held to class sizes.
pub struct WithSizes {
    inner: Box<dyn Method>,
    params: SizeParams,
}

impl std::fmt::Debug for WithSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WithSizes").field("inner", &self.inner.name()).field("params", &self.params).finish()
    }
}

impl WithSizes {
    /// Holds the labels of `inner` to the sizes of `params`.
    ///
    /// # Errors
    /// [`Error::Param`] for shares that do not add up to 1, a slack outside its range, or a method without scores.
    pub fn new(inner: Box<dyn Method>, params: SizeParams) -> Result<Self> {
        params.class_prior.validate()?;
        params.options.check_ranges()?;
        if !inner.has_scores() {
            let expected = format!("auto for {}, which has no scores to shift", inner.name());
            return Err(Error::param("decision", "sizes", expected));
        }
        Ok(Self { inner, params })
    }
}

impl Method for WithSizes {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn graph_params(&self) -> Option<&lapwing_graph::GraphParams> {
        self.inner.graph_params()
    }

    fn needs_features(&self) -> bool {
        self.inner.needs_features()
    }

    fn takes_prior(&self) -> bool {
        self.inner.takes_prior()
    }

    fn uses_both(&self) -> bool {
        self.inner.uses_both()
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        problem.check()?;
        self.params.validate(problem.targets.n_columns())?;
        let bounds = self.params.bounds(problem.targets)?;
        let mut fitted = self.inner.fit(problem, run)?;
        if let ClassPrior::Given(_) = &self.params.class_prior {
            fitted.rule.prior = self.params.class_prior.shares(&fitted.rule.prior)?;
        }
        match bounds {
            Some(bounds) => decide(fitted, problem, &bounds, run),
            None => {
                fitted.report.warnings.push(Warning::UnknownSizes {});
                Ok(fitted)
            }
        }
    }

    fn reads_streams(&self) -> bool {
        self.inner.reads_streams()
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        self.inner.plan(size)
    }
}
