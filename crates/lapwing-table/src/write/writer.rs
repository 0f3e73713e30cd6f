//! The labeled table, written in blocks of rows.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::csv::CsvLines;
use super::encode::encode_rows;
use super::kept::{KeptColumns, KeptTable};
use super::npy::Records;
use super::parquet::LabelTable;
use super::table::{LABEL_ENDINGS, LabelColumns, LabeledRows};
use lapwing_core::publish::AtomicFile;
use lapwing_core::publish::Staged;
use lapwing_core::publish::check_writable;
use lapwing_core::{ClassNames, Error, Result, RowNames};

/// Writes a labeled table in consecutive blocks of rows, with the same bytes as [`write_labels`](super::write_labels).
///
/// The file gets its name when it is [finished](Self::finish); dropped before, it leaves nothing. The threads of the
/// pool that [`write`](Self::write) is called in ([`Run::install`](lapwing_core::Run::install)) encode rows of `.csv` and
/// `.npy`; without a pool, one thread does.
///
/// # Complexity
/// Memory for some thousand rows, and in `.parquet` for about a million of them, compressed.
///
/// # Example
/// ```
/// use lapwing_core::ClassNames;
/// use lapwing_table::write::{LabelColumns, LabelWriter, LabeledRows};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("labels.csv");
/// let classes = ClassNames::Texts(vec!["ham".into(), "spam".into()]);
/// let mut writer = LabelWriter::create(&path, &classes, 3, LabelColumns::default())?;
/// let block = |labels, confidence, reached| LabeledRows {
///     classes: &classes, labels, confidence, reached, certified: None, probabilities: None,
/// };
/// writer.write(0, &block(&[Some(1), None], &[0.75, f64::NAN], &[true, false]))?;
/// writer.write(2, &block(&[Some(0)], &[1.0], &[true]))?;
/// writer.finish()?;
/// let text = std::fs::read_to_string(&path)?;
/// assert_eq!(text, "row,label,confidence,reached\n0,spam,0.75,true\n1,,,false\n2,ham,1.0,true\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LabelWriter {
    shape: Table,
    /// The next row; `None` after a failure.
    next: Option<usize>,
    format: Format,
}

enum Format {
    Csv(CsvLines, AtomicFile),
    Npy(Records, AtomicFile),
    Parquet(Box<LabelTable>),
    Kept(Box<KeptTable>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Csv(..) => "Csv",
            Self::Npy(..) => "Npy",
            Self::Parquet(_) => "Parquet",
            Self::Kept(_) => "Kept",
        })
    }
}

/// The expected contents of a table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub path: std::path::PathBuf,
    pub classes: ClassNames,
    pub n_rows: usize,
    pub columns: LabelColumns,
    /// Names of the rows, in the place of their numbers.
    pub names: Option<Arc<RowNames>>,
}

impl Table {
    /// Checks the columns and the range of a block, and returns its end.
    pub(super) fn check(&self, first_row: usize, block: &LabeledRows<'_>) -> Result<usize> {
        block.check(first_row)?;
        if *block.classes != self.classes {
            return Err(Error::labels("the classes of the block are not those of the table"));
        }
        let (expected, found) = (self.columns, block.columns());
        if expected != found {
            return Err(Error::shape("the block of labels", expected.to_string(), found.to_string()));
        }
        first_row.checked_add(block.labels.len()).filter(|&end| end <= self.n_rows).ok_or_else(|| {
            let got = format!("{} rows from row {first_row} on", block.labels.len());
            Error::shape("the block of labels", format!("at most {} rows in all", self.n_rows), got)
        })
    }

    pub(super) fn io(&self, error: io::Error) -> Error {
        Error::io(&self.path, error)
    }
}

