//! Refinement of labels on the graph for given class sizes: volume-constrained auction dynamics (Jacobs, Merkurjev & Esedoḡlu 2018;
//! PoissonMBO, Calder, Cook, Thorpe & Slepčev 2020), started from the labels of another method.
//!
//! A round takes the one-hot matrix U of the current labels, does [`WALKS`] steps U ← D⁻¹W·U with the given labels fixed, and
//! decides by offsets that hold the sizes. Rounds end when no label changes, after [`ROUNDS`] at most.
//!
//! Cost: O(m·c) for each step. Parallel over blocks of rows, the same bits for any number of threads.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Targets};
use lapwing_graph::Graph;
use lapwing_solve::SddMatrix;

use super::bounds::SizeBounds;
use super::offsets::{BLOCK_ROWS, HeldSizes, class_of_rows, hold_sizes};
use crate::Rule;
use crate::core::rule::typical_temperature;

/// Most rounds.
const ROUNDS: usize = 20;
/// Steps of the random walk in each round.
const WALKS: usize = 7;

/// Labels after the last round.
pub(super) struct Refined {
    /// Shares of the random walk (n, c), NaN where no label reaches.
    pub scores: Matrix,
    /// The rule whose offsets hold the sizes with these scores.
    pub rule: Rule,
    pub held: HeldSizes,
    /// Rounds done.
    pub rounds: usize,
}

/// Does the rounds, starting from `labels` (n).
pub(super) fn refine(
    graph: &Graph,
    targets: &Targets,
    labels: &[u32],
    reached: &[bool],
    bounds: &SizeBounds,
    start: &Rule,
    run: &Run,
) -> Result<Refined> {
    let (n, c) = (labels.len(), targets.n_columns());
    let laplacian = graph.laplacian();
    let mut rule =
        Rule { offset: vec![0.0; c], scale: start.scale.iter().map(|s| s.signum()).collect(), ..start.clone() };
    let mut labels = labels.to_vec();
    let (mut scores, mut product) = (Matrix::filled(n, c, 0.0), vec![0.0; n * c]);
    let mut held = HeldSizes { sizes: Vec::new(), n_reached: 0, miss: 0, class: 0 };
    let mut rounds = 0;
    while rounds < ROUNDS {
        rounds += 1;
        set_one_hot(&mut scores, &labels, targets);
        for _ in 0..WALKS {
            run.check()?;
            run.install(|| walk(&laplacian, graph.degree(), targets, &mut scores, &mut product));
        }
        run.install(|| hide_unreached(&mut scores, reached));
        held = hold_sizes(&mut rule, &scores, bounds, run)?;
        let found = run.install(|| class_of_rows(&rule, &scores, &labels));
        if found == labels {
            break;
        }
        labels = found;
    }
    let temperature = run.install(|| typical_temperature(&rule, &scores));
    (rule.temperature, rule.flattened) = (Some(temperature), false);
    Ok(Refined { scores, rule, held, rounds })
}

fn set_one_hot(scores: &mut Matrix, labels: &[u32], targets: &Targets) {
    let c = scores.n_cols();
    scores.values_mut().par_chunks_mut(c).zip(labels).with_min_len(BLOCK_ROWS).for_each(|(row, &label)| {
        row.fill(0.0);
        row[label as usize] = 1.0;
    });
    hold_labels(scores, targets);
}

fn hold_labels(scores: &mut Matrix, targets: &Targets) {
    targets
        .rows()
        .iter()
        .zip(targets.values().rows())
        .for_each(|(&row, y)| scores.row_mut(row as usize).copy_from_slice(y));
}

/// One step of the random walk, U ← D⁻¹W·U = U − D⁻¹L·U. Labeled rows and rows without edges do not change.
fn walk(laplacian: &SddMatrix<'_>, degree: &[f64], targets: &Targets, scores: &mut Matrix, product: &mut [f64]) {
    let c = scores.n_cols();
    laplacian.product(scores.values(), product, c);
    scores.values_mut().par_chunks_mut(c).zip(product.par_chunks(c)).zip(degree).with_min_len(BLOCK_ROWS).for_each(
        |((row, product), &degree)| {
            if degree > 0.0 {
                row.iter_mut().zip(product).for_each(|(u, lu)| *u -= lu / degree);
            }
        },
    );
    hold_labels(scores, targets);
}

fn hide_unreached(scores: &mut Matrix, reached: &[bool]) {
    let c = scores.n_cols();
    let rows = scores.values_mut().par_chunks_mut(c).zip(reached).with_min_len(BLOCK_ROWS);
    rows.filter(|(_, reached)| !**reached).for_each(|(row, _)| row.fill(f64::NAN));
}
