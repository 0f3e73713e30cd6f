//! NumPy arrays: headers and the types of records.

use arrow_schema::{DataType, Schema};

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

/// The type of the records of a table, as a Python literal; texts have `width` characters.
pub(super) fn record_type(schema: &Schema, width: usize) -> String {
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Int64 => "<i8".into(),
            DataType::Boolean => "|b1".into(),
            DataType::Utf8 => format!("<U{width}"),
            _ => "<f8".to_string(),
        };
        format!("({}, '{kind}')", python_literal(field.name()))
    });
    format!("[{}]", fields.collect::<Vec<_>>().join(", "))
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
