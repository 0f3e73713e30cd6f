//! Dates and times as people write them in tables.
//!
//! A cell is split into numbers, names of months and marks; names of weekdays and brackets around are passed over. The order of day,
//! month and year belongs to the column: one cell such as 03/04/2024 does not tell it.

use std::borrow::Cow;

use chrono::{Datelike, NaiveDate, NaiveTime};
use serde::{Deserialize, Serialize};

use super::number::folded;

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Names of zones and their offsets from UTC in hours.
const ZONES: [(&str, i64); 8] = [
    ("UTC GMT WET Uhr", 0),
    ("BST CET MEZ", 1),
    ("CEST EET", 2),
    ("EDT", -4),
    ("EST", -5),
    ("CST", -6),
    ("MST PDT", -7),
    ("PST", -8),
];

/// How names of months begin in English, German, French, Spanish, Italian, Portuguese and Dutch.
const MONTHS: [&str; 12] = [
    "jan jän ene gen",
    "feb fév fev",
    "mar mär mrz maa mrt",
    "apr avr abr",
    "may mai mag mei",
    "jun juin giu",
    "jul juil lug",
    "aug aoû aou ago",
    "sep set",
    "oct okt ott out",
    "nov",
    "dec dez déc dic",
];

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Bytes of the longest cell that may be a date.
const MAX_BYTES: usize = 50;

/// The order of the parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DateStyle {
    /// 2024-01-31, with or without a time; also 2024/01/31.
    YearFirst,
    /// 31.01.2024, 31/01/2024, 31-01-2024.
    DayFirst,
    /// 01/31/2024.
    MonthFirst,
    /// 31-Jan-2024, Jan 31, 2024.
    NamedMonth,
    /// A month without a day, or a quarter or half of a year: 2024-05, May 2024, Q2 2024, 1H24.
    Month,
    /// 2024-W05 or 2024-W05-3.
    Week,
    /// A time of day without a date.
    Time,
}

impl DateStyle {
    /// All styles; of two that fit equally, the first is taken.
    pub(super) const ALL: [Self; 7] =
        [Self::YearFirst, Self::NamedMonth, Self::DayFirst, Self::MonthFirst, Self::Month, Self::Week, Self::Time];

    /// Microseconds since 1970 of the date in a cell; `None` if the cell holds anything else.
    pub(crate) fn parse(self, cell: &[u8]) -> Option<i64> {
        if cell.len() < 4 || cell.len() > MAX_BYTES {
            return None;
        }
        let text = std::str::from_utf8(cell).ok()?;
        let ours = |text| folded(text).replace(['年', '月'], "-").replace('日', "");
        let text = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(ours(text)) };
        let text = without_weekday(&text);
        let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if self == Self::Time {
            return time(text);
        }
        if self == Self::YearFirst && text.bytes().take_while(u8::is_ascii_digit).count() == 8 {
            let text = text.trim_end_matches('Z');
            let read = |form| chrono::NaiveDateTime::parse_from_str(text, form).ok();
            let found = read("%Y%m%dT%H%M%S").or_else(|| read("%Y%m%dT%H%M"))?;
            return Some(found.and_utc().timestamp_micros());
        }
        let (date, rest) = match self {
            Self::NamedMonth => named(text)?,
            Self::Month => month(text).or_else(|| part_of_year(text))?,
            Self::Week => week(text)?,
            _ => numeric(text, self)?,
        };
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        // Logs have a colon between the date and the time.
        let rest = rest.strip_prefix(['T', 't', ':', ',', '_']).unwrap_or(rest).trim();
        let within = if rest.is_empty() { 0 } else { time(rest)? };
        Some(days * DAY + within)
    }
}

/// Whether a cell stands for no date: 0000-00-00, with or without a time.
pub(super) fn is_no_date(cell: &[u8]) -> bool {
    let are_zeros = || cell.iter().all(|byte| matches!(byte, b'0' | b'-' | b'/' | b'.' | b':' | b' ' | b'T' | b'Z'));
    cell.len() >= 8 && cell.iter().take(10).filter(|byte| **byte == b'0').count() >= 6 && are_zeros()
}

/// A text without the name of a weekday before it: Mon, Monday.
fn without_weekday(text: &str) -> &str {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let is_weekday = text.get(..3).is_some_and(|start| WEEKDAYS.iter().any(|day| start.eq_ignore_ascii_case(day)));
    let is_whole = length == 3 || text[..length].to_ascii_lowercase().ends_with("day");
    if is_weekday && is_whole { text[length..].trim_start_matches([',', '.', ' ']) } else { text }
}

