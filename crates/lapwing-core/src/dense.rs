//! Dense feature matrices: owned, borrowed or memory-mapped; f32, f64 or u8.

use std::any::TypeId;
use std::ops::Range;

use crate::parallel::*;
use bytemuck::Pod;

use crate::{Buffer, Error, Result, Run};

/// Rows handled as one unit of parallel work.
pub const BLOCK_ROWS: usize = 4096;

/// Values of a dense feature matrix in the type they came in; row-major.
#[derive(Clone, Debug)]
pub enum DenseValues<'a> {
    /// Single precision.
    F32(Buffer<'a, f32>),
    /// Double precision.
    F64(Buffer<'a, f64>),
    /// Bytes, as in images.
    U8(Buffer<'a, u8>),
}

impl DenseValues<'_> {
    /// An error if the values are mapped from a file that was cut short since.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn check_file(&self) -> Result<()> {
        match self {
            Self::F32(values) => values.check_file(),
            Self::F64(values) => values.check_file(),
            Self::U8(values) => values.check_file(),
        }
    }
}

/// Types of the values of features.
pub trait Value: Pod + Default + Send + Sync {
    /// The difference to `center`, rounded to single precision.
    fn less(self, center: f64) -> f32;

    /// The values of a matrix in a buffer.
    fn into_values(buffer: Buffer<'_, Self>) -> DenseValues<'_>;

    /// The values of a matrix in a vector.
    fn owned_values(values: Vec<Self>) -> DenseValues<'static> {
        Self::into_values(values.into())
    }

    /// `room` as values of this type, if this type is single precision.
    fn own_room(room: &mut [f32]) -> Option<&mut [Self]> {
        (TypeId::of::<Self>() == TypeId::of::<f32>()).then(|| bytemuck::cast_slice_mut(room))
    }
}

macro_rules! value {
    ($type:ty, $kind:ident) => {
        impl Value for $type {
            #[inline(always)]
            #[allow(clippy::useless_conversion)] // One source serves all types of values, f64 too.
            fn less(self, center: f64) -> f32 {
                (f64::from(self) - center) as f32
            }

            fn into_values(buffer: Buffer<'_, Self>) -> DenseValues<'_> {
                DenseValues::$kind(buffer)
            }
        }
    };
}
value!(u8, U8);
value!(f32, F32);
value!(f64, F64);

/// Evaluates `$body` with `$slice` as the slice of the values, whatever their type.
#[doc(hidden)]
#[macro_export]
macro_rules! with_slice {
    ($values:expr, $slice:ident => $body:expr) => {
        match $values {
            $crate::DenseValues::F32(values) => {
                let $slice = values.as_slice();
                $body
            }
            $crate::DenseValues::F64(values) => {
                let $slice = values.as_slice();
                $body
            }
            $crate::DenseValues::U8(values) => {
                let $slice = values.as_slice();
                $body
            }
        }
    };
}

/// Dense feature matrix (`n_rows`, `n_cols`), row-major, one row per sample.
#[derive(Clone, Debug)]
pub struct Dense<'a> {
    n_rows: usize,
    n_cols: usize,
    values: DenseValues<'a>,
}

impl<'a> Dense<'a> {
    /// Wraps `values`, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows · n_cols` of them.
    pub fn new(n_rows: usize, n_cols: usize, values: DenseValues<'a>) -> Result<Self> {
        let found = with_slice!(&values, slice => slice.len());
        if Some(found) != n_rows.checked_mul(n_cols) {
            return Err(Error::shape("features", format!("{n_rows} × {n_cols} values"), format!("{found} values")));
        }
        Ok(Self { n_rows, n_cols, values })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The values in their own type.
    pub fn values(&self) -> &DenseValues<'a> {
        &self.values
    }

    /// Bytes of the values, wherever they are.
    pub fn bytes(&self) -> usize {
        with_slice!(&self.values, slice => size_of_val(slice))
    }

    /// Copies row `row`, less `center` (one value per column, or empty for none), times `scale`, into `out` as f32.
    ///
    /// The difference is taken in f64, so that features far from the origin keep their digits.
    #[doc(hidden)]
    #[inline]
    pub fn copy_row_f32(&self, row: usize, center: &[f64], scale: f64, out: &mut [f32]) {
        let range = row * self.n_cols..(row + 1) * self.n_cols;
        with_slice!(&self.values, slice => scaled(&slice[range], center, scale, out));
    }

    /// Copies the rows `rows` into `out` as f32.
    #[doc(hidden)]
    pub fn copy_rows_f32(&self, rows: Range<usize>, out: &mut [f32]) {
        let range = rows.start * self.n_cols..rows.end * self.n_cols;
        match &self.values {
            DenseValues::F32(v) => out.copy_from_slice(&v.as_slice()[range]),
            DenseValues::F64(v) => out.iter_mut().zip(&v.as_slice()[range]).for_each(|(o, &x)| *o = x as f32),
            DenseValues::U8(v) => out.iter_mut().zip(&v.as_slice()[range]).for_each(|(o, &x)| *o = x.into()),
        }
    }

    /// Copies row `row` into `out` as f64.
    #[doc(hidden)]
    pub fn copy_row_f64(&self, row: usize, out: &mut [f64]) {
        self.copy_part_f64(row, 0..self.n_cols, out);
    }

    /// Copies the columns `cols` of row `row` into `out` as f64.
    // One source serves all types of values, f64 too.
    #[allow(clippy::useless_conversion)]
    #[doc(hidden)]
    pub fn copy_part_f64(&self, row: usize, cols: Range<usize>, out: &mut [f64]) {
        let range = row * self.n_cols + cols.start..row * self.n_cols + cols.end;
        with_slice!(&self.values, slice => out.iter_mut().zip(&slice[range]).for_each(|(o, &x)| *o = x.into()));
    }

