//! Files of samples: four readers agree (whole file, blocks, sizes for the plan, label column), and what is prepared in memory with
//! what is prepared in blocks.

use std::path::Path;

use lapwing_core::{Features, Labels, Result, RowSource, SparseLabels, Standardize, UNLABELED, gather};
use lapwing_table::prepare::{PreparedRows, prepare};
use lapwing_table::read::{ReadOptions, Samples, TableFile};
use lapwing_table::{RowFile, can_stream, probe, read_label_column, read_samples};

use crate::bench::{Bench, Checked, Verdict, accepted, answer, holds};

/// The most values of a file that is compared.
const MOST_VALUES: usize = 1 << 16;

/// Tables: CSV, plain or compressed, JSON lines, Arrow files and Parquet.
pub fn table(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let options = table_options(if is_compressed { b"label" } else { bytes });
    let is_accepted = read(bench, path, &options)?;
    // The special names are those of ordinary columns under other options.
    let plain = ReadOptions::default();
    let is_accepted = is_accepted | (options.label_column.is_some() && read(bench, path, &plain)?);
    accepted(is_accepted | prepared(bench, path, &options)?)
}

/// NumPy arrays and archives of them, whole and with two columns in another order.
pub fn array(bench: &Bench, path: &Path, _: &[u8]) -> Verdict {
    let chosen = ReadOptions { columns: Some(vec!["1".into(), "0".into()]), ..ReadOptions::default() };
    accepted(read(bench, path, &ReadOptions::default())? | read(bench, path, &chosen)?)
}

/// Sparse text.
pub fn svmlight(bench: &Bench, path: &Path, _: &[u8]) -> Verdict {
    accepted(read(bench, path, &ReadOptions::default())?)
}

/// Options for a table: `label`, `drop` and `pick` are columns, `unl` the marker, if `names` holds these words.
pub(crate) fn table_options(names: &[u8]) -> ReadOptions {
    let has = |word: &[u8]| names.windows(word.len()).any(|part| part == word);
    ReadOptions {
        label_column: has(b"label").then(|| "label".into()),
        drop: if has(b"drop") { vec!["drop".into()] } else { Vec::new() },
        columns: has(b"pick").then(|| vec!["pick".into(), "a".into()]),
        unlabeled: has(b"unl").then(|| "unl".into()),
        ..ReadOptions::default()
    }
}

/// Reads a file with every reader; true if it is accepted.
fn read(bench: &Bench, path: &Path, options: &ReadOptions) -> Checked<bool> {
    let size = answer(probe(path, options))?;
    let samples = answer(read_samples(path, options, &bench.run))?;
    if let Some(samples) = &samples {
        let Some(size) = size else { return Err("a file is accepted and its size refused".into()) };
        let (n_rows, n_cols) = (samples.features.n_rows(), samples.features.n_cols());
        holds((n_rows, n_cols) == (size.n_rows, size.n_cols), || {
            format!("the size differs: {n_rows} × {n_cols} read, {} × {} for the plan", size.n_rows, size.n_cols)
        })?;
        check_samples(samples)?;
    }
    check_blocks(bench, path, options, samples.as_ref())?;
    if options.label_column.is_some() {
        let labels = answer(read_label_column(path, options, &bench.run))?;
        check_column(labels, samples.as_ref())?;
    }
    Ok(samples.is_some())
}

fn check_samples(samples: &Samples) -> Checked {
    let n_cols = samples.features.n_cols();
    if let Some(names) = &samples.feature_names {
        holds(names.len() == n_cols, || format!("names of columns: {} of {n_cols}", names.len()))?;
    }
    let Some(labels) = &samples.labels else { return Ok(()) };
    let n_rows = samples.features.n_rows();
    holds(labels.len() == n_rows, || format!("labels: {} of {n_rows} rows", labels.len()))?;
    check_labels(labels)
}

/// Checks that classes are sorted and that each has a row.
pub(super) fn check_labels(labels: &Labels) -> Checked {
    let mut found = vec![false; labels.n_classes()];
    for &class in labels.index.iter().filter(|&&class| class != UNLABELED) {
        match usize::try_from(class).ok().and_then(|class| found.get_mut(class)) {
            Some(found) => *found = true,
            None => return Err(format!("a class out of range: {class} of {}", labels.n_classes())),
        }
    }
    holds(found.iter().all(|found| *found), || "a class without rows".into())?;
    let is_sorted = match &labels.classes {
        lapwing_core::ClassNames::Integers(names) => names.is_sorted_by(|a, b| a < b),
        lapwing_core::ClassNames::Texts(names) => names.is_sorted_by(|a, b| a < b),
    };
    holds(is_sorted, || format!("classes out of order: {:?}", labels.classes))
}

