//! Fitting any method by its name.

use std::path::PathBuf;
use std::sync::Arc;

use lapwing::data::params::{Parameters, Value};
use lapwing::data::read::EdgeFile;
use lapwing::data::{ClassNames, EdgeSource, Error, Features, Labels, Matrix, Report, Result, Run, Targets, Warning};
use lapwing::graph::AffinityGraph;
use lapwing::models::lapsvm::{FitOptions, ValidationSet};
use lapwing::models::{
    Extension, Fitted, FittedRegression, Harmonic, HeldOut, HeldOutSource, LapSvm, Method, MethodParams, Problem,
    Settings, SizeParams, Sizing, SizingParams, UnfoldedGnn,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{FeaturesInput, json, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::extension_object;
use crate::graph::{GraphInput, HeldGraph};
use crate::parameters::settings;
use crate::rule::{add_labeling, rule_dict, widths_object};

/// The rows of a fit: features, a graph, or both; or a file of edges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RowsInput<'py> {
    pub features: Option<FeaturesInput<'py>>,
    graph: Option<GraphInput<'py>>,
    /// The path of the file, and the number of nodes.
    edges: Option<(PathBuf, usize)>,
}

/// Given labels of a classification.
#[derive(FromPyObject)]
pub enum LabelsInput<'py> {
    /// `(class of each row or −1, names of the classes)`.
    Classes((PyReadonlyArray1<'py, i32>, NamesInput)),
    /// Shares of the classes in each row, zero rows unlabeled.
    Shares(PyReadonlyArray2<'py, f64>),
}

/// Names of classes.
#[derive(FromPyObject)]
pub enum NamesInput {
    /// Integers.
    Integers(Vec<i64>),
    /// Everything else, as text.
    Texts(Vec<String>),
}

/// Inputs of some methods besides rows, labels and parameters.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Extras<'py> {
    /// Landmarks (k, d) of low-rank propagation, instead of a rule that finds them.
    #[pyo3(default)]
    landmarks: Option<PyReadonlyArray2<'py, f64>>,
    /// Rows with labels by which conjugate gradients of a kernel machine stop.
    #[pyo3(default)]
    validation: Option<(FeaturesInput<'py>, LabelsInput<'py>)>,
    /// Coefficients (n, k) and bias (k) of a machine on the same rows, from which conjugate gradients start.
    #[pyo3(default)]
    start: Option<(PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    /// Shares of the classes in every row (n, c), where a harmonic fit starts.
    #[pyo3(default)]
    prior: Option<PyReadonlyArray2<'py, f64>>,
    /// Scores (n, c) from which the solver of a harmonic fit starts.
    #[pyo3(default)]
    scores: Option<PyReadonlyArray2<'py, f64>>,
    /// Whether to return the extension to new rows; not needed if that is the rows of the fit.
    hands_extension: bool,
    /// Whether Python makes the extension itself if that turns out to be the rows of the fit.
    #[pyo3(default)]
    may_keep_rows: bool,
    /// Whether to return the graph, for later calls on the same rows.
    #[pyo3(default)]
    keeps_graph: bool,
    /// Labeled rows that were suggested, other than by chance, ascending.
    #[pyo3(default)]
    suggested: Vec<u32>,
    /// Whether the labels that the fit holds out are for sets of classes.
    #[pyo3(default)]
    for_sets: bool,
}

impl From<&NamesInput> for ClassNames {
    fn from(names: &NamesInput) -> Self {
        match names {
            NamesInput::Integers(names) => Self::Integers(names.clone()),
            NamesInput::Texts(names) => Self::Texts(names.clone()),
        }
    }
}

impl LabelsInput<'_> {
    /// One-hot or soft targets.
    pub fn targets(&self, weights: Option<&PyReadonlyArray1<'_, f64>>) -> PyResult<Targets> {
        let weights = weights.map(vector).transpose()?;
        match self {
            Self::Classes((classes, names)) => {
                let labels = Labels { classes: names.into(), index: vector(classes)? };
                Targets::one_hot(&labels, weights.as_deref())
            }
            Self::Shares(shares) => Targets::soft(&matrix(shares)?, weights.as_deref()),
        }
        .map_err(to_py)
    }
}

/// Rows as Rust values.
struct Source<'a> {
    features: Option<Features<'a>>,
    graph: Option<Arc<AffinityGraph>>,
    edges: Option<(PathBuf, usize)>,
}

impl RowsInput<'_> {
    fn source(&self, py: Python<'_>) -> PyResult<Source<'_>> {
        Ok(Source {
            features: self.features.as_ref().map(FeaturesInput::features).transpose()?,
            graph: self.graph.as_ref().map(|graph| graph.graph(py)).transpose()?,
            edges: self.edges.clone(),
        })
    }
}

impl Source<'_> {
    /// What to look at in the file of edges.
    fn warnings(&self, run: &Run) -> Result<Vec<Warning>> {
        let Some((path, n_nodes)) = &self.edges else { return Ok(Vec::new()) };
        Ok(EdgeFile::open(path, Some(*n_nodes), run)?.warnings())
    }

    /// Calls `work` with these rows, their targets and the prior.
    fn solve<'a, T>(
        &'a self,
        targets: &'a Targets,
        prior: Option<&'a Matrix>,
        run: &Run,
        work: impl FnOnce(&Problem<'_, 'a>) -> Result<T>,
    ) -> Result<T> {
        let open = |(path, n_nodes): &(PathBuf, usize)| EdgeFile::open(path, Some(*n_nodes), run);
        let edges = self.edges.as_ref().map(open).transpose()?;
        work(&Problem {
            features: self.features.as_ref(),
            graph: self.graph.as_deref(),
            edges: edges.as_ref().map(|edges| edges as &dyn EdgeSource),
            prior,
            ..Problem::new(targets)
        })
    }
}

