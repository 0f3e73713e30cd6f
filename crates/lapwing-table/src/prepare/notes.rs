//! What is said of a column and its cells: an example, those that do not fit, and another reading.

use serde::Serialize;

use super::decide::MAX_ONE_HOT;
use super::names::{names_codes, names_groups};
use super::recipe::{ColumnRecipe, Step};
use super::survey::{Cells, Survey, TextSurvey};
use crate::cell::{CellType, NumberStyle, OtherCell, Tally, infer, is_unseen};
use crate::lines::shown;
use crate::read::{ColumnKind, Doubt, TableFile};
use lapwing_core::Warning;
use lapwing_core::text::option;

/// The least share of numbers among the cells of a column of texts that is said.
const MIXED: f64 = 0.3;

/// Cells that are looked at for one that means something else than it says.
const EXAMPLE_CELLS: usize = 100;

/// The first cells that do not fit that are listed.
const MAX_LISTED: usize = 5;

/// A column and what is done with it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Number of missing cells.
    pub n_missing: usize,
    /// Number of different values: exact up to some thousand, else an estimate; `None` for more decimals than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_distinct: Option<usize>,
    /// Whether that is an estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_estimate: bool,
    /// The range of numbers, or the most frequent levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// What is done with it.
    pub done: String,
    /// A cell as it is written, and what it is read as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) example: Option<Example>,
    /// Cells that do not fit the kind and count as missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unfit: Option<Unfit>,
    /// What the cells may be read as instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) other: Option<Other>,
    /// How the column alone tells the labels of how many rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tells_labels: Option<Told>,
    /// The number that counts as missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sentinel: Option<f64>,
}

impl ColumnSummary {
    /// What there is to say of its cells, in lines: their values with an example, those that do not fit, another reading, and
    /// whether they tell the labels.
    pub fn notes(&self) -> Vec<String> {
        // The values of texts are the cells themselves.
        let example =
            self.example.as_ref().filter(|example| self.kind != ColumnKind::Text || example.cell != example.value);
        let example = example.map(|Example { cell, value }| format!("{cell} → {value}"));
        let values: Vec<String> = self.values.iter().cloned().chain(example).collect();
        let unfit = self.unfit.as_ref().map(|unfit| {
            let (kind, cells) = (a_kind(&self.kind), unfit.cells.iter().map(UnfitCell::words).collect::<Vec<_>>());
            let n_listed: usize = unfit.cells.iter().map(|cell| cell.n_cells).sum();
            let more = if n_listed < unfit.n_cells { ", …" } else { "" };
            format!("{} no {kind}, counted as missing: {}{more}", unfit.n_cells, cells.join(", "))
        });
        let other = self.other.as_ref().map(|other| format!("or {}: {}", other.reading, other.option));
        let tells = self
            .tells_labels
            .as_ref()
            .map(|Told { how, n_rows }| format!("alone tells the labels of {n_rows} rows: {how}"));
        let values = (!values.is_empty()).then(|| values.join("; "));
        values.into_iter().chain(unfit).chain(other).chain(tells).collect()
    }

    /// A warning about cells that do not fit.
    pub(super) fn unfit_warning(&self) -> Option<Warning> {
        let Unfit { n_cells, first, place, .. } = self.unfit.clone()?;
        Some(Warning::UnfitCells { column: self.name.clone(), n_cells, kind: a_kind(&self.kind), first, place })
    }

    /// Warnings if the column should be left out, or is likely something else.
    pub(super) fn doubts(&self) -> impl Iterator<Item = Warning> {
        let code = self.other.as_ref().and_then(|other| {
            let (column, option) = (self.name.clone(), other.option.clone());
            Some(Warning::CodeColumn { column, what: other.warning?, option })
        });
        let leak = self.tells_labels.clone().map(|Told { how, n_rows }| Warning::LeakingColumn {
            column: self.name.clone(),
            n_rows,
            how,
        });
        leak.into_iter().chain(code)
    }
}

/// How a column alone tells the labels.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Told {
    pub how: String,
    pub n_rows: usize,
}

/// Cells that do not fit the kind of their column.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Unfit {
    n_cells: usize,
    first: String,
    place: String,
    /// The first different ones.
    cells: Vec<UnfitCell>,
}

