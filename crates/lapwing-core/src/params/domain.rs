//! Values that a parameter takes.

use super::value::{Value, real_text};
use super::{byte_count, count, duration, real};
use crate::text::grouped;

/// What a number counts or measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A whole number of things.
    Count,
    /// A whole number of bytes.
    Bytes,
    /// A real number.
    Real,
    /// Seconds, perhaps with a fraction.
    Seconds,
}

/// An interval of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    low: Option<(f64, bool)>,
    high: Option<(f64, bool)>,
    is_infinite_allowed: bool,
}

/// Numbers above `low`.
pub const fn above(low: f64) -> Range {
    Range { low: Some((low, false)), high: None, is_infinite_allowed: false }
}

/// Numbers of at least `low`.
pub const fn at_least(low: f64) -> Range {
    Range { low: Some((low, true)), high: None, is_infinite_allowed: false }
}

impl Range {
    /// Excludes numbers of at least `high`.
    pub const fn below(self, high: f64) -> Self {
        Self { high: Some((high, false)), ..self }
    }

    /// Excludes numbers above `high`.
    pub const fn at_most(self, high: f64) -> Self {
        Self { high: Some((high, true)), ..self }
    }

    /// Includes infinity.
    pub const fn or_infinite(self) -> Self {
        Self { is_infinite_allowed: true, ..self }
    }

    fn has(&self, x: f64) -> bool {
        let above = self.low.is_none_or(|(low, is_in)| x > low || (is_in && x == low));
        let below = self.high.is_none_or(|(high, is_in)| x < high || (is_in && x == high));
        above && below && (x.is_finite() || (self.is_infinite_allowed && x == f64::INFINITY))
    }

    /// The bounds in words, with a space before them.
    fn bounds(&self, prefix: &str) -> String {
        let low = self.low.map(|(x, is_in)| format!("{} {}", if is_in { "at least" } else { "above" }, plain(x)));
        let high = self.high.map(|(x, is_in)| format!("{} {}", if is_in { "at most" } else { "below" }, plain(x)));
        let bounds: Vec<String> = low.into_iter().chain(high).collect();
        let of = if bounds.first().is_some_and(|b| b.starts_with("at ")) { prefix } else { "" };
        if bounds.is_empty() { String::new() } else { format!(" {of}{}", bounds.join(" and ")) }
    }

    /// The interval in mathematical notation, such as `(0, 1]`; empty if every number is allowed.
    pub fn interval(&self) -> String {
        if self.low.is_none() && self.high.is_none() {
            return String::new();
        }
        let low =
            self.low.map_or("(−∞".into(), |(x, is_in)| format!("{}{}", if is_in { '[' } else { '(' }, plain(x)));
        let high = match self.high {
            Some((x, is_in)) => format!("{}{}", plain(x), if is_in { ']' } else { ')' }),
            None => format!("∞{}", if self.is_infinite_allowed { ']' } else { ')' }),
        };
        format!("{low}, {high}")
    }
}

/// A number as it is typed: large whole numbers with commas, small fractions with an exponent.
fn plain(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() >= 1e4 && x.abs() < 1e15 {
        return grouped(&format!("{x}"));
    }
    real_text(x)
}

/// Values that a parameter takes: numbers within a range, words, lists, or true and false.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// The kind of numbers, if it takes any.
    pub number: Option<Number>,
    /// Range of the numbers; for a list, of each of them.
    pub range: Range,
    /// Whether it takes a list: of numbers, or of its words if it takes no numbers.
    pub is_list: bool,
    /// Whether it is true or false.
    pub is_flag: bool,
    /// Words that it takes, with their meanings if they are choices.
    pub words: Vec<(&'static str, String)>,
}

impl Domain {
    /// Numbers.
    pub fn from_number(number: Number) -> Self {
        Self { number: Some(number), ..Self::default() }
    }

