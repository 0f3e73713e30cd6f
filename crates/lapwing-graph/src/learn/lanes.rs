//! Inner loops over the entries of rows, eight lanes at a time.
//!
//! Nothing is fused and sums have one order, so that every level of processors gives the same bits. The elements gathered for
//! the entries of a row lie anywhere: those of vectors larger than the caches are prefetched. Cost: some 2 cycles an entry
//! within the caches.

use lapwing_simd::{dispatch, prefetch};

use super::offsets::{Offset, weight};
use super::support::{SquaredDistance, Support};

/// Lanes of a sum.
const LANES: usize = 8;
/// Elements are prefetched this many entries ahead.
const AHEAD: usize = 64;
/// Bytes of a vector above which its elements are prefetched: about the size of the L2 cache.
const CACHED: usize = 1 << 20;

/// Results of a pass for each of some rows.
pub(super) struct RowSums<'s> {
    /// Σ w.
    pub degree: &'s mut [f64],
    /// Σ w².
    pub squares: &'s mut [f64],
    /// Number of w > 0.
    pub counts: &'s mut [u32],
    /// The other rows of these pairs, row by row.
    pub active: Vec<u32>,
}

/// Sums over the entries of the rows from `first` on, as many as `out` has places, with the `offsets` (n) of all rows.
pub(super) fn row_sums<R: SquaredDistance, O: Offset>(
    support: &Support<R>,
    sparsity: f64,
    offsets: &[O],
    first: usize,
    out: &mut RowSums<'_>,
) {
    assert_eq!(offsets.len(), support.n_samples());
    if size_of_val(offsets) > CACHED {
        row_sums_far(support, sparsity, offsets, first, out);
    } else {
        row_sums_near(support, sparsity, offsets, first, out);
    }
}

dispatch! {
    pub(crate) fn row_sums_near[R: SquaredDistance, O: Offset](
        support: &Support<R>, sparsity: f64, offsets: &[O], first: usize, out: &mut RowSums<'_>
    ) = row_sums_of::<false, R, O>
}

dispatch! {
    pub(crate) fn row_sums_far[R: SquaredDistance, O: Offset](
        support: &Support<R>, sparsity: f64, offsets: &[O], first: usize, out: &mut RowSums<'_>
    ) = row_sums_of::<true, R, O>
}

#[inline(always)]
fn row_sums_of<const ASKS: bool, R: SquaredDistance, O: Offset>(
    support: &Support<R>,
    sparsity: f64,
    offsets: &[O],
    first: usize,
    out: &mut RowSums<'_>,
) {
    let mut own_active: Vec<u32> = Vec::new();
    let rows = out.degree.iter_mut().zip(out.squares.iter_mut()).zip(out.counts.iter_mut()).enumerate();
    for (offset, ((degree, squared_sum), counted)) in rows {
        let row = first + offset;
        let (ids, squared) = support.row(row);
        let own = offsets[row];
        // One place more than there are entries: it is written when all entries are active.
        if own_active.len() <= ids.len() {
            own_active.resize(ids.len() + 1, 0);
        }
        let (mut sums, mut squares, mut count) = ([0.0; LANES], [0.0; LANES], 0usize);
        let (chunks, rest) = ids.as_chunks::<LANES>();
        let (z_chunks, z_rest) = squared.as_chunks::<LANES>();
        let ahead = if ASKS { ahead(support, row) } else { &[] };
        for (at, (ids, z)) in chunks.iter().zip(z_chunks).enumerate() {
            if ASKS {
                prefetch_at(ahead, at, offsets);
            }
            let mut w = [0.0; LANES];
            for lane in 0..LANES {
                debug_assert!((ids[lane] as usize) < offsets.len());
                // SAFETY: the ids of a support are below its number of rows, which is that of the offsets.
                let other = unsafe { *offsets.get_unchecked(ids[lane] as usize) };
                w[lane] = weight(own, other, sparsity * z[lane].into());
            }
            for lane in 0..LANES {
                sums[lane] += w[lane];
                squares[lane] += w[lane] * w[lane];
            }
            let mut mask = 0u32;
            for lane in 0..LANES {
                mask |= u32::from(w[lane] > 0.0) << lane;
            }
            for (lane, &id) in ids.iter().enumerate() {
                // Written whether it is active or not, so that there is no branch to mispredict.
                // SAFETY: `count` is at most the number of entries before, and there is a place for each entry.
                unsafe { *own_active.get_unchecked_mut(count) = id };
                count += ((mask >> lane) & 1) as usize;
            }
        }
        for (lane, (&id, &z)) in rest.iter().zip(z_rest).enumerate() {
            let w = weight(own, offsets[id as usize], sparsity * z.into());
            sums[lane] += w;
            squares[lane] += w * w;
            own_active[count] = id;
            count += usize::from(w > 0.0);
        }
        out.active.extend_from_slice(&own_active[..count]);
        (*degree, *squared_sum, *counted) = (total(sums), total(squares), count as u32);
    }
}

