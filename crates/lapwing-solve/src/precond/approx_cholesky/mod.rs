//! Approximate Cholesky factors of Laplacians: each eliminated vertex leaves a random tree among its neighbors where
//! exact elimination would leave a clique (Kyng & Sachdeva 2016; Gao, Kyng & Spielman 2023, AC and AC(k)).
//!
//! Eliminating v with neighbors uᵢ of weights wᵢ, W = Σwᵢ, subtracts the rank-one part with column e_v − Σ(wᵢ/W)e_uᵢ and pivot W
//! from the Laplacian and leaves edges of weight wᵢwⱼ/W between all pairs of neighbors. Here each neighbor, lightest first, is
//! joined to one later neighbor k, drawn with probability w_k/S (S the weight of all later ones), by an edge of weight wᵢS/W. In
//! expectation this is the clique; it keeps the neighbors connected with fewer edges than before. AC(k) starts with k copies of
//! every edge and joins each copy by itself: a better factor for about k times the work.
//!
//! A diagonal g ≥ 0 becomes an additional vertex, the ground, joined to vertex i by weight gᵢ and eliminated last; its value is
//! 0.
//!
//! Vertices of low degree go first, cluster by cluster ([`levels`]), in parallel. Every vertex draws from a stream of its own, so
//! that the factor depends on the seed and not on the threads. Weights are f32 during elimination, relative to the heaviest;
//! shares are multiples of 2⁻²⁴ that sum to exactly 1.
//!
//! Cost: O(m log n) expected entries, 2 to 3 per edge on meshes and 4 to 5 on neighbor graphs, 8 bytes each; some hundred
//! nanoseconds an entry. Jacobi is better if conjugate gradients need few steps anyway: expanders, graphs with hubs, neighbor
//! graphs with many labels.

mod columns;
mod elimination;
mod levels;
mod lists;
mod sweeps;

use std::borrow::Cow;

use lapwing_core::{Csr, Error, Result, Run};

pub use elimination::Cliques;
use elimination::Rule;
use levels::Level;
use sweeps::Factor;

pub(crate) use levels::CLUSTER;

/// Parameters of the factorization.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApproxCholeskyParams {
    /// Edges that replace a clique; default `Suited`.
    pub cliques: Cliques,
    /// Most entries of the factor for each edge; default 32.
    pub max_fill: f64,
}

impl Default for ApproxCholeskyParams {
    fn default() -> Self {
        Self { cliques: Cliques::Suited, max_fill: 32.0 }
    }
}

/// A random approximate Cholesky factor of a Laplacian, or of one plus a diagonal.
///
/// It works in its own order of elimination.
#[derive(Debug)]
pub struct ApproxCholesky {
    order: Vec<u32>,
    factor: Factor,
}

impl ApproxCholesky {
    /// Factors the Laplacian of a graph plus diag(`diagonal`), which is not negative (n). An owned adjacency matrix is freed before the
    /// elimination begins.
    ///
    /// # Errors
    /// [`Error::Param`] for copies outside their range; [`Error::Shape`]; [`Error::TooLarge`] when the factor would exceed `max_fill`;
    /// [`Error::Interrupted`].
    ///
    /// # Complexity
    /// See the module; memory 8 bytes an entry plus, during elimination, 24 bytes an edge and copy.
    pub fn new(
        adjacency: Cow<'_, Csr<f64>>,
        diagonal: &[f64],
        params: ApproxCholeskyParams,
        run: &Run,
    ) -> Result<Self> {
        let n = adjacency.n_rows();
        let copies = params.cliques.copies();
        if !(1..=16).contains(&copies) {
            return Err(Error::param("copies", copies, "between 1 and 16"));
        }
        if diagonal.len() != n {
            return Err(Error::shape("diagonal", format!("{n} values"), format!("{} values", diagonal.len())));
        }
        let max_entries = (params.max_fill * (adjacency.nnz() / 2 + n) as f64) as usize;
        let too_large = |bytes: usize| Error::TooLarge {
            what: "an approximate Cholesky factor beyond max_fill".into(),
            bytes: bytes as u64,
            limit: (8 * max_entries.min(1 << 60)) as u64,
            advice: "raise max_fill, or take another preconditioner".into(),
        };
        // Records are numbered by 32 bits; lists are at most twice as long as needed.
        let n_records = (adjacency.nnz() + n).saturating_mul(copies as usize);
        if n_records > 1 << 30 {
            return Err(too_large(8 * n_records));
        }
        let heaviest = adjacency.values().iter().chain(diagonal).fold(0.0f64, |most, &w| most.max(w));
        // A power of two, so that nothing is rounded.
        let scale = if heaviest > 0.0 { (-heaviest.log2().floor()).min(1023.0).exp2() } else { 1.0 };
        let rule = Rule { seed: run.seed, cliques: params.cliques, max_entries };
        let level = Level::whole(&adjacency, diagonal, scale);
        drop(adjacency);
        let levels = level.eliminate(rule, run)?.ok_or_else(|| too_large(8 * max_entries.min(1 << 60)))?;
        let (order, factor) = run.install(|| Factor::assemble(n, levels, scale, run))?;
        Ok(Self { order, factor })
    }
}

impl super::Factor for ApproxCholesky {
    fn order(&self) -> &[u32] {
        &self.order
    }

    fn n_entries(&self) -> usize {
        self.factor.n_entries()
    }

    fn bytes(&self) -> usize {
        4 * self.order.len() + self.factor.bytes()
    }

    fn product(&self, r: &[f64], z: &mut [f64], s: usize) {
        self.factor.apply(r, z, s);
    }

    fn variances(&self) -> Vec<f64> {
        self.factor.variances()
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        self.factor.color(noise, m);
    }
}
