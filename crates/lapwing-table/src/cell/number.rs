//! Numbers as people write them in tables.
//!
//! A plain number has a sign, digits, a decimal mark and an exponent. What else people write around the digits is of two kinds: signs
//! that any cell of a column may have (currency, separators between groups of digits, a percent sign; 45 % is 45), and what belongs to
//! the column (a unit that all cells share, letters for thousands and millions, durations).

use serde::{Deserialize, Serialize};

use super::affix::{Affix, is_digit};
use super::duration;

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
    /// Numbers with this decimal mark that may have separators, currency and percent signs, a sign behind, and parentheses.
    Written(u8),
    /// The same, with the same text before or behind every number.
    Unit(u8, Affix),
    /// The same, with letters or words for thousands, millions and so on behind: 565K, 1.1 Mio, 3 lakh.
    Scaled(u8),
    /// The same, with a side at every number: CR (credit) or DR (debit, which is negative), north or south, up or down; degrees may have minutes.
    Ledger(u8),
    /// The same, with marks at some numbers: <0.5, >100, ~3, 12.3*, 12 p.
    Flagged(u8),
    /// Seconds of a length of time: 26:15:00, 1 day 02:03, PT1H5M, 1h 05min.
    Duration,
    /// The middle of an interval, (0.5, 1.25] or 10-20, or a number in brackets as all others: (2012).
    Interval(u8),
    /// Amounts in units of one family, some of several parts: 5'10", 6 ft 2 in, 3 kg beside 250 g.
    Measure(usize),
}

/// Codes and words of currencies; signs of one character are told by [`is_currency`].
const CURRENCIES: [&str; 60] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "INR", "CNY", "RMB", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK",
    "HUF", "RUB", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD", "TRY", "ILS", "THB", "IDR", "MYR", "PHP", "VND", "AED",
    "SAR", "EGP", "NGN", "KES", "PKR", "BDT", "UAH", "RON", "BGN", "CLP", "COP", "ARS", "TWD", "Rs.", "Rs", "US$",
    "R$", "A$", "C$", "HK$", "NZ$", "S$", "NT$", "kr.", "kr", "zł", "Kč", "Ft",
];

/// Words behind numbers, in the lower case, and what they multiply by.
const MULTIPLIERS: [(&str, f64); 6] = [
    ("k tsd tsd. thousand tausend mil", 1e3),
    ("lakh lakhs lac lacs", 1e5),
    ("m mm mn mln mio mio. million millions millionen", 1e6),
    ("cr crore crores", 1e7),
    ("b bn mrd mrd. md billion billions milliarden", 1e9),
    ("t tn trillion trillions", 1e12),
];

/// Marks before numbers that are approximate or lie beyond a limit.
const MARKS_BEFORE: &str = "<=|>=|<|>|≤|≥|~|≈|±|ca. |ca.|c. |circa |about |approx. |over |under |above |below |up to |at least |more than |less than ";

/// Most bytes of a note behind a number.
const MAX_NOTE: usize = 24;

impl NumberStyle {
    /// The number in a cell; `None` if the cell holds anything else.
    #[inline]
    pub(crate) fn parse(self, cell: &[u8]) -> Option<f64> {
        match self {
            Self::Plain(decimal) => plain(cell, decimal),
            Self::Duration => duration::seconds(std::str::from_utf8(cell).ok()?),
            Self::Measure(family) => duration::measured(std::str::from_utf8(cell).ok()?, family),
            Self::Unit(decimal, unit) => read(cell, |text| number(unit.strip(text)?, decimal)),
            Self::Ledger(decimal) => read(cell, |text| ledger(text, decimal)),
            Self::Interval(decimal) => read(cell, |text| interval(text, decimal)),
            Self::Written(decimal) => plain(cell, decimal).or_else(|| read(cell, |text| written(text, decimal))),
            Self::Scaled(decimal) => {
                let other = |text: &str| scaled(text, decimal).or_else(|| written(text, decimal));
                plain(cell, decimal).or_else(|| read(cell, other))
            }
            Self::Flagged(decimal) => {
                let other = |text: &str| written(text, decimal).or_else(|| number(without_flags(text)?, decimal));
                plain(cell, decimal).or_else(|| read(cell, other))
            }
        }
    }

