//! A fitted model: saves, loads and labels new rows, with one file format for Rust, Python and the shell.

use std::path::Path;

use lapwing_core::model_file::ModelFile;
use lapwing_core::publish::Staged;
use lapwing_core::{ClassNames, Error, Features, Result, Run, Warning};
use lapwing_graph::Graph;
use lapwing_models::{Classifier, Fitted, Labeling, RowFit};
use lapwing_table::prepare::Recipe;
use lapwing_table::read::TableFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A fitted classifier, and how rows are made for it.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    /// Labels rows of features.
    pub classifier: Classifier<'a>,
    /// Names of the feature columns, if they had any; columns of new tables are found by these names.
    pub feature_names: Option<Vec<String>>,
    /// Makes features of the columns of a new table, if the fit was on a table.
    pub recipe: Option<Recipe>,
    /// Column that named the fitted rows, if one did; in new tables it names the new rows.
    pub id: Option<String>,
}

/// What a model file holds beside the classifier, in the same JSON object as its settings.
#[derive(Serialize, Deserialize)]
struct Meta {
    feature_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipe: Option<Recipe>,
}

impl Meta {
    /// Checks that names and recipe fit a classifier; the error is what is wrong.
    fn check(&self, classifier: &Classifier<'_>) -> Result<(), String> {
        let d = classifier.extension.n_features();
        match (&self.recipe, &self.feature_names) {
            (Some(recipe), _) if !recipe.is_valid() || recipe.n_features() != d || !classifier.scaling.is_none() => {
                Err(format!("its recipe is out of range, or not one for {d} features"))
            }
            (None, Some(names)) if names.len() != d => Err(format!("it names {} columns and has {d}", names.len())),
            _ => Ok(()),
        }
    }
}

impl<'a> From<Classifier<'a>> for Model<'a> {
    /// A model that knows no names of columns, no recipe and no column of names.
    fn from(classifier: Classifier<'a>) -> Self {
        Self { classifier, feature_names: None, recipe: None, id: None }
    }
}

impl<'a> Model<'a> {
    /// The model of a fit. It knows no names of columns, no recipe, no column of names and no scaling: set what the features of the fit
    /// were made with.
    ///
    /// # Errors
    /// [`Error::Param`] for a fit that labels no new rows, because it was made on a graph.
    ///
    /// # Example
    /// ```
    /// use lapwing::prelude::*;
    ///
    /// let features = Features::from_f32(4, 1, vec![0.0, 1.0, 8.0, 9.0])?;
    /// let labels = Labels::from_integers([Some(3), None, None, Some(7)]);
    /// let targets = Targets::one_hot(&labels, None)?;
    /// let run = Run::new(None, 0)?;
    /// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    /// let fitted = method("nearest-label", &MethodParams::default())?.fit(&problem, &run)?;
    ///
    /// let model = Model { feature_names: Some(vec!["length".into()]), ..Model::of(fitted, labels.classes)? };
    /// let new = Features::from_f32(2, 1, vec![2.0, 6.5])?;
    /// assert_eq!(model.predict(&new, &run)?.labels, [0, 1]);
    /// # Ok::<(), lapwing::Error>(())
    /// ```
    pub fn of(fitted: Fitted<'a>, classes: ClassNames) -> Result<Self> {
        Ok(Classifier::of(fitted, classes)?.into())
    }

    /// The model of a fit to rows that were read in blocks; the same holds as for [`of`](Self::of).
    pub fn of_rows(fit: &RowFit, classes: ClassNames) -> Self {
        Classifier::of_rows(fit, classes).into()
    }

    /// Labels the rows of a new table (m, any columns), whose columns are prepared as those of the fit were. Also returns what is unlike
    /// the fit in them. Labels are certified if those of the fit were.
    ///
    /// # Errors
    /// [`Error::Param`] for a model without a recipe; as [`Recipe::apply`] and [`predict`](Self::predict).
    pub fn predict_table(&self, table: &TableFile, run: &Run) -> Result<(Labeling, Vec<Warning>)> {
        let expected = "features: this model was fitted on an array";
        let recipe = self.recipe.as_ref().ok_or_else(|| Error::param("table", table.path().display(), expected))?;
        let applied = recipe.apply(table, None, &run.part(0.0..0.5, ""))?;
        Ok((self.predict(&applied.features, &run.part(0.5..1.0, ""))?, applied.warnings))
    }

    /// Labels new rows (m, d) as [`Classifier::predict`] does; of a model with a recipe, these are what the recipe makes of a table.
    ///
    /// # Errors
    /// As [`Classifier::predict`].
    pub fn predict(&self, features: &Features<'_>, run: &Run) -> Result<Labeling> {
        let n_expected = self.classifier.extension.n_features();
        if self.recipe.is_some() && features.n_cols() != n_expected {
            let expected = format!("{n_expected} columns, those that the recipe makes of a table (predict_table)");
            return Err(Error::shape("features", expected, format!("{} columns", features.n_cols())));
        }
        self.classifier.predict(features, run)
    }

    /// Labels rows (m, d) that are the nodes of a given graph, as [`Classifier::predict_on`] does.
    ///
    /// # Errors
    /// As [`Classifier::predict_on`].
    pub fn predict_on(&self, features: &Features<'_>, graph: &Graph, run: &Run) -> Result<Labeling> {
        self.classifier.predict_on(features, graph, run)
    }

    /// Saves the model. The file is written under a temporary name, synced and renamed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<()> {
        self.stage(path)?.publish()
    }

    /// [`save`](Self::save) without the renaming; several files can be renamed together.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    #[doc(hidden)]
    pub fn stage(&self, path: &Path) -> Result<Staged> {
        let (feature_names, id, recipe) = (self.feature_names.clone(), self.id.clone(), self.recipe.clone());
        let mut file = self.classifier.to_file()?;
        let own = serde_json::to_value(Meta { feature_names, id, recipe });
        let own = own.map_err(|e| Error::Internal { reason: format!("the settings cannot be written: {e}") })?;
        if let (Value::Object(all), Value::Object(own)) = (&mut file.meta, own) {
            all.extend(own);
        }
        file.stage(path)
    }

    /// Loads a model that was saved from Rust, Python or the shell. Dense features are memory-mapped.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`] for truncated or foreign files, [`Error::Version`] for newer ones.
    pub fn load(path: &Path) -> Result<Model<'static>> {
        let file = ModelFile::load(path)?;
        let classifier = Classifier::from_file(&file)?;
        let meta = Meta::deserialize(&file.meta as &Value)
            .map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))?;
        meta.check(&classifier).map_err(|reason| file.error(reason))?;
        file.check_file()?;
        let Meta { feature_names, id, recipe } = meta;
        Ok(Model { classifier, feature_names, recipe, id })
    }
}
