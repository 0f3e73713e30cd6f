//! What was found in a table and done with it, column by column, in words.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::choose::Verdict;
use super::columns::{Column, Surveyed};
use super::notes::{ColumnSummary, Example, Other, Told, Unfit};
use super::recipe::{LeftOut, Recipe, Step};
use super::survey::{Cells, Survey};
use super::terms::Tokens;
use crate::cell::{CellType, DateStyle};
use crate::read::{ColumnKind, Dialect, Doubt, Separator};
use lapwing_core::text::{option, times};
use lapwing_core::{Report, Spreads, Standardize, Warning};

/// The most frequent levels that are listed.
const MAX_LISTED: usize = 5;

/// A table and what is done with its columns.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// Number of rows.
    pub n_rows: usize,
    /// How the cells of a text are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// What the text does not tell about that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// What was passed over in a text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// The columns that may be features.
    pub columns: Vec<ColumnSummary>,
    /// Number of features.
    pub n_features: usize,
    /// Whether these are sparse.
    pub is_sparse: bool,
    /// Whether numbers are scaled, and why.
    pub scaling: Option<String>,
    /// How many times the largest spread of numbers is the smallest, if they are left although they differ.
    #[serde(skip)]
    ratio: Option<f64>,
    /// The same, if they are scaled because of it.
    #[serde(skip)]
    ratio_scaled: Option<f64>,
}

impl Description {
    /// What was found in a table, what `recipe` does with it, and what the labels decided about scaling, if they were asked.
    pub(super) fn new(
        table: &Surveyed,
        recipe: &Recipe,
        standardize: Standardize,
        spreads: Option<Spreads>,
        verdict: Option<Verdict>,
    ) -> Self {
        let Surveyed { table: file, columns, .. } = table;
        let summary = |at: usize| {
            let (column, Column { survey, reading, .. }) = (&recipe.columns[at], &columns[at]);
            let unfit = Unfit::of(&columns[at].tally, survey);
            let (n_distinct, is_estimate, values) = found(survey);
            let is_told = recipe.gaps.as_ref().is_some_and(|gaps| gaps.fills(at));
            // Whether all dates leave the order of day and month open.
            let is_dated = file.doubts().contains(&Doubt::Dates)
                && reading.cells == Some(CellType::Date(DateStyle::DayFirst))
                && matches!(survey.cells, Cells::Dates { has_late_day: false, .. });
            let are_open = file.doubts().contains(&Doubt::Groups);
            let groups = are_open.then(|| Other::of_groups(file, columns[at].place));
            let other = groups.flatten().or_else(|| Other::of(column, survey, is_dated));
            let other = other.filter(|_| !columns[at].is_given);
            ColumnSummary {
                name: column.name.clone(),
                kind: column.kind.clone(),
                n_missing: survey.n_missing,
                n_distinct: n_distinct.map(|n| n.min(survey.n_filled())),
                is_estimate,
                values,
                done: done(&column.step, survey, is_told),
                example: None,
                unfit,
                other,
                tells_labels: None,
                sentinel: reading.sentinel,
            }
        };
        let summaries: Vec<ColumnSummary> = (0..recipe.columns.len()).map(summary).collect();
        let has_other =
            |doubt: Doubt| summaries.iter().any(|column| column.other.as_ref().is_some_and(|other| other.is_of(doubt)));
        let is_open = |doubt: &Doubt| !matches!(doubt, Doubt::Dates | Doubt::Groups) || has_other(*doubt);
        let doubts = file.doubts().iter().copied().filter(is_open).collect();
        let is_auto = standardize == Standardize::Auto;
        let is_left = is_auto && !recipe.is_scaled && spreads.is_some_and(|spreads| spreads.differ);
        let ratio = spreads.map(|spreads| spreads.ratio);
        let decides =
            is_auto && recipe.is_scaled && spreads.is_some_and(|spreads| spreads.decide) && are_numbers(recipe);
        Self {
            n_rows: table.n_rows,
            dialect: file.dialect(),
            doubts,
            passed: table.passed.clone(),
            columns: summaries,
            n_features: recipe.n_features(),
            is_sparse: recipe.is_sparse,
            scaling: scaling(recipe, is_auto, spreads.filter(|_| is_auto), verdict),
            ratio: ratio.filter(|_| is_left && verdict.is_none()),
            ratio_scaled: ratio.filter(|_| decides).or(verdict.filter(|verdict| verdict.scale).map(|_| 0.0)),
        }
    }

