//! A fitted classifier of new rows, and the arrays and settings that a file keeps of it.

use std::ops::Range;
use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{ClassNames, Error, Features, Result, RowSource, Run, Scaling, Standardizer, Tfidf};
use lapwing_graph::Graph;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::core::extend::{Extend, Extension, label_scaled};
use crate::core::neighbors::{NEIGHBORS, NeighborExtension};
use crate::core::stored::{read_settings, settings};
use crate::methods::eigenfunction::{self, EigenfunctionExtension};
use crate::methods::forest::{FOREST, Trees};
use crate::methods::lapsvm::{self, KernelExtension};
use crate::methods::linear::{LINEAR, LinearExtension};
use crate::methods::low_rank::{self, LowRankExtension};
use crate::methods::majority::{MAJORITY, MajorityExtension};
use crate::methods::unfolded::{self, UnfoldedExtension};
use crate::{Fitted, Labeling, RowFit, Rule, method_names};

/// Loads an extension of scores of that many columns.
type Load = fn(&ModelFile, usize) -> Result<Extension<'static>>;

/// What labels new rows: the kinds of extensions in model files, and how each is loaded.
pub const KINDS: &[(&str, Load)] = &[
    (NEIGHBORS, |file, c| Ok(Arc::new(NeighborExtension::stored(file, c)?))),
    (low_rank::KIND, |file, c| Ok(Arc::new(LowRankExtension::stored(file, c)?))),
    (lapsvm::KIND, |file, c| Ok(Arc::new(KernelExtension::stored(file, c)?))),
    (unfolded::KIND, |file, c| Ok(Arc::new(UnfoldedExtension::stored(file, c)?))),
    (eigenfunction::KIND, |file, c| Ok(Arc::new(EigenfunctionExtension::stored(file, c)?))),
    (LINEAR, |file, c| Ok(Arc::new(LinearExtension::stored(file, c)?))),
    (FOREST, |file, c| Ok(Arc::new(Trees::stored(file, c)?))),
    (MAJORITY, |file, c| Ok(Arc::new(MajorityExtension::stored(file, c)?))),
];

/// A fitted classifier of new rows.
#[derive(Clone, Debug)]
pub struct Classifier<'a> {
    /// Method that made it.
    pub method: String,
    /// Classes.
    pub classes: ClassNames,
    /// Scales new rows first.
    pub scaling: Scaling,
    /// Turns scores into labels.
    pub rule: Rule,
    /// Gives scores to new rows.
    pub extension: Extension<'a>,
}

/// Settings of a classifier: all but its arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    /// Kind of the extension.
    extension: String,
    classes: ClassNames,
    standardizer: Option<Standardizer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tfidf: Option<Tfidf>,
    rule: Rule,
}

impl Meta {
    /// The scaling of new rows; the standardizer has the place that it had before there was another scaling.
    fn scaling(&self) -> Scaling {
        match (&self.standardizer, &self.tfidf) {
            (Some(standardizer), _) => Scaling::Standardize(standardizer.clone()),
            (None, Some(tfidf)) => Scaling::Tfidf(tfidf.clone()),
            (None, None) => Scaling::None,
        }
    }

    /// Checks that the scaling has `d` columns; the error is what is wrong.
    fn check_columns(&self, d: usize) -> Result<(), String> {
        if let Some(Tfidf { idf }) = &self.tfidf
            && (idf.len() != d || !Must::Positive.holds(idf, d) || self.standardizer.is_some())
        {
            return Err(format!("its weights of terms are out of range, or not those of {d} columns"));
        }
        let Some(Standardizer { mean, scale }) = &self.standardizer else { return Ok(()) };
        if [mean.len(), scale.len()] != [d, d] || !Must::Finite.holds(mean, d) || !Must::Positive.holds(scale, d) {
            return Err(format!("its standardizing is out of range, or not that of {d} columns"));
        }
        Ok(())
    }
}

impl<'a> Classifier<'a> {
    /// The classifier of a fit, without scaling: set what the features of the fit were scaled with.
    ///
    /// # Errors
    /// [`Error::Param`] for a fit that labels no new rows, because it was made on a graph.
    pub fn of(fitted: Fitted<'a>, classes: ClassNames) -> Result<Self> {
        let method = fitted.report.method;
        let expected = "features, or none to keep: a fit on a given graph labels no new rows";
        let extension = fitted.extension.ok_or_else(|| Error::param("graph", "given", expected))?;
        Ok(Self { method, classes, scaling: Scaling::None, rule: fitted.rule, extension })
    }

    /// The classifier of a fit to rows that were read in blocks; the same holds as for [`of`](Self::of).
    pub fn of_rows(fit: &RowFit, classes: ClassNames) -> Self {
        let (method, extension) = (fit.report.method.clone(), fit.extension.clone());
        Self { method, classes, scaling: fit.scaling.clone(), rule: fit.rule.clone(), extension }
    }

