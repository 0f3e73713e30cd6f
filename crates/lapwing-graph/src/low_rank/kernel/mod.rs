//! Similarities of rows to landmarks, and sums over rows: the inner loops of the low-rank methods.
//!
//! Rows come in strips of 64, turned so that sixteen rows fill a vector: products with landmarks, exponentials, sums over
//! landmarks and choices among them are then all plain operations on vectors, whatever the number of landmarks, without a
//! lane to spare. Squared distances are |x|² + |l|² − 2·x·l in single precision, of rows and landmarks from which a common
//! center was taken.
//!
//! A strip of similarities is (k, 64), landmark by landmark; [`CHUNK_STRIPS`] of them are a chunk.

pub(crate) mod lanes;
mod sums;

use lanes::{LANES, Lanes, on_lanes};
pub(crate) use sums::{add_gram, add_weighted, combine, degrees, nearest, packed, packed_len, scale_by, soften};

/// Rows of a strip.
pub(crate) const STRIP: usize = 64;
/// Strips of a chunk.
pub(crate) const CHUNK_STRIPS: usize = 16;
/// Rows of a chunk: over them sums are taken in single precision, lane by lane, beyond in double.
pub(crate) const CHUNK_ROWS: usize = STRIP * CHUNK_STRIPS;
/// Most landmarks of a tile.
const WIDEST: usize = 6;
/// Most columns of the features that are met at once: 64 rows of them stay in the first cache.
const SLAB: usize = 112;

/// Landmarks as the products want them.
#[derive(Clone, Debug)]
pub struct RowKernel {
    n_features: usize,
    n_landmarks: usize,
    /// First landmark and number of landmarks of each tile.
    tiles: Vec<(usize, usize)>,
    /// Twice the landmarks, for each slab of columns and each tile: (columns, landmarks of the tile).
    packed: Vec<f32>,
    /// First column and end of each slab.
    slabs: Vec<(usize, usize)>,
    /// |l|² (k).
    norms: Vec<f32>,
    /// log₂(e)/(2σ²), cut at the largest f32.
    rate: f32,
}

/// Work space of one thread.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    columns: Vec<f32>,
    norms: Vec<f32>,
}

impl RowKernel {
    /// Landmarks (k, d), less the center that will be taken from rows too, and the width σ > 0 of
    /// w(x, l) = exp(−|x − l|²/(2σ²)).
    pub fn new(landmarks: &[f32], n_features: usize, width: f64) -> Self {
        let d = n_features.max(1);
        let n_landmarks = landmarks.len() / d;
        let n_tiles = n_landmarks.div_ceil(WIDEST).max(1);
        let bound = |at: usize, parts: usize, whole: usize| at * whole / parts;
        let tiles: Vec<(usize, usize)> = (0..n_tiles)
            .map(|at| (bound(at, n_tiles, n_landmarks), bound(at + 1, n_tiles, n_landmarks)))
            .map(|(start, end)| (start, end - start))
            .collect();
        let n_slabs = d.div_ceil(SLAB);
        let slabs: Vec<(usize, usize)> =
            (0..n_slabs).map(|at| (bound(at, n_slabs, d), bound(at + 1, n_slabs, d))).collect();
        let mut packed = Vec::with_capacity(landmarks.len());
        for &(start, end) in &slabs {
            for &(first, width) in &tiles {
                let entries = (start..end).flat_map(|column| (first..first + width).map(move |l| (l, column)));
                packed.extend(entries.map(|(l, column)| 2.0 * landmarks[l * d + column]));
            }
        }
        let norms = landmarks.chunks_exact(d).map(|l| l.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() as f32);
        let rate = std::f64::consts::LOG2_E / (2.0 * width * width);
        Self {
            n_features: d,
            n_landmarks,
            tiles,
            packed,
            slabs,
            norms: norms.collect(),
            rate: (rate as f32).min(f32::MAX),
        }
    }

