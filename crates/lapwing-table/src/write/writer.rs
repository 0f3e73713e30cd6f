//! The labeled table, written in blocks of rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema};

use super::kept::{KeptCells, KeptColumns};
use super::labels::{name_field, named, results};
use super::sink::Sink;
use super::table::{LABEL_ENDINGS, LabelColumns, LabeledRows, ending};
use lapwing_core::publish::{Staged, check_writable, publish_all};
use lapwing_core::{ClassNames, Error, Result, RowNames};

/// Rows that are written at a time.
const PIECE_ROWS: usize = 1 << 15;

/// Writes a labeled table in consecutive blocks of rows; the bytes do not depend on the blocks.
///
/// Columns: `row` (counted from 0), `label` (an integer or text, as the classes are), `confidence`, `reached`, then `certified` and
/// `p_<class>` if they are wanted. A missing label or number is empty in CSV, null in Parquet, and −1, `""` or NaN in the structured
/// array of `.npy`. Floats in CSV have the fewest digits that read back as the same number.
///
/// The file gets its name when it is [finished](Self::finish); dropped before, it leaves nothing. The table may be
/// [divided](Self::divided) among several files. The threads of the
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
pub struct LabelWriter {
    classes: ClassNames,
    n_rows: usize,
    columns: LabelColumns,
    lead: Lead,
    sink: Sink,
    /// Files after the present one, the last first, and the row with which each ends.
    files: Vec<(PathBuf, usize)>,
    /// The row with which the present file ends.
    end: usize,
    /// Files that are complete.
    staged: Vec<Staged>,
    /// The next row; `None` after a failure.
    next: Option<usize>,
}

/// What stands before the results of a row.
enum Lead {
    Numbers,
    Names(Arc<RowNames>),
    Kept(Box<KeptCells>),
}

impl std::fmt::Debug for LabelWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LabelWriter").field("n_rows", &self.n_rows).field("next", &self.next).finish_non_exhaustive()
    }
}

