//! The search kernels: compute distances of blocks of pairs and compare them with limits, without writing them to memory.
//!
//! A tile is a few rows on the left times two vectors of rows on the right. Its search distances are compared with the limits of
//! both sides while they are in registers; only the rare pairs within a limit need more work. A matrix product would write and read
//! back four bytes for each pair.
//! Cost: one multiplication for each pair and column, sixteen at a time (sixty-four of bytes), and an insertion for each pair
//! that is near enough.

use lapwing_simd::{Floats, LANES, Simd, dispatch, lanes, prefetch_lines};

use crate::knn::kernels::element::Element;
use crate::knn::kernels::lists::{EMPTY, SharedLists, distance_of, key, offer_with};
use crate::knn::kernels::points::{Block, PANEL, Panels, Points};

/// Sums of `R` rows on the left with the rows of a panel.
#[inline(always)]
fn products<S: Simd, E: Element, const R: usize>(
    simd: S,
    left: [&[E::Word]; R],
    panel: &[E::Word],
) -> [[E::Lanes<S>; 2]; R] {
    let (mut sums, panel) = ([[E::zero(simd); 2]; R], panel.as_chunks::<PANEL>().0);
    let left = left.map(|row| &row[..panel.len()]);
    for t in 0..panel.len() {
        let right = [E::load(simd, lanes(&panel[t], 0)), E::load(simd, lanes(&panel[t], LANES))];
        for r in 0..R {
            let left = E::splat(simd, left[r][t]);
            sums[r] = [E::step::<S>(sums[r][0], left, right[0]), E::step::<S>(sums[r][1], left, right[1])];
        }
    }
    sums
}

/// Calls `visit` with the sums of each of `n` rows on the left with the rows of a panel, as many rows at a time as fit the
/// registers.
#[inline(always)]
fn each_row<'r, S: Simd, E: Element>(
    simd: S,
    n: usize,
    left: impl Fn(usize) -> &'r [E::Word],
    panel: &[E::Word],
    visit: impl FnMut(usize, [E::Lanes<S>; 2]),
) {
    if S::IS_WIDE {
        tiles::<S, E, 8>(simd, n, left, panel, visit);
    } else {
        tiles::<S, E, 2>(simd, n, left, panel, visit);
    }
}

#[inline(always)]
fn tiles<'r, S: Simd, E: Element, const R: usize>(
    simd: S,
    n: usize,
    left: impl Fn(usize) -> &'r [E::Word],
    panel: &[E::Word],
    mut visit: impl FnMut(usize, [E::Lanes<S>; 2]),
) {
    for top in (0..n).step_by(R) {
        let mut rows = [&[][..]; R];
        rows.iter_mut().enumerate().for_each(|(r, row)| *row = left((top + r).min(n - 1)));
        let sums = products::<S, E, R>(simd, rows, panel);
        for r in 0..R.min(n - top) {
            visit(top + r, sums[r]);
        }
    }
}

