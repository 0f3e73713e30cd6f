//! Which rows to label next.
//!
//! **No label yet, or fewer than two a class**: the rows that cover the graph best ([`cover`](super::cover)), with the number of rows of a cell
//! as its mass, and the row of largest weight within the picked cell. No label is used, so any number of rows can be asked for at once.
//!
//! **With labels**, from class shares p of the stable scores ([`smoother`](crate::core::smoother)):
//!
//! 1. *cover*: the mass of a row is uᵢ = 1 − Σ p²ᵢc (0 if it has a label), and of a picked cell the row of largest
//!    uᵢ·√(weight within the cell) is taken.
//! 2. *border*: a = 1 − (p₁ − p₂), p₁ and p₂ the two largest shares, averaged three times with the neighbors (a ← ½a + ½D⁻¹Wa). Rows
//!    where it is a local maximum, largest first.
//!
//! Below five labels a class all rows come from 1, then half of them from each. On seven sets of digits, clothes, texts, letters and
//! forests (5,000 rows, batches of 10) that beats the least margin by .04 after 50 and by .03 after 100 and 200 labels, and is better than
//! random rows by .06 to .08. The least margin alone is often worse than random rows while labels are few.
//!
//! **Classes nobody has named** lie far from all labels: *far* rows come one each from the cells of largest mean distance from labels (see
//! [`Suggester::distance_from_labels`]). The farthest single rows are often outliers.
//!
//! **A test** needs rows drawn at random: *check* rows are drawn before all others, from the rows that may be chosen.
//!
//! Sources: facility location in place of variance-based picks (Ji & Han 2012; Ma et al. 2013), local maxima in place of the top of a
//! list (Chapman et al. 2023). `docs/results/label-loop.md` has the comparison.
//!
//! Cost: O(m) and k³ for k ≤ 1,000 cells once; for each batch one solve of c columns to a residual of 1e-3, and k² for each pick.

mod pick;

use std::borrow::Cow;
use std::ops::Deref;

use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Error, Matrix, Report, Result, Run, Stream, Targets, choices, parameters, peak_memory_bytes};
use lapwing_graph::{Components, Graph};
use lapwing_solve::SolveInfo;
use rand::seq::index::sample;
use serde::Serialize;

use super::cover::Cover;
use crate::core::notes;
use crate::core::rule::typical_temperature;
use crate::core::smoother::leave_one_out::check_size;
use crate::core::smoother::{Smooth, Smoother, moderate};
use crate::{Labeling, Rule};
use pick::Picker;

choices! {
    /// How rows are chosen.
    pub enum Strategy("strategy", default Mix) {
        /// Cover below five labels per class; then half cover, half border.
        Mix = "mix",
        /// Rows that cover what the labels do not tell yet.
        Cover = "cover",
        /// Rows between classes; needs labels.
        Border = "border",
        /// The smallest lead of the first class over the second; needs labels. Often worse than random rows while labels are few.
        Margin = "margin",
        /// Uniformly at random.
        Random = "random",
    }

    /// Why a row is suggested.
    pub enum Reason("reason", default Cover) {
        /// It stands for many rows that labels tell little about.
        Cover = "cover",
        /// It lies between classes.
        Border = "border",
        /// It is far from all labels: perhaps a class that nobody has named.
        Far = "far",
        /// Drawn at random, as a test of the labels.
        Check = "check",
        /// Drawn at random by the strategy `random`.
        Random = "random",
        /// Drawn at random because the strategy found no more rows; no test, because it was not drawn from all.
        Fill = "fill",
    }
}

parameters! {
    /// How rows are suggested.
    pub struct SuggestParams {
        /// How rows are chosen.
        strategy: Strategy = Strategy::Mix;
        /// Share of the labeled and suggested rows, counted over all batches, that are drawn uniformly at random; they come last. Only
        /// such rows are a fair test of labels and of confidence.
        check: f64 = 0.0, in at_least(0.0).at_most(1.0);
        /// Share of the labeled and suggested rows, counted over all batches, that are far from all labels. From 0.1 to 0.3 finds classes that nobody has named.
        explore: f64 = 0.0, in at_least(0.0).at_most(1.0);
    }
}

impl SuggestParams {
    /// Checks every parameter against its range, and that check and explore leave room for each other.
    ///
    /// # Errors
    /// [`Error::Param`].
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if self.check + self.explore > 1.0 {
            let value = format!("{}, with check {}", self.explore, self.check);
            return Err(Error::param("explore", value, "shares that add up to at most 1"));
        }
        Ok(())
    }
}

