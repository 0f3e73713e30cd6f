//! Harmonic functions over a stream of edges: edges come and leave by a window, and labels are there at any time.
//!
//! The labels of a fit are kept with their residual r = b − A·g, where A = L + C/γ as in [`super::system`]. An edge that comes or leaves
//! changes r at its two ends only. An answer then relaxes nodes until none has |rᵢ|/Aᵢᵢ above a share `settle` of the spread of the scores:
//! gᵢ ← gᵢ + rᵢ/Aᵢᵢ makes a node the mean of its neighbors and moves its residual to them (Gauss–Seidel, in the order in which nodes
//! became unsettled). Relaxing moves what is near the new edges, not what changed slowly everywhere: after as many new edges as the last
//! fit had, an answer is a fit of its own, which chooses γ, level and temperature anew and starts at the scores so far.
//!
//! Sparse-HFS (Calandriello, Lazaric, Valko & Koutis 2015, section 6) leaves removals open.
//!
//! Cost: O(c) for each edge; an answer takes O(c·d) for each relaxed node of d edges, and O(n·c) to decide. Memory: that of the window and
//! 16·n·c bytes. Work is sequential but for fits and decisions: any number of threads gives the same bits.

use std::collections::VecDeque;
use std::sync::Arc;

use lapwing_core::params::{Parameters, above, at_least};
use lapwing_core::{Edge, Error, Matrix, Report, Result, Run, Targets, parameters};
use lapwing_graph::{AffinityGraph, WindowGraph};

use super::function::is_last_implied;
use super::params::{Certify, Clamp, Form};
use super::{Harmonic, leave_one_out};
use crate::core::fitting::Fitting;
use crate::{Labeling, Method, Problem, Rule};

parameters! {
    /// Parameters of harmonic propagation over a stream of edges, besides those of the function.
    pub struct StreamParams {
        /// Edges of the window: when one more comes, the oldest leaves.
        window: usize = 1_000_000, in at_least(1.0);
        /// How far the score of a row may be from the mean of its neighbors, as a share of the spread of the scores, for an answer
        /// between two fits.
        settle: f64 = 0.02, in above(0.0).below(1.0);
    }
}

/// Relaxed nodes between two checks for cancellation.
const CHECK_EVERY: usize = 1 << 12;
/// Least positive weight of an edge.
const LEAST_WEIGHT: f64 = 1e-100;
/// Least weight that remains at a node when an edge of weight 1 leaves, for its sum to have four digits still.
const LEAST_REST: f64 = 1e-12;
/// Edges that are passed by relaxing before a fit is cheaper, as a multiple of those held: a fit takes tens of iterations.
const MOST_PASSES: usize = 20;

/// A harmonic classifier over a stream of edges.
#[derive(Debug)]
pub struct HarmonicStream {
    harmonic: Harmonic,
    params: StreamParams,
    targets: Targets,
    window: WindowGraph,
    n_seen: u64,
    kept: Option<Kept>,
}

/// Labels of all rows at some moment of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamAnswer {
    /// Labels, distributions and confidence.
    pub labeling: Labeling,
    /// Whether they are of a fit, rather than of relaxed scores.
    pub is_fit: bool,
    /// Nodes that were relaxed, counted each time.
    pub n_relaxed: u64,
    /// |r| / |b| of the scores, 2-norms over all rows and classes.
    pub residual: f64,
    /// The report of the last fit.
    pub report: Report,
}

/// A solution that follows the edges.
#[derive(Debug)]
struct Kept {
    /// g (n, s) and its residual (n, s), of the classes that are solved for.
    g: Matrix,
    residual: Matrix,
    /// C/γ and the diagonal of A (n).
    pulls: Vec<f64>,
    diagonal: Vec<f64>,
    /// Nodes to look at, each once.
    queue: VecDeque<u32>,
    is_queued: Vec<bool>,
    /// |rᵢ|/Aᵢᵢ up to which a node is settled.
    fine: f64,
    /// |b|.
    size: f64,
    mean: Vec<f64>,
    is_centered: bool,
    rule: Rule,
    report: Report,
    /// Whether an edge left that was so heavy that sums at its ends have lost what remains.
    is_lost: bool,
    /// Edges of the fit, and those that came since.
    n_fitted: usize,
    n_since: usize,
}

