//! Neighbours of neighbours: what partitions missed is mostly known to a neighbour.
//!
//! A snapshot of the lists becomes a graph: the first few neighbours of each row and, back along the same edges, rows
//! it is near to. Then every row meets the neighbours of its neighbours. Lists are read from the snapshot and written
//! by their own row only, so a round does not depend on the order of rows.

use lapwing_data::{Result, Run};
use rayon::prelude::*;

use super::lanes::{Element, Kernel};
use super::lists::{EMPTY, SharedLists, distance_of, id_of, key};
use super::points::Points;
use super::tile::{dispatched, prefetch};

/// Rows handled as one piece of work.
const BLOCK: usize = 512;
/// Places of the table of rows already met: a power of two well above the most candidates of a row,
/// (forward + back)² of the largest degrees and the list itself.
const TABLE: usize = 4096;

/// Neighbours of a row in a snapshot, forward and back: [`TABLE`] holds all candidates of a row.
const MOST_FORWARD: usize = 24;
const MOST_BACK: usize = 12;

/// Neighbours of each row in the snapshot for lists of `k` neighbours: forward, and at most back.
pub(crate) fn degrees(k: usize) -> (usize, usize) {
    (k.min(MOST_FORWARD), (k.div_ceil(2) + 2).min(MOST_BACK))
}

/// A snapshot of the lists as a graph of limited degree.
pub(super) struct Snapshot {
    /// First neighbour of each row (n + 1).
    starts: Vec<usize>,
    ids: Vec<u32>,
}

impl Snapshot {
    /// The nearest rows of each row, and rows that have it among their nearest, as many as [`degrees`] says.
    pub fn of(lists: &mut SharedLists, k: usize, run: &Run) -> Result<Self> {
        const CHECK: usize = 1 << 16;
        let (n, width, (forward, back)) = (lists.n_rows(), lists.width(), degrees(k));
        let keys = lists.as_slice();
        let near = |row: usize, most: usize| {
            keys[row * width..][..most].iter().take_while(|&&key| key != EMPTY).map(|&key| id_of(key))
        };
        // Rows in order: which rows point back is decided by their numbers alone.
        let (mut behind, mut counts) = (vec![0u32; n * back], vec![0u8; n]);
        for row in 0..n {
            if row % CHECK == 0 {
                run.check()?;
            }
            for id in near(row, back.min(forward)) {
                let count = &mut counts[id as usize];
                if usize::from(*count) < back {
                    behind[id as usize * back + usize::from(*count)] = row as u32;
                    *count += 1;
                }
            }
        }
        let most = n * forward + counts.iter().map(|&count| usize::from(count)).sum::<usize>();
        let (mut starts, mut ids) = (Vec::with_capacity(n + 1), Vec::with_capacity(most));
        starts.push(0);
        for row in 0..n {
            if row % CHECK == 0 {
                run.check()?;
            }
            let from = ids.len();
            ids.extend(near(row, forward));
            let until = ids.len();
            for &id in &behind[row * back..][..usize::from(counts[row])] {
                if !ids[from..until].contains(&id) {
                    ids.push(id);
                }
            }
            starts.push(ids.len());
        }
        Ok(Self { starts, ids })
    }

    /// Asks for the memory of the neighbours of `row`.
    #[inline(always)]
    fn prefetch(&self, row: usize) {
        self.near(row).iter().step_by(16).for_each(prefetch);
    }

    #[inline(always)]
    fn near(&self, row: usize) -> &[u32] {
        &self.ids[self.starts[row]..self.starts[row + 1]]
    }
}

/// One round: every row meets the neighbours of its neighbours in `graph`.
pub(super) fn polish<E: Element>(points: &Points<E>, lists: &SharedLists, graph: &Snapshot, run: &Run) -> Result<()> {
    let n = points.n;
    run.install(|| {
        (0..n.div_ceil(BLOCK)).into_par_iter().try_for_each_init(
            || Met { table: vec![0; TABLE], round: 0 },
            |met, block| {
                run.check()?;
                explore(points, lists, graph, block * BLOCK, ((block + 1) * BLOCK).min(n), met);
                Ok(())
            },
        )
    })
}

/// Rows already met, by hash; emptied by counting rounds.
pub(super) struct Met {
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

    /// Notes `id`; false if it was there.
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

dispatched! {
    /// The rows `first..end` meet the neighbours of their neighbours.
    explore = explore_with(points: &Points<E>, lists: &SharedLists, graph: &Snapshot, first: usize, end: usize, met: &mut Met)
}

#[inline(always)]
unsafe fn explore_with<K: Kernel, const R: usize>(
    points: &Points<K::Element>,
    lists: &SharedLists,
    graph: &Snapshot,
    first: usize,
    end: usize,
    met: &mut Met,
) {
    let (width, kept) = (points.width, lists.width());
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
        for &near in graph.near(row) {
            for &id in graph.near(near as usize) {
                if met.insert(id) {
                    candidates.push(id);
                    // The first cache lines; the processor foresees the others.
                    let words = points.row(id as usize);
                    words.iter().step_by(16).take(4).for_each(prefetch);
                    prefetch(&points.norms[id as usize]);
                }
            }
        }
        let own = points.row(row).as_ptr();
        for &id in &candidates {
            let other = points.row(id as usize).as_ptr();
            let norms = (points.norms[row].0, points.norms[id as usize].1);
            // SAFETY: both rows have `width` words; the caller vouches for the processor.
            let distance = unsafe { K::pair(own, other, width, norms.0, norms.1) };
            if distance <= limit {
                // SAFETY: as above.
                unsafe { K::insert(&mut list, key(distance, id)) };
                limit = distance_of(list[kept - 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Floats;
    use super::*;

    /// Rows on a line, 0, 1, 2, …: search distances are half the squares of the differences.
    fn line(n: usize) -> Points<Floats> {
        let words: Vec<f32> = (0..n).map(|i| i as f32).collect();
        Points { n, width: 1, norms: words.chunks(1).map(Floats::norms).collect(), words }
    }

    #[test]
    fn a_round_reaches_the_neighbors_of_neighbors_and_no_further() {
        let run = Run::new(Some(2), 0).unwrap();
        let points = line(3000);
        let mut lists = SharedLists::new(3000, 8);
        // Each row knows the next one only.
        (0..2999).for_each(|row| lists.lock(row)[0] = key(0.5, row as u32 + 1));
        let graph = Snapshot::of(&mut lists, 4, &run).unwrap();
        assert_eq!(graph.near(7), [8, 6]);
        polish(&points, &lists, &graph, &run).unwrap();
        let mut found: Vec<u32> = lists.lock(1500).iter().filter(|&&key| key != EMPTY).map(|&key| id_of(key)).collect();
        found.sort_unstable();
        assert_eq!(found, [1498, 1501, 1502]);
        assert!(lists.lock(1500).is_sorted());
    }

    #[test]
    fn snapshots_keep_to_their_degrees() {
        let run = Run::new(Some(1), 0).unwrap();
        let mut lists = SharedLists::new(100, 8);
        // Everyone's nearest is row 0.
        (1..100).for_each(|row| lists.lock(row)[0] = key(row as f32, 0));
        let graph = Snapshot::of(&mut lists, 6, &run).unwrap();
        let (_, back) = degrees(6);
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
