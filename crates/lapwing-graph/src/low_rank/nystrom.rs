//! Nyström factor of a Gaussian kernel: W̃ = C·G_r⁺·Cᵀ = F·Fᵀ with F = C·M, M = U_r·Λ_r^(−1/2) (Williams & Seeger 2001).
//!
//! C (n, k) are similarities of rows to landmarks, G = U·Λ·Uᵀ (k, k) those among landmarks. Eigenvalues of G above `rcond`
//! times the largest are kept. M is a factor of the *matrix* root of G⁺; the element-wise root that Petegrosso et al. (arXiv
//! 1702.08884) state does not give C·G⁺·Cᵀ. F is never computed; degrees are d = C·v with v = M·Mᵀ·Cᵀ1.
//!
//! Everything here is (k, k) and in double precision: O(k²·d + k³) time.

use lapwing_core::{Matrix, Result};
use lapwing_solve::dense::eigen_symmetric;

/// The map M.
#[derive(Clone, Debug)]
pub struct NystromMap {
    /// M (k, r): similarities to landmarks times M are rows of the factor.
    pub map: Matrix,
    /// Largest and smallest eigenvalue of G that were kept.
    pub eigenvalues: (f64, f64),
}

impl NystromMap {
    /// From landmarks (k, d) and σ. Equal landmarks only lower the rank.
    ///
    /// # Errors
    /// [`Error::Internal`](lapwing_core::Error) if the eigenvalue iteration fails.
    pub fn new(landmarks: &[f32], n_features: usize, width: f64, rcond: f64) -> Result<Self> {
        let rows: Vec<&[f32]> = landmarks.chunks_exact(n_features.max(1)).collect();
        let k = rows.len();
        let mut kernel = Matrix::filled(k, k, 1.0);
        for g in 0..k {
            for h in 0..g {
                let pairs = rows[g].iter().zip(rows[h]);
                let squared: f64 = pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
                let similarity = (-squared / (2.0 * width * width)).exp();
                kernel.row_mut(g)[h] = similarity;
                kernel.row_mut(h)[g] = similarity;
            }
        }
        Self::from_kernel(&kernel, rcond)
    }

    /// From G (k, k).
    ///
    /// # Errors
    /// As [`NystromMap::new`].
    pub fn from_kernel(kernel: &Matrix, rcond: f64) -> Result<Self> {
        let (values, vectors) = eigen_symmetric(kernel)?;
        let k = values.len();
        let largest = values.last().copied().unwrap_or(0.0);
        let first = values.iter().position(|value| *value > rcond * largest).unwrap_or(k);
        let mut map = Matrix::filled(k, k - first, 0.0);
        for g in 0..k {
            let row = map.row_mut(g);
            row.iter_mut().zip(first..).for_each(|(m, j)| *m = vectors.row(g)[j] / values[j].sqrt());
        }
        Ok(Self { map, eigenvalues: (largest, values.get(first).copied().unwrap_or(0.0)) })
    }

    /// Rank r.
    pub fn rank(&self) -> usize {
        self.map.n_cols()
    }

    /// v = M·Mᵀ·c for the column sums c = Cᵀ1 (k): degrees are C·v, and their sum is c·v.
    pub fn degree_weights(&self, sums: &[f64]) -> Vec<f64> {
        let mut turned = vec![0.0; self.rank()];
        for (row, sum) in self.map.rows().zip(sums) {
            turned.iter_mut().zip(row).for_each(|(t, m)| *t += m * sum);
        }
        self.map.rows().map(|row| row.iter().zip(&turned).map(|(m, t)| m * t).sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_of_all_rows_is_the_kernel() {
        let points: Vec<f32> = (0..24).map(|i| ((i * 7) % 11) as f32 / 3.0).collect();
        let found = NystromMap::new(&points, 2, 0.7, 1e-12).unwrap();
        // The points repeat after eleven.
        assert_eq!(found.rank(), 11);
        let similarity = |g: usize, h: usize| {
            let x = |at: usize| f64::from(points[at]);
            let squared: f64 = (0..2).map(|j| (x(g * 2 + j) - x(h * 2 + j)).powi(2)).sum();
            (-squared / (2.0 * 0.49)).exp()
        };
        // F = G·M, F·Fᵀ = G.
        let factor = |g: usize, r: usize| (0..12).map(|h| similarity(g, h) * found.map.row(h)[r]).sum::<f64>();
        for g in 0..12 {
            for h in 0..12 {
                let product: f64 = (0..11).map(|r| factor(g, r) * factor(h, r)).sum();
                assert!((product - similarity(g, h)).abs() < 1e-9, "{g} {h}");
            }
        }
    }

    #[test]
    fn equal_landmarks_cost_rank_and_nothing_else() {
        let points = [0.0f32, 1.0, 2.0, 1.0, 0.0];
        let found = NystromMap::new(&points, 1, 0.5, 1e-6).unwrap();
        assert_eq!(found.rank(), 3);
        assert!(found.map.values().iter().all(|m| m.is_finite()));
        let weights = found.degree_weights(&[1.0, 2.0, 1.5, 2.0, 1.0]);
        assert!((weights[0] - weights[4]).abs() < 1e-9 && (weights[1] - weights[3]).abs() < 1e-9);
    }
}
