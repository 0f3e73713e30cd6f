//! f with a hidden layer: F = φ(X·V)·W, φ(x) = max(0, x), trained by the Levenberg–Marquardt method on the graph.
//!
//! ```text
//! δF = (φ′∘(X·δV))·W + φ(X·V)·δW,   δZ = H⁻¹·δF        (J)
//! (Jᵀ·C·J + R + μ·I)·δ = −∇,   C the Hessian of the loss in Z,   R = ρκ on V and ρ on W
//! ```
//!
//! The penalty is ρ/2·(κ‖V‖² + ‖W‖²), κ the mean of ‖x‖² over the rows, and 1 for the row of the bias: so the loss
//! does not depend on the unit of the features.
//!
//! Every step solves that system by conjugate gradients, 2·c columns of the graph in each iteration, with a preconditioner from
//! J. For W it is the matrix of the smoothed hidden features Φ = φ(X·V), T = (H⁻¹Φ)ᵀM(H⁻¹Φ), smoothed to 10⁻²; for V it is the
//! squares of its columns of J, estimated by sixteen vectors of random signs. T is recomputed every ten steps, or when V has
//! changed by a tenth. μ grows until a step lowers the loss, and shrinks after a step whose gain was predicted well. Training
//! ends when ten steps together lower the loss by less than √tol of it.
//!
//! The loss is not convex: the result is a local minimum, from random V (by the seed) and W = 0. Cost: some dozen times c columns
//! of the graph for each step; h columns when T is recomputed. If labels are few, E·H⁻¹ is held as a matrix (l, n), and a column
//! costs l·n multiplications in place of a solve.

use lapwing_core::{Features, Matrix, Report, Result, Stream};
use lapwing_solve::products::{add_transposed_product, product, product_transposed, times};
use rand::RngExt;

use super::map::OnGraph;
use super::params::LayerSolver;
use super::reach::Reach;
use super::routes::inner_tol;
use super::smooth::{ROUGH, by_columns, weighted};
use super::train::{Summary, Training};
use crate::maps::loss::NodeLoss;
use crate::maps::{Inputs, Layers, Loss, Preconditioner, Trace, optimize::add, optimize::dot, precondition::spread};

/// Most iterations of conjugate gradients in a step, and the share of the gradient at which they end.
const INNER: usize = 25;
const FORCING: f64 = 0.05;
/// Steps after which the preconditioner is recomputed, and the relative change of V that causes it earlier.
const RENEW: usize = 10;
const MOVED: f64 = 0.1;
/// Vectors of random signs that estimate the squares of columns of J.
const PROBES: usize = 16;
/// Residual of the solves. The change of the loss decides whether a step is accepted.
const LEAST_TOL: f64 = 1e-8;
/// Training ends when so many steps together lower the loss by less than √tol of it. With rectifiers the loss falls slowly for
/// long.
const WINDOW: usize = 10;

/// Both layers, or a step of them.
#[derive(Clone)]
struct Pair {
    /// V (k, h).
    hidden: Matrix,
    /// W (h or h + 1, c).
    output: Matrix,
}

impl Pair {
    fn dot(&self, other: &Self) -> f64 {
        dot(&self.hidden, &other.hidden) + dot(&self.output, &other.output)
    }

    fn add(&mut self, other: &Self, factor: f64) {
        add(&mut self.hidden, &other.hidden, factor);
        add(&mut self.output, &other.output, factor);
    }

    fn scale(&mut self, factor: f64) {
        for layer in [&mut self.hidden, &mut self.output] {
            layer.values_mut().iter_mut().for_each(|x| *x *= factor);
        }
    }
}

/// Values at given layers.
struct Point {
    /// φ(X·V), with a constant column if there is a bias (n, h or h + 1).
    units: Matrix,
    /// R at the labeled nodes (l, c), and scores there.
    residual: Matrix,
    scores: Matrix,
    /// ℓ + penalty.
    value: f64,
}

struct Network<'t, 'a> {
    training: &'t Training<'t, 'a>,
    map: OnGraph<'t>,
    reach: Option<Reach>,
    /// ρ.
    ridge: f64,
    /// κ for each row of V, 1 for that of the bias (k).
    squares: Vec<f64>,
    bias: bool,
}

