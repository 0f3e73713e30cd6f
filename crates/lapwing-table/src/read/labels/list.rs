//! Labels as a small table: one for each row in order, or columns of rows and labels.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use super::collect::{LabelFileOptions, LabelTexts, NamedLabels, check_count};
use crate::lines::n_fields;
use crate::read::list::{List, Place};
use crate::read::npy::ArrayName;
use crate::read::roles::{is_canonical, is_label_word, label_columns};
use crate::text::{Known, TextTable};
use lapwing_core::bad_names::{BadNames, Tally};
use lapwing_core::row_names::Named;
use lapwing_core::text::{option, quoted};
use lapwing_core::{Error, Result, RowNames, Run, Warning};

/// What a file of labels needs if nodes have names.
pub(super) const TWO_COLUMNS: &str = "give text with a column of nodes and a column of labels";

/// What the first line of a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Header,
    Label,
    /// A header, unless its id or its label comes again.
    Open,
}

/// The places of rows and labels.
#[derive(Clone, Copy)]
struct Columns {
    row: usize,
    label: usize,
    first: First,
}

/// Reads a list in one of its layouts, by the first line.
pub(super) fn read(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelFileOptions<'_>,
) -> Result<NamedLabels> {
    let mut list = List::open(path, known)?;
    let columns = match list.lines() {
        Some(_) => columns_of(list.records.first().map_or(&[], Vec::as_slice), names, options.header),
        None => columns_of(&list.names, names, Some(true)),
    };
    let columns = columns.map_err(|reason| Place::Line(list.first_line.max(1)).error(path, reason))?;
    if list.lines().is_some() && columns.is_some_and(|found| found.first != First::Label) {
        list.take_header()?;
    }
    match (columns, names) {
        (None, _) => in_order(&list, n_rows, options),
        (Some(columns), None) => by_number(&list, columns, n_rows, options),
        (Some(columns), Some(names)) => by_name(&list, columns, names, options),
    }
}

/// What is known of a text: tabs or semicolons are between cells if the first line has these and no comma.
pub(super) fn known(first: &[u8]) -> Known {
    let other = [b'\t', b';'].into_iter().find(|delimiter| first.contains(delimiter));
    let delimiter = other.filter(|_| !first.contains(&b',')).unwrap_or(b',');
    Known { delimiter: Some(delimiter), ..Known::default() }
}

/// The columns that the cells of the first line, or the names of a table, tell; `None` if there is one label for each row, in order.
fn columns_of(cells: &[String], names: Option<&RowNames>, header: Option<bool>) -> Result<Option<Columns>, String> {
    let width = cells.len();
    let Some(names) = names else {
        let found = label_columns(cells, None);
        // Rows are numbered, so two words are a header. A line that begins with a number is none.
        let is_number = || cells[0].parse::<f64>().is_ok();
        let is_header = found.is_some() || (width > 1 && !is_number() && header != Some(false));
        return match (found, width) {
            (_, 0 | 1) => Ok(None),
            (None, 3..) => Err(format!("{}; expected a row number and a label", n_fields(width))),
            (found, _) => {
                let [row, label] = found.unwrap_or([0, 1]);
                Ok(Some(Columns { row, label, first: if is_header { First::Header } else { First::Label } }))
            }
        };
    };
    if width <= 1 {
        return if names.named() == Named::Rows { Ok(None) } else { Err(format!("one field; {TWO_COLUMNS}")) };
    }
    let is_known = |at: usize| names.find(&cells[at]).is_some();
    let found = label_columns(cells, Some(names.column())).filter(|&[row, _]| width > 2 || !is_known(row));
    if let Some([row, label]) = found {
        return Ok(Some(Columns { row, label, first: First::Header }));
    }
    if width > 2 {
        let (noun, column) = (names.noun(), names.column());
        let expected = format!("a column '{column}' of {noun}s and a column 'label', or two columns");
        return Err(format!("{width} columns; expected {expected}"));
    }
    let first = match header {
        _ if is_known(0) => First::Label,
        Some(false) => First::Label,
        Some(true) => First::Header,
        None if cells[0] == names.column() || is_label_word(&cells[1]) => First::Header,
        None => First::Open,
    };
    Ok(Some(Columns { row: 0, label: 1, first }))
}