    /// Labels new rows (m, d), in the units of the features that the method was fitted on before they were scaled. Labels are certified
    /// if those of the fit were.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Value`] for rows that do not fit; [`Error::Interrupted`].
    pub fn predict(&self, features: &Features<'_>, run: &Run) -> Result<Labeling> {
        let scaled = self.scaling.apply(features, run)?;
        let extended = self.extension.extend(scaled.as_ref().unwrap_or(features), run)?;
        run.install(|| self.rule.apply_with_errors(extended))
    }

    /// Labels the rows `rows` of a source as [`predict`](Self::predict) does, in blocks: memory does not grow with the rows. `take` gets
    /// the first row of a block and its labels, in the order of the rows.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and what `take` returns.
    pub fn predict_rows(
        &self,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
    ) -> Result<()> {
        label_scaled((&self.scaling, &self.extension, &self.rule), source, rows, run, take)
    }

    /// Labels rows (m, d) that are the nodes of a given graph; for unfolded networks only.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`Error::Param`] for other methods; [`Error::Shape`] for a graph of other rows.
    pub fn predict_on(&self, features: &Features<'_>, graph: &Graph, run: &Run) -> Result<Labeling> {
        if !self.extension.takes_graph() {
            return Err(Error::param("graph", "given", format!("none: models of {} have no use for one", self.method)));
        }
        let scaled = self.scaling.apply(features, run)?;
        let scores = self.extension.extend_on(scaled.as_ref().unwrap_or(features), graph, run)?;
        run.install(|| self.rule.apply(Arc::new(scores)))
    }

    /// The classifier as a model file: its settings and the arrays of its extension, with the cells of the index if it was built
    /// ([`Extend::prepare`]).
    ///
    /// # Errors
    /// [`Error::Internal`] for settings that JSON cannot hold.
    pub fn to_file(&self) -> Result<ModelFile> {
        let meta = Meta {
            extension: self.extension.kind().into(),
            classes: self.classes.clone(),
            standardizer: if let Scaling::Standardize(own) = &self.scaling { Some(own.clone()) } else { None },
            tfidf: if let Scaling::Tfidf(own) = &self.scaling { Some(own.clone()) } else { None },
            rule: self.rule.clone(),
        };
        let mut file = ModelFile::new(&self.method, settings(meta)?);
        self.extension.store(&mut file)?;
        Ok(file)
    }

    /// The classifier of a model file. Dense features stay memory-mapped.
    ///
    /// # Errors
    /// [`Error::Format`] for files of another kind, and for settings or arrays that are out of range or do not fit together.
    pub fn from_file(file: &ModelFile) -> Result<Classifier<'static>> {
        file.expect_kind(&method_names().collect::<Vec<_>>())?;
        let meta: Meta = read_settings(file, &file.meta)?;
        let (rule, c) = (&meta.rule, meta.classes.len());
        if c == 0 || !are_distinct(&meta.classes) {
            return Err(file.error("it has no classes, or two of one name"));
        }
        if !rule.is_sound() || rule.prior.len() != c {
            return Err(file.error(format!("its decision rule is out of range, or not one for {c} classes")));
        }
        let extension = load(file, &meta.extension, c)?;
        meta.check_columns(extension.n_features()).map_err(|reason| file.error(reason))?;
        Ok(Classifier {
            method: file.kind.clone(),
            scaling: meta.scaling(),
            classes: meta.classes,
            rule: meta.rule,
            extension,
        })
    }
}

/// Settings and arrays of an extension, as a model file of its kind; its bytes are a pickle.
///
/// # Errors
/// None in practice; see [`ModelFile::insert`].
pub fn extension_to_file(extension: &dyn Extend) -> Result<ModelFile> {
    let mut file = ModelFile::new(extension.kind(), json!({ "n_outputs": extension.n_outputs() }));
    extension.store(&mut file)?;
    Ok(file)
}

/// The extension from the bytes of the file of [`extension_to_file`].
///
/// # Errors
/// [`Error::Format`] for other bytes, and for arrays that are missing or do not fit together.
pub fn extension_from_bytes(bytes: &[u8]) -> Result<Extension<'static>> {
    let file = ModelFile::from_bytes(bytes, "the bytes of a fitted model")?;
    let n_outputs = file.meta["n_outputs"].as_u64().and_then(|c| usize::try_from(c).ok()).filter(|c| *c > 0);
    let n_outputs = n_outputs.ok_or_else(|| file.error("the number of classes is missing"))?;
    load(&file, &file.kind, n_outputs)
}

/// The extension of that kind, with scores of `n_outputs` columns.
fn load(file: &ModelFile, kind: &str, n_outputs: usize) -> Result<Extension<'static>> {
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, load) = known.ok_or_else(|| file.error(format!("its kind of model, '{kind}', is unknown")))?;
    load(file, n_outputs)
}

fn are_distinct(classes: &ClassNames) -> bool {
    let mut names = classes.names();
    names.sort_unstable();
    names.is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
mod tests;
