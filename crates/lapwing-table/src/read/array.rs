//! Features from a `.npy` file: memory-mapped if the layout allows it.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use super::columns;
use super::npy::{ArrayName, ArrayScan, NpyReader, Number, Source, with_value_type};
use super::origin::SampleOrigin;
use super::{ReadOptions, Samples, Size};
use lapwing_core::mapped::Mapped;
use lapwing_core::scan::{KeptRows, Value};
use lapwing_core::{Buffer, Dense, Error, Features, Result, Run};

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
    let features = columns::select(features, keep.as_deref())?;
    let origin = SampleOrigin { positions: keep, ..SampleOrigin::new(path) };
    Ok(Samples { features, feature_names: None, labels: None, names: None, warnings: Vec::new(), origin })
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
