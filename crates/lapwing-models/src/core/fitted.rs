//! Results of a fit: labels of rows, or values.

use std::sync::Arc;

use lapwing_core::{Matrix, Report};
use lapwing_graph::AffinityGraph;

use super::expected::ExpectedAccuracy;
use super::extend::Extension;
use super::held_out::HeldOut;
use super::rule::{Labeling, Rule};

/// Result of a classification.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fitted<'a> {
    /// A label for every row.
    pub labeling: Labeling,
    /// How scores became labels.
    pub rule: Rule,
    /// Gives scores to new rows; `None` if only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// Class shares of labeled rows from scores that did not see their label; `None` if labels are too few, or holding them out too
    /// expensive.
    pub held_out: Option<HeldOut>,
    /// The fit of the candidate with the largest weight, if the labels are a mean of several.
    pub best: Option<Box<Fitted<'a>>>,
    /// Graph, choices, solves, times and memory of the fit.
    pub report: Report,
}

impl Fitted<'_> {
    /// Share of right labels that rows without a given one are expected to have, with its interval; `None` if no label was held out.
    pub fn expected_accuracy(&self) -> Option<ExpectedAccuracy> {
        let n_unlabeled = self.report.n_samples.saturating_sub(self.report.n_labeled);
        self.held_out.as_ref().and_then(|held_out| ExpectedAccuracy::new(held_out, n_unlabeled))
    }
}

/// Result of a regression.
#[derive(Debug)]
#[non_exhaustive]
pub struct FittedRegression<'a> {
    /// Values (n, 1), NaN in rows no label reaches.
    pub values: Arc<Matrix>,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
    /// Bound on the solver's error in each value (n), infinite without a bound; `None` if nothing was certified.
    pub score_radius: Option<Vec<f64>>,
    /// Half-width (n) of the interval around each value in which the true one lies in about 90 % of the rows whose value was hidden;
    /// in the unit of the values. From the errors of values that were held out, near the row in the graph, or of all of them if there
    /// is no graph ([`Report::parts`], `uncertainty`, says how many and how). NaN in rows no label reaches, 0 only if at least 90 % of
    /// the held-out values were exact; `None` if fewer than 10 values were held out.
    ///
    /// Errors that chose the parameters are used again, which costs a solve of ten columns on the graph. If all parameters were given,
    /// values are held out for this alone: in five fits on the same graph, or by one eigenproblem for a kernel machine. A network with
    /// a hidden layer or reweighted edges is always trained five more times.
    pub uncertainty: Option<Vec<f64>>,
    /// Weighted mean of the given values; a caller may give it to rows that no label reaches.
    pub mean: f64,
    /// Gives values to new rows (as scores); `None` if only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// Graph, choices, solves, times and memory of the fit.
    pub report: Report,
}
