//! The relation "i has neighbor j" in both directions, and sparse matrices filled row by row in parallel.
//!
//! Rows of a result are merged from the neighbors of a row and the rows that have it as a neighbor; entries are counted first
//! and filled second. Cost: O(n·k) time in parallel; at its peak 12 bytes a neighbor besides the two lists. Entries are in the
//! order of rows for any number of threads.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Result, memory};

/// What stands in the place of a neighbor behind the end of a short list.
pub const NO_NEIGHBOR: u32 = u32::MAX;

/// Rows of one unit of work.
const BLOCK: usize = 4096;
/// Pieces into which lists are cut to be transposed: enough for many threads, few enough for long runs of writes.
const PIECES: usize = 64;

/// The transposed relation: the rows that have a row as a neighbor, ascending, with their values.
pub(crate) struct Incoming<V> {
    start: Vec<u64>,
    entries: Vec<(u32, V)>,
}

/// An entry of a neighbor list: neighbor, row, value.
type Entry<V> = (u32, u32, V);

impl<V: Copy + Default + Send + Sync> Incoming<V> {
    /// Transposes lists of k neighbors for each row, `indices` (n, k) with `values` (n, k) beside them; [`NO_NEIGHBOR`] is none.
    pub fn new(indices: &[u32], values: &[V], k: usize) -> Self {
        let n = indices.len() / k.max(1);
        let pieces = bucket(indices, values, k);
        let sizes: Vec<usize> =
            (0..n.div_ceil(BLOCK)).map(|b| pieces.iter().map(|piece| piece[b].len()).sum()).collect();
        let firsts = sizes.iter().scan(0u64, |end, &size| {
            *end += size as u64;
            Some(*end - size as u64)
        });
        let mut start = vec![0u64; n + 1];
        let mut entries = vec![(0u32, V::default()); indices.len()];
        let buckets =
            start[1..].chunks_mut(BLOCK).zip(cut(&mut entries, sizes.iter().copied())).zip(firsts).enumerate();
        buckets.collect::<Vec<_>>().into_par_iter().for_each(|(bucket, ((ends, entries), first))| {
            let named = pieces.iter().flat_map(|piece| &piece[bucket]);
            let first_row = bucket * BLOCK;
            named.clone().for_each(|&(id, ..)| ends[id as usize - first_row] += 1);
            let mut end = 0u64;
            let mut next: Vec<usize> = Vec::with_capacity(ends.len());
            for count in ends.iter_mut() {
                next.push(end as usize);
                end += *count;
                *count = first + end;
            }
            for &(id, row, value) in named {
                let place = &mut next[id as usize - first_row];
                entries[*place] = (row, value);
                *place += 1;
            }
        });
        Self { start, entries }
    }

    pub fn row(&self, row: usize) -> &[(u32, V)] {
        &self.entries[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

/// The entries of each piece of the lists, in buckets by their neighbors. The rows of one bucket fit in the cache.
fn bucket<V: Copy + Send + Sync>(indices: &[u32], values: &[V], k: usize) -> Vec<Vec<Vec<Entry<V>>>> {
    let n = indices.len() / k.max(1);
    let rows = n.div_ceil(PIECES).max(1);
    let pieces = indices.par_chunks(rows * k).zip(values.par_chunks(rows * k)).enumerate();
    let pieces = pieces.map(|(piece, (ids, values))| {
        let mut sizes = vec![0usize; n.div_ceil(BLOCK)];
        ids.iter().filter(|&&id| id != NO_NEIGHBOR).for_each(|&id| sizes[id as usize / BLOCK] += 1);
        let mut buckets: Vec<Vec<_>> = sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
        for (at, (&id, &value)) in ids.iter().zip(values).enumerate().filter(|(_, (id, _))| **id != NO_NEIGHBOR) {
            buckets[id as usize / BLOCK].push((id, (piece * rows + at / k) as u32, value));
        }
        buckets
    });
    pieces.collect()
}

/// Sorts the `k` neighbors of each row by their numbers, along with their values.
pub(crate) fn sort_by_row<V: Copy + Send>(k: usize, indices: &mut [u32], values: &mut [V]) {
    let rows = indices.par_chunks_mut(k).zip(values.par_chunks_mut(k));
    rows.with_min_len(256).for_each_init(Vec::new, |own, (ids, values)| {
        own.clear();
        own.extend(ids.iter().copied().zip(values.iter().copied()));
        own.sort_unstable_by_key(|&(id, _)| id);
        own.iter().zip(ids.iter_mut().zip(values)).for_each(|(entry, (id, value))| (*id, *value) = *entry);
    });
}

/// Visits the union of two lists sorted by id: `visit` gets the id, its value in `a` (or in `b` if `a` lacks it), and its value
/// in `b` if both have it.
pub(crate) fn merge<V: Copy>(a: &[(u32, V)], b: &[(u32, V)], mut visit: impl FnMut(u32, V, Option<V>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let left = a.get(i).map_or(u32::MAX, |e| e.0);
        let right = b.get(j).map_or(u32::MAX, |e| e.0);
        if left <= right {
            visit(left, a[i].1, (left == right).then(|| b[j].1));
            i += 1;
            j += usize::from(left == right);
        } else {
            visit(right, b[j].1, None);
            j += 1;
        }
    }
}

/// Rows of a sparse matrix: where they start (n + 1), columns, values.
pub(crate) type SparseRows<V> = (Vec<u64>, Vec<u32>, Vec<V>);

/// Rows of a sparse matrix, whose entries `visit(scratch, row, emit)` emits in order; it is called twice for each row.
pub(crate) fn assemble<V, S>(n: usize, visit: impl Fn(&mut S, usize, &mut dyn FnMut(u32, V)) + Sync) -> SparseRows<V>
where
    V: Copy + Default + Send,
    S: Default + Send,
{
    let mut starts = vec![0u64; n + 1];
    starts[1..].par_chunks_mut(BLOCK).enumerate().for_each_init(S::default, |scratch, (block, counts)| {
        for (offset, count) in counts.iter_mut().enumerate() {
            visit(scratch, block * BLOCK + offset, &mut |_, _| *count += 1);
        }
    });
    fill(starts, visit)
}

/// As [`assemble`], where place i + 1 of `starts` already has the number of entries of row i; `visit` is called once for each row.
pub(crate) fn fill<V, S>(
    mut starts: Vec<u64>,
    visit: impl Fn(&mut S, usize, &mut dyn FnMut(u32, V)) + Sync,
) -> SparseRows<V>
where
    V: Copy + Default + Send,
    S: Default + Send,
{
    let n = starts.len() - 1;
    (0..n).for_each(|row| starts[row + 1] += starts[row]);
    let total = starts[n] as usize;
    let (mut ids, mut values) = (vec![0u32; total], vec![V::default(); total]);
    let blocks = cut_rows(&mut ids, &starts, BLOCK).zip(cut_rows(&mut values, &starts, BLOCK)).enumerate();
    let blocks: Vec<_> = blocks.collect();
    blocks.into_par_iter().for_each_init(S::default, |scratch, (block, (ids, values))| {
        let mut places = ids.iter_mut().zip(values);
        for row in block * BLOCK..((block + 1) * BLOCK).min(n) {
            visit(scratch, row, &mut |id, value| {
                if let Some((place, own)) = places.next() {
                    (*place, *own) = (id, value);
                }
            });
        }
    });
    (starts, ids, values)
}

/// The entries of each block of `rows` rows, where row i has the entries from `starts[i]` up to `starts[i + 1]`.
pub(crate) fn cut_rows<'v, T>(entries: &'v mut [T], starts: &[u64], rows: usize) -> impl Iterator<Item = &'v mut [T]> {
    let n = starts.len() - 1;
    cut(entries, (0..n).step_by(rows).map(move |first| (starts[(first + rows).min(n)] - starts[first]) as usize))
}

/// Cuts `values` into pieces of the given lengths; pieces beyond the end are empty.
fn cut<T>(mut values: &mut [T], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| values.split_off_mut(..length).unwrap_or_default())
}

