//! Passes over the rows of X in f64, parallel over blocks, with sums over all rows in a fixed order.
//!
//! Block b of 1,024 rows adds to slot b mod s, one of at most 64 partial sums; within a slot blocks follow one another in
//! order, and in the end the slots are added in theirs. s depends on n, d and k alone, so that any number of threads gives
//! the same bits. Where the source is seekable, each thread reads its own blocks; else one reader reads a few blocks ahead
//! of the threads, with the same bits.
//!
//! Inside a block, tiles of 128 to 1,024 rows are converted and worked on while they are in the cache.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lapwing_core::ordered::{Summand, sum_of_parts};
use lapwing_core::parallel::*;
use lapwing_core::{Result, RowReader, RowSource, Run};
use lapwing_simd::dispatch;

use crate::low_rank::passes::{bad_value, each_in_parallel};

/// Rows of a block: the unit of parallel work, with its own stream of random numbers.
pub(super) const BLOCK_ROWS: usize = 1024;
/// Most slots, and fewest if slots are large.
const SLOTS: usize = 64;
const FEWEST_SLOTS: usize = 8;
/// Bytes that all slots together should not exceed.
const SLOT_BYTES: usize = 1 << 28;
/// Values of a tile: 2 MiB in f64.
const TILE_VALUES: usize = 1 << 18;
const FEWEST_TILE_ROWS: usize = 128;

/// Rows of a tile for d columns: a power of two.
pub(super) fn tile_rows(d: usize) -> usize {
    let most = (TILE_VALUES / d.max(1)).clamp(FEWEST_TILE_ROWS, BLOCK_ROWS);
    1 << most.ilog2()
}

/// Slots for n rows, d columns and rank k.
pub(super) fn n_slots(n: usize, d: usize, k: usize) -> usize {
    let each = 8usize.saturating_mul(d.saturating_add(2 * k).saturating_mul(k));
    (SLOT_BYTES / each.max(1)).clamp(FEWEST_SLOTS, SLOTS).min(n.div_ceil(BLOCK_ROWS)).max(1)
}

/// X (n, d), minus one number.
pub(super) struct OffsetRows<'a> {
    values: Values<'a>,
    pub n: usize,
    pub d: usize,
    /// Subtracted from every value, in f64.
    pub offset: f64,
    pub run: &'a Run,
    passes: AtomicUsize,
    spaces: Mutex<Vec<Space>>,
}

/// Source of the values.
#[derive(Clone, Copy)]
enum Values<'a> {
    Source(&'a dyn RowSource),
    /// Rows in double precision, for golden figures; sources have none.
    #[cfg(test)]
    Double(&'a lapwing_core::Matrix),
}

/// A few rows of X in f64.
pub(super) struct Tile<'t> {
    /// Number of the first row.
    pub first: usize,
    /// Values, row-major (rows, d).
    pub x: &'t [f64],
    /// Scratch of any size and content.
    pub scratch: &'t mut Vec<f64>,
}

/// Scratch of a thread, used again for later blocks.
#[derive(Default)]
struct Space {
    raw: Vec<f32>,
    x: Vec<f64>,
    scratch: Vec<f64>,
}

impl<'a> OffsetRows<'a> {
    pub fn new(source: &'a dyn RowSource, run: &'a Run) -> Self {
        Self::from_parts(Values::Source(source), source.n_rows(), source.n_cols(), run)
    }

    #[cfg(test)]
    pub fn double(matrix: &'a lapwing_core::Matrix, run: &'a Run) -> Self {
        Self::from_parts(Values::Double(matrix), matrix.n_rows(), matrix.n_cols(), run)
    }

    fn from_parts(values: Values<'a>, n: usize, d: usize, run: &'a Run) -> Self {
        Self { values, n, d, offset: 0.0, run, passes: AtomicUsize::new(0), spaces: Mutex::default() }
    }