#[derive(Clone, Debug, Serialize)]
struct UnfitCell {
    cell: String,
    n_cells: usize,
    /// Where the first is.
    place: String,
}

impl UnfitCell {
    fn words(&self) -> String {
        match self.n_cells {
            1 => format!("'{}' ({})", self.cell, self.place),
            n => format!("'{}' ({n}, first in {})", self.cell, self.place),
        }
    }
}

impl Unfit {
    /// Those of a tally, or the numbers that are infinite or too large, if there are any.
    pub(super) fn of(tally: &Tally, survey: &Survey) -> Option<Self> {
        let cell = |odd: &OtherCell| UnfitCell { cell: odd.shown(), n_cells: odd.count, place: odd.place() };
        let mut cells: Vec<UnfitCell> = tally.others.iter().take(MAX_LISTED).map(cell).collect();
        let mut n_cells = tally.unfit;
        if let (true, Cells::Numbers(numbers)) = (cells.is_empty(), &survey.cells) {
            let (row, value) = numbers.first_infinite?;
            cells.push(UnfitCell { cell: format!("{value:e}"), n_cells: 1, place: format!("row {row}") });
            n_cells = numbers.n_infinite;
        }
        let first = cells.first()?;
        Some(Self { n_cells, first: first.cell.clone(), place: first.place.clone(), cells })
    }
}

/// A cell as it is written, and what it is read as.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Example {
    cell: String,
    value: String,
}

impl Example {
    /// The first cell that means something else than it says, or the first one.
    pub(super) fn of(sample: &[Vec<u8>], read_as: CellType, step: &Step) -> Option<Self> {
        let filled = sample.iter().filter(|cell| !read_as.is_gap(cell)).take(EXAMPLE_CELLS);
        let read = || filled.clone().filter_map(|cell| Some((shown(cell), read_as.shown(cell)?)));
        let (cell, value) = read().find(|(cell, value)| cell != value).or_else(|| read().next())?;
        let value = match step {
            Step::Text { terms, .. } => format!("{} terms", terms.tokens.count(&value)),
            _ => value,
        };
        Some(Self { cell, value })
    }
}

/// What cells may be read as instead.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Other {
    pub reading: String,
    /// The option that reads them so.
    pub option: String,
    /// What a warning says, if that is likely.
    #[serde(skip)]
    warning: Option<&'static str>,
    /// The doubts about the text that it settles.
    #[serde(skip)]
    settles: &'static [Doubt],
}

impl Other {
    /// What a column may be read as instead; `is_dated` says that its dates may have the month first.
    pub(super) fn of(column: &ColumnRecipe, survey: &Survey, is_dated: bool) -> Option<Self> {
        let name = &column.name;
        match (&survey.cells, &column.step) {
            (Cells::Texts(_), Step::Category { levels, .. }) if levels.iter().any(|level| is_sum(level)) => {
                let warning = "some of its cells name totals, which are sums of other rows and count as rows; if so";
                Some(Self::new("totals", "remove their lines", Some(warning)))
            }
            (Cells::Dates { .. }, _) if is_dated => Some(Self::read_as("the month first", name, "month-first", None)),
            (Cells::Numbers(numbers), Step::Number { .. }) if numbers.are_integers() && numbers.distinct.is_exact() => {
                let (n, is_code) = (numbers.distinct.count(), names_codes(name));
                let are_few = (3..=MAX_ONE_HOT).contains(&n) && 2 * n <= survey.n_filled();
                // Numbers without gaps may be in an order.
                let (least, most) = numbers.limits();
                let is_likely = is_code && most - least >= 2.0 * n as f64;
                let warning =
                    is_likely.then_some("its few numbers look like codes, and are taken as amounts; as levels");
                (are_few && (is_code || names_groups(name))).then(|| Self::read_as("levels", name, "text", warning))
            }
            (Cells::Texts(texts), Step::Text { .. }) if texts.are_objects() => {
                let warning = "its cells are JSON objects; their words are used, most of their numbers are not; to use all of them";
                Some(Self::new("columns", "make a column of each member", Some(warning)))
            }
            (Cells::Texts(texts), _) if texts.levels.keys().any(|text| text.contains(is_unseen)) => {
                let warning = "some of its cells hold marks that are not seen, such as soft hyphens and marks of direction, and are unlike those without";
                Some(Self::new("texts without them", "remove the marks", Some(warning)))
            }
            (Cells::Texts(texts), _) => {
                let are_digits = texts.levels.keys().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let is_padded = texts.levels.keys().any(|text| text.len() > 1 && text.starts_with('0'));
                let warning = match numbers_among(texts) {
                    _ if are_digits && is_padded => "numbers with leading zeros are taken as codes; as numbers",
                    (_, 0) => return None,
                    (n_cells, n) if n == n_cells => {
                        let warning = "its numbers have decimal points and decimal commas, and are taken as texts";
                        return Some(Self::new("numbers", "write all with one decimal mark", Some(warning)));
                    }
                    (n_cells, n) if (n as f64) < MIXED * n_cells as f64 => return None,
                    _ => "many of its cells are numbers, but not all, and all are taken as texts; as numbers",
                };
                Some(Self::read_as("numbers", name, "number", Some(warning)))
            }
            _ => None,
        }
    }