/// Trains a network of `n_units` hidden units.
pub(super) fn train(
    training: &Training<'_, '_>,
    features: &Features<'_>,
    n_units: usize,
    report: &mut Report,
) -> Result<(Layers, Trace, Summary)> {
    let (params, run) = (training.params, training.run);
    let (k, c) = (training.inputs.width(), training.loss.n_outputs());
    let n_features = training.inputs.n_features();
    let squares = training.inputs.mean_squares();
    // Random weights, scaled so that the size of hidden values does not depend on the size of the rows; no bias.
    let scale = (2.0 / squares[0]).sqrt();
    let mut rng = run.rng(Stream::Start, 1 << 41);
    let random = |at: usize| {
        if at < n_features * n_units { rng.random_range(-1.0..1.0f64) + rng.random_range(-1.0..1.0) } else { 0.0 }
    };
    let hidden = Matrix::new(k, n_units, (0..k * n_units).map(random).map(|x| scale * x).collect())?;
    let output = Matrix::filled(n_units + usize::from(params.bias), c, 0.0);
    let mut layers = Pair { hidden, output };
    let mut network = Network {
        training,
        map: training.on_graph(inner_tol(params.tol).min(LEAST_TOL)),
        reach: None,
        ridge: 0.0,
        squares,
        bias: params.bias,
    };
    network.reach = Reach::new(&network.map)?;
    let units = network.units(&layers)?;
    let spread = {
        let units = as_features(&units, n_units)?;
        let inputs = Inputs::new(&units, params.bias)?;
        let map = OnGraph { inputs: &inputs, ..training.on_graph(1e-3) };
        spread(&map, n_units, training.loss.trust, &training.constant()?)?
    };
    network.ridge = params.l2_reg.unwrap_or_else(|| NodeLoss::hidden_ridge(spread, training.loss.trust));
    if params.l2_reg.is_none() {
        report.choose("l2_reg", network.ridge);
    }
    let mut trace = Trace::new(training.start);
    trace.begin(params.max_iter);
    let is_adam = params.solver == LayerSolver::Adam;
    report.time("solve", run, |_| match is_adam {
        true => network.adam(&mut layers, &mut trace),
        false => network.levenberg(&mut layers, &mut trace),
    })?;
    let optimizer = if is_adam { "adam" } else { "levenberg-marquardt" };
    report.solve = Some(trace.summary(optimizer));
    let summary = Summary {
        solver: if is_adam { "adam" } else { "gauss-newton" },
        optimizer,
        l2_reg: network.ridge,
        loss: trace.values.clone(),
        seconds: trace.seconds.clone(),
        edge_passes: training.propagator.n_passes(),
        rank: None,
        ..Summary::default()
    };
    debug_assert_eq!(features.n_rows(), training.inputs.n());
    let center = training.inputs.center.to_vec();
    let layers = Layers { hidden: Some(layers.hidden), output: layers.output, bias: params.bias, center };
    Ok((layers, trace, summary))
}

/// The columns before the constant, as features.
fn as_features(units: &Matrix, n_units: usize) -> Result<Features<'static>> {
    let values = units.rows().flat_map(|row| row[..n_units].iter().copied()).collect();
    Features::from_f64(units.n_rows(), n_units, values)
}

impl Network<'_, '_> {
    /// φ(X·V), and a constant column.
    fn units(&self, layers: &Pair) -> Result<Matrix> {
        let before = self.training.inputs.times(&layers.hidden, self.training.run)?;
        let (n, h) = (before.n_rows(), before.n_cols());
        let width = h + usize::from(self.bias);
        let mut units = Matrix::filled(n, width, 1.0);
        for row in 0..n {
            units.row_mut(row)[..h].iter_mut().zip(before.row(row)).for_each(|(unit, x)| *unit = x.max(0.0));
        }
        Ok(units)
    }

    /// E·H⁻¹·F.
    fn propagated(&self, f: &Matrix) -> Result<Matrix> {
        if let Some(reach) = &self.reach {
            return Ok(reach.propagated(f, self.training.run));
        }
        self.map.propagated(f, self.map.tol)
    }

