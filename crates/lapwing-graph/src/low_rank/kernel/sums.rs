//! Sums over rows and over landmarks of strips (k, 64).

use lapwing_data::vectored;

use super::lanes::{LANES, Lanes, on_lanes};
use super::{CHUNK_STRIPS, STRIP};

/// Place of (a, b), a ≤ b, in the packed upper triangle of a matrix (k, k): row by row.
#[inline(always)]
pub(crate) fn packed(k: usize, a: usize, b: usize) -> usize {
    a * (2 * k - a - 1) / 2 + b
}

/// Entries of that triangle.
pub(crate) fn packed_len(k: usize) -> usize {
    k * (k + 1) / 2
}

/// Landmarks on either side of a tile of products.
const SIDE: usize = 5;

/// Adds CᵀC of the strips of a chunk (strips, k, 64) to the packed upper triangle `sums` (k·(k + 1)/2).
pub(crate) fn add_gram(strips: &[f32], n_landmarks: usize, sums: &mut [f64]) {
    gram(strips, n_landmarks, sums);
}

#[inline(always)]
unsafe fn gram_plain<L: Lanes>(strips: &[f32], k: usize, sums: &mut [f64]) {
    assert!(strips.len().is_multiple_of(k * STRIP) && sums.len() == packed_len(k));
    let step = if L::TILE == 4 { SIDE } else { 3 };
    for g in (0..k).step_by(step) {
        for h in (g..k).step_by(step) {
            // SAFETY: as of the caller; whole tiles lie within the strips.
            unsafe {
                match L::TILE {
                    4 if g + SIDE <= k && h + SIDE <= k => gram_tile::<L, SIDE>(strips, k, g, h, sums),
                    1 if g + 3 <= k && h + 3 <= k => gram_tile::<L, 3>(strips, k, g, h, sums),
                    _ => gram_rest::<L>(strips, k, g, h, step, sums),
                }
            }
        }
    }
}

on_lanes! { gram = gram_plain(strips: &[f32], k: usize, sums: &mut [f64]) }

