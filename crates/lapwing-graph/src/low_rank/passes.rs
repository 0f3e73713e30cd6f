//! A pass over rows: reads them, computes exponents of similarities to the landmarks, and passes these on in chunks.
//!
//! Parallel over blocks of rows if the source is seekable, else one reader reads them in order. Memory for each thread: 256 rows
//! (64 of more than 1,024 columns), a chunk of 1,024 × k exponents, and the visitor's own. Sparse rows in memory are used where
//! they are, and never made dense.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lapwing_core::parallel::*;
use lapwing_core::rows::{held_rows, in_order, pieces};
use lapwing_core::{Csr, Error, Result, RowReader, RowSource, Run, lock};

use super::blocks::{BlockSums, Blocks, SumTree};
use super::kernel::{CHUNK_ROWS, KernelSpace, RowKernel, STRIP, StripRows};

/// Rows read at a time, of which 64 fill a strip.
const READ_ROWS: usize = 4 * STRIP;
/// Columns above which only one strip is read at a time.
const WIDE: usize = 1024;

/// Rows, and the landmarks they are compared with.
#[derive(Clone, Copy)]
pub struct RowPass<'p> {
    /// The rows.
    pub source: &'p dyn RowSource,
    /// Subtracted from every row (d), as from the landmarks.
    pub center: &'p [f64],
    /// The landmarks, for rows of the kind of the source and this center.
    pub kernel: &'p RowKernel,
}

/// Up to 1,024 rows in the layout of the kernels.
#[derive(Debug)]
pub struct Chunk<'c> {
    /// Number of the first row.
    pub first: usize,
    /// Number of rows. The last strip is filled up with arbitrary values.
    pub n_rows: usize,
    /// Exponents −log₂(e)·D/(2σ²) as strips (strips, k, 64).
    pub strips: &'c mut [f32],
}

impl Chunk<'_> {
    /// Each strip, as (number of its first row, number of rows, values).
    pub(crate) fn each(&mut self, n_landmarks: usize) -> impl Iterator<Item = (usize, usize, &mut [f32])> {
        let (first, n_rows) = (self.first, self.n_rows);
        let strips = self.strips.chunks_exact_mut(n_landmarks * STRIP).enumerate();
        strips.map(move |(at, strip)| (first + at * STRIP, (n_rows - at * STRIP).min(STRIP), strip))
    }
}

/// Buffers of one thread.
struct Scratch {
    /// Dense rows.
    rows: Vec<f32>,
    strips: Vec<f32>,
    space: KernelSpace,
}

