//! Centers of k-means: seeds by k-means++ (Arthur & Vassilvitskii 2007), then rounds of Lloyd's algorithm.
//!
//! Distances in single precision, sums in double, added block by block; parallel over rows. Cost: (rounds + 1)·O(s·k·d) time
//! for a sample of s rows.

use lapwing_data::{Result, Run, Stream};
use rand::RngExt;
use rayon::prelude::*;

use super::RowSample;
use crate::low_rank::kernel::CHUNK_ROWS;

/// Rounds of Lloyd's algorithm.
const LLOYD_ROUNDS: usize = 5;

impl RowSample {
    /// Centers of k-means (k, d).
    pub(super) fn k_means(&self, k: usize, run: &Run) -> Result<Vec<f32>> {
        let mut centers = self.select(&self.seeds(k, run)?);
        run.progress().update(0, "k-means");
        for round in 0..LLOYD_ROUNDS {
            let (nearest, _) = self.assign(&centers, run)?;
            self.move_to_means(&nearest, &mut centers, run);
            run.progress().update(round as u64 + 1, "k-means");
        }
        Ok(centers)
    }

    /// k-means++: each seed drawn with chances in proportion to the squared distance to those before it.
    fn seeds(&self, k: usize, run: &Run) -> Result<Vec<u32>> {
        let d = self.n_features();
        let mut rng = run.rng(Stream::Landmarks, 2);
        let mut seeds = vec![rng.random_range(0..self.n_rows() as u32)];
        let mut squared = vec![f32::INFINITY; self.n_rows()];
        while seeds.len() < k {
            run.check()?;
            let last = seeds[seeds.len() - 1] as usize;
            let seed = &self.values[last * d..(last + 1) * d];
            let block_sums: Vec<f64> = run.install(|| {
                let blocks = squared.par_chunks_mut(CHUNK_ROWS).zip(self.values.par_chunks(CHUNK_ROWS * d));
                let lower = |(squared, rows): (&mut [f32], &[f32])| lower_to(seed, rows, squared);
                blocks.map(lower).collect()
            });
            let total: f64 = block_sums.iter().sum();
            let chosen = drawn(&squared, &block_sums, rng.random::<f64>() * total);
            // If all rows are equal to seeds, the first row that is not a seed is taken.
            let unused = || (0..self.n_rows() as u32).find(|row| !seeds.contains(row));
            match chosen.filter(|_| total > 0.0).or_else(unused) {
                Some(seed) => seeds.push(seed),
                None => break,
            }
        }
        Ok(seeds)
    }

    /// Puts each center at the mean of its rows.
    fn move_to_means(&self, nearest: &[u32], centers: &mut [f32], run: &Run) {
        let d = self.n_features();
        let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); centers.len() / d];
        nearest.iter().enumerate().for_each(|(row, &center)| rows_of[center as usize].push(row as u32));
        run.install(|| {
            centers.par_chunks_mut(d).zip(&rows_of).filter(|(_, rows)| !rows.is_empty()).for_each(|(center, rows)| {
                let mut sums = vec![0.0f64; d];
                for &row in rows {
                    let values = &self.values[row as usize * d..][..d];
                    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += f64::from(*x));
                }
                center.iter_mut().zip(sums).for_each(|(center, sum)| *center = (sum / rows.len() as f64) as f32);
            });
        });
    }
}

/// The row at which the running sum of the weights exceeds `left`, which is below the sum of `block_sums`; `None` if all weights of
/// its block are 0.
fn drawn(weights: &[f32], block_sums: &[f64], mut left: f64) -> Option<u32> {
    let block = block_sums.iter().position(|sum| {
        let is_here = left < *sum;
        if !is_here {
            left -= sum;
        }
        is_here
    });
    let start = block.unwrap_or(0) * CHUNK_ROWS;
    let weights = weights[start..].iter().take(CHUNK_ROWS);
    let found = weights.clone().enumerate().filter(|(_, w)| **w > 0.0).find(|(_, w)| {
        left -= f64::from(**w);
        left < 0.0
    });
    // By rounding, the running sum may stay below `left` up to the last weight.
    let last_positive = || weights.clone().rposition(|w| *w > 0.0);
    found.map(|(at, _)| at).or_else(last_positive).map(|at| (start + at) as u32)
}

/// Lowers each squared distance to that to `seed` if this is smaller; returns their sum.
fn lower_to(seed: &[f32], rows: &[f32], squared: &mut [f32]) -> f64 {
    for (row, squared) in rows.chunks_exact(seed.len()).zip(squared.iter_mut()) {
        // Four sums, so that additions do not wait for each other.
        let mut sums = [0.0f32; 16];
        for (row, seed) in row.chunks(16).zip(seed.chunks(16)) {
            for (sum, (a, b)) in sums.iter_mut().zip(row.iter().zip(seed)) {
                *sum += (a - b) * (a - b);
            }
        }
        *squared = squared.min(sums.iter().sum());
    }
    squared.iter().map(|x| f64::from(*x)).sum()
}
