//! Models predict the same after they are saved and loaded.

use crate::testkit::{blobs, dense_values};
use lapwing_core::{Csr, Labels, Matrix, Standardize, Targets, TermWeights};
use lapwing_graph::{IndexCells, Metric, Widths};

use super::*;
use crate::{Fitted, LazyIndex, MethodParams, NeighborExtension, Problem, RowScores, method};

fn fitted<'a>(features: &'a Features<'a>, run: &Run) -> Classifier<'a> {
    let labels =
        Labels::from_texts((0..features.n_rows()).map(|i| if i < 6 { ["a", "b", "c"][i % 3] } else { "" }), None);
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(features), ..Problem::new(&targets) };
    model_of(method("harmonic", &MethodParams::default()).unwrap().fit(&problem, run).unwrap(), &labels)
}

fn model_of<'a>(fitted: Fitted<'a>, labels: &Labels) -> Classifier<'a> {
    Classifier {
        method: "harmonic".into(),
        classes: labels.classes.clone(),
        scaling: Scaling::None,
        rule: fitted.rule,
        extension: fitted.extension.unwrap(),
    }
}

fn neighbors<'m>(model: &'m Classifier<'_>) -> &'m NeighborExtension<'m> {
    model.extension.neighbors().expect("harmonic models have neighbors")
}

/// Changes the neighbors of a model.
fn change(model: &mut Classifier<'_>, change: impl FnOnce(&mut NeighborExtension<'_>)) {
    let mut own = neighbors(model).with_own_rows().unwrap();
    change(&mut own);
    model.extension = Arc::new(own);
}

