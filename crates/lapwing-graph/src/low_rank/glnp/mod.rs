//! Global linear neighborhoods (GLNP): a factor F ≥ 0 (n, k) with F·Fᵀ·X close to X, so that every row is nearly a combination
//! of all rows with weights F·Fᵀ.
//!
//! Q(F) = ‖X − F·Fᵀ·X‖² is minimized over F ≥ 0 (Tian & Kuang 2012, "Global linear neighborhoods for efficient label
//! propagation"; accelerated and at scale in Petegrosso, Zhang, Li, Saad & Kuang 2017, "Low-rank label propagation for
//! semi-supervised learning with 100 millions samples", arXiv:1702.08884). W̃ = F·Fᵀ is the affinity: no negative entry, no
//! negative degree, rank k.
//!
//! With E = XᵀF, P = EᵀE, T = FᵀF (`moments.rs`):
//!
//! ```text
//! Q(F)  = ‖X‖² − 2·tr P + ⟨P, T⟩
//! ∇Q(F) = −4·X·E + 2·F·P + 2·X·E·T
//! ```
//!
//! 1. F₀ at the clusters of given centers, or uniform (`start.rs`), times t = √(tr P/⟨P, T⟩), which minimizes Q(tF₀);
//! 2. accelerated projected gradients (`accelerated.rs`), multiplicative updates (`multiplicative.rs`) or the published
//!    algorithm (`paper.rs`), the first and the last by the fused pass of `step.rs`;
//! 3. new rows by non-negative least squares on E (`extend.rs`).
//!
//! Departures: the start. With the published start, uniform in [0, 1] and not scaled, Q is 10⁷ to 10⁹ times ‖X‖² at first,
//! growing as (n·k)², and thousands of steps of length 1 are needed to come down from it; scaled, this start is still near a
//! saddle. Data is shifted for multiplicative updates only. Do not center or standardize features for this method: it finds
//! lines through the origin.
//!
//! Cost: 4·n·d·k + 6·n·k² operations and one pass over X for each step tried; passes of rows come from a stream and are not
//! held. Memory 8·n·k bytes times three (one for multiplicative updates, four for the published algorithm), which is what
//! bounds n: of more rows, fit a sample and extend it. Parallel over blocks of 1,024 rows, products by blocks in f64; what a block
//! adds to which partial sum, and in which order, depends on n, d and k alone (`rows.rs`).
//!
//! If there are far more rows than fit in memory, or k is large, take landmarks instead: their factor is a function of the row.

mod accelerated;
mod course;
mod extend;
mod moments;
mod multiplicative;
mod paper;
mod params;
mod rows;
mod start;
mod step;

use lapwing_core::{Error, Matrix, Result, RowSource, Run};

pub use extend::GlnpExtension;
pub use params::{GlnpParams, GlnpSolver, GlnpStart};
pub use start::GlnpCenters;

use course::Course;
use moments::Moments;
use rows::OffsetRows;

/// A factor, with the course of its iteration.
#[derive(Clone, Debug)]
pub struct GlnpFactor {
    /// F (n, k), at least 0; a row of zeros has no neighbors.
    pub factor: Matrix,
    /// E = XᵀF, EᵀE and the offset, which give new rows their f.
    pub extension: GlnpExtension,
    /// Q at the start and after each iteration, in squared units of the features. It falls in each iteration, except with the
    /// published algorithm, of which the best F is returned.
    pub objective: Vec<f64>,
    /// ‖X‖² of the features less the offset, to compare Q with.
    pub squared_norm: f64,
    /// Iterations.
    pub n_iter: usize,
    /// Whether Q converged before the iterations ran out.
    pub converged: bool,
    /// Passes over the rows, those before the first iteration included.
    pub n_passes: usize,
}

