//! Edges as rows of a NumPy array, plain or of records.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::layout::Layout;
use super::rows::{Checks, NO_WEIGHT, row_text};
use crate::read::format::open_filled;
use crate::read::npy::{NpyReader, Origin};
use crate::read::record::Record;
use crate::{Edge, EdgeReader, Error, Result, Run};

/// Bytes of a block of rows: few enough to stay in a processor's cache until they are decoded.
const BLOCK_BYTES: usize = 1 << 18;

/// An array of edges, read in blocks.
pub(in crate::read) struct ArrayEdges<'a, R> {
    source: R,
    origin: Origin<'a>,
    layout: Layout,
    checks: Checks,
    /// Byte of the source where the values start.
    start: u64,
    n_rows: u64,
    block: Vec<u8>,
    /// The rows of the array that are in `block`.
    loaded: Range<u64>,
    /// The row to be handed on next.
    row: u64,
}

impl<'a> ArrayEdges<'a, File> {
    pub(super) fn open(path: &'a Path, checks: Checks) -> Result<Self> {
        let (file, length) = open_filled(path)?;
        let reader = NpyReader::new(file, length, Origin { path, array: "" })?;
        let start = reader.offset as u64;
        let layout = Layout::of(&reader.header, reader.origin, BLOCK_BYTES)?;
        Ok(Self::new(reader.header.shape[0], layout, reader.origin, checks, (reader.source, start)))
    }
}

impl<'a> ArrayEdges<'a, std::io::Cursor<Vec<u8>>> {
    /// Holds all bytes of an array whose source cannot be gone back in.
    pub(in crate::read) fn held<R: Read>(reader: NpyReader<'a, R, Record>, checks: Checks, run: &Run) -> Result<Self> {
        let (origin, n_rows) = (reader.origin, reader.header.shape.first().copied().unwrap_or(0));
        let layout = Layout::of(&reader.header, origin, BLOCK_BYTES)?;
        Ok(Self::new(n_rows, layout, origin, checks, (std::io::Cursor::new(reader.bytes(run)?), 0)))
    }
}

impl<'a, R: Read + Seek> ArrayEdges<'a, R> {
    fn new(n_rows: usize, layout: Layout, origin: Origin<'a>, checks: Checks, (source, start): (R, u64)) -> Self {
        let n_rows = n_rows as u64;
        Self { source, origin, layout, checks, start, n_rows, block: Vec::new(), loaded: 0..0, row: 0 }
    }

    /// Number of rows, all of whose bytes are there.
    pub(in crate::read) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Reads the block that starts at the next row.
    fn load(&mut self) -> std::io::Result<()> {
        self.block.resize(self.layout.block_bytes, 0);
        let rows = (self.n_rows - self.row).min(self.layout.block_rows as u64);
        self.loaded = self.row..self.row;
        for piece in &self.layout.pieces {
            self.source.seek(SeekFrom::Start(self.start + piece.in_file + self.row * piece.width as u64))?;
            self.source.read_exact(&mut self.block[piece.in_block..][..rows as usize * piece.width])?;
        }
        self.loaded.end = self.row + rows;
        Ok(())
    }

    /// Appends the edges of `rows`, counted within the block.
    fn decode(&self, rows: Range<usize>, out: &mut Vec<Edge>) -> Result<()> {
        let before = out.len();
        if let Some(weight_size) = self.layout.packed() {
            append_packed(&self.block, rows.clone(), weight_size, out);
            if self.checks.hold(&out[before..]) {
                return Ok(());
            }
            out.truncate(before);
        }
        for row in rows {
            out.push(self.edge(row).map_err(|reason| self.row_error(row, &reason))?);
        }
        Ok(())
    }

    fn edge(&self, row: usize) -> Result<Edge, String> {
        let [u, v] = self.layout.nodes.map(|column| column.node(&self.block, row));
        let weight = self.layout.weight.map_or(NO_WEIGHT, |column| column.number(&self.block, row));
        self.checks.edge([u?, v?], weight)
    }

    fn row_error(&self, row: usize, reason: &str) -> Error {
        self.origin.error(row_text(self.loaded.start + row as u64, reason))
    }
}

/// Appends rows of two u32 and a weight of `weight_size` bytes.
fn append_packed(block: &[u8], rows: Range<usize>, weight_size: usize, out: &mut Vec<Edge>) {
    let bytes = &block[rows.start * (8 + weight_size)..rows.end * (8 + weight_size)];
    let word = |row: &[u8], at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
    match weight_size {
        0 => out.extend(bytes.as_chunks::<8>().0.iter().map(|row| {
            let [u, v] = [0, 4].map(|at| word(row, at));
            Edge { u, v, weight: NO_WEIGHT }
        })),
        4 => out.extend(bytes.as_chunks::<12>().0.iter().map(|row| {
            let [u, v, weight] = [0, 4, 8].map(|at| word(row, at));
            Edge { u, v, weight: f32::from_bits(weight).into() }
        })),
        _ => out.extend(bytes.as_chunks::<16>().0.iter().map(|row| {
            let [u, v, low, high] = [0, 4, 8, 12].map(|at| word(row, at));
            Edge { u, v, weight: f64::from_bits(u64::from(high) << 32 | u64::from(low)) }
        })),
    }
}

impl<R: Read + Seek + Send> EdgeReader for ArrayEdges<'_, R> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let mut left = most as u64;
        while left > 0 && self.row < self.n_rows {
            if !self.loaded.contains(&self.row) {
                run.check()?;
                self.load().map_err(|e| self.origin.io(e))?;
            }
            let rows = self.row..self.loaded.end.min(self.row.saturating_add(left));
            let [start, end] = [rows.start, rows.end].map(|row| (row - self.loaded.start) as usize);
            self.decode(start..end, out)?;
            (self.row, left) = (rows.end, left - (rows.end - rows.start));
        }
        Ok(())
    }

    fn skip(&mut self, count: u64, _: &Run) -> Result<()> {
        self.row = self.row.saturating_add(count).min(self.n_rows);
        Ok(())
    }
}
