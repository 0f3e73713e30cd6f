//! Extensions to new rows, to and from Python.

use std::sync::Arc;

use lapwing::graph::GraphParams;
use lapwing::models::NeighborExtension;
use lapwing_core::model_file::{ModelFile, Must, Real};
use lapwing_models::{extension_from_bytes, extension_to_file};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{FeaturesInput, array2, features_object, json, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::GraphInput;
use crate::index::NeighborIndex;
use crate::parameters::{filled, parameter_dict};
use crate::pickle::{Pickle, pickle};
use crate::rule::{WidthsInput, widths_object};

/// The extension to new rows, as a fitted estimator stores it.
#[derive(FromPyObject)]
pub enum ExtensionInput<'py> {
    Whole(PyRef<'py, Extension>),
    Neighbors(FittedRows<'py>),
}

/// The rows with which new rows are compared.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FittedRows<'py> {
    features: FeaturesInput<'py>,
    widths: WidthsInput<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    graph: Bound<'py, PyDict>,
    /// Bounds on the errors of the rows' standings (n), if labels were certified.
    errors: Option<PyReadonlyArray1<'py, f64>>,
    index: PyRef<'py, NeighborIndex>,
}

/// What labels new rows: landmarks, a machine, a network, …, by what its model file keeps. Pickled as the bytes of that file.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Extension(pub lapwing::models::Extension<'static>);

impl Extension {
    fn file(&self) -> PyResult<ModelFile> {
        extension_to_file(&*self.0).map_err(to_py)
    }
}

#[pymethods]
impl Extension {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        extension_from_bytes(state).map(Self).map_err(to_py)
    }

    /// Settings in the model file, as JSON.
    fn settings(&self) -> PyResult<String> {
        json(&self.file()?.meta).map_err(to_py)
    }

    /// Whether the model file has an array of that name.
    fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self.file()?.contains(name))
    }

    /// An array of the model file.
    fn array<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file()?;
        let found = match file.type_of(name) {
            Some("f32") => file_array::<f32>(py, &file, name),
            Some("f64") => file_array::<f64>(py, &file, name),
            _ => None,
        };
        found.unwrap_or_else(|| Err(PyKeyError::new_err(name.to_owned())))
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
        pickle::<Self>(py, || Ok(extension_to_file(&*self.0)?.to_bytes()))
    }
}

/// An array of one or two dimensions of a model file.
fn file_array<'py, T: Real + numpy::Element>(
    py: Python<'py>,
    file: &ModelFile,
    name: &str,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if let Ok((_, values)) = file.numbers::<T>(name, &[None], Must::Finite) {
        return Some(Ok(PyArray1::from_slice(py, values.as_slice()).into_any()));
    }
    let (shape, values) = file.numbers::<T>(name, &[None, None], Must::Finite).ok()?;
    Some(array2(py, shape[0], shape[1], values.as_slice().to_vec()).map(Bound::into_any))
}

impl ExtensionInput<'_> {
    /// The extension as a Rust value; dense features are borrowed.
    pub fn extension(&self) -> PyResult<lapwing::models::Extension<'_>> {
        let fitted = match self {
            Self::Whole(extension) => return Ok(extension.0.clone()),
            Self::Neighbors(fitted) => fitted,
        };
        let features = fitted.features.features()?;
        let graph: GraphParams = filled(&fitted.graph)?;
        Ok(Arc::new(NeighborExtension {
            graph: graph.resolved(&features),
            features,
            widths: fitted.widths.widths()?,
            scores: Arc::new(matrix(&fitted.scores)?),
            errors: fitted.errors.as_ref().map(|errors| vector(errors).map(Arc::new)).transpose()?,
            index: fitted.index.0.clone(),
        }))
    }
}

/// An extension as an object that [`ExtensionInput`] reads back.
pub fn extension_object<'py>(
    py: Python<'py>,
    extension: lapwing::models::Extension<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(neighbors) = extension.neighbors() else {
        return Ok(Bound::new(py, Extension(extension.owned().map_err(to_py)?))?.into_any());
    };
    let NeighborExtension { features, graph, widths, scores, errors, index } = neighbors.clone();
    let errors = errors.map(|errors| PyArray1::from_vec(py, Arc::unwrap_or_clone(errors)));
    Ok(py_dict!(
        py,
        "features": features_object(py, features)?,
        "widths": widths_object(py, &widths)?,
        "graph": parameter_dict(py, &graph)?,
        "index": Bound::new(py, NeighborIndex(index))?,
        "errors": errors,
        "scores": matrix_array(py, Arc::unwrap_or_clone(scores))?,
    )
    .into_any())
}

/// Scores (m, c), and errors (m) if known.
type ScoresAndErrors<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>);

/// Scores (m, c) of new rows, and bounds on the errors of their standings (m) if labels of the fit were certified.
#[pyfunction]
pub fn extend<'py>(
    py: Python<'py>,
    fitted: ExtensionInput<'py>,
    new: FeaturesInput<'py>,
    control: Control,
) -> PyResult<ScoresAndErrors<'py>> {
    let (extension, new) = (fitted.extension()?, new.features()?);
    let extended = control.run(py, |run| extension.extend(&new, run))?;
    Ok((matrix_array(py, extended.scores)?, extended.errors.map(|errors| PyArray1::from_vec(py, errors))))
}
