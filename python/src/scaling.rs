//! Scaling of features before a fit.

use lapwing::data::{Report, Scaling, Standardize, TermWeights};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{FeaturesInput, features_object, json};
use crate::control::Control;
use crate::error::to_py;

/// `(scaling, scaled, report)` of features. The scaling is JSON, for a fit to the scaled features, which are None where features are
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
    (json(&fitted.scaling)?, scaled, report?).into_pyobject(py)
}

/// Warnings, as JSON, for features that a method takes as they are though scaling them may change the labels.
#[pyfunction]
pub fn doubt_scaling(py: Python<'_>, features: FeaturesInput<'_>, control: Control) -> PyResult<String> {
    let features = features.features()?;
    let found = control.run(py, |run| Ok(Scaling::doubt(&features, run)))?;
    json(&found.as_slice())
}
