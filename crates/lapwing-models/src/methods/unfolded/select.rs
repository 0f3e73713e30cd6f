//! Chooses λ by cross-validation.
//!
//! Labels are held out in five folds, each with its share of every class. Values of λ are compared by the training loss on the
//! held-out labels, which needs fewer labels than error rates do. λ = 10 stays unless another value is better by more than a
//! standard error of the difference: on citation and purchase graphs it is within 0.02 of the best accuracy, from 3 labels a
//! class to half of all rows.
//!
//! **Few labels or few columns.** For each λ the features are smoothed once, Q = H⁻¹X at the labeled nodes, by columns or by
//! nodes, whichever are fewer. Q does not depend on labels: all folds share it, and each fits a linear model to its rows of Q.
//!
//! **Otherwise** the weights are trained for each λ without the labels of a fold, by the fastest route and to low accuracy.
//!
//! With a hidden layer or reweighted edges, λ is the one chosen for the linear model on the original edges.
//!
//! Cost: for each λ min(k, l) columns of the graph and at most five linear models; or at most three trainings of low accuracy.

use std::time::Instant;

use lapwing_core::{Features, Matrix, Report, Result, Run, Targets};
use lapwing_graph::Graph;
use lapwing_solve::Propagator;

use super::map::OnGraph;
use super::params::{CANDIDATES, LayerOptimizer, LayerSolver, UnfoldedParams};
use super::routes::column_tol;
use super::smooth::{by_columns, by_nodes, constant, reduced, weighted};
use super::train::Training;
use crate::core::held_out::Standings;
use crate::core::held_out::choosing::{Trial, choose, note_values};
use crate::core::held_out::folds::{FOLDS, Fold, enough, of_values, stratified_of};
use crate::core::uncertainty::{FEWEST, HeldOutErrors};
use crate::maps::{
    Accuracy, Inputs, Loss, Map, NodeLoss, Preconditioner, State, Stored, StoredRows, StoredValues, Task, Trace, lbfgs,
    optimize::cg, precondition::spread,
};
use crate::{HeldOutSource, Rule};

/// Fewest labels of a class, or values of a regression, by which λ is chosen.
const FEWEST_LABELS: usize = 3;
const FEWEST_VALUES: usize = 5;
/// Most columns, or labeled nodes, for which features are smoothed once for all folds; nodes need an eigenproblem.
pub(super) const MOST_COLUMNS: usize = 1024;
pub(super) const MOST_NODES: usize = 512;
/// Suboptimality at which trial fits stop.
const TRIAL_TOL: f64 = 1e-3;
/// Standard errors by which a λ must be better than the default.
const ERRORS: f64 = 1.0;

/// The data by which λ is chosen.
pub(super) struct Question<'q, 'a> {
    pub params: &'q UnfoldedParams,
    pub features: &'q Features<'a>,
    /// Subtracted from dense features (d); empty for none.
    pub center: &'q [f64],
    pub graph: &'q Graph,
    pub targets: &'q Targets,
    pub is_regression: bool,
}

/// What was chosen.
pub(super) struct Selected {
    /// λ: given, chosen, or the default without labels enough to choose by.
    pub graph_reg: f64,
    /// Scores of held-out nodes at this λ, for classes; none if the network is another than the one tried.
    pub held_out: Option<Standings>,
    /// Errors of held-out values, for a regression; none likewise.
    pub errors: Option<HeldOutErrors>,
}

/// Chooses λ unless it is given.
pub(super) fn select(question: &Question<'_, '_>, report: &mut Report, run: &Run) -> Result<Selected> {
    let given = question.params.graph_reg;
    let candidates: Vec<f64> = given.map_or_else(|| CANDIDATES.to_vec(), |reg| vec![reg]);
    let default = candidates[0];
    // Held-out values make the intervals of a regression.
    let has_intervals = question.is_regression && question.is_linear() && question.targets.rows().len() >= FEWEST;
    let is_needed = given.is_none() || question.is_small() || has_intervals;
    let trials = match question.folds(run).filter(|_| is_needed) {
        Some(folds) => question.trials(&candidates, &enough(folds), run)?,
        None => Vec::new(),
    };
    let chosen = trials.get(choose(&trials, ERRORS));
    let graph_reg = chosen.map_or(default, |trial| trial.candidate);
    if given.is_none() {
        if !trials.is_empty() {
            note_values("graph_reg", &trials, report);
        }
        report.choose("graph_reg", graph_reg);
    }
    let mut selected = Selected { graph_reg, held_out: None, errors: None };
    // A hidden layer or reweighted edges make other scores than the linear model that is tried here.
    if let Some(scores) = chosen.filter(|_| question.is_linear()).map(|trial| &trial.found) {
        let targets = question.targets;
        if question.is_regression {
            selected.errors = Some(HeldOutErrors::of(targets, scores, HeldOutSource::Folds(FOLDS)));
        } else {
            // Classes without a label are excluded.
            selected.held_out = Some(Standings::folded(targets, scores).compared(&Rule::largest(targets.mean())));
        }
    }
    Ok(selected)
}

