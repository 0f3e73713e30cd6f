//! Features read in blocks of rows: files that need not fit in memory.
//!
//! Opening a file of any format gathers what its readers need to start at any row: the layout of an array, marks in
//! a text, the footer of a table. Readers share these.

use std::path::{Path, PathBuf};

use crate::format::{Format, is_rereadable, only_once};
use crate::prepare::PreparedRows;
use crate::read::array::ArrayRows;
use crate::read::files::{is_table, unknown_format};
use crate::read::origin::SampleOrigin;
use crate::read::{ReadOptions, TableFile, fingerprint};
use lapwing_core::bad_columns::ValueSurvey;
use lapwing_core::scan::pieces;
use lapwing_core::{Error, Result, RowReader, RowSource, Run};

/// Values of a block in a search for bad values.
const SURVEY_VALUES: usize = 1 << 16;

/// Formats that can be read in blocks.
const KNOWN_ROWS: &str = "rows as .npy, .parquet, .arrow, .jsonl, .csv, .csv.gz or .csv.zst";

/// Whether [`RowFile::open`] reads the format of `path`, and `path` can be read more than once.
pub fn can_stream(path: &Path) -> bool {
    (Format::from_path(path) == Format::Npy || is_table(path)) && (path.is_dir() || is_rereadable(path))
}

/// A file of features as a stream of rows, of any size.
///
/// The rows are those of [`read_samples`](crate::read_samples) with the same options, to the bit. Missing values are
/// NaN.
///
/// | ending | contents | read at opening | start at a row |
/// |---|---|---|---|
/// | `.npy` | two dimensions of numbers, C or Fortran order | the header | at once |
/// | `.parquet` | numeric columns | the footer | decodes the rows before it in its row group |
/// | `.csv` | a header unless the first line is all numbers | all text, to count rows | reads up to 64 KiB of text before it, more in files of 8 GB and up |
/// | `.csv.gz`, `.csv.zst` | the same | all text, to count rows | reads all rows before it |
///
/// Little-endian f32 in C order with all columns is read directly into the caller's memory. Other arrays are converted
/// block by block; in Fortran order, each block takes one read for each column.
///
/// # Complexity
/// Memory for one block of the file in each reader, whatever the size of the file: up to 1 MiB for an array, 256 KiB
/// for text, a batch of rows and a page of each column for a Parquet file. Nothing is mapped. Marks in a text take up
/// to 3 MiB.
///
/// # Example
/// ```
/// # use lapwing_core::{RowSource, Run};
/// # use lapwing_table::RowFile;
/// # use lapwing_table::read::ReadOptions;
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
    /// Names of the features, if the format has names.
    feature_names: Option<Vec<String>>,
    /// Columns of the file that are features; `None` if these are all of them in order.
    chosen: Option<Vec<usize>>,
    rows: Rows,
}

/// The rows of a file.
#[derive(Debug)]
enum Rows {
    Array(ArrayRows),
    Table(Box<PreparedRows>),
}

impl RowFile {
    /// Opens a file of features and determines its number of rows.
    ///
    /// # Errors
    /// As [`read_samples`](crate::read_samples), for the parts of the file that are read; [`Error::Param`] for pipes
    /// and standard input, which can be read only once; [`Error::Format`] for archives and sparse text.
    ///
    /// # Complexity
    /// Arrays and Parquet: reads their headers. Text: one pass that counts the rows and keeps marks.
    pub fn open(path: &Path, options: &ReadOptions, run: &Run) -> Result<Self> {
        if !is_rereadable(path) {
            return Err(only_once(path));
        }
        let (rows, chosen, feature_names) = match Format::from_path(path) {
            Format::Npy => {
                let rows = ArrayRows::open(path, options)?;
                let chosen = rows.keep.clone();
                (Rows::Array(rows), chosen, None)
            }
            Format::Npz | Format::Svmlight => {
                return Err(Error::format(path, None, format!("not read in blocks; expected {KNOWN_ROWS}")));
            }
            _ if is_table(path) => {
                let rows = PreparedRows::plain(TableFile::open(path, options)?, options, run)?;
                let (chosen, names) = (rows.chosen(), rows.recipe().feature_names());
                (Rows::Table(Box::new(rows)), chosen, Some(names))
            }
            _ => return Err(unknown_format(path, KNOWN_ROWS)),
        };
        Ok(Self { path: path.to_owned(), feature_names, chosen, rows })
    }

    fn source(&self) -> &dyn RowSource {
        match &self.rows {
            Rows::Array(rows) => rows,
            Rows::Table(rows) => &**rows,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the features (d), if the format has names.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// A 64-bit hash of all bytes of the file; its name and dates do not count.
    ///
    /// Detects a file that was changed between two runs. Not cryptographic.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Interrupted`].
    ///
    /// # Complexity
    /// One reading of the file, in blocks of 8 MiB that are hashed in parallel.
    pub fn fingerprint(&self, run: &Run) -> Result<u64> {
        fingerprint(&self.path, run)
    }

    /// An error of a method that read these rows: for an error about one bad value, reads the file again and returns an
    /// error that names all columns with bad values. Other errors are returned unchanged.
    pub fn explained(&self, error: Error, run: &Run) -> Error {
        let is_value = match &error {
            Error::Value { what, col: Some(_), .. } => what == "features",
            error => matches!(error, Error::Columns(_)),
        };
        let found = if is_value { self.bad_columns(run) } else { Ok(None) };
        found.ok().flatten().unwrap_or(error)
    }

    /// All features with bad values.
    fn bad_columns(&self, run: &Run) -> Result<Option<Error>> {
        if let Rows::Table(rows) = &self.rows {
            return rows.bad_cells(run);
        }
        let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
        let (mut reader, mut survey, mut block) = (self.open(0, &[], run)?, ValueSurvey::default(), Vec::new());
        for rows in pieces(0..n_rows, SURVEY_VALUES / n_cols.max(1)) {
            block.resize(rows.len() * n_cols, 0.0);
            reader.read(&mut block, run)?;
            for (at, &x) in block.iter().enumerate() {
                survey.look(at % n_cols, rows.start + at / n_cols, None, x.into());
            }
        }
        let origin = SampleOrigin { positions: self.chosen.clone(), ..SampleOrigin::new(&self.path) };
        let named = |bad| Error::columns(origin.named_columns(bad, self.feature_names()));
        Ok(survey.finish("features", n_rows).map(named))
    }
}

impl RowSource for RowFile {
    fn n_rows(&self) -> usize {
        self.source().n_rows()
    }

    fn n_cols(&self) -> usize {
        self.source().n_cols()
    }

    fn bytes(&self) -> u64 {
        self.source().bytes()
    }

    /// False for compressed text.
    fn is_seekable(&self) -> bool {
        self.source().is_seekable()
    }

    /// The fingerprint of the file, and the numbers of its features unless these are all columns in order.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        let columns = self.chosen.as_ref().map(|columns| format!(", columns {columns:?}")).unwrap_or_default();
        self.fingerprint(run).map(|hash| Some(format!("{hash:016x}{columns}")))
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        self.source().open(first, center, run)
    }
}
