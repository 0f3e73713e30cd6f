//! The one object that Python holds of a fit: what labels new rows. Saving and loading it as a model file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapwing::data::read::{ReadOptions, TableFile};
use lapwing::data::write::KeptColumns;
use lapwing::data::{Alone, ClassNames, Features, Matrix, Report, Result, RowSource, Run, Scaling, Warning};
use lapwing::file_rows::FileRows;
use lapwing::graph::{GraphParams, Widths};
use lapwing::label_table::{LabelTable, LabeledTable, write_predictions};
use lapwing::models::{Classifier, Extended, Extension, Labeling, NeighborExtension, RowScores, Rule};
use lapwing_core::model_file::{ModelFile, Must, Real};
use lapwing_core::publish::publish_all;
use lapwing_models::{LazyIndex, extension_from_bytes, extension_to_file};
use lapwing_table::read::is_table;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{FeaturesInput, Pickle, array2, json, matrix, matrix_array, py_dict, row_major, vector};
use crate::control::Control;
use crate::error::to_py;
use crate::graph::GraphInput;
use crate::index::NeighborIndex;
use crate::labels::NamesInput;
use crate::parameters::parameter_dict;
use crate::table::parsed;

/// A fitted model: scales new rows, gives them scores, and makes labels of these. A pickle has the bytes of a model file; or, if new rows are
/// compared with those of the fit, the arrays of these, which other objects in the pickle may share.
#[pyclass(frozen, module = "lapwing._lapwing")]
pub struct Model {
    scaling: Scaling,
    /// None for a regression.
    rule: Option<Rule>,
    scorer: Scorer,
}

/// What gives scores to new rows.
enum Scorer {
    /// Nothing: the fit had a graph instead of features.
    Nothing,
    /// Landmarks, a machine, a network, …
    Own(Extension<'static>),
    /// The rows of the fit, which NumPy holds.
    Rows(FittedRows),
}

/// The rows of a fit, and their scores, in arrays of Python.
struct FittedRows {
    features: Py<PyAny>,
    scores: Py<PyArray2<f64>>,
    graph: GraphParams,
    widths: Widths,
    /// Bounds on the errors of the rows' standings, if labels were certified.
    errors: Option<Arc<Vec<f64>>>,
    index: Arc<LazyIndex>,
}

/// Kernel widths in a pickle.
#[derive(FromPyObject)]
pub enum WidthsState<'py> {
    PerRow(PyReadonlyArray1<'py, f32>),
    One(Option<f64>),
}

/// The rows of a fit in a pickle: `(features, scores, parameters of the graph as JSON, widths, errors, index)`.
#[derive(FromPyObject)]
pub struct RowsState<'py>(
    Py<PyAny>,
    Bound<'py, PyArray2<f64>>,
    String,
    WidthsState<'py>,
    Option<PyReadonlyArray1<'py, f64>>,
    PyRef<'py, NeighborIndex>,
);

