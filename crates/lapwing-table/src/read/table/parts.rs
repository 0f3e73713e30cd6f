//! Several files as one table: a folder of parts, a pattern with `*` in the name, or a list. Names of folders such as `year=2020` are
//! columns of the parts in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::DataType;

use super::canonical::common;
use super::file::{Part, Source, TableFile};
use super::kind::ColumnKind;
use crate::cell::infer;
use crate::format::Format;
use lapwing_core::{Error, Result};

/// The files that `path` stands for, ascending by name, and their folder; `None` if it is a file itself.
pub(crate) fn parts_of(path: &Path) -> Result<Option<(PathBuf, Vec<PathBuf>)>> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_folder = path.is_dir();
    if !is_folder && (!name.contains('*') || path.exists()) {
        return Ok(None);
    }
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut parts = Vec::new();
    collect(folder, (!is_folder).then_some(name.as_str()), &mut parts)?;
    parts.sort();
    match parts.is_empty() {
        true if is_folder => Err(Error::format(path, None, "the folder holds no table (.csv, .parquet, …)")),
        true => Err(Error::format(path, None, "no file has such a name")),
        false => Ok(Some((folder.to_owned(), parts))),
    }
}

/// Adds the files of a folder whose names fit a pattern; without one, all tables, also those in folders of keys such as `year=2020`.
fn collect(folder: &Path, pattern: Option<&str>, parts: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let found = entry.map_err(|e| Error::io(folder, e))?.path();
        let name = found.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_table = || Format::by_name(&name.to_lowercase()).is_table();
        match found.is_dir() {
            // Other programs put marks such as _SUCCESS and hidden files beside the parts.
            _ if name.starts_with(['.', '_']) => {}
            true if pattern.is_none() && name.contains('=') => collect(&found, pattern, parts)?,
            false if found.is_file() && pattern.map_or_else(is_table, |pattern| matches(pattern, &name)) => {
                parts.push(found)
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a name fits a pattern in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let pieces: Vec<&str> = pattern.split('*').collect();
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return false };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for piece in &pieces[1..pieces.len() - 1] {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// The keys in the names of folders such as `year=2020`, with their values.
fn keys(path: &Path) -> impl Iterator<Item = (String, String)> {
    let pair = |folder: &OsStr| {
        let (key, value) = folder.to_str()?.split_once('=')?;
        // What Hive writes for none.
        Some((key.to_owned(), if value == "__HIVE_DEFAULT_PARTITION__" { "" } else { value }.to_owned()))
    };
    path.parent().into_iter().flat_map(Path::iter).filter_map(pair)
}

/// Tables as one, with the columns of the first. Folders of their paths below `folder` may be keys.
pub(super) fn joined(path: &Path, folder: &Path, tables: impl Iterator<Item = Result<TableFile>>) -> Result<TableFile> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut names, mut types, mut kinds, mut written) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for table in tables {
        let (mut table, mut values) = (table?, Vec::new());
        for (key, value) in keys(table.path.strip_prefix(folder).unwrap_or(&table.path)) {
            if !table.names.contains(&key) {
                let cells = infer(std::iter::once(value.as_bytes()), b'.').kind;
                table.names.push(key);
                table.types.push(DataType::Utf8);
                table.kinds.push(ColumnKind::of_cells(cells));
                table.written.push(cells);
                values.push(value);
            }
        }
        if parts.is_empty() {
            (names, types) = (table.names.clone(), table.types.clone());
            (kinds, written) = (table.kinds.clone(), table.written.clone());
        }
        let own = &table.names;
        let place = |name: &String| own.iter().position(|other| other == name);
        let missing: Vec<&str> = names.iter().filter(|name| place(name).is_none()).map(String::as_str).collect();
        let further: Vec<&str> = own.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
        if !missing.is_empty() || !further.is_empty() {
            let first = parts.first().map_or(path, |part| &part.table.path).display();
            let listed = |what: &str, names: &[&str]| match names {
                [] => String::new(),
                names => format!(" {what} {};", names.join(", ")),
            };
            let reason = format!(
                "the columns are not those of {first}:{}{} give files with the same columns",
                listed("without", &missing),
                listed("with further", &further)
            );
            return Err(Error::format(&table.path, None, reason));
        }
        let places: Vec<usize> = names.iter().filter_map(place).collect();
        // A column that is empty in one part has the kind that it has in another; numbers beside text are text.
        for (at, &there) in places.iter().enumerate() {
            kinds[at] = common(&kinds[at], &table.kinds[there]);
            written[at] = written[at].or(table.written[there]);
            if table.types[there] == DataType::Utf8 {
                types[at] = DataType::Utf8;
            }
        }
        parts.push(Part { table, places, values });
    }
    let n_rows = parts.iter().map(|part| part.table.n_rows).sum();
    let Some(first) = parts.first().map(|part| &part.table) else {
        return Err(Error::Internal { reason: "a table of no parts".into() });
    };
    let (repeated, doubts) = (first.repeated.clone(), first.doubts.clone());
    let (passed, categories) = (first.passed.clone(), first.categories.clone());
    let (path, source) = (path.to_owned(), Source::Parts(Arc::new(parts)));
    Ok(TableFile { path, names, repeated, types, kinds, written, doubts, n_rows, passed, categories, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        assert!(matches("part-*.csv", "part-01.csv") && matches("*", "x") && matches("a*b*c", "a1b2c"));
        assert!(!matches("part-*.csv", "part-01.csv.gz") && !matches("a*a", "a") && !matches("x*", "y"));
    }
}
