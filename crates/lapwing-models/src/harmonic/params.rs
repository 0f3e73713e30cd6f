//! Parameters of the harmonic methods.

use lapwing_data::{Error, Result, parse_choice};
use serde::{Deserialize, Serialize};

/// Which harmonic function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Stable-HFS: zero mean over all rows (Calandriello et al. 2015). The default; works with very few labels.
    #[default]
    Stable,
    /// Plain HFS (Belkin et al. 2004), or Zhu's harmonic function when clamped hard.
    Plain,
    /// Chosen by cross-validation over the labeled rows: where each class has at least 5 of them, or a regression 5 values; else
    /// stable.
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
    /// Largest score above the labeled mean.
    #[default]
    Centered,
    /// Largest score.
    Argmax,
    /// Largest score after class mass normalisation to the prior.
    Mass,
}

/// Class prior: what rows no label reaches are given, and what the mass decision aims at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassPrior {
    /// Frequencies of the given labels.
    #[default]
    Labeled,
    /// Shares of the classes in class order, positive; normalised to sum 1.
    Given(Vec<f64>),
}

/// Parameters of the harmonic methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarmonicParams {
    /// γ, weight of fᵀLf against the label term, > 0; infinity drops the label term (f = L⁺ỹ). `None` ("auto"),
    /// in units of 1 / mean weighted degree: stable, 1 / (mean labels per class), or 0.1 in regression; plain, 0.01.
    pub graph_reg: Option<f64>,
    /// Which harmonic function; default stable. In a regression take auto ([`HarmonicParams::of_regression`]).
    pub form: Form,
    /// Clamping; default soft.
    pub clamp: Clamp,
    /// Decision rule; default centered.
    pub decision: Decision,
    /// Class prior; default the labeled frequencies.
    pub class_prior: ClassPrior,
    /// Relative residual at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations of the solver; default 10,000.
    pub max_iter: usize,
}

impl Default for HarmonicParams {
    fn default() -> Self {
        Self {
            graph_reg: None,
            form: Form::default(),
            clamp: Clamp::default(),
            decision: Decision::default(),
            class_prior: ClassPrior::default(),
            tol: 1e-6,
            max_iter: 10_000,
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
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [("centered", Self::Centered), ("argmax", Self::Argmax), ("mass", Self::Mass)];
        parse_choice("decision", name, &known)
    }
}

impl HarmonicParams {
    /// The defaults of a regression: form and γ by cross-validation over the known values.
    pub fn of_regression() -> Self {
        Self { form: Form::Auto, ..Self::default() }
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
        if let ClassPrior::Given(prior) = &self.class_prior
            && let Some(bad) = prior.iter().find(|p| !(**p > 0.0 && p.is_finite()))
        {
            return Err(Error::param("class_prior", bad, "positive shares, one per class"));
        }
        Ok(())
    }
}

impl ClassPrior {
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
