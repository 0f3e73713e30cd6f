//! Edges reweighted by how far the hidden states of their ends differ (Yang et al. 2021): iterative reweighting for ½‖Z − F‖² +
//! (λ/2)·Σ aₑ·ρ(sₑ), sₑ = ‖zᵤ/√dᵤ − zᵥ/√dᵥ‖², with ρ(s) = (2/p)·s̄·(s/s̄)^(p/2).
//!
//! ρ is concave, so its tangent lies above it: a solve with the weights aₑ·ρ′(sₑ), ρ′(s) = (max(s, τ)/s̄)^(p/2 − 1), lowers the
//! energy (degrees D stay those of the graph). s̄ is the median of s at the first solution, so that half of the edges gain weight
//! and λ keeps its meaning; τ = s̄/20 bounds the gain. The energy is convex for p = 1; for smaller p, minima are local. Training
//! takes ρ′ as constant.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_graph::Graph;
use lapwing_solve::{Propagator, PropagatorParams, Shortfall};

use crate::core::ranks::median;

/// Residual of the scores that are returned.
pub(super) const SCORES_TOL: f64 = 1e-8;

/// Rounds of reweighting; later rounds change little but noise.
pub(super) const ROUNDS: usize = 2;
/// τ over the median.
const FLOOR: f64 = 0.05;

/// The state of the reweighting.
pub(super) struct Attention {
    power: f64,
    /// s̄.
    scale: Option<f64>,
}

impl Attention {
    /// With the power p.
    pub fn new(power: f64) -> Self {
        Self { power, scale: None }
    }

    /// The graph with the weights that follow from hidden states Z (n, c).
    pub fn reweighted(&mut self, graph: &Graph, self_loop: f64, z: &Matrix) -> Result<Graph> {
        let roots: Vec<f64> = graph.degree().iter().map(|d| (d + self_loop).sqrt()).collect();
        let distance = |u: usize, v: usize| -> f64 {
            let pairs = z.row(u).iter().zip(z.row(v));
            pairs.map(|(x, y)| (x / roots[u] - y / roots[v]).powi(2)).sum()
        };
        let matrix = graph.adjacency();
        let squares: Vec<f64> = (0..matrix.n_rows())
            .into_par_iter()
            .flat_map_iter(|u| matrix.row(u).0.iter().map(move |&v| (u, v as usize)))
            .map(|(u, v)| distance(u.min(v), u.max(v)))
            .collect();
        let scale = *self.scale.get_or_insert_with(|| median(squares.clone()).unwrap_or(0.0));
        let mut out = matrix.clone();
        if scale > 0.0 {
            let weigh = |s: f64| (s / scale).max(FLOOR).powf(self.power / 2.0 - 1.0);
            out.values_mut().par_iter_mut().zip(&squares).for_each(|(w, s)| *w *= weigh(*s));
        }
        // Finite weights may overflow or vanish.
        Graph::new(out)
    }
}

/// Z (n, c) of F over the graph, after all rounds of reweighting if a `power` is given; and the worst solve that did not reach
/// its tolerance.
pub(super) fn smoothed(
    graph: &Graph,
    params: PropagatorParams,
    power: Option<f64>,
    f: &Matrix,
    run: &Run,
) -> Result<(Matrix, Option<Shortfall>)> {
    let propagator = Propagator::new(graph, params, run)?;
    let (mut z, mut shortfall) = (propagator.solve(f, SCORES_TOL, run)?, propagator.shortfall());
    let Some(mut attention) = power.map(Attention::new) else { return Ok((z, shortfall)) };
    for _ in 0..ROUNDS {
        let reweighted = run.install(|| attention.reweighted(graph, params.self_loop, &z))?;
        let propagator = Propagator::with_degrees(&reweighted, graph.degree(), params, run)?;
        z = propagator.solve(f, SCORES_TOL, run)?;
        shortfall = Shortfall::worst(shortfall, propagator.shortfall());
    }
    Ok((z, shortfall))
}

#[cfg(test)]
mod tests {
    use crate::testkit::nasty_graphs;

    use super::*;

    /// ½‖Z − F‖² + (λ/2)·Σ aₑ·ρ(sₑ), with ρ replaced by its tangent below τ.
    fn energy(graph: &Graph, power: f64, scale: f64, reg: f64, f: &Matrix, z: &Matrix) -> f64 {
        let rho = |s: f64| {
            let (t, exponent) = (s / scale, power / 2.0);
            if t >= FLOOR {
                return scale * t.powf(exponent) / exponent;
            }
            scale * (FLOOR.powf(exponent) / exponent + FLOOR.powf(exponent - 1.0) * (t - FLOOR))
        };
        let roots: Vec<f64> = graph.degree().iter().map(|d| (d + 1.0).sqrt()).collect();
        let edges = (0..graph.n_samples()).flat_map(|u| {
            let (ids, weights) = graph.adjacency().row(u);
            ids.iter().zip(weights).filter(move |(v, _)| (**v as usize) > u).map(move |(&v, a)| (u, v as usize, *a))
        });
        let rough: f64 = edges
            .map(|(u, v, a)| {
                let pairs = z.row(u).iter().zip(z.row(v));
                a * rho(pairs.map(|(x, y)| (x / roots[u] - y / roots[v]).powi(2)).sum())
            })
            .sum();
        0.5 * z.values().iter().zip(f.values()).map(|(z, f)| (z - f).powi(2)).sum::<f64>() + 0.5 * reg * rough
    }

    #[test]
    fn every_round_lowers_the_energy() {
        let run = Run::new(Some(2), 0).unwrap();
        for (name, graph) in nasty_graphs() {
            let n = graph.n_samples();
            let f = Matrix::new(n, 2, (0..2 * n).map(|at| ((at * 37 + 3) % 17) as f64 - 8.0).collect()).unwrap();
            for power in [1.0, 0.5, 1.5] {
                let params = PropagatorParams { graph_reg: 5.0, ..PropagatorParams::default() };
                let solve = |reweighted: &Graph| {
                    Propagator::with_degrees(reweighted, graph.degree(), params, &run).unwrap().solve(&f, 1e-11, &run)
                };
                let mut attention = Attention::new(power);
                let mut z = solve(&graph).unwrap();
                let mut reweighted = attention.reweighted(&graph, 1.0, &z).unwrap();
                let Some(scale) = attention.scale.filter(|scale| *scale > 1e-12) else { continue };
                let mut before = energy(&graph, power, scale, 5.0, &f, &z);
                for _ in 0..5 {
                    z = solve(&reweighted).unwrap();
                    let now = energy(&graph, power, scale, 5.0, &f, &z);
                    assert!(now <= before * (1.0 + 1e-9), "{name} {power}: {now} {before}");
                    before = now;
                    reweighted = attention.reweighted(&graph, 1.0, &z).unwrap();
                }
            }
        }
    }
}
