//! NumPy arrays: headers and the structured array of labeled rows.

use std::ops::Range;

use super::table::{LabelColumns, LabeledRows};
use lapwing_core::ClassNames;

/// Header of an array in C order; `descr` is the type as a Python literal.
pub(crate) fn npy_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let dims: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    let dims = if shape.len() > 1 { dims.trim_end_matches(", ") } else { dims.trim_end() };
    let mut text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({dims}), }}");
    // Values start at a multiple of 64, so that a mapped file is aligned for any type.
    let is_long = text.len() + 128 > usize::from(u16::MAX);
    let start = if is_long || !text.is_ascii() { 12 } else { 10 };
    let padded = (start + text.len() + 1).next_multiple_of(64) - start;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    if start == 10 {
        bytes.extend([1, 0]);
        bytes.extend((padded as u16).to_le_bytes());
    } else {
        bytes.extend([if text.is_ascii() { 2 } else { 3 }, 0]);
        bytes.extend((padded as u32).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes
}

/// Layout of labeled rows as records: row, label, confidence, reached, and optional columns.
#[derive(Debug)]
pub(super) struct Records {
    header: Vec<u8>,
    /// Bytes of a record.
    pub size: usize,
    /// The label field of each class.
    labels: Vec<Vec<u8>>,
    no_label: Vec<u8>,
    pub n_columns: usize,
}

impl Records {
    pub(super) fn new(classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Self {
        let (label_type, labels, no_label) = encoded_labels(classes);
        Self::with_labels(&label_type, labels, no_label, columns, classes, n_rows)
    }

    /// Records with class numbers instead of names as labels; `u32::MAX` is no label.
    pub(super) fn by_index(classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Self {
        let labels = (0..classes.len() as u32).map(|class| class.to_le_bytes().to_vec()).collect();
        Self::with_labels("<u4", labels, NO_CLASS.to_le_bytes().to_vec(), columns, classes, n_rows)
    }

    fn with_labels(
        label_type: &str,
        labels: Vec<Vec<u8>>,
        no_label: Vec<u8>,
        columns: LabelColumns,
        classes: &ClassNames,
        n_rows: usize,
    ) -> Self {
        let mut descr =
            format!("[('row', '<i8'), ('label', '{label_type}'), ('confidence', '<f8'), ('reached', '|b1')");
        let (names, n_marks) = (columns.names(classes), usize::from(columns.certified));
        for (at, name) in names.iter().enumerate() {
            let kind = if at < n_marks { "|b1" } else { "<f8" };
            descr.push_str(&format!(", ({}, '{kind}')", python_literal(name)));
        }
        descr.push(']');
        let size = 8 + no_label.len() + 8 + 1 + n_marks + 8 * (names.len() - n_marks);
        let (header, n_columns) = (npy_header(&descr, &[n_rows]), 4 + names.len());
        Self { header, size, labels, no_label, n_columns }
    }

    /// The bytes before the records.
    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }
}

/// Stands for no label; there are fewer classes.
pub(super) const NO_CLASS: u32 = u32::MAX;

impl Records {
    /// Appends the records of some rows of a block, the first of which is row `first_row`.
    pub(super) fn encode(&self, first_row: usize, rows: &LabeledRows<'_>, range: Range<usize>, out: &mut Vec<u8>) {
        out.reserve(range.len() * self.size);
        for at in range {
            out.extend_from_slice(&((first_row + at) as i64).to_le_bytes());
            out.extend_from_slice(rows.labels[at].map_or(&self.no_label, |class| &self.labels[class]));
            out.extend_from_slice(&rows.confidence_of(at).unwrap_or(f64::NAN).to_le_bytes());
            out.push(u8::from(rows.reached[at]));
            out.extend(rows.certified.map(|certified| u8::from(certified[at])));
            let probabilities = rows.probabilities.map_or(&[][..], |matrix| matrix.row(at));
            probabilities.iter().for_each(|p| out.extend_from_slice(&p.to_le_bytes()));
        }
    }
}

/// Type of the label field, the bytes of each class name, and the bytes of an absent label.
fn encoded_labels(classes: &ClassNames) -> (String, Vec<Vec<u8>>, Vec<u8>) {
    match classes {
        ClassNames::Integers(names) => {
            let labels = names.iter().map(|name| name.to_le_bytes().to_vec()).collect();
            ("<i8".into(), labels, (-1i64).to_le_bytes().to_vec())
        }
        ClassNames::Texts(names) => {
            let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(1);
            let encode = |name: &String| {
                let mut bytes: Vec<u8> = name.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
                bytes.resize(4 * width, 0);
                bytes
            };
            (format!("<U{width}"), names.iter().map(encode).collect(), vec![0; 4 * width])
        }
    }
}

/// Text as a Python string literal.
fn python_literal(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => literal.extend(['\\', c]),
            c if c.is_control() => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_aligned_and_literals_escaped() {
        for (descr, shape) in [("'<f8'", &[][..]), ("'<f8'", &[3]), ("'|u1'", &[60000, 784]), ("[('ä', '<f8')]", &[1])]
        {
            let header = npy_header(descr, shape);
            assert!(header.len().is_multiple_of(64) && header.ends_with(b"\n"));
        }
        assert!(String::from_utf8_lossy(&npy_header("'<f8'", &[3])).contains("'shape': (3,), }"));
        assert!(String::from_utf8_lossy(&npy_header("'<f8'", &[])).contains("'shape': (), }"));
        assert!(String::from_utf8_lossy(&npy_header("'<f8'", &[3, 2])).contains("'shape': (3, 2), }"));
        assert_eq!(npy_header(&format!("'{}'", "a".repeat(70_000)), &[1])[6], 2);
        assert_eq!(npy_header("'ä'", &[1])[6], 3);
        assert_eq!(python_literal("O'B\\\n"), r"'O\'B\\\U0000000a'");
    }
}
