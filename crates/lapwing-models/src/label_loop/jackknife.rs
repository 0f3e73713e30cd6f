//! Intervals around the values of a regression, by the jackknife+ (Barber, Candès, Ramdas & Tibshirani 2021, "Predictive inference with
//! the jackknife+").
//!
//! With f₋ᵢ the fit without value i and rᵢ = |yᵢ − f₋ᵢ(xᵢ)|, the interval of row x lies between the ⌊α(l + 1)⌋-th smallest of f₋ᵢ(x) − rᵢ and
//! the ⌈(1 − α)(l + 1)⌉-th smallest of f₋ᵢ(x) + rᵢ. It holds the value of a row that is drawn like the known ones with a probability of
//! at least 1 − 2α, and of about 1 − α unless the fit is unstable.
//!
//! No fit is repeated: with H = A⁻¹T, centered as the scores (see [`smoother`](crate::core::smoother)), and Lᵢ the score of row i without its value,
//!
//! ```text
//! f₋ᵢ(x) = f(x) + (ȳ − ȳ₋ᵢ)·(1 − n·o(x)/1ᵀo) − H(x, i)·(yᵢ − ȳ₋ᵢ − Lᵢ) + ȳ₋ᵢ     (stable; f centered),
//! f₋ᵢ(x) = f(x) − H(x, i)·(yᵢ − Lᵢ)                                              (plain).
//! ```
//!
//! Cost: l columns of a solve, and 4 bytes for each row and known value. Beyond [`MOST_VALUES`] of these, f takes the place of f₋ᵢ (the
//! jackknife), which costs what [`leave_one_out`](crate::core::smoother::leave_one_out) does.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run, Targets};
use lapwing_graph::Graph;

use super::sets::least_labels;
use crate::core::held_out::choosing::power_of_two;
use crate::core::ranks::{conformal_rank, of_rank};
use crate::core::smoother::leave_one_out::{Centering, TOL, check_values, of_values};
use crate::core::smoother::{BLOCK, Probe, Smooth, Smoother, moderate};

/// Most rows times known values for which every f₋ᵢ is computed.
const MOST_VALUES: usize = 1 << 25;

/// Intervals around the values of a regression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Intervals {
    /// Lower ends (n), NaN in rows that no value reaches.
    pub lower: Vec<f64>,
    /// Upper ends (n).
    pub upper: Vec<f64>,
    /// Whether every f₋ᵢ was computed: the jackknife+. Otherwise the jackknife.
    pub is_plus: bool,
}

/// Intervals at `level` for every row of the harmonic function of that `smoothness` (γ·Σtᵢ times the mean degree), stable or plain.
///
/// # Errors
/// [`Error::Param`] for a level outside (0, 1), or one that needs more values than there are; [`Error::Shape`]; [`Error::Interrupted`].
pub fn jackknife_plus(
    graph: &Graph,
    targets: &Targets,
    smoothness: f64,
    centering: Centering,
    level: f64,
    run: &Run,
) -> Result<Intervals> {
    check_values(graph, targets)?;
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::param("level", level, "a number above 0 and below 1"));
    }
    let (n, l) = (graph.n_samples(), targets.rows().len());
    check_level(level, l, "")?;
    let (graph, components) = (moderate(graph), graph.components());
    let smoother = Smoother::new(&graph, &components, targets, smoothness, TOL, run)?;
    let smooth = smoother.solve(None, run)?;
    let is_stable = centering == Centering::Stable;
    let left_out = of_values(&smoother, &smooth, targets, is_stable, run)?;
    let fit = Fit { smoother: &smoother, smooth: &smooth, targets, left_out: &left_out, is_stable };
    let known: Vec<usize> = (0..l).filter(|&at| fit.residual(at).is_finite()).collect();
    check_level(level, known.len(), " that another value reaches")?;
    let is_plus = n * known.len() <= MOST_VALUES;
    let unit = fit.unit(&known);
    let without = if is_plus { fit.without(&known, unit, run)? } else { Vec::new() };
    let residuals: Vec<f64> = known.iter().map(|&at| fit.residual(at).abs()).collect();
    let m = residuals.len();
    let rank = conformal_rank(m, level);
    // The jackknife: one width for all rows.
    let width = if is_plus { f64::NAN } else { of_rank(residuals.clone(), rank) };
    let ends = |row: usize| {
        let value = fit.value(row);
        if !is_plus || value.is_nan() {
            return [value - width, value + width];
        }
        let moved = without[row * m..][..m].iter().map(|moved| f64::from(*moved) * unit).zip(&residuals);
        let low: Vec<f64> = moved.clone().map(|(moved, residual)| value + moved - residual).collect();
        let high: Vec<f64> = moved.map(|(moved, residual)| value + moved + residual).collect();
        [of_rank(low, m - rank + 1), of_rank(high, rank)]
    };
    let found: Vec<[f64; 2]> = run.install(|| (0..n).into_par_iter().with_min_len(64).map(ends).collect());
    run.check()?;
    let (lower, upper) = found.into_iter().map(|[low, high]| (low, high)).unzip();
    Ok(Intervals { lower, upper, is_plus })
}

