//! Files of samples: the whole reader, the one in blocks, the plan, and the label column alone say the same.

use std::path::Path;

use lapwing_data::read::{ReadOptions, RowFile, Samples, can_stream, probe, read_label_column, read_samples};
use lapwing_data::{Features, Labels, Result, RowSource, SparseLabels, UNLABELED, gather};

use super::{Bench, accepted, answer, holds, same};
use crate::judge::Verdict;

/// Values that are compared at most.
const MOST_VALUES: usize = 1 << 16;

type Checked = std::result::Result<(), String>;

/// CSV.
pub fn table(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_table(bench, "t.csv", bytes, bytes)
}

/// CSV behind gzip.
pub fn gzipped(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_table(bench, "t.csv.gz", bytes, b"label")
}

/// CSV behind zstd.
pub fn zstandard(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_table(bench, "t.csv.zst", bytes, b"label")
}

/// Parquet.
pub fn parquet(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_table(bench, "t.parquet", bytes, bytes)
}

/// NumPy arrays, whole and with two columns in another order.
pub fn npy(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_array(bench, "a.npy", bytes)
}

/// Archives of arrays.
pub fn npz(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_array(bench, "x.npz", bytes)
}

/// Sparse text.
pub fn svmlight(bench: &Bench, bytes: &[u8]) -> Verdict {
    let path = bench.file("s.svm", bytes);
    accepted(read(bench, &path, &ReadOptions::default())?)
}

/// The options by which a table is read: `label` and `drop` are columns where `names` has these words.
pub(crate) fn table_options(names: &[u8]) -> ReadOptions {
    let has = |word: &[u8]| names.windows(word.len()).any(|part| part == word);
    ReadOptions {
        label_column: has(b"label").then(|| "label".into()),
        drop: if has(b"drop") { vec!["drop".into()] } else { Vec::new() },
        columns: has(b"pick").then(|| vec!["pick".into(), "a".into()]),
        unlabeled: has(b"unl").then(|| "unl".into()),
    }
}

fn of_table(bench: &Bench, name: &str, bytes: &[u8], names: &[u8]) -> Verdict {
    let path = bench.file(name, bytes);
    let options = table_options(names);
    let is_accepted = read(bench, &path, &options)?;
    // Names that mean something here are those of ordinary columns elsewhere.
    let bare = ReadOptions::default();
    accepted(is_accepted | (options.label_column.is_some() && read(bench, &path, &bare)?))
}

fn of_array(bench: &Bench, name: &str, bytes: &[u8]) -> Verdict {
    let path = bench.file(name, bytes);
    let chosen = ReadOptions { columns: Some(vec!["1".into(), "0".into()]), ..ReadOptions::default() };
    accepted(read(bench, &path, &ReadOptions::default())? | read(bench, &path, &chosen)?)
}

/// Reads a file in every way there is; true if it was accepted.
fn read(bench: &Bench, path: &Path, options: &ReadOptions) -> std::result::Result<bool, String> {
    let size = answer(probe(path, options))?;
    let samples = answer(read_samples(path, options, &bench.run))?;
    if let Some(samples) = &samples {
        let Some(size) = size else { return Err("read, but its size could not be told".into()) };
        let (n_rows, n_cols) = (samples.features.n_rows(), samples.features.n_cols());
        holds((n_rows, n_cols) == (size.n_rows, size.n_cols), || {
            format!("other sizes than those told: {n_rows} × {n_cols}, {} × {} told", size.n_rows, size.n_cols)
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
    match &samples.labels {
        Some(labels) => {
            let n_rows = samples.features.n_rows();
            holds(labels.len() == n_rows, || format!("labels: {} of {n_rows} rows", labels.len()))?;
            check_labels(labels)
        }
        None => Ok(()),
    }
}

/// Classes ascend, and every one has a row.
pub(super) fn check_labels(labels: &Labels) -> Checked {
    let mut found = vec![false; labels.n_classes()];
    for &class in labels.index.iter().filter(|&&class| class != UNLABELED) {
        match usize::try_from(class).ok().and_then(|class| found.get_mut(class)) {
            Some(found) => *found = true,
            None => return Err(format!("a class out of range: {class} of {}", labels.n_classes())),
        }
    }
    holds(found.iter().all(|found| *found), || "a class without rows".into())?;
    let ascend = match &labels.classes {
        lapwing_data::ClassNames::Integers(names) => names.is_sorted_by(|a, b| a < b),
        lapwing_data::ClassNames::Texts(names) => names.is_sorted_by(|a, b| a < b),
    };
    holds(ascend, || format!("classes out of order: {:?}", labels.classes))
}

/// The rows that come in blocks are those of the whole, to the bit.
fn check_blocks(bench: &Bench, path: &Path, options: &ReadOptions, samples: Option<&Samples>) -> Checked {
    if !can_stream(path) {
        return Ok(());
    }
    let blocks = answer(read_blocks(bench, path, options))?;
    // A label may be damaged where the features are not, and pages behind the last row that blocks ask for.
    let is_parquet = path.extension().is_some_and(|ending| ending == "parquet");
    if samples.is_some() || options.label_column.is_none() && !is_parquet {
        same("the whole and its blocks", samples.is_some(), blocks.is_some())?;
    }
    let (Some(samples), Some(Some(blocks))) = (samples, blocks) else { return Ok(()) };
    let rows: Vec<u32> = (0..samples.features.n_rows() as u32).collect();
    let whole = answer(gather(&samples.features, &rows, &[], &bench.run))?.unwrap_or_default();
    // Which of the NaNs it is, is lost in arithmetic.
    let bit = |value: &f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(bit).collect() };
    holds(bits(&whole) == bits(&blocks), || "rows in blocks differ from the whole".into())
}

/// All values by blocks of three rows; none where they are too many.
fn read_blocks(bench: &Bench, path: &Path, options: &ReadOptions) -> Result<Option<Vec<f32>>> {
    let file = RowFile::open(path, options, &bench.run)?;
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

/// The labels alone are those that come with the features.
fn check_column(alone: Option<SparseLabels>, samples: Option<&Samples>) -> Checked {
    let Some(labels) = samples.and_then(|samples| samples.labels.as_ref()) else { return Ok(()) };
    let Some(alone) = alone else { return Err("labels that were read with the features are refused alone".into()) };
    holds(SparseLabels::from(labels) == alone, || "labels alone differ from those read with the features".into())
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
