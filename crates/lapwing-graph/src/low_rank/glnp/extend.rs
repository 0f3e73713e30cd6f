//! Rows of the factor for new rows: f(x) = argmin over f ≥ 0 of ‖x − E·f‖² with E = XᵀF, by non-negative least squares on EᵀE and
//! Eᵀx.
//!
//! In the fit, row i of X is approximated by E·fᵢ; a new row gets the f of least error. Unconstrained least squares with
//! negative entries set to 0 afterwards are worse: the other entries do not adapt to the change.
//!
//! Cost: one pass over the new rows, O(d·k) for each and the active sets of [`Nnls`]: O(p·k + p³) where p entries are above 0.
//! Parallel over blocks of rows, which do not depend on each other.

use std::ops::Range;

use lapwing_core::rows::in_order;
use lapwing_core::{Error, Matrix, Result, RowReader, RowSource, Run};
use lapwing_solve::Nnls;
use lapwing_solve::products::{add_transposed_product, product};

use crate::low_rank::kernel::CHUNK_ROWS;
use crate::low_rank::passes::bad_value;

/// Computes rows of the factor for new rows, without the rows of the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct GlnpExtension {
    basis: Matrix,
    gram: Matrix,
    offset: f64,
}

impl GlnpExtension {
    /// From `basis` = XᵀF (d, k) and the number that was subtracted from every value of X.
    ///
    /// # Errors
    /// [`Error::Shape`] for no row or no column; [`Error::Value`] for a value that is not finite; [`Error::Param`] for such
    /// an offset.
    pub fn new(basis: Matrix, offset: f64) -> Result<Self> {
        let (d, k) = (basis.n_rows(), basis.n_cols());
        if k > MOST_COLUMNS {
            return Err(Error::param("rank", k, format!("at most {MOST_COLUMNS}")));
        }
        if d == 0 || k == 0 {
            return Err(Error::shape("basis", "at least one row and one column", format!("{d} × {k}")));
        }
        if !offset.is_finite() {
            return Err(Error::param("offset", offset, "a finite number"));
        }
        if let Some(at) = basis.values().iter().position(|e| !e.is_finite()) {
            let value = basis.values()[at].to_string();
            let advice = "the basis must be finite".into();
            return Err(Error::Value { what: "basis".into(), row: at / k, col: Some(at % k), value, advice });
        }
        let mut gram = Matrix::filled(k, k, 0.0);
        add_transposed_product(basis.values(), basis.values(), d, gram.values_mut());
        Ok(Self { basis, gram, offset })
    }

    /// E = XᵀF (d, k): rows of X are close to E·f.
    pub fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// EᵀE (k, k).
    pub fn gram(&self) -> &Matrix {
        &self.gram
    }

    /// Number subtracted from every value of a row, in the unit of the features. For multiplicative updates on features with
    /// negative values it is the least value, otherwise 0.
    pub fn offset(&self) -> f64 {
        self.offset
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
        let k = self.gram.n_cols();
        let mut out = Matrix::filled(source.n_rows(), k, 0.0);
        self.each(
            source,
            0..source.n_rows(),
            run,
            |_, factor| Ok(factor.to_vec()),
            |first, factor| {
                out.values_mut()[first * k..first * k + factor.len()].copy_from_slice(&factor);
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Does the same for the rows `rows` in blocks. `make` gets the first row of a block and its part of the factor (block, k), for
    /// several blocks in parallel. `take` gets the first row and what `make` returned, in the order of the rows.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and what `make` and `take` return.
    pub fn each<T: Send>(
        &self,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        make: impl Fn(usize, &[f64]) -> Result<T> + Sync,
        take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        let d = self.basis.n_rows();
        if source.n_cols() != d {
            return Err(Error::shape("features", format!("{d} columns"), format!("{} columns", source.n_cols())));
        }
        let state = || (Space::default(), Nnls::new(&self.gram));
        let open = |first: usize| source.open(first, &[], run);
        let make =
            |(space, solver): &mut (Space, Nnls<'_>), reader: &mut Box<dyn RowReader + '_>, rows: Range<usize>| {
                space.factor.clear();
                for first in rows.clone().step_by(TILE_ROWS) {
                    run.check()?;
                    self.add_tile(&mut **reader, first..rows.end.min(first + TILE_ROWS), space, solver, run)?;
                }
                make(rows.start, &space.factor)
            };
        in_order(source, open, (rows, CHUNK_ROWS), run, state, make, take)
    }

    /// Appends the factor of the next rows of a reader.
    fn add_tile(
        &self,
        reader: &mut dyn RowReader,
        rows: Range<usize>,
        space: &mut Space,
        solver: &mut Nnls<'_>,
        run: &Run,
    ) -> Result<()> {
        let (d, k) = (self.basis.n_rows(), self.basis.n_cols());
        let Space { raw, x, right, factor } = space;
        raw.resize(rows.len() * d, 0.0);
        reader.read(raw, run)?;
        if let Some(bad) = raw.iter().position(|x| !x.is_finite()) {
            return Err(bad_value(None, &raw[bad / d * d..][..d], rows.start + bad / d));
        }
        x.clear();
        x.extend(raw.iter().map(|x| f64::from(*x) - self.offset));
        right.clear();
        right.resize(rows.len() * k, 0.0);
        product(x, self.basis.values(), d, right);
        let start = factor.len();
        factor.resize(start + right.len(), 0.0);
        for (f, b) in factor[start..].chunks_exact_mut(k).zip(right.chunks_exact(k)) {
            // Whether the solver converged is ignored: if it did not, only rounding is missing.
            solver.solve(b, f);
        }
        Ok(())
    }
}

/// Rows whose products are computed at a time, and between two checks for an interruption.
const TILE_ROWS: usize = 64;
/// Most columns: EᵀE is held.
const MOST_COLUMNS: usize = 1 << 16;

/// One thread's work space.
#[derive(Default)]
struct Space {
    raw: Vec<f32>,
    x: Vec<f64>,
    right: Vec<f64>,
    factor: Vec<f64>,
}
