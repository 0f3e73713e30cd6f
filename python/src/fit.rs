//! Fitting any method by its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapwing::data::params::{Parameters, Value};
use lapwing::data::prepare::Recipe;
use lapwing::data::read::{EdgeFile, ReadOptions};
use lapwing::data::{
    Alone, ClassNames, EdgeSource, Error, Features, Matrix, Report, Result, Run, Scaling, Standardize, Targets, Warning,
};
use lapwing::file_rows::RowsToFit;
use lapwing::graph::AffinityGraph;
use lapwing::models::lapsvm::{FitOptions, ValidationSet};
use lapwing::models::{
    Fitted, FittedRegression, Harmonic, HeldOut, HeldOutSource, LapSvm, Method, MethodParams, Problem, ProblemSize,
    RowProblem, Settings, SizeParams, Sizing, SizingParams, UnfoldedGnn, plan_rows, rows_that_fit,
};
use lapwing_core::available_memory_bytes;
use lapwing_models::fit_sample;
use lapwing_table::probe;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{FeaturesInput, json, matrix, matrix_array, py_dict, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::{GraphInput, HeldGraph};
use crate::labels::LabelsInput;
use crate::model::{Model, labeling_dict};
use crate::parameters::settings;
use crate::sample::RowSearch;

/// The rows of a fit: features, a graph, or both; or a file of edges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RowsInput<'py> {
    pub features: Option<FeaturesInput<'py>>,
    graph: Option<GraphInput<'py>>,
    /// The path of the file, and the number of nodes.
    edges: Option<(PathBuf, usize)>,
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
    /// How the features were scaled, as JSON.
    #[pyo3(default)]
    scaling: Option<String>,
    /// Number of rows to fit, about; all are labeled by the fitted model.
    #[pyo3(default)]
    fit_rows: Option<usize>,
    /// Whether the columns of these rows are scaled if they are in very different units.
    #[pyo3(default)]
    standardize: bool,
    /// Whether to return the graph, for later calls on the same rows.
    keeps_graph: bool,
    /// Labeled rows that were suggested, other than by chance, ascending.
    #[pyo3(default)]
    suggested: Vec<u32>,
    /// Whether the labels that the fit holds out are for sets of classes.
    #[pyo3(default)]
    for_sets: bool,
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

    /// A fit to a sample of about `fit_rows` rows, with the labels that it gives all of them, and their scaling.
    fn sampled(
        &self,
        method: &dyn Method,
        targets: &Targets,
        (fit_rows, standardize): (usize, Standardize),
        sizes: Option<&SizeParams>,
        run: &Run,
    ) -> Result<(Fitted<'static>, Option<Scaling>)> {
        let Some(features) = self.features.as_ref().filter(|_| self.graph.is_none()) else {
            let expected = "none beside a graph, which says how all rows are joined";
            return Err(Error::param("fit_rows", fit_rows, expected));
        };
        let problem = RowProblem { fit_rows, standardize, ..RowProblem::new(features, targets) };
        let mut fit = method.fit_rows(&problem, &Alone, run)?;
        if let Some(sizes) = sizes {
            fit.hold_sizes(features, sizes, targets, run)?;
        }
        let scaling = fit.scaling.clone();
        Ok((fit.into_fitted(Some(features), targets, run)?, Some(scaling)))
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
    let (mut fitted, own_scaling) = control.run(py, |run| {
        if let Some(fit_rows) = extras.fit_rows {
            let method = with_landmarks(&settings, landmarks)?;
            let standardize = if extras.standardize { Standardize::Auto } else { Standardize::Off };
            return source.sampled(&*method, &targets, (fit_rows, standardize), sizes.as_ref(), run);
        }
        let fitted = source.solve(&targets, prior.as_ref(), run, |problem| match kernel_machine(&settings)? {
            Some(machine) => machine.fit_with(problem, &options, run),
            None => with_landmarks(&settings, landmarks)?.fit(&Problem { start: scores.as_ref(), ..*problem }, run),
        })?;
        let mut fitted = sized(fitted, sizes.as_ref(), &targets, run)?;
        fitted.report.warnings.splice(0..0, source.warnings(run)?);
        Ok((fitted, None))
    })?;
    let held_out = fitted.held_out.as_ref().map_or(&[][..], |held_out| &held_out.rows);
    if held_out.iter().any(|row| extras.suggested.binary_search(row).is_ok()) {
        fitted.report.warnings.push(Warning::SuggestedAccuracy {});
    }
    let graph = fitted.graph.take().map(Arc::new).or(source.graph.clone()).filter(|_| extras.keeps_graph);
    let wrong = |e| to_py(Error::Internal { reason: format!("the scaling cannot be read: {e}") });
    let given = extras.scaling.map_or(Ok(Scaling::None), |text| serde_json::from_str(&text).map_err(wrong))?;
    let scaling = own_scaling.unwrap_or(given);
    let dict = classifier_dict(py, fitted, rows.features.as_ref(), &scaling)?;
    dict.set_item("graph", graph.map(|graph| Py::new(py, HeldGraph(graph))).transpose()?)?;
    Ok(dict)
}

/// Rows that a fit does not hold.
#[derive(FromPyObject)]
pub enum StreamInput<'py> {
    /// Rows that were drawn of those that lie elsewhere, and what was found in all parts of these.
    Sample(PyRef<'py, RowSearch>, Bound<'py, PyBytes>),
    /// A file, the column that has its labels, and the text that marks rows without one.
    File(PathBuf, Option<String>, Option<String>),
}

