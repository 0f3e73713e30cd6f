//! Measures the recall of a search, against the exact neighbors of a seeded sample of rows.
//!
//! Recall is the share of distances found that are at most that of the k-th true neighbor; its standard error is that of the mean
//! over the rows of the sample. Cost: 500·n·d multiplications.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run, Stream};
use lapwing_simd::{Portable, Simd};
use rand::seq::index;

use crate::knn::KnnParams;
use crate::knn::distance::Distances;
use crate::knn::kernels::element::Element;
use crate::knn::kernels::lists::{EMPTY, STEP, distance_of, id_of};
use crate::knn::kernels::points::{PANEL, Panels, Points, Source};
use crate::knn::kernels::tile::compare;

/// Rows in the sample.
pub(crate) const SAMPLE: usize = 500;
/// Rows that a thread compares at a time.
const BLOCK: usize = 64 * PANEL;

/// A sample of rows and the distance of each to its k-th true neighbor.
pub(crate) struct Truth {
    pub rows: Vec<usize>,
    last: Vec<f32>,
    /// Median of the search's own distances to the k-th neighbor, not squared.
    pub typical: f64,
}

impl Truth {
    /// Brute force over all rows for the sample.
    ///
    /// Cost: 500·n·d multiplications; rows are prepared a panel at a time, so no copy of the features is held.
    pub fn new<S: Source>(source: &S, distances: &Distances<'_>, params: &KnnParams, run: &Run) -> Result<Self> {
        let (n, k) = (source.n_rows(), params.n_neighbors);
        let mut rng = run.rng(Stream::Recall, 0);
        let mut rows = index::sample(&mut rng, n, SAMPLE.min(n)).into_vec();
        rows.sort_unstable();
        let ids: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        let sample = Points::prepare(source, Some(&ids), run)?;
        let everyone: Vec<u32> = (0..rows.len() as u32).collect();
        // A few places for candidates that rounding misplaces, and one for the sampled row itself.
        let width = (k + 7).next_multiple_of(STEP);
        let empty = || vec![EMPTY; rows.len() * width];
        let blocks = run.counter(n.div_ceil(BLOCK), "");
        let lists = run.install(|| {
            (0..n.div_ceil(BLOCK))
                .into_par_iter()
                .try_fold(
                    || (empty(), Panels::default(), vec![bytemuck::Zeroable::zeroed(); source.width()]),
                    |(mut lists, mut panels, mut row), block| {
                        run.check()?;
                        let first = block * BLOCK;
                        for first in (first..(first + BLOCK).min(n)).step_by(PANEL) {
                            let end = (first + PANEL).min(n);
                            panels.clear(end - first, source.width());
                            for at in first..end {
                                source.copy(at, &mut row)?;
                                panels.put(at - first, &row, source.norms(&row));
                            }
                            let ids: Vec<u32> = (first as u32..end as u32).collect();
                            compare(&sample, &everyone, panels.block(&ids), &mut lists);
                        }
                        blocks.add(1);
                        Ok((lists, panels, row))
                    },
                )
                .map(|state| state.map(|state| state.0))
                .try_reduce(empty, |mut a, b| {
                    for (a, b) in a.chunks_exact_mut(width).zip(b.chunks_exact(width)) {
                        b.iter().for_each(|&key| Portable.insert_sorted(a, key));
                    }
                    Ok(a)
                })
        })?;
        let last = run.install(|| {
            lists
                .par_chunks_exact(width)
                .zip(&rows)
                .map(|(list, &row)| {
                    let mut exact: Vec<f32> = list
                        .iter()
                        .filter(|&&key| key != EMPTY && id_of(key) as usize != row)
                        .map(|&key| distances.get(row, id_of(key) as usize))
                        .collect();
                    exact.sort_unstable_by(f32::total_cmp);
                    exact.get(k - 1).copied().unwrap_or(f32::INFINITY)
                })
                .collect()
        });
        let mut typical: Vec<f32> = lists.chunks_exact(width).map(|list| distance_of(list[k])).collect();
        let (_, middle, _) = typical.select_nth_unstable_by(rows.len() / 2, f32::total_cmp);
        let typical = f64::from(*middle * S::Element::SQUARED).sqrt();
        Ok(Self { rows, last, typical })
    }

    /// Share of true neighbors among `found` distances (sample, k), and its standard error.
    ///
    /// A row at the distance of the k-th true neighbor counts, even where the true list has another row at that distance.
    pub fn recall(&self, found: &[f32], k: usize) -> (f64, f64) {
        let shares: Vec<f64> = found
            .chunks_exact(k)
            .zip(&self.last)
            .map(|(row, &last)| row.iter().filter(|&&d| d <= last).count() as f64 / k as f64)
            .collect();
        mean_and_error(&shares)
    }
}

/// Mean and its standard error.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let m = values.len() as f64;
    let mean = values.iter().sum::<f64>() / m;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (m - 1.0).max(1.0);
    (mean, (variance / m).sqrt())
}
