//! Cells of CSV.

use std::io::Write;

/// Appends a text, in quotes if it needs them.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// Appends the shortest text that reads back as the same number: that of `{:?}`.
#[inline]
pub(super) fn push_float(out: &mut Vec<u8>, value: f64) {
    if is_quick(value) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        push_debug(out, value);
    }
}

/// Whether the fast conversion gives the text of `{:?}`.
///
/// The two differ in exponents above 1 and from 1e-5 to 1e-4. They also differ if two shortest texts are equally near:
/// such a number has 17 digits and ends in 5. It is odd·2⁻ᵐ, with the digits of odd·5ᵐ; below 1, m is at least 17, so
/// that `odd` has less than 18 bits.
#[inline]
fn is_quick(value: f64) -> bool {
    let size = value.abs();
    size < 1.0 && !(1e-5..1e-4).contains(&size) && value.to_bits().trailing_zeros() < 32
}

fn push_debug(out: &mut Vec<u8>, value: f64) {
    if value == 1.0 {
        return out.extend_from_slice(b"1.0");
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value:?}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: f64) {
        let mut found = Vec::new();
        push_float(&mut found, value);
        assert_eq!(String::from_utf8(found).unwrap(), format!("{value:?}"));
    }

    #[test]
    fn floats_are_written_as_ever() {
        let edges = [0.0, 1.0, 0.1, 1e-5, 9.999e-5, 1e-4, 1e15, 1e16, 5e-324, f64::MAX, f64::MIN_POSITIVE, 0.5, 1e22];
        for value in edges.into_iter().chain([f64::INFINITY, f64::NAN]) {
            for value in [value, -value, value.next_down(), value.next_up(), 1.0 - value] {
                check(value);
            }
        }
        // Multiples of powers of two, of which two texts may be equally near; of powers of ten; and small numbers.
        for m in 0..60 {
            (0..2000u64).for_each(|at| check((at * 131 % (1 << 18)) as f64 / (1u64 << m) as f64));
        }
        (0..100_000).for_each(|at| check(f64::from(at) / 1e5));
        (1..300).for_each(|of| (0..of).for_each(|at| check(f64::from(at) / f64::from(of))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn any_float_is_written_as_ever(
            bits in any::<u64>(), share in 0.0..1.0f64, single in 0.0..1.0f32, power in 0i32..40,
        ) {
            check(f64::from_bits(bits));
            check(share);
            check(f64::from(single));
            check(share * 10f64.powi(-power));
            check(f64::from_bits(bits & !((1 << (power + 10)) - 1)));
        }
    }
}