impl Question<'_, '_> {
    /// Whether the network is the linear model on the original edges that is tried here.
    fn is_linear(&self) -> bool {
        self.params.hidden.is_none() && self.params.attention.is_none()
    }

    /// Whether the folds of one λ cost little: features are smoothed once for all of them.
    fn is_small(&self) -> bool {
        !self.is_regression
            && self.is_linear()
            && self.features.n_cols() <= MOST_COLUMNS
            && self.targets.rows().len() <= MOST_NODES
    }

    /// The linear model on the original edges, by the fastest route and to low accuracy.
    fn linear(&self) -> UnfoldedParams {
        UnfoldedParams {
            hidden: None,
            solver: LayerSolver::Auto,
            optimizer: LayerOptimizer::Auto,
            tol: self.params.tol.max(TRIAL_TOL),
            ..self.params.clone()
        }
    }

    /// Fold of each labeled node (l); none if there are too few labels.
    pub fn folds(&self, run: &Run) -> Option<Vec<usize>> {
        let l = self.targets.rows().len();
        match self.is_regression {
            true => (l >= FEWEST_VALUES).then(|| of_values(l, run)),
            false => stratified_of(FEWEST_LABELS, self.targets, run),
        }
    }

    /// Each λ whose smoothing reaches its tolerance, with losses and scores of the nodes that are held out.
    fn trials(&self, candidates: &[f64], folds: &[usize], run: &Run) -> Result<Vec<Trial<f64, Matrix>>> {
        let params = self.linear();
        let inputs = Inputs::centered(self.features, params.bias, self.center)?;
        let trying = Trying { inputs: &inputs, graph: self.graph, targets: self.targets, folds };
        let mut trials = Vec::new();
        for (at, &reg) in candidates.iter().enumerate() {
            run.check()?;
            let part = run.part_of(at, candidates.len(), &format!("graph_reg {reg}"));
            let found = trying.outcome(&params.with_graph_reg(reg), &part)?;
            trials.extend(found.map(|(losses, found)| Trial { candidate: reg, losses, found }));
        }
        Ok(trials)
    }
}

/// The data on which every λ is tried.
struct Trying<'t, 'a> {
    inputs: &'t Inputs<'t, 'a>,
    graph: &'t Graph,
    targets: &'t Targets,
    /// Fold of each labeled node (l).
    folds: &'t [usize],
}

impl Trying<'_, '_> {
    /// Losses of labeled nodes while they are held out, fold by fold, and their scores (l, c); none if smoothing with this λ stops short
    /// of its tolerance.
    fn outcome(&self, params: &UnfoldedParams, run: &Run) -> Result<Option<(Vec<f64>, Matrix)>> {
        let propagator = Propagator::new(self.graph, params.propagation(), run)?;
        let is_shared = self.targets.rows().len() <= MOST_NODES || self.inputs.width() <= MOST_COLUMNS;
        let shared = if is_shared { Some(self.shared(params, &propagator, run)?) } else { None };
        if propagator.shortfall().is_some() {
            return Ok(None);
        }
        let mut losses = Vec::new();
        let mut all = Matrix::filled(self.folds.len(), self.targets.n_columns(), f64::NAN);
        for fold in Fold::all(self.folds) {
            let (kept, held) = (fold.kept(self.targets)?, fold.own(self.targets)?);
            let scores = match &shared {
                // The smoothed features of all labeled nodes are zero.
                Some((rows, _)) if rows.width == 0 => Matrix::filled(held.rows().len(), held.n_columns(), 0.0),
                Some((rows, ridge)) => {
                    let (own, others) = (rows.subset(|at| !fold.is_kept(at)), rows.subset(|at| fold.is_kept(at)));
                    let weights = fitted(&others, &kept, params, *ridge, run)?;
                    Stored { rows: &own, run }.forward(&weights, Accuracy::Whole)?
                }
                None => self.trained(params, &propagator, &kept, held.rows(), run)?,
            };
            losses.extend(Loss::new(params.loss, &held).of_nodes(&scores));
            fold.put(&scores, &mut all);
        }
        Ok(propagator.shortfall().is_none().then_some((losses, all)))
    }

