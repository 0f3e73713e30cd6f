//! Edges as lines of text.

use super::rows::{Checks, NO_WEIGHT, WEIGHTS};
use super::text::EdgeText;
use crate::read::format::is_rereadable;
use crate::read::lines::shown;
use crate::read::records::Records;
use crate::read::roles::is_canonical;
use lapwing_core::{Edge, EdgeReader, Result, Run};

/// Lines of two nodes and perhaps a weight.
pub(super) struct CsvEdges {
    records: Records,
    nodes: [usize; 2],
    weight: Option<usize>,
    checks: Checks,
    /// Whether the text can be read only once.
    is_once: bool,
}

impl CsvEdges {
    /// The edges of a text whose nodes are numbers.
    pub(super) fn new(text: EdgeText, checks: Checks) -> Result<Self> {
        let EdgeText { records, columns, first, .. } = text;
        let is_once = !is_rereadable(records.path());
        let edges = Self { records, nodes: columns.nodes, weight: columns.weight, checks, is_once };
        // The first line was taken as two names; here it is an edge of numbers.
        first.filter(|first| !first.is_header).map_or(Ok(()), |_| edges.edge().map(drop))?;
        Ok(edges)
    }

    /// The edge of the current line.
    fn edge(&self) -> Result<Edge> {
        let [u, v] = self.nodes;
        let nodes = [self.node(u)?, self.node(v)?];
        let weight = self.weight.map_or(Ok(NO_WEIGHT), |at| weight(&self.records, at))?;
        self.checks.edge(nodes, weight).map_err(|reason| self.records.error(reason))
    }

    fn node(&self, at: usize) -> Result<i64> {
        let cell = self.records.cell(at);
        digits(cell).map_or_else(|| self.signed_node(cell), Ok)
    }

    /// A node with a sign or many digits.
    #[cold]
    fn signed_node(&self, cell: &[u8]) -> Result<i64> {
        let text = std::str::from_utf8(cell).unwrap_or_default();
        if let (true, Ok(number)) = (is_canonical(text), text.parse()) {
            return Ok(number);
        }
        let what = match text.parse::<i64>() {
            Ok(number) if number >= 0 && !is_canonical(text) => {
                format!("is not written as a number of a row, {number}")
            }
            _ => "is not an integer".to_owned(),
        };
        let advice = match self.is_once {
            true => "; if nodes have names, write the edges to a file, which is read twice",
            false => "; if nodes have names, say so (--nodes names)",
        };
        Err(self.records.error(format!("node '{}' {what}{advice}", shown(cell))))
    }
}

/// The weight in the current line.
pub(super) fn weight(records: &Records, at: usize) -> Result<f64> {
    let unknown = || records.error(format!("weight '{}' is no number; {WEIGHTS}", records.shown(at)));
    records.number(at).ok_or_else(unknown)
}

/// The number that up to 18 digits spell, without zeros in front.
#[inline]
fn digits(cell: &[u8]) -> Option<i64> {
    let fits = (1..=18).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit);
    let is_canonical = cell.len() == 1 || cell.first() != Some(&b'0');
    (fits && is_canonical).then(|| cell.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

impl EdgeReader for CsvEdges {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let end = out.len().saturating_add(most);
        while out.len() < end && self.records.next(run)? {
            out.push(self.edge()?);
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
