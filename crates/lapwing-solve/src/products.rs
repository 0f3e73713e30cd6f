//! Products of blocks, row-major slices in f64, on the calling thread: for loops that run over blocks of rows in parallel. faer
//! computes those of dense blocks.
//!
//! The order of sums over the inner dimension depends on the sizes and the processor alone; sums over sparse rows follow the
//! order of the entries. Products *by rows* have rows that do not depend on their number: a new row gets the same scores alone and among
//! others.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use lapwing_core::{Csr, Matrix};

use crate::dispatch::{WIDEST, dispatch, with_width};

/// OUT (m, n) ← A (m, l)·B (l, n).
///
/// # Panics
/// If the size of a slice disagrees with `inner` = l and the other two; so do the other functions here.
pub fn product(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    multiply(a, b, inner, Accum::Replace, out);
}

/// OUT (m, n) ← OUT + A (m, l)·B (l, n).
pub fn add_product(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    multiply(a, b, inner, Accum::Add, out);
}

/// Rows that products by rows take at a time.
const TILE_ROWS: usize = 32;

/// [`add_product`] by rows.
pub fn add_product_by_rows(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    by_rows(a, inner, b.len() / inner, out, |a, out| add_product(a, b, inner, out));
}

/// [`product_transposed`] by rows.
pub fn product_transposed_by_rows(a: &[f64], b: &[f64], inner: usize, out: &mut [f64]) {
    by_rows(a, inner, b.len() / inner, out, |a, out| product_transposed(a, b, inner, out));
}

/// Multiplies tiles of equally many rows; zeros fill the last one.
fn by_rows(a: &[f64], inner: usize, n: usize, out: &mut [f64], multiply: impl Fn(&[f64], &mut [f64])) {
    for (a, out) in a.chunks(TILE_ROWS * inner).zip(out.chunks_mut(TILE_ROWS * n)) {
        if a.len() == TILE_ROWS * inner {
            multiply(a, out);
            continue;
        }
        let (mut all, mut found) = (vec![0.0; TILE_ROWS * inner], vec![0.0; TILE_ROWS * n]);
        all[..a.len()].copy_from_slice(a);
        found[..out.len()].copy_from_slice(out);
        multiply(&all, &mut found);
        out.copy_from_slice(&found[..out.len()]);
    }
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

/// A·B (m, n) of A (m, l) and B (l, n).
pub fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::filled(a.n_rows(), b.n_cols(), 0.0);
    if a.n_cols() > 0 && !out.values().is_empty() {
        product(a.values(), b.values(), a.n_cols(), out.values_mut());
    }
    out
}

/// Aᵀ·B (m, n) of A (l, m) and B (l, n).
pub fn transposed_times(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::filled(a.n_cols(), b.n_cols(), 0.0);
    if a.n_rows() > 0 && !out.values().is_empty() {
        add_transposed_product(a.values(), b.values(), a.n_rows(), out.values_mut());
    }
    out
}

/// OUT (rows, s) ← OUT + the given rows of a sparse A·B, B (columns, s).
pub fn add_sparse_product(a: &Csr<f32>, rows: Range<usize>, b: &[f64], s: usize, out: &mut [f64]) {
    sparse_rows(a, rows, b, s, out);
}

dispatch! {
    fn sparse_rows(a: &Csr<f32>, rows: Range<usize>, b: &[f64], s: usize, out: &mut [f64]) = sparse_plain
}

#[inline(always)]
fn sparse_plain(a: &Csr<f32>, rows: Range<usize>, b: &[f64], s: usize, out: &mut [f64]) {
    if s <= WIDEST {
        with_width!(s, sparse_width(a, rows, b, out));
        return;
    }
    for (row, out) in rows.zip(out.chunks_exact_mut(s)) {
        let (ids, values) = a.row(row);
        for (&id, x) in ids.iter().zip(values) {
            let x = f64::from(*x);
            out.iter_mut().zip(&b[id as usize * s..][..s]).for_each(|(out, b)| *out += x * b);
        }
    }
}

#[inline(always)]
fn sparse_width<const S: usize>(a: &Csr<f32>, rows: Range<usize>, b: &[f64], out: &mut [f64]) {
    let b = b.as_chunks::<S>().0;
    for (row, out) in rows.zip(out.as_chunks_mut::<S>().0) {
        let (ids, values) = a.row(row);
        let mut sums = *out;
        for (&id, x) in ids.iter().zip(values) {
            let (x, own) = (f64::from(*x), &b[id as usize]);
            (0..S).for_each(|lane| sums[lane] += x * own[lane]);
        }
        *out = sums;
    }
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
    fn products_of_sparse_rows_are_those_of_dense_ones() {
        let entries: Vec<(u32, u32, f32)> =
            (0..60).map(|at| (at / 5, (at * 7) % 13, at as f32 - 20.0)).filter(|entry| entry.0 != 4).collect();
        let sparse = Csr::from_entries(12, 13, &entries).unwrap();
        for s in [1, 3, 5, 16, 17, 40] {
            let b: Vec<f64> = (0..13 * s).map(|at| ((at * 5) % 17) as f64 - 8.0).collect();
            let mut out = vec![1.0; 9 * s];
            add_sparse_product(&sparse, 2..11, &b, s, &mut out);
            for (at, found) in out.iter().enumerate() {
                let own = entries.iter().filter(|entry| entry.0 as usize == at / s + 2);
                let sum: f64 = own.map(|&(_, id, x)| f64::from(x) * b[id as usize * s + at % s]).sum();
                assert_eq!(*found, 1.0 + sum, "{s} {at}");
            }
        }
    }

    #[test]
    fn products_by_rows_do_not_depend_on_the_number_of_rows() {
        let value = |at: usize| ((at * 7919) % 1013) as f64 / 1013.0 - 0.5;
        for (l, n) in [(1, 1), (33, 2), (300, 10), (65, 2048)] {
            let (a, b) = ((0..70 * l).map(value).collect::<Vec<f64>>(), (0..l * n).map(value).collect::<Vec<f64>>());
            let all = |transposed: bool, step: usize| {
                let mut out = vec![if transposed { 0.0 } else { 1.0 }; 70 * n];
                for (a, out) in a.chunks(step * l).zip(out.chunks_mut(step * n)) {
                    match transposed {
                        true => product_transposed_by_rows(a, &b, l, out),
                        false => add_product_by_rows(a, &b, l, out),
                    }
                }
                out
            };
            for transposed in [false, true] {
                for step in [1, 3, 32, 45] {
                    assert!(all(transposed, step) == all(transposed, 70), "{l} {n} {step} {transposed}");
                }
            }
        }
    }

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
