//! Dense matrices of f64, and buffers that are owned, borrowed or mapped from a file.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::mapped::Mapped;
use crate::{Error, Result};
use bytemuck::{AnyBitPattern, NoUninit};

/// Dense matrix of f64, row-major: scores, label distributions, targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    n_rows: usize,
    n_cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// A matrix of `values`, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows · n_cols` of them.
    pub fn new(n_rows: usize, n_cols: usize, values: Vec<f64>) -> Result<Self> {
        if Some(values.len()) != n_rows.checked_mul(n_cols) {
            return Err(Error::shape(
                "matrix",
                format!("{n_rows} × {n_cols} values"),
                format!("{} values", values.len()),
            ));
        }
        Ok(Self { n_rows, n_cols, values })
    }

    /// Matrix with every entry `value`.
    pub fn filled(n_rows: usize, n_cols: usize, value: f64) -> Self {
        Self { n_rows, n_cols, values: vec![value; n_rows * n_cols] }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All values, row-major.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// The values, row-major.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n_cols..(row + 1) * self.n_cols]
    }

    /// Row `row`, mutable.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.n_cols..(row + 1) * self.n_cols]
    }

    /// The rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        (0..self.n_rows).map(|row| self.row(row))
    }
}

/// A slice that is owned, borrowed from the caller, or mapped from a file.
#[derive(Clone, Debug)]
pub enum Buffer<'a, T> {
    /// Owned values, which clones share.
    Owned(Arc<Vec<T>>),
    /// Borrowed from the caller.
    Borrowed(&'a [T]),
    /// Bytes of a mapped file; the system reads pages when they are used.
    Mapped(MappedSlice<T>),
}

/// Part of a mapped file seen as values of type `T`.
#[derive(Clone, Debug)]
pub struct MappedSlice<T> {
    map: Arc<Mapped>,
    bytes: Range<usize>,
    kind: PhantomData<T>,
}

impl<T: AnyBitPattern + NoUninit> Buffer<'_, T> {
    /// Values of type `T` in the range `bytes` of a mapped file; `None` if the range is outside the file or misaligned.
    pub fn mapped(map: Arc<Mapped>, bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Self::Mapped(MappedSlice { map, bytes, kind: PhantomData }))
    }

    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Borrowed(values) => values,
            // Range and alignment were checked when the buffer was made.
            Self::Mapped(slice) => bytemuck::cast_slice(&slice.map[slice.bytes.clone()]),
        }
    }
}

impl<T> Buffer<'_, T> {
    /// An error if the values are mapped from a file that was cut short since.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub(crate) fn check_file(&self) -> Result<()> {
        if let Self::Mapped(slice) = self { slice.map.check() } else { Ok(()) }
    }
}

impl<T: Clone> Buffer<'_, T> {
    /// The same values without a borrow: shared if they are owned or mapped, copied if they are borrowed.
    pub fn to_static(&self) -> Buffer<'static, T> {
        match self {
            Self::Owned(values) => Buffer::Owned(values.clone()),
            Self::Borrowed(values) => values.to_vec().into(),
            Self::Mapped(slice) => Buffer::Mapped(slice.clone()),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<'_, T> {
    fn from(values: Vec<T>) -> Self {
        Self::Owned(Arc::new(values))
    }
}
