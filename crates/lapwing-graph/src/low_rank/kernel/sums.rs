//! Sums over rows and over landmarks of strips (k, 64).

use lapwing_simd::{Floats, Simd, dispatch};

use super::strip::{STRIP, VECTORS, Vectors, exp2, vectors, vectors_mut};

/// Place of (a, b), a ≤ b, in the packed upper triangle of a matrix (k, k): row by row.
#[inline(always)]
pub(crate) fn packed(k: usize, a: usize, b: usize) -> usize {
    a * (2 * k - a - 1) / 2 + b
}

/// Number of entries of that triangle.
pub(crate) fn packed_len(k: usize) -> usize {
    k * (k + 1) / 2
}

dispatch! {
    /// Adds CᵀC of the strips of a chunk (strips, k, 64) to the packed upper triangle `sums` (k·(k + 1)/2).
    pub(crate) fn add_gram(strips: &[f32], n_landmarks: usize, sums: &mut [f64]) = gram_with(simd)
}

#[inline(always)]
fn gram_with<S: Simd>(simd: S, strips: &[f32], k: usize, sums: &mut [f64]) {
    assert!(strips.len().is_multiple_of(k * STRIP) && sums.len() == packed_len(k));
    if S::IS_WIDE {
        gram_tiles::<S, 5>(simd, vectors(strips), k, sums);
    } else {
        gram_tiles::<S, 3>(simd, vectors(strips), k, sums);
    }
}

/// Products of pairs of landmarks, by tiles of `T` on either side.
#[inline(always)]
fn gram_tiles<S: Simd, const T: usize>(simd: S, strips: &[Vectors], k: usize, sums: &mut [f64]) {
    for g in (0..k).step_by(T) {
        for h in (g..k).step_by(T) {
            if h + T <= k {
                gram_tile::<S, T>(simd, strips, k, (g, h), sums);
                continue;
            }
            // The rest at the edges, one pair at a time.
            for a in g..(g + T).min(k) {
                (h.max(a)..k).for_each(|b| gram_tile::<S, 1>(simd, strips, k, (a, b), sums));
            }
        }
    }
}

/// Products of `T` landmarks from `g` on with as many from `h` on.
#[inline(always)]
fn gram_tile<S: Simd, const T: usize>(simd: S, strips: &[Vectors], k: usize, (g, h): (usize, usize), sums: &mut [f64]) {
    let mut tile = [[simd.splat(0.0); T]; T];
    for strip in strips.chunks_exact(k) {
        let (a, b) = (&strip[g..g + T], &strip[h..h + T]);
        for vector in 0..VECTORS {
            let mut right = [simd.splat(0.0); T];
            for t in 0..T {
                right[t] = simd.load(&b[t][vector]);
            }
            for (s, sums) in tile.iter_mut().enumerate() {
                let left = simd.load(&a[s][vector]);
                for t in 0..T {
                    sums[t] = left.mul_add(right[t], sums[t]);
                }
            }
        }
    }
    for (s, row) in tile.iter().enumerate() {
        for (t, sum) in row.iter().enumerate() {
            if h + t >= g + s {
                sums[packed(k, g + s, h + t)] += f64::from(sum.sum());
            }
        }
    }
}

dispatch! {
    /// Adds Σ over rows of C·w to `sums` (k), for weights w (64) of the rows of one strip (k, 64).
    pub(crate) fn add_weighted(strip: &[f32], weights: &[f32], sums: &mut [f64]) = weighted_with(simd)
}

#[inline(always)]
fn weighted_with<S: Simd>(simd: S, strip: &[f32], weights: &[f32], sums: &mut [f64]) {
    let weights = &vectors(weights)[0];
    for (values, total) in vectors(strip).iter().zip(sums) {
        let mut sum = simd.splat(0.0);
        for (values, weights) in values.iter().zip(weights) {
            sum = simd.load(values).mul_add(simd.load(weights), sum);
        }
        *total += f64::from(sum.sum());
    }
}

