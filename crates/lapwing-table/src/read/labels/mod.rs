//! Labels: columns of tables, arrays, and files of their own.
//!
//! All formats collect labels one by one in [`LabelTexts`], which keeps only rows that have one; arrays of integers stay integers.

mod collect;
mod list;

use std::path::Path;

pub(crate) use self::collect::LabelTexts;
pub(super) use self::collect::from_array;
pub use self::collect::{LabelFileOptions, NamedLabels};
use super::files::{is_table, unknown_format};
use super::list::List;
use super::npy::{ArrayName, NpyReader};
use crate::format::Format;
use lapwing_core::mapped::open_filled;
use lapwing_core::row_names::Named;
use lapwing_core::{Error, Labels, Result, RowNames, Run, SparseLabels, check_memory};

/// Reads the labels of `n_rows` rows from a file of their own.
///
/// `.npy`: one label per row; integers, floats, truth values or fixed-width text. Text, also `.gz` and `.zst`: one label per
/// line after an optional header `label`, `labels`, `class`, `target` or `y`, which is a label if it comes again and the lines are as many
/// as the rows; or
/// `row,label` pairs, with rows counted from 0 and an optional header, whose words tell the columns (further columns are ignored; an
/// index without a name is one of rows); rows without a pair are unlabeled. Empty texts, −1,
/// NaN, null, none and na, or texts equal to `unlabeled` mean no label: see [`Labels::from_texts`]. If no `unlabeled` is given and
/// some texts are empty or missing, −1 is a class: [`ClassNames::doubtful_marker`](lapwing_core::ClassNames::doubtful_marker) warns.
///
/// # Errors
/// [`Error::Shape`] naming both numbers if there are more or fewer labels than rows, or for 2³² rows and more;
/// [`Error::Format`] naming the line of a pair that is malformed, out of range, or a second one for its row.
pub fn read_labels(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<Labels> {
    let labels = read_sparse_labels(path, n_rows, unlabeled)?;
    let bytes = 8 * n_rows as u64;
    check_memory(&format!("a list of labels of {n_rows} rows"), bytes, "number the rows from 0 without gaps")?;
    Ok(labels.into())
}

/// As [`read_labels`], with memory only for rows that have a label.
///
/// # Errors
/// As [`read_labels`].
///
/// # Complexity
/// One pass; 8 bytes for each row that has a label, and one bit for every row if the file holds pairs.
pub fn read_sparse_labels(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<SparseLabels> {
    let options = LabelFileOptions { unlabeled, ..LabelFileOptions::default() };
    read_label_file(path, n_rows, None, &options).map(|found| found.labels)
}

/// Reads a file of labels of `n_rows` rows, as [`read_sparse_labels`] does or by `names`; with warnings about the first line, and about
/// labels that differ in white space alone.
///
/// By names: text with commas or tabs, also `.gz` and `.zst`: a header that names a column as the ids are named (or `id`, `row`, `node`,
/// `name`) and a column `label` (or `class`, `target`, `y`), other columns being ignored; or two columns of any names, ids first. The
/// first line is a header if it starts with no known id, and neither its words nor its label come again. A second line with the same
/// label for an id counts as one. For rows of a table also, in their order, one label a line or a `.npy`.
///
/// # Errors
/// As [`read_labels`]; [`Error::Names`] with the numbers, and the first few, of all unknown ids and of all ids with two labels;
/// [`Error::Format`] for columns that are not there.
///
/// # Complexity
/// One pass; by names about 50 bytes for each labeled row.
pub fn read_label_file(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelFileOptions<'_>,
) -> Result<NamedLabels> {
    match (Format::from_path(path), names) {
        (format, _) if is_table(path) || format == Format::Other => list::read(path, n_rows, names, options),
        (_, Some(names)) if names.named() == Named::Nodes => {
            Err(Error::format(path, None, format!("holds no names of nodes; {}", list::TWO_COLUMNS)))
        }
        (Format::Npy, _) => {
            let (file, length) = open_filled(path)?;
            let reader = NpyReader::new(file, length, ArrayName::from_path(path), false)?;
            let labels = from_array(reader, n_rows, options.unlabeled, &Run::new(Some(1), 0)?)?;
            Ok(NamedLabels { labels, warnings: Vec::new() })
        }
        _ => Err(unknown_format(
            path,
            "labels as .npy, or as a table with one label a row or columns of rows and labels",
        )),
    }
}

/// Calls `each` with the fields of every line that has text, and the number of the line, from 1. Lines are split as those of a file of
/// labels: at commas, or at tabs or semicolons if the first line has these and no comma.
///
/// # Errors
/// [`Error::Io`], [`Error::Format`] for text that is not UTF-8, for a quote that stays open, and for
/// files that are no text of cells; those of `each`.
pub fn each_line(path: &Path, mut each: impl FnMut(&[&str], u64) -> Result<()>) -> Result<()> {
    let list = List::open(path, list::known)?;
    let text = list.lines().ok_or_else(|| unknown_format(path, "a text with one row in each line"))?;
    text.each_line(|cells, number| {
        let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        if cells.iter().all(|cell| cell.is_empty()) { Ok(()) } else { each(&cells, number) }
    })
}
