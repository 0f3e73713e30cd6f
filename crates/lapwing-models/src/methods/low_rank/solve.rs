//! Propagation through a low-rank factor: local and global consistency (Zhou et al. 2003) on matrices (k, k).
//!
//! With the scaled affinity S = A·N·Nᵀ·Aᵀ for rows A (n, k) and a map N (k, r), the fixed point of
//! f ← α·S·f + (1−α)·f0 is, by Woodbury's identity,
//!
//! > f = (1−α)·(f0 + A·P),  P = α·N·(I − α·H)⁻¹·R,  H = Nᵀ(AᵀA)N,  R = Nᵀ(Aᵀf0).
//!
//! All eigenvalues of H are computed. The largest is 1, or more if degrees were raised or eigenvalues of the kernel left out;
//! then α is divided by it. The iteration is g ← α·H·g + (1−α)·R on g = Nᵀ·Aᵀ·f (r, c), without the rows.
//!
//! Anchor graph regularization (Liu, He & Chang 2010): scores A·P with P = (Z_lᵀZ_l + γ·L̃)⁻¹·Z_lᵀ·y, where
//! L̃ = ZᵀZ − ZᵀZ·Λ⁻¹·ZᵀZ.

use lapwing_core::{Matrix, Result};
use lapwing_solve::dense::{eigen_symmetric, least_squares, solve_spd};
use lapwing_solve::products::{times, transposed_times};

use super::PropagationSolver;

/// A landmark whose sum over the rows is not above this has a share of no row.
const LEAST_SUM: f64 = 1e-300;
/// Added to the diagonal of the regression, in units of its mean.
const RIDGE: f64 = 1e-10;

/// Largest change, relative to the largest value, at which the iteration stops: what is left then is below that of the closed form.
pub(super) const TOL: f64 = 1e-10;
/// Most iterations; α = 0.99 takes 3,000.
const MOST_STEPS: usize = 10_000;

/// Eigenvalues and eigenvectors of H.
pub(super) struct Spectrum {
    /// N·Q (k, r): rows times this are coordinates along the eigenvectors of H.
    pub basis: Matrix,
    /// Eigenvalues of H (r), ascending.
    pub values: Vec<f64>,
}

/// Iterations and residual of a propagation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Propagated {
    pub n_iter: usize,
    pub residual: f64,
    pub converged: bool,
}

/// N of anchors: Λ^(−1/2), 0 for landmarks without a share of any row. `sums` are Zᵀ1 (k).
pub(super) fn anchor_map(sums: &[f64]) -> Matrix {
    let mut map = Matrix::filled(sums.len(), sums.len(), 0.0);
    for (l, sum) in sums.iter().enumerate() {
        map.row_mut(l)[l] = if *sum > LEAST_SUM { sum.sqrt().recip() } else { 0.0 };
    }
    map
}

impl Spectrum {
    /// The spectrum of H = Nᵀ·gram·N.
    pub fn new(map: &Matrix, gram: &Matrix) -> Result<Self> {
        let mut h = transposed_times(map, &times(gram, map));
        // Rounding leaves H slightly asymmetric, but the eigenvalue iteration reads one triangle only.
        for a in 0..h.n_rows() {
            for b in 0..a {
                let mean = (h.row(a)[b] + h.row(b)[a]) / 2.0;
                (h.row_mut(a)[b], h.row_mut(b)[a]) = (mean, mean);
            }
        }
        let (values, vectors) = eigen_symmetric(&h)?;
        Ok(Self { basis: times(map, &vectors), values })
    }

    /// Largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0)
    }

    /// α/max(1, λ) for the largest eigenvalue λ.
    pub fn damped(&self, alpha: f64) -> f64 {
        alpha / self.largest().max(1.0)
    }

    /// (1−α)·P (k, c) for `cross` = Aᵀ·f0 (k, c).
    pub fn propagate(&self, cross: &Matrix, alpha: f64, solver: PropagationSolver) -> (Matrix, Propagated) {
        let start = transposed_times(&self.basis, cross);
        let damped = self.damped(alpha);
        let (solved, how) = match solver {
            PropagationSolver::Closed => {
                let mut solved = start;
                for (row, value) in self.values.iter().enumerate() {
                    let factor = damped / (1.0 - damped * value);
                    solved.row_mut(row).iter_mut().for_each(|x| *x *= factor);
                }
                (solved, Propagated { n_iter: 0, residual: 0.0, converged: true })
            }
            PropagationSolver::Iterative => self.iterate(&start, damped),
        };
        let mut out = times(&self.basis, &solved);
        out.values_mut().iter_mut().for_each(|x| *x *= 1.0 - alpha);
        (out, how)
    }

    /// Iterates g ← α·H·g + (1−α)·R from g = R; returns α·g/(1−α).
    fn iterate(&self, start: &Matrix, alpha: f64) -> (Matrix, Propagated) {
        let mut g = start.clone();
        let mut how = Propagated { n_iter: 0, residual: f64::INFINITY, converged: false };
        while how.n_iter < MOST_STEPS && !how.converged {
            let (mut change, mut largest) = (0.0f64, 0.0f64);
            for (row, value) in self.values.iter().enumerate() {
                for (x, r) in g.row_mut(row).iter_mut().zip(start.row(row)) {
                    let new = alpha * value * *x + (1.0 - alpha) * r;
                    (change, largest) = (change.max((new - *x).abs()), largest.max(new.abs()));
                    *x = new;
                }
            }
            how.n_iter += 1;
            how.residual = if largest > 0.0 { change / largest } else { 0.0 };
            // The changes still to come are at most a geometric series of ratio α.
            how.converged = how.residual <= TOL * (1.0 - alpha);
        }
        g.values_mut().iter_mut().for_each(|x| *x *= alpha / (1.0 - alpha));
        (g, how)
    }
}

