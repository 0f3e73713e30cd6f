//! Solutions that an iteration adds corrections to.

use lapwing_core::Matrix;

use crate::real::Real;

/// Solutions of a system, in the solver's order of rows.
pub trait Solution: Sync {
    /// Number of rows n.
    fn n_rows(&self) -> usize;

    /// Number of columns s.
    fn n_cols(&self) -> usize;

    /// Writes the values of row `row` to `out` (s).
    fn read(&self, row: usize, out: &mut [f64]);
}

impl Solution for Matrix {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn n_cols(&self) -> usize {
        self.n_cols()
    }

    fn read(&self, row: usize, out: &mut [f64]) {
        out.copy_from_slice(self.row(row));
    }
}

/// The solutions of all columns of a solve, to which an iteration adds its corrections.
pub(crate) struct Total<'a, T> {
    /// Values (n, width); empty for zeros.
    pub x: &'a mut Vec<T>,
    pub width: usize,
}

impl<T: Real> Total<'_, T> {
    pub fn value(&self, row: usize, column: usize) -> f64 {
        if self.x.is_empty() { 0.0 } else { self.x[row * self.width + column].wide() }
    }
}

/// Solutions so far: the total plus the corrections of the columns `open`, whose rows have `width` values.
pub(super) struct Sum<'a, T, R> {
    pub total: &'a Total<'a, T>,
    pub own: &'a [R],
    pub width: usize,
    pub open: &'a [usize],
}

impl<T: Real, R: Real> Solution for Sum<'_, T, R> {
    fn n_rows(&self) -> usize {
        self.own.len() / self.width
    }

    fn n_cols(&self) -> usize {
        self.total.width
    }

    fn read(&self, row: usize, out: &mut [f64]) {
        match self.total.x.as_slice() {
            [] => out.fill(0.0),
            x => out.iter_mut().zip(&x[row * self.total.width..]).for_each(|(out, x)| *out = x.wide()),
        }
        self.open.iter().zip(&self.own[row * self.width..]).for_each(|(&column, own)| out[column] += own.wide());
    }
}
