//! Samples of a table.

use std::path::Path;

use arrow_array::types::{Float32Type, Float64Type};

use super::Table;
use super::scan::{FeatureScan, FloatType};
use crate::read::columns::Choice;
use crate::read::labels::table_labels;
use crate::read::origin::SampleOrigin;
use crate::read::{ReadOptions, Samples, Size};
use crate::scan::{KeptRows, RowScan};
use crate::{Features, Labels, Result, Run};

/// Reads samples: in single precision if that keeps every column, else in double precision.
pub(in crate::read) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let table = Table::open(path)?;
    let Choice { features, label } = table.choose(options)?;
    let labels = label.map(|at| table_labels(&table, at, options.unlabeled.as_deref(), run)).transpose()?;
    let names = features.iter().map(|&at| table.names[at].clone()).collect();
    let features = match table.are_single(&features) {
        true => kept::<Float32Type>(&table, features, run)?,
        false => kept::<Float64Type>(&table, features, run)?,
    };
    let (labels, origin) = (labels.map(Labels::from), SampleOrigin::new(path));
    Ok(Samples { features, feature_names: Some(names), labels, names: None, origin })
}

fn kept<F: FloatType>(table: &Table, columns: Vec<usize>, run: &Run) -> Result<Features<'static>> {
    let mut rows = KeptRows::new(&table.path.display().to_string(), table.n_rows, columns.len())?;
    FeatureScan::<F>::new(table, columns, 0).read(0..table.n_rows, &mut rows, run)?;
    rows.finish(table.n_rows)
}

/// Size of the features, from the file's footer.
pub(in crate::read) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let table = Table::open(path)?;
    let features = table.choose(options)?.features;
    Ok(Size::dense(table.n_rows, features.len(), if table.are_single(&features) { 4 } else { 8 }))
}
