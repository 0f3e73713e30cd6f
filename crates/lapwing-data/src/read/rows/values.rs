//! Elements of an array in a file, some at a time, converted where the type of the file is another.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use bytemuck::Pod;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

use crate::read::format::open_filled;
use crate::read::npy::{Dtype, Kind, Number, Origin, decode};
use crate::{Error, Result};

/// Bytes of elements read at a time where they are converted: few enough to stay in a processor's cache.
pub(super) const PIECE_BYTES: usize = 1 << 17;

/// Numbers that rows are made of.
pub(super) trait Value: Number + Pod + Send {
    /// What elements are that stand in the file as in memory.
    const NATIVE: (Kind, usize);

    /// The difference to `shift`, taken in this type, in single precision.
    fn less(self, shift: f32) -> f32;

    /// Converts elements of type `dtype`; `bytes` is aligned for any of them.
    fn convert(bytes: &[u8], dtype: Dtype, values: &mut [Self]) {
        convert_each(bytes, dtype, values);
    }
}

impl Value for u8 {
    const NATIVE: (Kind, usize) = (Kind::UInt, 1);

    #[inline(always)]
    fn less(self, shift: f32) -> f32 {
        f32::from(self) - shift
    }
}

impl Value for f32 {
    const NATIVE: (Kind, usize) = (Kind::Float, 4);

    #[inline(always)]
    fn less(self, shift: f32) -> f32 {
        self - shift
    }

    fn convert(bytes: &[u8], dtype: Dtype, values: &mut [Self]) {
        let is_half = (dtype.kind, dtype.size) == (Kind::Float, 2) && is_in_order(dtype);
        match bytemuck::try_cast_slice::<u8, u16>(bytes) {
            // Processors convert several of half precision at a time.
            Ok(halves) if is_half => halves.reinterpret_cast::<half::f16>().convert_to_f32_slice(values),
            _ => convert_each(bytes, dtype, values),
        }
    }
}

impl Value for f64 {
    const NATIVE: (Kind, usize) = (Kind::Float, 8);

    #[inline(always)]
    fn less(self, shift: f32) -> f32 {
        (self - f64::from(shift)) as f32
    }
}

/// A handle of the file for one reader: the system reads ahead for each.
pub(super) struct Source<'s> {
    path: &'s Path,
    file: File,
    /// Where the file stands.
    position: u64,
}

impl<'s> Source<'s> {
    /// Opens the file again, which had `length` bytes.
    pub(super) fn open(path: &'s Path, length: u64) -> Result<Self> {
        let (file, found) = open_filled(path)?;
        if found != length {
            let reason = format!("the file has changed ({found} bytes, {length} before)");
            return Err(Error::format(path, None, reason));
        }
        Ok(Self { path, file, position: 0 })
    }

    /// Fills `bytes` with those of the file from `start` on.
    pub(super) fn read(&mut self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let mut fill = || {
            if self.position != start {
                self.file.seek(SeekFrom::Start(start))?;
            }
            self.file.read_exact(bytes)
        };
        let filled = fill();
        // Behind an error, the place is not known.
        self.position = if filled.is_ok() { start + bytes.len() as u64 } else { u64::MAX };
        filled.map_err(|e| Origin { path: self.path, array: "" }.io(e))
    }
}

/// Elements of a file of type `dtype`, read as `T`.
pub(super) struct Elements<'s, T> {
    source: Source<'s>,
    /// Byte of the first element.
    start: u64,
    dtype: Dtype,
    /// Whether the file holds `T` as memory does.
    is_native: bool,
    /// Bytes that wait to be converted, aligned for any element.
    bytes: Vec<u64>,
    values: Vec<T>,
}

impl<'s, T: Value> Elements<'s, T> {
    pub(super) fn new(source: Source<'s>, start: u64, dtype: Dtype) -> Self {
        let is_native = (dtype.kind, dtype.size) == T::NATIVE && is_in_order(dtype);
        Self { source, start, dtype, is_native, bytes: Vec::new(), values: Vec::new() }
    }

    /// The elements `first..first + count`.
    pub(super) fn load(&mut self, first: u64, count: usize) -> Result<&[T]> {
        let start = self.start + first * self.dtype.size as u64;
        self.values.resize(self.values.len().max(count), T::default());
        let values = &mut self.values[..count];
        if self.is_native {
            self.source.read(start, bytemuck::cast_slice_mut(values))?;
            return Ok(values);
        }
        let n_bytes = count * self.dtype.size;
        self.bytes.resize(self.bytes.len().max(n_bytes.div_ceil(8)), 0);
        let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.bytes)[..n_bytes];
        self.source.read(start, bytes)?;
        T::convert(bytes, self.dtype, values);
        Ok(values)
    }
}

/// Whether the bytes of each element stand as the processor has them.
pub(super) fn is_in_order(dtype: Dtype) -> bool {
    dtype.size == 1 || dtype.big_endian == cfg!(target_endian = "big")
}

fn convert_each<N: Number>(bytes: &[u8], dtype: Dtype, values: &mut [N]) {
    let mut values = values.iter_mut();
    decode(bytes, dtype, |number| {
        if let Some(value) = values.next() {
            *value = number;
        }
    });
}
