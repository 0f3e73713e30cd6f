//! Distances of single pairs as Σ(xᵢ − yᵢ)² in f64, from the given rows.
//!
//! The search orders candidates by a matrix product, which loses half the digits between close points; the distances
//! that are returned are computed here, in f64. The inner product is summed directly.
//! Cost: d operations a pair, and reading the two rows, which are prefetched.

use std::borrow::Cow;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Dense, DenseValues, Features};
use lapwing_simd::prefetch_lines;

use crate::knn::Metric;
use crate::knn::pairs::{Pair, pair_sum, squared_bytes};
use crate::knn::rows::row_norm;

/// Distances between rows of two feature matrices.
pub(crate) struct Distances<'a> {
    left: &'a Features<'a>,
    right: &'a Features<'a>,
    pub metric: Metric,
    left_norms: Cow<'a, [f64]>,
    right_norms: Cow<'a, [f64]>,
}

/// Euclidean norms of all rows; empty for dense rows if distances do not need them.
pub(crate) fn norms(features: &Features<'_>, metric: Metric) -> Vec<f64> {
    match (features, metric) {
        (Features::Dense(_), Metric::Euclidean | Metric::InnerProduct) => Vec::new(),
        _ => (0..features.n_rows()).into_par_iter().map(|row| norm(features, row)).collect(),
    }
}

impl<'a> Distances<'a> {
    pub fn new(left: &'a Features<'a>, right: &'a Features<'a>, metric: Metric) -> Self {
        let left_norms = norms(left, metric);
        let right_norms = if std::ptr::eq(left, right) { left_norms.clone() } else { norms(right, metric) };
        Self { left, right, metric, left_norms: left_norms.into(), right_norms: right_norms.into() }
    }

    /// [`Distances::new`] with the norms of the right side from an earlier call of [`norms`].
    pub fn with_norms(left: &'a Features<'a>, right: &'a Features<'a>, metric: Metric, right_norms: &'a [f64]) -> Self {
        Self { left, right, metric, left_norms: norms(left, metric).into(), right_norms: right_norms.into() }
    }

    /// Distances among the rows of one matrix, with its [`norms`].
    pub fn among(rows: &'a Features<'a>, metric: Metric, norms: &'a [f64]) -> Self {
        Self { left: rows, right: rows, metric, left_norms: norms.into(), right_norms: norms.into() }
    }

