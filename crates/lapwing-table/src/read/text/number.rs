//! Numbers as people write them in tables.
//!
//! A plain number has a sign, digits, a decimal mark and an exponent. A written number may also have separators between
//! groups of three digits, a currency sign before or behind it, and a percent sign behind it; these do not change the
//! number (45 % is 45).

use serde::{Deserialize, Serialize};

/// Texts, in any case, of cells that hold nothing; those with `#` are errors of spreadsheets.
const MISSING: [&[u8]; 18] = [
    b"na", b"n/a", b"nan", b"null", b"none", b"#n/a", b"?", b"-", b"--", b".", b"nil", b"<na>", b"#ref!", b"#div/0!",
    b"#value!", b"#name?", b"#num!", b"#null!",
];

/// Bytes of the longest of these texts.
const MAX_MISSING: usize = 7;

/// Powers of ten that double precision holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Largest number up to which double precision holds all integers.
const MAX_EXACT: u64 = 1 << 53;

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NumberStyle {
    /// Plain numbers with this decimal mark.
    Plain(u8),
    /// Numbers with this decimal mark that may have separators, currency and percent signs.
    Written(u8),
    /// The same, with a unit behind every number.
    Unit(u8, Unit),
}

/// The unit behind the numbers of a column (mm, km/h, °C), filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unit([u8; MAX_UNIT]);

/// Bytes of the longest unit.
const MAX_UNIT: usize = 8;

impl Unit {
    /// What follows the digits of a cell, if it can be a unit.
    pub(super) fn of(cell: &[u8]) -> Option<Self> {
        let end = 1 + cell.iter().rposition(|byte| byte.is_ascii_digit())?;
        let unit = std::str::from_utf8(cell.get(end..)?).ok()?.trim();
        let is_unit = unit.starts_with(|c: char| c.is_alphabetic() || c == '°') && unit.len() <= MAX_UNIT;
        let mut bytes = [0; MAX_UNIT];
        bytes.get_mut(..unit.len()).filter(|_| is_unit)?.copy_from_slice(unit.as_bytes());
        Some(Self(bytes))
    }

    /// A cell without its unit.
    fn strip(self, cell: &[u8]) -> Option<&[u8]> {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(MAX_UNIT);
        cell.strip_suffix(&self.0[..length]).map(<[u8]>::trim_ascii_end)
    }
}

impl NumberStyle {
    pub(super) fn decimal(self) -> u8 {
        let (Self::Plain(decimal) | Self::Written(decimal) | Self::Unit(decimal, _)) = self;
        decimal
    }

    pub(super) fn with_decimal(self, decimal: u8) -> Self {
        match self {
            Self::Plain(_) => Self::Plain(decimal),
            Self::Written(_) => Self::Written(decimal),
            Self::Unit(_, unit) => Self::Unit(decimal, unit),
        }
    }

    /// The number in a cell; `None` if the cell holds anything else.
    #[inline]
    pub(crate) fn parse(self, cell: &[u8]) -> Option<f64> {
        let number = |cell: &[u8], decimal: u8| plain(cell, decimal).or_else(|| written(cell, decimal));
        match self {
            Self::Plain(decimal) => plain(cell, decimal),
            Self::Written(decimal) => number(cell, decimal),
            Self::Unit(decimal, unit) => number(unit.strip(cell)?, decimal),
        }
    }
}

/// Whether a cell, without spaces around it, holds nothing.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty() || (cell.len() <= MAX_MISSING && MISSING.iter().any(|text| text.eq_ignore_ascii_case(cell)))
}

/// The plain number in a cell, rounded to the nearest double.
#[inline]
pub(super) fn plain(cell: &[u8], decimal: u8) -> Option<f64> {
    let (is_negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, cell),
    };
    let (mut mantissa, mut n_digits, mut n_decimals, mut at) = (0u64, 0usize, 0usize, 0);
    while let Some(digit) = digits.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        (n_digits, at) = (n_digits + 1, at + 1);
    }
    if digits.get(at) == Some(&decimal) {
        at += 1;
        while let Some(digit) = digits.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            (n_digits, n_decimals, at) = (n_digits + 1, n_decimals + 1, at + 1);
        }
    }
    // With few digits neither the integer nor the power of ten is rounded, so that one operation rounds correctly.
    let is_exact = at == digits.len() && (1..=19).contains(&n_digits) && mantissa <= MAX_EXACT;
    if is_exact && n_decimals < POWERS.len() {
        let value = mantissa as f64 / POWERS[n_decimals];
        return Some(if is_negative { -value } else { value });
    }
    slow(cell, decimal)
}

/// A number with many digits or an exponent, or an infinite one.
#[cold]
fn slow(cell: &[u8], decimal: u8) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    if decimal == b'.' {
        return text.parse().ok();
    }
    if text.contains('.') { None } else { text.replace(char::from(decimal), ".").parse().ok() }
}

