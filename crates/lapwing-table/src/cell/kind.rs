//! Types of columns, told from their cells.
//!
//! A type is taken if nearly all filled cells fit it, or if the others are a few texts that come again (`ND`, `closed`): these are gaps,
//! and are named. Of the types that may be taken, the one that most cells fit is; of equal ones, the plainest.
//!
//! Cost: every type that enough of the first forty cells fit is tried on all that are given, a thousand of a sample or ten thousand levels.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::affix::{Affix, is_digit};
use super::date::{DateStyle, is_no_date};
use super::duration::FAMILIES;
use super::marks::Marks;
use super::missing::is_missing;
use super::number::{NumberStyle, plain, without_currency};
use super::vector;
use crate::lines::shown;

/// With fewer filled cells, all of them must fit a type.
const FEWEST_CELLS: usize = 20;

/// The share of the filled cells that may not fit the type of their column; these count as missing.
const MAX_UNFIT: f64 = 0.05;

/// Different texts that may stand for gaps in a column, and different values for each of them that it has at least.
const MAX_GAP_TEXTS: usize = 8;
const VALUES_OF_A_GAP_TEXT: usize = 5;

/// Most levels of a scale that is written with limits.
const MAX_SCALE: usize = 30;

/// Cells on which a type is tried first, and the share of them that must fit it to be tried on all.
const TRIED: usize = 40;
const LEAST_TRIED: f64 = 0.3;

/// Cells that are looked at for the text that belongs to every number.
const AFFIX_CELLS: usize = 100;

/// Words for yes and no, in the lower case.
pub(super) const TRUTHS: [(&str, &str); 7] =
    [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("ja", "nein"), ("oui", "non"), ("wahr", "falsch")];

/// The type of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CellType {
    /// Numbers.
    Number(NumberStyle),
    /// One of two words, numbered as in [`TRUTHS`].
    Boolean(usize),
    /// Dates or times.
    Date(DateStyle),
    /// Lists of so many numbers.
    Vector(usize),
    /// Anything.
    Text,
    /// Anything, and nothing is missing.
    Label,
}

/// What cells of a column say about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Their type; `None` if all are missing.
    pub kind: Option<CellType>,
    /// Whether dates fit with the day first as well as with the month first; whether the only mark of all numbers is before three digits
    /// and is read as that of thousands.
    pub is_doubtful: bool,
}

/// A cell, and how often it comes.
type Counted<'c> = (&'c [u8], usize);

/// How cells fit a type.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Cells that fit it, and all.
    n_fit: usize,
    n: usize,
    /// Different cells that fit it, and that do not.
    values: usize,
    others: usize,
}

impl Fit {
    fn is_accepted(self) -> bool {
        let have_values = self.values >= 2 * VALUES_OF_A_GAP_TEXT && self.values >= VALUES_OF_A_GAP_TEXT * self.others;
        // One or two texts beside many numbers are marks, however often they come.
        let are_most = 2 * self.n_fit > self.n || self.others <= 2;
        let are_gaps = are_most && self.others <= MAX_GAP_TEXTS && have_values;
        self.n_fit > 0 && (are_few(self.n - self.n_fit, self.n) || are_gaps)
    }
}

/// Whether `unfit` of `filled` cells are few enough to count as missing whatever they are.
pub(super) fn are_few(unfit: usize, filled: usize) -> bool {
    unfit == 0 || (filled >= FEWEST_CELLS && unfit as f64 <= MAX_UNFIT * filled as f64)
}

