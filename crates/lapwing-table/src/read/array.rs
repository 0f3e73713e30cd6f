//! Features from a `.npy` file: all rows, memory-mapped if the layout allows it, or rows read by position.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::npy::{ArrayName, ArrayScan, Header, NpyReader, Number, Source, with_value_type};
use super::{ReadOptions, Samples, Size, columns};
use lapwing_core::mapped::{Mapped, open_filled};
use lapwing_core::scan::{Centered, KeptRows, Place, Value};
use lapwing_core::{Buffer, Dense, Error, Features, Result, RowReader, RowSource, Run};

/// Reads the features of a `.npy` file.
///
/// # Errors
/// [`Error::Format`] for anything but a table of numbers.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    refuse_label_column(options)?;
    let map = Mapped::open(path)?;
    let reader = open(&map, path)?;
    let (_, n_cols) = reader.header.feature_shape(reader.origin)?;
    let keep = columns::by_number(path, n_cols, options)?;
    let features = match mapped(&map, &reader)? {
        Some(dense) => Features::Dense(dense),
        None => converted(reader, run)?,
    };
    map.check()?;
    Samples::of_columns(path, features, keep, None)
}

/// Size of the features of a `.npy` file, from its header.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let map = Mapped::open(path)?;
    let reader = open(&map, path)?;
    let (n_rows, n_cols) = reader.header.feature_shape(reader.origin)?;
    let keep = columns::by_number(path, n_cols, options)?;
    let is_mapped = keep.is_none() && mapped(&map, &reader)?.is_some();
    let n_cols = keep.map_or(n_cols, |keep| keep.len());
    Ok(Size { mapped: is_mapped, ..Size::dense(n_rows, n_cols, reader.header.dtype.feature_bytes()) })
}

/// Refuses a label column: arrays and sparse texts have no named columns.
pub(super) fn refuse_label_column(options: &ReadOptions) -> Result<()> {
    match &options.label_column {
        None => Ok(()),
        Some(name) => {
            let expected = "nothing for this format; give the labels in a file of their own";
            Err(Error::param("label column", format!("'{name}'"), expected))
        }
    }
}

fn open<'a>(map: &'a Arc<Mapped>, path: &'a Path) -> Result<NpyReader<'a, Cursor<&'a [u8]>>> {
    NpyReader::new(Cursor::new(&map[..]), map.len() as u64, ArrayName::from_path(path), false)
}

/// The array as the file holds it; `None` if it must be converted.
fn mapped<R>(map: &Arc<Mapped>, reader: &NpyReader<'_, R>) -> Result<Option<Dense<'static>>> {
    let (header, dtype) = (&reader.header, reader.header.dtype);
    let (n_rows, n_cols) = header.feature_shape(reader.origin)?;
    let range = reader.offset..reader.offset + reader.n_elements * dtype.size;
    let values = with_value_type!(dtype, Type => {
        let is_native = !header.fortran && dtype.is_native(Type::NATIVE);
        let buffer = if is_native { Buffer::mapped(map.clone(), range) } else { None };
        buffer.map(Type::into_values)
    });
    values.map(|values| Dense::new(n_rows, n_cols, values)).transpose()
}

/// The array converted to the type that keeps its values.
pub(super) fn converted<R: Source>(reader: NpyReader<'_, R>, run: &Run) -> Result<Features<'static>> {
    let (n_rows, n_cols) = reader.header.feature_shape(reader.origin)?;
    let what = reader.origin.path.display().to_string();
    with_value_type!(reader.header.dtype, Type => {
        let mut rows = KeptRows::<Type>::new(&what, n_rows, n_cols)?;
        ArrayScan::new(reader, None)?.read_all(&mut rows, run)?;
        rows.finish(n_rows)
    })
}

/// Rows of a `.npy` file, read by position.
#[derive(Debug)]
pub(crate) struct ArrayRows {
    path: PathBuf,
    /// Bytes of the file.
    length: u64,
    header: Header,
    /// Byte of the first value.
    start: usize,
    /// Columns that are features, unless these are all of them in order.
    pub keep: Option<Vec<usize>>,
    n_rows: usize,
    width: usize,
}

impl ArrayRows {
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        refuse_label_column(options)?;
        let (file, length) = open_filled(path)?;
        let reader = NpyReader::new(file, length, ArrayName::from_path(path), false)?;
        let (header, start) = (reader.header, reader.offset);
        let (n_rows, width) = header.feature_shape(reader.origin)?;
        let keep = columns::by_number(path, width, options)?.and_then(|keep| columns::chosen(keep, width));
        Ok(Self { path: path.to_owned(), length, header, start, keep, n_rows, width })
    }
}

impl RowSource for ArrayRows {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.keep.as_ref().map_or(self.width, Vec::len)
    }

    fn bytes(&self) -> u64 {
        // Fortran order allows reading the features' columns alone.
        let n_read = if self.header.fortran { self.n_cols() } else { self.width };
        (self.n_rows * n_read * self.header.dtype.size) as u64
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        let place = Place::new(self, first, center)?;
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
