//! Laplacian systems.

use lapwing::data::{Error, Matrix, Run};
use lapwing::solve::{Graph, LaplacianParams, LaplacianSolver, NormalizedSolver, SolveInfo};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{CsrInput, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::parameters::filled;

/// A prepared system.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Solver(Kind);

enum Kind {
    Plain(LaplacianSolver),
    Normalized(NormalizedSolver),
}

impl Kind {
    fn solve(&self, b: &Matrix, start: Option<&Matrix>, run: &Run) -> Result<(Matrix, SolveInfo), Error> {
        match self {
            Self::Plain(solver) => solver.solve(b, start, run),
            Self::Normalized(solver) => solver.solve(b, start, run),
        }
    }

    fn precondition(&self, r: &Matrix, run: &Run) -> Result<Matrix, Error> {
        match self {
            Self::Plain(solver) => solver.precondition(r, run),
            Self::Normalized(solver) => solver.precondition(r, run),
        }
    }

    fn laplacian(&self) -> &LaplacianSolver {
        match self {
            Self::Plain(solver) => solver,
            Self::Normalized(solver) => solver.inner(),
        }
    }
}

#[pymethods]
impl Solver {
    /// L + diag(diagonal), or I + regularization·L̂.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        adjacency: CsrInput<'py, f64>,
        diagonal: Option<PyReadonlyArray1<'py, f64>>,
        regularization: Option<f64>,
        parameters: &Bound<'py, PyDict>,
        control: Control,
    ) -> PyResult<Self> {
        let params: LaplacianParams = filled(parameters)?;
        let adjacency = adjacency.matrix()?;
        let diagonal = diagonal.as_ref().map(vector).transpose()?;
        let solver = control.run(py, move |run| {
            let graph = run.install(|| Graph::new(adjacency))?;
            match regularization {
                Some(regularization) => {
                    NormalizedSolver::new(&graph, regularization, params, run).map(Kind::Normalized)
                }
                None => LaplacianSolver::new(&graph, diagonal.as_deref(), params, run).map(Kind::Plain),
            }
        })?;
        Ok(Self(solver))
    }

    /// `(x, info)` for right-hand sides (n, s).
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: PyReadonlyArray2<'py, f64>,
        start: Option<PyReadonlyArray2<'py, f64>>,
        control: Control,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let b = matrix(&b)?;
        let start: Option<Matrix> = start.as_ref().map(matrix).transpose()?;
        let (x, info) = control.run(py, |run| self.0.solve(&b, start.as_ref(), run))?;
        let levels: Vec<_> = info.preconditioners.iter().map(|level| level.name()).collect();
        let info = py_dict!(
            py,
            "iterations": info.iterations,
            "residuals": info.residuals,
            "converged": info.converged,
            "reason": info.reason.name(),
            "discarded": info.discarded,
            "preconditioners": levels,
            "residual_curve": info.curve,
            "solve_seconds": info.seconds,
        );
        (matrix_array(py, x)?, info).into_pyobject(py)
    }

    /// M⁻¹·R for R (n, s).
    fn precondition<'py>(
        &self,
        py: Python<'py>,
        r: PyReadonlyArray2<'py, f64>,
        control: Control,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let r = matrix(&r)?;
        matrix_array(py, control.run(py, |run| self.0.precondition(&r, run))?)
    }

    /// Properties of the system and its preparation.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let solver = self.0.laplacian();
        Ok(py_dict!(
            py,
            "n_samples": solver.n(),
            "preconditioner": solver.preconditioner().name(),
            "setup_seconds": solver.setup_seconds(),
            "fill": solver.n_factor_entries(),
            "bytes": solver.bytes(),
            "n_singular_components": solver.n_singular_components(),
        ))
    }
}
