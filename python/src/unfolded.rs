//! Trained unfolded graph networks.

use lapwing::models::UnfoldedExtension;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{FeaturesInput, matrix_array};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::{Pickle, pickle};
use crate::graph::GraphInput;

/// A trained network. Pickled as bytes.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Network(pub UnfoldedExtension<'static>);

#[pymethods]
impl Network {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        UnfoldedExtension::from_bytes(state).map(Self).map_err(to_py)
    }

    /// Layers, the one on the features first: each (d, h), with its constants (h) or none.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<LayerArrays<'py>>> {
        let layers = self.0.layers();
        let first = layers.first();
        let all = [&first].into_iter().chain(layers.hidden.is_some().then_some(&layers.output));
        all.map(|layer| {
            let rows = layer.n_rows() - usize::from(layers.bias);
            let (weights, bias) = layer.values().split_at(rows * layer.n_cols());
            let weights = lapwing::data::Matrix::new(rows, layer.n_cols(), weights.to_vec()).map_err(to_py)?;
            Ok((matrix_array(py, weights)?, layers.bias.then(|| PyArray1::from_slice(py, bias))))
        })
        .collect()
    }

    /// λ.
    fn graph_reg(&self) -> f64 {
        self.0.graph_reg()
    }

    /// Whether new rows are joined to those of the fit.
    fn has_neighbors(&self) -> bool {
        self.0.neighbors().is_some()
    }

    /// Scores (m, c) of rows that are the nodes of a graph.
    fn extend_on<'py>(
        &self,
        py: Python<'py>,
        new: FeaturesInput<'py>,
        adjacency: GraphInput<'py>,
        control: Control,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (new, affinity) = (new.features()?, adjacency.graph(py)?);
        let scores = control.run(py, |run| self.0.extend_on(&new, &affinity.graph, run))?;
        matrix_array(py, scores)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickle::<Self>(py, || self.0.to_bytes())
    }
}

type LayerArrays<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>);
