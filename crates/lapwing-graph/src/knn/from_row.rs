//! Exact distances of one row to many others. For sparse rows they come from a scattered inner product, certified to equal the sum
//! over both rows.
//!
//! ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy in f64 and the sum of [`Distances::get`] are within E = 2⁻⁵⁰·(terms + 16)·(‖x‖² + ‖y‖²) of
//! each other (the error of each is a few 2⁻⁵³ for a term, Higham 2002, §3.1). If both ends of ±E round to one f32, that is the
//! distance, and only the entries of y were read. For a few of 10⁵ pairs they do not, and [`Distances::get`] reads both rows. Cost:
//! the entries of y; 8 bytes a column. Dense rows would gain nothing and use [`Distances::get`].

use lapwing_core::Csr;

use crate::knn::Metric;
use crate::knn::distance::Distances;

/// Most columns over which a row is scattered; with more, [`Distances::get`] is used.
const MOST_COLUMNS: usize = 1 << 22;

/// Exact distances from one row at a time.
pub(crate) struct FromRow<'a> {
    distances: &'a Distances<'a>,
    row: usize,
    scattered: Option<Scattered<'a>>,
}

/// A sparse row spread over all columns.
struct Scattered<'a> {
    /// The rows with their Euclidean norms.
    left: (&'a Csr<f32>, &'a [f64]),
    right: (&'a Csr<f32>, &'a [f64]),
    metric: Metric,
    values: Vec<f64>,
}

impl<'a> FromRow<'a> {
    /// Most bytes for sparse rows of `d` columns.
    pub fn bytes(d: usize) -> usize {
        if d <= MOST_COLUMNS { size_of::<f64>() * d } else { 0 }
    }

    /// Distances from a row that is yet to be [`set`](Self::set).
    pub fn new(distances: &'a Distances<'a>) -> Self {
        let metric = distances.metric;
        let rows = distances.sparse_rows().filter(|[_, right]| right.0.n_cols() <= MOST_COLUMNS);
        let scattered =
            rows.map(|[left, right]| Scattered { left, right, metric, values: vec![0.0; right.0.n_cols()] });
        Self { distances, row: 0, scattered }
    }

    /// Makes `row` the row from which distances are taken.
    pub fn set(&mut self, row: usize) {
        if let Some(Scattered { left: (rows, _), values, .. }) = &mut self.scattered {
            rows.row(self.row).0.iter().for_each(|&column| values[column as usize] = 0.0);
            let (columns, entries) = rows.row(row);
            columns.iter().zip(entries).for_each(|(&column, &value)| values[column as usize] = value.into());
        }
        self.row = row;
    }

    /// [`Distances::get`] of the row and row `other`.
    #[inline]
    pub fn get(&self, other: usize) -> f32 {
        let certified = self.scattered.as_ref().and_then(|scattered| scattered.distance(self.row, other));
        certified.unwrap_or_else(|| self.distances.get(self.row, other))
    }
}

impl Scattered<'_> {
    /// The distance; `None` if rounding might change it.
    #[inline]
    fn distance(&self, row: usize, other: usize) -> Option<f32> {
        let (x, y) = (self.left.1[row], self.right.1[other]);
        let product = self.product(other);
        let terms = (self.left.0.row(row).0.len() + self.right.0.row(other).0.len() + 16) as f64;
        let error = 4.0 * f64::EPSILON * terms;
        let (low, high) = match self.metric {
            Metric::Cosine if x == 0.0 || y == 0.0 => return Some(1.0),
            Metric::Cosine => (1.0 - product / (x * y) - error, 1.0 - product / (x * y) + error),
            Metric::InnerProduct => (-product - error * x * y, -product + error * x * y),
            Metric::Euclidean => {
                let (squared, error) = (x * x + y * y - 2.0 * product, error * (x * x + y * y));
                // The root of a negative number is NaN, which equals nothing.
                ((squared - error).sqrt(), (squared + error).sqrt())
            }
        };
        (low as f32 == high as f32).then_some(low as f32)
    }

    /// xᵀy, in four interleaved sums.
    #[inline]
    fn product(&self, other: usize) -> f64 {
        const LANES: usize = 4;
        let (columns, entries) = self.right.0.row(other);
        let term = |(&column, &value): (&u32, &f32)| self.values[column as usize] * f64::from(value);
        let (c, e) = (columns.chunks_exact(LANES), entries.chunks_exact(LANES));
        let rest: f64 = c.remainder().iter().zip(e.remainder()).map(term).sum();
        let mut sums = [0f64; LANES];
        for (c, e) in c.zip(e) {
            for lane in 0..LANES {
                sums[lane] += term((&c[lane], &e[lane]));
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lapwing_core::{Features, Run, Stream};
    use rand::RngExt;

    use super::*;

    #[test]
    fn certified_distances_are_those_of_a_walk() {
        let run = Run::new(Some(1), 0).unwrap();
        let mut rng = run.rng(Stream::Synthetic, 3);
        let (n, d) = (120u32, 40u32);
        let mut entries = Vec::new();
        for row in (0..n).filter(|row| row % 17 != 3) {
            // Equal rows, and rows that differ in one digit.
            let source = if row % 5 == 0 { 1 } else { row };
            let mut values = run.rng(Stream::Synthetic, u64::from(source));
            for column in (0..d).filter(|column| (column * 7 + source) % 3 == 0) {
                let nudge = if row % 10 == 0 && column == 2 { 1e-6 } else { 0.0 };
                entries.push((row, column, values.random_range(-1.0f32..2.0) + nudge));
            }
        }
        entries.push((3, rng.random_range(0..d), 1e-30));
        let rows = Features::Sparse(Arc::new(Csr::from_entries(n as usize, d as usize, &entries).unwrap()));
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
            let distances = Distances::new(&rows, &rows, metric);
            let mut from = FromRow::new(&distances);
            assert!(from.scattered.is_some());
            for row in (0..n as usize).rev() {
                from.set(row);
                for other in 0..n as usize {
                    assert_eq!(from.get(other), distances.get(row, other), "{metric:?}");
                }
            }
        }
    }
}
