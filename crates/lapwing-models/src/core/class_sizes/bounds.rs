//! Bounds on the sizes of classes: from given shares, or from labels that look drawn at random.
//!
//! Labels drawn at random give the 90 % Wilson interval of the share of each class. If every class has about as many labels, they
//! were chosen that way and say nothing about sizes; [`are_balanced`] detects this by Pearson's χ² test.

use lapwing_core::Targets;
use lapwing_graph::{Components, Graph};

use crate::core::counts::{Z, wilson};

/// Least and largest share of each class (c).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeBounds {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Whether the shares are given, not estimated.
    pub is_given: bool,
}

impl SizeBounds {
    /// Given shares plus or minus `slack`. Classes without a label get no row; the shares of the others are scaled to sum to 1.
    pub(super) fn around(shares: &[f64], slack: f64, counts: &[usize]) -> Self {
        let kept: f64 = shares.iter().zip(counts).filter(|(_, count)| **count > 0).map(|(share, _)| share).sum();
        let share = |(share, count): (&f64, &usize)| if *count > 0 { share / kept } else { 0.0 };
        let shares: Vec<f64> = shares.iter().zip(counts).map(share).collect();
        let lower = shares.iter().map(|share| (share - slack).max(0.0)).collect();
        let upper = shares.iter().map(|share| if *share > 0.0 { (share + slack).min(1.0) } else { 0.0 }).collect();
        Self { lower, upper, is_given: true }
    }

    /// Wilson intervals of the shares of labels that were drawn at random.
    pub(super) fn from_labels(counts: &[usize]) -> Self {
        let n = counts.iter().sum::<usize>().max(1) as f64;
        let interval = |&count: &usize| if count > 0 { wilson(count as f64 / n, n) } else { (0.0, 0.0) };
        let (lower, upper) = counts.iter().map(interval).unzip();
        Self { lower, upper, is_given: false }
    }
}

/// Rows whose degrees are looked at.
const SAMPLE: usize = 8192;
/// Standard deviations beyond which labeled rows are not drawn at random.
const LARGE: f64 = 2.0;

/// Whether no component of the graph has far more labels than random draws would give it: at most its expected number, plus four
/// standard deviations, plus three.
pub(crate) fn are_spread(targets: &Targets, components: &Components) -> bool {
    let mut counts = vec![0usize; components.sizes.len()];
    targets.rows().iter().for_each(|&row| counts[components.id[row as usize] as usize] += 1);
    let share = targets.rows().len() as f64 / targets.n_samples() as f64;
    counts.iter().zip(&components.sizes).all(|(&count, &size)| {
        let expected = share * size as f64;
        count as f64 <= expected + 4.0 * expected.sqrt() + 3.0
    })
}

/// Whether the labeled rows have larger degrees than random draws would give them, as rows that stand for many others do: rows that were
/// suggested, or picked because they are typical. Their shares say nothing about the sizes of classes.
///
/// One-sided test at [`LARGE`] standard deviations of the mean rank of their degrees, among at most [`SAMPLE`] rows.
pub(crate) fn are_typical(targets: &Targets, graph: &Graph) -> bool {
    let degree = graph.degree();
    let mut sample: Vec<f64> = degree.iter().step_by(degree.len().div_ceil(SAMPLE).max(1)).copied().collect();
    sample.sort_unstable_by(f64::total_cmp);
    let share = |row: u32| {
        let own = degree[row as usize];
        let below = sample.partition_point(|other| *other < own) + sample.partition_point(|other| *other <= own);
        below as f64 / (2 * sample.len()) as f64
    };
    let l = targets.rows().len() as f64;
    let mean = targets.rows().iter().map(|&row| share(row)).sum::<f64>() / l;
    (mean - 0.5) * (12.0 * l).sqrt() > LARGE
}

/// Whether the counts of the classes that have labels are more even than random draws: Pearson's χ² against equal shares is below
/// its 5 % quantile, or no two counts differ by more than 1.
pub(super) fn are_balanced(counts: &[usize]) -> bool {
    let seen: Vec<f64> = counts.iter().filter(|count| **count > 0).map(|&count| count as f64).collect();
    let (least, most) =
        seen.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &count| (least.min(count), most.max(count)));
    if seen.len() < 2 || most - least <= 1.0 {
        return true;
    }
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let statistic: f64 = seen.iter().map(|count| (count - mean).powi(2) / mean).sum();
    // Wilson & Hilferty's approximation of the quantile.
    let freedom = (seen.len() - 1) as f64;
    let quantile = freedom * (1.0 - 2.0 / (9.0 * freedom) - Z * (2.0 / (9.0 * freedom)).sqrt()).max(0.0).powi(3);
    statistic < quantile
}
