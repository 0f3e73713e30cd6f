//! Readers: features with or without labels, labels alone, graphs, rows and edges in blocks.
//!
//! The contents determine the format, and the ending of the file name where they leave it open (`format`). Arrays (`.npy`) are memory-mapped if their layout allows it,
//! tables are read into one row-major buffer, sparse files stay sparse.
//!
//! Each format has one scan that yields batches of typed values: `npy::NpyReader` and `npy::ArrayScan` for arrays,
//! `records::Records` for CSV, `parquet::TableScan` for Parquet. Samples, streamed rows, labels and edges are made of
//! these. No length that a file states is trusted before it is compared with the bytes of the file; a damaged file
//! gives an error, never a panic.

mod arff;
mod array;
pub(crate) mod cell;
mod columns;
mod edges;
mod fields;
mod fingerprint;
pub(crate) mod format;
mod graph;
mod ipc;
pub(crate) mod labels;
pub(crate) mod lines;
mod list;
mod names;
mod npy;
mod npz;
mod options;
pub(crate) mod origin;
mod packing;
mod parquet;
mod roles;
mod rows;
mod sheet;
mod svmlight;
pub(crate) mod table;
mod text;

use std::path::Path;

pub(crate) use self::columns::{by_name as choose, find_name, make_distinct};
pub use self::edges::{EdgeFile, EdgeOptions};
pub use self::fields::{join_columns, shell_word, split_columns};
pub(crate) use self::fingerprint::fingerprint;
use self::format::{Format, unknown_format};
pub use self::graph::{NamedGraph, NodeOptions, read_graph, read_named_graph};
pub use self::labels::{
    LabelFileOptions, NamedLabels, each_line, read_label_column, read_label_file, read_labels, read_named_labels,
    read_sparse_labels,
};
pub use self::names::{column_names, read_names};
pub use self::options::{ReadAs, ReadOptions};
use self::origin::SampleOrigin;
pub use self::rows::{RowFile, can_stream};
pub use self::table::{ColumnKind, TableFile};
pub use self::text::{Dialect, Doubt, Separator};
use crate::prepare::plain;
use lapwing_core::{Features, Labels, Result, RowNames, Run, Warning};

const KNOWN: &str = "text (.csv, .tsv, .txt, .jsonl, .arff, .svm, …), also packed (.gz, .zst, .bz2, .xz, .zip); .parquet, .arrow, .xlsx, .xls, .ods, \
                     .npy or .npz; or a folder of tables";

/// The contents of a file of samples.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Samples {
    /// One row per sample. Missing values are NaN; [`Samples::check`] reports them.
    pub features: Features<'static>,
    /// Names of the feature columns, if the format has names.
    pub feature_names: Option<Vec<String>>,
    /// The labels, if they are requested or the format always has them.
    pub labels: Option<Labels>,
    /// Names of the rows, if the options name their column.
    pub names: Option<RowNames>,
    /// What to look at in the labels.
    pub warnings: Vec<Warning>,
    /// The file they were read from.
    pub(crate) origin: SampleOrigin,
}

impl Samples {
    /// Checks the features as [`Features::check`] does.
    ///
    /// # Errors
    /// As [`Features::check`], with the name of the file, the names of columns and the lines of a text.
    pub fn check(&self, run: &Run) -> Result<()> {
        self.features.check(run).map_err(|error| self.origin.named(error, self.feature_names.as_deref()))
    }
}

/// Size of the features of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Number of samples.
    pub n_rows: usize,
    /// Number of features.
    pub n_cols: usize,
    /// Stored entries of sparse features.
    pub n_entries: Option<usize>,
    /// Bytes of the features as they will be held.
    pub bytes_in_memory: usize,
    /// Whether those bytes stay in the file and are mapped.
    pub mapped: bool,
}

impl Size {
    pub(crate) fn dense(n_rows: usize, n_cols: usize, width: usize) -> Self {
        let bytes_in_memory = n_rows.saturating_mul(n_cols).saturating_mul(width);
        Self { n_rows, n_cols, n_entries: None, bytes_in_memory, mapped: false }
    }

    pub(crate) fn sparse(n_rows: usize, n_cols: usize, n_entries: usize) -> Self {
        let bytes_in_memory = (n_rows + 1).saturating_mul(8).saturating_add(n_entries.saturating_mul(8));
        Self { n_rows, n_cols, n_entries: Some(n_entries), bytes_in_memory, mapped: false }
    }
}

/// Whether the format of `path` can hold labels in addition to features without naming their column.
pub fn holds_labels(path: &Path) -> bool {
    matches!(Format::from_path(path), Format::Npz | Format::Svmlight)
}

/// Whether the format of `path` can have a named column or array of labels.
pub fn names_labels(path: &Path) -> bool {
    is_table(path) || matches!(Format::from_path(path), Format::Npz | Format::Other)
}

/// Whether `path` is a table of columns that may hold anything: a text, Parquet, Arrow, or a folder of these.
pub fn is_table(path: &Path) -> bool {
    Format::from_path(path).is_table() || table::parts_of(path).is_ok_and(|parts| parts.is_some())
}

/// Whether `path` is a table that can be read more than once.
pub fn is_rereadable_table(path: &Path) -> bool {
    is_table(path) && format::is_rereadable(path)
}

/// Whether the format of `path` has column names.
pub fn names_columns(path: &Path) -> bool {
    is_table(path)
}

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
/// With an id column also [`Error::Names`](lapwing_core::Error), as [`read_names`], and [`Error::Param`](lapwing_core::Error) for standard
/// input, which can be read only once.
///
/// # Complexity
/// One pass, and one more if the rows have names; memory for one copy of the features.
pub fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let names = names::of_samples(path, options, run)?;
    let samples = read_features(path, options, run)?;
    match &names {
        Some(names) if names.len() != samples.features.n_rows() => Err(names::changed(path)),
        _ => Ok(Samples { names, ..samples }),
    }
}

/// Reads all of a file of samples but the names of the rows.
fn read_features(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    match Format::from_path(path) {
        Format::Npy => array::read_samples(path, options, run),
        Format::Npz => npz::read_samples(path, options, run),
        Format::Svmlight => svmlight::read_samples(path, options, run),
        _ if is_table(path) => plain::read_samples(path, options, run),
        _ => Err(unknown_format(path, KNOWN)),
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
    if format::is_stdin(path) {
        return Err(format::only_once(path));
    }
    match Format::from_path(path) {
        Format::Npy => array::probe(path, options),
        Format::Npz => npz::probe(path, options),
        Format::Svmlight => svmlight::probe(path, options),
        _ if is_table(path) => plain::probe(path, options),
        _ => Err(unknown_format(path, KNOWN)),
    }
}
