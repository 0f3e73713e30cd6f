//! Feature matrices, one row per sample: dense (owned, borrowed or memory-mapped; f32, f64 or u8) or sparse.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::Mmap;
use rayon::prelude::*;

use crate::bad_columns::{ValueSurvey, is_bad};
use crate::ordered::{add, sum_over_rows};
use crate::{BadColumns, Csr, Error, Result, Run};

/// Features all of whose values are below this have distances, and differences of distances, that single precision does
/// not hold: its least normal number is 1.2e-38, and distances matter to seven digits.
const SMALLEST: f64 = 1e-30;

/// Rows handled as one unit of parallel work.
const BLOCK_ROWS: usize = 4096;

/// Dense matrix of f64, row-major: scores, label distributions, targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    n_rows: usize,
    n_cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// Takes over `values`, row-major.
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

    /// All values, to change in place.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Gives the values back, row-major.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n_cols..(row + 1) * self.n_cols]
    }

    /// Row `row`, to change in place.
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
    /// Held here; clones share it.
    Owned(Arc<Vec<T>>),
    /// Borrowed from the caller.
    Borrowed(&'a [T]),
    /// Bytes of a mapped file; pages are read when touched.
    Mapped(MappedSlice<T>),
}

/// Part of a mapped file seen as values of type `T`; made by [`Buffer::mapped`].
#[derive(Clone, Debug)]
pub struct MappedSlice<T> {
    map: Arc<Mmap>,
    bytes: Range<usize>,
    kind: PhantomData<T>,
}

