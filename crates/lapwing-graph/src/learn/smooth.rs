//! Newton steps on smoothed duals of the log-degree model, less and less smooth: a path to the optimum without kinks.
//!
//! A barrier −τ·Σ log w over the pairs replaces their weights max(0, t), t = μᵢ + μⱼ − c, by w = (t + √(t² + 2τ))/2. All of
//! them are positive, and the dual is smooth and concave; τ falls tenfold whenever the slope is small beside it. Rows of very
//! different distances, outliers and heavy tails need this path: there λ is 10³ times its usual size or more, thousands of pairs
//! switch on and off along any direction, and the steps of [`super::newton`] are halved to nothing. From the end of the path
//! its steps converge at once.
//!
//! Any w > 0 bounds the optimum from above: the gap is Σ φ(λᵢdᵢ) and, over pairs, (w − t)² where t > 0, else w² − 2tw. Cost:
//! 30 to 70 steps, each of a few passes over the support and conjugate gradients over all its pairs, not only those that
//! carry weight. Memory: 8 bytes an entry more.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, fallen};
use lapwing_solve::{CgParams, Operator, column_dots};

use super::active::solve_step;
use super::dual::{BLOCK, Multipliers, Problem, phi};
use super::offsets::Offsets;
use super::steps::{ARMIJO, MOST_HALVINGS, Spent};
use super::support::{SquaredDistance, Support};

/// τ at the start, where λ is only roughly known.
const FIRST: f64 = 0.1;
/// Least τ.
const LAST: f64 = 1e-20;
/// Factor of τ from one dual to the next.
const FALL: f64 = 0.1;
/// τ falls when the squared length of a Newton step, in the norm of the curvature, is at most this many τ for each row.
const NEAR: f64 = 2.0;
/// A step goes at most this part of the way to a λ of zero.
const REACH: f64 = 0.95;
/// Rounding of the smoothed dual's value, relative to it.
const ROUNDING: f64 = 1e-13;
/// Most steps at one τ.
const MOST_STEPS: usize = 30;
/// Residual of a direction, and most products spent on it.
const TOL: f64 = 1e-3;
const MOST_PRODUCTS: usize = 3000;

/// Follows the path from `start` until the relative gap is at most `tol` or steps make no more progress.
pub(super) fn follow<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    start: Multipliers,
    tol: f64,
    run: &Run,
) -> Result<(Multipliers, Spent)> {
    let (mut spent, mut tau, mut multipliers) = (Spent::default(), FIRST, start);
    let n = multipliers.nodes.len() as f64;
    while tau > LAST {
        let mut at = Smoothed::at(problem, &multipliers, tau, run)?;
        for _ in 0..MOST_STEPS {
            let gap = at.gap / n;
            run.share(fallen(1.0, tol, gap), &format!("step {}, smoothed, gap {gap:.1e}", spent.n_iter + 1));
            let gradient = at.gradient(problem, &multipliers);
            let (direction, n_products) = at.direction(problem, &multipliers, &gradient, run)?;
            let decrement = run.install(|| column_dots(&gradient, &direction, gradient.len(), 1)[0]);
            spent = spent + Spent { n_iter: 1, n_products };
            match advance(problem, &multipliers, &at, &direction, decrement, run)? {
                Some((next, state)) => (multipliers, at) = (next, state),
                None => break,
            }
            if decrement <= NEAR * tau * n {
                break;
            }
        }
        if at.gap / n <= tol || !at.value.is_finite() {
            break;
        }
        tau *= FALL;
    }
    Ok((multipliers, spent))
}

/// The first of the steps 1, ½, ¼, … of those that keep λ positive which meets the Armijo condition.
fn advance<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    multipliers: &Multipliers,
    at: &Smoothed,
    direction: &[f64],
    decrement: f64,
    run: &Run,
) -> Result<Option<(Multipliers, Smoothed)>> {
    let way = |(row, &change): (usize, &f64)| match change < 0.0 {
        true => -REACH * problem.lambda(multipliers, row) / change,
        false => f64::INFINITY,
    };
    let mut length = direction.iter().enumerate().map(way).fold(1.0, f64::min);
    for _ in 0..MOST_HALVINGS {
        let nodes = multipliers.nodes.iter().zip(direction).map(|(node, change)| node + length * change).collect();
        let next = Multipliers { nodes, level: 0.0 };
        let state = Smoothed::at(problem, &next, at.tau, run)?;
        if state.value - at.value >= ARMIJO * length * decrement - ROUNDING * at.value.abs() {
            return Ok(Some((next, state)));
        }
        length *= 0.5;
    }
    Ok(None)
}

/// The smoothed dual at some multipliers.
struct Smoothed {
    tau: f64,
    degree: Vec<f64>,
    value: f64,
    gap: f64,
}

