//! What all numbers of a column have before and behind them: a unit, a currency, a word of what is counted, a name.

use serde::{Deserialize, Serialize};

/// What stands before and behind the numbers of a column (mm, km/h, °C, EUR, x=), one after the other and filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Affix {
    text: [u8; MAX_AFFIX],
    /// Bytes of what stands before.
    n_before: u8,
}

/// Bytes of the longest texts before and behind a number together.
const MAX_AFFIX: usize = 32;

/// Further words of money, and of what is counted, that stand before numbers, as in `Fr 5`, `No. 5`, `week 5`; in the lower case.
const WORDS_BEFORE: &str = "fr|fr.|rp|rp.|bs|bs.|kz|ksh|s/|#|№|fy|kw|cw|wk|week|woche|day|tag|month|monat|year|jahr|age|no|no.|nr|nr.|nº|n°|\
    level|lvl|lv|lv.|grade|stage|phase|tier|rank|step|size|score|vol.|p.";

impl Affix {
    /// What follows the first number of a cell, if it has digits: /10, L/100km.
    pub(super) fn with_digits(cell: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(cell).ok()?.trim();
        let length = text.find(|c: char| !(is_digit(c) || matches!(c, '-' | '+' | '.' | ',')))?;
        let unit = text[length..].trim_start();
        (text[..length].contains(is_digit) && unit.contains(is_digit)).then(|| Self::new("", unit))?
    }

    /// What all of some texts with digits begin and end with, if it frames a number: `x=5`, `temp: 5`, `Date(5)`, `{'x': 5}`.
    pub(super) fn frame(texts: &[&str]) -> Option<Self> {
        let first = texts.first()?;
        let alike = |text: &&str| first.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let before = whole(first, texts.iter().map(alike).min()?);
        let before = before.trim_end_matches(|c| is_digit(c) || matches!(c, '.' | ',' | '-' | '+'));
        let is_frame = before.trim_end().ends_with(['=', ':', '(', '[', '{', '"', '\'']);
        let last = texts.iter().map(|text| text.rfind(is_digit).map(|at| &text[at + 1..]));
        let behind: Vec<&str> = last.collect::<Option<_>>()?;
        (is_frame && behind.iter().all(|text| *text == behind[0])).then(|| Self::new(before, behind[0]))?
    }

    /// What follows or precedes the digits of a cell, if it can be a unit.
    pub(super) fn of(cell: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(cell).ok()?.trim();
        let (first, last) = (text.find(is_digit)?, text.rfind(is_digit)?);
        let before = text[..first].trim_end_matches(['-', '+', '(', ',', ' ']).trim();
        // The point of an abbreviation is no decimal mark.
        let is_short = before.strip_suffix('.').is_some_and(|word| word.ends_with(char::is_alphabetic));
        let before = if is_short { before } else { before.trim_end_matches(['.', ',', ' ']) };
        let behind = text[last + 1..].trim_start_matches(['-', ')', '.', ',']).trim();
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '°' | '℃' | '℉' | '$' | '#' | '№'))
        };
        // Words before numbers are names of things (user 17) unless they look like money or say that something is counted.
        let is_code = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_known = |text: &str| {
            let lower = text.to_lowercase();
            WORDS_BEFORE.split('|').any(|word| word == lower)
        };
        let is_before = |text: &str| is_code(text) || text.ends_with('$') || is_known(text);
        match (before, behind) {
            ("", unit) if is_word(unit) => Self::new("", unit),
            (unit, "") if is_before(unit) => Self::new(unit, ""),
            _ => None,
        }
    }

    fn new(before: &str, behind: &str) -> Option<Self> {
        let mut text = [0; MAX_AFFIX];
        let all = format!("{before}{behind}");
        text.get_mut(..all.len())?.copy_from_slice(all.as_bytes());
        Some(Self { text, n_before: before.len() as u8 })
    }

    /// A cell without its unit.
    pub(super) fn strip(self, cell: &str) -> Option<&str> {
        let length = self.text.iter().position(|byte| *byte == 0).unwrap_or(MAX_AFFIX);
        let (before, unit) = std::str::from_utf8(&self.text[..length]).ok()?.split_at_checked(self.n_before.into())?;
        let cell = cell.strip_prefix(before)?.trim();
        if unit.is_empty() {
            return Some(cell);
        }
        if let Some(rest) = cell.strip_suffix(unit) {
            return Some(rest.trim());
        }
        // yr, yrs and Yrs. are one unit; m and ms are two.
        let plain = |text: &str| text.trim_end_matches(['.', 's', 'S']).len();
        let (own, end) = (unit.get(..plain(unit)).filter(|own| own.len() > 1)?, plain(cell));
        let at = end.checked_sub(own.len()).filter(|at| cell.is_char_boundary(*at))?;
        cell[at..end].eq_ignore_ascii_case(own).then(|| cell[..at].trim())
    }
}

/// The first bytes of a text, at most so many, that are whole characters.
fn whole(text: &str, most: usize) -> &str {
    (0..=most).rev().find_map(|end| text.get(..end)).unwrap_or("")
}

/// Whether a character is a digit of ours.
pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}