    /// Q (l, r) in coordinates that preserve the norm of weights, and ρ.
    fn shared(&self, params: &UnfoldedParams, propagator: &Propagator, run: &Run) -> Result<(StoredRows, f64)> {
        let (labeled, trust) = (self.targets.rows(), self.targets.weights());
        let (k, tol) = (self.inputs.width(), column_tol(params.tol));
        let rows = if labeled.len() < k {
            let q = by_nodes(self.inputs, propagator, labeled, tol, run)?;
            StoredRows { width: k, values: StoredValues::Double(q) }
        } else {
            by_columns(self.inputs, propagator, labeled, tol, run)?
        };
        let ridge = match params.l2_reg {
            Some(ridge) => ridge,
            None => {
                let constant = constant(propagator, labeled, tol, run)?;
                let map = Stored { rows: &rows, run };
                params.loss.ridge(spread(&map, self.inputs.n_features(), trust, &constant)?, trust)
            }
        };
        Ok(match &rows.values {
            StoredValues::Double(q) => (reduced(q, k, run)?.rows, ridge),
            StoredValues::Single(_) => (rows, ridge),
        })
    }

    /// Scores (m, c) of nodes, by weights trained on the others.
    fn trained(
        &self,
        params: &UnfoldedParams,
        propagator: &Propagator,
        kept: &Targets,
        held: &[u32],
        run: &Run,
    ) -> Result<Matrix> {
        let loss = Loss::new(params.loss, kept);
        let training = Training {
            params,
            inputs: self.inputs,
            propagator,
            graph: self.graph,
            labeled: kept.rows(),
            loss: &loss,
            start: Instant::now(),
            run,
        };
        let weights = training.train(&mut Report::default())?.weights;
        let map = OnGraph { labeled: held, ..training.on_graph(column_tol(params.tol)) };
        map.forward(&weights, Accuracy::Whole)
    }
}

/// Weights (r, c) of the linear model on rows (l, r).
fn fitted(rows: &StoredRows, targets: &Targets, params: &UnfoldedParams, ridge: f64, run: &Run) -> Result<Matrix> {
    let loss = Loss::new(params.loss, targets);
    let (preconditioner, _) = Preconditioner::from_rows(&weighted(rows, loss.trust), rows.width, ridge, false, run)?;
    let task = Task {
        map: &Stored { rows, run },
        loss: &loss,
        ridge,
        preconditioner: &preconditioner,
        is_close: params.loss == NodeLoss::Mse,
        tol: params.tol,
        max_iter: params.max_iter,
        run,
    };
    let mut state = State::new(None, &task)?;
    let mut trace = Trace::new(Instant::now());
    match params.loss {
        NodeLoss::Mse => cg(&mut state, &task, &mut trace)?,
        NodeLoss::CrossEntropy => lbfgs(&mut state, &task, &mut trace)?,
    }
    Ok(state.weights)
}

#[cfg(test)]
mod tests {
    use lapwing_core::Stream;
    use rand::RngExt;

    use super::*;

    /// Three classes, each on a ring, with noisy features and labels at every `step`-th node.
    fn problem(n: usize, step: usize) -> (Features<'static>, Graph, Targets) {
        let mut rng = Run::new(Some(1), 0).unwrap().rng(Stream::Synthetic, 0);
        let values = (0..4 * n).map(|at| rng.random_range(-1.0..1.0) + f64::from(u8::from(at / 4 % 3 == at % 4)));
        let features = Features::from_f64(n, 4, values.collect()).unwrap();
        let edges: Vec<_> = (0..n as u32).map(|i| (i, (i + 3) % n as u32, 1.0)).collect();
        let rows: Vec<u32> = (0..n as u32).step_by(step).collect();
        let mut values = Matrix::filled(rows.len(), 3, 0.0);
        rows.iter().enumerate().for_each(|(at, row)| values.row_mut(at)[*row as usize % 3] = 1.0);
        let trust = (0..rows.len()).map(|at| 1.0 + (at % 2) as f64).collect();
        (features, Graph::from_edges(n, &edges).unwrap(), Targets::new(n, rows, values, trust).unwrap())
    }

