//! Fitting kernel machines on a graph.

use lapwing::data::{Result, Targets};
use lapwing::graph::AffinityGraph;
use lapwing::models::lapsvm::{FitOptions, ValidationSet};
use lapwing::models::{LapSvm, Problem};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{CsrInput, FeaturesInput, dict, json, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::{KernelMachine, extension_or_none};
use crate::graph::given;
use crate::harmonic::{LabelsInput, class_targets, classifier_dict};
use crate::options::{GraphOptions, LapSvmOptions};

/// Labels every row by a kernel machine that is smooth over the graph; a dict of everything a fitted classifier keeps.
///
/// `validation` are rows with labels that conjugate gradients stop by, `start` is a machine on the same rows.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_kernel_classifier<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    adjacency: Option<CsrInput<'py, f64>>,
    graph: GraphOptions,
    options: LapSvmOptions,
    validation: Option<(FeaturesInput<'py>, LabelsInput<'py>)>,
    start: Option<PyRef<'py, KernelMachine>>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let method = options.method(&graph).map_err(to_py)?;
    let targets = class_targets(&labels, label_weights.as_ref())?;
    let (features, adjacency) = (features.features()?, affinity(py, adjacency.as_ref())?);
    let held = match &validation {
        Some((rows, labels)) => Some((rows.features()?, class_targets(labels, None)?)),
        None => None,
    };
    let validation = held.as_ref().map(|(features, targets)| ValidationSet { features, targets });
    let options = FitOptions { validation, start: start.as_ref().map(|machine| &machine.0) };
    let mut fitted = control.run(py, |run| {
        let problem = Problem { features: Some(&features), graph: adjacency.as_ref(), ..Problem::new(&targets) };
        method.fit_with(&problem, &options, run)
    })?;
    let extension = extension_or_none(py, fitted.extension.take())?;
    let dict = classifier_dict(py, fitted)?;
    dict.set_item("extension", extension)?;
    Ok(dict)
}

/// Values for every row by least squares in the space of a kernel, smooth over the graph.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_kernel_regressor<'py>(
    py: Python<'py>,
    features: FeaturesInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    adjacency: Option<CsrInput<'py, f64>>,
    graph: GraphOptions,
    options: LapSvmOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let method: LapSvm = options.method(&graph).map_err(to_py)?;
    let weights = label_weights.map(|w| vector(&w)).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let (features, adjacency) = (features.features()?, affinity(py, adjacency.as_ref())?);
    let fitted = control.run(py, |run| {
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

fn affinity(py: Python<'_>, adjacency: Option<&CsrInput<'_, f64>>) -> PyResult<Option<AffinityGraph>> {
    adjacency.map(|adjacency| given(py, adjacency)).transpose()
}

impl LapSvmOptions {
    /// The method these options ask for.
    fn method(&self, graph: &GraphOptions) -> Result<LapSvm> {
        let (params, graph) = (self.params()?, graph.params()?);
        if self.squares { LapSvm::least_squares(params, graph) } else { LapSvm::new(params, graph) }
    }
}
