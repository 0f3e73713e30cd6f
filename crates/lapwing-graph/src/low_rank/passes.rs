//! A pass over rows: they are read, compared with the landmarks, and handed on in chunks.
//!
//! Parallel over blocks of rows where the source can be read anywhere, else one reader reads them in order. Memory for each
//! thread: 256 rows (64 of more than 1,024 columns), a chunk of 1,024 × k exponents, and what the visitor keeps.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lapwing_data::{Error, Result, RowReader, RowSource, Run};
use rayon::prelude::*;

use super::blocks::{Blocks, SumTree, Sums};
use super::kernel::{CHUNK_ROWS, RowKernel, STRIP, Transposed};

/// Rows read at a time, of which 64 fill a strip.
const READ_ROWS: usize = 4 * STRIP;
/// Columns above which only one strip is read at a time.
const WIDE: usize = 1024;

/// Rows, and what they are compared with.
#[derive(Clone, Copy)]
pub struct RowPass<'p> {
    /// The rows.
    pub source: &'p dyn RowSource,
    /// Taken from every row (d), as it was from the landmarks.
    pub center: &'p [f32],
    /// The landmarks.
    pub kernel: &'p RowKernel,
}

/// Up to 1,024 rows as the kernels want them.
#[derive(Debug)]
pub struct Chunk<'c> {
    /// Number of the first row.
    pub first: usize,
    /// Number of rows; those behind them, up to whole strips, are arbitrary.
    pub n_rows: usize,
    /// Exponents −log₂(e)·D/(2σ²) as strips (strips, k, 64).
    pub strips: &'c mut [f32],
}

impl Chunk<'_> {
    /// The strips with the number of the first of their rows and the number of these.
    pub(crate) fn each(&mut self, n_landmarks: usize) -> impl Iterator<Item = (usize, usize, &mut [f32])> {
        let (first, n_rows) = (self.first, self.n_rows);
        let strips = self.strips.chunks_exact_mut(n_landmarks * STRIP).enumerate();
        strips.map(move |(at, strip)| (first + at * STRIP, (n_rows - at * STRIP).min(STRIP), strip))
    }
}

/// One thread's buffers.
struct Desk {
    rows: Vec<f32>,
    strips: Vec<f32>,
    transposed: Transposed,
}

impl<'p> RowPass<'p> {
    fn desk(&self) -> Desk {
        let (d, k) = (self.kernel.n_features(), self.kernel.n_landmarks());
        let read_rows = if d > WIDE { STRIP } else { READ_ROWS };
        Desk { rows: vec![0.0; read_rows * d], strips: vec![0.0; CHUNK_ROWS * k], transposed: Transposed::default() }
    }

    /// Bytes of one thread's buffers.
    pub fn desk_bytes(n_features: usize, n_landmarks: usize) -> usize {
        let read_rows = if n_features > WIDE { STRIP } else { READ_ROWS };
        4 * (read_rows * n_features + CHUNK_ROWS * n_landmarks + 2 * STRIP * n_features.min(128))
    }

    /// Rows for each thread whose results [`RowPass::visit`] holds at a time.
    pub fn held_rows() -> usize {
        2 * SPANS * SPAN_CHUNKS * CHUNK_ROWS
    }