/// Checks that rows read in blocks have the bits of those of the whole file.
fn check_blocks(bench: &Bench, path: &Path, options: &ReadOptions, samples: Option<&Samples>) -> Checked {
    if !can_stream(path) {
        return Ok(());
    }
    let blocks = answer(RowFile::open(path, options, &bench.run).and_then(|file| values_in_blocks(bench, &file)))?;
    // Blocks read neither labels nor pages of Parquet behind the last row, so they accept files with damage there.
    let is_parquet = path.extension().is_some_and(|ending| ending == "parquet");
    if samples.is_some() || options.label_column.is_none() && !is_parquet {
        let (whole, parts) = (samples.is_some(), blocks.is_some());
        holds(whole == parts, || format!("accepted as a whole: {whole}, in blocks: {parts}"))?;
    }
    let (Some(samples), Some(Some(blocks))) = (samples, blocks) else { return Ok(()) };
    check_bits(bench, &samples.features, &blocks)
}

/// Checks that values read in blocks have the bits of features in single precision.
fn check_bits(bench: &Bench, features: &Features<'_>, blocks: &[f32]) -> Checked {
    let rows: Vec<u32> = (0..features.n_rows() as u32).collect();
    let whole = answer(gather(features, &rows, &[], &bench.run))?.unwrap_or_default();
    // Arithmetic does not keep the payload of a NaN.
    let bit = |value: &f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(bit).collect() };
    holds(bits(&whole) == bits(blocks), || "rows read in blocks differ from those of the whole file".into())
}

/// Prepares a table; true if it is accepted. Its rows, prepared in blocks by the same recipe, must have the same bits.
fn prepared(bench: &Bench, path: &Path, options: &ReadOptions) -> Checked<bool> {
    let Some(whole) = answer(prepare(path, options, Standardize::Auto, &bench.run))? else { return Ok(false) };
    let (recipe, features) = (whole.recipe, whole.features);
    holds(recipe.is_valid(), || format!("a recipe out of range: {recipe:?}"))?;
    let (n_named, n_cols) = (recipe.feature_names().len(), features.n_cols());
    holds(n_named == n_cols, || format!("names of features: {n_named} of {n_cols}"))?;
    let open = TableFile::open(path, options).and_then(|table| PreparedRows::open(table, recipe, None, &bench.run));
    let Some(rows) = answer(open)? else { return Err("a table is prepared and its rows are refused".into()) };
    let Some(blocks) = answer(values_in_blocks(bench, &rows))? else {
        return Err("a table is prepared in memory and refused in blocks".into());
    };
    if let Some(blocks) = blocks {
        check_bits(bench, &features, &blocks)?;
    }
    Ok(true)
}

/// All values, read in blocks of three rows; `None` for more than [`MOST_VALUES`].
fn values_in_blocks(bench: &Bench, file: &dyn RowSource) -> Result<Option<Vec<f32>>> {
    let (n_rows, n_cols) = (file.n_rows(), file.n_cols());
    let block = n_cols.saturating_mul(3);
    if n_rows.saturating_mul(n_cols) > MOST_VALUES {
        return Ok(None);
    }
    let mut values = vec![0.0; n_rows * n_cols];
    let mut reader = file.open(0, &[], &bench.run)?;
    if block > 0 {
        values.chunks_mut(block).try_for_each(|rows| reader.read(rows, &bench.run))?;
    }
    Ok(Some(values))
}

/// Checks that labels read alone equal those read with the features.
fn check_column(alone: Option<SparseLabels>, samples: Option<&Samples>) -> Checked {
    let Some(labels) = samples.and_then(|samples| samples.labels.as_ref()) else { return Ok(()) };
    let Some(alone) = alone else { return Err("labels are accepted with the features and refused alone".into()) };
    holds(SparseLabels::from(labels) == alone, || "labels read alone differ from those read with the features".into())
}

/// The values of features as f64, row-major.
pub(crate) fn values_of(features: &Features<'_>) -> Vec<f64> {
    let (n, d) = (features.n_rows(), features.n_cols());
    let mut values = vec![0.0; n * d];
    match features {
        Features::Dense(dense) => (0..n).for_each(|row| dense.copy_row_f64(row, &mut values[row * d..(row + 1) * d])),
        Features::Sparse(sparse) => {
            for row in 0..n {
                let (columns, entries) = sparse.row(row);
                columns.iter().zip(entries).for_each(|(&col, &value)| values[row * d + col as usize] = value.into());
            }
        }
    }
    values
}
