//! Effective resistances: Rᵤᵥ = bᵀL⁺b with b = eᵤ − e_v, the resistance between two nodes of a network in which the weight of
//! an edge is its conductance.
//!
//! *Exact*, for small graphs: from a dense inverse of L + J/n of each component. By *projection* (Spielman & Srivastava 2008):
//! with k random sign vectors q over the edges, Z = L⁺BᵀW^(1/2)Q, and R̃ᵤᵥ = (1/k)·Σⱼ (zᵤⱼ − z_vⱼ)² is R in the mean, with a
//! relative standard deviation of √(2/k). With a ridge ρ, L + ρI takes the place of L, and signs over the nodes are added.
//!
//! Signs are hashes of the seed, the ends of the edge and the column: they are not stored, and do not depend on the order of
//! work. Cost: k columns solved as blocks, by [`LaplacianSolver`]; parallel over rows and edges.
//!
//! A solve that stops too soon gives an edge over a weak cut a small part of its resistance. See
//! [`SparsifyParams::tol`](super::SparsifyParams::tol).

use lapwing_core::hash::mix;
use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run, Warning};
use lapwing_simd::{dispatch, prefetch_lines};
use lapwing_solve::dense::solve_spd;
use lapwing_solve::{LaplacianParams, LaplacianSolver};

use serde::{Deserialize, Serialize};

use super::edge::upper_triangle;
use crate::Graph;
use crate::knn::pairs::{Pair, pair_sum};

/// Columns solved for at a time, unless memory is scarce.
pub(super) const MOST_COLUMNS: usize = 32;

/// How to compute effective resistances.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResistanceMethod {
    /// To rounding, for components of up to 10,000 nodes.
    Exact,
    /// By random projections.
    Projection {
        /// Projections, at least 1.
        n_projections: usize,
        /// Relative residual of the systems, in (0, 1).
        tol: f64,
    },
}

/// Nodes of a component up to which resistances are computed exactly: three dense matrices of that size.
const MOST_EXACT: usize = 10_000;

/// Effective resistances of all edges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resistances {
    /// Resistance of every edge u < v (m), row by row of the adjacency matrix.
    pub values: Vec<f64>,
    /// Warnings of systems that did not converge: the values are less exact than requested.
    pub warnings: Vec<Warning>,
}

/// Effective resistance of every edge of `graph`.
///
/// # Errors
/// [`Error::TooLarge`] for exact resistances in a component of more than 10,000 nodes; [`Error::Param`];
/// [`Error::NotPositiveDefinite`] for exact resistances of weights that span too many orders of magnitude;
/// [`Error::Interrupted`].
///
/// # Complexity
/// Exact: O(n³) time and 24·n² bytes for the largest component. Projection: `n_projections` columns of a Laplacian
/// system, of which 32 are held at a time.
///
/// # Example
/// ```
/// use lapwing_core::Run;
/// use lapwing_graph::Graph;
/// use lapwing_graph::sparsify::{ResistanceMethod, effective_resistances};
///
/// // Each edge of a triangle lies beside a path of two: 1·2 / (1 + 2).
/// let triangle = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)])?;
/// let resistances = effective_resistances(&triangle, ResistanceMethod::Exact, &Run::new(None, 0)?)?;
/// assert!(resistances.values.iter().all(|r| (r - 2.0 / 3.0).abs() < 1e-12));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn effective_resistances(graph: &Graph, method: ResistanceMethod, run: &Run) -> Result<Resistances> {
    let edges: Vec<(u32, u32)> = upper_triangle(graph.adjacency()).map(|(u, v, _)| (u, v)).collect();
    match method {
        ResistanceMethod::Exact => Ok(Resistances { values: exact(graph, &edges, run)?, warnings: Vec::new() }),
        ResistanceMethod::Projection { n_projections, tol } => {
            if n_projections == 0 {
                return Err(Error::param("n_projections", 0, "at least 1"));
            }
            let columns = n_projections.min(MOST_COLUMNS);
            let projections = Projections { n_projections, columns, tol, ridge: 0.0, key: mix(run.seed) };
            let (values, unconverged) = projections.resistances(graph, &edges, run)?;
            let effect = "the resistances are less exact than asked";
            Ok(Resistances { values, warnings: unconverged.iter().map(|system| system.warning(tol, effect)).collect() })
        }
    }
}

