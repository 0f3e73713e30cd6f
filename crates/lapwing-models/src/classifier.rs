//! A fitted classifier of new rows, and the arrays and settings that a file keeps of it.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{ClassNames, Dense, DenseValues, Error, Features, Result, Run, Scaling, Standardizer, Tfidf};
use lapwing_graph::{Graph, GraphParams, IndexCells, Weighting, Widths};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::baselines::{EIGENFUNCTION, EigenfunctionExtension, SupervisedExtension};
use crate::{
    Extension, Fitted, KernelExtension, Labeling, LazyIndex, LowRankExtension, NeighborExtension, RowFit, Rule,
    UnfoldedExtension, method_names,
};

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

/// Settings of an extension by neighbors, in the same JSON object as [`Meta`].
#[derive(Serialize, Deserialize)]
struct NeighborMeta {
    graph: GraphParams,
    /// σ, if it is the same for all rows.
    width: Option<f64>,
    /// Numbers of the index of the fitted rows, if there is one; its cells are arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<IndexMeta>,
}

#[derive(Serialize, Deserialize)]
struct IndexMeta {
    n_probes: usize,
    recall: f64,
    recall_error: f64,
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
        let (method, extension) = (fit.report.method.clone(), fit.extension.clone().into());
        Self { method, classes, scaling: Scaling::None, rule: fit.rule.clone(), extension }
    }

    /// Labels new rows (m, d), in the units of the features that the method was fitted on before they were scaled. Labels are certified
    /// if those of the fit were.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Value`] for rows that do not fit; [`Error::Interrupted`].
    pub fn predict(&self, features: &Features<'_>, run: &Run) -> Result<Labeling> {
        let scaled = self.scaling.apply(features, run)?;
        let extended = self.extension.extend_with_errors(scaled.as_ref().unwrap_or(features), run)?;
        run.install(|| self.rule.apply_with_errors(extended))
    }

    /// Labels rows (m, d) that are the nodes of a given graph; for unfolded networks only.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`Error::Param`] for other methods; [`Error::Shape`] for a graph of other rows.
    pub fn predict_on(&self, features: &Features<'_>, graph: &Graph, run: &Run) -> Result<Labeling> {
        let Extension::Network(network) = &self.extension else {
            return Err(Error::param("graph", "given", format!("none: models of {} have no use for one", self.method)));
        };
        let scaled = self.scaling.apply(features, run)?;
        let scores = network.extend_on(scaled.as_ref().unwrap_or(features), graph, run)?;
        run.install(|| self.rule.apply(Arc::new(scores)))
    }

    /// The classifier as a model file: its settings and the arrays of its extension, with the cells of the index if it was built
    /// ([`Extension::prepare`]).
    ///
    /// # Errors
    /// [`Error::Internal`] for settings that JSON cannot hold.
    pub fn to_file(&self) -> Result<ModelFile> {
        let meta = Meta {
            classes: self.classes.clone(),
            standardizer: if let Scaling::Standardize(own) = &self.scaling { Some(own.clone()) } else { None },
            tfidf: if let Scaling::Tfidf(own) = &self.scaling { Some(own.clone()) } else { None },
            rule: self.rule.clone(),
        };
        let mut file = ModelFile::new(&self.method, settings(meta)?);
        match &self.extension {
            Extension::Neighbors(neighbors) => store_neighbors(neighbors, &mut file)?,
            Extension::Eigenfunctions(functions) => functions.store(&mut file)?,
            Extension::Landmarks(landmarks) => landmarks.store(&mut file)?,
            Extension::Kernel(machine) => machine.store(&mut file)?,
            Extension::Network(network) => network.store(&mut file)?,
            Extension::Supervised(learned) => learned.store(&mut file)?,
        }
        Ok(file)
    }

    /// The classifier of a model file. Dense features stay memory-mapped.
    ///
    /// # Errors
    /// [`Error::Format`] for files of another kind, and for settings or arrays that are out of range or do not fit together.
    pub fn from_file(file: &ModelFile) -> Result<Classifier<'static>> {
        file.expect_kind(&method_names().collect::<Vec<_>>())?;
        let meta: Meta = read_settings(file)?;
        let (rule, c) = (&meta.rule, meta.classes.len());
        if c == 0 || !are_distinct(&meta.classes) {
            return Err(file.error("it has no classes, or two of one name"));
        }
        if !rule.is_sound() || rule.prior.len() != c {
            return Err(file.error(format!("its decision rule is out of range, or not one for {c} classes")));
        }
        let extension: Extension<'static> = match file.kind.as_str() {
            EIGENFUNCTION => EigenfunctionExtension::stored(file, c)?.into(),
            _ if file.meta.get("kernel_machine").is_some() => KernelExtension::stored(file, c)?.into(),
            _ if file.meta.get("unfolded").is_some() => UnfoldedExtension::stored(file, c)?.into(),
            _ if file.meta.get("low_rank").is_some() => LowRankExtension::stored(file, c)?.into(),
            _ if file.meta.get("supervised").is_some() => SupervisedExtension::stored(file, c)?.into(),
            // The layers of a network without its settings.
            _ if file.contains("layer.output") => return Err(file.error("the settings of its network are missing")),
            _ => stored_neighbors(file, c)?.into(),
        };
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