/// What gives scores, in a pickle.
#[derive(FromPyObject)]
pub enum ScorerState<'py> {
    Own(Bound<'py, PyBytes>),
    Rows(RowsState<'py>),
}

impl Model {
    /// The model of a fit, and the scores of its rows as an array, not copied. The `features` of the fit are kept instead of a copy if the
    /// extension takes means of these scores.
    pub fn of_fit<'py>(
        py: Python<'py>,
        extension: Option<Extension<'_>>,
        scores: Arc<Matrix>,
        features: Option<&FeaturesInput<'py>>,
        rule: Option<Rule>,
        scaling: Scaling,
    ) -> PyResult<(Bound<'py, Self>, Bound<'py, PyArray2<f64>>)> {
        let means = extension.as_ref().and_then(|own| own.neighbors()).filter(|rows| rows.scores.are(&scores));
        let kept = means.zip(features).map(|(rows, features)| {
            let NeighborExtension { graph, widths, errors, index, .. } = rows;
            (features.object.clone().unbind(), graph.clone(), widths.clone(), errors.clone(), index.clone())
        });
        let own = extension.as_ref().filter(|_| kept.is_none()).map(|own| own.owned()).transpose().map_err(to_py)?;
        // The extension shares the scores; they are moved to an array once it is gone.
        drop(extension);
        let scores = matrix_array(py, Arc::unwrap_or_clone(scores))?;
        let scorer = match (kept, own) {
            (Some((features, graph, widths, errors, index)), _) => {
                let scores = scores.clone().unbind();
                Scorer::Rows(FittedRows { features, scores, graph, widths, errors, index })
            }
            (None, Some(own)) => Scorer::Own(own),
            (None, None) => Scorer::Nothing,
        };
        Ok((Bound::new(py, Self { scaling, rule, scorer })?, scores))
    }

    /// Calls `work` with what a model file has.
    fn saved<T>(
        &self,
        py: Python<'_>,
        names: SavedNames,
        work: impl FnOnce(&lapwing::models::Model<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let SavedNames { method, classes, feature_names, recipe, id } = names;
        let recipe = recipe.as_deref().map(parsed).transpose().map_err(to_py)?;
        let rule = self.rule.clone().ok_or_else(|| PyValueError::new_err("model files hold classifiers"))?;
        self.with(py, |extension| {
            let scaling = self.scaling.clone();
            let classifier = Classifier { method, classes: (&classes).into(), scaling, rule, extension };
            work(&lapwing::models::Model { classifier, feature_names, recipe, id })
        })
    }

    /// Calls `work` with the extension; rows of the fit are borrowed from NumPy.
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(Extension<'_>) -> PyResult<T>) -> PyResult<T> {
        match &self.scorer {
            Scorer::Nothing => Err(PyValueError::new_err("a fit on a graph has no features to compare new rows with")),
            Scorer::Own(own) => work(own.clone()),
            Scorer::Rows(rows) => {
                let features: FeaturesInput<'_> = rows.features.bind(py).extract()?;
                let scores = rows.scores.bind(py).try_readonly()?;
                let features = features.features()?;
                let FittedRows { graph, widths, errors, index, .. } = rows;
                let scores = RowScores::Borrowed(scores.shape()[1], row_major(&scores, "scores_")?);
                let (graph, widths) = (graph.clone(), widths.clone());
                let (errors, index) = (errors.clone(), index.clone());
                work(Arc::new(NeighborExtension { features, graph, widths, scores, errors, index }))
            }
        }
    }

    /// Scores of new rows, or of the nodes of a graph.
    fn extended(
        &self,
        py: Python<'_>,
        new: &FeaturesInput<'_>,
        graph: Option<GraphInput<'_>>,
        control: &Control,
    ) -> PyResult<Extended> {
        let (new, graph) = (new.features()?, graph.map(|graph| graph.graph(py)).transpose()?);
        let scaling = &self.scaling;
        self.with(py, |extension| {
            control.run(py, |run| {
                let scaled = scaling.apply(&new, &run.quiet())?;
                let new = scaled.as_ref().unwrap_or(&new);
                match &graph {
                    Some(affinity) => extension.extend_on(new, &affinity.graph, run).map(Extended::from),
                    None => extension.extend(new, run),
                }
            })
        })
    }

    /// Labels by the rule of the fit.
    fn decided<'py>(&self, py: Python<'py>, extended: Extended, control: &Control) -> PyResult<Bound<'py, PyDict>> {
        let rule = self.rule.as_ref().ok_or_else(|| PyValueError::new_err("a regression has no rule that decides"))?;
        let labeling = control.run(py, |run| run.install(|| rule.apply_with_errors(extended)))?;
        let (scores, dict) = labeling_dict(py, labeling)?;
        dict.set_item("scores", matrix_array(py, Arc::unwrap_or_clone(scores))?)?;
        Ok(dict)
    }
}

#[pymethods]
impl Model {
    /// From a pickle: rule and scaling as JSON, and what gives scores.
    #[new]
    fn new(settings: &str, scorer: Option<ScorerState<'_>>) -> PyResult<Self> {
        let wrong = |e| PyValueError::new_err(format!("the pickle of a model is damaged: {e}"));
        let (rule, scaling) = serde_json::from_str(settings).map_err(wrong)?;
        let scorer = match scorer {
            None => Scorer::Nothing,
            Some(ScorerState::Own(bytes)) => Scorer::Own(extension_from_bytes(bytes.as_bytes()).map_err(to_py)?),
            Some(ScorerState::Rows(RowsState(features, scores, graph, widths, errors, index))) => {
                let errors = errors.as_ref().map(|errors| vector(errors).map(Arc::new)).transpose()?;
                let graph = serde_json::from_str(&graph).map_err(wrong)?;
                let (widths, index) = (widths.widths()?, index.0.clone());
                Scorer::Rows(FittedRows { features, scores: scores.unbind(), graph, widths, errors, index })
            }
        };
        Ok(Self { scaling, rule, scorer })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let settings = json(&(&self.rule, &self.scaling))?;
        let scorer = match &self.scorer {
            Scorer::Nothing => py.None().into_bound(py),
            Scorer::Own(own) => {
                let bytes = py.detach(|| extension_to_file(&**own).map(|file| file.to_bytes())).map_err(to_py)?;
                PyBytes::new(py, &bytes).into_any()
            }
            Scorer::Rows(FittedRows { features, scores, graph, widths, errors, index }) => {
                let errors = errors.as_ref().map(|errors| PyArray1::from_slice(py, errors));
                let (graph, index) = (json(graph)?, Bound::new(py, NeighborIndex(index.clone()))?);
                let widths = match widths {
                    Widths::PerRow(widths) => PyArray1::from_slice(py, widths).into_any(),
                    Widths::One(width) => width.into_pyobject(py)?.into_any(),
                    Widths::None => py.None().into_bound(py),
                };
                (features, scores, graph, widths, errors, index).into_pyobject(py)?.into_any()
            }
        };
        Ok((py.get_type::<Self>().into_any(), (settings, scorer).into_pyobject(py)?))
    }

