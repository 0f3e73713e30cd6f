//! Exact neighbors of dense rows: products of blocks of rows give bounds of distances, see [`crate::knn::exact::certified`].
//!
//! Cost: n²·d/2 multiplications at matrix-product speed for rows among themselves, n·m·d for queries; one f32 copy of the
//! features, and lists of all rows.

mod bounds;
mod by_row;
pub(crate) mod certified;
mod duplicates;
pub(crate) mod frequent;
pub(crate) mod pairs_within;
pub(crate) mod pass;
pub(crate) mod products;
pub(crate) mod signed;
pub(crate) mod sparse_rows;
pub(crate) mod thresholds;
pub(crate) mod tree;

use lapwing_core::{Dense, Features, Result, Run};

pub(crate) use duplicates::DuplicateGroups;

use crate::knn::distance::Distances;
use crate::knn::exact::certified::{CertifiedSearch, Reranker};
use crate::knn::exact::products::{Side, Target};
use crate::knn::rows::{Frame, SearchRows};
use crate::knn::{KnnParams, Metric, Neighbors};

/// The k nearest rows of `train` for every row of `new`; `same` says they are one matrix and skips the row itself.
pub(crate) fn search(
    new: (&Features<'_>, &Dense<'_>),
    train: (&Features<'_>, &Dense<'_>),
    same: bool,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let frame = Frame::new(train.1, params.metric(), run);
    let right = side(train.1, &frame, run);
    let left = if same { None } else { Some(side(new.1, &frame, run)) };
    let search = CertifiedSearch {
        left: left.as_ref().unwrap_or(&right),
        target: Target::new(&right),
        reranker: Reranker {
            distances: Distances::new(new.0, train.0, params.metric()),
            frame: &frame,
            k: params.n_neighbors,
        },
        same,
        duplicates: if same { CertifiedSearch::duplicates(train.0, params, run) } else { None },
        run,
    };
    search.neighbors()
}

/// Prepares rows to be compared with each other; returns their frame too.
///
/// # Errors
/// [`lapwing_core::Error::TooLarge`] for sparse rows of too many columns.
pub(crate) fn ready(features: &Features<'_>, metric: Metric, run: &Run) -> Result<(Frame, Side)> {
    match features {
        Features::Dense(dense) => {
            let frame = Frame::new(dense, metric, run);
            let rows = side(dense, &frame, run);
            Ok((frame, rows))
        }
        Features::Sparse(sparse) => sparse_rows::ready(sparse, true, metric, run).map(|(frame, _, rows)| (frame, rows)),
    }
}

fn side(dense: &Dense<'_>, frame: &Frame, run: &Run) -> Side {
    Side { rows: run.install(|| SearchRows::prepare(dense, frame, run).lowered()), sparse: None }
}
