//! Rows of a CSV file, read in order in blocks that are parsed in parallel.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::ArrayRef;
use lapwing_core::parallel::*;

use super::blocks::{Block, Blocks, MAX_LINE_BYTES};
use super::columns::{Parsed, Passed, Plan};
use super::{TextTable, unclosed};
use crate::cell::Tally;
use crate::scan::{Ask, RowMark, Rows};
use lapwing_core::{Error, Result, Run};

/// Blocks parsed at a time, for each thread.
const BLOCKS_OF_A_THREAD: usize = 2;

/// Reads chosen columns in order.
pub(crate) struct TextScan {
    plan: Plan,
    blocks: Blocks,
    /// Blocks that have been parsed.
    ready: VecDeque<(Block, Parsed)>,
    /// Whether the lines before the rows are still to be passed over.
    before_rows: bool,
    /// The line of the first record of one cell behind all rows so far.
    narrow: Option<u64>,
    /// Lines passed over so far.
    passed: Passed,
    /// The lines of the last rows, if they are wanted.
    lines: Vec<u64>,
    /// Where the next block starts.
    place: RowMark,
    /// Where the blocks returned so far start.
    marks: Vec<RowMark>,
    /// Counts of the columns, in the order of the columns.
    tallies: Vec<Tally>,
}

impl TextTable {
    /// Reads columns from a place on at which a block starts; with the lines of the rows, which take time to count, if these are wanted.
    ///
    /// # Errors
    /// Those of opening the text. The scan has errors naming the line of a record of another length, of a cell that is not UTF-8, or of a
    /// quote that is not closed.
    pub(crate) fn scan_from(self: &Arc<Self>, place: RowMark, asks: &[Ask], with_lines: bool) -> Result<TextScan> {
        let mut places = vec![None; self.names.len()];
        asks.iter().enumerate().for_each(|(at, ask)| places[ask.column] = Some(at));
        let keys = asks.iter().enumerate().map(|(at, ask)| (self.names[ask.column].clone(), at)).collect();
        let types = asks.iter().map(|ask| ask.cells).collect();
        let mut blocks = self.text.blocks(place.byte)?;
        blocks.rewrites = self.rewrites.iter().map(|rewrite| (rewrite.clone(), false)).collect();
        Ok(TextScan {
            plan: Plan { table: Arc::clone(self), places, keys, types, with_lines },
            blocks,
            ready: VecDeque::new(),
            before_rows: place.byte == 0,
            narrow: None,
            passed: Passed::default(),
            lines: Vec::new(),
            place,
            marks: Vec::new(),
            tallies: vec![Tally::default(); asks.len()],
        })
    }
}

impl TextScan {
    /// Reads and parses the next blocks.
    fn read_ahead(&mut self, run: &Run) -> Result<()> {
        let mut blocks = Vec::new();
        while blocks.len() < BLOCKS_OF_A_THREAD * run.threads() {
            let Some(mut block) = self.blocks.next()? else { break };
            if std::mem::take(&mut self.before_rows) {
                let table = &self.plan.table;
                block.start += block.bytes.drain(..table.sniffed.body.min(block.bytes.len())).len() as u64;
                self.place = RowMark { byte: block.start, lines: table.lines_before, ..self.place };
            }
            blocks.push(block);
        }
        let plan = &self.plan;
        let parsed: Vec<Parsed> = run.install(|| blocks.par_iter().map(|block| plan.parse(&block.bytes)).collect());
        self.ready.extend(blocks.into_iter().zip(parsed));
        Ok(())
    }

    /// Puts text with an open quote before the next block, and parses both together.
    fn rejoin(&mut self, mut rest: Vec<u8>, start: u64, open: &Option<(u64, String)>, is_last: bool) -> Result<()> {
        let next = match self.ready.pop_front() {
            Some((block, _)) => Some(block),
            None if is_last => None,
            None => self.blocks.next()?,
        };
        let Some(next) = next.filter(|_| rest.len() < MAX_LINE_BYTES) else {
            let (line, text) = open.clone().unwrap_or_default();
            return Err(unclosed(self.plan.table.text.path(), self.place.lines + line, &text));
        };
        rest.extend_from_slice(&next.bytes);
        let block = Block { start, bytes: rest, is_last: next.is_last };
        let parsed = self.plan.parse(&block.bytes);
        self.ready.push_front((block, parsed));
        Ok(())
    }

    /// The error for a malformed record, whose line counts from the next block.
    fn malformed(&self, (line, reason): (u64, String)) -> Error {
        Error::format(self.plan.table.text.path(), Some(self.place.lines + line), reason)
    }
}

impl Rows for TextScan {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        loop {
            run.check()?;
            if self.ready.is_empty() {
                self.read_ahead(run)?;
            }
            let Some((block, mut parsed)) = self.ready.pop_front() else { return Ok(None) };
            if let Some(malformed) = parsed.malformed {
                return Err(self.malformed(malformed));
            }
            if parsed.n_bytes < block.bytes.len() {
                let rest = block.bytes[parsed.n_bytes..].to_vec();
                self.rejoin(rest, block.start + parsed.n_bytes as u64, &parsed.unclosed, block.is_last)?;
            }
            if let Some(line) = self.narrow.filter(|_| parsed.n_rows > 0) {
                return Err(self.malformed((line - self.place.lines, self.plan.width_error(1))));
            }
            self.narrow = self.narrow.or(parsed.narrow.map(|line| line + self.place.lines));
            if parsed.n_rows > 0 {
                let tail = parsed.passed.tail.take();
                self.passed.tail = tail.map(|(line, text)| (line + self.place.lines, text));
            }
            self.passed.add(parsed.passed, self.place.lines);
            self.marks.push(self.place);
            for (tally, of_block) in self.tallies.iter_mut().zip(parsed.tallies) {
                tally.add(of_block, self.place.row, self.place.lines);
            }
            let lines_before = self.place.lines;
            self.place.row += parsed.n_rows;
            self.place.lines += parsed.n_lines;
            self.place.byte = block.start + parsed.n_bytes as u64;
            self.lines = parsed.lines.iter().map(|line| line + lines_before).collect();
            if parsed.n_rows > 0 {
                return Ok(Some(parsed.arrays));
            }
        }
    }

    fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    fn n_rows(&self) -> usize {
        self.place.row
    }

    fn passed(&self) -> Vec<String> {
        self.passed.words()
    }

    fn lines(&self) -> &[u64] {
        &self.lines
    }

    fn take_marks(&mut self) -> Vec<RowMark> {
        std::mem::take(&mut self.marks)
    }

    fn n_bytes(&self) -> u64 {
        self.place.byte
    }
}