    /// Number of landmarks k.
    pub fn n_landmarks(&self) -> usize {
        self.n_landmarks
    }

    /// Columns d of rows.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The exponents −log₂(e)·D/(2σ²) ≤ 0 of up to 64 rows (rows, d) as a strip (k, 64), D squared distances; what stands
    /// for rows that are not there is arbitrary. Returns the first row with a value that is not finite, or too large.
    pub(crate) fn exponents(&self, rows: &[f32], turned: &mut Turned, out: &mut [f32]) -> Option<usize> {
        let n_rows = rows.len() / self.n_features;
        assert!(n_rows <= STRIP && rows.len() == n_rows * self.n_features && out.len() == self.n_landmarks * STRIP);
        let widest = self.slabs.iter().map(|(start, end)| end - start).max().unwrap_or(0);
        turned.columns.resize(widest * STRIP, 0.0);
        turned.norms.clear();
        turned.norms.resize(STRIP, 0.0);
        let mut packed = &self.packed[..];
        for (at, &(start, end)) in self.slabs.iter().enumerate() {
            let slab = &mut turned.columns[..(end - start) * STRIP];
            turn(rows, self.n_features, start, slab, &mut turned.norms);
            let (now, later) = packed.split_at((end - start) * self.n_landmarks);
            products(slab, now, &self.tiles, at == 0, out);
            packed = later;
        }
        exponents_of(out, &turned.norms, &self.norms, self.rate);
        turned.norms[..n_rows].iter().position(|norm| !norm.is_finite())
    }

    /// Similarities w = 2ᵗ in place of exponents t.
    pub(crate) fn similarities(exponents: &mut [f32]) {
        power(exponents);
    }
}

/// Turns columns from `start` on of rows (rows, d) to `slab` (columns, 64), and adds their squares to `norms` (64).
#[inline(always)]
unsafe fn turn_plain<L: Lanes>(rows: &[f32], d: usize, start: usize, slab: &mut [f32], norms: &mut [f32]) {
    let (n_rows, width) = (rows.len() / d, slab.len() / STRIP);
    // SAFETY: whole blocks of sixteen rows and columns lie within `rows` and `slab`; `norms` has 64 values.
    unsafe {
        for first in (0..STRIP).step_by(LANES) {
            let mut column = 0;
            if first + LANES <= n_rows {
                while column + LANES <= width {
                    let (from, to) = (first * d + start + column, column * STRIP + first);
                    L::transpose(rows.as_ptr().add(from), d, slab.as_mut_ptr().add(to), STRIP);
                    column += LANES;
                }
            }
            for column in column..width {
                for row in first..first + LANES {
                    slab[column * STRIP + row] = if row < n_rows { rows[row * d + start + column] } else { 0.0 };
                }
            }
            let mut sum = L::load(norms.as_ptr().add(first));
            for column in 0..width {
                let x = L::load(slab.as_ptr().add(column * STRIP + first));
                sum = x.mul_add(x, sum);
            }
            sum.store(norms.as_mut_ptr().add(first));
        }
    }
}

on_lanes! { turn = turn_plain(rows: &[f32], d: usize, start: usize, slab: &mut [f32], norms: &mut [f32]) }

/// Adds the products of a slab (columns, 64) with packed landmarks to `out` (k, 64), or writes them where they are the first.
#[inline(always)]
unsafe fn products_plain<L: Lanes>(
    slab: &[f32],
    packed: &[f32],
    tiles: &[(usize, usize)],
    is_first: bool,
    out: &mut [f32],
) {
    let columns = slab.len() / STRIP;
    let mut packed = packed;
    for &(first, width) in tiles {
        let (now, later) = packed.split_at(columns * width);
        let out = &mut out[first * STRIP..(first + width) * STRIP];
        // SAFETY: as of the caller; widths are at most six.
        unsafe {
            match width {
                1 => tile::<L, 1>(slab, now, is_first, out),
                2 => tile::<L, 2>(slab, now, is_first, out),
                3 => tile::<L, 3>(slab, now, is_first, out),
                4 => tile::<L, 4>(slab, now, is_first, out),
                5 => tile::<L, 5>(slab, now, is_first, out),
                _ => tile::<L, 6>(slab, now, is_first, out),
            }
        }
        packed = later;
    }
}

