//! What an audit says of the classes: which are taken for each other, which lack labels, and where a new one may be.

use lapwing_core::{Matrix, Result, Targets};
use serde::Serialize;

use super::super::cover::Cover;
use super::judge::Judge;
use super::{AuditSummary, Work};
use crate::core::cells::NO_CELL;
use crate::core::counts::{label_classes, label_counts};
use crate::core::smoother::Smooth;

/// Labels of a class below which it has few.
const FEW: usize = 5;
/// Rate of confusion above which two classes may be one.
const MERGE: f64 = 0.4;
/// Pairs of classes that are listed.
const MOST_PAIRS: usize = 10;
/// G above which cells are of one region, and the share of the rows that a region needs.
const JOINED: f64 = 0.5;
const LEAST_SHARE: f64 = 0.01;
/// Percentile of the potential of rows next to labels that the region exceeds.
const PERCENTILE: f64 = 0.99;
/// Rows of the region that are named.
const EXAMPLES: usize = 5;

/// Two classes that are taken for each other.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ClassPair {
    /// The classes.
    pub classes: [usize; 2],
    /// Flagged labels of one for which the other is proposed.
    pub n_flagged: usize,
    /// Their number over the labels of the smaller class.
    pub rate: f64,
    /// Whether they may be one class.
    pub may_be_one: bool,
}

/// A part of the graph far from all labels.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct NewClass {
    /// Number of its rows.
    pub n_rows: usize,
    /// Those farthest from all labels.
    pub rows: Vec<u32>,
}

/// The confusion of the classes (c, c), and the part of the summary that is of classes.
pub(super) fn find(
    work: &Work<'_>,
    targets: &Targets,
    judge: &Judge,
    smooth: &Smooth,
) -> Result<(Matrix, AuditSummary)> {
    let c = targets.n_columns();
    let mut confusion = Matrix::filled(c, c, 0.0);
    let counts = label_counts(targets);
    for (at, given) in label_classes(targets).into_iter().enumerate() {
        let found = if judge.flagged[at] { judge.proposed[at] as usize } else { given };
        confusion.row_mut(given)[found] += 1.0;
    }
    let mut is_predicted = vec![false; c];
    judge.predicted(&smooth.scores).into_iter().flatten().for_each(|class| is_predicted[class as usize] = true);
    let classes = |is: &dyn Fn(usize) -> bool| (0..c).filter(|&class| is(class)).collect();
    let summary = AuditSummary {
        confused: confused(&confusion, &counts),
        few_labels: classes(&|class| (1..FEW).contains(&counts[class])),
        no_labels: classes(&|class| counts[class] == 0),
        not_predicted: classes(&|class| counts[class] > 0 && !is_predicted[class]),
        new_class: new_class(work, targets, smooth)?,
        ..AuditSummary::default()
    };
    Ok((confusion, summary))
}

/// The pairs with flagged labels, of largest rate first.
fn confused(confusion: &Matrix, counts: &[usize]) -> Vec<ClassPair> {
    let mut pairs = Vec::new();
    for a in 0..counts.len() {
        for b in a + 1..counts.len() {
            let n_flagged = (confusion.row(a)[b] + confusion.row(b)[a]) as usize;
            if n_flagged > 0 {
                let rate = n_flagged as f64 / counts[a].min(counts[b]).max(1) as f64;
                pairs.push(ClassPair { classes: [a, b], n_flagged, rate, may_be_one: rate > MERGE });
            }
        }
    }
    pairs.sort_by(|a: &ClassPair, b| b.rate.total_cmp(&a.rate).then(a.classes.cmp(&b.classes)));
    pairs.truncate(MOST_PAIRS);
    pairs
}

/// The largest region whose potential is above nearly all of that next to labels.
fn new_class(work: &Work<'_>, targets: &Targets, smooth: &Smooth) -> Result<Option<NewClass>> {
    let (graph, n) = (work.graph, work.graph.n_samples());
    let mut near: Vec<f64> = targets
        .rows()
        .iter()
        .flat_map(|&row| graph.adjacency().row(row as usize).0)
        .map(|&row| smooth.potential[row as usize])
        .filter(|o| o.is_finite())
        .collect();
    // Where labels are next to nearly all rows, nothing is unexplored.
    if near.is_empty() || targets.rows().len() > n / 4 {
        return Ok(None);
    }
    let place = ((near.len() - 1) as f64 * PERCENTILE) as usize;
    let limit = *near.select_nth_unstable_by(place, f64::total_cmp).1;
    let cover = Cover::new(graph, work.components, work.run)?;
    let region = cover.regions(JOINED);
    let is_above = |row: u32| smooth.potential[row as usize].is_finite() && smooth.potential[row as usize] > limit;
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); cover.members.len()];
    let mut sizes = vec![0usize; rows.len()];
    for row in (0..n as u32).filter(|&row| cover.home[row as usize] != NO_CELL) {
        let region = region[cover.home[row as usize] as usize];
        sizes[region] += 1;
        if is_above(row) {
            rows[region].push(row);
        }
    }
    // A region counts if nearly all of it lies beyond the limit.
    let is_new =
        |at: &usize| rows[*at].len() as f64 >= 0.9 * sizes[*at] as f64 && sizes[*at] as f64 >= LEAST_SHARE * n as f64;
    let found = (0..rows.len()).filter(is_new).max_by_key(|&at| (sizes[at], std::cmp::Reverse(at)));
    Ok(found.map(|at| {
        let mut examples = rows[at].clone();
        let potential = |row: &u32| smooth.potential[*row as usize];
        examples.sort_by(|a, b| potential(b).total_cmp(&potential(a)).then(a.cmp(b)));
        examples.truncate(EXAMPLES);
        NewClass { n_rows: sizes[at], rows: examples }
    }))
}
