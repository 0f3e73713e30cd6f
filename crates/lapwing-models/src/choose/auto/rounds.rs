//! Rounds in which candidates predict labels that are hidden from them.
//!
//! With many rows, the first round takes a sample of them, as successive halving does (Jamieson & Talwalkar 2016): candidates that
//! keep no weight there, and all but the better half, are not tried on all rows. The default stays. The last round takes all rows.
//!
//! With many classes ([`are_many_classes`]), candidates that would take far longer than the others are not tried, and only as many folds
//! are held out as hold [`ENOUGH_HELD`] labels. This depends on the numbers of labels and classes alone, so that it is repeatable.

use std::time::Instant;

use lapwing_core::{Error, Features, Matrix, Report, Result, Run, Stream, Targets, Warning};
use lapwing_graph::{AffinityGraph, GraphParams, affinity_graph};
use rand::seq::index::sample;
use serde::Serialize;
use serde_json::{Map, Value};

use super::candidates::{Candidate, are_many_classes};
use super::mixture::{Judged, Mixture};
use crate::choose::clock::Clock;
use crate::core::counts::{has_mean, label_classes, label_counts, n_present};
use crate::core::held_out::folds::{Dealing, FOLDS, NEVER, dealt, n_folds};
use crate::core::parts::rows_beside;
use crate::core::scores::rows_at;
use crate::methods::majority::MAJORITY;
use crate::{ExpectedAccuracy, Fitted, HeldOut, HeldOutFit, HeldOutSource, Problem};

/// Fewest labels per class, on average, to weigh candidates by.
pub(super) const LEAST_PER_CLASS: usize = 3;
/// Labels that are held out of many classes, at least, and the fewest folds: the weights of one fold are judged by another.
const ENOUGH_HELD: usize = 1000;
const FEWEST_FOLDS: usize = 2;
/// From this number of rows on, there is a round on a sample of [`SAMPLED`] of them.
const MANY: usize = 40_000;
const SAMPLED: usize = 10_000;
/// Mean degree of the neighbors in a joined graph, as a share of that of the given graph. On citations, a fourth was worth three points
/// of accuracy; an equal share was worth nothing.
const SHARE_OF_NEIGHBORS: f64 = 0.25;

/// The labels that are held out in turn.
pub(super) struct Hidden {
    /// Row of each label that is held out (q).
    pub rows: Vec<u32>,
    /// Its class (q).
    pub classes: Vec<usize>,
    /// Its fold (q).
    pub folds: Vec<usize>,
    /// Folds of all labels (l).
    all: Vec<usize>,
    /// Rows without a label.
    n_unlabeled: usize,
}

impl Hidden {
    /// The folds of all labels; `None` if there are too few to compare candidates.
    pub fn new(targets: &Targets, run: &Run) -> Option<Self> {
        let l = targets.rows().len();
        if !has_mean(targets, LEAST_PER_CLASS) || l <= FOLDS {
            return None;
        }
        let classes = label_classes(targets);
        let are_many = are_many_classes(n_present(&label_counts(targets)), l);
        let n_all = if are_many { FOLDS.max(FEWEST_FOLDS * l / ENOUGH_HELD) } else { FOLDS };
        let mut all = dealt(&classes, targets.n_columns(), n_all, Dealing::On, run);
        if are_many {
            let n_folds = (n_all * ENOUGH_HELD).div_ceil(l).clamp(FEWEST_FOLDS, n_all);
            all.iter_mut().filter(|fold| **fold >= n_folds).for_each(|fold| *fold = NEVER);
        }
        let held = places(&all);
        Some(Self {
            rows: held.iter().map(|&at| targets.rows()[at]).collect(),
            classes: held.iter().map(|&at| classes[at]).collect(),
            folds: held.iter().map(|&at| all[at]).collect(),
            all,
            n_unlabeled: targets.n_samples() - l,
        })
    }

    /// Shares (q, c) of the labels that are held out, among those of all labels (l, c).
    fn among(&self, shares: Matrix) -> Matrix {
        if self.rows.len() == shares.n_rows() { shares } else { rows_at(&shares, places(&self.all).into_iter()) }
    }

    /// Shares (q, c) of the labels that are held out, with their rows and classes.
    pub fn held_out(&self, shares: Matrix) -> HeldOut {
        HeldOut {
            rows: self.rows.clone(),
            classes: self.classes.iter().map(|&class| class as u32).collect(),
            values: None,
            shares,
            source: HeldOutSource::Folds(n_folds(&self.folds)),
        }
    }
}

