//! Some rows of a source, held in memory: dense rows less a center, sparse rows as they are.

use std::sync::Arc;

use lapwing_core::{Buffer, Csr, Dense, DenseValues, Error, Features, Result, RowSource, Run, gather_finite};

use super::kernel::{STRIP, StripRows};

/// Rows in memory. A center makes every value of a sparse row differ from 0, so that it is subtracted later, from products.
#[derive(Clone, Debug)]
pub enum HeldRows {
    /// Rows less the center.
    Dense {
        /// Columns d.
        n_cols: usize,
        /// Row-major (rows, d).
        values: Vec<f32>,
    },
    /// Rows as they are.
    Sparse {
        /// The rows (rows, d); shared with the source if they are all of its rows.
        matrix: Arc<Csr<f32>>,
        /// What is still to be subtracted from them (d, or empty for none).
        center: Vec<f64>,
    },
}

impl HeldRows {
    /// The rows `rows`, ascending, of a source, less `center` (d, or empty for none).
    ///
    /// # Errors
    /// [`Error::Param`] for rows out of order or out of range; [`Error::Value`] naming a value that is not finite; those of the
    /// source.
    ///
    /// # Complexity
    /// As [`gather_finite`]; of sparse rows, their stored values are copied.
    pub fn gather(source: &dyn RowSource, rows: &[u32], center: &[f64], run: &Run) -> Result<Self> {
        let Some(matrix) = source.sparse() else {
            return Ok(Self::Dense { n_cols: source.n_cols(), values: gather_finite(source, rows, center, run)? });
        };
        let n = matrix.n_rows();
        if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|&row| row as usize >= n) {
            return Err(Error::param("rows", format!("{} of them", rows.len()), format!("ascending, below {n}")));
        }
        for &row in rows {
            let (columns, values) = matrix.row(row as usize);
            if let Some(at) = values.iter().position(|x| !x.is_finite()) {
                let (row, col) = (row as usize, Some(columns[at] as usize));
                let (value, advice) = (values[at].to_string(), "remove or impute it".into());
                return Err(Error::Value { what: "features".into(), row, col, value, advice });
            }
        }
        run.check()?;
        let matrix = match Features::Sparse(matrix.clone()) {
            all if rows.len() == n => all,
            all => all.select(rows)?,
        };
        match matrix {
            Features::Sparse(matrix) => Ok(Self::Sparse { matrix, center: center.to_vec() }),
            Features::Dense(_) => Err(Error::Internal { reason: "rows of a sparse matrix that are dense".into() }),
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense { n_cols, values } => values.len() / (*n_cols).max(1),
            Self::Sparse { matrix, .. } => matrix.n_rows(),
        }
    }

    /// The rows as features, not copied; [`center`](Self::center) is still to be subtracted.
    ///
    /// # Errors
    /// None in practice: the values fit the rows.
    pub fn features(&self) -> Result<Features<'_>> {
        match self {
            Self::Dense { n_cols, values } => {
                let values = DenseValues::F32(Buffer::Borrowed(values));
                Dense::new(self.n_rows(), *n_cols, values).map(Features::Dense)
            }
            Self::Sparse { matrix, .. } => Ok(Features::Sparse(matrix.clone())),
        }
    }

    /// What is still to be subtracted from the rows (d); empty for dense rows, and where there is no center.
    pub fn center(&self) -> &[f64] {
        match self {
            Self::Dense { .. } => &[],
            Self::Sparse { center, .. } => center,
        }
    }

    /// Strip `at` of 64 rows.
    pub(super) fn strip(&self, at: usize) -> StripRows<'_> {
        let rows = at * STRIP..((at + 1) * STRIP).min(self.n_rows());
        match self {
            Self::Dense { n_cols, values } => StripRows::Dense(&values[rows.start * n_cols..rows.end * n_cols]),
            Self::Sparse { matrix, .. } => StripRows::Sparse(matrix, rows),
        }
    }

    /// Writes row `row`, less the center, to `out` (d).
    pub(super) fn write_row(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Dense { n_cols, values } => out.copy_from_slice(&values[row * n_cols..][..*n_cols]),
            Self::Sparse { matrix, center } => {
                out.fill(0.0);
                let (columns, values) = matrix.row(row);
                columns.iter().zip(values).for_each(|(&column, x)| out[column as usize] = *x);
                out.iter_mut().zip(center).for_each(|(x, center)| *x = (f64::from(*x) - center) as f32);
            }
        }
    }

    /// The largest difference of a value from the center, and the row that has it.
    pub(super) fn extent(&self) -> (f64, usize) {
        let larger = |most: (f32, usize), at: usize, x: f32| if x.abs() > most.0 { (x.abs(), at) } else { most };
        let (most, row) = match self {
            Self::Dense { n_cols, values } => {
                let (most, at) = values.iter().enumerate().fold((0.0, 0), |most, (at, x)| larger(most, at, *x));
                (most, at / (*n_cols).max(1))
            }
            Self::Sparse { matrix, center } => {
                let center = |column: usize| center.get(column).map_or(0.0, |center| *center as f32);
                let (mut most, mut stored) = ((0.0f32, 0), vec![0u32; matrix.n_cols()]);
                for row in 0..matrix.n_rows() {
                    let (columns, values) = matrix.row(row);
                    for (&column, x) in columns.iter().zip(values) {
                        stored[column as usize] += 1;
                        most = larger(most, row, x - center(column as usize));
                    }
                }
                // A column that some row does not store has a 0 there.
                let others = (0..stored.len()).filter(|&column| (stored[column] as usize) < matrix.n_rows());
                let zeros = others.fold(0.0f32, |most, column| most.max(center(column).abs()));
                if zeros > most.0 { (zeros, 0) } else { most }
            }
        };
        (f64::from(most), row)
    }

    /// Distance of two rows.
    pub(super) fn distance(&self, a: usize, b: usize) -> f64 {
        match self {
            Self::Dense { n_cols, values } => {
                distance(&values[a * n_cols..][..*n_cols], &values[b * n_cols..][..*n_cols])
            }
            Self::Sparse { matrix, .. } => {
                let ((mut columns, mut values), (other_columns, other_values)) = (matrix.row(a), matrix.row(b));
                let mut squared = 0.0;
                for (column, y) in other_columns.iter().zip(other_values) {
                    let before = columns.partition_point(|other| other < column);
                    squared += values[..before].iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
                    (columns, values) = (&columns[before..], &values[before..]);
                    let mut x = 0.0;
                    if columns.first() == Some(column) {
                        x = f64::from(values[0]);
                        (columns, values) = (&columns[1..], &values[1..]);
                    }
                    squared += (x - f64::from(*y)).powi(2);
                }
                (squared + values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()).sqrt()
            }
        }
    }
}

/// Distance of two dense rows.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
}
