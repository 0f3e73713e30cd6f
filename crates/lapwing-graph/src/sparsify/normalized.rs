//! A sparsifier of I + λ·L̂ with L̂ = D^(−1/2)·L·D^(−1/2) and D = self_loop + degrees, by ridge leverage (Yang, Yang, Hu &
//! Dereziński, HERTA, algorithm 2).
//!
//! ```text
//! b̂ₑ = √a·(χᵤ/√dᵤ − χᵥ/√dᵥ),   ℓₑ = b̂ₑᵀ·(L̂ + λ⁻¹I)⁻¹·b̂ₑ in (0, 1),   Σℓₑ = n_λ = Σᵢ λᵢ/(λᵢ + 1/λ)
//! ```
//!
//! The size of a sparsifier is proportional to n_λ, the effective dimension. The degrees D stay those of the whole graph: the
//! sparsifier approximates its quadratic form, and is not a graph with a normalized Laplacian of its own.
//!
//! Departures from the paper: one sketch G = (π₁ᵀB̂ + λ^(−1/2)·π₂ᵀ)/√k of covariance L̂ + λ⁻¹I instead of a sketch for each term;
//! systems solved to 10⁻³, not 2^(1/4); every edge is drawn by itself with p = min(1, q·ℓ/Σℓ), where q is such that the requested
//! number is kept in the mean. Draws with replacement, as published, are an option.
//!
//! Cost: k = 32 columns of H on the whole graph, and k differences for each edge; 8 bytes for each edge and 8·k for each
//! node of a strip. Random signs belong to the seed and the place of an edge or node: any number of threads gives the same bits.

use std::ops::Range;

use lapwing_core::hash::{mix, uniform};
use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, Result, Run, Warning};
use lapwing_solve::{Propagator, PropagatorParams, Shortfall};

use super::edge::{upper, upper_triangle};
use crate::Graph;
use crate::relation::{adjacency, cut_rows};

/// How to sparsify I + λ·L̂.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RidgeParams {
    /// λ > 0.
    pub graph_reg: f64,
    /// Added to every degree, above 0; default 1.
    pub self_loop: f64,
    /// Edges kept in the mean, or number of draws with replacement.
    pub n_edges: usize,
    /// Draw with replacement, as published: an edge drawn t times of s weighs a·t/(s·p); default false.
    pub replace: bool,
    /// Random projections k, 1 to 64; default 32. The relative standard deviation of a leverage is about √(2/k).
    pub n_projections: usize,
}

impl RidgeParams {
    /// Parameters for λ = `graph_reg` that keep `n_edges`.
    pub fn new(graph_reg: f64, n_edges: usize) -> Self {
        Self { graph_reg, self_loop: 1.0, n_edges, replace: false, n_projections: 32 }
    }
}

/// The edges of a sparsifier of I + λ·L̂.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RidgeSparsifier {
    /// Their new weights (n, n), symmetric.
    pub adjacency: Csr<f64>,
    /// Edges that were kept.
    pub n_kept: usize,
    /// Estimate of n_λ, the sum of the leverages.
    pub effective_dimension: f64,
    /// A warning if the systems for the leverages did not converge.
    pub warnings: Vec<Warning>,
}

/// Residual of the systems for leverages.
const TOL: f64 = 1e-3;
/// Rows of one unit of work.
const BLOCK: usize = 1024;

