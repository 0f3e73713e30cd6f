//! Fitted rows among which neighbors of new rows are searched.

use std::sync::Arc;

use lapwing::data::Report;
use lapwing::graph::KnnParams;
use lapwing_graph::IndexCells;
use lapwing_models::LazyIndex;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{FeaturesInput, Pickle, array2, vector};
use crate::control::Control;
use crate::parameters::filled;

/// Index of fitted rows: empty until it is built explicitly or by the first prediction. Pickled with its cells.
///
/// The caller keeps the rows and passes the same ones to every call.
#[pyclass(frozen, module = "lapwing._lapwing")]
#[derive(Default)]
pub struct NeighborIndex(pub Arc<LazyIndex>);

/// Cells in a pickle: `(ids, starts, n_probes, recall, recall_error, byte_scale)`.
#[derive(FromPyObject)]
pub struct CellsInput<'py>(PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u64>, usize, f64, f64, Option<f32>);

#[pymethods]
impl NeighborIndex {
    #[new]
    #[pyo3(signature = (cells=None))]
    fn new(cells: Option<CellsInput<'_>>) -> PyResult<Self> {
        let Some(CellsInput(ids, starts, n_probes, recall, recall_error, byte_scale)) = cells else {
            return Ok(Self::default());
        };
        let (ids, starts) = (vector(&ids)?, vector(&starts)?);
        let cells = IndexCells { ids, starts, n_probes, recall, recall_error, byte_scale, start: None };
        Ok(Self(Arc::new(LazyIndex::kept(cells))))
    }

    /// Checks the rows and builds the index: `(n_cells, n_probes, recall, recall_error)`, or none if queries compare all rows.
    fn build(
        &self,
        py: Python<'_>,
        features: FeaturesInput<'_>,
        parameters: &Bound<'_, PyDict>,
        control: Control,
    ) -> PyResult<Option<(usize, usize, f64, f64)>> {
        let features = features.features()?;
        let params: KnnParams = filled(parameters)?;
        control.run(py, |run| {
            params.check(&features, run)?;
            let index = Report::default().time("index", run, |_| self.0.of(&features, &params, run))?;
            let facts = |cells: &IndexCells| (cells.len(), cells.n_probes, cells.recall, cells.recall_error);
            Ok(index.map(|index| facts(index.cells())))
        })
    }

    /// `(distances, indices)` of the rows of `features` nearest to every row of `new`.
    fn query<'py>(
        &self,
        py: Python<'py>,
        features: FeaturesInput<'py>,
        new: FeaturesInput<'py>,
        parameters: &Bound<'_, PyDict>,
        control: Control,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (features, new) = (features.features()?, new.features()?);
        let params: KnnParams = filled(parameters)?;
        let query = |run: &_| Report::default().time("query", run, |_| self.0.query(&features, &new, &params, run));
        let found = control.run(py, query)?;
        let (m, k) = (new.n_rows(), found.n_neighbors);
        (array2(py, m, k, found.distances)?, array2(py, m, k, found.indices)?).into_pyobject(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let parts = |cells: &IndexCells| {
            let arrays = (PyArray1::from_slice(py, &cells.ids), PyArray1::from_slice(py, &cells.starts));
            (arrays.0, arrays.1, cells.n_probes, cells.recall, cells.recall_error, cells.byte_scale)
        };
        Ok((py.get_type::<Self>().into_any(), (self.0.cells().map(parts),).into_pyobject(py)?))
    }
}
