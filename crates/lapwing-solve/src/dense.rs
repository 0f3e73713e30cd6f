//! Small dense problems, by faer.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use faer::linalg::cholesky::llt::factor::LltError;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use lapwing_core::{Error, Matrix, Result, Run};
use rand::{Rng, RngExt};

use crate::cholesky::indefinite;

fn to_faer(a: &Matrix) -> Mat<f64> {
    Mat::from_fn(a.n_rows(), a.n_cols(), |i, j| a.row(i)[j])
}

fn from_faer(a: &Mat<f64>) -> Matrix {
    let mut out = Matrix::filled(a.nrows(), a.ncols(), 0.0);
    for i in 0..a.nrows() {
        out.row_mut(i).iter_mut().enumerate().for_each(|(j, v)| *v = a[(i, j)]);
    }
    out
}

/// Solves A·X = B for a symmetric positive definite A (n, n) by Cholesky.
///
/// # Errors
/// [`Error::NotPositiveDefinite`].
///
/// # Complexity
/// O(n³ + n²s) time.
pub fn solve_spd(a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let factor = to_faer(a).llt(Side::Lower).map_err(|LltError::NonPositivePivot { index }| indefinite(index))?;
    Ok(from_faer(&factor.solve(to_faer(b))))
}

/// Eigenvalues (n), ascending, and eigenvectors as columns (n, n) of a symmetric matrix.
///
/// # Errors
/// [`Error::Internal`] if the iteration fails, which happens only for values that are not finite.
///
/// # Complexity
/// O(n³) time.
pub fn eigen_symmetric(a: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    if a.n_rows() == 0 {
        return Ok((Vec::new(), Matrix::filled(0, 0, 0.0)));
    }
    let fault = |_| Error::Internal { reason: "the symmetric eigenvalue iteration failed".into() };
    let eigen = to_faer(a).self_adjoint_eigen(Side::Lower).map_err(fault)?;
    let values = eigen.S().column_vector().iter().copied().collect();
    Ok((values, from_faer(&eigen.U().to_owned())))
}

/// [`eigen_symmetric`] that returns when `run` is canceled. The iteration itself cannot be stopped: it continues on the threads
/// of `run`, and its result is dropped.
///
/// # Errors
/// As [`eigen_symmetric`]; [`Error::Interrupted`].
pub fn eigen_symmetric_of(a: Matrix, run: &Run) -> Result<(Vec<f64>, Matrix)> {
    /// Up to this number of rows it takes no noticeable time.
    const FEW: usize = 256;
    const PATIENCE: Duration = Duration::from_millis(50);
    if a.n_rows() <= FEW {
        return run.install(|| eigen_symmetric(&a));
    }
    let (done, result) = mpsc::channel();
    let own = run.clone();
    let work = move || {
        // After a cancellation the receiver is gone.
        let _ = done.send(own.install(|| eigen_symmetric(&a)));
    };
    let fault = |e: &dyn std::fmt::Display| Error::Internal { reason: format!("no thread for eigenvalues: {e}") };
    std::thread::Builder::new().spawn(work).map_err(|e| fault(&e))?;
    loop {
        run.check()?;
        match result.recv_timeout(PATIENCE) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(fault(&"it ended early")),
        }
    }
}

/// X of least norm among those that minimize ‖A·X − B‖, column by column, for A (m, n) and B (m, s); singular values up
/// to `cutoff` times the largest count as zero.
///
/// # Errors
/// [`Error::Shape`] unless A and B have equally many rows; [`Error::Internal`] if the iteration for the singular values fails,
/// which happens only for values that are not finite.
///
/// # Complexity
/// O(m·n·min(m, n) + m·n·s) time.
pub fn least_squares(a: &Matrix, b: &Matrix, cutoff: f64) -> Result<Matrix> {
    if a.n_rows() != b.n_rows() {
        return Err(Error::shape("right-hand side", format!("{} rows", a.n_rows()), format!("{} rows", b.n_rows())));
    }
    let fault = |_| Error::Internal { reason: "the iteration for singular values failed".into() };
    let svd = to_faer(a).thin_svd().map_err(fault)?;
    let singular = svd.S().column_vector();
    let largest = singular.iter().fold(0.0f64, |most, &s| most.max(s));
    let mut projected = svd.U().transpose() * to_faer(b);
    for (row, &value) in singular.iter().enumerate() {
        let inverse = if value > cutoff * largest { value.recip() } else { 0.0 };
        (0..b.n_cols()).for_each(|column| projected[(row, column)] *= inverse);
    }
    Ok(from_faer(&(svd.V() * projected)))
}

/// XᵀX (d, d) of the rows of `x` (m, d).
///
/// # Complexity
/// O(m·d²) time, one more copy of `x`.
pub fn gram(x: &Matrix) -> Matrix {
    let x = to_faer(x);
    from_faer(&(x.transpose() * &x))
}

/// Orthonormal columns (d, w) that span those of `y` (d, w), for w ≤ d.
///
/// # Complexity
/// O(d·w²) time, two more copies of `y`.
pub fn orthonormal_columns(y: &Matrix) -> Matrix {
    from_faer(&to_faer(y).qr().compute_thin_Q())
}

