//! Products of dense blocks, row-major slices in f64, by faer on the calling thread: what loops over blocks of rows in
//! parallel are made of.
//!
//! Sums over the inner dimension are taken in an order that depends on the sizes and the processor alone.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// OUT (m, n) ← A (m, l)·B (l, n).
///
/// # Panics
/// Where a slice is not of the size that `inner` = l and the other two imply, a fault of the caller; so do the others here.
pub fn product(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    multiply(a, b, inner, Accum::Replace, out);
}

/// OUT (m, n) ← OUT + A (m, l)·B (l, n).
pub fn add_product(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    multiply(a, b, inner, Accum::Add, out);
}

/// OUT (m, n) ← A (m, l)·B (n, l)ᵀ.
pub fn product_transposed(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    let (m, n) = (a.len() / inner, b.len() / inner);
    let (a, b) = (MatRef::from_row_major_slice(a, m, inner), MatRef::from_row_major_slice(b, n, inner));
    matmul(MatMut::from_row_major_slice_mut(out, m, n), Accum::Replace, a, b.transpose(), 1.0, Par::Seq);
}

/// OUT (m, n) ← OUT + A (l, m)ᵀ·B (l, n).
pub fn add_transposed_product(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    let (m, n) = (a.len() / inner, b.len() / inner);
    let (a, b) = (MatRef::from_row_major_slice(a, inner, m), MatRef::from_row_major_slice(b, inner, n));
    matmul(MatMut::from_row_major_slice_mut(out, m, n), Accum::Add, a.transpose(), b, 1.0, Par::Seq);
}

fn multiply(a: &[f64], b: &[f64], inner: usize, accumulate: Accum, out: &mut [f64]) {
    let (m, n) = (a.len() / inner, b.len() / inner);
    let (a, b) = (MatRef::from_row_major_slice(a, m, inner), MatRef::from_row_major_slice(b, inner, n));
    matmul(MatMut::from_row_major_slice_mut(out, m, n), accumulate, a, b, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_sums_of_products() {
        for (m, l, n) in [(1, 1, 1), (3, 2, 5), (70, 33, 17), (5, 300, 2)] {
            let a: Vec<f64> = (0..m * l).map(|at| ((at * 7) % 11) as f64 - 5.0).collect();
            let b: Vec<f64> = (0..l * n).map(|at| ((at * 5) % 13) as f64 - 6.0).collect();
            let transposed = |x: &[f64], rows: usize, cols: usize| -> Vec<f64> {
                (0..rows * cols).map(|at| x[at % rows * cols + at / rows]).collect()
            };
            // Small integers: every order of summation is exact.
            let entry = |at: usize| (0..l).map(|k| a[at / n * l + k] * b[k * n + at % n]).sum::<f64>();
            let expected: Vec<f64> = (0..m * n).map(entry).collect();
            let twice: Vec<f64> = expected.iter().map(|x| 2.0 * x).collect();
            let mut out = vec![f64::NAN; m * n];
            product(&a, &b, l, &mut out);
            assert_eq!(out, expected);
            add_product(&a, &b, l, &mut out);
            assert_eq!(out, twice);
            product_transposed(&a, &transposed(&b, l, n), l, &mut out);
            assert_eq!(out, expected);
            add_transposed_product(&transposed(&a, m, l), &b, l, &mut out);
            assert_eq!(out, twice);
        }
    }
}