/// Factors the rows of `source` (n, d); a start at clusters needs `centers` (k, d).
///
/// # Errors
/// [`Error::Param`] for a parameter outside its range, a rank above n, or centers that are missing; [`Error::Shape`] for
/// centers of another size, or no rows or columns; [`Error::TooLarge`] where memory does not suffice; [`Error::Value`] naming
/// row and column of a value that is not finite; [`Error::Interrupted`]; those of the source.
///
/// # Complexity
/// O(n·(d·k + k²)) time and one pass for each of about 1.1 steps an iteration, two passes before; memory
/// [`GlnpParams::plan_bytes`].
///
/// # Example
/// ```
/// use lapwing_core::{Features, Run};
/// use lapwing_graph::low_rank::{GlnpCenters, GlnpParams, glnp};
///
/// // Rows on two lines through the origin: rank 2 suffices.
/// let values = (0..100).flat_map(|i| [i % 2, 1 - i % 2].map(|on| (on * (1 + i)) as f32)).collect();
/// let features = Features::from_f32(100, 2, values)?;
/// let centers = GlnpCenters { values: &[50.0, 0.0, 0.0, 50.0], offset: &[] };
/// let params = GlnpParams { rank: 2, tol: 0.0, ..GlnpParams::default() };
/// let found = glnp(&features, Some(centers), &params, &Run::new(None, 0)?)?;
/// assert!(found.objective[found.n_iter] < 1e-3 * found.squared_norm);
/// // Row 0 is on the second line, row 1 on the first: no weight between them.
/// let weight = |i: usize, j: usize| -> f64 {
///     found.factor.row(i).iter().zip(found.factor.row(j)).map(|(a, b)| a * b).sum()
/// };
/// assert!(weight(90, 91) < 0.01 * weight(90, 92));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn glnp(
    source: &dyn RowSource,
    centers: Option<GlnpCenters<'_>>,
    params: &GlnpParams,
    run: &Run,
) -> Result<GlnpFactor> {
    params.fit_to(source.n_rows(), source.n_cols(), run.threads())?;
    let mut rows = OffsetRows::new(source, run);
    let factor = start(&mut rows, centers, params)?;
    let (mut at, squared_norm) = start::begin(&rows, factor, params.rank)?;
    at.scale(run);
    let course = Course { squared_norm, tol: params.tol, max_iter: params.max_iter };
    let (at, trace) = match params.solver {
        GlnpSolver::AcceleratedGradient => accelerated::accelerated(&rows, at, course)?,
        GlnpSolver::Multiplicative => multiplicative::multiplicative(&rows, at, course)?,
        GlnpSolver::PaperGradient => paper::paper(&rows, at, course)?,
    };
    let Moments { k, basis, .. } = at.moments;
    Ok(GlnpFactor {
        factor: Matrix::new(rows.n, k, at.factor)?,
        extension: GlnpExtension::new(Matrix::new(rows.d, k, basis)?, rows.offset)?,
        objective: trace.objective,
        squared_norm,
        n_iter: trace.n_iter,
        converged: trace.converged,
        n_passes: rows.passes(),
    })
}

/// F before it is scaled; also sets the number that is subtracted from all values.
fn start(rows: &mut OffsetRows<'_>, centers: Option<GlnpCenters<'_>>, params: &GlnpParams) -> Result<Vec<f64>> {
    let k = params.rank;
    let is_offset = params.solver == GlnpSolver::Multiplicative;
    let (nearest, least) = match (params.start, centers) {
        (GlnpStart::KMeans, Some(centers)) => {
            let (nearest, least) = start::clusters(rows, centers, k)?;
            (Some(nearest), least)
        }
        (GlnpStart::KMeans, None) => {
            return Err(Error::param("centers", "none", "those of clusters, one for each column"));
        }
        (GlnpStart::Uniform, _) => (None, if is_offset { start::minimum(rows)? } else { 0.0 }),
    };
    if is_offset {
        rows.offset = least.min(0.0);
    }
    Ok(match nearest {
        Some(nearest) => start::at_clusters(rows, &nearest, k, start::NOISE),
        None => start::uniform(rows, k, 1.0),
    })
}

#[cfg(test)]
mod tests;