impl HarmonicStream {
    /// A classifier of nodes, some of which `targets` labels, before the first edge.
    ///
    /// # Errors
    /// [`Error::Param`] for a parameter outside its range, or for a form that is not plain and soft; [`Error::Shape`] for targets without
    /// classes.
    pub fn new(mut harmonic: Harmonic, params: StreamParams, targets: Targets) -> Result<Self> {
        params.check_ranges()?;
        harmonic.params.certify = Certify::Off;
        let own = &harmonic.params;
        if own.graph_reg == Some(f64::INFINITY) {
            return Err(Error::param("graph_reg", "inf", "a number or auto, for a stream of edges"));
        }
        if own.resolved_form() != Form::Plain || own.clamp == Clamp::Hard {
            return Err(Error::param("form", own.form.name(), "auto or plain, with clamp soft, for a stream of edges"));
        }
        if targets.n_columns() < 2 {
            return Err(Error::shape("the labels", "two classes or more", targets.n_columns()));
        }
        let window = WindowGraph::new(targets.n_samples(), params.window)?;
        Ok(Self { harmonic, params, targets, window, n_seen: 0, kept: None })
    }

    /// Edges given so far.
    pub fn n_seen(&self) -> u64 {
        self.n_seen
    }

    /// The window.
    pub fn window(&self) -> &WindowGraph {
        &self.window
    }

    /// Takes other labels of the same nodes. The next answer is a fit.
    ///
    /// # Errors
    /// [`Error::Shape`] for targets of other nodes or without classes.
    pub fn set_targets(&mut self, targets: Targets) -> Result<()> {
        if targets.n_samples() != self.window.n_nodes() || targets.n_columns() < 2 {
            let expected = format!("{} rows and two classes or more", self.window.n_nodes());
            let got = format!("{} rows and {} classes", targets.n_samples(), targets.n_columns());
            return Err(Error::shape("the labels", expected, got));
        }
        self.targets = targets;
        self.kept = None;
        Ok(())
    }

    /// Adds edges; the oldest leave the window for them. All are checked before the first is added.
    ///
    /// # Errors
    /// [`Error::Graph`] naming the row, counted from the first edge of the stream, of an end out of range or of a weight that is negative,
    /// not finite, or so near the limits of double precision that sums and quotients may not be.
    pub fn add(&mut self, edges: &[Edge]) -> Result<()> {
        for (row, edge) in edges.iter().enumerate() {
            edge.check(self.window.n_nodes(), self.n_seen + row as u64)?;
            if edge.weight > 0.0 && !(LEAST_WEIGHT..=1.0 / LEAST_WEIGHT).contains(&edge.weight) {
                let weight = edge.weight;
                let reason =
                    format!("weight {weight}; scale all weights into {LEAST_WEIGHT:e} to {:e}", 1.0 / LEAST_WEIGHT);
                return Err(Error::graph(format!("row {} of the edges: {reason}", self.n_seen + row as u64)));
            }
        }
        for edge in edges {
            let left = self.window.push(*edge);
            if let Some(kept) = &mut self.kept {
                left.iter().for_each(|edge| kept.remove(edge, &self.window));
                kept.change(edge, 1.0);
                kept.n_since += 1;
            }
        }
        self.n_seen += edges.len() as u64;
        Ok(())
    }

    /// Labels of all nodes for the edges of the window.
    ///
    /// # Errors
    /// Errors of a fit; [`Error::Interrupted`](lapwing_core::Error::Interrupted), after which the next answer goes on.
    pub fn answer(&mut self, run: &Run) -> Result<StreamAnswer> {
        let mut n_relaxed = 0;
        if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_lost && kept.n_since < kept.n_fitted.max(1)) {
            let is_settled = kept.relax(&self.window, MOST_PASSES, &mut n_relaxed, run)?;
            if is_settled {
                return kept.answer(&self.window, &self.targets, n_relaxed, run);
            }
        }
        self.fit(n_relaxed, run)
    }

    fn fit(&mut self, n_relaxed: u64, run: &Run) -> Result<StreamAnswer> {
        let affinity = AffinityGraph::given(self.window.graph(run)?);
        let start = self.kept.as_ref().map(|kept| kept.scores(&vec![0.0; kept.mean.len()]));
        let problem = Problem { graph: Some(&affinity), start: start.as_ref(), ..Problem::new(&self.targets) };
        let mut fitting = Fitting::new(self.harmonic.name(), &problem, run)?;
        let solved = self.harmonic.solved(&mut fitting)?;
        let (is_centered, graph_reg) = (solved.is_centered, solved.function.graph_reg);
        let (mean, scores) = (solved.function.mean.clone(), solved.function.scores.clone());
        let fitted = self.harmonic.decided(fitting, solved)?;
        let system = Fit { scores: &scores, mean, is_centered, graph_reg, rule: fitted.rule, report: fitted.report };
        let kept = self.kept.insert(Kept::new(system, &affinity, &self.targets, self.params.settle));
        kept.n_fitted = self.window.n_edges();
        let (residual, report) = (kept.relative(), kept.report.clone());
        Ok(StreamAnswer { labeling: fitted.labeling, is_fit: true, n_relaxed, residual, report })
    }
}