/// A month without a day, and the rest of the text, which is empty: 2024-05, 2024/05, May 2024, May-24.
fn month(text: &str) -> Option<(NaiveDate, &str)> {
    let (month, (year, digits, rest)) = match number(text, 4) {
        Some((year, 4, rest)) => {
            let (month, 2, rest) = number(rest.strip_prefix(['-', '/', '.'])?, 2)? else { return None };
            (month, (year, 4, rest))
        }
        _ => named_month(text).and_then(|(month, rest)| Some((month, number(rest, 4)?)))?,
    };
    let date = NaiveDate::from_ymd_opt(full_year(year, digits)?, month, 1)?;
    // 1001-05 is a code.
    (rest.is_empty() && (1500..2200).contains(&date.year())).then_some((date, rest))
}

/// The first day of a quarter or half of a year, and the rest of the text, which is empty: 2024-Q2, Q2 2024, 2Q24, H1 2024.
fn part_of_year(text: &str) -> Option<(NaiveDate, &str)> {
    let part = |letter: char, at: u32| match letter.to_ascii_uppercase() {
        'Q' if (1..=4).contains(&at) => Some(3 * at - 2),
        'H' if (1..=2).contains(&at) => Some(6 * at - 5),
        _ => None,
    };
    let letter = |text: &str| text.chars().next().filter(char::is_ascii_alphabetic);
    let (month, (year, digits, rest)) = match (letter(text), number(text, 4)) {
        (Some(c), _) => {
            let (at, 1, rest) = number(&text[1..], 1)? else { return None };
            (part(c, at)?, number(behind(rest), 4)?)
        }
        (None, Some((at, 1, rest))) => (part(letter(rest)?, at)?, number(behind(&rest[1..]), 4)?),
        (None, Some((year, 4, rest))) => {
            let rest = behind(rest);
            let (at, 1, end) = number(rest.get(1..)?, 1)? else { return None };
            (part(letter(rest)?, at)?, (year, 4, end))
        }
        _ => return None,
    };
    let date = NaiveDate::from_ymd_opt(full_year(year, digits)?, month, 1)?;
    (rest.is_empty() && (1500..2200).contains(&date.year())).then_some((date, rest))
}

/// A week of a year and perhaps its day, and the rest of the text.
fn week(text: &str) -> Option<(NaiveDate, &str)> {
    let (year, 4, rest) = number(text, 4)? else { return None };
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let (week, _, rest) = number(rest.strip_prefix(['W', 'w'])?, 2)?;
    let (day, rest) = match rest.strip_prefix('-').and_then(|rest| number(rest, 1)) {
        Some((day, _, rest)) => (day, rest),
        None => (1, rest),
    };
    let day = chrono::Weekday::try_from(u8::try_from(day.checked_sub(1)?).ok()?).ok()?;
    Some((NaiveDate::from_isoywd_opt(full_year(year, 4)?, week, day)?, rest))
}

/// The number at the start of a text of at most `most` digits, how many digits it has, and the rest.
fn number(text: &str, most: usize) -> Option<(u32, usize, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > most {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    Some((digits.parse().ok()?, length, rest))
}

/// A date of three numbers between equal marks, and the rest of the text.
fn numeric(text: &str, style: DateStyle) -> Option<(NaiveDate, &str)> {
    let (first, first_digits, rest) = number(text, 4)?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '-' | '/' | '.'))?;
    let (second, second_digits, rest) = number(rest.strip_prefix(mark)?, 2)?;
    let (third, third_digits, rest) = number(rest.strip_prefix(mark)?, 4)?;
    let (year, year_digits, month, day) = match style {
        DateStyle::YearFirst => (first, first_digits, second, third),
        DateStyle::DayFirst => (third, third_digits, second, first),
        _ => (third, third_digits, first, second),
    };
    let are_short = second_digits <= 2 && first_digits.min(third_digits) <= 2;
    let year =
        full_year(year, year_digits).filter(|_| are_short && (style != DateStyle::YearFirst || year_digits == 4))?;
    Some((NaiveDate::from_ymd_opt(year, month, day)?, rest))
}

/// The number of the month whose name a text starts with, and what follows it.
fn named_month(text: &str) -> Option<(u32, &str)> {
    let length = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let name = Some(text[..length].to_lowercase()).filter(|_| (3..=11).contains(&length))?;
    let month = MONTHS.iter().position(|starts| starts.split(' ').any(|start| name.starts_with(start)))? as u32 + 1;
    Some((month, behind(&text[length..])))
}

