//! Labels of rows by their names.

use std::path::Path;

use super::text::{Lines, read_column};
use super::{LabelFileOptions, LabelTexts, read_label_file};
use crate::read::fields::n_fields;
use crate::read::roles::{is_label_word, label_columns};
use lapwing_core::row_names::{BadNames, Named, Tally, quoted};
use lapwing_core::{Error, Result, RowNames, SparseLabels, Warning, memory};

/// Labels that were found by the names of their rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NamedLabels {
    /// The labels.
    pub labels: SparseLabels,
    /// Labels of unknown names, which were left out.
    pub n_unknown: usize,
    /// What to look at in the first line and in the labels.
    pub warnings: Vec<Warning>,
}

/// Reads the labels of rows with names from a file of their own; `ignore_unknown` leaves labels of other names out.
///
/// Text with commas or tabs, also `.gz` and `.zst`: a header that names a column as the ids are named (or `id`, `row`, `node`, `name`)
/// and a column `label` (or `class`, `target`, `y`), other columns being ignored; or two columns of any names, ids first. The first
/// line is a header if it starts with no known id, and neither its words nor its label come again. A second line with the same label for an id counts as one. For rows of a table also, in their order,
/// one label a line or a `.npy`, as [`read_labels`](super::read_labels) reads them. Texts that mean no label are those of `read_labels`.
///
/// # Errors
/// [`Error::Names`] with the numbers, and the first few, of all unknown ids and of all ids with two labels; [`Error::Format`]
/// naming a malformed line, or for columns that are not there; [`Error::Shape`] if there are more or fewer labels in order than rows.
///
/// # Complexity
/// One pass; 4 bytes for each row and 32 for each line.
pub fn read_named_labels(
    path: &Path,
    names: &RowNames,
    unlabeled: Option<&str>,
    ignore_unknown: bool,
) -> Result<NamedLabels> {
    let options = LabelFileOptions { unlabeled, ignore_unknown, ..LabelFileOptions::default() };
    read_label_file(path, names.len(), Some(names), &options)
}

/// Reads a text.
pub(super) fn read(path: &Path, names: &RowNames, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let mut lines = Lines::open(path)?;
    if !lines.next()? {
        return Err(Error::format(path, None, "the file is empty"));
    }
    lines.tell_delimiter()?;
    if lines.n_fields() == 1 && names.named() == Named::Rows {
        return read_column(lines, names.len(), options);
    }
    let columns = Columns::of(&lines, names, options.header)?;
    let mut found = Found::new(names, options.unlabeled)?;
    let fields = |lines: &Lines<'_>| [lines.field(columns.id), lines.as_written(columns.label)].map(str::to_owned);
    let first = (columns.first == First::Open).then(|| (fields(&lines), lines.number()));
    let (mut has_line, mut comes_again) = (columns.first == First::Label || lines.next()?, false);
    while has_line {
        if !lines.is_blank() {
            columns.check(&lines)?;
            let (id, label) = (lines.field(columns.id), lines.as_written(columns.label));
            comes_again |= first.as_ref().is_some_and(|([u, l], _)| u == id || l.trim() == label.trim());
            found.add(id, label, lines.number())?;
        }
        has_line = lines.next()?;
    }
    let mut notes = Vec::new();
    if let Some(([id, label], line)) = first {
        match comes_again {
            // A label of an unknown id.
            true => found.add(&id, &label, line)?,
            false => notes.push(format!(
                "the first line, {} and {}, is taken for a header; if it is a label, pass --no-header",
                quoted(&id),
                quoted(label.trim())
            )),
        }
    }
    let mut found = found.finish(path, options.ignore_unknown)?;
    let path = path.display().to_string();
    found.warnings.extend(notes.into_iter().map(|what| Warning::ReadAs { path: path.clone(), what }));
    Ok(found)
}

/// What a file of labels needs if nodes have names.
pub(super) const TWO_COLUMNS: &str = "give text with a column of nodes and a column of labels";

/// What the first line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Header,
    Label,
    /// A header, unless its id or its label comes again.
    Open,
}

/// The places of ids and labels in a line.
struct Columns {
    id: usize,
    label: usize,
    width: usize,
    first: First,
}