    /// Whether a cell has a mark of [`Flagged`](Self::Flagged), or is an [`Interval`](Self::Interval) in no brackets.
    pub(super) fn is_flagged(self, cell: &[u8]) -> bool {
        matches!(self, Self::Flagged(decimal) if Self::Written(decimal).parse(cell).is_none())
            || matches!(self, Self::Interval(_) if cell.first().is_some_and(u8::is_ascii_digit))
    }
}

/// What is read in a cell, folded.
fn read(cell: &[u8], number: impl FnOnce(&str) -> Option<f64>) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    if text.is_ascii() { number(text) } else { number(&folded(text)) }
}

/// The zeros of digits that count as ours: wide ones, those of Arabic, Persian, Hindi and Bengali.
const ZEROS: [char; 5] = ['０', '٠', '۰', '०', '০'];

/// A text without marks that are not seen, with digits and signs of other scripts as those of this one.
pub(super) fn folded(text: &str) -> String {
    let sign = |c: char| match c {
        '\u{2010}'..='\u{2014}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{2007}' | '\u{2008}' | '\u{3000}' => '\u{a0}',
        '٫' | '．' => '.',
        '，' => ',',
        c => {
            let digit = |zero: &char| char::from_digit((c as u32).wrapping_sub(*zero as u32), 10);
            ZEROS.iter().find_map(digit).unwrap_or(c)
        }
    };
    text.chars().filter(|c| !is_unseen(*c)).map(sign).collect()
}

/// Whether a character is not seen: marks of direction, soft hyphens, blanks of no width.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether a character is the sign of a currency.
fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '\u{58f}' | '\u{60b}' | '\u{9f2}' | '\u{9f3}' | '\u{af1}' | '\u{bf9}' | '\u{e3f}' | '\u{17db}'
        | '\u{20a0}'..='\u{20cf}' | '\u{fdfc}' | '\u{fe69}' | '\u{ff04}' | '\u{ffe0}' | '\u{ffe1}' | '\u{ffe5}' | '\u{ffe6}')
}

/// The plain number in a cell, rounded to the nearest double.
#[inline]
pub(crate) fn plain(cell: &[u8], decimal: u8) -> Option<f64> {
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

/// A plain or a written number.
fn number(text: &str, decimal: u8) -> Option<f64> {
    plain(text.as_bytes(), decimal).or_else(|| written(text, decimal))
}

/// The number in a cell with separators, currency, percent signs or signs behind it.
fn written(text: &str, decimal: u8) -> Option<f64> {
    // Spreadsheets write texts that look like numbers as ="12" and '12.
    let text = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let text = text.strip_prefix('\'').unwrap_or(text).trim();
    // Prices without cents: 12,- and 12.--.
    let text = [",-", ".-", ",--", ".--"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    // Accounts have negative numbers in parentheses.
    let in_parentheses = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let (mut is_negative, mut text) = (in_parentheses.is_some(), in_parentheses.unwrap_or(text));
    let (mut has_sign, mut has_money) = (is_negative, false);
    loop {
        let before = text;
        text = text.trim();
        if !has_sign {
            let minus = ['-', '\u{2212}', '\u{2013}'];
            let signed = text.strip_prefix(minus).or_else(|| text.strip_suffix(minus));
            let plus = || text.strip_prefix('+').or_else(|| text.strip_suffix('+'));
            if let Some(rest) = signed.or_else(plus) {
                (has_sign, is_negative) = (true, signed.is_some());
                text = rest;
            }
        }
        if !has_money && let Some(rest) = without_currency(text) {
            (has_money, text) = (true, rest);
        }
        if text == before {
            break;
        }
    }
    let text = text.strip_suffix(['%', '‰', '％']).map_or(text, str::trim_end);
    let hexadecimal = || u32::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(f64::from);
    let value = digits(text, decimal).or_else(|| power(text, decimal)).or_else(hexadecimal).or_else(|| mixed(text))?;
    Some(if is_negative { -value } else { value })
}

/// A text without the sign or the code of a currency before or behind it.
pub(super) fn without_currency(text: &str) -> Option<&str> {
    let sign = text.strip_prefix(is_currency).or_else(|| text.strip_suffix(is_currency));
    let is_apart = |rest: &str, c: Option<char>| !rest.is_empty() && c.is_some_and(|c| !c.is_alphabetic());
    let code = || {
        CURRENCIES.iter().find_map(|code| {
            let before = text.strip_prefix(code).filter(|rest| is_apart(rest, rest.chars().next()));
            before.or_else(|| text.strip_suffix(code).filter(|rest| is_apart(rest, rest.chars().next_back())))
        })
    };
    sign.or_else(code)
}

/// Digits that may have separators, decimals and an exponent.
fn digits(text: &str, decimal: u8) -> Option<f64> {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) if are_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)) => (text, exponent),
        Some(_) => return None,
        None => (text, "0"),
    };
    let (whole, decimals) = match text.split_once(char::from(decimal)) {
        Some(("", decimals)) => ("0", decimals),
        Some((whole, decimals)) => (whole, decimals),
        None => (text, "0"),
    };
    let whole = match whole {
        _ if are_digits(whole) => whole.to_owned(),
        _ => without_separators(whole, decimal)?,
    };
    if !are_digits(decimals) {
        return None;
    }
    format!("{whole}.{decimals}e{exponent}").parse().ok()
}

