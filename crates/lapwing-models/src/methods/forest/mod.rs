//! Forest: trees of two kinds in turn on the labeled rows, extremely randomized ones (Geurts, Ernst & Wehenkel 2006) and bagged ones
//! (Breiman 2001). Sparse rows of which fewer than a tenth of the values are given have the first kind alone.
//!
//! A tree splits its rows until those of a leaf are of one class, or equal. For each split, √d columns are drawn. An extremely randomized
//! tree sees all labeled rows, and takes for each column a threshold that is uniform between its least and its largest value among these
//! rows; a bagged one sees a bootstrap sample of them, and takes the best threshold (of at most 2,048 rows). The split of least Gini
//! impurity is taken:
//!
//! ```text
//! max of Σ_k L_k²/L + Σ_k R_k²/R,   L_k, R_k the trust in labels of class k on either side, L and R their sums
//! ```
//!
//! d counts the columns that vary among the labeled rows. A column that is constant in the node is replaced by another, except where
//! rows are sparse: few of their columns vary in a small node, and to find √d of them takes long and makes labels worse. A row of soft
//! labels counts in each of its classes.
//!
//! Why two kinds: with scikit-learn's trees and 5 to 20 labels of each class, bagged trees were better by .018 on average over ten tables of
//! mixed columns, and extremely randomized ones by .016 over eleven sets of numbers; half of each was .006 below the better on tables, and
//! within .001 of it on numbers. On Chinese texts with 3 to 8 labels of each class, bagged trees were far behind (.52 beside .62).
//!
//! Scores are ln((Σ over T trees of the class's share in the leaf + 1/c)/(T + 1)). With five labels of every class, the temperature
//! of the decision is fitted to labeled rows that were held out; otherwise it is 1, and the shares are means over the trees.
//!
//! Values are compared in f32. A tree has its own random stream, so that threads do not matter; sums over trees are in their order.
//!
//! Cost: O(T·√d·l·log l) to grow, with a sort of at most 2,048 values in each node of a bagged tree; O(T·log l) for each row. With
//! held-out rows, growing takes up to four times as long, as their forests have at most 100 trees. Memory 4·l·d bytes, or 8 bytes for each
//! entry of sparse rows, and 24·T·l for the trees. Parallel over trees, and over rows.
//!
//! Why not a crate: smartcore and linfa-trees (2026) take dense arrays only. smartcore's forests grow in sequence, and it has no
//! extremely randomized trees that answer with shares; linfa-ensemble's draws depend on the caller's generator, and linfa needs
//! ndarray throughout. Neither has a format for files that is checked when it is read.
//!
//! Unlabeled rows are not used: take [`Harmonic`](crate::Harmonic) where they form clusters. Take it for columns of different units
//! and irrelevant columns: trees do not depend on scales.

mod columns;
mod grow;
#[cfg(test)]
mod tests;
mod trees;

use std::sync::Arc;

use lapwing_core::parallel::*;
use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Matrix, Result, Run, Stream, Targets, check_memory, parameters};

use self::columns::Columns;
use self::grow::{Kind, LabelSums, grow};
pub use self::trees::Trees;
use crate::core::calibration::{Fallback, as_decided};
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::held_out::folds::{enough, in_turn, stratified};
use crate::core::plan::{Program, base_bytes};
use crate::{Fitted, HeldOutFit, Method, Plan, PlanStep, Problem, ProblemSize};

/// Name of the method.
pub(crate) const FOREST: &str = "forest";

/// Most trees of a forest that holds out labels: its shares have standard errors of at most .05.
const HELD_OUT_TREES: usize = 100;
/// Most bytes of a tree for each labeled row: two nodes.
const TREE_BYTES: u64 = 24;

parameters! {
    /// Parameters of the forest.
    pub struct ForestParams {
        /// Number of trees.
        n_trees: usize = 200, in at_least(1.0);
    }
}

/// Classifier by a forest of extremely randomized and of bagged trees: parameters, checked.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::baselines::{Forest, ForestParams};
/// use lapwing_models::{Method, Problem};
///
/// let features = Features::from_f32(4, 1, vec![0.0, 0.1, 0.9, 1.0])?;
/// let labels = Labels::from_integers([Some(0), None, None, Some(1)]);
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let fitted = Forest::new(ForestParams::default())?.fit(&problem, &Run::new(None, 0)?)?;
/// assert_eq!(fitted.labeling.labels, [0, 0, 1, 1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Forest {
    params: ForestParams,
}