/// What a fit leaves to be kept.
struct Fit<'f> {
    /// (n, c), NaN in rows that no label reaches.
    scores: &'f Matrix,
    mean: Vec<f64>,
    is_centered: bool,
    graph_reg: f64,
    rule: Rule,
    report: Report,
}

impl Kept {
    /// The system on a graph at the scores of its fit.
    fn new(fit: Fit<'_>, affinity: &AffinityGraph, targets: &Targets, settle: f64) -> Self {
        let Fit { scores, mean, is_centered, graph_reg, rule, report } = fit;
        let (n, s) = (scores.n_rows(), targets.n_columns() - usize::from(is_last_implied(targets)));
        let total: f64 = targets.weights().iter().sum();
        let labels =
            || targets.rows().iter().zip(targets.weights()).map(|(&row, weight)| (row as usize, weight / total));
        // Exact solutions have cᵀg = 0, which determines the constant that centering took away.
        let mut constant = vec![0.0; s];
        for (row, weight) in labels() {
            constant.iter_mut().zip(scores.row(row)).for_each(|(constant, score)| *constant += weight * score);
        }
        let mut g = Matrix::filled(n, s, 0.0);
        for row in 0..n {
            let own = scores.row(row).iter().zip(&constant).map(|(score, constant)| score - constant);
            g.row_mut(row).iter_mut().zip(own).for_each(|(g, value)| *g = if value.is_nan() { 0.0 } else { value });
        }
        let mut pulls = vec![0.0; n];
        let mut residual = Matrix::filled(n, s, 0.0);
        let mut size = 0.0;
        for (at, (row, weight)) in labels().enumerate() {
            pulls[row] = weight / graph_reg;
            let values = targets.values().row(at).iter().zip(&mean).map(|(y, mean)| weight * (y - mean) / graph_reg);
            for ((r, g), value) in residual.row_mut(row).iter_mut().zip(g.row(row)).zip(values) {
                size += value * value;
                *r = value - weight / graph_reg * g;
            }
        }
        for row in 0..n {
            let (others, weights) = affinity.graph.adjacency().row(row);
            for (&other, weight) in others.iter().zip(weights) {
                let pull = g.row(other as usize).iter().zip(g.row(row)).map(|(other, own)| weight * (other - own));
                residual.row_mut(row).iter_mut().zip(pull).for_each(|(r, pull)| *r += pull);
            }
        }
        let diagonal = affinity.graph.degree().iter().zip(&pulls).map(|(degree, pull)| degree + pull).collect();
        let fine = settle * spread(scores);
        let (queue, is_queued) = (VecDeque::new(), vec![false; n]);
        let size = size.sqrt();
        Self {
            g,
            residual,
            pulls,
            diagonal,
            queue,
            is_queued,
            fine,
            size,
            mean,
            is_centered,
            rule,
            report,
            is_lost: false,
            n_fitted: 0,
            n_since: 0,
        }
    }

    /// An edge comes (`sign` 1) or leaves (−1).
    fn change(&mut self, edge: &Edge, sign: f64) {
        let (u, v, weight) = (edge.u as usize, edge.v as usize, sign * edge.weight);
        if u == v || weight == 0.0 {
            return;
        }
        for column in 0..self.g.n_cols() {
            let pull = weight * (self.g.row(v)[column] - self.g.row(u)[column]);
            self.residual.row_mut(u)[column] += pull;
            self.residual.row_mut(v)[column] -= pull;
        }
        for node in [u, v] {
            self.diagonal[node] += weight;
            self.enqueue(node);
        }
    }

