//! Lengths of time, and other amounts in units, as people write them: 26:15:00, 168:55, 1 day 02:03, PT1H5M, 1h 05min, 6 ft 2 in.

/// Names of units, in the lower case, and what they are of a usual one, from the largest on.
type Units = &'static [(&'static str, f64)];

/// Units that may stand together in a column: feet and inches, which may look like minutes and seconds; those of time; others.
pub(super) const FAMILIES: [Units; 7] = [
    &[("mi mile miles", 63_360.0), ("yd yds", 36.0), ("ft feet foot ' ’ ′", 12.0), ("in inch inches \" ” ″ ''", 1.0)],
    &[
        ("y yr yrs year years", 31_557_600.0),
        ("mo mos month months", 2_629_800.0),
        ("w wk wks week weeks", 604_800.0),
        ("d day days tag tage jour jours", 86_400.0),
        ("h hr hrs hour hours std", 3_600.0),
        ("m min mins minute minutes ' ′", 60.0),
        ("s sec secs second seconds sek \" ″", 1.0),
        ("ms msec millisecond milliseconds", 1e-3),
        ("us µs μs microsecond microseconds", 1e-6),
        ("ns nanosecond nanoseconds", 1e-9),
    ],
    &[("km", 1e3), ("m", 1.0), ("cm", 1e-2), ("mm", 1e-3), ("um µm μm", 1e-6), ("nm", 1e-9)],
    &[("t", 1e3), ("kg", 1.0), ("g", 1e-3), ("mg", 1e-6), ("mcg ug µg μg", 1e-9)],
    &[("st", 14.0), ("lb lbs pound pounds", 1.0), ("oz", 0.0625)],
    &[("hl", 100.0), ("l", 1.0), ("dl", 0.1), ("cl", 1e-2), ("ml", 1e-3)],
    &[("tb", 1e12), ("gb", 1e9), ("mb", 1e6), ("kb", 1e3), ("b byte bytes", 1.0)],
];

/// The place of the units of time.
const TIME: usize = 1;

/// Bytes of the longest text that may be a length of time.
const MAX_BYTES: usize = 60;

/// The seconds of a length of time; `None` for any other text. A text of one part, such as 5 h, is a number with a unit.
pub(super) fn seconds(text: &str) -> Option<f64> {
    if text.len() < 3 || text.len() > MAX_BYTES || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (sign, text) = text.strip_prefix('+').map_or_else(|| signed(text), |rest| (1.0, rest));
    let in_parts = || in_words(text, TIME).filter(|(_, n_parts)| *n_parts > 1).map(|(total, _)| total);
    iso(text).or_else(in_parts).map(|total| sign * total)
}

/// An amount of one or several parts in units of a family.
pub(super) fn measured(text: &str, family: usize) -> Option<f64> {
    let (sign, text) = signed(text);
    in_words(text, family).map(|(total, _)| sign * total)
}

/// The sign of an amount, and the text behind it.
fn signed(text: &str) -> (f64, &str) {
    text.strip_prefix(['-', '\u{2212}']).map_or((1.0, text), |rest| (-1.0, rest))
}

/// ISO 8601: P1DT2H3M4.5S, P2W.
fn iso(text: &str) -> Option<f64> {
    let rest = text.strip_prefix(['P', 'p'])?;
    let (date, time) = match rest.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time).filter(|time| !time.is_empty())?),
        None => (rest, ""),
    };
    let mut total = None;
    let days: (_, _, &[f64]) = (date, "YMWD", &[365.25 * 86_400.0, 30.4375 * 86_400.0, 604_800.0, 86_400.0]);
    for (mut rest, letters, seconds) in [days, (time, "HMS", &[3_600.0, 60.0, 1.0])] {
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let value: f64 = rest[..end].replace(',', ".").parse().ok()?;
            let unit = letters.find(rest[end..].chars().next()?.to_ascii_uppercase())?;
            total = Some(total.unwrap_or(0.0) + value * seconds[unit]);
            rest = &rest[end + 1..];
        }
    }
    total
}

/// Numbers with units, and a clock of hours, minutes and seconds; and how many parts there are. The last part, behind another, may have no
/// unit: it has the next smaller one.
fn in_words(text: &str, family: usize) -> Option<(f64, usize)> {
    let units = FAMILIES.get(family)?;
    let (mut rest, mut total, mut n_parts) = (text.trim_start(), 0.0, 0);
    let (mut next, mut most) = (0, f64::INFINITY);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ','))).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        if number.contains(':') {
            let (clock, parts) = clock(number).filter(|_| family == TIME)?;
            (total, n_parts, rest) = (total + clock, n_parts + parts, behind.trim_start());
            return rest.is_empty().then_some((total, n_parts));
        }
        // 1,500 may be whole.
        let is_open = number.split_once(',').is_some_and(|(_, decimals)| decimals.len() == 3);
        let value: f64 = number.replace(',', ".").parse().ok().filter(|_| !is_open)?;
        let behind = behind.trim_start();
        let length = behind.find(|c: char| c.is_ascii_digit() || c.is_whitespace() || c == ',').unwrap_or(behind.len());
        let word = behind[..length].trim_end_matches('.').to_lowercase();
        // 13h38, but not 2004H1.
        let is_bare = word.is_empty() && n_parts > 0 && (number.len() == 2 || family != TIME);
        let at = units
            .iter()
            .position(|(names, _)| !word.is_empty() && names.split(' ').any(|name| name == word))
            .or(is_bare.then_some(next))?;
        let (_, unit) = units.get(at).filter(|(_, unit)| value * unit < most)?;
        (next, most, total, n_parts) = (at + 1, *unit, total + value * unit, n_parts + 1);
        rest = behind[length..].trim_start_matches([' ', ',', '\u{a0}']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (n_parts > 0).then_some((total, n_parts))
}

/// Hours and minutes, or hours, minutes and seconds, of which the first may be beyond 24 or 60; and the number of parts.
fn clock(text: &str) -> Option<(f64, usize)> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_short = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) && part < "60";
    let first: f64 = parts.first().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    let (minutes, seconds) = match parts[1..] {
        [minutes] => (minutes, "00"),
        [minutes, seconds] => (minutes, seconds),
        _ => return None,
    };
    let are_short = is_short(minutes) && seconds.get(..2).is_some_and(is_short);
    let seconds: f64 = seconds.replace(',', ".").parse().ok().filter(|_| are_short)?;
    Some((first * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds, parts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_form_are_read() {
        for (text, expected) in [
            ("26:15:00", 94_500.0),
            ("168:55", 608_100.0),
            ("1 day 02:03", 93_780.0),
            ("2 days 00:00:01.500", 172_801.5),
            ("-1 days 00:00", -86_400.0),
            ("PT1H5M", 3_900.0),
            ("P1DT12H", 129_600.0),
            ("P2W", 1_209_600.0),
            ("1h 05min", 3_900.0),
            ("1h05m", 3_900.0),
            ("5 min 3 s", 303.0),
            ("1 hour and 2 minutes", 3_720.0),
            ("0:30", 1_800.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for odd in [
            "5 h",
            "12",
            "1:2",
            "12:75",
            "P",
            "PT",
            "1h 2h",
            "3 apples 2 pears",
            "2024-01-01",
            "a:10",
            "10:30 pm",
            "1.5.3",
        ] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }
}
