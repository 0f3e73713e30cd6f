//! Lines that are JSON objects, as records of cells.
//!
//! The value of a key is a cell: strings as they are, numbers and truth values as text, null and missing keys as missing cells. The
//! keys of an object within an object are joined by a point; a list is its JSON text.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

/// Hands every cell of a line to `take`, with its key.
pub(super) fn each_cell(line: &[u8], mut take: impl FnMut(&str, &str)) -> Result<(), serde_json::Error> {
    // Its keys keep their order.
    let entries: IndexMap<String, Value> = serde_json::from_slice(line)?;
    entries.iter().for_each(|(key, value)| flatten(key, value, &mut take));
    Ok(())
}

/// Whether the first line of a text is an object.
pub(super) fn is_object(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"{")
        && text.split(|&byte| byte == b'\n').next().is_some_and(|line| each_cell(line, |_, _| ()).is_ok())
}

fn flatten(key: &str, value: &Value, take: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Null => take(key, ""),
        Value::String(text) => take(key, text),
        Value::Object(entries) => {
            entries.iter().for_each(|(inner, value)| flatten(&format!("{key}.{inner}"), value, take));
        }
        other => take(key, &other.to_string()),
    }
}

/// The keys of some lines, in the order of their first appearance, and the cells of every line. Ends at a line that is no object.
pub(super) fn sample(text: &[u8], is_whole: bool, most: usize) -> (Vec<String>, Vec<Vec<Vec<u8>>>) {
    let (mut names, mut records) = (IndexSet::new(), Vec::new());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let is_complete = is_whole || line.ends_with(b"\n");
        if line.trim_ascii().is_empty() || !is_complete {
            continue;
        }
        let mut record: Vec<Vec<u8>> = Vec::new();
        let parsed = each_cell(line, |key, cell| {
            let (at, _) = names.insert_full(key.to_owned());
            record.resize(record.len().max(at + 1), Vec::new());
            record[at] = cell.trim().as_bytes().to_vec();
        });
        if parsed.is_err() || records.len() >= most {
            break;
        }
        records.push(record);
    }
    (names.into_iter().collect(), records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_cells() {
        let mut cells = Vec::new();
        let line = br#"{"b": 1.50, "a": "x,y", "c": null, "d": true, "e": {"f": 2, "g": "h"}, "l": [1, 2]}"#;
        each_cell(line, |key, cell| cells.push(format!("{key}={cell}"))).unwrap();
        assert_eq!(cells, ["b=1.5", "a=x,y", "c=", "d=true", "e.f=2", "e.g=h", "l=[1,2]"]);
        assert!(each_cell(b"[1]", |_, _| ()).is_err() && each_cell(b"{\"a\": ", |_, _| ()).is_err());
        let (names, records) = sample(b"{\"a\": 1}\n\n{\"b\": 2, \"a\": 3}\n{\"a\":", false, 10);
        assert_eq!((names, records.len()), (vec!["a".to_owned(), "b".to_owned()], 2));
    }
}
