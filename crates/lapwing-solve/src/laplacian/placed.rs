//! Factors by their level, in the order of rows of a solver.

use std::borrow::Cow;
use std::sync::OnceLock;

use lapwing_core::{Csr, Result, Run};

use crate::blocks::gather;
use crate::columns::{columns, write_columns};
use crate::dispatch::WIDEST;
use crate::precond::{
    ApproxCholesky, ApproxCholeskyParams, Bounded, Budget, Cliques, Factor, FallbackLevel, Inverse, Preconditioner,
    SparseCholesky,
};

/// Values of a block (rows × columns) that a factor is applied to between two checks for an interruption, some tens of milliseconds.
const PART_VALUES: usize = 1 << 20;

/// The factor of a level for L + diag(`diagonal`); none for levels without one.
pub(super) fn factor_of(
    level: FallbackLevel,
    adjacency: Cow<'_, Csr<f64>>,
    diagonal: &[f64],
    max_fill: f64,
    run: &Run,
) -> Result<Option<Box<dyn Factor>>> {
    let (cliques, number) = match level {
        FallbackLevel::None | FallbackLevel::Jacobi | FallbackLevel::TwoLevel => return Ok(None),
        FallbackLevel::ApproxCholesky => (Cliques::Suited, 0),
        FallbackLevel::ApproxCholesky2 => (Cliques::Trees(2), 1),
        FallbackLevel::ApproxCholesky4 => (Cliques::Trees(4), 2u32),
        FallbackLevel::Cholesky => {
            let budget = Budget::of_fill(&adjacency, max_fill);
            return Ok(Some(Box::new(SparseCholesky::new(&adjacency, diagonal, budget, run)?)));
        }
    };
    let params = ApproxCholeskyParams { cliques, max_fill: max_fill * f64::from(1 << number) };
    let run = run.with_seed(run.seed.wrapping_add(number.into()));
    Ok(Some(Box::new(ApproxCholesky::new(adjacency, diagonal, params, &run)?)))
}

/// A factor in the solver's order of rows.
#[derive(Debug)]
pub(super) struct Placed {
    pub level: FallbackLevel,
    pub factor: Box<dyn Factor>,
    /// [`Factor::variances`], computed by the first solve.
    variances: OnceLock<Vec<f64>>,
    /// Row of the solver for each row of the factor, and the reverse; `None` if the orders are the same.
    rows: Option<[Vec<u32>; 2]>,
}

impl Placed {
    /// A factor in the solver's order.
    pub fn in_order(level: FallbackLevel, factor: Box<dyn Factor>) -> Self {
        Self { level, factor, variances: OnceLock::new(), rows: None }
    }

    /// A factor with an order of its own.
    pub fn new(level: FallbackLevel, factor: Box<dyn Factor>) -> Self {
        let order = factor.order().to_vec();
        let mut reverse = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &row)| reverse[row as usize] = at as u32);
        Self { rows: Some([order, reverse]), ..Self::in_order(level, factor) }
    }

    /// Z ← M⁻¹·R for blocks (n, s).
    pub fn product(&self, r: &[f64], z: &mut [f64], s: usize) {
        let Some([order, reverse]) = &self.rows else { return self.factor.product(r, z, s) };
        // Z first holds the residuals in the order of the factor.
        gather(r, order, z, s);
        let mut solved = vec![0.0; r.len()];
        self.factor.product(z, &mut solved, s);
        gather(&solved, reverse, z, s);
    }

    /// [`Factor::inverse_diagonal`] in the solver's order.
    pub fn inverse_diagonal(&self, run: &Run) -> Result<Option<Vec<f64>>> {
        let diagonal = self.factor.inverse_diagonal(run)?;
        Ok(diagonal.map(|diagonal| self.placed(diagonal)))
    }

    /// Values in the order of the factor, in that of the solver.
    fn placed(&self, values: Vec<f64>) -> Vec<f64> {
        let Some([_, reverse]) = &self.rows else { return values };
        reverse.iter().map(|&at| values[at as usize]).collect()
    }
}

impl Preconditioner for Placed {
    /// Many columns are taken in parts, between which the run may be canceled; each column by itself gives the same bits.
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize, run: &Run) -> Result<()> {
        let n = self.factor.order().len().max(1);
        let most = (PART_VALUES / n).max(WIDEST).next_multiple_of(WIDEST);
        run.check()?;
        if s <= most {
            run.install(|| self.product(r, z, s));
            return run.check();
        }
        for first in (0..s).step_by(most) {
            let part: Vec<usize> = (first..(first + most).min(s)).collect();
            run.install(|| {
                let own = columns(r, s, &part);
                let mut solved = vec![0.0; own.len()];
                self.product(&own, &mut solved, part.len());
                write_columns(z, s, &solved, part.len(), &part);
            });
            run.check()?;
        }
        Ok(())
    }
}

impl Bounded for Placed {
    fn variances(&self) -> Vec<f64> {
        self.variances.get_or_init(|| self.placed(self.factor.variances())).clone()
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        let Some([order, reverse]) = &self.rows else { return self.factor.color(noise, m) };
        let mut gathered = vec![0.0; noise.len()];
        gather(noise, order, &mut gathered, m);
        self.factor.color(&mut gathered, m);
        gather(&gathered, reverse, noise, m);
    }

    fn inverse(&self) -> Inverse<'_> {
        Inverse::Applied(self)
    }
}