dispatch! {
    /// y ← diagonal·x + ½·Σ x over the entries of each row, which end at `ends` within `entries`; the rows are those from
    /// `first` on.
    pub(crate) fn half_sums(
        first: usize, diagonal: &[f64], ends: &[u32], entries: &[u32], x: &[f64], y: &mut [f64]
    ) = half_sums_plain
}

#[inline(always)]
fn half_sums_plain(first: usize, diagonal: &[f64], ends: &[u32], entries: &[u32], x: &[f64], y: &mut [f64]) {
    let asks = size_of_val(x) > CACHED;
    let mut start = 0;
    for (offset, (y, &end)) in y.iter_mut().zip(ends).enumerate() {
        let row = first + offset;
        let (chunks, rest) = entries[start..end as usize].as_chunks::<LANES>();
        let ahead = if asks { entries.get(start + AHEAD..).unwrap_or(&[]) } else { &[] };
        let mut sums = [0.0; LANES];
        for (at, ids) in chunks.iter().enumerate() {
            prefetch_at(ahead, at, x);
            for lane in 0..LANES {
                sums[lane] += x[ids[lane] as usize];
            }
        }
        rest.iter().enumerate().for_each(|(lane, &id)| sums[lane] += x[id as usize]);
        *y = diagonal[row] * x[row] + 0.5 * total(sums);
        start = end as usize;
    }
}

/// A step of the primal-dual iteration of the log-degree model for some rows: with Y = (1 − 2g)·w − g·(vᵢ + vⱼ) and
/// P = max(0, Y − 2gθz), w ← P − g·(2P + pᵢ + pⱼ) + w − Y.
pub(super) struct Step<'s, R> {
    pub support: &'s Support<R>,
    pub sparsity: f64,
    /// g.
    pub step: f64,
    /// g·v and g·(v − p) of all rows (n), side by side as they are gathered.
    pub duals: &'s [[f64; 2]],
}

impl<R: SquaredDistance> Step<'_, R> {
    /// Changes the weights of the rows from `first` on, all their entries; the sums of each row after the projection and after
    /// the step go to `sums`.
    pub fn advance(&self, first: usize, weights: &mut [f64], sums: &mut [[f64; 2]]) {
        assert_eq!(self.duals.len(), self.support.n_samples());
        advance(self, first, weights, sums);
    }
}

dispatch! {
    pub(crate) fn advance[R: SquaredDistance](
        task: &Step<'_, R>, first: usize, weights: &mut [f64], sums: &mut [[f64; 2]]
    ) = advance_plain
}

#[inline(always)]
fn advance_plain<R: SquaredDistance>(task: &Step<'_, R>, first: usize, weights: &mut [f64], sums: &mut [[f64; 2]]) {
    let (duals, twice) = (task.duals, 2.0 * task.step);
    let (kept, cost) = (1.0 - twice, twice * task.sparsity);
    let asks = size_of_val(duals) > CACHED;
    let mut rest_of_weights = weights;
    for (offset, sum) in sums.iter_mut().enumerate() {
        let row = first + offset;
        let (ids, squared) = task.support.row(row);
        let (weights, after) = std::mem::take(&mut rest_of_weights).split_at_mut(ids.len());
        rest_of_weights = after;
        let own = duals[row];
        let step = |w: f64, other: [f64; 2], z: f64| {
            let forward = (kept * w - (own[0] + other[0])) - cost * z;
            let new = if forward > 0.0 { forward } else { 0.0 };
            (new, (twice * w + kept * new) + (own[1] + other[1]))
        };
        let (mut projected, mut degree) = ([0.0; LANES], [0.0; LANES]);
        let (chunks, rest) = ids.as_chunks::<LANES>();
        let (z_chunks, z_rest) = squared.as_chunks::<LANES>();
        let (w_chunks, w_rest) = weights.as_chunks_mut::<LANES>();
        let ahead = if asks { ahead(task.support, row) } else { &[] };
        for (at, ((ids, z), w)) in chunks.iter().zip(z_chunks).zip(w_chunks).enumerate() {
            prefetch_at(ahead, at, duals);
            let mut new = [0.0; LANES];
            for lane in 0..LANES {
                debug_assert!((ids[lane] as usize) < duals.len());
                // SAFETY: the ids of a support are below its number of rows, which is that of the duals.
                let other = unsafe { *duals.get_unchecked(ids[lane] as usize) };
                (new[lane], w[lane]) = step(w[lane], other, z[lane].into());
            }
            for lane in 0..LANES {
                projected[lane] += new[lane];
                degree[lane] += w[lane];
            }
        }
        for (lane, ((&id, &z), w)) in rest.iter().zip(z_rest).zip(w_rest).enumerate() {
            let new;
            (new, *w) = step(*w, duals[id as usize], z.into());
            projected[lane] += new;
            degree[lane] += *w;
        }
        *sum = [total(projected), total(degree)];
    }
}

