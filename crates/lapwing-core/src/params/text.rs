//! Numbers and names as they are typed.

use std::str::FromStr;
use std::time::Duration;

/// Largest count: beyond it doubles skip whole numbers.
const MOST: f64 = (1u64 << 53) as f64;

/// A number except NaN; `inf` is allowed.
pub fn real(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if !x.is_nan() => Ok(x),
        _ => Err("expected a number".into()),
    }
}

/// A whole number, perhaps in thousands (k), millions (M), or thousands of millions (G), or as a power of ten: `15`, `100k`,
/// `2.5M`, `1e6`.
pub fn count(text: &str) -> Result<usize, String> {
    let unit = |unit| match unit {
        'k' => Some(1e3),
        'm' => Some(1e6),
        'g' => Some(1e9),
        _ => None,
    };
    with_unit(text.trim(), unit).ok_or_else(|| "expected a whole number, at least 0, such as 15, 100k or 2M".into())
}

/// A number of bytes, perhaps in units of 2¹⁰ (k), 2²⁰ (M), 2³⁰ (G) or 2⁴⁰ (T), of which each may be followed by B or iB.
pub fn byte_count(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let short = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let short = short.strip_suffix('i').unwrap_or(short);
    let unit = |unit| "kmgt".find(unit).map(|at| (1u64 << (10 * (at + 1))) as f64);
    with_unit(short, unit)
        .ok_or_else(|| "expected a number of bytes, at least 0, such as 800000000, 512M or 2G (binary units)".into())
}

/// A time above 0, in seconds (s, or without a unit), milliseconds (ms), minutes (m) or hours (h): `90`, `60s`, `1.5m`, `2h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| Some(seconds * text.strip_suffix(unit)?.parse::<f64>().ok()?));
    let positive =
        parsed.filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    positive.ok_or_else(|| "expected a time above 0, such as 60s, 90, 5m or 2h".into())
}

/// A whole number; or a decimal one, perhaps times the value of the unit behind it, where that is whole.
fn with_unit<N: FromStr + TryFrom<u64>>(text: &str, value_of: impl Fn(char) -> Option<f64>) -> Option<N> {
    let whole = || {
        let unit = text.chars().last().filter(char::is_ascii_alphabetic)?;
        scaled(&text[..text.len() - 1], value_of(unit.to_ascii_lowercase())?)
    };
    text.parse().ok().or_else(|| N::try_from(whole().or_else(|| scaled(text, 1.0))?).ok())
}

/// A decimal number times a unit; `None` if the product is not whole.
fn scaled(digits: &str, unit: f64) -> Option<u64> {
    let starts_well = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let number = digits.parse::<f64>().ok().filter(|_| starts_well)? * unit;
    (number <= MOST && number.fract() == 0.0).then_some(number as u64)
}

/// The most similar of the `known` names, if one is similar enough.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), *known));
    near.min_by_key(|(distance, _)| *distance).filter(|(distance, known)| distance * 3 <= known.len()).map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_in_decimal_units() {
        let counts = ["0", "17", "3k", "3K", "2.5m", "2M", "5G", "1e6", "1.5e3"].map(|text| count(text).unwrap());
        assert_eq!(counts, [0, 17, 3000, 3000, 2_500_000, 2_000_000, 5_000_000_000, 1_000_000, 1500]);
        assert_eq!(count(&usize::MAX.to_string()), Ok(usize::MAX));
        for text in ["", "k", "-3", "1.5", "1.0005k", "2T", "2kB", "1e300", "inf", "nan", "2é", "+k", "1_000"] {
            assert!(count(text).unwrap_err().contains("100k"), "{text}");
        }
    }

    #[test]
    fn times_come_in_seconds_minutes_and_hours() {
        let seconds = ["90", "60s", "1.5m", "2h", "250ms", "1e2"].map(|text| duration(text).unwrap().as_secs_f64());
        assert_eq!(seconds, [90.0, 60.0, 90.0, 7200.0, 0.25, 100.0]);
        for text in ["", "s", "0", "-1s", "inf", "nan", "1d", "1e30h", "5 minutes"] {
            assert!(duration(text).unwrap_err().contains("60s"), "{text}");
        }
    }

    #[test]
    fn bytes_come_in_binary_units() {
        let bytes = ["17", "3k", "3K", "2m", "2M", "5G", "1T", "1.5G", "2GB", "2GiB", "1e6", "7B"]
            .map(|text| byte_count(text).unwrap());
        let (k, m, g) = (1u64 << 10, 1 << 20, 1 << 30);
        assert_eq!(bytes, [17, 3 * k, 3 * k, 2 * m, 2 * m, 5 * g, g << 10, 3 * g / 2, 2 * g, 2 * g, 1_000_000, 7]);
        for text in ["", "G", "-1", "0.3", "99999999T", "2é", "iB"] {
            assert!(byte_count(text).unwrap_err().contains("512M"), "{text}");
        }
    }
}