/// Ridge leverage ℓₑ of every edge (m), in the order of the rows and then columns of the upper triangle, by random projections:
/// right in the mean, so that single estimates may be above 1.
fn ridge_leverages(graph: &Graph, params: &RidgeParams, run: &Run) -> Result<(Vec<f64>, Option<Shortfall>)> {
    let &RidgeParams { graph_reg, self_loop, n_projections, .. } = params;
    if graph_reg.is_nan() || graph_reg <= 0.0 {
        return Err(Error::param("graph_reg", graph_reg, "above 0"));
    }
    if !(1..=64).contains(&n_projections) {
        return Err(Error::param("n_projections", n_projections, "between 1 and 64"));
    }
    let matrix = graph.adjacency();
    let propagator =
        Propagator::new(graph, PropagatorParams { graph_reg, self_loop, ..PropagatorParams::default() }, run)?;
    let roots: Vec<f64> = graph.degree().iter().map(|d| (d + self_loop).sqrt()).collect();
    let sketch = Sketch {
        matrix,
        roots: &roots,
        key: mix(run.seed ^ 0x7269_6467),
        scale: (n_projections as f64).sqrt().recip(),
        own: graph_reg.sqrt().recip(),
    };
    let mut starts = vec![0; matrix.n_rows() + 1];
    (0..matrix.n_rows()).for_each(|row| starts[row + 1] = starts[row] + upper(matrix, row).0.len() as u64);
    let mut leverages = vec![0.0; starts[matrix.n_rows()] as usize];
    let fill = |columns: Range<usize>, part: &mut [f32]| sketch.fill(columns, part);
    propagator.solve_wide(n_projections, TOL, run, &fill, &mut |columns, part| {
        run.check()?;
        let row_of = |row: usize| &part[row * columns.len()..(row + 1) * columns.len()];
        let blocks: Vec<_> = cut_rows(&mut leverages, &starts, BLOCK).enumerate().collect();
        blocks.into_par_iter().for_each(|(block, leverages)| {
            let rows = block * BLOCK..((block + 1) * BLOCK).min(matrix.n_rows());
            let edges = rows.flat_map(|row| {
                let (ids, weights) = upper(matrix, row);
                ids.iter().zip(weights).map(move |(&id, a)| (row, id as usize, a))
            });
            for (leverage, (row, id, a)) in leverages.iter_mut().zip(edges) {
                let (u, v) = (graph_reg / roots[row], graph_reg / roots[id]);
                let pairs = row_of(row).iter().zip(row_of(id));
                *leverage += a * pairs.map(|(x, y)| (u * f64::from(*x) - v * f64::from(*y)).powi(2)).sum::<f64>();
            }
        });
        Ok(())
    })?;
    Ok((leverages, propagator.shortfall()))
}

/// The random sketch G = (π₁ᵀB̂ + λ^(−1/2)·π₂ᵀ)/√k.
struct Sketch<'a> {
    matrix: &'a Csr<f64>,
    /// √d of each row.
    roots: &'a [f64],
    key: u64,
    /// 1/√k.
    scale: f64,
    /// λ^(−1/2).
    own: f64,
}

impl Sketch<'_> {
    /// Writes columns of Gᵀ (n, w), row-major. Edges and nodes have one random bit for each column.
    fn fill(&self, columns: Range<usize>, part: &mut [f32]) {
        let sign = |bits: u64, column: usize| f64::from_bits(1f64.to_bits() | ((bits >> column) << 63));
        part.par_chunks_mut(columns.len()).enumerate().with_min_len(256).for_each(|(row, out)| {
            let (ids, weights) = self.matrix.row(row);
            let node = mix(self.key ^ mix(row as u64 | 1 << 63));
            let mut sums = [0.0; 64];
            for (at, column) in columns.clone().enumerate() {
                sums[at] = self.own * sign(node, column);
            }
            for (&id, weight) in ids.iter().zip(weights) {
                let (low, high) = ((row as u64).min(id.into()), (row as u64).max(id.into()));
                let bits = mix(self.key ^ mix(low << 32 | high));
                let value = weight.sqrt() / self.roots[row] * if row as u64 == low { 1.0 } else { -1.0 };
                for (at, column) in columns.clone().enumerate() {
                    sums[at] += value * sign(bits, column);
                }
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = (sum * self.scale) as f32);
        });
    }
}

/// A sparsifier of I + λ·L̂ with about `params.n_edges` edges.
///
/// # Errors
/// [`Error::Param`] for no edges and parameters outside their range; [`Error::Interrupted`].
pub fn sparsify_ridge(graph: &Graph, params: &RidgeParams, run: &Run) -> Result<RidgeSparsifier> {
    if params.n_edges == 0 {
        return Err(Error::param("n_edges", 0, "at least 1"));
    }
    let (mut leverages, shortfall) = ridge_leverages(graph, params, run)?;
    let effective_dimension: f64 = leverages.iter().sum();
    leverages.iter_mut().for_each(|leverage| *leverage = leverage.min(1.0));
    let key = mix(run.seed ^ 0x6472_6177);
    let factors: Vec<f64> = if params.replace && effective_dimension > 0.0 {
        drawn(&leverages, params.n_edges, key)
    } else {
        let q = quota(&leverages, params.n_edges);
        let factor = |(at, leverage): (usize, &f64)| {
            let p = (q * leverage).min(1.0);
            if uniform(key ^ mix(at as u64)) < p { p.recip() } else { 0.0 }
        };
        leverages.iter().enumerate().map(factor).collect()
    };
    let kept = upper_triangle(graph.adjacency()).zip(&factors).filter(|(_, factor)| **factor > 0.0);
    let n_kept = kept.clone().count();
    let adjacency = adjacency(graph.n_samples(), kept.map(|((u, v, weight), factor)| (u, v, weight * factor)))?;
    let effect = "leverages may be off, and the sparse graph less close to the graph";
    let warn = |Shortfall { n_iter, residual, tol }| Warning::ResistancesNotConverged { n_iter, residual, tol, effect };
    Ok(RidgeSparsifier { adjacency, n_kept, effective_dimension, warnings: shortfall.map(warn).into_iter().collect() })
}