impl LabelWriter {
    /// Creates a table of `n_rows` rows and the given `columns`, in the format of the ending; `-` is CSV on standard
    /// output.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown ending, [`Error::Io`] when the file cannot be written.
    pub fn create(path: &Path, classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Result<Self> {
        Self::begin(Table { path: path.to_owned(), classes: classes.clone(), n_rows, columns, names: None })
    }

    /// As [`create`](Self::create), with the names of the rows in the place of their numbers, in the column that `names` names:
    /// as integers in `.parquet` if all of them are, else as text. A `.npy` has row numbers.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`Error::Param`] if another column of the table has the name of that column.
    pub fn create_named(
        path: &Path,
        classes: &ClassNames,
        names: Arc<RowNames>,
        columns: LabelColumns,
    ) -> Result<Self> {
        let is_taken = |name: &str| names.column() == name;
        if ["label", "confidence", "reached"].into_iter().any(is_taken)
            || columns.names(classes).iter().any(|name| is_taken(name))
        {
            let expected = "a column of another name: the table of labels has a column of this one";
            return Err(Error::param("id column", format!("'{}'", names.column()), expected));
        }
        let (path, classes, n_rows) = (path.to_owned(), classes.clone(), names.len());
        Self::begin(Table { path, classes, n_rows, columns, names: Some(names) })
    }

    /// As [`create`](Self::create), with columns of the input before those of the labels, in `.csv` or `.parquet`. There are no row
    /// numbers; a column of the labels whose name is taken has a number behind it.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`Error::Param`] for `.npy`; errors of reading the columns.
    pub fn create_beside(
        path: &Path,
        classes: &ClassNames,
        n_rows: usize,
        columns: LabelColumns,
        kept: KeptColumns,
    ) -> Result<Self> {
        check_writable(path, &LABEL_ENDINGS)?;
        let ending = ending(path);
        if ending.as_deref() == Some("npy") {
            return Err(Error::param(
                "output",
                path.display(),
                "a .csv or .parquet file: a .npy has no columns of the input",
            ));
        }
        let is_parquet = ending.as_deref() == Some("parquet");
        let table = KeptTable::new(path, kept, classes, columns, is_parquet)?;
        let shape = Table { path: path.to_owned(), classes: classes.clone(), n_rows, columns, names: None };
        Ok(Self { shape, next: Some(0), format: Format::Kept(Box::new(table)) })
    }

    fn begin(shape: Table) -> Result<Self> {
        let path = &shape.path;
        check_writable(path, &LABEL_ENDINGS)?;
        let format = Format::begin(&shape, AtomicFile::create(path)?).map_err(|e| shape.io(e))?;
        Ok(Self { shape, next: Some(0), format })
    }

    /// Writes the rows of `block` as the rows from `first_row` on, which must directly follow the block before.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Labels`] for rows that do not fit together or into the table, [`Error::Param`] for
    /// a block out of order, [`Error::Io`] when the file cannot be written; after that the table cannot be finished.
    pub fn write(&mut self, first_row: usize, block: &LabeledRows<'_>) -> Result<()> {
        let end = self.shape.check(first_row, block)?;
        match self.next {
            Some(next) if next == first_row => {}
            Some(next) => return Err(Error::param("first row of the block", first_row, format!("row {next}"))),
            None => return Err(failed_before()),
        }
        self.next = None;
        if let Format::Kept(table) = &mut self.format {
            table.write(first_row, block)?;
            self.next = Some(end);
            return Ok(());
        }
        match &mut self.format {
            Format::Kept(_) => Ok(()),
            Format::Csv(lines, file) => encode_rows(lines, first_row, block, |bytes| file.write_all(bytes)),
            Format::Npy(records, file) => encode_rows(records, first_row, block, |bytes| file.write_all(bytes)),
            Format::Parquet(table) => table.write(block),
        }
        .map_err(|e| self.shape.io(e))?;
        self.next = Some(end);
        Ok(())
    }

    /// Syncs the table and renames it.
    ///
    /// # Errors
    /// [`Error::Shape`] if rows are missing, [`Error::Io`] when the file cannot be written; no partial file remains,
    /// and an older file of that name is unchanged.
    pub fn finish(self) -> Result<()> {
        self.stage()?.publish()
    }

    /// [`finish`](Self::finish) without the renaming: [`publish_all`](lapwing_core::publish::publish_all) renames several files
    /// together.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    #[doc(hidden)]
    pub fn stage(self) -> Result<Staged> {
        let Self { shape, next, format } = self;
        match next {
            Some(next) if next == shape.n_rows => {}
            Some(next) => return Err(Error::shape("the table of labels", format!("{} rows", shape.n_rows), next)),
            None => return Err(failed_before()),
        }
        let file = match format {
            Format::Csv(_, file) | Format::Npy(_, file) => file,
            Format::Parquet(table) => table.finish(&shape.classes).map_err(|e| shape.io(e))?,
            Format::Kept(table) => table.finish()?,
        };
        file.stage()
    }
}

fn failed_before() -> Error {
    Error::labels("a block before could not be written")
}

impl Format {
    fn begin(shape: &Table, mut file: AtomicFile) -> io::Result<Self> {
        match ending(&shape.path).as_deref() {
            Some("npy") => {
                let records = Records::new(&shape.classes, shape.n_rows, shape.columns);
                file.write_all(records.header())?;
                Ok(Self::Npy(records, file))
            }
            Some("parquet") => LabelTable::new(file, &shape.classes, shape.columns, shape.names.clone())
                .map(|table| Self::Parquet(Box::new(table))),
            _ => {
                let lines = CsvLines::new(&shape.classes, shape.columns, shape.names.clone())?;
                file.write_all(lines.header())?;
                Ok(Self::Csv(lines, file))
            }
        }
    }
}

/// The ending of a name in small letters.
pub(super) fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}
