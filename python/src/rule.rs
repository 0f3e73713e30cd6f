//! Converts decision rules and kernel widths between Python and Rust, and applies rules to scores.

use std::sync::Arc;

use lapwing::graph::Widths;
use lapwing::models::{Extended, Labeling, Rule};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{json, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;

/// A decision rule, as a fitted estimator stores it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RuleInput {
    offset: Vec<f64>,
    scale: Vec<f64>,
    temperature: Option<f64>,
    #[pyo3(default)]
    flattened: bool,
    /// Calibration as JSON.
    #[pyo3(default)]
    venn_abers: Option<String>,
    prior: Vec<f64>,
}

impl RuleInput {
    /// The rule as a Rust value.
    pub fn rule(self) -> PyResult<Rule> {
        let Self { offset, scale, temperature, flattened, venn_abers, prior } = self;
        let wrong = |e| PyValueError::new_err(format!("the rule holds no calibration: {e}"));
        let venn_abers = venn_abers.map(|text| serde_json::from_str(&text)).transpose().map_err(wrong)?;
        Ok(Rule { offset, scale, temperature, flattened, venn_abers, prior })
    }
}

/// A rule as a dict that [`RuleInput`] reads back.
pub fn rule_dict<'py>(py: Python<'py>, rule: &Rule) -> PyResult<Bound<'py, PyDict>> {
    Ok(py_dict!(
        py, "offset": &rule.offset, "scale": &rule.scale, "temperature": rule.temperature,
        "flattened": rule.flattened, "venn_abers": rule.venn_abers.as_ref().map(json).transpose().map_err(to_py)?,
        "prior": &rule.prior,
    ))
}

/// Kernel widths, as a fitted estimator stores them.
#[derive(FromPyObject)]
pub enum WidthsInput<'py> {
    /// One per row.
    PerRow(PyReadonlyArray1<'py, f32>),
    /// One for all rows, or none.
    One(Option<f64>),
}

impl WidthsInput<'_> {
    /// The widths as a Rust value.
    pub fn widths(&self) -> PyResult<Widths> {
        Ok(match self {
            Self::PerRow(widths) => Widths::PerRow(widths.as_slice()?.to_vec()),
            Self::One(Some(width)) => Widths::One(*width),
            Self::One(None) => Widths::None,
        })
    }
}

/// Kernel widths as an object that [`WidthsInput`] reads back.
pub fn widths_object<'py>(py: Python<'py>, widths: &Widths) -> PyResult<Bound<'py, PyAny>> {
    Ok(match widths {
        Widths::PerRow(widths) => PyArray1::from_slice(py, widths).into_any(),
        Widths::One(width) => width.into_pyobject(py)?.into_any(),
        Widths::None => py.None().into_bound(py),
    })
}

/// Labels, distributions and confidence of rows with given scores; certified if bounds on their errors are known.
#[pyfunction]
pub fn apply_rule<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    errors: Option<PyReadonlyArray1<'py, f64>>,
    rule: RuleInput,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let errors = errors.map(|errors| vector(&errors)).transpose()?;
    let extended = Extended { scores: matrix(&scores)?, errors };
    let rule = rule.rule()?;
    let labeling = control.run(py, |run| run.install(|| rule.apply_with_errors(extended)))?;
    let dict = PyDict::new(py);
    add_labeling(&dict, labeling)?;
    Ok(dict)
}

/// Adds the parts of a labeling, by name.
pub fn add_labeling(dict: &Bound<'_, PyDict>, labeling: Labeling) -> PyResult<()> {
    let py = dict.py();
    dict.set_item("scores", matrix_array(py, Arc::unwrap_or_clone(labeling.scores))?)?;
    dict.set_item("label_distributions", matrix_array(py, labeling.label_distributions)?)?;
    dict.set_item("labels", PyArray1::from_vec(py, labeling.labels))?;
    dict.set_item("confidence", PyArray1::from_vec(py, labeling.confidence))?;
    dict.set_item("reached", PyArray1::from_vec(py, labeling.reached))?;
    dict.set_item("certified", labeling.certified.map(|certified| PyArray1::from_vec(py, certified)))?;
    dict.set_item("score_radius", labeling.score_radius.map(|radius| PyArray1::from_vec(py, radius)))
}
