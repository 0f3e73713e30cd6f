//! Lists of column names, written as a line of CSV.

use crate::text::{Dialect, record};
use lapwing_core::{Error, Result};

/// The names in a list of columns, separated by commas; as in CSV, names with commas or quotes are in quotes.
///
/// # Errors
/// [`Error::Param`] for a quote that is not closed.
///
/// # Example
/// ```
/// # use lapwing_table::read::{join_columns, split_columns};
/// let names = split_columns("id,\"size, cm\"")?;
/// assert_eq!(names, ["id", "size, cm"]);
/// assert_eq!(join_columns(&names), "id,\"size, cm\"");
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn split_columns(list: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let is_closed = !list.contains(['\n', '\r']) && record(list.as_bytes(), &Dialect::default(), &mut names);
    let name = |cell: &Vec<u8>| String::from_utf8_lossy(cell).trim().to_owned();
    is_closed.then(|| names.iter().map(name).collect()).ok_or_else(|| {
        Error::param("columns", format!("'{list}'"), "names with commas between, and every quote closed")
    })
}

/// The list of columns that [`split_columns`] splits into `names`.
pub fn join_columns<S: AsRef<str>>(names: &[S]) -> String {
    let quoted = |name: &S| {
        let name = name.as_ref();
        let is_plain = !name.contains([',', '"', '\n', '\r']) && name.trim() == name;
        if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
    };
    names.iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// A word of a command line, quoted for a shell if it needs to be.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.,:/@%+=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart_and_put_together() {
        for names in [&["a"][..], &["id", "date"], &["size, cm", "5\" pipe", "\"x\""], &["", "b"], &[""]] {
            assert_eq!(split_columns(&join_columns(names)).unwrap(), names);
        }
        assert_eq!(split_columns("a, b ,5\" pipe").unwrap(), ["a", "b", "5\" pipe"]);
        assert!(split_columns("a,\"b").unwrap_err().to_string().contains("every quote closed"));
    }

    #[test]
    fn quotes_within_a_field_are_part_of_it() {
        assert_eq!(split_columns("0,5\" pipe").unwrap(), ["0", "5\" pipe"]);
        assert_eq!(split_columns("\"a \"\"b\"\", c\",d").unwrap(), ["a \"b\", c", "d"]);
        assert_eq!(split_columns("").unwrap(), [""]);
        assert_eq!(split_columns("\"\",").unwrap(), ["", ""]);
        assert!(split_columns("1,\"r").is_err() && split_columns("1\n2").is_err());
    }
}
