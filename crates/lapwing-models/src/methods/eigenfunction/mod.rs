//! Eigenfunctions: least squares on smooth functions of single directions of the features (EigFun; Fergus, Weiss &
//! Torralba 2009).
//!
//! No graph is built. As the number of rows grows, the smooth eigenvectors of a graph tend to eigenfunctions of the density of the
//! rows. If this density is a product over the principal axes, so are the eigenfunctions, and the smoothest of them are functions
//! of one axis each. A small eigenvalue problem on the histogram of the axis gives these:
//!
//! 1. center, rotate to the principal axes (`rotation.rs`);
//! 2. for each axis a histogram of b' = max(2, min(b, ⌊n/10⌋)) equal bins with centers t, its shares p raised by ε and
//!    brought back to sum 1;
//! 3. W = exp(−D²/(2s²)) for D_rs = |t_r − t_s| and s = σ·mean of D; with P = diag(p), D̃ = diag(1ᵀPWP) and D̂ = diag(1ᵀPW)
//!    the problem (D̃ − P·W·P)·g = λ·P·D̂·g (`density.rs`);
//! 4. of all (λ, g) with λ ≥ 1e-10, which leaves out constants, the q of smallest λ;
//! 5. rows clipped to the percentiles clip and 100 − clip of the axis, g interpolated between the centers, each column
//!    brought to norm 1: U (n, q), Σ = diag(λ) (`extension.rs`);
//! 6. (Σ + w·U_SᵀC·U_S)·α = w·U_SᵀC·y, C = diag(c) the trust in labels, with a constant column of eigenvalue 0 beside U,
//!    and f = U·α; y one-hot or shares. The largest f decides.
//!
//! New rows go through steps 5 and 6 with the clips, centers, functions and norms of the fit. A model holds only these, so that its
//! size does not grow with n.
//!
//! Numbers: b = 50, ε = 0.1, σ = 0.2, clip = 2.5 and w = 100.
//!
//! Departures: if there are more than 64 features, the leading 64 axes are taken; for sparse rows and for more than
//! 1,024 features the axes come from subspace iteration, which keeps sparse rows sparse.
//!
//! Only functions of one axis are used, no products of them: clusters that no single axis separates stay together. Take
//! [`Harmonic`](crate::Harmonic) if a graph can be built.
//!
//! Cost: O(n·d² + d³) for the axes, or 18 passes of O(entries·r) by subspace iteration; O(n·d·r + r·b³) for r axes, O(n·q·c + q³)
//! for the rest. Memory 8·n·r bytes. Parallel over rows and axes; sums in blocks of fixed size, added in order.

mod density;
mod extension;
mod rotation;

use std::sync::Arc;

use lapwing_core::parallel::*;
use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Matrix, Result, Run, Targets, Warning, check_memory, parameters};
use lapwing_solve::dense::{least_squares, solve_spd};
use lapwing_solve::products::times;

pub(crate) use extension::{EigenfunctionExtension, KIND};

use crate::core::calibration::Fallback;
use crate::core::extend::Extend;
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::plan::{Program, base_bytes, double_panels};
use crate::{Fitted, Method, Plan, PlanStep, Problem, ProblemSize, Rule};
use density::{AxisFunctions, Chosen};
use extension::Functions;
use rotation::Rotation;

/// Name of the method.
pub(crate) const EIGENFUNCTION: &str = "eigenfunction";

/// Most principal axes r: a choice of ours, as the default number of functions is.
const MOST_AXES: usize = 64;
/// Percent of the rows that are clipped at each end of an axis, as published.
const CLIP: f64 = 2.5;
/// Weight w of the given labels against smoothness, as published.
const FIT_WEIGHT: f64 = 100.0;
/// Smaller eigenvalues are those of constant functions.
const LEAST_EIGENVALUE: f64 = 1e-10;
/// An axis shorter than this share of the longest is constant except for rounding.
const LEAST_EXTENT: f64 = 1e-10;

parameters! {
    /// Parameters of the eigenfunctions.
    pub struct EigenfunctionParams {
        /// Number of functions q. If there are fewer, all are used.
        n_eigenfunctions: usize = 64, in at_least(1.0);
    }
}