/// What is wanted of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Number of rows, at least 1.
    pub n: usize,
    /// Rows that may be chosen, distinct; all without a label if `None`.
    pub candidates: Option<&'a [u32]>,
    /// Rows that may not be chosen.
    pub exclude: &'a [u32],
    /// Cost of labeling each row (n), above 0; gains are divided by it.
    pub cost: Option<&'a [f64]>,
}

/// A row to label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggestion {
    /// The row.
    pub row: u32,
    /// Why.
    pub reason: Reason,
    /// How much it is wanted, by its reason: the share of all mass that it covers, the smoothed border measure in [0, 1], or the
    /// mean distance of its cell from labels over that of all rows. NaN for rows drawn at random.
    pub score: f64,
    /// The class it has so far, with its share; `None` if no label reaches it.
    pub guess: Option<(u32, f64)>,
}

/// Rows to label, the most useful ones first.
#[derive(Clone, Debug)]
pub struct Suggestions {
    /// The rows.
    pub rows: Vec<Suggestion>,
    /// How they were chosen, in numbers.
    pub summary: SuggestSummary,
    /// What was done, with the summary as its part `suggest`.
    pub report: Report,
}

/// How rows were suggested.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SuggestSummary {
    /// How they were chosen, by its name.
    pub strategy: &'static str,
    /// Why another strategy was taken than asked for.
    pub reason: Option<&'static str>,
    /// Rows that are suggested.
    pub n_suggested: usize,
    /// Rows that were left to choose from.
    pub n_free: usize,
    /// Rows with a label.
    pub n_labeled: usize,
    /// Classes that have a label.
    pub n_classes: usize,
    /// Share of the rows that no label reaches.
    pub share_unreached: f64,
    /// Share of the rows that no label reaches once the suggested rows have labels.
    pub share_unreached_after: f64,
}

/// Suggests rows of one graph, batch after batch. It keeps the cells of the graph and the last solution.
///
/// `G` is a reference to the graph, or what owns it.
#[derive(Debug)]
pub struct Suggester<G> {
    graph: Moderate<G>,
    components: Components,
    cover: Cover,
    /// Raw columns of the last solve.
    raw: Option<Matrix>,
}

/// Relative residual of the solves: enough for the largest score in all but 3 of 10,000 rows.
const TOL: f64 = 1e-3;
/// Labels a class below which rows are chosen without labels, and below which no row is chosen by the border.
const LEAST_TO_USE: usize = 2;
const LEAST_FOR_BORDER: usize = 5;

/// A graph, or a copy of it with moderate weights if its own are extreme.
#[derive(Debug)]
enum Moderate<G> {
    Given(G),
    Scaled(Graph),
}

impl<G: Deref<Target = Graph>> Moderate<G> {
    fn new(graph: G) -> Self {
        match moderate(&graph) {
            Cow::Owned(scaled) => Self::Scaled(scaled),
            Cow::Borrowed(_) => Self::Given(graph),
        }
    }
}

impl<G: Deref<Target = Graph>> Deref for Moderate<G> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        match self {
            Self::Given(graph) => graph,
            Self::Scaled(graph) => graph,
        }
    }
}

