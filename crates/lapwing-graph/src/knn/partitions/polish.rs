//! Neighbors of neighbors: a neighbor that partitions missed is mostly in the list of another neighbor.
//!
//! A snapshot of the lists becomes a graph: the first few neighbors of each row and, back along the same edges, rows of which
//! it is a neighbor. Then every row is compared with the neighbors of its neighbors, except along two edges that were both in
//! the snapshot before: those rows have been compared. Lists are read from the snapshot and written by their own row only,
//! so that a round does not depend on the order of rows.
//!
//! Cost: for k = 15 some 250 distances to rows that lie anywhere and 600 lookups in a table, for each row, in a first full
//! round; a seventh of it in a second one. Memory: 4 bytes for each place of a neighbor in a snapshot, and 9 a row.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};
use lapwing_simd::{Simd, dispatch, prefetch, prefetch_lines};

use crate::knn::kernels::element::Element;
use crate::knn::kernels::lists::{EMPTY, SharedLists, distance_of, id_of, key};
use crate::knn::kernels::points::Points;

/// Rows between two checks for an interruption.
const CHECK: usize = 1 << 16;
/// Parts of the rows that each go through all lists.
const MOST_PARTS: usize = 8;
/// Rows that a thread works on at a time.
const BLOCK: usize = 512;
/// Places of the table of rows already seen: a power of two well above the most candidates of a row,
/// (forward + back)² of the largest degrees and the list itself.
const TABLE: usize = 4096;

/// Most neighbors of a row in a snapshot, forward and back: [`TABLE`] holds all candidates of a row, and 64 bits its neighbors.
const MOST_FORWARD: usize = 24;
const MOST_BACK: usize = 12;

/// Neighbors of each row in a snapshot: forward, and at most back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Degrees {
    pub forward: usize,
    pub back: usize,
}

impl Degrees {
    /// For lists of `k` neighbors.
    pub fn full(k: usize) -> Self {
        Self { forward: k.min(MOST_FORWARD), back: (k.div_ceil(2) + 2).min(MOST_BACK) }
    }

    /// For a first round if few neighbors are missing: half the edges find half of those for a quarter of the work.
    pub fn few(k: usize) -> Self {
        let full = Self::full(k);
        Self { forward: full.forward.div_ceil(2), back: full.back.div_ceil(4) }
    }
}

/// A snapshot of the lists as a graph of limited degree.
pub(crate) struct Snapshot {
    /// Most neighbors of a row.
    most: usize,
    /// Neighbors of each row (n).
    lens: Vec<u8>,
    /// (n, most).
    ids: Vec<u32>,
    /// One bit for each neighbor: set if the previous snapshot did not have it (n).
    fresh: Vec<u64>,
}

impl Snapshot {
    /// The nearest rows of each row, and rows of which it is one of the nearest, at most `degrees`; `before` is the snapshot
    /// of the last round.
    pub fn new(lists: &mut SharedLists, degrees: Degrees, before: Option<&Self>, run: &Run) -> Result<Self> {
        let (n, width, Degrees { forward, back }) = (lists.n_rows(), lists.width(), degrees);
        let most = forward + back;
        let keys = &*lists.as_mut_slice();
        let near = |row: usize, most: usize| {
            keys[row * width..][..most].iter().take_while(|&&key| key != EMPTY).map(|&key| id_of(key))
        };
        let (mut ids, mut lens, mut fresh) = (vec![0u32; n * most], vec![0u8; n], vec![0u64; n]);
        run.install(|| {
            // The rows that point back are the first by number: every part of the rows reads all lists in order, so that
            // the result does not depend on the number of parts.
            let part = n.div_ceil(rayon::current_num_threads().min(MOST_PARTS)).max(1);
            ids.par_chunks_mut(part * most).zip(lens.par_chunks_mut(part)).enumerate().try_for_each(
                |(at, (ids, counts))| {
                    let first = at * part;
                    for row in 0..n {
                        if row % CHECK == 0 {
                            run.check()?;
                        }
                        for id in near(row, back.min(forward)) {
                            let place = (id as usize).wrapping_sub(first);
                            if let Some(count) = counts.get_mut(place)
                                && usize::from(*count) < back
                            {
                                ids[place * most + forward + usize::from(*count)] = row as u32;
                                *count += 1;
                            }
                        }
                    }
                    Ok::<(), lapwing_core::Error>(())
                },
            )?;
            let rows =
                ids.par_chunks_mut(BLOCK * most).zip(lens.par_chunks_mut(BLOCK)).zip(fresh.par_chunks_mut(BLOCK));
            rows.enumerate().try_for_each(|(block, ((ids, lens), fresh))| {
                run.check()?;
                let rows = ids.chunks_exact_mut(most).zip(lens).zip(fresh).enumerate();
                for (at, ((ids, len), fresh)) in rows {
                    let row = block * BLOCK + at;
                    let n_back = usize::from(*len);
                    let mut end = 0;
                    for id in near(row, forward) {
                        ids[end] = id;
                        end += 1;
                    }
                    for at in forward..forward + n_back {
                        if !ids[..end].contains(&ids[at]) {
                            ids[end] = ids[at];
                            end += 1;
                        }
                    }
                    *len = end as u8;
                    let known = before.map_or(&[][..], |before| before.near(row));
                    *fresh = (0..end).map(|at| u64::from(!known.contains(&ids[at])) << at).sum();
                }
                Ok::<(), lapwing_core::Error>(())
            })
        })?;
        Ok(Self { most, lens, ids, fresh })
    }