dispatch! {
    /// Multiplies the values of every row of a strip (k, 64) by its factor (64).
    pub(crate) fn scale_by(strip: &mut [f32], factors: &[f32]) = scaled_with(simd)
}

#[inline(always)]
fn scaled_with<S: Simd>(simd: S, strip: &mut [f32], factors: &[f32]) {
    let factors = &vectors(factors)[0];
    for values in vectors_mut(strip) {
        for (x, factor) in values.iter_mut().zip(factors) {
            simd.load(x).mul(simd.load(factor)).store(x);
        }
    }
}

dispatch! {
    /// Replaces exponents by shares: 2ᵗ of every row of a strip (k, 64), divided by the sum over the row.
    pub(crate) fn soften(strip: &mut [f32]) = softened_with(simd)
}

#[inline(always)]
fn softened_with<S: Simd>(simd: S, strip: &mut [f32]) {
    let strip = vectors_mut(strip);
    for vector in 0..VECTORS {
        let (mut top, mut sum) = (simd.splat(f32::NEG_INFINITY), simd.splat(0.0));
        for values in strip.iter() {
            top = top.max(simd.load(&values[vector]));
        }
        for values in strip.iter_mut() {
            let power = exp2(simd, simd.load(&values[vector]).sub(top));
            power.store(&mut values[vector]);
            sum = sum.add(power);
        }
        let factor = simd.splat(1.0).div(sum);
        for values in strip.iter_mut() {
            simd.load(&values[vector]).mul(factor).store(&mut values[vector]);
        }
    }
}

dispatch! {
    /// C·v of a strip (k, 64) in double precision: v has large entries of both signs.
    pub(crate) fn degrees(strip: &[f32], v: &[f64], out: &mut [f64; STRIP]) = degrees_plain
}

#[inline(always)]
fn degrees_plain(strip: &[f32], v: &[f64], out: &mut [f64; STRIP]) {
    out.fill(0.0);
    for (values, v) in strip.as_chunks::<STRIP>().0.iter().zip(v) {
        out.iter_mut().zip(values).for_each(|(out, value)| *out += f64::from(*value) * v);
    }
}

dispatch! {
    /// C·P of a strip (k, 64) with coefficients (k, c): `out` (c, 64).
    pub(crate) fn combine(strip: &[f32], coefficients: &[f32], out: &mut [f32]) = combined_with(simd)
}

#[inline(always)]
fn combined_with<S: Simd>(simd: S, strip: &[f32], coefficients: &[f32], out: &mut [f32]) {
    let (strip, out) = (vectors(strip), vectors_mut(out));
    let c = out.len();
    assert!(coefficients.len() == strip.len() * c);
    for class in (0..c).step_by(5) {
        match c - class {
            1 => columns::<S, 1>(simd, strip, coefficients, class, out),
            2 => columns::<S, 2>(simd, strip, coefficients, class, out),
            3 => columns::<S, 3>(simd, strip, coefficients, class, out),
            4 => columns::<S, 4>(simd, strip, coefficients, class, out),
            _ => columns::<S, 5>(simd, strip, coefficients, class, out),
        }
    }
}

/// `W` columns of the product from `class` on.
#[inline(always)]
fn columns<S: Simd, const W: usize>(
    simd: S,
    strip: &[Vectors],
    coefficients: &[f32],
    class: usize,
    out: &mut [Vectors],
) {
    if S::IS_WIDE {
        columns_of::<S, VECTORS, W>(simd, strip, coefficients, class, out);
    } else {
        columns_of::<S, 1, W>(simd, strip, coefficients, class, out);
    }
}