    /// H⁻¹·Eᵀ·R.
    fn spread_back(&self, residual: &Matrix) -> Result<Matrix> {
        if let Some(reach) = &self.reach {
            return Ok(reach.spread_back(residual, self.training.run));
        }
        self.map.spread_back(residual, self.map.tol)
    }

    fn point(&self, layers: &Pair) -> Result<Point> {
        let units = self.units(layers)?;
        let scores = self.propagated(&times(&units, &layers.output))?;
        let (value, residual) = self.training.run.install(|| self.training.loss.residual(&scores));
        Ok(Point { units, residual, scores, value: value + 0.5 * self.ridged(layers).dot(layers) })
    }

    /// The layers times their weights in the penalty.
    fn ridged(&self, layers: &Pair) -> Pair {
        let mut out = layers.clone();
        for (row, square) in self.squares.iter().enumerate() {
            out.hidden.row_mut(row).iter_mut().for_each(|v| *v *= self.ridge * square);
        }
        out.output.values_mut().iter_mut().for_each(|w| *w *= self.ridge);
        out
    }

    /// Jᵀ of a block at the labeled nodes, whose U = H⁻¹EᵀR is given (n, c).
    fn back(&self, point: &Point, layers: &Pair, u: &Matrix) -> Result<Pair> {
        let h = layers.hidden.n_cols();
        let mut output = Matrix::filled(point.units.n_cols(), u.n_cols(), 0.0);
        add_transposed_product(point.units.values(), u.values(), u.n_rows(), output.values_mut());
        let mut inner = Matrix::filled(u.n_rows(), h, 0.0);
        product_transposed(u.values(), &layers.output.values()[..h * u.n_cols()], u.n_cols(), inner.values_mut());
        masked(&mut inner, point);
        let hidden = self.training.inputs.transposed_times(inner.values(), h, self.training.run)?;
        Ok(Pair { hidden, output })
    }

    /// E·H⁻¹ of J·δ.
    fn forth(&self, point: &Point, layers: &Pair, step: &Pair) -> Result<Matrix> {
        let mut inner = self.training.inputs.times(&step.hidden, self.training.run)?;
        masked(&mut inner, point);
        let (h, c) = (inner.n_cols(), step.output.n_cols());
        let mut f = times(&point.units, &step.output);
        let mut other = Matrix::filled(f.n_rows(), c, 0.0);
        product(inner.values(), &layers.output.values()[..h * c], h, other.values_mut());
        add(&mut f, &other, 1.0);
        self.propagated(&f)
    }

    fn gradient(&self, point: &Point, layers: &Pair) -> Result<Pair> {
        let mut gradient = self.back(point, layers, &self.spread_back(&point.residual)?)?;
        gradient.add(&self.ridged(layers), 1.0);
        Ok(gradient)
    }

    fn levenberg(&self, layers: &mut Pair, trace: &mut Trace) -> Result<()> {
        let (params, run) = (self.training.params, self.training.run);
        let mut point = self.point(layers)?;
        trace.note(point.value, run);
        let mut damping = 1e-3;
        let mut preconditioner: Option<(LayerPreconditioner, Matrix, usize)> = None;
        while trace.n_iter < params.max_iter {
            run.check()?;
            let gradient = self.gradient(&point, layers)?;
            let is_stale = preconditioner.as_ref().is_none_or(|(_, at, step)| {
                let mut moved = layers.hidden.clone();
                add(&mut moved, at, -1.0);
                trace.n_iter >= step + RENEW || dot(&moved, &moved) > MOVED * MOVED * dot(at, at)
            });
            if is_stale {
                let made = LayerPreconditioner::new(self, &point, layers)?;
                preconditioner = Some((made, layers.hidden.clone(), trace.n_iter));
            }
            let Some((inverse, _, _)) = &preconditioner else { break };
            let before = point.value;
            let (mut is_lower, mut hoped) = (false, f64::INFINITY);
            for _ in 0..12 {
                let (step, foreseen) = self.step(&point, layers, &gradient, inverse, damping)?;
                let mut next = layers.clone();
                next.add(&step, 1.0);
                let found = self.point(&next)?;
                hoped = hoped.min(foreseen.max(0.0));
                let ratio = (before - found.value) / foreseen.max(f64::MIN_POSITIVE);
                if found.value < before {
                    damping *= if ratio > 0.75 {
                        0.3
                    } else if ratio < 0.25 {
                        2.0
                    } else {
                        1.0
                    };
                    (*layers, point, is_lower) = (next, found, true);
                    break;
                }
                damping *= 5.0;
            }
            trace.n_iter += 1;
            trace.gap = trace.values.iter().rev().nth(WINDOW - 1).map_or(f64::INFINITY, |value| value - point.value);
            trace.look(trace.gap / (params.tol.sqrt() * point.value));
            trace.note(point.value, run);
            if !is_lower || trace.gap <= params.tol.sqrt() * point.value {
                // If no step descends, the gain predicted for the last one decides.
                trace.converged = is_lower || hoped <= params.tol.sqrt() * point.value;
                break;
            }
        }
        Ok(())
    }