    /// An edge leaves the window.
    fn remove(&mut self, edge: &Edge, window: &WindowGraph) {
        self.change(edge, -1.0);
        let is_lost = |node: u32| {
            let has_more = || window.neighbors(node as usize).next().is_some();
            self.diagonal[node as usize] < LEAST_REST * edge.weight && has_more()
        };
        self.is_lost |= edge.u != edge.v && [edge.u, edge.v].into_iter().any(is_lost);
    }

    fn enqueue(&mut self, node: usize) {
        if !self.is_queued[node] {
            self.is_queued[node] = true;
            self.queue.push_back(node as u32);
        }
    }

    /// Relaxes until every node is settled, or edges have been passed `passes` times the number of the window; returns which.
    fn relax(&mut self, window: &WindowGraph, passes: usize, n_relaxed: &mut u64, run: &Run) -> Result<bool> {
        let mut left = (2 * passes * window.n_edges()) as u64;
        let mut step = vec![0.0; self.g.n_cols()];
        let mut n_looked = 0;
        while let Some(node) = self.queue.front().copied() {
            n_looked += 1;
            if n_looked % CHECK_EVERY == 0 {
                run.check()?;
            }
            self.queue.pop_front();
            let node = node as usize;
            self.is_queued[node] = false;
            if self.pulls[node] == 0.0 && window.neighbors(node).next().is_none() {
                // Its last edge left. What is left of the sums is rounding.
                self.diagonal[node] = 0.0;
                self.residual.row_mut(node).fill(0.0);
                self.g.row_mut(node).fill(0.0);
                continue;
            }
            let inverse = self.diagonal[node].recip();
            let most = self.residual.row(node).iter().fold(0.0f64, |most, r| most.max(r.abs()));
            if most * inverse <= self.fine {
                continue;
            }
            step.iter_mut().zip(self.residual.row(node)).for_each(|(step, r)| *step = r * inverse);
            self.g.row_mut(node).iter_mut().zip(&step).for_each(|(g, step)| *g += step);
            self.residual.row_mut(node).fill(0.0);
            *n_relaxed += 1;
            for (other, weight) in window.neighbors(node) {
                left = left.saturating_sub(1);
                let row = self.residual.row_mut(other as usize);
                row.iter_mut().zip(&step).for_each(|(r, step)| *r += weight * step);
                self.enqueue(other as usize);
            }
            if left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Scores of all classes (n, c): g, and a level (c).
    fn scores(&self, level: &[f64]) -> Matrix {
        let (n, c, s) = (self.g.n_rows(), level.len(), self.g.n_cols());
        let mut scores = Matrix::filled(n, c, 0.0);
        for row in 0..n {
            let out = scores.row_mut(row);
            out[..s].copy_from_slice(self.g.row(row));
            if s < c {
                out[s] = -self.g.row(row).iter().sum::<f64>();
            }
            out.iter_mut().zip(level).for_each(|(score, level)| *score += level);
        }
        scores
    }

    /// |r| / |b|.
    fn relative(&self) -> f64 {
        let norm = self.residual.values().iter().map(|r| r * r).sum::<f64>().sqrt();
        if self.size > 0.0 { norm / self.size } else { norm }
    }

    /// The labels of the scores as they are.
    fn answer(&self, window: &WindowGraph, targets: &Targets, n_relaxed: u64, run: &Run) -> Result<StreamAnswer> {
        let components = window.components();
        let holds = components.holding(targets.rows());
        let mut scores = self.scores(&self.mean);
        for (row, _) in components.id.iter().enumerate().filter(|(_, id)| !holds[**id as usize]) {
            scores.row_mut(row).fill(f64::NAN);
        }
        if self.is_centered {
            leave_one_out::center(&mut scores);
        }
        let labeling = run.install(|| self.rule.apply(Arc::new(scores)))?;
        let (residual, report) = (self.relative(), self.report.clone());
        Ok(StreamAnswer { labeling, is_fit: false, n_relaxed, residual, report })
    }
}

/// Root mean square of the scores about their means over the rows that labels reach.
fn spread(scores: &Matrix) -> f64 {
    let mut centered = scores.clone();
    leave_one_out::center(&mut centered);
    let found = centered.values().iter().filter(|score| !score.is_nan());
    let (sum, count) = found.fold((0.0, 0usize), |(sum, count), score| (sum + score * score, count + 1));
    (sum / count.max(1) as f64).sqrt()
}
