//! A fitted model that can be saved, loaded and asked about new rows, from Rust, Python and the shell.

use std::path::Path;
use std::sync::Arc;

use lapwing_data::model_file::ModelFile;
use lapwing_data::write::Staged;
use lapwing_data::{Buffer, ClassNames, Dense, DenseValues, Error, Features, Matrix, Result, Run, Standardizer};
use lapwing_graph::{Cells, Graph, GraphParams, Weighting, Widths};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::baselines::{EIGENFUNCTION, EigenfunctionExtension};
use crate::{
    Extension, KernelExtension, Labeling, LazyIndex, LowRankExtension, NeighborExtension, Rule, UnfoldedExtension,
    method_names,
};

/// A fitted classifier for new rows.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    /// Method that made it.
    pub method: String,
    /// Classes.
    pub classes: ClassNames,
    /// Names of the feature columns, where they had any; new tables are read by them.
    pub feature_names: Option<Vec<String>>,
    /// Standardizing to be done on new rows first.
    pub standardizer: Option<Standardizer>,
    /// From scores to labels.
    pub rule: Rule,
    /// From new rows to scores.
    pub extension: Extension<'a>,
}

/// Everything of a model but its arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    classes: ClassNames,
    feature_names: Option<Vec<String>>,
    standardizer: Option<Standardizer>,
    rule: Rule,
}

impl Meta {
    /// Whether names and standardizing are those of `d` columns; else what is wrong.
    fn check_columns(&self, d: usize) -> Result<(), String> {
        if let Some(names) = self.feature_names.as_ref().filter(|names| names.len() != d) {
            return Err(format!("it names {} columns and has {d}", names.len()));
        }
        let Some(Standardizer { mean, scale }) = &self.standardizer else { return Ok(()) };
        if [mean.len(), scale.len()] != [d, d] || !scale.iter().all(|scale| *scale > 0.0) {
            return Err(format!("its standardizing is out of range, or not that of {d} columns"));
        }
        Ok(())
    }
}

/// The same of an extension by neighbors; both stand in one object.
#[derive(Serialize, Deserialize)]
struct NeighborMeta {
    graph: GraphParams,
    /// σ where all rows share one.
    width: Option<f64>,
    /// The index of the fitted rows, whose cells are arrays; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<IndexMeta>,
}

#[derive(Serialize, Deserialize)]
struct IndexMeta {
    n_probes: usize,
    recall: f64,
    recall_error: f64,
}

impl Model<'_> {
    /// Labels new rows (m, d), in the units of the original features; certified where the labels of the fit were.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Value`] for rows that do not fit; [`Error::Interrupted`].
    pub fn predict(&self, features: &Features<'_>, run: &Run) -> Result<Labeling> {
        let extended = match &self.standardizer {
            Some(standardizer) => self.extension.extend_with_errors(&standardizer.apply(features, run)?, run)?,
            None => self.extension.extend_with_errors(features, run)?,
        };
        Ok(run.install(|| self.rule.apply_with_errors(extended)))
    }

    /// Labels rows (m, d) that are the nodes of a graph, as models of unfolded networks can.
    ///
    /// # Errors
    /// As [`Model::predict`]; [`Error::Param`] for other models; [`Error::Shape`] for a graph of other rows.
    pub fn predict_on(&self, features: &Features<'_>, graph: &Graph, run: &Run) -> Result<Labeling> {
        let Extension::Network(network) = &self.extension else {
            return Err(Error::param("graph", "given", format!("none: models of {} have no use for one", self.method)));
        };
        let scores = match &self.standardizer {
            Some(standardizer) => network.extend_on(&standardizer.apply(features, run)?, graph, run)?,
            None => network.extend_on(features, graph, run)?,
        };
        Ok(run.install(|| self.rule.apply(Arc::new(scores))))
    }

    /// Saves the model: its settings and what labels new rows, be it fitted features, widths, scores, and the cells of
    /// their index if it was made ([`Extension::prepare`]), or functions. The file is written under a temporary name,
    /// synced and renamed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<()> {
        self.stage(path)?.publish()
    }

    /// [`save`](Self::save) up to the renaming, which [`publish_all`](lapwing_data::write::publish_all) does for several files
    /// together.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn stage(&self, path: &Path) -> Result<Staged> {
        let meta = Meta {
            classes: self.classes.clone(),
            feature_names: self.feature_names.clone(),
            standardizer: self.standardizer.clone(),
            rule: self.rule.clone(),
        };
        let mut file = ModelFile::new(&self.method, settings(meta)?);
        match &self.extension {
            Extension::Neighbors(neighbors) => store_neighbors(neighbors, &mut file)?,
            Extension::Eigenfunctions(functions) => functions.store(&mut file)?,
            Extension::Landmarks(landmarks) => landmarks.store(&mut file)?,
            Extension::Kernel(machine) => machine.store(&mut file)?,
            Extension::Network(network) => network.store(&mut file)?,
        }
        file.stage(path)
    }

    /// Loads a model saved by any face of lapwing; dense features stay in the file, mapped.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`] for truncated or foreign files, [`Error::Version`] for newer ones.
    pub fn load(path: &Path) -> Result<Model<'static>> {
        let file = ModelFile::load(path)?;
        file.expect_kind(&method_names().collect::<Vec<_>>())?;
        let meta: Meta = read_settings(&file)?;
        let (rule, c) = (&meta.rule, meta.classes.len());
        let is_rule = c > 0 && rule.temperature.is_none_or(|t| t > 0.0) && rule.scale.iter().all(|scale| *scale >= 0.0);
        let is_rule = is_rule && is_distribution(&rule.prior);
        if !is_rule || [&rule.offset, &rule.scale, &rule.prior].iter().any(|values| values.len() != c) {
            return Err(file.error(format!("its decision rule is out of range, or not one for {c} classes")));
        }
        let extension: Extension<'static> = match file.kind.as_str() {
            EIGENFUNCTION => EigenfunctionExtension::stored(&file, c)?.into(),
            _ if file.meta.get("kernel_machine").is_some() => KernelExtension::stored(&file, c)?.into(),
            _ if file.meta.get("unfolded").is_some() => UnfoldedExtension::stored(&file, c)?.into(),
            _ if file.meta.get("low_rank").is_some() => LowRankExtension::stored(&file, c)?.into(),
            _ => stored_neighbors(&file, c)?.into(),
        };
        meta.check_columns(extension.n_features()).map_err(|reason| file.error(reason))?;
        Ok(Model {
            method: file.kind.clone(),
            classes: meta.classes,
            feature_names: meta.feature_names,
            standardizer: meta.standardizer,
            rule: meta.rule,
            extension,
        })
    }
}