impl<G: Deref<Target = Graph>> Suggester<G> {
    /// Prepares the cells of a graph.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn new(graph: G, run: &Run) -> Result<Self> {
        let graph = Moderate::new(graph);
        let components = graph.components();
        let cover = Cover::new(&graph, &components, run)?;
        Ok(Self { graph, components, cover, raw: None })
    }

    /// How far each row is from all labels (n), infinite where none reaches: x of (L + τI + hC)·x = 1, with C = 1 on labeled rows.
    ///
    /// It is the mean time until a random walk meets a label, up to a factor. h is 10 and τ 0.003 mean degrees: τ keeps a few rows that hang on the
    /// graph by a thread from being farther than a large part without labels.
    ///
    /// # Errors
    /// [`Error::Shape`] for labels of another number of rows; [`Error::Interrupted`].
    pub fn distance_from_labels(&self, targets: &Targets, run: &Run) -> Result<Vec<f64>> {
        check_size(&self.graph, targets)?;
        self.smoother(targets, run)?.distance_from_labels(run)
    }

    /// The system of some labels. The smoothness is the number of classes seen; only ratios of weights count.
    fn smoother<'a>(&'a self, targets: &'a Targets, run: &Run) -> Result<Smoother<'a>> {
        let weight = targets.weights().iter().sum::<f64>() / targets.weights().len() as f64;
        Smoother::new(&self.graph, &self.components, targets, n_classes(targets) as f64 * weight, TOL, run)
    }

    /// Forgets the last solution, so that the next batch is that of a new `Suggester`, bit for bit.
    pub fn restart(&mut self) {
        self.raw = None;
    }

    /// The next rows to label, given the labels so far.
    ///
    /// # Errors
    /// [`Error::Param`] for a number of rows below 1 or above the number of free rows, a candidate that is no row, or a strategy that needs
    /// labels; [`Error::Value`] for a cost that is not above 0; [`Error::Shape`] for labels or costs of another number of rows;
    /// [`Error::Interrupted`].
    pub fn next(
        &mut self,
        targets: Option<&Targets>,
        wanted: &Wanted<'_>,
        params: &SuggestParams,
        run: &Run,
    ) -> Result<Suggestions> {
        params.validate()?;
        let n = self.graph.n_samples();
        targets.map_or(Ok(()), |targets| check_size(&self.graph, targets))?;
        let labeled = targets.map_or(&[][..], Targets::rows);
        let free = free_rows(n, labeled, wanted)?;
        let mut report = Report::new("suggest", n, None, labeled.len());
        let plan = plan(params.strategy, targets)?;
        let solved = match targets.filter(|_| plan.needs_scores || params.explore > 0.0) {
            Some(targets) => {
                let (solved, info) = report.time("solve", run, |_| self.solve(targets, params.explore > 0.0, run))?;
                notes::solved(&mut report, info.summary(), TOL, notes::RAISE_LIMITS);
                Some(solved)
            }
            None => None,
        };
        // Over all batches a share is right within one row, also if rows are suggested one at a time.
        let up_to = |share: f64, rows: usize| (share * rows as f64 + 1e-9).floor() as usize;
        let due = |share: f64| up_to(share, labeled.len() + wanted.n) - up_to(share, labeled.len());
        let n_check = due(params.check);
        let check = drawn(&free, n_check, 2 * labeled.len() as u64, run);
        let rows = report.time("pick", run, |_| {
            let mut picker =
                Picker::new((&self.graph, &self.cover), solved.as_ref(), plan.is_cold, labeled, free, wanted.cost, run);
            check.iter().for_each(|&row| picker.take(row));
            let n_left = wanted.n - check.len();
            let n_far = due(params.explore).min(n_left);
            picker.far(n_far)?;
            picker.pick(plan.strategy, n_left - picker.picked.len())?;
            check.iter().for_each(|&row| picker.add(row, Reason::Check, f64::NAN));
            picker.finish()
        })?;
        let summary = self.summary(&plan, targets, wanted, params, &rows)?;
        report.add_part("suggest", &summary)?;
        report.n_classes = targets.map(Targets::n_columns);
        report.choose("strategy", plan.strategy.name());
        report.peak_bytes = peak_memory_bytes();
        Ok(Suggestions { rows, summary, report })
    }

    /// Class shares and, for rows far from labels, the distance from them.
    fn solve(&mut self, targets: &Targets, explores: bool, run: &Run) -> Result<(Solved, SolveInfo)> {
        let smoother = self.smoother(targets, run)?;
        let share = if explores { 0.5 } else { 1.0 };
        let Smooth { scores, raw, info, .. } = smoother.solve(self.raw.as_ref(), &run.part(0.0..share, ""))?;
        let distance =
            if explores { smoother.distance_from_labels(&run.part(share..1.0, "distances"))? } else { Vec::new() };
        self.raw = Some(raw);
        let mut rule = Rule::largest(targets.mean());
        let labeling = run.install(|| {
            rule.temperature = Some(typical_temperature(&rule, &scores));
            rule.decide(scores.into())
        });
        Ok((Solved { labeling, distance }, info))
    }

    fn summary(
        &self,
        plan: &Planned,
        targets: Option<&Targets>,
        wanted: &Wanted<'_>,
        params: &SuggestParams,
        rows: &[Suggestion],
    ) -> Result<SuggestSummary> {
        let labeled = targets.map_or(&[][..], Targets::rows);
        let n = self.graph.n_samples();
        let unreached = |rows: &[u32]| {
            let holds = self.components.holding(rows);
            let open = self.components.sizes.iter().zip(holds).filter(|(_, holds)| !holds);
            open.map(|(size, _)| size).sum::<usize>() as f64 / n.max(1) as f64
        };
        let after: Vec<u32> = labeled.iter().copied().chain(rows.iter().map(|row| row.row)).collect();
        Ok(SuggestSummary {
            strategy: plan.strategy.name(),
            reason: match (plan.reason, targets) {
                (_, None) if params.explore > 0.0 => Some("no labels yet, so that no row is far from them"),
                (reason, _) => reason,
            },
            n_suggested: rows.len(),
            n_free: free_rows(n, labeled, wanted)?.iter().filter(|free| **free).count(),
            n_labeled: labeled.len(),
            n_classes: targets.map_or(0, n_classes),
            share_unreached: unreached(labeled),
            share_unreached_after: unreached(&after),
        })
    }
}

