//! Numbers for people, and texts of others, which must not steer a terminal.

use std::borrow::Cow;

pub use lapwing_core::text::bytes_text as bytes;
use lapwing_core::text::grouped;

/// 1234567 as `1,234,567`.
pub fn count(n: usize) -> String {
    grouped(&n.to_string())
}

/// A number with four significant digits; very small and very large numbers have an exponent.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-4..6).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.*}", (3 - magnitude).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Seconds, with two digits after the point below a hundred.
pub fn seconds(s: f64) -> String {
    if s < 100.0 { format!("{s:.2} s") } else { format!("{s:.0} s") }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table of names and values; a line without a value is a heading.
pub fn summary(rows: &[(String, String)]) -> String {
    let rows: Vec<_> = rows.iter().map(|(what, value)| (plain(what), plain(value))).collect();
    let width = rows.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(what, value)| format!("{what:width$}  {value}").trim_end().to_owned() + "\n").collect()
}

/// Whether a terminal or a page might obey a character instead of showing it: control characters, those that turn the direction of
/// text around, and ends of lines of other kinds.
pub(crate) fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

/// A text for a terminal: names of files, columns and classes may hold characters that steer it, which are shown as `\u{1b}`.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, steers, |c| c.escape_unicode().to_string())
}

/// [`plain`] for several lines, whose ends stay.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && c != '\n', |c| c.escape_unicode().to_string())
}

/// JSON of the same meaning without characters that steer a terminal.
pub fn plain_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && c != '\n', |c| format!("\\u{:04x}", u32::from(c)))
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { out += &escape(c) } else { out.push(c) }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_line_up() {
        let pairs = [("rows".to_owned(), "7".to_owned()), ("seconds".to_owned(), String::new())];
        assert_eq!(summary(&pairs), "rows     7\nseconds\n");
    }

    #[test]
    fn nothing_in_a_name_steers_a_terminal() {
        let name = "a\u{1b}[2J\u{202e}b\n\t\u{9b}\r\u{7f}\u{2066}ß日本";
        let shown = r"a\u{1b}[2J\u{202e}b\u{a}\u{9}\u{9b}\u{d}\u{7f}\u{2066}ß日本";
        assert_eq!(plain(name), shown);
        assert_eq!(plain_lines("a\u{1b}\nb"), "a\\u{1b}\nb");
        assert!(matches!(plain("naïve – “text”"), Cow::Borrowed(_)));
        assert_eq!(summary(&[(name.into(), name.into())]), format!("{shown}  {shown}\n"));
        // As a JSON writer leaves it: the text stays the same.
        let json = plain_json("{\"a\": \"\u{202e}\u{7f}\"}\n").into_owned();
        assert_eq!(json, "{\"a\": \"\\u202e\\u007f\"}\n");
    }

    #[test]
    fn numbers_are_short_and_keep_their_size() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        let numbers = [0.0, 1.0, 0.05, 12.345678, 1234.5, 8.1e-7, 3e9, -2.5];
        assert_eq!(numbers.map(number), ["0", "1", "0.05", "12.35", "1234", "8.10e-7", "3.00e9", "-2.5"]);
        assert_eq!([bytes(17), bytes(1536), bytes(3 << 30)], ["17 B", "1.5 KiB", "3.0 GiB"]);
    }
}
