//! Rows that are read in blocks and never held: of a file, or made by their number.

use std::path::Path;

use lapwing::data::read::{RowFile, can_stream, read_label_column, read_sparse_labels};
use lapwing::data::{ClassNames, Error, GeneratedRows, RowSource, Run, SparseLabels};

use crate::failure::Failure;
use crate::input::{no_labels, read_options};
use crate::options::{LabelOptions, TableOptions};

/// What names rows that are made.
const GENERATED: &str = "generated:";

/// Rows as a stream.
pub enum Rows {
    File(RowFile),
    Generated(GeneratedRows),
}

/// Whether `path` names rows that can be read in blocks.
pub fn are_rows(path: &Path) -> bool {
    can_stream(path) || generated(path).is_some()
}

/// What stands behind `generated:`.
pub fn generated(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(GENERATED)
}

impl Rows {
    /// Opens a file, or understands `generated:ROWSxCOLUMNSxCLASSES`.
    pub fn open(path: &Path, table: &TableOptions, labels: Option<&LabelOptions>, run: &Run) -> Result<Self, Failure> {
        let Some(sizes) = generated(path) else {
            return Ok(Self::File(RowFile::open(path, &read_options(table, labels), run)?));
        };
        let numbers: Option<Vec<usize>> = sizes.split('x').map(|part| part.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[rows, columns, classes]) => {
                Ok(Self::Generated(GeneratedRows::new(rows, columns, classes, run.seed)?))
            }
            _ => Err(Failure::usage(format!(
                "{GENERATED}{sizes} is not understood; expected {GENERATED}ROWSxCOLUMNSxCLASSES, such as \
                 {GENERATED}1000000x100x10"
            ))),
        }
    }

    pub fn source(&self) -> &dyn RowSource {
        match self {
            Self::File(file) => file,
            Self::Generated(rows) => rows,
        }
    }

    /// An error about these rows in words of their file.
    pub fn explained(&self, error: Error, run: &Run) -> Error {
        match self {
            Self::File(file) => file.explained(error, run),
            Self::Generated(_) => error,
        }
    }

    /// Names of the columns, where they have any.
    pub fn feature_names(&self) -> Option<Vec<String>> {
        match self {
            Self::File(file) => file.feature_names().map(<[String]>::to_vec),
            Self::Generated(_) => None,
        }
    }

    /// Class of a row, where it is known beforehand.
    pub fn class(&self, row: usize) -> Option<usize> {
        match self {
            Self::File(_) => None,
            Self::Generated(rows) => Some(rows.class(row)),
        }
    }

    /// The given labels: of a file of their own, of a column, or of the first rows of each class that is generated.
    pub fn labels(
        &self,
        path: &Path,
        table: &TableOptions,
        labels: &LabelOptions,
        run: &Run,
    ) -> Result<SparseLabels, Failure> {
        let n = self.source().n_rows();
        match (self, &labels.labels) {
            (Self::Generated(rows), Some(path)) if generated(path).is_some() => {
                let per_class = generated(path).and_then(|text| text.parse().ok()).filter(|&count: &usize| count > 0);
                let per_class = per_class.ok_or_else(|| {
                    Failure::usage(format!("--labels {GENERATED}N needs the number of labels of each class"))
                })?;
                Ok(first_of_each(rows, per_class))
            }
            (_, Some(path)) => Ok(read_sparse_labels(path, n, labels.unlabeled.as_deref())?),
            (Self::File(_), None) if labels.label_column.is_some() => {
                Ok(read_label_column(path, &read_options(table, Some(labels)), run)?)
            }
            _ => Err(no_labels(false)),
        }
    }
}

/// The first rows of each class.
fn first_of_each(rows: &GeneratedRows, per_class: usize) -> SparseLabels {
    let (n, c) = (rows.n_rows(), rows.n_classes());
    let mut counts = vec![0; c];
    let (mut found, mut index) = (Vec::new(), Vec::new());
    for row in 0..n {
        let class = rows.class(row);
        if counts[class] < per_class {
            counts[class] += 1;
            found.push(row as u32);
            index.push(class as u32);
            if found.len() == per_class * c {
                break;
            }
        }
    }
    SparseLabels { n_samples: n, classes: ClassNames::Integers((0..c as i64).collect()), rows: found, index }
}