#[inline(always)]
fn columns_of<S: Simd, const V: usize, const W: usize>(
    simd: S,
    strip: &[Vectors],
    coefficients: &[f32],
    class: usize,
    out: &mut [Vectors],
) {
    let c = out.len();
    let out = &mut out[class..class + W];
    for first in (0..VECTORS).step_by(V) {
        let mut sums = [[simd.splat(0.0); V]; W];
        for (values, factors) in strip.iter().zip(coefficients.chunks_exact(c)) {
            let (values, factors) = (&values[first..first + V], &factors[class..class + W]);
            let mut rows = [simd.splat(0.0); V];
            for v in 0..V {
                rows[v] = simd.load(&values[v]);
            }
            for (sums, factor) in sums.iter_mut().zip(factors) {
                let factor = simd.splat(*factor);
                for v in 0..V {
                    sums[v] = rows[v].mul_add(factor, sums[v]);
                }
            }
        }
        for (sums, out) in sums.iter().zip(out.iter_mut()) {
            for (sum, out) in sums.iter().zip(&mut out[first..]) {
                sum.store(out);
            }
        }
    }
}

dispatch! {
    /// The `s` nearest landmarks of each row of a strip of exponents (k, 64), nearest first, the first of equal ones:
    /// exponents and numbers of landmarks, each (s, 64), for 1 ≤ s ≤ k.
    pub(crate) fn nearest(exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) = nearest_with(simd)
}

#[inline(always)]
fn nearest_with<S: Simd>(simd: S, exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) {
    assert!(s >= 1 && s * STRIP <= exponents.len() && values.len() == s * STRIP && numbers.len() == s * STRIP);
    let (exponents, values, numbers) = (vectors(exponents), vectors_mut(values), vectors_mut(numbers));
    match s {
        1 => nearest_few::<S, 1>(simd, exponents, values, numbers),
        2 => nearest_few::<S, 2>(simd, exponents, values, numbers),
        3 => nearest_few::<S, 3>(simd, exponents, values, numbers),
        4 => nearest_few::<S, 4>(simd, exponents, values, numbers),
        5 => nearest_few::<S, 5>(simd, exponents, values, numbers),
        _ => nearest_many(simd, exponents, values, numbers),
    }
}

/// The entry at one place of a descending list after `new` is inserted: the entry `here`, `new`, or the entry `before` this place.
/// Equal entries stay in their order.
#[inline(always)]
fn shifted<F: Floats>(new: (F, F), before: Option<(F, F)>, here: (F, F)) -> (F, F) {
    let place = (here.0.select_less(new.0, new.0, here.0), here.0.select_less(new.0, new.1, here.1));
    let Some(before) = before else { return place };
    (before.0.select_less(new.0, before.0, place.0), before.0.select_less(new.0, before.1, place.1))
}

#[inline(always)]
fn nearest_few<S: Simd, const N: usize>(
    simd: S,
    exponents: &[Vectors],
    values: &mut [Vectors],
    numbers: &mut [Vectors],
) {
    for vector in 0..VECTORS {
        let mut best = [(simd.splat(f32::NEG_INFINITY), simd.splat(0.0)); N];
        for (at, exponents) in exponents.iter().enumerate() {
            let new = (simd.load(&exponents[vector]), simd.splat(at as f32));
            for s in (0..N).rev() {
                best[s] = shifted(new, s.checked_sub(1).map(|before| best[before]), best[s]);
            }
        }
        for (best, (values, numbers)) in best.iter().zip(values.iter_mut().zip(numbers.iter_mut())) {
            best.0.store(&mut values[vector]);
            best.1.store(&mut numbers[vector]);
        }
    }
}

/// [`nearest`] with lists in memory instead of registers.
#[inline(always)]
fn nearest_many<S: Simd>(simd: S, exponents: &[Vectors], values: &mut [Vectors], numbers: &mut [Vectors]) {
    values.as_flattened_mut().as_flattened_mut().fill(f32::NEG_INFINITY);
    numbers.as_flattened_mut().as_flattened_mut().fill(0.0);
    for vector in 0..VECTORS {
        for (at, exponents) in exponents.iter().enumerate() {
            let new = (simd.load(&exponents[vector]), simd.splat(at as f32));
            for s in (0..values.len().min(at + 1)).rev() {
                let listed = |s: usize| (simd.load(&values[s][vector]), simd.load(&numbers[s][vector]));
                let place = shifted(new, s.checked_sub(1).map(listed), listed(s));
                place.0.store(&mut values[s][vector]);
                place.1.store(&mut numbers[s][vector]);
            }
        }
    }
}
