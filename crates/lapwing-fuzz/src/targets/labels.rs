//! Labels in files of their own, for as many rows as there are in the file, and for other numbers.

use std::path::Path;

use lapwing_data::read::{read_labels, read_sparse_labels};
use lapwing_data::{Error, SparseLabels};

use super::samples::check_labels;
use super::{Bench, accepted, answer, holds};
use crate::judge::Verdict;

/// Rows for which labels are read; pairs of a row and its label fit any.
const ROWS: [usize; 2] = [8, 1000];

/// Lines of text.
pub fn text(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_file(bench, "l.csv", bytes)
}

/// Arrays.
pub fn npy(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_file(bench, "l.npy", bytes)
}

fn of_file(bench: &Bench, name: &str, bytes: &[u8]) -> Verdict {
    let path = bench.file(name, bytes);
    let unlabeled = marker(bytes);
    let mut is_accepted = false;
    for n_rows in ROWS {
        is_accepted |= read(&path, n_rows, unlabeled)?;
    }
    if let Some(n_rows) = rows_of(&path) {
        is_accepted |= read(&path, n_rows, unlabeled)?;
    }
    accepted(is_accepted)
}

/// What marks rows without a label in a file that has the word.
fn marker(bytes: &[u8]) -> Option<&'static str> {
    bytes.windows(3).any(|part| part == b"unl").then_some("unl")
}

fn read(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<bool, String> {
    let Some(sparse) = answer(read_sparse_labels(path, n_rows, unlabeled))? else { return Ok(false) };
    holds(sparse.n_samples == n_rows, || format!("labels of other rows than asked for: {}", sparse.n_samples))?;
    holds(sparse.rows.is_sorted_by(|a, b| a < b), || "labeled rows out of order".into())?;
    holds(sparse.rows.last().is_none_or(|&row| (row as usize) < n_rows), || "a labeled row out of range".into())?;
    let Some(labels) = answer(read_labels(path, n_rows, unlabeled))? else {
        return Err("labels that were read sparse are refused otherwise".into());
    };
    check_labels(&labels)?;
    holds(SparseLabels::from(&labels) == sparse, || "sparse labels differ from the others".into())?;
    Ok(true)
}

/// The number of rows that a refusal names.
pub(crate) fn rows_of(path: &Path) -> Option<usize> {
    match read_sparse_labels(path, usize::from(u16::MAX), None) {
        Err(Error::Shape { got, .. }) => got.split(' ').next()?.parse().ok().filter(|&rows: &usize| rows <= 1 << 20),
        _ => None,
    }
}
