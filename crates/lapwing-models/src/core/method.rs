//! What every method does: fit, hold labels out, plan.

use lapwing_core::{Communicator, Matrix, Result, Run};
use lapwing_graph::GraphParams;

use super::fitted::Fitted;
use super::held_out::folds::in_turn;
use super::plan::Plan;
use super::problem::{Problem, ProblemSize};
use super::row_fit::RowFit;
use super::sampling::{self, RowProblem};

/// What a method predicts for labels that are hidden from it.
#[derive(Debug)]
#[non_exhaustive]
pub struct HeldOutFit<'a> {
    /// Shares of the classes in each labeled row (l, c), by scores that did not see the labels of its fold; rows of NaN where no other
    /// label reaches.
    pub shares: Matrix,
    /// The fit to all labels, if the method needed it.
    pub fitted: Option<Fitted<'a>>,
}

/// A method of semi-supervised classification.
pub trait Method: Send + Sync {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;

    /// Parameters of the graph this method works on, so that several methods can share one; `None` if it needs none.
    fn graph_params(&self) -> Option<&GraphParams> {
        None
    }

    /// Whether the method needs features, even if a graph is given.
    fn needs_features(&self) -> bool {
        false
    }

    /// Whether the method uses features beside a given graph.
    fn uses_both(&self) -> bool {
        self.needs_features() && self.graph_params().is_some()
    }

    /// Labels every row.
    ///
    /// # Errors
    /// [`Error`](lapwing_core::Error) for unusable input; [`Error::Interrupted`](lapwing_core::Error::Interrupted).
    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>>;

    /// Fits to rows that are not held, in one process or several; all return the same.
    ///
    /// The default fits on a sample. Methods that sum over rows fit on all of them.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); what the source cannot do; [`Error::Comm`](lapwing_core::Error::Comm) where another process failed.
    fn fit_rows(&self, problem: &RowProblem<'_>, communicator: &dyn Communicator, run: &Run) -> Result<RowFit> {
        let _ = communicator;
        sampling::fit(self, problem, run)
    }

    /// Labels held out in turn: `folds` (l) holds the fold of each label, counted from 0, and `usize::MAX` for labels that are never
    /// held out, whose shares say nothing. Rows and graph stay.
    ///
    /// The default fits once for each fold. Methods with a closed form fit once for all.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        refitted(self, problem, folds, run)
    }

    /// Whether the method has scores, which class sizes can shift; others give labels at once.
    fn has_scores(&self) -> bool {
        true
    }

    /// Whether the fit can start from shares of the classes ([`Problem::prior`]).
    fn takes_prior(&self) -> bool {
        false
    }

    /// Whether the method can read a graph as a stream of edges ([`Problem::edges`]) instead of holding it.
    fn reads_streams(&self) -> bool {
        false
    }

    /// Whether the method can read rows in blocks ([`fit_rows`](Self::fit_rows)) instead of holding them.
    fn reads_rows(&self) -> bool {
        false
    }

    /// The method whose fit of every problem of that size is the same, with the same parameters; `None` if there is none.
    fn same_as(&self, size: &ProblemSize) -> Option<&'static str> {
        let _ = size;
        None
    }

    /// The plan of a fit of a problem of that size.
    fn plan(&self, size: &ProblemSize) -> Plan;
}

/// Labels held out by one fit for each fold, without its labels.
pub(crate) fn refitted<'a>(
    method: &(impl Method + ?Sized),
    problem: &Problem<'_, 'a>,
    folds: &[usize],
    run: &Run,
) -> Result<HeldOutFit<'a>> {
    let shares = in_turn(problem.targets, folds, run, |kept, fold, _| {
        let labeling = method.fit(&Problem { targets: kept, ..*problem }, run)?.labeling;
        let mut shares = fold.rows_of(&labeling.label_distributions, problem.targets);
        let rows = fold.rows(problem.targets).into_iter().enumerate();
        for (at, _) in rows.filter(|(_, row)| !labeling.reached[*row as usize]) {
            shares.row_mut(at).fill(f64::NAN);
        }
        Ok(shares)
    })?;
    Ok(HeldOutFit { shares, fitted: None })
}