/// The next rows of a source.
enum NextRows<'p> {
    Read(Box<dyn RowReader + 'p>),
    /// Sparse rows in memory.
    Held(&'p Csr<f32>),
}

impl<'p> RowPass<'p> {
    fn scratch(&self) -> Scratch {
        let d = self.source.n_cols();
        let rows = if self.source.sparse().is_some() { 0 } else { read_rows(d) * d };
        let strips = vec![0.0; CHUNK_ROWS * self.kernel.n_landmarks()];
        Scratch { rows: vec![0.0; rows], strips, space: KernelSpace::default() }
    }

    /// Bytes of one thread's buffers, for rows that are sparse or not.
    pub fn scratch_bytes(n_features: usize, n_landmarks: usize, is_sparse: bool) -> usize {
        let strips = 4 * CHUNK_ROWS * n_landmarks;
        if is_sparse {
            return strips + 8 * n_landmarks;
        }
        strips + 4 * (read_rows(n_features) * n_features + 2 * STRIP * n_features.min(128))
    }

    /// The rows from `first` on.
    fn open(&self, first: usize, run: &Run) -> Result<NextRows<'p>> {
        match self.source.sparse() {
            Some(matrix) => Ok(NextRows::Held(matrix)),
            None => self.source.open(first, self.center, run).map(NextRows::Read),
        }
    }

    /// Rows for each thread whose results [`RowPass::visit`] holds at a time.
    pub fn held_rows() -> usize {
        held_rows(CHUNK_ROWS)
    }

    /// Sums over the blocks `owned` that `tree` does not hold yet, into `tree`. `add` adds a chunk to the sums of its block, with a
    /// state from `state` for each thread. `done` is called after each block and may save the tree.
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
        state: impl Fn() -> S + Sync + Send,
        add: impl Fn(&mut S, &mut Chunk<'_>, &mut BlockSums) -> Result<()> + Sync,
        done: impl Fn(&Mutex<SumTree>) -> Result<()> + Sync,
    ) -> Result<()> {
        let (n_sums, missing): (usize, Vec<usize>) = {
            let tree = lock(tree);
            (tree.n_sums(), owned.filter(|&block| !tree.holds(block)).collect())
        };
        let n_done = AtomicU64::new(0);
        let sum_block = |next: &mut NextRows<'_>, (scratch, state): &mut (Scratch, S), block: usize| {
            let mut sums = BlockSums::zero(n_sums);
            for rows in pieces(blocks.rows(block), CHUNK_ROWS) {
                add(state, &mut self.chunk(next, rows, scratch, run)?, &mut sums)?;
            }
            lock(tree).insert(block, sums);
            run.progress().update(n_done.fetch_add(1, Ordering::Relaxed) + 1, "blocks of rows");
            done(tree)
        };
        let space = || (self.scratch(), state());
        if self.source.is_seekable() {
            return run.install(|| {
                each_in_parallel(missing.into_par_iter(), space, |space, block| {
                    sum_block(&mut self.open(blocks.rows(block).start, run)?, space, block)
                })
            });
        }
        run.install(|| {
            let Some(mut after) = missing.first().copied() else { return Ok(()) };
            let mut space = space();
            let mut next = self.open(blocks.rows(after).start, run)?;
            for block in missing {
                // Rows of blocks that are done already are read and dropped.
                let between = blocks.rows(after).start..blocks.rows(block).start;
                self.pass_over(&mut next, between, &mut space.0, run)?;
                sum_block(&mut next, &mut space, block)?;
                after = block + 1;
            }
            Ok(())
        })
    }

    fn pass_over(&self, next: &mut NextRows<'_>, rows: Range<usize>, scratch: &mut Scratch, run: &Run) -> Result<()> {
        let (d, NextRows::Read(reader)) = (self.source.n_cols(), next) else { return Ok(()) };
        for first in rows.clone().step_by(STRIP) {
            run.check()?;
            reader.read(&mut scratch.rows[..(rows.end - first).min(STRIP) * d], run)?;
        }
        Ok(())
    }

    /// Computes the exponents of the rows `range`, the next ones.
    fn chunk<'d>(
        &self,
        next: &mut NextRows<'_>,
        range: Range<usize>,
        scratch: &'d mut Scratch,
        run: &Run,
    ) -> Result<Chunk<'d>> {
        run.check()?;
        let (first, n_rows) = (range.start, range.len());
        let (d, k) = (self.source.n_cols(), self.kernel.n_landmarks());
        let Scratch { rows, strips, space } = scratch;
        let strips = &mut strips[..n_rows.div_ceil(STRIP) * k * STRIP];
        match next {
            NextRows::Read(reader) => {
                let read_rows = read_rows(d);
                for start in (0..n_rows).step_by(read_rows) {
                    let rows = &mut rows[..(n_rows - start).min(read_rows) * d];
                    reader.read(rows, run)?;
                    let out = strips[start * k..].chunks_exact_mut(k * STRIP);
                    for (at, (rows, out)) in rows.chunks(STRIP * d).zip(out).enumerate() {
                        if let Some(bad) = self.kernel.exponents(StripRows::Dense(rows), space, out, run)? {
                            let row = first + start + at * STRIP + bad;
                            return Err(bad_value(None, &rows[bad * d..][..d], row));
                        }
                    }
                }
            }
            NextRows::Held(matrix) => {
                for (start, out) in range.clone().step_by(STRIP).zip(strips.chunks_exact_mut(k * STRIP)) {
                    let rows = start..range.end.min(start + STRIP);
                    if let Some(bad) = self.kernel.exponents(StripRows::Sparse(matrix, rows), space, out, run)? {
                        let (columns, values) = matrix.row(start + bad);
                        return Err(bad_value(Some(columns), values, start + bad));
                    }
                }
            }
        }
        Ok(Chunk { first, n_rows, strips })
    }

    /// Visits the rows `rows` in chunks. `visit` gets each chunk, several in parallel; `take` gets the results of `visit` in the
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
            |first| self.open(first, run),
            (rows, CHUNK_ROWS),
            run,
            || (self.scratch(), state()),
            |(scratch, state), next, rows| visit(state, &mut self.chunk(next, rows, scratch, run)?),
            take,
        )
    }
}

/// Dense rows of `n_features` columns that are read at a time.
fn read_rows(n_features: usize) -> usize {
    if n_features > WIDE { STRIP } else { READ_ROWS }
}

/// Calls `work` for every item, in parallel, with a state of its thread. If several fail, the error is that of the first item, for
/// any number of threads; items after a failed one may be skipped.
pub(super) fn each_in_parallel<I: Send, S>(
    items: impl IndexedParallelIterator<Item = I>,
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> Result<()> + Sync + Send,
) -> Result<()> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let work = |state: &mut S, (at, item): (usize, I)| {
        if first_failed.load(Ordering::Relaxed) < at {
            return Ok(());
        }
        let done = work(state, item);
        if done.is_err() {
            first_failed.fetch_min(at, Ordering::Relaxed);
        }
        done
    };
    let done: Vec<Result<()>> = items.enumerate().with_max_len(1).map_init(state, work).collect();
    done.into_iter().collect()
}

/// The error for a row whose squares do not add up to a finite number; `columns` of its values are `None` if it has all.
pub(super) fn bad_value(columns: Option<&[u32]>, values: &[f32], row: usize) -> Error {
    let bad = values.iter().position(|x| !x.is_finite());
    let (value, advice) = match bad {
        Some(at) => (values[at].to_string(), "remove or impute it"),
        None => ("values too large to square in single precision".into(), "scale the features"),
    };
    let col = bad.map(|at| columns.map_or(at, |columns| columns[at] as usize));
    Error::Value { what: "features".into(), row, col, value, advice: advice.into() }
}
