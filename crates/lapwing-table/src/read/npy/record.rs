//! Element types of NumPy arrays whose elements may be records: several named numbers each.

use super::dtype::{Dtype, Element};

/// A number of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read) struct Field {
    pub name: String,
    pub dtype: Dtype,
    /// Bytes of the record before it.
    pub offset: usize,
}

/// The elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read) enum Record {
    /// Plain elements.
    Plain(Dtype),
    /// Records of `size` bytes.
    Fields { fields: Vec<Field>, size: usize },
}

impl Element for Record {
    fn parse(descr: &str) -> Result<Self, String> {
        match descr.strip_prefix('[') {
            None => Dtype::parse(descr).map(Self::Plain),
            Some(list) => parse_fields(list),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Plain(dtype) => dtype.size,
            Self::Fields { size, .. } => *size,
        }
    }
}

/// Parses `('u', '<u4'), ('', '|V4'), …]`; fields without a name are padding.
fn parse_fields(list: &str) -> Result<Record, String> {
    let damaged = || "the header is damaged (descr)".to_owned();
    let (mut fields, mut size, mut rest) = (Vec::new(), 0usize, list.trim_start());
    while !rest.starts_with(']') {
        let (name, after) = rest.strip_prefix('(').and_then(literal).ok_or_else(damaged)?;
        let unknown = || format!("field '{name}' is no plain number; expected records of numbers");
        let (dtype, after) = after.strip_prefix(',').and_then(literal).ok_or_else(unknown)?;
        rest = after.strip_prefix(')').ok_or_else(unknown)?.trim_start_matches([',', ' ']);
        let (offset, width) = match dtype.strip_prefix("|V").filter(|_| name.is_empty()) {
            Some(padding) => (size, padding.parse().map_err(|_| damaged())?),
            None => {
                let dtype = Dtype::from_name(dtype).map_err(|reason| format!("field '{name}': {reason}"))?;
                if fields.iter().any(|field: &Field| field.name == name) {
                    return Err(format!("two fields are named '{name}'"));
                }
                fields.push(Field { name: name.to_owned(), dtype, offset: size });
                (size, dtype.size)
            }
        };
        size = offset.checked_add(width).ok_or_else(damaged)?;
    }
    match rest {
        "]" => Ok(Record::Fields { fields, size }),
        _ => Err(damaged()),
    }
}

/// The string literal at the start of `text`, with its escapes unchanged, and the text behind it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })?;
    Some((&text[1..=end], text[end + 2..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_understood_with_their_padding() {
        let descr = r#"[('it\'s', '<u4'), ("v]", '>i8'), ('', '|V4'), ('w', '<f4')]"#;
        let Record::Fields { fields, size } = Record::parse(descr).unwrap() else { panic!("plain") };
        let found: Vec<_> = fields.iter().map(|f| (f.name.as_str(), f.offset, f.dtype.size)).collect();
        assert_eq!((found, size), (vec![(r"it\'s", 0, 4), ("v]", 4, 8), ("w", 16, 4)], 20));
        assert!(matches!(Record::parse("'<f4'"), Ok(Record::Plain(Dtype { size: 4, .. }))));
    }

    #[test]
    fn other_records_are_errors() {
        let text = |descr: &str| Record::parse(descr).unwrap_err();
        assert!(text("[('u', '<u4', (2,))]").contains("field 'u' is no plain number"));
        assert!(text("[('u', [('a', '<u4')])]").contains("field 'u' is no plain number"));
        assert!(text("[('u', '<c8')]").contains("field 'u': elements of type '<c8'"));
        assert!(text("[('u', '|V4')]").contains("field 'u': elements of type '|V4'"));
        for cut in [
            "[",
            "[(",
            "[('u",
            "[('u', '<u4'",
            "[('', '|Vx')]",
            "[('u', '<u4'), ",
            "[('', '|V9'), x",
            "[('u', '<u4')] x",
        ] {
            assert!(Record::parse(cut).is_err(), "{cut}");
        }
    }
}