/// A number times a power of ten: 1.2×10^3, 1.2 x 10³.
fn power(text: &str, decimal: u8) -> Option<f64> {
    let (factor, power) = text.split_once(['×', 'x', '*', '·'])?;
    let power = power.trim_start().strip_prefix("10")?;
    let raised =
        |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == c).map_or(c, |at| char::from(b'0' + at as u8));
    let power: String = power.strip_prefix('^').unwrap_or(power).replace('⁻', "-").chars().map(raised).collect();
    digits(&format!("{}e{power}", factor.trim_end()), decimal)
}

/// A whole number and a fraction: 5 1/4, 5½.
fn mixed(text: &str) -> Option<f64> {
    const HALVES: [(char, f64, f64); 9] = [
        ('½', 1.0, 2.0),
        ('¼', 1.0, 4.0),
        ('¾', 3.0, 4.0),
        ('⅓', 1.0, 3.0),
        ('⅔', 2.0, 3.0),
        ('⅛', 1.0, 8.0),
        ('⅜', 3.0, 8.0),
        ('⅝', 5.0, 8.0),
        ('⅞', 7.0, 8.0),
    ];
    let small =
        |text: &str| text.parse::<f64>().ok().filter(|_| text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit()));
    let sign = HALVES.iter().find_map(|&(c, over, under)| Some((text.strip_suffix(c)?, over, under)));
    let (whole, over, under) = match sign {
        Some(("", over, under)) => ("0", over, under),
        Some(found) => found,
        None => {
            let (whole, fraction) = text.split_once(' ')?;
            let (over, under) = fraction.split_once('/')?;
            (whole, small(over)?, small(under)?)
        }
    };
    let whole = plain(whole.trim_end().as_bytes(), b'.').filter(|whole| whole.fract() == 0.0)?;
    (0.0 < over && over < under).then_some(whole + over / under)
}

/// Digits without the separators between their groups: of three, or, as in India, of two before the last three.
fn without_separators(text: &str, decimal: u8) -> Option<String> {
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let is_separator = matches!(separator, '.' | ',' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '_');
    if !is_separator || separator == char::from(decimal) {
        return None;
    }
    let groups: Vec<&str> = text.split(separator).collect();
    let (first, last) = (groups.first()?, groups.last()?);
    let are_digits = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_digit()));
    let middle = &groups[1..groups.len() - 1];
    let are_of = |length: usize| middle.iter().all(|group| group.len() == length);
    let is_plain = (1..=3).contains(&first.len()) && are_of(3);
    let is_indian = (1..=2).contains(&first.len()) && !middle.is_empty() && are_of(2) && separator == ',';
    (are_digits && last.len() == 3 && (is_plain || is_indian)).then(|| groups.concat())
}