fn are_distinct(classes: &ClassNames) -> bool {
    let mut names = classes.names();
    names.sort_unstable();
    names.is_sorted_by(|a, b| a < b)
}

fn settings(meta: impl Serialize) -> Result<Value> {
    serde_json::to_value(meta).map_err(|e| Error::Internal { reason: format!("the settings cannot be written: {e}") })
}

fn read_settings<T: DeserializeOwned>(file: &ModelFile) -> Result<T> {
    T::deserialize(&file.meta as &Value)
        .map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))
}

/// Adds an extension by neighbors to a model file.
pub(crate) fn store_neighbors(neighbors: &NeighborExtension<'_>, file: &mut ModelFile) -> Result<()> {
    let NeighborExtension { features, graph, widths, scores, errors, index } = neighbors;
    let meta = NeighborMeta {
        graph: graph.resolved(features),
        width: if let Widths::One(width) = widths { Some(*width) } else { None },
        index: index.cells().map(|&IndexCells { n_probes, recall, recall_error, .. }| IndexMeta {
            n_probes,
            recall,
            recall_error,
        }),
    };
    if let (Value::Object(all), Value::Object(own)) = (&mut file.meta, settings(meta)?) {
        all.extend(own);
    }
    store_features(features, file)?;
    if let Widths::PerRow(widths) = widths {
        file.insert("widths", &[widths.len()], widths.clone())?;
    }
    if let Some(cells) = index.cells() {
        file.insert("index.ids", &[cells.ids.len()], cells.ids.clone())?;
        file.insert("index.starts", &[cells.starts.len()], cells.starts.clone())?;
    }
    if let Some(errors) = errors {
        file.insert("errors", &[errors.len()], errors.to_vec())?;
    }
    file.insert("scores", &[scores.n_rows(), scores.n_cols()], scores.values().to_vec())
}

/// Adds the fitted features to a model file.
pub(crate) fn store_features(features: &Features<'_>, file: &mut ModelFile) -> Result<()> {
    let shape = [features.n_rows(), features.n_cols()];
    match features {
        Features::Dense(dense) => match dense.values() {
            DenseValues::F32(values) => file.insert("features", &shape, values.to_static()),
            DenseValues::F64(values) => file.insert("features", &shape, values.to_static()),
            DenseValues::U8(values) => file.insert("features", &shape, values.to_static()),
        },
        Features::Sparse(sparse) => file.insert_csr("features", sparse),
    }
}

