//! A labeling as a file.

use std::path::Path;
use std::sync::Arc;

use lapwing_core::{ClassNames, Result, RowNames};
use lapwing_models::Labeling;
use lapwing_table::write::{LabelColumns, LabelWriter, LabeledRows};

/// Writes a line for each row of a labeling, with its label and confidence, in the format of the ending, as [`LabelWriter`] does; `-` is
/// CSV on standard output. `names` stand in the place of the numbers of the rows. No partial file remains after an error.
///
/// # Errors
/// As [`LabelWriter::create_named`] and [`LabelWriter::write`].
pub fn write_labeling(
    path: &Path,
    labeling: &Labeling,
    classes: &ClassNames,
    names: Option<&Arc<RowNames>>,
    columns: LabelColumns,
) -> Result<()> {
    let columns = LabelColumns { certified: columns.certified && labeling.certified.is_some(), ..columns };
    let mut writer = match names {
        Some(names) => LabelWriter::create_named(path, classes, Arc::clone(names), columns)?,
        None => LabelWriter::create(path, classes, labeling.labels.len(), columns)?,
    };
    writer.write(
        0,
        &LabeledRows {
            classes,
            labels: &labeling.chosen(),
            confidence: &labeling.confidence,
            reached: &labeling.reached,
            certified: labeling.certified.as_deref().filter(|_| columns.certified),
            probabilities: columns.probabilities.then_some(&labeling.label_distributions),
        },
    )?;
    writer.finish()
}
