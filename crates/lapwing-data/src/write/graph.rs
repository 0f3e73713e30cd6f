//! Graphs: sparse matrices that SciPy reads, and edge lists.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use zip::write::FileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::atomic::{check_writable, write_atomic, write_file};
use super::csv::push_float;
use super::npy::npy_header;
use crate::{Csr, Result};

/// Endings that [`write_graph`] knows.
pub const GRAPH_ENDINGS: [&str; 4] = [".npz", ".parquet", ".csv", ".npy"];

/// Writes a symmetric matrix of weights: `.npz` as `scipy.sparse.save_npz` does, the other endings as a list of the
/// edges u < v with their weights (in `.npy` an m × 3 array). `-` is CSV on standard output.
///
/// An edge list does not say how many nodes there are: isolated ones at the end are lost unless the reader knows.
///
/// # Errors
/// [`Error::Param`](crate::Error) for an unknown ending, [`Error::Io`](crate::Error) when the file cannot be written; nothing half-written is left.
pub fn write_graph(path: &Path, graph: &Csr<f64>) -> Result<()> {
    check_writable(path, &GRAPH_ENDINGS)?;
    match path.extension().map(|ending| ending.to_ascii_lowercase()).as_deref().and_then(|ending| ending.to_str()) {
        Some("npz") => write_file(path, |file| write_npz(file, graph)),
        Some("npy") => write_atomic(path, |out| {
            let n_edges = edges(graph).count();
            out.write_all(&npy_header("'<f8'", &[n_edges, 3]))?;
            let values = edges(graph).flat_map(|(u, v, weight)| [f64::from(u), f64::from(v), weight]);
            write_values(out, values.map(f64::to_le_bytes))
        }),
        #[cfg(feature = "tables")]
        Some("parquet") => {
            let edges: Vec<_> = edges(graph).collect();
            write_atomic(path, |out| super::parquet::write_edges(out, &edges))
        }
        _ => write_atomic(path, |out| write_csv(out, graph)),
    }
}

/// Edges of the upper triangle in order.
fn edges(graph: &Csr<f64>) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
    (0..graph.n_rows()).flat_map(|row| {
        let (columns, weights) = graph.row(row);
        let upper = columns.iter().zip(weights).filter(move |&(&col, _)| col as usize > row);
        upper.map(move |(&col, &weight)| (row as u32, col, weight))
    })
}

fn write_csv(out: &mut (dyn Write + Send), graph: &Csr<f64>) -> io::Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(["u", "v", "weight"])?;
    let mut cell = Vec::new();
    for (u, v, weight) in edges(graph) {
        for node in [u, v] {
            cell.clear();
            write!(cell, "{node}")?;
            csv.write_field(&cell)?;
        }
        cell.clear();
        push_float(&mut cell, weight);
        csv.write_field(&cell)?;
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// The five arrays of a CSR matrix, stored without compression: weights hardly compress, and reading stays fast.
fn write_npz<W: Write + io::Seek>(file: W, graph: &Csr<f64>) -> io::Result<()> {
    let mut zip = ZipWriter::new(file);
    let mut array =
        |name: &str, descr: &str, shape: &[usize], values: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>| {
            let options = FileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .last_modified_time(DateTime::default())
                .large_file(true);
            zip.start_file(format!("{name}.npy"), options)?;
            zip.write_all(&npy_header(descr, shape))?;
            values(&mut zip)
        };
    let shape = [graph.n_rows() as i64, graph.n_cols() as i64];
    array("format", "'|S3'", &[], &mut |out| out.write_all(b"csr"))?;
    array("shape", "'<i8'", &[2], &mut |out| write_values(out, shape.iter().map(|dim| dim.to_le_bytes())))?;
    array("data", "'<f8'", &[graph.nnz()], &mut |out| {
        write_values(out, graph.values().iter().map(|weight| weight.to_le_bytes()))
    })?;
    // SciPy keeps both index arrays in one type, the narrower where it suffices.
    let (indptr, indices) = (graph.indptr(), graph.indices());
    if graph.nnz().max(graph.n_rows()).max(graph.n_cols()) <= i32::MAX as usize {
        array("indptr", "'<i4'", &[indptr.len()], &mut |out| {
            write_values(out, indptr.iter().map(|&offset| (offset as i32).to_le_bytes()))
        })?;
        array("indices", "'<i4'", &[indices.len()], &mut |out| {
            write_values(out, indices.iter().map(|&col| (col as i32).to_le_bytes()))
        })?;
    } else {
        array("indptr", "'<i8'", &[indptr.len()], &mut |out| {
            write_values(out, indptr.iter().map(|offset| offset.to_le_bytes()))
        })?;
        array("indices", "'<i8'", &[indices.len()], &mut |out| {
            write_values(out, indices.iter().map(|&col| i64::from(col).to_le_bytes()))
        })?;
    }
    zip.finish()?;
    Ok(())
}

/// Writes values in pieces large enough to be cheap.
fn write_values<const SIZE: usize>(out: &mut dyn Write, values: impl Iterator<Item = [u8; SIZE]>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    for value in values {
        out.write_all(&value)?;
    }
    out.flush()
}
