//! Names of rows, or of the nodes of a graph: which row has a name, and what is wrong with names.
//!
//! All names stand in one text. A table of 32-bit numbers finds them by their hashes (open addressing, linear probing, at
//! most two thirds full).
//!
//! Memory: the bytes of the names and 14 to 20 bytes for each. Time: O(1) expected for each name.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use crate::bad_names::Tally;
use crate::memory::{self, ask};
use crate::text::{parse_integer, quoted};
use crate::{BadNames, Error, Result};

/// Stands for no row in the table of hashes.
const FREE: u32 = u32::MAX;

/// Advice for names that need more memory than there is.
const ADVICE: &str = "number the rows from 0 instead of naming them";

/// What has the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Rows of a table: the names are the cells of a column.
    Rows,
    /// Nodes of a list of edges, in the order in which they appear first.
    Nodes,
}

/// The names of n rows, all different.
///
/// # Example
/// ```
/// # use lapwing_core::RowNames;
/// let names = RowNames::of_rows("id", ["p7", "p3"])?;
/// assert_eq!((names.len(), names.name(1), names.find("p7"), names.find("p1")), (2, "p3", Some(0), None));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone)]
pub struct RowNames {
    column: String,
    named: Named,
    /// All names, one behind the other.
    text: String,
    /// End of each name in `text` (n).
    ends: Vec<usize>,
    /// Rows, each at or behind the place that its hash chooses.
    table: Vec<u32>,
    hasher: RandomState,
    are_integers: bool,
}

impl RowNames {
    /// No names yet, of the column `column`.
    pub fn new(column: &str, named: Named) -> Self {
        let (text, ends, table) = (String::new(), Vec::new(), vec![FREE; 16]);
        Self { column: column.into(), named, text, ends, table, hasher: RandomState::new(), are_integers: true }
    }

    /// The names of rows, in their order.
    ///
    /// # Errors
    /// [`Error::Names`] for names that are empty or not all different; [`Error::TooLarge`].
    pub fn of_rows<S: AsRef<str>>(column: &str, names: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut ids = Ids::new(column);
        names.into_iter().try_for_each(|name| ids.push(name.as_ref(), None))?;
        ids.finish(&format!("column '{column}'"))
    }

    /// Name of the column that holds the names; `node` for nodes.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// What has the names.
    pub fn named(&self) -> Named {
        self.named
    }

    /// Number of names n.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of row `row`.
    pub fn name(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }

    /// All names, in the order of the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|row| self.name(row))
    }

    /// The row of that name, without spaces around it.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.place(name.trim()).ok()
    }

    /// Whether every name is an integer as a program writes it: `7`, but not `007`, `+7` or `7.0`.
    pub fn are_integers(&self) -> bool {
        self.are_integers
    }

    /// The names behind the first `n`.
    pub fn without_first(&self, n: usize) -> Result<Self> {
        let mut names = Self::new(&self.column, self.named);
        (n..self.len()).try_for_each(|row| names.append(self.name(row)))?;
        Ok(names)
    }

    /// The row of a name, which becomes the next row if it is new.
    pub fn intern(&mut self, name: &str) -> Result<u32> {
        match self.place(name) {
            Ok(row) => Ok(row),
            Err(_) => self.append(name).map(|()| self.len() as u32 - 1),
        }
    }

    /// Adds the next row; returns the first row of that name, if there is one already.
    fn push(&mut self, name: &str) -> Result<Option<u32>> {
        let first = self.place(name).ok();
        match first {
            // Without a place in the table: the first row of the name has it.
            Some(_) => self.store(name)?,
            None => self.append(name)?,
        }
        Ok(first)
    }

    /// Adds a name that is new.
    fn append(&mut self, name: &str) -> Result<()> {
        if self.len() >= FREE as usize {
            return Err(Error::shape("the list of names", format!("at most {FREE} names"), "more"));
        }
        if 3 * (self.len() + 1) > 2 * self.table.len() {
            self.grow()?;
        }
        if let Err(free) = self.place(name) {
            self.table[free] = self.len() as u32;
        }
        self.store(name)
    }

    fn store(&mut self, name: &str) -> Result<()> {
        let bytes = (self.text.len() + name.len()) as u64;
        let too_large = |_| Error::too_large("the list of names", bytes, isize::MAX as u64, ADVICE);
        ask(|| self.text.try_reserve(name.len())).map_err(too_large)?;
        ask(|| self.ends.try_reserve(1)).map_err(too_large)?;
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.are_integers &= parse_integer(name).is_some();
        Ok(())
    }

    /// The row of a name; else the free place for it in the table.
    fn place(&self, name: &str) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut at = self.hasher.hash_one(name) as usize & mask;
        loop {
            match self.table[at] {
                FREE => return Err(at),
                row if self.name(row as usize) == name => return Ok(row),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Doubles the table.
    fn grow(&mut self) -> Result<()> {
        let larger = memory::filled("the list of names", 2 * self.table.len(), FREE, ADVICE)?;
        for row in std::mem::replace(&mut self.table, larger).into_iter().filter(|row| *row != FREE) {
            if let Err(free) = self.place(self.name(row as usize)) {
                self.table[free] = row;
            }
        }
        Ok(())
    }

    /// What a name is called in messages.
    pub fn noun(&self) -> &'static str {
        match self.named {
            Named::Rows => "id",
            Named::Nodes => "node",
        }
    }
}

