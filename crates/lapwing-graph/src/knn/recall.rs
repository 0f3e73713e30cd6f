//! Recall, measured: exact neighbours of a seeded sample of rows against what a search found.

use lapwing_data::{Dense, Features, Result, Run, Stream};
use rand::seq::index;
use rayon::prelude::*;

use super::distance::Distances;
use super::rows::{Frame, Rows};
use super::{KnnParams, exact, list_width, refine};

/// Rows in the sample.
pub(crate) const SAMPLE: usize = 500;

/// Rows of the data met by one pass over the sample: a few megabytes of them.
pub(crate) fn block_rows(d: usize) -> usize {
    ((1 << 20) / d).clamp(256, 4096)
}

/// A sample of rows and the distance of each to its k-th true neighbour.
pub(super) struct Truth {
    pub rows: Vec<usize>,
    last: Vec<f32>,
}

impl Truth {
    /// Brute force over all rows for the sample.
    ///
    /// Cost: 500·n·d multiplications; blocks of rows are prepared and dropped, so no copy of the features is held.
    pub fn of(
        features: &Features<'_>,
        dense: &Dense<'_>,
        params: &KnnParams,
        frame: &Frame,
        run: &Run,
    ) -> Result<Self> {
        let (n, d, k) = (dense.n_rows(), dense.n_cols(), params.n_neighbors);
        let mut rng = run.rng(Stream::Recall, 0);
        let mut rows = index::sample(&mut rng, n, SAMPLE.min(n)).into_vec();
        rows.sort_unstable();
        let width = list_width(k, n) + 1;
        let block_rows = block_rows(d);
        let prepare = |ids: &mut dyn ExactSizeIterator<Item = usize>| -> Rows {
            let mut values = vec![0f32; ids.len() * d];
            for (row, out) in ids.zip(values.chunks_exact_mut(d)) {
                frame.copy_row(dense, row, out);
            }
            let half_norms = values.chunks_exact(d).map(|row| frame.half_norm(row)).collect();
            Rows { n: values.len() / d, d, values, half_norms }
        };
        let sample = prepare(&mut rows.iter().copied());
        let partial: Result<Vec<Vec<u64>>> = run.install(|| {
            (0..n.div_ceil(block_rows))
                .into_par_iter()
                .map(|block| {
                    let first = block * block_rows;
                    let part = prepare(&mut (first..(first + block_rows).min(n)));
                    // Row numbers within the block; moved to their place below. A sampled row meets itself too.
                    let mut lists = exact::block_lists(&sample, 0..sample.n, &part, false, width, run)?;
                    lists.iter_mut().filter(|key| **key != super::EMPTY).for_each(|key| *key += first as u64);
                    Ok(lists)
                })
                .collect()
        });
        let partial = partial?;
        let distances = Distances::new(features, features, params.metric);
        let last = run.install(|| {
            rows.par_iter()
                .enumerate()
                .map(|(at, &row)| {
                    let candidates = partial.iter().flat_map(|lists| &lists[at * width..(at + 1) * width]);
                    let mut keys: Vec<u64> = candidates
                        .copied()
                        .filter(|&key| key != super::EMPTY && super::id_of(key) as usize != row)
                        .collect();
                    keys.sort_unstable();
                    keys.truncate(width);
                    refine(&keys, keys.len(), k, row, &distances).1[k - 1]
                })
                .collect()
        });
        Ok(Self { rows, last })
    }

    /// Share of true neighbours among `found` distances (sample, k), and its standard error.
    ///
    /// A row at the distance of the k-th true neighbour counts, whichever of several such rows was found.
    pub fn recall(&self, found: &[f32], k: usize) -> (f64, f64) {
        let shares: Vec<f64> = found
            .chunks_exact(k)
            .zip(&self.last)
            .map(|(row, &last)| row.iter().filter(|&&d| d <= last).count() as f64 / k as f64)
            .collect();
        let m = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / m;
        let variance = shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (m - 1.0).max(1.0);
        (mean, (variance / m).sqrt())
    }
}
