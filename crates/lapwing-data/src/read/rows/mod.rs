//! Features read in blocks of rows: files that need not fit in memory.
//!
//! Every format has a source of rows (`array`, `csv`, `parquet`) that says at opening what its readers need to start
//! anywhere: the layout of an array, marks in a text, the footer of a table. [`RowFile`] chooses among them.

mod array;
mod csv;
#[cfg(feature = "tables")]
mod parquet;
mod values;

use std::path::{Path, PathBuf};

use self::array::ArrayRows;
use self::csv::CsvRows;
#[cfg(feature = "tables")]
use self::parquet::ParquetRows;
use super::ReadOptions;
use super::fingerprint::fingerprint;
use super::format::{Format, is_rereadable, only_once, unknown_ending};
use super::origin::Origin;
use crate::bad_columns::ValueSurvey;
use crate::{BadColumns, Error, Result, RowReader, RowSource, Run};

/// Values looked at together where all of a file are.
const SURVEY_VALUES: usize = 1 << 16;

/// Endings that can be read in blocks.
const KNOWN: &str = "rows as .npy, .parquet, .csv, .csv.gz or .csv.zst";

/// A file of features as a stream of rows, of any size.
///
/// The rows are those of [`read_samples`](super::read_samples), to the bit, with the same options: columns that were
/// chosen or dropped, a label column that is no feature. Missing values are NaN.
///
/// | ending | contents | known at opening | starting at a row |
/// |---|---|---|---|
/// | `.npy` | two dimensions of numbers, C or Fortran order | the header | at once |
/// | `.parquet` | numeric columns | the footer | at once, but for the rows of its row group that stand before it |
/// | `.csv` | a header unless the first line is all numbers | one pass that counts | up to 64 KiB of text before it, more in files of 8 GB and up |
/// | `.csv.gz`, `.csv.zst` | the same | one pass that counts | reads all rows before it |
///
/// Little-endian f32 in C order with all columns is read straight into the caller's memory; other arrays are converted
/// on the way, and columns in Fortran order need one read for each of them and each block.
///
/// # Complexity
/// Memory for one block of the file in each reader, whatever its size: none or 512 KiB of an array, 256 KiB of text, a
/// batch of rows and a page of each column of a Parquet file. Nothing is mapped. Marks in a text take up to 3 MiB.
///
/// # Example
/// ```
/// # use lapwing_data::{RowSource, Run, read::{ReadOptions, RowFile}};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,y,class\n0,1,a\n2,3,\n4,5,b\n")?;
/// let run = Run::new(None, 0)?;
/// let options = ReadOptions { label_column: Some("class".into()), ..ReadOptions::default() };
/// let file = RowFile::open(&path, &options, &run)?;
/// assert_eq!((file.n_rows(), file.n_cols()), (3, 2));
///
/// let mut block = [0.0; 4];
/// file.open(1, &[1.0, 1.0], &run)?.read(&mut block, &run)?;
/// assert_eq!(block, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowFile {
    path: PathBuf,
    rows: Rows,
}

/// The rows of a file, by format.
#[derive(Debug)]
enum Rows {
    Array(ArrayRows),
    Csv(CsvRows),
    #[cfg(feature = "tables")]
    Parquet(ParquetRows),
}

/// Whether [`RowFile::open`] reads files of that ending, and `path` can be read more than once.
pub fn can_stream(path: &Path) -> bool {
    let is_known = match Format::of(path) {
        Format::Npy => true,
        Format::Csv => cfg!(feature = "tables") || !super::format::is_compressed(path),
        Format::Parquet => cfg!(feature = "tables"),
        _ => false,
    };
    is_known && is_rereadable(path)
}

