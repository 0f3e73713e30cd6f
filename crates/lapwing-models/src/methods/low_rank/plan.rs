//! Plan of a fit: passes, and memory, which grows with the rows only by what is returned.

use lapwing_graph::low_rank::{Blocks, GlnpParams, RowPass};

use super::select::MOST_LABELED;
use super::{FactorKind, LowRankParams};
use crate::core::plan::{Program, base_bytes, process_bytes};
use crate::{Plan, PlanStep, ProblemSize};

/// The plan of a fit on rows that are held or read in blocks.
pub(super) fn plan(params: &LowRankParams, size: &ProblemSize) -> Plan {
    let (n, c) = (size.n_samples, size.n_classes.max(2));
    let passes = match params.factor {
        FactorKind::Anchor => 2,
        FactorKind::Nystrom => 3,
        // The most, except for steps that are repeated.
        FactorKind::Glnp => params.glnp_max_iter + 2,
    };
    let fitted = fit_bytes(params, size);
    let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: bytes as u64 };
    if size.streamed {
        let base = process_bytes(Program::Factor, size) + 32 * size.n_labeled;
        // Scores, distributions, class, confidence and mark of the rows that are labeled and written at a time.
        let rows = (size.threads * RowPass::held_rows()).min(n);
        let labeled = rows * (2 * 8 * c + 24) + size.threads * scratch_bytes(params, size);
        let steps = vec![step("fit", base + fitted), step("write", base + kept_bytes(params, size) + labeled)];
        return Plan::from_steps(Program::Factor, n, 0, passes, steps);
    }
    let base = base_bytes(Program::Factor, size);
    let apply = kept_bytes(params, size) + size.threads * scratch_bytes(params, size) + 2 * 8 * n * c + 24 * n;
    let steps = vec![step("fit", base + fitted), step("apply", base + apply)];
    // One more pass checks all values.
    Plan::from_steps(Program::Factor, n, 0, passes + 1, steps)
}

/// Bytes of the fitted model: landmarks and coefficients; for a learned factor, also the scores of the rows of the fit.
fn kept_bytes(params: &LowRankParams, size: &ProblemSize) -> usize {
    let (k, d, c) = (params.n_landmarks.min(size.n_samples), size.n_features, size.n_classes.max(2));
    let learned = if params.factor == FactorKind::Glnp { 8 * size.n_samples * c } else { 0 };
    2 * 4 * k * d + 8 * k * (k + c) + learned
}

/// Bytes of the buffers of one thread.
fn scratch_bytes(params: &LowRankParams, size: &ProblemSize) -> usize {
    RowPass::scratch_bytes(size.n_features, params.n_landmarks.min(size.n_samples), size.sparse)
}

/// Matrices (k, k) that are held at a time: two of sums, the map, the system, its copies and factor, and those of the folds of
/// selection.
const SQUARES: usize = 11;
/// The same if the system is solved by singular values, because it is not definite; for example if all rows are landmarks.
const SINGULAR_SQUARES: usize = 20;

/// Bytes of a fit beside its rows: the sample, and for each thread its buffers and the sums of a block.
fn fit_bytes(params: &LowRankParams, size: &ProblemSize) -> usize {
    let (k, d, c) = (params.n_landmarks.min(size.n_samples), size.n_features, size.n_classes.max(2));
    if params.factor == FactorKind::Glnp {
        let rows = size.n_samples;
        let learned = GlnpParams { rank: k, ..params.glnp() }.plan_bytes(rows, d, size.threads) as usize;
        return learned.max(8 * SQUARES * k * k) + 8 * rows * c;
    }
    let sampled = (50 * k).max(20_000).min(size.n_samples);
    // Distances between rows take a copy of them.
    let has_neighbors = sampled < 5 * k;
    let sample = row_bytes(sampled, size) * if has_neighbors && !size.sparse { 2 } else { 1 };
    // Landmarks, those of a candidate of the selection or of the model, and their kernel; the mean of a cluster for each thread.
    let landmarks = 4 * 4 * k * d + 8 * size.threads * d;
    let sums = 8 * (k * (k + 1) / 2 + k * (1 + c));
    // Sums of each thread, and of nodes of the tree that are not yet merged, one for each height.
    let waiting = size.threads + Blocks::new(size.n_samples).count().max(1).ilog2() as usize + 2;
    let squares = if size.n_samples < 2 * k { SINGULAR_SQUARES } else { SQUARES };
    let summing = waiting * sums + 3 * 8 * k * k + size.threads * scratch_bytes(params, size);
    // Labeled rows for selection, their rows of the factor, and copies of these without a fold.
    let l = size.n_labeled.min(MOST_LABELED);
    sample + landmarks + row_bytes(l, size) + 3 * 8 * l * k + summing.max(8 * squares * k * k)
}

/// Bytes of a copy of some rows; a sparse matrix is shared where all of its rows are taken.
fn row_bytes(rows: usize, size: &ProblemSize) -> usize {
    let rows = rows.min(size.n_samples);
    match size.sparse {
        true if rows == size.n_samples => 0,
        true => (size.input_bytes as f64 * rows as f64 / size.n_samples as f64) as usize,
        false => 4 * rows * size.n_features,
    }
}
