//! Numbers, names and options in messages.

use std::sync::OnceLock;

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

/// The integer whose canonical text this is: `7`, but not `007`, `+7` or `7.0`, which would be written as another text.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|integer: &i64| integer.to_string() == text)
}

/// The start of a text, on one line.
pub fn start_of(text: &str, most: usize) -> String {
    let mut start: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        start.push('…');
    }
    start
}

/// A name as a message shows it: its start, on one line and in quotes.
pub fn quoted(name: &str) -> String {
    format!("'{}'", start_of(name, SHOWN_CHARACTERS))
}

/// The function that writes an option in messages; as in Python while none is set.
static OPTION: OnceLock<fn(&str, &str) -> String> = OnceLock::new();

/// Sets the function that writes options in all messages of this process, from name and value (empty for none), as [`option`] takes them.
/// The program calls it before anything else; a second call changes nothing.
pub fn write_options_by(write: fn(&str, &str) -> String) {
    OPTION.get_or_init(|| write);
}

/// An option as the caller writes it, from its name and its value as it is (empty for none). In Python and Rust: `unlabeled='NA'`,
/// `check=0.2`, `columns`. What columns are read as is `read_as={'zip': 'text'}`, of the value `zip=text`.
pub fn option(name: &str, value: &str) -> String {
    if let Some(write) = OPTION.get() {
        return write(name, value);
    }
    match (name, value.rsplit_once('=')) {
        _ if value.is_empty() => name.to_owned(),
        ("read_as", Some((column, kind))) => format!("{name}={{'{column}': '{kind}'}}"),
        _ if value.parse::<f64>().is_ok_and(f64::is_finite) => format!("{name}={value}"),
        _ => format!("{name}='{value}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_python() {
        let options = [("columns", ""), ("unlabeled", "NA"), ("unlabeled", "-1"), ("read_as", "a=b=text")];
        let texts = options.map(|(name, value)| option(name, value));
        assert_eq!(texts, ["columns", "unlabeled='NA'", "unlabeled=-1", "read_as={'a=b': 'text'}"]);
    }

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
