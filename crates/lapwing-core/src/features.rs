//! Feature matrices, one row per sample: dense or sparse.

use std::ops::Range;
use std::sync::Arc;

use crate::parallel::*;

use crate::bad_columns::{ValueSurvey, is_bad};
use crate::dense::{BLOCK_ROWS, Value, blocks};
use crate::{BadColumns, Csr, Dense, DenseValues, Error, Result, Run, with_slice};

/// Smallest allowed value of the largest absolute feature. Below it, single precision does not hold distances and their
/// differences: its least normal number is 1.2e-38, and distances need seven digits.
const SMALLEST: f64 = 1e-30;

/// Feature matrix (n_samples, n_features), of fitted or of new rows.
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
            Self::Dense(dense) => dense.bytes(),
            Self::Sparse(sparse) => sparse.bytes(),
        }
    }

    /// A copy of the rows `rows`, in that order, in the type of the features.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first row out of range.
    pub fn select(&self, rows: &[u32]) -> Result<Features<'static>> {
        if let Some(row) = rows.iter().find(|&&row| row as usize >= self.n_rows()) {
            return Err(Error::param("row", row, format!("below {}", self.n_rows())));
        }
        let (n, d) = (rows.len(), self.n_cols());
        match self {
            Self::Dense(dense) => {
                let values = with_slice!(dense.values(), slice => Value::owned_values(gathered(slice, d, rows)));
                Dense::new(n, d, values).map(Features::Dense)
            }
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

    /// The rows (n, d) of several parts, one after another, in the type of the first.
    ///
    /// # Errors
    /// [`Error::Shape`] unless all are of one type and of `n_cols` columns.
    pub fn stacked(parts: &[Features<'_>], n_cols: usize) -> Result<Features<'static>> {
        use DenseValues::{F32, F64, U8};
        let unequal = || Error::shape("features", format!("parts of one type and {n_cols} columns"), "others");
        let n_rows = parts.iter().map(Features::n_rows).sum();
        if let Some(Features::Sparse(_)) = parts.first() {
            let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
            for part in parts {
                let Features::Sparse(sparse) = part else { return Err(unequal()) };
                let before = indices.len() as u64;
                indptr.extend(sparse.indptr()[1..].iter().map(|end| before + end));
                indices.extend_from_slice(sparse.indices());
                values.extend_from_slice(sparse.values());
            }
            return Ok(Features::Sparse(Arc::new(Csr::new(n_rows, n_cols, indptr, indices, values)?)));
        }
        macro_rules! joined {
            ($kind:path) => {{
                let mut all = Vec::new();
                for part in parts {
                    let Features::Dense(dense) = part else { return Err(unequal()) };
                    let $kind(values) = dense.values() else { return Err(unequal()) };
                    all.extend_from_slice(values.as_slice());
                }
                $kind(all.into())
            }};
        }
        let values = match parts.first() {
            Some(Features::Dense(first)) if matches!(first.values(), F64(_)) => joined!(F64),
            Some(Features::Dense(first)) if matches!(first.values(), U8(_)) => joined!(U8),
            _ => joined!(F32),
        };
        Dense::new(n_rows, n_cols, values).map(Features::Dense)
    }

    /// Checks that there are rows and columns, that all values are finite and fit f32, and that not all are so small
    /// that f32 does not hold their distances.
    ///
    /// # Errors
    /// [`Error::Shape`] for no rows or no columns; [`Error::Columns`] naming every column with values that are not
    /// finite or too large; [`Error::Value`] naming the largest value if all are too small.
    ///
    /// # Complexity
    /// One pass; two if there are bad values.
    pub fn check(&self, run: &Run) -> Result<()> {
        if self.n_rows() == 0 {
            return Err(Error::shape("features", "at least one row (n_samples)", "0 samples"));
        }
        if self.n_cols() == 0 {
            return Err(Error::shape("features", "at least one column", "0 feature(s)"));
        }
        let largest = run.install(|| blocks(self.n_rows()).map(|rows| self.largest(rows)).max_by(f64::total_cmp));
        self.check_file()?;
        match largest.unwrap_or(0.0) {
            most if is_bad(most) => Err(self.bad_columns(run)?.map_or_else(unfound, Error::columns)),
            most if most > 0.0 && most < SMALLEST => Err(self.underflow(most)),
            _ => Ok(()),
        }
    }

    /// An error if the values are mapped from a file that was cut short since.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn check_file(&self) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.values().check_file(),
            Self::Sparse(_) => Ok(()),
        }
    }

    /// The largest absolute value of some rows; NaN if there is one. 1 for bytes, all of which are usable.
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

    /// Row and column of the largest absolute value, and this value; none without any.
    // One source serves all types of values, f64 too.
    #[allow(clippy::useless_conversion)]
    pub fn largest_at(&self) -> Option<(usize, usize, f64)> {
        let most = self.largest(0..self.n_rows());
        let is_largest = |x: f64| x.abs() == most;
        match self {
            Self::Dense(dense) => {
                let at = with_slice!(dense.values(), slice => slice.iter().position(|&x| is_largest(x.into())));
                at.map(|at| (at / dense.n_cols(), at % dense.n_cols(), most))
            }
            Self::Sparse(sparse) => sparse.values().iter().position(|&x| is_largest(x.into())).map(|at| {
                let row = sparse.indptr().partition_point(|&start| start as usize <= at) - 1;
                (row, sparse.indices()[at] as usize, most)
            }),
        }
    }

    /// The error for features whose largest absolute value is `most`.
    fn underflow(&self, most: f64) -> Error {
        let place = self.largest_at();
        Error::Value {
            what: "features".into(),
            row: place.map_or(0, |place| place.0),
            col: place.map(|place| place.1),
            value: format!("{most:e} as the largest value of all"),
            advice: "distances between such values underflow in single precision; scale the features up".into(),
        }
    }

    /// All columns with bad values.
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

/// The largest absolute value; NaN if there is one. Compares bits, whose order is that of the numbers, with NaN last.
fn largest_f32(values: &[f32]) -> f64 {
    f32::from_bits(values.iter().fold(0, |most, x| most.max(x.to_bits() & !(1 << 31)))).into()
}

/// As [`largest_f32`].
fn largest_f64(values: &[f64]) -> f64 {
    f64::from_bits(values.iter().fold(0, |most, x| most.max(x.to_bits() & !(1 << 63))))
}

/// The error for bad values that a second look does not find: a mapped file has changed.
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
    fn parts_are_stacked_in_their_type() {
        let csr = Csr::from_entries(3, 4, &[(0, 1, 1.0f32), (2, 0, 2.0), (2, 3, 3.0)]).unwrap();
        let sparse = Features::Sparse(Arc::new(csr));
        let dense = Features::from_f64(3, 4, (0..12).map(f64::from).collect()).unwrap();
        let run = Run::new(Some(1), 0).unwrap();
        let values = |rows: &Features<'_>| crate::gather(rows, &[0, 1, 2], &[], &run).unwrap();
        for all in [&sparse, &dense] {
            let parts = [all.select(&[0]).unwrap(), all.select(&[]).unwrap(), all.select(&[1, 2]).unwrap()];
            let joined = Features::stacked(&parts, 4).unwrap();
            assert_eq!((joined.n_rows(), values(&joined)), (3, values(all)));
        }
        assert!(Features::stacked(&[sparse, dense], 4).is_err());
        assert_eq!(Features::stacked(&[], 4).unwrap().n_rows(), 0);
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
}
