//! Edges as rows of a NumPy array, plain or of records.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::checks::{NO_WEIGHT, checked, hold};
use crate::read::list::Place;
use crate::read::npy::{ArrayName, Dtype, Field, Header, Kind, NpyReader, Number, Source, decode_strided};
use crate::read::roles::{Cells, EdgeColumns, edge_columns, width_text};
use lapwing_core::mapped::open_filled;
use lapwing_core::{Edge, EdgeReader, Result, Run};

/// Bytes of a block of rows: few enough to stay in a processor's cache until they are decoded.
const BLOCK_BYTES: usize = 1 << 18;

/// An array of edges, read in blocks.
pub(super) struct ArrayEdges<'a, R> {
    reader: NpyReader<'a, R>,
    row_bytes: usize,
    /// The numbers of a row: two nodes, and perhaps a weight.
    nodes: [Field; 2],
    weight: Option<Field>,
    /// What to look at in the choice of fields.
    pub notes: Vec<String>,
    n_nodes: Option<usize>,
    pub n_rows: u64,
    block: Vec<u8>,
    /// The rows of the array that are in `block`.
    loaded: Range<u64>,
    /// The next row.
    row: u64,
}

impl<'a> ArrayEdges<'a, File> {
    pub(super) fn open(path: &'a Path, n_nodes: Option<usize>) -> Result<Self> {
        let (file, length) = open_filled(path)?;
        Self::new(NpyReader::new(file, length, ArrayName::from_path(path), true)?, n_nodes)
    }
}

impl<'a, R: Source> ArrayEdges<'a, R> {
    pub(super) fn new(reader: NpyReader<'a, R>, n_nodes: Option<usize>) -> Result<Self> {
        let (fields, row_bytes) = fields(&reader.header, reader.origin)?;
        let is_record = reader.header.dtype.kind == Kind::Record;
        let names: Vec<String> = fields.iter().filter(|_| is_record).map(|field| field.name.clone()).collect();
        let cells = |field: &Field| match (field.dtype.is_integer(), field.dtype.is_number()) {
            (true, _) => Cells::Whole,
            (false, true) => Cells::Odd,
            _ => Cells::Text,
        };
        let found = edge_columns(&names, &fields.iter().map(cells).collect::<Vec<_>>());
        let EdgeColumns { nodes, weight, notes } = found.map_err(|reason| reader.origin.error(reason))?;
        let refuse = |at: usize, reason| Err(reader.origin.error(format!("field '{}': {reason}", fields[at].name)));
        if let Some(&at) = nodes.iter().find(|&&at| is_record && !fields[at].dtype.is_integer()) {
            return refuse(at, "nodes are integers counted from 0");
        }
        if let Some(at) = weight.filter(|&at| !fields[at].dtype.is_number()) {
            return refuse(at, "weights are numbers");
        }
        let (nodes, weight) = (nodes.map(|at| fields[at].clone()), weight.map(|at| fields[at].clone()));
        let n_rows = reader.header.shape.first().map_or(0, |&n_rows| n_rows as u64);
        Ok(Self { reader, row_bytes, nodes, weight, notes, n_nodes, n_rows, block: Vec::new(), loaded: 0..0, row: 0 })
    }

    /// Reads the block that starts at the next row.
    fn load(&mut self) -> Result<()> {
        let (first, row_bytes) = (self.row, self.row_bytes);
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
        let (row_bytes, size) = (self.row_bytes, self.row_bytes / width);
        let mut column = vec![0; rows * size];
        for col in 0..width {
            let first = col as u64 * self.n_rows + self.row;
            self.reader.read_bytes(first * size as u64, &mut column)?;
            let cells = self.block[col * size..].chunks_mut(row_bytes);
            cells.zip(column.chunks_exact(size)).for_each(|(cell, value)| cell[..size].copy_from_slice(value));
        }
        Ok(())
    }

