//! Factorizations of large dense matrices in panels of columns (right-looking).
//!
//! One thread factors a panel. The columns after it are updated in pieces of fixed size, so that results do not depend on the
//! number of threads. Cancellation is checked between pieces.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run};

/// Columns of a panel, and of the pieces that are updated.
pub(crate) const PANEL: usize = 256;

/// Columns `first..first + width` of a matrix of `n` rows, column after column.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub n: usize,
    pub first: usize,
    pub width: usize,
}

/// A factorization.
pub(crate) trait Factorization: Sync {
    /// Factors the rows of a panel that begin with its first column.
    fn factor(&mut self, panel: Panel, values: &mut [f64]) -> Result<()>;

    /// Updates columns before the panel.
    fn update_before(&self, _panel: Panel, _columns: &mut [f64]) {}

    /// Updates some of the columns after the panel, beginning with the one at `at` of them.
    fn update_after(&self, panel: Panel, values: &[f64], columns: &mut [f64], at: usize);
}

/// Factors a matrix (n, n) in place; `done` gets the number of columns that are finished.
pub(crate) fn factor(
    method: &mut impl Factorization,
    n: usize,
    values: &mut [f64],
    run: &Run,
    mut done: impl FnMut(usize),
) -> Result<()> {
    if values.len() != n * n {
        return Err(Error::shape("matrix", format!("{n} × {n} values"), values.len()));
    }
    for first in (0..n).step_by(PANEL) {
        run.check()?;
        let panel = Panel { n, first, width: PANEL.min(n - first) };
        let (before, rest) = values.split_at_mut(first * n);
        let (own, after) = rest.split_at_mut(panel.width * n);
        method.factor(panel, own)?;
        let (method, own) = (&*method, &*own);
        run.install(|| {
            before.par_chunks_mut(PANEL * n).for_each(|columns| method.update_before(panel, columns));
            after.par_chunks_mut(PANEL * n).enumerate().try_for_each(|(piece, columns)| {
                run.check()?;
                method.update_after(panel, own, columns, piece * PANEL);
                Ok::<(), Error>(())
            })
        })?;
        done(first + panel.width);
    }
    Ok(())
}
