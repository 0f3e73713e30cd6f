//! Labels of rows by their names.

use std::path::Path;

use super::collect::{LabelTexts, NamedLabels};
use crate::read::list::Place;
use lapwing_core::row_names::{BadNames, Named, Tally, quoted};
use lapwing_core::{Error, Result, RowNames, memory};

/// Labels found so far, and what is wrong with others.
pub(super) struct Found<'n> {
    names: &'n RowNames,
    labels: LabelTexts,
    /// The distinct texts of labels.
    texts: RowNames,
    /// For each row, the number of its entry plus 1; 0 if it has none (n).
    entry_of: Vec<u32>,
    /// Text and place of the first label of each labeled row.
    entries: Vec<(u32, Place)>,
    n_lines: usize,
    unknown: Tally,
    doubled: Tally,
}

impl<'n> Found<'n> {
    pub(super) fn new(names: &'n RowNames, unlabeled: Option<&str>) -> Result<Self> {
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

    pub(super) fn add(&mut self, id: &str, label: &str, place: Place) -> Result<()> {
        self.n_lines += 1;
        let Some(row) = self.names.find(id) else {
            self.unknown.note(|| format!("{} in {place}", quoted(id)));
            return Ok(());
        };
        let text = self.texts.intern(label.trim())?;
        let Some(entry) = self.entry_of[row as usize].checked_sub(1) else {
            self.entries.push((text, place));
            // There are fewer rows than 2³², and one entry for each at most.
            self.entry_of[row as usize] = self.entries.len() as u32;
            self.labels.put(row, label);
            return Ok(());
        };
        let (first_text, first) = self.entries[entry as usize];
        if first_text != text {
            let (before, now) = (quoted(self.texts.name(first_text as usize)), quoted(label.trim()));
            self.doubled.note(|| format!("{} is {before} in {first} and {now} in {place}", quoted(id)));
        }
        Ok(())
    }

    /// The labels, unless there are faults.
    pub(super) fn finish(self, path: &Path, ignore_unknown: bool) -> Result<NamedLabels> {
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
