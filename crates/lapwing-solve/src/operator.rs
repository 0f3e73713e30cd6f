//! Linear operators on blocks of vectors.

use lapwing_data::{Csr, Error, Result};

use crate::kernels;

/// A symmetric linear operator on R^n, applied to blocks of s vectors at once.
pub trait Operator: Sync {
    /// Dimension n.
    fn n(&self) -> usize;

    /// Y ← A·X for blocks (n, s), row-major.
    fn apply(&self, x: &[f64], y: &mut [f64], s: usize);

    /// Diagonal of A (n).
    fn diagonal(&self) -> Vec<f64>;
}

/// κ·L + diag(g), L = D − W the Laplacian of a symmetric W and g ≥ 0: combinatorial and regularised Laplacians, and
/// their principal blocks, where g holds the weights that were cut.
///
/// Products are taken as Σⱼ wᵢⱼ(xᵢ − xⱼ), so that weights far apart lose no digits to cancellation.
#[derive(Clone, Debug)]
pub struct SddMatrix<'a> {
    adjacency: &'a Csr<f64>,
    scale: f64,
    shift: Vec<f64>,
}

impl<'a> SddMatrix<'a> {
    /// `scale` · (D − `adjacency`) + diag(`shift`).
    ///
    /// # Errors
    /// [`Error::Shape`] unless `adjacency` is square with one shift per row.
    pub fn new(adjacency: &'a Csr<f64>, scale: f64, shift: Vec<f64>) -> Result<Self> {
        let n = adjacency.n_rows();
        if adjacency.n_cols() != n || shift.len() != n {
            let got = format!("{} columns and {} diagonal values", adjacency.n_cols(), shift.len());
            return Err(Error::shape("matrix", format!("{n} of each"), got));
        }
        Ok(Self { adjacency, scale, shift })
    }
}

impl Operator for SddMatrix<'_> {
    fn n(&self) -> usize {
        self.shift.len()
    }

    /// O(m·s) operations; parallel over rows, each row's sum in column order.
    fn apply(&self, x: &[f64], y: &mut [f64], s: usize) {
        kernels::sdd_product(self.adjacency, self.scale, &self.shift, x, y, s);
    }

    fn diagonal(&self) -> Vec<f64> {
        let degree = |row: usize| self.adjacency.row(row).1.iter().sum::<f64>();
        self.shift.iter().enumerate().map(|(row, shift)| self.scale * degree(row) + shift).collect()
    }
}
