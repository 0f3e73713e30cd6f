//! Fitting harmonic functions, and what every classifier shares.

use std::path::PathBuf;
use std::sync::Arc;

use lapwing::data::read::EdgeFile;
use lapwing::data::{ClassNames, EdgeSource, Features, Labels, Result, Targets};
use lapwing::graph::AffinityGraph;
use lapwing::models::{
    Extended, Extension, Fitted, Harmonic, Labeling, Method, Problem, Rule, SparseHarmonic, SparseHarmonicParams,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{CsrInput, FeaturesInput, dict, json, matrix, matrix_array, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::extension_object;
use crate::graph::given;
use crate::options::{
    GraphOptions, HarmonicOptions, RuleInput, SizesInput, SparsifyOptions, count, rule_dict, widths_object,
};

/// What a fit is given: features to build a graph from, or a graph.
#[derive(FromPyObject)]
pub enum Input<'py> {
    /// A graph, `(shape, indptr, indices, data)` in double precision.
    #[pyo3(transparent)]
    Graph(CsrInput<'py, f64>),
    /// Features.
    #[pyo3(transparent)]
    Features(FeaturesInput<'py>),
    /// Edges in a file.
    #[pyo3(transparent)]
    Edges(EdgesInput),
}

/// A file of edges among so many nodes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EdgesInput {
    path: PathBuf,
    n_nodes: usize,
}

/// What a graph is made sparser by, and how the solution is refined.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SparseOptions {
    sparsify: SparsifyOptions,
    refinements: Option<i64>,
}

/// Given labels of a classification.
#[derive(FromPyObject)]
pub enum LabelsInput<'py> {
    /// `(class of each row or −1, names of the classes)`.
    #[pyo3(transparent)]
    Classes((PyReadonlyArray1<'py, i32>, NamesInput)),
    /// Shares of the classes in each row, zero rows unlabelled.
    #[pyo3(transparent)]
    Shares(PyReadonlyArray2<'py, f64>),
}

/// Names of classes, for messages.
#[derive(FromPyObject)]
pub enum NamesInput {
    /// Integers.
    #[pyo3(transparent)]
    Integers(Vec<i64>),
    /// Everything else, as text.
    #[pyo3(transparent)]
    Texts(Vec<String>),
}

impl NamesInput {
    fn names(&self) -> ClassNames {
        match self {
            Self::Integers(names) => ClassNames::Integers(names.clone()),
            Self::Texts(names) => ClassNames::Texts(names.clone()),
        }
    }
}

/// Features and graph of an [`Input`]; one of them is absent.
struct Source<'a> {
    features: Option<Features<'a>>,
    graph: Option<AffinityGraph>,
}

/// Labels every row; a dict of everything a fitted classifier keeps.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_classifier<'py>(
    py: Python<'py>,
    input: Input<'py>,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    graph: GraphOptions,
    options: HarmonicOptions,
    sparse: Option<SparseOptions>,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let targets = class_targets(&labels, label_weights.as_ref())?;
    let source = source(py, &input)?;
    let harmonic = method(&graph, &options)?;
    let method: Box<dyn Method> = match sparse {
        None => Box::new(harmonic),
        Some(sparse) => {
            let params = sparse.params().map_err(to_py)?;
            Box::new(SparseHarmonic::new(harmonic, params).map_err(to_py)?)
        }
    };
    let file =
        if let Input::Edges(EdgesInput { path, n_nodes }) = &input { Some((path.as_path(), *n_nodes)) } else { None };
    let fitted = control.run(py, |run| {
        let edges = file.map(|(path, n_nodes)| EdgeFile::open(path, Some(n_nodes), run)).transpose()?;
        let edges = edges.as_ref().map(|edges| edges as &dyn EdgeSource);
        method.fit(&Problem { edges, ..source.problem(&targets) }, run)
    })?;
    classifier_dict(py, fitted)
}

impl SparseOptions {
    fn params(&self) -> Result<SparseHarmonicParams> {
        let refinements = self.refinements.map(|passes| count("refinements", passes)).transpose()?;
        Ok(SparseHarmonicParams { sparsify: self.sparsify.params()?, refinements, checkpoint: None })
    }
}

/// Values for every row; a dict of everything a fitted regressor keeps.
#[pyfunction]
pub fn fit_regressor<'py>(
    py: Python<'py>,
    input: Input<'py>,
    values: PyReadonlyArray1<'py, f64>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    graph: GraphOptions,
    options: HarmonicOptions,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let weights = label_weights.map(|w| vector(&w)).transpose()?;
    let targets = Targets::regression(values.as_slice()?, weights.as_deref()).map_err(to_py)?;
    let source = source(py, &input)?;
    let method = method(&graph, &options)?;
    let fitted = control.run(py, |run| method.regress(&source.problem(&targets), run))?;
    let items = vec![
        ("widths", extension_widths(py, fitted.extension.as_ref())?),
        ("report", json(&fitted.report).map_err(to_py)?.into_pyobject(py)?.into_any()),
        ("score_radius", fitted.score_radius.map(|radius| PyArray1::from_vec(py, radius)).into_pyobject(py)?),
        ("mean", fitted.mean.into_pyobject(py)?.into_any()),
        ("reached", PyArray1::from_vec(py, fitted.reached).into_any()),
        ("values", PyArray1::from_slice(py, fitted.values.values()).into_any()),
    ];
    dict(py, items)
}

