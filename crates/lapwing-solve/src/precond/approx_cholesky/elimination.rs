//! The elimination of one part of a graph: vertices of low degree first, cliques replaced by random trees.
//!
//! Edges are stored at both their inner ends, in lists that share one arena. The records of an eliminated vertex stay in its
//! neighbors' lists and are skipped when those are read; a full list drops them before it grows. No step searches: eliminating a
//! vertex of degree d costs O(d log d).

use lapwing_core::{Result, Run};

use super::columns::{Columns, FREE, UNCHECKED};
use crate::precond::queue::{DegreeQueue, Link, Links};
use crate::real::prefetch;
use lapwing_core::hash::{mix, uniform};

/// The edges that join the neighbors of an eliminated vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cliques {
    /// Trees on two copies of every edge if small separators keep the factor small, as on meshes, else on one. The better factor
    /// saves a third of the iterations; it costs little on meshes, but much on graphs that mix fast.
    Suited,
    /// Random trees on k copies of every edge, AC(k), k from 1 to 16.
    Trees(u32),
}

impl Cliques {
    pub(super) fn copies(self) -> u32 {
        match self {
            Self::Suited => 1,
            Self::Trees(copies) => copies,
        }
    }
}

/// State of an eliminated vertex.
const GONE: u32 = u32::MAX - 1;
/// Capacity of the shortest lists.
const SHORTEST: usize = 4;
/// Vertices are prefetched this many records ahead.
const AHEAD: usize = 8;
/// Most records: their numbers have 32 bits.
const MOST_RECORDS: usize = 1 << 31;
/// Least weight; with lighter ones, products could leave the normal numbers of f32. The heaviest edge weighs 1.
pub(super) const LIGHTEST: f64 = 1e-36;
/// Shares are multiples of 2⁻²⁴, so that those of a column sum to exactly 1 and constants stay in the null space.
const SHARE_STEPS: f64 = (1u32 << 24) as f64;

/// An edge seen from one of its ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Record {
    pub id: u32,
    pub weight: f32,
}

/// The result of eliminating a part.
pub(super) struct Eliminated {
    pub columns: Columns,
    /// New edges among the rim.
    pub fill: Vec<(u32, u32, f32)>,
}

/// Parameters of the elimination.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub seed: u64,
    pub cliques: Cliques,
    /// Most entries of the factor of this part.
    pub max_entries: usize,
}

/// State of a vertex, in half a cache line.
#[repr(align(32))]
struct Node {
    link: Link,
    /// FREE, GONE or the position among the neighbors of the vertex being eliminated.
    state: u32,
    start: u32,
    len: u32,
    /// The list has room for `SHORTEST << class` records.
    class: u32,
}

/// Vertices `0..n_inner` are to be eliminated, `n_inner..n` are the rim that stays.
pub(super) struct Elimination {
    n_inner: usize,
    nodes: Vec<Node>,
    arena: Vec<Record>,
    /// Unused lists, by class.
    spare: Vec<Vec<u32>>,
    neighbors: Neighbors,
}

/// Scratch for the neighbors of one vertex.
#[derive(Default)]
struct Neighbors {
    ids: Vec<u32>,
    totals: Vec<f64>,
    counts: Vec<u32>,
    changes: Vec<i32>,
    /// (weight of a copy, id), as sort keys.
    keys: Vec<u64>,
    /// Weight of each neighbor in sorted order plus that of all later ones.
    suffixes: Vec<f64>,
}

impl Elimination {
    /// A part without edges yet; the rows of the inner vertices are then set in order.
    pub fn new(n_inner: usize, n: usize, n_records: usize) -> Self {
        let mut nodes = Vec::with_capacity(n);
        nodes.extend((0..n).map(|_| Node { link: Link::default(), state: FREE, start: 0, len: 0, class: 0 }));
        Self {
            n_inner,
            nodes,
            arena: Vec::with_capacity(n_records + n_records / 4),
            spare: Vec::new(),
            neighbors: Neighbors::default(),
        }
    }

    /// The edges of inner vertex `v`, each in `copies` copies.
    pub fn set_row(&mut self, v: usize, copies: u32, row: impl Iterator<Item = Record>) {
        let start = self.arena.len();
        for record in row {
            let weight = (f64::from(record.weight) / f64::from(copies)).max(LIGHTEST) as f32;
            (0..copies).for_each(|_| self.arena.push(Record { weight, ..record }));
        }
        let len = self.arena.len() - start;
        let class = (len.max(1).div_ceil(SHORTEST)).next_power_of_two().trailing_zeros();
        self.arena.resize(start + (SHORTEST << class), Record::default());
        (self.nodes[v].start, self.nodes[v].len, self.nodes[v].class) = (start as u32, len as u32, class);
    }