impl CellType {
    /// Whether cells of both types become values of one type.
    pub(crate) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Vector(length), Self::Vector(other)) => length == other,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// Whether new cells alone may not tell that they are written so.
    pub(crate) fn is_special(self) -> bool {
        match self {
            Self::Number(style) => style != NumberStyle::Plain(b'.'),
            Self::Boolean(_) => true,
            Self::Date(style) => style != DateStyle::YearFirst,
            Self::Text | Self::Label | Self::Vector(_) => false,
        }
    }

    /// Whether a value of this type says something else than its cell: no date, a limit, another unit.
    pub(crate) fn is_rounded(self) -> bool {
        use NumberStyle::{Duration, Flagged, Interval, Measure};
        matches!(self, Self::Vector(_) | Self::Date(DateStyle::Time | DateStyle::Month | DateStyle::Week))
            || matches!(self, Self::Number(Duration | Measure(_) | Flagged(_) | Interval(_)))
    }

    /// Whether a filled cell is of this type.
    pub(crate) fn fits(self, cell: &[u8]) -> bool {
        match self {
            Self::Number(style) => style.parse(cell).is_some(),
            Self::Boolean(words) => truth(words, cell).is_some(),
            Self::Date(style) => style.parse(cell).is_some(),
            Self::Vector(length) => vector::parse(cell, &mut Vec::new()) == Some(length),
            Self::Text | Self::Label => true,
        }
    }

    /// What a filled cell means, in words; `None` if it is not of this type.
    pub(crate) fn shown(self, cell: &[u8]) -> Option<String> {
        match self {
            Self::Number(style) => style.parse(cell).map(|x| x.to_string()),
            Self::Boolean(words) => truth(words, cell).map(|is_true| is_true.to_string()),
            Self::Date(style) => {
                let date = chrono::DateTime::from_timestamp_micros(style.parse(cell)?)?.naive_utc();
                let text = if style == DateStyle::Time { date.time().to_string() } else { date.to_string() };
                Some(text.trim_end_matches(" 00:00:00").to_owned())
            }
            Self::Vector(length) => self.fits(cell).then(|| format!("{length} numbers")),
            Self::Text | Self::Label => Some(shown(cell)),
        }
    }

    /// Whether a cell holds nothing in a column of this type.
    pub(crate) fn is_gap(self, cell: &[u8]) -> bool {
        is_missing(cell) || (matches!(self, Self::Date(_)) && is_no_date(cell))
    }

    /// How filled cells fit this type; `None` if the first few do not.
    fn fit(self, cells: &[Counted<'_>]) -> Option<Fit> {
        let mut fit = Fit { n_fit: 0, n: 0, values: 0, others: 0 };
        for (at, (cell, count)) in cells.iter().enumerate() {
            fit.n += count;
            if self.fits(cell) {
                fit.n_fit += count;
                fit.values += 1;
            } else {
                fit.others += 1;
            }
            if at + 1 == TRIED && (fit.values as f64) < LEAST_TRIED * TRIED as f64 {
                return None;
            }
        }
        Some(fit)
    }
}

/// The truth of a cell in the words numbered `words`.
pub(super) fn truth(words: usize, cell: &[u8]) -> Option<bool> {
    let (yes, no) = TRUTHS.get(words)?;
    let is = |word: &str| cell.eq_ignore_ascii_case(word.as_bytes());
    if is(yes) { Some(true) } else { is(no).then_some(false) }
}

/// The type of a column with these cells; `decimal` is the mark of numbers that do not show it.
pub(crate) fn infer<'c>(cells: impl Iterator<Item = &'c [u8]>, decimal: u8) -> Found {
    infer_counted(cells.map(|cell| (cell, 1)), decimal)
}