impl Columns {
    /// The columns, by the first line.
    fn of(lines: &Lines<'_>, names: &RowNames, header: Option<bool>) -> Result<Self> {
        let width = lines.n_fields();
        let fields: Vec<String> = (0..width).map(|at| lines.field(at).to_owned()).collect();
        let is_known = |at: usize| names.find(&fields[at]).is_some();
        if let Some([id, label]) =
            label_columns(&fields, Some(names.column())).filter(|&[id, _]| width > 2 || !is_known(id))
        {
            return Ok(Self { id, label, width, first: First::Header });
        }
        let first = |is_known: bool| match header {
            _ if is_known => First::Label,
            Some(false) => First::Label,
            Some(true) => First::Header,
            None if fields[0] == names.column() || is_label_word(&fields[1]) => First::Header,
            None => First::Open,
        };
        match width {
            2 => Ok(Self { id: 0, label: 1, width, first: first(is_known(0)) }),
            1 => Err(lines.error(format!("one field; {TWO_COLUMNS}"))),
            _ => {
                let (noun, column) = (names.noun(), names.column());
                let expected = format!("a column '{column}' of {noun}s and a column 'label', or two columns");
                Err(lines.error(format!("{width} columns; expected {expected}")))
            }
        }
    }

    fn check(&self, lines: &Lines<'_>) -> Result<()> {
        match lines.n_fields() {
            found if found == self.width => Ok(()),
            found => Err(lines.error(format!("{}; the first line has {}", n_fields(found), self.width))),
        }
    }
}

/// Labels found so far, and what is wrong with others.
struct Found<'n> {
    names: &'n RowNames,
    labels: LabelTexts,
    /// The distinct texts of labels.
    texts: RowNames,
    /// For each row, the number of its entry plus 1; 0 if it has none (n).
    entry_of: Vec<u32>,
    /// Text and line of the first label of each labeled row.
    entries: Vec<(u32, u64)>,
    n_lines: usize,
    unknown: Tally,
    doubled: Tally,
}

impl<'n> Found<'n> {
    fn new(names: &'n RowNames, unlabeled: Option<&str>) -> Result<Self> {
        Ok(Self {
            names,
            labels: LabelTexts::among(names.len(), unlabeled)?,
            texts: RowNames::new("label", Named::Rows),
            entry_of: memory::zeros("the places of labels", names.len(), "label rows by their numbers")?,
            entries: Vec::new(),
            n_lines: 0,
            unknown: Tally::default(),
            doubled: Tally::default(),
        })
    }

    fn add(&mut self, id: &str, label: &str, line: u64) -> Result<()> {
        self.n_lines += 1;
        let Some(row) = self.names.find(id) else {
            self.unknown.note(|| format!("{} in line {line}", quoted(id)));
            return Ok(());
        };
        let text = self.texts.intern(label.trim())?;
        let Some(first) = self.entry_of[row as usize].checked_sub(1) else {
            self.entries.push((text, line));
            // There are fewer rows than 2³², and one entry for each at most.
            self.entry_of[row as usize] = self.entries.len() as u32;
            self.labels.put(row, label);
            return Ok(());
        };
        let (first_text, first_line) = self.entries[first as usize];
        if first_text != text {
            let (before, now) = (quoted(self.texts.name(first_text as usize)), quoted(label.trim()));
            self.doubled.note(|| format!("{} is {before} in line {first_line} and {now} in line {line}", quoted(id)));
        }
        Ok(())
    }

    /// The labels, unless there are faults.
    fn finish(self, path: &Path, ignore_unknown: bool) -> Result<NamedLabels> {
        let n_unknown = self.unknown.count;
        let has_unknown = n_unknown > 0 && !ignore_unknown;
        if !has_unknown && self.doubled.count == 0 {
            let warnings = self.labels.spaced().into_iter().collect();
            return Ok(NamedLabels { labels: self.labels.finish()?, n_unknown, warnings });
        }
        let what = path.display().to_string();
        let advice = if has_unknown { "correct these lines" } else { "keep one label for each" };
        let facts = self.facts(has_unknown);
        Err(Error::names(BadNames { what, facts, advice, has_unknown }))
    }

    fn facts(&self, has_unknown: bool) -> Vec<String> {
        let (noun, n_rows) = (self.names.noun(), self.names.len());
        let (of_what, rows) = match self.names.named() {
            Named::Rows => (format!("no ids of the column '{}' of the data", self.names.column()), "rows"),
            Named::Nodes => ("no nodes of the graph".into(), "nodes"),
        };
        let mut facts = Vec::new();
        if has_unknown {
            let known = self
                .names
                .iter()
                .next()
                .map_or_else(String::new, |name| format!(", where the first is {}", quoted(name)));
            let known = if self.unknown.count == self.n_lines { known } else { String::new() };
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
