//! Scaling of features before a fit, and of new rows.

use lapwing::data::{Report, Scaling, Standardize, Standardizer, TermWeights, Tfidf};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{FeaturesInput, features_object, json, py_dict};
use crate::control::Control;
use crate::error::to_py;

/// A scaling as Python holds it: a dict of `mean` and `scale`, or of `idf`.
#[derive(FromPyObject)]
pub enum ScalingInput {
    /// Standardized columns.
    #[pyo3(from_item_all)]
    Standardize {
        /// Mean of each column.
        mean: Vec<f64>,
        /// Standard deviation of each column.
        scale: Vec<f64>,
    },
    /// TF-IDF.
    #[pyo3(from_item_all)]
    Tfidf {
        /// Weight of each term.
        idf: Vec<f64>,
    },
}

impl From<ScalingInput> for Scaling {
    fn from(input: ScalingInput) -> Self {
        match input {
            ScalingInput::Standardize { mean, scale } => Self::Standardize(Standardizer { mean, scale }),
            ScalingInput::Tfidf { idf } => Self::Tfidf(Tfidf { idf }),
        }
    }
}

/// A scaling as a dict that [`ScalingInput`] reads back; `None` if rows are left as they are.
pub fn scaling_object(py: Python<'_>, scaling: Scaling) -> PyResult<Option<Bound<'_, PyDict>>> {
    let array = |values: Vec<f64>| PyArray1::from_vec(py, values);
    match scaling {
        Scaling::Standardize(s) => Ok(Some(py_dict!(py, "mean": array(s.mean), "scale": array(s.scale)))),
        Scaling::Tfidf(tfidf) => Ok(Some(py_dict!(py, "idf": array(tfidf.idf)))),
        _ => Ok(None),
    }
}

/// `(state, scaled, report)` of features. The state is for `scale_features`. State and scaled features are None where features are
/// left as they are. The report is JSON with `scaling` (`kind`, `ratio` and `text`, or null) and `warnings`.
#[pyfunction]
pub fn fit_scaling<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    standardize: &str,
    tfidf: &str,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let features = features.features()?;
    let standardize = Standardize::parse(standardize).map_err(to_py)?;
    let tfidf = TermWeights::parse(tfidf).map_err(to_py)?;
    let (fitted, scaled) = control.run(py, |run| {
        features.check(run)?;
        let fitted = Scaling::fit(&features, standardize, tfidf, run)?;
        let scaled = fitted.scaling.apply(&features, run)?;
        Ok((fitted, scaled))
    })?;
    let mut report = Report::default();
    fitted.describe(&mut report);
    let report = json(&serde_json::json!({"scaling": report.parts.get("scaling"), "warnings": report.warnings}));
    let scaled = scaled.map(|scaled| features_object(py, scaled)).transpose()?;
    (scaling_object(py, fitted.scaling)?, scaled, report.map_err(to_py)?).into_pyobject(py)
}

/// Warnings, as JSON, for features that a method takes as they are though scaling them may change the labels.
#[pyfunction]
pub fn doubt_scaling(py: Python<'_>, features: FeaturesInput<'_>, control: Control) -> PyResult<String> {
    let features = features.features()?;
    let found = control.run(py, |run| Ok(Scaling::doubt(&features, run)))?;
    json(&found.as_slice()).map_err(to_py)
}

/// Features scaled by a state of `fit_scaling`.
#[pyfunction]
pub fn scale_features<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    state: ScalingInput,
    control: Control,
) -> PyResult<Bound<'py, PyAny>> {
    let features = features.features()?;
    let scaling = Scaling::from(state);
    match control.run(py, |run| scaling.apply(&features, run))? {
        Some(scaled) => features_object(py, scaled),
        None => features_object(py, features),
    }
}