    /// Whether there are features to compare new rows with, or a function of them.
    #[getter]
    fn takes_features(&self) -> bool {
        !matches!(self.scorer, Scorer::Nothing)
    }

    /// Labels of new rows (m), or of the nodes of a graph, as a dict; certified if those of the fit were.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        new: FeaturesInput<'py>,
        graph: Option<GraphInput<'py>>,
        control: Control,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.decided(py, self.extended(py, &new, graph, &control)?, &control)
    }

    /// Scores (m, c) of new rows, or of the nodes of a graph.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        new: FeaturesInput<'py>,
        graph: Option<GraphInput<'py>>,
        control: Control,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix_array(py, self.extended(py, &new, graph, &control)?.scores)
    }

    /// Labels of rows with given scores; None for the rows of the fit, if the model was loaded with them.
    fn label<'py>(
        &self,
        py: Python<'py>,
        scores: Option<PyReadonlyArray2<'py, f64>>,
        control: Control,
    ) -> PyResult<Bound<'py, PyDict>> {
        let own = |extension: Extension<'_>| match extension.neighbors() {
            Some(rows) => rows.scores.matrix().map(Arc::unwrap_or_clone).map_err(to_py),
            None => Err(PyValueError::new_err("the model keeps no rows of the fit")),
        };
        let scores = scores.as_ref().map_or_else(|| self.with(py, own), matrix)?;
        self.decided(py, scores.into(), &control)
    }

    /// `(settings, arrays)` of the model file: settings as JSON, and those of the named arrays that it has; also the scaling.
    fn parts<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let mut file = self.with(py, |extension| extension_to_file(&*extension).map_err(to_py))?;
        file.meta["scaling"] = serde_json::to_value(&self.scaling).unwrap_or_default();
        let arrays = PyDict::new(py);
        for name in names {
            let found = match file.type_of(&name) {
                Some("f32") => file_array::<f32>(py, &file, &name),
                Some("f64") => file_array::<f64>(py, &file, &name),
                _ => None,
            };
            found.map_or(Ok(()), |array| arrays.set_item(name, array?))?;
        }
        Ok((json(&file.meta)?, arrays))
    }

    /// Saves the model with the index of its rows; the file is written completely or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf, names: SavedNames, control: Control) -> PyResult<()> {
        self.saved(py, names, |saved| {
            control.run(py, |run| saved.classifier.extension.prepare(run).and_then(|()| saved.save(&path)))
        })
    }

    /// Labels rows in blocks and writes a table of labels; the report as JSON. `options` are: whether each class has a column with its share,
    /// columns of a table that are kept (none for all), and whether rows that no label reaches get the likeliest class of the prior.
    fn predict_to(
        &self,
        py: Python<'_>,
        rows: FileOrRows<'_>,
        names: SavedNames,
        out: PathBuf,
        options: (bool, Option<Vec<String>>, bool),
        control: Control,
    ) -> PyResult<String> {
        let report = match &rows {
            FileOrRows::File(data) => {
                self.saved(py, names, |saved| control.run(py, |run| label_file(saved, data, &out, &options, run)))?
            }
            FileOrRows::Rows(rows) => {
                let (features, options) = (rows.features()?, (options.0, options.2));
                self.saved(py, names, |saved| control.run(py, |run| label_rows(saved, &features, &out, options, run)))?
            }
        };
        json(&report)
    }
}

/// Rows, or the file that holds them.
#[derive(FromPyObject)]
pub enum FileOrRows<'py> {
    Rows(FeaturesInput<'py>),
    File(PathBuf),
}

/// The report of a table of labels that was written.
fn report_of(n_samples: usize, labeled: LabeledTable, warnings: Vec<Warning>) -> Result<Report> {
    let LabeledTable { files, n_unreached, n_open } = labeled;
    publish_all(files)?;
    let mut report = Report::default();
    (report.n_samples, report.n_unreached, report.warnings) = (n_samples, n_unreached, warnings);
    if let Some(n_open) = n_open {
        report.add_part("certificate", &serde_json::json!({ "n_open": n_open }))?;
    }
    Ok(report)
}

