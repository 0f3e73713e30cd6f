//! Features read in blocks of rows: files that need not fit in memory.
//!
//! Opening a file of any format gathers what its readers need to start at any row: the layout of an array, marks in
//! a text, the footer of a table. Readers share these.

pub(crate) mod array;

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::files::is_table;
use super::fingerprint::fingerprint;
use super::origin::SampleOrigin;
use lapwing_core::bad_columns::ValueSurvey;
use lapwing_core::scan::{Place, pieces};
use lapwing_core::{Error, Result, RowReader, RowSource, Run};

/// Values of a block in a search for bad values.
const SURVEY_VALUES: usize = 1 << 16;

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
/// # use lapwing_table::read::{ReadOptions, RowFile};
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
    pub(crate) path: PathBuf,
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
    /// Bytes that one pass reads.
    pub(crate) bytes: u64,
    pub(crate) is_seekable: bool,
    /// Names of the features, if the format has names.
    pub(crate) feature_names: Option<Vec<String>>,
    /// Columns of the file that are features; `None` if these are all of them in order.
    pub(crate) chosen: Option<Vec<usize>>,
    pub(crate) rows: Box<dyn OpenRows>,
}

/// Opens readers of the rows of a file.
pub(crate) trait OpenRows: Debug + Send + Sync {
    fn reader<'s>(&'s self, place: Place, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>>;

    /// The error for bad cells, with their lines, if the format has its own.
    fn bad_cells(&self, _: &Run) -> Result<Option<Error>> {
        Ok(None)
    }
}

impl RowFile {
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
        let is_value = matches!(&error, Error::Value { what, col: Some(_), .. } if what == "features");
        let found = if is_value { self.bad_columns(run) } else { Ok(None) };
        found.ok().flatten().unwrap_or(error)
    }

    /// All features with bad values.
    fn bad_columns(&self, run: &Run) -> Result<Option<Error>> {
        let Self { n_rows, n_cols, chosen, feature_names, .. } = self;
        if is_table(&self.path) {
            return self.rows.bad_cells(run);
        }
        let (mut reader, mut survey, mut block) = (self.open(0, &[], run)?, ValueSurvey::default(), Vec::new());
        for rows in pieces(0..*n_rows, SURVEY_VALUES / n_cols.max(&1)) {
            block.resize(rows.len() * n_cols, 0.0);
            reader.read(&mut block, run)?;
            for (at, &x) in block.iter().enumerate() {
                survey.look(at % n_cols, rows.start + at / n_cols, None, x.into());
            }
        }
        let origin = SampleOrigin { positions: chosen.clone(), ..SampleOrigin::new(&self.path) };
        let named = |bad| Error::columns(origin.named_columns(bad, feature_names.as_deref()));
        Ok(survey.finish("features", *n_rows).map(named))
    }
}

impl RowSource for RowFile {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.n_cols
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// False for compressed text.
    fn is_seekable(&self) -> bool {
        self.is_seekable
    }

    /// The fingerprint of the file, and the numbers of its features unless these are all columns in order.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        let columns = self.chosen.as_ref().map(|columns| format!(", columns {columns:?}")).unwrap_or_default();
        self.fingerprint(run).map(|hash| Some(format!("{hash:016x}{columns}")))
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        self.rows.reader(Place::new(self, first, center)?, center, run)
    }
}

/// `columns`, unless these are all of `n_cols` columns in order.
pub(crate) fn chosen(columns: Vec<usize>, n_cols: usize) -> Option<Vec<usize>> {
    let are_all = columns.len() == n_cols && columns.iter().copied().eq(0..n_cols);
    (!are_all).then_some(columns)
}
