//! Fitting the simple methods that others are measured against.

use lapwing::models::baselines::{
    Eigenfunction, NearestLabel, NearestLabelParams, SimpleHarmonic, SimpleHarmonicParams, Subsampling,
    SubsamplingParams,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::Control;
use crate::error::to_py;
use crate::harmonic::{Input, LabelsInput, fit};
use crate::options::{EigenfunctionOptions, GraphOptions, HarmonicOptions, count};

/// Labels every row by its nearest labelled row.
#[pyfunction]
pub fn fit_nearest_label<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    graph: GraphOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = graph.params().map_err(to_py)?;
    let method = NearestLabel::new(NearestLabelParams { metric: graph.metric, zero_rows: graph.zero_rows });
    fit(py, &method, &input, &labels, label_weights.as_ref(), control, true)
}

/// Labels every row by the harmonic function on a sample of them.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_subsampling<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    graph: GraphOptions,
    options: HarmonicOptions,
    n_subsample: Option<i64>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let size = n_subsample.map(|s| count("n_subsample", s)).transpose();
    let method = size
        .and_then(|n_subsample| Subsampling::new(SubsamplingParams { n_subsample }, options.params()?, graph.params()?))
        .map_err(to_py)?;
    fit(py, &method, &input, &labels, label_weights.as_ref(), control, true)
}

/// Labels every row by least squares on smooth eigenvectors of the graph.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_simple_harmonic<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    graph: GraphOptions,
    n_eigenvectors: Option<i64>,
    tol: f64,
    max_iter: i64,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let params = || {
        let n_eigenvectors = n_eigenvectors.map(|q| count("n_eigenvectors", q)).transpose()?;
        Ok(SimpleHarmonicParams { n_eigenvectors, tol, max_iter: count("max_iter", max_iter)? })
    };
    let method = params().and_then(|params| SimpleHarmonic::new(params, graph.params()?)).map_err(to_py)?;
    fit(py, &method, &input, &labels, label_weights.as_ref(), control, false)
}

/// Labels every row by eigenfunctions of the density.
#[pyfunction]
pub fn fit_eigenfunction<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    options: EigenfunctionOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let method = options.params().and_then(Eigenfunction::new).map_err(to_py)?;
    fit(py, &method, &input, &labels, label_weights.as_ref(), control, true)
}