    /// Passes so far.
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// One pass: `work` on every tile, with the slot it adds to and the part of `out` that belongs to its rows. `out` has
    /// n·w values, w for each row; `slots` may have any length.
    ///
    /// # Errors
    /// Those of the source; [`Error::Value`](lapwing_core::Error::Value) for the first value that is not finite;
    /// [`Error::Interrupted`](lapwing_core::Error::Interrupted).
    pub fn pass<O: Send, S: Send>(
        &self,
        out: &mut [O],
        slots: &mut [S],
        work: impl Fn(&mut S, Tile<'_>, &mut [O]) + Sync,
    ) -> Result<()> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let width = out.len() / self.n.max(1);
        let mut ahead = self.ahead(slots.len())?;
        let at_once = ahead.as_ref().map_or(slots.len(), |ahead| ahead.blocks.len());
        let (wave_rows, part_rows) = (slots.len() * BLOCK_ROWS, at_once * BLOCK_ROWS);
        for (wave, out) in out.chunks_mut((wave_rows * width).max(1)).enumerate() {
            let mut open = &mut *slots;
            for (part, out) in out.chunks_mut(part_rows * width).enumerate() {
                let first = wave * wave_rows + part * part_rows;
                let rows = out.len() / width;
                let read = match &mut ahead {
                    Some(ahead) => ahead.read(rows, self.d, self.run)?,
                    None => &[],
                };
                let (now, later) = open.split_at_mut(rows.div_ceil(BLOCK_ROWS));
                open = later;
                let blocks = out.par_chunks_mut(BLOCK_ROWS * width).zip(now).enumerate();
                self.run.install(|| {
                    each_in_parallel(
                        blocks,
                        || (),
                        |(), (at, (out, slot))| {
                            self.block(
                                first + at * BLOCK_ROWS,
                                read.get(at).map(Vec::as_slice),
                                slot,
                                out,
                                width,
                                &work,
                            )
                        },
                    )
                })?;
            }
        }
        Ok(())
    }

    /// One pass that sums, over slots for rank k that begin at `zero`.
    ///
    /// The total is made after the slots, so that it keeps the end of the heap: else the allocator returns the pages of the
    /// slots to the system after each pass, and each pass faults them in again (an eighth of the time of 8,000 rows).
    ///
    /// # Errors
    /// As [`pass`](Self::pass).
    pub fn sum<O: Send, S: Summand>(
        &self,
        k: usize,
        out: &mut [O],
        zero: impl Fn() -> S,
        work: impl Fn(&mut S, Tile<'_>, &mut [O]) + Sync,
    ) -> Result<S> {
        let mut slots: Vec<S> = (0..n_slots(self.n, self.d, k)).map(|_| zero()).collect();
        self.pass(out, &mut slots, work)?;
        Ok(sum_of_parts(zero(), &slots))
    }

    /// The tiles of one block; `read` holds its rows if they were read ahead.
    fn block<O, S>(
        &self,
        first: usize,
        read: Option<&[f32]>,
        slot: &mut S,
        out: &mut [O],
        width: usize,
        work: &impl Fn(&mut S, Tile<'_>, &mut [O]),
    ) -> Result<()> {
        let mut space = self.spaces.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let tile_rows = tile_rows(self.d);
        let mut reader = match (read, self.values) {
            (Some(_), _) => None,
            (None, Values::Source(source)) => Some(source.open(first, &[], self.run)?),
            #[cfg(test)]
            (None, Values::Double(_)) => None,
        };
        for (tile, out) in out.chunks_mut(tile_rows * width).enumerate() {
            self.run.check()?;
            let (rows, start) = (out.len() / width, tile * tile_rows);
            space.x.resize(rows * self.d, 0.0);
            let raw = match read {
                Some(read) => &read[start * self.d..(start + rows) * self.d],
                None => {
                    space.raw.resize(rows * self.d, 0.0);
                    if let Some(reader) = &mut reader {
                        reader.read(&mut space.raw, self.run)?;
                    }
                    &space.raw
                }
            };
            match self.values {
                Values::Source(_) => self.widen(first + start, raw, &mut space.x)?,
                #[cfg(test)]
                Values::Double(matrix) => {
                    space.x.copy_from_slice(&matrix.values()[(first + start) * self.d..][..rows * self.d]);
                }
            }
            let tile = Tile { first: first + start, x: &space.x, scratch: &mut space.scratch };
            work(slot, tile, out);
        }
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner).push(space);
        Ok(())
    }

    /// f32 to f64, less the offset.
    fn widen(&self, first: usize, raw: &[f32], x: &mut [f64]) -> Result<()> {
        if convert(raw, self.offset, x) < EXPONENT {
            return Ok(());
        }
        let row = raw.iter().position(|value| !value.is_finite()).unwrap_or(0) / self.d;
        Err(bad_value(None, &raw[row * self.d..][..self.d], first + row))
    }

    /// A reader ahead of the work, for sources that are not seekable.
    fn ahead(&self, slots: usize) -> Result<Option<Ahead<'a>>> {
        match self.values {
            Values::Source(source) if !source.is_seekable() => {
                let blocks = vec![Vec::new(); slots.min(self.run.threads()).max(1)];
                Ok(Some(Ahead { reader: source.open(0, &[], self.run)?, blocks }))
            }
            _ => Ok(None),
        }
    }
}

