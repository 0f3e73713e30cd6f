//! Columns of a table as readers of Arrow yield them: some thousand rows at a time. The readers panic on some damaged files; that becomes an
//! error.

use std::path::{Path, PathBuf};

use arrow_array::{ArrayRef, RecordBatchReader};
use arrow_schema::ArrowError;

use lapwing_core::{Error, Result, Run};

/// Chosen columns of a table.
pub(super) struct Batches {
    path: PathBuf,
    reader: Box<dyn RecordBatchReader + Send>,
    /// Position in a batch of each chosen column.
    places: Vec<usize>,
}

impl Batches {
    /// Columns of the file `path`, of which `open` makes a reader: one of columns in the order of the file.
    pub(super) fn open(
        path: &Path,
        columns: &[usize],
        open: impl FnOnce(Vec<usize>) -> Result<Box<dyn RecordBatchReader + Send>>,
    ) -> Result<Self> {
        let mut in_file = columns.to_vec();
        in_file.sort_unstable();
        let places = columns.iter().map(|at| in_file.partition_point(|other| other < at)).collect();
        let reader = guarded(path, || open(in_file))?;
        Ok(Self { path: path.to_owned(), reader, places })
    }

    /// The next rows, one array for each column; `None` at the end.
    pub(super) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        run.check()?;
        let (path, reader) = (&self.path, &mut self.reader);
        let batch = guarded(path, || reader.next().transpose().map_err(|e| arrow_error(path, e)))?;
        let Some(batch) = batch else { return Ok(None) };
        let arrays: Option<Vec<ArrayRef>> = self.places.iter().map(|&at| batch.columns().get(at).cloned()).collect();
        arrays.map(Some).ok_or_else(|| Error::format(path, None, "the file is damaged (columns are missing)"))
    }
}

/// Runs a step of a decoder, and turns a panic into an error.
pub(super) fn guarded<T>(path: &Path, step: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(step))
        .unwrap_or_else(|_| Err(Error::format(path, None, "the file is damaged (its pages contradict its header)")))
}

pub(super) fn arrow_error(path: &Path, error: ArrowError) -> Error {
    Error::format(path, None, format!("the file is damaged ({error})"))
}
