//! Edges as rows of a NumPy array, plain or of records.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::checks::{Checks, NO_WEIGHT};
use super::layout::Layout;
use crate::read::list::Place;
use crate::read::npy::{ArrayName, NpyReader, Source};
use lapwing_core::mapped::open_filled;
use lapwing_core::{Edge, EdgeReader, Result, Run};

/// Bytes of a block of rows: few enough to stay in a processor's cache until they are decoded.
const BLOCK_BYTES: usize = 1 << 18;

/// An array of edges, read in blocks.
pub(in crate::read) struct ArrayEdges<'a, R> {
    reader: NpyReader<'a, R>,
    layout: Layout,
    checks: Checks,
    n_rows: u64,
    block: Vec<u8>,
    /// The rows of the array that are in `block`.
    loaded: Range<u64>,
    /// The next row.
    row: u64,
}

impl<'a> ArrayEdges<'a, File> {
    pub(super) fn open(path: &'a Path, checks: Checks) -> Result<Self> {
        let (file, length) = open_filled(path)?;
        Self::new(NpyReader::new(file, length, ArrayName::from_path(path), true)?, checks)
    }
}

impl<'a, R: Source> ArrayEdges<'a, R> {
    pub(in crate::read) fn new(reader: NpyReader<'a, R>, checks: Checks) -> Result<Self> {
        let layout = Layout::new(&reader.header, reader.origin)?;
        let n_rows = reader.header.shape.first().map_or(0, |&n_rows| n_rows as u64);
        Ok(Self { reader, layout, checks, n_rows, block: Vec::new(), loaded: 0..0, row: 0 })
    }

    /// Number of rows.
    pub(in crate::read) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// What to look at in the choice of fields.
    pub(in crate::read) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.layout.notes)
    }

    /// Reads the block that starts at the next row.
    fn load(&mut self) -> Result<()> {
        let (first, row_bytes) = (self.row, self.layout.row_bytes);
        let rows = (self.n_rows - first).min((BLOCK_BYTES / row_bytes).max(1) as u64);
        self.loaded = first..first;
        self.block.resize(rows as usize * row_bytes, 0);
        match self.reader.header.shape[..] {
            [_, width] if self.reader.header.fortran => self.load_columns(rows as usize, width)?,
            _ => self.reader.read_bytes(first * row_bytes as u64, &mut self.block)?,
        }
        self.loaded.end = first + rows;
        Ok(())
    }

    /// Fills the block with rows of an array in Fortran order.
    fn load_columns(&mut self, rows: usize, width: usize) -> Result<()> {
        let (row_bytes, size) = (self.layout.row_bytes, self.layout.row_bytes / width);
        let mut column = vec![0; rows * size];
        for col in 0..width {
            let first = col as u64 * self.n_rows + self.row;
            self.reader.read_bytes(first * size as u64, &mut column)?;
            let cells = self.block[col * size..].chunks_mut(row_bytes);
            cells.zip(column.chunks_exact(size)).for_each(|(cell, value)| cell[..size].copy_from_slice(value));
        }
        Ok(())
    }

    /// Appends the edges of `rows`, counted within the block.
    fn decode(&self, rows: Range<usize>, out: &mut Vec<Edge>) -> Result<()> {
        let (before, row_bytes) = (out.len(), self.layout.row_bytes);
        let bytes = &self.block[rows.start * row_bytes..rows.end * row_bytes];
        if let Some(weight_size) = self.layout.packed() {
            append_packed(bytes, weight_size, out);
            if self.checks.hold(&out[before..]) {
                return Ok(());
            }
            out.truncate(before);
        }
        self.decode_columns(rows.start, bytes, out)
    }

    /// Appends the edges of rows of any types; the first is row `first` of the block.
    fn decode_columns(&self, first: usize, bytes: &[u8], out: &mut Vec<Edge>) -> Result<()> {
        let row_bytes = self.layout.row_bytes;
        let [(u, bad_u), (v, bad_v)] = self.layout.nodes.map(|column| column.nodes(bytes, row_bytes));
        let weights: Option<Vec<f64>> = self.layout.weight.map(|column| column.numbers(bytes, row_bytes));
        let row_error = |(row, reason): (usize, String)| {
            let row = self.loaded.start + (first + row) as u64;
            self.reader.origin.error(format!("{}: {reason}", Place::Row(row)))
        };
        self.checks.append([&u, &v], weights.as_deref(), out).map_err(row_error)?;
        let first_bad = bad_u.into_iter().chain(bad_v).min_by_key(|&(row, _)| row);
        match first_bad.map(|(row, node)| (row, format!("node {node} is not an integer"))) {
            Some(bad) => Err(row_error(bad)),
            None => Ok(()),
        }
    }
}

/// Appends rows of two u32 and a weight of `weight_size` bytes.
fn append_packed(bytes: &[u8], weight_size: usize, out: &mut Vec<Edge>) {
    use bytemuck::pod_read_unaligned;
    match weight_size {
        0 => out.extend(bytes.as_chunks::<8>().0.iter().map(|row| {
            let [u, v] = pod_read_unaligned::<[u32; 2]>(row).map(u32::from_le);
            Edge { u, v, weight: NO_WEIGHT }
        })),
        4 => out.extend(bytes.as_chunks::<12>().0.iter().map(|row| {
            let [u, v, weight] = pod_read_unaligned::<[u32; 3]>(row).map(u32::from_le);
            Edge { u, v, weight: f32::from_bits(weight).into() }
        })),
        _ => out.extend(bytes.as_chunks::<16>().0.iter().map(|row| {
            let [u, v, low, high] = pod_read_unaligned::<[u32; 4]>(row).map(u32::from_le);
            Edge { u, v, weight: f64::from_bits(u64::from(high) << 32 | u64::from(low)) }
        })),
    }
}

impl<R: Source + Send> EdgeReader for ArrayEdges<'_, R> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let mut left = most as u64;
        while left > 0 && self.row < self.n_rows {
            if !self.loaded.contains(&self.row) {
                run.check()?;
                self.load()?;
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
