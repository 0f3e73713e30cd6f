//! The nearest landmark of each row of a sample, and its distance.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Result, Run};

use super::RowSample;
use crate::low_rank::held::{HeldRows, distance};
use crate::low_rank::kernel::{CHUNK_ROWS, KernelSpace, RowKernel, STRIP, nearest};

/// Share of the squares of its parts below which a squared distance is mostly rounding.
const LOST: f64 = 1e-10;

impl RowSample {
    /// The nearest landmark of each row, the first of equal ones; `landmarks` (k, d) less the center.
    pub(super) fn nearest(&self, landmarks: &[f32], run: &Run) -> Result<Vec<u32>> {
        // With this width the exponent is −D.
        let width = (std::f64::consts::LOG2_E / 2.0).sqrt();
        let kernel = RowKernel::new(&self.held.features()?, self.held.center(), landmarks, width);
        let mut out = vec![0u32; self.n_rows()];
        run.install(|| {
            out.par_chunks_mut(STRIP).enumerate().with_min_len(CHUNK_ROWS / STRIP).try_for_each_init(
                || (KernelSpace::default(), vec![0.0; kernel.n_landmarks() * STRIP]),
                |(space, strip), (at, out)| {
                    run.check()?;
                    kernel.exponents(self.held.strip(at), space, strip, run)?;
                    let (mut values, mut numbers) = ([0.0; STRIP], [0.0; STRIP]);
                    nearest(strip, 1, &mut values, &mut numbers);
                    out.iter_mut().zip(numbers).for_each(|(out, number)| *out = number as u32);
                    Ok(())
                },
            )
        })?;
        Ok(out)
    }

    /// The distance of each row to its nearest landmark, 0 for equal ones.
    pub(super) fn distances(&self, landmarks: &[f32], nearest: &[u32], run: &Run) -> Result<Vec<f64>> {
        let d = self.n_features();
        let landmark = |row: usize| &landmarks[nearest[row] as usize * d..][..d];
        let mut out = vec![0.0f64; self.n_rows()];
        run.install(|| {
            let strips = |out: &mut [f64], find: &(dyn Fn(&mut [f32], usize) -> f64 + Sync)| {
                out.par_chunks_mut(STRIP).enumerate().try_for_each_init(
                    || vec![0.0f32; d],
                    |space, (at, out)| {
                        run.check()?;
                        out.iter_mut().enumerate().for_each(|(row, out)| *out = find(space, at * STRIP + row));
                        Ok(())
                    },
                )
            };
            match &self.held {
                HeldRows::Dense { values, .. } => {
                    strips(&mut out, &|_, row| distance(&values[row * d..][..d], landmark(row)))
                }
                HeldRows::Sparse { matrix, center } => {
                    let zeros = zero_row(landmarks, center, d);
                    strips(&mut out, &|space, row| {
                        let zero = zeros[nearest[row] as usize];
                        sparse_distance(matrix, row, center, landmark(row), zero).unwrap_or_else(|| {
                            self.held.write_row(row, space);
                            distance(space, landmark(row))
                        })
                    })
                }
            }
        })?;
        Ok(out)
    }
}

/// |c + l|² of each landmark: its squared distance to a row of zeros.
fn zero_row(landmarks: &[f32], center: &[f64], d: usize) -> Vec<f64> {
    let of = |l: &[f32]| l.iter().zip(center).map(|(l, c)| (f64::from(*l) + c).powi(2)).sum();
    landmarks.par_chunks_exact(d).map(of).collect()
}

/// Distance of a sparse row to a landmark, from that of a row of zeros and what the stored values change; `None` if the digits
/// of the difference are lost.
fn sparse_distance(matrix: &Csr<f32>, row: usize, center: &[f64], landmark: &[f32], zero: f64) -> Option<f64> {
    let (columns, values) = matrix.row(row);
    let (mut squared, mut size) = (zero, zero);
    for (&column, x) in columns.iter().zip(values) {
        let (x, at) = (f64::from(*x), column as usize);
        let l = f64::from(landmark[at]) + center[at];
        squared += x * (x - 2.0 * l);
        size += x * x;
    }
    (squared > LOST * size).then(|| squared.sqrt())
}
