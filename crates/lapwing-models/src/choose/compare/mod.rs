//! Compares methods on one data set: hides labels and measures the accuracy on them.
//!
//! All methods get the same draws of labels, so that their differences can be compared pair by pair ([`Winner`]). Runs go draw by
//! draw: each method has its first run before any has its second. A time budget therefore shortens the comparison evenly.

mod draws;
mod winner;

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use lapwing_core::{Error, Features, Labels, Result, Run, Targets};
use lapwing_graph::{AffinityGraph, GraphParams, affinity_graph};
use serde::Serialize;

use crate::choose::clock::Clock;
use crate::core::held_out::choosing::moments;
use crate::{Method, Problem};
pub use draws::Keep;
use draws::Level;
pub use winner::{Rival, Winner};

/// Name of the rows of the baseline.
const BASELINE: &str = "majority class";

/// Which labels a comparison keeps, how often it draws them, and how long it may take.
#[derive(Clone, Debug, Default)]
pub struct CompareParams {
    /// Labels to keep, one entry for each line of a method; if empty, [`Keep::suited`] chooses.
    pub keep: Vec<Keep>,
    /// Draws of labels for each entry; for folds, how often the labels are split. None means 5, and 3 for folds.
    pub repeats: Option<usize>,
    /// Most time of all runs together; None means no limit. With a budget, the number of draws depends on the machine.
    pub budget: Option<Duration>,
}

/// Accuracy and time of one method, with one number of labels.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CompareRow {
    /// Method, or `majority class`.
    pub method: String,
    /// Whether the row is the baseline: every hidden row gets the most frequent class of all known labels.
    pub baseline: bool,
    /// Labeled rows: the rounded mean over the draws.
    pub n_labeled: usize,
    /// Labeled rows of a class: as asked for, or in the mean over the classes.
    pub labels_per_class: f64,
    /// Folds of a cross-validation; `None` if labels are drawn.
    pub n_folds: Option<usize>,
    /// Draws finished; fewer than wanted only with a budget.
    pub draws: usize,
    /// Accuracy on the hidden labels, each draw.
    pub accuracy: Vec<f64>,
    /// Mean of them.
    pub accuracy_mean: f64,
    /// Their standard deviation (of the sample; 0 for one draw).
    pub accuracy_sd: f64,
    /// Median seconds of a fit, the shared graph not included.
    pub seconds: f64,
    /// Seconds to build its graph, once for all draws; 0 if it was given or not needed.
    pub graph_seconds: f64,
    /// Share of hidden rows that no label reached, mean over the draws; these rows count as errors.
    pub unreached: f64,
}

/// A method without a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unfinished {
    /// Method.
    pub method: String,
    /// Labeled rows.
    pub n_labeled: usize,
}

/// A method that cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failed {
    /// Method.
    pub method: String,
    /// Labeled rows.
    pub n_labeled: usize,
    /// What kept it from running.
    pub reason: String,
}

/// The result of a comparison.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// A row for each number of labels and method, in the order in which they were given; the baseline is the last of its number.
    pub rows: Vec<CompareRow>,
    /// What to take, for each number of labels.
    pub winners: Vec<Winner>,
    /// Methods without a row, because the budget was spent before they finished a run.
    pub unfinished: Vec<Unfinished>,
    /// Methods without a row, because a run of theirs failed.
    pub failed: Vec<Failed>,
    /// Draws of labels for each number, or splits into folds, that were wanted.
    pub repeats: usize,
    /// Labels of classes that have only one: they are never hidden in folds.
    pub n_single: usize,
}

/// Hides all but some labels and measures each method on the hidden ones.
///
/// Methods with equal graph parameters share one graph. Without a budget, accuracies depend on the seed only; seconds, and so
/// which of two equally accurate methods is recommended, depend on the machine.
///
/// # Errors
/// [`Error::Param`] for a number of labels or folds outside its range, and for a budget in which no run was finished; what no method can
/// work with, such as features that are not finite; what a method refuses, if no other one can run.
pub fn compare(
    features: Option<&Features<'_>>,
    graph: Option<&AffinityGraph>,
    labels: &Labels,
    methods: &[Box<dyn Method>],
    params: &CompareParams,
    run: &Run,
) -> Result<Comparison> {
    if params.repeats == Some(0) {
        return Err(Error::param("repeats", 0, "at least 1"));
    }
    // Draws come first, so that an invalid number of labels is refused before a graph is built.
    let kept = params.kept(labels)?;
    let levels: Vec<Level> =
        kept.iter().map(|keep| Level::new(*keep, params.repeats, labels, run)).collect::<Result<_>>()?;
    let total = methods.len() * levels.iter().map(|level| level.draws.len()).sum::<usize>();
    let mut runs = Runs {
        features,
        given: graph,
        labels,
        methods,
        clock: Clock::new(params.budget.map(|budget| budget.as_secs_f64())),
        built: Vec::new(),
        cells: vec![vec![Cell::default(); methods.len()]; levels.len()],
        error: None,
        total,
        done: 0,
    };
    run.progress().start("compare", total as u64);
    let outcome = runs.all(&levels, run);
    run.progress().finish();
    outcome?;
    runs.comparison(&levels)
}

