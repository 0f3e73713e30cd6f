//! Saving and loading model files, which all interfaces of lapwing read.

use std::path::PathBuf;

use lapwing::data::{ClassNames, Scaling};
use lapwing::models::{Classifier, Model};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{json, py_dict};
use crate::control::Control;
use crate::error::to_py;
use crate::extension::{ExtensionInput, extension_object};
use crate::fit::NamesInput;
use crate::rule::{RuleInput, rule_dict};
use crate::scaling::{ScalingInput, scaling_object};
use crate::table::parsed;

/// The parts of a model file, by the keys of [`load_model`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ModelInput<'py> {
    method: String,
    classes: NamesInput,
    feature_names: Option<Vec<String>>,
    /// The recipe of a table, as JSON.
    recipe: Option<String>,
    /// The column that named the fitted rows.
    id: Option<String>,
    scaling: Option<ScalingInput>,
    rule: RuleInput,
    extension: ExtensionInput<'py>,
}

/// Saves a fitted classifier with the index of its rows; the file is written completely or not at all.
#[pyfunction]
pub fn save_model(py: Python<'_>, path: PathBuf, model: ModelInput<'_>, control: Control) -> PyResult<()> {
    let recipe = model.recipe.as_deref().map(parsed).transpose().map_err(to_py)?;
    let classifier = Classifier {
        method: model.method,
        classes: (&model.classes).into(),
        scaling: model.scaling.map_or(Scaling::None, Scaling::from),
        rule: model.rule.rule()?,
        extension: model.extension.extension()?,
    };
    let saved = Model { classifier, feature_names: model.feature_names, recipe, id: model.id };
    control.run(py, |run| saved.classifier.extension.prepare(run).and_then(|()| saved.save(&path)))
}

/// Loads a model file as a dict of its parts.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let model = py.detach(|| Model::load(&path)).map_err(to_py)?;
    let classes = match model.classifier.classes {
        ClassNames::Integers(names) => names.into_pyobject(py)?,
        ClassNames::Texts(names) => names.into_pyobject(py)?,
    };
    Ok(py_dict!(
        py,
        "method": model.classifier.method,
        "classes": classes,
        "feature_names": model.feature_names,
        "id": model.id,
        "recipe": model.recipe.as_ref().map(json).transpose().map_err(to_py)?,
        "scaling": scaling_object(py, model.classifier.scaling)?,
        "rule": rule_dict(py, &model.classifier.rule)?,
        "n_features": model.classifier.extension.n_features(),
        "extension": extension_object(py, model.classifier.extension)?,
    ))
}
