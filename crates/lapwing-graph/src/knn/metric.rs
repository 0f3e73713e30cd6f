//! What "near" means, and what becomes of rows that have no direction.

use lapwing_data::{Result, parse_choice};
use serde::{Deserialize, Serialize};

/// Distance between rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// ‖x − y‖.
    #[default]
    Euclidean,
    /// 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
    Cosine,
    /// −xᵀy: the nearest rows are those of the largest product. Not a distance: it may be negative, and a row need not
    /// be nearest to itself.
    InnerProduct,
}

/// What becomes of rows of zeros under the cosine metric; other metrics have nothing against them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroRows {
    /// They are an error that names the first one.
    #[default]
    Error,
    /// They are at distance 1 from every row, as if orthogonal to it.
    Allow,
}

impl Metric {
    /// From its name.
    ///
    /// # Errors
    /// [`lapwing_data::Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [("euclidean", Self::Euclidean), ("cosine", Self::Cosine), ("inner-product", Self::InnerProduct)];
        parse_choice("metric", name, &known)
    }

    /// The squared Euclidean distance that a distance stands for: d², or 2d = ‖x/‖x‖ − y/‖y‖‖² of d = 1 − cos.
    pub(crate) fn squared(self, d: f32) -> f32 {
        match self {
            Self::Cosine => 2.0 * d.max(0.0),
            Self::Euclidean | Self::InnerProduct => d * d,
        }
    }

    /// Whether no distance is below 0, so that rows at distance 0 are as near as can be.
    pub(crate) fn is_distance(self) -> bool {
        self != Self::InnerProduct
    }
}

impl ZeroRows {
    /// From its name.
    ///
    /// # Errors
    /// [`lapwing_data::Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("zero_rows", name, &[("error", Self::Error), ("allow", Self::Allow)])
    }
}
