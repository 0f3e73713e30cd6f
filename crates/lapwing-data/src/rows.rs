//! Rows of features that come in blocks: what methods read that never hold all of them.
//!
//! A [`RowSource`] is opened as often as it is read, by several threads at once where it can be; a [`RowReader`] hands on
//! the rows from one of them on, in single precision.

use xxhash_rust::xxh3::xxh3_64;

use crate::{DenseValues, Error, Features, Result, Run, memory};

/// A matrix (n, d) as a stream of rows that can be read again and again, always the same.
pub trait RowSource: Send + Sync {
    /// Number of rows n.
    fn n_rows(&self) -> usize;

    /// Number of columns d.
    fn n_cols(&self) -> usize;

    /// Bytes that one pass over all rows reads; 0 where rows are made and not read.
    fn bytes(&self) -> u64;

    /// Whether a reader can start at any row at little cost. Where not, rows are best read once through, by one reader.
    fn is_seekable(&self) -> bool;

    /// What tells these rows from all others, by their contents: for checkpoints. `None` where nothing can be said.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Interrupted`].
    ///
    /// # Complexity
    /// Up to one reading of the rows.
    fn identity(&self, _: &Run) -> Result<Option<String>> {
        Ok(None)
    }

    /// Starts at row `first`, at most n; every value will be less that of its column in `shift` (d values, or empty for
    /// none), the difference taken before it is rounded to single precision.
    ///
    /// # Errors
    /// What the source cannot do: [`Error::Io`], [`Error::Format`].
    fn open<'s>(&'s self, first: usize, shift: &'s [f32], run: &Run) -> Result<Box<dyn RowReader + 's>>;
}

/// A run of rows of a [`RowSource`].
pub trait RowReader: Send {
    /// Fills `out`, a whole number of rows, with the next ones. Values may be NaN or infinite where the source has such.
    ///
    /// # Errors
    /// [`Error::Format`] where rows are missing or cannot be understood; [`Error::Io`], [`Error::Interrupted`].
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()>;

    /// Goes on `n_rows` further on and says so, if that costs less than to open the source anew; else it stays.
    ///
    /// # Errors
    /// As [`RowReader::read`].
    fn skip(&mut self, n_rows: usize, _: &Run) -> Result<bool> {
        Ok(n_rows == 0)
    }
}

/// The rows `rows`, ascending, of a source, less `shift`: row-major (rows, d).
///
/// # Errors
/// [`Error::Param`] for rows out of order or out of range; as [`RowReader::read`].
///
/// # Complexity
/// One seek for each run of adjacent rows where the source is seekable, else one pass up to the last of them.
pub fn gather(source: &dyn RowSource, rows: &[u32], shift: &[f32], run: &Run) -> Result<Vec<f32>> {
    let (n, d) = (source.n_rows(), source.n_cols());
    if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|&row| row as usize >= n) {
        return Err(Error::param("rows", format!("{} of them", rows.len()), format!("ascending, below {n}")));
    }
    let what = format!("a block of {} rows of {d} columns", rows.len());
    let mut out = memory::zeros(&what, rows.len().saturating_mul(d), "take fewer rows at a time")?;
    let mut passed = Vec::new();
    let mut reader: Option<Box<dyn RowReader + '_>> = None;
    let (mut at, mut next) = (0, 0);
    while at < rows.len() {
        run.check()?;
        let first = rows[at] as usize;
        let length = rows[at..].iter().zip(first..).take_while(|(row, expected)| **row as usize == *expected).count();
        let mut here = match reader.take() {
            Some(mut here) => match here.skip(first - next, run)? {
                true => {
                    next = first;
                    here
                }
                false if source.is_seekable() => {
                    next = first;
                    source.open(first, shift, run)?
                }
                false => here,
            },
            None => {
                next = if source.is_seekable() { first } else { 0 };
                source.open(next, shift, run)?
            }
        };
        while next < first {
            let most = (first - next).min((1 << 18) / d.max(1) + 1);
            passed.resize(most * d, 0.0);
            here.read(&mut passed, run)?;
            next += most;
        }
        here.read(&mut out[at * d..(at + length) * d], run)?;
        (at, next) = (at + length, first + length);
        reader = Some(here);
    }
    Ok(out)
}

/// The same of values that must be finite.
///
/// # Errors
/// As [`gather`]; [`Error::Value`] naming the first row of the source that holds another value.
pub fn gather_finite(source: &dyn RowSource, rows: &[u32], shift: &[f32], run: &Run) -> Result<Vec<f32>> {
    let (d, values) = (source.n_cols(), gather(source, rows, shift, run)?);
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(values),
        Some(bad) => Err(Error::Value {
            what: "features".into(),
            row: rows[bad / d] as usize,
            col: Some(bad % d),
            value: values[bad].to_string(),
            advice: "remove or impute it".into(),
        }),
    }
}

