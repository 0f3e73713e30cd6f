//! Settings and features in model files.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Dense, DenseValues, Error, Features, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Settings as JSON.
pub(crate) fn settings(meta: impl Serialize) -> Result<Value> {
    serde_json::to_value(meta).map_err(|e| Error::Internal { reason: format!("the settings cannot be written: {e}") })
}

/// Settings of a file, or a part of them.
pub(crate) fn read_settings<T: DeserializeOwned>(file: &ModelFile, meta: &Value) -> Result<T> {
    T::deserialize(meta).map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))
}

/// Columns of the features of a model that keeps no rows, from the settings of its kind.
pub(crate) fn stored_width(file: &ModelFile, kind: &str) -> Result<usize> {
    let width = file.meta[kind]["n_features"].as_u64().and_then(|d| u32::try_from(d).ok()).filter(|d| *d > 0);
    width.map(|d| d as usize).ok_or_else(|| file.error("the number of features is missing"))
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
