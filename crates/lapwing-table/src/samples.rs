//! Features with or without labels, from files of any format, held whole.

use std::path::Path;

use crate::format::{Format, is_stdin, only_once};
use crate::prepare::plain;
use crate::read::files::{is_table, unknown_format};
use crate::read::{ReadOptions, Samples, Size, array, names, npz, svmlight};
use lapwing_core::{Error, Result, Run, SparseLabels};

const KNOWN: &str = "text (.csv, .tsv, .txt, .jsonl, .arff, .svm, …), also packed (.gz, .zst, .bz2, .xz, .zip); .parquet, .arrow, .xlsx, .xls, .ods, \
                     .npy or .npz; or a folder of tables";

/// Reads a file of samples; `-` is CSV on standard input.
///
/// What a file holds counts, whatever its ending; this is how each format usually ends:
///
/// | ending | contents |
/// |---|---|
/// | `.npy` | two dimensions; f32, f64 and u8 in C order are memory-mapped, other numbers converted |
/// | `.npz` | arrays `X` and `y`; the four arrays `X_data`, `X_indices`, `X_indptr`, `X_shape` of a CSR matrix; or what `scipy.sparse.save_npz` wrote |
/// | `.csv`, `.tsv`, `.txt`, `.jsonl`, `.arff`, `.parquet`, `.arrow`, a folder of these | one column per feature; a CSV file starts with the names unless its first line is all numbers |
/// | `.xlsx`, `.xls`, `.xlsb`, `.ods` | the first sheet that holds anything, or the one that the options name, read as a text is |
/// | `.svm`, `.libsvm`, `.svmlight` | a label, if there is any, and `index:value` pairs per line, counted from 1, or from 0 if an index 0 occurs |
///
/// Texts may also be packed: `.gz`, `.zst`, `.bz2`, `.xz`, or a `.zip` that holds one.
///
/// # Errors
/// [`Error::Format`](lapwing_core::Error) naming a malformed line or column, [`Error::Io`](lapwing_core::Error) when
/// the file cannot be read, [`Error::Interrupted`](lapwing_core::Error).
///
/// With an id column also [`Error::Names`](lapwing_core::Error), as [`read_names`](crate::read::read_names), and [`Error::Param`](lapwing_core::Error) for standard
/// input, which can be read only once.
///
/// # Complexity
/// One pass, and one more if the rows have names; memory for one copy of the features.
pub fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let names = names::of_samples(path, options, run)?;
    let samples = match Format::from_path(path) {
        Format::Npy => array::read_samples(path, options, run),
        Format::Npz => npz::read_samples(path, options, run),
        Format::Svmlight => svmlight::read_samples(path, options, run),
        _ if is_table(path) => plain::read_samples(path, options, run),
        _ => Err(unknown_format(path, KNOWN)),
    }?;
    match &names {
        Some(names) if names.len() != samples.features.n_rows() => Err(names::changed(path)),
        _ => Ok(Samples { names, ..samples }),
    }
}

/// Size of the features of a file, for planning.
///
/// # Errors
/// As [`read_samples`], for the parts of the file that are read; [`Error::Param`](lapwing_core::Error) for standard input,
/// which can be read only once.
///
/// # Complexity
/// Array and Parquet files: reads their headers. Text: one pass that counts the rows.
pub fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    if is_stdin(path) {
        return Err(only_once(path));
    }
    match Format::from_path(path) {
        Format::Npy => array::probe(path, options),
        Format::Npz => npz::probe(path, options),
        Format::Svmlight => svmlight::probe(path, options),
        _ if is_table(path) => plain::probe(path, options),
        _ => Err(unknown_format(path, KNOWN)),
    }
}

/// Reads the label column of a table alone: the labels of [`read_samples`], without the features.
///
/// `options` names the column and the text that marks rows without a label; other columns are not decoded.
///
/// # Errors
/// [`Error::Param`] if no label column is named; [`Error::Format`] for files that are no tables, an unknown column, and
/// values that cannot be labels; [`Error::Shape`] for 2³² rows and more; [`Error::Io`], [`Error::Interrupted`].
///
/// # Complexity
/// One pass over the text, or over that column of a Parquet file; 8 bytes for each row that has a label.
pub fn read_label_column(path: &Path, options: &ReadOptions, run: &Run) -> Result<SparseLabels> {
    let Some(column) = &options.label_column else {
        return Err(Error::param("label column", "not given", "the name of a column"));
    };
    match is_table(path) {
        true => plain::read_labels(path, options, column, run),
        false => Err(unknown_format(path, "a table: .parquet, .arrow, .jsonl, .csv, .csv.gz or .csv.zst")),
    }
}