impl<T: AnyBitPattern + NoUninit> Buffer<'_, T> {
    /// Values of type `T` in `bytes` of a mapped file; `None` if the range is outside or misaligned.
    pub fn mapped(map: Arc<Mmap>, bytes: Range<usize>) -> Option<Self> {
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
        let found = match &values {
            DenseValues::F32(v) => v.as_slice().len(),
            DenseValues::F64(v) => v.as_slice().len(),
            DenseValues::U8(v) => v.as_slice().len(),
        };
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

    /// Copies row `row`, less `shift` (one value per column, or empty for none), times `scale`, into `out` as f32.
    ///
    /// The difference is taken in f64, so that features far from the origin keep their digits.
    #[inline]
    pub fn copy_row_f32(&self, row: usize, shift: &[f64], scale: f64, out: &mut [f32]) {
        let range = row * self.n_cols..(row + 1) * self.n_cols;
        match &self.values {
            DenseValues::F32(v) => shifted(&v.as_slice()[range], shift, scale, out),
            DenseValues::F64(v) => shifted(&v.as_slice()[range], shift, scale, out),
            DenseValues::U8(v) => shifted(&v.as_slice()[range], shift, scale, out),
        }
    }

    /// Copies the rows `rows`, less `shift` (one value per column, or empty for none), into `out` as f32: the difference
    /// is taken in the type of the values, then rounded.
    pub fn copy_rows_f32(&self, rows: Range<usize>, shift: &[f32], out: &mut [f32]) {
        let range = rows.start * self.n_cols..rows.end * self.n_cols;
        match &self.values {
            DenseValues::F32(v) => single_rows(&v.as_slice()[range], shift, out, |x, s| x - s),
            DenseValues::F64(v) => single_rows(&v.as_slice()[range], shift, out, |x, s| (x - f64::from(s)) as f32),
            DenseValues::U8(v) => single_rows(&v.as_slice()[range], shift, out, |x, s| f32::from(x) - s),
        }
    }

    /// Copies row `row` into `out` as f64.
    pub fn copy_row_f64(&self, row: usize, out: &mut [f64]) {
        self.copy_part_f64(row, 0..self.n_cols, out);
    }

    /// Copies the columns `cols` of row `row` into `out` as f64.
    pub fn copy_part_f64(&self, row: usize, cols: Range<usize>, out: &mut [f64]) {
        let range = row * self.n_cols + cols.start..row * self.n_cols + cols.end;
        match &self.values {
            DenseValues::F32(v) => out.iter_mut().zip(&v.as_slice()[range]).for_each(|(o, &x)| *o = x.into()),
            DenseValues::F64(v) => out.copy_from_slice(&v.as_slice()[range]),
            DenseValues::U8(v) => out.iter_mut().zip(&v.as_slice()[range]).for_each(|(o, &x)| *o = x.into()),
        }
    }

    /// Column means and standard deviations (population), each (`n_cols`); sums in f64, blocks in row order.
    ///
    /// # Complexity
    /// Two passes over the values.
    pub fn column_moments(&self, run: &Run) -> (Vec<f64>, Vec<f64>) {
        let n = self.n_rows.max(1) as f64;
        let mean: Vec<f64> = self.column_sums(run, &[]).iter().map(|s| s / n).collect();
        let deviation = self.column_sums(run, &mean).iter().map(|s| (s / n).sqrt()).collect();
        (mean, deviation)
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
            // Most often none is, after a few rows.
            if row % BLOCK_ROWS == 64 && !is_constant.contains(&true) {
                break;
            }
        }
        is_constant
    }

    /// Column means (`n_cols`), in f64.
    pub fn column_means(&self, run: &Run) -> Vec<f64> {
        let n = self.n_rows.max(1) as f64;
        self.column_sums(run, &[]).iter().map(|s| s / n).collect()
    }

    /// Largest |x − `center`| over all values; `center` (n_cols) or empty for none.
    pub fn largest_deviation(&self, center: &[f64], run: &Run) -> f64 {
        let block_max = |block: usize| {
            let mut values = vec![0.0; self.n_cols];
            (block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(self.n_rows)).fold(0.0f64, |most, row| {
                self.copy_row_f64(row, &mut values);
                let deviation = |(at, x): (usize, &f64)| (x - center.get(at).copied().unwrap_or(0.0)).abs();
                values.iter().enumerate().map(deviation).fold(most, f64::max)
            })
        };
        run.install(|| (0..self.n_rows.div_ceil(BLOCK_ROWS)).into_par_iter().map(block_max).reduce(|| 0.0, f64::max))
    }

    /// Sums of the columns, or of squared differences to `center` where one is given.
    fn column_sums(&self, run: &Run, center: &[f64]) -> Vec<f64> {
        run.install(|| {
            sum_over_rows(self.n_rows, BLOCK_ROWS, self.n_cols, |rows, sums| {
                let mut values = vec![0.0; self.n_cols];
                for row in rows {
                    self.copy_row_f64(row, &mut values);
                    if !center.is_empty() {
                        values.iter_mut().zip(center).for_each(|(x, c)| *x = (*x - c) * (*x - c));
                    }
                    add(sums, &values);
                }
            })
        })
    }
}

#[inline]
fn shifted<T: Copy + Into<f64>>(row: &[T], shift: &[f64], scale: f64, out: &mut [f32]) {
    if shift.is_empty() {
        out.iter_mut().zip(row).for_each(|(o, &x)| *o = (x.into() * scale) as f32);
    } else {
        out.iter_mut().zip(row).zip(shift).for_each(|((o, &x), &s)| *o = ((x.into() - s) * scale) as f32);
    }
}

#[inline(always)]
fn single_rows<T: Copy>(values: &[T], shift: &[f32], out: &mut [f32], less: impl Fn(T, f32) -> f32) {
    if shift.is_empty() {
        return out.iter_mut().zip(values).for_each(|(out, &x)| *out = less(x, 0.0));
    }
    for (out, values) in out.chunks_exact_mut(shift.len()).zip(values.chunks_exact(shift.len())) {
        out.iter_mut().zip(values).zip(shift).for_each(|((out, &x), &s)| *out = less(x, s));
    }
}