/// Products of `S` landmarks from `g` on with as many from `h` on.
#[inline(always)]
unsafe fn gram_tile<L: Lanes, const S: usize>(strips: &[f32], k: usize, g: usize, h: usize, sums: &mut [f64]) {
    // SAFETY: g + S and h + S are at most k.
    unsafe {
        let mut tile = [[L::splat(0.0); S]; S];
        for strip in strips.chunks_exact(k * STRIP) {
            let (a, b) = (strip.as_ptr().add(g * STRIP), strip.as_ptr().add(h * STRIP));
            for first in (0..STRIP).step_by(LANES) {
                let right: [L; S] = std::array::from_fn(|s| L::load(b.add(s * STRIP + first)));
                for (s, sums) in tile.iter_mut().enumerate() {
                    let left = L::load(a.add(s * STRIP + first));
                    for t in 0..S {
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
}

/// What is left at the edges, a pair at a time.
#[inline(always)]
unsafe fn gram_rest<L: Lanes>(strips: &[f32], k: usize, g: usize, h: usize, step: usize, sums: &mut [f64]) {
    for a in g..(g + step).min(k) {
        for b in h.max(a)..(h + step).min(k) {
            // SAFETY: a and b are below k.
            unsafe {
                let mut sum = L::splat(0.0);
                for strip in strips.chunks_exact(k * STRIP) {
                    for first in (0..STRIP).step_by(LANES) {
                        let left = L::load(strip.as_ptr().add(a * STRIP + first));
                        sum = left.mul_add(L::load(strip.as_ptr().add(b * STRIP + first)), sum);
                    }
                }
                sums[packed(k, a, b)] += f64::from(sum.sum());
            }
        }
    }
}

/// Adds Σ over rows of C·w to `sums` (k), for weights w (64) of the rows of one strip (k, 64).
pub(crate) fn add_weighted(strip: &[f32], weights: &[f32], sums: &mut [f64]) {
    weighted(strip, weights, sums);
}

#[inline(always)]
unsafe fn weighted_plain<L: Lanes>(strip: &[f32], weights: &[f32], sums: &mut [f64]) {
    assert!(strip.len() == sums.len() * STRIP && weights.len() == STRIP);
    // SAFETY: the lengths are those asserted.
    unsafe {
        for (values, total) in strip.chunks_exact(STRIP).zip(sums) {
            let mut sum = L::splat(0.0);
            for first in (0..STRIP).step_by(LANES) {
                sum = L::load(values.as_ptr().add(first)).mul_add(L::load(weights.as_ptr().add(first)), sum);
            }
            *total += f64::from(sum.sum());
        }
    }
}

on_lanes! { weighted = weighted_plain(strip: &[f32], weights: &[f32], sums: &mut [f64]) }

/// Multiplies the values of every row of a strip (k, 64) by its factor (64).
pub(crate) fn scale_by(strip: &mut [f32], factors: &[f32]) {
    scaled(strip, factors);
}

#[inline(always)]
unsafe fn scaled_plain<L: Lanes>(strip: &mut [f32], factors: &[f32]) {
    assert!(strip.len().is_multiple_of(STRIP) && factors.len() == STRIP);
    // SAFETY: the lengths are those asserted.
    unsafe {
        for values in strip.chunks_exact_mut(STRIP) {
            for first in (0..STRIP).step_by(LANES) {
                let factor = L::load(factors.as_ptr().add(first));
                L::load(values.as_ptr().add(first)).mul(factor).store(values.as_mut_ptr().add(first));
            }
        }
    }
}

on_lanes! { scaled = scaled_plain(strip: &mut [f32], factors: &[f32]) }

/// Shares in place of exponents: 2ᵗ of every row of a strip (k, 64) brought to sum 1.
pub(crate) fn soften(strip: &mut [f32]) {
    softened(strip);
}

#[inline(always)]
unsafe fn softened_plain<L: Lanes>(strip: &mut [f32]) {
    // SAFETY: chunks have 64 values.
    unsafe {
        for first in (0..STRIP).step_by(LANES) {
            let mut top = L::splat(f32::NEG_INFINITY);
            for values in strip.chunks_exact(STRIP) {
                top = top.max(L::load(values.as_ptr().add(first)));
            }
            let mut sum = L::splat(0.0);
            for values in strip.chunks_exact_mut(STRIP) {
                let power = L::load(values.as_ptr().add(first)).sub(top).exp2();
                power.store(values.as_mut_ptr().add(first));
                sum = sum.add(power);
            }
            let factor = L::splat(1.0).div(sum);
            for values in strip.chunks_exact_mut(STRIP) {
                L::load(values.as_ptr().add(first)).mul(factor).store(values.as_mut_ptr().add(first));
            }
        }
    }
}

on_lanes! { softened = softened_plain(strip: &mut [f32]) }

/// C·v of a strip (k, 64) in double precision: v has large entries of both signs.
#[inline(always)]
fn plain_degrees(strip: &[f32], v: &[f64], out: &mut [f64; STRIP]) {
    out.fill(0.0);
    for (values, v) in strip.as_chunks::<STRIP>().0.iter().zip(v) {
        out.iter_mut().zip(values).for_each(|(out, value)| *out += f64::from(*value) * v);
    }
}

vectored! {
    /// C·v of a strip (k, 64) in double precision: v has large entries of both signs.
    degrees = plain_degrees(strip: &[f32], v: &[f64], out: &mut [f64; STRIP])
}

/// C·P of a strip (k, 64) with coefficients (k, c): `out` (c, 64).
pub(crate) fn combine(strip: &[f32], coefficients: &[f32], out: &mut [f32]) {
    combined(strip, coefficients, out);
}

#[inline(always)]
unsafe fn combined_plain<L: Lanes>(strip: &[f32], coefficients: &[f32], out: &mut [f32]) {
    let (k, c) = (strip.len() / STRIP, out.len() / STRIP);
    assert!(coefficients.len() == k * c);
    let mut class = 0;
    while class < c {
        // SAFETY: as of the caller; the classes are below c.
        unsafe {
            match c - class {
                1 => columns::<L, 1>(strip, coefficients, class, out),
                2 => columns::<L, 2>(strip, coefficients, class, out),
                3 => columns::<L, 3>(strip, coefficients, class, out),
                4 => columns::<L, 4>(strip, coefficients, class, out),
                _ => columns::<L, 5>(strip, coefficients, class, out),
            }
        }
        class += 5;
    }
}

on_lanes! { combined = combined_plain(strip: &[f32], coefficients: &[f32], out: &mut [f32]) }

/// `W` columns of the product from `class` on.
#[inline(always)]
unsafe fn columns<L: Lanes, const W: usize>(strip: &[f32], coefficients: &[f32], class: usize, out: &mut [f32]) {
    // SAFETY: as of the caller.
    unsafe {
        match L::TILE {
            4 => columns_of::<L, 4, W>(strip, coefficients, class, out),
            _ => columns_of::<L, 1, W>(strip, coefficients, class, out),
        }
    }
}

#[inline(always)]
unsafe fn columns_of<L: Lanes, const V: usize, const W: usize>(
    strip: &[f32],
    coefficients: &[f32],
    class: usize,
    out: &mut [f32],
) {
    let (k, c) = (strip.len() / STRIP, out.len() / STRIP);
    // SAFETY: `first` + 16·V ≤ 64, and `class` + W ≤ c.
    unsafe {
        for first in (0..STRIP).step_by(LANES * V) {
            let mut sums = [[L::splat(0.0); V]; W];
            for l in 0..k {
                let values: [L; V] =
                    std::array::from_fn(|v| L::load(strip.as_ptr().add(l * STRIP + first + v * LANES)));
                for (w, sums) in sums.iter_mut().enumerate() {
                    let factor = L::splat(*coefficients.as_ptr().add(l * c + class + w));
                    for v in 0..V {
                        sums[v] = values[v].mul_add(factor, sums[v]);
                    }
                }
            }
            for (w, sums) in sums.iter().enumerate() {
                for (v, sum) in sums.iter().enumerate() {
                    sum.store(out.as_mut_ptr().add((class + w) * STRIP + first + v * LANES));
                }
            }
        }
    }
}

/// The `s` nearest landmarks of each row of a strip of exponents (k, 64), nearest first, the first of equal ones:
/// exponents and numbers of landmarks, each (s, 64), for 1 ≤ s ≤ k.
pub(crate) fn nearest(exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) {
    assert!(s >= 1 && s * STRIP <= exponents.len() && values.len() == s * STRIP && numbers.len() == s * STRIP);
    chosen(exponents, s, values, numbers);
}

#[inline(always)]
unsafe fn chosen_plain<L: Lanes>(exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) {
    // SAFETY: as of the caller.
    unsafe {
        match s {
            1 => chosen_few::<L, 1>(exponents, values, numbers),
            2 => chosen_few::<L, 2>(exponents, values, numbers),
            3 => chosen_few::<L, 3>(exponents, values, numbers),
            4 => chosen_few::<L, 4>(exponents, values, numbers),
            5 => chosen_few::<L, 5>(exponents, values, numbers),
            _ => chosen_many::<L>(exponents, s, values, numbers),
        }
    }
}

on_lanes! { chosen = chosen_plain(exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) }

/// What stands at a place of a list that descends once `new` has come: itself, `new`, or what stood `before` it. Equal ones
/// stay where they are.
#[inline(always)]
unsafe fn shifted<L: Lanes>(new: (L, L), before: Option<(L, L)>, here: (L, L)) -> (L, L) {
    // SAFETY: as of the caller.
    unsafe {
        let moves = here.0.less(new.0);
        let place = (L::select(moves, new.0, here.0), L::select(moves, new.1, here.1));
        let Some(before) = before else { return place };
        let passes = before.0.less(new.0);
        (L::select(passes, before.0, place.0), L::select(passes, before.1, place.1))
    }
}

#[inline(always)]
unsafe fn chosen_few<L: Lanes, const S: usize>(exponents: &[f32], values: &mut [f32], numbers: &mut [f32]) {
    // SAFETY: `first` + 16 ≤ 64; lengths were asserted.
    unsafe {
        for first in (0..STRIP).step_by(LANES) {
            let mut best = [(L::splat(f32::NEG_INFINITY), L::splat(0.0)); S];
            for (at, exponents) in exponents.chunks_exact(STRIP).enumerate() {
                let new = (L::load(exponents.as_ptr().add(first)), L::splat(at as f32));
                for s in (0..S).rev() {
                    best[s] = shifted(new, s.checked_sub(1).map(|before| best[before]), best[s]);
                }
            }
            for (s, best) in best.iter().enumerate() {
                best.0.store(values.as_mut_ptr().add(s * STRIP + first));
                best.1.store(numbers.as_mut_ptr().add(s * STRIP + first));
            }
        }
    }
}

/// The same with lists in memory.
#[inline(always)]
unsafe fn chosen_many<L: Lanes>(exponents: &[f32], s: usize, values: &mut [f32], numbers: &mut [f32]) {
    values.fill(f32::NEG_INFINITY);
    numbers.fill(0.0);
    // SAFETY: `first` + 16 ≤ 64; lengths were asserted.
    unsafe {
        for first in (0..STRIP).step_by(LANES) {
            let (values, numbers) = (values.as_mut_ptr().add(first), numbers.as_mut_ptr().add(first));
            let listed = |s: usize| (L::load(values.add(s * STRIP)), L::load(numbers.add(s * STRIP)));
            for (at, exponents) in exponents.chunks_exact(STRIP).enumerate() {
                let new = (L::load(exponents.as_ptr().add(first)), L::splat(at as f32));
                for s in (0..s.min(at + 1)).rev() {
                    let place = shifted(new, s.checked_sub(1).map(listed), listed(s));
                    place.0.store(values.add(s * STRIP));
                    place.1.store(numbers.add(s * STRIP));
                }
            }
        }
    }
}

const _: () = assert!(STRIP.is_multiple_of(4 * LANES) && CHUNK_STRIPS > 0);
