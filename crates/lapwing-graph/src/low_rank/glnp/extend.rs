//! Rows that were not factored: f(x) = argmin over f ≥ 0 of ‖x − E·f‖² with E = XᵀF, non-negative least squares on EᵀE and
//! Eᵀx.
//!
//! In the fit, row i of X is approximated by E·fᵢ; a new row looks for the f that does so best. Least squares whose negative
//! entries are cut off afterwards are no substitute: nothing makes up for what is cut off.
//!
//! Cost: one pass over the new rows, O(d·k) for each and the active sets of [`Nnls`]: O(p·k + p³) where p entries are above 0.
//! Parallel over blocks of rows, which do not depend on each other.

use lapwing_data::{Error, Matrix, Result, RowSource, Run};
use lapwing_solve::Nnls;
use lapwing_solve::products::{add_transposed_product, product};

use super::rows::Rows;

/// Slots of a pass that sums nothing: blocks at work at a time.
const AT_ONCE: usize = 64;

/// What gives new rows their row of a factor, without the rows of the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct GlnpExtension {
    basis: Matrix,
    gram: Matrix,
    shift: f64,
}

impl GlnpExtension {
    /// From `basis` = XᵀF (d, k) and the number that was subtracted from every value of X.
    ///
    /// # Errors
    /// [`Error::Shape`] for no row or no column; [`Error::Value`] for a value that is not finite; [`Error::Param`] for such
    /// a shift.
    pub fn new(basis: Matrix, shift: f64) -> Result<Self> {
        let (d, k) = (basis.n_rows(), basis.n_cols());
        if d == 0 || k == 0 {
            return Err(Error::shape("basis", "at least one row and one column", format!("{d} × {k}")));
        }
        if !shift.is_finite() {
            return Err(Error::param("shift", shift, "a finite number"));
        }
        if let Some(at) = basis.values().iter().position(|e| !e.is_finite()) {
            let value = basis.values()[at].to_string();
            let advice = "the basis must be finite".into();
            return Err(Error::Value { what: "basis".into(), row: at / k, col: Some(at % k), value, advice });
        }
        let mut gram = Matrix::filled(k, k, 0.0);
        add_transposed_product(basis.values(), basis.values(), d, gram.values_mut());
        Ok(Self { basis, gram, shift })
    }

    /// E = XᵀF (d, k): rows of X are close to E·f.
    pub fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// EᵀE (k, k).
    pub fn gram(&self) -> &Matrix {
        &self.gram
    }

    /// What is subtracted from every value of a row, in the unit of the features; 0 but for multiplicative updates on
    /// features with negative values, where it is the least of them.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// Rows of the factor for the rows of `source` (m, d): (m, k), none below 0.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Value`] naming a value that is not finite;
    /// [`Error::Interrupted`]; those of the source.
    ///
    /// # Complexity
    /// One pass, O(m·(d·k + p·k + p³)) time for p entries above 0 in a row; 8·m·k bytes.
    pub fn extend(&self, source: &dyn RowSource, run: &Run) -> Result<Matrix> {
        let (m, d, k) = (source.n_rows(), self.basis.n_rows(), self.basis.n_cols());
        if source.n_cols() != d {
            return Err(Error::shape("features", format!("{d} columns"), format!("{} columns", source.n_cols())));
        }
        let mut rows = Rows::new(source, run);
        rows.shift = self.shift;
        let mut out = Matrix::filled(m, k, 0.0);
        rows.pass(out.values_mut(), &mut [(); AT_ONCE], |(), tile, out| {
            tile.scratch.resize(out.len(), 0.0);
            product(tile.x, self.basis.values(), d, tile.scratch);
            let mut solver = Nnls::new(&self.gram);
            for (f, b) in out.chunks_exact_mut(k).zip(tile.scratch.chunks_exact(k)) {
                // Short of the optimum by rounding alone, where it is short at all.
                solver.solve(b, f);
            }
        })?;
        Ok(out)
    }
}