    /// Column means and standard deviations (population), each (`n_cols`); sums in f64, blocks in row order.
    ///
    /// # Complexity
    /// Two passes over the values.
    pub fn column_moments(&self, run: &Run) -> (Vec<f64>, Vec<f64>) {
        let mean = self.column_means(run);
        let n = self.n_rows.max(1) as f64;
        let add_squares = |sums: &mut [f64], row: &[f64]| {
            sums.iter_mut().zip(row).zip(&mean).for_each(|((s, x), c)| *s += (x - c) * (x - c));
        };
        let deviation = self.column_sums(run, add_squares);
        (mean, deviation.iter().map(|s| (s / n).sqrt()).collect())
    }

    /// Column means (`n_cols`), in f64.
    #[doc(hidden)]
    pub fn column_means(&self, run: &Run) -> Vec<f64> {
        let n = self.n_rows.max(1) as f64;
        let add = |sums: &mut [f64], row: &[f64]| sums.iter_mut().zip(row).for_each(|(s, x)| *s += x);
        self.column_sums(run, add).iter().map(|s| s / n).collect()
    }

    /// Largest less smallest value of each column (`n_cols`); 0 without rows.
    pub fn column_ranges(&self, run: &Run) -> Vec<f64> {
        let none = || vec![(f64::INFINITY, f64::NEG_INFINITY); self.n_cols];
        let of_block = |rows: Range<usize>| {
            let (mut limits, mut values) = (none(), vec![0.0; self.n_cols]);
            for row in rows {
                self.copy_row_f64(row, &mut values);
                limits
                    .iter_mut()
                    .zip(&values)
                    .for_each(|((least, most), x)| (*least, *most) = (least.min(*x), most.max(*x)));
            }
            limits
        };
        let wider = |a: Vec<(f64, f64)>, b: Vec<(f64, f64)>| {
            a.into_iter().zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
        };
        let limits = run.install(|| blocks(self.n_rows).map(of_block).reduce(none, wider));
        limits.into_iter().map(|(least, most)| (most - least).max(0.0)).collect()
    }

    /// Whether all values of each column (`n_cols`) are equal.
    pub fn constant_columns(&self) -> Vec<bool> {
        let (mut first, mut row_values) = (vec![0.0; self.n_cols], vec![0.0; self.n_cols]);
        let mut is_constant = vec![true; self.n_cols];
        for row in 0..self.n_rows {
            self.copy_row_f64(row, &mut row_values);
            if row == 0 {
                first.copy_from_slice(&row_values);
            }
            is_constant.iter_mut().zip(&row_values).zip(&first).for_each(|((same, x), first)| *same &= x == first);
            // Usually no column is constant after a few rows.
            if row % BLOCK_ROWS == 64 && !is_constant.contains(&true) {
                break;
            }
        }
        is_constant
    }

    /// Largest |x − `center`| over all values; `center` (n_cols) or empty for none.
    #[doc(hidden)]
    pub fn largest_deviation(&self, center: &[f64], run: &Run) -> f64 {
        let of_block = |rows: Range<usize>| {
            let mut values = vec![0.0; self.n_cols];
            rows.fold(0.0f64, |most, row| {
                self.copy_row_f64(row, &mut values);
                let deviation = |(at, x): (usize, &f64)| (x - center.get(at).copied().unwrap_or(0.0)).abs();
                values.iter().enumerate().map(deviation).fold(most, f64::max)
            })
        };
        run.install(|| blocks(self.n_rows).map(of_block).reduce(|| 0.0, f64::max))
    }

    /// Sums of the columns (`n_cols`), to which `add` adds what a row contributes.
    fn column_sums(&self, run: &Run, add: impl Fn(&mut [f64], &[f64]) + Sync) -> Vec<f64> {
        let of_block = |rows: Range<usize>| {
            let (mut sums, mut values) = (vec![0.0; self.n_cols], vec![0.0; self.n_cols]);
            for row in rows {
                self.copy_row_f64(row, &mut values);
                add(&mut sums, &values);
            }
            sums
        };
        let sums: Vec<Vec<f64>> = run.install(|| blocks(self.n_rows).map(of_block).collect());
        sums.iter().fold(vec![0.0; self.n_cols], |mut total, block| {
            total.iter_mut().zip(block).for_each(|(t, b)| *t += b);
            total
        })
    }
}

/// The blocks of rows that are worked on in parallel.
pub fn blocks(n_rows: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    let block = move |block: usize| block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(n_rows);
    (0..n_rows.div_ceil(BLOCK_ROWS)).into_par_iter().map(block)
}

#[inline]
fn scaled<T: Copy + Into<f64>>(row: &[T], center: &[f64], scale: f64, out: &mut [f32]) {
    if center.is_empty() {
        out.iter_mut().zip(row).for_each(|(o, &x)| *o = (x.into() * scale) as f32);
    } else {
        out.iter_mut().zip(row).zip(center).for_each(|((o, &x), &c)| *o = ((x.into() - c) * scale) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_centered_in_double_precision() {
        let dense = Dense::new(2, 1, DenseValues::F64(vec![1e9 + 1.0, 1e9 + 3.0].into())).unwrap();
        let run = Run::new(Some(1), 0).unwrap();
        let (mean, deviation) = dense.column_moments(&run);
        let mut out = [0f32];
        dense.copy_row_f32(0, &mean, 2.0, &mut out);
        assert_eq!((out[0], deviation[0]), (-2.0, 1.0));
    }
}