    /// Prefetches the neighbors of `row`.
    #[inline(always)]
    fn prefetch(&self, row: usize) {
        prefetch_lines(&self.ids[row * self.most..(row + 1) * self.most]);
        prefetch(&self.lens, row);
        prefetch(&self.fresh, row);
    }

    #[inline(always)]
    fn near(&self, row: usize) -> &[u32] {
        &self.ids[row * self.most..][..usize::from(self.lens[row])]
    }
}

/// One round: every row is compared with the neighbors of its neighbors in `graph` that the round before did not reach.
pub(crate) fn polish<E: Element>(points: &Points<E>, lists: &SharedLists, graph: &Snapshot, run: &Run) -> Result<()> {
    let n = points.n;
    let rows = run.counter(n, "rows compared with the neighbors of their neighbors");
    run.install(|| {
        (0..n.div_ceil(BLOCK)).into_par_iter().try_for_each_init(
            || Met { table: vec![0; TABLE], round: 0 },
            |met, block| {
                run.check()?;
                let end = ((block + 1) * BLOCK).min(n);
                explore(points, lists, graph, block * BLOCK, end, met);
                rows.add(end - block * BLOCK);
                Ok(())
            },
        )
    })
}

/// Rows already seen, by hash. A new round empties it by counting up.
pub(crate) struct Met {
    table: Vec<u64>,
    round: u32,
}

impl Met {
    fn next(&mut self) {
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.table.fill(0);
            1
        });
    }

    /// Adds `id`; false if it was there.
    #[inline(always)]
    fn insert(&mut self, id: u32) -> bool {
        let entry = u64::from(self.round) << 32 | u64::from(id);
        let mut at = id as usize % TABLE;
        loop {
            let found = self.table[at];
            if found == entry {
                return false;
            }
            if (found >> 32) as u32 != self.round {
                self.table[at] = entry;
                return true;
            }
            at = (at + 1) % TABLE;
        }
    }
}

dispatch! {
    /// Compares the rows `first..end` with the neighbors of their neighbors.
    fn explore[E: Element](
        points: &Points<E>, lists: &SharedLists, graph: &Snapshot, first: usize, end: usize, met: &mut Met
    ) = explore_with(simd)
}