/// What follows a day or a month: no marks, endings of ordinal numbers, or words between.
fn behind(text: &str) -> &str {
    let text = ["st", "nd", "rd", "th", "er", "º"].iter().find_map(|end| text.strip_prefix(end)).unwrap_or(text);
    let text = text.trim_start_matches([' ', '-', '/', '.', ',']);
    text.strip_prefix("de ").unwrap_or(text)
}

/// A date with the name of its month, and the rest of the text.
fn named(text: &str) -> Option<(NaiveDate, &str)> {
    let day = |text| number(text, 2).map(|(day, _, rest)| (day, behind(rest)));
    let (day, month, rest) = match day(text) {
        Some((day, rest)) => named_month(rest).map(|(month, rest)| (day, month, rest))?,
        None => {
            let (month, rest) = named_month(text)?;
            day(rest).map(|(day, rest)| (day, month, rest))?
        }
    };
    // C writes the year last: Aug 17 04:48:00 2023.
    let year_last = rest.rsplit_once(' ').filter(|(time, year)| time.contains(':') && year.len() == 4);
    let ((year, digits, end), within) = match year_last.and_then(|(time, year)| Some((number(year, 4)?, time))) {
        Some((found, time)) if found.2.is_empty() => (found, Some(time)),
        _ => (number(rest, 4)?, None),
    };
    Some((NaiveDate::from_ymd_opt(full_year(year, digits)?, month, day)?, within.unwrap_or(end)))
}

/// A year of four digits, or of two: 00 to 68 mean 2000 to 2068, as POSIX has it.
fn full_year(year: u32, digits: usize) -> Option<i32> {
    match digits {
        4 => i32::try_from(year).ok(),
        2 => i32::try_from(if year < 69 { 2000 + year } else { 1900 + year }).ok(),
        _ => None,
    }
}

/// Microseconds of a time of day; an offset from UTC is subtracted.
fn time(text: &str) -> Option<i64> {
    let (text, offset) = without_zone(text.trim())?;
    let half = |(end, is_afternoon): &(&str, bool)| {
        let at = text.len().checked_sub(end.len())?;
        text.get(at..)?.eq_ignore_ascii_case(end).then(|| (text[..at].trim_end(), Some(*is_afternoon)))
    };
    let halves = [("am", false), ("pm", true), ("a.m.", false), ("p.m.", true)];
    let (text, afternoon) = halves.iter().find_map(half).unwrap_or((text, None));
    let (hour, _, rest) = number(text, 2)?;
    // 18.00.00
    let mark = if !text.contains(':') && text.matches('.').count() == 2 { '.' } else { ':' };
    let (minute, 2, rest) = number(rest.strip_prefix(mark)?, 2)? else { return None };
    let (second, rest) = match rest.strip_prefix(mark) {
        Some(rest) => number(rest, 2).filter(|found| found.1 == 2).map(|(second, _, rest)| (second, rest))?,
        None => (0, rest),
    };
    let decimals = if rest.is_empty() { "0" } else { rest.strip_prefix(['.', ','])? };
    if decimals.is_empty() || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros = decimals.chars().chain("000000".chars()).take(6).collect::<String>().parse().ok()?;
    let hour = match afternoon {
        Some(is_afternoon) if (1..=12).contains(&hour) => hour % 12 + if is_afternoon { 12 } else { 0 },
        Some(_) => return None,
        None => hour,
    };
    let time = NaiveTime::from_hms_micro_opt(hour, minute, second, micros)?;
    Some(time.signed_duration_since(NaiveTime::MIN).num_microseconds()? - offset)
}

