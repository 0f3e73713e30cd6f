//! Models: a loaded model labels new rows, and predicts the same after saving.

use std::path::Path;
use std::sync::Arc;

use lapwing::models::Model;
use lapwing_core::{Csr, Error, Features, Labels, Result, Scaling, Standardizer, Targets};
use lapwing_models::{Classifier, Labeling, MethodParams, Problem, method, method_names};

use crate::bench::{Bench, Checked, Verdict, accepted, answer, holds};
use crate::mutate::Parts;

/// New rows.
const ROWS: usize = 5;
/// The most columns of new rows: a damaged file without rows may state any number.
const MOST_COLUMNS: usize = 1 << 12;

/// A model of any kind.
pub fn model(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let Some(model) = answer(Model::load(path))? else { return accepted(false) };
    let n_features = model.classifier.extension.n_features();
    if n_features > MOST_COLUMNS {
        return accepted(true);
    }
    let rows = new_rows(n_features)?;
    let Some(labeling) = answer(model.predict(&rows, &bench.run))? else { return accepted(false) };
    check(&labeling, model.classifier.classes.len())?;
    if bytes.len().is_multiple_of(4) {
        check_saved(bench, &model, &rows, &labeling)?;
    }
    accepted(true)
}

/// A model with forged numbers: as [`model`], and what is accepted holds no number that no model holds.
pub fn forged(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let answer = model(bench, path, bytes)?;
    match Parts::new(bytes).and_then(|parts| unsound(&parts)).filter(|_| Model::load(path).is_ok()) {
        None => Ok(answer),
        Some(number) => Err(format!("a model is accepted with {number}")),
    }
}

/// The first row of an array that no sound model holds: with NaN beside other numbers in a row of scores or anywhere else, or with an
/// infinite number that is no bound.
fn unsound(parts: &Parts) -> Option<String> {
    parts.arrays.iter().find_map(|array| {
        let is_sound = |row: &Vec<f64>| match array.name.as_str() {
            "scores" => row.iter().all(|x| x.is_finite()) || row.iter().all(|x| x.is_nan()),
            "errors" => row.iter().all(|x| *x >= 0.0),
            _ => row.iter().all(|x| x.is_finite()),
        };
        let (row, values) = array.rows().into_iter().enumerate().find(|(_, row)| !is_sound(row))?;
        Some(format!("row {row} of {}: {:?}", array.name, &values[..values.len().min(8)]))
    })
}

/// Rows of small and of large values, and one of zeros.
fn new_rows(n_features: usize) -> Checked<Features<'static>> {
    let mut rng = fastrand::Rng::with_seed(7);
    let values = (0..ROWS * n_features).map(|at| match at / n_features.max(1) {
        0 => 0.0,
        row => (rng.f32() * 2.0 - 1.0) * [1.0, 1.0, 3.0, 1e6][row % 4],
    });
    Features::from_f32(ROWS, n_features, values.collect()).map_err(|error| error.to_string())
}

/// Checks that every row has a class and a distribution.
fn check(labeling: &Labeling, n_classes: usize) -> Checked {
    let Labeling { labels, label_distributions, confidence, .. } = labeling;
    holds(labels.len() == ROWS, || format!("labels: {}", labels.len()))?;
    holds(labels.iter().all(|&class| (class as usize) < n_classes), || format!("a class out of range: {labels:?}"))?;
    let values = label_distributions.values();
    let in_range = |share: &f64| (-1e-9..=1.0 + 1e-9).contains(share);
    holds(values.iter().all(in_range), || format!("invalid distributions: {values:?}"))?;
    holds(confidence.iter().all(in_range), || format!("an invalid confidence: {confidence:?}"))?;
    let is_one = |row: &[f64]| (row.iter().sum::<f64>() - 1.0).abs() < 1e-6;
    holds(label_distributions.rows().all(is_one), || format!("distributions that do not sum to one: {values:?}"))
}

fn check_saved(bench: &Bench, model: &Model<'_>, rows: &Features<'_>, before: &Labeling) -> Checked {
    let path = bench.path("saved.lapwing");
    model.save(&path).map_err(|error| format!("a loaded model cannot be saved: {error}"))?;
    let saved = Model::load(&path).map_err(|error| format!("a saved model is refused: {error}"))?;
    let after = saved.predict(rows, &bench.run).map_err(|error| format!("a saved model does not predict: {error}"))?;
    let bits = |labeling: &Labeling| -> Vec<u64> {
        labeling.label_distributions.values().iter().map(|share| share.to_bits()).collect()
    };
    holds(bits(&after) == bits(before) && after.labels == before.labels, || {
        "a saved model predicts other labels".into()
    })
}

/// Rows and columns of the fits of valid models.
const FITTED: (usize, usize) = (24, 3);

/// A model of every method on f32 features, and harmonic models on other types of features.
pub fn valid(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let (n, d) = FITTED;
    let mut rng = fastrand::Rng::with_seed(5);
    // Two clusters in turns.
    let values: Vec<f64> = (0..n * d).map(|at| f64::from((at / d) as u32 % 2) * 2.0 - 1.0 + rng.f64()).collect();
    let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let entries = (0..n * d).filter(|at| at % 4 > 0).map(|at| ((at / d) as u32, (at % d) as u32, singles[at]));
    let bytes = values.iter().map(|value| (value * 20.0 + 128.0) as u8).collect();
    let sparse = Csr::from_entries(n, d, &entries.collect::<Vec<_>>()).map(|matrix| Features::Sparse(Arc::new(matrix)));
    let others = [
        ("harmonic-f64", Features::from_f64(n, d, values)),
        ("harmonic-u8", Features::from_u8(n, d, bytes)),
        ("harmonic-sparse", sparse),
    ];
    let singles = Features::from_f32(n, d, singles);
    let every = method_names().map(|name| (name, name, &singles));
    let all = every.chain(others.iter().map(|(name, features)| ("harmonic", *name, features)));
    let model = |(method, name, features): (&str, &str, &Result<Features<'static>>)| {
        let fitted = fitted(bench, method, features.as_ref().ok()?);
        Some((name.to_owned(), fitted.inspect_err(|error| eprintln!("no model {name}: {error}")).ok()?))
    };
    all.filter_map(model).collect()
}

fn fitted(bench: &Bench, name: &str, features: &Features<'_>) -> Result<Vec<u8>> {
    let labels = Labels::from_texts((0..FITTED.0).map(|row| if row < 6 { ["a", "b"][row % 2] } else { "" }), None);
    let targets = Targets::one_hot(&labels, None)?;
    let problem = Problem { features: Some(features), ..Problem::new(&targets) };
    let mut options = MethodParams::default();
    (options.graph.n_neighbors, options.low_rank.n_landmarks) = (5, 4);
    let fitted = method(name, &options)?.fit(&problem, &bench.run)?;
    let extension = fitted.extension.ok_or_else(|| Error::labels("no extension"))?;
    let scaling = match features {
        Features::Dense(_) => Scaling::Standardize(Standardizer::fit(features, &bench.run)?),
        Features::Sparse(_) => Scaling::None,
    };
    let classifier = Classifier { method: name.into(), classes: labels.classes, scaling, rule: fitted.rule, extension };
    let feature_names = Some((0..FITTED.1).map(|column| format!("x{column}")).collect());
    let model = Model { feature_names, ..classifier.into() };
    bench.written("valid.lapwing", |path| model.save(path))
}