/// The labels that are held out.
fn places(folds: &[usize]) -> Vec<usize> {
    (0..folds.len()).filter(|&at| folds[at] != NEVER).collect()
}

/// A candidate in the contest.
pub(super) struct Entry<'a> {
    pub candidate: Candidate,
    /// What the report says of it.
    pub row: Row,
    /// Held-out shares (l, c) of the last round, if it took part.
    shares: Option<Matrix>,
    /// The fit to all labels, if the last round needed it.
    pub fitted: Option<Fitted<'a>>,
    is_out: bool,
}

/// A candidate in the report.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    pub name: &'static str,
    /// The method; several candidates may be of one method.
    method: &'static str,
    /// Parameters that differ from the method's defaults.
    parameters: Map<String, Value>,
    /// Share of held-out labels that it gets right; `None` if it was not tried.
    estimate: Option<f64>,
    /// Ends of the 90 % interval of the estimate.
    interval: Option<(f64, f64)>,
    /// Mean log loss on held-out labels, after its temperature; `None` if it was not tried on all rows.
    pub log_loss: Option<f64>,
    /// Rows on which it was tried last: all, or a sample.
    n_rows: Option<usize>,
    /// Seconds of the trials and of the fit.
    seconds: f64,
    /// Weight in the labels.
    pub weight: f64,
    /// What kept it from running.
    failure: Option<String>,
}

/// The graphs of the candidates.
#[derive(Clone, Copy)]
pub(super) struct Graphs<'g> {
    /// None if it cannot be built.
    pub shared: Option<&'g AffinityGraph>,
    pub joined: Option<&'g Joined>,
}

/// A given graph, joined with that of the neighbors by features.
pub(super) struct Joined {
    sum: AffinityGraph,
    pub neighbors: AffinityGraph,
}

/// All candidates.
pub(super) struct Contest<'a> {
    pub entries: Vec<Entry<'a>>,
    /// What kept the first of those from running that cannot.
    error: Option<Error>,
}

impl Graphs<'_> {
    /// The problem of a candidate, on its graph.
    pub fn problem<'p, 'a>(&'p self, problem: &Problem<'p, 'a>, candidate: &Candidate) -> Problem<'p, 'a> {
        let joined = self.joined.filter(|_| candidate.is_joined()).map(|joined| &joined.sum);
        let prior = problem.prior.filter(|_| candidate.uses_prior());
        Problem { graph: joined.or(self.shared), prior, ..*problem }
    }
}

impl Joined {
    pub fn new(
        features: &Features<'_>,
        given: &AffinityGraph,
        params: &GraphParams,
        report: &mut Report,
        run: &Run,
    ) -> Result<Self> {
        let neighbors = report.time("neighbors", run, |_| affinity_graph(features, params, run))?;
        let (wanted, found) = (SHARE_OF_NEIGHBORS * given.graph.mean_degree(), neighbors.graph.mean_degree());
        let scale = if found > 0.0 && wanted > 0.0 { wanted / found } else { 1.0 };
        Ok(Self { sum: AffinityGraph::given(given.graph.plus(&neighbors.graph, scale)?), neighbors })
    }
}

/// Share of the time of a round on a sample for its graph.
const GRAPH: f64 = 0.2;

/// Whether rows are so many that a round on a sample comes first. A prior would have to be sampled too.
pub(super) fn are_many(problem: &Problem<'_, '_>) -> bool {
    problem.targets.n_samples() >= MANY && problem.prior.is_none()
}

impl<'a> Contest<'a> {
    pub fn new(candidates: Vec<Candidate>) -> Self {
        let row = |candidate: &Candidate| Row {
            name: candidate.name,
            method: candidate.method.name(),
            parameters: candidate.parameters.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
            ..Row::default()
        };
        let entry = |candidate| Entry { row: row(&candidate), candidate, shares: None, fitted: None, is_out: false };
        Self { entries: candidates.into_iter().map(entry).collect(), error: None }
    }

    /// Leaves out candidates that would take far longer than the others, with the reason.
    pub fn leave_out_slow(&mut self, problem: &Problem<'_, '_>) {
        let (targets, is_graph_given) = (problem.targets, problem.graph.is_some());
        let n_classes = n_present(&label_counts(targets));
        if are_many_classes(n_classes, targets.rows().len()) {
            let reason = format!(
                "{n_classes} classes would take too long; to try one nevertheless, take it as the method, or name it in `candidates`"
            );
            for entry in self.entries.iter_mut().filter(|entry| entry.candidate.is_slow(is_graph_given)) {
                (entry.is_out, entry.row.failure) = (true, Some(reason.clone()));
            }
        }
    }

