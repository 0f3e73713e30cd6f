//! Shares that another classifier gave, as a candidate beside the methods.

use std::sync::Arc;

use lapwing_core::{Error, Matrix, Result, Run};

use crate::core::calibration::Fallback;
use crate::core::fitting::Fitting;
use crate::core::plan::Program;
use crate::core::scores::rows_at;
use crate::{Fitted, HeldOutFit, Method, Plan, Problem, ProblemSize};

/// Labels every row by the prior of the problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenShares;

fn shares<'p>(problem: &Problem<'p, '_>) -> Result<&'p Matrix> {
    problem.prior.ok_or_else(|| Error::shape("the problem", "a prior", "none"))
}

impl Method for GivenShares {
    fn name(&self) -> &'static str {
        "prior"
    }

    fn takes_prior(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let fitting = Fitting::with_prior(self.name(), problem, run)?;
        Ok(fitting.decide(Arc::new(shares(problem)?.clone()), None, Fallback::Shares, None, None))
    }

    /// The shares of labeled rows come from a classifier that did not see their label.
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, _: &[usize], _: &Run) -> Result<HeldOutFit<'a>> {
        let (prior, targets) = (shares(problem)?, problem.targets);
        let rows = targets.rows().iter().map(|&row| row as usize);
        Ok(HeldOutFit { shares: rows_at(prior, rows), fitted: None })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        Plan::from_steps(Program::Search, size.n_samples, 0, 0, Vec::new())
    }
}
