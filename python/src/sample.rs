//! Samples of rows that lie in parts, in this process or others: which rows are drawn, and which others join them.

use lapwing::data::{Features, Standardize};
use lapwing_models::{Beside, Draw, Search};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{FeaturesInput, Pickle, vector};
use crate::control::Control;
use crate::error::to_py;

/// Which rows are drawn, whatever they hold: `(number of rows, labeled rows, rows to fit, seed)`.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct RowDraw {
    draw: Draw,
    arguments: (usize, Vec<u32>, usize, u64),
}

#[pymethods]
impl RowDraw {
    #[new]
    fn new(n: usize, labeled: PyReadonlyArray1<'_, u32>, n_fit: usize, seed: u64) -> PyResult<Self> {
        let labeled = vector(&labeled)?;
        let draw = Draw::new(n, &labeled, n_fit, true, seed);
        Ok(Self { draw, arguments: (n, labeled, n_fit, seed) })
    }

    /// The drawn ones of the rows from `first` to before `end`, ascending.
    fn rows<'py>(&self, py: Python<'py>, first: usize, end: usize) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_vec(py, py.detach(|| self.draw.of(first..end)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let (n, labeled, n_fit, seed) = &self.arguments;
        let arguments = (n, PyArray1::from_slice(py, labeled), n_fit, seed).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), arguments))
    }
}

fn owned(features: &FeaturesInput<'_>) -> PyResult<Features<'static>> {
    let features = features.features()?;
    let d = features.n_cols();
    Features::stacked(&[features], d).map_err(to_py)
}

/// Compares rows with those drawn. A pickle has these; whoever loads it makes their index again.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct RowSearch {
    pub search: Search,
    arguments: Py<PyTuple>,
}

#[pymethods]
impl RowSearch {
    /// Takes the rows that were drawn, ascending, with their features; `standardize` says whether columns in very different units are scaled.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        draw: Bound<'py, RowDraw>,
        rows: PyReadonlyArray1<'py, u32>,
        features: FeaturesInput<'py>,
        standardize: bool,
        control: Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let object = features.object.clone();
        let (numbers, held, own) = (vector(&rows)?, owned(&features)?, draw.get().draw.clone());
        let how = if standardize { Standardize::Auto } else { Standardize::Off };
        let search = control.extract::<Control>()?.run(py, |run| Search::new(own, numbers, held, how, run))?;
        let arguments = (draw, rows.as_any().clone(), object, standardize, control).into_pyobject(py)?.unbind();
        Ok(Self { search, arguments })
    }

    /// What is found in a part of the rows, the first of which is row `first`: as bytes.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        rows: FeaturesInput<'py>,
        control: Control,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let block = owned(&rows)?;
        let found = control.run(py, |run| self.search.compare(first, block, run))?;
        Ok(PyBytes::new(py, &found.to_bytes().map_err(to_py)?))
    }

    /// What is found in several parts.
    fn join<'py>(&self, py: Python<'py>, parts: Vec<Bound<'py, PyBytes>>) -> PyResult<Bound<'py, PyBytes>> {
        let mut all = Beside::default();
        for part in parts {
            self.search.join(&mut all, self.search.found(part.as_bytes()).map_err(to_py)?);
        }
        Ok(PyBytes::new(py, &all.to_bytes().map_err(to_py)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Pickle<'py> {
        (py.get_type::<Self>().into_any(), self.arguments.bind(py).clone())
    }
}