    /// Sums over the blocks `owned` that `tree` does not hold yet, into `tree`. `add` adds a chunk to the sums of its block;
    /// `state` makes what it keeps between chunks; `done` hears of each block, so that it may keep the tree.
    ///
    /// # Errors
    /// [`Error::Value`] naming a value that is not finite; what the source or `add` cannot do; [`Error::Interrupted`].
    #[allow(clippy::too_many_arguments)]
    pub fn sum<S>(
        &self,
        blocks: Blocks,
        owned: Range<usize>,
        tree: &Mutex<SumTree>,
        run: &Run,
        state: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, &mut Chunk<'_>, &mut Sums) -> Result<()> + Sync,
        done: impl Fn(&Mutex<SumTree>) -> Result<()> + Sync,
    ) -> Result<()> {
        let (n_sums, missing): (usize, Vec<usize>) = {
            let tree = lock(tree);
            (tree.n_sums(), owned.filter(|&block| !tree.holds(block)).collect())
        };
        let n_done = AtomicU64::new(0);
        let finish = |block: usize, sums: Sums| {
            lock(tree).insert(block, sums);
            run.progress().update(n_done.fetch_add(1, Ordering::Relaxed) + 1, "blocks of rows");
            done(tree)
        };
        if !self.source.is_seekable() {
            return run.install(|| {
                let (mut desk, mut state) = (self.desk(), state());
                let Some(&first) = missing.first() else { return Ok(()) };
                let mut reader = self.source.open(blocks.rows(first).start, self.center, run)?;
                let mut next = first;
                for &block in &missing {
                    // Blocks that are done already lie between: their rows are passed over.
                    self.pass_over(&mut *reader, blocks.rows(next).start..blocks.rows(block).start, &mut desk, run)?;
                    let sums =
                        self.block(&mut *reader, blocks.rows(block), n_sums, &mut desk, &mut state, &add, run)?;
                    finish(block, sums)?;
                    next = block + 1;
                }
                Ok(())
            });
        }
        // Of several errors that of the first block: it does not depend on who comes first.
        let failed: Mutex<Option<(usize, Error)>> = Mutex::default();
        run.install(|| {
            missing.par_iter().with_max_len(1).for_each_init(
                || (self.desk(), state()),
                |(desk, state), &block| {
                    if lock(&failed).as_ref().is_some_and(|(first, _)| *first < block) {
                        return;
                    }
                    let rows = blocks.rows(block);
                    let mut sum = || -> Result<()> {
                        let mut reader = self.source.open(rows.start, self.center, run)?;
                        finish(block, self.block(&mut *reader, rows.clone(), n_sums, desk, state, &add, run)?)
                    };
                    if let Err(error) = sum() {
                        let mut failed = lock(&failed);
                        if failed.as_ref().is_none_or(|(first, _)| block < *first) {
                            *failed = Some((block, error));
                        }
                    }
                },
            );
        });
        let failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    #[allow(clippy::too_many_arguments)]
    fn block<S>(
        &self,
        reader: &mut dyn RowReader,
        rows: Range<usize>,
        n_sums: usize,
        desk: &mut Desk,
        state: &mut S,
        add: &(impl Fn(&mut S, &mut Chunk<'_>, &mut Sums) -> Result<()> + Sync),
        run: &Run,
    ) -> Result<Sums> {
        let mut sums = Sums::zero(n_sums);
        for first in rows.clone().step_by(CHUNK_ROWS) {
            let n_rows = (rows.end - first).min(CHUNK_ROWS);
            add(state, &mut self.chunk(reader, first, n_rows, desk, run)?, &mut sums)?;
        }
        Ok(sums)
    }

    fn pass_over(&self, reader: &mut dyn RowReader, rows: Range<usize>, desk: &mut Desk, run: &Run) -> Result<()> {
        let d = self.kernel.n_features();
        for first in rows.clone().step_by(STRIP) {
            run.check()?;
            reader.read(&mut desk.rows[..(rows.end - first).min(STRIP) * d], run)?;
        }
        Ok(())
    }

    /// Reads the next `n_rows` rows and compares them with the landmarks.
    fn chunk<'d>(
        &self,
        reader: &mut dyn RowReader,
        first: usize,
        n_rows: usize,
        desk: &'d mut Desk,
        run: &Run,
    ) -> Result<Chunk<'d>> {
        run.check()?;
        let (d, k) = (self.kernel.n_features(), self.kernel.n_landmarks());
        let Desk { rows, strips, transposed } = desk;
        let read_rows = rows.len() / d;
        let strips = &mut strips[..n_rows.div_ceil(STRIP) * k * STRIP];
        for start in (0..n_rows).step_by(read_rows) {
            let rows = &mut rows[..(n_rows - start).min(read_rows) * d];
            reader.read(rows, run)?;
            let out = strips[start * k..].chunks_exact_mut(k * STRIP);
            for (at, (rows, out)) in rows.chunks(STRIP * d).zip(out).enumerate() {
                if let Some(bad) = self.kernel.exponents(rows, transposed, out) {
                    return Err(bad_value(&rows[bad * d..(bad + 1) * d], first + start + at * STRIP + bad));
                }
            }
        }
        Ok(Chunk { first, n_rows, strips })
    }

    /// Visits rows `rows` in chunks, several at a time: `visit` makes something of each chunk, and `take` gets these in the
    /// order of the rows, one at a time.
    ///
    /// # Errors
    /// As [`RowPass::sum`].
    pub fn visit<S, T: Send>(
        &self,
        rows: Range<usize>,
        run: &Run,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &mut Chunk<'_>) -> Result<T> + Sync,
        take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        in_order(
            self.source,
            self.center,
            rows,
            run,
            || (self.desk(), state()),
            |(desk, state), reader, rows| visit(state, &mut self.chunk(reader, rows.start, rows.len(), desk, run)?),
            take,
        )
    }
}

/// Opens the rows `rows` of a source, less `center`, for `make` to read them in chunks of up to 1,024, several at a time;
/// what it makes of each goes to `take` in the order of the rows, one at a time, with the number of the first row.
pub(super) fn in_order<S, T: Send>(
    source: &dyn RowSource,
    center: &[f32],
    rows: Range<usize>,
    run: &Run,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, &mut dyn RowReader, Range<usize>) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<()> + Send,
) -> Result<()> {
    let chunks = |rows: Range<usize>| {
        let end = rows.end;
        rows.step_by(CHUNK_ROWS).map(move |first| first..end.min(first + CHUNK_ROWS))
    };
    if !source.is_seekable() {
        return run.install(|| {
            let mut state = state();
            let mut reader = source.open(rows.start, center, run)?;
            for chunk in chunks(rows.clone()) {
                run.check()?;
                take(chunk.start, make(&mut state, &mut *reader, chunk.clone())?)?;
                run.progress().update((chunk.end - rows.start) as u64, "rows");
            }
            Ok(())
        });
    }
    // Windows of a few spans for each thread: while one is made, what was made of the one before is taken.
    let span = SPAN_CHUNKS * CHUNK_ROWS;
    let window = span * SPANS * run.threads();
    let make_window = |start: usize| -> Result<Vec<Vec<T>>> {
        let spans: Vec<usize> = (start..rows.end.min(start + window)).step_by(span).collect();
        let spans = spans.par_iter().with_max_len(1).map_init(&state, |state, &start| -> Result<Vec<T>> {
            let mut reader = source.open(start, center, run)?;
            chunks(start..rows.end.min(start + span))
                .map(|chunk| {
                    run.check()?;
                    make(state, &mut *reader, chunk)
                })
                .collect()
        });
        // All of them, so that of several errors it is that of the first row.
        let spans: Vec<Result<Vec<T>>> = spans.collect();
        spans.into_iter().collect()
    };
    let mut take_window = |start: usize, made: Vec<Vec<T>>| -> Result<()> {
        for (at, made) in made.into_iter().flatten().enumerate() {
            take(start + at * CHUNK_ROWS, made)?;
        }
        run.progress().update((rows.end.min(start + window) - rows.start) as u64, "rows");
        Ok(())
    };
    run.install(|| {
        let mut before: Option<(usize, Vec<Vec<T>>)> = None;
        for start in rows.clone().step_by(window) {
            let last = before.take();
            let take_last = || last.map_or(Ok(()), |(start, made)| take_window(start, made));
            let (made, taken) = rayon::join(|| make_window(start), take_last);
            taken?;
            before = Some((start, made?));
        }
        before.map_or(Ok(()), |(start, made)| take_window(start, made))
    })
}

/// Chunks that one reader reads in a row, and spans of each thread in a window: two windows are held at a time.
const SPAN_CHUNKS: usize = 8;
const SPANS: usize = 2;

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A thread that panicked has inserted a block or has not.
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The error for a row whose squares do not add up to a finite number.
pub(super) fn bad_value(row: &[f32], number: usize) -> Error {
    let bad = row.iter().position(|x| !x.is_finite());
    let (value, advice) = match bad {
        Some(at) => (row[at].to_string(), "remove or impute it"),
        None => ("values too large to square in single precision".into(), "scale the features"),
    };
    Error::Value { what: "features".into(), row: number, col: bad, value, advice: advice.into() }
}