on_lanes! {
    products = products_plain(slab: &[f32], packed: &[f32], tiles: &[(usize, usize)], is_first: bool, out: &mut [f32])
}

#[inline(always)]
unsafe fn tile<L: Lanes, const W: usize>(slab: &[f32], packed: &[f32], is_first: bool, out: &mut [f32]) {
    // SAFETY: as of the caller.
    unsafe {
        match L::TILE {
            4 => tile_of::<L, 4, W>(slab, packed, is_first, out),
            _ => tile_of::<L, 1, W>(slab, packed, is_first, out),
        }
    }
}

/// `V` vectors of rows by `W` landmarks, all sums in registers.
#[inline(always)]
unsafe fn tile_of<L: Lanes, const V: usize, const W: usize>(
    slab: &[f32],
    packed: &[f32],
    is_first: bool,
    out: &mut [f32],
) {
    let columns = slab.len() / STRIP;
    assert!(packed.len() == columns * W && out.len() == W * STRIP);
    // SAFETY: `first` + 16·V ≤ 64, and the lengths are those asserted.
    unsafe {
        for first in (0..STRIP).step_by(LANES * V) {
            let place = |w: usize, v: usize| w * STRIP + first + v * LANES;
            let mut sums: [[L; V]; W] = std::array::from_fn(|w| {
                std::array::from_fn(|v| if is_first { L::splat(0.0) } else { L::load(out.as_ptr().add(place(w, v))) })
            });
            let (mut x, mut l) = (slab.as_ptr().add(first), packed.as_ptr());
            for _ in 0..columns {
                let rows: [L; V] = std::array::from_fn(|v| L::load(x.add(v * LANES)));
                for w in 0..W {
                    let landmark = L::splat(*l.add(w));
                    for v in 0..V {
                        sums[w][v] = rows[v].mul_add(landmark, sums[w][v]);
                    }
                }
                (x, l) = (x.wrapping_add(STRIP), l.wrapping_add(W));
            }
            for w in 0..W {
                for v in 0..V {
                    sums[w][v].store(out.as_mut_ptr().add(place(w, v)));
                }
            }
        }
    }
}

/// Exponents in place of products 2·x·l.
#[inline(always)]
unsafe fn exponents_plain<L: Lanes>(out: &mut [f32], norms: &[f32], landmark_norms: &[f32], rate: f32) {
    assert!(norms.len() == STRIP && out.len() == landmark_norms.len() * STRIP);
    // SAFETY: the lengths are those asserted.
    unsafe {
        let (rate, zero) = (L::splat(-rate), L::splat(0.0));
        for (l, out) in landmark_norms.iter().zip(out.chunks_exact_mut(STRIP)) {
            let l = L::splat(*l);
            for first in (0..STRIP).step_by(LANES) {
                let products = L::load(out.as_ptr().add(first));
                let squared = L::load(norms.as_ptr().add(first)).add(l).sub(products).max(zero);
                squared.mul(rate).store(out.as_mut_ptr().add(first));
            }
        }
    }
}

on_lanes! { exponents_of = exponents_plain(out: &mut [f32], norms: &[f32], landmark_norms: &[f32], rate: f32) }

/// 2ᵗ in place of t.
#[inline(always)]
unsafe fn power_plain<L: Lanes>(values: &mut [f32]) {
    // SAFETY: chunks have sixteen values.
    unsafe {
        for values in values.chunks_exact_mut(LANES) {
            L::load(values.as_ptr()).exp2().store(values.as_mut_ptr());
        }
    }
}

on_lanes! { power = power_plain(values: &mut [f32]) }

#[cfg(test)]
mod tests;