/// Shares of the classes and distances from labels (n), empty unless rows far from labels are wanted.
struct Solved {
    labeling: Labeling,
    distance: Vec<f64>,
}

/// The strategy that labels so far allow.
struct Planned {
    strategy: Strategy,
    reason: Option<&'static str>,
    needs_scores: bool,
    /// Whether rows are chosen without regard to labels.
    is_cold: bool,
}

fn n_classes(targets: &Targets) -> usize {
    targets.mean().iter().filter(|mean| **mean > 0.0).count()
}

fn plan(strategy: Strategy, targets: Option<&Targets>) -> Result<Planned> {
    let needs_labels = matches!(strategy, Strategy::Border | Strategy::Margin);
    let of = |strategy, reason: Option<&'static str>| {
        let needs_scores = reason.is_none() && strategy != Strategy::Random;
        Ok(Planned { strategy, reason, needs_scores, is_cold: reason.is_some() })
    };
    let Some(targets) = targets else {
        return match strategy {
            _ if needs_labels => {
                Err(Error::param("strategy", strategy.name(), "cover, which needs no labels; there are none yet"))
            }
            Strategy::Mix => of(Strategy::Cover, Some("no labels yet")),
            Strategy::Cover => of(strategy, Some("no labels yet")),
            _ => of(strategy, None),
        };
    };
    let (l, c) = (targets.rows().len(), n_classes(targets));
    match strategy {
        Strategy::Random => of(strategy, None),
        _ if c < 2 => of(Strategy::Cover, Some("labels of one class only")),
        Strategy::Mix | Strategy::Cover if l < LEAST_TO_USE * c => {
            of(Strategy::Cover, Some("fewer than 2 labels per class"))
        }
        Strategy::Mix if l < LEAST_FOR_BORDER * c => {
            let reason = Some("fewer than 5 labels per class");
            Ok(Planned { strategy: Strategy::Cover, reason, needs_scores: true, is_cold: false })
        }
        _ => of(strategy, None),
    }
}

/// Which rows may be chosen (n); an error if they are fewer than wanted.
fn free_rows(n: usize, labeled: &[u32], wanted: &Wanted<'_>) -> Result<Vec<bool>> {
    let mut free = vec![wanted.candidates.is_none(); n];
    let known = |what: &str, row: u32| match (row as usize) < n {
        true => Ok(row as usize),
        false => Err(Error::param(what, row, format!("rows from 0 to {}", n.saturating_sub(1)))),
    };
    for &row in wanted.candidates.unwrap_or_default() {
        free[known("candidates", row)?] = true;
    }
    for &row in wanted.exclude {
        free[known("exclude", row)?] = false;
    }
    labeled.iter().for_each(|&row| free[row as usize] = false);
    if let Some(cost) = wanted.cost {
        if cost.len() != n {
            return Err(Error::shape("cost", format!("{n} values, one per row"), format!("{} values", cost.len())));
        }
        if let Some(row) = cost.iter().position(|cost| !(*cost > 0.0 && cost.is_finite())) {
            let (value, advice) = (cost[row].to_string(), "costs are finite and above 0".into());
            return Err(Error::Value { what: "cost".into(), row, col: None, value, advice });
        }
    }
    let n_free = free.iter().filter(|free| **free).count();
    match (wanted.n, n_free) {
        (0, _) => Err(Error::param("n", 0, "at least 1")),
        (n, 0) => Err(Error::param(
            "n",
            n,
            "rows to choose from, but every row that may be chosen has a label or is excluded",
        )),
        (n, free) if n > free => {
            Err(Error::param("n", n, format!("at most {free}, the number of rows without a label that may be chosen")))
        }
        _ => Ok(free),
    }
}

/// Free rows drawn uniformly at random, in the order in which they were drawn; `block` differs between draws that are to be independent.
fn drawn(free: &[bool], count: usize, block: u64, run: &Run) -> Vec<u32> {
    let rows = crate::core::parts::kept_rows(free);
    let count = count.min(rows.len());
    sample(&mut run.rng(Stream::Suggested, block), rows.len(), count).into_iter().map(|at| rows[at]).collect()
}

#[cfg(test)]
mod tests;
