//! Rows with names: labels that are found by them, and what to say where names cannot be used.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::read::{read_named_labels, read_names, read_sparse_labels};
use lapwing::data::{RowNames, Run, SparseLabels, Warning};

use crate::failure::Failure;
use crate::input::read_options;
use crate::options::{LabelOptions, TableOptions};

/// The names of the rows of a table that is read in blocks, if an option names their column.
pub fn names_of(path: &Path, table: &TableOptions, run: &Run) -> Result<Option<Arc<RowNames>>, Failure> {
    let read = || read_names(path, &read_options(table, None), run);
    Ok(table.id.column.as_ref().map(|_| read()).transpose()?.map(Arc::new))
}

/// The labels of a file for `n_rows` rows, which may have names; warns if labels of unknown names were left out.
pub fn labels_of(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelOptions,
) -> Result<(SparseLabels, Option<Warning>), Failure> {
    let unlabeled = options.unlabeled.as_deref();
    let Some(names) = names else { return Ok((read_sparse_labels(path, n_rows, unlabeled)?, None)) };
    let found = read_named_labels(path, names, unlabeled, options.ignore.unknown)?;
    let n_labels = found.n_unknown;
    let warning = (n_labels > 0).then(|| Warning::UnknownLabels { n_labels, path: path.display().to_string() });
    Ok((found.labels, warning))
}

/// A warning if names of rows are not written to `output`.
pub fn numbered(output: &Path, names: Option<&Arc<RowNames>>) -> Option<Warning> {
    let is_array = output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
    (is_array && names.is_some()).then(|| Warning::NumberedRows { path: output.display().to_string() })
}