impl LabelWriter {
    /// Creates a table of `n_rows` rows and the given `columns`, in the format of the ending; `-` is CSV on standard
    /// output.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown ending, [`Error::Io`] when the file cannot be written.
    pub fn create(path: &Path, classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Result<Self> {
        Self::begin(path, classes, n_rows, columns, |_| Ok((Lead::Numbers, vec![name_field("row", None)])))
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
        Self::begin(path, classes, names.len(), columns, |ending| {
            let shown = Some(&*names).filter(|_| ending != Some("npy"));
            let first = name_field("row", shown);
            Ok((shown.map_or(Lead::Numbers, |_| Lead::Names(names.clone())), vec![first]))
        })
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
        Self::begin(path, classes, n_rows, columns, |ending| {
            if ending == Some("npy") {
                let expected = "a .csv or .parquet file: a .npy has no columns of the input";
                return Err(Error::param("output", path.display(), expected));
            }
            let (cells, fields) = KeptCells::new(kept, ending != Some("parquet"))?;
            Ok((Lead::Kept(Box::new(cells)), fields))
        })
    }

    /// Begins a table; `lead` gets the ending, and gives what stands before the results, with its fields.
    fn begin(
        path: &Path,
        classes: &ClassNames,
        n_rows: usize,
        columns: LabelColumns,
        lead: impl FnOnce(Option<&str>) -> Result<(Lead, Vec<Field>)>,
    ) -> Result<Self> {
        check_writable(path, &LABEL_ENDINGS)?;
        let ending = ending(path);
        let (lead, mut fields) = lead(ending.as_deref())?;
        let (label_type, width) = match classes {
            ClassNames::Integers(_) => (DataType::Int64, 0),
            ClassNames::Texts(names) => {
                (DataType::Utf8, names.iter().map(|name| name.chars().count()).max().unwrap_or(0))
            }
        };
        fields.extend(lead.has_label().then(|| Field::new("label", label_type, true)));
        fields.push(Field::new("confidence", DataType::Float64, true));
        fields.push(Field::new("reached", DataType::Boolean, false));
        fields.extend(columns.names(classes).into_iter().enumerate().map(|(at, name)| {
            let is_mark = columns.certified && at == 0;
            Field::new(name, if is_mark { DataType::Boolean } else { DataType::Float64 }, !is_mark)
        }));
        let mut names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        crate::read::make_distinct(&mut names);
        let fields = fields.into_iter().zip(names).map(|(field, name)| field.with_name(name));
        let schema = Schema::new(fields.collect::<Vec<Field>>());
        let sink = match ending.as_deref() {
            Some("npy") => Sink::create_records(path, schema, n_rows, width.max(1))?,
            _ => Sink::create(path, schema)?,
        };
        let (files, staged) = (Vec::new(), Vec::new());
        Ok(Self { classes: classes.clone(), n_rows, columns, lead, sink, files, end: n_rows, staged, next: Some(0) })
    }

    /// Divides the table, of which nothing was written yet, among files of that many rows each. The first is the file with which it was
    /// [created](Self::create); all are `.csv` or `.parquet`, as that one.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the files have as many rows as the table; [`Error::Param`] for other endings; [`Error::Io`].
    pub fn divided(mut self, files: Vec<(PathBuf, usize)>) -> Result<Self> {
        let mut n = 0;
        for (path, n_rows) in files {
            check_writable(&path, &LABEL_ENDINGS)?;
            if ending(&path) != ending(self.sink.path()) || ending(&path).as_deref() == Some("npy") {
                let expected = "files that all end in .csv, or all in .parquet";
                return Err(Error::param("output", path.display(), expected));
            }
            n += n_rows;
            self.files.push((path, n));
        }
        if n != self.n_rows {
            return Err(Error::shape("the files of labels", format!("{} rows", self.n_rows), n));
        }
        self.files.reverse();
        self.end = self.files.pop().map_or(n, |first| first.1);
        Ok(self)
    }

    /// Begins the next file, if the present one has all its rows and is not the last.
    fn turn(&mut self, row: usize) -> Result<()> {
        while row == self.end
            && let Some((path, end)) = self.files.pop()
        {
            let next = Sink::create(&path, self.sink.schema().clone())?;
            self.staged.push(std::mem::replace(&mut self.sink, next).finish()?.stage()?);
            self.end = end;
        }
        Ok(())
    }

    /// Writes the rows of `block` as the rows from `first_row` on, which must directly follow the block before.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Labels`] for rows that do not fit together or into the table, [`Error::Param`] for
    /// a block out of order, [`Error::Io`] when the file cannot be written; after that the table cannot be finished.
    pub fn write(&mut self, first_row: usize, block: &LabeledRows<'_>) -> Result<()> {
        let end = self.check(first_row, block)?;
        match self.next {
            Some(next) if next == first_row => {}
            Some(next) => return Err(Error::param("first row of the block", first_row, format!("row {next}"))),
            None => return Err(failed_before()),
        }
        self.next = None;
        let mut start = 0;
        while start < block.labels.len() {
            self.turn(first_row + start)?;
            let rows = start..block.labels.len().min(start + PIECE_ROWS).min(self.end - first_row);
            start = rows.end;
            let numbers = first_row + rows.start..first_row + rows.end;
            let mut arrays: Vec<ArrayRef> = match &mut self.lead {
                Lead::Numbers => vec![named(None, numbers)],
                Lead::Names(names) => vec![named(Some(names), numbers)],
                Lead::Kept(cells) => cells.next(first_row, block, &rows)?,
            };
            arrays.extend(results(block, rows, self.lead.has_label()));
            self.sink.write(arrays)?;
        }
        self.next = Some(end);
        Ok(())
    }

    /// Checks the columns and the range of a block, and returns its end.
    fn check(&self, first_row: usize, block: &LabeledRows<'_>) -> Result<usize> {
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

    /// Syncs the table and renames its files.
    ///
    /// # Errors
    /// [`Error::Shape`] if rows are missing, [`Error::Io`] when the file cannot be written; no partial file remains,
    /// and an older file of that name is unchanged.
    pub fn finish(self) -> Result<()> {
        publish_all(self.stage()?)
    }

    /// [`finish`](Self::finish) without the renaming: [`publish_all`](lapwing_core::publish::publish_all) renames several files
    /// together.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    #[doc(hidden)]
    pub fn stage(mut self) -> Result<Vec<Staged>> {
        match self.next {
            Some(next) if next == self.n_rows => self.turn(next)?,
            Some(next) => return Err(Error::shape("the table of labels", format!("{} rows", self.n_rows), next)),
            None => return Err(failed_before()),
        }
        self.staged.push(self.sink.finish()?.stage()?);
        Ok(self.staged)
    }
}

impl Lead {
    /// Whether labels have a column of their own.
    fn has_label(&self) -> bool {
        !matches!(self, Self::Kept(cells) if cells.fill.is_some())
    }
}

fn failed_before() -> Error {
    Error::labels("a block before could not be written")
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::io;

    use super::super::tests::write_labels;
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
