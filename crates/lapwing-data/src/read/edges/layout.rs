//! Where the numbers of an edge stand in a NumPy array.

use super::rows::width_text;
use crate::Result;
use crate::read::npy::{Dtype, Header, Kind, Number, Origin, decode};
use crate::read::record::{Field, Record};

/// One number of each row, within a block of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    dtype: Dtype,
    /// Byte of the first row.
    start: usize,
    /// Bytes from row to row.
    step: usize,
}

/// Bytes of the file that belong together: whole rows, or in Fortran order a column.
pub(super) struct Piece {
    /// Where the piece starts among the values of the file.
    pub in_file: u64,
    /// Where it starts in a block.
    pub in_block: usize,
    /// Bytes for each row.
    pub width: usize,
}

/// How blocks of rows are gathered from the file and taken apart.
pub(super) struct Layout {
    pub pieces: Vec<Piece>,
    pub nodes: [Column; 2],
    pub weight: Option<Column>,
    /// Rows of a full block.
    pub block_rows: usize,
    /// Bytes of a full block.
    pub block_bytes: usize,
}

impl Layout {
    /// The layout of rows (u, v\[, weight\]), in blocks of about `block_bytes` bytes.
    pub(super) fn of(header: &Header<Record>, origin: Origin<'_>, block_bytes: usize) -> Result<Self> {
        match &header.dtype {
            Record::Plain(dtype) => Self::of_table(header, *dtype, origin, block_bytes),
            Record::Fields { fields, size } => {
                check_fields(header, fields, origin)?;
                Ok(Self::of_rows(*size, fields.iter().map(|field| (field.dtype, field.offset)), block_bytes))
            }
        }
    }

    fn of_table(header: &Header<Record>, dtype: Dtype, origin: Origin<'_>, block_bytes: usize) -> Result<Self> {
        let (n_rows, width) = header.matrix_shape(origin)?;
        if !matches!(width, 2 | 3) {
            return Err(origin.error(width_text(width)));
        }
        if !dtype.is_number() {
            return Err(origin.error("holds text; expected numbers"));
        }
        let size = dtype.size;
        if !header.fortran {
            return Ok(Self::of_rows(width * size, (0..width).map(|at| (dtype, at * size)), block_bytes));
        }
        let block_rows = (block_bytes / (width * size)).clamp(1, n_rows.max(1));
        let column = |at| Column { dtype, start: at * block_rows * size, step: size };
        let piece = |at| Piece { in_file: (at * n_rows * size) as u64, in_block: at * block_rows * size, width: size };
        let pieces = (0..width).map(piece).collect();
        Ok(Self::new(pieces, (0..width).map(column), block_rows, block_rows * width * size))
    }

    /// Rows of `size` bytes with their numbers at given bytes.
    fn of_rows(size: usize, numbers: impl Iterator<Item = (Dtype, usize)>, block_bytes: usize) -> Self {
        let block_rows = (block_bytes / size).max(1);
        let pieces = vec![Piece { in_file: 0, in_block: 0, width: size }];
        let columns = numbers.map(|(dtype, start)| Column { dtype, start, step: size });
        Self::new(pieces, columns, block_rows, block_rows * size)
    }

    /// Takes the nodes and the weight from two or three columns.
    fn new(
        pieces: Vec<Piece>,
        mut columns: impl Iterator<Item = Column>,
        block_rows: usize,
        block_bytes: usize,
    ) -> Self {
        let mut node = || columns.next().expect("lists of fewer columns were refused");
        Self { pieces, nodes: [node(), node()], weight: columns.next(), block_rows, block_bytes }
    }

    /// Bytes of the weight, 0, 4 or 8, where rows are two little-endian u32 and perhaps a float without gaps.
    pub(super) fn packed(&self) -> Option<usize> {
        let node = Dtype { kind: Kind::UInt, size: 4, big_endian: false };
        let weight = |size| Dtype { kind: Kind::Float, size, big_endian: false };
        let weight_size = self.weight.map_or(0, |column| column.dtype.size);
        let step = 8 + weight_size;
        let column = |dtype, start| Column { dtype, start, step };
        let is_packed = self.nodes == [column(node, 0), column(node, 4)]
            && self.weight.is_none_or(|found| weight_size >= 4 && found == column(weight(weight_size), 8));
        is_packed.then_some(weight_size)
    }
}

/// Refuses records that are no edges.
fn check_fields(header: &Header<Record>, fields: &[Field], origin: Origin<'_>) -> Result<()> {
    if header.shape.len() != 1 {
        return Err(origin.error(format!("shape {}; expected one dimension of records", header.shape_text())));
    }
    if !matches!(fields.len(), 2 | 3) {
        return Err(origin.error(width_text(fields.len())));
    }
    let refuse = |field: &Field, reason| Err(origin.error(format!("field '{}': {reason}", field.name)));
    if let Some(field) = fields[..2].iter().find(|field| !field.dtype.is_integer()) {
        return refuse(field, "nodes are integers counted from 0");
    }
    match fields.get(2).filter(|field| !field.dtype.is_number()) {
        Some(field) => refuse(field, "weights are numbers"),
        None => Ok(()),
    }
}

impl Column {
    /// The node in row `row` of `block`.
    #[inline]
    pub(super) fn node(self, block: &[u8], row: usize) -> Result<i64, String> {
        if self.dtype.is_integer() {
            return Ok(self.number(block, row));
        }
        let node: f64 = self.number(block, row);
        if node.fract() == 0.0 { Ok(node as i64) } else { Err(format!("node {node} is not an integer")) }
    }

    /// The number in row `row` of `block`.
    #[inline]
    pub(super) fn number<N: Number>(self, block: &[u8], row: usize) -> N {
        let start = self.start + row * self.step;
        let mut number = N::default();
        decode(&block[start..start + self.dtype.size], self.dtype, |value| number = value);
        number
    }
}