/// Labels every row by the named method; returns a dict of all that a fitted classifier stores.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_classifier<'py>(
    py: Python<'py>,
    method: &str,
    parameters: &Bound<'py, PyDict>,
    rows: RowsInput<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    extras: Extras<'py>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let mut settings = settings(method, parameters)?;
    if !extras.suggested.is_empty() {
        settings = settings.for_suggested();
    }
    if extras.for_sets {
        settings = settings.for_sets();
    }
    let targets = labels.targets(label_weights.as_ref())?;
    given_sizes(&settings).and_then(|sizes| sizes.validate(targets.n_columns())).map_err(to_py)?;
    let sizes = take_sizes(&mut settings).map_err(to_py)?;
    let source = rows.source(py)?;
    let landmarks = extras.landmarks.as_ref().map(matrix).transpose()?;
    let prior = extras.prior.as_ref().map(matrix).transpose()?;
    let scores = extras.scores.as_ref().map(matrix).transpose()?;
    let held = match &extras.validation {
        Some((rows, labels)) => Some((rows.features()?, labels.targets(None)?)),
        None => None,
    };
    let validation = held.as_ref().map(|(features, targets)| ValidationSet { features, targets });
    let start = extras.start.as_ref().map(|(alpha, bias)| PyResult::Ok((matrix(alpha)?, vector(bias)?))).transpose()?;
    let start = start.as_ref().map(|(coefficients, bias)| (coefficients, bias.as_slice()));
    let options = FitOptions { validation, start };
    let mut fitted = control.run(py, |run| {
        let fitted = source.solve(&targets, prior.as_ref(), run, |problem| match kernel_machine(&settings)? {
            Some(machine) => machine.fit_with(problem, &options, run),
            None => with_landmarks(&settings, landmarks)?.fit(&Problem { start: scores.as_ref(), ..*problem }, run),
        })?;
        let mut fitted = sized(fitted, sizes.as_ref(), &targets, run)?;
        fitted.report.warnings.splice(0..0, source.warnings(run)?);
        Ok(fitted)
    })?;
    let held_out = fitted.held_out.as_ref().map_or(&[][..], |held_out| &held_out.rows);
    if held_out.iter().any(|row| extras.suggested.binary_search(row).is_ok()) {
        fitted.report.warnings.push(Warning::SuggestedAccuracy {});
    }
    let graph = fitted.graph.take().map(Arc::new).or(source.graph.clone()).filter(|_| extras.keeps_graph);
    let dict = classifier_dict(py, fitted, extras.hands_extension, extras.may_keep_rows)?;
    dict.set_item("graph", graph.map(|graph| Py::new(py, HeldGraph(graph))).transpose()?)?;
    Ok(dict)
}

/// All that a fitted classifier stores.
fn classifier_dict<'py>(
    py: Python<'py>,
    fitted: Fitted<'_>,
    hands_extension: bool,
    may_keep_rows: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let neighbors = fitted.extension.as_ref().and_then(|extension| extension.neighbors());
    let errors = neighbors.and_then(|rows| rows.errors.as_ref()).map(|errors| PyArray1::from_slice(py, errors));
    // The extension shares the scores; they are returned without a copy once it is gone.
    let n = fitted.labeling.labels.len();
    let keeps_rows = may_keep_rows && neighbors.is_some_and(|rows| rows.scores.n_rows() == n);
    let dict = kept(py, &fitted.report, fitted.extension, hands_extension && !keeps_rows)?;
    dict.set_item("keeps_rows", keeps_rows)?;
    dict.set_item("errors", errors)?;
    dict.set_item("rule", rule_dict(py, &fitted.rule)?)?;
    add_labeling(&dict, fitted.labeling)?;
    let held_out = fitted.held_out.map(|held_out| {
        let HeldOut { rows, classes, shares, source, .. } = held_out;
        let source = match source {
            HeldOutSource::LeaveOneOut => "leave-one-out",
            _ => "folds",
        };
        let (rows, classes) = (PyArray1::from_vec(py, rows), PyArray1::from_vec(py, classes));
        PyResult::Ok(
            py_dict!(py, "rows": rows, "classes": classes, "shares": matrix_array(py, shares)?, "source": source),
        )
    });
    dict.set_item("held_out", held_out.transpose()?)?;
    let best = fitted.best.map(|best| classifier_dict(py, *best, hands_extension, may_keep_rows)).transpose()?;
    dict.set_item("best", best)?;
    Ok(dict)
}