    /// The rows of either side with their Euclidean norms, if they are sparse.
    pub fn sparse_rows(&self) -> Option<[(&'a Csr<f32>, &[f64]); 2]> {
        match (self.left, self.right) {
            (Features::Sparse(left), Features::Sparse(right)) => {
                Some([(left, &self.left_norms), (right, &self.right_norms)])
            }
            _ => None,
        }
    }

    /// Distance of row `i` on the left to row `j` on the right; 1 to a row of zeros under the cosine metric.
    pub fn get(&self, i: usize, j: usize) -> f32 {
        match self.metric {
            Metric::Euclidean => self.sum(i, j, Pair::Squared).sqrt() as f32,
            Metric::InnerProduct => -self.sum(i, j, Pair::Product) as f32,
            Metric::Cosine => {
                let (a, b) = (self.left_norms[i], self.right_norms[j]);
                if a == 0.0 || b == 0.0 {
                    return 1.0;
                }
                (self.sum(i, j, Pair::Scaled(1.0 / a, 1.0 / b)) / 2.0) as f32
            }
        }
    }

    /// Prefetches row `j` on the right.
    #[inline(always)]
    pub fn prefetch(&self, j: usize) {
        /// The first four cache lines; the processor's own prefetcher reads the others ahead.
        fn first_lines<T>(values: &[T], d: usize, j: usize) {
            prefetch_lines(&values[j * d..][..d.min(256 / size_of::<T>())]);
        }
        if let Features::Dense(dense) = self.right {
            match dense.values() {
                DenseValues::U8(values) => first_lines(values.as_slice(), dense.n_cols(), j),
                DenseValues::F32(values) => first_lines(values.as_slice(), dense.n_cols(), j),
                DenseValues::F64(values) => first_lines(values.as_slice(), dense.n_cols(), j),
            }
        }
    }

    fn sum(&self, i: usize, j: usize, pair: Pair) -> f64 {
        match (self.left, self.right) {
            (Features::Dense(left), Features::Dense(right)) => dense_sum(left, right, i, j, pair),
            (Features::Sparse(left), Features::Sparse(right)) => sparse_sum(left, right, i, j, pair),
            // The callers compare features of one kind.
            _ => f64::NAN,
        }
    }
}

/// Euclidean norm of a row.
pub(crate) fn norm(features: &Features<'_>, row: usize) -> f64 {
    match features {
        Features::Dense(dense) => row_norm(dense, row),
        Features::Sparse(sparse) => sparse.row(row).1.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt(),
    }
}

fn dense_sum(left: &Dense<'_>, right: &Dense<'_>, i: usize, j: usize, pair: Pair) -> f64 {
    use DenseValues::{F32, F64, U8};
    let d = left.n_cols();
    let (x, y) = (i * d..(i + 1) * d, j * d..(j + 1) * d);
    match (left.values(), right.values()) {
        (U8(u), U8(v)) if pair == Pair::Squared => squared_bytes(&u.as_slice()[x], &v.as_slice()[y]),
        (U8(u), U8(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (U8(u), F32(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (U8(u), F64(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F32(u), U8(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F32(u), F32(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F32(u), F64(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F64(u), U8(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F64(u), F32(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
        (F64(u), F64(v)) => pair_sum(&u.as_slice()[x], &v.as_slice()[y], pair),
    }
}

/// One pass over the columns of both rows, without a branch on which row has the next one.
fn sparse_sum(left: &Csr<f32>, right: &Csr<f32>, i: usize, j: usize, pair: Pair) -> f64 {
    let ((xi, xv), (yi, yv)) = (left.row(i), right.row(j));
    let (mut p, mut q, mut sum) = (0, 0, 0.0);
    while p < xi.len() && q < yi.len() {
        let (cx, cy) = (xi[p], yi[q]);
        let (has_x, has_y) = (cx <= cy, cy <= cx);
        let x = if has_x { f64::from(xv[p]) } else { 0.0 };
        let y = if has_y { f64::from(yv[q]) } else { 0.0 };
        sum += pair.term(x, y);
        p += usize::from(has_x);
        q += usize::from(has_y);
    }
    sum += xv[p..].iter().map(|&x| pair.term(x.into(), 0.0)).sum::<f64>();
    sum + yv[q..].iter().map(|&y| pair.term(0.0, y.into())).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_kind_of_rows_gives_the_same_distance() {
        let bytes: Vec<u8> = (0..60).map(|i| ((i * 37) % 251) as u8).collect();
        let floats: Vec<f32> = bytes.iter().map(|&b| b.into()).collect();
        let doubles: Vec<f64> = bytes.iter().map(|&b| b.into()).collect();
        let entries: Vec<(u32, u32, f32)> = (0..60).map(|i| (i / 20, i % 20, floats[i as usize])).collect();
        let kinds = [
            Features::from_u8(3, 20, bytes).unwrap(),
            Features::from_f32(3, 20, floats.clone()).unwrap(),
            Features::from_f64(3, 20, doubles.clone()).unwrap(),
            Features::Sparse(Arc::new(Csr::from_entries(3, 20, &entries).unwrap())),
        ];
        let squared: f64 = (0..20).map(|c| (doubles[20 + c] - doubles[40 + c]).powi(2)).sum();
        let dot: f64 = (0..20).map(|c| doubles[20 + c] * doubles[40 + c]).sum();
        let norm = |row: usize| (0..20).map(|c| doubles[20 * row + c].powi(2)).sum::<f64>().sqrt();
        let cosine = 1.0 - dot / (norm(1) * norm(2));
        for features in &kinds {
            let euclidean = Distances::new(features, features, Metric::Euclidean).get(1, 2);
            assert!((f64::from(euclidean) - squared.sqrt()).abs() < 1e-4);
            assert!((f64::from(Distances::new(features, features, Metric::Cosine).get(1, 2)) - cosine).abs() < 1e-6);
            assert_eq!(Distances::new(features, features, Metric::InnerProduct).get(1, 2), -dot as f32);
        }
    }
}