/// A number with a word that multiplies it.
fn scaled(text: &str, decimal: u8) -> Option<f64> {
    let text = text.trim().trim_end_matches(is_currency).trim_end();
    let end = text.rfind(is_digit)? + 1;
    let word = text[end..].trim().to_lowercase();
    let (_, factor) = MULTIPLIERS.iter().find(|(known, _)| known.split(' ').any(|known| known == word))?;
    Some(number(text[..end].trim(), decimal)? * factor)
}

/// Sides of numbers, in the lower case; the second of each pair is negative.
const SIDES: [(&str, &str); 5] = [("cr", "dr"), ("n", "s"), ("e", "w"), ("▲", "▼"), ("↑", "↓")];

/// A number with a side before or behind it.
fn ledger(text: &str, decimal: u8) -> Option<f64> {
    let text = text.to_lowercase();
    // N1 is a name.
    let is_apart = |rest: &&str| rest.starts_with(' ') || text.starts_with(['▲', '▼', '↑', '↓']);
    let without =
        |side: &str| text.strip_suffix(side).or_else(|| text.strip_prefix(side).filter(is_apart)).map(str::trim);
    let of = |(plus, minus): &(&str, &str)| Some((without(plus), 1.0)).into_iter().chain([(without(minus), -1.0)]);
    let (rest, sign) = SIDES.iter().flat_map(of).find_map(|(rest, sign)| Some((rest?, sign)))?;
    Some(sign * number(rest, decimal).or_else(|| degrees(rest))?)
}

/// Degrees that may have minutes and seconds.
fn degrees(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(['°', '\'', '′', '’', '"', '″', '”']).map(str::trim).collect();
    let (last, parts) = parts.split_last().filter(|(last, parts)| last.is_empty() && !parts.is_empty())?;
    let sum = |(at, part): (usize, &&str)| Some(plain(part.as_bytes(), b'.')? / 60f64.powi(at as i32));
    parts.iter().enumerate().map(sum).sum::<Option<f64>>().filter(|_| last.is_empty() && text.contains('°'))
}

/// A text without marks before or behind its number.
fn without_flags(text: &str) -> Option<&str> {
    let before = MARKS_BEFORE.split('|').find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    // Notes, limits, and deviations: 12 (3), 12 [9, 15], 12 ± 3.
    let note = before.find(if before.ends_with([')', ']']) { ['(', '['] } else { ['±'; 2] }).filter(|at| *at > 0);
    if let Some(at) = note.filter(|at| before.len() - at <= MAX_NOTE) {
        return Some(before[..at].trim());
    }
    let end = before.rfind(is_digit)? + 1;
    let mark = before[end..].trim();
    let is_mark =
        |c: char| matches!(c, '*' | '†' | '‡' | '§' | '^' | '#' | '?' | '!' | '+' | '¹' | '²' | '³' | 'ª' | 'º');
    let is_letter = || {
        let mut letters = mark.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    };
    let is_known = mark.is_empty() || mark.chars().all(is_mark) || is_letter();
    (is_known && (before.len() < text.len() || !mark.is_empty())).then(|| before[..end].trim())
}

/// The middle of an interval with two finite ends, or the only number in brackets.
fn interval(text: &str, decimal: u8) -> Option<f64> {
    let inner = text.strip_prefix(['(', '[', ']']).and_then(|rest| rest.strip_suffix([')', ']', '[']));
    if let Some(value) = inner.and_then(|inner| plain(inner.as_bytes(), decimal)) {
        return Some(value);
    }
    let (low, high) = match inner {
        Some(inner) => inner.split_once(if decimal == b',' { ';' } else { ',' })?,
        None => [" to ", "..", "-"].iter().find_map(|mark| text.split_once(mark))?,
    };
    let (low, high) = (number(low.trim(), decimal)?, number(high.trim(), decimal)?);
    // 12-3456 is a code.
    let is_range = low <= high && (inner.is_some() || high <= 10.0 * low.max(1.0));
    is_range.then_some(low + (high - low) / 2.0)
}

#[cfg(test)]
mod tests;
