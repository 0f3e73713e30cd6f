//! Scaling weights to near 1 by a power of two, for matrices whose values are near the limits of f64.
//!
//! Sums and squares of values above 10¹⁵⁰ or below 10⁻¹⁵⁰ overflow or vanish, and inverses do beyond 10³⁰⁷. A power of two
//! changes no digit, so that results that do not depend on the unit of the weights keep their bits. Cost: one pass over the
//! weights, and a copy of the matrix if it has to be scaled.

/// Values are not scaled while their exponents are below this: three factors of that size stay within f64.
const MODERATE: i32 = 300;

/// The exponent of the power of two that brings the geometric mean of the least and the largest positive value near 1; 0 where all
/// lie between 2⁻³⁰⁰ and 2³⁰⁰, or so far apart that one of them would vanish or overflow. Values are finite and at least 0.
pub(crate) fn exponent_for(values: &[f64]) -> i32 {
    let positive = values.iter().filter(|w| **w > 0.0);
    let (least, most) = positive.fold((f64::INFINITY, 0.0f64), |(least, most), w| (least.min(*w), most.max(*w)));
    if most == 0.0 {
        return 0;
    }
    let (low, high) = (exponent_of(least), exponent_of(most));
    let exponent = -(low + high).div_euclid(2);
    // Both ends must stay normal numbers, with room for sums of many.
    let fits = low + exponent > -900 && high + exponent < 900;
    if low >= -MODERATE && high <= MODERATE || !fits { 0 } else { exponent }
}

/// The exponent of the power of two that brings a positive weight near 1; 0 for one that is moderate.
pub fn exponent_to_one(weight: f64) -> i32 {
    let exponent = exponent_of(weight);
    if exponent.abs() <= MODERATE { 0 } else { -exponent }
}

/// The exponent of a positive number, subnormal ones included.
fn exponent_of(w: f64) -> i32 {
    let bits = |w: f64| ((w.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if w < f64::MIN_POSITIVE { bits(w * 2f64.powi(200)) - 200 } else { bits(w) }
}

/// `value` · 2^`exponent`: infinite or 0 beyond the range of f64.
pub fn times_power(value: f64, exponent: i32) -> f64 {
    // In steps that are normal numbers, each exact unless the value leaves f64.
    let (mut value, mut left) = (value, exponent);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        value *= 2f64.powi(step);
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exponent, and the values scaled by it.
    fn scaled(values: &[f64]) -> (i32, Vec<f64>) {
        let exponent = exponent_for(values);
        (exponent, values.iter().map(|&value| times_power(value, exponent)).collect())
    }

    #[test]
    fn weights_come_near_one_without_a_change_of_digits() {
        for unit in [f64::MAX / 4.0, 1e300, 1e200, 1e-160, 1e-300, 3.0 * f64::MIN_POSITIVE] {
            let given = [unit, 1.75 * unit, 3.0 * unit];
            let (exponent, found) = scaled(&given);
            assert!(exponent != 0 && found.iter().all(|w| (0.1..10.0).contains(w)), "{unit}");
            for (before, after) in given.iter().zip(found) {
                assert_eq!(times_power(after, -exponent), *before);
            }
        }
        assert_eq!(scaled(&[5e-324, 15e-324]).1, [1.0, 3.0]);
    }

    #[test]
    fn one_weight_comes_near_one() {
        for weight in [5e-324, 1e-310, 1e-200, 1.5e-90, 1.0, 3e90, 1e200, f64::MAX] {
            let exponent = exponent_to_one(weight);
            assert_eq!(exponent == 0, (1e-90..=3e90).contains(&weight), "{weight}");
            assert!(exponent == 0 || (1.0..2.0).contains(&times_power(weight, exponent)), "{weight}");
        }
    }

    #[test]
    fn what_is_moderate_or_too_far_apart_stays() {
        for weights in [&[][..], &[0.0], &[1.0, 1e-12], &[1e80, 1e-80], &[1e-300, 1e300], &[5e-324, 1.0, 1e300]] {
            assert_eq!(exponent_for(weights), 0);
        }
        assert_eq!(times_power(1.5, -1074), 1e-323);
        assert_eq!(
            (times_power(1.0, 1100), times_power(3.0, 2000), times_power(1.0, -1100)),
            (f64::INFINITY, f64::INFINITY, 0.0)
        );
    }
}