impl Smoothed {
    fn at<R: SquaredDistance>(
        problem: &Problem<'_, R>,
        multipliers: &Multipliers,
        tau: f64,
        run: &Run,
    ) -> Result<Self> {
        run.check()?;
        let mut degree = vec![0.0; multipliers.nodes.len()];
        let sums = run.install(|| {
            let offsets = problem.offsets(multipliers);
            let blocks = degree.par_chunks_mut(BLOCK).enumerate().map(|(block, degree)| {
                let (mut value, mut gap) = (0.0, 0.0);
                for (offset, degree) in degree.iter_mut().enumerate() {
                    let row = block * BLOCK + offset;
                    for t in margins(problem, &offsets, row) {
                        let (w, _) = smoothed(t, tau);
                        *degree += w;
                        // Half of the pair's part: every pair is in two rows.
                        value += 0.5 * (w * w - 2.0 * t * w - tau * w.ln());
                        gap += 0.5 * if t > 0.0 { (w - t) * (w - t) } else { w * w - 2.0 * t * w };
                    }
                    let lambda = problem.lambda(multipliers, row);
                    value += lambda.ln() + 1.0;
                    gap += phi(lambda * *degree);
                }
                (value, gap)
            });
            blocks.collect::<Vec<_>>().into_iter().fold((0.0, 0.0), |(v, g), (value, gap)| (v + value, g + gap))
        });
        Ok(Self { tau, degree, value: sums.0, gap: sums.1 })
    }

    fn gradient<R: SquaredDistance>(&self, problem: &Problem<'_, R>, multipliers: &Multipliers) -> Vec<f64> {
        let rows = self.degree.iter().enumerate();
        rows.map(|(row, degree)| 1.0 / problem.lambda(multipliers, row) - degree).collect()
    }

    /// A Newton direction, and the products it took.
    fn direction<R: SquaredDistance>(
        &self,
        problem: &Problem<'_, R>,
        multipliers: &Multipliers,
        gradient: &[f64],
        run: &Run,
    ) -> Result<(Vec<f64>, usize)> {
        let curvature = run.install(|| Weighted::at(problem, multipliers, self.tau));
        let params = CgParams { tol: TOL, max_iter: MOST_PRODUCTS, ..CgParams::default() };
        let b = Matrix::new(gradient.len(), 1, gradient.to_vec())?;
        let (x, n_products) = solve_step(&curvature, curvature.diagonal.clone(), &b, params, run)?;
        Ok((x.into_values(), n_products))
    }
}

/// t of each entry of a row.
fn margins<'s, R: SquaredDistance>(
    problem: &'s Problem<'_, R>,
    offsets: &'s Offsets,
    row: usize,
) -> impl Iterator<Item = f64> + 's {
    let (ids, squared) = problem.support.row(row);
    ids.iter().zip(squared).map(move |(&id, &z)| offsets.margin(row, id as usize, problem.sparsity * z.into()))
}

/// w and dw/dt.
fn smoothed(t: f64, tau: f64) -> (f64, f64) {
    let root = (t * t + 2.0 * tau).sqrt();
    let w = if t > 0.0 { 0.5 * (t + root) } else { tau / (root - t) };
    (w.max(f64::MIN_POSITIVE), w / root)
}

/// diag(1/λ²) + ½·Σ over pairs of dw/dt·(eᵢ + eⱼ)(eᵢ + eⱼ)ᵀ.
struct Weighted<'s, R> {
    support: &'s Support<R>,
    /// dw/dt of each entry.
    slopes: Vec<f64>,
    diagonal: Vec<f64>,
}

impl<'s, R: SquaredDistance> Weighted<'s, R> {
    fn at(problem: &Problem<'s, R>, multipliers: &Multipliers, tau: f64) -> Self {
        let (support, offsets) = (problem.support, problem.offsets(multipliers));
        let rows = (0..support.n_samples()).into_par_iter().with_min_len(BLOCK);
        let slopes: Vec<f64> =
            rows.flat_map_iter(|row| margins(problem, &offsets, row).map(|t| smoothed(t, tau).1)).collect();
        let diagonal = (0..support.n_samples()).map(|row| {
            let entries = support.starts[row] as usize..support.starts[row + 1] as usize;
            problem.lambda(multipliers, row).powi(-2) + 0.5 * slopes[entries].iter().sum::<f64>()
        });
        Self { support, diagonal: diagonal.collect(), slopes }
    }
}

impl<R: SquaredDistance> Operator for Weighted<'_, R> {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize, run: &Run) -> Result<Vec<f64>> {
        let rows = y.par_chunks_mut(s).enumerate().with_min_len(BLOCK);
        let product = |(row, y): (usize, &mut [f64])| {
            let entries = self.support.starts[row] as usize..self.support.starts[row + 1] as usize;
            y.fill(0.0);
            for (&id, slope) in self.support.ids[entries.clone()].iter().zip(&self.slopes[entries]) {
                y.iter_mut().zip(&x[id as usize * s..]).for_each(|(y, x)| *y += slope * x);
            }
            y.iter_mut().zip(&x[row * s..]).for_each(|(y, x)| *y = self.diagonal[row] * x + 0.5 * *y);
        };
        run.install(|| rows.for_each(product));
        Ok(run.install(|| column_dots(x, y, self.diagonal.len(), s)))
    }
}