impl CompareParams {
    /// Runs of each method on these labels, if no budget ends them.
    ///
    /// # Errors
    /// [`Error::Param`] for a number of labels or folds outside its range; [`Error::Labels`] if nothing is said to be kept, and labels
    /// are too few to hide any.
    pub fn n_runs(&self, labels: &Labels, run: &Run) -> Result<usize> {
        // The first draw shows whether a number is within its range.
        let n_runs = |keep: Keep| Level::new(keep, Some(1), labels, run).map(|_| keep.n_runs(self.repeats));
        self.kept(labels)?.into_iter().map(n_runs).sum()
    }

    /// The numbers of labels to keep, or what suits the labels.
    fn kept(&self, labels: &Labels) -> Result<Vec<Keep>> {
        if self.keep.is_empty() { Keep::suited(labels) } else { Ok(self.keep.clone()) }
    }
}

/// Results of one method, with one number of labels; an entry for each draw.
#[derive(Clone, Default)]
struct Cell {
    accuracy: Vec<f64>,
    seconds: Vec<f64>,
    unreached: Vec<f64>,
    /// What a run failed with; no other one follows.
    failure: Option<String>,
}

/// A graph that was built, with its seconds.
struct Built {
    params: GraphParams,
    graph: AffinityGraph,
    seconds: f64,
}

/// The runs of a comparison.
struct Runs<'r, 'a> {
    features: Option<&'r Features<'a>>,
    given: Option<&'r AffinityGraph>,
    labels: &'r Labels,
    methods: &'r [Box<dyn Method>],
    clock: Clock,
    built: Vec<Built>,
    /// By number of labels, then by method.
    cells: Vec<Vec<Cell>>,
    /// The first failure of a method.
    error: Option<Error>,
    total: usize,
    /// Runs finished or left out.
    done: usize,
}

