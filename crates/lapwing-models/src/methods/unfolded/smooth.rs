//! Features smoothed over the graph, Q = H⁻¹X at the labeled nodes, by columns or by nodes; and the rows from which HERTA's
//! preconditioner is built.
//!
//! H is symmetric: E·H⁻¹·X takes one solve for each column of X, or one for each labeled node, (H⁻¹Eᵀ)ᵀ·X. The second form needs
//! only min(l, d) weights: with K = Q·Qᵀ = U·S·Uᵀ and W = Qᵀ·U·S^(−1/2)·V, scores are U·S^(1/2)·V and ‖W‖ = ‖V‖.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_graph::Graph;
use lapwing_graph::sparsify::{RidgeParams, sparsify_ridge};
use lapwing_solve::{HadamardSketch, Propagator};

use super::params::UnfoldedParams;
use super::train::Training;
use crate::maps::coordinates::{Coordinates, coordinates, gram};
use crate::maps::{Inputs, StoredRows, StoredValues};

/// Labeled nodes whose columns are solved together.
pub(super) const NODES: usize = 64;
/// Residual of the solves by nodes, which are few and in double precision.
pub(super) const NODES_TOL: f64 = 1e-10;
/// Residual of features smoothed for a preconditioner, and its least value, used if no ridge raises small singular values.
pub(super) const ROUGH: f64 = 1e-2;
const LEAST_ROUGH: f64 = 1e-4;
/// Sketched rows for each column.
pub(super) const SKETCHED: usize = 16;

/// Q (l, k) of the labeled nodes, one solve for each column.
pub(super) fn by_columns(
    inputs: &Inputs<'_, '_>,
    propagator: &Propagator,
    labeled: &[u32],
    tol: f64,
    run: &Run,
) -> Result<StoredRows> {
    let k = inputs.width();
    let mut values = vec![0f32; labeled.len() * k];
    let fill = |columns: std::ops::Range<usize>, part: &mut [f32]| inputs.fill(columns, part);
    propagator.solve_wide(k, tol, run, &fill, &mut |columns, part| {
        let w = columns.len();
        values.par_chunks_mut(k).zip(labeled).with_min_len(512).for_each(|(out, &row)| {
            out[columns.clone()].copy_from_slice(&part[row as usize * w..][..w]);
        });
        run.progress().update(columns.end as u64, "");
        Ok(())
    })?;
    Ok(StoredRows { width: k, values: StoredValues::Single(values) })
}

/// Features of the labeled nodes in as many coordinates as they span.
pub(super) struct Reduced {
    /// U·S^(1/2) (l, r).
    pub rows: StoredRows,
    /// Qᵀ·U·S^(−1/2) (k, r): maps weights of the coordinates to weights of X.
    pub back: Matrix,
}

/// Q (l, k), row-major, one solve for each labeled node.
pub(super) fn by_nodes(
    inputs: &Inputs<'_, '_>,
    propagator: &Propagator,
    labeled: &[u32],
    tol: f64,
    run: &Run,
) -> Result<Vec<f64>> {
    let (l, k) = (labeled.len(), inputs.width());
    let mut q = vec![0.0; l * k];
    let done = run.counter(l, "nodes");
    for (block, out) in labeled.chunks(NODES).zip(q.chunks_mut(NODES * k)) {
        let mut ends = Matrix::filled(inputs.n(), block.len(), 0.0);
        block.iter().enumerate().for_each(|(at, &row)| ends.row_mut(row as usize)[at] = 1.0);
        let smooth = propagator.solve(&ends, tol, run)?;
        let columns = inputs.transposed_times(smooth.values(), block.len(), run)?;
        for (column, values) in columns.rows().enumerate() {
            values.iter().enumerate().for_each(|(at, x)| out[at * k + column] = *x);
        }
        done.add(block.len());
    }
    Ok(q)
}

/// Q (l, k) in coordinates of the space that its rows span.
pub(super) fn reduced(q: &[f64], k: usize, run: &Run) -> Result<Reduced> {
    let Coordinates { rows, duals, .. } = coordinates(gram(q, k, run)?, run)?;
    let mut back = Matrix::filled(k, rows.width, 0.0);
    lapwing_solve::products::add_transposed_product(q, &duals, q.len() / k, back.values_mut());
    Ok(Reduced { rows, back })
}

/// H⁻¹1 at the labeled nodes (l): a smoothed constant.
pub(super) fn constant(propagator: &Propagator, labeled: &[u32], tol: f64, run: &Run) -> Result<Vec<f64>> {
    let ones = Matrix::filled(propagator.n(), 1, 1.0);
    let smooth = propagator.solve(&ones, tol, run)?;
    Ok(labeled.iter().map(|&row| smooth.row(row as usize)[0]).collect())
}

/// Rows of a preconditioner, and their origin.
pub(super) struct Sketched {
    /// Rows R (s, k) with RᵀR ≈ QᵀMQ.
    pub rows: Vec<f32>,
    /// Number of rows of the sketch, or of labeled nodes.
    pub n_rows: usize,
    pub is_sketched: bool,
    pub sparsifier: Option<Sparsifier>,
}

