//! Exact neighbours of dense rows: products of blocks of rows give bounds of distances, see [`super::certified`].
//!
//! Cost: n²·d/2 multiplications at matrix-product speed for rows among themselves, n·m·d for queries; one f32 copy of the
//! features, and lists of all rows.

use lapwing_data::{Dense, Features, Result, Run};

use super::certified::{Judge, Search};
use super::distance::Distances;
use super::lists::EMPTY;
use super::rows::{Frame, Rows, products};
use super::scan::{Ids, fold};
use super::tiles::{Side, Target};
use super::{KnnParams, Neighbors};

/// Rows and columns of one matrix product.
const BLOCK: usize = 512;

/// The k nearest rows of `train` for every row of `new`; `same` says they are one matrix and skips the row itself.
pub(super) fn search(
    new: (&Features<'_>, &Dense<'_>),
    train: (&Features<'_>, &Dense<'_>),
    same: bool,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let frame = Frame::of(train.1, params.metric, run);
    let side = |dense| Side { head: run.install(|| Rows::prepare(dense, &frame, run).lowered()), tail: None };
    let right = side(train.1);
    let left = if same { None } else { Some(side(new.1)) };
    let search = Search {
        left: left.as_ref().unwrap_or(&right),
        target: Target::new(&right),
        judge: Judge { distances: Distances::new(new.0, train.0, params.metric), frame: &frame, k: params.n_neighbors },
        same,
        crowds: if same { Search::crowds(train.0, params, run) } else { None },
        run,
    };
    search.neighbors()
}

/// Candidate lists of a block of queries against all prepared rows.
pub(super) fn block_lists(
    queries: &Rows,
    rows: std::ops::Range<usize>,
    prepared: &Rows,
    same: bool,
    width: usize,
    run: &Run,
) -> Result<Vec<u64>> {
    let d = prepared.d;
    let mut lists = vec![EMPTY; rows.len() * width];
    let mut out = vec![0f32; rows.len() * BLOCK];
    let left = &queries.values[rows.start * d..rows.end * d];
    for start in (0..prepared.n).step_by(BLOCK) {
        run.check()?;
        let end = (start + BLOCK).min(prepared.n);
        let columns = end - start;
        let out = &mut out[..rows.len() * columns];
        products(left, &prepared.values[start * d..end * d], d, out);
        for (at, row) in rows.clone().enumerate() {
            let own = if same { row as u32 } else { u32::MAX };
            fold(
                &mut lists[at * width..(at + 1) * width],
                own,
                queries.half_norms[row],
                &out[at * columns..(at + 1) * columns],
                &prepared.half_norms[start..end],
                Ids::From(start as u32),
            );
        }
    }
    Ok(lists)
}
