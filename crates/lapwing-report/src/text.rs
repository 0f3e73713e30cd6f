//! Numbers for people.

/// 1234567 as `1,234,567`.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
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

/// Bytes in binary units.
pub fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut x, mut unit) = (n as f64, 0);
    while x >= 1024.0 && unit + 1 < units.len() {
        x /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{x:.1} {}", units[unit]) }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table of names and values; a line without a value is a heading.
pub fn summary(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(what, value)| format!("{what:width$}  {value}").trim_end().to_owned() + "\n").collect()
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
    fn numbers_are_short_and_keep_their_size() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        let numbers = [0.0, 1.0, 0.05, 12.345678, 1234.5, 8.1e-7, 3e9, -2.5];
        assert_eq!(numbers.map(number), ["0", "1", "0.05", "12.35", "1234", "8.10e-7", "3.00e9", "-2.5"]);
        assert_eq!([bytes(17), bytes(1536), bytes(3 << 30)], ["17 B", "1.5 KiB", "3.0 GiB"]);
    }
}
