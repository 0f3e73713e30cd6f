//! A subsampled randomized Hadamard transform: S·A with (S·A)ᵀS·A ≈ AᵀA, from n rows to s (Tropp 2011).
//!
//! Rows are padded with zeros to N = 2^⌈log₂ n⌉ and get random signs. The orthonormal Walsh–Hadamard matrix transforms every
//! column. s of the N rows are drawn without replacement and multiplied by √(N/s): E[(SA)ᵀSA] = AᵀA. Preconditioned with it,
//! condition numbers are about ((1 + √(d/s))/(1 − √(d/s)))² for d columns.
//!
//! Cost: N·log₂N additions for each column, in place, depth first so that halves stay in cache; parallel over halves.

use lapwing_core::hash::mix;
use lapwing_core::{Error, Result, Run, Stream};
use rand::seq::index::sample;

/// Values that one task transforms.
const PIECE: usize = 1 << 15;

/// A subsampled randomized Hadamard transform S of n rows: random signs, an orthonormal Walsh–Hadamard transform of rows padded
/// to a power of two N, and s of its rows, drawn without replacement, times √(N/s). E[(SA)ᵀSA] = AᵀA.
#[derive(Clone, Debug)]
pub struct HadamardSketch {
    n: usize,
    padded: usize,
    key: u64,
    /// Rows of the transform that are kept, ascending (s).
    rows: Vec<u32>,
}

impl HadamardSketch {
    /// From `n` rows to `size`, drawn by the seed of `run`.
    ///
    /// # Errors
    /// [`Error::Param`] unless 1 ≤ `size` ≤ 2^⌈log₂ n⌉ ≤ 2³¹.
    pub fn new(n: usize, size: usize, run: &Run) -> Result<Self> {
        let padded = n.max(1).next_power_of_two();
        if !(1..=padded).contains(&size) || padded > 1 << 31 {
            return Err(Error::param("sketch_size", size, format!("between 1 and {}", padded.min(1 << 31))));
        }
        let mut rng = run.rng(Stream::Projection, 1 << 40);
        let mut rows: Vec<u32> = sample(&mut rng, padded, size).into_iter().map(|row| row as u32).collect();
        rows.sort_unstable();
        let key = mix(run.seed ^ 0x5248_5453);
        Ok(Self { n, padded, key, rows })
    }

    /// Rows of the sketch s.
    pub fn size(&self) -> usize {
        self.rows.len()
    }

    /// S·A (s, w) of A (n, w), row-major. In parallel on the current pool.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A has n rows.
    pub fn apply(&self, a: &[f32], w: usize) -> Result<Vec<f32>> {
        if a.len() != self.n * w {
            return Err(Error::shape("rows to sketch", format!("{} × {w} values", self.n), a.len()));
        }
        let mut block = vec![0f32; self.padded * w];
        for (row, (out, given)) in block.chunks_exact_mut(w.max(1)).zip(a.chunks_exact(w.max(1))).enumerate() {
            let sign = ((mix(self.key ^ row as u64) & 1) as u32) << 31;
            out.iter_mut().zip(given).for_each(|(out, x)| *out = f32::from_bits(x.to_bits() ^ sign));
        }
        transform(&mut block, w);
        // 1/√N of the transform and √(N/s).
        let scale = (self.rows.len() as f32).sqrt().recip();
        let mut out = Vec::with_capacity(self.rows.len() * w);
        self.rows.iter().for_each(|&row| out.extend(block[row as usize * w..][..w].iter().map(|x| x * scale)));
        Ok(out)
    }
}

/// The Walsh–Hadamard transform, without a factor, of every column of a block (2^k, w).
fn transform(block: &mut [f32], w: usize) {
    if block.len() <= w.max(1) {
        return;
    }
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (low, high) in low.iter_mut().zip(high.iter_mut()) {
        (*low, *high) = (*low + *high, *low - *high);
    }
    if low.len() > PIECE {
        rayon::join(|| transform(low, w), || transform(high, w));
    } else {
        transform(low, w);
        transform(high, w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_transform_keeps_products_and_parts_do_in_the_mean() {
        let (n, w) = (100usize, 3usize);
        let a: Vec<f32> = (0..n * w).map(|at| ((at * 37 + 5) % 19) as f32 - 9.0).collect();
        let gram = |a: &[f32]| -> Vec<f64> {
            let entry = |i: usize, j: usize| a.chunks_exact(w).map(|row| f64::from(row[i]) * f64::from(row[j])).sum();
            (0..w * w).map(|at| entry(at / w, at % w)).collect()
        };
        let expected = gram(&a);
        let scale = expected[0];
        let run = Run::new(Some(2), 5).unwrap();
        let whole = HadamardSketch::new(n, 128, &run).unwrap();
        let found = gram(&whole.apply(&a, w).unwrap());
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5 * scale));
        let mut mean = vec![0.0; w * w];
        for seed in 0..400 {
            let sketch = HadamardSketch::new(n, 24, &run.with_seed(seed)).unwrap();
            assert_eq!(sketch.size(), 24);
            let found = gram(&sketch.apply(&a, w).unwrap());
            mean.iter_mut().zip(found).for_each(|(mean, x)| *mean += x / 400.0);
        }
        assert!(mean.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.08 * scale), "{mean:?} {expected:?}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits_and_sizes_are_checked() {
        let (n, w) = (20_000, 16);
        let a: Vec<f32> = (0..n * w).map(|at| ((at * 31) % 101) as f32 / 7.0).collect();
        let found: Vec<Vec<f32>> = [1, 2, 7]
            .map(|threads| {
                let run = Run::new(Some(threads), 3).unwrap();
                let sketch = HadamardSketch::new(n, 512, &run).unwrap();
                run.install(|| sketch.apply(&a, w).unwrap())
            })
            .into();
        assert!(found[0] == found[1] && found[1] == found[2]);
        let run = Run::new(Some(1), 3).unwrap();
        assert!(HadamardSketch::new(10, 17, &run).is_err() && HadamardSketch::new(10, 0, &run).is_err());
        assert!(HadamardSketch::new(10, 16, &run).unwrap().apply(&a, w).is_err());
    }
}
