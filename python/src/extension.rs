//! Extensions to new rows, to and from Python.

use std::sync::Arc;

use lapwing::data::{Error, Result};
use lapwing::graph::GraphParams;
use lapwing::models::baselines::EigenfunctionExtension;
use lapwing::models::lapsvm::Kernel;
use lapwing::models::{Extension, KernelExtension, LowRankExtension, NeighborExtension};
use lapwing_models::baselines::EigenfunctionParts;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{FeaturesInput, features_object, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::index::NeighborIndex;
use crate::parameters::{filled, parameter_dict};
use crate::rule::{WidthsInput, widths_object};
use crate::supervised::Supervised;
use crate::unfolded::Network;

/// A class, and the argument from which its constructor makes an equal object.
pub type Pickle<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The pickle of an object whose state is bytes.
pub fn pickle<T: PyTypeInfo>(py: Python<'_>, state: impl FnOnce() -> Result<Vec<u8>> + Send) -> PyResult<Pickle<'_>> {
    let state = py.detach(state).map_err(to_py)?;
    Ok((py.get_type::<T>().into_any(), (PyBytes::new(py, &state),).into_pyobject(py)?))
}

/// The extension to new rows, as a fitted estimator stores it.
#[derive(FromPyObject)]
#[allow(clippy::large_enum_variant, reason = "one for each call")]
pub enum ExtensionInput<'py> {
    Eigenfunctions(PyRef<'py, Eigenfunctions>),
    Landmarks(PyRef<'py, Landmarks>),
    Kernel(PyRef<'py, KernelMachine>),
    Network(PyRef<'py, Network>),
    Supervised(PyRef<'py, Supervised>),
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

/// Fitted eigenfunctions. Pickled, they keep their arrays.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Eigenfunctions(EigenfunctionExtension);

/// Their arrays, in the order of [`EigenfunctionParts`].
#[derive(FromPyObject)]
pub struct PartsInput<'py>(
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray1<'py, f64>,
);

#[pymethods]
impl Eigenfunctions {
    #[new]
    fn new(parts: PartsInput<'_>) -> PyResult<Self> {
        let PartsInput(mean, axes, grids, columns, values, coefficients, intercept) = parts;
        let parts = EigenfunctionParts {
            mean: vector(&mean)?,
            axes: matrix(&axes)?,
            grids: matrix(&grids)?,
            columns: vector(&columns)?,
            values: matrix(&values)?,
            coefficients: matrix(&coefficients)?,
            intercept: vector(&intercept)?,
        };
        EigenfunctionExtension::from_parts(parts).map(Self).map_err(to_py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let parts = self.0.clone().into_parts();
        let arrays = (
            PyArray1::from_vec(py, parts.mean),
            matrix_array(py, parts.axes)?,
            matrix_array(py, parts.grids)?,
            PyArray1::from_vec(py, parts.columns),
            matrix_array(py, parts.values)?,
            matrix_array(py, parts.coefficients)?,
            PyArray1::from_vec(py, parts.intercept),
        );
        Ok((py.get_type::<Self>().into_any(), (arrays,).into_pyobject(py)?))
    }
}

/// Fitted landmarks with their coefficients. Pickled as bytes.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Landmarks(LowRankExtension);

#[pymethods]
impl Landmarks {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        LowRankExtension::from_bytes(state).map(Self).map_err(to_py)
    }

    /// Landmarks (k, d), in the units of the features; none for a learned factor.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.landmarks().map(|landmarks| matrix_array(py, landmarks)).transpose()
    }

    /// Landmarks, or columns of a learned factor.
    fn n_landmarks(&self) -> usize {
        self.0.n_landmarks()
    }

    /// Name of the factor.
    fn factor(&self) -> &'static str {
        self.0.factor().name()
    }

    /// Landmarks of which a row is a mixture; none unless the factor is an anchor graph.
    fn n_nearest(&self) -> Option<usize> {
        self.0.n_nearest()
    }

    /// Width of the kernel; none for a learned factor.
    fn bandwidth(&self) -> Option<f64> {
        self.0.bandwidth()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickle::<Self>(py, || self.0.to_bytes())
    }
}

/// A fitted kernel machine. Pickled as bytes.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct KernelMachine(pub KernelExtension<'static>);

#[pymethods]
impl KernelMachine {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        KernelExtension::from_bytes(state).map(Self).map_err(to_py)
    }

    /// Coefficients of the rows that are kept (m, k), or of the features (d, k).
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix_array(py, self.0.coefficients().clone())
    }

    /// Bias of each problem (k).
    fn bias<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.bias())
    }

    /// Name, bandwidth and degree of the kernel; none if features are weighted directly.
    fn kernel(&self) -> Option<(&'static str, Option<f64>, Option<u32>)> {
        self.0.kernel().map(|kernel| match kernel {
            Kernel::Rbf { bandwidth } => ("rbf", Some(bandwidth), None),
            Kernel::Poly { degree } => ("poly", None, Some(degree)),
            Kernel::Linear => ("linear", None, None),
        })
    }

    /// The rows that are kept (m, d), in the form given to the fit; none if features are weighted directly.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.rows().map(|rows| features_object(py, rows.clone())).transpose()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickle::<Self>(py, || self.0.to_bytes())
    }
}

