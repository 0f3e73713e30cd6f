//! Exact neighbors: products of blocks of rows give bounds of distances, see [`crate::knn::exact::certified`].
//!
//! Cost of dense rows: n²·d/2 multiplications at matrix-product speed for rows among themselves, n·m·d for queries; one f32 copy of the
//! features, and lists of all rows. Of sparse rows: see [`crate::knn::exact::sparse_rows`].

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

use lapwing_core::{Dense, Error, Features, Result, Run};

pub(crate) use duplicates::DuplicateGroups;

use crate::knn::distance::Distances;
use crate::knn::exact::certified::{CertifiedSearch, Reranker};
use crate::knn::exact::products::{Side, Target};
use crate::knn::rows::{Frame, SearchRows};
use crate::knn::{KnnParams, Metric, Neighbors};

/// The k nearest rows of `train` for every row of `new`; `same` says they are one matrix and skips the row itself.
///
/// # Errors
/// [`Error::Shape`] unless both are dense or both sparse; [`Error::TooLarge`] for sparse rows of too many columns.
pub(crate) fn search(
    new: &Features<'_>,
    train: &Features<'_>,
    same: bool,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let metric = params.metric();
    let (frame, right, left) = match (train, new) {
        (Features::Dense(train), Features::Dense(new)) => {
            let frame = Frame::new(train, metric, run);
            let right = side(train, &frame, run);
            let left = (!same).then(|| side(new, &frame, run));
            (frame, right, left)
        }
        (Features::Sparse(train), Features::Sparse(new)) => {
            let (frame, layout, right) = sparse_rows::ready(train, same, metric, run)?;
            let left = if same { None } else { Some(run.install(|| layout.side(new, &frame))?) };
            (frame, right, left)
        }
        (Features::Dense(_), _) => return Err(Error::shape("features", "dense rows, as in the fit", "sparse rows")),
        (Features::Sparse(_), _) => return Err(Error::shape("features", "sparse rows, as in the fit", "dense rows")),
    };
    let search = CertifiedSearch {
        left: left.as_ref().unwrap_or(&right),
        target: run.install(|| Target::new(&right)),
        reranker: Reranker { distances: Distances::new(new, train, metric), frame: &frame, k: params.n_neighbors },
        same,
        duplicates: if same { CertifiedSearch::duplicates(train, params, run) } else { None },
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