    /// Bytes of the weight, 0, 4 or 8, if rows are two little-endian u32 and perhaps a float, without gaps.
    fn packed(&self) -> Option<usize> {
        let weight_size = self.weight.as_ref().map_or(0, |field| field.dtype.size);
        let is = |field: &Field, kind, size, offset| {
            field.dtype == Dtype { kind, size, big_endian: false } && field.offset == offset
        };
        let is_packed = is(&self.nodes[0], Kind::UInt, 4, 0)
            && is(&self.nodes[1], Kind::UInt, 4, 4)
            && self.weight.as_ref().is_none_or(|field| weight_size >= 4 && is(field, Kind::Float, weight_size, 8))
            && self.row_bytes == 8 + weight_size;
        is_packed.then_some(weight_size)
    }

    /// Appends the edges of `rows`, counted within the block.
    fn decode(&self, rows: Range<usize>, out: &mut Vec<Edge>) -> Result<()> {
        let before = out.len();
        let bytes = &self.block[rows.start * self.row_bytes..rows.end * self.row_bytes];
        if let Some(weight_size) = self.packed() {
            append_packed(bytes, weight_size, out);
            if hold(self.n_nodes, &out[before..]) {
                return Ok(());
            }
            out.truncate(before);
        }
        let [(u, odd_u), (v, odd_v)] = self.nodes.each_ref().map(|field| self.whole_numbers(field, bytes));
        let weights: Option<Vec<f64>> = self.weight.as_ref().map(|field| self.numbers(field, bytes));
        let odd = odd_u.into_iter().chain(odd_v).min_by_key(|&(row, _)| row);
        for (row, (&u, &v)) in u.iter().zip(&v).enumerate() {
            let edge = match odd {
                Some((at, node)) if at == row => Err(format!("node {node} is not an integer")),
                _ => checked(self.n_nodes, [u, v], weights.as_ref().map_or(NO_WEIGHT, |weights| weights[row])),
            };
            out.push(edge.map_err(|reason| {
                let place = Place::Row(self.loaded.start + (rows.start + row) as u64);
                self.reader.origin.error(format!("{place}: {reason}"))
            })?);
        }
        Ok(())
    }

    /// The numbers of a field of some rows as integers, and the first that is none, with its row.
    fn whole_numbers(&self, field: &Field, rows: &[u8]) -> (Vec<i64>, Option<(usize, f64)>) {
        if field.dtype.is_integer() {
            return (self.numbers(field, rows), None);
        }
        let numbers: Vec<f64> = self.numbers(field, rows);
        let odd = numbers.iter().position(|number| number.fract() != 0.0).map(|row| (row, numbers[row]));
        (numbers.into_iter().map(|number| number as i64).collect(), odd)
    }

    /// The numbers of a field of some rows.
    fn numbers<N: Number>(&self, field: &Field, rows: &[u8]) -> Vec<N> {
        let mut numbers = Vec::with_capacity(rows.len() / self.row_bytes);
        let cells = rows.get(field.offset..).unwrap_or_default();
        decode_strided(cells, self.row_bytes, field.dtype, |number| numbers.push(number));
        numbers
    }
}

/// The numbers of a row, which have no names in the rows of a matrix, and the bytes of a row.
fn fields(header: &Header, origin: ArrayName<'_>) -> Result<(Vec<Field>, usize)> {
    let dtype = header.dtype;
    if dtype.kind == Kind::Record {
        return match header.shape.len() {
            1 => Ok((header.fields.clone(), dtype.size)),
            _ => Err(origin.error(format!("shape {}; expected one dimension of records", header.shape_text()))),
        };
    }
    let (_, width) = header.matrix_shape(origin)?;
    if !matches!(width, 2 | 3) {
        return Err(origin.error(width_text(width)));
    }
    if !dtype.is_number() {
        return Err(origin.error("holds text; expected numbers"));
    }
    let field = |at: usize| Field { name: String::new(), dtype, offset: at * dtype.size };
    Ok(((0..width).map(field).collect(), width * dtype.size))
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
