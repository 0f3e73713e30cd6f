//! A fit on given rows as a sequence of phases: kernel, smooth, select, solve. This file decides which phases a fit needs; each
//! states its own cost.

use lapwing_core::{Error, Features, Matrix, Report, Result, Run, SolveSummary, Targets, Warning};
use serde_json::json;

use super::basis::{Basis, Storage, has_few_weights};
use super::dual::dual;
use super::extension::KernelExtension;
use super::gram::{Factor, Gram};
use super::kernel::Kernel;
use super::loss::{Loss, LossKind};
use super::newton::{Resolvent, Space, Weights, newton};
use super::objective::{Objective, Solution};
use super::params::{KernelKind, KernelLandmarks, KernelSolver, LapSvmParams, MOST_WEIGHTS, Stopping};
use super::select::{LeftOut, Question, Regs, Units, errors_as_given, is_small, select, without_folds};
use super::smoothness::Smoothness;
use super::stopping::Rule;
use super::{FitOptions, pcg, validation};
use crate::core::counts::has_each;
use crate::core::parts::rows_beside;
use crate::core::uncertainty::FEWEST;

/// Most rows for which Newton's method, by factorization, is the default solver.
const NEWTON_ROWS: usize = 3000;
/// Default γ_A, as a share of the mean of k(x, x). On digits, objects, letters and clouds with one to three labels of a class,
/// 1e-2 was up to ten points less accurate.
const TYPICAL_AMBIENT: f64 = 1e-4;
/// Labels that each class needs before they are used to choose γ_A and γ_I.
const LABELS_PER_CLASS: usize = 2;

/// The solver of a fit, never auto.
pub(super) fn chosen_solver(params: &LapSvmParams, storage: Storage, n: usize, d: usize) -> KernelSolver {
    match (params.solver, storage) {
        (KernelSolver::Auto, Storage::Landmarks(_)) => KernelSolver::Newton,
        (KernelSolver::Auto, Storage::Features) if d <= NEWTON_ROWS => KernelSolver::Newton,
        (KernelSolver::Auto, Storage::Tiles(_)) if n <= NEWTON_ROWS => KernelSolver::Newton,
        (KernelSolver::Auto, _) => KernelSolver::Cg,
        (solver, _) => solver,
    }
}

/// A method and the rows it is fitted on.
pub(super) struct Machine<'m, 'a> {
    pub params: &'m LapSvmParams,
    pub loss: LossKind,
    pub features: &'m Features<'a>,
    pub smoothness: Option<&'m Smoothness<'m>>,
    pub is_regression: bool,
}

