//! The header of an array: element type, order and shape.

use std::io::Read;

use super::{ArrayName, Dtype, Field, Kind, literal, record};
use lapwing_core::Result;

/// Header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read) struct Header {
    pub dtype: Dtype,
    /// The numbers of elements that are records.
    pub fields: Vec<Field>,
    /// Whether the first index changes fastest (Fortran order).
    pub fortran: bool,
    pub shape: Vec<usize>,
}

impl Header {
    pub(super) fn parse(text: &str, takes_records: bool) -> Result<Self, String> {
        let found = literal::dictionary(text, ["descr", "fortran_order", "shape"]);
        let [descr, order, shape] =
            found.ok_or("the header is damaged (no dictionary of descr, fortran_order and shape)")?;
        let fortran = match order {
            "True" => true,
            "False" => false,
            _ => return Err("the header is damaged (fortran_order)".into()),
        };
        let shape = literal::lengths(shape).ok_or("the header is damaged (shape)")?;
        let (dtype, fields) = match descr.starts_with('[') {
            true if takes_records => {
                let (fields, size) = record::parse(descr)?;
                (Dtype { kind: Kind::Record, size, big_endian: false }, fields)
            }
            true => return Err("a structured array; expected a plain array of numbers".into()),
            false => {
                let name = literal::unquoted(descr).ok_or("the header is damaged (descr)")?;
                (Dtype::from_name(name)?, Vec::new())
            }
        };
        Ok(Self { dtype, fields, fortran, shape })
    }

    /// Number of elements and of bytes; `None` if they overflow, or if there are more elements without a byte than a file would hold.
    pub(super) fn extent(&self) -> Option<(usize, usize)> {
        const MOST_EMPTY: usize = 1 << 24;
        let count = self.shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
        let bytes = count.checked_mul(self.dtype.size)?;
        (bytes > 0 || count <= MOST_EMPTY).then_some((count, bytes))
    }

    /// The shape as Python writes it.
    pub(in crate::read) fn shape_text(&self) -> String {
        match self.shape[..] {
            [n] => format!("({n},)"),
            _ => format!("({})", self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The two lengths of an array of rows and columns.
    pub(in crate::read) fn matrix_shape(&self, origin: ArrayName<'_>) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n_rows, n_cols] => Ok((n_rows, n_cols)),
            _ => Err(origin.error(format!("shape {}; expected two dimensions (rows, columns)", self.shape_text()))),
        }
    }

    /// The two lengths of an array of features: rows and columns of numbers.
    pub(in crate::read) fn feature_shape(&self, origin: ArrayName<'_>) -> Result<(usize, usize)> {
        let shape = self.matrix_shape(origin)?;
        if self.dtype.is_number() { Ok(shape) } else { Err(origin.error("holds text; expected numbers")) }
    }
}

/// Reads the text of the header of an array of at most `limit` bytes, and returns it with the byte behind it.
pub(super) fn read_text(source: &mut impl Read, limit: u64, origin: ArrayName<'_>) -> Result<(String, usize)> {
    let mut read = |n: usize| {
        let mut bytes = vec![0; n];
        source.read_exact(&mut bytes).map(|()| bytes).map_err(|e| origin.io(e))
    };
    let start = read(8)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err(origin.error("not a NumPy array (.npy)"));
    }
    let length_bytes = match (start[6], start[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (version, _) => return Err(origin.error(format!(".npy version {version}; expected 1, 2 or 3"))),
    };
    let length = read(length_bytes)?.iter().rev().fold(0, |total, &byte| total << 8 | usize::from(byte));
    let offset = 8 + length_bytes + length;
    if offset as u64 > limit {
        return Err(origin.error("the file is truncated"));
    }
    let text = read(length)?;
    if text.contains(&0) {
        return Err(origin.error("the header is damaged (a zero byte)"));
    }
    // Versions 1 and 2 are Latin-1, whose bytes are the code points.
    let text = match start[6] {
        3 => String::from_utf8(text).map_err(|_| origin.error("the header is damaged (no UTF-8 text)"))?,
        _ => text.into_iter().map(char::from).collect(),
    };
    Ok((text, offset))
}
