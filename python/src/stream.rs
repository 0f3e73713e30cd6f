//! Labels over a stream of edges.

use std::sync::{Arc, Mutex, MutexGuard};

use lapwing::data::{Error, Result};
use lapwing::models::{Harmonic, HarmonicParams, HarmonicStream, StreamParams};
use lapwing_core::params::Both;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{RealsInput, csr_arrays, json, matrix_array};
use crate::control::Control;
use crate::error::to_py;
use crate::labels::LabelsInput;
use crate::model::labeling_dict;
use crate::parameters::filled;
use crate::sparsify::{EndsInput, add_edges};

/// A harmonic classifier over a stream of edges. Created by [`start_stream`].
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct EdgeStream(Mutex<HarmonicStream>);

/// A classifier before the first edge, with the labels of its nodes.
#[pyfunction]
pub fn start_stream(parameters: &Bound<'_, PyDict>, labels: LabelsInput<'_>) -> PyResult<EdgeStream> {
    let Both(params, function) = filled::<Both<StreamParams, HarmonicParams>>(parameters)?;
    let targets = labels.targets(None)?;
    let stream = Harmonic::new(function, Default::default())
        .and_then(|harmonic| HarmonicStream::new(harmonic, params, targets))
        .map_err(to_py)?;
    Ok(EdgeStream(Mutex::new(stream)))
}

#[pymethods]
impl EdgeStream {
    /// Adds edges; all of them are checked before the first is added.
    fn add(
        &self,
        py: Python<'_>,
        edges: EndsInput<'_>,
        weights: Option<RealsInput<'_>>,
        control: Control,
    ) -> PyResult<()> {
        let n = self.lock().map_err(to_py)?.window().n_nodes();
        add_edges(py, &edges, weights.as_ref(), n, &control, |portion, _| self.lock()?.add(portion))
    }

    /// Takes other labels.
    fn set_labels(&self, labels: LabelsInput<'_>) -> PyResult<()> {
        let targets = labels.targets(None)?;
        self.lock().and_then(|mut stream| stream.set_targets(targets)).map_err(to_py)
    }

    /// A dict of labels, distributions, confidence and scores now, and how they were found.
    fn answer<'py>(&self, py: Python<'py>, control: Control) -> PyResult<Bound<'py, PyDict>> {
        let answer = control.run(py, |run| self.lock()?.answer(run))?;
        let (scores, dict) = labeling_dict(py, answer.labeling)?;
        dict.set_item("scores", matrix_array(py, Arc::unwrap_or_clone(scores))?)?;
        dict.set_item("is_fit", answer.is_fit)?;
        dict.set_item("n_relaxed", answer.n_relaxed)?;
        dict.set_item("residual", answer.residual)?;
        dict.set_item("report", json(&answer.report)?)?;
        Ok(dict)
    }

    /// The graph of the window.
    fn graph<'py>(&self, py: Python<'py>, control: Control) -> PyResult<Bound<'py, PyTuple>> {
        let graph = control.run(py, |run| self.lock()?.window().graph(run))?;
        csr_arrays(py, graph.into_adjacency())
    }

    /// Edges added and edges held.
    fn counts(&self) -> PyResult<(u64, usize)> {
        self.lock().map(|stream| (stream.n_seen(), stream.window().n_edges())).map_err(to_py)
    }
}

impl EdgeStream {
    fn lock(&self) -> Result<MutexGuard<'_, HarmonicStream>> {
        let reason = "an earlier call left this stream half done";
        self.0.lock().map_err(|_| Error::Internal { reason: reason.into() })
    }
}
