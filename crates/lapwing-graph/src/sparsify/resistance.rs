//! Effective resistances: Rᵤᵥ = bᵀL⁺b with b = eᵤ − e_v, the resistance between two nodes of a network whose edges conduct as
//! their weights.
//!
//! *Exact*, for small graphs: from a dense inverse of L + J/n of each component. By *projection* (Spielman & Srivastava 2008):
//! with k random sign vectors q over the edges, Z = L⁺BᵀW^(1/2)Q, and R̃ᵤᵥ = (1/k)·Σⱼ (zᵤⱼ − z_vⱼ)² is R in the mean, with a
//! relative standard deviation of √(2/k). With a ridge ρ, L + ρI takes the place of L, and signs over the nodes are added.
//!
//! Signs are hashes of the seed, the ends of the edge and the column, so that nothing is stored and any order of work gives
//! the same. Cost: k columns solved as blocks, by [`LaplacianSolver`]; parallel over rows and edges.
//!
//! Solves that stop too soon fail silently: an edge over a weak cut is given a small part of its resistance. See
//! [`SparsifyParams::tol`](super::SparsifyParams::tol).

use lapwing_data::hash::mix;
use lapwing_data::{Error, Matrix, Result, Run};
use lapwing_solve::dense::solve_spd;
use lapwing_solve::{Constraint, LaplacianParams, LaplacianSolver};
use rayon::prelude::*;

use super::params::MOST_COLUMNS;
use crate::Graph;
use crate::knn::pairs::{Pair, pair_sum};
use lapwing_data::vectored;
use lapwing_data::vectored::prefetch;

/// How to find effective resistances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResistanceMethod {
    /// To rounding, for components of up to [`MOST_EXACT`] nodes.
    Exact,
    /// By so many random projections, solved to a relative residual of `tol`.
    Projection {
        /// Projections, at least 1.
        n_projections: usize,
        /// Relative residual, in (0, 1).
        tol: f64,
    },
}

/// Nodes of a component up to which resistances are found exactly: three dense matrices of that size.
pub const MOST_EXACT: usize = 10_000;

/// Effective resistance of every edge u < v (m), row by row of the adjacency matrix.
///
/// # Errors
/// [`Error::TooLarge`] for exact resistances in a component of more than [`MOST_EXACT`] nodes; [`Error::Param`];
/// [`Error::NotConverged`] if a system cannot be solved to `tol`; [`Error::Interrupted`].
///
/// # Complexity
/// Exact: O(n³) time and 24·n² bytes for the largest component. Projection: `n_projections` columns of a Laplacian
/// system, solved in blocks of 32.
///
/// # Example
/// ```
/// use lapwing_data::Run;
/// use lapwing_graph::Graph;
/// use lapwing_graph::sparsify::{ResistanceMethod, effective_resistances};
///
/// // Each edge of a triangle lies beside a path of two: 1·2 / (1 + 2).
/// let triangle = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)])?;
/// let resistances = effective_resistances(&triangle, ResistanceMethod::Exact, &Run::new(None, 0)?)?;
/// assert!(resistances.iter().all(|r| (r - 2.0 / 3.0).abs() < 1e-12));
/// # Ok::<(), lapwing_data::Error>(())
/// ```
pub fn effective_resistances(graph: &Graph, method: ResistanceMethod, run: &Run) -> Result<Vec<f64>> {
    let adjacency = graph.adjacency();
    let upper =
        |row: usize| adjacency.row(row).0.iter().filter(move |&&v| v as usize > row).map(move |&v| (row as u32, v));
    let edges: Vec<(u32, u32)> = (0..graph.n_samples()).flat_map(upper).collect();
    match method {
        ResistanceMethod::Exact => exact(graph, &edges, run),
        ResistanceMethod::Projection { n_projections, tol } => {
            if n_projections == 0 {
                return Err(Error::param("n_projections", 0, "at least 1"));
            }
            let columns = n_projections.min(MOST_COLUMNS);
            let projections = Projections { n_projections, columns, tol, ridge: 0.0, key: mix(run.seed) };
            let (resistances, worst) = projections.resistances(graph, edges.len(), |at| edges[at], run)?;
            match worst {
                Some((iterations, residual)) => {
                    Err(Error::NotConverged { solver: "effective resistances".into(), iterations, residual, tol })
                }
                None => Ok(resistances),
            }
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
        let inverse = run.install(|| solve_spd(&grounded, &identity))?;
        for &at in own {
            let (u, v) = (place[edges[at].0 as usize], place[edges[at].1 as usize]);
            resistances[at] = (inverse.row(u)[u] + inverse.row(v)[v] - 2.0 * inverse.row(u)[v]) / scale;
        }
    }
    Ok(resistances)
}

/// Iterations and relative residual of a system that did not arrive.
pub(super) type Stopped = (usize, f64);

/// Random projections of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projections {
    pub n_projections: usize,
    /// Columns solved for at a time.
    pub columns: usize,
    pub tol: f64,
    /// ρ ≥ 0 added to the diagonal.
    pub ridge: f64,
    /// Where the signs come from.
    pub key: u64,
}

impl Projections {
    /// R̃ of each of `m` edges in the network `graph`, and iterations and residual of the worst system if one did not arrive.
    fn resistances(
        &self,
        graph: &Graph,
        m: usize,
        ends: impl Fn(usize) -> (u32, u32) + Sync,
        run: &Run,
    ) -> Result<(Vec<f64>, Option<Stopped>)> {
        let mut sums = vec![0.0; m];
        let worst = self.each_block(graph, run, |z| run.install(|| add_squares(&mut sums, z, &ends)))?;
        let share = 1.0 / self.n_projections as f64;
        sums.iter_mut().for_each(|sum| *sum *= share);
        Ok((sums, worst))
    }