    /// Eliminates all inner vertices. `vertex_of(v)` is the number of v in the whole graph, which seeds its random stream. `None`
    /// if the factor exceeds its limit.
    pub fn run(mut self, rule: Rule, vertex_of: impl Fn(usize) -> u32, run: &Run) -> Result<Option<Eliminated>> {
        let degrees: Vec<u32> = self.nodes[..self.n_inner].iter().map(|node| node.len).collect();
        let mut queue = DegreeQueue::new(&degrees, &mut self.nodes);
        let mut columns = Columns::default();
        columns.ends.reserve(self.n_inner);
        let mut fill = Vec::new();
        let mut unchecked = 0;
        while let Some(v) = queue.pop(&mut self.nodes) {
            if let Some(next) = queue.peek() {
                prefetch(&self.arena, self.nodes[next as usize].start as usize);
            }
            self.gather(v as usize);
            let pivot = self.sort(rule.cliques.copies());
            let stream = mix(rule.seed ^ mix(u64::from(vertex_of(v as usize))));
            self.connect(stream, rule.cliques.copies(), &mut fill);
            self.record_column(v, pivot, &mut columns);
            self.release(&mut queue);
            unchecked += self.neighbors.ids.len();
            if unchecked > UNCHECKED {
                run.check()?;
                unchecked = 0;
            }
            if columns.ids.len() > rule.max_entries || self.arena.len() > MOST_RECORDS {
                return Ok(None);
            }
        }
        Ok(Some(Eliminated { columns: columns.by_level(self.nodes.len(), run)?, fill }))
    }

    /// Collects the remaining neighbors of `v`, with parallel edges added up, and removes `v`.
    fn gather(&mut self, v: usize) {
        let neighbors = &mut self.neighbors;
        neighbors.ids.clear();
        neighbors.totals.clear();
        neighbors.counts.clear();
        let (start, len) = (self.nodes[v].start as usize, self.nodes[v].len as usize);
        self.nodes[v].state = GONE;
        for (at, record) in self.arena[start..start + len].iter().enumerate() {
            let ahead = self.arena[start + (at + AHEAD).min(len - 1)];
            prefetch(&self.nodes, ahead.id as usize);
            let state = &mut self.nodes[record.id as usize].state;
            match *state {
                GONE => {}
                FREE => {
                    *state = neighbors.ids.len() as u32;
                    neighbors.ids.push(record.id);
                    neighbors.totals.push(record.weight.into());
                    neighbors.counts.push(1);
                }
                at => {
                    neighbors.totals[at as usize] += f64::from(record.weight);
                    neighbors.counts[at as usize] += 1;
                }
            }
        }
        // New edges go to the ends of the neighbors' lists.
        for &id in &neighbors.ids {
            let node = &self.nodes[id as usize];
            prefetch(&self.arena, (node.start + node.len) as usize);
        }
        let class = self.nodes[v].class as usize;
        if self.spare.len() <= class {
            self.spare.resize_with(class + 1, Vec::new);
        }
        self.spare[class].push(start as u32);
    }

    /// Sorts the neighbors by (weight of one copy, id), ascending; returns their total weight.
    fn sort(&mut self, copies: u32) -> f64 {
        let Neighbors { ids, totals, counts, keys, suffixes, changes, .. } = &mut self.neighbors;
        keys.clear();
        changes.clear();
        for ((id, total), count) in ids.iter().zip(totals.iter()).zip(counts.iter()) {
            let weight = (total / f64::from((*count).min(copies))) as f32;
            keys.push(u64::from(weight.to_bits()) << 32 | u64::from(*id));
            changes.push(-(*count as i32));
        }
        keys.sort_unstable();
        suffixes.clear();
        suffixes.resize(keys.len() + 1, 0.0);
        let mut sum = 0.0;
        for (at, key) in keys.iter().enumerate().rev() {
            sum += totals[self.nodes[*key as u32 as usize].state as usize];
            suffixes[at] = sum;
        }
        sum
    }

    /// Joins each copy of each neighbor but the last to a later one, drawn by weight: a random tree for the clique.
    fn connect(&mut self, stream: u64, copies: u32, fill: &mut Vec<(u32, u32, f32)>) {
        let (m, mut draw) = (self.neighbors.keys.len(), 0);
        for at in 0..m.saturating_sub(1) {
            let id = self.neighbors.keys[at] as u32;
            let place = self.nodes[id as usize].state as usize;
            let kept = self.neighbors.counts[place].min(copies);
            let rest = self.neighbors.suffixes[at + 1];
            let share = rest / self.neighbors.suffixes[0];
            let weight = (self.neighbors.totals[place] / f64::from(kept) * share).max(LIGHTEST) as f32;
            for _ in 0..kept {
                let chosen = if at + 2 == m {
                    at + 1
                } else {
                    draw += 1;
                    choose(&self.neighbors.suffixes, at + 1, uniform(stream.wrapping_add(draw)) * rest)
                };
                self.join(id, self.neighbors.keys[chosen] as u32, weight, fill);
            }
        }
    }