/// Reads one label for each row. A first line that may be a header is a label if the lines are as many as the rows and it comes again.
fn in_order(list: &List, n_rows: usize, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let texts = match list.lines() {
        Some(text) => {
            let word = list.records.first().and_then(|record| record.first()).cloned().unwrap_or_default();
            let may_be_header = options.header.is_none() && is_label_word(&word);
            let texts = column(text, may_be_header || options.header == Some(true), options)?;
            let is_label = may_be_header && texts.n_rows() + 1 == n_rows && texts.has(&word) && !list.is_once();
            if is_label { column(text, false, options)? } else { texts }
        }
        None => {
            let mut texts = LabelTexts::new(options.unlabeled);
            each_row(list, &[0], |cells, _| {
                texts.push(cells[0]);
                Ok(())
            })?;
            texts
        }
    };
    check_count(ArrayName::from_path(list.table.path()), n_rows, texts.n_rows())?;
    NamedLabels::of_texts(texts)
}

/// The label in each line of a text. Empty lines are rows without a label.
fn column(text: &TextTable, has_header: bool, options: &LabelFileOptions<'_>) -> Result<LabelTexts> {
    let mut texts = LabelTexts::new(options.unlabeled);
    text.each_line(|cells, number| {
        if has_header && number == 1 {
            return Ok(());
        }
        let &[label] = cells else {
            let reason = format!("{}; expected one label, or a row number and a label", n_fields(cells.len()));
            return Err(Place::Line(number).error(text.text.path(), reason));
        };
        texts.push(label);
        Ok(())
    })?;
    Ok(texts)
}

fn by_number(list: &List, columns: Columns, n_rows: usize, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let mut texts = LabelTexts::among(n_rows, options.unlabeled)?;
    // Zeroed pages take no memory before they are written.
    let mut seen = vec![0u64; n_rows.div_ceil(64)];
    each_row(list, &[columns.row, columns.label], |cells, place| {
        let wrong = |reason: String| Err(place.error(list.table.path(), reason));
        let text = cells[0].trim();
        let Some(row) = text.parse::<usize>().ok().filter(|_| is_canonical(text)) else {
            return wrong(format!(
                "'{text}' is no row number; rows are counted from 0; if they have names, say which column of the data holds these ({})",
                option("id", "")
            ));
        };
        if row >= n_rows {
            return wrong(format!("row {row} is out of range; the data has {n_rows} rows, counted from 0"));
        }
        let (word, bit) = (&mut seen[row / 64], 1 << (row % 64));
        if *word & bit != 0 {
            return wrong(format!("a second label for row {row}"));
        }
        *word |= bit;
        // There are fewer rows than 2³².
        texts.put(row as u32, cells[1]);
        Ok(())
    })?;
    NamedLabels::of_texts(texts)
}

fn by_name(list: &List, columns: Columns, names: &RowNames, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let (path, Columns { row, label, first }) = (list.table.path(), columns);
    let first = list.records.first().filter(|_| first == First::Open).map(|cells| [&cells[row], &cells[label]]);
    let mut found = Found {
        names,
        labels: LabelTexts::among(names.len(), options.unlabeled)?,
        texts: RowNames::new("label", Named::Rows),
        first: HashMap::new(),
        n_lines: 0,
        unknown: Tally::default(),
        doubled: Tally::default(),
    };
    let mut comes_again = false;
    each_row(list, &[row, label], |cells, place| {
        let [id, label] = [cells[0].trim(), cells[1]];
        comes_again |= first.is_some_and(|[u, l]| u == id || l == label.trim());
        found.add(id, label, place)
    })?;
    let mut notes = Vec::new();
    if let Some([id, label]) = first {
        match comes_again {
            // A label of an unknown id.
            true => found.add(id, label, Place::Line(list.first_line))?,
            false => notes.push(format!(
                "the first line, {} and {}, is taken for a header; if it is a label, pass {}",
                quoted(id),
                quoted(label),
                option("no_header", "")
            )),
        }
    }
    let mut found = found.finish(path, options.ignore_unknown)?;
    let path = path.display().to_string();
    found.warnings.extend(notes.into_iter().map(|what| Warning::ReadAs { path: path.clone(), what }));
    Ok(found)
}