/// Labels, distributions and confidence of rows with given scores; certified where it is known how far off these may be.
#[pyfunction]
pub fn apply_rule<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    errors: Option<PyReadonlyArray1<'py, f64>>,
    rule: RuleInput,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let errors = errors.map(|errors| vector(&errors)).transpose()?;
    let extended = Extended { scores: matrix(&scores)?, errors };
    let rule = Rule::from(rule);
    let labeling = control.run(py, |run| Ok(run.install(|| rule.apply_with_errors(extended))))?;
    dict(py, labeling_items(py, labeling)?)
}

/// Checks the sizes that classes are to be held to, before anything is built.
#[pyfunction]
pub fn check_sizes(sizes: SizesInput, n_classes: usize) -> PyResult<()> {
    sizes.params().and_then(|params| params.validate(n_classes)).map_err(to_py)
}

/// Decides again so that every class gets its size: the rule, what it makes of the scores, and the part of the report.
#[pyfunction]
pub fn decide_by_sizes<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    rule: RuleInput,
    labels: LabelsInput<'py>,
    label_weights: Option<PyReadonlyArray1<'py, f64>>,
    sizes: SizesInput,
    control: Control,
) -> PyResult<Bound<'py, PyDict>> {
    let targets = class_targets(&labels, label_weights.as_ref())?;
    let (scores, rule) = (Arc::new(matrix(&scores)?), Rule::from(rule));
    let params = sizes.params().map_err(to_py)?;
    let sized = control.run(py, |run| params.decide(scores, rule, &targets, run))?;
    let mut items = vec![
        ("rule", rule_dict(py, &sized.rule)?.into_any()),
        ("part", json(&sized.part).map_err(to_py)?.into_pyobject(py)?.into_any()),
        ("warnings", sized.warnings.into_pyobject(py)?.into_any()),
    ];
    items.extend(labeling_items(py, sized.labeling)?);
    dict(py, items)
}

impl Source<'_> {
    /// With targets, what a method is given.
    fn problem<'a>(&'a self, targets: &'a Targets) -> Problem<'a, 'a> {
        Problem { features: self.features.as_ref(), graph: self.graph.as_ref(), ..Problem::new(targets) }
    }
}

fn method(graph: &GraphOptions, options: &HarmonicOptions) -> PyResult<Harmonic> {
    options.params().and_then(|params| Harmonic::new(params, graph.params()?)).map_err(to_py)
}

