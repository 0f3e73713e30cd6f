//! The factor and its two triangular sweeps on blocks of s columns.
//!
//! Parts of one level share no entries and are swept in parallel; each keeps its own values in cache. In the downward sweep a
//! part first gathers from earlier levels (by rows), then scatters its own columns. The upward sweep only gathers. Sums are taken
//! in one order whatever the threads.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::columns::{Columns, UNCHECKED};
use super::levels::{GROUND, Levels};
use super::lists::{Entries, Few};
use crate::blocks::BLOCK_ROWS;
use crate::dispatch::{WIDEST, dispatch, with_width};

/// A part of at least so many columns is swept by several threads, each for some of the right-hand sides.
const LARGE: usize = 1 << 14;

/// Columns eliminated one after the other.
#[derive(Debug)]
struct Part {
    /// Their first position.
    start: usize,
    inverse_pivots: Vec<f64>,
    /// Entries within the part, by column; rows are counted from its start.
    inner: Entries,
    /// Entries in later levels, by column; rows are positions.
    outer: Few,
    /// Entries of earlier levels in these rows, by row; columns are positions.
    incoming: Few,
}

/// L·D·Lᵀ with unit columns e_p − Σ shares, in order of elimination.
#[derive(Debug)]
pub(super) struct Factor {
    levels: Vec<Vec<Part>>,
}

impl Factor {
    /// Puts the columns of all parts in one order, which is also returned; pivots are divided by `scale`.
    pub fn assemble(n: usize, levels: Levels, scale: f64, run: &Run) -> Result<(Vec<u32>, Self)> {
        run.check()?;
        let order: Vec<u32> = levels.iter().flatten().flat_map(|part| part.vertices.iter().copied()).collect();
        let mut positions = vec![GROUND; n];
        order.iter().enumerate().for_each(|(at, &v)| positions[v as usize] = at as u32);
        let mut start = 0;
        let mut parts = Vec::new();
        for level in levels {
            let starts: Vec<usize> = level
                .iter()
                .map(|columns| {
                    let first = start;
                    start += columns.vertices.len();
                    first
                })
                .collect();
            let level = level.into_par_iter().zip(starts);
            parts.push(
                level
                    .map(|(columns, start)| Part::new(columns, start, &positions, scale, run))
                    .collect::<Result<Vec<_>>>()?,
            );
        }
        drop(positions);
        let mut factor = Self { levels: parts };
        factor.distribute(n, run)?;
        Ok((order, factor))
    }

    /// Collects for every part the entries of earlier levels in its rows.
    fn distribute(&mut self, n: usize, run: &Run) -> Result<()> {
        let mut ends = vec![0usize; n];
        let all = || self.levels.iter().flatten();
        for rows in all().flat_map(|part| part.outer.lists.ids.chunks(UNCHECKED)) {
            run.check()?;
            rows.iter().for_each(|&row| ends[row as usize] += 1);
        }
        let mut sum = 0;
        ends.iter_mut().for_each(|end| {
            let count = std::mem::replace(end, sum);
            sum += count;
        });
        let (mut ids, mut shares) = (vec![0u32; sum], vec![0f32; sum]);
        // Columns in ascending order, so that each row lists them in that order; `ends` moves from the start to the end of every
        // row.
        for part in all() {
            for (at, &column) in part.outer.owners.iter().enumerate() {
                if at.is_multiple_of(UNCHECKED) {
                    run.check()?;
                }
                let (rows, values) = part.outer.lists.list(at);
                for (&row, &share) in rows.iter().zip(values) {
                    let end = &mut ends[row as usize];
                    (ids[*end], shares[*end]) = ((part.start as u32) + column, share);
                    *end += 1;
                }
            }
        }
        self.levels.par_iter_mut().flatten().try_for_each(|part| {
            for row in 0..part.inverse_pivots.len() {
                if row.is_multiple_of(UNCHECKED) {
                    run.check()?;
                }
                let position = part.start + row;
                let first = if position == 0 { 0 } else { ends[position - 1] };
                let list = first..ends[position];
                let entries = ids[list.clone()].iter().copied().zip(shares[list].iter().copied());
                part.incoming.push(row as u32, entries);
            }
            Ok(())
        })
    }

