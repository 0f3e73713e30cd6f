//! The table of labels, whole or in blocks of rows.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::write::{KeptColumns, LabelColumns, LabelWriter, LabeledRows};
use lapwing::data::{ClassNames, Matrix, RowNames, Run};
use lapwing::models::{Labeling, PredictionSets};
use lapwing_core::publish::Staged;
use lapwing_table::write::ColumnTable;

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
}

impl LabelTable<'_> {
    /// A writer of the table of `n_rows` rows.
    pub fn writer(self, n_rows: usize, certified: bool) -> Result<LabelWriter, Failure> {
        let Self { path, classes, probabilities, names, kept } = self;
        let columns = LabelColumns { certified, probabilities };
        Ok(match (kept, names) {
            (Some(kept), _) => LabelWriter::create_beside(path, classes, n_rows, columns, kept)?,
            (None, Some(names)) => LabelWriter::create_named(path, classes, names.clone(), columns)?,
            (None, None) => LabelWriter::create(path, classes, n_rows, columns)?,
        })
    }

    /// Writes the labels of all rows, with a column for certificates if there are any.
    pub fn stage(self, labels: &[Option<usize>], labeling: &Labeling, run: &Run) -> Result<Staged, Failure> {
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
    ) -> Result<Staged, Failure> {
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
        Ok(table.stage(self.path)?)
    }
}
