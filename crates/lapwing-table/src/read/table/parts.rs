//! Several files as one table: a folder of parts, a pattern with `*` in the name, or a list. Names of folders such as `year=2020` are
//! columns of the parts in them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType;

use super::canonical::canonical;
use super::rows::Ask;
use super::source::Source;
use super::{ColumnKind, ColumnType, TableFile, TableRows, Tally};
use crate::read::cell::{Reading, infer};
use crate::read::format::{Format, is_rereadable, only_once};
use crate::read::options::ReadOptions;
use lapwing_core::{Error, Result, Run};

/// A table with the place of every column; the last columns of the table are the keys in the names of its folders.
#[derive(Debug)]
pub(super) struct Part {
    pub table: TableFile,
    places: Vec<usize>,
    /// The values of the keys.
    values: Vec<String>,
}

/// Reads parts one after the other.
pub(super) struct PartRows {
    parts: Arc<Vec<Part>>,
    next: usize,
    current: Option<TableRows>,
}

impl Part {
    /// Number of columns of the file.
    fn n_own(&self) -> usize {
        self.table.names.len() - self.values.len()
    }

    /// The value that all cells of a column have; the place of other columns.
    fn column(&self, at: usize) -> std::result::Result<&str, usize> {
        let place = self.places[at];
        place.checked_sub(self.n_own()).map_or(Err(place), |key| Ok(&self.values[key]))
    }

    /// Bytes of the file, or those of some columns if they can be read alone.
    pub(super) fn bytes_of(&self, columns: &[usize]) -> u64 {
        self.table.bytes_of(&columns.iter().filter_map(|&at| self.column(at).err()).collect::<Vec<_>>())
    }

    /// Cells of a column in some of the first rows.
    pub(super) fn sample(&self, at: usize) -> Result<Vec<Vec<u8>>> {
        self.column(at).map_or_else(|at| self.table.sample(at), |value| Ok(vec![value.into()]))
    }

    /// Starts to read the columns that are its own.
    fn scan(&self, ask: &Ask) -> Result<TableRows> {
        let own = ask.columns.iter().zip(&ask.types).zip(&ask.cells);
        let own =
            own.filter_map(|((&at, &kind), &cells)| Some((self.column(at).err()?, kind, Reading::from(Some(cells)))));
        let (mut columns, mut types, mut cells): (Vec<usize>, Vec<ColumnType>, Vec<Reading>) = own.collect();
        // Only texts have rows without cells.
        if columns.is_empty() && !self.table.is_text() {
            let readable = (0..self.n_own()).find_map(|at| Some((at, self.table.kinds[at].column_type()?)));
            columns.extend(readable.map(|(at, _)| at));
            types.extend(readable.map(|(_, kind)| kind));
            cells.extend(readable.map(|_| Reading::default()));
        }
        self.table.scan_as(&columns, &types, &cells)
    }

    /// The arrays of all columns from those of its own.
    fn with_values(&self, own: Vec<ArrayRef>, n_rows: usize, ask: &Ask) -> Result<Vec<ArrayRef>> {
        let mut own = own.into_iter();
        let mut arrays = Vec::with_capacity(ask.columns.len());
        for (at, read_as) in ask.columns.iter().zip(ask.types.iter().copied().zip(ask.cells.iter().copied())) {
            arrays.extend(match self.column(*at) {
                Err(_) => own.next(),
                Ok(value) => {
                    let texts: ArrayRef = Arc::new(StringArray::from(vec![value; n_rows]));
                    Some(canonical(self.table.path(), &texts, read_as, 0, &mut Tally::default())?)
                }
            });
        }
        Ok(arrays)
    }
}

impl PartRows {
    pub(super) fn new(parts: &Arc<Vec<Part>>) -> Self {
        Self { parts: Arc::clone(parts), next: 0, current: None }
    }

    /// The next rows; `tallies` are counts of the cells and `all_rows` the number of the rows so far.
    pub(super) fn next(
        &mut self,
        ask: &Ask,
        tallies: &mut [Tally],
        all_rows: &mut usize,
        run: &Run,
    ) -> Result<Option<Vec<ArrayRef>>> {
        loop {
            if self.current.is_none() {
                let Some(part) = self.parts.get(self.next) else { return Ok(None) };
                self.current = Some(part.scan(ask)?);
                self.next += 1;
            }
            let Some(rows) = &mut self.current else { continue };
            let n_before = rows.n_rows();
            if let Some(arrays) = rows.next(run)? {
                let n_rows = rows.n_rows() - n_before;
                *all_rows += n_rows;
                return self.parts[self.next - 1].with_values(arrays, n_rows, ask).map(Some);
            }
            // The rows of a part start where those before it end.
            let before = *all_rows - rows.n_rows();
            let part = &self.parts[self.next - 1];
            let own = ask.columns.iter().zip(&mut *tallies).filter(|(at, _)| part.column(**at).is_err());
            own.zip(rows.tallies()).for_each(|((_, all), of_part)| all.add(of_part.clone(), before, 0));
            self.current = None;
        }
    }
}

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

/// Opens parts as one table with the columns of the first. Folders of their paths below `folder` may be keys.
pub(super) fn open(path: &Path, folder: &Path, paths: &[PathBuf], options: &ReadOptions) -> Result<TableFile> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut names, mut types, mut kinds, mut written) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for file in paths {
        if !is_rereadable(file) {
            return Err(only_once(file));
        }
        let (mut table, mut values) = (TableFile::open(file, options)?, Vec::new());
        for (key, value) in keys(file.strip_prefix(folder).unwrap_or(file)) {
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
            return Err(Error::format(file, None, reason));
        }
        let places: Vec<usize> = names.iter().filter_map(place).collect();
        // A column that is empty in one part has the kind that it has in another; numbers beside text are text.
        for (at, &there) in places.iter().enumerate() {
            kinds[at] = super::canonical::common(&kinds[at], &table.kinds[there]);
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