/// The number in a cell with separators, currency or percent signs.
fn written(cell: &[u8], decimal: u8) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    // Accounts have negative numbers in parentheses.
    let in_parentheses = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let (sign, text) = match in_parentheses.or_else(|| text.strip_prefix(['-', '\u{2212}'])) {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let is_sign = |c: char| matches!(c, '$' | '€' | '£' | '¥') || c.is_whitespace();
    let text = text.trim_start_matches(is_sign);
    let text = text.strip_suffix('%').unwrap_or(text).trim_end_matches(is_sign);
    let (sign, text) = match text.strip_prefix('-').filter(|_| sign.is_empty()) {
        Some(rest) => ("-", rest),
        None => (sign, text),
    };
    let (whole, decimals) = match text.split_once(char::from(decimal)) {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (text, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = if is_digits(whole) { whole.to_owned() } else { without_separators(whole, decimal)? };
    if decimals.is_some_and(|decimals| !is_digits(decimals)) {
        return None;
    }
    format!("{sign}{whole}.{}", decimals.unwrap_or("0")).parse().ok()
}

/// Digits without the separators between their groups of three.
fn without_separators(text: &str, decimal: u8) -> Option<String> {
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let is_separator = matches!(separator, '.' | ',' | '\'' | '\u{2019}' | ' ' | '\u{a0}' | '\u{202f}');
    if !is_separator || separator == char::from(decimal) {
        return None;
    }
    let groups: Vec<&str> = text.split(separator).collect();
    let is_group = |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.first().filter(|first| (1..=3).contains(&first.len()))?;
    let are_groups = first.bytes().all(|byte| byte.is_ascii_digit()) && groups[1..].iter().all(is_group);
    are_groups.then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn written_numbers_lose_their_decoration() {
        let point = NumberStyle::Written(b'.');
        let texts = [
            ("1,234.50", 1234.5),
            ("$1,299.00", 1299.0),
            ("-$5", -5.0),
            ("$-5", -5.0),
            ("45%", 45.0),
            ("45 %", 45.0),
            ("1 234 567", 1234567.0),
            ("12 €", 12.0),
            ("1'000", 1000.0),
            ("€ 3.5", 3.5),
            ("7", 7.0),
            ("1e3", 1000.0),
            ("(1,234.50)", -1234.5),
            ("($5)", -5.0),
        ];
        texts.iter().for_each(|(text, value)| assert_eq!(point.parse(text.as_bytes()), Some(*value), "{text}"));
        let comma = NumberStyle::Written(b',');
        let texts = [("1.234,50", 1234.5), ("1.234", 1234.0), ("0,5", 0.5), ("1,5e3", 1500.0), ("12,00 €", 12.0)];
        texts.iter().for_each(|(text, value)| assert_eq!(comma.parse(text.as_bytes()), Some(*value), "{text}"));
        for odd in ["1,23,4", "12,34.5", "1.2.3", "", "$", "%", "5$5", "1,2345", ",5,", "--5", "1 2"] {
            assert_eq!(point.parse(odd.as_bytes()), None, "{odd}");
        }
        assert_eq!(comma.parse(b"1.5"), None);
        assert_eq!(NumberStyle::Plain(b',').parse(b"1.5"), None);
        assert_eq!(NumberStyle::Plain(b'.').parse(b"1,500"), None);
    }

    #[test]
    fn units_are_those_of_all_cells() {
        let style = NumberStyle::Unit(b'.', Unit::of(b"51.3 mm").unwrap());
        assert_eq!(style.parse(b"1,051.3 mm"), Some(1051.3));
        assert_eq!((style.parse(b"7mm"), style.parse(b"7 km"), style.parse(b"7")), (Some(7.0), None, None));
        assert_eq!(Unit::of("21 °C".as_bytes()), Unit::of("3°C".as_bytes()));
        ["mm", "7", "7 kilometers", "7 -", "7 (x)"]
            .iter()
            .for_each(|cell| assert_eq!(Unit::of(cell.as_bytes()), None, "{cell}"));
    }

    #[test]
    fn missing_cells_are_known() {
        ["", "NA", "n/a", "NaN", "null", "None", "?", "-", ".", "#REF!", "#DIV/0!"]
            .iter()
            .for_each(|c| assert!(is_missing(c.as_bytes())));
        ["0", "no", "-1", "unknown", "nano"].iter().for_each(|cell| assert!(!is_missing(cell.as_bytes()), "{cell}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn plain_numbers_are_those_of_the_standard_library(
            bits in any::<u64>(), short in -1e6..1e6f64, digits in 0usize..8, whole in any::<i64>(), text in "[-+0-9.eE]{0,24}",
        ) {
            let texts = [f64::from_bits(bits).to_string(), format!("{short:.digits$}"), whole.to_string(), text];
            for text in texts {
                let found = plain(text.as_bytes(), b'.').map(f64::to_bits);
                let known = text.parse::<f64>().ok().map(f64::to_bits);
                prop_assert!(found == known || text.contains("NaN"), "{text}: {found:?} {known:?}");
            }
        }
    }
}
