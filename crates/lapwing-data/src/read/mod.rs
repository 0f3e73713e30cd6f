//! Readers: features with or without labels, labels alone, graphs, rows and edges in blocks.
//!
//! The format is told by the ending of the file name. Arrays (`.npy`) are memory-mapped where their layout allows it,
//! tables are read into one row-major buffer, sparse files stay sparse. No length that a file states about itself is
//! believed before it was held against the bytes there are; a damaged file gives an error, never a panic.

mod array;
mod columns;
mod csv;
mod edges;
mod fields;
mod fingerprint;
pub(crate) mod format;
mod graph;
mod labels;
mod literal;
mod npy;
mod npz;
mod origin;
#[cfg(feature = "tables")]
mod parquet;
mod record;
mod records;
mod rows;
mod svmlight;

use std::path::Path;

pub use self::edges::EdgeFile;
pub use self::fields::{join_columns, split_columns};
use self::format::{Format, unknown_ending};
pub use self::graph::read_graph;
pub use self::labels::{read_label_column, read_labels, read_sparse_labels};
use self::origin::Origin;
pub use self::rows::{RowFile, can_stream};
use crate::{Features, Labels, Result, Run};

const KNOWN: &str = ".npy, .npz, .parquet, .csv, .csv.gz, .csv.zst, .svm or .libsvm";

/// How to read a file of samples.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Column of a table (array of an `.npz`) that holds the labels.
    pub label_column: Option<String>,
    /// Feature columns, in this order; all but the label column where `None`. Names in tables, numbers in arrays.
    pub columns: Option<Vec<String>>,
    /// Columns that are no features.
    pub drop: Vec<String>,
    /// Text that marks rows without a label, instead of −1.
    pub unlabeled: Option<String>,
}

/// What a file of samples holds.
#[derive(Clone, Debug)]
pub struct Samples {
    /// One row per sample. Missing values are NaN; [`Samples::check`] names where they are.
    pub features: Features<'static>,
    /// Names of the feature columns, where the format has names.
    pub feature_names: Option<Vec<String>>,
    /// The labels, if they were asked for or the format always has them.
    pub labels: Option<Labels>,
    /// Where they came from.
    origin: Origin,
}

impl Samples {
    /// Checks the features as [`Features::check`] does, and says in words of the file what is wrong with them.
    ///
    /// # Errors
    /// As [`Features::check`], with the file, the names of columns and the lines of a text.
    pub fn check(&self, run: &Run) -> Result<()> {
        self.features.check(run).map_err(|error| self.origin.named(error, self.feature_names.as_deref()))
    }
}

/// Size of the features of a file, known without reading all their values where the format tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    fn dense(n_rows: usize, n_cols: usize, width: usize) -> Self {
        let bytes_in_memory = n_rows.saturating_mul(n_cols).saturating_mul(width);
        Self { n_rows, n_cols, n_entries: None, bytes_in_memory, mapped: false }
    }

    fn sparse(n_rows: usize, n_cols: usize, n_entries: usize) -> Self {
        let bytes_in_memory = (n_rows + 1).saturating_mul(8).saturating_add(n_entries.saturating_mul(8));
        Self { n_rows, n_cols, n_entries: Some(n_entries), bytes_in_memory, mapped: false }
    }
}

/// Whether files of that ending can hold labels beside the features without a column being named.
pub fn holds_labels(path: &Path) -> bool {
    matches!(Format::of(path), Format::Npz | Format::Svmlight)
}

/// Whether files of that ending can name the column or array of their labels.
pub fn names_labels(path: &Path) -> bool {
    matches!(Format::of(path), Format::Csv | Format::Parquet | Format::Npz | Format::Other)
}

/// Whether files of that ending have columns with names.
pub fn names_columns(path: &Path) -> bool {
    matches!(Format::of(path), Format::Csv | Format::Parquet)
}

/// Reads a file of samples; `-` is CSV on standard input.
///
/// | ending | contents |
/// |---|---|
/// | `.npy` | two dimensions; f32, f64 and u8 in C order are memory-mapped, other numbers converted |
/// | `.npz` | arrays `X` and `y`; the four arrays `X_data`, `X_indices`, `X_indptr`, `X_shape` of a CSR matrix; or what `scipy.sparse.save_npz` wrote |
/// | `.parquet`, `.csv`, `.csv.gz`, `.csv.zst` | one column per feature; a CSV file starts with the names unless its first line is all numbers |
/// | `.svm`, `.libsvm`, `.svmlight` | a label and `index:value` pairs per line, counted from 1, or from 0 if an index 0 occurs |
///
/// # Errors
/// [`Error::Format`](crate::Error) naming the line or column that cannot be understood, [`Error::Io`](crate::Error) when
/// the file cannot be read, [`Error::Interrupted`](crate::Error).
///
/// # Complexity
/// One pass; memory for one copy of the features.
pub fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    match Format::of(path) {
        Format::Npy => array::read_samples(path, options, run),
        Format::Npz => npz::read_samples(path, options, run),
        Format::Csv => csv::read_samples(path, options, run),
        Format::Svmlight => svmlight::read_samples(path, options, run),
        #[cfg(feature = "tables")]
        Format::Parquet => parquet::read_samples(path, options, run),
        #[cfg(not(feature = "tables"))]
        Format::Parquet => Err(format::without_tables(path)),
        Format::Other => Err(unknown_ending(path, KNOWN)),
    }
}

/// Size of the features of a file, for planning.
///
/// # Errors
/// As [`read_samples`], as far as the file is looked at; [`Error::Param`](crate::Error) for standard input, which can be
/// read only once.
///
/// # Complexity
/// Array and Parquet files: their headers. Text: one pass that counts and keeps nothing.
pub fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    if format::is_stdin(path) {
        return Err(format::only_once(path));
    }
    match Format::of(path) {
        Format::Npy => array::probe(path, options),
        Format::Npz => npz::probe(path, options),
        Format::Csv => csv::probe(path, options),
        Format::Svmlight => svmlight::probe(path, options),
        #[cfg(feature = "tables")]
        Format::Parquet => parquet::probe(path, options),
        #[cfg(not(feature = "tables"))]
        Format::Parquet => Err(format::without_tables(path)),
        Format::Other => Err(unknown_ending(path, KNOWN)),
    }
}