impl<'a> Machine<'_, 'a> {
    /// Scores of the rows (n, c), the extension to other rows, and what was chosen and found of labeled rows without their labels.
    pub fn train(
        &self,
        targets: &Targets,
        options: &FitOptions<'_, '_>,
        folds: Option<&[usize]>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Matrix, KernelExtension<'a>, LeftOut)> {
        let params = self.params;
        let basis = report.time("kernel", run, |_| Basis::new(params, self.features, targets.rows(), run))?;
        self.note(&basis, report);
        let solver = chosen_solver(params, basis.storage, self.features.n_rows(), self.features.n_cols());
        let smooth_gram = self.smooth_gram(&basis, solver, report, run)?;
        let ((ambient_reg, graph_reg), left_out) =
            self.select(&basis, smooth_gram.as_ref(), targets, folds, report, run)?;
        // The norm is not to act on the mean of the values.
        let mean = if self.is_regression && !params.bias { targets.mean()[0] } else { 0.0 };
        let centered = if mean == 0.0 { targets.clone() } else { targets.shifted(mean)? };
        let objective = Objective {
            gram: &basis.gram,
            smoothness: self.smoothness,
            labeled: targets.rows(),
            ambient_reg,
            graph_reg,
            has_bias: params.bias,
        };
        let is_by_set = matches!(params.stopping, Stopping::Validation | Stopping::Mixed);
        if options.validation.is_some() && !(solver == KernelSolver::Cg && is_by_set) {
            let (solver, stopping) = (solver.name(), params.stopping.name());
            report.warnings.push(Warning::UnusedValidation { solver, stopping });
        }
        let (solutions, fitted) = report.time("solve", run, |_| -> Result<_> {
            match solver {
                KernelSolver::Cg => self.iterate(&objective, &basis, &centered, options, run),
                _ => Ok((self.factor(&objective, smooth_gram, &centered, solver, run)?, centered.clone())),
            }
        })?;
        let bias: Vec<f64> = solutions.iter().map(|solution| solution.bias + mean).collect();
        let objective = Objective { labeled: fitted.rows(), ..objective };
        self.summarize(&objective, &basis, solver, &fitted, &solutions, report)?;
        let expansion = basis.expansion(self.features, &solutions, run)?;
        let (n, k) = (self.features.n_rows(), solutions.len());
        let extension = KernelExtension::new(expansion, bias, targets.n_columns());
        let mut values = vec![0.0; n * k];
        for (at, (solution, bias)) in solutions.iter().zip(extension.bias()).enumerate() {
            let out = values[at..].iter_mut().step_by(k);
            out.zip(&solution.values).for_each(|(out, value)| *out = value + bias);
        }
        Ok((extension.scores(&values, n), extension, left_out))
    }

    /// ZᵀL^pZ (r, r) of a factor Z, if the solver or the choice of γ_A and γ_I needs it.
    fn smooth_gram(
        &self,
        basis: &Basis<'_>,
        solver: KernelSolver,
        report: &mut Report,
        run: &Run,
    ) -> Result<Option<Matrix>> {
        let (Gram::Factor(factor), Some(smoothness)) = (&basis.gram, self.smoothness) else { return Ok(None) };
        let is_open = self.params.ambient_reg.is_none() || self.params.graph_reg.is_none();
        let is_taken = solver != KernelSolver::Cg || (is_open && is_small(factor));
        if !(has_few_weights(factor) && is_taken) {
            return Ok(None);
        }
        let smooth = report.time_steps("smooth", factor.rank() as u64, run, |_| {
            factor.smooth_gram(smoothness, run, |done| run.progress().update(done as u64, ""))
        });
        smooth.map(Some)
    }

    /// Records the choices made for the kernel.
    fn note(&self, basis: &Basis<'_>, report: &mut Report) {
        let (params, n_samples) = (self.params, self.features.n_rows());
        if let (Some(Kernel::Rbf { bandwidth }), None) = (basis.kernel, params.bandwidth) {
            report.choose("bandwidth", bandwidth);
        }
        if let (Storage::Landmarks(count), KernelLandmarks::Auto) = (basis.storage, params.n_landmarks) {
            report.choose("n_landmarks", count);
            if params.kernel != KernelKind::LowRank {
                report.warnings.push(Warning::ApproximateKernel { n_samples, n_landmarks: count });
            }
        }
        if basis.storage == Storage::Blocks {
            report.warnings.push(Warning::GramAnew { n_samples });
        }
    }

    /// γ_A and γ_I, given, chosen, or the defaults; and what leaving labels out found.
    fn select(
        &self,
        basis: &Basis<'_>,
        smooth_gram: Option<&Matrix>,
        targets: &Targets,
        folds: Option<&[usize]>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Regs, LeftOut)> {
        let params = self.params;
        let scale = if basis.scale > 0.0 { basis.scale } else { 1.0 };
        let units = Units { ambient: scale, graph: targets.rows().len() as f64 / self.features.n_rows() as f64 };
        let graph_reg = if self.smoothness.is_none() { Some(0.0) } else { params.graph_reg };
        let default = (params.ambient_reg.unwrap_or(TYPICAL_AMBIENT * units.ambient), graph_reg.unwrap_or(units.graph));
        let question = Question {
            gram: &basis.gram,
            smoothness: self.smoothness,
            smooth_gram,
            targets,
            has_bias: params.bias,
            is_regression: self.is_regression,
            units,
            given: (params.ambient_reg, graph_reg),
            default,
        };
        let is_given = params.ambient_reg.is_some() && graph_reg.is_some();
        let (regs, mut left_out) = match !is_given && self.has_labels_enough(targets) {
            true => report.time("select", run, |report| select(&question, report, run))?,
            false => (default, LeftOut::default()),
        };
        // Nothing to choose: values are left out for the intervals alone.
        if is_given && self.is_regression && targets.rows().len() >= FEWEST {
            left_out.errors = report.time("leave one out", run, |_| errors_as_given(&question, run))?;
        }
        if let Some(folds) = folds {
            left_out.folded = Some(without_folds(&question, regs, folds, run)?);
        }
        if params.ambient_reg.is_none() {
            report.choose("ambient_reg", regs.0);
        }
        if graph_reg.is_none() {
            report.choose("graph_reg", regs.1);
        }
        Ok((regs, left_out))
    }

    fn has_labels_enough(&self, targets: &Targets) -> bool {
        if self.is_regression {
            return targets.rows().len() >= 5;
        }
        has_each(targets, LABELS_PER_CLASS)
    }

    /// Solves by one factorization, followed by Newton's method or the dual.
    fn factor(
        &self,
        objective: &Objective<'_>,
        smooth_gram: Option<Matrix>,
        targets: &Targets,
        solver: KernelSolver,
        run: &Run,
    ) -> Result<Vec<Solution>> {
        let losses = Loss::problems(targets, self.loss, self.is_regression);
        let labeled = targets.rows();
        let (resolvent, factor) = match objective.gram {
            Gram::Matrix(matrix) => {
                check_memory(matrix.n(), labeled.len(), objective.smoothness.is_some())?;
                (Resolvent::new(objective, run)?, None)
            }
            Gram::Factor(factor) => {
                if !has_few_weights(factor) {
                    let expected = format!("cg for features of more than {MOST_WEIGHTS} columns");
                    return Err(Error::param("solver", solver.name(), expected));
                }
                let norm = norm_of(factor.rank(), smooth_gram, objective);
                let z = factor.rows(labeled);
                if solver == KernelSolver::Newton && labeled.len() > factor.rank() {
                    let space = Weights { norm: &norm, z: &z };
                    return losses.iter().map(|loss| self.newton_on(&space, None, objective, loss, run)).collect();
                }
                (Resolvent::from_factor(&norm, z, run)?, Some(factor))
            }
        };
        let solve = |loss: &Loss| -> Result<Solution> {
            if solver != KernelSolver::Dual {
                return self.newton_on(&resolvent.q, Some(&resolvent), objective, loss, run);
            }
            let found = dual(&resolvent.q, loss, objective.has_bias, self.params.tol.sqrt(), run)?;
            let coefficients = resolvent.coefficients(&found.rho);
            let values = values(objective.gram, factor, &coefficients, run)?;
            Ok(found.solution(coefficients, factor.is_none(), values))
        };
        losses.iter().map(solve).collect()
    }

    fn newton_on(
        &self,
        space: &dyn Space,
        resolvent: Option<&Resolvent>,
        objective: &Objective<'_>,
        loss: &Loss,
        run: &Run,
    ) -> Result<Solution> {
        let mut found = newton(space, loss, objective.has_bias, objective.labeled.len(), run)?;
        let c = std::mem::take(&mut found.c);
        let coefficients = match resolvent {
            Some(resolvent) => resolvent.coefficients(&c),
            None => c,
        };
        let factor = if let Gram::Factor(factor) = objective.gram { Some(factor) } else { None };
        let values = values(objective.gram, factor, &coefficients, run)?;
        Ok(found.solution(coefficients, factor.is_none(), values))
    }

    /// Solves by conjugate gradients; also returns the fitted targets, without those that were held out.
    fn iterate(
        &self,
        objective: &Objective<'_>,
        basis: &Basis<'_>,
        targets: &Targets,
        options: &FitOptions<'_, '_>,
        run: &Run,
    ) -> Result<(Vec<Solution>, Targets)> {
        let params = self.params;
        let n = objective.gram.n();
        // Signs of a regression mean nothing, so stable signs cannot stop it.
        let kind = if self.is_regression { Stopping::Gradient } else { params.stopping };
        let needs_validation = matches!(kind, Stopping::Validation | Stopping::Mixed);
        let (fitted, validation) = match options.validation {
            Some(set) if needs_validation => {
                (targets.clone(), Some(validation::given(basis, self.features, set, targets, run)?))
            }
            None if needs_validation => {
                let (kept, held) = validation::held_back(kind, targets, run)?;
                (kept, Some(held))
            }
            _ => (targets.clone(), None),
        };
        let losses = Loss::problems(&fitted, self.loss, self.is_regression);
        let unlabeled: Vec<u32> = rows_beside(n, fitted.rows());
        let rule = Rule {
            kind,
            every: Rule::interval(n),
            tol: params.tol,
            // If all rows are labeled, the signs of the fitted ones are monitored.
            unlabeled: if unlabeled.is_empty() { fitted.rows() } else { &unlabeled },
            validation: validation.as_ref(),
        };
        let objective = Objective { labeled: fitted.rows(), ..*objective };
        let start = options.start.and_then(|start| start_of(start, objective.gram, losses.len()));
        let solutions = pcg::solve(&objective, &losses, start.as_deref(), &rule, params.max_iter, run)?;
        Ok((solutions, fitted))
    }

    /// Records the slowest and the least accurate problem.
    fn note_solve(&self, solver: KernelSolver, solutions: &[Solution], report: &mut Report) {
        let residual = solutions.iter().map(|s| s.residual).fold(0.0, f64::max);
        let converged = solutions.iter().all(|s| s.converged);
        let n_iter = solutions.iter().map(|s| s.n_iter).max().unwrap_or(0);
        report.solve = Some(SolveSummary {
            n_iter,
            residual,
            converged,
            preconditioner: if solver == KernelSolver::Cg { "gram".into() } else { String::new() },
            ..SolveSummary::default()
        });
        if !converged {
            let advice = if solver == KernelSolver::Cg { "raise max_iter" } else { "raise ambient_reg, or take cg" };
            report.warnings.push(Warning::KernelNotConverged { n_iter, residual, advice });
        }
        if self.params.solver == KernelSolver::Auto {
            report.choose("solver", solver.name());
        }
    }

    fn summarize(
        &self,
        objective: &Objective<'_>,
        basis: &Basis<'_>,
        solver: KernelSolver,
        targets: &Targets,
        solutions: &[Solution],
        report: &mut Report,
    ) -> Result<()> {
        let slowest =
            (0..solutions.len()).max_by_key(|&at| (solutions[at].n_iter, std::cmp::Reverse(at))).unwrap_or_default();
        let losses = Loss::problems(targets, self.loss, self.is_regression);
        let vectors = |(solution, loss): (&Solution, &Loss)| {
            let (active, _) = loss.at(&objective.at_labeled(&solution.values, solution.bias));
            active.weights.iter().filter(|weight| **weight > 0.0).count()
        };
        self.note_solve(solver, solutions, report);
        let mut summary = json!({
            "kernel": basis.kernel,
            "storage": basis.storage.name(),
            "ambient_reg": objective.ambient_reg,
            "graph_reg": objective.graph_reg,
            "solver": solver.name(),
            // Of each problem.
            "objective": solutions.iter().map(|s| s.objective).collect::<Vec<_>>(),
            "n_iter": solutions.iter().map(|s| s.n_iter).collect::<Vec<_>>(),
            "residual": solutions.iter().map(|s| s.residual).collect::<Vec<_>>(),
            "converged": solutions.iter().map(|s| s.converged).collect::<Vec<_>>(),
            // Labeled rows within the margin, or all in least squares.
            "n_error_vectors": solutions.iter().zip(&losses).map(vectors).collect::<Vec<_>>(),
            // J of the slowest problem at the start and after each iteration.
            "objective_curve": solutions.get(slowest).map(|s| s.curve.as_slice()).unwrap_or_default(),
        });
        if let Gram::Factor(factor) = objective.gram {
            summary["rank"] = factor.rank().into();
        }
        report.add_part("lapsvm", &summary)
    }
}

