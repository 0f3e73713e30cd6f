//! Numbers and names in messages.

/// Characters of a name that a message shows.
const SHOWN_CHARACTERS: usize = 40;

/// A number of bytes with a unit: `512 B`, `7.5 GiB`.
pub fn bytes_text(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", units[unit]) }
}

/// Digits with commas between thousands.
pub fn grouped(digits: &str) -> String {
    let group = |(at, digit): (usize, char)| {
        let comma = (at > 0 && (digits.len() - at).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(group).collect()
}

/// A factor to two digits, with commas between thousands.
pub fn times(factor: f64) -> String {
    let unit = 10f64.powf(factor.abs().max(1.0).log10().floor() - 1.0).max(1.0);
    let digits = format!("{:.0}", (factor / unit).round() * unit);
    if digits.len() > 12 { format!("{factor:.1e}") } else { grouped(&digits) }
}

/// A number of things; the plural of the noun has an s.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A name as a message shows it: its start, on one line and in quotes.
pub fn quoted(name: &str) -> String {
    let mut shown: String = name.chars().take(SHOWN_CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().nth(SHOWN_CHARACTERS).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let texts = [0, 1023, 1024, 8_000_000_008, u64::MAX].map(bytes_text);
        assert_eq!(texts, ["0 B", "1023 B", "1.0 KiB", "7.5 GiB", "16.0 EiB"]);
    }

    #[test]
    fn factors_have_two_digits() {
        let texts = [(9.87, "10"), (12.4, "12"), (347.0, "350"), (3187.0, "3,200"), (2.2e6, "2,200,000")];
        texts.iter().for_each(|(factor, text)| assert_eq!(times(*factor), *text));
        assert_eq!(times(1.2e30), "1.2e30");
    }
}