/// Values for every row by the named method; returns a dict of all that a fitted regressor stores.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_regressor<'py>(
    py: Python<'py>,
    method: &str,
    parameters: &Bound<'py, PyDict>,
    rows: RowsInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    extras: Extras<'py>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings(method, parameters)?;
    let weights = label_weights.map(|weights| vector(&weights)).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let source = rows.source(py)?;
    let mut fitted =
        control.run(py, |run| source.solve(&targets, None, run, |problem| regress(&settings, problem, run)))?;
    let graph = fitted.graph.take().map(Arc::new).or(source.graph.clone()).filter(|_| extras.keeps_graph);
    let dict = kept(py, &fitted.report, fitted.extension, extras.hands_extension)?;
    dict.set_item("score_radius", fitted.score_radius.map(|radius| PyArray1::from_vec(py, radius)))?;
    dict.set_item("uncertainty", fitted.uncertainty.map(|widths| PyArray1::from_vec(py, widths)))?;
    dict.set_item("graph", graph.map(|graph| Py::new(py, HeldGraph(graph))).transpose()?)?;
    dict.set_item("mean", fitted.mean)?;
    dict.set_item("reached", PyArray1::from_vec(py, fitted.reached))?;
    dict.set_item("values", PyArray1::from_slice(py, fitted.values.values()))?;
    Ok(dict)
}

/// Common items of every fitted estimator; without the extension if that is made of the rows of the fit.
fn kept<'py>(
    py: Python<'py>,
    report: &Report,
    extension: Option<Extension<'_>>,
    hands_extension: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let neighbors = extension.as_ref().and_then(|extension| extension.neighbors());
    let widths = neighbors.map(|neighbors| widths_object(py, &neighbors.widths)).transpose()?;
    let extension =
        extension.filter(|_| hands_extension).map(|extension| extension_object(py, extension)).transpose()?;
    Ok(py_dict!(py, "widths": widths, "report": json(report).map_err(to_py)?, "extension": extension))
}

/// Given class sizes, whether or not the method decides by them.
fn given_sizes(settings: &Settings) -> Result<SizeParams> {
    let mut sizing = SizingParams { decision: Sizing::Sizes, ..SizingParams::default() };
    for name in ["class_prior", "size_slack", "labels_drawn"] {
        if let Some(value) = settings.get(name) {
            sizing.set(name, &value)?;
        }
    }
    Ok(sizing.sizes().unwrap_or_default())
}

/// Removes the class sizes from the parameters, because they are applied to the finished scores.
fn take_sizes(settings: &mut Settings) -> Result<Option<SizeParams>> {
    let sizes = settings.sizes();
    if sizes.is_some() {
        settings.set("decision", &Value::Word("auto".into()))?;
    }
    Ok(sizes)
}

fn kernel_machine(settings: &Settings) -> Result<Option<LapSvm>> {
    let MethodParams { lapsvm, graph, .. } = &settings.params;
    let (params, graph) = (lapsvm.clone(), graph.clone());
    match settings.spec().name {
        "lapsvm" => LapSvm::new(params, graph).map(Some),
        "laprls" => LapSvm::least_squares(params, graph).map(Some),
        _ => Ok(None),
    }
}

fn with_landmarks(settings: &Settings, landmarks: Option<Matrix>) -> Result<Box<dyn Method>> {
    match (landmarks, settings.low_rank()?) {
        (Some(landmarks), Some(method)) => {
            let (k, d) = (landmarks.n_rows(), landmarks.n_cols());
            Ok(Box::new(method.with_landmarks(Features::from_f64(k, d, landmarks.into_values())?)))
        }
        _ => settings.method(),
    }
}

/// A fit whose labels are decided again so that every class gets its size, if sizes are given.
fn sized<'a>(fitted: Fitted<'a>, sizes: Option<&SizeParams>, targets: &Targets, run: &Run) -> Result<Fitted<'a>> {
    let Some(sizes) = sizes else { return Ok(fitted) };
    let sized = sizes.decide(fitted.labeling.scores.clone(), fitted.rule.clone(), targets, run)?;
    Ok(fitted.sized(sized))
}

fn regress<'a>(settings: &Settings, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
    let MethodParams { harmonic, unfolded, graph, .. } = settings.params.clone();
    match (settings.spec().name, kernel_machine(settings)?) {
        (_, Some(machine)) => machine.regress(problem, run),
        ("harmonic", _) => Harmonic::new(harmonic, graph)?.regress(problem, run),
        ("unfolded-gnn", _) => UnfoldedGnn::new(unfolded, graph)?.regress(problem, run),
        (name, _) => Err(Error::param("method", name, "harmonic, laprls or unfolded-gnn for a regression")),
    }
}
