//! Elements of NumPy arrays that are records: several named numbers each.

use super::dtype::Dtype;
use super::literal::{items, unquoted};

/// A number of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::read) struct Field {
    pub name: String,
    pub dtype: Dtype,
    /// Bytes of the record before it.
    pub offset: usize,
}

/// Parses `[('u', '<u4'), ('', '|V4'), …]`, where fields without a name are padding; also returns the bytes of a record.
pub(super) fn parse(descr: &str) -> Result<(Vec<Field>, usize), String> {
    let damaged = || "the header is damaged (descr)".to_owned();
    let (mut fields, mut size) = (Vec::new(), 0usize);
    for field in items(descr, '[', ']').ok_or_else(damaged)? {
        let parts = items(field, '(', ')').ok_or_else(damaged)?;
        let name = parts.first().and_then(|name| unquoted(name)).ok_or_else(damaged)?;
        let descr = if parts.len() == 2 { unquoted(parts[1]) } else { None };
        let descr = descr.ok_or_else(|| format!("field '{name}' is no plain number; expected records of numbers"))?;
        let width = match descr.strip_prefix("|V").filter(|_| name.is_empty()) {
            Some(padding) => padding.parse().map_err(|_| damaged())?,
            None => {
                let dtype = Dtype::from_name(descr).map_err(|reason| format!("field '{name}': {reason}"))?;
                if fields.iter().any(|field: &Field| field.name == name) {
                    return Err(format!("two fields are named '{name}'"));
                }
                fields.push(Field { name: name.to_owned(), dtype, offset: size });
                dtype.size
            }
        };
        size = size.checked_add(width).ok_or_else(damaged)?;
    }
    Ok((fields, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_understood_with_their_padding() {
        let descr = r#"[('it\'s', '<u4'), ("v]", '>i8'), ('', '|V4'), ('w', '<f4')]"#;
        let (fields, size) = parse(descr).unwrap();
        let found: Vec<_> = fields.iter().map(|f| (f.name.as_str(), f.offset, f.dtype.size)).collect();
        assert_eq!((found, size), (vec![(r"it\'s", 0, 4), ("v]", 4, 8), ("w", 16, 4)], 20));
    }

    #[test]
    fn other_records_are_errors() {
        let text = |descr: &str| parse(descr).unwrap_err();
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
            assert!(parse(cut).is_err(), "{cut}");
        }
    }
}
