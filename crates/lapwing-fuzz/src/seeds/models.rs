//! Models of every method, fitted here on a handful of rows, and checkpoints.

use std::sync::Arc;

use lapwing_data::{Csr, Features, Labels, Result, Standardizer, Targets};
use lapwing_models::{MethodParams, Model, Problem, method, method_names};

use super::Seed;
use crate::Bench;
use crate::rng::Rng;

/// Rows of the fits.
const ROWS: usize = 24;
/// Their columns.
const COLUMNS: usize = 3;

/// A model of every method, and harmonic ones of other features.
pub fn models(bench: &Bench) -> Vec<Seed> {
    let values = values();
    let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let entries: Vec<(u32, u32, f32)> = (0..singles.len())
        .filter(|at| at % 4 > 0)
        .map(|at| ((at / COLUMNS) as u32, (at % COLUMNS) as u32, singles[at]))
        .collect();
    let bytes = values.iter().map(|value| (value * 20.0 + 128.0) as u8).collect();
    let sparse = Csr::from_entries(ROWS, COLUMNS, &entries).map(|matrix| Features::Sparse(Arc::new(matrix)));
    let kinds = [
        ("f64", Features::from_f64(ROWS, COLUMNS, values)),
        ("u8", Features::from_u8(ROWS, COLUMNS, bytes)),
        ("sparse", sparse),
    ];
    let mut seeds = Vec::new();
    if let Ok(features) = Features::from_f32(ROWS, COLUMNS, singles) {
        seeds.extend(method_names().filter_map(|name| seed(bench, name, name, &features)));
    }
    for (kind, features) in kinds {
        let named = features.ok().and_then(|features| seed(bench, "harmonic", &format!("harmonic-{kind}"), &features));
        seeds.extend(named);
    }
    seeds
}

/// Checkpoints of sparsifiers.
pub fn sparsifiers(bench: &Bench) -> Vec<Seed> {
    crate::targets::kept_sparsifier(bench)
}

/// Checkpoints of low-rank fits.
pub fn sums(bench: &Bench) -> Vec<Seed> {
    crate::targets::kept_sums(bench)
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
    let extension = fitted.extension.ok_or_else(|| lapwing_data::Error::labels("no extension"))?;
    let model = Model {
        method: name.into(),
        classes: labels.classes,
        feature_names: Some((0..COLUMNS).map(|column| format!("x{column}")).collect()),
        standardizer: matches!(features, Features::Dense(_))
            .then(|| Standardizer::fit(features, bench.run()))
            .transpose()?,
        rule: fitted.rule,
        extension,
    };
    let path = bench.path("seed.lapwing");
    model.save(&path)?;
    std::fs::read(&path).map_err(|source| lapwing_data::Error::Io { path, source })
}

/// Two clusters.
fn values() -> Vec<f64> {
    let mut rng = Rng::new(5);
    (0..ROWS * COLUMNS)
        .map(|at| f64::from((at / COLUMNS) as u32 % 2) * 2.0 - 1.0 + rng.below(1000) as f64 / 1000.0)
        .collect()
}
