//! The table of labels, whole or in blocks of rows, in one file or in as many as the input has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapwing::data::read::{ReadOptions, TableFile};
use lapwing::data::write::{KeptColumns, LabelColumns, LabelWriter, LabeledRows};
use lapwing::data::{ClassNames, Error, Matrix, RowNames, Run};
use lapwing::models::{Labeling, PredictionSets};
use lapwing_core::publish::{Staged, is_stdout};
use lapwing_table::read::is_divided;
use lapwing_table::write::{ColumnTable, ending};

use crate::failure::Failure;

/// What is between the classes of a set.
const BETWEEN_CLASSES: &str = "|";

/// Rows that are written at a time.
const WRITTEN_ROWS: usize = 1 << 18;

/// Refuses names of classes that a set cannot hold.
pub fn check_set_names(classes: &ClassNames) -> Result<(), Failure> {
    match classes.names().iter().find(|name| name.contains(BETWEEN_CLASSES)) {
        Some(name) => Err(Failure::usage(format!(
            "--sets: a set is written with {BETWEEN_CLASSES} between its classes, and the class {name:?} has one in its name; rename it"
        ))),
        None => Ok(()),
    }
}

/// A table of labels, confidences and reached rows. `names`, or kept columns of the input, stand in the place of row numbers.
pub struct LabelTable<'a> {
    pub path: &'a Path,
    pub classes: &'a ClassNames,
    /// Whether each class has a column with its share.
    pub probabilities: bool,
    pub names: Option<&'a Arc<RowNames>>,
    pub kept: Option<KeptColumns>,
    /// The input, whose files those of the table are named after if `path` is a folder.
    pub data: Option<&'a Path>,
}

/// Whether labels of `data` go to a folder `out`, in files with the names of those of `data`.
pub fn is_folder_of_labels(out: &Path, data: Option<&Path>) -> bool {
    !is_stdout(out) && ending(out).is_none() && data.is_some_and(is_divided)
}

/// The files of a folder `out`, named after those of `data`, each with its number of rows. Makes the folders.
fn files_in(out: &Path, data: &Path) -> Result<Vec<(PathBuf, usize)>, Failure> {
    let table = TableFile::open(data, &ReadOptions::default())?;
    let above = if data.is_dir() { data } else { data.parent().unwrap_or(Path::new("")) };
    let mut files = Vec::new();
    for (part, n_rows) in table.parts().unwrap_or_default() {
        let path = out.join(part.strip_prefix(above).unwrap_or(part));
        let n_rows = n_rows.ok_or_else(|| {
            Failure::usage(format!(
                "--output {}: a folder of labels needs files that state their number of rows, as .parquet does; {} does not; give the \
                 name of one file, such as labels.parquet",
                out.display(),
                part.display()
            ))
        })?;
        if path == *part {
            return Err(Failure::usage(format!("--output {} is the folder of DATA", out.display())));
        }
        files.push((path, n_rows));
    }
    // Only when nothing is refused.
    for folder in files.iter().filter_map(|(path, _)| path.parent()) {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    }
    Ok(files)
}

impl LabelTable<'_> {
    /// A writer of the table of `n_rows` rows.
    pub fn writer(self, n_rows: usize, certified: bool) -> Result<LabelWriter, Failure> {
        let Self { path, classes, probabilities, names, kept, data } = self;
        let columns = LabelColumns { certified, probabilities };
        let files = match data.filter(|_| is_folder_of_labels(path, data)) {
            Some(data) => files_in(path, data)?,
            None => Vec::new(),
        };
        let path = files.first().map_or(path, |(path, _)| path.as_path());
        let writer = match (kept, names) {
            (Some(kept), _) => LabelWriter::create_beside(path, classes, n_rows, columns, kept)?,
            (None, Some(names)) => LabelWriter::create_named(path, classes, names.clone(), columns)?,
            (None, None) => LabelWriter::create(path, classes, n_rows, columns)?,
        };
        Ok(if files.is_empty() { writer } else { writer.divided(files)? })
    }

    /// Writes the labels of all rows, with a column for certificates if there are any.
    pub fn stage(self, labels: &[Option<usize>], labeling: &Labeling, run: &Run) -> Result<Vec<Staged>, Failure> {
        let (n, classes, probabilities) = (labels.len(), self.classes, self.probabilities);
        let mut writer = self.writer(n, labeling.certified.is_some())?;
        run.progress().expect(n as u64);
        for first in (0..n).step_by(WRITTEN_ROWS) {
            run.check()?;
            let rows = first..(first + WRITTEN_ROWS).min(n);
            let shares = &labeling.label_distributions;
            let of_rows = || rows.clone().flat_map(|row| shares.row(row)).copied().collect();
            let shares = probabilities.then(|| Matrix::new(rows.len(), shares.n_cols(), of_rows())).transpose()?;
            let block = LabeledRows {
                classes,
                labels: &labels[rows.clone()],
                confidence: &labeling.confidence[rows.clone()],
                reached: &labeling.reached[rows.clone()],
                certified: labeling.certified.as_ref().map(|certified| &certified[rows.clone()]),
                probabilities: shares.as_ref(),
            };
            writer.write(first, &block)?;
            run.progress().update(rows.end as u64, "rows");
        }
        Ok(writer.stage()?)
    }

    /// As [`stage`](Self::stage), with a column `set`: the classes of the set of each row, with | between them.
    pub fn stage_with_sets(
        self,
        labels: &[Option<usize>],
        labeling: &Labeling,
        sets: &PredictionSets,
        run: &Run,
    ) -> Result<Vec<Staged>, Failure> {
        let rows: Vec<u32> = (0..labels.len() as u32).collect();
        let mut table = match self.kept {
            Some(kept) => {
                let mut table = ColumnTable::default();
                table.kept(kept, &rows, self.path, run)?;
                table
            }
            None => ColumnTable::of_rows(&rows, self.names.map(|names| &**names)),
        };
        match self.classes {
            ClassNames::Integers(names) => {
                table.integers("label", labels.iter().map(|class| class.map(|class| names[class])))
            }
            ClassNames::Texts(names) => {
                table.texts("label", labels.iter().map(|class| class.map(|class| &names[class])))
            }
        }
        let confidence = labels.iter().zip(&labeling.confidence);
        table.numbers("confidence", confidence.map(|(class, share)| class.map_or(f64::NAN, |_| *share)));
        table.flags("reached", labeling.reached.iter().copied());
        if let Some(certified) = &labeling.certified {
            table.flags("certified", certified.iter().copied());
        }
        let names = self.classes.names();
        let set = |holds: &[bool]| {
            let held = names.iter().zip(holds).filter(|(_, holds)| **holds).map(|(name, _)| name.as_str());
            Some(held.collect::<Vec<_>>().join(BETWEEN_CLASSES))
        };
        table.texts("set", sets.holds.chunks_exact(sets.n_classes.max(1)).map(set));
        if self.probabilities {
            for (class, name) in names.iter().enumerate() {
                table.numbers(&format!("p_{name}"), labeling.label_distributions.rows().map(|row| row[class]));
            }
        }
        Ok(vec![table.stage(self.path)?])
    }
}
