//! Linear: multinomial logistic regression on the labeled rows.
//!
//! With x̄ the mean of the labeled rows and s² their mean squared distance from it:
//!
//! ```text
//! min over W, b of Σ mᵢ·(logsumexp zᵢ − yᵢᵀzᵢ) + (ρ/2)·(‖W‖² + ‖b‖²),   zᵢ = Wᵀ(xᵢ − x̄)/s + b
//! ```
//!
//! m is the trust in a label, y one-hot or shares. s makes ρ independent of the units of the features; columns keep their relative
//! scale. ρ is chosen by cross-validation on the labeled rows if every class has five labels (`select.rs`), and is 0.01 otherwise.
//! With five labels a class, the temperature of the decision is fitted to the rows held out; otherwise it is 1.
//!
//! Scores are z: logarithms of shares, up to a constant of the row.
//!
//! Cost: l ≤ 1,024 labeled rows of more columns are reduced to l coordinates (`rows.rs`), O(l²·d + l³) once; sparse rows take
//! O(l·entries) instead of l²·d. A fit then takes O(l·min(l, d)·c) for each of some ten L-BFGS steps, and up to 25 fits choose ρ. New
//! rows: O(n·d·c). Memory 8·l·d bytes. Parallel over folds, blocks of rows and columns, added in order.
//!
//! Unlabeled rows are not used: take [`Harmonic`](crate::Harmonic) where they form clusters.

mod fit;
mod rows;
mod select;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::params::{Parameters, above};
use lapwing_core::{Features, Matrix, Result, Run, Targets, parameters};

use self::fit::{Limits, Rows};
use self::rows::Design;
use self::select::{CANDIDATES, DEFAULT, Folds, Ridge};
use crate::core::calibration::{Fallback, as_decided};
use crate::core::counts::{has_each, label_classes};
use crate::core::extend::{Extend, Extension, Shape};
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::held_out::choosing::note_values;
use crate::core::held_out::folds::{Dealing, FOLDS, dealt, enough, stratified};
use crate::core::plan::{Program, base_bytes, double_panels};
use crate::core::scores::{Extended, softmax};
use crate::maps::{Layers, Loss, NodeLoss};
use crate::{Fitted, HeldOutFit, Method, Plan, PlanStep, Problem, ProblemSize};

/// Name of the method.
pub(crate) const LINEAR: &str = "linear";
/// Fewest labels of each class by which ρ is chosen.
const FEWEST_LABELS: usize = 5;

/// When the fit stops: at this suboptimality (ℓ − ℓ*)/ℓ*, as bounded by its gradient, usually after some ten steps.
const LIMITS: Limits = Limits { tol: 1e-3, max_iter: 1000 };

parameters! {
    /// Parameters of the linear model.
    pub struct LinearParams {
        /// Weight ρ of the squared norm of the coefficients, (ρ/2)·‖W‖², beside the sum of the losses, for features in units of
        /// their spread. Auto is the best of 1, 0.1, 0.01, 0.001 and 0.0001 for labels that are held out, and 0.01 if a class has
        /// fewer than five labels.
        l2_reg: Option<f64> = None, or "auto", in above(0.0);
    }
}

/// Linear classifier: parameters, checked.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::baselines::{Linear, LinearParams};
/// use lapwing_models::{Method, Problem};
///
/// let features = Features::from_f32(4, 1, vec![0.0, 0.4, 0.7, 1.0])?;
/// let labels = Labels::from_integers([Some(0), None, None, Some(1)]);
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let fitted = Linear::new(LinearParams::default())?.fit(&problem, &Run::new(None, 0)?)?;
/// assert_eq!(fitted.labeling.labels, [0, 0, 1, 1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    params: LinearParams,
}

impl Linear {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming a parameter outside its range.
    pub fn new(params: LinearParams) -> Result<Self> {
        params.check_ranges()?;
        Ok(Self { params })
    }

    /// ρ, and the trials by which it was chosen, the chosen one first; none if there is nothing to hold out. `folds` (l) are folds to
    /// hold out in any case; otherwise five are, if every class has labels enough.
    fn ridge(&self, rows: &Rows, targets: &Targets, folds: Option<&[usize]>, run: &Run) -> Result<(f64, Vec<Ridge>)> {
        let ridge = self.params.l2_reg.unwrap_or(CANDIDATES[DEFAULT]);
        let Some(all) = folds.map(<[usize]>::to_vec).or_else(|| stratified(targets, run)) else {
            return Ok((ridge, Vec::new()));
        };
        let few = enough(all.clone());
        let whole = if folds.is_some() { &all } else { &few };
        let of = |folds| Folds { rows, targets, folds };
        if self.params.l2_reg.is_some() || !has_each(targets, FEWEST_LABELS) {
            return Ok((ridge, vec![of(whole).trial(ridge, None, run)?]));
        }
        let mut trials = of(&few).compare(run)?;
        let ridge = trials[0].candidate;
        if few != *whole {
            trials[0] = of(whole).trial(ridge, None, run)?;
        }
        Ok((ridge, trials))
    }

    /// The labeled rows in the form that is fitted; for targets that cross-entropy accepts.
    fn design(&self, features: &Features<'_>, targets: &Targets, run: &Run) -> Result<Design> {
        Loss::check(NodeLoss::CrossEntropy, targets)?;
        Design::new(features, targets.rows(), run)
    }

