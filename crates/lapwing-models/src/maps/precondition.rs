//! P ≈ QᵀMQ + ρI, Q = H⁻¹X: a preconditioner for the problem of the weights.
//!
//! Built from all rows of (roughly) smoothed features, from a sketch of them, or from norms of columns. Condition numbers are 1.1
//! or less for all rows, about 2.4 for sketches of sixteen rows for each column.

use lapwing_core::{Error, Matrix, Result, Run};
use lapwing_solve::dense::eigen_symmetric_of;
use lapwing_solve::products::{add_transposed_product, product};
use lapwing_solve::{Cholesky, Precision, gram_of_rows};

use super::map::{Accuracy, Map};

/// P, factored for its inverse.
pub(crate) enum Preconditioner {
    /// 1.
    Identity,
    /// The inverse of each entry of a diagonal (k).
    Diagonal(Vec<f64>),
    /// A Cholesky factor.
    Factor(Cholesky),
    /// Eigenvectors (k, k) with the inverse of each eigenvalue (k), 0 for those that count as zero.
    Root { vectors: Matrix, inverse: Vec<f64> },
}

/// Eigenvalues below this share of the largest count as zero: their eigenvectors get no weight.
const CUTOFF: f64 = 1e-10;
/// If ρ is below the first share of the trace, sums are taken in double precision; below the second, eigenvalues are computed.
const LEAST_SINGLE: f64 = 1e-7;
const LEAST_REGULAR: f64 = 1e-12;
/// Most weights for which a small ρ leads to eigenvalues; beyond, this share of the trace replaces the ridge in P.
const FEW_EIGEN: usize = 2048;
const FLOOR: f64 = 1e-10;
/// Most weights for which eigenvalues are computed.
const MOST_EIGEN: usize = 12_000;

