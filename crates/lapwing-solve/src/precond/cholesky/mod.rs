//! Complete Cholesky factors of Laplacians, for graphs whose factor stays small: chains, trees, meshes, neighbor graphs of few rows or few
//! columns.
//!
//! The vertices are put in an order that keeps the factor small ([`min_degree`]). Columns with the same rows form a front ([`fronts`]) and
//! are eliminated together ([`front`]). A solve sweeps over the factor twice ([`sweeps`]). The factor is exact to rounding, so that conjugate gradients end
//! after one step.
//!
//! Cost: for n rows of a planar graph O(n log n) entries of 8 bytes and O(n^1.5) multiplications, for graphs that mix fast up to n²/2 and
//! n³/3. The [`Budget`] ends the search for an order when it is exceeded.

mod front;
mod fronts;
mod inverse;
mod min_degree;
mod sweeps;
#[cfg(test)]
mod tests;

use lapwing_core::{Csr, Error, Result, Run, check_memory};

use super::Factor;
use front::Columns;
pub(crate) use fronts::Budget;
use fronts::Fronts;

/// A complete factor of a Laplacian, or of one plus a diagonal, in its own order of elimination.
#[derive(Debug)]
pub(crate) struct SparseCholesky {
    fronts: Fronts,
    columns: Columns,
}

impl SparseCholesky {
    /// Factors the Laplacian of a graph plus diag(`diagonal`), which is not negative (n).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if that exceeds the budget or the memory; [`Error::Interrupted`].
    pub fn new(adjacency: &Csr<f64>, diagonal: &[f64], budget: Budget, run: &Run) -> Result<Self> {
        let advice = "raise max_fill, or take another preconditioner";
        let Some(fronts) = Fronts::new(adjacency, budget, run)? else {
            let (what, limit) = ("a complete Cholesky factor beyond max_fill".into(), 8 * budget.entries as u64);
            return Err(Error::TooLarge { what, bytes: limit, limit, advice: advice.into() });
        };
        let bytes = 8 * fronts.n_entries as u64 + 4 * fronts.rows.len() as u64;
        check_memory("a complete Cholesky factor", bytes, "take another preconditioner")?;
        let heaviest = adjacency.values().iter().chain(diagonal).fold(0.0f64, |most, &w| most.max(w));
        // A power of two, so that nothing is rounded.
        let scale = if heaviest > 0.0 { (-heaviest.log2().floor()).min(1023.0).exp2() } else { 1.0 };
        let columns = front::factor(&fronts, adjacency, diagonal, scale, run)?;
        Ok(Self { fronts, columns })
    }
}

impl Factor for SparseCholesky {
    fn order(&self) -> &[u32] {
        &self.fronts.order
    }

    fn n_entries(&self) -> usize {
        self.fronts.n_entries
    }

    fn bytes(&self) -> usize {
        8 * (self.columns.shares.len() + self.fronts.order.len())
            + 4 * (self.fronts.rows.len() + self.fronts.order.len())
    }

    fn product(&self, r: &[f64], z: &mut [f64], s: usize) {
        self.sweep(r, z, s);
    }

    fn variances(&self) -> Vec<f64> {
        self.deviations()
    }

    fn inverse_diagonal(&self, run: &Run) -> Result<Option<Vec<f64>>> {
        self.selected_inverse(run).map(Some)
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        self.multiply(noise, m);
    }
}
