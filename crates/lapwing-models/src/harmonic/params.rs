//! Parameters of the harmonic methods.

use lapwing_data::{Error, Result, parse_choice};
use serde::{Deserialize, Serialize};

use super::Certify;
use crate::SizeOptions;

/// How far the sum of given shares may be from 1.
const PRIOR_TOL: f64 = 1e-6;

/// Which harmonic function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Stable-HFS: zero mean over the rows of each component of the graph (Calandriello et al. 2015).
    Stable,
    /// Plain HFS (Belkin et al. 2004), or Zhu's harmonic function when clamped hard.
    Plain,
    /// The default. Classification: plain, with a weight of smoothness for the number of labels and how they were drawn.
    /// Regression of 5 values or more: chosen with γ by cross-validation over them; of fewer, stable.
    #[default]
    Auto,
}

/// Whether given labels are kept exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clamp {
    /// Labels are fitted, with weight against smoothness.
    #[default]
    Soft,
    /// Labels are kept exactly (plain form only).
    Hard,
}

/// How scores become a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The default. For [`Form::Auto`]: `RowMean` unless the leave-one-out scores of the labels speak for `Centered`, and
    /// class sizes within what the labels allow where these look drawn at random. For other forms: `Centered`.
    #[default]
    Auto,
    /// Largest score above the labeled mean.
    Centered,
    /// Largest score above the mean over the rows of its component; for the stable form the same as `Centered`.
    RowMean,
    /// Largest score.
    Argmax,
    /// Largest score after class mass normalization to the prior (plain form only).
    Mass,
    /// Largest score after offsets at which each class has a size within bounds: [`SizeParams`](crate::SizeParams).
    Sizes,
}

/// Class prior: what rows no label reaches are given, and what the mass decision aims at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassPrior {
    /// Frequencies of the given labels.
    #[default]
    Labeled,
    /// Shares of the classes in class order: positive, adding up to 1 within 1e-6.
    Given(Vec<f64>),
}

/// Parameters of the harmonic methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarmonicParams {
    /// γ, weight of fᵀLf against the label term, > 0; infinity drops the label term (f = L⁺ỹ, stable form). `None`
    /// ("auto"), in units of 1 / mean weighted degree: stable, 1 / (mean labels per class), or 0.1 in regression; plain,
    /// 0.01; form auto, max(0.01, m^(−3/2)) for m labels per class, with 3 for 3/2 where labels look drawn at random.
    pub graph_reg: Option<f64>,
    /// Which harmonic function; default auto.
    pub form: Form,
    /// Clamping; default soft.
    pub clamp: Clamp,
    /// Decision rule; default auto.
    pub decision: Decision,
    /// Sizes of classes for [`Decision::Sizes`]: slack, and how labels were drawn.
    pub sizes: SizeOptions,
    /// Class prior; default the labeled frequencies.
    pub class_prior: ClassPrior,
    /// Relative residual at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations of the solver; default 10,000.
    pub max_iter: usize,
    /// Whether labels are certified to be those of the exact solution of the graph; default `Auto`.
    #[serde(default)]
    pub certify: Certify,
}

impl Default for HarmonicParams {
    fn default() -> Self {
        Self {
            graph_reg: None,
            form: Form::default(),
            clamp: Clamp::default(),
            decision: Decision::default(),
            sizes: SizeOptions::default(),
            class_prior: ClassPrior::default(),
            tol: 1e-6,
            max_iter: 10_000,
            certify: Certify::default(),
        }
    }
}

impl Form {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("form", name, &[("stable", Self::Stable), ("plain", Self::Plain), ("auto", Self::Auto)])
    }
}

impl Clamp {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("clamp", name, &[("soft", Self::Soft), ("hard", Self::Hard)])
    }
}

impl Decision {
    /// The same, `Auto` for `Sizes`.
    pub(crate) fn without_sizes(self) -> Self {
        if self == Self::Sizes { Self::Auto } else { self }
    }

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [
            ("auto", Self::Auto),
            ("centered", Self::Centered),
            ("row-mean", Self::RowMean),
            ("argmax", Self::Argmax),
            ("mass", Self::Mass),
            ("sizes", Self::Sizes),
        ];
        parse_choice("decision", name, &known)
    }
}

impl HarmonicParams {
    /// The form that is solved in classification: never [`Form::Auto`].
    pub(super) fn resolved_form(&self) -> Form {
        match self.form {
            Form::Auto if self.graph_reg == Some(f64::INFINITY) => Form::Stable,
            Form::Auto => Form::Plain,
            form => form,
        }
    }

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        if let Some(reg) = self.graph_reg
            && (reg.is_nan() || reg <= 0.0)
        {
            let hint = if reg == 0.0 { "; for 0, clamp the labels hard" } else { "" };
            return Err(Error::param("graph_reg", reg, format!("a number above 0, inf, or auto{hint}")));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "a number between 0 and 1"));
        }
        if self.max_iter == 0 {
            return Err(Error::param("max_iter", 0, "at least 1"));
        }
        if self.graph_reg == Some(f64::INFINITY) && self.form == Form::Plain {
            return Err(Error::param("graph_reg", "inf", "a finite number with the plain form"));
        }
        if self.clamp == Clamp::Hard && self.graph_reg.is_some() {
            return Err(Error::param(
                "graph_reg",
                "set with hard clamping",
                "auto: labels kept exactly leave nothing to weigh",
            ));
        }
        if self.clamp == Clamp::Hard && self.form == Form::Stable {
            return Err(Error::param(
                "clamp",
                "hard",
                "soft with the stable form; use form plain to keep labels exactly",
            ));
        }
        if self.decision == Decision::Mass && self.resolved_form() == Form::Stable {
            return Err(Error::param(
                "decision",
                "mass",
                "sizes with the stable form: its scores add up to zero over the rows, so that scaling them sets no size",
            ));
        }
        self.sizes.validate()?;
        self.class_prior.validate()?;
        Ok(())
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
