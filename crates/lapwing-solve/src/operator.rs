//! Linear operators on blocks of vectors.

use lapwing_core::{Result, Run};
use lapwing_simd::LINE;

use crate::SddMatrix;
use crate::real::Real;

/// A symmetric linear operator on R^n, for blocks of vectors in precision R.
pub trait Operator<R: Real = f64>: Sync {
    /// Dimension n.
    fn n(&self) -> usize;

    /// Values from one row of X to the next with which products of `s` columns are fastest; at least s.
    fn stride(&self, s: usize) -> usize {
        s
    }

    /// Y ← A·X, row-major, for Y (n, s) and X (n, s), or (n, [`stride`](Self::stride)) of which the first s columns count; returns xᵀy of
    /// each column (s).
    ///
    /// # Errors
    /// [`Error::Interrupted`](lapwing_core::Error::Interrupted), and those of an operator that reads or makes its values.
    fn apply(&self, x: &[R], y: &mut [R], s: usize, run: &Run) -> Result<Vec<f64>>;
}

impl SddMatrix<'_> {
    /// Y ← A·X for Y (n, s) and the first s columns of X, row-major, summed in the precision of X and Y; returns xᵀy of each column (s).
    ///
    /// # Complexity
    /// O(m·s) operations; parallel over rows on the current pool, each row's sum in column order.
    pub fn product<R: Real>(&self, x: &[R], y: &mut [R], s: usize) -> Vec<f64> {
        R::product(self, x, y, s, None)
    }
}

impl<R: Real> Operator<R> for SddMatrix<'_> {
    fn n(&self) -> usize {
        self.n()
    }

    /// Rows of X are gathered: they straddle no cache line if they begin at multiples of a power of two of bytes.
    fn stride(&self, s: usize) -> usize {
        let row = (s * size_of::<R>()).next_power_of_two();
        if row <= LINE { row / size_of::<R>() } else { s }
    }

    fn apply(&self, x: &[R], y: &mut [R], s: usize, run: &Run) -> Result<Vec<f64>> {
        let dots = run.install(|| R::product(self, x, y, s, Some(run)));
        run.check()?;
        Ok(dots)
    }
}
