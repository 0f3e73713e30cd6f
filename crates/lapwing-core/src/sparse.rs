//! Compressed sparse rows with 32-bit column ids and 64-bit offsets.

use crate::memory::zeros;
use crate::{Error, Result, check_memory};

/// Advice for matrices whose offsets need more memory than there is.
const GAPS: &str = "number rows and columns from 0 without gaps, or give fewer entries";

/// Sparse matrix in compressed rows: `indices[indptr[i]..indptr[i+1]]` are the columns of row `i`.
///
/// Column ids of a row are ascending and distinct. Features use `T = f32`, affinities `T = f64`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr<T> {
    n_rows: usize,
    n_cols: usize,
    indptr: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T> Csr<T> {
    /// A matrix (`n_rows`, `n_cols`) of three arrays, which are checked.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Value`] if lengths disagree, offsets decrease, or a row's columns are out of range,
    /// unsorted or repeated.
    pub fn new(n_rows: usize, n_cols: usize, indptr: Vec<u64>, indices: Vec<u32>, values: Vec<T>) -> Result<Self> {
        if n_cols > u32::MAX as usize || n_rows > u32::MAX as usize {
            return Err(Error::shape(
                "sparse matrix",
                "at most 4294967295 rows and columns",
                format!("{n_rows} × {n_cols}"),
            ));
        }
        if indptr.len() != n_rows + 1 {
            return Err(Error::shape("indptr", format!("{} entries", n_rows + 1), format!("{} entries", indptr.len())));
        }
        if indices.len() != values.len() || indptr[0] != 0 || indptr[n_rows] != indices.len() as u64 {
            let got =
                format!("indptr ending at {}, {} indices, {} values", indptr[n_rows], indices.len(), values.len());
            return Err(Error::shape("sparse matrix", "indptr from 0 to the number of entries", got));
        }
        if let Some(row) = indptr.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::Value {
                what: "indptr".into(),
                row: row + 1,
                col: None,
                value: format!("{} after {}", indptr[row + 1], indptr[row]),
                advice: "offsets may not decrease".into(),
            });
        }
        let matrix = Self { n_rows, n_cols, indptr, indices, values };
        for row in 0..n_rows {
            let columns = matrix.row(row).0;
            let unsorted = columns.windows(2).find(|pair| pair[0] >= pair[1]).map(|pair| pair[1]);
            let outside = columns.last().copied().filter(|&last| last as usize >= n_cols);
            if let Some(column) = unsorted.or(outside) {
                return Err(Error::Value {
                    what: "sparse matrix".into(),
                    row,
                    col: None,
                    value: format!("column {column}"),
                    advice: format!("columns of a row must be ascending, distinct and below {n_cols}"),
                });
            }
        }
        Ok(matrix)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Row offsets, `n_rows + 1` of them.
    pub fn indptr(&self) -> &[u64] {
        &self.indptr
    }

    /// Column ids of all rows.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values of all rows.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Values of all rows, to change in place.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Columns and values of row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.indptr[row] as usize..self.indptr[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.indptr.len() * 8 + self.indices.len() * (4 + size_of::<T>())
    }

    /// The arrays `(indptr, indices, values)`.
    pub fn into_parts(self) -> (Vec<u64>, Vec<u32>, Vec<T>) {
        (self.indptr, self.indices, self.values)
    }
}

impl<T: Copy + std::ops::Add<Output = T>> Csr<T> {
    /// Builds a matrix from (row, column, value) entries in any order; repeated entries are added.
    ///
    /// # Errors
    /// [`Error::Value`] naming the first entry outside the matrix.
    ///
    /// # Complexity
    /// O(entries + rows + columns) time, two copies of the entries in memory.
    pub fn from_entries(n_rows: usize, n_cols: usize, entries: &[(u32, u32, T)]) -> Result<Self> {
        if let Some(at) = entries.iter().position(|e| e.0 as usize >= n_rows || e.1 as usize >= n_cols) {
            let (row, column, _) = entries[at];
            return Err(Error::Value {
                what: "sparse entries".into(),
                row: at,
                col: None,
                value: format!("({row}, {column})"),
                advice: format!("the matrix has {n_rows} rows and {n_cols} columns"),
            });
        }
        // Offsets of all rows and columns, for the two sorts and the matrix, and two copies of the entries.
        let offsets = 8 * (n_cols as u64).saturating_add(2 * n_rows as u64);
        let bytes = offsets.saturating_add(2 * size_of_val(entries) as u64);
        let what = format!("a sparse matrix of {n_rows} × {n_cols} and {} entries", entries.len());
        check_memory(&what, bytes, GAPS)?;
        // A counting sort by column, then a stable one by row, gives rows with ascending columns.
        let by_column = counting_sort(entries, n_cols, |e| e.1 as usize)?;
        let sorted = counting_sort(&by_column, n_rows, |e| e.0 as usize)?;
        drop(by_column);
        let (mut indices, mut values) = (Vec::with_capacity(sorted.len()), Vec::with_capacity(sorted.len()));
        let mut indptr: Vec<u64> = zeros(&what, n_rows + 1, GAPS)?;
        let mut last = None;
        for &(row, column, value) in &sorted {
            if last == Some((row, column)) {
                let total: &mut T = values.last_mut().expect("an entry was pushed for the same cell");
                *total = *total + value;
            } else {
                indices.push(column);
                values.push(value);
                indptr[row as usize + 1] += 1;
                last = Some((row, column));
            }
        }
        for row in 0..n_rows {
            indptr[row + 1] += indptr[row];
        }
        Ok(Self { n_rows, n_cols, indptr, indices, values })
    }

