//! Right-hand sides of a system, of which all rows are given or only those that are not 0.

use std::borrow::Cow;
use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result};

use crate::blocks::{BLOCK_ROWS, column_dots, gather};
use crate::columns::columns;
use crate::real::zeros;

/// Right-hand sides B (n, s) of a system: a matrix, or the rows of it that are not 0. A few labels among millions of rows then take no
/// memory for the others.
#[derive(Clone, Debug)]
pub struct RightHandSides<'a> {
    n: usize,
    /// The given rows, ascending; `None` for all of them.
    rows: Option<Cow<'a, [u32]>>,
    /// Their values, s for each row.
    pub(crate) given: Cow<'a, Matrix>,
}

impl<'a> From<&'a Matrix> for RightHandSides<'a> {
    fn from(values: &'a Matrix) -> Self {
        Self { n: values.n_rows(), rows: None, given: Cow::Borrowed(values) }
    }
}

impl From<Matrix> for RightHandSides<'_> {
    fn from(values: Matrix) -> Self {
        Self { n: values.n_rows(), rows: None, given: Cow::Owned(values) }
    }
}

impl<'a> From<&'a RightHandSides<'_>> for RightHandSides<'a> {
    fn from(all: &'a RightHandSides<'_>) -> Self {
        let rows = all.rows.as_ref().map(|rows| Cow::Borrowed(rows.as_ref()));
        Self { n: all.n, rows, given: Cow::Borrowed(&all.given) }
    }
}

impl<'a> RightHandSides<'a> {
    /// The rows `rows` (l), ascending and below `n`, with the values `values` (l, s); all other rows are 0.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a row of values for each of the rows; [`Error::Param`] unless these are ascending and below
    /// `n`.
    pub fn of_rows(n: usize, rows: &'a [u32], values: Matrix) -> Result<Self> {
        if values.n_rows() != rows.len() {
            let got = format!("{} rows of values", values.n_rows());
            return Err(Error::shape("right-hand side", format!("{} rows of values", rows.len()), got));
        }
        let is_wrong = |&at: &usize| rows[at] as usize >= n || at > 0 && rows[at] <= rows[at - 1];
        if let Some(at) = (0..rows.len()).find(is_wrong) {
            let value = if at > 0 { format!("{} after {}", rows[at], rows[at - 1]) } else { rows[at].to_string() };
            return Err(Error::param(format!("rows[{at}]"), value, format!("ascending row numbers below {n}")));
        }
        Ok(Self { n, rows: Some(Cow::Borrowed(rows)), given: Cow::Owned(values) })
    }

    /// Rows n of the system.
    pub fn n_rows(&self) -> usize {
        self.n
    }

    /// Number of right-hand sides s.
    pub fn n_cols(&self) -> usize {
        self.given.n_cols()
    }

