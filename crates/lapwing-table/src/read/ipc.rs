//! Arrow IPC files and streams (Feather).

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatchReader;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::SchemaRef;

use super::batches::{Batches, arrow_error, guarded};
use lapwing_core::mapped::open_filled;
use lapwing_core::{Error, Result};

/// The bytes with which an IPC file starts and ends; a stream has none. Two bytes follow the first, four with the length of the footer
/// precede the last.
const MAGIC: &[u8] = b"ARROW1";

/// An Arrow IPC file or stream whose schema has been read.
#[derive(Debug)]
pub(super) struct IpcTable {
    path: PathBuf,
    pub schema: SchemaRef,
    is_file: bool,
    pub bytes: u64,
}

impl IpcTable {
    pub(super) fn open(path: &Path) -> Result<Self> {
        use std::io::{Read, Seek, SeekFrom};
        let (mut file, bytes) = open_filled(path)?;
        let mut start = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut start).map_err(|e| Error::io(path, e))?;
        let is_file = start == MAGIC;
        if is_file {
            // The reader makes room for the footer before it looks for it.
            let mut end = [0; 4];
            let least = 2 * MAGIC.len() as u64 + 6;
            let found = file.seek(SeekFrom::End(-(MAGIC.len() as i64) - 4)).and_then(|_| file.read_exact(&mut end));
            if found.is_err() || least + u64::from(u32::from_le_bytes(end)) > bytes {
                return Err(Error::format(path, None, "the file is damaged (its footer is missing)"));
            }
        }
        let schema = guarded(path, || reader(path, is_file, None))?.schema();
        Ok(Self { path: path.to_owned(), schema, is_file, bytes })
    }

    pub(super) fn batches(&self, columns: &[usize]) -> Result<Batches> {
        Batches::open(&self.path, columns, |columns| reader(&self.path, self.is_file, Some(columns)))
    }
}

fn reader(path: &Path, is_file: bool, columns: Option<Vec<usize>>) -> Result<Box<dyn RecordBatchReader + Send>> {
    let (file, _) = open_filled(path)?;
    let file: BufReader<File> = BufReader::with_capacity(1 << 18, file);
    Ok(match is_file {
        true => Box::new(FileReader::try_new(file, columns).map_err(|e| arrow_error(path, e))?),
        false => Box::new(StreamReader::try_new(file, columns).map_err(|e| arrow_error(path, e))?),
    })
}
