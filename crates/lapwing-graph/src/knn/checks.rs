//! Checks of rows before a search.

use super::zero_rows;
use crate::params::KnnParams;
use lapwing_core::{Error, Features, Result, Run, check_memory};

/// Refuses lists that would not fit in memory: keys during the search, then ids and distances.
pub(super) fn check_room(n: usize, k: usize) -> Result<()> {
    let bytes = (n as u64).saturating_mul(k as u64).saturating_mul(16);
    check_memory(
        &format!("the list of the {k} nearest neighbors of {n} rows"),
        bytes,
        "take fewer neighbors, or fewer rows",
    )
}

/// Checks rows for a search among themselves; returns the rows of zeros, if the metric treats these separately.
pub(crate) fn check_rows(features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Vec<u32>> {
    params.validate()?;
    features.check(run)?;
    let (n, k) = (features.n_rows(), params.n_neighbors);
    if k >= n {
        let expected = format!("below the number of rows, which is {n}: a row is not its own neighbor");
        return Err(Error::param("n_neighbors", k, expected));
    }
    if n > u32::MAX as usize {
        return Err(Error::shape("features", format!("at most {} rows", u32::MAX), n));
    }
    zero_rows::find(features, params.metric(), params.zero_rows, run)
}

/// Checks new rows against the fitted ones, which have been checked.
pub(super) fn check_query(train: &Features<'_>, new: &Features<'_>, params: &KnnParams, run: &Run) -> Result<()> {
    params.validate()?;
    new.check(run)?;
    if new.n_cols() != train.n_cols() {
        return Err(Error::shape(
            "features",
            format!("{} columns", train.n_cols()),
            format!("{} columns", new.n_cols()),
        ));
    }
    if params.n_neighbors > train.n_rows() {
        let expected = format!("at most the number of rows, which is {}", train.n_rows());
        return Err(Error::param("n_neighbors", params.n_neighbors, expected));
    }
    Ok(())
}