impl Runs<'_, '_> {
    /// Runs draw by draw. Under a budget, every method has its first draw; then the method goes on that has taken the least time, and
    /// stops when its next run would exceed the budget.
    fn all(&mut self, levels: &[Level], run: &Run) -> Result<()> {
        let of_level = |(at, level): (usize, &Level)| (0..level.draws.len()).map(move |draw| (draw, at));
        let mut draws: Vec<(usize, usize)> = levels.iter().enumerate().flat_map(of_level).collect();
        draws.sort_unstable();
        let (n_methods, has_budget) = (self.methods.len(), self.clock.budget.is_some());
        let (mut next, mut spent, mut slowest) = (vec![0; n_methods], vec![0.0; n_methods], vec![0.0f64; n_methods]);
        loop {
            let turn = |method: usize| {
                let is_late = has_budget && next[method] >= levels.len();
                (is_late, if is_late { spent[method] } else { next[method] as f64 })
            };
            let open = (0..n_methods).filter(|&method| next[method] < draws.len()).map(|method| (turn(method), method));
            let Some((_, method)) = open.min_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal)) else {
                return Ok(());
            };
            run.check()?;
            let (draw, at) = draws[next[method]];
            let is_done = match self.cells[at][method].failure {
                Some(_) => true,
                None if !self.clock.allows(slowest[method]) => false,
                None => {
                    self.announce(method, &levels[at], run);
                    let begun = Instant::now();
                    let outcome = self.one(at, method, &levels[at].draws[draw], run);
                    spent[method] += begun.elapsed().as_secs_f64();
                    self.passed(at, method, outcome)?
                }
            };
            if is_done {
                let last = self.cells[at][method].seconds.last().copied().unwrap_or(0.0);
                slowest[method] = slowest[method].max(last);
            }
            let n_runs = if is_done { 1 } else { draws.len() - next[method] };
            next[method] += n_runs;
            self.done += n_runs;
        }
    }

    fn announce(&self, method: usize, level: &Level, run: &Run) {
        let name = self.methods[method].name();
        let note = format!("run {} of {}: {name}, {} labels", self.done + 1, self.total, level.n_labeled);
        run.progress().update(self.done as u64, &note);
    }

    /// Fits a method to one draw; false if the budget was spent before the fit was finished.
    fn one(&mut self, level: usize, method: usize, kept: &Labels, run: &Run) -> Result<bool> {
        let (method_ref, clock) = (&*self.methods[method], self.clock);
        let outcome = clock.limited(&run.quiet(), |run| {
            self.build_graph(method, run)?;
            let targets = Targets::one_hot(kept, None)?;
            let graph = self.given.or_else(|| Some(&self.built_for(method)?.graph));
            let problem = Problem { features: self.features, graph, ..Problem::new(&targets) };
            let start = Instant::now();
            let labeling = method_ref.fit(&problem, run)?.labeling;
            Ok((labeling, start.elapsed().as_secs_f64()))
        })?;
        let Some((labeling, seconds)) = outcome else { return Ok(false) };
        let (accuracy, unreached) = draws::found(self.labels, kept, &labeling);
        let cell = &mut self.cells[level][method];
        cell.seconds.push(seconds);
        cell.unreached.push(unreached);
        cell.accuracy.push(accuracy);
        Ok(true)
    }

    /// Notes a run that failed, so that the other methods go on; passes on what concerns all of them.
    fn passed(&mut self, level: usize, method: usize, outcome: Result<bool>) -> Result<bool> {
        match outcome {
            Err(error) if error.is_of_method() => {
                self.cells[level][method].failure = Some(error.to_string());
                self.error.get_or_insert(error);
                Ok(true)
            }
            outcome => outcome,
        }
    }

    /// Builds the graph of a method, unless one is given, or one with the same parameters stands.
    fn build_graph(&mut self, method: usize, run: &Run) -> Result<()> {
        let (None, Some(wanted), Some(features)) = (self.given, self.methods[method].graph_params(), self.features)
        else {
            return Ok(());
        };
        if self.built_for(method).is_none() {
            let (params, start) = (wanted.clone(), Instant::now());
            let graph = affinity_graph(features, wanted, run)?;
            self.built.push(Built { params, graph, seconds: start.elapsed().as_secs_f64() });
        }
        Ok(())
    }

    fn built_for(&self, method: usize) -> Option<&Built> {
        let wanted = self.methods[method].graph_params()?;
        self.built.iter().find(|built| built.params == *wanted)
    }

    fn comparison(self, levels: &[Level]) -> Result<Comparison> {
        let n_single = levels.iter().map(|level| level.n_single).max().unwrap_or(0);
        let wanted = |level: &Level| level.draws.len() / level.keep.n_folds().unwrap_or(1);
        let repeats = levels.iter().map(wanted).max().unwrap_or(0);
        let mut out = Comparison {
            rows: Vec::new(),
            winners: Vec::new(),
            unfinished: Vec::new(),
            failed: Vec::new(),
            repeats,
            n_single,
        };
        for (level, cells) in levels.iter().zip(&self.cells) {
            let first = out.rows.len();
            for (at, (method, cell)) in self.methods.iter().zip(cells).enumerate() {
                if let Some(reason) = cell.failure.clone() {
                    out.failed.push(Failed { method: method.name().into(), n_labeled: level.n_labeled, reason });
                } else if cell.accuracy.is_empty() {
                    out.unfinished.push(Unfinished { method: method.name().into(), n_labeled: level.n_labeled });
                } else {
                    let graph_seconds = self.built_for(at).map_or(0.0, |built| built.seconds);
                    out.rows.push(row(method.name(), level, cell, graph_seconds));
                }
            }
            if out.rows.len() > first {
                let baseline = level.draws.iter().map(|kept| draws::majority_accuracy(self.labels, kept)).collect();
                let zeros = || vec![0.0; level.draws.len()];
                let cell = Cell { accuracy: baseline, seconds: zeros(), unreached: zeros(), failure: None };
                out.rows.push(CompareRow { baseline: true, ..row(BASELINE, level, &cell, 0.0) });
                out.winners.extend(Winner::new(&out.rows[first..], level));
            }
        }
        if let (true, Some(error)) = (out.rows.is_empty(), self.error) {
            return Err(error);
        }
        if out.rows.is_empty() && !self.methods.is_empty() {
            let budget = format!("{} s", self.clock.budget.unwrap_or_default());
            let expected = "more time: no method finished its first run";
            return Err(Error::param("budget", budget, expected));
        }
        Ok(out)
    }
}

/// The row of a cell with at least one draw.
fn row(method: &str, level: &Level, cell: &Cell, graph_seconds: f64) -> CompareRow {
    let mut seconds = cell.seconds.clone();
    seconds.sort_unstable_by(f64::total_cmp);
    let (mean, variance) = moments(&cell.accuracy);
    CompareRow {
        method: method.into(),
        baseline: false,
        n_labeled: level.n_labeled,
        labels_per_class: level.labels_per_class,
        n_folds: level.keep.n_folds(),
        draws: cell.accuracy.len(),
        accuracy_mean: mean,
        accuracy_sd: variance.sqrt(),
        seconds: seconds.get(seconds.len() / 2).copied().unwrap_or(0.0),
        graph_seconds,
        unreached: moments(&cell.unreached).0,
        accuracy: cell.accuracy.clone(),
    }
}

#[cfg(test)]
mod tests;
