//! Models of the labeled rows alone.

use lapwing::data::Matrix;
use lapwing::models::baselines::SupervisedExtension;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::matrix_array;
use crate::error::to_py;
use crate::extension::{Pickle, pickle};

/// What was learned from the labeled rows. Pickled as bytes.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Supervised(pub SupervisedExtension);

#[pymethods]
impl Supervised {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        SupervisedExtension::from_bytes(state).map(Self).map_err(to_py)
    }

    /// Coefficients of a linear model (d, c) and its bias (c); none of another model.
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<Option<LinearArrays<'py>>> {
        let SupervisedExtension::Linear(layers) = &self.0 else { return Ok(None) };
        let (d, c) = (layers.n_features(), layers.output.n_cols());
        let (coefficients, bias) = layers.output.values().split_at(d * c);
        let coefficients = Matrix::new(d, c, coefficients.to_vec()).map_err(to_py)?;
        Ok(Some((matrix_array(py, coefficients)?, PyArray1::from_slice(py, bias))))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickle::<Self>(py, || self.0.to_bytes())
    }
}

type LinearArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);