/// Calls `visit` with the numbers of the bits that are set.
#[inline(always)]
fn each_bit(mut bits: u32, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Memory is prefetched this many rows ahead.
const AHEAD: usize = 8;

/// Scratch of [`join`], used again for the next leaf.
pub(crate) struct Leaf<E: Element> {
    panels: Panels<E>,
    /// Distance a candidate of each row must not exceed.
    limits: Vec<f32>,
    /// Candidates of each row (rows, list width).
    keys: Vec<u64>,
}

impl<E: Element> Default for Leaf<E> {
    fn default() -> Self {
        Self { panels: Panels::default(), limits: Vec::new(), keys: Vec::new() }
    }
}

impl<E: Element> Leaf<E> {
    /// The rows `ids`, with no candidates yet.
    fn fill(&mut self, points: &Points<E>, ids: &[u32], lists: &SharedLists) {
        self.panels.fill(points, ids);
        self.limits.clear();
        for (at, &id) in ids.iter().enumerate() {
            if let Some(&next) = ids.get(at + AHEAD) {
                lists.prefetch(next as usize);
            }
            self.limits.push(distance_of(lists.lock(id as usize)[lists.width() - 1]));
        }
        self.limits.resize(ids.len().next_multiple_of(PANEL), f32::NEG_INFINITY);
        self.keys.clear();
        self.keys.resize(ids.len() * lists.width(), EMPTY);
    }
}

dispatch! {
    /// Compares all pairs of the rows `ids`; each row's list takes the rows that are nearer than its entries.
    pub(crate) fn join[E: Element](leaf: &mut Leaf<E>, points: &Points<E>, ids: &[u32], lists: &SharedLists) = join_with(simd)
}

#[inline(always)]
fn join_with<S: Simd, E: Element>(simd: S, leaf: &mut Leaf<E>, points: &Points<E>, ids: &[u32], lists: &SharedLists) {
    leaf.fill(points, ids, lists);
    let (m, width, kept) = (ids.len(), points.width, lists.width());
    let Leaf { panels, limits, keys } = leaf;
    for first in (0..m).step_by(PANEL) {
        let is_there = if m - first < PANEL { (1u32 << (m - first)) - 1 } else { u32::MAX };
        each_row::<S, E>(
            simd,
            (first + PANEL).min(m),
            #[inline(always)]
            |at| points.row(ids[at] as usize),
            &panels.words[first * width..][..PANEL * width],
            #[inline(always)]
            |at, sums| {
                let (mut distances, mut found) = ([0f32; PANEL], 0);
                for half in 0..2 {
                    let base = first + half * LANES;
                    let values = E::finish(simd, sums[half], panels.left[at], lanes(&panels.right, base));
                    values.store(&mut distances.as_chunks_mut().0[half]);
                    let limit = simd.splat(limits[at]).max(simd.load(lanes(limits, base)));
                    found |= values.at_most(limit) << (half * LANES);
                }
                // Each pair is compared once, and padding of the panel is left out.
                found &= is_there;
                if at >= first {
                    found &= u32::MAX.checked_shl((at + 1 - first) as u32).unwrap_or(0);
                }
                // Both rows take the pair, whichever limit it is within: an insertion that changes nothing costs less than a
                // branch that no predictor gets right.
                each_bit(found, |lane| {
                    for (own, other) in [(at, first + lane), (first + lane, at)] {
                        let list = &mut keys[own * kept..(own + 1) * kept];
                        simd.insert_sorted(list, key(distances[lane], ids[other]));
                        limits[own] = limits[own].min(distance_of(list[kept - 1]));
                    }
                });
            },
        );
    }
    for (at, (&id, found)) in ids.iter().zip(keys.chunks_exact(kept)).enumerate() {
        if let Some(&next) = ids.get(at + AHEAD) {
            lists.prefetch(next as usize);
        }
        if found[0] != EMPTY {
            let mut list = lists.lock(id as usize);
            for &key in found {
                if key >= list[kept - 1] {
                    break;
                }
                offer_with(simd, &mut list, key);
            }
        }
    }
}

dispatch! {
    /// The nearest rows of `panels` for each row of `ids`, nearest first: `nearest` is (ids, fanout).
    pub(crate) fn assign[E: Element](points: &Points<E>, ids: &[u32], panels: &Panels<E>, nearest: &mut [u16]) = assign_with(simd)
}

#[inline(always)]
fn assign_with<S: Simd, E: Element>(simd: S, points: &Points<E>, ids: &[u32], panels: &Panels<E>, nearest: &mut [u16]) {
    /// Rows are prefetched this many rows ahead.
    const ROWS_AHEAD: usize = 24;
    let (width, fanout) = (points.width, nearest.len() / ids.len());
    let mut best = vec![f32::INFINITY; nearest.len()];
    // Panels in the outer loop: each stays in the L1 cache for all rows.
    for first in (0..panels.len).step_by(PANEL) {
        each_row::<S, E>(
            simd,
            ids.len(),
            #[inline(always)]
            |at| {
                if first == 0 {
                    // Rows lie anywhere in memory and are read once from there.
                    points.prefetch(ids[(at + ROWS_AHEAD).min(ids.len() - 1)]);
                }
                points.row(ids[at] as usize)
            },
            &panels.words[first * width..][..PANEL * width],
            #[inline(always)]
            |at, sums| {
                let places = at * fanout..(at + 1) * fanout;
                let (best, nearest) = (&mut best[places.clone()], &mut nearest[places]);
                for half in 0..2 {
                    let base = first + half * LANES;
                    let left = points.norms[ids[at] as usize].0;
                    let values = E::finish(simd, sums[half], left, lanes(&panels.right, base));
                    let found = values.at_most(simd.splat(best[fanout - 1]));
                    if found != 0 {
                        let mut distances = [0f32; LANES];
                        values.store(&mut distances);
                        choose(&distances, found, base..panels.len, best, nearest);
                    }
                }
            },
        );
    }
}

/// Adds the leaders whose bits are set in `found` to the nearest ones, ordered by (distance, number).
#[inline(always)]
fn choose(
    distances: &[f32; LANES],
    found: u32,
    leaders: std::ops::Range<usize>,
    best: &mut [f32],
    nearest: &mut [u16],
) {
    each_bit(found, |lane| {
        let (distance, leader, mut at) = (distances[lane], leaders.start + lane, best.len() - 1);
        if leader >= leaders.end || distance >= best[at] {
            return;
        }
        while at > 0 && best[at - 1] > distance {
            (best[at], nearest[at]) = (best[at - 1], nearest[at - 1]);
            at -= 1;
        }
        (best[at], nearest[at]) = (distance, leader as u16);
    });
}

dispatch! {
    /// Compares the rows `visitors` of `queries` with the rows of `block`; their lists, of all lists (queries, kept), take those that are
    /// nearer than their entries. No pair may be compared twice.
    pub(crate) fn compare[E: Element](queries: &Points<E>, visitors: &[u32], block: Block<'_, E>, lists: &mut [u64]) = compare_with(simd)
}

#[inline(always)]
fn compare_with<S: Simd, E: Element>(
    simd: S,
    queries: &Points<E>,
    visitors: &[u32],
    block: Block<'_, E>,
    lists: &mut [u64],
) {
    if S::IS_WIDE {
        compare_tiles::<S, E, 8>(simd, queries, visitors, block, lists);
    } else {
        compare_tiles::<S, E, 2>(simd, queries, visitors, block, lists);
    }
}

#[inline(always)]
fn compare_tiles<S: Simd, E: Element, const R: usize>(
    simd: S,
    queries: &Points<E>,
    visitors: &[u32],
    block: Block<'_, E>,
    lists: &mut [u64],
) {
    let (width, kept) = (queries.width, lists.len() / queries.n);
    for (panel, ids) in block.ids.chunks(PANEL).enumerate() {
        let (start, is_there) = (panel * PANEL, u32::MAX >> (PANEL - ids.len()));
        let (words, next) = block.words[start * width..].split_at(PANEL * width);
        prefetch_lines(&next[..next.len().min(PANEL * width)]);
        for visitors in visitors.chunks(R) {
            let rows: [usize; R] = std::array::from_fn(|r| visitors[r.min(visitors.len() - 1)] as usize);
            let sums = products::<S, E, R>(simd, rows.map(|row| queries.row(row)), words);
            // All distances of a tile leave the registers before the first of them enters a list.
            let (mut distances, mut found) = ([[0f32; PANEL]; R], [0u32; R]);
            for r in 0..R {
                let limit = simd.splat(distance_of(lists[(rows[r] + 1) * kept - 1]));
                for half in 0..2 {
                    let right = lanes(block.right, start + half * LANES);
                    let values = E::finish(simd, sums[r][half], queries.norms[rows[r]].0, right);
                    values.store(&mut distances[r].as_chunks_mut().0[half]);
                    found[r] |= values.at_most(limit) << (half * LANES);
                }
            }
            for r in 0..visitors.len() {
                let list = &mut lists[rows[r] * kept..(rows[r] + 1) * kept];
                each_bit(found[r] & is_there, |lane| simd.insert_sorted(list, key(distances[r][lane], ids[lane])));
            }
        }
    }
}

#[cfg(test)]
mod tests;