/// Feature matrix (n_samples, n_features): what graphs are built from and new points are given as.
#[derive(Clone, Debug)]
pub enum Features<'a> {
    /// Every value stored.
    Dense(Dense<'a>),
    /// Only non-zero values stored, as in text.
    Sparse(Arc<Csr<f32>>),
}

impl<'a> Features<'a> {
    /// Owned dense features, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows · n_cols` values.
    pub fn from_f32(n_rows: usize, n_cols: usize, values: Vec<f32>) -> Result<Self> {
        Dense::new(n_rows, n_cols, DenseValues::F32(values.into())).map(Self::Dense)
    }

    /// Owned dense features in double precision, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows · n_cols` values.
    pub fn from_f64(n_rows: usize, n_cols: usize, values: Vec<f64>) -> Result<Self> {
        Dense::new(n_rows, n_cols, DenseValues::F64(values.into())).map(Self::Dense)
    }

    /// Owned dense features of bytes, row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows · n_cols` values.
    pub fn from_u8(n_rows: usize, n_cols: usize, values: Vec<u8>) -> Result<Self> {
        Dense::new(n_rows, n_cols, DenseValues::U8(values.into())).map(Self::Dense)
    }

    /// Number of samples.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.n_rows(),
            Self::Sparse(sparse) => sparse.n_rows(),
        }
    }

    /// Number of features.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.n_cols(),
            Self::Sparse(sparse) => sparse.n_cols(),
        }
    }

    /// Bytes of the values, wherever they are.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Dense(dense) => {
                let width = match dense.values() {
                    DenseValues::F32(_) => 4,
                    DenseValues::F64(_) => 8,
                    DenseValues::U8(_) => 1,
                };
                dense.n_rows() * dense.n_cols() * width
            }
            Self::Sparse(sparse) => sparse.bytes(),
        }
    }

    /// A copy of the rows `rows`, in that order, in their own type.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first row that is not there.
    pub fn select(&self, rows: &[u32]) -> Result<Features<'static>> {
        if let Some(row) = rows.iter().find(|&&row| row as usize >= self.n_rows()) {
            return Err(Error::param("row", row, format!("below {}", self.n_rows())));
        }
        let (n, d) = (rows.len(), self.n_cols());
        match self {
            Self::Dense(dense) => match dense.values() {
                DenseValues::F32(v) => Features::from_f32(n, d, gathered(v.as_slice(), d, rows)),
                DenseValues::F64(v) => Features::from_f64(n, d, gathered(v.as_slice(), d, rows)),
                DenseValues::U8(v) => Features::from_u8(n, d, gathered(v.as_slice(), d, rows)),
            },
            Self::Sparse(sparse) => {
                let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
                for &row in rows {
                    let (columns, entries) = sparse.row(row as usize);
                    indices.extend_from_slice(columns);
                    values.extend_from_slice(entries);
                    indptr.push(indices.len() as u64);
                }
                Ok(Features::Sparse(Arc::new(Csr::new(n, d, indptr, indices, values)?)))
            }
        }
    }

    /// Checks that there is something to work on: rows, columns, and finite values that fit f32 and are not all so small
    /// that their distances do not.
    ///
    /// # Errors
    /// [`Error::Shape`] for no rows or no columns; [`Error::Columns`] naming every column with values that
    /// are not finite or too large; [`Error::Value`] naming the largest where all are too small.
    ///
    /// # Complexity
    /// One pass; one more where there are bad values.
    pub fn check(&self, run: &Run) -> Result<()> {
        if self.n_rows() == 0 {
            return Err(Error::shape("features", "at least one row (n_samples)", "0 samples"));
        }
        if self.n_cols() == 0 {
            return Err(Error::shape("features", "at least one column", "0 feature(s)"));
        }
        let n = self.n_rows();
        let block = |block: usize| block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(n);
        let largest = run.install(|| {
            (0..n.div_ceil(BLOCK_ROWS)).into_par_iter().map(|at| self.largest(block(at))).max_by(f64::total_cmp)
        });
        match largest.unwrap_or(0.0) {
            most if is_bad(most) => Err(self.bad_columns(run)?.map_or_else(unfound, Error::columns)),
            most if most > 0.0 && most < SMALLEST => Err(self.underflow(most)),
            _ => Ok(()),
        }
    }

    /// The largest absolute value of some rows; NaN where there is one.
    fn largest(&self, rows: Range<usize>) -> f64 {
        match self {
            Self::Dense(dense) => {
                let range = rows.start * dense.n_cols()..rows.end * dense.n_cols();
                match dense.values() {
                    DenseValues::U8(_) => 1.0,
                    DenseValues::F32(v) => largest_f32(&v.as_slice()[range]),
                    DenseValues::F64(v) => largest_f64(&v.as_slice()[range]),
                }
            }
            Self::Sparse(sparse) => {
                let range = sparse.indptr()[rows.start] as usize..sparse.indptr()[rows.end] as usize;
                largest_f32(&sparse.values()[range])
            }
        }
    }

    /// The error for features of which `most` is the largest absolute value.
    fn underflow(&self, most: f64) -> Error {
        let is_largest = |x: f64| x.abs() == most;
        let place = match self {
            Self::Dense(dense) => {
                let at = match dense.values() {
                    DenseValues::U8(_) => None,
                    DenseValues::F32(v) => v.as_slice().iter().position(|&x| is_largest(x.into())),
                    DenseValues::F64(v) => v.as_slice().iter().position(|&x| is_largest(x)),
                };
                at.map(|at| (at / dense.n_cols(), at % dense.n_cols()))
            }
            Self::Sparse(sparse) => sparse.values().iter().position(|&x| is_largest(x.into())).map(|at| {
                let row = sparse.indptr().partition_point(|&start| start as usize <= at) - 1;
                (row, sparse.indices()[at] as usize)
            }),
        };
        Error::Value {
            what: "features".into(),
            row: place.map_or(0, |place| place.0),
            col: place.map(|place| place.1),
            value: format!("{most:e} as the largest value of all"),
            advice: "distances between such values underflow in single precision; scale the features up".into(),
        }
    }

    /// All columns with values that cannot be used.
    fn bad_columns(&self, run: &Run) -> Result<Option<BadColumns>> {
        let (mut survey, n) = (ValueSurvey::default(), self.n_rows());
        let mut values = vec![0.0; if matches!(self, Self::Dense(_)) { self.n_cols() } else { 0 }];
        for row in 0..n {
            if row % BLOCK_ROWS == 0 {
                run.check()?;
            }
            match self {
                Self::Dense(dense) => {
                    dense.copy_row_f64(row, &mut values);
                    values.iter().enumerate().for_each(|(at, &x)| survey.look(at, row, None, x));
                }
                Self::Sparse(sparse) => {
                    let (columns, values) = sparse.row(row);
                    columns.iter().zip(values).for_each(|(&at, &x)| survey.look(at as usize, row, None, x.into()));
                }
            }
        }
        Ok(survey.finish("features", n))
    }
}

