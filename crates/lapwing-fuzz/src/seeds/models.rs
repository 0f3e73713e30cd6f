//! Models of every method, fitted on a few rows.

use std::sync::Arc;

use lapwing::models::Model;
use lapwing_core::{Csr, Features, Labels, Result, Scaling, Standardizer, Targets};
use lapwing_models::{Classifier, MethodParams, Problem, method, method_names};

use super::Seed;
use crate::Bench;
use crate::rng::Rng;

/// Rows and columns of the fits.
const ROWS: usize = 24;
const COLUMNS: usize = 3;

/// A model of every method on f32 features, and harmonic models on other types of features.
pub fn models(bench: &Bench) -> Vec<Seed> {
    let values = values();
    let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let entries: Vec<(u32, u32, f32)> = (0..singles.len())
        .filter(|at| at % 4 > 0)
        .map(|at| ((at / COLUMNS) as u32, (at % COLUMNS) as u32, singles[at]))
        .collect();
    let bytes = values.iter().map(|value| (value * 20.0 + 128.0) as u8).collect();
    let sparse = Csr::from_entries(ROWS, COLUMNS, &entries).map(|matrix| Features::Sparse(Arc::new(matrix)));
    let singles = Features::from_f32(ROWS, COLUMNS, singles);
    let every = method_names().filter_map(|name| seed(bench, name, name, singles.as_ref().ok()?));
    let others = [
        ("harmonic-f64", Features::from_f64(ROWS, COLUMNS, values)),
        ("harmonic-u8", Features::from_u8(ROWS, COLUMNS, bytes)),
        ("harmonic-sparse", sparse),
    ];
    let others = others.iter().filter_map(|(name, features)| seed(bench, "harmonic", name, features.as_ref().ok()?));
    every.chain(others).collect()
}

fn seed(bench: &Bench, method: &str, name: &str, features: &Features<'_>) -> Option<Seed> {
    let bytes = fitted(bench, method, features);
    bytes.inspect_err(|error| eprintln!("no seed {name}: {error}")).ok().map(|bytes| (name.to_owned(), bytes))
}

fn fitted(bench: &Bench, name: &str, features: &Features<'_>) -> Result<Vec<u8>> {
    let labels = Labels::from_texts((0..ROWS).map(|row| if row < 6 { ["a", "b"][row % 2] } else { "" }), None);
    let targets = Targets::one_hot(&labels, None)?;
    let problem = Problem { features: Some(features), ..Problem::new(&targets) };
    let mut options = MethodParams::default();
    (options.graph.n_neighbors, options.low_rank.n_landmarks) = (5, 4);
    let fitted = method(name, &options)?.fit(&problem, bench.run())?;
    let extension = fitted.extension.ok_or_else(|| lapwing_core::Error::labels("no extension"))?;
    let scaling = match features {
        Features::Dense(_) => Scaling::Standardize(Standardizer::fit(features, bench.run())?),
        Features::Sparse(_) => Scaling::None,
    };
    let classifier = Classifier { method: name.into(), classes: labels.classes, scaling, rule: fitted.rule, extension };
    let feature_names = Some((0..COLUMNS).map(|column| format!("x{column}")).collect());
    let model = Model { feature_names, ..classifier.into() };
    let path = bench.path("seed.lapwing");
    model.save(&path)?;
    std::fs::read(&path).map_err(|source| lapwing_core::Error::Io { path, source })
}

/// Rows of two clusters in turns.
fn values() -> Vec<f64> {
    let mut rng = Rng::new(5);
    (0..ROWS * COLUMNS)
        .map(|at| f64::from((at / COLUMNS) as u32 % 2) * 2.0 - 1.0 + rng.below(1000) as f64 / 1000.0)
        .collect()
}