    pub fn n_entries(&self) -> usize {
        self.levels.iter().flatten().map(|part| part.inner.ids.len() + part.outer.lists.ids.len()).sum()
    }

    pub fn bytes(&self) -> usize {
        let part = |p: &Part| 8 * p.inverse_pivots.len() + p.inner.bytes() + p.outer.bytes() + p.incoming.bytes();
        self.levels.iter().flatten().map(part).sum()
    }

    /// Z ← (L·D·Lᵀ)⁺·R on blocks (n, s), rows in order of elimination.
    pub fn apply(&self, r: &[f64], z: &mut [f64], s: usize) {
        if s == 0 {
            return;
        }
        for level in &self.levels {
            let Some(first) = level.first() else { continue };
            let (earlier, own) = z.split_at_mut(first.start * s);
            let earlier = &*earlier;
            each_part(level, own, s, |part, own| {
                let from = part.start * s;
                own.copy_from_slice(&r[from..from + own.len()]);
                part.by_width(own, s, Sweep::Down, earlier, 0);
            });
        }
        for level in self.levels.iter().rev() {
            let Some((first, last)) = level.first().zip(level.last()) else { continue };
            let later_start = last.start + last.inverse_pivots.len();
            let (own, later) = z.split_at_mut(later_start * s);
            let later = &*later;
            each_part(level, &mut own[first.start * s..], s, |part, own| {
                part.by_width(own, s, Sweep::Up, later, later_start);
            });
        }
    }
}

/// Error bounds.
impl Factor {
    /// σ² with σᵥ² = 1/dᵥ + (Σ sᵤᵥσᵤ)², later positions u first: at least the diagonal of (L·D·Lᵀ)⁺. A ζ of that covariance has
    /// ζᵥ = Σ sᵤᵥζᵤ + ξᵥ/√dᵥ with independent ξ, and the standard deviation of a weighted mean is at most the mean of the
    /// standard deviations.
    pub fn variances(&self) -> Vec<f64> {
        let mut deviations = vec![0.0; self.n()];
        for level in self.levels.iter().rev() {
            let Some((first, last)) = level.first().zip(level.last()) else { continue };
            let later_start = last.start + last.inverse_pivots.len();
            let (own, later) = deviations.split_at_mut(later_start);
            let later = &*later;
            each_part(level, &mut own[first.start..], 1, |part, own| part.deviate(own, later, later_start));
        }
        deviations.iter_mut().for_each(|deviation| *deviation *= *deviation);
        deviations
    }

    /// Y ← L·D^½·Y on blocks (n, m).
    pub fn color(&self, block: &mut [f64], m: usize) {
        for part in self.levels.iter().flatten() {
            let own = block[part.start * m..].chunks_exact_mut(m).zip(&part.inverse_pivots);
            for (row, inverse) in own {
                let root = if *inverse > 0.0 { inverse.sqrt().recip() } else { 0.0 };
                row.iter_mut().for_each(|v| *v *= root);
            }
        }
        let scaled = block.to_vec();
        let parts: Vec<&Part> = self.levels.iter().flatten().collect();
        let mut pieces = Vec::with_capacity(parts.len());
        let mut rest = block;
        for part in parts {
            let (own, later) = rest.split_at_mut(part.inverse_pivots.len() * m);
            pieces.push((part, own));
            rest = later;
        }
        pieces.into_par_iter().for_each(|(part, own)| part.multiply(own, &scaled, m));
    }

    fn n(&self) -> usize {
        self.levels.iter().flatten().map(|part| part.inverse_pivots.len()).sum()
    }
}

impl Part {
    /// Computes the deviations of the part from those of later levels, whose positions begin at `first`.
    fn deviate(&self, own: &mut [f64], later: &[f64], first: usize) {
        let mut outer = self.outer.owners.iter().enumerate().rev().peekable();
        for column in (0..own.len()).rev() {
            let (ids, shares) = self.inner.list(column);
            let mut mean: f64 = ids.iter().zip(shares).map(|(&id, &share)| f64::from(share) * own[id as usize]).sum();
            if let Some((at, _)) = outer.next_if(|(_, owner)| **owner as usize == column) {
                let (ids, shares) = self.outer.lists.list(at);
                mean += ids.iter().zip(shares).map(|(&id, &s)| f64::from(s) * later[id as usize - first]).sum::<f64>();
            }
            own[column] = (self.inverse_pivots[column] + mean * mean).sqrt();
        }
    }