/// The entries [`AHEAD`] behind the first of a row.
#[inline(always)]
fn ahead<R: SquaredDistance>(support: &Support<R>, row: usize) -> &[u32] {
    support.ids.get(support.starts[row] as usize + AHEAD..).unwrap_or(&[])
}

/// Prefetches the elements that a later chunk will gather.
#[inline(always)]
fn prefetch_at<T>(ahead: &[u32], at: usize, values: &[T]) {
    if let Some(next) = ahead.get(LANES * at..LANES * (at + 1)) {
        next.iter().for_each(|&id| prefetch(values, id as usize));
    }
}

#[inline(always)]
fn total(x: [f64; LANES]) -> f64 {
    ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))
}

#[cfg(test)]
mod tests {
    use lapwing_core::Run;

    use super::*;

    fn support() -> Support<f64> {
        let n = 70u32;
        let edges: Vec<_> =
            (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).filter(|e| (e.0 * 7 + e.1 * 3) % 5 < 3).collect();
        let squared: Vec<f64> = edges.iter().map(|&(i, j)| f64::from((i * 13 + j * 29) % 31) / 7.0).collect();
        Support::from_edges(n as usize, &edges, &squared, &Run::new(Some(1), 0).unwrap()).unwrap()
    }

    #[test]
    fn vectors_and_plain_loops_agree_to_the_bit_and_with_a_sum_of_each_row() {
        let support = support();
        let n = support.n_samples();
        let plain: Vec<f64> = (0..n).map(|row| (row % 9) as f64 / 4.0).collect();
        let based: Vec<[f64; 2]> = plain.iter().map(|&offset| [offset - 0.5, 0.5]).collect();
        fn sums<O: Offset>(
            work: impl Fn(&Support<f64>, f64, &[O], usize, &mut RowSums<'_>),
            support: &Support<f64>,
            offsets: &[O],
        ) -> (Vec<f64>, Vec<f64>, Vec<u32>, Vec<u32>) {
            let n = offsets.len();
            let (mut degree, mut squares, mut counts) = (vec![0.0; n], vec![0.0; n], vec![0; n]);
            let mut out =
                RowSums { degree: &mut degree, squares: &mut squares, counts: &mut counts, active: Vec::new() };
            work(support, 0.7, offsets, 0, &mut out);
            let active = out.active;
            (degree, squares, counts, active)
        }
        let found = sums(row_sums, &support, &plain);
        assert_eq!(found, sums(row_sums_of::<false, _, _>, &support, &plain));
        assert_eq!(found, sums(row_sums_of::<true, _, _>, &support, &plain));
        assert_eq!(found, sums(row_sums_far, &support, &plain));
        let twin = sums(row_sums, &support, &based);
        for row in 0..n {
            let (ids, squared) = support.row(row);
            let weights = ids.iter().zip(squared).map(|(&id, z)| (plain[row] + plain[id as usize] - 0.7 * z).max(0.0));
            let (degree, count) = (weights.clone().sum::<f64>(), weights.filter(|w| *w > 0.0).count());
            assert!((found.0[row] - degree).abs() < 1e-12 && found.2[row] as usize == count);
            assert!((twin.0[row] - degree).abs() < 1e-12);
        }
        assert_eq!(found.3.len(), found.2.iter().sum::<u32>() as usize);
    }

    #[test]
    fn steps_and_products_agree_to_the_bit() {
        let support = support();
        let n = support.n_samples();
        let v: Vec<f64> = (0..n).map(|row| -((row % 5) as f64) - 0.3).collect();
        let p: Vec<f64> = (0..n).map(|row| -((row % 7) as f64) / 2.0).collect();
        let duals: Vec<[f64; 2]> = v.iter().zip(&p).map(|(v, p)| [0.05 * v, 0.05 * (v - p)]).collect();
        let task = Step { support: &support, sparsity: 0.7, step: 0.05, duals: &duals };
        let start: Vec<f64> = (0..support.ids.len()).map(|at| (at % 11) as f64 / 5.0).collect();
        let (mut weights, mut sums) = (start.clone(), vec![[0.0; 2]; n]);
        task.advance(0, &mut weights, &mut sums);
        let (mut twin, mut twin_sums) = (start, vec![[0.0; 2]; n]);
        advance_plain(&task, 0, &mut twin, &mut twin_sums);
        assert!(weights == twin && sums == twin_sums);
        let (mut y, mut plain) = (vec![0.0; n], vec![0.0; n]);
        let ends: Vec<u32> = support.starts[1..].iter().map(|&end| end as u32).collect();
        half_sums(0, &v, &ends, &support.ids, &p, &mut y);
        half_sums_plain(0, &v, &ends, &support.ids, &p, &mut plain);
        assert_eq!(y, plain);
        let expected = v[3] * p[3] + 0.5 * support.row(3).0.iter().map(|&id| p[id as usize]).sum::<f64>();
        assert!((y[3] - expected).abs() < 1e-12);
    }
}