/// A fit to rows that were not held.
struct Streamed {
    fitted: Fitted<'static>,
    scaling: Scaling,
    n_features: usize,
    classes: Option<ClassNames>,
    recipe: Option<Recipe>,
    names: Option<Vec<String>>,
}

/// As [`fit_classifier`], by rows that are read in blocks or lie in other processes. There are no labels of these rows in the dict; beside
/// the model it has the columns of the features and, of a file, their names and recipe, and the classes in its column of labels.
#[pyfunction]
pub fn fit_rows<'py>(
    py: Python<'py>,
    method: &str,
    parameters: &Bound<'py, PyDict>,
    rows: StreamInput<'py>,
    labels: Option<LabelsInput<'py>>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    extras: Extras<'py>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let mut settings = settings(method, parameters)?;
    let targets = labels.map(|labels| labels.targets(label_weights.as_ref())).transpose()?;
    let landmarks = extras.landmarks.as_ref().map(matrix).transpose()?;
    let sizes = take_sizes(&mut settings).map_err(to_py)?;
    let (fit_rows, standardize) = (extras.fit_rows, extras.standardize);
    let streamed = match &rows {
        StreamInput::File(path, column, unlabeled) => {
            let (label_column, unlabeled) = (column.clone(), unlabeled.clone());
            let read = ReadOptions { label_column, unlabeled, ..ReadOptions::default() };
            control.run(py, |run| {
                let method = with_landmarks(&settings, landmarks)?;
                fit_file(&*method, (path, &read), targets, (fit_rows, standardize), sizes.as_ref(), run)
            })
        }
        StreamInput::Sample(search, found) => {
            let search = &search.search;
            let found = search.found(found.as_bytes()).map_err(to_py)?;
            control.run(py, |run| {
                if sizes.is_some() {
                    let expected = "another rule: class sizes are held over all rows, and these lie in other processes";
                    return Err(Error::param("decision", "sizes", expected));
                }
                let targets = targets.ok_or_else(no_labels)?;
                let sample = search.clone().sample(found)?;
                let n_features = sample.features.n_cols();
                let fit = fit_sample(&*settings.method()?, sample, &targets, run)?;
                let (scaling, fitted) = (fit.scaling.clone(), fit.into_fitted(None, &targets, run)?);
                Ok(Streamed { fitted, scaling, n_features, classes: None, recipe: None, names: None })
            })
        }
    }?;
    let Streamed { fitted, scaling, n_features, classes, recipe, names } = streamed;
    let dict = classifier_dict(py, fitted, None, &scaling)?;
    dict.set_item("n_features", n_features)?;
    dict.set_item("names", names)?;
    dict.set_item("recipe", recipe.as_ref().map(json).transpose()?)?;
    match classes {
        Some(ClassNames::Integers(names)) => dict.set_item("classes", names)?,
        Some(ClassNames::Texts(names)) => dict.set_item("classes", names)?,
        None => {}
    }
    Ok(dict)
}

fn no_labels() -> Error {
    Error::param("y", "None", "a label for each row, or the name of the column that has them")
}

/// Fits to the rows of a file: all, if memory holds such a fit and no number is given, else a sample.
fn fit_file(
    method: &dyn Method,
    (path, read): (&Path, &ReadOptions),
    targets: Option<Targets>,
    (fit_rows, standardize): (Option<usize>, bool),
    sizes: Option<&SizeParams>,
    run: &Run,
) -> Result<Streamed> {
    let scale = |wanted: bool| if wanted { Standardize::Auto } else { Standardize::Off };
    let mut report = Report::default();
    let opened = report.time("read", run, |_| RowsToFit::open(path, read, Some(scale(true)), run))?;
    let notes = opened.notes();
    let RowsToFit { rows, labels, .. } = opened;
    let classes = labels.as_ref().map(|labels| labels.classes.clone());
    let given = labels.as_ref().map(Targets::from_sparse).transpose()?;
    let targets = targets.or(given).ok_or_else(no_labels)?;
    if let Some(sizes) = sizes {
        sizes.validate(targets.n_columns())?;
    }
    let source = rows.source();
    let counts = [source.n_rows(), source.n_cols(), targets.n_columns(), targets.rows().len()];
    let size = held_size(counts, run.threads());
    let fits = |free: u64| method.reads_rows() || method.plan(&size).peak_bytes <= free;
    let by_memory = || match available_memory_bytes() {
        Some(free) if !fits(free) => rows_that_fit(method, &size, free),
        _ => usize::MAX,
    };
    let fit_rows = fit_rows.unwrap_or_else(by_memory);
    // Tables are scaled while they are read.
    let standardize = scale(standardize && rows.recipe().is_none());
    let problem = RowProblem { fit_rows, standardize, ..RowProblem::new(source, &targets) };
    let fit = method.fit_rows(&problem, &Alone, run).and_then(|mut fit| {
        sizes.map_or(Ok(()), |sizes| fit.hold_sizes(source, sizes, &targets, run))?;
        Ok(fit)
    });
    let mut fit = fit.map_err(|error| rows.explained(error, run))?;
    report.join(notes);
    report.join(std::mem::take(&mut fit.report));
    fit.report = report;
    let scaling = fit.scaling.clone();
    Ok(Streamed {
        fitted: fit.into_fitted(None, &targets, run)?,
        scaling,
        n_features: source.n_cols(),
        classes,
        recipe: rows.recipe().cloned(),
        names: rows.names(),
    })
}

