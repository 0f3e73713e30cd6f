//! Rows of features that come in blocks, for methods that never hold all of them.
//!
//! A [`RowSource`] can be opened any number of times, also by several threads at once. Each [`RowReader`] reads rows
//! from one of them on, in single precision.

use std::ops::Range;
use std::sync::Arc;

use crate::parallel::*;
use crate::{Csr, Error, Features, Result, Run, memory};

/// A matrix (n, d) as a stream of rows that can be read any number of times, always the same.
pub trait RowSource: Send + Sync {
    /// Number of rows n.
    fn n_rows(&self) -> usize;

    /// Number of columns d.
    fn n_cols(&self) -> usize;

    /// Bytes that one pass over all rows reads; 0 if rows are computed and not read.
    fn bytes(&self) -> u64;

    /// Whether a reader can start at any row at little cost. If not, one reader should read all rows in order.
    fn is_seekable(&self) -> bool;

    /// The rows as a sparse matrix in memory, if they are one: then a pass need not make them dense.
    fn sparse(&self) -> Option<&Arc<Csr<f32>>> {
        None
    }

    /// A text that differs for sources with different contents: for checkpoints. `None` if the source has none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Interrupted`].
    ///
    /// # Complexity
    /// Up to one reading of the rows.
    fn identity(&self, _: &Run) -> Result<Option<String>> {
        Ok(None)
    }

    /// Starts at row `first`, at most n. The reader subtracts `center` (d values, or empty for none) from every row,
    /// and then rounds the differences to single precision.
    ///
    /// # Errors
    /// What the source cannot do: [`Error::Io`], [`Error::Format`].
    fn open<'s>(&'s self, first: usize, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>>;
}

/// Reads consecutive rows of a [`RowSource`].
pub trait RowReader: Send {
    /// Fills `out`, a whole number of rows, with the next ones. Values may be NaN or infinite if the source has such.
    ///
    /// # Errors
    /// [`Error::Format`] for missing or malformed rows; [`Error::Io`], [`Error::Interrupted`].
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()>;

    /// The next `n_rows` rows, in the type that keeps their values; no center is subtracted.
    ///
    /// # Errors
    /// As [`RowReader::read`]; [`Error::TooLarge`].
    fn hold(&mut self, n_rows: usize, run: &Run) -> Result<Features<'static>>;

    /// Passes over the next `n_rows` rows and returns true, if that costs less than opening the source again; else
    /// returns false and stays.
    ///
    /// # Errors
    /// As [`RowReader::read`].
    fn skip(&mut self, n_rows: usize, _: &Run) -> Result<bool> {
        Ok(n_rows == 0)
    }
}

/// The rows `rows`, ascending, of a source, less `center`: row-major (rows, d).
///
/// # Errors
/// [`Error::Param`] for rows out of order or out of range; as [`RowReader::read`].
///
/// # Complexity
/// One seek for each run of adjacent rows if the source is seekable, else one pass up to the last of them.
pub fn gather(source: &dyn RowSource, rows: &[u32], center: &[f64], run: &Run) -> Result<Vec<f32>> {
    let (n, d) = (source.n_rows(), source.n_cols());
    if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|&row| row as usize >= n) {
        return Err(Error::param("rows", format!("{} of them", rows.len()), format!("ascending, below {n}")));
    }
    let what = format!("a block of {} rows of {d} columns", rows.len());
    let mut out = memory::zeros(&what, rows.len().saturating_mul(d), "take fewer rows at a time")?;
    let mut left = &mut out[..];
    let mut reader: Option<Box<dyn RowReader + '_>> = None;
    let mut next = 0;
    for adjacent in rows.chunk_by(|a, b| a + 1 == *b) {
        run.check()?;
        let first = adjacent[0] as usize;
        let (at, mut here) = match reader.take() {
            Some(mut here) => match here.skip(first - next, run)? {
                true => (first, here),
                false if source.is_seekable() => (first, source.open(first, center, run)?),
                false => (next, here),
            },
            None => {
                let start = if source.is_seekable() { first } else { 0 };
                (start, source.open(start, center, run)?)
            }
        };
        read_past(&mut *here, first - at, d, run)?;
        here.read(left.split_off_mut(..adjacent.len() * d).unwrap_or_default(), run)?;
        next = first + adjacent.len();
        reader = Some(here);
    }
    Ok(out)
}

/// Splits `rows` into pieces of at most `piece_rows` rows.
pub fn pieces(rows: Range<usize>, piece_rows: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(piece_rows.max(1)).map(move |first| first..end.min(first.saturating_add(piece_rows.max(1))))
}

/// Reads `n_rows` rows of `d` values that are not wanted.
fn read_past(reader: &mut dyn RowReader, n_rows: usize, d: usize, run: &Run) -> Result<()> {
    let mut passed = Vec::new();
    for rows in pieces(0..n_rows, (1 << 18) / d.max(1) + 1) {
        passed.resize(rows.len() * d, 0.0);
        reader.read(&mut passed, run)?;
    }
    Ok(())
}