/// Equal names in the same order, of columns of the same name.
impl PartialEq for RowNames {
    fn eq(&self, other: &Self) -> bool {
        (&self.column, self.named, &self.text, &self.ends) == (&other.column, other.named, &other.text, &other.ends)
    }
}

impl fmt::Debug for RowNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, named, .. } = self;
        let mut debug = f.debug_struct("RowNames");
        debug.field("column", column).field("named", named).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Collects the ids of rows, with all that is wrong with them.
pub struct Ids {
    names: RowNames,
    lines: Lines,
    empty: Tally,
    doubled: Tally,
}

impl Ids {
    pub fn new(column: &str) -> Self {
        let names = RowNames::new(column, Named::Rows);
        Self { names, lines: Lines::default(), empty: Tally::default(), doubled: Tally::default() }
    }

    /// Adds the id of the next row, which stands in line `line` of a text.
    pub fn push(&mut self, id: &str, line: Option<u64>) -> Result<()> {
        let row = self.names.len();
        self.lines.add(row, line);
        let (id, lines) = (id.trim(), &self.lines);
        if id.is_empty() {
            self.empty.note(|| lines.place(row));
            return self.names.store("");
        }
        if let Some(first) = self.names.push(id)? {
            self.doubled.note(|| format!("{} in {} and {}", quoted(id), lines.place(first as usize), lines.place(row)));
        }
        Ok(())
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The names, which must be all different and not empty; `what` is the file.
    pub fn finish(self, what: &str) -> Result<RowNames> {
        let Self { names, empty, doubled, .. } = self;
        let mut facts = Vec::new();
        if empty.count > 0 {
            let have = if empty.count == 1 { "has" } else { "have" };
            facts.push(format!("{} {have} no id {}", empty.counted("row"), empty.list()));
        }
        if doubled.count > 0 {
            let repeat = if doubled.count == 1 { "repeats" } else { "repeat" };
            let (rows, list) = (doubled.counted("row"), doubled.list());
            facts.push(format!("{rows} {repeat} an id of the column '{}' {list}", names.column));
        }
        if facts.is_empty() {
            return Ok(names);
        }
        let advice = "give every row an id of its own, or number the rows by leaving the id column out";
        Err(Error::names(BadNames { what: what.into(), facts, advice, has_unknown: false }))
    }
}

/// The lines of the rows of a text: in most files, all rows are equally far from the numbers of their lines.
#[derive(Debug, Default)]
struct Lines {
    /// Rows from which on the line has another distance from the row, with that distance.
    distances: Vec<(usize, u64)>,
}

impl Lines {
    fn add(&mut self, row: usize, line: Option<u64>) {
        let Some(distance) = line.and_then(|line| line.checked_sub(row as u64)) else { return };
        if self.distances.last().is_none_or(|last| last.1 != distance) {
            self.distances.push((row, distance));
        }
    }

    /// The line of a row; its number, counted from 0, in a file without lines.
    fn place(&self, row: usize) -> String {
        let after = self.distances.partition_point(|(first, _)| *first <= row);
        match after.checked_sub(1).map(|at| self.distances[at].1) {
            Some(distance) => format!("line {}", row as u64 + distance),
            None => format!("row {row}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_among_many() {
        let names: Vec<String> = (0..20_000u64).map(|at| format!("n{}", crate::hash::mix(at))).collect();
        let found = RowNames::of_rows("id", &names).unwrap();
        assert_eq!(found.len(), names.len());
        assert!(names.iter().enumerate().all(|(row, name)| found.find(name) == Some(row as u32)));
        assert!(found.iter().eq(names.iter().map(String::as_str)));
        assert!(found.find("n").is_none() && found.find(" n16294208416658607535 ").is_some());
        assert!(!found.are_integers() && RowNames::of_rows("id", ["7", "-3"]).unwrap().are_integers());
        assert!(!RowNames::of_rows("id", ["7", "08"]).unwrap().are_integers());
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let names = ["a", "", "b", "a", "a", " ", "b"];
        let text = RowNames::of_rows("key", names).unwrap_err().to_string();
        let expected = "column 'key': 2 rows have no id (row 1, row 5); 3 rows repeat an id of the column 'key' ('a' in \
                        row 0 and row 3, 'a' in row 0 and row 4, 'b' in row 2 and row 6); give every row an id of its own, \
                        or number the rows by leaving the id column out";
        assert_eq!(text, expected);
        let many = RowNames::of_rows("key", ["a"; 9]).unwrap_err().to_string();
        assert!(many.contains("8 rows repeat") && many.contains("row 5, …)"), "{many}");
    }

    #[test]
    fn lines_of_rows_are_kept_in_few_numbers() {
        let mut lines = Lines::default();
        [2, 3, 4, 9, 10].into_iter().enumerate().for_each(|(row, line)| lines.add(row, Some(line)));
        let places: Vec<String> = (0..5).map(|row| lines.place(row)).collect();
        assert_eq!(places, ["line 2", "line 3", "line 4", "line 9", "line 10"]);
        assert_eq!((lines.distances.len(), Lines::default().place(3)), (2, "row 3".into()));
    }
}
