//! Neighbors and graphs.

use std::path::PathBuf;
use std::sync::Arc;

use lapwing::data::Report;
use lapwing::graph::{self, AffinityGraph, Graph, GraphParams, KnnParams, Neighbors};
use lapwing_table::write::stage_matrix;
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{CsrInput, FeaturesInput, array2, csr_arrays, json, row_major};
use crate::control::Control;
use crate::error::to_py;
use crate::parameters::filled;

/// `(distances, indices, report)` of the nearest neighbors of every row.
#[pyfunction]
pub fn kneighbors<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    parameters: &Bound<'py, PyDict>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let features = features.features()?;
    let params: KnnParams = filled(parameters)?;
    let search = |run: &_| Report::default().time("neighbors", run, |_| graph::kneighbors(&features, &params, run));
    let (found, report) = control.run(py, search)?;
    let (n, k) = (features.n_rows(), found.n_neighbors);
    let distances = array2(py, n, k, found.distances)?;
    let indices = array2(py, n, k, found.indices)?;
    (distances, indices, json(&report)?).into_pyobject(py)
}

/// `(graph, report)` of the affinity graph of features; the graph as `(shape, indptr, indices, data)`.
#[pyfunction]
pub fn knn_graph<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    parameters: &Bound<'py, PyDict>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let features = features.features()?;
    let params: GraphParams = filled(parameters)?;
    let build = |run: &_| Report::default().time("graph", run, |_| graph::affinity_graph(&features, &params, run));
    let built = control.run(py, build)?;
    let report = json(&built.knn)?;
    (csr_arrays(py, built.graph.into_adjacency())?, report).into_pyobject(py)
}

/// The graph of neighbors found elsewhere, as `(shape, indptr, indices, data)`.
#[pyfunction]
pub fn weigh_neighbors<'py>(
    py: Python<'py>,
    indices: PyReadonlyArray2<'py, u32>,
    distances: PyReadonlyArray2<'py, f32>,
    parameters: &Bound<'py, PyDict>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let neighbors = neighbors(&indices, &distances)?;
    let params: GraphParams = filled(parameters)?;
    let (graph, _) = control.run(py, |run| graph::weigh(neighbors, &params, run))?;
    csr_arrays(py, graph.into_adjacency())
}

/// The graph without loops and zero weights, and its degrees; an error unless it is symmetric and non-negative.
#[pyfunction]
pub fn check_graph<'py>(py: Python<'py>, adjacency: CsrInput<'py, f64>) -> PyResult<Bound<'py, PyTuple>> {
    let adjacency = adjacency.matrix()?;
    let graph = py.detach(|| Graph::new(adjacency)).map_err(to_py)?;
    let degree = PyArray1::from_slice(py, graph.degree());
    (csr_arrays(py, graph.into_adjacency())?, degree).into_pyobject(py)
}

/// Component of each node, numbered by their first node.
#[pyfunction]
pub fn components<'py>(py: Python<'py>, adjacency: CsrInput<'py, f64>) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let adjacency = adjacency.matrix()?;
    let components = py.detach(|| Graph::new(adjacency).map(|graph| graph.components())).map_err(to_py)?;
    Ok(PyArray1::from_vec(py, components.id))
}

/// Writes a graph as `.npz`, completely or not at all.
#[pyfunction]
pub fn save_graph(py: Python<'_>, path: PathBuf, adjacency: CsrInput<'_, f64>) -> PyResult<()> {
    let adjacency = adjacency.matrix()?;
    py.detach(|| stage_matrix(&path, &adjacency)?.publish()).map_err(to_py)
}

/// A graph that Rust keeps between calls, with the kernel widths of new edges.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct HeldGraph(pub Arc<AffinityGraph>);

/// A graph as Python passes it.
#[derive(FromPyObject)]
pub enum GraphInput<'py> {
    /// One that Rust keeps.
    Held(PyRef<'py, HeldGraph>),
    /// Arrays.
    Csr(CsrInput<'py, f64>),
}

impl GraphInput<'_> {
    /// The graph, checked if it comes as arrays.
    pub fn graph(&self, py: Python<'_>) -> PyResult<Arc<AffinityGraph>> {
        match self {
            Self::Held(graph) => Ok(graph.0.clone()),
            Self::Csr(adjacency) => {
                let adjacency = adjacency.matrix()?;
                let graph = py.detach(|| Graph::new(adjacency)).map_err(to_py)?;
                Ok(Arc::new(AffinityGraph::given(graph)))
            }
        }
    }
}

#[pymethods]
impl HeldGraph {
    /// Takes a graph that is given as `(shape, indptr, indices, data)`.
    #[new]
    fn new(py: Python<'_>, adjacency: GraphInput<'_>) -> PyResult<Self> {
        adjacency.graph(py).map(Self)
    }

    /// The affinity graph of features.
    #[staticmethod]
    fn build(
        py: Python<'_>,
        features: FeaturesInput<'_>,
        parameters: &Bound<'_, PyDict>,
        control: Control,
    ) -> PyResult<Self> {
        let features = features.features()?;
        let params: GraphParams = filled(parameters)?;
        let build = |run: &_| Report::default().time("graph", run, |_| graph::affinity_graph(&features, &params, run));
        control.run(py, build).map(|built| Self(Arc::new(built)))
    }

    /// The graph with the rows `new` behind its own, whose features are `old`.
    fn with_rows(
        &self,
        py: Python<'_>,
        old: FeaturesInput<'_>,
        new: FeaturesInput<'_>,
        parameters: &Bound<'_, PyDict>,
        control: Control,
    ) -> PyResult<Self> {
        let (old, new) = (old.features()?, new.features()?);
        let params: GraphParams = filled(parameters)?;
        let grow = |run: &_| Report::default().time("graph", run, |_| self.0.with_rows(&old, &new, None, &params, run));
        control.run(py, grow).map(|grown| Self(Arc::new(grown)))
    }

    /// The weights as `(shape, indptr, indices, data)`.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        csr_arrays(py, self.0.graph.adjacency().clone())
    }

    /// Number of rows.
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.graph.n_samples()
    }
}

fn neighbors(indices: &PyReadonlyArray2<'_, u32>, distances: &PyReadonlyArray2<'_, f32>) -> PyResult<Neighbors> {
    let n_neighbors = indices.shape()[1];
    let (indices, distances) = (row_major(indices, "indices")?.to_vec(), row_major(distances, "distances")?.to_vec());
    Ok(Neighbors { n_neighbors, indices, distances })
}