impl Forest {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming a parameter outside its range.
    pub fn new(params: ForestParams) -> Result<Self> {
        params.check_ranges()?;
        Ok(Self { params })
    }

    /// That many trees of these labels.
    fn grown(&self, n_trees: usize, problem: &Problem<'_, '_>, targets: &Targets, run: &Run) -> Result<Trees> {
        let features = problem.required_features(FOREST)?;
        let l = targets.rows().len() as u64;
        let what = format!("a forest of {n_trees} trees of {l} labeled rows");
        check_memory(&what, (n_trees as u64).saturating_mul(TREE_BYTES * l.max(2)), "take fewer trees (n_trees)")?;
        let columns = Columns::new(&features.select(targets.rows())?)?;
        let labels = LabelSums::new(targets);
        let done = run.counter(n_trees, "trees");
        let trees = run.install(|| {
            let all = (0..n_trees).into_par_iter();
            all.map(|tree| {
                run.check()?;
                let is_bagged = !columns.are_sparse && tree % 2 == 1;
                let kind = if is_bagged { Kind::Bagged } else { Kind::Random };
                let grown = grow(&columns, &labels, kind, &mut run.rng(Stream::Trees, tree as u64), run);
                done.add(1);
                Ok(grown)
            })
            .collect::<Result<Vec<_>>>()
        })?;
        run.check()?;
        Trees::new(features.n_cols(), targets.n_columns(), columns.centers, trees)
    }

    /// Shares (l, c) of each labeled row, from a fit without the labels of its fold (l).
    fn shares_held_out(&self, problem: &Problem<'_, '_>, folds: &[usize], run: &Run) -> Result<Matrix> {
        let (features, targets) = (problem.required_features(FOREST)?, problem.targets);
        let n_trees = self.params.n_trees.min(HELD_OUT_TREES);
        in_turn(targets, folds, run, |kept, fold, run| {
            let trees = self.grown(n_trees, problem, kept, run)?;
            let mut shares = trees.scores(&features.select(&fold.rows(targets))?, &run.quiet())?;
            shares.values_mut().iter_mut().for_each(|score| *score = score.exp());
            Ok(shares)
        })
    }
}

impl Method for Forest {
    fn name(&self) -> &'static str {
        FOREST
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let (features, targets) = (fitting.features()?, problem.targets);
        let report = &mut fitting.report;
        let held_out = match stratified(targets, run) {
            Some(folds) => {
                let shares = report.time("hold out", run, |_| self.shares_held_out(problem, &enough(folds), run))?;
                Some(Standings::of_shares(targets, &shares))
            }
            None => None,
        };
        let trees = report.time("grow", run, |_| self.grown(self.params.n_trees, problem, targets, run))?;
        let scores = report.time("apply", run, |_| trees.scores(features, run))?;
        Ok(fitting.decide(Arc::new(scores), held_out, Fallback::One, Some(Arc::new(trees)), None))
    }

    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        let shares = self.shares_held_out(problem, folds, run)?;
        Ok(HeldOutFit { shares: run.install(|| as_decided(&shares, problem.targets)), fitted: None })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c, l) = (size.n_samples, size.n_classes.max(2), size.n_labeled.max(1));
        let base = base_bytes(Program::Search, size);
        let labeled = size.input_bytes / n.max(1) * l;
        // By columns, and for each thread the buffers of a tree.
        let columns = if size.sparse { labeled } else { 4 * l * size.n_features };
        let buffers = size.threads * (4 * size.n_features + 24 * l);
        // A tree has at most a leaf for each row; while trees are joined, they are there twice.
        let trees = TREE_BYTES as usize * self.params.n_trees * l;
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        let steps = vec![
            step("grow", labeled + columns + buffers + 2 * trees),
            step("apply", trees + 8 * n * c + size.threads * 4 * size.n_features.max(trees::BLOCK_VALUES)),
            step("decide", trees + 2 * 8 * n * c + 48 * n),
        ];
        // Features are read to check and to label them.
        Plan::from_steps(Program::Search, n, 0, 2, steps)
    }
}