/// A sparsified graph.
pub(super) struct Sparsifier {
    pub propagator: Propagator,
    /// Edges that were kept.
    pub n_edges: usize,
    /// n_λ, estimated.
    pub effective_dimension: f64,
}

/// Number of edges that HERTA keeps, if fewer than all.
pub(super) fn kept_edges(params: &UnfoldedParams, graph: &Graph) -> Option<usize> {
    let (n, m) = (graph.n_samples() as f64, graph.n_edges() as f64);
    let by_rule = 6.0 * n * (1.0 + params.graph_reg() / 20.0);
    let kept = match params.edges {
        Some(share) if share < 1.0 => share * m,
        None if by_rule <= m / 2.0 => by_rule,
        _ => return None,
    };
    (params.graph_reg() > 0.0).then_some((kept as usize).max(1))
}

/// Rows of HERTA's Hadamard sketch for k columns and l labeled nodes; none unless they are less than half of the nodes.
pub(super) fn sketched_rows(l: usize, k: usize) -> Option<usize> {
    (SKETCHED * k < l / 2).then_some(SKETCHED * k)
}

/// The residual ε of features smoothed for a preconditioner of k columns. The squared errors sum to ε²·t, t the trace of QᵀMQ,
/// and are to stay below ρ in each direction: ε²·t/k ≤ ρ. `spread` is 1 + t/ρ.
pub(super) fn roughness(spread: f64, k: usize) -> f64 {
    (k as f64 / spread).sqrt().clamp(LEAST_ROUGH, ROUGH)
}

impl Training<'_, '_> {
    /// Features smoothed to a residual of `tol` at the labeled nodes, times √m: on a sparsified graph, and sketched, if `is_sampled`
    /// (algorithm 1, steps 1 to 3).
    pub(super) fn sketched(&self, is_sampled: bool, tol: f64) -> Result<Sketched> {
        let Self { inputs, labeled, run, .. } = *self;
        let sparsifier = if is_sampled { self.sparsifier()? } else { None };
        let smoother = sparsifier.as_ref().map_or(self.propagator, |thin| &thin.propagator);
        let (l, k) = (labeled.len(), inputs.width());
        let size = sketched_rows(l, k).filter(|_| is_sampled);
        let sketch = size.map(|size| HadamardSketch::new(l, size, run)).transpose()?;
        let n_rows = sketch.as_ref().map_or(l, HadamardSketch::size);
        let mut rows = vec![0f32; n_rows * k];
        let fill = |columns: std::ops::Range<usize>, part: &mut [f32]| inputs.fill(columns, part);
        smoother.solve_wide(k, tol, run, &fill, &mut |columns, part| {
            let w = columns.len();
            let mut own = vec![0f32; l * w];
            let nodes = labeled.par_iter().zip(self.loss.trust);
            own.par_chunks_mut(w).zip(nodes).with_min_len(512).for_each(|(out, (&row, m))| {
                let root = m.sqrt() as f32;
                out.iter_mut().zip(&part[row as usize * w..][..w]).for_each(|(out, x)| *out = root * x);
            });
            let own = match &sketch {
                Some(sketch) => sketch.apply(&own, w)?,
                None => own,
            };
            rows.par_chunks_mut(k).zip(own.par_chunks(w)).with_min_len(512).for_each(|(out, own)| {
                out[columns.clone()].copy_from_slice(own);
            });
            run.progress().update(columns.end as u64, "");
            Ok(())
        })?;
        Ok(Sketched { rows, n_rows, is_sketched: sketch.is_some(), sparsifier })
    }

    /// The graph that HERTA keeps, if it is not all of it.
    fn sparsifier(&self) -> Result<Option<Sparsifier>> {
        let Self { params, graph, run, .. } = *self;
        let Some(n_edges) = kept_edges(params, graph) else { return Ok(None) };
        let ridge = RidgeParams { self_loop: params.self_loop, ..RidgeParams::new(params.graph_reg(), n_edges) };
        let found = sparsify_ridge(graph, &ridge, run)?;
        let thin = Graph::from_symmetric(found.adjacency)?;
        Ok(Some(Sparsifier {
            propagator: Propagator::with_degrees(&thin, graph.degree(), params.propagation(), run)?,
            n_edges: found.n_kept,
            effective_dimension: found.effective_dimension,
        }))
    }
}

/// Stored rows times √m, in single precision.
pub(super) fn weighted(rows: &StoredRows, trust: &[f64]) -> Vec<f32> {
    let weigh = |at: usize| (trust[at / rows.width].sqrt()) as f32;
    match &rows.values {
        StoredValues::Single(values) => values.par_iter().enumerate().map(|(at, x)| x * weigh(at)).collect(),
        StoredValues::Double(values) => values.par_iter().enumerate().map(|(at, x)| *x as f32 * weigh(at)).collect(),
    }
}
