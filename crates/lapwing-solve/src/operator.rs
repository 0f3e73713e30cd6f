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

/// diag(δ) − κ·W: combinatorial and regularised Laplacians, and their principal blocks.
///
/// With W a graph's affinity, D its degrees and C a diagonal: `scale` κ = γ and `diagonal` δ = γD + C give γL + C.
#[derive(Clone, Debug)]
pub struct SddMatrix<'a> {
    adjacency: &'a Csr<f64>,
    scale: f64,
    diagonal: Vec<f64>,
}

impl<'a> SddMatrix<'a> {
    /// diag(`diagonal`) − `scale` · `adjacency`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `adjacency` is square with one diagonal value per row.
    pub fn new(adjacency: &'a Csr<f64>, scale: f64, diagonal: Vec<f64>) -> Result<Self> {
        let n = adjacency.n_rows();
        if adjacency.n_cols() != n || diagonal.len() != n {
            let got = format!("{} columns and {} diagonal values", adjacency.n_cols(), diagonal.len());
            return Err(Error::shape("matrix", format!("{n} of each"), got));
        }
        Ok(Self { adjacency, scale, diagonal })
    }
}

impl Operator for SddMatrix<'_> {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    /// O(m·s) operations; parallel over rows, each row's sum in column order.
    fn apply(&self, x: &[f64], y: &mut [f64], s: usize) {
        kernels::sdd_product(self.adjacency, self.scale, &self.diagonal, x, y, s);
    }

    fn diagonal(&self) -> Vec<f64> {
        self.diagonal.clone()
    }
}
