//! Checkpoints of sparsifiers in a stream, and of the sums of low-rank fits: work resumes from a damaged file.

use std::path::Path;
use std::sync::OnceLock;

use lapwing_core::{Alone, Edge, GeneratedRows, Labels, Result, Run, Targets};
use lapwing_graph::sparsify::{Budget, Checkpoint, Sampler, Sparsifier, SparsifyParams};
use lapwing_models::low_rank::FactorKind;
use lapwing_models::{LowRank, LowRankParams, Method, RowFit, RowProblem};

use super::graphs::check_matrix;
use crate::bench::{Bench, Verdict, accepted, answer, holds};

/// Nodes of the stream.
const NODES: usize = 16;
/// Edges of the stream.
const EDGES: usize = 300;
/// Edges before the checkpoint.
const BEFORE: usize = 200;
/// Rows of the fit.
const ROWS: usize = 48;
/// Samplers with different states.
const SAMPLERS: [Sampler; 4] = [Sampler::Streaming, Sampler::Degree, Sampler::Uniform, Sampler::Ridge];

/// Resumes each of the samplers from a checkpoint.
pub fn sparsifier(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let mut is_accepted = false;
    for sampler in SAMPLERS {
        let checkpoint = Checkpoint::new(path);
        let Some(kept) = answer(checkpoint.resume(NODES, &params(sampler), &bench.run))? else { continue };
        let Some(sparsifier) = kept else { return Err("an existing checkpoint is not found".into()) };
        is_accepted = true;
        let Some(graph) = answer(finished(sparsifier, &bench.run))? else { continue };
        check_matrix(graph.adjacency())?;
    }
    // Python pickles sparsifiers as these bytes.
    if let Some(pickled) = answer(Sparsifier::from_bytes(bytes))? {
        let run = Run::with_seed(&bench.run, 0);
        if pickled.n_nodes() <= NODES && pickled.n_held() <= EDGES {
            answer(pickled.snapshot(&run))?;
            answer(pickled.to_bytes())?;
        }
        is_accepted = true;
    }
    accepted(is_accepted)
}

fn finished(mut sparsifier: Sparsifier, run: &Run) -> Result<lapwing_graph::Graph> {
    let rest = usize::try_from(sparsifier.n_rows()).unwrap_or(usize::MAX).min(EDGES);
    sparsifier.add(&stream()[rest..], run)?;
    Ok(sparsifier.finish(run)?.0)
}

/// Checkpoints of each sampler after two thirds of the stream.
pub fn valid_sparsifiers(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let kept = |sampler: Sampler| {
        let bytes = bench.written("valid.checkpoint", |path| {
            let mut sparsifier = Sparsifier::new(NODES, params(sampler), &bench.run)?;
            sparsifier.add(&stream()[..BEFORE], &bench.run)?;
            Checkpoint::new(path).keep(&sparsifier)
        });
        Some((format!("{sampler:?}").to_lowercase(), bytes.ok()?))
    };
    SAMPLERS.into_iter().filter_map(kept).collect()
}

fn params(sampler: Sampler) -> SparsifyParams {
    let (budget, capacity) = (Budget::Edges(40), Some(80));
    SparsifyParams { sampler, budget, capacity, n_projections: 4, ..SparsifyParams::default() }
}

fn stream() -> &'static [Edge] {
    static STREAM: OnceLock<Vec<Edge>> = OnceLock::new();
    STREAM.get_or_init(|| {
        let mut rng = fastrand::Rng::with_seed(3);
        let edge = |_| {
            let u = rng.u32(..NODES as u32);
            Edge { u, v: (u + rng.u32(1..NODES as u32)) % NODES as u32, weight: 0.1 + 2.0 * rng.f64() }
        };
        (0..EDGES).map(edge).collect()
    })
}

/// Resumes fits of both factors from their sums.
pub fn sums(bench: &Bench, path: &Path, bytes: &[u8]) -> Verdict {
    let mut is_accepted = false;
    for factor in [FactorKind::Anchor, FactorKind::Nystrom] {
        // The fit before has replaced the file by sums of its own.
        std::fs::write(path, bytes).map_err(|error| format!("cannot write the checkpoint: {error}"))?;
        if let Some(fit) = answer(fit(path, factor, &bench.run))? {
            is_accepted = true;
            holds(fit.report.n_samples == ROWS, || {
                format!("a fit of another number of rows: {}", fit.report.n_samples)
            })?;
        }
    }
    accepted(is_accepted)
}

/// Checkpoints that fits of both factors leave.
pub fn valid_sums(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let kept = |factor| bench.written("valid.sums", |path| fit(path, factor, &bench.run).map(drop));
    let named = |factor| Some((format!("{factor:?}").to_lowercase(), kept(factor).ok()?));
    [FactorKind::Anchor, FactorKind::Nystrom].into_iter().filter_map(named).collect()
}

fn fit(path: &Path, factor: FactorKind, run: &Run) -> Result<RowFit> {
    let rows = GeneratedRows::new(ROWS, 2, 2, 0)?;
    let labels = Labels::from_integers((0..ROWS).map(|row| (row < 6).then(|| rows.class(row) as i64)));
    let params = LowRankParams {
        n_landmarks: 3,
        factor,
        select: lapwing_models::low_rank::Select::Off,
        checkpoint: Some(path.to_owned()),
        ..LowRankParams::default()
    };
    LowRank::new(params)?.fit_rows(&RowProblem::new(&rows, &Targets::one_hot(&labels, None)?), &Alone, run)
}
