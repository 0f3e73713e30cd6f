//! Labeled rows as bytes, encoded in parallel.

use std::io;

use rayon::prelude::*;

use super::npy::Records;
use super::table::LabeledRows;

/// Cells of one unit of parallel work.
const CHUNK_CELLS: usize = 1 << 15;

/// Hands the bytes of all rows to the caller in order. The threads of the current pool encode them, if there is one.
pub(super) fn encode_rows(
    encoder: &Records,
    first_row: usize,
    rows: &LabeledRows<'_>,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Outside a pool, rayon would start its global pool.
    let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
    let (n_rows, chunk_rows) = (rows.labels.len(), (CHUNK_CELLS / encoder.n_columns).max(1));
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new(); threads];
    for start in (0..n_rows).step_by(chunk_rows * threads) {
        let fill = |(at, piece): (usize, &mut Vec<u8>)| {
            let first = (start + at * chunk_rows).min(n_rows);
            piece.clear();
            encoder.encode(first_row, rows, first..(first + chunk_rows).min(n_rows), piece);
        };
        match threads {
            1 => pieces.iter_mut().enumerate().for_each(fill),
            _ => pieces.par_iter_mut().enumerate().for_each(fill),
        }
        pieces.iter().try_for_each(|piece| take(piece))?;
    }
    Ok(())
}