    /// Adds words.
    #[must_use]
    pub fn or_words(mut self, words: &[&'static str]) -> Self {
        let own = std::mem::take(&mut self.words);
        self.words = words.iter().map(|word| (*word, String::new())).chain(own).collect();
        self
    }

    /// Restricts numbers to a range.
    #[must_use]
    pub fn within(self, range: Range) -> Self {
        Self { range, ..self }
    }

    /// Whether it has that word, or those words with commas between them if it takes a list of words.
    pub fn has_word(&self, word: &str) -> bool {
        if self.is_list && self.number.is_none() {
            return word.split(',').all(|one| self.words.iter().any(|(known, _)| *known == one.trim()));
        }
        self.words.iter().any(|(known, _)| *known == word)
    }

    /// Whether it has that value.
    pub fn has(&self, value: &Value) -> bool {
        match value {
            Value::None => true,
            Value::Flag(_) => self.is_flag,
            Value::Word(word) => self.has_word(word),
            Value::Count(count) => self.range.has(*count as f64),
            Value::Real(x) => self.range.has(*x),
            Value::List(list) => list.iter().all(|x| self.range.has(*x)),
        }
    }

    /// The domain in words, such as "a number above 0, inf, or auto".
    pub fn expected(&self) -> String {
        let mut text = match (self.is_flag, self.number) {
            (true, _) => return "true or false".into(),
            (false, None) => {
                let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
                let several = if self.is_list { "one or more of" } else { "one of" };
                return format!("{several} {}", words.join(", "));
            }
            (false, Some(_)) if self.is_list => format!("numbers{}", self.range.bounds("of ")),
            (false, Some(Number::Real)) => format!("a number{}", self.range.bounds("of ")),
            (false, Some(Number::Count)) => format!("a whole number{}", self.range.bounds("of ")),
            (false, Some(Number::Bytes)) => format!("a number of bytes{}", self.range.bounds("of ")),
            (false, Some(Number::Seconds)) => format!("seconds{}", self.range.bounds("of ")),
        };
        let infinity = self.range.is_infinite_allowed.then_some("inf");
        let others: Vec<&str> = infinity.into_iter().chain(self.words.iter().map(|(word, _)| *word)).collect();
        if let Some((last, first)) = others.split_last() {
            for word in first {
                text.push_str(", ");
                text.push_str(word);
            }
            text.push_str(", or ");
            text.push_str(last);
        }
        text
    }
}

impl Value {
    /// Parses a value of a command line.
    ///
    /// # Errors
    /// The expected values, in words.
    pub fn parse(text: &str, domain: &Domain) -> std::result::Result<Self, String> {
        if domain.has_word(text) {
            return Ok(Self::Word(text.into()));
        }
        let wrong = |_| format!("expected {}", domain.expected());
        match domain.number {
            _ if domain.is_flag => match text {
                "true" => Ok(Self::Flag(true)),
                "false" => Ok(Self::Flag(false)),
                _ => Err("expected true or false".into()),
            },
            Some(_) if domain.is_list => text
                .split(',')
                .map(real)
                .collect::<std::result::Result<_, _>>()
                .map(Self::List)
                .map_err(|_| format!("expected {}, with commas between the numbers", domain.expected())),
            Some(Number::Count) if domain.words.is_empty() => count(text).map(|count| Self::Count(count as u64)),
            Some(Number::Bytes) if domain.words.is_empty() => byte_count(text).map(Self::Count),
            Some(Number::Count) => count(text).map(|count| Self::Count(count as u64)).map_err(wrong),
            Some(Number::Bytes) => byte_count(text).map(Self::Count).map_err(wrong),
            Some(Number::Real) => real(text).map(Self::Real).map_err(wrong),
            Some(Number::Seconds) if domain.words.is_empty() => {
                duration(text).map(|time| Self::Real(time.as_secs_f64()))
            }
            Some(Number::Seconds) => duration(text)
                .map(|time| Self::Real(time.as_secs_f64()))
                .map_err(|_| format!("expected a time such as 60s or 5m, {}", domain.expected())),
            None => Err(format!("expected {}", domain.expected())),
        }
    }
}
