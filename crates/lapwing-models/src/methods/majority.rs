//! Majority: every row gets the most frequent class of the labels, with its share of them as confidence.
//!
//! It needs neither features nor a graph. A useful method must be better. Cost: O(n·c). Trust in labels weighs them.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Features, Matrix, Result, Run, Targets, Warning};
use serde_json::json;

use crate::core::calibration::{Fallback, note};
use crate::core::expected::note_expected;
use crate::core::extend::{Extend, Extension, Shape, check_columns};
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::held_out::folds::{in_turn, stratified};
use crate::core::plan::{Program, base_bytes};
use crate::core::scores::Extended;
use crate::core::stored::stored_width;
use crate::{Fitted, HeldOutFit, Method, Plan, PlanStep, Problem, ProblemSize, Rule};

/// Name of the method.
pub(crate) const MAJORITY: &str = "majority";

/// Classifier by the most frequent class.
///
/// # Example
/// ```
/// use lapwing_core::{Labels, Run, Targets};
/// use lapwing_models::baselines::Majority;
/// use lapwing_models::{Method, Problem};
///
/// let labels = Labels::from_integers([Some(7), None, Some(7), Some(5), None]);
/// let targets = Targets::one_hot(&labels, None)?;
/// let fitted = Majority.fit(&Problem::new(&targets), &Run::new(None, 0)?)?;
/// assert_eq!(fitted.labeling.labels, [1; 5]);
/// assert!((fitted.labeling.confidence[1] - 2.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Majority;

/// Rows (n, c) that all are `shares`.
fn repeated(shares: &[f64], n: usize) -> Matrix {
    let mut out = Matrix::filled(n, shares.len(), 0.0);
    out.values_mut().chunks_exact_mut(shares.len().max(1)).for_each(|row| row.copy_from_slice(shares));
    out
}

/// Gives new rows the shares of the classes, whatever their features are.
#[derive(Clone, Debug)]
pub(crate) struct MajorityExtension {
    /// Columns of the features.
    n_features: usize,
    /// Shares of the classes (c).
    shares: Vec<f64>,
}

impl MajorityExtension {
    /// The extension that [`store`](Extend::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let shares = file.vector::<f64>("shares", &[Some(n_classes)], Must::Shares)?;
        Ok(Self { n_features: stored_width(file, MAJORITY)?, shares })
    }
}

impl Extend for MajorityExtension {
    fn shape(&self) -> Shape {
        Shape { kind: MAJORITY, n_features: self.n_features, n_outputs: self.shares.len() }
    }

    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        check_columns(new, self.n_features)?;
        new.check(run)?;
        Ok(repeated(&self.shares, new.n_rows()).into())
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.clone()))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        file.meta[MAJORITY] = json!({ "n_features": self.n_features });
        file.insert("shares", &[self.shares.len()], self.shares.clone())
    }
}

impl Majority {
    /// Shares (l, c) of each labeled row, from a fit without the labels of its fold (l).
    fn shares_held_out(&self, targets: &Targets, folds: &[usize], run: &Run) -> Result<Matrix> {
        in_turn(targets, folds, &run.quiet(), |kept, fold, _| Ok(repeated(&kept.mean(), fold.held.len())))
    }
}

impl Method for Majority {
    fn name(&self) -> &'static str {
        MAJORITY
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let shares = problem.targets.mean();
        let scores = fitting.report.time("apply", run, |_| repeated(&shares, problem.targets.n_samples()));
        let extension = match problem.features {
            Some(_) => {
                Some(Arc::new(MajorityExtension { n_features: fitting.features()?.n_cols(), shares }) as Extension<'a>)
            }
            None => None,
        };
        let held_out = match stratified(problem.targets, run) {
            Some(folds) => {
                Some(Standings::of_shares(problem.targets, &self.shares_held_out(problem.targets, &folds, run)?))
            }
            None => None,
        };
        let mut fitted = fitting.decide(Arc::new(scores), None, Fallback::Shares, extension, None);
        // The scores are shares and need no temperature.
        fitted.held_out =
            held_out.map(|standings| standings.shares(&Rule { temperature: Some(1.0), ..fitted.rule.clone() }));
        note_expected(&mut fitted.report, fitted.held_out.as_ref());
        // That the labels are predicted no better than by their most frequent class goes without saying.
        fitted.report.warnings.retain(|warning| !matches!(warning, Warning::NotBetter { .. }));
        note(&mut fitted.report, problem.targets, fitted.held_out.is_some());
        Ok(fitted)
    }

    fn has_scores(&self) -> bool {
        false
    }

    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        Ok(HeldOutFit { shares: self.shares_held_out(problem.targets, folds, run)?, fitted: None })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c) = (size.n_samples, size.n_classes.max(2));
        let base = base_bytes(Program::Search, size);
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        let steps = vec![step("apply", 8 * n * c), step("decide", 2 * 8 * n * c + 48 * n)];
        // Features are read to check them.
        Plan::from_steps(Program::Search, n, 0, 1, steps)
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{ClassNames, Labels, Scaling};

    use super::*;
    use crate::Classifier;
    use crate::core::held_out::folds::NEVER;

    #[test]
    fn every_row_has_the_shares_of_the_labels() {
        let run = Run::new(Some(2), 0).unwrap();
        let labels = Labels::from_integers([Some(0), Some(1), Some(1), None, Some(1), Some(0)]);
        let targets = Targets::one_hot(&labels, None).unwrap();
        let bare = Majority.fit(&Problem::new(&targets), &run).unwrap();
        assert!(bare.extension.is_none() && bare.labeling.labels == [1; 6]);
        assert!(bare.labeling.label_distributions.rows().all(|row| (row[1] - 0.6).abs() < 1e-12));
        // Trust weighs the labels.
        let trusted = Targets::one_hot(&labels, Some(&[4.0, 1.0, 1.0, 1.0, 1.0, 1.0])).unwrap();
        assert_eq!(Majority.fit(&Problem::new(&trusted), &run).unwrap().labeling.labels, [0; 6]);
        let held = Majority.shares_held_out(&targets, &[0, 0, 1, 1, NEVER], &run).unwrap();
        assert_eq!(held.row(0), [1.0 / 3.0, 2.0 / 3.0]);
        assert_eq!(held.row(2), [2.0 / 3.0, 1.0 / 3.0]);
        assert!(held.row(4)[0].is_nan());
    }

    #[test]
    fn a_model_gives_the_shares_to_new_rows() {
        let run = Run::new(Some(2), 0).unwrap();
        let targets = Targets::one_hot(&Labels::from_integers([Some(0), Some(1), Some(1)]), None).unwrap();
        let features = Features::from_f32(3, 2, vec![0.0; 6]).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let fitted = Majority.fit(&problem, &run).unwrap();
        let path = tempfile::tempdir().unwrap().keep().join("model.lapwing");
        let model = Classifier {
            method: MAJORITY.into(),
            classes: ClassNames::Integers(vec![3, 5]),
            scaling: Scaling::None,
            rule: fitted.rule,
            extension: fitted.extension.unwrap(),
        };
        model.to_file().unwrap().save(&path).unwrap();
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
        let labeling = loaded.predict(&features, &run).unwrap();
        assert_eq!(labeling.label_distributions, fitted.labeling.label_distributions);
        let narrow = loaded.predict(&Features::from_f32(1, 1, vec![0.0]).unwrap(), &run).unwrap_err();
        assert_eq!(narrow.to_string(), "features has 1 columns; expected 2 columns");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