#[test]
fn new_rows_are_scaled_as_in_the_fit() {
    let run = Run::new(Some(2), 0).unwrap();
    let entries: Vec<(u32, u32, f32)> =
        (0..60).flat_map(|row| [(row, row % 3, 2.0), (row, 3 + row % 2, 1.0)]).collect();
    let counts = Features::Sparse(Arc::new(Csr::from_entries(60, 5, &entries).unwrap()));
    let dense =
        Features::from_f64(60, 2, (0..120).map(|at| f64::from(at % 7) * 10f64.powi(at % 2 * 3)).collect()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.lapwing");
    for (features, tfidf) in [(counts, true), (dense, false)] {
        let scaling =
            Scaling::fit(&features, Standardize::Auto, if tfidf { TermWeights::On } else { TermWeights::Off }, &run)
                .unwrap()
                .scaling;
        let scaled = scaling.apply(&features, &run).unwrap().unwrap();
        let mut model = fitted(&scaled, &run);
        let expected = model.predict(&scaled, &run).unwrap();
        model.scaling = scaling;
        assert_eq!(model.predict(&features, &run).unwrap().labels, expected.labels);
        model.to_file().unwrap().save(&path).unwrap();
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
        assert_eq!(loaded.scaling, model.scaling);
        assert_eq!(loaded.predict(&features, &run).unwrap().scores, expected.scores);
        // The metric is stored as it was chosen.
        assert_eq!(neighbors(&loaded).graph.metric, Some(if tfidf { Metric::Cosine } else { Metric::Euclidean }));
    }
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
        model.to_file().unwrap().save(&path).unwrap();
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
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
    let new = Features::from_f64(500, 4, dense_values(&features)[..2000].iter().map(|v| v + 0.1).collect()).unwrap();
    let mut model = fitted(&features, &run);
    change(&mut model, |rows| rows.graph.knn_method = lapwing_graph::KnnMethod::Partitions);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.lapwing");
    let expected = model.predict(&new, &run).unwrap();
    model.to_file().unwrap().save(&path).unwrap();
    let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
    let cells = neighbors(&model).index.cells().cloned();
    assert!(cells.as_ref().is_some_and(|cells| cells.recall >= 0.95));
    assert_eq!(neighbors(&loaded).index.cells(), cells.as_ref());
    let found = loaded.predict(&new, &Run::new(Some(1), 8).unwrap()).unwrap();
    assert_eq!(found.label_distributions, expected.label_distributions);
    let damaged = LazyIndex::kept(IndexCells { n_probes: 0, ..cells.unwrap() });
    change(&mut model, |rows| rows.index = Arc::new(damaged));
    model.to_file().unwrap().save(&path).unwrap();
    assert!(
        Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap_err().to_string().contains("cells of the index")
    );
}

#[test]
fn borrowed_scores_have_the_same_means_and_files() {
    let run = Run::new(Some(2), 0).unwrap();
    let (features, new) = (blobs(120, 3, 3), blobs(40, 3, 7));
    let model = fitted(&features, &run);
    let rows = neighbors(&model);
    let scores = RowScores::Borrowed(rows.scores.n_cols(), rows.scores.values());
    let borrowed = NeighborExtension { scores, ..rows.clone() };
    assert_eq!((borrowed.scores.n_rows(), borrowed.scores.row(119)), (120, rows.scores.row(119)));
    let expected = model.extension.scores_of(&new, &run).unwrap();
    assert_eq!(borrowed.scores_of(&new, &run).unwrap(), expected);
    assert_eq!(borrowed.owned().unwrap().scores_of(&new, &run).unwrap(), expected);
    let file = |extension: &dyn Extend| extension_to_file(extension).unwrap().to_bytes();
    assert_eq!(file(&borrowed), file(&*model.extension));
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
    certified.to_file().unwrap().save(&path).unwrap();
    assert_eq!(
        Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap().predict(&new, &run).unwrap().certified,
        found.certified
    );
    // Bounds on errors do not hold for scores that replace the certified ones.
    let mut changed = certified;
    change(&mut changed, |rows| rows.set_scores(&Arc::new(Matrix::clone(&rows.scores.matrix().unwrap())), None));
    assert_eq!(changed.predict(&new, &run).unwrap().certified, None);
}

#[test]
fn settings_that_contradict_themselves_are_refused() {
    let run = Run::new(Some(1), 0).unwrap();
    let features = blobs(60, 4, 3);
    let sound = fitted(&features, &run);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.lapwing");
    let refusal = |damage: &dyn Fn(&mut Classifier<'_>)| {
        let mut model = sound.clone();
        damage(&mut model);
        model.to_file().unwrap().save(&path).unwrap();
        Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap_err().to_string()
    };
    let standardizer =
        |d: usize, scale: f64| Scaling::Standardize(Standardizer { mean: vec![0.0; d], scale: vec![scale; d] });
    let tfidf = |d: usize, idf: f64| Scaling::Tfidf(Tfidf { idf: vec![idf; d] });
    assert!(refusal(&|model| model.rule.prior = vec![0.5, 2.0, 0.5]).contains("decision rule"));
    assert!(refusal(&|model| model.rule.prior = vec![1.5, -0.5, 0.0]).contains("decision rule"));
    assert!(refusal(&|model| model.scaling = standardizer(3, 1.0)).contains("standardizing"));
    assert!(refusal(&|model| model.scaling = standardizer(4, 0.0)).contains("standardizing"));
    assert!(refusal(&|model| model.scaling = tfidf(3, 1.0)).contains("weights of terms"));
    assert!(refusal(&|model| model.scaling = tfidf(4, 0.0)).contains("weights of terms"));
    assert!(refusal(&|model| change(model, |rows| rows.widths = Widths::One(1.0))).contains("kernel widths"));
    assert!(
        refusal(&|model| change(model, |rows| rows.widths = Widths::PerRow(vec![f32::NAN; 60])))
            .contains("'widths' holds NaN")
    );
}

#[test]
fn rows_of_another_width_are_refused() {
    let run = Run::new(Some(1), 0).unwrap();
    let features = blobs(60, 4, 3);
    let text = fitted(&features, &run).predict(&blobs(5, 3, 1), &run).unwrap_err().to_string();
    assert_eq!(text, "features has 3 columns; expected 4 columns");
}