    #[test]
    fn shared_features_give_the_losses_of_trainings_without_the_labels() {
        let (features, graph, targets) = problem(180, 4);
        let run = Run::new(Some(2), 0).unwrap();
        let folds: Vec<usize> = (0..targets.rows().len()).map(|at| at % FOLDS).collect();
        for (loss, bias) in [(NodeLoss::CrossEntropy, true), (NodeLoss::Mse, false)] {
            let params = UnfoldedParams { loss, bias, l2_reg: Some(0.1), tol: 1e-8, ..UnfoldedParams::default() };
            let params = params.with_graph_reg(3.0);
            let inputs = Inputs::new(&features, bias).unwrap();
            let trying = Trying { inputs: &inputs, graph: &graph, targets: &targets, folds: &folds };
            let found = trying.outcome(&params, &run).unwrap().unwrap().0;
            let propagator = Propagator::new(&graph, params.propagation(), &run).unwrap();
            let mut expected = Vec::new();
            for fold in 0..FOLDS {
                let kept = targets.subset(|at| folds[at] != fold).unwrap();
                let held = targets.subset(|at| folds[at] == fold).unwrap();
                let scores = trying.trained(&params, &propagator, &kept, held.rows(), &run).unwrap();
                expected.extend(Loss::new(loss, &held).of_nodes(&scores));
            }
            assert_eq!(found.len(), targets.rows().len());
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-4, "{loss:?}: {worst}");
        }
    }

    #[test]
    fn nodes_and_columns_give_the_same_losses() {
        let (features, graph, targets) = problem(180, 4);
        let run = Run::new(Some(2), 0).unwrap();
        let params = UnfoldedParams { tol: 1e-8, ..UnfoldedParams::default() }.with_graph_reg(3.0);
        // More columns than labels; all columns but the first are zero.
        let narrow = crate::testkit::dense_values(&features);
        let wide = (0..180).flat_map(|row| {
            let own = narrow[4 * row..][..4].iter().copied();
            own.chain(std::iter::repeat_n(0.0, 56)).collect::<Vec<_>>()
        });
        let wide = Features::from_f64(180, 60, wide.collect()).unwrap();
        let folds: Vec<usize> = (0..targets.rows().len()).map(|at| at % FOLDS).collect();
        let losses = |features: &Features<'_>| {
            let inputs = Inputs::new(features, true).unwrap();
            let trying = Trying { inputs: &inputs, graph: &graph, targets: &targets, folds: &folds };
            trying.outcome(&params, &run).unwrap().unwrap().0
        };
        let worst = losses(&features).iter().zip(losses(&wide)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-4, "{worst}");
    }

    #[test]
    fn a_trial_whose_smoothing_breaks_down_has_no_losses() {
        let (features, graph, targets) = problem(180, 4);
        let mut values = crate::testkit::dense_values(&features);
        values[9] = f64::NAN;
        let broken = Features::from_f64(180, 4, values).unwrap();
        let folds: Vec<usize> = (0..targets.rows().len()).map(|at| at % FOLDS).collect();
        let inputs = Inputs::new(&broken, true).unwrap();
        let trying = Trying { inputs: &inputs, graph: &graph, targets: &targets, folds: &folds };
        let params = UnfoldedParams::default().with_graph_reg(3.0);
        assert!(trying.outcome(&params, &Run::new(Some(2), 0).unwrap()).unwrap().is_none());
    }

    #[test]
    fn what_is_chosen_follows_the_labels() {
        let run = Run::new(Some(2), 0).unwrap();
        let chosen = |features: &Features<'_>, graph: &Graph, targets: &Targets, params: &UnfoldedParams| {
            let question = Question { params, features, center: &[], graph, targets, is_regression: false };
            let mut report = Report::default();
            let reg = select(&question, &mut report, &run).unwrap().graph_reg;
            assert_eq!(report.chosen["graph_reg"], reg);
            (reg, report.chosen.contains_key("cross_validation"))
        };
        let default = UnfoldedParams::default();
        // Edges lie within a class and features are poor: more smoothing is better.
        let (features, graph, targets) = problem(180, 4);
        let (reg, is_tried) = chosen(&features, &graph, &targets, &default);
        assert!(is_tried && reg >= 10.0, "{reg}");
        // Every edge joins two classes: the least smoothing is best.
        let edges: Vec<_> = (0..180).map(|i| (i, (i + 1) % 180, 1.0)).collect();
        let (reg, _) = chosen(&features, &Graph::from_edges(180, &edges).unwrap(), &targets, &default);
        assert!(reg == 1.0, "{reg}");
        // Two labels a class are too few to choose by.
        let few = targets.subset(|at| at < 6).unwrap();
        assert_eq!(chosen(&features, &graph, &few, &default), (10.0, false));
    }
}
