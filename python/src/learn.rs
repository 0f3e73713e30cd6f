//! Learned graphs.

use lapwing::data::{Report, Run, Warning};
use lapwing::graph::learn::{LearnModel, LearnParams, LearnReport, LearnedGraph, learn_graph as learn};
use lapwing::graph::{GraphParams, KnnReport};
use lapwing_graph::learn::{
    NeighborTable, SquaredDistance, Support, learn_from_table, learn_weights as weigh, single_node,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Serialize;

use crate::arrays::{FeaturesInput, RealsInput, array2, csr_arrays, ends, json, row_major};
use crate::control::Control;
use crate::error::to_py;
use crate::parameters::{count, filled};

/// The input of a learned graph.
#[derive(FromPyObject)]
pub enum SourceInput<'py> {
    /// Neighbors with squared distances in single precision.
    Single((PyReadonlyArray2<'py, u32>, PyReadonlyArray2<'py, f32>)),
    /// The same in double precision.
    Double((PyReadonlyArray2<'py, u32>, PyReadonlyArray2<'py, f64>)),
    /// Features.
    Features(FeaturesInput<'py>),
}

/// The report of a fit.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    report: &'a LearnReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    knn: Option<&'a KnnReport>,
    warnings: Vec<Warning>,
}

/// `(graph, multipliers, report)` learned from features or from neighbors; the graph as `(shape, indptr, indices, data)`.
#[pyfunction]
pub fn learn_graph<'py>(
    py: Python<'py>,
    source: SourceInput<'py>,
    graph: &Bound<'py, PyDict>,
    parameters: &Bound<'py, PyDict>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let params = GraphParams { learn: filled(parameters)?, ..filled(graph)? };
    let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
    let learned = match &source {
        SourceInput::Features(features) => {
            let features = features.features()?;
            let work = |run: &Run| Report::default().time("neighbors", run, |_| learn(&features, &params, start, run));
            control.run(py, work)
        }
        SourceInput::Single((indices, squared)) => from_table(py, table(indices, squared)?, &params, start, &control),
        SourceInput::Double((indices, squared)) => from_table(py, table(indices, squared)?, &params, start, &control),
    }?;
    let report =
        json(&Summary { report: &learned.report, knn: learned.knn.as_ref(), warnings: learned.report.warnings() })?;
    let multipliers = PyArray1::from_slice(py, learned.weights.start());
    (csr_arrays(py, learned.graph.into_adjacency())?, multipliers, report).into_pyobject(py)
}

fn from_table<R: SquaredDistance + Send>(
    py: Python<'_>,
    table: NeighborTable<R>,
    params: &GraphParams,
    start: Option<&[f64]>,
    control: &Control,
) -> PyResult<LearnedGraph> {
    control.run(py, |run| Report::default().time("learn", run, |_| learn_from_table(table, params, start, run)))
}

fn table<R: SquaredDistance + numpy::Element>(
    indices: &PyReadonlyArray2<'_, u32>,
    squared: &PyReadonlyArray2<'_, R>,
) -> PyResult<NeighborTable<R>> {
    let n_neighbors = indices.shape()[1];
    let (indices, squared) = (row_major(indices, "indices")?.to_vec(), row_major(squared, "distances")?.to_vec());
    Ok(NeighborTable { n_neighbors, indices, squared })
}

/// `(weights, multipliers, report)` of pairs (m, 2) among `n_samples` rows at squared distances (m).
#[pyfunction]
pub fn learn_weights<'py>(
    py: Python<'py>,
    edges: PyReadonlyArray2<'py, u32>,
    squared: RealsInput<'py>,
    n_samples: i64,
    model: &str,
    regularizers: (f64, f64),
    parameters: &Bound<'py, PyDict>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let n = count("n_samples", n_samples).map_err(to_py)?;
    let model = LearnModel::parse(model).map_err(to_py)?;
    let params = LearnParams::from_regularizers(model, regularizers.0, regularizers.1).map_err(to_py)?;
    let LearnParams { solver, tol, max_iter, .. } = filled(parameters)?;
    let params = LearnParams { solver, tol, max_iter, ..params };
    let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
    let edges: Vec<(u32, u32)> = ends(&edges)?.iter().map(|&[u, v]| (u, v)).collect();
    let problem = PairsProblem { n, edges: &edges, model, params: &params, start };
    let (weights, multipliers, mut report) = match &squared {
        RealsInput::F32(squared) => problem.solve(py, squared.as_slice()?, &control),
        RealsInput::F64(squared) => problem.solve(py, squared.as_slice()?, &control),
    }?;
    report.objective = params.objective(model, report.objective, n);
    let report = json(&Summary { report: &report, knn: None, warnings: report.warnings() })?;
    (PyArray1::from_vec(py, weights), PyArray1::from_vec(py, multipliers), report).into_pyobject(py)
}

/// A model on given pairs.
struct PairsProblem<'a> {
    n: usize,
    edges: &'a [(u32, u32)],
    model: LearnModel,
    params: &'a LearnParams,
    start: Option<&'a [f64]>,
}

impl PairsProblem<'_> {
    fn solve<R: SquaredDistance>(
        &self,
        py: Python<'_>,
        squared: &[R],
        control: &Control,
    ) -> PyResult<(Vec<f64>, Vec<f64>, LearnReport)> {
        let solve = |run: &Run| {
            let support = Support::from_edges(self.n, self.edges, squared, run)?;
            let (found, report) = weigh(&support, self.model, self.params, self.start, run)?;
            let weights = found.weights(self.edges, squared, run);
            Ok((weights, found.start().to_vec(), report))
        };
        control.run(py, |run| Report::default().time("learn", run, |_| solve(run)))
    }
}

/// Weights (m, k) of new rows, each by itself, at squared distances (m, k), ascending in each row.
#[pyfunction]
pub fn single_node_weights<'py>(
    py: Python<'py>,
    squared: PyReadonlyArray2<'py, f64>,
    model: &str,
    sparsity: f64,
) -> PyResult<Bound<'py, numpy::PyArray2<f64>>> {
    let model = LearnModel::parse(model).map_err(to_py)?;
    let (m, k) = (squared.shape()[0], squared.shape()[1]);
    let mut weights = squared.as_slice()?.to_vec();
    py.detach(|| {
        for row in weights.chunks_exact_mut(k.max(1)) {
            let node = single_node(model, row.iter().copied(), sparsity);
            row.iter_mut().for_each(|z| *z = node.weight(sparsity * *z));
        }
    });
    array2(py, m, k, weights)
}
