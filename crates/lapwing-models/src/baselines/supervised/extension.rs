//! The extension of methods without a graph: shares, coefficients or trees, applied to any row.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Error, Features, Matrix, Result, Run};
use serde_json::json;

use super::forest::Trees;
use super::majority::repeated;
use crate::unfolded::Layers;

/// Scores new rows by what was learned from the labeled rows alone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SupervisedExtension {
    /// The shares of the classes (c), whatever the features are.
    Majority {
        /// Columns of the features.
        n_features: usize,
        /// Shares of the classes (c).
        shares: Vec<f64>,
    },
    /// A linear function of the features.
    Linear(Layers),
    /// Decision trees.
    Forest(Arc<Trees>),
}

/// Tag of the bytes.
const KIND: &str = "supervised";

impl SupervisedExtension {
    /// Columns of the features.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Majority { n_features, .. } => *n_features,
            Self::Linear(layers) => layers.n_features(),
            Self::Forest(trees) => trees.n_features(),
        }
    }

    /// Classes.
    pub fn n_classes(&self) -> usize {
        match self {
            Self::Majority { shares, .. } => shares.len(),
            Self::Linear(layers) => layers.output.n_cols(),
            Self::Forest(trees) => trees.n_classes(),
        }
    }

    /// Scores (m, c) of new rows (m, d).
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are d columns; [`Error::Columns`] for values that are not finite; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(m·c) for shares, O(m·d·c) for coefficients, O(m·(d + T·log l)) for T trees of l labeled rows.
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        if new.n_cols() != self.n_features() {
            let expected = format!("{} columns", self.n_features());
            return Err(Error::shape("features", expected, format!("{} columns", new.n_cols())));
        }
        match self {
            Self::Majority { shares, .. } => {
                new.check(run)?;
                Ok(repeated(shares, new.n_rows()))
            }
            Self::Linear(layers) => layers.outputs(new, run),
            Self::Forest(trees) => {
                new.check(run)?;
                trees.scores(new, run)
            }
        }
    }

    /// The extension as bytes, for a pickle.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = ModelFile::new(KIND, json!({ "n_classes": self.n_classes() }));
        self.store(&mut file)?;
        Ok(file.to_bytes())
    }

    /// The extension from the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::Format`] for other bytes, and for arrays that are missing or do not fit together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = ModelFile::from_bytes(bytes, "the bytes of a supervised model")?;
        file.expect_kind(&[KIND])?;
        let n_classes = file.meta["n_classes"].as_u64().and_then(|c| usize::try_from(c).ok());
        let n_classes = n_classes.filter(|c| *c > 0).ok_or_else(|| file.error("the number of classes is missing"))?;
        Self::stored(&file, n_classes)
    }

    /// Adds its arrays to a model.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub(crate) fn store(&self, file: &mut ModelFile) -> Result<()> {
        match self {
            Self::Majority { n_features, shares } => {
                file.meta["supervised"] = json!({ "kind": "majority", "n_features": n_features });
                file.insert("shares", &[shares.len()], shares.clone())
            }
            Self::Linear(Layers { output, .. }) => {
                file.meta["supervised"] = json!({ "kind": "linear" });
                file.insert("coefficients", &[output.n_rows(), output.n_cols()], output.values().to_vec())
            }
            Self::Forest(trees) => trees.store(file),
        }
    }

    /// The extension that [`store`](Self::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let meta = &file.meta["supervised"];
        let n_features = || {
            let n_features = meta["n_features"].as_u64().and_then(|d| u32::try_from(d).ok()).filter(|d| *d > 0);
            n_features.map(|d| d as usize).ok_or_else(|| file.error("the number of features is missing"))
        };
        match meta["kind"].as_str() {
            Some("forest") => Trees::stored(file, n_features()?, n_classes).map(Self::Forest),
            Some("majority") => {
                let shares = file.numbers::<f64>("shares", &[Some(n_classes)], Must::Shares)?.1.as_slice().to_vec();
                Ok(Self::Majority { n_features: n_features()?, shares })
            }
            Some("linear") => {
                let output = file.matrix("coefficients", [None, Some(n_classes)], Must::Finite)?;
                if output.n_rows() < 2 {
                    return Err(file.error("its coefficients are missing"));
                }
                Ok(Self::Linear(Layers { hidden: None, output, bias: true, center: Vec::new() }))
            }
            _ => Err(file.error("its kind of model is unknown")),
        }
    }
}
