//! Several files as one table: a folder of parts, or a pattern with `*` in the name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::source::{Ask, Rows, Source};
use super::{RowMark, TableFile, TableRows, Tally};
use crate::read::cell::Reading;
use crate::read::format::Format;
use crate::read::options::ReadOptions;
use crate::read::text::Dialect;
use lapwing_core::{Error, Result, Run};

/// Tables with the same columns, one below the other; for each, the place of every column.
#[derive(Debug)]
struct Parts(Arc<Vec<(TableFile, Vec<usize>)>>);

/// Reads parts one after the other.
struct PartRows {
    parts: Arc<Vec<(TableFile, Vec<usize>)>>,
    next: usize,
    current: Option<TableRows>,
    ask: Ask,
    tallies: Vec<Tally>,
    n_rows: usize,
}

impl Source for Parts {
    fn stored_type(&self, at: usize) -> DataType {
        let types = || self.0.iter().map(|(table, places)| table.source.stored_type(places[at]));
        types().find(|stored| *stored == DataType::Utf8).or_else(|| types().next()).unwrap_or(DataType::Null)
    }

    fn n_rows(&self) -> Option<usize> {
        self.0.iter().map(|(table, _)| table.n_rows()).sum()
    }

    fn bytes_of(&self, columns: &[usize]) -> u64 {
        let of_part = |(table, places): &(TableFile, Vec<usize>)| {
            table.bytes_of(&columns.iter().map(|&at| places[at]).collect::<Vec<_>>())
        };
        self.0.iter().map(of_part).sum()
    }

    fn rows(&self, ask: Ask, _: RowMark) -> Result<Box<dyn Rows>> {
        let tallies = vec![Tally::default(); ask.columns.len()];
        Ok(Box::new(PartRows { parts: Arc::clone(&self.0), next: 0, current: None, ask, tallies, n_rows: 0 }))
    }

    fn samples(&self, columns: &[usize]) -> Result<Vec<Vec<Vec<u8>>>> {
        let mut all = vec![Vec::new(); columns.len()];
        for (table, places) in self.0.iter() {
            let columns: Vec<usize> = columns.iter().map(|&at| places[at]).collect();
            all.iter_mut().zip(table.source.samples(&columns)?).for_each(|(all, cells)| all.extend(cells));
        }
        Ok(all)
    }

    fn is_text(&self) -> bool {
        self.0.iter().all(|(table, _)| table.is_text())
    }

    fn dialect(&self) -> Option<Dialect> {
        self.0.first().and_then(|(table, _)| table.dialect())
    }

    fn files(&self) -> Option<Vec<PathBuf>> {
        Some(self.0.iter().flat_map(|(table, _)| table.files()).collect())
    }
}

impl Rows for PartRows {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        loop {
            if self.current.is_none() {
                let Some((table, places)) = self.parts.get(self.next) else { return Ok(None) };
                let columns: Vec<usize> = self.ask.columns.iter().map(|&at| places[at]).collect();
                let cells: Vec<Reading> = self.ask.cells.iter().map(|&cells| Some(cells).into()).collect();
                self.current = Some(table.scan_as(&columns, &self.ask.types, &cells)?);
                self.next += 1;
            }
            let Some(part) = &mut self.current else { continue };
            let n_before = part.n_rows();
            if let Some(arrays) = part.next(run)? {
                self.n_rows += part.n_rows() - n_before;
                return Ok(Some(arrays));
            }
            // The rows of a part start where those before it end.
            let before = self.n_rows - part.n_rows();
            for (all, of_part) in self.tallies.iter_mut().zip(part.tallies()) {
                all.add(of_part.clone(), before, 0);
            }
            self.current = None;
        }
    }

    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn tallies(&self) -> &[Tally] {
        &self.tallies
    }
}

/// The files that `path` stands for, ascending by name; `None` if it is a file itself.
pub(crate) fn parts_of(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_folder = path.is_dir();
    if !is_folder && (!name.contains('*') || path.exists()) {
        return Ok(None);
    }
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
    let mut parts = Vec::new();
    for entry in entries {
        let found = entry.map_err(|e| Error::io(folder, e))?.path();
        let found_name = found.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Other programs put marks such as _SUCCESS and hidden files beside the parts.
        let is_hidden = found_name.starts_with(['.', '_']);
        let is_wanted = if is_folder { is_table(&found) } else { matches(&name, &found_name) };
        if found.is_file() && !is_hidden && is_wanted {
            parts.push(found);
        }
    }
    parts.sort();
    match parts.is_empty() {
        true if is_folder => Err(Error::format(path, None, "the folder holds no table (.csv, .parquet, …)")),
        true => Err(Error::format(path, None, "no file has such a name")),
        false => Ok(Some(parts)),
    }
}

fn is_table(path: &Path) -> bool {
    matches!(Format::from_path(path), Format::Csv | Format::JsonLines | Format::Parquet | Format::Ipc | Format::Sheet)
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

/// Opens parts as one table with the columns of the first.
pub(super) fn open(path: &Path, paths: &[PathBuf], options: &ReadOptions) -> Result<TableFile> {
    let mut parts: Vec<(TableFile, Vec<usize>)> = Vec::new();
    let (mut names, mut repeated, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    for part in paths {
        let table = TableFile::open(part, options)?;
        if parts.is_empty() {
            (names, repeated, kinds) = (table.names.clone(), table.repeated.clone(), table.kinds.clone());
        }
        let place = |name: &String| table.names.iter().position(|other| other == name);
        let missing: Vec<&str> = names.iter().filter(|name| place(name).is_none()).map(String::as_str).collect();
        let further: Vec<&str> = table.names.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
        if !missing.is_empty() || !further.is_empty() {
            let first = paths[0].display();
            let listed = |what: &str, names: &[&str]| match names {
                [] => String::new(),
                names => format!(" {what} {};", names.join(", ")),
            };
            let reason = format!(
                "the columns are not those of {first}:{}{} give files with the same columns",
                listed("without", &missing),
                listed("with further", &further)
            );
            return Err(Error::format(part, None, reason));
        }
        let places: Vec<usize> = names.iter().filter_map(place).collect();
        // A column that is empty in one part has the kind that it has in another; numbers beside text are text.
        for (at, &there) in places.iter().enumerate() {
            kinds[at] = super::canonical::common(&kinds[at], &table.kinds[there]);
        }
        parts.push((table, places));
    }
    let written =
        (0..names.len()).map(|at| parts.iter().find_map(|(table, places)| table.written(places[at]))).collect();
    let doubts = parts.first().map_or_else(Vec::new, |(table, _)| table.doubts().to_vec());
    let passed = parts.first().map_or_else(Vec::new, |(table, _)| table.passed.clone());
    let source = Arc::new(Parts(Arc::new(parts)));
    Ok(TableFile { path: path.to_owned(), names, repeated, kinds, written, doubts, passed, source })
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
