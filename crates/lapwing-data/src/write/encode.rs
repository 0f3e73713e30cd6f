//! Labeled rows as bytes, several stretches of them at a time.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::table::LabeledRows;

/// Cells encoded as one unit of work.
const CHUNK_CELLS: usize = 1 << 15;

/// A format whose rows can be encoded one without the other.
pub(super) trait Encode: Sync {
    /// Appends the rows `range` of `rows`, of which the first is row `first_row` of the table.
    fn encode(&self, first_row: usize, rows: &LabeledRows<'_>, range: Range<usize>, out: &mut Vec<u8>);

    /// Cells of a row.
    fn n_columns(&self) -> usize;
}

/// Hands the bytes of all of `rows` over in order, encoded by the threads of the pool this is called in, if any.
pub(super) fn encode_rows(
    encoder: &impl Encode,
    first_row: usize,
    rows: &LabeledRows<'_>,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Outside of a pool, rayon would start one of its own.
    let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
    let (n_rows, chunk_rows) = (rows.labels.len(), (CHUNK_CELLS / encoder.n_columns()).max(1));
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