    /// A step with the given damping, relative to the preconditioner, and the predicted decrease of the loss.
    fn step(
        &self,
        point: &Point,
        layers: &Pair,
        gradient: &Pair,
        inverse: &LayerPreconditioner,
        damping: f64,
    ) -> Result<(Pair, f64)> {
        let zero = Pair {
            hidden: Matrix::filled(layers.hidden.n_rows(), layers.hidden.n_cols(), 0.0),
            output: Matrix::filled(layers.output.n_rows(), layers.output.n_cols(), 0.0),
        };
        let (mut step, mut product_of_step) = (zero.clone(), zero);
        let mut residual = gradient.clone();
        let mut direction = inverse.apply(&residual);
        direction.scale(-1.0);
        let mut old = -residual.dot(&direction);
        let first = old;
        for _ in 0..INNER {
            self.training.run.check()?;
            let scores = self.forth(point, layers, &direction)?;
            let curved = curved(self.training.loss, point, &scores);
            let mut product = self.back(point, layers, &self.spread_back(&curved)?)?;
            product.add(&self.ridged(&direction), 1.0);
            product.add(&inverse.weigh(&direction), damping);
            let curvature = direction.dot(&product);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let length = old / curvature;
            step.add(&direction, length);
            product_of_step.add(&product, length);
            residual.add(&product, length);
            let towards = inverse.apply(&residual);
            let new = residual.dot(&towards);
            if new <= FORCING * FORCING * first {
                break;
            }
            direction.scale(new / old);
            direction.add(&towards, -1.0);
            old = new;
        }
        let foreseen = -gradient.dot(&step) - 0.5 * step.dot(&product_of_step);
        Ok((step, foreseen))
    }

    fn adam(&self, layers: &mut Pair, trace: &mut Trace) -> Result<()> {
        let (params, run) = (self.training.params, self.training.run);
        let rate = params.learning_rate.unwrap_or(super::params::TYPICAL_ADAM);
        let mut point = self.point(layers)?;
        trace.note(point.value, run);
        let zeros = |layer: &Matrix| vec![[0.0f64; 2]; layer.values().len()];
        let mut moments = [zeros(&layers.hidden), zeros(&layers.output)];
        while trace.n_iter < params.max_iter {
            run.check()?;
            let gradient = self.gradient(&point, layers)?;
            trace.n_iter += 1;
            let (first, second) = (1.0 - 0.9f64.powi(trace.n_iter as i32), 1.0 - 0.999f64.powi(trace.n_iter as i32));
            let pairs = [(&mut layers.hidden, &gradient.hidden), (&mut layers.output, &gradient.output)];
            for ((layer, gradient), moments) in pairs.into_iter().zip(&mut moments) {
                for ((x, g), [mean, square]) in layer.values_mut().iter_mut().zip(gradient.values()).zip(moments) {
                    *mean = 0.9 * *mean + 0.1 * g;
                    *square = 0.999 * *square + 0.001 * g * g;
                    *x -= rate * (*mean / first) / ((*square / second).sqrt() + 1e-8);
                }
            }
            point = self.point(layers)?;
            trace.note(point.value, run);
        }
        Ok(())
    }
}

/// P of both layers, from J.
struct LayerPreconditioner {
    /// The preconditioner of W, which is the same for each output.
    output: Preconditioner,
    /// Diagonal of V (k, h) with the ridge, and its inverse.
    hidden: Matrix,
    /// Weight of damping for W: the mean of its diagonal.
    scale: f64,
}

