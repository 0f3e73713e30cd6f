//! Passes over the lower bounds of one row: find the rows that are certainly nearer than a value, and those that may be.
//!
//! Cost: one reading of the bounds each.

use lapwing_simd::dispatch;

/// A value in the unit of the search below this is also below `value` as a distance in f32.
pub(crate) fn before(value: f32) -> f32 {
    value - 8.0 * f32::EPSILON * value.abs()
}

/// A value in the unit of the search above this is also above `value` as a distance in f32.
pub(crate) fn after(value: f32) -> f32 {
    value + 8.0 * f32::EPSILON * value.abs()
}

/// Bits that order as the values do.
#[inline(always)]
pub(crate) fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
}

/// The value of [`ordered`] bits.
pub(crate) fn unordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits ^ 1 << 31 } else { !bits })
}

/// The range of values in which bounds do not decide.
#[derive(Clone, Copy)]
pub(crate) struct Band {
    /// s of the row.
    pub own: f32,
    /// A row comes before if its bound plus the slacks is below this.
    pub before: f32,
    /// A row comes after if its bound is above this.
    pub after: f32,
}

dispatch! {
    /// 2·(h(y) − xᵀy + h(x)).
    pub(crate) fn lower_bounds(products: &[f32], half_norms: &[f32], half_norm: f32, out: &mut [f32]) = lower_bounds_plain
}

#[inline(always)]
fn lower_bounds_plain(products: &[f32], half_norms: &[f32], half_norm: f32, out: &mut [f32]) {
    for ((out, &h), &product) in out.iter_mut().zip(half_norms).zip(products) {
        *out = 2.0 * ((h - product) + half_norm);
    }
}

dispatch! {
    /// Largest bound + slack where the bound is at most `low`.
    pub(crate) fn largest_upper(bounds: &[f32], slacks: &[f32], low: f32) -> f32 = largest_upper_plain
}

#[inline(always)]
fn largest_upper_plain(bounds: &[f32], slacks: &[f32], low: f32) -> f32 {
    let upper = |(&bound, &slack): (&f32, &f32)| if bound <= low { bound + slack } else { f32::NEG_INFINITY };
    -smallest(bounds, slacks, |bound, slack| -upper((&bound, &slack)))
}

dispatch! {
    /// Smallest bound + slack.
    pub(crate) fn smallest_upper(bounds: &[f32], slacks: &[f32]) -> f32 = smallest_upper_plain
}

#[inline(always)]
fn smallest_upper_plain(bounds: &[f32], slacks: &[f32]) -> f32 {
    smallest(bounds, slacks, |bound, slack| bound + slack)
}

const LANES: usize = 16;

/// Smallest value over the pairs, in lanes that the compiler makes vectors of.
#[inline(always)]
fn smallest(bounds: &[f32], slacks: &[f32], value: impl Fn(f32, f32) -> f32) -> f32 {
    let mut least = [f32::INFINITY; LANES];
    let (b, s) = (bounds.chunks_exact(LANES), slacks.chunks_exact(LANES));
    let rest = b.remainder().iter().zip(s.remainder()).map(|(&bound, &slack)| value(bound, slack));
    let rest = rest.fold(f32::INFINITY, f32::min);
    for (b, s) in b.zip(s) {
        for lane in 0..LANES {
            let value = value(b[lane], s[lane]);
            least[lane] = if value < least[lane] { value } else { least[lane] };
        }
    }
    least.into_iter().fold(rest, f32::min)
}

dispatch! {
    /// Counts the bounds that come before a band and calls `hit` for those in it.
    pub(crate) fn scan(bounds: &[f32], slacks: &[f32], band: Band, hit: &mut dyn FnMut(usize)) -> usize = scan_plain
}

#[inline(always)]
fn scan_plain(bounds: &[f32], slacks: &[f32], band: Band, hit: &mut dyn FnMut(usize)) -> usize {
    let is_before = |bound: f32, slack: f32| bound + (slack + band.own) < band.before;
    let mut counts = [0u32; LANES];
    for (at, (b, s)) in bounds.chunks(LANES).zip(slacks.chunks(LANES)).enumerate() {
        let mut any = false;
        for (lane, (&bound, &slack)) in b.iter().zip(s).enumerate() {
            let is_before = is_before(bound, slack);
            counts[lane] += u32::from(is_before);
            any |= !is_before & (bound <= band.after);
        }
        if any {
            let is_hit = |lane: &usize| !is_before(b[*lane], s[*lane]) && b[*lane] <= band.after;
            (0..b.len()).filter(is_hit).for_each(|lane| hit(at * LANES + lane));
        }
    }
    counts.iter().map(|&count| count as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize) -> (Vec<f32>, Vec<f32>) {
        (
            (0..n).map(|i| ((i * 7919) % 211) as f32 - 40.0).collect(),
            (0..n).map(|i| ((i * 31) % 17) as f32 / 8.0).collect(),
        )
    }

    #[test]
    fn all_versions_find_what_a_loop_finds() {
        for n in [1, 15, 16, 203] {
            let (bounds, slacks) = values(n);
            let upper = |at: usize| bounds[at] + slacks[at];
            let least = (0..n).map(upper).fold(f32::INFINITY, f32::min);
            assert_eq!(smallest_upper(&bounds, &slacks), least);
            assert_eq!(smallest_upper_plain(&bounds, &slacks), least);
            let most = (0..n).filter(|&at| bounds[at] <= 30.0).map(upper).fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(largest_upper(&bounds, &slacks, 30.0), most);
            assert_eq!(largest_upper_plain(&bounds, &slacks, 30.0), most);
            let mut found = vec![0.0; n];
            lower_bounds(&bounds, &slacks, 3.0, &mut found);
            assert!((0..n).all(|at| found[at] == 2.0 * (slacks[at] - bounds[at] + 3.0)));
        }
    }

    #[test]
    fn a_band_is_met_in_order_and_what_comes_before_is_counted() {
        for n in [1, 15, 16, 203] {
            let (bounds, slacks) = values(n);
            let band = Band { own: 0.5, before: 3.0, after: 20.0 };
            let is_before = |at: &usize| bounds[*at] + slacks[*at] + 0.5 < 3.0;
            let expected: Vec<usize> = (0..n).filter(|at| !is_before(at) && bounds[*at] <= 20.0).collect();
            for plain in [false, true] {
                let mut met = Vec::new();
                let scan = if plain { scan_plain } else { scan };
                let count = scan(&bounds, &slacks, band, &mut |at| met.push(at));
                assert_eq!((count, &met), ((0..n).filter(is_before).count(), &expected));
            }
        }
    }

    #[test]
    fn bits_order_as_values_do() {
        let values = [f32::NEG_INFINITY, -3e20, -2.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, 1.5, f32::MAX, f32::INFINITY];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(values.iter().all(|&value| unordered(ordered(value)).to_bits() == value.to_bits()));
    }
}