/// q with Σ min(1, q·ℓ) equal to the number of edges; infinite where all edges are kept.
fn quota(leverages: &[f64], n_edges: usize) -> f64 {
    if n_edges >= leverages.len() {
        return f64::INFINITY;
    }
    let expected = |q: f64| leverages.iter().map(|leverage| (q * leverage).min(1.0)).sum::<f64>();
    let total: f64 = leverages.iter().sum();
    let (mut low, mut high) = (n_edges as f64 / total, f64::MAX.sqrt());
    for _ in 0..200 {
        let middle = if high > 4.0 * low { 2.0 * low } else { 0.5 * (low + high) };
        *if expected(middle) < n_edges as f64 { &mut low } else { &mut high } = middle;
        if high - low <= 1e-12 * high {
            break;
        }
    }
    high
}

/// Factor t/(s·p) of the weight of each edge, where t of s draws with replacement hit it.
fn drawn(leverages: &[f64], n_draws: usize, key: u64) -> Vec<f64> {
    let mut sums = Vec::with_capacity(leverages.len());
    let total = leverages.iter().fold(0.0, |sum, leverage| {
        sums.push(sum + leverage);
        sum + leverage
    });
    let mut times = vec![0u32; leverages.len()];
    for draw in 0..n_draws {
        let at = sums.partition_point(|sum| *sum <= uniform(key ^ mix(draw as u64)) * total);
        times[at.min(leverages.len() - 1)] += 1;
    }
    let factor = |(&times, &leverage): (&u32, &f64)| {
        let is_drawn = times > 0 && leverage > 0.0;
        if is_drawn { f64::from(times) * total / (n_draws as f64 * leverage) } else { 0.0 }
    };
    times.iter().zip(leverages).map(factor).collect()
}

#[cfg(test)]
mod tests {
    use lapwing_core::Matrix;
    use lapwing_solve::dense;

    use super::*;
    use crate::testkit::nasty_graphs;

    /// (L̂ + λ⁻¹I)⁻¹ and L̂, dense.
    fn resolvent(graph: &Graph, params: &RidgeParams) -> (Matrix, Matrix) {
        let n = graph.n_samples();
        let d: Vec<f64> = graph.degree().iter().map(|d| d + params.self_loop).collect();
        let mut l = Matrix::filled(n, n, 0.0);
        for row in 0..n {
            l.row_mut(row)[row] = graph.degree()[row] / d[row];
            for (&id, w) in graph.adjacency().row(row).0.iter().zip(graph.adjacency().row(row).1) {
                l.row_mut(row)[id as usize] -= w / (d[row] * d[id as usize]).sqrt();
            }
        }
        let (mut shifted, mut eye) = (l.clone(), Matrix::filled(n, n, 0.0));
        for row in 0..n {
            shifted.row_mut(row)[row] += 1.0 / params.graph_reg;
            eye.row_mut(row)[row] = 1.0;
        }
        (dense::solve_spd(&shifted, &eye).unwrap(), l)
    }

    fn exact(graph: &Graph, params: &RidgeParams) -> Vec<f64> {
        let (inverse, _) = resolvent(graph, params);
        let d: Vec<f64> = graph.degree().iter().map(|d| (d + params.self_loop).sqrt()).collect();
        (0..graph.n_samples())
            .flat_map(|u| {
                let (ids, weights) = upper(graph.adjacency(), u);
                ids.iter().zip(weights).map(move |(&v, a)| (u, v as usize, *a))
            })
            .map(|(u, v, a)| {
                let (x, y) = (1.0 / d[u], 1.0 / d[v]);
                a * (x * x * inverse.row(u)[u] + y * y * inverse.row(v)[v] - 2.0 * x * y * inverse.row(u)[v])
            })
            .collect()
    }