/// Features or graph as Rust takes them.
fn source<'a>(py: Python<'_>, input: &'a Input<'_>) -> PyResult<Source<'a>> {
    Ok(match input {
        Input::Graph(adjacency) => Source { features: None, graph: Some(given(py, adjacency)?) },
        Input::Features(features) => Source { features: Some(features.features()?), graph: None },
        Input::Edges(_) => Source { features: None, graph: None },
    })
}

/// One-hot or soft targets.
pub fn class_targets(labels: &LabelsInput<'_>, weights: Option<&PyReadonlyArray1<'_, f64>>) -> PyResult<Targets> {
    let weights = weights.map(|w| vector(w)).transpose()?;
    match labels {
        LabelsInput::Classes((classes, names)) => {
            Targets::one_hot(&Labels { classes: names.names(), index: vector(classes)? }, weights.as_deref())
        }
        LabelsInput::Shares(shares) => Targets::soft(&matrix(shares)?, weights.as_deref()),
    }
    .map_err(to_py)
}

/// Everything a fitted classifier keeps, but what labels new rows.
pub fn classifier_dict<'py>(py: Python<'py>, fitted: Fitted<'_>) -> PyResult<Bound<'py, PyDict>> {
    let report = json(&fitted.report).map_err(to_py)?;
    let widths = extension_widths(py, fitted.extension.as_ref())?;
    let errors = match &fitted.extension {
        Some(Extension::Neighbors(neighbors)) => {
            neighbors.errors.as_ref().map(|errors| PyArray1::from_slice(py, errors))
        }
        _ => None,
    };
    let mut items = vec![
        ("rule", rule_dict(py, &fitted.rule)?.into_any()),
        ("widths", widths),
        ("errors", errors.into_pyobject(py)?),
        ("report", report.into_pyobject(py)?.into_any()),
    ];
    // The extension shares the scores; without it they can be handed over uncopied.
    drop(fitted.extension);
    items.extend(labeling_items(py, fitted.labeling)?);
    dict(py, items)
}

/// A dict of everything a fitted classifier keeps; with what labels new rows, where that is not all rows of the fit.
pub fn fit<'py>(
    py: Python<'py>,
    method: &dyn Method,
    input: &Input<'py>,
    labels: &LabelsInput<'py>,
    label_weights: Option<&PyReadonlyArray1<'py, f64>>,
    control: Control,
    hands_extension: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let targets = class_targets(labels, label_weights)?;
    let source = source(py, input)?;
    let mut fitted = control.run(py, |run| method.fit(&source.problem(&targets), run))?;
    let extension = if hands_extension { fitted.extension.take() } else { None };
    let extension = extension.map(|extension| extension_object(py, extension)).transpose()?;
    let dict = classifier_dict(py, fitted)?;
    dict.set_item("extension", extension)?;
    Ok(dict)
}

fn extension_widths<'py>(py: Python<'py>, extension: Option<&Extension<'_>>) -> PyResult<Bound<'py, PyAny>> {
    match extension {
        Some(Extension::Neighbors(neighbors)) => widths_object(py, &neighbors.widths),
        _ => Ok(py.None().into_bound(py)),
    }
}

fn labeling_items<'py>(py: Python<'py>, labeling: Labeling) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
    Ok(vec![
        ("scores", matrix_array(py, Arc::unwrap_or_clone(labeling.scores))?.into_any()),
        ("label_distributions", matrix_array(py, labeling.label_distributions)?.into_any()),
        ("labels", PyArray1::from_vec(py, labeling.labels).into_any()),
        ("confidence", PyArray1::from_vec(py, labeling.confidence).into_any()),
        ("reached", PyArray1::from_vec(py, labeling.reached).into_any()),
        ("certified", labeling.certified.map(|certified| PyArray1::from_vec(py, certified)).into_pyobject(py)?),
        ("score_radius", labeling.score_radius.map(|radius| PyArray1::from_vec(py, radius)).into_pyobject(py)?),
    ])
}