    /// The transposed matrix.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if there is no memory for its offsets, one for each column, or its entries.
    pub fn transpose(&self) -> Result<Self> {
        let bytes = 16 * (self.n_cols as u64 + 1) + (4 + size_of::<T>() as u64) * self.nnz() as u64;
        let what = format!("a matrix of {} × {} by columns", self.n_rows, self.n_cols);
        check_memory(&what, bytes, GAPS)?;
        let mut indptr: Vec<u64> = zeros(&what, self.n_cols + 1, GAPS)?;
        for &column in &self.indices {
            indptr[column as usize + 1] += 1;
        }
        for column in 0..self.n_cols {
            indptr[column + 1] += indptr[column];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0u32; self.nnz()];
        let mut values = self.values.clone();
        for row in 0..self.n_rows {
            let (columns, entries) = self.row(row);
            for (&column, &value) in columns.iter().zip(entries) {
                let at = next[column as usize] as usize;
                next[column as usize] += 1;
                indices[at] = row as u32;
                values[at] = value;
            }
        }
        Ok(Self { n_rows: self.n_cols, n_cols: self.n_rows, indptr, indices, values })
    }
}

fn counting_sort<E: Copy>(entries: &[E], n_keys: usize, key: impl Fn(&E) -> usize) -> Result<Vec<E>> {
    let mut next: Vec<usize> = zeros("the order of the entries of a sparse matrix", n_keys + 1, GAPS)?;
    for entry in entries {
        next[key(entry) + 1] += 1;
    }
    for k in 0..n_keys {
        next[k + 1] += next[k];
    }
    let mut sorted = entries.to_vec();
    for entry in entries {
        let at = &mut next[key(entry)];
        sorted[*at] = *entry;
        *at += 1;
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bad_arrays_are_named() {
        let text = |r: Result<Csr<f32>>| r.unwrap_err().to_string();
        assert!(text(Csr::new(1, 2, vec![0, 2], vec![1, 0], vec![1.0, 2.0])).contains("column 0"));
        assert!(text(Csr::new(1, 2, vec![0, 1], vec![2], vec![1.0])).contains("below 2"));
        assert!(text(Csr::new(2, 2, vec![0, 2, 1], vec![0], vec![1.0])).contains("may not decrease"));
        assert!(text(Csr::new(1, 1, vec![0, 1], vec![0], vec![])).contains("0 values"));
    }

    proptest! {
        #[test]
        fn entries_transpose_and_add_up(entries in prop::collection::vec((0u32..7, 0u32..5, -4i32..4), 0..60)) {
            let entries: Vec<(u32, u32, f64)> = entries.into_iter().map(|(r, c, v)| (r, c, v.into())).collect();
            let matrix = Csr::from_entries(7, 5, &entries).unwrap();
            let mut dense = [[0.0; 5]; 7];
            for &(r, c, v) in &entries {
                dense[r as usize][c as usize] += v;
            }
            let transposed = matrix.transpose().unwrap();
            for r in 0..7 {
                let (columns, values) = matrix.row(r);
                prop_assert!(columns.is_sorted_by(|a, b| a < b));
                for (&c, &v) in columns.iter().zip(values) {
                    prop_assert_eq!(v, dense[r][c as usize]);
                    let (rows, back) = transposed.row(c as usize);
                    prop_assert_eq!(back[rows.iter().position(|&x| x as usize == r).unwrap()], v);
                }
            }
            prop_assert_eq!(transposed.nnz(), matrix.nnz());
        }
    }
}
