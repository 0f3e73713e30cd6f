//! E·H⁻¹ of few labeled nodes as a matrix (l, n), where training solves for the same nodes some thousand times.
//!
//! Cost: l solves once; then l·n multiplications for a column, where a solve reads the graph in every iteration. Memory 8·l·n bytes.
//! Parallel over blocks of nodes; sums over blocks are added in their order.

use lapwing_core::ordered::sum_in_order;
use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::products::{add_transposed_product, product};

use super::map::OnGraph;

/// Most values of H⁻¹·Eᵀ that are held: a gigabyte.
const MOST_REACHED: usize = 1 << 27;
/// Labeled nodes whose solves tell what one costs.
const TRIED: usize = 16;
/// Rows of a block of products with it.
const REACHED_ROWS: usize = 512;

/// E·H⁻¹ as a matrix: training solves for the same labeled nodes some thousand times.
pub(super) struct Reach {
    /// H⁻¹·Eᵀ (n, l).
    values: Matrix,
}

impl Reach {
    /// The matrix for some `labeled` nodes, if it costs less than a solve to multiply with.
    pub fn new(map: &OnGraph<'_>) -> Result<Option<Self>> {
        let (n, l) = (map.propagator.n(), map.labeled.len());
        if l == 0 || n * l > MOST_REACHED {
            return Ok(None);
        }
        let solve = |labeled: &[u32]| {
            let mut units = Matrix::filled(n, labeled.len(), 0.0);
            labeled.iter().enumerate().for_each(|(at, &row)| units.row_mut(row as usize)[at] = 1.0);
            map.propagator.solve(&units, map.tol, map.run)
        };
        let (tried, before) = (l.min(TRIED), map.propagator.n_passes());
        let first = solve(&map.labeled[..tried])?;
        // A pass reads the entries of the matrix, and some ten values of each row.
        let n_passes = (map.propagator.n_passes() - before) as f64 / tried as f64;
        if l as f64 * n as f64 > n_passes * (map.propagator.n_entries() + 10 * n) as f64 {
            return Ok(None);
        }
        let values = if tried == l { first } else { solve(map.labeled)? };
        Ok(Some(Self { values }))
    }

    /// E·H⁻¹·F (l, c).
    pub fn propagated(&self, f: &Matrix, run: &Run) -> Matrix {
        let (l, c) = (self.values.n_cols(), f.n_cols());
        let mut out = Matrix::filled(l, c, 0.0);
        let blocks = self.values.values().par_chunks(REACHED_ROWS * l).zip(f.values().par_chunks(REACHED_ROWS * c));
        let sums = blocks.map(|(values, f)| {
            let mut sums = vec![0.0; l * c];
            add_transposed_product(values, f, values.len() / l, &mut sums);
            sums
        });
        run.install(|| out.values_mut().copy_from_slice(&sum_in_order(vec![0.0; l * c], sums)));
        out
    }

    /// H⁻¹·Eᵀ·R (n, c).
    pub fn spread_back(&self, residual: &Matrix, run: &Run) -> Matrix {
        let (l, c) = (self.values.n_cols(), residual.n_cols());
        let mut out = Matrix::filled(self.values.n_rows(), c, 0.0);
        run.install(|| {
            let blocks = out.values_mut().par_chunks_mut(REACHED_ROWS * c);
            blocks.zip(self.values.values().par_chunks(REACHED_ROWS * l)).for_each(|(out, values)| {
                product(values, residual.values(), l, out);
            });
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::blobs;
    use lapwing_core::Run;
    use lapwing_graph::{GraphParams, affinity_graph};
    use lapwing_solve::{Propagator, PropagatorParams};

    use super::*;
    use crate::maps::Inputs;

    #[test]
    fn products_with_the_held_inverse_are_solves() {
        let run = Run::new(Some(2), 0).unwrap();
        let (features, n) = (blobs(1500, 4, 3), 1500);
        let graph = affinity_graph(&features, &GraphParams::default(), &run).unwrap().graph;
        let params = PropagatorParams { graph_reg: 20.0, ..PropagatorParams::default() };
        let propagator = Propagator::new(&graph, params, &run).unwrap();
        let labeled: Vec<u32> = (0..n as u32).step_by(40).collect();
        let inputs = Inputs::new(&features, false).unwrap();
        let map = OnGraph { inputs: &inputs, propagator: &propagator, labeled: &labeled, tol: 1e-9, run: &run };
        let reach = Reach::new(&map).unwrap().expect("few labels");
        let values = |rows: usize| (0..rows * 3).map(|at| ((at * 29) % 31) as f64 - 15.0).collect();
        let (f, residual) =
            (Matrix::new(n, 3, values(n)).unwrap(), Matrix::new(labeled.len(), 3, values(labeled.len())).unwrap());
        let solved = propagator.solve(&f, 1e-9, &run).unwrap();
        let found = reach.propagated(&f, &run);
        for (&row, found) in labeled.iter().zip(found.rows()) {
            let near = solved.row(row as usize).iter().zip(found).all(|(x, y)| (x - y).abs() < 1e-6);
            assert!(near, "{found:?} at {row}");
        }
        let mut spread = Matrix::filled(n, 3, 0.0);
        labeled.iter().zip(residual.rows()).for_each(|(&row, r)| spread.row_mut(row as usize).copy_from_slice(r));
        let solved = propagator.solve(&spread, 1e-9, &run).unwrap();
        let found = reach.spread_back(&residual, &run);
        assert!(solved.values().iter().zip(found.values()).all(|(x, y)| (x - y).abs() < 1e-6));
    }

    #[test]
    fn where_many_rows_are_labeled_nothing_is_held() {
        let run = Run::new(Some(1), 0).unwrap();
        let features = blobs(800, 3, 2);
        let graph = affinity_graph(&features, &GraphParams::default(), &run).unwrap().graph;
        let propagator = Propagator::new(&graph, PropagatorParams::default(), &run).unwrap();
        let labeled: Vec<u32> = (0..800).collect();
        let inputs = Inputs::new(&features, false).unwrap();
        let map = OnGraph { inputs: &inputs, propagator: &propagator, labeled: &labeled, tol: 1e-8, run: &run };
        assert!(Reach::new(&map).unwrap().is_none());
    }
}