impl RowFile {
    /// Opens a file of features and finds out how many rows there are.
    ///
    /// # Errors
    /// As [`read_samples`](super::read_samples), as far as the file is looked at; [`Error::Param`] for pipes and
    /// standard input, which can be read only once; [`Error::Format`] for archives and sparse text.
    ///
    /// # Complexity
    /// Arrays and Parquet: their headers. Text: one pass that counts and keeps nothing but marks.
    pub fn open(path: &Path, options: &ReadOptions, run: &Run) -> Result<Self> {
        if !is_rereadable(path) {
            return Err(only_once(path));
        }
        let rows = match Format::of(path) {
            Format::Npy => Rows::Array(ArrayRows::open(path, options)?),
            Format::Csv => Rows::Csv(CsvRows::open(path, options, run)?),
            #[cfg(feature = "tables")]
            Format::Parquet => Rows::Parquet(ParquetRows::open(path, options)?),
            #[cfg(not(feature = "tables"))]
            Format::Parquet => return Err(super::format::without_tables(path)),
            Format::Npz | Format::Svmlight => {
                return Err(Error::format(path, None, format!("not read in blocks; expected {KNOWN}")));
            }
            Format::Other => return Err(unknown_ending(path, KNOWN)),
        };
        Ok(Self { path: path.to_owned(), rows })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the columns (d), where the format has names.
    pub fn feature_names(&self) -> Option<&[String]> {
        match &self.rows {
            Rows::Array(_) => None,
            Rows::Csv(rows) => Some(&rows.feature_names),
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => Some(&rows.feature_names),
        }
    }

    /// A number that is another if the contents of the file are, whatever its name and dates: a 64-bit hash of all its bytes.
    ///
    /// For noticing a file that was changed between two runs. Not cryptographic.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Interrupted`].
    ///
    /// # Complexity
    /// One reading of the file, in blocks of 8 MiB that are hashed in parallel.
    pub fn fingerprint(&self, run: &Run) -> Result<u64> {
        fingerprint(&self.path, run)
    }

    /// An error of a method that was given these rows, in words of the file: where it is about a value that cannot be
    /// used, one more pass finds all of them. Other errors stay as they are.
    pub fn explained(&self, error: Error, run: &Run) -> Error {
        let is_value = matches!(&error, Error::Value { what, col: Some(_), .. } if what == "features");
        let found = if is_value { self.bad_columns(run) } else { Ok(None) };
        found.ok().flatten().map_or(error, Error::columns)
    }

    /// All features with values that cannot be used.
    fn bad_columns(&self, run: &Run) -> Result<Option<BadColumns>> {
        if let Rows::Csv(rows) = &self.rows {
            return rows.bad_columns(run);
        }
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        let (mut reader, mut survey) = (self.open(0, &[], run)?, ValueSurvey::default());
        let block_rows = (SURVEY_VALUES / n_cols.max(1)).max(1);
        let mut block = vec![0.0; block_rows.min(n_rows) * n_cols];
        for first in (0..n_rows).step_by(block_rows) {
            let rows = block_rows.min(n_rows - first);
            reader.read(&mut block[..rows * n_cols], run)?;
            for (at, &x) in block[..rows * n_cols].iter().enumerate() {
                survey.look(at % n_cols, first + at / n_cols, None, x.into());
            }
        }
        let bad = survey.finish("features", n_rows);
        let origin = Origin { positions: self.chosen().map(<[usize]>::to_vec), ..Origin::of(&self.path) };
        Ok(bad.map(|bad| origin.named_columns(bad, self.feature_names())))
    }

    /// The columns of the file that are features, where these are not all of them in order.
    fn chosen(&self) -> Option<&[usize]> {
        match &self.rows {
            Rows::Array(rows) => rows.chosen(),
            Rows::Csv(rows) => rows.chosen(),
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => rows.chosen(),
        }
    }
}

impl RowSource for RowFile {
    fn n_rows(&self) -> usize {
        match &self.rows {
            Rows::Array(rows) => rows.n_rows,
            Rows::Csv(rows) => rows.n_rows,
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => rows.n_rows,
        }
    }

    fn n_cols(&self) -> usize {
        match &self.rows {
            Rows::Array(rows) => rows.n_cols(),
            Rows::Csv(rows) => rows.feature_names.len(),
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => rows.feature_names.len(),
        }
    }

    fn bytes(&self) -> u64 {
        match &self.rows {
            Rows::Array(rows) => rows.bytes(),
            Rows::Csv(rows) => rows.length,
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => rows.bytes,
        }
    }

    /// Not so for compressed text.
    fn is_seekable(&self) -> bool {
        match &self.rows {
            Rows::Csv(rows) => rows.is_seekable(),
            _ => true,
        }
    }

    /// The fingerprint of the file, and the numbers of its columns where these are not all of them in order.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        let columns = self.chosen().map(|columns| format!(", columns {columns:?}")).unwrap_or_default();
        self.fingerprint(run).map(|hash| Some(format!("{hash:016x}{columns}")))
    }

    fn open<'s>(&'s self, first: usize, shift: &'s [f32], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        let place = Place::new(self, first, shift)?;
        match &self.rows {
            Rows::Array(rows) => rows.reader(place, shift),
            Rows::Csv(rows) => rows.reader(place, shift, run),
            #[cfg(feature = "tables")]
            Rows::Parquet(rows) => rows.reader(place, shift),
        }
    }
}

/// The rows that a reader hands on next.
struct Place {
    row: usize,
    n_rows: usize,
    n_cols: usize,
}

impl Place {
    fn new(file: &RowFile, row: usize, shift: &[f32]) -> Result<Self> {
        let (n_rows, n_cols) = (file.n_rows(), file.n_cols());
        if row > n_rows {
            return Err(Error::param(
                "first row",
                row,
                format!("at most {n_rows}, the rows of {}", file.path.display()),
            ));
        }
        if !shift.is_empty() && shift.len() != n_cols {
            let expected = format!("{n_cols} values, one per column");
            return Err(Error::shape("shift", expected, format!("{} values", shift.len())));
        }
        Ok(Self { row, n_rows, n_cols })
    }

    /// Goes on further on, where that is still among the rows.
    fn skip(&mut self, n_rows: usize) -> bool {
        let is_inside = n_rows <= self.n_rows - self.row;
        self.row += if is_inside { n_rows } else { 0 };
        is_inside
    }

    /// Number of the next rows, which take `values` values; these are passed.
    fn advance(&mut self, values: usize) -> Result<usize> {
        let rows = values / self.n_cols.max(1);
        if rows * self.n_cols != values {
            return Err(Error::shape("block", format!("whole rows of {} values", self.n_cols), values));
        }
        if rows > self.n_rows - self.row {
            return Err(Error::shape("features", format!("{} rows", self.row + rows), self.n_rows));
        }
        self.row += rows;
        Ok(rows)
    }
}

/// Whether `columns` are all of `n_cols`, in order.
fn are_all(columns: &[usize], n_cols: usize) -> bool {
    columns.len() == n_cols && columns.iter().copied().eq(0..n_cols)
}