fn exact(graph: &Graph, edges: &[(u32, u32)], run: &Run) -> Result<Vec<f64>> {
    let components = graph.components();
    let largest = components.sizes.iter().copied().max().unwrap_or(0);
    if largest > MOST_EXACT {
        let bytes = |n: usize| 24 * (n as u64) * (n as u64);
        let what = format!("exact resistances in a component of {largest} nodes");
        return Err(Error::too_large(what, bytes(largest), bytes(MOST_EXACT), "use projections"));
    }
    let mut members = vec![Vec::new(); components.sizes.len()];
    let mut place = vec![0usize; graph.n_samples()];
    for (node, &id) in components.id.iter().enumerate() {
        place[node] = members[id as usize].len();
        members[id as usize].push(node);
    }
    let mut of_component = vec![Vec::new(); members.len()];
    edges.iter().enumerate().for_each(|(at, edge)| of_component[components.id[edge.0 as usize] as usize].push(at));
    let mut resistances = vec![0.0; edges.len()];
    for (members, own) in members.iter().zip(&of_component).filter(|(_, own)| !own.is_empty()) {
        run.check()?;
        let n = members.len();
        // Conductances of one scale with J/n.
        let scale = members.iter().map(|&node| graph.degree()[node]).fold(0.0, f64::max);
        let mut grounded = Matrix::filled(n, n, 1.0 / n as f64);
        for (row, &node) in members.iter().enumerate() {
            let (columns, weights) = graph.adjacency().row(node);
            let values = grounded.row_mut(row);
            for (&column, weight) in columns.iter().zip(weights) {
                values[place[column as usize]] -= weight / scale;
                values[row] += weight / scale;
            }
        }
        let mut identity = Matrix::filled(n, n, 0.0);
        (0..n).for_each(|row| identity.row_mut(row)[row] = 1.0);
        let inverse = run.install(|| solve_spd(&grounded, &identity)).map_err(|error| match error {
            Error::NotPositiveDefinite { pivot, .. } => Error::not_positive_definite(
                format!("the Laplacian of a component of {n} nodes"),
                pivot.map(|row| members[row]),
                "its weights span too many orders of magnitude for exact resistances: use projections",
            ),
            error => error,
        })?;
        for &at in own {
            let (u, v) = (place[edges[at].0 as usize], place[edges[at].1 as usize]);
            resistances[at] = (inverse.row(u)[u] + inverse.row(v)[v] - 2.0 * inverse.row(u)[v]) / scale;
        }
    }
    Ok(resistances)
}

/// A system that did not converge: iterations and relative residual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Unconverged(usize, f64);

impl Unconverged {
    /// The system with the larger residual; `first` where they are equal.
    pub fn worst(first: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (first, other) {
            (Some(first), Some(other)) if other.1 > first.1 => Some(other),
            _ => first.or(other),
        }
    }

    /// A warning that names the `effect` on the results.
    pub fn warning(&self, tol: f64, effect: &'static str) -> Warning {
        let Self(n_iter, residual) = *self;
        Warning::ResistancesNotConverged { n_iter, residual, tol, effect }
    }
}

/// Random projections of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projections {
    pub n_projections: usize,
    /// Columns solved for at a time.
    pub columns: usize,
    pub tol: f64,
    /// ρ ≥ 0 added to the diagonal.
    pub ridge: f64,
    /// Key of the hashes that give the signs.
    pub key: u64,
}

impl Projections {
    /// R̃ of each of `edges` in the network `graph`, and the worst system that did not converge.
    fn resistances(&self, graph: &Graph, edges: &[(u32, u32)], run: &Run) -> Result<(Vec<f64>, Option<Unconverged>)> {
        let mut sums = vec![0.0; edges.len()];
        let unconverged = self.each_block(graph, run, |z| {
            let rows = sums.par_iter_mut().zip(edges).with_min_len(4096);
            let distance = |u: u32, v: u32| pair_sum(z.row(u as usize), z.row(v as usize), Pair::Squared);
            run.install(|| rows.for_each(|(sum, &(u, v))| *sum += distance(u, v)));
        })?;
        let share = 1.0 / self.n_projections as f64;
        sums.iter_mut().for_each(|sum| *sum *= share);
        Ok((sums, unconverged))
    }

