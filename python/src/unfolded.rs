//! Fitting unfolded graph networks.

use lapwing::data::{Error, Result, Targets, parse_choice};
use lapwing::models::unfolded::{LayerOptimizer, LayerSolver, NodeLoss, SketchSize};
use lapwing::models::{Method, Problem, UnfoldedExtension, UnfoldedGnn, UnfoldedParams};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{CsrInput, FeaturesInput, dict, json, matrix_array, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::extension_or_none;
use crate::graph::given;
use crate::harmonic::{LabelsInput, class_targets, classifier_dict};
use crate::options::{GraphOptions, count};

/// An unfolded graph network.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct UnfoldedOptions {
    graph_reg: Option<f64>,
    self_loop: f64,
    loss: String,
    l2_reg: Option<f64>,
    solver: String,
    optimizer: String,
    steps: Option<i64>,
    step_size: Option<f64>,
    hidden: Option<i64>,
    attention: Option<f64>,
    bias: bool,
    learning_rate: Option<f64>,
    edges: Option<f64>,
    sketch_size: SketchInput,
    tol: f64,
    max_iter: i64,
}

/// Rows of a sketch: a number, `"auto"`, or none.
#[derive(FromPyObject)]
pub enum SketchInput {
    /// So many.
    #[pyo3(transparent)]
    Rows(i64),
    /// By rule, or none at all.
    #[pyo3(transparent)]
    Rule(Option<String>),
}

impl UnfoldedOptions {
    /// The same in the words of Rust.
    fn params(&self) -> Result<UnfoldedParams> {
        let maybe = |name: &str, value: Option<i64>| value.map(|value| count(name, value)).transpose();
        Ok(UnfoldedParams {
            graph_reg: self.graph_reg,
            self_loop: self.self_loop,
            loss: NodeLoss::parse(&self.loss)?,
            l2_reg: self.l2_reg,
            solver: LayerSolver::parse(&self.solver)?,
            optimizer: LayerOptimizer::parse(&self.optimizer)?,
            steps: maybe("steps", self.steps)?,
            step_size: self.step_size,
            hidden: maybe("hidden", self.hidden)?,
            attention: self.attention,
            bias: self.bias,
            learning_rate: self.learning_rate,
            edges: self.edges,
            sketch_size: match &self.sketch_size {
                SketchInput::Rows(rows) => SketchSize::Rows(count("sketch_size", *rows)?),
                SketchInput::Rule(None) => SketchSize::None,
                SketchInput::Rule(Some(rule)) => parse_choice("sketch_size", rule, &[("auto", SketchSize::Auto)])?,
            },
            tol: self.tol,
            max_iter: count("max_iter", self.max_iter)?,
        })
    }

    fn method(&self, graph: &GraphOptions) -> Result<UnfoldedGnn> {
        UnfoldedGnn::new(self.params()?, graph.params()?)
    }
}

/// A trained network. Pickled, it keeps all of itself as bytes.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Network(pub UnfoldedExtension<'static>);

#[pymethods]
impl Network {
    #[new]
    fn new(state: &[u8]) -> PyResult<Self> {
        UnfoldedExtension::from_bytes(state).map(Self).map_err(to_py)
    }

    /// Layers from the features on, each (d, h), with the constants of each (h), or none.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<LayerArrays<'py>>> {
        let layers = self.0.layers();
        let all = layers.hidden.iter().chain([&layers.output]);
        all.map(|layer| {
            let rows = layer.n_rows() - usize::from(layers.bias);
            let (weights, bias) = layer.values().split_at(rows * layer.n_cols());
            let weights = lapwing::data::Matrix::new(rows, layer.n_cols(), weights.to_vec()).map_err(to_py)?;
            Ok((matrix_array(py, weights)?, layers.bias.then(|| PyArray1::from_slice(py, bias))))
        })
        .collect()
    }

    /// λ.
    fn graph_reg(&self) -> f64 {
        self.0.graph_reg()
    }

    /// Whether new rows are joined to those of the fit.
    fn has_neighbors(&self) -> bool {
        self.0.neighbors().is_some()
    }

    /// Scores (m, c) of rows that are the nodes of a graph.
    fn extend_on<'py>(
        &self,
        py: Python<'py>,
        new: FeaturesInput<'py>,
        adjacency: CsrInput<'py, f64>,
        control: Control,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (new, affinity) = (new.features()?, given(py, &adjacency)?);
        let scores = control.run(py, |run| self.0.extend_on(&new, &affinity.graph, run))?;
        matrix_array(py, scores)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let state = py.detach(|| self.0.to_bytes()).map_err(to_py)?;
        Ok((py.get_type::<Self>().into_any(), (PyBytes::new(py, &state),).into_pyobject(py)?))
    }
}

type LayerArrays<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>);

/// Labels every row by a network; a dict of everything a fitted classifier keeps.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_network_classifier<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    adjacency: Option<CsrInput<'py, f64>>,
    graph: GraphOptions,
    options: UnfoldedOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let method = options.method(&graph).map_err(to_py)?;
    let targets = class_targets(&labels, label_weights.as_ref())?;
    let features = features.features()?;
    let adjacency = adjacency.map(|adjacency| given(py, &adjacency)).transpose()?;
    let mut fitted = control.run(py, |run| {
        let problem = Problem { features: Some(&features), graph: adjacency.as_ref(), ..Problem::new(&targets) };
        method.fit(&problem, run)
    })?;
    let extension = extension_or_none(py, fitted.extension.take())?;
    let dict = classifier_dict(py, fitted)?;
    dict.set_item("extension", extension)?;
    Ok(dict)
}

/// Values for every row by a network.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_network_regressor<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    adjacency: Option<CsrInput<'py, f64>>,
    graph: GraphOptions,
    options: UnfoldedOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let method = options.method(&graph).map_err(to_py)?;
    let weights = label_weights.map(|w| vector(&w)).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let features = features.features()?;
    let adjacency = adjacency.map(|adjacency| given(py, &adjacency)).transpose()?;
    let fitted = control.run(py, |run| -> std::result::Result<_, Error> {
        let problem = Problem { features: Some(&features), graph: adjacency.as_ref(), ..Problem::new(&targets) };
        method.regress(&problem, run)
    })?;
    let items = vec![
        ("report", json(&fitted.report).map_err(to_py)?.into_pyobject(py)?.into_any()),
        ("reached", PyArray1::from_slice(py, &fitted.reached).into_any()),
        ("values", PyArray1::from_slice(py, fitted.values.values()).into_any()),
        ("extension", extension_or_none(py, fitted.extension)?),
    ];
    dict(py, items)
}
