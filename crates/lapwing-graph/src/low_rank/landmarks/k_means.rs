//! Centers of k-means: seeds by k-means++ (Arthur & Vassilvitskii 2007), then rounds of Lloyd's algorithm until no row changes
//! its center, at most five.
//!
//! Distances of dense rows in single precision, of sparse rows in double; sums in double, added block by block; parallel over
//! rows. Cost: (rounds + 1)·O(s·k·d) time for a sample of s rows, (rounds + 1)·O(e·k + k·d) for sparse ones of e stored values.

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Result, Run, Stream};
use rand::RngExt;

use super::RowSample;
use crate::low_rank::held::HeldRows;
use crate::low_rank::kernel::CHUNK_ROWS;

/// Most rounds of Lloyd's algorithm.
const LLOYD_ROUNDS: usize = 5;
/// Share of the time for the seeds.
const SEEDS: Range<f64> = 0.0..0.4;

impl RowSample {
    /// Centers of k-means (k, d).
    pub(super) fn k_means(&self, k: usize, run: &Run) -> Result<Vec<f32>> {
        let mut centers = self.select(&self.seeds(k, &run.part(SEEDS, ""))?);
        let mut before = Vec::new();
        let rounds = run.part(SEEDS.end..1.0, "");
        for round in 0..LLOYD_ROUNDS {
            rounds.share(round as f64 / LLOYD_ROUNDS as f64, &format!("round {} of k-means", round + 1));
            let nearest = self.nearest(&centers, run)?;
            if nearest == before {
                break;
            }
            self.move_to_means(&nearest, &mut centers, run);
            before = nearest;
        }
        Ok(centers)
    }

    /// k-means++: each seed drawn with chances in proportion to the squared distance to those before it.
    fn seeds(&self, k: usize, run: &Run) -> Result<Vec<u32>> {
        let mut rng = run.rng(Stream::Landmarks, 2);
        let mut seeds = vec![rng.random_range(0..self.n_rows() as u32)];
        let mut distances = SeedDistances::new(&self.held);
        let counter = run.counter(k, "seeds");
        while seeds.len() < k {
            run.check()?;
            let block_sums = run.install(|| distances.lower_to(seeds[seeds.len() - 1] as usize));
            let total: f64 = block_sums.iter().sum();
            let chosen = drawn(&distances.squared, &block_sums, rng.random::<f64>() * total);
            // If all rows are equal to seeds, the first row that is not a seed is taken.
            let unused = || (0..self.n_rows() as u32).find(|row| !seeds.contains(row));
            counter.add(1);
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
                let mut means = vec![0.0f64; d];
                for &row in rows {
                    self.add_row(row as usize, &mut means);
                }
                means.iter_mut().for_each(|sum| *sum /= rows.len() as f64);
                let offsets = self.held.center();
                means.iter_mut().zip(offsets).for_each(|(mean, offset)| *mean -= offset);
                center.iter_mut().zip(means).for_each(|(center, mean)| *center = mean as f32);
            });
        });
    }

    /// Adds a row, as it is held, to `sums` (d).
    fn add_row(&self, row: usize, sums: &mut [f64]) {
        match &self.held {
            HeldRows::Dense { n_cols, values } => {
                sums.iter_mut().zip(&values[row * n_cols..]).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            HeldRows::Sparse { matrix, .. } => {
                let (columns, values) = matrix.row(row);
                columns.iter().zip(values).for_each(|(&column, x)| sums[column as usize] += f64::from(*x));
            }
        }
    }
}

/// Squared distances of rows to the nearest seed so far.
struct SeedDistances<'h> {
    held: &'h HeldRows,
    squared: Vec<f32>,
    /// |x|² of sparse rows, not centered.
    norms: Vec<f64>,
    /// A seed with its zeros (d), for sparse rows; zeros between two seeds.
    seed: Vec<f32>,
}

impl<'h> SeedDistances<'h> {
    fn new(held: &'h HeldRows) -> Self {
        let (norms, seed) = match held {
            HeldRows::Dense { .. } => (Vec::new(), Vec::new()),
            HeldRows::Sparse { matrix, .. } => {
                let norms = (0..matrix.n_rows()).map(|row| product(matrix.row(row).1, |at| matrix.row(row).1[at]));
                (norms.collect(), vec![0.0; matrix.n_cols()])
            }
        };
        Self { held, squared: vec![f32::INFINITY; held.n_rows()], norms, seed }
    }

    /// Lowers each squared distance to that to row `seed` if this is smaller; returns their sums over blocks of rows.
    fn lower_to(&mut self, seed: usize) -> Vec<f64> {
        let blocks = self.squared.par_chunks_mut(CHUNK_ROWS);
        match self.held {
            HeldRows::Dense { n_cols, values } => {
                let seed = &values[seed * n_cols..][..*n_cols];
                let blocks = blocks.zip(values.par_chunks(CHUNK_ROWS * n_cols));
                blocks.map(|(squared, rows)| lower_dense(seed, rows, squared)).collect()
            }
            HeldRows::Sparse { matrix, .. } => {
                let (columns, values) = matrix.row(seed);
                columns.iter().zip(values).for_each(|(&column, x)| self.seed[column as usize] = *x);
                let (norms, row) = (&self.norms, &self.seed);
                let lower = |(block, squared): (usize, &mut [f32])| {
                    lower_sparse(matrix, block * CHUNK_ROWS, norms, (row, norms[seed]), squared)
                };
                let sums = blocks.enumerate().map(lower).collect();
                columns.iter().for_each(|&column| self.seed[column as usize] = 0.0);
                sums
            }
        }
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

/// Lowers the squared distances of a block of dense rows (rows, d) to `seed` (d); returns their sum.
fn lower_dense(seed: &[f32], rows: &[f32], squared: &mut [f32]) -> f64 {
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

/// The same for the sparse rows from `first` on, with norms |x|², and a seed with its zeros and norm. Products are in double
/// precision and in the same order as those of norms, so that the distance of equal rows is 0.
fn lower_sparse(
    matrix: &Csr<f32>,
    first: usize,
    norms: &[f64],
    (seed, seed_norm): (&[f32], f64),
    squared: &mut [f32],
) -> f64 {
    for (row, squared) in (first..).zip(squared.iter_mut()) {
        let (columns, values) = matrix.row(row);
        let distance = norms[row] + seed_norm - 2.0 * product(values, |at| seed[columns[at] as usize]);
        *squared = squared.min(distance.max(0.0) as f32);
    }
    squared.iter().map(|x| f64::from(*x)).sum()
}

/// Product of values with those of another row, by their places.
#[inline(always)]
fn product(values: &[f32], other: impl Fn(usize) -> f32) -> f64 {
    let mut sums = [0.0f64; 4];
    for (start, values) in values.chunks(4).enumerate() {
        for (at, (sum, x)) in sums.iter_mut().zip(values).enumerate() {
            *sum += f64::from(*x) * f64::from(other(4 * start + at));
        }
    }
    sums.iter().sum()
}