/// Leading principal axes of the rows of `x` (m, d), which must be centered: orthonormal rows (`rank`, d), by descending
/// variance; subspace iteration from a start drawn from `rng` (Halko, Martinsson & Tropp 2011, algorithm 4.4).
///
/// For sketches and plots: axes whose variances nearly tie may be rotated among themselves.
///
/// # Errors
/// [`Error::Param`] unless 1 ≤ `rank` ≤ d; [`Error::Internal`] as [`eigen_symmetric`].
///
/// # Complexity
/// O(m·d·rank) time times 8, one more copy of `x`.
pub fn principal_axes(x: &Matrix, rank: usize, rng: &mut impl Rng) -> Result<Matrix> {
    const ITERATIONS: usize = 8;
    let d = x.n_cols();
    if rank == 0 || rank > d {
        return Err(Error::param("rank", rank, format!("between 1 and {d}")));
    }
    let x = to_faer(x);
    // A few more columns than wanted make the leading ones converge fast.
    let width = (rank + 8).min(d);
    let mut basis = Mat::from_fn(d, width, |_, _| rng.random_range(-1.0..1.0f64));
    for _ in 0..ITERATIONS {
        basis = (x.transpose() * (&x * &basis)).qr().compute_thin_Q();
    }
    let projected = &x * &basis;
    let (_, rotation) = eigen_symmetric(&from_faer(&(projected.transpose() * &projected)))?;
    let mut axes = Matrix::filled(rank, d, 0.0);
    for axis in 0..rank {
        let row = axes.row_mut(axis);
        for (at, value) in row.iter_mut().enumerate() {
            *value = (0..width).map(|k| basis[(at, k)] * rotation.row(k)[width - 1 - axis]).sum();
        }
    }
    Ok(axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_rebuild_the_matrix_and_cholesky_inverts_it() {
        let a = Matrix::new(3, 3, vec![4.0, 1.0, 0.5, 1.0, 3.0, -0.25, 0.5, -0.25, 2.0]).unwrap();
        let (values, vectors) = eigen_symmetric(&a).unwrap();
        assert!(values.is_sorted());
        let run = Run::new(Some(2), 0).unwrap();
        let larger =
            Matrix::new(300, 300, (0..90_000).map(|at| 1.0 / (1 + at / 300 + at % 300) as f64).collect()).unwrap();
        let found = eigen_symmetric_of(larger.clone(), &run).unwrap();
        assert_eq!(found.0, run.install(|| eigen_symmetric(&larger)).unwrap().0);
        let stop = lapwing_core::CancelToken::default();
        stop.cancel();
        assert!(matches!(eigen_symmetric_of(larger, &run.with_cancel(stop)), Err(Error::Interrupted)));
        for i in 0..3 {
            for j in 0..3 {
                let rebuilt: f64 = (0..3).map(|k| vectors.row(i)[k] * values[k] * vectors.row(j)[k]).sum();
                assert!((rebuilt - a.row(i)[j]).abs() < 1e-12);
            }
        }
        let b = Matrix::new(3, 1, vec![1.0, 2.0, 3.0]).unwrap();
        let x = solve_spd(&a, &b).unwrap();
        for i in 0..3 {
            let product: f64 = (0..3).map(|j| a.row(i)[j] * x.row(j)[0]).sum();
            assert!((product - b.row(i)[0]).abs() < 1e-12);
        }
        let indefinite = Matrix::new(2, 2, vec![0.0, 1.0, 1.0, 0.0]).unwrap();
        let error = solve_spd(&indefinite, &Matrix::filled(2, 1, 1.0)).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot: Some(0), .. }), "{error}");
    }

    #[test]
    fn least_squares_are_those_of_least_norm() {
        // Full rank: the normal equations. Wide: Aᵀ(AAᵀ)⁻¹b. Equal columns share their coefficient.
        let tall = Matrix::new(3, 2, vec![1.0, 0.0, 1.0, 1.0, 1.0, 2.0]).unwrap();
        let line = Matrix::new(3, 1, vec![1.0, 3.0, 5.0]).unwrap();
        let x = least_squares(&tall, &line, 1e-12).unwrap();
        assert!((x.row(0)[0] - 1.0).abs() < 1e-12 && (x.row(1)[0] - 2.0).abs() < 1e-12);
        let wide = Matrix::new(1, 2, vec![3.0, 4.0]).unwrap();
        let x = least_squares(&wide, &Matrix::filled(1, 1, 25.0), 1e-12).unwrap();
        assert!((x.row(0)[0] - 3.0).abs() < 1e-12 && (x.row(1)[0] - 4.0).abs() < 1e-12);
        let twins = Matrix::new(3, 2, vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0]).unwrap();
        let x = least_squares(&twins, &Matrix::new(3, 1, vec![2.0, 4.0, 6.0]).unwrap(), 1e-12).unwrap();
        assert!((x.row(0)[0] - 1.0).abs() < 1e-12 && (x.row(1)[0] - 1.0).abs() < 1e-12);
        assert!(least_squares(&wide, &line, 1e-12).is_err());
    }

    #[test]
    fn principal_axes_follow_the_variance() {
        let run = lapwing_core::Run::new(Some(1), 3).unwrap();
        let mut x = Matrix::filled(200, 30, 0.0);
        for i in 0..200 {
            let (a, b) = (((i * 37) % 101) as f64 - 50.0, ((i * 53) % 89) as f64 - 44.0);
            let row = x.row_mut(i);
            row.iter_mut().enumerate().for_each(|(j, v)| *v = ((i * 13 + j * 7) % 11) as f64 * 0.01);
            (row[5], row[20]) = (a, 0.3 * b);
        }
        let mut rng = run.rng(lapwing_core::Stream::Start, 0);
        let axes = principal_axes(&x, 2, &mut rng).unwrap();
        assert!(axes.row(0)[5].abs() > 0.99 && axes.row(1)[20].abs() > 0.99);
        assert!(principal_axes(&x, 31, &mut rng).is_err());
    }
}
