//! Which rows to label next, intervals around values, and sets of classes.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use lapwing::data::Targets;
use lapwing::graph::{AffinityGraph, Graph};
use lapwing::models::{self, Centering, SetsParams, SuggestParams, Wanted};
use lapwing_core::lock;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{array2, json, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::GraphInput;
use crate::labels::LabelsInput;
use crate::parameters::filled;

/// Suggests rows of one graph, batch after batch.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Suggester(Mutex<models::Suggester<Held>>);

/// The graph that Python holds, shared.
struct Held(Arc<AffinityGraph>);

impl Deref for Held {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.0.graph
    }
}

/// What is wanted of a batch.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct WantedInput<'py> {
    n: usize,
    candidates: Option<PyReadonlyArray1<'py, u32>>,
    exclude: PyReadonlyArray1<'py, u32>,
    cost: Option<PyReadonlyArray1<'py, f64>>,
}

#[pymethods]
impl Suggester {
    #[new]
    fn new(py: Python<'_>, graph: GraphInput<'_>, control: Control) -> PyResult<Self> {
        let graph = Held(graph.graph(py)?);
        control.run(py, |run| models::Suggester::new(graph, run)).map(|suggester| Self(Mutex::new(suggester)))
    }

    /// The next rows, as a dict of columns and the report.
    fn next<'py>(
        &self,
        py: Python<'py>,
        labels: Option<LabelsInput<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        wanted: WantedInput<'py>,
        parameters: &Bound<'py, PyDict>,
        warm_start: bool,
        control: Control,
    ) -> PyResult<Bound<'py, PyDict>> {
        let params: SuggestParams = filled(parameters)?;
        let targets = labels.map(|labels| labels.targets(weights.as_ref())).transpose()?;
        let candidates = wanted.candidates.as_ref().map(vector).transpose()?;
        let (exclude, cost) = (vector(&wanted.exclude)?, wanted.cost.as_ref().map(vector).transpose()?);
        let found = control.run(py, |run| {
            let wanted =
                Wanted { n: wanted.n, candidates: candidates.as_deref(), exclude: &exclude, cost: cost.as_deref() };
            let mut suggester = lock(&self.0);
            if !warm_start {
                suggester.restart();
            }
            suggester.next(targets.as_ref(), &wanted, &params, run)
        })?;
        let rows = &found.rows;
        let guess = rows.iter().map(|row| row.guess.map_or(-1, |(class, _)| class as i32));
        let confidence = rows.iter().map(|row| row.guess.map_or(f64::NAN, |(_, share)| share));
        Ok(py_dict!(
            py,
            "rows": PyArray1::from_iter(py, rows.iter().map(|row| i64::from(row.row))),
            "reasons": rows.iter().map(|row| row.reason.name()).collect::<Vec<_>>(),
            "scores": PyArray1::from_iter(py, rows.iter().map(|row| row.score)),
            "guesses": PyArray1::from_iter(py, guess),
            "confidence": PyArray1::from_iter(py, confidence),
            "report": json(&found.report)?,
        ))
    }

    /// How far every row is from these labels.
    fn distance_from_labels<'py>(
        &self,
        py: Python<'py>,
        labels: LabelsInput<'py>,
        control: Control,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let targets = labels.targets(None)?;
        let distance = control.run(py, |run| {
            let suggester = lock(&self.0);
            suggester.distance_from_labels(&targets, run)
        })?;
        Ok(PyArray1::from_vec(py, distance))
    }
}

/// `(lower, upper, is_plus)`: intervals around the values of a regression.
#[pyfunction]
pub fn jackknife_plus<'py>(
    py: Python<'py>,
    graph: GraphInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    smoothness: f64,
    is_stable: bool,
    level: f64,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let weights = weights.as_ref().map(vector).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let graph = graph.graph(py)?;
    let centering = if is_stable { Centering::Stable } else { Centering::Plain };
    let found =
        control.run(py, |run| models::jackknife_plus(&graph.graph, &targets, smoothness, centering, level, run))?;
    (PyArray1::from_vec(py, found.lower), PyArray1::from_vec(py, found.upper), found.is_plus).into_pyobject(py)
}

/// Scores (l, c) of the labeled rows without their own labels.
#[pyfunction]
pub fn leave_one_out_scores<'py>(
    py: Python<'py>,
    graph: GraphInput<'py>,
    labels: LabelsInput<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    smoothness: f64,
    centering: &str,
    control: Control,
) -> PyResult<Bound<'py, PyAny>> {
    let (graph, targets) = (graph.graph(py)?, labels.targets(weights.as_ref())?);
    let centering = match centering {
        "stable" => Centering::Stable,
        "row-mean" => Centering::RowMean,
        _ => Centering::Plain,
    };
    let found =
        control.run(py, |run| models::leave_one_out_scores(&graph.graph, &targets, smoothness, centering, run))?;
    Ok(matrix_array(py, found)?.into_any())
}

/// `(sets, summary)` of rows with class `shares`, from the classes and shares of held-out rows.
#[pyfunction]
pub fn prediction_sets<'py>(
    py: Python<'py>,
    classes: PyReadonlyArray1<'py, u32>,
    held_out: PyReadonlyArray2<'py, f64>,
    shares: PyReadonlyArray2<'py, f64>,
    reached: PyReadonlyArray1<'py, bool>,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyTuple>> {
    let params: SetsParams = filled(parameters)?;
    let shares = matrix(&shares)?;
    let found =
        models::prediction_sets(classes.as_slice()?, &matrix(&held_out)?, &shares, reached.as_slice()?, &params)
            .map_err(to_py)?;
    let summary = json(&found.summary)?;
    (array2(py, shares.n_rows(), found.n_classes, found.holds)?, summary).into_pyobject(py)
}

/// Fewest held-out labels for sets of a level in (0, 1).
#[pyfunction]
pub fn least_labels(level: f64) -> usize {
    models::least_labels(level)
}