    /// One round on these rows, which have the numbers `rows` among all, if they are some of them. Candidates for which no time is left
    /// drop out; the first that can run always takes part.
    pub fn round(
        &mut self,
        (problem, rows): (&Problem<'_, 'a>, Option<&[u32]>),
        graphs: Graphs<'_>,
        hidden: &Hidden,
        clock: Clock,
        run: &Run,
    ) -> Result<()> {
        let count = self.entries.len();
        for at in 0..count {
            run.check()?;
            let is_first = self.entries.iter().all(|entry| entry.shares.is_none());
            let entry = &mut self.entries[at];
            entry.is_out |= !is_first && !clock.allows(0.0);
            if entry.is_out {
                continue;
            }
            let name = entry.candidate.name;
            let part = run.part_of(at, count, &format!("candidate {} of {count}: {name}", at + 1));
            let begun = Instant::now();
            let own = graphs.problem(problem, &entry.candidate);
            let found = entry.candidate.check_room(&own, is_first, run);
            let found = found.and_then(|()| entry.candidate.method.held_out(&own, &hidden.all, &part));
            entry.row.seconds += begun.elapsed().as_secs_f64();
            match found {
                Ok(HeldOutFit { shares, fitted }) => {
                    let held_out = hidden.held_out(hidden.among(shares));
                    let expected = ExpectedAccuracy::new(&held_out, hidden.n_unlabeled);
                    entry.row.estimate = expected.map(|expected| expected.value);
                    entry.row.interval = expected.map(|expected| (expected.low, expected.high));
                    entry.row.n_rows = Some(problem.targets.n_samples());
                    (entry.shares, entry.fitted) = (Some(held_out.shares), fitted);
                }
                Err(error) => {
                    let place = |row: usize| rows.map_or(row, |rows| rows[row] as usize);
                    self.fail(error.at_rows("features", place), |other| other == at)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves out candidates that cannot run, with the reason; passes on what concerns all of them.
    pub fn fail(&mut self, error: Error, which: impl Fn(usize) -> bool) -> Result<()> {
        if !error.is_of_method() {
            return Err(error);
        }
        for (_, entry) in self.entries.iter_mut().enumerate().filter(|(at, _)| which(*at)) {
            (entry.row.failure, entry.shares, entry.fitted) = (Some(error.to_string()), None, None);
            entry.is_out = true;
        }
        self.error.get_or_insert(error);
        Ok(())
    }

    /// The candidates that took part in the last round, and their mixture, with the shares that mixtures without its fold give to each
    /// label. With too few labels (no `hidden` ones), the first that can run labels alone. If `is_single`, the best one does.
    ///
    /// # Errors
    /// What kept a candidate from running, if none is left that tells rows apart.
    pub fn mixture(
        &mut self,
        hidden: Option<&Hidden>,
        is_single: bool,
        run: &Run,
    ) -> Result<(Vec<usize>, Mixture, Option<Matrix>)> {
        let is_usable = |entry: &Entry<'_>| if hidden.is_some() { entry.shares.is_some() } else { !entry.is_out };
        let usable: Vec<usize> = (0..self.entries.len()).filter(|&at| is_usable(&self.entries[at])).collect();
        let first = usable.iter().copied().find(|&at| self.entries[at].candidate.name != MAJORITY);
        if first.is_none()
            && let Some(error) = self.error.take()
        {
            return Err(error);
        }
        let Some(hidden) = hidden else { return Ok((vec![first.unwrap_or(0)], Mixture::alone(), None)) };
        let shares = usable.iter().filter_map(|&at| self.entries[at].shares.as_ref()).collect();
        let judged = Judged::new(shares, &hidden.classes, &hidden.folds, is_single);
        let (mixture, nested) = run.install(|| Mixture::new(&judged, run))?;
        Ok((usable, mixture, Some(nested)))
    }

    /// Fits candidates to all labels; `false` if one of them cannot be fitted. It is then out.
    pub fn fit(
        &mut self,
        which: &[usize],
        problem: &Problem<'_, 'a>,
        graphs: Graphs<'_>,
        report: &mut Report,
        run: &Run,
    ) -> Result<bool> {
        for &at in which {
            let is_first = self.entries[..at].iter().all(|entry| entry.is_out);
            let entry = &mut self.entries[at];
            if entry.fitted.is_some() {
                continue;
            }
            let (begun, candidate) = (Instant::now(), &entry.candidate);
            let own = graphs.problem(problem, candidate);
            let fitted = candidate.check_room(&own, is_first, run).and_then(|()| {
                report.time(candidate.name, run, |_| candidate.method.fit(&own, &run.part(0.0..1.0, "")))
            });
            entry.row.seconds += begun.elapsed().as_secs_f64();
            match fitted {
                Ok(fitted) => entry.fitted = Some(fitted),
                Err(error) => return self.fail(error, |other| other == at).map(|()| false),
            }
        }
        Ok(true)
    }

    /// Adds to the report which candidates cannot run, and why.
    pub fn note_failures(&self, report: &mut Report) {
        let failure = |entry: &'_ Entry<'_>| entry.row.failure.clone();
        let mut reasons: Vec<String> = self.entries.iter().filter_map(failure).collect();
        reasons.dedup();
        for reason in reasons {
            let failed = self.entries.iter().filter(|entry| entry.row.failure.as_ref() == Some(&reason));
            let methods = failed.map(|entry| entry.candidate.name).collect::<Vec<_>>().join(", ");
            let warning = Warning::CannotRun { methods, reason };
            if !report.warnings.contains(&warning) {
                report.warnings.push(warning);
            }
        }
    }

    /// A round on a sample of many rows: only candidates with weight there stay, at most half of all.
    pub fn halve(
        &mut self,
        problem: &Problem<'_, '_>,
        features: &Features<'_>,
        params: &GraphParams,
        clock: Clock,
        run: &Run,
    ) -> Result<()> {
        let (rows, features, targets) = sampled(features, problem.targets, run)?;
        let Some(hidden) = Hidden::new(&targets, run) else { return Ok(()) };
        let affinity = match affinity_graph(&features, params, &run.part(0.0..GRAPH, "")) {
            // The candidates then meet on all rows at once.
            Err(error) if error.is_of_method() => return Ok(()),
            other => other?,
        };
        let own = Problem { features: Some(&features), ..Problem::new(&targets) };
        let entries = std::mem::take(&mut self.entries);
        let mut small = Contest { entries: entries.into_iter().map(Entry::moved).collect(), error: self.error.take() };
        let graphs = Graphs { shared: Some(&affinity), joined: None };
        small.round((&own, Some(&rows)), graphs, &hidden, clock, &run.part(GRAPH..1.0, ""))?;
        let (took_part, mixture, _) = small.mixture(Some(&hidden), false, run)?;
        let mut order: Vec<usize> = (0..took_part.len()).collect();
        order.sort_by(|a, b| mixture.weights[*b].total_cmp(&mixture.weights[*a]).then(a.cmp(b)));
        let most = small.entries.len().div_ceil(2);
        for place in order.into_iter().skip(most).chain((0..took_part.len()).filter(|&p| mixture.weights[p] == 0.0)) {
            small.entries[took_part[place]].is_out |= took_part[place] > 0;
        }
        self.entries = small.entries.into_iter().map(Entry::moved).collect();
        self.error = small.error;
        Ok(())
    }
}

impl<'a> Entry<'a> {
    /// The entry for a round on other rows.
    fn moved<'b>(self) -> Entry<'b> {
        let Self { candidate, row, is_out, .. } = self;
        Entry { candidate, row, shares: None, fitted: None, is_out }
    }
}

/// A sample of the rows, with at least half of it unlabeled if there are so many.
fn sampled(features: &Features<'_>, targets: &Targets, run: &Run) -> Result<(Vec<u32>, Features<'static>, Targets)> {
    let (n, l) = (targets.n_samples(), targets.rows().len());
    let mut rng = run.rng(Stream::Split, 1 << 41);
    let mut is_kept = vec![l <= SAMPLED / 2; l];
    if l > SAMPLED / 2 {
        sample(&mut rng, l, SAMPLED / 2).iter().for_each(|at| is_kept[at] = true);
    }
    let kept = targets.subset(|at| is_kept[at])?;
    let mut rows: Vec<u32> = kept.rows().to_vec();
    let unlabeled = rows_beside(n, targets.rows());
    let wanted = (SAMPLED - rows.len()).min(unlabeled.len());
    rows.extend(sample(&mut rng, unlabeled.len(), wanted).iter().map(|at| unlabeled[at]));
    rows.sort_unstable();
    let places = kept.rows().iter().map(|row| rows.partition_point(|other| other < row) as u32).collect();
    let (features, targets) = (features.select(&rows)?, kept.moved(rows.len(), places)?);
    Ok((rows, features, targets))
}
