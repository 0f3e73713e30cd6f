//! Sums over the columns of two dense rows in f64, for the exact distance of each candidate of a search.
//!
//! The vector and plain versions are compiled from one source, without fused multiply-add, and add in one order: they
//! agree to the bit.

use lapwing_simd::dispatch;

/// Term of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pair {
    /// (x − y)².
    Squared,
    /// (a·x − b·y)².
    Scaled(f64, f64),
    /// x·y.
    Product,
}

impl Pair {
    #[inline(always)]
    pub fn term(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Squared => (x - y) * (x - y),
            Self::Scaled(a, b) => (a * x - b * y) * (a * x - b * y),
            Self::Product => x * y,
        }
    }
}

/// Type of the values.
pub(crate) trait Number: Copy + Into<f64> {}

impl<T: Copy + Into<f64>> Number for T {}

dispatch! {
    /// Σ of `pair` over the columns of `x` and `y`, in sixteen interleaved sums.
    pub(crate) fn pair_sum[T: Number, U: Number](x: &[T], y: &[U], pair: Pair) -> f64 = pair_sum_plain
}

#[inline(always)]
fn pair_sum_plain<T: Number, U: Number>(x: &[T], y: &[U], pair: Pair) -> f64 {
    // One loop for each kind: no loop branches on the kind.
    match pair {
        Pair::Squared => sum(x, y, |x, y| Pair::Squared.term(x, y)),
        Pair::Scaled(a, b) => sum(x, y, |x, y| Pair::Scaled(a, b).term(x, y)),
        Pair::Product => sum(x, y, |x, y| Pair::Product.term(x, y)),
    }
}

#[inline(always)]
fn sum<T: Number, U: Number>(x: &[T], y: &[U], term: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 16;
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(&x, &y)| term(x.into(), y.into())).sum();
    let mut sums = [0f64; LANES];
    for (x, y) in xs.zip(ys) {
        for lane in 0..LANES {
            sums[lane] += term(x[lane].into(), y[lane].into());
        }
    }
    sums.iter().sum::<f64>() + rest
}

dispatch! {
    /// Σ(x − y)² of bytes, exact in integers.
    pub(crate) fn squared_bytes(x: &[u8], y: &[u8]) -> f64 = squared_bytes_plain
}

#[inline(always)]
fn squared_bytes_plain(x: &[u8], y: &[u8]) -> f64 {
    // 255² · 2^15 < 2^31: parts of that length cannot overflow. Sixteen-bit differences multiply two at a time.
    let square = |(&x, &y): (&u8, &u8)| {
        let difference = i32::from(i16::from(x) - i16::from(y));
        difference * difference
    };
    let parts = x.chunks(1 << 15).zip(y.chunks(1 << 15));
    parts.map(|(x, y)| f64::from(x.iter().zip(y).map(square).sum::<i32>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_and_plain_sums_agree_to_the_bit() {
        for d in [1, 15, 16, 40, 333] {
            let x: Vec<f32> = (0..d).map(|i| ((i * 37) % 101) as f32 / 7.0 - 5.0).collect();
            let y: Vec<f64> = (0..d).map(|i| ((i * 53) % 97) as f64 / 3.0 - 11.0).collect();
            for pair in [Pair::Squared, Pair::Scaled(0.3, 1.7), Pair::Product] {
                let found = pair_sum(&x, &y, pair);
                assert_eq!(found, pair_sum_plain(&x, &y, pair));
                let expected: f64 = x.iter().zip(&y).map(|(&x, &y)| pair.term(x.into(), y)).sum();
                assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e3), "{found} against {expected}");
            }
        }
    }

    #[test]
    fn squares_of_bytes_are_exact_at_any_length() {
        for d in [0, 1, 31, 64, 784, 70_000] {
            let (x, y) = (vec![255u8; d], (0..d).map(|i| (i % 3) as u8).collect::<Vec<_>>());
            let expected: u64 = y.iter().map(|&y| (255 - u64::from(y)).pow(2)).sum();
            assert_eq!(squared_bytes(&x, &y), expected as f64);
            assert_eq!(squared_bytes_plain(&y, &x), expected as f64);
        }
    }
}