/// As [`infer`], of cells that come several times.
pub(crate) fn infer_counted<'c>(cells: impl Iterator<Item = Counted<'c>>, decimal: u8) -> Found {
    let mut counts: IndexMap<&[u8], usize> = IndexMap::new();
    for (cell, count) in cells.filter(|(cell, count)| *count > 0 && !is_missing(cell)) {
        *counts.entry(cell).or_default() += count;
    }
    let filled: Vec<Counted<'_>> = counts.into_iter().collect();
    let certain = |kind| Found { kind: Some(kind), is_doubtful: false };
    if filled.is_empty() {
        return Found::default();
    }
    let marks = Marks::of(filled.iter().map(|(cell, _)| *cell));
    let decimal = marks.decimal().unwrap_or(decimal);
    if filled.iter().all(|(cell, _)| plain(cell, decimal).is_some()) {
        return certain(CellType::Number(NumberStyle::Plain(decimal)));
    }
    // Numbers with some other texts are numbers; of dates only the zero dates are gaps.
    let dated: Vec<Counted<'_>> = filled.iter().copied().filter(|(cell, _)| !is_no_date(cell)).collect();
    // Accounts have negative numbers in parentheses, but not only such.
    let are_bracketed = filled.iter().all(|(cell, _)| cell.starts_with(b"(") && cell.ends_with(b")"));
    let mut best: Option<(CellType, Fit)> = None;
    let mut month_first = None;
    for kind in candidates(&filled, decimal) {
        let cells = if matches!(kind, CellType::Date(_)) { &dated } else { &filled };
        let Some(fit) = kind.fit(cells).filter(|fit| fit.is_accepted()) else { continue };
        let is_ruled_out = match kind {
            CellType::Number(style)
                if are_bracketed && !matches!(style, NumberStyle::Interval(_) | NumberStyle::Unit(..)) =>
            {
                true
            }
            CellType::Number(style) => {
                let flagged = filled.iter().filter(|(cell, _)| style.is_flagged(cell));
                // A few levels such as <18 and >65 are a scale.
                filled.len() <= MAX_SCALE && 2 * flagged.map(|(_, count)| count).sum::<usize>() > fit.n
            }
            CellType::Boolean(_) => fit.n_fit < fit.n,
            _ => false,
        };
        if kind == CellType::Date(DateStyle::MonthFirst) {
            month_first = Some(fit.n_fit);
        }
        if !is_ruled_out && best.is_none_or(|(_, best)| fit.n_fit > best.n_fit) {
            best = Some((kind, fit));
        }
    }
    let Some((kind, fit)) = best else { return certain(CellType::Text) };
    let has_slash = || filled.iter().any(|(cell, _)| cell.contains(&b'/') || cell.contains(&b'-'));
    let is_doubtful = kind == CellType::Date(DateStyle::DayFirst) && month_first == Some(fit.n_fit) && has_slash();
    let n_open = if decimal == b',' { marks.unclear_point } else { marks.unclear };
    // Money has no three decimals.
    let is_money = |cell: &[u8]| std::str::from_utf8(cell).is_ok_and(|text| without_currency(text).is_some());
    let are_groups = matches!(kind, CellType::Number(_))
        && n_open > 1
        && n_open == filled.len()
        && !filled.iter().any(|(cell, _)| is_money(cell));
    Found { kind: Some(kind), is_doubtful: is_doubtful || are_groups }
}

