//! The parts of a date that tell rows apart.

use chrono::{DateTime, Datelike};
use serde::{Deserialize, Serialize};

/// Microseconds of a second, and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DatePart {
    /// The year.
    Year,
    /// The month, 1 to 12.
    Month,
    /// The day of the week, 0 for Monday to 6.
    Weekday,
    /// Seconds since midnight.
    Time,
    /// Seconds since 1970.
    Seconds,
}

impl DatePart {
    pub(super) const ALL: [Self; 5] = [Self::Year, Self::Month, Self::Weekday, Self::Time, Self::Seconds];

    /// The word for the part, in names of columns.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Time => "time",
            Self::Seconds => "seconds",
        }
    }
}

/// The day of the month of a date in microseconds since 1970.
pub(super) fn day_of(micros: i64) -> u32 {
    DateTime::from_timestamp_micros(micros).unwrap_or_default().day()
}

/// All parts of a date in microseconds since 1970, in the order of [`DatePart::ALL`].
pub(super) fn parts_of(micros: i64) -> [f64; 5] {
    let seconds = micros as f64 / SECOND as f64;
    let time = micros.rem_euclid(DAY) as f64 / SECOND as f64;
    // Dates beyond a quarter of a million years have no calendar.
    let date = DateTime::from_timestamp_micros(micros).unwrap_or_default();
    let weekday = date.weekday().num_days_from_monday();
    [f64::from(date.year()), f64::from(date.month()), f64::from(weekday), time, seconds]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_calendar() {
        // 2024-02-29 13:30:15.5, a Thursday.
        assert_eq!(parts_of(1_709_213_415_500_000), [2024.0, 2.0, 3.0, 48_615.5, 1_709_213_415.5]);
        assert_eq!(parts_of(-1), [1969.0, 12.0, 2.0, 86_399.999999, -1e-6]);
        assert!(parts_of(i64::MAX).iter().all(|part| part.is_finite()));
    }
}
