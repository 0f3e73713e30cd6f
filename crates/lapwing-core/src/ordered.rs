//! Sums over parallel work whose bits do not depend on the number of threads: fixed blocks, added in their order.

use std::ops::Range;

use crate::parallel::*;

/// A term of a sum.
pub trait Summand: Send {
    /// self ← self + other.
    fn add(&mut self, other: &Self);
}

impl Summand for f64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

/// Entry by entry, of vectors of equal length.
impl Summand for Vec<f64> {
    fn add(&mut self, other: &Self) {
        add(self, other);
    }
}

impl<A: Summand, B: Summand> Summand for (A, B) {
    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
        self.1.add(&other.1);
    }
}

/// a ← a + b, entry by entry.
#[inline]
pub fn add(a: &mut [f64], b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// The sum of `zero` and the parts, in their order. The parts are computed in parallel on the current pool, and all held.
pub fn sum_in_order<T: Summand>(zero: T, parts: impl ParallelIterator<Item = T>) -> T {
    let parts: Vec<T> = parts.collect();
    sum_of_parts(zero, &parts)
}

/// [`sum_in_order`] of parts that exist already.
pub fn sum_of_parts<T: Summand>(zero: T, parts: &[T]) -> T {
    parts.iter().fold(zero, |mut sum, part| {
        sum.add(part);
        sum
    })
}

/// `width` sums over n rows: `add(rows, sums)` adds the terms of a block of `block_rows` rows to sums that begin at 0.
pub fn sum_over_rows(
    n: usize,
    block_rows: usize,
    width: usize,
    add: impl Fn(Range<usize>, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    let block_sums = |block: usize| {
        let mut sums = vec![0.0; width];
        add(block * block_rows..((block + 1) * block_rows).min(n), &mut sums);
        sums
    };
    sum_in_order(vec![0.0; width], (0..n.div_ceil(block_rows)).into_par_iter().map(block_sums))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn blocks_are_added_in_order_on_any_number_of_threads() {
        let term = |row: usize| 1.0 / (row as f64 + 0.3);
        let expected = (0..1001usize.div_ceil(10)).fold(0.0, |sum, block| {
            sum + (block * 10..(block * 10 + 10).min(1001)).fold(0.0, |sum, row| sum + term(row))
        });
        for threads in [1, 2, 7] {
            let run = Run::new(Some(threads), 0).unwrap();
            let found = run.install(|| {
                sum_over_rows(1001, 10, 2, |rows, sums| {
                    rows.for_each(|row| add(sums, &[term(row), -term(row)]));
                })
            });
            assert_eq!(found, [expected, -expected]);
        }
        assert_eq!(sum_in_order((0.0, vec![1.0]), [(0.5, vec![2.0])].into_par_iter()), (0.5, vec![3.0]));
        assert_eq!(sum_over_rows(0, 10, 2, |_, _| {}), [0.0; 2]);
    }
}