    /// A new edge between two neighbors.
    #[inline]
    fn join(&mut self, a: u32, b: u32, weight: f32, fill: &mut Vec<(u32, u32, f32)>) {
        for end in [a, b] {
            self.neighbors.changes[self.nodes[end as usize].state as usize] += 1;
        }
        let (is_inner, is_other_inner) = ((a as usize) < self.n_inner, (b as usize) < self.n_inner);
        if is_inner {
            self.push(a as usize, Record { id: b, weight });
        }
        if is_other_inner {
            self.push(b as usize, Record { id: a, weight });
        }
        if !is_inner && !is_other_inner {
            fill.push((a, b, weight));
        }
    }

    fn record_column(&self, v: u32, pivot: f64, columns: &mut Columns) {
        let Neighbors { keys, suffixes, .. } = &self.neighbors;
        let steps = |at: usize| (suffixes[at] / pivot * SHARE_STEPS).round();
        let mut above = SHARE_STEPS;
        for (at, key) in keys.iter().enumerate() {
            let below = if at + 1 == keys.len() { 0.0 } else { steps(at + 1) };
            // A difference of rounded sums, so that the column sums to 1 whatever its length.
            if above > below {
                columns.ids.push(*key as u32);
                columns.shares.push(((above - below) / SHARE_STEPS) as f32);
            }
            above = below;
        }
        columns.vertices.push(v);
        columns.ends.push(columns.ids.len());
        columns.pivots.push(pivot);
    }

    /// Resets the state of the neighbors and updates their degrees in the queue.
    fn release(&mut self, queue: &mut DegreeQueue) {
        for (id, change) in self.neighbors.ids.iter().zip(&self.neighbors.changes) {
            self.nodes[*id as usize].state = FREE;
            if *change != 0 && (*id as usize) < self.n_inner {
                queue.change(*id, *change, &mut self.nodes);
            }
        }
    }

    fn push(&mut self, v: usize, record: Record) {
        if self.nodes[v].len as usize == SHORTEST << self.nodes[v].class {
            self.make_room(v);
        }
        let node = &mut self.nodes[v];
        self.arena[(node.start + node.len) as usize] = record;
        node.len += 1;
    }

    /// Drops the records of eliminated vertices; then moves to a longer list unless a quarter of the old one is free.
    #[cold]
    fn make_room(&mut self, v: usize) {
        let Node { start, len, class, .. } = self.nodes[v];
        let (start, len) = (start as usize, len as usize);
        let mut kept = start;
        for at in start..start + len {
            prefetch(&self.nodes, self.arena[(at + AHEAD).min(start + len - 1)].id as usize);
            let record = self.arena[at];
            if self.nodes[record.id as usize].state != GONE {
                self.arena[kept] = record;
                kept += 1;
            }
        }
        let living = kept - start;
        self.nodes[v].len = living as u32;
        if 4 * living <= 3 * len {
            return;
        }
        let longer = class as usize + 1;
        if self.spare.len() <= longer {
            self.spare.resize_with(longer + 1, Vec::new);
        }
        let to = self.spare[longer].pop().map_or_else(
            || {
                let end = self.arena.len();
                self.arena.resize(end + (SHORTEST << longer), Record::default());
                end
            },
            |start| start as usize,
        );
        self.arena.copy_within(start..kept, to);
        self.spare[class as usize].push(start as u32);
        (self.nodes[v].start, self.nodes[v].class) = (to as u32, longer as u32);
    }
}

impl Links for Vec<Node> {
    #[inline(always)]
    fn link(&mut self, v: u32) -> &mut Link {
        &mut self[v as usize].link
    }
}

/// The k ≥ `first` with suffixes[k] > t ≥ suffixes[k + 1].
#[inline]
fn choose(suffixes: &[f64], first: usize, t: f64) -> usize {
    let (mut low, mut candidates) = (first, suffixes.len() - 1 - first);
    while candidates > 1 {
        let half = candidates / 2;
        low = std::hint::select_unpredictable(suffixes[low + half] > t, low + half, low);
        candidates -= half;
    }
    low
}

#[cfg(test)]
mod tests;