    #[test]
    fn leverages_add_up_to_the_effective_dimension_and_are_right_in_the_mean() {
        for (name, graph) in nasty_graphs() {
            for graph_reg in [1.0, 20.0] {
                let params = RidgeParams { n_projections: 64, ..RidgeParams::new(graph_reg, 1) };
                let leverages = exact(&graph, &params);
                let (_, l) = resolvent(&graph, &params);
                let (values, _) = dense::eigen_symmetric(&l).unwrap();
                let dimension: f64 = values.iter().map(|v| v.max(0.0) / (v.max(0.0) + 1.0 / graph_reg)).sum();
                let sum: f64 = leverages.iter().sum();
                assert!((sum - dimension).abs() < 1e-6 * dimension.max(1.0), "{name}: {sum} {dimension}");
                let mut mean = vec![0.0; leverages.len()];
                for seed in 0..40 {
                    let found = ridge_leverages(&graph, &params, &Run::new(Some(1 + seed % 2), seed as u64).unwrap())
                        .unwrap()
                        .0;
                    mean.iter_mut().zip(found).for_each(|(mean, x)| *mean += x / 40.0);
                }
                let total: f64 = mean.iter().sum();
                assert!((total - sum).abs() < 0.05 * sum + 1e-9, "{name}: {total} {sum}");
            }
        }
    }

    #[test]
    fn both_ways_to_draw_are_right_in_the_mean_and_the_same_for_any_threads() {
        let (_, graph) = nasty_graphs().swap_remove(4);
        let m = graph.n_edges();
        let x: Vec<f64> = (0..graph.n_samples()).map(|i| ((i * 29) % 13) as f64).collect();
        let form = |matrix: &Csr<f64>| -> f64 {
            let row = |u: usize| {
                let (ids, weights) = upper(matrix, u);
                ids.iter().zip(weights).map(|(&v, w)| w * (x[u] - x[v as usize]).powi(2)).sum::<f64>()
            };
            (0..matrix.n_rows()).map(row).sum()
        };
        for replace in [false, true] {
            let params = RidgeParams { replace, ..RidgeParams::new(5.0, m / 2) };
            let draw =
                |seed: u64, threads| sparsify_ridge(&graph, &params, &Run::new(Some(threads), seed).unwrap()).unwrap();
            assert_eq!(draw(3, 1).adjacency, draw(3, 7).adjacency);
            let found: Vec<f64> = (0..200).map(|seed| form(&draw(seed, 1).adjacency)).collect();
            let mean = found.iter().sum::<f64>() / 200.0;
            let sd = (found.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
            let z = (mean - form(graph.adjacency())) / (sd / 200f64.sqrt()).max(1e-9 * mean);
            assert!(z.abs() < 4.0, "{replace}: {z}");
        }
        let whole = sparsify_ridge(&graph, &RidgeParams::new(5.0, m), &Run::new(Some(1), 0).unwrap()).unwrap();
        assert_eq!((whole.n_kept, &whole.adjacency), (m, graph.adjacency()));
        assert!(whole.warnings.is_empty());
    }

    #[test]
    fn the_number_of_edges_is_met() {
        let (_, graph) = nasty_graphs().swap_remove(4);
        let run = Run::new(Some(2), 1).unwrap();
        let m = graph.n_edges();
        for share in [4, 2] {
            let found = sparsify_ridge(&graph, &RidgeParams::new(5.0, m / share), &run).unwrap();
            let (kept, wanted) = (found.n_kept as f64, (m / share) as f64);
            assert!((kept - wanted).abs() < 5.0 * wanted.sqrt(), "{kept} {wanted}");
        }
        assert!(sparsify_ridge(&graph, &RidgeParams::new(0.0, 5), &run).is_err());
        assert!(sparsify_ridge(&graph, &RidgeParams::new(1.0, 0), &run).is_err());
        assert!(ridge_leverages(&graph, &RidgeParams { n_projections: 65, ..RidgeParams::new(1.0, 5) }, &run).is_err());
    }
}
