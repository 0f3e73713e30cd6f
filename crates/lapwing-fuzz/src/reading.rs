//! The contents of a file as our readers see them, in JSON, for comparison with other programs.

use std::path::Path;

use lapwing::models::Model;
use lapwing_core::{Csr, Error, Features};
use lapwing_table::read::{ReadOptions, read_graph, read_sparse_labels};
use lapwing_table::read_samples;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::targets::{self, Target};

/// The most values that are written.
const MOST: usize = 4096;

/// The contents that `target` reads in `bytes`: `kind` with shapes and values, or `error`.
pub fn reading(bench: &Bench, target: &Target, bytes: &[u8]) -> Value {
    let path = bench.file(target.file, bytes);
    let read = match target.name {
        "labels-text" | "labels-npy" => labels(&path),
        "edges-csv" | "edges-npy" | "edges-parquet" | "graph-npz" => {
            read_graph(&path, None, &bench.run).map(|graph| of_graph(&graph))
        }
        "model" | "forged-model" => Model::load(&path).map(|_| json!({ "kind": "model" })),
        "sparsifier" | "low-rank-sums" => Ok(json!({ "kind": "model" })),
        _ => samples(bench, &path, bytes),
    };
    read.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

fn samples(bench: &Bench, path: &Path, bytes: &[u8]) -> Result<Value, Error> {
    let options = targets::table_options(bytes);
    let (read, options) = match read_samples(path, &options, &bench.run) {
        Ok(read) => (read, options),
        Err(_) => (read_samples(path, &ReadOptions::default(), &bench.run)?, ReadOptions::default()),
    };
    let (n_rows, n_cols) = (read.features.n_rows(), read.features.n_cols());
    Ok(json!({
        "kind": "samples",
        "shape": [n_rows, n_cols],
        "names": read.feature_names,
        "label_column": options.label_column,
        "values": values(&read.features),
    }))
}

fn values(features: &Features<'_>) -> Option<Vec<String>> {
    let count = features.n_rows().checked_mul(features.n_cols())?;
    (count <= MOST).then(|| targets::values_of(features).iter().map(|value| format!("{value:?}")).collect())
}

fn labels(path: &Path) -> Result<Value, Error> {
    let n_rows = targets::rows_of(path).unwrap_or(1000);
    let labels = read_sparse_labels(path, n_rows, None)?;
    Ok(json!({ "kind": "labels", "rows": n_rows, "labeled": labels.rows, "classes": labels.classes.names() }))
}

fn of_graph(graph: &Csr<f64>) -> Value {
    let weights = (graph.nnz() <= MOST).then(|| graph.values().iter().map(|w| format!("{w:?}")).collect::<Vec<_>>());
    json!({ "kind": "graph", "nodes": graph.n_rows(), "indptr": graph.indptr().last(), "weights": weights })
}
