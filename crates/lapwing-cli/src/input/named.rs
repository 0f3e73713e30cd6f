//! Rows with names: labels that are found by them, and what to say where names cannot be used.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::read::{LabelFileOptions, NamedLabels, read_label_file, read_names};
use lapwing::data::{Error, RowNames, Run, Warning};
use lapwing_table::write::ending;

use crate::failure::Failure;
use crate::options::{LabelOptions, TableOptions, read_options};

/// The names of the rows of a table that is read in blocks, if an option names their column.
pub fn names_of(path: &Path, table: &TableOptions, run: &Run) -> Result<Option<Arc<RowNames>>, Failure> {
    let read = || read_names(path, &read_options(table, None), run);
    Ok(table.id.column.as_ref().map(|_| read()).transpose()?.map(Arc::new))
}

/// The labels of a file for `n_rows` rows, which may have names.
pub fn labels_of(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelOptions,
    header: Option<bool>,
) -> Result<NamedLabels, Error> {
    let (unlabeled, ignore_unknown) = (options.unlabeled.as_deref(), options.ignore.unknown);
    // That the rows have a header says nothing of the labels.
    let header = header.filter(|has_header| !has_header);
    read_label_file(path, n_rows, names, &LabelFileOptions { unlabeled, ignore_unknown, header })
}

/// A warning if names of rows are not written to `output`.
pub fn numbered(output: &Path, names: Option<&Arc<RowNames>>) -> Option<Warning> {
    (ending(output).as_deref() == Some("npy") && names.is_some())
        .then(|| Warning::NumberedRows { path: output.display().to_string() })
}
