//! Small files of every format, made by hand.

pub mod edges;
pub mod rows;

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use lapwing_core::{CancelToken, Features, Result, Run};
use lapwing_table::write::{LabelColumns, LabelWriter, LabeledRows};
use tempfile::TempDir;

/// A folder that lives as long as the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a named pipe and returns its path.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

/// Writes a labeled table as one block.
pub fn write_labels(path: &Path, rows: &LabeledRows<'_>) -> Result<()> {
    let columns = LabelColumns { certified: rows.certified.is_some(), probabilities: rows.probabilities.is_some() };
    let mut writer = LabelWriter::create(path, rows.classes, rows.labels.len(), columns)?;
    writer.write(0, rows)?;
    writer.finish()
}

pub fn run() -> Run {
    Run::new(Some(1), 0).unwrap()
}

/// A run that has been canceled.
pub fn canceled() -> Run {
    let cancel = CancelToken::default();
    cancel.cancel();
    run().with_cancel(cancel)
}

/// Bytes of a `.npy` file; `descr` without quotes.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_in_order(descr, "False", shape, data)
}

pub fn npy_in_order(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_of_literal(&format!("'{descr}'"), fortran, shape, data)
}

/// Bytes of a `.npy` file; `descr` as a Python literal, such as a list of fields.
pub fn npy_of_literal(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// Little-endian bytes of numbers.
pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Bytes of an archive of arrays, deflated.
pub fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Arrays of a SciPy matrix in compressed rows or columns.
pub fn scipy(format: &str, shape: [i64; 2], indptr: &[i32], indices: &[i32], data: &[f64]) -> Vec<u8> {
    npz(&[
        ("format", npy("|S3", "()", format.as_bytes())),
        ("shape", npy("<i8", "(2,)", &i64s(&shape))),
        ("indptr", npy("<i4", &format!("({},)", indptr.len()), &i32s(indptr))),
        ("indices", npy("<i4", &format!("({},)", indices.len()), &i32s(indices))),
        ("data", npy("<f8", &format!("({},)", data.len()), &f64s(data))),
    ])
}

/// All values, row by row.
pub fn values(features: &Features<'_>) -> Vec<f64> {
    let (n_rows, n_cols) = (features.n_rows(), features.n_cols());
    let mut all = vec![0.0; n_rows * n_cols];
    for row in 0..n_rows {
        match features {
            Features::Dense(dense) => dense.copy_row_f64(row, &mut all[row * n_cols..(row + 1) * n_cols]),
            Features::Sparse(sparse) => {
                let (columns, values) = sparse.row(row);
                columns.iter().zip(values).for_each(|(&col, &x)| all[row * n_cols + col as usize] = x.into());
            }
        }
    }
    all
}
