//! A neighbour relation seen from both sides: who is named by a row, and who names it.
//!
//! Rows of the result are merged from a row's own list and the lists that name it, counted first and filled second. Cost:
//! O(n·k) time in parallel; 12 bytes a neighbour more than the two lists for a moment. Entries come in the order of rows,
//! whoever put them there.

use rayon::prelude::*;

/// Rows of one unit of work.
const BLOCK: usize = 4096;
/// Pieces that the lists are cut into to be turned around: enough for many threads, few enough for large runs of writes.
const PIECES: usize = 64;

/// The neighbour relation the other way round: who names a row, at what distance, ascending.
pub(crate) struct Incoming<V> {
    start: Vec<u64>,
    entries: Vec<(u32, V)>,
}

impl<V: Copy + Default + Send + Sync> Incoming<V> {
    /// That of `n` rows whose neighbours are `indices`, with `values` beside them, k for each row.
    pub fn of(indices: &[u32], values: &[V], k: usize) -> Self {
        let n = indices.len() / k.max(1);
        let n_buckets = n.div_ceil(BLOCK);
        let rows = n.div_ceil(PIECES).max(1);
        // Piece by piece, who names the rows of each bucket: a bucket's rows fit in the cache, all rows do not.
        let pieces: Vec<Vec<Vec<(u32, u32, V)>>> = indices
            .par_chunks(rows * k)
            .zip(values.par_chunks(rows * k))
            .enumerate()
            .map(|(piece, (ids, values))| {
                let mut sizes = vec![0usize; n_buckets];
                ids.iter().for_each(|&id| sizes[id as usize / BLOCK] += 1);
                let mut buckets: Vec<Vec<_>> = sizes.iter().map(|&size| Vec::with_capacity(size)).collect();
                for (at, (&id, &value)) in ids.iter().zip(values).enumerate() {
                    buckets[id as usize / BLOCK].push((id, (piece * rows + at / k) as u32, value));
                }
                buckets
            })
            .collect();
        let sizes: Vec<usize> = (0..n_buckets).map(|b| pieces.iter().map(|piece| piece[b].len()).sum()).collect();
        let mut start = vec![0u64; n + 1];
        let mut entries = vec![(0u32, V::default()); indices.len()];
        let (mut starts_left, mut entries_left) = (&mut start[1..], entries.as_mut_slice());
        let mut places = Vec::with_capacity(n_buckets);
        let mut before = 0u64;
        for (bucket, &size) in sizes.iter().enumerate() {
            let (starts, rest) = starts_left.split_at_mut(BLOCK.min(n - bucket * BLOCK));
            let (own, rest_entries) = entries_left.split_at_mut(size);
            (starts_left, entries_left) = (rest, rest_entries);
            places.push((bucket, before, starts, own));
            before += size as u64;
        }
        places.into_par_iter().for_each(|(bucket, before, starts, own)| {
            let named = || pieces.iter().flat_map(|piece| &piece[bucket]);
            let first = bucket * BLOCK;
            named().for_each(|&(id, ..)| starts[id as usize - first] += 1);
            let mut next = Vec::with_capacity(starts.len());
            let mut end = 0u64;
            for count in starts.iter_mut() {
                next.push(end as usize);
                end += *count;
                *count = before + end;
            }
            for &(id, row, value) in named() {
                let place = &mut next[id as usize - first];
                own[*place] = (row, value);
                *place += 1;
            }
        });
        Self { start, entries }
    }

    pub fn row(&self, row: usize) -> &[(u32, V)] {
        &self.entries[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

/// Sorts the `k` neighbours of each row by their numbers, with the values beside them.
pub(crate) fn sort_by_row<V: Copy + Send>(k: usize, indices: &mut [u32], values: &mut [V]) {
    let rows = indices.par_chunks_mut(k).zip(values.par_chunks_mut(k));
    rows.with_min_len(256).for_each_init(Vec::new, |own, (ids, values)| {
        own.clear();
        own.extend(ids.iter().copied().zip(values.iter().copied()));
        own.sort_unstable_by_key(|&(id, _)| id);
        own.iter().zip(ids.iter_mut().zip(values)).for_each(|(entry, (id, value))| (*id, *value) = *entry);
    });
}

/// Visits the union of two lists sorted by id: the value of the list that has it, and of the other if both do.
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
pub(crate) type Rows<V> = (Vec<u64>, Vec<u32>, Vec<V>);

/// Rows of a sparse matrix of which `visit(scratch, row, emit)` emits the entries in order; called twice for each row.
pub(crate) fn assemble<V, S>(n: usize, visit: impl Fn(&mut S, usize, &mut dyn FnMut(u32, V)) + Sync) -> Rows<V>
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

/// The same where the number of entries of each row, one after its place, is known: `visit` emits as many, and is called once.
pub(crate) fn fill<V, S>(mut starts: Vec<u64>, visit: impl Fn(&mut S, usize, &mut dyn FnMut(u32, V)) + Sync) -> Rows<V>
where
    V: Copy + Default + Send,
    S: Default + Send,
{
    let n = starts.len() - 1;
    (0..n).for_each(|row| starts[row + 1] += starts[row]);
    let total = starts[n] as usize;
    let (mut ids, mut values) = (vec![0u32; total], vec![V::default(); total]);
    // Rows of a block lie together in both arrays: cut them there and fill the blocks in parallel.
    let mut blocks = Vec::with_capacity(n.div_ceil(BLOCK));
    let (mut ids_left, mut values_left) = (ids.as_mut_slice(), values.as_mut_slice());
    for first in (0..n).step_by(BLOCK) {
        let end = (first + BLOCK).min(n);
        let entries = (starts[end] - starts[first]) as usize;
        let (own_ids, rest) = ids_left.split_at_mut(entries);
        let (own_values, rest_values) = values_left.split_at_mut(entries);
        (ids_left, values_left) = (rest, rest_values);
        blocks.push((first..end, own_ids, own_values));
    }
    blocks.into_par_iter().for_each_init(S::default, |scratch, (rows, ids, values)| {
        let mut places = ids.iter_mut().zip(values);
        for row in rows {
            visit(scratch, row, &mut |id, value| {
                if let Some((place, own)) = places.next() {
                    (*place, *own) = (id, value);
                }
            });
        }
    });
    (starts, ids, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_turned_around_in_the_order_of_rows() {
        // Row i names i + 1, i + 3 and 5 modulo n, over several buckets and pieces.
        for n in [7, 2 * BLOCK + 11] {
            let ids: Vec<u32> =
                (0..n).flat_map(|i| [(i + 1) % n, (i + 3) % n, if i == 5 { 6 } else { 5 }]).map(|j| j as u32).collect();
            let values: Vec<f32> = (0..ids.len()).map(|at| at as f32).collect();
            let incoming = Incoming::of(&ids, &values, 3);
            let mut expected = vec![Vec::new(); n];
            ids.iter().enumerate().for_each(|(at, &id)| expected[id as usize].push(((at / 3) as u32, at as f32)));
            (0..n).for_each(|row| assert_eq!(incoming.row(row), expected[row], "row {row} of {n}"));
        }
    }
}
