//! NumPy arrays: headers and the structured array of labeled rows.

use std::io::{self, Write};

use super::table::LabeledRows;
use crate::ClassNames;

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

/// Writes the fields row, label, confidence, reached, and p_… of each row.
pub(super) fn write_labels(out: &mut (dyn Write + Send), rows: &LabeledRows<'_>) -> io::Result<()> {
    let missing = vec![f64::NAN; rows.probability_names().len()];
    let (label_type, labels, no_label) = encoded_labels(rows.classes);
    let mut descr = format!("[('row', '<i8'), ('label', '{label_type}'), ('confidence', '<f8'), ('reached', '|b1')");
    for name in rows.probability_names() {
        descr.push_str(&format!(", ({}, '<f8')", python_literal(&name)));
    }
    descr.push(']');
    out.write_all(&npy_header(&descr, &[rows.labels.len()]))?;
    for (row, label) in rows.labels.iter().enumerate() {
        out.write_all(&(row as i64).to_le_bytes())?;
        out.write_all(label.map_or(&no_label, |class| &labels[class]))?;
        out.write_all(&rows.confidence_of(row).unwrap_or(f64::NAN).to_le_bytes())?;
        out.write_all(&[u8::from(rows.reached[row])])?;
        for p in rows.probabilities.map_or(&missing[..], |matrix| matrix.row(row)) {
            out.write_all(&p.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Type of the label field, the bytes of each class name, and those of no label.
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

/// Text as Python would write it in source.
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