/// The largest absolute value, by its bits: these are in the order of the numbers, and NaN comes behind all.
fn largest_f32(values: &[f32]) -> f64 {
    f32::from_bits(values.iter().fold(0, |most, x| most.max(x.to_bits() & !(1 << 31)))).into()
}

/// As [`largest_f32`].
fn largest_f64(values: &[f64]) -> f64 {
    f64::from_bits(values.iter().fold(0, |most, x| most.max(x.to_bits() & !(1 << 63))))
}

/// Values that were bad a moment ago: a file that is mapped has changed.
fn unfound() -> Error {
    Error::shape("features", "a file that stays as it is", "changed while it was read")
}

/// Rows `rows` of a row-major matrix of `d` columns.
fn gathered<T: Copy>(values: &[T], d: usize, rows: &[u32]) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() * d);
    rows.iter().for_each(|&row| out.extend_from_slice(&values[row as usize * d..][..d]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_rows_keep_their_type_and_values() {
        let dense = Features::from_u8(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let Features::Dense(rows) = dense.select(&[2, 0, 2]).unwrap() else { panic!("dense rows became sparse") };
        let DenseValues::U8(values) = rows.values() else { panic!("bytes became something else") };
        assert_eq!(values.as_slice(), [5, 6, 1, 2, 5, 6]);
        let csr = Csr::from_entries(3, 4, &[(0, 1, 1.0f32), (2, 0, 2.0), (2, 3, 3.0)]).unwrap();
        let Features::Sparse(rows) = Features::Sparse(Arc::new(csr)).select(&[2, 1]).unwrap() else { panic!() };
        assert_eq!(rows.row(0), ([0u32, 3].as_slice(), [2.0, 3.0].as_slice()));
        assert_eq!((rows.n_rows(), rows.row(1).0.len()), (2, 0));
        assert!(dense.select(&[3]).unwrap_err().to_string().contains("below 3"));
    }

    #[test]
    fn bad_values_are_named_by_row_and_column() {
        let run = Run::new(Some(2), 0).unwrap();
        let mut values = vec![1.0f64; 9000 * 3];
        values[8500 * 3 + 2] = f64::NAN;
        values[8900 * 3] = f64::INFINITY;
        let text = Features::from_f64(9000, 3, values).unwrap().check(&run).unwrap_err().to_string();
        assert_eq!(
            text,
            "features: 2 columns with missing or infinite values: column 0 (1 of 9000 rows, first inf in row 8900), \
             column 2 (1 of 9000 rows, first NaN in row 8500); impute these, or leave them out"
        );
        let sparse = Csr::new(3, 4, vec![0, 1, 1, 3], vec![0, 1, 3], vec![1.0, 2.0, f32::INFINITY]).unwrap();
        let text = Features::Sparse(Arc::new(sparse)).check(&run).unwrap_err().to_string();
        assert!(text.contains("column 3 (1 of 3 rows, first inf in row 2)"), "{text}");
        assert!(Features::from_f64(1, 1, vec![1e300]).unwrap().check(&run).unwrap_err().to_string().contains("1e300"));
        assert!(Features::from_f32(0, 3, vec![]).unwrap().check(&run).is_err());
    }

    #[test]
    fn values_too_small_for_distances_are_refused() {
        let run = Run::new(Some(2), 0).unwrap();
        let text = |values: Vec<f64>| Features::from_f64(2, 2, values).unwrap().check(&run).map_err(|e| e.to_string());
        let refused = text(vec![0.0, 1e-310, -3e-310, 0.0]).unwrap_err();
        assert!(
            refused.starts_with("row 1 of features holds 3e-310 as the largest value of all (column 0)"),
            "{refused}"
        );
        assert!(text(vec![0.0, 1e-310, -3e-29, 0.0]).is_ok() && text(vec![0.0; 4]).is_ok());
        let sparse = Csr::new(2, 4, vec![0, 0, 1], vec![3], vec![1e-40f32]).unwrap();
        assert!(Features::Sparse(Arc::new(sparse)).check(&run).unwrap_err().to_string().contains("row 1"));
    }

    #[test]
    fn rows_are_shifted_in_double_precision() {
        let dense = Dense::new(2, 1, DenseValues::F64(vec![1e9 + 1.0, 1e9 + 3.0].into())).unwrap();
        let run = Run::new(Some(1), 0).unwrap();
        let (mean, deviation) = dense.column_moments(&run);
        let mut out = [0f32];
        dense.copy_row_f32(0, &mean, 2.0, &mut out);
        assert_eq!((out[0], deviation[0]), (-2.0, 1.0));
    }
}