    /// Z for all projections in single precision, and the worst system that did not converge. Resistances are held in units of
    /// 1/`unit`, where `unit` is a typical conductance.
    pub fn embedding(&self, graph: &Graph, unit: f64, run: &Run) -> Result<(Embedding, Option<Unconverged>)> {
        let (n, width) = (graph.n_samples(), self.n_projections);
        let mut values = vec![0f32; n * width];
        let scale = (unit / width as f64).sqrt();
        let mut first = 0;
        let unconverged = self.each_block(graph, run, |z| {
            let columns = first..first + z.n_cols();
            first = columns.end;
            run.install(|| {
                values.par_chunks_mut(width).with_min_len(1024).enumerate().for_each(|(row, out)| {
                    let out = &mut out[columns.clone()];
                    out.iter_mut().zip(z.row(row)).for_each(|(out, value)| *out = (value * scale) as f32);
                });
            });
        })?;
        Ok((Embedding { values, width, unit }, unconverged))
    }

    /// Calls `take` with each block of columns of Z (n, ≤ `columns`); the worst system that did not converge.
    fn each_block(&self, graph: &Graph, run: &Run, mut take: impl FnMut(&Matrix)) -> Result<Option<Unconverged>> {
        let params = LaplacianParams { tol: self.tol, ..LaplacianParams::default() };
        let diagonal = (self.ridge > 0.0).then(|| vec![self.ridge; graph.n_samples()]);
        let solver = LaplacianSolver::new(graph, diagonal.as_deref(), params, run)?;
        let mut worst = None;
        for first in (0..self.n_projections).step_by(self.columns) {
            let width = self.columns.min(self.n_projections - first);
            let y = run.install(|| self.right_side(graph, first, width));
            let (z, info) = solver.solve(&y, None, run)?;
            drop(y);
            let summary = info.summary();
            let system = Unconverged(summary.n_iter, summary.residual);
            worst = Unconverged::worst(worst, (!summary.converged).then_some(system));
            take(&z);
        }
        Ok(worst)
    }

    /// BᵀW^(1/2)Q, columns `first..first + width` (n, width).
    fn right_side(&self, graph: &Graph, first: usize, width: usize) -> Matrix {
        let mut y = Matrix::filled(graph.n_samples(), width, 0.0);
        let key = mix(self.key ^ first as u64);
        y.values_mut().par_chunks_mut(width).with_min_len(256).enumerate().for_each(|(row, out)| {
            let (columns, weights) = graph.adjacency().row(row);
            add_signed(out, row as u32, columns, weights, key);
            if self.ridge > 0.0 {
                // Signs over the nodes: an "edge" whose ends are one node.
                add_signed(out, row as u32, &[row as u32], &[self.ridge], key);
            }
        });
        y
    }
}

/// Coordinates of every node, Z/√k: resistances are squared distances between nodes.
///
/// They are in single precision: where resistances range over more than about 10¹⁰, small ones come out as 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Embedding {
    /// Row by row (n, width).
    pub values: Vec<f32>,
    pub width: usize,
    /// Conductance whose inverse is the unit of the squared distances.
    pub unit: f64,
}

impl Embedding {
    /// Multiplies all resistances.
    pub fn scale(&mut self, factor: f64) {
        self.unit /= factor;
    }

    fn row(&self, node: u32) -> &[f32] {
        &self.values[node as usize * self.width..][..self.width]
    }

    /// R̃ between two nodes of one component.
    pub fn resistance(&self, u: u32, v: u32) -> f64 {
        pair_sum(self.row(u), self.row(v), Pair::Squared) / self.unit
    }

    /// Prefetches what [`resistance`](Self::resistance) reads.
    pub fn prefetch(&self, u: u32, v: u32) {
        [u, v].into_iter().for_each(|node| prefetch_lines(self.row(node)));
    }
}

