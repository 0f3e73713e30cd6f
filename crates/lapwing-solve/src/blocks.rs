//! Blocks of rows: the unit of parallel work, and sums over them that do not depend on the number of threads.

use lapwing_core::ordered::{sum_of_parts, sum_over_rows};
use lapwing_core::parallel::*;

/// Rows of one unit of work; fixed, so that reductions do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: usize = 2048;

/// The values of rows `0..n`; parallel within a pool of threads. Never uses the global pool: a process must be free to fork.
pub(crate) fn of_rows<T: Send>(n: usize, value: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    match rayon::current_thread_index() {
        Some(_) => (0..n).into_par_iter().with_min_len(BLOCK_ROWS).map(value).collect(),
        None => (0..n).map(value).collect(),
    }
}

/// [`sum_over_rows`] with the blocks of this crate.
pub(crate) fn reduce(
    n: usize,
    width: usize,
    add: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    sum_over_rows(n, BLOCK_ROWS, width, add)
}

/// Partial sums, added in block order.
pub(crate) fn sum(partial: Vec<Vec<f64>>, width: usize) -> Vec<f64> {
    sum_of_parts(vec![0.0; width], &partial)
}

/// Row i of a block of `s` columns ← row `rows[i]` of another.
pub(crate) fn gather(from: &[f64], rows: &[u32], to: &mut [f64], s: usize) {
    to.par_chunks_mut(s).zip(rows).with_min_len(BLOCK_ROWS).for_each(|(to, &row)| {
        to.copy_from_slice(&from[row as usize * s..][..s]);
    });
}

/// Row `rows[i]` of a block of `s` columns ← row i of another. Serial, because rows may repeat.
pub(crate) fn scatter(from: &[f64], rows: &[u32], to: &mut [f64], s: usize) {
    for (from, &row) in from.chunks_exact(s).zip(rows) {
        to[row as usize * s..][..s].copy_from_slice(from);
    }
}

/// aᵀb of each column of blocks (n, s), row-major: blocks of rows in parallel on the current pool, added in order.
pub fn column_dots(a: &[f64], b: &[f64], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        for (a, b) in a[range.clone()].chunks_exact(s).zip(b[range].chunks_exact(s)) {
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_gathered_are_scattered_back() {
        let (n, s) = (3 * BLOCK_ROWS + 5, 3);
        // 7 has no factor in common with n, so that this is a permutation.
        let rows: Vec<u32> = (0..n).map(|i| ((7 * i + 2) % n) as u32).collect();
        let block: Vec<f64> = (0..n * s).map(|i| i as f64).collect();
        let (mut gathered, mut back) = (vec![0.0; n * s], vec![0.0; n * s]);
        gather(&block, &rows, &mut gathered, s);
        assert!((0..n * s).all(|i| gathered[i] == (rows[i / s] as usize * s + i % s) as f64));
        scatter(&gathered, &rows, &mut back, s);
        assert_eq!(back, block);
    }
}
