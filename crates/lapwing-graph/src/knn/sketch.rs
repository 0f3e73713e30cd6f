//! A short stand-in for long rows: projections on the leading principal axes of a sample.
//!
//! Distances between sketches are at most those between the rows and, on data with fast-decaying spectra such as
//! images, nearly order them alike. Candidates found with sketches are ranked again on the full rows.

use lapwing_data::{Dense, Matrix, Result, Run, Stream};
use lapwing_solve::dense::principal_axes;
use rand::seq::index;
use rayon::prelude::*;

use super::rows::{Frame, Rows, products};

/// Beyond this many columns rows are sketched.
pub(crate) const SKETCH_BEYOND: usize = 96;
/// Columns of a sketch: a multiple of the widest vector registers.
pub(crate) const SKETCH_COLUMNS: usize = 64;

/// Rows from which the axes are learned: enough for 64 axes, some ten megabytes in f64.
pub(crate) fn sample_rows(n: usize, d: usize) -> usize {
    ((1 << 20) / d).clamp(256, 2000).min(n)
}

/// Rows projected by one matrix product.
const BLOCK: usize = 512;

/// Candidates kept for each row when the search runs on sketches, to be ranked on the full rows.
pub(crate) fn sketched_width(k: usize, n: usize) -> usize {
    (5 * k / 2 + 8).min(n - 1)
}

/// Sketches of all rows (n, 64).
pub(super) fn sketch(dense: &Dense<'_>, frame: &Frame, run: &Run) -> Result<Rows> {
    let (n, d) = (dense.n_rows(), dense.n_cols());
    let mut rng = run.rng(Stream::Projection, 0);
    let mut sample = index::sample(&mut rng, n, sample_rows(n, d)).into_vec();
    sample.sort_unstable();
    let mut x = Matrix::filled(sample.len(), d, 0.0);
    let mut row_values = vec![0f32; d];
    for (at, &row) in sample.iter().enumerate() {
        frame.copy_row(dense, row, &mut row_values);
        x.row_mut(at).iter_mut().zip(&row_values).for_each(|(x, &v)| *x = v.into());
    }
    let axes = principal_axes(&x, SKETCH_COLUMNS.min(d), &mut rng)?;
    let axes: Vec<f32> = axes.values().iter().map(|&v| v as f32).collect();
    let mut values = vec![0f32; n * SKETCH_COLUMNS];
    run.install(|| {
        values.par_chunks_mut(BLOCK * SKETCH_COLUMNS).enumerate().try_for_each(|(block, out)| {
            run.check()?;
            let rows = out.len() / SKETCH_COLUMNS;
            let mut full = vec![0f32; rows * d];
            for (at, row) in full.chunks_exact_mut(d).enumerate() {
                frame.copy_row(dense, block * BLOCK + at, row);
            }
            products(&full, &axes, d, out);
            Ok(())
        })
    })?;
    Ok(Rows::new(SKETCH_COLUMNS, values, frame, run))
}
