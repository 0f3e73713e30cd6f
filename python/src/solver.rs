//! Laplacian systems.

use lapwing::data::{Error, Matrix};
use lapwing::solve::{Constraint, Graph, LaplacianParams, LaplacianSolver, PreconditionerChoice};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{CsrInput, dict, matrix, matrix_array, vector};
use crate::control::Control;
use crate::error::to_py;

/// A prepared system.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Solver(LaplacianSolver);

/// Preconditioner, tolerance and most iterations.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SolverOptions {
    preconditioner: String,
    tol: f64,
    max_iter: usize,
    max_fill: f64,
}

impl SolverOptions {
    fn params(&self) -> Result<LaplacianParams, Error> {
        let preconditioner = PreconditionerChoice::parse(&self.preconditioner)?;
        Ok(LaplacianParams {
            preconditioner,
            tol: self.tol,
            max_iter: self.max_iter,
            max_fill: self.max_fill,
            ..LaplacianParams::default()
        })
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
        options: SolverOptions,
        control: Control,
    ) -> PyResult<Self> {
        let params = options.params().map_err(to_py)?;
        let adjacency = adjacency.matrix()?;
        let diagonal = diagonal.as_ref().map(vector).transpose()?;
        let solver = control.run(py, move |run| {
            let graph = run.install(|| Graph::new(adjacency))?;
            match regularization {
                Some(regularization) => LaplacianSolver::normalized(&graph, regularization, params, run),
                None => LaplacianSolver::new(&graph, diagonal.as_deref(), params, run),
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
        let (x, info) = control.run(py, |run| self.0.solve(&b, start.as_ref(), Constraint::None, run))?;
        let info = dict(
            py,
            vec![
                ("iterations", info.iterations.into_pyobject(py)?.into_any()),
                ("residuals", info.residuals.into_pyobject(py)?.into_any()),
                ("converged", info.converged.into_pyobject(py)?.to_owned().into_any()),
                ("reason", info.reason.name().into_pyobject(py)?.into_any()),
                ("discarded", info.discarded.into_pyobject(py)?.into_any()),
                ("preconditioners", info.preconditioners.into_pyobject(py)?.into_any()),
                ("residual_curve", info.curve.into_pyobject(py)?.into_any()),
                ("solve_seconds", info.seconds.into_pyobject(py)?.into_any()),
            ],
        )?;
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

    /// What is known of the system and its preparation.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let solver = &self.0;
        dict(
            py,
            vec![
                ("n_samples", solver.n().into_pyobject(py)?.into_any()),
                ("preconditioner", solver.preconditioner().name().into_pyobject(py)?.into_any()),
                ("setup_seconds", solver.setup_seconds().into_pyobject(py)?.into_any()),
                ("fill", solver.n_factor_entries().into_pyobject(py)?.into_any()),
                ("bytes", solver.bytes().into_pyobject(py)?.into_any()),
                ("n_singular_components", solver.n_singular_components().into_pyobject(py)?.into_any()),
            ],
        )
    }
}