impl Preconditioner {
    /// P = RᵀR + ρI of rows R (s, k), and its rank; as a symmetric root if `wants_root`.
    ///
    /// # Errors
    /// [`Error::Param`] for a matrix that is singular and too large for eigenvalues; [`Error::Interrupted`].
    pub fn from_rows(rows: &[f32], k: usize, ridge: f64, wants_root: bool, run: &Run) -> Result<(Self, usize)> {
        let trace: f64 = rows.chunks(1 << 16).map(|part| part.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()).sum();
        let precision = if ridge >= LEAST_SINGLE * trace { Precision::Single } else { Precision::Double };
        let regular = |precision: Precision, ridge: f64| -> Result<Vec<f64>> {
            let mut gram = gram_of_rows(rows, k, precision, run)?;
            (0..k).for_each(|at| gram[at * k + at] += ridge);
            Ok(gram)
        };
        let is_regular = ridge > LEAST_REGULAR * trace;
        if !wants_root && (is_regular || k > FEW_EIGEN) {
            let ridge = if is_regular { ridge } else { FLOOR * trace };
            match Cholesky::factor(k, regular(precision, ridge)?, run) {
                Ok(factor) => return Ok((Self::Factor(factor), k)),
                Err(Error::NotPositiveDefinite { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut gram = regular(Precision::Double, ridge)?;
        if k > MOST_EIGEN {
            let expected = format!("above 0 for more than {MOST_EIGEN} features, or solver gd");
            return Err(Error::param("l2_reg", ridge, expected));
        }
        run.check()?;
        for row in 0..k {
            (0..row).for_each(|column| gram[row * k + column] = gram[column * k + row]);
        }
        let (values, vectors) = eigen_symmetric_of(Matrix::new(k, k, gram)?, run)?;
        let largest = values.last().copied().unwrap_or(0.0);
        let inverse: Vec<f64> = values.iter().map(|v| if *v > CUTOFF * largest { v.recip() } else { 0.0 }).collect();
        let rank = inverse.iter().filter(|inverse| **inverse > 0.0).count();
        Ok((Self::Root { vectors, inverse }, rank))
    }

    /// P⁻¹·G (k, c).
    pub fn apply(&self, g: &Matrix) -> Matrix {
        match self {
            Self::Root { inverse, .. } => self.spectral(g, inverse),
            Self::Identity => g.clone(),
            Self::Diagonal(inverse) => scaled(g, inverse),
            Self::Factor(factor) => {
                let (k, c) = (g.n_rows(), g.n_cols());
                let mut columns: Vec<f64> = (0..k * c).map(|at| g.row(at % k)[at / k]).collect();
                factor.solve(&mut columns);
                let mut out = Matrix::filled(k, c, 0.0);
                columns.iter().enumerate().for_each(|(at, x)| out.row_mut(at % k)[at / k] = *x);
                out
            }
        }
    }

    /// P^(−1/2)·G (k, c) by the symmetric root; G itself for a factor, whose root is not computed.
    pub fn half(&self, g: &Matrix) -> Matrix {
        let roots = |inverse: &[f64]| inverse.iter().map(|x| x.sqrt()).collect::<Vec<f64>>();
        match self {
            Self::Root { inverse, .. } => self.spectral(g, &roots(inverse)),
            Self::Diagonal(inverse) => scaled(g, &roots(inverse)),
            Self::Identity | Self::Factor(_) => g.clone(),
        }
    }

    /// V·diag(factors)·Vᵀ·G.
    fn spectral(&self, g: &Matrix, factors: &[f64]) -> Matrix {
        let Self::Root { vectors, .. } = self else { return g.clone() };
        let (k, c) = (g.n_rows(), g.n_cols());
        let mut inner = Matrix::filled(k, c, 0.0);
        add_transposed_product(vectors.values(), g.values(), k, inner.values_mut());
        let inner = scaled(&inner, factors);
        let mut out = Matrix::filled(k, c, 0.0);
        product(vectors.values(), inner.values(), k, out.values_mut());
        out
    }
}

/// Vectors of random signs that estimate the spread.
pub(crate) const PROBES: usize = 16;

/// Σ m‖q − h·t‖² over the rows q of A without the constant column. h = E·H⁻¹1 (l) is the smoothed constant, and t the
/// coefficients along it, so that neither shifted features nor a bias change the sum. It is estimated by sixteen fixed vectors ε
/// of random signs: ‖Aᵀ(√m∘ε − m∘h·Σ√mεh/Σmh²)‖² has it as mean, and a standard deviation of a few percent. For a single row it
/// is ‖q‖².
pub(crate) fn spread(map: &dyn Map, n_features: usize, trust: &[f64], constant: &[f64]) -> Result<f64> {
    let l = trust.len();
    let sign = |at: usize| if lapwing_core::hash::mix(at as u64 ^ 0x7370_7264) & 1 == 0 { 1.0 } else { -1.0 };
    let mut probes = Matrix::filled(l, PROBES, 0.0);
    let mut sums = [0.0; PROBES];
    for row in 0..l {
        let out = probes.row_mut(row);
        for (at, (out, sum)) in out.iter_mut().zip(&mut sums).enumerate() {
            *out = trust[row].sqrt() * sign(row * PROBES + at);
            *sum += *out * constant[row];
        }
    }
    let total: f64 = trust.iter().zip(constant).map(|(m, h)| m * h * h).sum();
    if l > 1 && total > 0.0 {
        for row in 0..l {
            let share = trust[row] * constant[row] / total;
            probes.row_mut(row).iter_mut().zip(sums).for_each(|(out, sum)| *out -= share * sum);
        }
    }
    let found = map.adjoint(&probes, Accuracy::Step(0.0))?;
    Ok(found.values()[..n_features * PROBES].iter().map(|x| x * x).sum::<f64>() / PROBES as f64)
}

/// diag(factors)·G.
fn scaled(g: &Matrix, factors: &[f64]) -> Matrix {
    let mut out = g.clone();
    let rows = out.values_mut().chunks_exact_mut(g.n_cols().max(1)).zip(factors);
    rows.for_each(|(row, factor)| row.iter_mut().for_each(|x| *x *= factor));
    out
}