/// As [`gather`], of values that must be finite.
///
/// # Errors
/// As [`gather`]; [`Error::Value`] naming the first row of the source that holds another value.
pub fn gather_finite(source: &dyn RowSource, rows: &[u32], center: &[f64], run: &Run) -> Result<Vec<f32>> {
    let (d, values) = (source.n_cols(), gather(source, rows, center, run)?);
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

/// Rows that one reader reads in a row, in at most so many blocks; and spans of these for each thread in a window: two windows are held at
/// a time.
const SPAN_ROWS: usize = 1 << 16;
const SPAN_BLOCKS: usize = 8;
const SPANS: usize = 2;

/// Rows of a span of blocks of `block_rows`.
fn span_rows(block_rows: usize) -> usize {
    (SPAN_ROWS / block_rows).clamp(1, SPAN_BLOCKS) * block_rows
}

/// Rows for each thread whose results [`in_order`] holds at a time.
pub fn held_rows(block_rows: usize) -> usize {
    2 * SPANS * span_rows(block_rows)
}

/// Opens the rows `rows` of a source by `open`. `make` reads them in blocks of up to `block_rows`, several in parallel; `take` gets the
/// number of the first row and the result of each block, in the order of the rows, one at a time.
pub fn in_order<R, S, T: Send>(
    source: &dyn RowSource,
    open: impl Fn(usize) -> Result<R> + Sync,
    (rows, block_rows): (Range<usize>, usize),
    run: &Run,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, &mut R, Range<usize>) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<()> + Send,
) -> Result<()> {
    let make_block = |state: &mut S, next: &mut R, block: Range<usize>| {
        run.check()?;
        make(state, next, block)
    };
    let update = |end: usize| run.progress().update((end - rows.start) as u64, "rows");
    if !source.is_seekable() {
        return run.install(|| {
            let (mut state, mut next) = (state(), open(rows.start)?);
            for block in pieces(rows.clone(), block_rows) {
                take(block.start, make_block(&mut state, &mut next, block.clone())?)?;
                update(block.end);
            }
            Ok(())
        });
    }
    // Windows of a few spans for each thread.
    let span = span_rows(block_rows);
    let window = span * SPANS * run.threads();
    let make_window = |start: usize| -> Result<Vec<Vec<T>>> {
        let spans: Vec<usize> = (start..rows.end.min(start + window)).step_by(span).collect();
        let spans = spans.par_iter().with_max_len(1).map_init(&state, |state, &start| -> Result<Vec<T>> {
            let mut next = open(start)?;
            pieces(start..rows.end.min(start + span), block_rows)
                .map(|block| make_block(state, &mut next, block))
                .collect()
        });
        // All spans are done before errors are looked at, so that the error is that of the first row.
        spans.collect::<Vec<_>>().into_iter().collect()
    };
    let take_window = |start: usize, made: Vec<Vec<T>>| -> Result<()> {
        for (at, made) in made.into_iter().flatten().enumerate() {
            take(start + at * block_rows, made)?;
        }
        update(rows.end.min(start + window));
        Ok(())
    };
    run.install(|| overlapped(rows.clone().step_by(window), make_window, take_window))
}

/// Calls `make` for every start, while `take` gets the result of the one before.
fn overlapped<W: Send>(
    starts: impl Iterator<Item = usize>,
    make: impl Fn(usize) -> Result<W> + Sync,
    mut take: impl FnMut(usize, W) -> Result<()> + Send,
) -> Result<()> {
    let mut before: Option<(usize, W)> = None;
    for start in starts {
        let last = before.take();
        let take_last = || last.map_or(Ok(()), |(start, made)| take(start, made));
        let (made, taken) = rayon::join(|| make(start), take_last);
        taken?;
        before = Some((start, made?));
    }
    before.map_or(Ok(()), |(start, made)| take(start, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &dyn RowSource, first: usize, center: &[f64], block: usize) -> Vec<f32> {
        let run = Run::new(Some(1), 0).unwrap();
        let (n, d) = (source.n_rows(), source.n_cols());
        let mut out = vec![0.0; (n - first) * d];
        let mut reader = source.open(first, center, &run).unwrap();
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
        for center in [&[][..], &[1.0, -2.0, 0.5]] {
            let less = |at: usize| f64::from(values[at]) - center.get(at % 3).copied().unwrap_or(0.0);
            let expected: Vec<f32> = (0..21).map(|at| less(at) as f32).collect();
            for features in &kinds {
                for block in [1, 2, 7] {
                    assert_eq!(all(features, 0, center, block), expected);
                    assert_eq!(all(features, 4, center, block), expected[12..]);
                }
                let mut reader = features.open(2, center, &run).unwrap();
                let held = [reader.hold(2, &run).unwrap(), reader.hold(3, &run).unwrap()];
                assert!(held.iter().all(|rows| rows.open(0, &[], &run).is_ok()));
                let kept: Vec<f32> = held.iter().flat_map(|rows| all(rows, 0, center, 1)).collect();
                assert_eq!(kept, expected[6..]);
                let some = gather(features, &[0, 3, 4, 6], center, &run).unwrap();
                let rows = [&expected[..3], &expected[9..15], &expected[18..]].concat();
                assert_eq!(some, rows);
                assert!(gather(features, &[3, 3], center, &run).is_err());
                assert!(gather(features, &[7], center, &run).is_err());
            }
        }
    }

    #[test]
    fn differences_are_taken_before_they_are_rounded() {
        // No number in single precision is as near to these.
        let origin = 1.7e12 + 1.0;
        let far = Features::from_f64(2, 1, vec![origin + 0.25, origin + 3.0]).unwrap();
        assert_eq!(all(&far, 0, &[origin], 1), [0.25, 3.0]);
    }
}