/// Whether shares are at least 0 and sum to 1, as far as rounding lets them.
fn is_distribution(shares: &[f64]) -> bool {
    shares.iter().all(|share| *share >= 0.0) && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-5
}

fn settings(meta: impl Serialize) -> Result<Value> {
    serde_json::to_value(meta).map_err(|e| Error::Internal { reason: format!("the settings cannot be written: {e}") })
}

fn read_settings<T: DeserializeOwned>(file: &ModelFile) -> Result<T> {
    T::deserialize(&file.meta as &Value)
        .map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))
}

/// Adds rows of a fit, their scores, and what tells their neighbors to a model.
pub(crate) fn store_neighbors(neighbors: &NeighborExtension<'_>, file: &mut ModelFile) -> Result<()> {
    let NeighborExtension { features, graph, widths, scores, errors, index } = neighbors;
    let meta = NeighborMeta {
        graph: graph.clone(),
        width: if let Widths::One(width) = widths { Some(*width) } else { None },
        index: index.cells().map(|&Cells { n_probes, recall, recall_error, .. }| IndexMeta {
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

/// Adds rows of a fit to a model.
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

/// The extension by neighbors of a model of `n_classes` classes.
pub(crate) fn stored_neighbors(file: &ModelFile, n_classes: usize) -> Result<NeighborExtension<'static>> {
    let meta: NeighborMeta = read_settings(file)?;
    let (shape, values) = file.array::<f64>("scores", &[None, None])?;
    let scores = Matrix::new(shape[0], shape[1], values.as_slice().to_vec())?;
    let features = features_of(file)?;
    let (n, c) = (scores.n_rows(), scores.n_cols());
    let widths_fit = match meta.graph.weights {
        Weighting::Gaussian | Weighting::Learned | Weighting::LearnedL2 => {
            meta.width.is_some_and(|width| width > 0.0 && width.is_finite())
        }
        // One for all rows would be taken in the place of each row's own.
        Weighting::SelfTuning => meta.width.is_none() && file.contains("widths"),
        Weighting::Cosine | Weighting::Binary => true,
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
            let widths = file.array::<f32>("widths", &[Some(n)])?.1.as_slice();
            if !widths.iter().all(|width| *width >= 0.0 && width.is_finite()) {
                return Err(file.error("its kernel widths are negative or not finite"));
            }
            Widths::PerRow(widths.to_vec())
        }
        None => Widths::None,
    };
    meta.graph.validate().map_err(|e| file.error(e.to_string()))?;
    let index = match meta.index {
        Some(index) => LazyIndex::kept(cells(file, index, n)?),
        None => LazyIndex::default(),
    };
    let errors = match file.contains("errors") {
        true => Some(Arc::new(file.array::<f64>("errors", &[Some(n)])?.1.as_slice().to_vec())),
        false => None,
    };
    if errors.iter().flat_map(|errors| errors.iter()).any(|error| error.is_nan() || *error < 0.0) {
        return Err(file.error("its bounds on errors are negative or not a number"));
    }
    let (scores, index) = (Arc::new(scores), Arc::new(index));
    Ok(NeighborExtension { features, graph: meta.graph, widths, scores, errors, index })
}

/// The cells of the index of `n` rows.
fn cells(file: &ModelFile, meta: IndexMeta, n: usize) -> Result<Cells> {
    let cells = Cells {
        ids: file.array::<u32>("index.ids", &[Some(n)])?.1.as_slice().to_vec(),
        starts: file.array::<u64>("index.starts", &[None])?.1.as_slice().to_vec(),
        n_probes: meta.n_probes,
        recall: meta.recall,
        recall_error: meta.recall_error,
    };
    cells.check(n).map_err(|e| file.error(e.to_string()))?;
    Ok(cells)
}

/// The fitted features in the type they were stored in.
pub(crate) fn features_of(file: &ModelFile) -> Result<Features<'static>> {
    if file.contains("features.indptr") {
        return Ok(Features::Sparse(Arc::new(file.csr("features")?)));
    }
    let any = [None, None];
    let (shape, values) = if let Ok((shape, values)) = file.array::<f32>("features", &any) {
        (shape, DenseValues::F32(values.clone()))
    } else if let Ok((shape, values)) = file.array::<u8>("features", &any) {
        (shape, DenseValues::U8(values.clone()))
    } else {
        let (shape, values): (_, &Buffer<'static, f64>) = file.array("features", &any)?;
        (shape, DenseValues::F64(values.clone()))
    };
    Dense::new(shape[0], shape[1], values).map(Features::Dense)
}

#[cfg(test)]
mod tests {
    use lapwing_data::{Csr, Labels, Targets};
    use lapwing_graph::testkit::{blobs, dense_values};

    use super::*;
    use crate::{Fitted, MethodParams, Problem, method};

    fn fitted<'a>(features: &'a Features<'a>, run: &Run) -> Model<'a> {
        let labels =
            Labels::from_texts((0..features.n_rows()).map(|i| if i < 6 { ["a", "b", "c"][i % 3] } else { "" }), None);
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(features), ..Problem::new(&targets) };
        model_of(method("harmonic", &MethodParams::default()).unwrap().fit(&problem, run).unwrap(), &labels)
    }

    fn model_of<'a>(fitted: Fitted<'a>, labels: &Labels) -> Model<'a> {
        Model {
            method: "harmonic".into(),
            classes: labels.classes.clone(),
            feature_names: None,
            standardizer: None,
            rule: fitted.rule,
            extension: fitted.extension.unwrap(),
        }
    }

    fn neighbors<'m, 'a>(model: &'m mut Model<'a>) -> &'m mut NeighborExtension<'a> {
        let Extension::Neighbors(neighbors) = &mut model.extension else { panic!("harmonic models have neighbors") };
        neighbors
    }

    #[test]
    fn a_loaded_model_predicts_the_same_bits() {
        let run = Run::new(Some(2), 0).unwrap();
        let dense = blobs(60, 4, 3);
        let values = dense_values(&dense);
        let entries: Vec<(u32, u32, f32)> = (0..240).map(|at| (at / 4, at % 4, values[at as usize] as f32)).collect();
        let kinds = [
            dense,
            Features::from_f64(60, 4, values.clone()).unwrap(),
            Features::from_u8(60, 4, values.iter().map(|v| (v * 4.0 + 128.0) as u8).collect()).unwrap(),
            Features::Sparse(Arc::new(Csr::from_entries(60, 4, &entries).unwrap())),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.lapwing");
        for features in &kinds {
            let model = fitted(features, &run);
            model.save(&path).unwrap();
            let loaded = Model::load(&path).unwrap();
            let (expected, found) = (model.predict(features, &run).unwrap(), loaded.predict(features, &run).unwrap());
            assert_eq!(expected.labels, found.labels);
            assert_eq!(expected.label_distributions, found.label_distributions);
            assert_eq!(loaded.classes, model.classes);
        }
    }

    #[test]
    fn a_model_keeps_the_index_of_its_rows() {
        let run = Run::new(Some(2), 0).unwrap();
        let features = blobs(3000, 4, 3);
        let new =
            Features::from_f64(500, 4, dense_values(&features)[..2000].iter().map(|v| v + 0.1).collect()).unwrap();
        let mut model = fitted(&features, &run);
        neighbors(&mut model).graph.knn_method = lapwing_graph::KnnMethod::Partitions;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.lapwing");
        let expected = model.predict(&new, &run).unwrap();
        model.save(&path).unwrap();
        let mut loaded = Model::load(&path).unwrap();
        let cells = neighbors(&mut model).index.cells().cloned();
        assert!(cells.as_ref().is_some_and(|cells| cells.recall >= 0.95));
        assert_eq!(neighbors(&mut loaded).index.cells(), cells.as_ref());
        let found = loaded.predict(&new, &Run::new(Some(1), 8).unwrap()).unwrap();
        assert_eq!(found.label_distributions, expected.label_distributions);
        neighbors(&mut model).index = Arc::new(LazyIndex::kept(Cells { n_probes: 0, ..cells.unwrap() }));
        model.save(&path).unwrap();
        assert!(Model::load(&path).unwrap_err().to_string().contains("cells of the index"));
    }

    #[test]
    fn new_rows_are_certified_where_the_fit_was() {
        let run = Run::new(Some(2), 0).unwrap();
        let (features, new) = (blobs(300, 3, 3), blobs(400, 3, 7));
        let labels = Labels::from_texts((0..300).map(|i| if i < 6 { ["a", "b", "c"][i % 3] } else { "" }), None);
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let model = |certify, tol| {
            let mut options = MethodParams::default();
            (options.harmonic.certify, options.harmonic.tol) = (certify, tol);
            let fitted = method("harmonic", &options).unwrap().fit(&problem, &run).unwrap();
            model_of(fitted, &labels)
        };
        let certified = model(crate::Certify::Auto, 1e-4);
        let exact = model(crate::Certify::Off, 1e-13).predict(&new, &run).unwrap();
        assert_eq!(exact.certified, None);
        let found = certified.predict(&new, &run).unwrap();
        let marks = found.certified.clone().unwrap();
        assert!(marks.iter().filter(|mark| **mark).count() > 350);
        for (row, _) in marks.iter().enumerate().filter(|(_, mark)| **mark) {
            assert_eq!(found.labels[row], exact.labels[row]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.lapwing");
        certified.save(&path).unwrap();
        assert_eq!(Model::load(&path).unwrap().predict(&new, &run).unwrap().certified, found.certified);
        // What is known of scores is not known of others in their place.
        let mut changed = certified;
        let Extension::Neighbors(neighbors) = &changed.extension else { panic!("harmonic models have neighbors") };
        let scores = Arc::new((*neighbors.scores).clone());
        changed.extension.replace_scores(&scores);
        assert_eq!(changed.predict(&new, &run).unwrap().certified, None);
    }

    #[test]
    fn settings_that_contradict_themselves_are_refused() {
        let run = Run::new(Some(1), 0).unwrap();
        let features = blobs(60, 4, 3);
        let sound = fitted(&features, &run);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.lapwing");
        let refusal = |change: &dyn Fn(&mut Model<'_>)| {
            let mut model = sound.clone();
            change(&mut model);
            model.save(&path).unwrap();
            Model::load(&path).unwrap_err().to_string()
        };
        let standardizer = |d: usize, scale: f64| Some(Standardizer { mean: vec![0.0; d], scale: vec![scale; d] });
        assert!(refusal(&|model| model.rule.prior = vec![0.5, 2.0, 0.5]).contains("decision rule"));
        assert!(refusal(&|model| model.rule.prior = vec![1.5, -0.5, 0.0]).contains("decision rule"));
        assert!(refusal(&|model| model.feature_names = Some(vec!["a".into()])).contains("names 1 columns and has 4"));
        assert!(refusal(&|model| model.standardizer = standardizer(3, 1.0)).contains("standardizing"));
        assert!(refusal(&|model| model.standardizer = standardizer(4, 0.0)).contains("standardizing"));
        assert!(refusal(&|model| neighbors(model).widths = Widths::One(1.0)).contains("kernel widths"));
        assert!(
            refusal(&|model| neighbors(model).widths = Widths::PerRow(vec![f32::NAN; 60])).contains("kernel widths")
        );
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        let run = Run::new(Some(1), 0).unwrap();
        let features = blobs(60, 4, 3);
        let text = fitted(&features, &run).predict(&blobs(5, 3, 1), &run).unwrap_err().to_string();
        assert_eq!(text, "features has 3 columns; expected 4 columns");
    }
}
