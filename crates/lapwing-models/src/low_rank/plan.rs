//! What a fit will need: passes, and memory that does not grow with the rows but for what is returned.

use lapwing_graph::low_rank::{GlnpParams, RowPass};

use super::{FactorKind, LowRankParams};
use crate::{Plan, PlanStep, ProblemSize};

/// The plan of a fit, of rows that are held or read in blocks.
pub(super) fn plan(params: &LowRankParams, size: &ProblemSize) -> Plan {
    let (n, c) = (size.n_samples, size.n_classes.max(2));
    let passes = match (params.fit_rows, params.factor) {
        (Some(_), _) => 1,
        (None, FactorKind::Anchor) => 2,
        (None, FactorKind::Nystrom) => 3,
        // At most, and but for steps that are tried again.
        (None, FactorKind::Glnp) => params.glnp_max_iter + 2,
    };
    let fitted = fit_bytes(params, size);
    let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: bytes as u64 };
    if size.streamed {
        // Scores, distributions and labels of the rows that are labeled and written at a time.
        let labeled = size.threads * RowPass::held_rows() * (3 * 8 * c + 24);
        return Plan::of_steps(n, 0, passes, vec![step("fit", fitted), step("write", fitted + labeled)]);
    }
    let base = crate::harmonic::base_bytes(size);
    let steps = vec![step("fit", base + fitted), step("apply", base + fitted + 2 * 8 * n * c + 24 * n)];
    // Beside these, all values are read once to be checked.
    Plan::of_steps(n, 0, passes + 1, steps)
}

/// Bytes of a fit whose rows are not held: the sample, and for each thread its buffers and the sums of a block.
fn fit_bytes(params: &LowRankParams, size: &ProblemSize) -> usize {
    let (k, d, c) = (params.n_landmarks.min(size.n_samples), size.n_features, size.n_classes.max(2));
    if params.factor == FactorKind::Glnp {
        let rows = params.fit_rows.map_or(size.n_samples, |rows| (rows + size.n_labeled).min(size.n_samples));
        let learned = GlnpParams { rank: k, ..params.glnp() }.plan_bytes(rows, d, size.threads) as usize;
        let kept = if rows < size.n_samples { 4 * rows * d } else { 0 };
        // Scores, and those of the rows of the fit.
        return learned + kept + 8 * rows * c + 8 * 8 * k * k;
    }
    let sample = (50 * k).max(20_000).max(params.fit_rows.unwrap_or(0)).min(size.n_samples);
    let sums = 8 * (k * (k + 1) / 2 + k * (1 + c));
    // Threads that sum, and nodes of the tree that wait for their neighbours.
    let waiting = size.threads + 16;
    2 * 4 * sample * d + size.threads * RowPass::desk_bytes(d, k) + waiting * sums + 8 * 8 * k * k
}
