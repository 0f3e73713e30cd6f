//! Scaling of features before a fit, and of new rows in the same way: none, standardized columns, or TF-IDF of term counts.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::text::times;
use crate::tfidf::{look_like_counts, look_like_terms};
use crate::{Error, Features, Report, Result, Run, Spreads, Standardizer, Tfidf, Warning, choices};

choices! {
    /// Whether columns are scaled.
    pub enum Standardize("standardize", default Auto) {
        /// To one width, if they are in units so different that a few columns decide every distance.
        Auto = "auto",
        /// To mean 0 and standard deviation 1.
        On = "on",
        /// They are not.
        Off = "off",
    }
}

choices! {
    /// Whether counts of terms are weighed by how rare each term is (TF-IDF).
    pub enum TermWeights("tfidf", default Off) {
        /// They are not.
        Off = "off",
        /// They are.
        On = "on",
        /// If sparse rows look like counts of terms: whole numbers, not all of them 0 or 1.
        Counts = "counts",
        /// If sparse rows look like counts of terms, or tell which of many terms they hold.
        Auto = "auto",
    }
}

/// How features are scaled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Scaling {
    /// They are left as they are.
    #[default]
    None,
    /// Columns to mean 0, and to standard deviation 1 or to one width.
    Standardize(Standardizer),
    /// Counts of terms by TF-IDF.
    Tfidf(Tfidf),
}

/// A scaling with the reason for it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FittedScaling {
    /// The scaling.
    pub scaling: Scaling,
    /// How many times the largest spread of a column is the smallest, if auto standardizes because of it.
    pub ratio: Option<f64>,
    /// Whether rows are weighed because they look like counts of terms.
    pub is_own_choice: bool,
    /// What to look at where features were left as they are.
    pub warning: Option<Warning>,
}

impl Scaling {
    /// Finds the scaling of `features` (n, d), which [`Features::check`] accepts. Sparse rows are never standardized by auto.
    ///
    /// # Errors
    /// [`Error::Param`] for standardizing and TF-IDF together; as [`Standardizer::fit`] and [`Tfidf::fit`].
    ///
    /// # Complexity
    /// Auto sorts each column of a sample of up to 4096 rows; standardizing reads the features twice.
    pub fn fit(
        features: &Features<'_>,
        standardize: Standardize,
        tfidf: TermWeights,
        run: &Run,
    ) -> Result<FittedScaling> {
        let is_weighed = match tfidf {
            TermWeights::Off => false,
            TermWeights::On => true,
            TermWeights::Counts => standardize == Standardize::Auto && look_like_counts(features),
            TermWeights::Auto => standardize == Standardize::Auto && look_like_terms(features),
        };
        match standardize {
            Standardize::On if is_weighed => {
                Err(Error::param("tfidf", true, "either TF-IDF or standardizing: weights of terms have one scale"))
            }
            _ if is_weighed => Ok(FittedScaling {
                is_own_choice: tfidf != TermWeights::On,
                ..Self::Tfidf(Tfidf::fit(features)?).into()
            }),
            Standardize::On => Ok(Self::Standardize(Standardizer::fit(features, run)?).into()),
            Standardize::Off => Ok(Self::None.into()),
            Standardize::Auto => Self::suggested(features, run),
        }
    }

    /// The scaling that auto takes.
    fn suggested(features: &Features<'_>, run: &Run) -> Result<FittedScaling> {
        let left = |warning| FittedScaling { warning, ..FittedScaling::default() };
        let dense = match features {
            Features::Sparse(_) => return Ok(left(look_like_counts(features).then_some(Warning::TermCounts {}))),
            Features::Dense(dense) => dense,
        };
        let Some(Spreads { ratio, decide, .. }) = Spreads::of(dense, run).filter(|spreads| spreads.differ) else {
            return Ok(left(None));
        };
        if !decide {
            return Ok(left(Some(Warning::UnequalSpreads { ratio })));
        }
        match Standardizer::by_width(features, run) {
            Ok(standardizer) => Ok(FittedScaling { ratio: Some(ratio), ..Self::Standardize(standardizer).into() }),
            // A column whose squares underflow: auto leaves what it cannot scale.
            Err(Error::Value { .. }) => Ok(left(None)),
            Err(error) => Err(error),
        }
    }

    /// A warning for `features` that a method takes as they are, if scaling them may change the labels.
    pub fn doubt(features: &Features<'_>, run: &Run) -> Option<Warning> {
        if look_like_counts(features) {
            return Some(Warning::TermCounts {});
        }
        let spreads = Spreads::of_features(features, run).filter(|spreads| spreads.differ)?;
        let Spreads { ratio, widest, decide, .. } = spreads;
        Some(Warning::UnscaledColumns { ratio, widest, decide })
    }

    /// The scaled rows; `None` if rows are left as they are.
    ///
    /// # Errors
    /// As [`Standardizer::apply`] and [`Tfidf::apply`].
    pub fn apply(&self, features: &Features<'_>, run: &Run) -> Result<Option<Features<'static>>> {
        match self {
            Self::None => Ok(None),
            Self::Standardize(standardizer) => standardizer.apply(features, run).map(Some),
            Self::Tfidf(tfidf) => tfidf.apply(features).map(Some),
        }
    }

    /// Whether rows are left as they are.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl From<Scaling> for FittedScaling {
    fn from(scaling: Scaling) -> Self {
        Self { scaling, ..Self::default() }
    }
}

impl FittedScaling {
    /// What was scaled and why, in words; `None` if nothing was.
    pub fn text(&self) -> Option<String> {
        match (&self.scaling, self.ratio) {
            (Scaling::None, _) => None,
            (Scaling::Tfidf(_), _) => {
                let reason = if self.is_own_choice { ", because they look like counts of terms" } else { "" };
                Some(format!("counts of terms by TF-IDF, rows to unit length{reason}"))
            }
            (Scaling::Standardize(standardizer), ratio) => {
                let n = standardizer.mean.len();
                Some(match ratio {
                    None => format!("{n} columns to mean 0 and deviation 1"),
                    Some(ratio) => {
                        format!(
                            "{n} columns to one width, because their spreads differ by up to {} times",
                            times(ratio)
                        )
                    }
                })
            }
        }
    }