dispatch! {
    /// Adds ±√w to each column for every edge of `row`: plus at its smaller end, minus at its larger one, times the sign of the
    /// edge in that column.
    pub(crate) fn add_signed(out: &mut [f64], row: u32, columns: &[u32], weights: &[f64], key: u64) = add_signed_plain
}

#[inline(always)]
fn add_signed_plain(out: &mut [f64], row: u32, columns: &[u32], weights: &[f64], key: u64) {
    for (&column, weight) in columns.iter().zip(weights) {
        let (low, high) = (row.min(column), row.max(column));
        let signs = mix(key ^ mix((u64::from(low) << 32) | u64::from(high)));
        let size = weight.sqrt().to_bits() ^ (u64::from(row > column) << 63);
        // One bit a column; blocks are no wider than a word.
        out.iter_mut().enumerate().for_each(|(at, out)| *out += f64::from_bits(size ^ ((signs >> at) << 63)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::nasty_graphs;

    fn leverage_sum(graph: &Graph, resistances: &[f64]) -> f64 {
        upper_triangle(graph.adjacency()).zip(resistances).map(|((.., weight), r)| weight * r).sum()
    }

    #[test]
    fn leverages_add_up_to_the_rank() {
        let run = Run::new(Some(2), 3).unwrap();
        for (name, graph) in nasty_graphs() {
            let resistances = effective_resistances(&graph, ResistanceMethod::Exact, &run).unwrap().values;
            let rank = (graph.n_samples() - graph.components().sizes.len()) as f64;
            let sum = leverage_sum(&graph, &resistances);
            let tol = if name.starts_with("weights") { 1e-3 } else { 1e-8 };
            assert!((sum - rank).abs() < tol, "{name}: {sum} {rank}");
        }
    }

    #[test]
    fn projections_are_right_in_the_mean_and_the_same_for_any_threads() {
        let (_, barbell) = nasty_graphs().swap_remove(4);
        let run = |threads, seed| Run::new(Some(threads), seed).unwrap();
        let exact = effective_resistances(&barbell, ResistanceMethod::Exact, &run(1, 0)).unwrap().values;
        let method = ResistanceMethod::Projection { n_projections: 900, tol: 1e-10 };
        let projected = |threads| effective_resistances(&barbell, method, &run(threads, 7)).unwrap().values;
        let found = projected(1);
        assert_eq!(found, projected(2));
        assert_eq!(found, projected(7));
        // √(2/900) = 0.047 is one standard deviation of one edge.
        assert!(found.iter().zip(&exact).all(|(found, exact)| (found / exact - 1.0).abs() < 0.25));
        let mean = found.iter().zip(&exact).map(|(f, e)| f / e).sum::<f64>() / exact.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn systems_that_do_not_converge_are_a_warning() {
        let (_, barbell) = nasty_graphs().swap_remove(4);
        let found = |tol| {
            let method = ResistanceMethod::Projection { n_projections: 40, tol };
            effective_resistances(&barbell, method, &Run::new(Some(1), 7).unwrap()).unwrap()
        };
        let (converged, not) = (found(1e-10), found(1e-30));
        assert!(converged.warnings.is_empty());
        assert!(
            not.warnings[0].to_string().contains("above tol 1.0e-30: the resistances are less exact"),
            "{:?}",
            not.warnings
        );
        assert!(not.values.iter().zip(&converged.values).all(|(a, b)| (a / b - 1.0).abs() < 1e-6));
    }

    #[test]
    fn vector_and_plain_versions_agree_to_the_bit() {
        let x: Vec<f64> = (0..37).map(|i| (f64::from(i) * 0.7).sin()).collect();
        for d in [1, 8, 31, 37] {
            let (mut found, mut plain) = (x[..d].to_vec(), x[..d].to_vec());
            add_signed(&mut found, 3, &[1, 9, 4], &[0.5, 2.0, 0.1], 77);
            add_signed_plain(&mut plain, 3, &[1, 9, 4], &[0.5, 2.0, 0.1], 77);
            assert_eq!(found, plain);
        }
    }
}