/// Labels found by the names of their rows so far, and what is wrong with others.
struct Found<'n> {
    names: &'n RowNames,
    labels: LabelTexts,
    /// The distinct texts of labels.
    texts: RowNames,
    /// Text and place of the first label of each labeled row.
    first: HashMap<u32, (u32, Place)>,
    n_lines: usize,
    unknown: Tally,
    doubled: Tally,
}

impl Found<'_> {
    fn add(&mut self, id: &str, label: &str, place: Place) -> Result<()> {
        self.n_lines += 1;
        let Some(row) = self.names.find(id) else {
            self.unknown.note(|| format!("{} in {place}", quoted(id)));
            return Ok(());
        };
        let text = self.texts.intern(label.trim())?;
        match self.first.entry(row) {
            Entry::Vacant(entry) => {
                entry.insert((text, place));
                self.labels.put(row, label);
            }
            Entry::Occupied(entry) if entry.get().0 != text => {
                let (before, first) = *entry.get();
                let (before, now) = (quoted(self.texts.name(before as usize)), quoted(label.trim()));
                self.doubled.note(|| format!("{} is {before} in {first} and {now} in {place}", quoted(id)));
            }
            Entry::Occupied(_) => {}
        }
        Ok(())
    }

    /// The labels, unless there are faults.
    fn finish(self, path: &Path, ignore_unknown: bool) -> Result<NamedLabels> {
        let (n_labels, what) = (self.unknown.count, path.display().to_string());
        let has_unknown = n_labels > 0 && !ignore_unknown;
        if !has_unknown && self.doubled.count == 0 {
            let mut found = NamedLabels::of_texts(self.labels)?;
            let left_out = || Warning::UnknownLabels { n_labels, path: what };
            found.warnings.splice(0..0, (n_labels > 0).then(left_out));
            return Ok(found);
        }
        let advice = if has_unknown { "correct these lines" } else { "keep one label for each" };
        let facts = self.facts(has_unknown);
        Err(Error::names(BadNames { what, facts, advice, has_unknown }))
    }

    /// What is wrong.
    fn facts(&self, has_unknown: bool) -> Vec<String> {
        let (noun, n_rows) = (self.names.noun(), self.names.len());
        let (of_what, rows) = match self.names.named() {
            Named::Rows => (format!("no ids of the column '{}' of the data", self.names.column()), "rows"),
            Named::Nodes => ("no nodes of the graph".into(), "nodes"),
        };
        let mut facts = Vec::new();
        if has_unknown {
            let first = self.names.iter().next().filter(|_| self.unknown.count == self.n_lines);
            let known = first.map_or_else(String::new, |name| format!(", where the first is {}", quoted(name)));
            facts.push(format!(
                "{} of {} {noun}s are {of_what}{known} {}",
                self.unknown.count,
                self.n_lines,
                self.unknown.list()
            ));
        }
        if self.doubled.count > 0 {
            let give = if self.doubled.count == 1 { "gives" } else { "give" };
            let again = format!("{} {give} a second label to {noun}s that have another", self.doubled.counted("line"));
            facts.push(format!("{again} {}", self.doubled.list()));
        }
        if self.n_lines > n_rows {
            facts.push(format!("{} labels for {n_rows} {rows}", self.n_lines));
        }
        facts
    }
}

/// Hands the texts of some columns of every row to `take`.
fn each_row(list: &List, columns: &[usize], mut take: impl FnMut(&[&str], Place) -> Result<()>) -> Result<()> {
    let run = Run::new(Some(1), 0)?;
    let mut rows = list.rows(columns, columns.len(), 0, true)?;
    while let Some(found) = rows.next(usize::MAX, &run)? {
        let cells = [0, 1].map(|column| rows.cells(column));
        for at in found {
            take(&cells.map(|cells| cells.text(at))[..columns.len()], rows.place(at))?;
        }
    }
    Ok(())
}
