//! Exact neighbours of dense rows by blocked matrix products: ‖x − y‖² = ‖x‖² + ‖y‖² − 2·xᵀy for a block of pairs at once.
//!
//! Cost: m·n·d multiplications at matrix-product speed; one f32 copy of the features, and lists of one block of rows
//! per thread. Parallel over blocks of rows, each of which meets the columns in order.

use lapwing_data::{Dense, Features, Result, Run};
use rayon::prelude::*;

use super::distance::Distances;
use super::lists::EMPTY;
use super::rows::{Frame, Rows, products};
use super::scan::{Ids, fold};
use super::{KnnParams, Neighbors, list_width, refine};

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
    let k = params.n_neighbors;
    let frame = Frame::of(train.1, params.metric, run);
    let prepared = Rows::prepare(train.1, &frame, run)?;
    let queries = if same { None } else { Some(Rows::prepare(new.1, &frame, run)?) };
    let queries = queries.as_ref().unwrap_or(&prepared);
    let distances = Distances::new(new.0, train.0, params.metric);
    let width = list_width(k, prepared.n);
    let done = std::sync::atomic::AtomicU64::new(0);
    let blocks: Result<Vec<(Vec<u32>, Vec<f32>)>> = run.install(|| {
        (0..queries.n.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let first = block * BLOCK;
                let rows = first..(first + BLOCK).min(queries.n);
                let lists = block_lists(queries, rows, &prepared, same, width, run)?;
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                run.progress().update(done * BLOCK as u64, "rows");
                Ok(refine(&lists, width, k, first, &distances))
            })
            .collect()
    });
    Ok(Neighbors::from_blocks(k, blocks?))
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