    /// All rows (n, s).
    pub fn to_matrix(&self) -> Cow<'_, Matrix> {
        let Some(rows) = &self.rows else { return Cow::Borrowed(&self.given) };
        let mut all = Matrix::filled(self.n, self.n_cols(), 0.0);
        rows.iter().zip(self.given.rows()).for_each(|(&row, values)| all.row_mut(row as usize).copy_from_slice(values));
        Cow::Owned(all)
    }

    /// The number of the given row `at`.
    pub(crate) fn row_of(&self, at: usize) -> usize {
        self.rows.as_ref().map_or(at, |rows| rows[at] as usize)
    }

    /// Some of the columns.
    pub(crate) fn columns(&self, at: &[usize]) -> Result<Self> {
        let values = columns(self.given.values(), self.n_cols(), at);
        let values = Matrix::new(self.given.n_rows(), at.len(), values)?;
        Ok(Self { n: self.n, rows: self.rows.clone(), given: Cow::Owned(values) })
    }

    /// Row i is row `order[i]` of these.
    pub(crate) fn reordered(&self, order: &[u32]) -> RightHandSides<'static> {
        let s = self.n_cols();
        let (rows, source) = match &self.rows {
            None => (None, Cow::Borrowed(order)),
            Some(given) => {
                let places = (0..order.len() as u32).into_par_iter().with_min_len(BLOCK_ROWS);
                let found = places.filter_map(|at| Some((at, given.binary_search(&order[at as usize]).ok()? as u32)));
                let (rows, source): (Vec<u32>, Vec<u32>) = found.unzip();
                (Some(Cow::Owned(rows)), Cow::Owned(source))
            }
        };
        let mut values = Matrix::filled(source.len(), s, 0.0);
        gather(self.given.values(), &source, values.values_mut(), s);
        RightHandSides { n: self.n, rows, given: Cow::Owned(values) }
    }

    /// Gives all rows, so that each can be changed.
    pub(crate) fn fill(&mut self) -> &mut Matrix {
        if self.rows.is_some() {
            let all = self.to_matrix().into_owned();
            (self.rows, self.given) = (None, Cow::Owned(all));
        }
        self.given.to_mut()
    }

    /// The rows `range`, in order; `None` for those that are 0.
    pub(crate) fn rows_in(&self, range: Range<usize>) -> impl Iterator<Item = Option<&[f64]>> {
        let mut next = self.rows.as_ref().map_or(0, |rows| rows.partition_point(|&row| (row as usize) < range.start));
        range.map(move |row| match &self.rows {
            None => Some(self.given.row(row)),
            Some(rows) => {
                let is_given = rows.get(next).is_some_and(|&given| given as usize == row);
                next += usize::from(is_given);
                is_given.then(|| self.given.row(next - 1))
            }
        })
    }

    /// Sum and sum of absolute values of each column.
    pub(crate) fn given_sums(&self) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; self.n_cols()];
        for row in self.given.rows() {
            sums.iter_mut().zip(row).for_each(|([sum, size], b)| (*sum, *size) = (*sum + b, *size + b.abs()));
        }
        sums
    }

    /// Norm of each column.
    pub(crate) fn norms(&self) -> Vec<f64> {
        let (values, l, s) = (self.given.values(), self.given.n_rows(), self.n_cols());
        if s == 0 { Vec::new() } else { column_dots(values, values, l, s).into_iter().map(f64::sqrt).collect() }
    }

    /// The columns `open` as a block (n, open).
    pub(crate) fn block(&self, open: &[usize]) -> Vec<f64> {
        let width = open.len();
        let mut block = zeros(self.n * width);
        let blocks = block.par_chunks_mut((BLOCK_ROWS * width).max(1)).enumerate();
        blocks.for_each(|(at, block)| {
            let rows = self.rows_in(at * BLOCK_ROWS..at * BLOCK_ROWS + block.len() / width);
            for (out, b) in block.chunks_exact_mut(width).zip(rows).filter_map(|(out, b)| Some((out, b?))) {
                out.iter_mut().zip(open).for_each(|(out, &c)| *out = b[c]);
            }
        });
        block
    }

    /// Y ← B − Y for the columns `open` of B and a block Y (n, open).
    pub(crate) fn less(&self, y: &mut [f64], open: &[usize]) {
        let width = open.len();
        let blocks = y.par_chunks_mut((BLOCK_ROWS * width).max(1)).enumerate();
        blocks.for_each(|(at, block)| {
            let rows = self.rows_in(at * BLOCK_ROWS..at * BLOCK_ROWS + block.len() / width);
            for (y, b) in block.chunks_exact_mut(width).zip(rows) {
                match b {
                    Some(b) => y.iter_mut().zip(open).for_each(|(y, &c)| *y = b[c] - *y),
                    None => y.iter_mut().for_each(|y| *y = -*y),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::Run;

    use super::*;

    #[test]
    fn given_rows_stand_for_a_matrix_that_is_0_elsewhere() {
        let (n, s) = (3 * BLOCK_ROWS + 11, 3);
        let rows: Vec<u32> = (0..n as u32).filter(|row| row % 977 == 3 || *row == n as u32 - 1).collect();
        let values = (0..rows.len() * s).map(|at| at as f64 + 1.0).collect();
        let sparse = RightHandSides::of_rows(n, &rows, Matrix::new(rows.len(), s, values).unwrap()).unwrap();
        let all = sparse.to_matrix().into_owned();
        let dense = RightHandSides::from(&all);
        let order: Vec<u32> = (0..n).map(|at| ((7 * at + 2) % n) as u32).collect();
        Run::new(Some(2), 0).unwrap().install(|| {
            for (sparse, dense) in
                [(sparse.clone(), dense.clone()), (sparse.reordered(&order), dense.reordered(&order))]
            {
                assert_eq!(sparse.to_matrix(), dense.to_matrix());
                for open in [vec![0, 1, 2], vec![2], vec![]] {
                    assert_eq!(sparse.block(&open), dense.block(&open));
                    let [mut less, mut other] = [vec![0.5; n * open.len()], vec![0.5; n * open.len()]];
                    sparse.less(&mut less, &open);
                    dense.less(&mut other, &open);
                    assert_eq!(less, other);
                }
                for (a, b) in sparse.norms().iter().zip(dense.norms()) {
                    assert!((a - b).abs() <= 1e-12 * b);
                }
                let picked = sparse.columns(&[0, 2]).unwrap();
                assert_eq!(picked.to_matrix(), dense.columns(&[0, 2]).unwrap().to_matrix());
            }
        });
        let mut filled = sparse.clone();
        filled.fill().row_mut(0)[1] = 7.0;
        assert_eq!((filled.to_matrix().row(0)[1], filled.row_of(4)), (7.0, 4));
        assert_eq!(sparse.row_of(1), rows[1] as usize);
    }

    #[test]
    fn rows_out_of_order_are_refused() {
        let values = Matrix::filled(2, 1, 1.0);
        for (rows, at, told) in [([3, 1], 1, "1 after 3"), ([1, 1], 1, "1 after 1"), ([9, 10], 0, "9")] {
            let error = RightHandSides::of_rows(9, &rows, values.clone()).unwrap_err();
            let named =
                matches!(&error, Error::Param { name, value, .. } if *name == format!("rows[{at}]") && value == told);
            assert!(named, "{error}");
        }
        assert!(matches!(RightHandSides::of_rows(9, &[1], values), Err(Error::Shape { .. })));
    }
}
