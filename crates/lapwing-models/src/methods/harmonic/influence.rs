//! How much each label changes the scores: columns of H = A⁻¹T, for [`leave_one_out`](super::leave_one_out).
//!
//! Cost: one solve with a column for each label that is left out, to a residual of [`TOL`]. At most [`MOST_LABELS`] labels, drawn at random,
//! have one, with at most [`MOST_VALUES`] values in their columns.

use lapwing_core::{Matrix, Result, Run, Stream};
use lapwing_solve::LaplacianSolver;
use rand::seq::index::sample;

use crate::core::parts::Part;

/// Labels that are left out, at most.
const MOST_LABELS: usize = 128;
/// Fewest labels to leave out: fewer decide nothing reliably.
pub(super) const FEWEST_LABELS: usize = 16;
/// Most values (rows × columns) to solve for, so that leaving out costs little beside the solve itself.
const MOST_VALUES: usize = 1 << 20;
/// Relative residual of the columns.
const TOL: f64 = 1e-4;
/// Influence of labels on the scores.
#[derive(Clone, Debug)]
pub(super) struct Influence {
    /// Positions of these labels among all, ascending (q).
    pub(super) labels: Vec<usize>,
    /// kᵢ: share of the other labels in the score of the label's own row (q).
    pub(super) slack: Vec<f64>,
    /// gᵢ: share of the label in the mean of the scores over the rows (q).
    pub(super) reach: Vec<f64>,
    /// hᵢ: share of the label in the score of each row that labels reach (rows, q + 1); the last column is that of gᵢ.
    pub(super) columns: Matrix,
}

impl Influence {
    /// The influence of labels of the `weights` (n) in a plain system whose diagonal they are, plus the `pulls` (n) of a prior.
    /// `part` holds all labels.
    pub fn find(
        solver: &mut LaplacianSolver,
        part: &Part<'_>,
        weights: &[f64],
        pulls: Option<&[f64]>,
        run: &Run,
    ) -> Result<Self> {
        let (n, l) = (part.n(), part.labeled.len());
        let mut labels = sample(&mut run.rng(Stream::LeftOut, 0), l, most_labels(n).min(l)).into_vec();
        labels.sort_unstable();
        solver.set_tol(TOL)?;
        let share = (n as f64).recip();
        let rows: Vec<usize> = labels.iter().map(|&at| part.labeled[at] as usize).collect();
        let q = labels.len();
        let mut b = Matrix::filled(n, q + 1, 0.0);
        for row in 0..n {
            b.row_mut(row)[q] = share;
        }
        for (column, &row) in rows.iter().enumerate() {
            b.row_mut(row)[column] = weights[row];
        }
        let (columns, _) = solver.solve(&b, None, run)?;
        let (mut slack, mut reach) = (Vec::with_capacity(q), Vec::with_capacity(q));
        for (column, &row) in rows.iter().enumerate() {
            let (neighbors, edges) = part.graph.adjacency().row(row);
            let own = columns.row(row);
            let inflow = |(&id, weight): (&u32, &f64)| weight * (own[column] - columns.row(id as usize)[column]);
            let flow: f64 = neighbors.iter().zip(edges).map(inflow).sum();
            let pull = pulls.map_or(0.0, |pulls| pulls[row] * own[column]);
            slack.push(((flow + pull) / weights[row]).clamp(0.0, 1.0));
            reach.push(weights[row] * own[q]);
        }
        Ok(Self { labels, slack, reach, columns })
    }
}

/// Most labels that may be left out on a graph of n rows.
pub(super) fn most_labels(n: usize) -> usize {
    MOST_LABELS.min(MOST_VALUES / n.max(1))
}
