//! Files of labels, read for the number of rows in the file and for other numbers.

use std::path::Path;

use lapwing_core::{Error, SparseLabels};
use lapwing_table::read::{read_labels, read_sparse_labels};

use super::samples::check_labels;
use crate::bench::{Bench, Checked, Verdict, accepted, answer, holds};

/// Numbers of rows for which labels are read. Files of pairs (row, label) fit all of them.
const ROWS: [usize; 2] = [8, 1000];

/// Labels as text or as an array.
pub fn labels(_: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let unlabeled = bytes.windows(3).any(|part| part == b"unl").then_some("unl");
    let mut is_accepted = false;
    for n_rows in ROWS.into_iter().chain(rows_of(path)) {
        is_accepted |= read(path, n_rows, unlabeled)?;
    }
    accepted(is_accepted)
}

fn read(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Checked<bool> {
    let Some(sparse) = answer(read_sparse_labels(path, n_rows, unlabeled))? else { return Ok(false) };
    holds(sparse.n_samples == n_rows, || format!("labels of another number of rows: {}", sparse.n_samples))?;
    holds(sparse.rows.is_sorted_by(|a, b| a < b), || "labeled rows out of order".into())?;
    holds(sparse.rows.last().is_none_or(|&row| (row as usize) < n_rows), || "a labeled row out of range".into())?;
    let Some(labels) = answer(read_labels(path, n_rows, unlabeled))? else {
        return Err("labels are read as sparse labels and refused as others".into());
    };
    check_labels(&labels)?;
    holds(SparseLabels::from(&labels) == sparse, || "sparse labels differ from other labels".into())?;
    Ok(true)
}

/// The number of rows in a file, which the error for another number names.
pub(crate) fn rows_of(path: &Path) -> Option<usize> {
    match read_sparse_labels(path, usize::from(u16::MAX), None) {
        Err(Error::Shape { got, .. }) => got.split(' ').next()?.parse().ok().filter(|&rows: &usize| rows <= 1 << 20),
        _ => None,
    }
}