/// Refuses a level that `n` values do not allow.
fn check_level(level: f64, n: usize, which: &str) -> Result<()> {
    let least = least_labels(level).max(2);
    match n >= least {
        true => Ok(()),
        false => Err(Error::param("level", level, format!("at least {least} values{which}; there are {n}"))),
    }
}

struct Fit<'a> {
    smoother: &'a Smoother<'a>,
    smooth: &'a Smooth,
    targets: &'a Targets,
    /// Lᵢ (l, 1).
    left_out: &'a Matrix,
    is_stable: bool,
}

impl Fit<'_> {
    /// f(x), with the level of its component; NaN where no value reaches.
    fn value(&self, row: usize) -> f64 {
        let Some(part) = self.smoother.part_of(row) else { return f64::NAN };
        let mean = self.smoother.parts[part].mean()[0];
        if self.is_stable { self.smooth.scores.row(row)[0] + mean } else { self.smooth.plain(row, 0) + mean }
    }

    /// yᵢ less the value of its row without it.
    fn residual(&self, at: usize) -> f64 {
        let y = self.targets.values().row(at)[0];
        y - self.left_out.row(at)[0] - self.level_without(at).unwrap_or(f64::NAN)
    }

    /// The level that leave-one-out scores are above: ȳ₋ᵢ, or 0.
    fn level_without(&self, at: usize) -> Option<f64> {
        let part = &self.smoother.parts[self.smoother.of_label[at]];
        let without = part.mean_without(self.targets.values().row(at), self.targets.weights()[at])?[0];
        Some(if self.is_stable { without } else { 0.0 })
    }

    /// A power of two near the largest change that leaving out one of `known` makes: of this unit, single precision holds the changes.
    fn unit(&self, known: &[usize]) -> f64 {
        let steps = known.iter().map(|&at| self.step(at));
        power_of_two(steps.fold(0.0, |most, (_, pulled, level)| most.max(pulled.abs()).max(level.abs())))
    }

    /// f₋ᵢ(x) − f(x) of every row and the values `known` (n, m) over `unit`, in blocks of columns. Differences, because single precision
    /// would not hold values far from 0.
    fn without(&self, known: &[usize], unit: f64, run: &Run) -> Result<Vec<f32>> {
        let (n, m) = (self.smooth.scores.n_rows(), known.len());
        let mut found = vec![f32::NAN; n * m];
        for first in (0..m).step_by(BLOCK) {
            let own = &known[first..m.min(first + BLOCK)];
            let probes: Vec<Probe> =
                own.iter().enumerate().map(|(column, &label)| Probe { label, column, sign: 1.0 }).collect();
            let columns = self.smoother.columns(&probes, self.is_stable, self.smooth, run)?;
            let steps: Vec<(usize, f64, f64)> = own.iter().map(|&at| self.step(at)).collect();
            run.install(|| {
                found.par_chunks_mut(m).enumerate().with_min_len(256).for_each(|(row, out)| {
                    let Some(part) = self.smoother.part_of(row) else { return };
                    let constant = self.smoother.parts[part].n_rows as f64 * self.smooth.potential[row]
                        / self.smooth.potential_sums[part];
                    let steps = steps.iter().zip(columns.row(row));
                    for (out, (&(home, pulled, level), influence)) in out[first..].iter_mut().zip(steps) {
                        let moved = if home == part { -level * constant - influence * pulled } else { 0.0 };
                        *out = (moved / unit) as f32;
                    }
                });
            });
        }
        Ok(found)
    }

    /// The component of value `at`, and what leaving it out moves: f₋ᵢ(x) − f(x) is minus the second per influence H(x, i), and minus the
    /// third, ȳ − ȳ₋ᵢ, per n·o(x)/1ᵀo.
    fn step(&self, at: usize) -> (usize, f64, f64) {
        let (number, residual) = (self.smoother.of_label[at], self.residual(at));
        if !self.is_stable {
            return (number, residual, 0.0);
        }
        let without = self.targets.values().row(at)[0] - residual - self.left_out.row(at)[0];
        (number, residual, self.smoother.parts[number].mean()[0] - without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(n: u32) -> Graph {
        let edges: Vec<(u32, u32, f64)> =
            (0..n).flat_map(|row| [(row, (row + 1) % n, 1.0), (row, (row + 9) % n, 0.2)]).collect();
        Graph::from_edges(n as usize, &edges).unwrap()
    }

    /// A number in [0, 1) for each row and purpose.
    fn noise(row: usize, purpose: u64) -> f64 {
        let mixed = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (purpose << 32)).rotate_left(29);
        (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Values with noise, known in one of `every` rows.
    fn values(n: usize, every: usize, skip: Option<usize>) -> Targets {
        let value = |row: usize| (row as f64 * 0.05).sin() + noise(row, 1);
        let is_known = |row: usize| noise(row, 2) < 1.0 / every as f64 && Some(row) != skip;
        let given: Vec<f64> = (0..n).map(|row| if is_known(row) { value(row) } else { f64::NAN }).collect();
        Targets::regression(&given, None).unwrap()
    }

    #[test]
    fn values_without_one_are_those_of_a_fit_without_it() {
        let run = Run::new(Some(2), 1).unwrap();
        let graph = graph(60);
        let components = graph.components();
        let smoothness = 0.7;
        let targets = values(60, 4, None);
        let smoother = Smoother::new(&graph, &components, &targets, smoothness, 1e-10, &run).unwrap();
        let smooth = smoother.solve(None, &run).unwrap();
        for is_stable in [true, false] {
            let left_out = of_values(&smoother, &smooth, &targets, is_stable, &run).unwrap();
            let fit = Fit { smoother: &smoother, smooth: &smooth, targets: &targets, left_out: &left_out, is_stable };
            let l = targets.rows().len();
            let known: Vec<usize> = (0..l).collect();
            let row_of = |at: usize| targets.rows()[at] as usize;
            let found = fit.without(&known, 1.0, &run).unwrap();
            for at in [0, l / 2, l - 1] {
                let less = values(60, 4, Some(row_of(at)));
                let other = Smoother::new(&graph, &components, &less, smoothness, 1e-10, &run).unwrap();
                let solved = other.solve(None, &run).unwrap();
                let empty = Matrix::filled(l - 1, 1, 0.0);
                let refit = Fit { smoother: &other, smooth: &solved, targets: &less, left_out: &empty, is_stable };
                for row in 0..60 {
                    let (a, b) = (fit.value(row) + f64::from(found[row * l + at]), refit.value(row));
                    assert!((a - b).abs() < 1e-5, "{is_stable} {at} {row}: {a} {b}");
                }
                let y = targets.values().row(at)[0];
                assert!((fit.residual(at) - (y - refit.value(row_of(at)))).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn intervals_have_the_unit_of_the_values() {
        let (run, graph) = (Run::new(Some(2), 1).unwrap(), graph(60));
        let base = values(60, 4, None);
        let intervals = |unit: f64| {
            let scaled = base.values().values().iter().map(|y| y * unit).collect();
            let scaled = Matrix::new(base.rows().len(), 1, scaled).unwrap();
            let targets = Targets::new(60, base.rows().to_vec(), scaled, base.weights().to_vec()).unwrap();
            jackknife_plus(&graph, &targets, 0.5, Centering::Stable, 0.8, &run).unwrap()
        };
        let expected = intervals(1.0);
        for unit in [2f64.powi(-330), 2f64.powi(-147), 2f64.powi(129), 2f64.powi(330)] {
            let found = intervals(unit);
            let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| *a == b * unit);
            assert!(same(&found.lower, &expected.lower) && same(&found.upper, &expected.upper), "{unit:e}");
        }
    }

    #[test]
    fn intervals_hold_most_values_and_refuse_levels_out_of_reach() {
        let run = Run::new(Some(2), 1).unwrap();
        let graph = graph(400);
        let targets = values(400, 4, None);
        let all = values(400, 1, None);
        let found = jackknife_plus(&graph, &targets, 0.5, Centering::Stable, 0.9, &run).unwrap();
        let is_in = |row: &usize| {
            let y = all.values().row(*row)[0];
            found.lower[*row] <= y && y <= found.upper[*row]
        };
        let hidden: Vec<usize> = (0..400).filter(|row| targets.rows().binary_search(&(*row as u32)).is_err()).collect();
        let covered = hidden.iter().filter(|row| is_in(row)).count() as f64 / hidden.len() as f64;
        assert!(found.is_plus && (0.82..=0.99).contains(&covered), "{covered}");
        let text = |level| {
            jackknife_plus(&graph, &values(400, 60, None), 0.5, Centering::Stable, level, &run).unwrap_err().to_string()
        };
        assert!(text(0.95).contains("at least 19 values") && text(1.5).contains("level is 1.5"));
        let apart = Graph::from_edges(400, &[]).unwrap();
        let alone = jackknife_plus(&apart, &targets, 0.0, Centering::Stable, 0.9, &run).unwrap_err().to_string();
        assert!(alone.contains("values that another value reaches; there are 0"), "{alone}");
    }
}