    /// Subtracts from the rows `own` the products of the columns of L with `all`.
    fn multiply(&self, own: &mut [f64], all: &[f64], m: usize) {
        let mut take = |row: usize, share: f32, from: usize| {
            let from = &all[from * m..(from + 1) * m];
            own[row * m..(row + 1) * m].iter_mut().zip(from).for_each(|(v, from)| *v -= f64::from(share) * from);
        };
        for column in 0..self.inverse_pivots.len() {
            let (ids, shares) = self.inner.list(column);
            ids.iter().zip(shares).for_each(|(&id, &share)| take(id as usize, share, self.start + column));
        }
        for (at, &row) in self.incoming.owners.iter().enumerate() {
            let (columns, shares) = self.incoming.lists.list(at);
            columns.iter().zip(shares).for_each(|(&column, &share)| take(row as usize, share, column as usize));
        }
    }
}

/// Passes each part of a level its rows of the block; `rows` begins with those of the first part.
fn each_part<'a>(level: &'a [Part], mut rows: &mut [f64], s: usize, work: impl Fn(&'a Part, &mut [f64]) + Sync) {
    let mut pieces = Vec::with_capacity(level.len());
    for part in level {
        let (own, rest) = rows.split_at_mut(part.inverse_pivots.len() * s);
        pieces.push((part, own));
        rows = rest;
    }
    pieces.into_par_iter().for_each(|(part, own)| work(part, own));
}

impl Part {
    fn new(columns: Columns, start: usize, positions: &[u32], scale: f64, run: &Run) -> Result<Self> {
        let n = columns.vertices.len();
        let (mut inner, mut outer) = (Entries::default(), Few::default());
        inner.starts.reserve_exact(n + 1);
        let mut first = 0;
        for (column, &end) in columns.ends.iter().enumerate() {
            if column.is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            // The value of the ground is 0.
            let entries = || {
                let list = columns.ids[first..end].iter().zip(&columns.shares[first..end]);
                list.filter(|entry| *entry.0 != GROUND).map(|(&id, &share)| (positions[id as usize], share))
            };
            let is_inner = |position: u32| (position as usize) < start + n;
            let inner_entries = entries().filter(|entry| is_inner(entry.0));
            inner.push_list(inner_entries.map(|(position, share)| (position - start as u32, share)));
            outer.push(column as u32, entries().filter(|entry| !is_inner(entry.0)));
            first = end;
        }
        // A vertex without remaining neighbors is the last of its component: its value stays 0.
        let inverse = |&pivot: &f64| if pivot > 0.0 { scale / pivot } else { 0.0 };
        let inverse_pivots = columns.pivots.iter().map(inverse).collect();
        Ok(Self { start, inverse_pivots, inner, outer, incoming: Few::default() })
    }

    /// Sweeps the block in strips of at most sixteen columns; a large part in as many strips as there are threads.
    fn by_width(&self, own: &mut [f64], s: usize, sweep: Sweep, others: &[f64], first: usize) {
        let is_large = self.inverse_pivots.len() >= LARGE;
        let most = if is_large { s.div_ceil(rayon::current_num_threads()).min(WIDEST) } else { WIDEST };
        if s <= most {
            return sweep_strip(self, own, s, sweep, Others { values: others, s, at: 0, first });
        }
        let starts: Vec<usize> = (0..s).step_by(most).collect();
        let source = &*own;
        let strips: Vec<Vec<f64>> = starts
            .par_iter()
            .map(|&at| {
                let width = most.min(s - at);
                let mut strip = Vec::with_capacity(source.len() / s * width);
                source.chunks_exact(s).for_each(|row| strip.extend_from_slice(&row[at..at + width]));
                sweep_strip(self, &mut strip, width, sweep, Others { values: others, s, at, first });
                strip
            })
            .collect();
        for (strip, &at) in strips.iter().zip(&starts) {
            let width = most.min(s - at);
            own.par_chunks_mut(s)
                .zip(strip.par_chunks(width))
                .with_min_len(BLOCK_ROWS)
                .for_each(|(row, strip)| row[at..at + width].copy_from_slice(strip));
        }
    }

