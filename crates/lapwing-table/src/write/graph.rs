//! Graphs: sparse matrices in SciPy's format, and edge lists.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_schema::{DataType, Field, Schema};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::labels::{name_field, named};
use super::npy::npy_header;
use super::sink::Sink;
use super::table::ending;
use lapwing_core::publish::{AtomicFile, Staged, check_writable, stage_atomic, stage_file};
use lapwing_core::{Csr, Error, Result, RowNames, Run};

/// Endings that [`write_graph`] accepts.
pub const GRAPH_ENDINGS: [&str; 4] = [".npz", ".parquet", ".csv", ".npy"];

/// Rows between two reports of progress.
const TOLD_ROWS: usize = 1 << 14;

/// Edges that are written at a time.
const BLOCK_EDGES: usize = 1 << 16;

/// Writes a symmetric matrix of weights: `.npz` as `scipy.sparse.save_npz` does, the other endings as a list of the
/// edges u < v with their weights (in `.npy` an m × 3 array). `-` is CSV on standard output.
///
/// An edge list does not hold the number of nodes: a reader must get it if the last nodes are isolated.
///
/// # Errors
/// [`Error::Param`](lapwing_core::Error) for an unknown ending, [`Error::Io`](lapwing_core::Error) when the file cannot be written;
/// no partial file remains.
pub fn write_graph(path: &Path, graph: &Csr<f64>) -> Result<()> {
    stage(path, graph, None, &|_| ())?.publish()
}

/// Writes a matrix as `.npz` whatever the ending is; [`publish_all`](lapwing_core::publish::publish_all) renames it.
///
/// # Errors
/// [`Error::Io`].
#[doc(hidden)]
pub fn stage_matrix(path: &Path, graph: &Csr<f64>) -> Result<Staged> {
    stage_file(path, |file| write_npz(file, graph))
}

/// Refuses to write nodes with names as a matrix or an array, which hold numbers.
///
/// # Errors
/// [`Error::Param`].
pub fn check_named_graph(path: &Path) -> Result<()> {
    match ending(path).as_deref() {
        Some("npz" | "npy") => {
            let expected = "a file .csv or .parquet: the nodes have names, which matrices and arrays do not hold";
            Err(Error::param("output", path.display(), expected))
        }
        _ => Ok(()),
    }
}

/// [`write_graph`] without the renaming, which [`publish_all`](lapwing_core::publish::publish_all) does for several files together. It reports
/// its progress, and puts the names of the nodes in the columns u and v of a `.csv` or `.parquet`. The other endings hold numbers in the order
/// of the names: [`check_named_graph`] refuses them.
///
/// # Errors
/// As [`write_graph`]; [`Error::Shape`] for names of other nodes.
pub fn stage_named_graph(path: &Path, graph: &Csr<f64>, names: Option<&RowNames>, run: &Run) -> Result<Staged> {
    stage(path, graph, names, &|share| run.share(share, ""))
}

/// Stages the graph; `told` gets the share of the rows that has been written.
fn stage(path: &Path, graph: &Csr<f64>, names: Option<&RowNames>, told: &(dyn Fn(f64) + Sync)) -> Result<Staged> {
    check_writable(path, &GRAPH_ENDINGS)?;
    if let Some(names) = names.filter(|names| names.len() != graph.n_rows()) {
        return Err(Error::shape("the list of names", format!("{} names, one per node", graph.n_rows()), names.len()));
    }
    match ending(path).as_deref() {
        Some("npz") => stage_matrix(path, graph),
        Some("npy") => stage_atomic(path, |out| {
            let n_edges = edges(graph, &|_| ()).count();
            out.write_all(&npy_header("'<f8'", &[n_edges, 3]))?;
            let values = edges(graph, told).flat_map(|(u, v, weight)| [f64::from(u), f64::from(v), weight]);
            write_values(out, values.map(f64::to_le_bytes), 8)
        }),
        _ => stage_edges(path, graph, names, told),
    }
}

/// Edges of the upper triangle in order; `told` gets the share of the rows that has been passed.
fn edges<'g>(graph: &'g Csr<f64>, told: &'g dyn Fn(f64)) -> impl Iterator<Item = (u32, u32, f64)> + 'g {
    (0..graph.n_rows()).flat_map(move |row| {
        if row.is_multiple_of(TOLD_ROWS) {
            told(row as f64 / graph.n_rows() as f64);
        }
        let (columns, weights) = graph.row(row);
        let upper = columns.iter().zip(weights).filter(move |&(&col, _)| col as usize > row);
        upper.map(move |(&col, &weight)| (row as u32, col, weight))
    })
}

