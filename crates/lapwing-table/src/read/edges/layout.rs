//! The places of the numbers of an edge in a NumPy array.

use crate::read::npy::{ArrayName, Dtype, Field, Header, Kind, Number, decode_strided};
use crate::read::roles::{Cells, EdgeColumns, edge_columns, width_text};
use lapwing_core::Result;

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
    /// What to look at in the choice of fields.
    pub notes: Vec<String>,
}

impl Layout {
    /// The layout of records, or of the rows of a matrix, as (u, v\[, weight\]).
    pub(super) fn new(header: &Header, origin: ArrayName<'_>) -> Result<Self> {
        let (dtype, fields) = (header.dtype, &header.fields);
        if dtype.kind == Kind::Record {
            let EdgeColumns { nodes, weight, notes } = find_fields(header, origin)?;
            let column = |at: usize| Column { dtype: fields[at].dtype, offset: fields[at].offset };
            return Ok(Self { row_bytes: dtype.size, nodes: nodes.map(column), weight: weight.map(column), notes });
        }
        let (_, width) = header.matrix_shape(origin)?;
        if !matches!(width, 2 | 3) {
            return Err(origin.error(width_text(width)));
        }
        if !dtype.is_number() {
            return Err(origin.error("holds text; expected numbers"));
        }
        let column = |at| Column { dtype, offset: at * dtype.size };
        let weight = (width == 3).then(|| column(2));
        Ok(Self { row_bytes: width * dtype.size, nodes: [column(0), column(1)], weight, notes: Vec::new() })
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

/// The fields of the nodes and of the weight; refuses records that are no edges.
fn find_fields(header: &Header, origin: ArrayName<'_>) -> Result<EdgeColumns> {
    let fields = &header.fields;
    if header.shape.len() != 1 {
        return Err(origin.error(format!("shape {}; expected one dimension of records", header.shape_text())));
    }
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let cells = |field: &Field| match (field.dtype.is_integer(), field.dtype.is_number()) {
        (true, _) => Cells::Whole,
        (false, true) => Cells::Odd,
        _ => Cells::Text,
    };
    let found = edge_columns(&names, &fields.iter().map(cells).collect::<Vec<_>>()).map_err(|e| origin.error(e))?;
    let refuse = |field: &Field, reason| Err(origin.error(format!("field '{}': {reason}", field.name)));
    if let Some(&at) = found.nodes.iter().find(|&&at| !fields[at].dtype.is_integer()) {
        return refuse(&fields[at], "nodes are integers counted from 0");
    }
    match found.weight.filter(|&at| !fields[at].dtype.is_number()) {
        Some(at) => refuse(&fields[at], "weights are numbers"),
        None => Ok(found),
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