/// A time without its zone, and the offset of the zone in microseconds.
fn without_zone(text: &str) -> Option<(&str, i64)> {
    // A name behind the offset adds nothing: +02:00[Europe/Berlin], -0700 (PDT).
    let text = match text.find(['[', '(']).filter(|_| text.ends_with([']', ')'])) {
        Some(at) if at > 0 => text[..at].trim_end(),
        _ => text,
    };
    if let Some(rest) = text.strip_suffix(['Z', 'z']) {
        return Some((rest.trim_end(), 0));
    }
    let word = &text[text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len()..];
    let is_own = |names: &str| names.split(' ').any(|name| word.eq_ignore_ascii_case(name));
    if let Some((_, hours)) = ZONES.iter().find(|(names, _)| is_own(names)) {
        return Some((text[..text.len() - word.len()].trim_end(), hours * 3_600_000_000));
    }
    let Some(at) = text.rfind(['+', '-']).filter(|&at| at > 0) else { return Some((text, 0)) };
    let (time, zone) = text.split_at(at);
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (digits[..2].parse().ok()?, digits.get(2..).unwrap_or("").parse().unwrap_or(0));
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    (hours < 24 && minutes < 60).then(|| (time.trim_end(), sign * (hours * 60 + minutes) * 60_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(micros: i64) -> String {
        chrono::DateTime::from_timestamp_micros(micros).unwrap().format("%Y-%m-%d %H:%M:%S%.f").to_string()
    }

    #[test]
    fn dates_of_every_form_are_read() {
        let texts = [
            (DateStyle::YearFirst, "2024-01-31", "2024-01-31 00:00:00"),
            (DateStyle::YearFirst, "2024/1/5", "2024-01-05 00:00:00"),
            (DateStyle::YearFirst, "2024-01-31T12:30:05.25Z", "2024-01-31 12:30:05.250"),
            (DateStyle::YearFirst, "2024-01-31 12:30+02:00", "2024-01-31 10:30:00"),
            (DateStyle::DayFirst, "31.01.2024", "2024-01-31 00:00:00"),
            (DateStyle::DayFirst, "5/1/24 7:05", "2024-01-05 07:05:00"),
            (DateStyle::MonthFirst, "01/31/1999 1:05 PM", "1999-01-31 13:05:00"),
            (DateStyle::NamedMonth, "3-Jan-2024", "2024-01-03 00:00:00"),
            (DateStyle::NamedMonth, "January 3, 2024", "2024-01-03 00:00:00"),
            (DateStyle::NamedMonth, "3 Mar 1970", "1970-03-03 00:00:00"),
            (DateStyle::YearFirst, "2024-06-08 08:23:51 UTC", "2024-06-08 08:23:51"),
            (DateStyle::YearFirst, "2024-06-08T08:23:51+02:00[Europe/Berlin]", "2024-06-08 06:23:51"),
            (DateStyle::NamedMonth, "Mon, 03 Jun 2024 10:00:00 +0200", "2024-06-03 08:00:00"),
            (DateStyle::NamedMonth, "[10/Oct/2000:13:55:36 -0700]", "2000-10-10 20:55:36"),
            (DateStyle::NamedMonth, "Monday, June 3, 2024 10:00 EST", "2024-06-03 15:00:00"),
            (DateStyle::Month, "2024-05", "2024-05-01 00:00:00"),
            (DateStyle::Month, "May 2024", "2024-05-01 00:00:00"),
            (DateStyle::Month, "Q2 2024", "2024-04-01 00:00:00"),
            (DateStyle::Month, "2024-Q3", "2024-07-01 00:00:00"),
            (DateStyle::Month, "2H24", "2024-07-01 00:00:00"),
            (DateStyle::NamedMonth, "Thu Aug 17 04:48:00 2023", "2023-08-17 04:48:00"),
            (DateStyle::YearFirst, "20230817T044800Z", "2023-08-17 04:48:00"),
            (DateStyle::YearFirst, "2024-1-5T10:00", "2024-01-05 10:00:00"),
            (DateStyle::Week, "2024-W05-3", "2024-01-31 00:00:00"),
            (DateStyle::Time, "12:30", "1970-01-01 12:30:00"),
            (DateStyle::Time, "12:30:15", "1970-01-01 12:30:15"),
        ];
        for (style, text, expected) in texts {
            assert_eq!(style.parse(text.as_bytes()).map(shown).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn zero_dates_are_no_dates() {
        assert!(["0000-00-00", "0000-00-00 00:00:00", "00/00/0000"].iter().all(|cell| is_no_date(cell.as_bytes())));
        assert!(["2000-00-00", "0", "00000", "2000-10-10"].iter().all(|cell| !is_no_date(cell.as_bytes())));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        let odd = [
            "",
            "2024",
            "2024-13-01",
            "2024-02-30",
            "31.01.24.5",
            "192.168.0.1",
            "1-2",
            "12:75",
            "555-1234-567",
            "Marble",
            "1.5.3",
            "2024-01-31x",
            "99/99/9999",
            "12:30:1",
            "5Q24",
            "Q2",
            "20231317T044800",
            "1001-05",
            "2024-01-31 25:00",
            "1234-12-1234",
        ];
        for text in odd {
            assert!(DateStyle::ALL.iter().all(|style| style.parse(text.as_bytes()).is_none()), "{text}");
        }
    }
}
