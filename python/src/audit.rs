//! Which labels to doubt.

use std::path::PathBuf;

use lapwing::data::{ClassNames, Labels, RowNames, Targets};
use lapwing::graph::GraphParams;
use lapwing::models::{self, AuditParams, Centering};
use lapwing_report::{AuditPage, stage_page, summary, text};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{FeaturesInput, json, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::GraphInput;
use crate::labels::{LabelsInput, NamesInput};
use crate::parameters::filled;

/// What an audit found, kept for its page.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct HeldAudit(models::Audit);

#[pymethods]
impl HeldAudit {
    /// The summary of the program: lines of name and value.
    fn summary(&self, names: NamesInput) -> String {
        text::summary(&summary::of_audit(&self.0.summary, &ClassNames::from(&names).names()))
    }

    /// Writes the page. `given` is the class of each row, negative for none; `rows` are the names of the rows, if any.
    fn page(
        &self,
        path: PathBuf,
        title: &str,
        names: NamesInput,
        given: PyReadonlyArray1<'_, i32>,
        features: Option<FeaturesInput<'_>>,
        rows: Option<Vec<String>>,
    ) -> PyResult<()> {
        let labels = Labels { classes: (&names).into(), index: vector(&given)? };
        let features = features.as_ref().map(FeaturesInput::features).transpose()?;
        let rows = rows.map(|names| RowNames::of_rows("row_names", names)).transpose().map_err(to_py)?;
        let page = AuditPage {
            title,
            report: &self.0.report,
            found: &self.0,
            labels: &labels,
            features: features.as_ref(),
            names: rows.as_ref(),
        };
        stage_page(&path, &page.render()).and_then(|page| page.publish()).map_err(to_py)
    }
}

/// Audits the labels of a classification; `features` and the parameters of their graph tell duplicates and outliers.
#[pyfunction]
pub fn audit<'py>(
    py: Python<'py>,
    graph: GraphInput<'py>,
    features: Option<FeaturesInput<'py>>,
    graph_parameters: &Bound<'py, PyDict>,
    labels: LabelsInput<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    parameters: &Bound<'py, PyDict>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let (params, targets) = (filled::<AuditParams>(parameters)?, labels.targets(weights.as_ref())?);
    let graph_params: GraphParams = filled(graph_parameters)?;
    let features = features.as_ref().map(FeaturesInput::features).transpose()?;
    let graph = graph.graph(py)?;
    let found = control.run(py, |run| {
        let measured = features.as_ref().map(|rows| (rows, graph_params.resolved(rows).metric()));
        models::audit(&graph.graph, measured, &targets, &params, run)
    })?;
    let class = |class: &Option<u32>| class.map_or(-1, |class| class as i32);
    let held = Py::new(py, HeldAudit(found))?;
    let found = &held.get().0;
    Ok(py_dict!(
        py,
        "quality": PyArray1::from_slice(py, &found.quality),
        "proposed": PyArray1::from_iter(py, found.proposed.iter().map(class)),
        "flagged": PyArray1::from_slice(py, &found.flagged),
        "judged": PyArray1::from_slice(py, &found.judged),
        "leverage": PyArray1::from_slice(py, &found.leverage),
        "reached": PyArray1::from_slice(py, &found.reached),
        "duplicate_group": PyArray1::from_iter(py, found.duplicate_group.iter().map(class)),
        "contradicts": PyArray1::from_slice(py, &found.contradicts),
        "outlier_percentile": PyArray1::from_slice(py, &found.outlier_percentile),
        "confusion": matrix_array(py, found.confusion.clone())?,
        "thresholds": PyArray1::from_slice(py, &found.thresholds),
        "report": json(&found.report)?,
        "held": held,
    ))
}

/// Ranks the values of a regression by their leave-one-out residuals.
#[pyfunction]
pub fn audit_regression<'py>(
    py: Python<'py>,
    graph: GraphInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    smoothness: f64,
    is_stable: bool,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let weights = weights.as_ref().map(vector).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let graph = graph.graph(py)?;
    let centering = if is_stable { Centering::Stable } else { Centering::Plain };
    let found = control.run(py, |run| models::audit_regression(&graph.graph, &targets, smoothness, centering, run))?;
    Ok(py_dict!(
        py,
        "proposed": PyArray1::from_vec(py, found.proposed),
        "residual": PyArray1::from_vec(py, found.residual),
        "quality": PyArray1::from_vec(py, found.quality),
        "report": json(&found.report)?,
    ))
}
