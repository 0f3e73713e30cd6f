//! Shares of the classes that a caller gives, or that labels give.

use lapwing_core::params::{Domain, Number, ParameterType, Value, above};
use lapwing_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// How far the sum of given shares may be from 1.
const PRIOR_TOL: f64 = 1e-6;

/// Shares of the classes. Rows that no label reaches get this distribution, and the decisions `mass` and `sizes` aim at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClassPrior {
    /// Frequencies of the given labels.
    #[default]
    Labeled,
    /// Shares of the classes in class order: positive, adding up to 1 within 1e-6.
    Given(Vec<f64>),
}

impl ParameterType for ClassPrior {
    fn domain() -> Domain {
        let numbers = Domain::from_number(Number::Real).within(above(0.0)).or_words(&["labeled"]);
        Domain { is_list: true, ..numbers }
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::List(shares) => Some(Self::Given(shares.clone())),
            Value::None => Some(Self::Labeled),
            Value::Word(word) if word == "labeled" => Some(Self::Labeled),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Labeled => Value::Word("labeled".into()),
            Self::Given(shares) => Value::List(shares.clone()),
        }
    }
}

impl ClassPrior {
    /// Checks that given shares are positive and add up to 1.
    ///
    /// # Errors
    /// [`Error::Param`] naming the share or the sum.
    pub fn validate(&self) -> Result<()> {
        let Self::Given(prior) = self else { return Ok(()) };
        if let Some(bad) = prior.iter().find(|p| !(**p > 0.0 && p.is_finite())) {
            return Err(Error::param("class_prior", bad, "positive shares, one per class"));
        }
        let total: f64 = prior.iter().sum();
        if (total - 1.0).abs() > PRIOR_TOL {
            return Err(Error::param(
                "class_prior",
                format!("shares that add up to {total}"),
                "shares that add up to 1",
            ));
        }
        Ok(())
    }

    /// Shares of the classes, summing to 1; `labeled` are the frequencies among the given labels (c).
    ///
    /// # Errors
    /// [`Error::Param`] unless there is one share per class.
    pub fn shares(&self, labeled: &[f64]) -> Result<Vec<f64>> {
        match self {
            Self::Labeled => Ok(labeled.to_vec()),
            Self::Given(prior) if prior.len() == labeled.len() => {
                let total: f64 = prior.iter().sum();
                Ok(prior.iter().map(|p| p / total).collect())
            }
            Self::Given(prior) => {
                let expected = format!("{}, one per class", labeled.len());
                Err(Error::param("class_prior", format!("{} shares", prior.len()), expected))
            }
        }
    }
}
