//! Rows of a NumPy array, read by position.

use std::path::{Path, PathBuf};

use super::{OpenRows, RowFile, chosen};
use crate::read::array::refuse_label_column;
use crate::read::npy::{ArrayName, ArrayScan, Header, NpyReader, with_value_type};
use crate::read::{ReadOptions, columns};
use lapwing_core::mapped::open_filled;
use lapwing_core::scan::{Centered, Place};
use lapwing_core::{Error, Result, RowReader, Run};

/// Place of the values of an array, and which of them are features.
#[derive(Debug)]
struct ArrayRows {
    path: PathBuf,
    /// Bytes of the file.
    length: u64,
    header: Header,
    /// Byte of the first value.
    start: usize,
    /// Columns that are features, unless these are all of them in order.
    keep: Option<Vec<usize>>,
}

pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<RowFile> {
    refuse_label_column(options)?;
    let (file, length) = open_filled(path)?;
    let reader = NpyReader::new(file, length, ArrayName::from_path(path), false)?;
    let (header, start) = (reader.header, reader.offset);
    let (n_rows, width) = header.feature_shape(reader.origin)?;
    let keep = columns::by_number(path, width, options)?.and_then(|keep| chosen(keep, width));
    let n_cols = keep.as_ref().map_or(width, Vec::len);
    // Fortran order allows reading the features' columns alone.
    let n_read = if header.fortran { n_cols } else { width };
    let bytes = (n_rows * n_read * header.dtype.size) as u64;
    let (chosen, path) = (keep.clone(), path.to_owned());
    let rows = Box::new(ArrayRows { path: path.clone(), length, header, start, keep });
    Ok(RowFile { path, n_rows, n_cols, bytes, is_seekable: true, feature_names: None, chosen, rows })
}

impl OpenRows for ArrayRows {
    fn reader<'s>(&'s self, place: Place, center: &'s [f64], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        // A file of its own for each reader: the system reads ahead for each.
        let (file, found) = open_filled(&self.path)?;
        if found != self.length {
            let reason = format!("the file has changed ({found} bytes, {} before)", self.length);
            return Err(Error::format(&self.path, None, reason));
        }
        let origin = ArrayName::from_path(&self.path);
        let reader = NpyReader::reopened(file, self.header.clone(), self.start, origin);
        Ok(with_value_type!(self.header.dtype, Type => {
            Centered::boxed(ArrayScan::<_, Type>::new(reader, self.keep.as_deref())?, place, center)
        }))
    }
}
