//! Features from a `.npy` file: memory-mapped where the layout allows it.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::columns;
use super::format::map;
use super::npy::{Dtype, Kind, NpyReader, Number, Origin};
use super::origin::Origin as SampleOrigin;
use super::{ReadOptions, Samples, Size};
use crate::{Buffer, Dense, DenseValues, Error, Features, Result, Run};

/// Type that numbers are held in, narrowest that keeps them: bytes, single or double precision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    U8,
    F32,
    F64,
}

impl Width {
    pub(super) fn of(dtype: Dtype) -> Self {
        match (dtype.kind, dtype.size) {
            (Kind::UInt, 1) => Self::U8,
            (Kind::Float, 2 | 4) | (Kind::Bool, _) | (Kind::Int | Kind::UInt, 1 | 2) => Self::F32,
            _ => Self::F64,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Reads the features of a `.npy` file.
///
/// # Errors
/// [`Error::Format`] for anything but a table of numbers.
pub(super) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    refuse_label_column(options)?;
    let map = map(path)?;
    let reader = open(&map, path)?;
    let (_, n_cols) = reader.header.matrix_shape(reader.origin)?;
    let keep = columns::by_number(path, n_cols, options)?;
    let features = match mapped(&map, &reader)? {
        Some(dense) => Features::Dense(dense),
        None => dense(reader, run)?,
    };
    let features = columns::select(features, keep.as_deref())?;
    let origin = SampleOrigin { positions: keep, ..SampleOrigin::of(path) };
    Ok(Samples { features, feature_names: None, labels: None, origin })
}

/// Size of the features of a `.npy` file, from its header.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let map = map(path)?;
    let reader = open(&map, path)?;
    let (n_rows, n_cols) = reader.header.matrix_shape(reader.origin)?;
    let keep = columns::by_number(path, n_cols, options)?;
    let is_mapped = keep.is_none() && mapped(&map, &reader)?.is_some();
    let n_cols = keep.map_or(n_cols, |keep| keep.len());
    Ok(Size { mapped: is_mapped, ..Size::dense(n_rows, n_cols, Width::of(reader.header.dtype).bytes()) })
}

/// Arrays carry no labels of their own.
pub(super) fn refuse_label_column(options: &ReadOptions) -> Result<()> {
    match &options.label_column {
        None => Ok(()),
        Some(name) => {
            let expected = "nothing for this format; give the labels in a file of their own";
            Err(Error::param("label column", format!("'{name}'"), expected))
        }
    }
}

fn open<'a>(map: &'a Arc<Mmap>, path: &'a Path) -> Result<NpyReader<'a, Cursor<&'a [u8]>>> {
    NpyReader::new(Cursor::new(&map[..]), map.len() as u64, Origin { path, array: "" })
}

/// The array as it lies in the file; `None` if it has to be converted.
fn mapped<R: std::io::Read>(map: &Arc<Mmap>, reader: &NpyReader<'_, R>) -> Result<Option<Dense<'static>>> {
    let header = &reader.header;
    let swapped = header.dtype.big_endian != cfg!(target_endian = "big") && header.dtype.size > 1;
    if header.fortran || swapped {
        return Ok(None);
    }
    let range = reader.offset..reader.offset + reader.n_elements * header.dtype.size;
    let values = match (header.dtype.kind, header.dtype.size) {
        (Kind::Float, 4) => Buffer::mapped(map.clone(), range).map(DenseValues::F32),
        (Kind::Float, 8) => Buffer::mapped(map.clone(), range).map(DenseValues::F64),
        (Kind::UInt, 1) => Buffer::mapped(map.clone(), range).map(DenseValues::U8),
        _ => None,
    };
    let (n_rows, n_cols) = header.matrix_shape(reader.origin)?;
    values.map(|values| Dense::new(n_rows, n_cols, values)).transpose()
}

/// The array converted to the type that keeps its values.
pub(super) fn dense<R: std::io::Read>(reader: NpyReader<'_, R>, run: &Run) -> Result<Features<'static>> {
    let (n_rows, n_cols) = reader.header.matrix_shape(reader.origin)?;
    fn values<R: std::io::Read, N: Number>(reader: NpyReader<'_, R>, run: &Run) -> Result<Buffer<'static, N>> {
        reader.numbers(run).map(Buffer::from)
    }
    let values = match Width::of(reader.header.dtype) {
        Width::U8 => DenseValues::U8(values(reader, run)?),
        Width::F32 => DenseValues::F32(values(reader, run)?),
        Width::F64 => DenseValues::F64(values(reader, run)?),
    };
    Dense::new(n_rows, n_cols, values).map(Features::Dense)
}
