//! Fields of a single line of CSV: lines of labels, and lists of column names.

use lapwing_core::{Error, Result};

/// A number of fields in messages.
pub(super) fn n_fields(n: usize) -> String {
    format!("{n} field{}", if n == 1 { "" } else { "s" })
}

/// Fields of a line, by the rules of CSV; a line has at least one.
pub(super) struct Fields {
    delimiter: char,
    parser: csv_core::Reader,
    /// The fields without their quotes.
    content: Vec<u8>,
    /// End of each field in `content`.
    ends: Vec<usize>,
}

impl Fields {
    /// The fields of no line yet, with commas between.
    pub(super) fn new() -> Self {
        Self { delimiter: ',', parser: csv_core::Reader::new(), content: Vec::new(), ends: Vec::new() }
    }

    /// The fields of no line yet, with another character between.
    pub(super) fn with(delimiter: u8) -> Self {
        let parser = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Self { delimiter: delimiter.into(), parser, ..Self::new() }
    }

    /// Splits a line without its end; false if a quote in it stays open.
    pub(super) fn split(&mut self, line: &str) -> bool {
        self.content.clear();
        self.ends.clear();
        if !line.contains('"') {
            for field in line.split(self.delimiter) {
                self.content.extend_from_slice(field.as_bytes());
                self.ends.push(self.content.len());
            }
            return true;
        }
        // Enough room: the fields are no longer than the line, and there is a comma before every field but the first.
        self.content.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        self.parser.reset();
        let (_, read, written, ended) = self.parser.read_record(line.as_bytes(), &mut self.content, &mut self.ends);
        let (result, _, more, last) =
            self.parser.read_record(b"\n", &mut self.content[written..], &mut self.ends[ended..]);
        self.content.truncate(written + more);
        self.ends.truncate(ended + last);
        // False if a `\r` within the line ended it.
        read == line.len() && result == csv_core::ReadRecordResult::Record
    }

    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field without spaces around it; empty if there is no such field.
    pub(super) fn get(&self, at: usize) -> &str {
        self.as_written(at).trim()
    }

    /// A field; empty if there is no such field.
    pub(super) fn as_written(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let field = self.ends.get(at).map_or(&[][..], |&end| &self.content[start..end]);
        // A line is UTF-8, and so are its parts between quotes and commas.
        std::str::from_utf8(field).unwrap_or_default()
    }
}

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
    let mut fields = Fields::new();
    match fields.split(list) {
        true => Ok((0..fields.len()).map(|at| fields.get(at).to_owned()).collect()),
        false => Err(Error::param("columns", format!("'{list}'"), "names with commas between, and every quote closed")),
    }
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
        let mut fields = Fields::new();
        let mut split = |line: &str| {
            fields.split(line).then(|| (0..fields.len()).map(|at| fields.get(at).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(split("0,5\" pipe").unwrap(), ["0", "5\" pipe"]);
        assert_eq!(split("\"a \"\"b\"\", c\",d").unwrap(), ["a \"b\", c", "d"]);
        assert_eq!(split("").unwrap(), [""]);
        assert_eq!(split("\"\",").unwrap(), ["", ""]);
        assert!(split("1,\"r").is_none());
    }
}