#[inline(always)]
fn explore_with<S: Simd, E: Element>(
    simd: S,
    points: &Points<E>,
    lists: &SharedLists,
    graph: &Snapshot,
    first: usize,
    end: usize,
    met: &mut Met,
) {
    let kept = lists.width();
    let mut candidates = Vec::with_capacity(TABLE);
    for row in first..end {
        met.next();
        met.insert(row as u32);
        graph.near(row).iter().for_each(|&near| graph.prefetch(near as usize));
        candidates.clear();
        let mut list = lists.lock(row);
        for &key in list.iter().take_while(|&&key| key != EMPTY) {
            met.insert(id_of(key));
        }
        let mut limit = distance_of(list[kept - 1]);
        let fresh = graph.fresh[row];
        for (at, &near) in graph.near(row).iter().enumerate() {
            let mut meet = |id: u32| {
                if met.insert(id) {
                    candidates.push(id);
                    points.prefetch(id);
                    prefetch(&points.norms, id as usize);
                }
            };
            let (ids, mut rest) = (graph.near(near as usize), graph.fresh[near as usize]);
            if fresh >> at & 1 == 1 {
                ids.iter().for_each(|&id| meet(id));
            } else {
                // The edge to `near` is old: only its new edges lead to rows that were not compared.
                while rest != 0 {
                    meet(ids[rest.trailing_zeros() as usize]);
                    rest &= rest - 1;
                }
            }
        }
        let own = points.row(row);
        for &id in &candidates {
            let norms = (points.norms[row].0, points.norms[id as usize].1);
            let distance = E::pair(simd, own, points.row(id as usize), norms);
            if distance <= limit {
                simd.insert_sorted(&mut list, key(distance, id));
                limit = distance_of(list[kept - 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::kernels::element::Floats;
    use crate::knn::kernels::lists::shared_lists;

    /// Rows on a line, 0, 1, 2, …: search distances are half the squares of the differences.
    fn line(n: usize) -> Points<Floats> {
        let words: Vec<f32> = (0..n).map(|i| i as f32).collect();
        Points { n, width: 1, norms: words.chunks(1).map(Floats::norms).collect(), words }
    }

    #[test]
    fn a_round_reaches_the_neighbors_of_neighbors_and_no_further() {
        let run = Run::new(Some(2), 0).unwrap();
        let points = line(3000);
        let mut lists = shared_lists(3000, 8);
        // Each list holds the next row only.
        (0..2999).for_each(|row| lists.lock(row)[0] = key(0.5, row as u32 + 1));
        let graph = Snapshot::new(&mut lists, Degrees::full(4), None, &run).unwrap();
        assert_eq!(graph.near(7), [8, 6]);
        polish(&points, &lists, &graph, &run).unwrap();
        let mut found: Vec<u32> = lists.lock(1500).iter().filter(|&&key| key != EMPTY).map(|&key| id_of(key)).collect();
        found.sort_unstable();
        assert_eq!(found, [1498, 1501, 1502]);
        assert!(lists.lock(1500).is_sorted());
    }

    #[test]
    fn a_second_round_goes_by_new_ways_only_and_misses_nothing() {
        let run = Run::new(Some(2), 0).unwrap();
        let points = line(600);
        let full = Degrees::full(6);
        let found = |knows: bool| {
            let mut lists = shared_lists(600, 8);
            (0..599).for_each(|row| lists.lock(row)[0] = key(0.5, row as u32 + 1));
            let mut before = None;
            for _ in 0..3 {
                let graph = Snapshot::new(&mut lists, full, before.as_ref().filter(|_| knows), &run).unwrap();
                polish(&points, &lists, &graph, &run).unwrap();
                before = Some(graph);
            }
            let last = before.unwrap();
            let n_fresh: u32 = last.fresh.iter().map(|fresh| fresh.count_ones()).sum();
            (lists.into_vec(), n_fresh, last.lens.iter().map(|&len| u32::from(len)).sum::<u32>())
        };
        let ((all, _, _), (known, n_fresh, n_edges)) = (found(false), found(true));
        assert_eq!(all, known);
        assert!(n_fresh < n_edges, "{n_fresh} of {n_edges}");
    }

    #[test]
    fn snapshots_keep_to_their_degrees() {
        let run = Run::new(Some(1), 0).unwrap();
        let mut lists = shared_lists(100, 8);
        // The nearest of every row is row 0.
        (1..100).for_each(|row| lists.lock(row)[0] = key(row as f32, 0));
        let graph = Snapshot::new(&mut lists, Degrees::full(6), None, &run).unwrap();
        let back = Degrees::full(6).back;
        assert_eq!(graph.near(0), (1..=back as u32).collect::<Vec<_>>());
    }

    #[test]
    fn rows_already_met_are_known_until_the_next_round() {
        let mut met = Met { table: vec![0; TABLE], round: 0 };
        for _ in 0..3 {
            met.next();
            let ids: Vec<u32> = (0..2000).map(|i| i * TABLE as u32 / 2).collect();
            assert!(ids.iter().all(|&id| met.insert(id)));
            assert!(!ids.iter().any(|&id| met.insert(id)));
        }
    }
}