/// α (n) and b of each problem, if the machine keeps all rows of the fit; else none.
fn start_of((coefficients, bias): (&Matrix, &[f64]), gram: &Gram<'_>, problems: usize) -> Option<Vec<(Vec<f64>, f64)>> {
    let is_of_rows = matches!(gram, Gram::Matrix(_)) && coefficients.n_rows() == gram.n() && bias.len() == problems;
    let column = |at: usize| coefficients.rows().map(|row| row[at]).collect();
    is_of_rows.then(|| bias.iter().enumerate().map(|(at, bias)| (column(at), *bias)).collect())
}

/// Returns an error for a factorization that exceeds the memory.
fn check_memory(n: usize, l: usize, has_graph: bool) -> Result<()> {
    let dense = if has_graph { n.saturating_mul(n) } else { 0 };
    let bytes = (dense.saturating_add(2 * l.saturating_mul(n + l)) as u64).saturating_mul(8);
    let what = format!("the factorization of {n} rows (solver newton)");
    lapwing_core::check_memory(&what, bytes, "take the solver cg, or landmarks")
}

/// γ_A·I + γ_I·ZᵀL^pZ (r, r), from ZᵀL^pZ.
fn norm_of(rank: usize, smooth_gram: Option<Matrix>, objective: &Objective<'_>) -> Matrix {
    let mut norm = smooth_gram.unwrap_or_else(|| Matrix::filled(rank, rank, 0.0));
    norm.values_mut().iter_mut().for_each(|value| *value *= objective.graph_reg);
    (0..rank).for_each(|at| norm.row_mut(at)[at] += objective.ambient_reg);
    norm
}

/// f (n) from coefficients of rows, or of the columns of a factor.
fn values(gram: &Gram<'_>, factor: Option<&Factor>, coefficients: &[f64], run: &Run) -> Result<Vec<f64>> {
    let mut values = vec![0.0; gram.n()];
    match factor {
        Some(factor) => run.install(|| factor.spread(coefficients, &mut values)),
        None => gram.apply(coefficients, &mut values, run)?,
    }
    Ok(values)
}