/// The types that cells may have, the plainest first.
fn candidates(filled: &[Counted<'_>], decimal: u8) -> Vec<CellType> {
    let mut kinds: Vec<CellType> = DateStyle::ALL.iter().map(|&style| CellType::Date(style)).collect();
    kinds.extend((0..TRUTHS.len()).map(CellType::Boolean));
    let unit = |of| affix(filled, of).map(|affix| NumberStyle::Unit(decimal, affix));
    let mut styles = vec![NumberStyle::Plain(decimal), NumberStyle::Written(decimal)];
    styles.extend(unit(Affix::of));
    styles.extend([NumberStyle::Ledger(decimal), NumberStyle::Scaled(decimal)]);
    styles.extend([NumberStyle::Measure(0), NumberStyle::Duration]);
    styles.extend((1..FAMILIES.len()).map(NumberStyle::Measure));
    styles.extend([NumberStyle::Flagged(decimal), NumberStyle::Interval(decimal)]);
    styles.extend(unit(Affix::with_digits));
    styles.extend(frame(filled).map(|frame| NumberStyle::Unit(decimal, frame)));
    kinds.extend(styles.into_iter().map(CellType::Number));
    let lengths = filled.iter().take(TRIED).filter_map(|(cell, _)| vector::parse(cell, &mut Vec::new()));
    kinds.extend(most_frequent(lengths).map(CellType::Vector));
    kinds
}

/// The text that most numbers have before or behind them, as `of` tells it.
fn affix(filled: &[Counted<'_>], of: fn(&[u8]) -> Option<Affix>) -> Option<Affix> {
    let cells = filled.iter().take(AFFIX_CELLS).filter(|_| filled.len() > 1);
    most_frequent(cells.filter_map(|(cell, _)| of(cell)))
}

/// What stands around the numbers of the cells that begin as most do.
fn frame(filled: &[Counted<'_>]) -> Option<Affix> {
    let cells = || filled.iter().take(AFFIX_CELLS).filter_map(|(cell, _)| std::str::from_utf8(cell).ok());
    let cells = || cells().filter(|text| text.contains(is_digit));
    let start = most_frequent(cells().filter_map(|text| text.chars().next()))?;
    let texts: Vec<&str> = cells().filter(|text| text.starts_with(start)).collect();
    (texts.len() > 1 && !start.is_ascii_digit()).then(|| Affix::frame(&texts))?
}

/// The most frequent of some values; of equally frequent ones, the least.
fn most_frequent<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: std::collections::BTreeMap<T, usize> = std::collections::BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

/// How the cells of a column of new rows are read: as the fit read its own, if that reads them, else as they seem to be written.
pub(crate) fn reconciled<'c>(
    own: Option<CellType>,
    fit: Option<CellType>,
    cells: impl Iterator<Item = &'c [u8]>,
) -> Option<CellType> {
    let (Some(own), Some(fit)) = (own, fit) else { return fit.or(own) };
    if !own.is_like(fit) {
        return Some(fit);
    }
    let (mut n_own, mut n_fit) = (0usize, 0usize);
    for cell in cells.filter(|cell| !is_missing(cell)) {
        n_own += usize::from(own.fits(cell));
        n_fit += usize::from(fit.fits(cell));
    }
    Some(if n_fit >= n_own { fit } else { own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Found {
        infer(cells.iter().map(|cell| cell.as_bytes()), b'.')
    }

    #[test]
    fn types_are_told_from_cells() {
        let number = |style| Some(CellType::Number(style));
        assert_eq!(of(&["1", "2.5", "NA", "-3e4"]).kind, number(NumberStyle::Plain(b'.')));
        assert_eq!(of(&["$1,200", "7%"]).kind, number(NumberStyle::Written(b'.')));
        assert_eq!(of(&["yes", "", "No"]).kind, Some(CellType::Boolean(1)));
        assert_eq!(of(&["yes", "true"]).kind, Some(CellType::Text));
        assert_eq!(of(&["2024-01-01", "2024-02-01 10:00"]).kind, Some(CellType::Date(DateStyle::YearFirst)));
        assert_eq!(of(&["", "?", "n/a"]).kind, None);
        assert_eq!(of(&["red", "1"]).kind, Some(CellType::Text));
        for cells in [["51.3 mm", "7 mm"], ["230 V", "180 V"], ["9 g", "12 g"]] {
            assert!(matches!(of(&cells).kind, Some(CellType::Number(NumberStyle::Unit(..)))), "{cells:?}");
        }
        assert_eq!(of(&["3 kg", "250 g"]).kind, number(NumberStyle::Measure(3)));
        assert!(matches!(
            of(&["12,5 km", "7 km", "1.250,5 km"]).kind,
            Some(CellType::Number(NumberStyle::Unit(b',', _)))
        ));
        let counted = [["Fr 5", "Fr 7"], ["Fr.5", "Fr.7"], ["No. 5", "No. 7"], ["week 5", "week 7"]];
        let framed =
            [["x=5", "x=7"], ["np.float64(5.0)", "np.float64(7.0)"], ["{'v': 5}", "{'v': 7}"], ["(5,)", "(7,)"]];
        for cells in counted.into_iter().chain(framed).chain([["temp: 5", "temp: 7"], ["\"5\"", "\"7\""]]) {
            let Some(CellType::Number(style)) = of(&cells).kind else { panic!("{cells:?}") };
            assert_eq!(cells.map(|cell| style.parse(cell.as_bytes())), [Some(5.0), Some(7.0)], "{cells:?}");
        }
        assert_eq!(of(&["USD 5", "USD 7", ""]).kind, number(NumberStyle::Written(b'.')));
        assert_eq!(of(&["€1.1M", "€565K", "€0"]).kind, number(NumberStyle::Scaled(b'.')));
        assert_eq!(of(&["5 CR", "7 DR"]).kind, number(NumberStyle::Ledger(b'.')));
        assert_eq!(of(&["26:15:00", "3:10:05"]).kind, number(NumberStyle::Duration));
        assert_eq!(of(&["6:15:00", "3:10:05"]).kind, Some(CellType::Date(DateStyle::Time)));
        assert_eq!(of(&["<5", "6", "7*", "8"]).kind, number(NumberStyle::Flagged(b'.')));
        assert_eq!(of(&["5'10", "6'2", "5'11"]).kind, number(NumberStyle::Measure(0)));
        assert_eq!(of(&["(0.5, 1.5]", "(1.5, 2]"]).kind, number(NumberStyle::Interval(b'.')));
        assert_eq!(of(&["(2012)", "(1987)"]).kind, number(NumberStyle::Interval(b'.')));
        assert_eq!(of(&["(2012)", "1987"]).kind, number(NumberStyle::Written(b'.')));
        assert_eq!(of(&["[1, 2, 3]", "[4, 5, 6]"]).kind, Some(CellType::Vector(3)));
        for cells in [["1st", "2nd"], ["user 5", "user 7"], ["item-5", "item-7"]] {
            assert_eq!(of(&cells).kind, Some(CellType::Text));
        }
        let many: Vec<String> = (0..40).map(|at| if at == 7 { "broken".into() } else { at.to_string() }).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(of(&many).kind, number(NumberStyle::Plain(b'.')), "one cell of forty counts as missing");
        assert_eq!(of(&many[..9]).kind, Some(CellType::Text), "one cell of nine does not");
    }

    #[test]
    fn a_few_texts_that_come_again_are_gaps_of_numbers() {
        let cells = |every: usize, text: &'static str| -> Vec<String> {
            (0..100).map(|at| if at % every == 0 { text.to_owned() } else { (at * 7 % 83).to_string() }).collect()
        };
        let kind = |cells: &[String]| infer(cells.iter().map(String::as_bytes), b'.').kind;
        assert_eq!(kind(&cells(3, "ND")), Some(CellType::Number(NumberStyle::Plain(b'.'))));
        let digits: Vec<String> = (0..100).map(|at| ["1", "2", "3", "other"][at % 4].to_owned()).collect();
        assert_eq!(kind(&digits), Some(CellType::Text), "a category with a level of its own");
    }

    #[test]
    fn the_order_of_day_and_month_is_told_or_doubted() {
        assert_eq!(
            of(&["03/04/2024", "13/04/2024"]),
            Found { kind: Some(CellType::Date(DateStyle::DayFirst)), is_doubtful: false }
        );
        assert_eq!(of(&["03/04/2024", "04/13/2024"]).kind, Some(CellType::Date(DateStyle::MonthFirst)));
        assert!(of(&["03/04/2024", "05/06/2024"]).is_doubtful);
        assert!(!of(&["03.04.2024", "05.06.2024"]).is_doubtful);
    }
}