/// Classifier by eigenfunctions of the density: parameters, checked.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::baselines::{Eigenfunction, EigenfunctionParams};
/// use lapwing_models::{Method, Problem};
///
/// // Two groups of rows and one label in each.
/// let features = Features::from_f32(200, 1, (0..200).map(|i| (i % 2) as f32 * 9.0 + i as f32 / 100.0).collect())?;
/// let labels = Labels::from_integers((0..200).map(|i| (i < 2).then_some(i)));
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let method = Eigenfunction::new(EigenfunctionParams { n_eigenfunctions: 1 })?;
/// let run = Run::new(None, 0)?;
/// let fitted = method.fit(&problem, &run)?;
/// assert!((0..200).all(|i| fitted.labeling.labels[i] == i as u32 % 2));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Eigenfunction {
    params: EigenfunctionParams,
}

impl Eigenfunction {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming a parameter outside its range.
    pub fn new(params: EigenfunctionParams) -> Result<Self> {
        params.check_ranges()?;
        Ok(Self { params })
    }

    /// Steps 2 to 4: the smoothest functions of the columns of `rotated` (n, r), as (axis, λ, values at the centers).
    fn smoothest(&self, rotated: &Matrix, run: &Run) -> Result<(Vec<AxisFunctions>, Vec<Chosen>)> {
        let r = rotated.n_cols();
        let extents: Vec<(f64, f64)> =
            run.install(|| (0..r).into_par_iter().map(|j| density::extent(rotated, j)).collect());
        let longest = extents.iter().map(|(low, high)| high - low).fold(0.0, f64::max);
        let is_constant = |(low, high): &(f64, f64)| high - low <= LEAST_EXTENT * longest;
        let all: Vec<AxisFunctions> = run.install(|| {
            let axes = (0..r).into_par_iter().filter(|&j| !is_constant(&extents[j]));
            axes.map(|j| {
                run.check()?;
                AxisFunctions::new(rotated, j, extents[j])
            })
            .collect::<Result<_>>()
        })?;
        let mut chosen: Vec<Chosen> = Vec::new();
        for (at, axis) in all.iter().enumerate() {
            let smooth = axis.values.iter().enumerate().filter(|(_, value)| **value >= LEAST_EIGENVALUE);
            chosen.extend(smooth.map(|(number, &value)| Chosen { value, axis: at, number }));
        }
        // The sort is stable, so that equal eigenvalues stay in the order of axis and number.
        chosen.sort_by(|a, b| a.value.total_cmp(&b.value));
        chosen.truncate(self.params.n_eigenfunctions);
        Ok((all, chosen))
    }

    /// Step 6: α (q, c) for the columns of U at the labeled rows `labeled` (l, q) with eigenvalues `sigma` (q).
    fn coefficients(labeled: &Matrix, sigma: &[f64], targets: &Targets) -> Result<Matrix> {
        let (q, c) = (sigma.len(), targets.n_columns());
        let (mut a, mut b) = (Matrix::filled(q, q, 0.0), Matrix::filled(q, c, 0.0));
        for (at, (u, trust)) in labeled.rows().zip(targets.weights()).enumerate() {
            let weight = FIT_WEIGHT * trust;
            for (k, u_k) in u.iter().enumerate() {
                a.row_mut(k).iter_mut().zip(u).for_each(|(a, u)| *a += weight * u_k * u);
                b.row_mut(k).iter_mut().zip(targets.values().row(at)).for_each(|(b, y)| *b += weight * u_k * y);
            }
        }
        sigma.iter().enumerate().for_each(|(k, value)| a.row_mut(k)[k] += value);
        // The matrix is definite, but rounding may make it indefinite.
        solve_spd(&a, &b).or_else(|_| least_squares(&a, &b, f64::EPSILON))
    }

