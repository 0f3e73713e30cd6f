//! The labeled table, written in blocks of rows.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::encode::encode_rows;
use super::kept::KeptColumns;
use super::labels::LabelTable;
use super::npy::Records;
use super::table::{LABEL_ENDINGS, LabelColumns, LabeledRows, ending};
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
    Npy(Box<Records>, Box<AtomicFile>),
    Table(Box<LabelTable>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Npy(..) => "Npy",
            Self::Table(_) => "Table",
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
        let table = LabelTable::beside(path, kept, classes, columns, is_parquet)?;
        let shape = Table { path: path.to_owned(), classes: classes.clone(), n_rows, columns, names: None };
        Ok(Self { shape, next: Some(0), format: Format::Table(Box::new(table)) })
    }

    fn begin(shape: Table) -> Result<Self> {
        let path = &shape.path;
        check_writable(path, &LABEL_ENDINGS)?;
        let format = if ending(path).as_deref() == Some("npy") {
            let mut file = AtomicFile::create(path)?;
            let records = Records::new(&shape.classes, shape.n_rows, shape.columns);
            file.write_all(records.header()).map_err(|e| shape.io(e))?;
            Format::Npy(Box::new(records), Box::new(file))
        } else {
            Format::Table(Box::new(LabelTable::new(path, &shape.classes, shape.columns, shape.names.clone())?))
        };
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
        match &mut self.format {
            Format::Table(table) => table.write(first_row, block)?,
            Format::Npy(records, file) => {
                let written = encode_rows(records, first_row, block, |bytes| file.write_all(bytes));
                written.map_err(|e| self.shape.io(e))?;
            }
        }
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
            Format::Npy(_, file) => *file,
            Format::Table(table) => table.finish()?,
        };
        file.stage()
    }
}

fn failed_before() -> Error {
    Error::labels("a block before could not be written")
}

/// Writes the table in the format of the ending; `-` is CSV on standard output.
///
/// Columns: `row` (counted from 0), `label` (an integer or text, as the classes are), `confidence`, `reached`, then
/// `certified` and `p_<class>` if they are given. A missing label or number is empty in CSV, null in Parquet, and −1,
/// `""` or NaN in the structured array of `.npy`. Floats in CSV have the fewest digits that read back as the same
/// number.
///
/// # Errors
/// [`Error::Shape`] and [`Error::Labels`] for rows that do not fit together, [`Error::Param`] for an unknown ending,
/// [`Error::Io`] when the file cannot be written; no partial file remains.
pub fn write_labels(path: &Path, rows: &LabeledRows<'_>) -> Result<()> {
    stage_labels(path, rows)?.publish()
}

/// [`write_labels`] without the renaming: [`publish_all`](lapwing_core::publish::publish_all) renames several files together.
///
/// # Errors
/// As [`write_labels`].
pub fn stage_labels(path: &Path, rows: &LabeledRows<'_>) -> Result<Staged> {
    rows.check(0)?;
    let mut writer = LabelWriter::create(path, rows.classes, rows.labels.len(), rows.columns())?;
    writer.write(0, rows)?;
    writer.stage()
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::io;

    use super::*;
    use lapwing_core::Matrix;

    #[test]
    fn tables_are_written_as_csv() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let classes = ClassNames::Texts(vec!["a,b".into(), "c".into()]);
        let probabilities = Matrix::new(3, 2, vec![0.9, 0.1, 1e-300, 1.0, f64::NAN, f64::NAN]).unwrap();
        let rows = LabeledRows {
            classes: &classes,
            labels: &[Some(0), Some(1), None],
            confidence: &[0.9, 1.0 / 3.0, 0.5],
            reached: &[true, true, false],
            certified: Some(&[true, false, false]),
            probabilities: Some(&probabilities),
        };
        write_labels(&path, &rows).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = "row,label,confidence,reached,certified,\"p_a,b\",p_c\n0,\"a,b\",0.9,true,true,0.9,0.1\n\
                        1,c,0.3333333333333333,true,false,1e-300,1.0\n2,,,false,false,,\n";
        assert_eq!(text, expected);
        let short = LabeledRows { confidence: &[0.9], ..rows };
        assert!(write_labels(&path, &short).unwrap_err().to_string().contains("confidence has 1 values"));
        let beyond = LabeledRows { labels: &[Some(2), None, None], ..rows };
        assert!(write_labels(&path, &beyond).unwrap_err().to_string().contains("row 0"));
        assert!(write_labels(&folder.path().join("out.txt"), &rows).unwrap_err().to_string().contains(".parquet"));
    }

    #[cfg(unix)]
    #[test]
    fn a_full_disk_is_told_for_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let classes = ClassNames::Integers(vec![0, 1]);
        let rows = LabeledRows {
            classes: &classes,
            labels: &[Some(0), None],
            confidence: &[0.9, f64::NAN],
            reached: &[true, false],
            certified: None,
            probabilities: None,
        };
        let endings = LABEL_ENDINGS.iter();
        for ending in endings {
            let path = folder.path().join(format!("full{ending}"));
            std::os::unix::fs::symlink("/dev/full", &path).unwrap();
            match write_labels(&path, &rows) {
                Err(Error::Io { path: named, source }) => {
                    assert_eq!((named, source.kind()), (path, io::ErrorKind::StorageFull));
                }
                other => panic!("{ending}: {other:?}"),
            }
        }
    }
}