    /// Adds scaling and warning to a report.
    pub fn describe(&self, report: &mut Report) {
        if let Some(text) = self.text() {
            let kind = if matches!(self.scaling, Scaling::Tfidf(_)) { "tfidf" } else { "standardize" };
            report.parts.insert("scaling".into(), json!({"kind": kind, "ratio": self.ratio, "text": text}));
        }
        report.warnings.extend(self.warning.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    fn run() -> Run {
        Run::new(Some(2), 0).unwrap()
    }

    /// Forty rows of a column below 1 and one in thousands.
    fn units() -> Features<'static> {
        let value =
            |at: usize| if at.is_multiple_of(2) { (at * 7 % 40) as f64 / 40.0 } else { (at * 3 % 40) as f64 * 200.0 };
        Features::from_f64(40, 2, (0..80).map(value).collect()).unwrap()
    }

    #[test]
    fn auto_standardizes_units_and_says_so() {
        let fitted = Scaling::fit(&units(), Standardize::Auto, TermWeights::Off, &run()).unwrap();
        assert_eq!(fitted.scaling, Scaling::Standardize(Standardizer::by_width(&units(), &run()).unwrap()));
        let text = "2 columns to one width, because their spreads differ by up to 8,000 times";
        assert_eq!(fitted.text().as_deref(), Some(text));
        let mut report = Report::default();
        fitted.describe(&mut report);
        assert_eq!(report.parts["scaling"]["kind"], "standardize");
        let on = Scaling::fit(&units(), Standardize::On, TermWeights::Off, &run()).unwrap();
        assert_eq!(on.text().as_deref(), Some("2 columns to mean 0 and deviation 1"));
        let off = Scaling::fit(&units(), Standardize::Off, TermWeights::Off, &run()).unwrap();
        assert!(off == FittedScaling::default() && off.scaling.apply(&units(), &run()).unwrap().is_none());
        // A column whose squares underflow cannot be standardized: auto leaves all, on says why.
        let tiny: Vec<f64> =
            (0..80).map(|at| if at % 2 == 0 { f64::from(at) } else { 1e-200 * f64::from(at) }).collect();
        let tiny = Features::from_f64(40, 2, tiny).unwrap();
        assert!(Scaling::fit(&tiny, Standardize::Auto, TermWeights::Off, &run()).unwrap().scaling.is_none());
        assert!(Scaling::fit(&tiny, Standardize::On, TermWeights::Off, &run()).is_err());
    }

    #[test]
    fn doubtful_units_and_counts_are_left_with_a_warning() {
        // Three columns, one of which is twenty times as wide as the median.
        let value = |at: usize| (at / 3 * 7 % 40) as f64 * [1.0, 20.0, 0.9][at % 3];
        let doubtful = Features::from_f64(40, 3, (0..120).map(value).collect()).unwrap();
        let fitted = Scaling::fit(&doubtful, Standardize::Auto, TermWeights::Off, &run()).unwrap();
        assert!(
            fitted.scaling.is_none() && matches!(fitted.warning, Some(Warning::UnequalSpreads { .. })),
            "{fitted:?}"
        );
        let counts = Features::Sparse(Csr::from_entries(2, 2, &[(0, 0, 3.0), (1, 1, 1.0)]).unwrap().into());
        let fitted = Scaling::fit(&counts, Standardize::Auto, TermWeights::Off, &run()).unwrap();
        assert!(fitted.scaling.is_none() && fitted.warning == Some(Warning::TermCounts {}));
        let fitted = Scaling::fit(&counts, Standardize::Auto, TermWeights::On, &run()).unwrap();
        assert!(matches!(fitted.scaling, Scaling::Tfidf(_)) && fitted.warning.is_none());
        // A method that takes rows as they are says so in both cases, and of columns in units.
        assert_eq!(Scaling::doubt(&counts, &run()), Some(Warning::TermCounts {}));
        let told = |features: &Features<'_>| Scaling::doubt(features, &run()).unwrap().to_string();
        assert!(
            told(&doubtful).contains("up to 22 times") && told(&doubtful).contains("column 1 has the largest; on such")
        );
        assert!(told(&units()).contains("column 1 has the largest and decides"), "{}", told(&units()));
        assert_eq!(Scaling::doubt(&Features::from_f64(40, 1, vec![1.0; 40]).unwrap(), &run()), None);
        // 0 and 1 tell which of many terms a row holds; they are no counts.
        let presence = Features::Sparse(Csr::from_entries(2, 600, &[(0, 0, 1.0), (1, 1, 1.0)]).unwrap().into());
        for (features, tfidf, is_weighed) in [
            (&counts, TermWeights::Counts, true),
            (&counts, TermWeights::Auto, true),
            (&presence, TermWeights::Counts, false),
            (&presence, TermWeights::Auto, true),
        ] {
            let fitted = Scaling::fit(features, Standardize::Auto, tfidf, &run()).unwrap();
            assert_eq!((!fitted.scaling.is_none(), fitted.is_own_choice), (is_weighed, is_weighed), "{tfidf:?}");
        }
        assert!(
            Scaling::fit(&counts, Standardize::On, TermWeights::On, &run()).unwrap_err().to_string().contains("either")
        );
    }
}