    /// y ← L⁻¹y.
    #[inline(always)]
    fn down_rows<const S: usize>(&self, own: &mut [[f64; S]], others: Others<'_>) {
        let mut incoming = self.incoming.owners.iter().enumerate().peekable();
        for column in 0..own.len() {
            let mut value = own[column];
            if let Some((at, _)) = incoming.next_if(|(_, row)| **row as usize == column) {
                let (ids, shares) = self.incoming.lists.list(at);
                for (&id, &share) in ids.iter().zip(shares) {
                    add::<S>(&mut value, share, others.row(id));
                }
                own[column] = value;
            }
            let (ids, shares) = self.inner.list(column);
            for (&id, &share) in ids.iter().zip(shares) {
                debug_assert!((id as usize) < own.len());
                // SAFETY: inner ids are positions within the part less its start, and `own` holds all its rows.
                add::<S>(unsafe { own.get_unchecked_mut(id as usize) }, share, &value);
            }
        }
    }

    /// y ← L⁻ᵀD⁻¹y.
    #[inline(always)]
    fn up_rows<const S: usize>(&self, own: &mut [[f64; S]], others: Others<'_>) {
        let mut outer = self.outer.owners.iter().enumerate().rev().peekable();
        for column in (0..own.len()).rev() {
            let mut value = own[column].map(|v| v * self.inverse_pivots[column]);
            if let Some((at, _)) = outer.next_if(|(_, owner)| **owner as usize == column) {
                let (ids, shares) = self.outer.lists.list(at);
                for (&id, &share) in ids.iter().zip(shares) {
                    add::<S>(&mut value, share, others.row(id));
                }
            }
            // Four independent sums, so that additions overlap.
            let mut sums = [value, [0.0; S], [0.0; S], [0.0; S]];
            let (ids, shares) = self.inner.list(column);
            let (ids, last_ids) = ids.as_chunks::<4>();
            let (shares, last_shares) = shares.as_chunks::<4>();
            for (ids, shares) in ids.iter().zip(shares) {
                for at in 0..4 {
                    // SAFETY: as in `down_rows`.
                    add::<S>(&mut sums[at], shares[at], unsafe { own.get_unchecked(ids[at] as usize) });
                }
            }
            for (at, (&id, &share)) in last_ids.iter().zip(last_shares).enumerate() {
                add::<S>(&mut sums[at], share, &own[id as usize]);
            }
            for lane in 0..S {
                value[lane] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
            }
            own[column] = value;
        }
    }
}

// `own` holds `width` columns, which correspond to the columns `others.at..` of the other blocks.
dispatch! {
    fn sweep_strip(part: &Part, own: &mut [f64], width: usize, sweep: Sweep, others: Others<'_>) = sweep_plain
}

#[inline(always)]
fn sweep_plain(part: &Part, own: &mut [f64], width: usize, sweep: Sweep, others: Others<'_>) {
    with_width!(width, sweep_width(part, own, sweep, others));
}

#[inline(always)]
fn sweep_width<const S: usize>(part: &Part, own: &mut [f64], sweep: Sweep, others: Others<'_>) {
    let rows = own.as_chunks_mut::<S>().0;
    assert_eq!(rows.len(), part.inverse_pivots.len());
    match sweep {
        Sweep::Down => part.down_rows::<S>(rows, others),
        Sweep::Up => part.up_rows::<S>(rows, others),
    }
}

#[derive(Clone, Copy)]
enum Sweep {
    Down,
    Up,
}

/// Rows of other levels: positions from `first` on, columns from `at` on.
#[derive(Clone, Copy)]
struct Others<'a> {
    values: &'a [f64],
    s: usize,
    at: usize,
    first: usize,
}

impl<'a> Others<'a> {
    #[inline(always)]
    fn row(self, position: u32) -> &'a [f64] {
        &self.values[(position as usize - self.first) * self.s + self.at..]
    }
}

#[inline(always)]
fn add<const S: usize>(to: &mut [f64; S], share: f32, from: &[f64]) {
    let share = f64::from(share);
    let from = &from[..S];
    for lane in 0..S {
        to[lane] += share * from[lane];
    }
}