    /// Adds an example of each column whose cells are texts, and what numbers mean with the other decimal mark, if that is open.
    pub(super) fn add_examples(&mut self, Surveyed { table, columns, .. }: &Surveyed, recipe: &Recipe) {
        let is_open = self.doubts.contains(&Doubt::Decimal);
        for (at, column) in self.columns.iter_mut().enumerate() {
            let (place, read_as) = (columns[at].place, columns[at].reading.cells);
            let Some(read_as) = read_as.filter(|_| table.is_stored_text(place)) else { continue };
            let sample = table.sample(place).unwrap_or_default();
            column.example = Example::of(&sample, read_as, &recipe.columns[at].step);
            let is_number = is_open && matches!(read_as, CellType::Number(_));
            let decimals = || is_number.then(|| Other::of_decimals(&sample, read_as, table.decimal())).flatten();
            column.other = column.other.take().or_else(decimals);
        }
    }

    /// Adds which columns alone tell so many labels.
    pub(super) fn add_leaks(&mut self, (found, n_rows): (Vec<(usize, String)>, usize)) {
        found.into_iter().for_each(|(at, how)| self.columns[at].tells_labels = Some(Told { how, n_rows }));
    }

    /// What to look at: cells that do not fit, doubts about the text, units that differ.
    pub fn warnings(&self, path: &Path) -> Vec<Warning> {
        let unfit = self.columns.iter().filter_map(ColumnSummary::unfit_warning);
        let path = || path.display().to_string();
        let doubts = self.doubts.iter().map(|doubt| {
            let (what, advice) = doubt_text(*doubt, self.dialect);
            let other = self.columns.iter().find_map(|column| {
                let other = column.other.as_ref().filter(|other| other.is_of(*doubt))?;
                Some(match doubt {
                    Doubt::Groups => {
                        let (name, Other { reading, option, .. }) = (&column.name, other);
                        format!("those of column '{name}' are taken as whole; {option} reads {reading}")
                    }
                    _ => format!("{} takes {}", other.option, other.reading),
                })
            });
            let advice = other.unwrap_or(advice);
            Warning::DoubtfulText { file: path(), what, advice }
        });
        let doubtful = self.columns.iter().flat_map(ColumnSummary::doubts);
        let ratio = self.ratio.map(|ratio| Warning::UnequalSpreads { ratio });
        let sentinels = self.columns.iter().filter_map(|column| {
            let value = format!("{}", column.sentinel?);
            Some(Warning::Sentinel { column: column.name.clone(), value })
        });
        let passed =
            (!self.passed.is_empty()).then(|| Warning::PassedLines { file: path(), what: self.passed.join("; ") });
        let unusable = self.columns.iter().filter_map(|column| match &column.kind {
            ColumnKind::Other(stored) => {
                Some(Warning::UnusableColumn { column: column.name.clone(), stored: stored.clone() })
            }
            _ => None,
        });
        passed
            .into_iter()
            .chain(unusable)
            .chain(unfit)
            .chain(sentinels)
            .chain(doubts)
            .chain(doubtful)
            .chain(ratio)
            .collect()
    }