/// Coefficients (k, c) of the regression, from Z_lᵀZ_l, ZᵀZ, Zᵀ1 and Z_lᵀy.
pub(super) fn regress(
    labeled_gram: &Matrix,
    gram: &Matrix,
    sums: &[f64],
    cross: &Matrix,
    graph_reg: f64,
) -> Result<Matrix> {
    let k = sums.len();
    let mut scaled = gram.clone();
    for (l, sum) in sums.iter().enumerate() {
        let factor = if *sum > LEAST_SUM { 1.0 / sum } else { 0.0 };
        scaled.row_mut(l).iter_mut().for_each(|x| *x *= factor);
    }
    let mut system = times(gram, &scaled);
    for l in 0..k {
        let row = system.row_mut(l);
        for (m, x) in row.iter_mut().enumerate() {
            *x = labeled_gram.row(l)[m] + graph_reg * (gram.row(l)[m] - *x);
        }
    }
    // Landmarks that no label reaches get 0: the right-hand side is in the range of the matrix, and the ridge makes it definite.
    let ridge = RIDGE * (0..k).map(|l| system.row(l)[l]).sum::<f64>() / k as f64;
    (0..k).for_each(|l| system.row_mut(l)[l] += ridge);
    solve_spd(&system, cross).or_else(|_| least_squares(&system, cross, 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> (Matrix, Matrix, Matrix) {
        let (n, k, c) = (12, 4, 3);
        let shares: Vec<f64> = (0..n * k).map(|at| 0.05 + ((at * 7) % 13) as f64 / 13.0).collect();
        let mut z = Matrix::new(n, k, shares).unwrap();
        for row in 0..n {
            let sum: f64 = z.row(row).iter().sum();
            z.row_mut(row).iter_mut().for_each(|x| *x /= sum);
        }
        let mut f0 = Matrix::filled(n, c, 0.0);
        (0..5).for_each(|row| f0.row_mut(row)[row % c] = 1.0 + row as f64);
        let gram = transposed_times(&z, &z);
        (z, f0, gram)
    }

    #[test]
    fn closed_form_iteration_and_the_whole_system_agree() {
        let (z, f0, gram) = problem();
        let sums: Vec<f64> = (0..4).map(|l| z.rows().map(|row| row[l]).sum()).collect();
        let spectrum = Spectrum::new(&anchor_map(&sums), &gram).unwrap();
        assert!((spectrum.largest() - 1.0).abs() < 1e-12);
        let cross = transposed_times(&z, &f0);
        for alpha in [0.0, 0.01, 0.5, 0.9, 0.99, 0.995] {
            // (I − αS)f = (1−α)f0, all rows at once.
            let mut system = Matrix::filled(12, 12, 0.0);
            for i in 0..12 {
                for j in 0..12 {
                    let s: f64 = (0..4).map(|l| z.row(i)[l] * z.row(j)[l] / sums[l]).sum();
                    system.row_mut(i)[j] = f64::from(u8::from(i == j)) - alpha * s;
                }
            }
            let mut right = f0.clone();
            right.values_mut().iter_mut().for_each(|x| *x *= 1.0 - alpha);
            let expected = solve_spd(&system, &right).unwrap();
            for solver in [PropagationSolver::Closed, PropagationSolver::Iterative] {
                let (coefficients, how) = spectrum.propagate(&cross, alpha, solver);
                assert!(how.converged);
                let spread = times(&z, &coefficients);
                for ((found, given), expected) in spread.values().iter().zip(f0.values()).zip(expected.values()) {
                    assert!((found + (1.0 - alpha) * given - expected).abs() < 1e-9, "{alpha} {solver:?}");
                }
            }
        }
    }

    #[test]
    fn the_regression_solves_its_normal_equations() {
        let (z, f0, gram) = problem();
        let sums: Vec<f64> = (0..4).map(|l| z.rows().map(|row| row[l]).sum()).collect();
        let labeled = Matrix::new(5, 4, z.values()[..20].to_vec()).unwrap();
        let y = Matrix::new(5, 3, f0.values()[..15].to_vec()).unwrap();
        let (labeled_gram, cross) = (transposed_times(&labeled, &labeled), transposed_times(&labeled, &y));
        let found = regress(&labeled_gram, &gram, &sums, &cross, 0.01).unwrap();
        for l in 0..4 {
            for class in 0..3 {
                let mut left = 0.0;
                for m in 0..4 {
                    let through: f64 = (0..4).map(|p| gram.row(l)[p] * gram.row(p)[m] / sums[p]).sum();
                    left += (labeled_gram.row(l)[m] + 0.01 * (gram.row(l)[m] - through)) * found.row(m)[class];
                }
                assert!((left - cross.row(l)[class]).abs() < 1e-7);
            }
        }
        // A landmark without rows gets no coefficient and changes no other.
        let mut lonely = sums.clone();
        lonely.push(0.0);
        let wide = |a: &Matrix, rows: usize, cols: usize| {
            let mut out = Matrix::filled(rows, cols, 0.0);
            (0..a.n_rows()).for_each(|row| out.row_mut(row)[..a.n_cols()].copy_from_slice(a.row(row)));
            out
        };
        let more = regress(&wide(&labeled_gram, 5, 5), &wide(&gram, 5, 5), &lonely, &wide(&cross, 5, 3), 0.01).unwrap();
        assert!(more.row(4).iter().all(|x| *x == 0.0));
        assert!(more.values().iter().zip(found.values()).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