/// The exponent bits of an f32. All of them are set if the value is not finite.
const EXPONENT: u32 = 0x7F80_0000;

dispatch! {
    /// x ← raw − offset; the largest exponent among them, still in its place.
    pub(crate) fn convert(raw: &[f32], offset: f64, x: &mut [f64]) -> u32 = convert_plain
}

#[inline(always)]
fn convert_plain(raw: &[f32], offset: f64, x: &mut [f64]) -> u32 {
    let mut largest = 0;
    for (x, &value) in x.iter_mut().zip(raw) {
        *x = f64::from(value) - offset;
        largest = largest.max(value.to_bits() & EXPONENT);
    }
    largest
}

/// The one reader of a pass and the blocks it has read.
struct Ahead<'a> {
    reader: Box<dyn RowReader + 'a>,
    blocks: Vec<Vec<f32>>,
}

impl Ahead<'_> {
    /// The next `rows` rows, in blocks.
    fn read(&mut self, rows: usize, d: usize, run: &Run) -> Result<&[Vec<f32>]> {
        let starts = (0..rows).step_by(BLOCK_ROWS);
        for (block, start) in self.blocks.iter_mut().zip(starts) {
            run.check()?;
            block.resize((rows - start).min(BLOCK_ROWS) * d, 0.0);
            self.reader.read(block, run)?;
        }
        Ok(&self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{CancelToken, Error, Features};

    use super::*;

    #[test]
    fn tiles_and_slots_are_bounded_by_their_bytes() {
        assert_eq!([1, 256, 257, 784, 100_000].map(tile_rows), [1024, 1024, 512, 256, 128]);
        assert_eq!(n_slots(1, 784, 50), 1);
        assert_eq!(n_slots(100_000_000, 784, 50), 64);
        assert_eq!(n_slots(100_000_000, 784, 500), 37);
        assert_eq!(n_slots(100_000_000, 100_000, 1000), 8);
    }

    #[test]
    fn every_row_comes_once_with_what_belongs_to_it() {
        let (n, d) = (5 * BLOCK_ROWS + 7, 300);
        let features = Features::from_f32(n, d, (0..n * d).map(|at| (at % 1009) as f32).collect()).unwrap();
        for (threads, slots) in [(1, 1), (2, 3), (7, 64)] {
            let run = Run::new(Some(threads), 0).unwrap();
            let mut rows = OffsetRows::new(&features, &run);
            rows.offset = 1.0;
            let (mut out, mut counts) = (vec![0.0; 2 * n], vec![0; slots]);
            rows.pass(&mut out, &mut counts, |count, tile, out| {
                for (row, (x, out)) in tile.x.chunks_exact(d).zip(out.chunks_exact_mut(2)).enumerate() {
                    out[0] += x[0];
                    out[1] += (tile.first + row) as f64;
                    *count += 1;
                }
            })
            .unwrap();
            assert!((0..n).all(|i| out[2 * i] == (i * d % 1009) as f64 - 1.0 && out[2 * i + 1] == i as f64));
            assert_eq!((counts.iter().sum::<usize>(), rows.passes()), (n, 1));
        }
    }

    #[test]
    fn the_first_bad_value_is_named_and_a_canceled_run_ends() {
        let (n, d) = (4000, 3);
        let mut values = vec![1.0f32; n * d];
        values[2500 * d + 2] = f32::NEG_INFINITY;
        values[3500 * d] = f32::NAN;
        let features = Features::from_f32(n, d, values).unwrap();
        let cancel = CancelToken::default();
        let run = Run::new(Some(3), 0).unwrap().with_cancel(cancel.clone());
        let pass = || OffsetRows::new(&features, &run).pass(&mut vec![(); n], &mut [(); 4], |_, _, _| {}).unwrap_err();
        for _ in 0..10 {
            assert_eq!(pass().to_string(), "row 2500 of features holds -inf (column 2); remove or impute it");
        }
        cancel.cancel();
        assert!(matches!(pass(), Error::Interrupted));
    }
}
