//! The places of the numbers of an edge in a NumPy array.

use super::rows::width_text;
use crate::Result;
use crate::read::npy::{ArrayName, Dtype, Field, Header, Kind, Number, Record, decode_strided};

/// One number of each row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    dtype: Dtype,
    /// Byte of a row at which it starts.
    offset: usize,
}

/// The bytes of a row: two nodes, and perhaps a weight.
pub(super) struct Layout {
    pub row_bytes: usize,
    pub nodes: [Column; 2],
    pub weight: Option<Column>,
}

impl Layout {
    /// The layout of records, or of the rows of a matrix, as (u, v\[, weight\]).
    pub(super) fn new(header: &Header<Record>, origin: ArrayName<'_>) -> Result<Self> {
        match &header.dtype {
            Record::Plain(dtype) => {
                let (_, width) = header.matrix_shape(origin)?;
                if !matches!(width, 2 | 3) {
                    return Err(origin.error(width_text(width)));
                }
                if !dtype.is_number() {
                    return Err(origin.error("holds text; expected numbers"));
                }
                let column = |at| Column { dtype: *dtype, offset: at * dtype.size };
                let weight = (width == 3).then(|| column(2));
                Ok(Self { row_bytes: width * dtype.size, nodes: [column(0), column(1)], weight })
            }
            Record::Fields { fields, size } => {
                check_fields(header, fields, origin)?;
                let column = |field: &Field| Column { dtype: field.dtype, offset: field.offset };
                let nodes = [column(&fields[0]), column(&fields[1])];
                Ok(Self { row_bytes: *size, nodes, weight: fields.get(2).map(column) })
            }
        }
    }

    /// Bytes of the weight, 0, 4 or 8, if rows are two little-endian u32 and perhaps a float, without gaps.
    pub(super) fn packed(&self) -> Option<usize> {
        let column = |kind, size, offset| Column { dtype: Dtype { kind, size, big_endian: false }, offset };
        let weight_size = self.weight.map_or(0, |column| column.dtype.size);
        let is_packed = self.nodes == [column(Kind::UInt, 4, 0), column(Kind::UInt, 4, 4)]
            && self.weight.is_none_or(|found| weight_size >= 4 && found == column(Kind::Float, weight_size, 8))
            && self.row_bytes == 8 + weight_size;
        is_packed.then_some(weight_size)
    }
}

/// Refuses records that are no edges.
fn check_fields(header: &Header<Record>, fields: &[Field], origin: ArrayName<'_>) -> Result<()> {
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
    /// The numbers of rows of `row_bytes` bytes.
    pub(super) fn numbers<N: Number>(self, rows: &[u8], row_bytes: usize) -> Vec<N> {
        let mut numbers = Vec::with_capacity(rows.len() / row_bytes);
        decode_strided(rows.get(self.offset..).unwrap_or_default(), row_bytes, self.dtype, |number| {
            numbers.push(number)
        });
        numbers
    }

    /// The nodes of rows of `row_bytes` bytes, up to the first that is no integer; that one is returned too, with its row.
    pub(super) fn nodes(self, rows: &[u8], row_bytes: usize) -> (Vec<i64>, Option<(usize, f64)>) {
        if self.dtype.is_integer() {
            return (self.numbers(rows, row_bytes), None);
        }
        let nodes: Vec<f64> = self.numbers(rows, row_bytes);
        let bad = nodes.iter().position(|node| node.fract() != 0.0);
        let integers = nodes[..bad.unwrap_or(nodes.len())].iter().map(|&node| node as i64).collect();
        (integers, bad.map(|row| (row, nodes[row])))
    }
}