    /// The line about how a text was read, if it is not plain CSV.
    pub fn reading(&self) -> Option<String> {
        let dialect = self.dialect?;
        let mut parts = Vec::new();
        match dialect.delimiter {
            b',' => {}
            b'\t' => parts.push("cells between tabs".to_owned()),
            b' ' => parts.push("cells between blanks".to_owned()),
            _ if dialect.separator == Separator::Long => parts.push("cells between marks of several bytes".to_owned()),
            other => parts.push(format!("cells between '{}'", char::from(other))),
        }
        parts.extend((dialect.encoding != "UTF-8").then(|| dialect.encoding.to_owned()));
        parts.extend((dialect.decimal == b',').then(|| "decimal commas".to_owned()));
        parts.extend((dialect.quote == Some(b'\'')).then(|| "single quotes".to_owned()));
        parts.extend(dialect.quote.is_none().then(|| "quotes that are part of cells".to_owned()));
        parts.extend(dialect.escape.is_some().then(|| "backslashes before quotes".to_owned()));
        parts.extend((!dialect.has_header).then(|| "no header: columns are numbered from 0".to_owned()));
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Adds what was done to a report.
    pub fn report(&self, report: &mut Report) {
        let mut part = json!(self);
        if let Some(reading) = self.reading() {
            part["reading"] = json!(reading);
        }
        report.parts.insert("prepare".into(), part);
        if let Some(text) = &self.scaling {
            report
                .parts
                .insert("scaling".into(), json!({"kind": "standardize", "ratio": self.ratio_scaled, "text": text}));
        }
    }
}

/// What is in doubt, and what settles it.
fn doubt_text(doubt: Doubt, dialect: Option<Dialect>) -> (&'static str, String) {
    let dialect = dialect.unwrap_or_default();
    let by = |name: &str, value: &str, does: &str| format!("{} {does}", option(name, value));
    match doubt {
        Doubt::Delimiter => ("cells may be separated by another character", by("delimiter", "", "names it")),
        Doubt::Header if dialect.has_header => (
            "the first line may be a row; it is taken as the names of the columns",
            by("no_header", "", "makes it a row"),
        ),
        Doubt::Header => {
            ("the first line may name the columns; it is taken as a row", by("header", "", "makes it their names"))
        }
        Doubt::Decimal if dialect.decimal == b',' => (
            "numbers such as 1,234 may be whole; the comma is taken as the decimal mark",
            by("decimal", "point", "makes them whole"),
        ),
        Doubt::Decimal => (
            "numbers with one mark before three digits may be whole or have decimals; a point is taken as the decimal mark",
            by("decimal", "comma", "takes the comma"),
        ),
        Doubt::Groups => (
            "all numbers of a column have three digits behind their only mark, which may separate thousands or decimals",
            by("decimal", "", "says which"),
        ),
        Doubt::Dates => (
            "dates such as 03/04/2024 may start with the day or the month; the day is taken",
            "dates written as 2024-04-03 leave no doubt".to_owned(),
        ),
    }
}

/// Whether all columns that are used are numbers.
fn are_numbers(recipe: &Recipe) -> bool {
    recipe.columns.iter().all(|column| matches!(column.step, Step::Number { .. } | Step::LeaveOut { .. }))
}

/// Whether numbers are scaled, and why.
fn scaling(recipe: &Recipe, is_auto: bool, spreads: Option<Spreads>, verdict: Option<Verdict>) -> Option<String> {
    let numbers = |step: &Step| matches!(step, Step::Number { .. } | Step::Date { .. } | Step::Ordered { .. });
    let n = recipe.columns.iter().filter(|column| numbers(&column.step)).count();
    if !recipe.is_scaled || n == 0 {
        return None;
    }
    let reason = match (spreads.filter(|spreads| spreads.decide), verdict) {
        (_, Some(Verdict { n_rows, n_right_raw, n_right_scaled, .. })) => {
            format!(": {n_right_scaled} of {n_rows} labels are then those of the nearest other, {n_right_raw} without")
        }
        _ if !are_numbers(recipe) => ", so that every column weighs about the same".to_owned(),
        (Some(spreads), _) => format!(", because their spreads differ by up to {} times", times(spreads.ratio)),
        (None, _) => ", as asked".to_owned(),
    };
    let columns = if n == 1 { "1 column".to_owned() } else { format!("{n} columns") };
    let to = if is_auto { "one width" } else { "mean 0 and deviation 1" };
    Some(format!("{columns} to {to}{reason}"))
}

/// The number of different values, whether it is an estimate, and the range or the most frequent levels.
fn found(survey: &Survey) -> (Option<usize>, bool, Option<String>) {
    match &survey.cells {
        Cells::Numbers(numbers) if survey.n_filled() > 0 => {
            let ((least, most), median) = (numbers.limits(), numbers.sample.median());
            let range = format!("{} to {}, median {}", short(least), short(most), short(median));
            let n = numbers.n_distinct();
            (n, n.is_some() && !numbers.distinct.is_exact(), Some(range))
        }
        Cells::Truths { n_true } => (None, false, Some(format!("{n_true} true"))),
        Cells::Texts(texts) => {
            let levels = texts.by_count();
            let shown = |(level, count): &(&str, usize)| {
                let level: String = level.chars().take(24).map(|c| if c.is_control() { ' ' } else { c }).collect();
                format!("{level} ({count})")
            };
            let mut listed: Vec<String> = levels.iter().take(MAX_LISTED).map(shown).collect();
            listed.extend((levels.len() > MAX_LISTED).then(|| "…".to_owned()));
            (Some(texts.distinct.count()), !texts.distinct.is_exact(), Some(listed.join(", ")))
        }
        Cells::Dates { limits: Some((first, last)), .. } => {
            (None, false, Some(format!("{} to {}", day(*first), day(*last))))
        }
        Cells::Vectors(moments) => (None, false, Some(format!("{} numbers", moments.len()))),
        _ => (None, false, None),
    }
}

/// The day of a date.
fn day(micros: i64) -> String {
    chrono::DateTime::from_timestamp_micros(micros).map_or_else(String::new, |date| date.format("%Y-%m-%d").to_string())
}

/// A number to four digits.
fn short(x: f64) -> String {
    let size = x.abs();
    match size {
        _ if x == x.trunc() && size < 1e9 => format!("{x}"),
        _ if (1e-3..1e6).contains(&size) => {
            let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.3e}"),
    }
}

/// What is done with a column, in words; `is_told` says that its gaps are told from other columns.
fn done(step: &Step, survey: &Survey, is_told: bool) -> String {
    let gaps = |with: &str| match survey.n_missing {
        0 => String::new(),
        1 => format!("; 1 gap {with}"),
        n => format!("; {n} gaps {with}"),
    };
    match step {
        Step::LeaveOut { reason } => format!("left out: {}", left_out(*reason)),
        Step::Number { fill, scale, log, gap, .. } => {
            let mut scaled = match log {
                Some(_) => format!("logarithm of the number, divided by {}", short(*scale)),
                None if *scale == 1.0 => "number".to_owned(),
                None => format!("number, divided by {}", short(*scale)),
            };
            if names_rows(survey) {
                scaled += "; all cells differ: drop it if it names the rows";
            }
            let with = match gap {
                None => String::new(),
                Some(_) if is_told => "filled from the other numbers of the row and marked".to_owned(),
                Some(_) => format!("filled with {} and marked", short(*fill)),
            };
            scaled + &gaps(&with)
        }
        Step::Boolean { .. } => "true or false".to_owned() + &gaps("filled and marked"),
        Step::Category { levels, .. } => {
            let columns = match levels.len() {
                1 => "1 level, a column for it".to_owned(),
                n => format!("{n} levels, a column for each"),
            };
            columns + &gaps("as a level of their own")
        }
        Step::Ordered { levels, .. } => {
            let (first, last) = (levels.first().map_or("", |level| level), levels.last().map_or("", |level| level));
            format!("{} levels in order, '{first}' to '{last}'", levels.len()) + &gaps("filled and marked")
        }
        Step::Date { parts, .. } => {
            let words: Vec<&str> = parts.iter().map(|(part, ..)| part.word()).collect();
            format!("date: {}", words.join(", ")) + &gaps("filled with the median and marked")
        }
        Step::Text { terms, weight } => {
            let n = terms.len();
            let what = match terms.tokens {
                Tokens::Words => format!("text: {n} terms"),
                Tokens::Pieces(mark) => format!("list with '{mark}': {n} entries"),
                Tokens::Characters => format!("characters: {n} runs of 2 to 4"),
            };
            format!("{what} (TF-IDF), weight {}", short(weight * weight)) + &gaps("left empty")
        }
        Step::Vector { fill, weight, scales, .. } => {
            let weighed = match weight {
                _ if !scales.is_empty() => ", each scaled as a number".to_owned(),
                Some(weight) => format!(", to one length, weight {}", short(weight * weight)),
                None => String::new(),
            };
            format!("list of {} numbers{weighed}", fill.len()) + &gaps("filled with the means and marked")
        }
    }
}

/// Why a column is no feature.
fn left_out(reason: LeftOut) -> &'static str {
    match reason {
        LeftOut::Empty => "all cells are missing",
        LeftOut::Constant => "all cells are equal",
        LeftOut::Identifier => "names the rows, all cells differ",
        LeftOut::Counter => "counts the rows",
        LeftOut::Type => "its type cannot be used",
    }
}

/// Whether whole numbers may name the rows: all differ, and most have many digits.
fn names_rows(survey: &Survey) -> bool {
    let Cells::Numbers(numbers) = &survey.cells else { return false };
    let are_long = numbers.are_integers() && numbers.sample.median().abs() >= 1e5;
    are_long && survey.n_filled() >= 20 && numbers.distinct.unique_share() == 1.0
}
