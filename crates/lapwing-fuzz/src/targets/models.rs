//! Models: a loaded model labels new rows, and predicts the same after saving.

use std::path::Path;

use lapwing::models::Model;
use lapwing_core::Features;
use lapwing_models::Labeling;

use super::{Bench, Checked, accepted, answer, holds};
use crate::judge::Verdict;
use crate::mutate::unsound_number;
use crate::rng::Rng;

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
    if Rng::new(bytes.len() as u64).one_in(4) {
        check_saved(bench, &model, &rows, &labeling)?;
    }
    accepted(true)
}

/// A model with forged numbers: as [`model`], and what is accepted holds no number that no model holds.
pub fn forged(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let answer = model(bench, path, bytes)?;
    match unsound_number(bytes).filter(|_| Model::load(path).is_ok()) {
        None => Ok(answer),
        Some(number) => Err(format!("a model is accepted with {number}")),
    }
}

/// Rows of small and of large values, and one of zeros.
fn new_rows(n_features: usize) -> Checked<Features<'static>> {
    let mut rng = Rng::new(7);
    let values = (0..ROWS * n_features).map(|at| match at / n_features.max(1) {
        0 => 0.0,
        row => (rng.below(2001) as f32 / 1000.0 - 1.0) * [1.0, 1.0, 3.0, 1e6][row % 4],
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
