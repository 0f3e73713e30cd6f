//! The labeled table: row, label, confidence, whether a label reached the row, and perhaps more.

use std::path::Path;

use super::writer::LabelWriter;
use lapwing_core::publish::Staged;
use lapwing_core::{ClassNames, Error, Matrix, Result};

/// Endings that [`write_labels`] accepts.
pub const LABEL_ENDINGS: [&str; 3] = [".parquet", ".csv", ".npy"];

/// Answers for all rows of a data set, to be written as a table.
#[derive(Clone, Copy, Debug)]
pub struct LabeledRows<'a> {
    /// Names of the classes.
    pub classes: &'a ClassNames,
    /// Class of each row (n); `None` leaves the label empty.
    pub labels: &'a [Option<usize>],
    /// Confidence in each label (n); the cell is empty for NaN and for rows without a label.
    pub confidence: &'a [f64],
    /// Whether a given label reaches the row (n).
    pub reached: &'a [bool],
    /// Whether each label is certified to be the one of the exact solution (n); the column `certified`.
    pub certified: Option<&'a [bool]>,
    /// Probability of each class (n, c), the columns `p_<class>`; NaN gives an empty cell.
    pub probabilities: Option<&'a Matrix>,
}

/// Columns that a table of labels may have besides row, label, confidence and reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// Whether the label is certified.
    pub certified: bool,
    /// The probability of each class.
    pub probabilities: bool,
}

impl LabelColumns {
    /// Names of the columns, in their order.
    pub(super) fn names(self, classes: &ClassNames) -> Vec<String> {
        let certified = self.certified.then(|| "certified".to_string());
        let classes = if self.probabilities { classes.names() } else { Vec::new() };
        certified.into_iter().chain(classes.iter().map(|name| format!("p_{name}"))).collect()
    }
}

impl std::fmt::Display for LabelColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.certified, self.probabilities) {
            (true, true) => "certified and probabilities",
            (true, false) => "certified and no probabilities",
            (false, true) => "probabilities",
            (false, false) => "no probabilities",
        })
    }
}

impl LabeledRows<'_> {
    /// Checks that the columns have equal lengths; the first row is row `first_row` of the table.
    pub(super) fn check(&self, first_row: usize) -> Result<()> {
        let (n, n_classes) = (self.labels.len(), self.classes.len());
        let certified = self.certified.map(|certified| ("certified", certified.len()));
        let lengths = [("confidence", self.confidence.len()), ("reached", self.reached.len())];
        for (what, len) in lengths.into_iter().chain(certified) {
            if len != n {
                return Err(Error::shape(what, format!("{n} values, one per row"), format!("{len} values")));
            }
        }
        if let Some(matrix) = self.probabilities.filter(|matrix| (matrix.n_rows(), matrix.n_cols()) != (n, n_classes)) {
            let got = format!("{} × {} values", matrix.n_rows(), matrix.n_cols());
            return Err(Error::shape("probabilities", format!("{n} × {n_classes} values"), got));
        }
        match self.labels.iter().position(|label| label.is_some_and(|class| class >= n_classes)) {
            Some(at) => {
                Err(Error::labels(format!("row {} has a class beyond the {n_classes} there are", first_row + at)))
            }
            None => Ok(()),
        }
    }

    /// The optional columns that are present.
    pub(super) fn columns(&self) -> LabelColumns {
        LabelColumns { certified: self.certified.is_some(), probabilities: self.probabilities.is_some() }
    }

    /// Confidence of a row, `None` for an empty cell.
    pub(super) fn confidence_of(&self, row: usize) -> Option<f64> {
        self.labels[row].map(|_| self.confidence[row]).filter(|confidence| !confidence.is_nan())
    }
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
