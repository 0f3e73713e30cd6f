//! Types of the columns of a text, told from some of their cells.

use super::date::DateStyle;
use serde::{Deserialize, Serialize};

use super::number::{NumberStyle, Unit, is_missing, plain};

/// With fewer filled cells, all of them must fit a type.
const FEWEST_CELLS: usize = 20;

/// The share of the filled cells that may not fit the type of their column; these count as missing.
pub(super) const MAX_UNFIT: f64 = 0.05;

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
    /// Anything.
    Text,
    /// Anything, and nothing is missing.
    Label,
}

/// What some cells of a column say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Their type; `None` if all are missing.
    pub kind: Option<CellType>,
    /// Whether dates fit with the day first as well as with the month first.
    pub is_doubtful: bool,
}

/// Whether `unfit` of `filled` cells are few enough to count as missing.
pub(super) fn are_few(unfit: usize, filled: usize) -> bool {
    unfit == 0 || (filled >= FEWEST_CELLS && unfit as f64 <= MAX_UNFIT * filled as f64)
}

impl CellType {
    /// Whether new cells alone may not tell that they are written so.
    pub(crate) fn is_special(self) -> bool {
        match self {
            Self::Number(style) => matches!(style, NumberStyle::Unit(..)) || style.decimal() != b'.',
            Self::Boolean(_) => true,
            Self::Date(style) => style != DateStyle::YearFirst,
            Self::Text | Self::Label => false,
        }
    }

    /// Whether a filled cell is of this type.
    pub(super) fn fits(self, cell: &[u8]) -> bool {
        match self {
            Self::Number(style) => style.parse(cell).is_some(),
            Self::Boolean(words) => truth(words, cell).is_some(),
            Self::Date(style) => style.parse(cell).is_some(),
            Self::Text | Self::Label => true,
        }
    }
}

/// The truth of a cell in the words numbered `words`.
pub(crate) fn truth(words: usize, cell: &[u8]) -> Option<bool> {
    let (yes, no) = TRUTHS.get(words)?;
    match () {
        () if cell.eq_ignore_ascii_case(yes.as_bytes()) => Some(true),
        () if cell.eq_ignore_ascii_case(no.as_bytes()) => Some(false),
        () => None,
    }
}

/// The type of a column with some of its cells.
pub(super) fn infer<'c>(cells: impl Iterator<Item = &'c [u8]>, decimal: u8) -> Found {
    let filled: Vec<&[u8]> = cells.filter(|cell| !is_missing(cell)).collect();
    let n = filled.len();
    let certain = |kind| Found { kind: Some(kind), is_doubtful: false };
    if n == 0 {
        return Found { kind: None, is_doubtful: false };
    }
    if filled.iter().all(|cell| plain(cell, decimal).is_some()) {
        return certain(CellType::Number(NumberStyle::Plain(decimal)));
    }
    let n_fit = |kind: CellType| filled.iter().filter(|cell| kind.fits(cell)).count();
    let dates: Vec<(DateStyle, usize)> =
        DateStyle::ALL.iter().map(|&style| (style, n_fit(CellType::Date(style)))).collect();
    let most = dates.iter().map(|(_, fit)| *fit).max().unwrap_or(0);
    if let Some((style, fit)) = dates.iter().find(|(_, fit)| *fit == most && are_few(n - fit, n)) {
        let other = dates.iter().find(|(style, _)| *style == DateStyle::MonthFirst).map_or(0, |found| found.1);
        let has_slash = filled.iter().any(|cell| cell.contains(&b'/') || cell.contains(&b'-'));
        let is_doubtful = *style == DateStyle::DayFirst && other == *fit && has_slash;
        return Found { kind: Some(CellType::Date(*style)), is_doubtful };
    }
    if let Some(words) = (0..TRUTHS.len()).find(|&words| n_fit(CellType::Boolean(words)) == n) {
        return certain(CellType::Boolean(words));
    }
    let written = CellType::Number(NumberStyle::Written(decimal));
    match are_few(n - n_fit(written), n) {
        true => {
            let plain = CellType::Number(NumberStyle::Plain(decimal));
            certain(if n_fit(plain) == n_fit(written) { plain } else { written })
        }
        false => {
            let unit = filled.first().filter(|_| n > 1).and_then(|cell| Unit::of(cell));
            let with_unit = unit.map(|unit| CellType::Number(NumberStyle::Unit(decimal, unit)));
            certain(with_unit.filter(|kind| are_few(n - n_fit(*kind), n)).unwrap_or(CellType::Text))
        }
    }
}

/// How the cells of a column of new rows are read, which seem to be `own`, if those of the fit were `fit`: what one of both tells alone
/// (the order of day and month, the words for yes and no), the fit decides. The decimal mark of a file of text is told by all of its
/// columns; in a table that stores some columns as text, the fit decides about it too.
pub(crate) fn reconciled(own: Option<CellType>, fit: Option<CellType>, is_file_of_text: bool) -> Option<CellType> {
    let is_slashed = |style: DateStyle| matches!(style, DateStyle::DayFirst | DateStyle::MonthFirst);
    match (own, fit) {
        (Some(CellType::Number(_)), Some(CellType::Number(_))) if is_file_of_text => own,
        (Some(CellType::Number(own)), Some(CellType::Number(fit))) => {
            Some(CellType::Number(own.with_decimal(fit.decimal())))
        }
        (Some(CellType::Date(own_style)), Some(CellType::Date(fit_style))) => {
            if is_slashed(own_style) && is_slashed(fit_style) { fit } else { own }
        }
        (_, fit) => fit.or(own),
    }
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
        assert!(matches!(of(&["51.3 mm", "7 mm", ""]).kind, Some(CellType::Number(NumberStyle::Unit(..)))));
        assert_eq!(of(&["1st", "2nd"]).kind, Some(CellType::Text));
        let many: Vec<String> = (0..40).map(|at| if at == 7 { "broken".into() } else { at.to_string() }).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(of(&many).kind, number(NumberStyle::Plain(b'.')), "one cell of forty counts as missing");
        assert_eq!(of(&many[..12]).kind, Some(CellType::Text), "one cell of twelve does not");
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