/// Writes the edges (u, v, weight) as a table, with the names of their nodes if they have any.
fn stage_edges(path: &Path, graph: &Csr<f64>, names: Option<&RowNames>, told: &dyn Fn(f64)) -> Result<Staged> {
    let nodes = ["u", "v"].map(|end| name_field(end, names).with_name(end));
    let fields: Vec<Field> = nodes.into_iter().chain([Field::new("weight", DataType::Float64, false)]).collect();
    let mut sink = Sink::create(path, Schema::new(fields))?;
    let mut edges = edges(graph, told);
    loop {
        let block: Vec<(u32, u32, f64)> = edges.by_ref().take(BLOCK_EDGES).collect();
        if block.is_empty() {
            return sink.finish()?.stage();
        }
        let u = named(names, block.iter().map(|edge| edge.0 as usize));
        let v = named(names, block.iter().map(|edge| edge.1 as usize));
        sink.write(vec![u, v, Arc::new(Float64Array::from_iter_values(block.iter().map(|edge| edge.2)))])?;
    }
}

/// The five arrays of a CSR matrix, stored without compression: weights hardly compress, and reading stays fast.
fn write_npz(file: &mut AtomicFile, graph: &Csr<f64>) -> io::Result<()> {
    let mut out = Fused { out: file, at: 0, end: 0, failure: None };
    let written = write_arrays(ZipWriter::new(&mut out), graph);
    out.failure.map_or(written, Err)
}

fn write_arrays(mut zip: ZipWriter<&mut Fused<'_>>, graph: &Csr<f64>) -> io::Result<()> {
    let mut array =
        |name: &str, descr: &str, shape: &[usize], values: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>| {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .last_modified_time(DateTime::default())
                .large_file(true);
            zip.start_file(format!("{name}.npy"), options)?;
            zip.write_all(&npy_header(descr, shape))?;
            values(&mut zip)
        };
    let shape = [graph.n_rows() as i64, graph.n_cols() as i64];
    array("format", "'|S3'", &[], &mut |out| out.write_all(b"csr"))?;
    array("shape", "'<i8'", &[2], &mut |out| write_values(out, shape.iter().map(|dim| dim.to_le_bytes()), 8))?;
    array("data", "'<f8'", &[graph.nnz()], &mut |out| {
        write_values(out, graph.values().iter().map(|weight| weight.to_le_bytes()), 8)
    })?;
    // SciPy stores both index arrays in one type, the narrower one if it suffices.
    let is_wide = graph.nnz().max(graph.n_rows()).max(graph.n_cols()) > i32::MAX as usize;
    let (kind, size) = if is_wide { ("'<i8'", 8) } else { ("'<i4'", 4) };
    let mut integers = |name: &str, values: &mut dyn ExactSizeIterator<Item = u64>| {
        array(name, kind, &[values.len()], &mut |out| write_values(out, values.map(|value| value.to_le_bytes()), size))
    };
    integers("indptr", &mut graph.indptr().iter().copied())?;
    integers("indices", &mut graph.indices().iter().map(|&column| u64::from(column)))?;
    zip.finish()?;
    Ok(())
}

/// A writer that keeps the first error of the system, and from then on only counts. An unfinished archive tries to finish when it is
/// dropped: it would print a failure on standard error, and expects to stand where it was.
struct Fused<'f> {
    out: &'f mut AtomicFile,
    at: u64,
    end: u64,
    failure: Option<io::Error>,
}

impl Fused<'_> {
    /// What the work gives, or `otherwise` once something has failed.
    fn work<T>(&mut self, otherwise: T, work: impl FnOnce(&mut AtomicFile) -> io::Result<T>) -> T {
        if self.failure.is_some() {
            return otherwise;
        }
        work(self.out).unwrap_or_else(|error| {
            self.failure = Some(error);
            otherwise
        })
    }
}

impl Write for Fused<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.work(bytes.len(), |out| out.write(bytes));
        self.at += written as u64;
        self.end = self.end.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.work((), |out| out.flush());
        Ok(())
    }
}

impl Seek for Fused<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        let at = self.at;
        Ok(self.work(at, |out| out.seek(SeekFrom::Start(at))))
    }
}

/// Writes the first `size` bytes of each value in large pieces, to make few calls.
fn write_values(out: &mut dyn Write, values: impl Iterator<Item = [u8; 8]>, size: usize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    for value in values {
        out.write_all(&value[..size])?;
    }
    out.flush()
}