impl ExtensionInput<'_> {
    /// The extension as a Rust value; dense features are borrowed.
    pub fn extension(&self) -> PyResult<Extension<'_>> {
        Ok(match self {
            Self::Eigenfunctions(functions) => functions.0.clone().into(),
            Self::Landmarks(landmarks) => landmarks.0.clone().into(),
            Self::Kernel(machine) => machine.0.clone().into(),
            Self::Network(network) => network.0.clone().into(),
            Self::Supervised(learned) => learned.0.clone().into(),
            Self::Neighbors(fitted) => {
                let features = fitted.features.features()?;
                let graph: GraphParams = filled(&fitted.graph)?;
                NeighborExtension {
                    graph: graph.resolved(&features),
                    features,
                    widths: fitted.widths.widths()?,
                    scores: Arc::new(matrix(&fitted.scores)?),
                    errors: fitted.errors.as_ref().map(|errors| vector(errors).map(Arc::new)).transpose()?,
                    index: fitted.index.0.clone(),
                }
                .into()
            }
        })
    }
}

/// An extension as an object that [`ExtensionInput`] reads back.
pub fn extension_object<'py>(py: Python<'py>, extension: Extension<'_>) -> PyResult<Bound<'py, PyAny>> {
    let neighbors = match extension {
        Extension::Eigenfunctions(functions) => return Ok(Bound::new(py, Eigenfunctions(functions))?.into_any()),
        Extension::Landmarks(landmarks) => return Ok(Bound::new(py, Landmarks(landmarks))?.into_any()),
        Extension::Kernel(machine) => {
            let machine = machine.into_owned().map_err(to_py)?;
            return Ok(Bound::new(py, KernelMachine(machine))?.into_any());
        }
        Extension::Network(network) => {
            let network = network.into_owned().map_err(to_py)?;
            return Ok(Bound::new(py, Network(network))?.into_any());
        }
        Extension::Supervised(learned) => return Ok(Bound::new(py, Supervised(learned))?.into_any()),
        Extension::Neighbors(neighbors) => neighbors,
        _ => return Err(to_py(Error::Internal { reason: "an extension that Python has no object for".into() })),
    };
    let errors = neighbors.errors.map(|errors| PyArray1::from_vec(py, Arc::unwrap_or_clone(errors)));
    Ok(py_dict!(
        py,
        "features": features_object(py, neighbors.features)?,
        "widths": widths_object(py, &neighbors.widths)?,
        "graph": parameter_dict(py, &neighbors.graph)?,
        "index": Bound::new(py, NeighborIndex(neighbors.index.clone()))?,
        "errors": errors,
        "scores": matrix_array(py, Arc::unwrap_or_clone(neighbors.scores))?,
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
    let extended = control.run(py, |run| extension.extend_with_errors(&new, run))?;
    Ok((matrix_array(py, extended.scores)?, extended.errors.map(|errors| PyArray1::from_vec(py, errors))))
}