    /// Z for all projections in single precision, and iterations and residual of the worst system if one did not arrive.
    /// Resistances are held in units of one over `unit`, a typical conductance.
    pub fn embedding(&self, graph: &Graph, unit: f64, run: &Run) -> Result<(Embedding, Option<Stopped>)> {
        let (n, width) = (graph.n_samples(), self.n_projections);
        let mut values = vec![0f32; n * width];
        let scale = (unit / width as f64).sqrt();
        let mut first = 0;
        let worst = self.each_block(graph, run, |z| {
            let columns = first..first + z.n_cols();
            first = columns.end;
            run.install(|| {
                values.par_chunks_mut(width).with_min_len(1024).enumerate().for_each(|(row, out)| {
                    let out = &mut out[columns.clone()];
                    out.iter_mut().zip(z.row(row)).for_each(|(out, value)| *out = (value * scale) as f32);
                });
            });
        })?;
        Ok((Embedding { values, width, unit }, worst))
    }

    /// Hands over Z block by block of columns (n, ≤ `columns`).
    fn each_block(&self, graph: &Graph, run: &Run, mut take: impl FnMut(&Matrix)) -> Result<Option<Stopped>> {
        let params = LaplacianParams { tol: self.tol, ..LaplacianParams::default() };
        let diagonal = (self.ridge > 0.0).then(|| vec![self.ridge; graph.n_samples()]);
        let solver = LaplacianSolver::new(graph, diagonal.as_deref(), params, run)?;
        let mut worst = None;
        for first in (0..self.n_projections).step_by(self.columns) {
            let width = self.columns.min(self.n_projections - first);
            let y = run.install(|| self.right_side(graph, first, width));
            let (z, info) = solver.solve(&y, None, Constraint::None, run)?;
            drop(y);
            let summary = info.summary();
            if !summary.converged && worst.is_none_or(|(_, residual)| summary.residual > residual) {
                worst = Some((summary.n_iter, summary.residual));
            }
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
                // Over the nodes, where both ends are one.
                add_signed(out, row as u32, &[row as u32], &[self.ridge], key);
            }
        });
        y
    }
}

/// A place for every node, such that squared distances are resistances: Z/√k.
///
/// In single precision: where resistances range over more than 10¹⁰ or so, small ones come out as 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Embedding {
    /// Row by row (n, width).
    pub values: Vec<f32>,
    pub width: usize,
    /// Conductance that distances are measured in.
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

    /// Asks for what [`resistance`](Self::resistance) will read.
    pub fn prefetch(&self, u: u32, v: u32) {
        const LINE: usize = 16;
        [u, v].into_iter().for_each(|node| self.row(node).iter().step_by(LINE).for_each(prefetch));
    }
}

vectored! {
    /// Adds ±√w to each column for every edge of `row`: plus at its smaller end, minus at its larger one, times the sign of the
    /// edge in that column.
    add_signed = add_signed_plain(out: &mut [f64], row: u32, columns: &[u32], weights: &[f64], key: u64)
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

/// Edges handled by one thread at a time.
const CHUNK: usize = 4096;

fn add_squares(sums: &mut [f64], z: &Matrix, ends: &(impl Fn(usize) -> (u32, u32) + Sync)) {
    sums.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sums)| {
        for (offset, sum) in sums.iter_mut().enumerate() {
            let (u, v) = ends(chunk * CHUNK + offset);
            *sum += pair_sum(z.row(u as usize), z.row(v as usize), Pair::Squared);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::nasty_graphs;

    fn leverage_sum(graph: &Graph, resistances: &[f64]) -> f64 {
        let adjacency = graph.adjacency();
        let weights = (0..graph.n_samples()).flat_map(|row| {
            let (columns, weights) = adjacency.row(row);
            columns.iter().zip(weights).filter(move |(v, _)| **v as usize > row).map(|(_, w)| *w)
        });
        weights.zip(resistances).map(|(w, r)| w * r).sum()
    }

    #[test]
    fn leverages_add_up_to_the_rank() {
        let run = Run::new(Some(2), 3).unwrap();
        for (name, graph) in nasty_graphs() {
            let resistances = effective_resistances(&graph, ResistanceMethod::Exact, &run).unwrap();
            let rank = (graph.n_samples() - graph.components().sizes.len()) as f64;
            let sum = leverage_sum(&graph, &resistances);
            let tol = if name.starts_with("weights") { 1e-3 } else { 1e-8 };
            assert!((sum - rank).abs() < tol, "{name}: {sum} {rank}");
        }
    }

    #[test]
    fn projections_are_right_in_the_mean_and_the_same_for_any_threads() {
        let (_, barbell) = nasty_graphs().swap_remove(4);
        let exact = effective_resistances(&barbell, ResistanceMethod::Exact, &Run::new(Some(1), 0).unwrap()).unwrap();
        let method = ResistanceMethod::Projection { n_projections: 900, tol: 1e-10 };
        let projected =
            |threads| effective_resistances(&barbell, method, &Run::new(Some(threads), 7).unwrap()).unwrap();
        let found = projected(1);
        assert_eq!(found, projected(2));
        assert_eq!(found, projected(7));
        // √(2/900) = 0.047 is one standard deviation of one edge.
        assert!(found.iter().zip(&exact).all(|(found, exact)| (found / exact - 1.0).abs() < 0.25));
        let mean = found.iter().zip(&exact).map(|(f, e)| f / e).sum::<f64>() / exact.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
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
