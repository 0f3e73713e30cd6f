//! Probes: a few vectors x whose quadratic forms xᵀLx are compared between the sparsifier and the graph.
//!
//! The forms of the graph are summed while its edges are read. Random vectors would not show a lost cut. Unless vectors are
//! given, they are L⁺L⁺g of the first block with random signs g, two steps of inverse iteration: in their forms a direction of
//! eigenvalue λ counts as λ⁻³, so that the weakest cuts decide. Cost: twice a few columns of one system, and two gathers for
//! each edge.

use lapwing_core::hash::mix;
use lapwing_core::ordered::{add, sum_in_order};
use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::{LaplacianParams, LaplacianSolver};

use super::edge::SampledEdge;
use crate::Graph;
use crate::relation::{adjacency, single};

/// The vectors, and their quadratic forms in the graph read so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probes {
    /// The vectors (n, s).
    pub vectors: Matrix,
    /// xᵀL_Gx of each (s).
    pub forms: Vec<f64>,
}

/// Number of probes where none are given.
const N_PROBES: usize = 4;
/// Steps of inverse iteration.
const STEPS: usize = 2;
/// Relative residual of the systems: probes need to be smooth, not exact.
const TOL: f64 = 1e-3;
/// Edges of one partial sum.
const BLOCK: usize = 1 << 14;
/// Most probes that may be given.
pub(super) const MOST_PROBES: usize = 16;

impl Probes {
    pub fn new(vectors: Matrix) -> Self {
        let forms = vec![0.0; vectors.n_cols()];
        Self { vectors, forms }
    }

    /// Probes that are large in the weak directions of the network of `edges`.
    pub fn smooth(n: usize, edges: &[SampledEdge], key: u64, run: &Run) -> Result<Self> {
        let network = Graph::new(adjacency(n, edges.iter().map(|e| (e.u, e.v, single(e.weight))))?)?;
        let params = LaplacianParams { tol: TOL, ..LaplacianParams::default() };
        let solver = LaplacianSolver::new(&network, None, params, run)?;
        let sign = |at: usize| if mix(key ^ mix(at as u64)) & 1 == 0 { 1.0 } else { -1.0 };
        let mut vectors = Matrix::new(n, N_PROBES, (0..n * N_PROBES).map(sign).collect())?;
        for _ in 0..STEPS {
            vectors = solver.solve(&vectors, None, run)?.0;
        }
        Ok(Self::new(vectors))
    }

    /// Adds `edges`, at their weights in the stream, to the forms of the graph.
    pub fn add(&mut self, edges: &[SampledEdge], run: &Run) {
        let forms = run.install(|| self.forms_of(&[edges], |edge| edge.weight));
        add(&mut self.forms, &forms);
    }

    /// Least and largest ratio of the forms of all `parts`, at the weights `weight`, to those of the graph with the `new` edges,
    /// which have not been added yet; none where no form is a positive number.
    pub fn ratios(
        &self,
        parts: &[&[SampledEdge]],
        new: &[SampledEdge],
        weight: impl Fn(&SampledEdge) -> f64 + Send + Sync,
        run: &Run,
    ) -> Option<[f64; 2]> {
        let (forms, rest) = run.install(|| (self.forms_of(parts, weight), self.forms_of(&[new], |edge| edge.weight)));
        let wholes = self.forms.iter().zip(rest).map(|(seen, rest)| seen + rest);
        let are_numbers = |(form, whole): &(&f64, f64)| form.is_finite() && whole.is_normal();
        let ratios = forms.iter().zip(wholes).filter(are_numbers).map(|(form, whole)| form / whole);
        ratios.fold(None, |range, ratio| {
            let [low, high] = range.unwrap_or([ratio, ratio]);
            Some([ratio.min(low), ratio.max(high)])
        })
    }

    fn forms_of(&self, parts: &[&[SampledEdge]], weight: impl Fn(&SampledEdge) -> f64 + Send + Sync) -> Vec<f64> {
        let s = self.vectors.n_cols();
        let block = |edges: &[SampledEdge]| {
            let mut sums = vec![0.0; s];
            for edge in edges {
                let (x, y) = (self.vectors.row(edge.u as usize), self.vectors.row(edge.v as usize));
                let weight = weight(edge);
                sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += weight * (x - y) * (x - y));
            }
            sums
        };
        sum_in_order(vec![0.0; s], parts.par_iter().flat_map(|edges| edges.par_chunks(BLOCK)).map(block))
    }
}
