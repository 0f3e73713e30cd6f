//! Fits by a factor that is learned from the rows (GLNP). F ≥ 0 (n, k) is held; new rows get rows of F by non-negative least
//! squares.
//!
//! Rows of the scaled factor are A = F/√d with the degrees d = F·Fᵀ1, of which tiny ones are raised; none is negative. The rest is
//! as for the other factors, with the identity as N. Rows of the fit are scored by their own rows of F, which is more accurate
//! than the least squares for new rows.
//!
//! Every process learns the factor by itself from all rows of the fit, and gets the same.
//!
//! Cost: a pass of O(n·(d·k + k²)) an iteration; memory three arrays (n, k) of 8 bytes each.

use std::sync::{Mutex, PoisonError};

use lapwing_core::parallel::*;
use lapwing_core::{Alone, Error, Matrix, Report, Result, RowSource, Run, Targets, Warning};
use lapwing_graph::low_rank::{
    BlockSums, Blocks, Coefficients, DegreeCounts, GlnpCenters, GlnpFactor, Statistics, SumTree, glnp,
};
use lapwing_solve::products::add_transposed_product;
use serde_json::json;

use super::factor::{LearnedFactor, mark_unreached};
use super::fit::{FLOOR, Solved, Summed};
use super::select::{Judges, Known, Selected, select_alpha};
use super::sharing::Setup;
use super::{LowRankExtension, LowRankParams};
use crate::core::held_out::Standings;

/// Rows that are summed at a time.
const CHUNK_ROWS: usize = 4096;

/// A fit by a learned factor.
pub(super) struct LearnedFit {
    pub params: LowRankParams,
    pub extension: LowRankExtension,
    pub solved: Solved,
    /// Scores of the rows of the fit (rows, c), without what labeled rows add to their own.
    pub scores: Matrix,
    /// Scores of held-out labels.
    pub held_out: Option<Standings>,
}

/// Learns a factor of the rows of `source` and propagates through it.
pub(super) fn fit(
    source: &dyn RowSource,
    targets: &Targets,
    setup: &Setup,
    report: &mut Report,
    run: &Run,
) -> Result<LearnedFit> {
    let Setup { landmarks, params, .. } = setup;
    let n = source.n_rows();
    let k = landmarks.values.len() / landmarks.center.len().max(1);
    if k > n {
        return Err(Error::param("rows", n, format!("at least {k}, the number of landmarks")));
    }
    let centers = GlnpCenters { values: &landmarks.values, offset: &landmarks.center };
    let asked = LowRankParams { n_landmarks: k, ..params.clone() }.glnp();
    let found =
        report.time_steps("factor", asked.max_iter as u64, run, |_| glnp(source, Some(centers), &asked, run))?;
    report.add_part(
        "glnp",
        &json!({
            "objective": found.objective,
            "squared_norm": found.squared_norm,
            "n_iter": found.n_iter,
            "converged": found.converged,
            "n_passes": found.n_passes,
        }),
    )?;
    if !found.converged {
        report.warnings.push(Warning::FactorNotConverged { n_iter: found.n_iter });
    }
    let (summed, rows) = report.time("sums", run, |_| sum(found, targets, run))?;
    let selected = report.time("select", run, |report| -> Result<_> {
        let Some(judges) = Judges::new(targets, params.select, run)? else {
            return Ok(Selected::given(params));
        };
        let known = known(&summed.factor, &rows, &judges.targets);
        select_alpha(&summed, &known, &judges, params, report, run)
    })?;
    let params = selected.params;
    if params.select == super::Select::Auto {
        report.choose("alpha", params.alpha);
    }
    let prior = params.class_prior.shares(&targets.mean())?;
    let solved = report.time("solve", run, |_| summed.solve(&params, &prior))?;
    summed.note(None, &solved, n, report)?;
    let coefficients = Coefficients::new(&solved.coefficients);
    let c = coefficients.n_classes();
    let mut scores = Matrix::filled(n, c, 0.0);
    run.install(|| {
        let blocks = scores.values_mut().par_chunks_mut(CHUNK_ROWS * c).zip(rows.values().par_chunks(CHUNK_ROWS * k));
        blocks.for_each(|(scores, rows)| scores.copy_from_slice(&summed.factor.scores(rows, &coefficients)));
    });
    mark_unreached(scores.values_mut(), c);
    let extension = LowRankExtension::learned(summed.factor, coefficients);
    Ok(LearnedFit { params, extension, solved, scores, held_out: selected.held_out })
}