    /// Shares (l, c) of each labeled row, by fits without the labels of its fold (l); NaN for labels that are never held
    /// out.
    fn shares_held_out(&self, problem: &Problem<'_, '_>, folds: &[usize], run: &Run) -> Result<Matrix> {
        let design = self.design(problem.required_features(LINEAR)?, problem.targets, run)?;
        let (_, mut trials) = self.ridge(&design.rows, problem.targets, Some(folds), run)?;
        Ok(to_shares(trials.swap_remove(0).found.scores))
    }
}

/// Shares (n, c) of the classes by the linear model, as a prior for other methods. A labeled row gets them from a model that did not
/// see its label, if every class has two labels.
///
/// # Errors
/// Those of a fit.
pub fn linear_prior(features: &Features<'_>, targets: &Targets, run: &Run) -> Result<Matrix> {
    let linear = Linear::new(LinearParams::default())?;
    let problem = Problem { features: Some(features), ..Problem::new(targets) };
    let mut shares = linear.fit(&problem, run)?.labeling.label_distributions;
    if has_each(targets, 2) {
        let folds = dealt(&label_classes(targets), targets.n_columns(), FOLDS, Dealing::On, run);
        let held = linear.held_out(&problem, &folds, run)?.shares;
        for (&row, held) in targets.rows().iter().zip(held.rows()) {
            shares.row_mut(row as usize).copy_from_slice(held);
        }
    }
    Ok(shares)
}

/// The shares of scores, e^z/Σe^z.
fn to_shares(mut scores: Matrix) -> Matrix {
    (0..scores.n_rows()).for_each(|row| softmax(scores.row_mut(row), 1.0));
    scores
}

/// A linear function of the features.
#[derive(Clone, Debug)]
pub(crate) struct LinearExtension(Layers);

impl LinearExtension {
    /// The extension that [`store`](Extend::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let output = file.matrix("coefficients", [None, Some(n_classes)], Must::Finite)?;
        if output.n_rows() < 2 {
            return Err(file.error("its coefficients are missing"));
        }
        Ok(Self(Layers { hidden: None, output, bias: true, center: Vec::new() }))
    }
}

impl Extend for LinearExtension {
    fn shape(&self) -> Shape {
        Shape { kind: LINEAR, n_features: self.0.n_features(), n_outputs: self.0.output.n_cols() }
    }

    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        self.0.outputs(new, run).map(Extended::from)
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.clone()))
    }

    /// Coefficients (d + 1, c), the constants in the last row.
    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let output = &self.0.output;
        file.insert("coefficients", &[output.n_rows(), output.n_cols()], output.values().to_vec())
    }
}

impl Method for Linear {
    fn name(&self) -> &'static str {
        LINEAR
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let (features, targets) = (fitting.features()?, problem.targets);
        let report = &mut fitting.report;
        let design = report.time("reduce", run, |_| self.design(features, targets, run))?;
        let (ridge, trials) = report.time("select", run, |_| self.ridge(&design.rows, targets, None, run))?;
        if self.params.l2_reg.is_none() {
            if trials.len() > 1 {
                note_values("l2_reg", &trials, report);
            }
            report.choose("l2_reg", ridge);
        }
        let (weights, trace) = report.time("solve", run, |_| design.rows.fit(targets, ridge, LIMITS, None, run))?;
        let held_out =
            trials.first().map(|trial| Standings::of_shares(targets, &to_shares(trial.found.scores.clone())));
        let layers = design.layers(&weights, run)?;
        report.solve = Some(trace.summary("l-bfgs"));
        trace.note_unconverged(LIMITS.tol, "raise l2_reg", report);
        let scores = report.time("apply", run, |_| layers.outputs(features, run))?;
        Ok(fitting.decide(Arc::new(scores), held_out, Fallback::One, Some(Arc::new(LinearExtension(layers))), None))
    }

    /// ρ is chosen by the same folds.
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        let shares = self.shares_held_out(problem, folds, run)?;
        Ok(HeldOutFit { shares: run.install(|| as_decided(&shares, problem.targets)), fitted: None })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c, l) = (size.n_samples, size.n_classes.max(2), size.n_labeled.max(1));
        let base = base_bytes(Program::Search, size) + double_panels(size);
        let labeled = size.input_bytes / n.max(1) * l;
        let is_small = l <= size.n_features.min(rows::MOST_ROWS);
        // The rows, and either their products with eigenvectors, or the folds' own copies.
        let own = match (is_small, size.sparse) {
            (true, true) => 5 * 8 * l * l,
            (true, false) => 8 * l * size.n_features + 5 * 8 * l * l,
            (false, true) => 4 * labeled,
            (false, false) => 2 * 4 * l * size.n_features,
        };
        let weights = 8 * c * if is_small { l } else { size.n_features + 1 };
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        let applied = if size.sparse { size.input_bytes } else { 8 * 512 * size.n_features * size.threads };
        let steps = vec![
            step("reduce", labeled + own),
            step("select", labeled + own + fit::KEPT_WEIGHTS * weights),
            step("solve", labeled + own + fit::KEPT_WEIGHTS * weights),
            step("apply", applied + 8 * n * c),
            step("decide", 2 * 8 * n * c + 48 * n),
        ];
        // Features are read to check and to label them.
        Plan::from_steps(Program::Search, n, 0, 2, steps)
    }
}