/// A file, or the rows and columns of an array.
#[derive(FromPyObject)]
pub enum SizeInput {
    Array((usize, usize)),
    File(PathBuf),
}

/// Memory and passes of a fit, as JSON, before it is made. `counts` are the rows, the number of classes, that of labels, and that of rows to
/// fit.
#[pyfunction]
pub fn plan(
    method: &str,
    parameters: &Bound<'_, PyDict>,
    counts: (SizeInput, usize, usize, Option<usize>),
    threads: Option<usize>,
) -> PyResult<String> {
    let settings = settings(method, parameters)?;
    let threads = Run::new(threads, 0).map_err(to_py)?.threads();
    let (rows, n_classes, n_labeled, fit_rows) = counts;
    let (n_samples, n_features) = match rows {
        SizeInput::Array(shape) => shape,
        SizeInput::File(path) => {
            let found = probe(&path, &ReadOptions::default()).map_err(to_py)?;
            (found.n_rows, found.n_cols)
        }
    };
    let size = held_size([n_samples, n_features, n_classes, n_labeled], threads);
    let method = settings.method().map_err(to_py)?;
    let plan = plan_rows(&*method, &size, fit_rows.unwrap_or(usize::MAX));
    let free = available_memory_bytes();
    let fit_rows = fit_rows.or_else(|| {
        let free = free.filter(|free| plan.peak_bytes > *free && !method.reads_rows());
        free.map(|free| rows_that_fit(&*method, &size, free))
    });
    json(&serde_json::json!({ "plan": plan, "available_bytes": free, "fit_rows": fit_rows }))
}

/// The size of dense rows that are held in single precision.
fn held_size([n_samples, n_features, n_classes, n_labeled]: [usize; 4], threads: usize) -> ProblemSize {
    let (n_edges, sparse, streamed) = (None, false, false);
    let input_bytes = 4 * n_samples * n_features;
    ProblemSize { n_samples, n_features, n_edges, input_bytes, sparse, streamed, n_classes, n_labeled, threads }
}

/// All that a fitted classifier stores.
fn classifier_dict<'py>(
    py: Python<'py>,
    fitted: Fitted<'_>,
    features: Option<&FeaturesInput<'py>>,
    scaling: &Scaling,
) -> PyResult<Bound<'py, PyDict>> {
    let Fitted { labeling, rule, extension, held_out, best, report, .. } = fitted;
    let (scores, dict) = labeling_dict(py, labeling)?;
    let (model, scores) = Model::of_fit(py, extension, scores, features, Some(rule), scaling.clone())?;
    dict.set_item("model", model)?;
    dict.set_item("scores", scores)?;
    dict.set_item("report", json(&report)?)?;
    let held_out = held_out.map(|held_out| {
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
    dict.set_item("best", best.map(|best| classifier_dict(py, *best, features, scaling)).transpose()?)?;
    Ok(dict)
}

/// Values for every row by the named method; returns a dict of all that a fitted regressor stores.
#[pyfunction]
pub fn fit_regressor<'py>(
    py: Python<'py>,
    method: &str,
    parameters: &Bound<'py, PyDict>,
    rows: RowsInput<'py>,
    values: PyReadonlyArray1<'py, f64>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    keeps_graph: bool,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings(method, parameters)?;
    let weights = label_weights.map(|weights| vector(&weights)).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let source = rows.source(py)?;
    let mut fitted =
        control.run(py, |run| source.solve(&targets, None, run, |problem| regress(&settings, problem, run)))?;
    let graph = fitted.graph.take().map(Arc::new).or(source.graph.clone()).filter(|_| keeps_graph);
    let FittedRegression { values, reached, score_radius, uncertainty, mean, extension, report, .. } = fitted;
    let (model, scores) = Model::of_fit(py, extension, values, rows.features.as_ref(), None, Scaling::None)?;
    Ok(py_dict!(
        py,
        "model": model,
        "scores": scores,
        "report": json(&report)?,
        "score_radius": score_radius.map(|radius| PyArray1::from_vec(py, radius)),
        "uncertainty": uncertainty.map(|widths| PyArray1::from_vec(py, widths)),
        "graph": graph.map(|graph| Py::new(py, HeldGraph(graph))).transpose()?,
        "mean": mean,
        "reached": PyArray1::from_vec(py, reached),
    ))
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
