//! Saving and loading the model file that every face of lapwing reads.

use std::path::PathBuf;
use std::sync::Arc;

use lapwing::data::{ClassNames, Standardizer};
use lapwing::models::{Extension, Model};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{FeaturesInput, features_object, matrix, matrix_array};
use crate::control::Control;
use crate::error::to_py;
use crate::index::NeighborIndex;
use crate::options::{GraphOptions, RuleInput, WidthsInput, graph_dict, rule_dict, widths_object};

/// Names of the classes.
#[derive(FromPyObject)]
pub enum ClassesInput {
    /// Integer labels.
    #[pyo3(transparent)]
    Integers(Vec<i64>),
    /// Text labels.
    #[pyo3(transparent)]
    Texts(Vec<String>),
}

/// What a model file holds, by the keys of [`load_model`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ModelInput<'py> {
    method: String,
    classes: ClassesInput,
    feature_names: Option<Vec<String>>,
    standardizer: Option<(Vec<f64>, Vec<f64>)>,
    rule: RuleInput,
    graph: GraphOptions,
    widths: WidthsInput<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    features: FeaturesInput<'py>,
    index: PyRef<'py, NeighborIndex>,
}

/// Saves a fitted classifier with the index of its rows; the file appears whole or not at all.
#[pyfunction]
pub fn save_model(py: Python<'_>, path: PathBuf, model: ModelInput<'_>, control: Control) -> PyResult<()> {
    let saved = Model {
        method: model.method,
        classes: match model.classes {
            ClassesInput::Integers(names) => ClassNames::Integers(names),
            ClassesInput::Texts(names) => ClassNames::Texts(names),
        },
        feature_names: model.feature_names,
        standardizer: model.standardizer.map(|(mean, scale)| Standardizer { mean, scale }),
        rule: model.rule.into(),
        extension: Extension {
            features: model.features.features()?,
            graph: model.graph.params().map_err(to_py)?,
            widths: model.widths.widths()?,
            scores: Arc::new(matrix(&model.scores)?),
            index: model.index.0.clone(),
        },
    };
    control.run(py, |run| saved.extension.index(run).and_then(|_| saved.save(&path)))
}

/// Loads a model file as a dict of its parts.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let model = py.detach(|| Model::load(&path)).map_err(to_py)?;
    let dict = PyDict::new(py);
    dict.set_item("method", model.method)?;
    match model.classes {
        ClassNames::Integers(names) => dict.set_item("classes", names)?,
        ClassNames::Texts(names) => dict.set_item("classes", names)?,
    }
    dict.set_item("feature_names", model.feature_names)?;
    dict.set_item("standardizer", model.standardizer.map(|s| (s.mean, s.scale)))?;
    dict.set_item("rule", rule_dict(py, &model.rule)?)?;
    dict.set_item("graph", graph_dict(py, &model.extension.graph)?)?;
    dict.set_item("widths", widths_object(py, &model.extension.widths)?)?;
    dict.set_item("features", features_object(py, &model.extension.features)?)?;
    dict.set_item("index", Bound::new(py, NeighborIndex(model.extension.index.clone()))?)?;
    dict.set_item("scores", matrix_array(py, Arc::unwrap_or_clone(model.extension.scores))?)?;
    Ok(dict)
}