/// The symmetric matrix of edges u < v that are sorted by their ends; parallel edges add up.
///
/// # Complexity
/// Two passes over the edges; 12 bytes for each direction.
pub(crate) fn adjacency(n: usize, edges: impl Iterator<Item = (u32, u32, f64)> + Clone) -> Result<Csr<f64>> {
    let (what, fewer_nodes, fewer_edges) =
        ("a sparse graph", "number the nodes from 0 without gaps", "keep fewer edges");
    let mut starts = memory::zeros::<u64>(what, n + 1, fewer_nodes)?;
    let mut last = None;
    for (u, v, _) in edges.clone() {
        if last != Some((u, v)) {
            starts[u as usize + 1] += 1;
            starts[v as usize + 1] += 1;
            last = Some((u, v));
        }
    }
    (0..n).for_each(|row| starts[row + 1] += starts[row]);
    let mut next: Vec<u64> = memory::with_capacity(what, n, fewer_nodes)?;
    next.extend_from_slice(&starts[..n]);
    let mut ids = memory::zeros::<u32>(what, starts[n] as usize, fewer_edges)?;
    let mut weights = memory::zeros::<f64>(what, starts[n] as usize, fewer_edges)?;
    let (mut last, mut places) = (None, [0, 0]);
    for (u, v, weight) in edges {
        if last == Some((u, v)) {
            places.iter().for_each(|&place: &usize| weights[place] += weight);
            continue;
        }
        last = Some((u, v));
        // All (w, u) with w < u came before (u, v): columns ascend in every row.
        for (side, (row, column)) in [(u, v), (v, u)].into_iter().enumerate() {
            let place = next[row as usize] as usize;
            (ids[place], weights[place], places[side]) = (column, weight, place);
            next[row as usize] += 1;
        }
    }
    Csr::new(n, n, starts, ids, weights)
}

/// Rounds to single precision, unless the result would be subnormal. Distances have no more digits, and solvers keep such weights
/// in half the space.
pub(crate) fn single(weight: f64) -> f64 {
    let rounded = weight as f32;
    if rounded.is_normal() { rounded.into() } else { weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_transposed_in_the_order_of_rows() {
        // Row i has the neighbors i + 1, i + 3 and 5 modulo n, over several buckets and pieces.
        for n in [7, 2 * BLOCK + 11] {
            let ids: Vec<u32> =
                (0..n).flat_map(|i| [(i + 1) % n, (i + 3) % n, if i == 5 { 6 } else { 5 }]).map(|j| j as u32).collect();
            let values: Vec<f32> = (0..ids.len()).map(|at| at as f32).collect();
            let incoming = Incoming::new(&ids, &values, 3);
            let mut expected = vec![Vec::new(); n];
            ids.iter().enumerate().for_each(|(at, &id)| expected[id as usize].push(((at / 3) as u32, at as f32)));
            (0..n).for_each(|row| assert_eq!(incoming.row(row), expected[row], "row {row} of {n}"));
        }
    }
}
