//! Sparsifiers and effective resistances.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use lapwing::data::read::EdgeFile;
use lapwing::data::{Csr, Edge, EdgeSource, Error, Matrix, Report, Result, Run};
use lapwing::graph::Graph;
use lapwing::graph::sparsify::{self as engine, ResistanceMethod, SparsifyParams, SparsifyReport};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{CsrInput, Pickle, RealsInput, csr_arrays, ends, json, matrix};
use crate::control::Control;
use crate::error::to_py;
use crate::parameters::{count, filled};

/// Edges passed at a time.
const PORTION: usize = 1 << 16;

/// The source of edges: a symmetric matrix, or the path of a file of edges and the number of nodes.
#[derive(FromPyObject)]
pub enum SourceInput<'py> {
    Matrix(CsrInput<'py, f64>),
    File((PathBuf, Option<i64>)),
}

/// Both ends of each edge (m, 2).
#[derive(FromPyObject)]
pub enum EndsInput<'py> {
    U32(PyReadonlyArray2<'py, u32>),
    I32(PyReadonlyArray2<'py, i32>),
    I64(PyReadonlyArray2<'py, i64>),
}

/// Weights that are borrowed.
#[derive(Clone, Copy)]
enum Weights<'a> {
    Ones,
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// A sparsifier and its stream. Created by [`start_sparsifier`], or by its constructor from a pickle.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Sparsifier(Mutex<engine::Sparsifier>);

/// A sparsifier without edges, with the caller's probes if given.
fn started(n_nodes: usize, params: SparsifyParams, probes: Option<Matrix>, run: &Run) -> Result<engine::Sparsifier> {
    let sparsifier = engine::Sparsifier::new(n_nodes, params, run)?;
    match probes {
        Some(probes) => sparsifier.with_probes(probes),
        None => Ok(sparsifier),
    }
}

/// `(graph, report)` of all edges of a source.
#[pyfunction]
pub fn sparsify<'py>(
    py: Python<'py>,
    source: SourceInput<'py>,
    parameters: &Bound<'py, PyDict>,
    probes: Option<PyReadonlyArray2<'py, f64>>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let params = filled(parameters)?;
    let probes = probes.as_ref().map(matrix).transpose()?;
    let found = match source {
        SourceInput::Matrix(adjacency) => {
            let adjacency = adjacency.matrix()?;
            control.run(py, |run| all_of(&Graph::new(adjacency)?.into_adjacency(), params, probes, run))
        }
        SourceInput::File((path, n_nodes)) => control.run(py, |run| {
            let n_nodes = n_nodes.map(|n| count("n_samples", n)).transpose()?;
            let file = EdgeFile::open(&path, n_nodes, run)?;
            let (graph, mut report) = all_of(&file, params, probes, run)?;
            report.warnings.splice(0..0, file.warnings());
            Ok((graph, report))
        }),
    };
    graph_and_report(py, found?)
}

fn all_of(
    source: &dyn EdgeSource,
    params: SparsifyParams,
    probes: Option<Matrix>,
    run: &Run,
) -> Result<(Graph, SparsifyReport)> {
    let mut sparsifier = started(source.n_nodes(), params, probes, run)?;
    Report::default().time_steps("sparsify", source.n_edges().unwrap_or(0), run, |_| {
        sparsifier.read(source, None, run)?;
        sparsifier.finish(&run.quiet())
    })
}

/// A sparsifier without edges.
#[pyfunction]
pub fn start_sparsifier(
    py: Python<'_>,
    n_samples: i64,
    parameters: &Bound<'_, PyDict>,
    probes: Option<PyReadonlyArray2<'_, f64>>,
    control: Control,
) -> PyResult<Sparsifier> {
    let n_samples = count("n_samples", n_samples).map_err(to_py)?;
    let probes = probes.as_ref().map(matrix).transpose()?;
    let params = filled(parameters)?;
    let started = control.run(py, |run| started(n_samples, params, probes, run))?;
    Ok(Sparsifier(Mutex::new(started)))
}

#[pymethods]
impl Sparsifier {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        engine::Sparsifier::from_bytes(state).map(Mutex::new).map(Self).map_err(to_py)
    }

    /// Adds edges; all of them are checked before the first is added.
    fn add(
        &self,
        py: Python<'_>,
        edges: EndsInput<'_>,
        weights: Option<RealsInput<'_>>,
        control: Control,
    ) -> PyResult<()> {
        let n = py.detach(|| self.lock().map(|sparsifier| sparsifier.n_nodes())).map_err(to_py)?;
        add_edges(py, &edges, weights.as_ref(), n, &control, |portion, run| self.lock()?.add(portion, run))
    }

    /// The graph so far.
    fn snapshot<'py>(&self, py: Python<'py>, control: Control) -> PyResult<Bound<'py, PyTuple>> {
        let graph = control.run(py, |run| self.lock()?.snapshot(run))?;
        csr_arrays(py, graph.into_adjacency())
    }

    /// `(graph, report)`, thinned to the budget; more edges may follow.
    fn result<'py>(&self, py: Python<'py>, control: Control) -> PyResult<Bound<'py, PyTuple>> {
        let finish = |run: &Run| {
            let sparsifier = self.lock()?.clone();
            sparsifier.finish(run)
        };
        graph_and_report(py, control.run(py, finish)?)
    }

    /// The report so far.
    fn report(&self, py: Python<'_>, control: Control) -> PyResult<String> {
        let report = control.run(py, |run| Ok(self.lock()?.report(run)))?;
        json(&report)
    }

    /// Edges added and edges held.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, usize)> {
        py.detach(|| self.lock().map(|sparsifier| (sparsifier.n_rows(), sparsifier.n_held()))).map_err(to_py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let state = py.detach(|| self.lock()?.to_bytes()).map_err(to_py)?;
        Ok((py.get_type::<Self>().into_any(), (PyBytes::new(py, &state),).into_pyobject(py)?))
    }
}