impl RowSource for Features<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn n_cols(&self) -> usize {
        self.n_cols()
    }

    fn bytes(&self) -> u64 {
        self.bytes() as u64
    }

    fn is_seekable(&self) -> bool {
        true
    }

    /// The type of the values, and a hash of all of them.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        run.check()?;
        let hash = |bytes: &[u8]| format!("{:016x}", xxh3_64(bytes));
        Ok(Some(match self {
            Features::Dense(dense) => match dense.values() {
                DenseValues::F32(values) => format!("f32 {}", hash(bytemuck::cast_slice(values.as_slice()))),
                DenseValues::F64(values) => format!("f64 {}", hash(bytemuck::cast_slice(values.as_slice()))),
                DenseValues::U8(values) => format!("u8 {}", hash(values.as_slice())),
            },
            Features::Sparse(sparse) => {
                let parts = [
                    hash(bytemuck::cast_slice(sparse.indptr())),
                    hash(bytemuck::cast_slice(sparse.indices())),
                    hash(bytemuck::cast_slice(sparse.values())),
                ];
                format!("sparse {}", parts.join(" "))
            }
        }))
    }

    fn open<'s>(&'s self, first: usize, shift: &'s [f32], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        Ok(Box::new(FeatureRows { features: self, shift, row: first }))
    }
}

struct FeatureRows<'s, 'a> {
    features: &'s Features<'a>,
    shift: &'s [f32],
    row: usize,
}

impl RowReader for FeatureRows<'_, '_> {
    fn read(&mut self, out: &mut [f32], _: &Run) -> Result<()> {
        let d = self.features.n_cols();
        let rows = self.row..self.row + out.len() / d.max(1);
        if rows.end > self.features.n_rows() {
            return Err(Error::shape("features", format!("{} rows", rows.end), self.features.n_rows()));
        }
        match self.features {
            Features::Dense(dense) => dense.copy_rows_f32(rows.clone(), self.shift, out),
            Features::Sparse(sparse) => {
                for (out, row) in out.chunks_exact_mut(d).zip(rows.clone()) {
                    match self.shift {
                        [] => out.fill(0.0),
                        shift => out.iter_mut().zip(shift).for_each(|(out, shift)| *out = -shift),
                    }
                    let (columns, values) = sparse.row(row);
                    for (&column, value) in columns.iter().zip(values) {
                        out[column as usize] += value;
                    }
                }
            }
        }
        self.row = rows.end;
        Ok(())
    }

    fn skip(&mut self, n_rows: usize, _: &Run) -> Result<bool> {
        self.row += n_rows;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Csr;

    fn all(source: &dyn RowSource, first: usize, shift: &[f32], block: usize) -> Vec<f32> {
        let run = Run::new(Some(1), 0).unwrap();
        let (n, d) = (source.n_rows(), source.n_cols());
        let mut out = vec![0.0; (n - first) * d];
        let mut reader = source.open(first, shift, &run).unwrap();
        out.chunks_mut(block * d).for_each(|rows| reader.read(rows, &run).unwrap());
        out
    }

    #[test]
    fn rows_of_every_kind_are_the_same_in_blocks_of_any_size() {
        let values: Vec<u8> = (0..21).map(|x| x * 11).collect();
        let entries: Vec<(u32, u32, f32)> =
            (0..21).map(|at| (at / 3, at % 3, f32::from(values[at as usize]))).collect();
        let kinds = [
            Features::from_u8(7, 3, values.clone()).unwrap(),
            Features::from_f32(7, 3, values.iter().map(|&x| x.into()).collect()).unwrap(),
            Features::from_f64(7, 3, values.iter().map(|&x| x.into()).collect()).unwrap(),
            Features::Sparse(Arc::new(Csr::from_entries(7, 3, &entries).unwrap())),
        ];
        let run = Run::new(Some(1), 0).unwrap();
        for shift in [&[][..], &[1.0, -2.0, 0.5]] {
            let expected: Vec<f32> =
                (0..21).map(|at| f32::from(values[at]) - shift.get(at % 3).copied().unwrap_or(0.0)).collect();
            for features in &kinds {
                for block in [1, 2, 7] {
                    assert_eq!(all(features, 0, shift, block), expected);
                    assert_eq!(all(features, 4, shift, block), expected[12..]);
                }
                let some = gather(features, &[0, 3, 4, 6], shift, &run).unwrap();
                let rows = [&expected[..3], &expected[9..15], &expected[18..]].concat();
                assert_eq!(some, rows);
                assert!(gather(features, &[3, 3], shift, &run).is_err());
                assert!(gather(features, &[7], shift, &run).is_err());
            }
        }
    }

    #[test]
    fn differences_are_taken_before_they_are_rounded() {
        let far = Features::from_f64(2, 1, vec![1.6e9 + 0.25, 1.6e9 + 3.0]).unwrap();
        assert_eq!(all(&far, 0, &[1.6e9], 1), [0.25, 3.0]);
    }
}
