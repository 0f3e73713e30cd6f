//! Pages about fits, and places of rows in a picture.

use std::path::PathBuf;

use lapwing::data::{Error, Features, Labels, Report, RowNames};
use lapwing_report::{Axes, FitPage, FittedRows, Origin, Picture, stage_page};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{FeaturesInput, array2, matrix, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::GraphInput;
use crate::labels::NamesInput;

/// Labels of the rows of a fit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RowsOfFit<'py> {
    /// Names of the classes.
    names: NamesInput,
    /// Given class of each row, negative for none.
    given: PyReadonlyArray1<'py, i32>,
    /// Class of each row at the end, negative for none.
    labels: PyReadonlyArray1<'py, i32>,
    /// Shares of the classes (n, c).
    shares: PyReadonlyArray2<'py, f64>,
    confidence: PyReadonlyArray1<'py, f64>,
    reached: PyReadonlyArray1<'py, bool>,
    /// True class of each row, negative where it is unknown.
    truth: Option<PyReadonlyArray1<'py, i32>>,
    /// Names of the rows, if they have any.
    row_names: Option<Vec<String>>,
}

/// Texts of a page.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TextsInput {
    title: String,
    /// The expression that fits again, and its seed; none if it was drawn.
    command: String,
    seed: Option<u64>,
    /// The report of the fit as JSON, and the texts of its warnings.
    report: String,
    warnings: Vec<String>,
}

/// Writes the page of a fit.
#[pyfunction]
pub fn fit_page(
    py: Python<'_>,
    path: PathBuf,
    texts: TextsInput,
    rows: RowsOfFit<'_>,
    features: Option<FeaturesInput<'_>>,
    graph: Option<GraphInput<'_>>,
    tol: f64,
    control: Control,
) -> PyResult<()> {
    let TextsInput { title, command, seed, report, warnings } = texts;
    let fault = |e| to_py(Error::Internal { reason: format!("the report of the fit cannot be read: {e}") });
    let report: Report = serde_json::from_str(&report).map_err(fault)?;
    let features = features.as_ref().map(FeaturesInput::features).transpose()?;
    let graph = graph.map(|graph| graph.graph(py)).transpose()?;
    let given = Labels { classes: (&rows.names).into(), index: vector(&rows.given)? };
    let labels: Vec<Option<usize>> = rows.labels.as_slice()?.iter().map(|&class| usize::try_from(class).ok()).collect();
    let (shares, truth) = (matrix(&rows.shares)?, rows.truth.as_ref().map(vector).transpose()?);
    let row_names = rows.row_names.map(|names| RowNames::of_rows("row_names", names)).transpose().map_err(to_py)?;
    let page = FitPage {
        title: &title,
        report: &report,
        warnings,
        origin: Origin { command, seed },
        rows: FittedRows {
            given: &given,
            labels: &labels,
            shares: &shares,
            confidence: rows.confidence.as_slice()?,
            reached: rows.reached.as_slice()?,
            truth: truth.as_deref(),
            names: row_names.as_ref(),
        },
        graph: graph.as_ref().map(|affinity| &affinity.graph),
        features: features.as_ref(),
        tol,
    };
    control.run(py, |run| stage_page(&path, &page.render(run)?)?.publish())
}

/// Rows chosen for a picture, with their places: `rows`, `points` (n, 2) and what the `axes` are. None for fewer than ten rows.
#[pyfunction]
pub fn map_points<'py>(
    py: Python<'py>,
    features: Option<FeaturesInput<'py>>,
    graph: Option<GraphInput<'py>>,
    preferred: PyReadonlyArray1<'py, u32>,
    control: Control,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let features: Option<Features<'_>> = features.as_ref().map(FeaturesInput::features).transpose()?;
    let graph = graph.map(|graph| graph.graph(py)).transpose()?;
    let preferred: Vec<usize> = preferred.as_slice()?.iter().map(|&row| row as usize).collect();
    let drawn = control.run(py, |run| {
        Picture::new(features.as_ref(), graph.as_ref().map(|affinity| &affinity.graph), &preferred, run)
    })?;
    let Some(Picture { rows, points, axes }) = drawn else { return Ok(None) };
    let axes = match axes {
        Axes::Components => "components",
        Axes::Layout => "layout",
    };
    let n = rows.len();
    Ok(Some(py_dict!(
        py,
        "rows": PyArray1::from_iter(py, rows.into_iter().map(|row| row as i64)),
        "points": array2(py, n, 2, points.into_iter().flatten().collect())?,
        "axes": axes,
    )))
}