impl Sparsifier {
    fn lock(&self) -> Result<MutexGuard<'_, engine::Sparsifier>> {
        let reason = "an earlier call left this sparsifier half done";
        self.0.lock().map_err(|_| Error::Internal { reason: reason.into() })
    }
}

/// Passes edges to `take` in portions; all of them are checked before the first is passed.
pub fn add_edges(
    py: Python<'_>,
    edges: &EndsInput<'_>,
    weights: Option<&RealsInput<'_>>,
    n_nodes: usize,
    control: &Control,
    take: impl FnMut(&[Edge], &Run) -> Result<()> + Send,
) -> PyResult<()> {
    let weights = match weights {
        None => Weights::Ones,
        Some(RealsInput::F32(weights)) => Weights::F32(weights.as_slice()?),
        Some(RealsInput::F64(weights)) => Weights::F64(weights.as_slice()?),
    };
    match edges {
        EndsInput::U32(edges) => add_rows(py, ends(edges)?, weights, n_nodes, control, take),
        EndsInput::I32(edges) => add_rows(py, ends(edges)?, weights, n_nodes, control, take),
        EndsInput::I64(edges) => add_rows(py, ends(edges)?, weights, n_nodes, control, take),
    }
}

fn add_rows<T: Copy + Display + Sync + TryInto<u32>>(
    py: Python<'_>,
    ends: &[[T; 2]],
    weights: Weights<'_>,
    n: usize,
    control: &Control,
    mut take: impl FnMut(&[Edge], &Run) -> Result<()> + Send,
) -> PyResult<()> {
    let m = ends.len();
    control.run(py, |run| {
        let edge = |row: usize| -> Result<Edge> {
            let node = |end: T| {
                let reason = || format!("row {row} of the edges: node {end} is out of range; there are {n} nodes");
                end.try_into().map_err(|_| Error::graph(format!("{}, counted from 0", reason())))
            };
            let edge = Edge { u: node(ends[row][0])?, v: node(ends[row][1])?, weight: weights.of(row) };
            edge.check(n, row as u64).map(|()| edge)
        };
        (0..m).try_for_each(|row| edge(row).map(drop))?;
        let (quiet, mut portion) = (run.quiet(), Vec::with_capacity(PORTION.min(m)));
        Report::default().time_steps("edges", m as u64, run, |_| {
            for first in (0..m).step_by(PORTION) {
                let last = m.min(first + PORTION);
                portion.clear();
                (first..last).try_for_each(|row| edge(row).map(|edge| portion.push(edge)))?;
                run.check()?;
                take(&portion, &quiet)?;
                run.progress().update(last as u64, "rows");
            }
            Ok(())
        })
    })
}

impl Weights<'_> {
    fn of(self, row: usize) -> f64 {
        match self {
            Self::Ones => 1.0,
            Self::F32(weights) => weights[row].into(),
            Self::F64(weights) => weights[row],
        }
    }
}

fn graph_and_report<'py>(py: Python<'py>, (graph, report): (Graph, SparsifyReport)) -> PyResult<Bound<'py, PyTuple>> {
    (csr_arrays(py, graph.into_adjacency())?, json(&report)?).into_pyobject(py)
}

/// `(resistances, warnings)`: the resistance of every edge u < v, row by row, by `(n_projections, tol)` or exactly; the warnings as
/// JSON.
#[pyfunction]
pub fn effective_resistances<'py>(
    py: Python<'py>,
    adjacency: CsrInput<'py, f64>,
    projection: Option<(i64, f64)>,
    control: Control,
) -> PyResult<(Bound<'py, PyArray1<f64>>, String)> {
    let adjacency: Csr<f64> = adjacency.matrix()?;
    let method = match projection {
        None => ResistanceMethod::Exact,
        Some((n, tol)) => {
            ResistanceMethod::Projection { n_projections: count("n_projections", n).map_err(to_py)?, tol }
        }
    };
    let work = |run: &Run| {
        let graph = Graph::new(adjacency)?;
        Report::default().time("resistances", run, |_| engine::effective_resistances(&graph, method, run))
    };
    let found = control.run(py, work)?;
    Ok((PyArray1::from_vec(py, found.values), json(&found.warnings)?))
}