    /// Steps 5 and 6 from the chosen functions.
    fn fitted(
        &self,
        rotation: Rotation,
        rotated: &Matrix,
        (axes, chosen): (Vec<AxisFunctions>, Vec<Chosen>),
        targets: &Targets,
        rule: &Rule,
        run: &Run,
    ) -> Result<(EigenfunctionExtension, Option<Standings>)> {
        let mut functions = run.install(|| Functions::new(rotated, &axes, &chosen, CLIP));
        functions.normalize(rotated, run);
        let (n, l, q) = (rotated.n_rows(), targets.rows().len(), chosen.len());
        let columns = q + 1;
        let constant = (n as f64).sqrt().recip();
        let mut labeled = Matrix::filled(l, columns, constant);
        for (at, &row) in targets.rows().iter().enumerate() {
            functions.evaluate(rotated.row(row as usize), &mut labeled.row_mut(at)[..q]);
        }
        let mut sigma: Vec<f64> = chosen.iter().map(|function| function.value).collect();
        sigma.resize(columns, 0.0);
        let alpha = Self::coefficients(&labeled, &sigma, targets)?;
        let held_out = Standings::by_folds(targets, rule, run, |kept, rows, _| {
            let place = |row: &u32| targets.rows().partition_point(|other| other < row);
            let of = |rows: &[u32]| -> Result<Matrix> {
                Matrix::new(rows.len(), columns, rows.iter().flat_map(|row| labeled.row(place(row)).to_vec()).collect())
            };
            Ok(times(&of(rows)?, &Self::coefficients(&of(kept.rows())?, &sigma, kept)?))
        })?;
        Ok((EigenfunctionExtension::new(rotation, functions, &alpha, constant), held_out))
    }
}

/// Number of axes for `n` rows of `d` columns, at most either.
fn n_axes(n: usize, d: usize) -> usize {
    MOST_AXES.min(d).min(n)
}

impl Method for Eigenfunction {
    fn name(&self) -> &'static str {
        EIGENFUNCTION
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let features = fitting.features()?;
        let rule = fitting.rule();
        let report = &mut fitting.report;
        let r = n_axes(features.n_rows(), features.n_cols());
        let bytes = (8 * features.n_rows() as u64).saturating_mul(r as u64);
        check_memory(
            &format!("the projection of {} rows on {r} axes", features.n_rows()),
            bytes,
            "label a sample of the rows, and the others by its model",
        )?;
        let (rotation, rotated) = report.time("rotate", run, |_| -> Result<_> {
            let rotation = Rotation::new(features, r, run)?;
            let rotated = rotation.project(features, run)?;
            Ok((rotation, rotated))
        })?;
        let smoothest = report.time("densities", run, |_| self.smoothest(&rotated, run))?;
        if smoothest.1.is_empty() {
            report.warnings.push(Warning::NoFunction {});
        }
        let (extension, held_out) =
            report.time("solve", run, |_| self.fitted(rotation, &rotated, smoothest, problem.targets, &rule, run))?;
        drop(rotated);
        let scores = report.time("apply", run, |_| extension.scores_of(features, run))?;
        Ok(fitting.decide(Arc::new(scores), held_out, Fallback::Typical, Some(Arc::new(extension)), None))
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c, base) =
            (size.n_samples, size.n_classes.max(2), base_bytes(Program::Search, size) + double_panels(size));
        let r = n_axes(n, size.n_features);
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        let entries = size.sparse.then_some(size.input_bytes / 8);
        let rotate = rotation::plan_bytes(n, size.n_features, r, entries, size.threads);
        let project = if size.sparse { 0 } else { rotation::project_bytes(n, size.n_features, size.threads) };
        let steps = vec![
            // The allocator has not returned the memory of the block sums when rows are projected.
            step("rotate", rotate + 8 * n * r + project),
            // Each thread copies a column.
            step("densities", 8 * n * (r + size.threads)),
            step("solve", 8 * n * (r + size.threads)),
            step("apply", 8 * n * (r.min(self.params.n_eigenfunctions) + c + 2) + project),
            step("decide", 2 * 8 * n * c + 48 * n),
        ];
        // Features are read to check, center, rotate and label them.
        Plan::from_steps(Program::Search, n, 0, if size.sparse { 20 } else { 5 }, steps)
    }
}

#[cfg(test)]
mod tests;