/// Sums of what `add` adds for rows of F (n, k), in blocks of rows whose sums are added in a fixed order.
fn sum_in_blocks(rows: &Matrix, n_sums: usize, add: impl Fn(&[f64], &mut [f64]) + Sync, run: &Run) -> Result<Vec<f64>> {
    let (k, blocks) = (rows.n_cols(), Blocks::new(rows.n_rows()));
    let tree = Mutex::new(SumTree::new(blocks.count(), n_sums));
    let sum = |block: usize| -> Result<()> {
        let (mut sums, of) = (BlockSums::zero(n_sums), blocks.rows(block));
        for rows in rows.values()[of.start * k..of.end * k].chunks(CHUNK_ROWS * k) {
            run.check()?;
            add(rows, &mut sums.added);
        }
        tree.lock().unwrap_or_else(PoisonError::into_inner).insert(block, sums);
        Ok(())
    };
    run.install(|| (0..blocks.count()).into_par_iter().with_max_len(1).try_for_each(sum))?;
    Ok(tree.into_inner().unwrap_or_else(PoisonError::into_inner).total_over(&Alone)?.added)
}

/// Sums over the rows of a factor, and F itself.
fn sum(found: GlnpFactor, targets: &Targets, run: &Run) -> Result<(Summed<LearnedFactor>, Matrix)> {
    let GlnpFactor { factor: rows, extension, n_passes, .. } = found;
    let (n, k, c) = (rows.n_rows(), rows.n_cols(), targets.n_columns());
    let columns = |rows: &[f64], sums: &mut [f64]| {
        rows.chunks_exact(k).for_each(|f| sums.iter_mut().zip(f).for_each(|(sum, f)| *sum += f));
    };
    let weights = sum_in_blocks(&rows, k, columns, run)?;
    let volume: f64 = weights.iter().map(|x| x * x).sum();
    let mut factor = LearnedFactor { rows: extension, weights, floor: FLOOR * volume / n as f64 };
    if factor.floor <= 0.0 {
        // All rows of F are 0. Any positive floor avoids a division by 0.
        factor.floor = 1.0;
    }
    let grams = |rows: &[f64], sums: &mut [f64]| {
        let mut scaled = rows.to_vec();
        let (gram, totals) = sums.split_at_mut(k * k);
        for f in scaled.chunks_exact_mut(k) {
            let root = factor.root(f);
            f.iter_mut().zip(&mut *totals).for_each(|(f, total)| {
                *f /= root;
                *total += *f;
            });
        }
        add_transposed_product(&scaled, &scaled, rows.len() / k, gram);
    };
    let mut gram = sum_in_blocks(&rows, k * k + k, grams, run)?;
    let sums = gram.split_off(k * k);
    let mut degrees = DegreeCounts { sum: volume, least: f64::INFINITY, ..DegreeCounts::default() };
    for f in rows.rows() {
        let degree = factor.degree(f);
        degrees.least = degrees.least.min(degree);
        degrees.n_floored += u64::from(degree < factor.floor);
        degrees.n_nonpositive += u64::from(degree <= 0.0);
    }
    let (mut cross, mut mass) = (Matrix::filled(k, c, 0.0), vec![0.0; c]);
    for ((row, y), trust) in targets.rows().iter().zip(targets.values().rows()).zip(targets.weights()) {
        let f = rows.row(*row as usize);
        let root = factor.root(f);
        for (class, y) in y.iter().enumerate() {
            mass[class] += trust * y * root;
            f.iter().enumerate().for_each(|(l, f)| cross.row_mut(l)[class] += trust * y * f / root);
        }
    }
    let mut map = Matrix::filled(k, k, 0.0);
    (0..k).for_each(|l| map.row_mut(l)[l] = 1.0);
    let statistics = Statistics { gram: Matrix::new(k, k, gram)?, sums, cross, mass, labeled_gram: None, degrees };
    Ok((Summed { factor, statistics, map, nystrom: None, passes: n_passes }, rows))
}

/// Rows of the scaled factor that have labels.
fn known(factor: &LearnedFactor, rows: &Matrix, targets: &Targets) -> Known {
    let mut known = Known { rows: Matrix::filled(targets.rows().len(), rows.n_cols(), 0.0), roots: Vec::new() };
    for (at, row) in targets.rows().iter().enumerate() {
        let f = rows.row(*row as usize);
        let root = factor.root(f);
        known.rows.row_mut(at).iter_mut().zip(f).for_each(|(out, f)| *out = f / root);
        known.roots.push(root);
    }
    known
}