    /// What a number is with the other decimal mark than `decimal`, if it is another one in a cell of a sample.
    pub(super) fn of_decimals(sample: &[Vec<u8>], read_as: CellType, decimal: u8) -> Option<Self> {
        let (mark, word) = if decimal == b',' { (b'.', "point") } else { (b',', "comma") };
        let otherwise = CellType::Number(NumberStyle::Written(mark));
        let mut read = sample.iter().filter_map(|cell| Some((cell, otherwise.shown(cell)?)));
        let (cell, value) = read.find(|(cell, value)| read_as.shown(cell).is_some_and(|own| own != *value))?;
        let reading = format!("{} → {value}", shown(cell));
        Some(Self { settles: &[Doubt::Decimal, Doubt::Groups], ..Self::new(&reading, &option("decimal", word), None) })
    }

    /// What the numbers of a column are if their only mark is that of decimals, if they leave it open.
    pub(super) fn of_groups(table: &TableFile, place: usize) -> Option<Self> {
        let sample = table.sample(place).ok()?;
        let found = infer(sample.iter().map(Vec::as_slice), table.decimal());
        let is_open = Doubt::of_column(found) == Some(Doubt::Groups);
        is_open.then(|| Self::of_decimals(&sample, found.kind?, table.decimal()))?
    }

    /// Whether it is what a doubt about the text leaves open.
    pub(super) fn is_of(&self, doubt: Doubt) -> bool {
        self.settles.contains(&doubt)
    }

    fn new(reading: &str, option: &str, warning: Option<&'static str>) -> Self {
        Self { reading: reading.to_owned(), option: option.to_owned(), warning, settles: &[] }
    }

    fn read_as(reading: &str, name: &str, word: &str, warning: Option<&'static str>) -> Self {
        let settles: &[Doubt] = if word == "month-first" { &[Doubt::Dates] } else { &[] };
        Self { settles, ..Self::new(reading, &option("read_as", &format!("{name}={word}")), warning) }
    }
}

/// Whether a level names a sum of other rows: Subtotal, Grand total, Oslo Total.
fn is_sum(level: &str) -> bool {
    let level = level.to_lowercase();
    let level = level.trim_end_matches([':', ' ']);
    level == "subtotal" || level == "total" || level.ends_with(" total") || level.ends_with(" subtotal")
}

/// How many cells of a text there are, and how many are numbers with one decimal mark or the other.
fn numbers_among(texts: &TextSurvey) -> (usize, usize) {
    let is_number =
        |text: &String| [b'.', b','].iter().any(|mark| NumberStyle::Written(*mark).parse(text.as_bytes()).is_some());
    let n_numbers = texts.levels.iter().filter(|(text, _)| is_number(text)).map(|(_, count)| count).sum();
    (texts.levels.values().sum(), n_numbers)
}

/// What a cell of a kind holds, in words.
pub(super) fn a_kind(kind: &ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Boolean => "truth value",
        ColumnKind::Date => "date",
        ColumnKind::Vector(_) => "list of the length of the others",
        _ => "number",
    }
}
