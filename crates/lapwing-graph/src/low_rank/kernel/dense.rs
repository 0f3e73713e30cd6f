//! Products of dense rows with landmarks: 64 rows, transposed by slabs of columns, times tiles of a few landmarks.

use lapwing_simd::{Floats, LANES, Simd, dispatch};

use super::strip::{STRIP, VECTORS, Vectors, vectors, vectors_mut};

/// Most landmarks of a tile.
const WIDEST: usize = 6;
/// Most columns of the features that are multiplied at once: 64 rows of them stay in the L1 cache.
const SLAB: usize = 112;

/// Landmarks, packed for products with strips of dense rows.
#[derive(Clone, Debug)]
pub struct DenseKernel {
    n_features: usize,
    pub(super) n_landmarks: usize,
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

/// Work space of one thread: the rows of a strip, transposed.
#[derive(Debug, Default)]
pub(super) struct Transposed {
    columns: Vec<f32>,
    /// |x|² (64).
    norms: Vectors,
}

impl DenseKernel {
    /// Landmarks (k, d), minus the center that is subtracted from rows too, and the width σ > 0 of
    /// w(x, l) = exp(−|x − l|²/(2σ²)).
    pub(super) fn new(landmarks: &[f32], n_features: usize, width: f64) -> Self {
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

    /// The exponents −log₂(e)·D/(2σ²) ≤ 0 of up to 64 rows (rows, d) as a strip (k, 64), D squared distances; places behind
    /// the last row hold arbitrary values. Returns the first row with a value that is not finite, or too large.
    pub(super) fn exponents(&self, rows: &[f32], transposed: &mut Transposed, out: &mut [f32]) -> Option<usize> {
        let n_rows = rows.len() / self.n_features;
        assert!(n_rows <= STRIP && rows.len() == n_rows * self.n_features && out.len() == self.n_landmarks * STRIP);
        let widest = self.slabs.iter().map(|(start, end)| end - start).max().unwrap_or(0);
        transposed.columns.resize(widest * STRIP, 0.0);
        transposed.norms = Vectors::default();
        let mut packed = &self.packed[..];
        for (at, &(start, end)) in self.slabs.iter().enumerate() {
            let slab = &mut transposed.columns[..(end - start) * STRIP];
            transpose(rows, self.n_features, start, slab, &mut transposed.norms);
            let (now, later) = packed.split_at((end - start) * self.n_landmarks);
            products(slab, now, &self.tiles, at == 0, out);
            packed = later;
        }
        exponents_of(out, &transposed.norms, &self.norms, self.rate);
        transposed.norms.as_flattened()[..n_rows].iter().position(|norm| !norm.is_finite())
    }
}

dispatch! {
    /// Transposes columns from `start` on of rows (rows, d) to `slab` (columns, 64), and adds their squares to `norms` (64).
    fn transpose(rows: &[f32], d: usize, start: usize, slab: &mut [f32], norms: &mut Vectors) = transpose_with(simd)
}

#[inline(always)]
fn transpose_with<S: Simd>(simd: S, rows: &[f32], d: usize, start: usize, slab: &mut [f32], norms: &mut Vectors) {
    let (n_rows, width) = (rows.len() / d, slab.len() / STRIP);
    for (vector, norms) in norms.iter_mut().enumerate() {
        let (first, mut column) = (vector * LANES, 0);
        while first + LANES <= n_rows && column + LANES <= width {
            let (from, to) = (first * d + start + column, column * STRIP + first);
            simd.transpose(&rows[from..], d, &mut slab[to..], STRIP);
            column += LANES;
        }
        for column in column..width {
            for row in first..first + LANES {
                slab[column * STRIP + row] = if row < n_rows { rows[row * d + start + column] } else { 0.0 };
            }
        }
        let mut sum = simd.load(norms);
        for column in vectors(slab) {
            let x = simd.load(&column[vector]);
            sum = x.mul_add(x, sum);
        }
        sum.store(norms);
    }
}

dispatch! {
    /// Adds the products of a slab (columns, 64) with packed landmarks to `out` (k, 64), or writes them where they are the first.
    fn products(slab: &[f32], packed: &[f32], tiles: &[(usize, usize)], is_first: bool, out: &mut [f32]) = products_with(simd)
}

#[inline(always)]
fn products_with<S: Simd>(
    simd: S,
    slab: &[f32],
    mut packed: &[f32],
    tiles: &[(usize, usize)],
    is_first: bool,
    out: &mut [f32],
) {
    let (slab, out) = (vectors(slab), vectors_mut(out));
    for &(first, width) in tiles {
        let (now, later) = packed.split_at(slab.len() * width);
        let out = &mut out[first..first + width];
        match width {
            1 => tile::<S, 1>(simd, slab, now, is_first, out),
            2 => tile::<S, 2>(simd, slab, now, is_first, out),
            3 => tile::<S, 3>(simd, slab, now, is_first, out),
            4 => tile::<S, 4>(simd, slab, now, is_first, out),
            5 => tile::<S, 5>(simd, slab, now, is_first, out),
            _ => tile::<S, 6>(simd, slab, now, is_first, out),
        }
        packed = later;
    }
}

#[inline(always)]
fn tile<S: Simd, const W: usize>(simd: S, slab: &[Vectors], packed: &[f32], is_first: bool, out: &mut [Vectors]) {
    if S::IS_WIDE {
        tile_of::<S, VECTORS, W>(simd, slab, packed, is_first, out);
    } else {
        tile_of::<S, 1, W>(simd, slab, packed, is_first, out);
    }
}

/// `V` vectors of rows by `W` landmarks, all sums in registers.
#[inline(always)]
fn tile_of<S: Simd, const V: usize, const W: usize>(
    simd: S,
    slab: &[Vectors],
    packed: &[f32],
    is_first: bool,
    out: &mut [Vectors],
) {
    for first in (0..VECTORS).step_by(V) {
        let mut sums = [[simd.splat(0.0); V]; W];
        if !is_first {
            for w in 0..W {
                for v in 0..V {
                    sums[w][v] = simd.load(&out[w][first + v]);
                }
            }
        }
        for (x, landmarks) in slab.iter().zip(packed.as_chunks::<W>().0) {
            let mut rows = [simd.splat(0.0); V];
            for v in 0..V {
                rows[v] = simd.load(&x[first + v]);
            }
            for w in 0..W {
                let landmark = simd.splat(landmarks[w]);
                for v in 0..V {
                    sums[w][v] = rows[v].mul_add(landmark, sums[w][v]);
                }
            }
        }
        for w in 0..W {
            for v in 0..V {
                sums[w][v].store(&mut out[w][first + v]);
            }
        }
    }
}

dispatch! {
    /// Exponents in place of products 2·x·l.
    fn exponents_of(out: &mut [f32], norms: &Vectors, landmark_norms: &[f32], rate: f32) = exponents_with(simd)
}

#[inline(always)]
fn exponents_with<S: Simd>(simd: S, out: &mut [f32], norms: &Vectors, landmark_norms: &[f32], rate: f32) {
    let (rate, zero) = (simd.splat(-rate), simd.splat(0.0));
    for (l, out) in landmark_norms.iter().zip(vectors_mut(out)) {
        let l = simd.splat(*l);
        for (norms, out) in norms.iter().zip(out) {
            let squared = simd.load(norms).add(l).sub(simd.load(out)).max(zero);
            squared.mul(rate).store(out);
        }
    }
}