/// Reads the extension by neighbors of a model of `n_classes` classes.
pub(crate) fn stored_neighbors(file: &ModelFile, n_classes: usize) -> Result<NeighborExtension<'static>> {
    let meta: NeighborMeta = read_settings(file)?;
    let scores = file.matrix("scores", [None, None], Must::Scores)?;
    let features = features_of(file)?;
    let (n, c) = (scores.n_rows(), scores.n_cols());
    let widths_fit = match meta.graph.weights {
        Weighting::Gaussian | Weighting::Learned | Weighting::LearnedL2 => {
            meta.width.is_some_and(|width| Must::Positive.holds(&[width], 1))
        }
        // A single width would be used instead of each row's own.
        Weighting::SelfTuning => meta.width.is_none() && file.contains("widths"),
        Weighting::Cosine | Weighting::Binary => true,
        _ => false,
    };
    if !widths_fit {
        return Err(file.error("its kernel widths are missing or out of range"));
    }
    if features.n_rows() != n || c != n_classes {
        return Err(file.error(format!(
            "features of {} rows, scores of {n} × {c} and {n_classes} classes do not fit together",
            features.n_rows(),
        )));
    }
    let widths = match meta.width {
        Some(width) => Widths::One(width),
        None if file.contains("widths") => {
            Widths::PerRow(file.numbers::<f32>("widths", &[Some(n)], Must::NonNegative)?.1.as_slice().to_vec())
        }
        None => Widths::None,
    };
    meta.graph.validate().map_err(|e| file.error(e.to_string()))?;
    let is_learned = meta.graph.weights.model().is_some();
    if !is_learned && meta.graph.n_neighbors > features.n_rows().max(2) - 1 {
        return Err(file.error(format!("{} neighbors among {} rows", meta.graph.n_neighbors, features.n_rows())));
    }
    let index = match meta.index {
        Some(index) => LazyIndex::kept(cells(file, index, n)?),
        None => LazyIndex::default(),
    };
    let errors = match file.contains("errors") {
        true => Some(Arc::new(file.numbers::<f64>("errors", &[Some(n)], Must::Bound)?.1.as_slice().to_vec())),
        false => None,
    };
    let (scores, index) = (Arc::new(scores), Arc::new(index));
    Ok(NeighborExtension { features, graph: meta.graph, widths, scores, errors, index })
}

/// The cells of the index of `n` rows.
fn cells(file: &ModelFile, meta: IndexMeta, n: usize) -> Result<IndexCells> {
    let cells = IndexCells {
        ids: file.array::<u32>("index.ids", &[Some(n)])?.1.as_slice().to_vec(),
        starts: file.array::<u64>("index.starts", &[None])?.1.as_slice().to_vec(),
        n_probes: meta.n_probes,
        recall: file.setting("recall", meta.recall, Must::NonNegative)?,
        recall_error: file.setting("recall_error", meta.recall_error, Must::NonNegative)?,
    };
    cells.check(n).map_err(|e| file.error(e.to_string()))?;
    Ok(cells)
}

/// The fitted features in the type they were stored in.
pub(crate) fn features_of(file: &ModelFile) -> Result<Features<'static>> {
    if file.contains("features.indptr") {
        return Ok(Features::Sparse(Arc::new(file.csr("features", Must::FitSingle)?)));
    }
    let any = [None, None];
    let (shape, values) = match file.type_of("features") {
        Some("f32") => {
            let (shape, values) = file.numbers("features", &any, Must::FitSingle)?;
            (shape, DenseValues::F32(values.clone()))
        }
        Some("u8") => {
            let (shape, values) = file.array("features", &any)?;
            (shape, DenseValues::U8(values.clone()))
        }
        _ => {
            let (shape, values) = file.numbers("features", &any, Must::FitSingle)?;
            (shape, DenseValues::F64(values.clone()))
        }
    };
    Dense::new(shape[0], shape[1], values).map(Features::Dense)
}

#[cfg(test)]
mod tests;
