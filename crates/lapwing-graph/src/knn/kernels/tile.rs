//! The search kernels: blocks of pairs whose distances are compared where they are made, without being written.
//!
//! A tile is a few rows on the left times two registers of rows on the right. Its search distances meet the limits of
//! both sides while they are still in registers, and only the rare pair within one of them is looked at again. What a
//! matrix product would write and read back — four bytes for each pair — never leaves the processor.
//! Cost: one multiplication for each pair and column, sixteen at a time (sixty-four of bytes), and an insertion for each pair
//! that is near enough.

use crate::knn::kernels::lanes::{Element, Kernel, LANES, Word};
use crate::knn::kernels::lists::{SharedLists, distance_of, key};
use crate::knn::kernels::points::{Panels, Points};
use lapwing_data::vectored::prefetch;

/// Rows of a panel: two registers.
pub(crate) const PANEL: usize = 2 * LANES;

/// Defines `$name`, which runs `$kernel` in the version for this processor; the number is that of rows in a tile,
/// as many as fit its registers.
macro_rules! dispatched {
    ($(#[$doc:meta])* $name:ident = $kernel:ident ($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        pub(crate) fn $name<E: Element>($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512<E: Element>($($arg: $type),*) {
                    // SAFETY: the processor has what the kernels need.
                    unsafe { $kernel::<E::Avx512, 8>($($arg),*) }
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<E: Element>($($arg: $type),*) {
                    // SAFETY: the processor has what the kernels need.
                    unsafe { $kernel::<E::Avx2, 2>($($arg),*) }
                }
                if crate::knn::kernels::tile::has_avx512() {
                    // SAFETY: asked just now.
                    return unsafe { avx512::<E>($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: asked just now.
                    return unsafe { avx2::<E>($($arg),*) };
                }
            }
            // SAFETY: the plain version needs nothing.
            unsafe { $kernel::<E::Plain, 2>($($arg),*) }
        }
    };
}
pub(crate) use dispatched;

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Sums of `R` rows on the left with the rows of a panel.
///
/// # Safety
/// Every row on the left has `width` words, the panel `width · PANEL`; the processor has what the kernel needs.
#[inline(always)]
unsafe fn tile<K: Kernel, const R: usize>(
    left: [*const Word<K>; R],
    panel: *const Word<K>,
    width: usize,
) -> [[K::Sums; 2]; R] {
    let mut sums = [[K::zero(); 2]; R];
    for t in 0..width {
        // SAFETY: as asked.
        unsafe {
            let right = [K::load(panel.add(t * PANEL)), K::load(panel.add(t * PANEL + LANES))];
            for r in 0..R {
                let left = K::splat(left[r].add(t));
                sums[r] = [K::step(sums[r][0], left, right[0]), K::step(sums[r][1], left, right[1])];
            }
        }
    }
    sums
}

/// Rows whose memory is asked for ahead of time.
const AHEAD: usize = 8;

/// What joining a leaf needs, kept from leaf to leaf.
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

dispatched! {
    /// All pairs of the rows `ids` meet: each row's list takes the others that are nearer than what it has.
    join = join_with(leaf: &mut Leaf<E>, points: &Points<E>, ids: &[u32], lists: &SharedLists)
}

#[inline(always)]
unsafe fn join_with<K: Kernel, const R: usize>(
    leaf: &mut Leaf<K::Element>,
    points: &Points<K::Element>,
    ids: &[u32],
    lists: &SharedLists,
) {
    let (m, width, kept) = (ids.len(), points.width, lists.width());
    leaf.panels.fill(points, ids);
    leaf.limits.clear();
    for (at, &id) in ids.iter().enumerate() {
        if let Some(&next) = ids.get(at + AHEAD) {
            lists.prefetch(next as usize);
        }
        leaf.limits.push(distance_of(lists.lock(id as usize)[kept - 1]));
    }
    leaf.limits.resize(m.next_multiple_of(PANEL), f32::NEG_INFINITY);
    leaf.keys.clear();
    leaf.keys.resize(m * kept, crate::knn::kernels::lists::EMPTY);
    let Leaf { panels, limits, keys } = leaf;
    let mut distances = [0f32; PANEL];
    for first in (0..m).step_by(PANEL) {
        let panel = panels.words[first * width..].as_ptr();
        let is_there = if m - first < PANEL { (1u32 << (m - first)) - 1 } else { u32::MAX };
        for top in (0..(first + PANEL).min(m)).step_by(R) {
            // SAFETY: every row has `width` words; the caller vouches for the processor.
            unsafe {
                let row = |r: usize| ids[(top + r).min(m - 1)] as usize;
                let left = std::array::from_fn(|r| points.words.as_ptr().add(row(r) * width));
                let sums = tile::<K, R>(left, panel, width);
                for r in 0..R.min(m - top) {
                    let at = top + r;
                    let mut found = 0;
                    for half in 0..2 {
                        let base = first + half * LANES;
                        let values = K::finish(sums[r][half], panels.left[at], panels.right.as_ptr().add(base));
                        K::store(values, distances.as_mut_ptr().add(half * LANES));
                        let within = K::within_either(values, limits[at], limits.as_ptr().add(base));
                        found |= within << (half * LANES);
                    }
                    // Each pair once, and only rows that exist.
                    found &= is_there;
                    if at >= first {
                        found &= u32::MAX.checked_shl((at + 1 - first) as u32).unwrap_or(0);
                    }
                    if found != 0 {
                        take::<K>(&distances, found, (at, first), ids, limits, keys, kept);
                    }
                }
            }
        }
    }
    for (at, (&id, found)) in ids.iter().zip(keys.chunks_exact(kept)).enumerate() {
        if let Some(&next) = ids.get(at + AHEAD) {
            lists.prefetch(next as usize);
        }
        if found[0] != crate::knn::kernels::lists::EMPTY {
            let mut list = lists.lock(id as usize);
            for &key in found {
                if key >= list[kept - 1] {
                    break;
                }
                // SAFETY: the caller vouches for the processor.
                unsafe { K::offer(&mut list, key) }
            }
        }
    }
}

/// Takes the pairs of row `at` and the rows `first..` whose bits are set in `found` into the lists of both.
///
/// Both take the pair without asking whose limit it met: an insertion that changes nothing costs less than a branch
/// nobody can predict.
#[inline(always)]
unsafe fn take<K: Kernel>(
    distances: &[f32; PANEL],
    mut found: u32,
    (at, first): (usize, usize),
    ids: &[u32],
    limits: &mut [f32],
    keys: &mut [u64],
    kept: usize,
) {
    while found != 0 {
        let lane = found.trailing_zeros() as usize;
        found &= found - 1;
        for (own, other) in [(at, first + lane), (first + lane, at)] {
            let list = &mut keys[own * kept..(own + 1) * kept];
            // SAFETY: the caller vouches for the processor.
            unsafe { K::insert(list, key(distances[lane], ids[other])) };
            limits[own] = limits[own].min(distance_of(list[kept - 1]));
        }
    }
}

dispatched! {
    /// The nearest rows of `panels` for each row of `ids`, nearest first: `nearest` is (ids, fanout).
    assign = assign_with(points: &Points<E>, ids: &[u32], panels: &Panels<E>, nearest: &mut [u16])
}

#[inline(always)]
unsafe fn assign_with<K: Kernel, const R: usize>(
    points: &Points<K::Element>,
    ids: &[u32],
    panels: &Panels<K::Element>,
    nearest: &mut [u16],
) {
    assert!(panels.words.len() == panels.right.len() * points.width && nearest.len().is_multiple_of(ids.len()));
    let fanout = nearest.len() / ids.len();
    let mut best = vec![f32::INFINITY; nearest.len()];
    let width = points.width;
    // Panels in the outer loop: each stays in the nearest cache while the rows pass.
    for first in (0..panels.len).step_by(PANEL) {
        let panel = panels.words[first * width..].as_ptr();
        for top in (0..ids.len()).step_by(R) {
            let row = |r: usize| ids[(top + r).min(ids.len() - 1)] as usize;
            if first == 0 {
                // Rows come from all over the memory, once.
                for r in 0..R {
                    points.row(row(3 * R + r)).iter().step_by(LANES).take(4).for_each(prefetch);
                }
            }
            // SAFETY: rows and panel have `width` words, as asserted; `Points::row` above is in bounds, or panics.
            unsafe {
                let left = std::array::from_fn(|r| points.words.as_ptr().add(row(r) * width));
                let sums = tile::<K, R>(left, panel, width);
                for r in 0..R.min(ids.len() - top) {
                    let places = (top + r) * fanout..(top + r + 1) * fanout;
                    let (best, nearest) = (&mut best[places.clone()], &mut nearest[places]);
                    for half in 0..2 {
                        let base = first + half * LANES;
                        let left = points.norms[row(r)].0;
                        let values = K::finish(sums[r][half], left, panels.right.as_ptr().add(base));
                        let found = K::within(values, best[fanout - 1]);
                        if found != 0 {
                            choose::<K>(values, found, base, panels.len, best, nearest);
                        }
                    }
                }
            }
        }
    }
}

/// Takes the leaders `base..` whose bits are set in `found` among the nearest, by (distance, number).
#[inline(always)]
unsafe fn choose<K: Kernel>(
    values: K::Values,
    mut found: u32,
    base: usize,
    end: usize,
    best: &mut [f32],
    nearest: &mut [u16],
) {
    let mut distances = [0f32; LANES];
    // SAFETY: sixteen places; the caller vouches for the processor.
    unsafe { K::store(values, distances.as_mut_ptr()) };
    while found != 0 {
        let lane = found.trailing_zeros() as usize;
        found &= found - 1;
        let (distance, mut at) = (distances[lane], best.len() - 1);
        if base + lane >= end || distance >= best[at] {
            continue;
        }
        while at > 0 && best[at - 1] > distance {
            (best[at], nearest[at]) = (best[at - 1], nearest[at - 1]);
            at -= 1;
        }
        (best[at], nearest[at]) = (distance, (base + lane) as u16);
    }
}

dispatched! {
    /// Every row of `queries` meets every row of `panels`, which are the rows `first..` of all; the lists (queries,
    /// kept) take those that are nearer than what they have. No row may be met twice.
    meet = meet_with(queries: &Points<E>, panels: &Panels<E>, first: usize, lists: &mut [u64])
}

#[inline(always)]
unsafe fn meet_with<K: Kernel, const R: usize>(
    queries: &Points<K::Element>,
    panels: &Panels<K::Element>,
    first: usize,
    lists: &mut [u64],
) {
    let (n, width, kept) = (queries.n, queries.width, lists.len() / queries.n);
    assert!(queries.words.len() == n * width && panels.words.len() == panels.right.len() * width);
    for start in (0..panels.len).step_by(PANEL) {
        let panel = panels.words[start * width..].as_ptr();
        for top in (0..n).step_by(R) {
            // SAFETY: rows and panel have `width` words; the caller vouches for the processor.
            unsafe {
                let left = std::array::from_fn(|r| queries.words.as_ptr().add((top + r).min(n - 1) * width));
                let sums = tile::<K, R>(left, panel, width);
                for r in 0..R.min(n - top) {
                    let list = &mut lists[(top + r) * kept..(top + r + 1) * kept];
                    for half in 0..2 {
                        let base = start + half * LANES;
                        let left = queries.norms[top + r].0;
                        let values = K::finish(sums[r][half], left, panels.right.as_ptr().add(base));
                        let mut found = K::within(values, distance_of(list[kept - 1]));
                        if found == 0 {
                            continue;
                        }
                        let mut distances = [0f32; LANES];
                        K::store(values, distances.as_mut_ptr());
                        while found != 0 {
                            let lane = found.trailing_zeros() as usize;
                            found &= found - 1;
                            if base + lane < panels.len {
                                K::insert(list, key(distances[lane], (first + base + lane) as u32));
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::kernels::lanes::{Bytes, Floats};
    use crate::knn::kernels::lists::{EMPTY, id_of};

    /// Rows of small whole numbers, whose products are exact in f32 whatever is fused.
    fn values(n: usize, d: usize) -> Vec<u8> {
        (0..n * d).map(|at| ((at * 7919 + at / d * 31) % 211) as u8).collect()
    }

    fn floats(n: usize, d: usize) -> Points<Floats> {
        let words: Vec<f32> = values(n, d).iter().map(|&x| f32::from(x) - 100.0).collect();
        let norms = words.chunks_exact(d).map(Floats::norms).collect();
        Points { n, width: d, words, norms }
    }

    fn bytes(n: usize, d: usize) -> Points<Bytes> {
        let words: Vec<u32> = values(n, d).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        let norms = words.chunks_exact(d / 4).map(Bytes::norms).collect();
        Points { n, width: d / 4, words, norms }
    }

    /// Search distance of two rows, from their definition.
    fn distance(d: usize, i: usize, j: usize, scale: f32) -> f32 {
        let all = values(i.max(j) + 1, d);
        let squared = |c: usize| (i32::from(all[i * d + c]) - i32::from(all[j * d + c])).pow(2);
        (0..d).map(squared).sum::<i32>() as f32 / scale
    }

    /// The `kept` nearest of `others` to row i by (distance, row).
    fn nearest(d: usize, i: usize, others: impl Iterator<Item = usize>, kept: usize, scale: f32) -> Vec<u64> {
        let mut keys: Vec<u64> = others.map(|j| key(distance(d, i, j, scale), j as u32)).collect();
        keys.sort_unstable();
        keys.resize(keys.len().max(kept), EMPTY);
        keys.truncate(kept);
        keys
    }

    type Join<E> = fn(&mut Leaf<E>, &Points<E>, &[u32], &SharedLists);

    /// The join in all versions this processor runs.
    fn joins<E: Element>() -> Vec<Join<E>> {
        let plain: Join<E> = |leaf, points, ids, lists| {
            // SAFETY: the plain version needs nothing.
            unsafe { join_with::<E::Plain, 2>(leaf, points, ids, lists) }
        };
        let versions: [Option<Join<E>>; 3] = [Some(join::<E>), Some(plain), vectored()];
        versions.into_iter().flatten().collect()
    }

    #[cfg(target_arch = "x86_64")]
    fn vectored<E: Element>() -> Option<Join<E>> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(|leaf, points, ids, lists| {
            // SAFETY: asked just now.
            unsafe { join_with::<E::Avx2, 2>(leaf, points, ids, lists) }
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn vectored<E: Element>() -> Option<Join<E>> {
        None
    }

    fn joined_leaves_hold_the_nearest<E: Element>(points: &Points<E>, d: usize, scale: f32) {
        let n = points.n;
        // Two leaves that overlap; the second leaves a panel and a tile unfinished.
        let leaves: [Vec<u32>; 2] =
            [(0..n as u32).filter(|i| i % 3 != 1).collect(), (n as u32 / 3..n as u32).collect()];
        for join in joins::<E>() {
            let mut lists = SharedLists::new(n, 8);
            let mut leaf = Leaf::default();
            leaves.iter().for_each(|ids| join(&mut leaf, points, ids, &lists));
            for (i, list) in lists.as_slice().chunks_exact(8).enumerate() {
                let met = |j: &usize| {
                    let is_in = |leaf: &Vec<u32>, row: usize| leaf.contains(&(row as u32));
                    *j != i && leaves.iter().any(|leaf| is_in(leaf, i) && is_in(leaf, *j))
                };
                assert_eq!(list, nearest(d, i, (0..n).filter(met), 8, scale), "row {i} of {n} x {d}");
            }
        }
    }

    #[test]
    fn all_versions_of_the_join_find_what_brute_force_finds() {
        for (n, d) in [(203, 8), (70, 36), (9, 200)] {
            joined_leaves_hold_the_nearest(&floats(n, d), d, Floats::SQUARED);
            joined_leaves_hold_the_nearest(&bytes(n, d), d, Bytes::SQUARED);
        }
    }

    fn leaders_are_the_nearest<E: Element>(points: &Points<E>, d: usize, scale: f32) {
        let leaders: Vec<u32> = (0..points.n as u32).step_by(3).collect();
        let ids: Vec<u32> = (0..points.n as u32).rev().collect();
        let mut panels = Panels::default();
        panels.fill(points, &leaders);
        let mut chosen = vec![0u16; 3 * ids.len()];
        assign(points, &ids, &panels, &mut chosen);
        for (&id, chosen) in ids.iter().zip(chosen.chunks_exact(3)) {
            let expected = nearest(d, id as usize, leaders.iter().map(|&l| l as usize), 3, scale);
            assert!(expected.iter().zip(chosen).all(|(&key, &at)| id_of(key) == leaders[at as usize]));
        }
    }

    #[test]
    fn rows_are_assigned_to_their_nearest_leaders() {
        leaders_are_the_nearest(&floats(133, 12), 12, Floats::SQUARED);
        leaders_are_the_nearest(&bytes(133, 12), 12, Bytes::SQUARED);
    }

    fn queries_meet_everyone<E: Element>(points: &Points<E>, d: usize, scale: f32) {
        let everyone: Vec<u32> = (0..points.n as u32).collect();
        let mut lists = vec![EMPTY; points.n * 16];
        for first in (0..points.n).step_by(40) {
            let mut panels = Panels::default();
            panels.fill(points, &everyone[first..(first + 40).min(points.n)]);
            meet(points, &panels, first, &mut lists);
        }
        for (i, list) in lists.chunks_exact(16).enumerate() {
            assert_eq!(list, nearest(d, i, 0..points.n, 16, scale));
        }
    }

    #[test]
    fn queries_find_what_brute_force_finds() {
        queries_meet_everyone(&floats(133, 12), 12, Floats::SQUARED);
        queries_meet_everyone(&bytes(133, 12), 12, Bytes::SQUARED);
    }

    fn pairs_agree<K: Kernel>(points: &Points<K::Element>, d: usize, scale: f32) {
        for (i, j) in [(0, 1), (3, 2), (5, 5)] {
            let (left, right) = (points.row(i), points.row(j));
            let norms = (points.norms[i].0, points.norms[j].1);
            // SAFETY: the rows have `width` words, and the caller asked for the features.
            let found = unsafe { K::pair(left.as_ptr(), right.as_ptr(), points.width, norms.0, norms.1) };
            assert_eq!(found, distance(d, i, j, scale));
        }
    }

    #[test]
    fn all_versions_agree_on_single_pairs() {
        for d in [4, 60, 64, 128, 200, 332] {
            let (floats, bytes) = (floats(6, d), bytes(6, d));
            pairs_agree::<<Floats as Element>::Plain>(&floats, d, Floats::SQUARED);
            pairs_agree::<<Bytes as Element>::Plain>(&bytes, d, Bytes::SQUARED);
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    pairs_agree::<<Floats as Element>::Avx2>(&floats, d, Floats::SQUARED);
                    pairs_agree::<<Bytes as Element>::Avx2>(&bytes, d, Bytes::SQUARED);
                }
                if has_avx512() {
                    pairs_agree::<<Floats as Element>::Avx512>(&floats, d, Floats::SQUARED);
                    pairs_agree::<<Bytes as Element>::Avx512>(&bytes, d, Bytes::SQUARED);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn lists_in_registers_are_those_of_the_twin() {
        use crate::knn::kernels::lists;
        if !has_avx512() {
            return;
        }
        for width in [8, 24] {
            let (mut plain, mut vector) = (vec![EMPTY; width], vec![EMPTY; width]);
            for step in 0..500u32 {
                let id = step * 7919 % 60;
                let key = key(((step * 31 % 97) + id) as f32, id);
                lists::offer(&mut plain, key);
                // SAFETY: asked at the top.
                unsafe { <<Floats as Element>::Avx512 as Kernel>::offer(&mut vector, key) };
                assert_eq!(plain, vector);
            }
            for step in 0..40u32 {
                let key = key((step * 13 % 41) as f32, 1000 + step);
                lists::insert(&mut plain, key);
                // SAFETY: asked at the top.
                unsafe { <<Floats as Element>::Avx512 as Kernel>::insert(&mut vector, key) };
                assert_eq!(plain, vector);
            }
        }
    }
}