impl LayerPreconditioner {
    fn new(network: &Network<'_, '_>, point: &Point, layers: &Pair) -> Result<Self> {
        let (training, run) = (network.training, network.training.run);
        let h = layers.hidden.n_cols();
        let units = as_features(&point.units, h)?;
        let inputs = Inputs::new(&units, network.bias)?;
        let rows = by_columns(&inputs, training.propagator, training.labeled, ROUGH, &run.quiet())?;
        let width = inputs.width();
        let trace = run.install(|| rows.trace(training.loss.trust));
        let ridge = network.ridge.max(1e-9 * trace / width as f64).max(f64::MIN_POSITIVE);
        let scale = trace / width as f64;
        let (output, _) = Preconditioner::from_rows(&weighted(&rows, training.loss.trust), width, ridge, false, run)?;
        let mut hidden = Matrix::filled(layers.hidden.n_rows(), h, 0.0);
        let c = training.loss.n_outputs();
        for probe in 0..PROBES.div_ceil(c) {
            let mut signs = Matrix::filled(training.labeled.len(), c, 0.0);
            for (at, sign) in signs.values_mut().iter_mut().enumerate() {
                let bits = lapwing_core::hash::mix((probe << 40 | at) as u64 ^ 0x6a61_636f);
                *sign = training.loss.trust[at / c].sqrt() * if bits & 1 == 0 { 1.0 } else { -1.0 };
            }
            let back = network.back(point, layers, &network.spread_back(&signs)?)?;
            let share = 1.0 / PROBES.div_ceil(c) as f64;
            let squares = hidden.values_mut().iter_mut().zip(back.hidden.values());
            squares.for_each(|(sum, x)| *sum += share * x * x);
        }
        let sum: f64 = hidden.rows().zip(&network.squares).map(|(row, square)| row.iter().sum::<f64>() / square).sum();
        let mean = sum / hidden.values().len().max(1) as f64;
        // The gradient of V is zero while W is zero.
        let floor = 1e-3 * if mean > 0.0 { mean } else { scale.max(1e-100) };
        for (row, square) in network.squares.iter().enumerate() {
            let least = floor * square;
            hidden.row_mut(row).iter_mut().for_each(|x| *x = x.max(least) + network.ridge * square);
        }
        Ok(Self { output, hidden, scale })
    }

    /// P⁻¹ of a gradient.
    fn apply(&self, gradient: &Pair) -> Pair {
        let mut hidden = gradient.hidden.clone();
        hidden.values_mut().iter_mut().zip(self.hidden.values()).for_each(|(g, p)| *g /= p);
        Pair { hidden, output: self.output.apply(&gradient.output) }
    }

    /// Multiplies by the diagonal that damping scales.
    fn weigh(&self, step: &Pair) -> Pair {
        let mut out = step.clone();
        out.hidden.values_mut().iter_mut().zip(self.hidden.values()).for_each(|(x, p)| *x *= p);
        out.output.values_mut().iter_mut().for_each(|x| *x *= self.scale);
        out
    }
}

/// Zeroes the entries of units that are off.
fn masked(inner: &mut Matrix, point: &Point) {
    for row in 0..inner.n_rows() {
        let units = point.units.row(row);
        inner.row_mut(row).iter_mut().zip(units).for_each(|(x, unit)| *x = if *unit > 0.0 { *x } else { 0.0 });
    }
}

/// C·δZ: the Hessian of the loss in Z.
fn curved(loss: &Loss<'_>, point: &Point, direction: &Matrix) -> Matrix {
    let mut out = loss.trusted(direction);
    if loss.kind == NodeLoss::CrossEntropy {
        for row in 0..out.n_rows() {
            let m = loss.trust[row];
            let shares: Vec<f64> =
                point.residual.row(row).iter().zip(loss.targets.row(row)).map(|(r, y)| r / m + y).collect();
            let mean: f64 = shares.iter().zip(direction.row(row)).map(|(s, d)| s * d).sum();
            let values = out.row_mut(row).iter_mut().zip(&shares).zip(direction.row(row));
            values.for_each(|((out, share), d)| *out = m * share * (d - mean));
        }
    }
    debug_assert_eq!(out.n_rows(), point.scores.n_rows());
    out
}
