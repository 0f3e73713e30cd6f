//! Fitting low-rank label propagation.

use lapwing::data::{Features, Result};
use lapwing::models::LowRank;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::matrix;
use crate::control::Control;
use crate::error::to_py;
use crate::harmonic::{Input, LabelsInput, fit};
use crate::options::LowRankOptions;

/// Labels every row through a factor of low rank; with landmarks (k, d) of the caller's if there are any.
#[pyfunction]
pub fn fit_low_rank<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    options: LowRankOptions,
    landmarks: Option<PyReadonlyArray2<'py, f64>>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let landmarks = landmarks.as_ref().map(matrix).transpose()?;
    let method = || -> Result<LowRank> {
        let method = LowRank::new(options.params()?)?;
        let Some(landmarks) = landmarks else { return Ok(method) };
        let (k, d) = (landmarks.n_rows(), landmarks.n_cols());
        Ok(method.with_landmarks(Features::from_f64(k, d, landmarks.into_values())?))
    };
    fit(py, &method().map_err(to_py)?, &input, &labels, label_weights.as_ref(), control, true)
}