fn labeled(
    saved: &lapwing::models::Model<'_>,
    table: LabelTable<'_>,
    source: &dyn RowSource,
    fills: bool,
    run: &Run,
) -> Result<LabeledTable> {
    let wanted = (table.probabilities, fills);
    write_predictions(&saved.classifier, source, wanted, Some(table), &Alone, run)
}

fn label_rows(
    saved: &lapwing::models::Model<'_>,
    features: &Features<'_>,
    out: &Path,
    (probabilities, fills): (bool, bool),
    run: &Run,
) -> Result<Report> {
    let classes = &saved.classifier.classes;
    let table = LabelTable { path: out, classes, probabilities, names: None, kept: None, data: None };
    report_of(features.n_rows(), labeled(saved, table, features, fills, run)?, Vec::new())
}

fn label_file(
    saved: &lapwing::models::Model<'_>,
    data: &Path,
    out: &Path,
    (probabilities, keep, fills): &(bool, Option<Vec<String>>, bool),
    run: &Run,
) -> Result<Report> {
    let columns = saved.feature_names.clone().filter(|_| is_table(data));
    let read = ReadOptions { columns: columns.filter(|_| saved.recipe.is_none()), ..ReadOptions::default() };
    let rows = FileRows::to_label(data, &read, saved.recipe.as_ref(), None, run)?;
    let kept = match keep {
        Some(names) => {
            let names = Some(names.clone()).filter(|names| !names.is_empty());
            Some(KeptColumns::open(TableFile::open(data, &ReadOptions::default())?, names, None, Vec::new())?)
        }
        None => None,
    };
    let classes = &saved.classifier.classes;
    let table = LabelTable { path: out, classes, probabilities: *probabilities, names: None, kept, data: Some(data) };
    let labeled = labeled(saved, table, rows.source(), *fills, run).map_err(|error| rows.explained(error, run))?;
    report_of(rows.source().n_rows(), labeled, rows.warnings(run)?)
}

impl WidthsState<'_> {
    fn widths(&self) -> PyResult<Widths> {
        Ok(match self {
            Self::PerRow(widths) => Widths::PerRow(vector(widths)?),
            Self::One(Some(width)) => Widths::One(*width),
            Self::One(None) => Widths::None,
        })
    }
}

/// The parts of a labeling by name, but for its scores.
pub fn labeling_dict(py: Python<'_>, labeling: Labeling) -> PyResult<(Arc<Matrix>, Bound<'_, PyDict>)> {
    let dict = py_dict!(
        py,
        "label_distributions": matrix_array(py, labeling.label_distributions)?,
        "labels": PyArray1::from_vec(py, labeling.labels),
        "confidence": PyArray1::from_vec(py, labeling.confidence),
        "reached": PyArray1::from_vec(py, labeling.reached),
        "certified": labeling.certified.map(|certified| PyArray1::from_vec(py, certified)),
        "score_radius": labeling.score_radius.map(|radius| PyArray1::from_vec(py, radius)),
    );
    Ok((labeling.scores, dict))
}

/// An array of one or two dimensions of a model file.
fn file_array<'py, T: Real + Element>(
    py: Python<'py>,
    file: &ModelFile,
    name: &str,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if let Ok((_, values)) = file.numbers::<T>(name, &[None], Must::Finite) {
        return Some(Ok(PyArray1::from_slice(py, values.as_slice()).into_any()));
    }
    let (shape, values) = file.numbers::<T>(name, &[None, None], Must::Finite).ok()?;
    Some(array2(py, shape[0], shape[1], values.as_slice().to_vec()).map(Bound::into_any))
}

/// What a model file has beside the model.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SavedNames {
    method: String,
    classes: NamesInput,
    feature_names: Option<Vec<String>>,
    /// The recipe of a table, as JSON.
    recipe: Option<String>,
    /// The column that named the fitted rows.
    id: Option<String>,
}

/// Loads a model file: a dict of the `model`, the names that the file has, and the parameters of the `graph` that new rows are joined to.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let loaded = py.detach(|| lapwing::models::Model::load(&path)).map_err(to_py)?;
    let Classifier { method, classes, scaling, rule, extension } = loaded.classifier;
    let classes = match classes {
        ClassNames::Integers(names) => names.into_pyobject(py)?,
        ClassNames::Texts(names) => names.into_pyobject(py)?,
    };
    let graph = extension.neighbors().map(|rows| parameter_dict(py, &rows.graph)).transpose()?;
    Ok(py_dict!(
        py,
        "method": method,
        "classes": classes,
        "feature_names": loaded.feature_names,
        "id": loaded.id,
        "recipe": loaded.recipe.as_ref().map(json).transpose()?,
        "n_features": extension.n_features(),
        "graph": graph,
        "model": Bound::new(py, Model { scaling, rule: Some(rule), scorer: Scorer::Own(extension) })?,
    ))
}
