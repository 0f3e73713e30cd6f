//! Edges as lines of text.

use std::path::Path;

use super::rows::{Checks, NO_WEIGHT, WEIGHTS, width_text};
use crate::read::format::is_rereadable;
use crate::read::records::{Records, shown};
use crate::{Edge, EdgeReader, Error, Result, Run};

/// A CSV file of two nodes and perhaps a weight per line.
pub(super) struct CsvEdges {
    records: Records,
    has_weight: bool,
    checks: Checks,
    /// Whether a row was read.
    has_read: bool,
    /// Whether the text can be read only once.
    is_once: bool,
}

impl CsvEdges {
    pub(super) fn open(path: &Path, checks: Checks) -> Result<Self> {
        Self::of_records(Records::open(path)?, checks)
    }

    /// The edges of text none of which was read.
    pub(super) fn of_records(records: Records, checks: Checks) -> Result<Self> {
        let has_weight = match records.names.len() {
            found @ (2 | 3) => found == 3,
            found => return Err(Error::format(records.path(), None, width_text(found))),
        };
        let is_once = !is_rereadable(records.path());
        Ok(Self { records, has_weight, checks, has_read: false, is_once })
    }

    /// The edge of the current line.
    fn edge(&self) -> Result<Edge> {
        let nodes = [self.node(0)?, self.node(1)?];
        let weight = if self.has_weight { self.weight()? } else { NO_WEIGHT };
        self.checks.edge(nodes, weight).map_err(|reason| self.records.error(reason))
    }

    fn weight(&self) -> Result<f64> {
        let unknown = || self.records.error(format!("weight '{}' is no number; {WEIGHTS}", self.records.shown(2)));
        self.records.number(2).ok_or_else(unknown)
    }

    fn node(&self, at: usize) -> Result<i64> {
        let cell = self.records.cell(at);
        digits(cell).map_or_else(|| self.signed_node(cell), Ok)
    }

    /// A node with a sign or many digits.
    #[cold]
    fn signed_node(&self, cell: &[u8]) -> Result<i64> {
        let number = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
        let advice = match self.has_read {
            true => "; the nodes before it are numbers: if they are names, move this line to the start",
            false if self.is_once => "; if nodes have names, write the edges to a file, which is read twice",
            false => "",
        };
        number.ok_or_else(|| self.records.error(format!("node '{}' is not an integer{advice}", shown(cell))))
    }
}

/// The number that up to 18 digits spell.
#[inline]
fn digits(cell: &[u8]) -> Option<i64> {
    let fits = (1..=18).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit);
    fits.then(|| cell.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

impl EdgeReader for CsvEdges {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let end = out.len().saturating_add(most);
        while out.len() < end && self.records.next(run)? {
            out.push(self.edge()?);
            self.has_read = true;
        }
        Ok(())
    }

    fn share(&self) -> Option<f64> {
        self.records.share()
    }

    fn skip(&mut self, mut count: u64, run: &Run) -> Result<()> {
        while count > 0 && self.records.next(run)? {
            count -= 1;
        }
        Ok(())
    }
}
