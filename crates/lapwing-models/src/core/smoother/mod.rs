//! The smoother: stable scores, and the potential of every row. Leave-one-out scores, the label loop, and intervals of regressions use it.
//!
//! With L the Laplacian of the graph, S the labeled rows, T = diag(tᵢ/λ) on S and 0 elsewhere, tᵢ the trust in label i, and ȳ the mean
//! of the labels weighted by trust,
//!
//! ```text
//! A = L + T,   o = A⁻¹1,   f = (A⁻¹ − o·oᵀ/1ᵀo)·T·(Y − ȳ).
//! ```
//!
//! f is the stable harmonic function (Stable-HFS), which equals kernel ridge regression with kernel L⁺ and ridge λ. So its leave-one-out
//! scores have a closed form (see [`leave_one_out`](leave_one_out)). o, the *potential*, is large where labels are far.
//! Every component of the graph with labels is a problem of its own, with its own o and mean ȳₖ. Its level ȳₖ − ȳ is added to the scores of
//! classes, ȳ the mean of all labels: in a component whose labels are nearly all of one class, that class would otherwise be as far from the
//! others as in any component. Rows of other components have NaN scores and an infinite potential.
//!
//! λ is the smoothness over the mean degree. While the smoothness stays, a new label changes one diagonal entry of A and nothing else.
//!
//! Cost: one solve of c columns (c classes; the last one follows from the others, and o is one).

mod colors;
pub(crate) mod leave_one_out;

use std::borrow::Cow;

use lapwing_core::{Error, Matrix, Result, Run, Targets};
use lapwing_graph::{Components, Graph};
use lapwing_solve::{LaplacianParams, LaplacianSolver, SolveInfo};

use crate::core::parts::{Labeled, Part};
use crate::core::scores::largest;

/// Of the distance from labels, over the mean degree: how firmly labeled rows are held, and τ. Then the residual to which it is solved.
const HELD: f64 = 10.0;
const DAMPING: f64 = 0.003;
const DISTANCE_TOL: f64 = 1e-3;

/// A graph whose weights are far from the limits of f64, as they are or scaled.
pub(crate) fn moderate(graph: &Graph) -> Cow<'_, Graph> {
    graph.moderate().map_or(Cow::Borrowed(graph), |(graph, _)| Cow::Owned(graph))
}

/// The system of a graph and some labels.
pub(crate) struct Smoother<'a> {
    targets: &'a Targets,
    part: Part<'a>,
    solver: LaplacianSolver,
    /// tᵢ/λ of the labels (l).
    pub trust: Vec<f64>,
    /// Component of each label (l), and of each row of the part.
    pub of_label: Vec<usize>,
    of_row: Vec<usize>,
    /// What labels each component with labels has.
    pub parts: Vec<Labels>,
    /// Mean of all labels (c).
    pub mean: Vec<f64>,
}

/// The labels of a component.
pub(crate) struct Labels {
    /// Rows of the component.
    pub n_rows: usize,
    /// Their number and trust for each class (c).
    pub counts: Vec<usize>,
    pub weights: Vec<f64>,
    /// Sum of their targets, weighted (c).
    sums: Vec<f64>,
}

/// The solution.
pub(crate) struct Smooth {
    /// Centered scores (n, c), NaN where no label reaches.
    pub scores: Matrix,
    /// Potential (n), infinite where no label reaches.
    pub potential: Vec<f64>,
    /// Sums of the potential over each component.
    pub potential_sums: Vec<f64>,
    /// Sums of the other raw columns over each component (columns, components).
    raw_sums: Vec<Vec<f64>>,
    /// The columns that were solved for, at the rows of the graph (n, c): a start for the next solve.
    pub raw: Matrix,
    pub info: SolveInfo,
}

impl Smooth {
    /// Plain score of a row less the mean of the labels of its component, for class `k`.
    pub fn plain(&self, row: usize, k: usize) -> f64 {
        let solved = self.raw_sums.len();
        let raw = &self.raw.row(row)[..solved];
        if k < solved { raw[k] } else { -raw.iter().sum::<f64>() }
    }

    /// Sum of these scores over the rows of a component.
    pub fn plain_sum(&self, part: usize, k: usize) -> f64 {
        let sum = |k: usize| self.raw_sums[k][part];
        if k < self.raw_sums.len() { sum(k) } else { -(0..self.raw_sums.len()).map(sum).sum::<f64>() }
    }
}

impl Labels {
    fn new(c: usize) -> Self {
        Self { n_rows: 0, counts: vec![0; c], weights: vec![0.0; c], sums: vec![0.0; c] }
    }

    /// Number of labels.
    pub fn n(&self) -> usize {
        self.counts.iter().sum()
    }

    fn trust(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Weighted mean of the targets (c).
    pub fn mean(&self) -> Vec<f64> {
        let total = self.trust();
        self.sums.iter().map(|sum| sum / total).collect()
    }

    /// The same without a label of target `y` and weight `t`; `None` if there is no other.
    pub fn mean_without(&self, y: &[f64], t: f64) -> Option<Vec<f64>> {
        let rest = self.trust() - t;
        (self.n() > 1 && rest > 0.0).then(|| self.sums.iter().zip(y).map(|(sum, y)| (sum - t * y) / rest).collect())
    }
}

impl<'a> Smoother<'a> {
    /// The system of `graph`, which has moderate weights.
    pub fn new(
        graph: &'a Graph,
        components: &Components,
        targets: &'a Targets,
        smoothness: f64,
        tol: f64,
        run: &Run,
    ) -> Result<Self> {
        let holds = components.holding(targets.rows());
        let reached: Vec<bool> = components.id.iter().map(|&id| holds[id as usize]).collect();
        let part = Part::new(graph, Labeled::all(&reached, targets), &reached, targets, &mut Vec::new())?;
        // Without an edge nothing is smoothed, and a smoothness in units of the degree is 0.
        let degree = graph.mean_degree();
        let (smoothness, degree) = if degree > 0.0 { (smoothness, degree) } else { (1.0, 1.0) };
        if !(smoothness > 0.0 && smoothness.is_finite()) {
            return Err(Error::param("smoothness", smoothness, "a finite number above 0"));
        }
        let lambda = smoothness / degree;
        let trust: Vec<f64> = targets.weights().iter().map(|weight| weight / lambda).collect();
        let mut diagonal = vec![0.0; part.n()];
        part.labeled.iter().zip(&trust).for_each(|(&row, trust)| diagonal[row as usize] = *trust);
        let params = LaplacianParams { tol, ..LaplacianParams::default() };
        let solver = LaplacianSolver::new(&part.graph, Some(&diagonal), params, run)?;
        let (parts, number) = label_parts(components, targets, &holds);
        let of_label = targets.rows().iter().map(|&row| number[components.id[row as usize] as usize]).collect();
        let of_row = (0..part.n()).map(|row| number[components.id[part.whole(row)] as usize]).collect();
        Ok(Self { targets, part, solver, trust, of_label, of_row, parts, mean: targets.mean() })
    }

    /// Scores and potential, from the raw columns of an earlier solve if they are of as many classes.
    pub fn solve(&self, start: Option<&Matrix>, run: &Run) -> Result<Smooth> {
        let (n, c) = (self.targets.n_samples(), self.targets.n_columns());
        let is_soft_sum = |y: &[f64]| (y.iter().sum::<f64>() - 1.0).abs() <= 1e-12;
        let is_implied = c > 1 && self.targets.values().rows().all(is_soft_sum);
        let solved = c - usize::from(is_implied);
        let means: Vec<Vec<f64>> = self.parts.iter().map(Labels::mean).collect();
        let mut b = Matrix::filled(self.part.n(), solved + 1, 0.0);
        (0..self.part.n()).for_each(|row| b.row_mut(row)[solved] = 1.0);
        for (at, &row) in self.part.labeled.iter().enumerate() {
            let centered =
                self.targets.values().row(at).iter().zip(&means[self.of_label[at]]).map(|(y, mean)| y - mean);
            b.row_mut(row as usize)[..solved].iter_mut().zip(centered).for_each(|(b, y)| *b = self.trust[at] * y);
        }
        let start =
            start.filter(|start| start.n_cols() == solved + 1 && start.n_rows() == n).map(|start| self.cut(start));
        let (x, info) = self.solver.solve(&b, start.as_ref(), run)?;
        drop((b, start));
        let potential_sums = self.sums(&x, solved);
        let mut smooth = Smooth {
            scores: Matrix::filled(n, c, f64::NAN),
            potential: vec![f64::INFINITY; n],
            potential_sums,
            raw_sums: (0..solved).map(|k| self.sums(&x, k)).collect(),
            raw: Matrix::filled(n, solved + 1, 0.0),
            info,
        };
        let level = |sums: &Vec<f64>| sums.iter().zip(&smooth.potential_sums).map(|(sum, o)| sum / o).collect();
        let levels: Vec<Vec<f64>> = smooth.raw_sums.iter().map(level).collect();
        for (row, values) in x.rows().enumerate() {
            let (whole, part, o) = (self.part.whole(row), self.of_row[row], values[solved]);
            smooth.raw.row_mut(whole).copy_from_slice(values);
            smooth.potential[whole] = o;
            let out = smooth.scores.row_mut(whole);
            (0..solved).for_each(|k| out[k] = values[k] - o * levels[k][part]);
            if is_implied {
                out[solved] = -out[..solved].iter().sum::<f64>();
            }
            if c > 1 {
                out.iter_mut().zip(&means[part]).zip(&self.mean).for_each(|((out, own), all)| *out += own - all);
            }
        }
        Ok(smooth)
    }

    /// Scores of the plain form (n, c), A⁻¹T(Y − ȳₖ) + ȳₖ in each component; NaN where no label reaches.
    pub fn plain_scores(&self, smooth: &Smooth) -> Matrix {
        let mut scores = Matrix::filled(smooth.scores.n_rows(), smooth.scores.n_cols(), f64::NAN);
        let means: Vec<Vec<f64>> = self.parts.iter().map(Labels::mean).collect();
        for (row, &part) in self.of_row.iter().enumerate() {
            let whole = self.part.whole(row);
            let out = scores.row_mut(whole).iter_mut().zip(&means[part]);
            out.enumerate().for_each(|(k, (out, mean))| *out = smooth.plain(whole, k) + mean);
        }
        scores
    }

    /// How far each row is from all labels (n), infinite where no label reaches: the potential with labeled rows held at 0, whatever their
    /// weights, and τ on the diagonal.
    ///
    /// It is the mean time until a walk on the graph meets a label, if the walk also ends by itself, at the rate τ. With the weights of the
    /// smoother (they let labels yield) the potential of a class without labels is hardly above that of rows near the labels. Without τ a
    /// few rows that hang on the graph by a thread are farther than a large part without labels.
    pub fn distance_from_labels(&self, run: &Run) -> Result<Vec<f64>> {
        let graph = &self.part.graph;
        let degree = graph.mean_degree();
        let unit = if degree > 0.0 { degree } else { 1.0 };
        let mut diagonal = vec![DAMPING * unit; self.part.n()];
        self.part.labeled.iter().for_each(|&row| diagonal[row as usize] += HELD * unit);
        let params = LaplacianParams { tol: DISTANCE_TOL, ..LaplacianParams::default() };
        let solver = LaplacianSolver::new(graph, Some(&diagonal), params, run)?;
        let (x, _) = solver.solve(Matrix::filled(self.part.n(), 1, 1.0), None, run)?;
        let mut distance = vec![f64::INFINITY; self.targets.n_samples()];
        x.values().iter().enumerate().for_each(|(row, value)| distance[self.part.whole(row)] = *value);
        Ok(distance)
    }

    /// Mean of all labels but one (c), of target `y` and weight `t`.
    pub fn mean_without(&self, y: &[f64], t: f64) -> Vec<f64> {
        let total: f64 = self.targets.weights().iter().sum();
        self.mean.iter().zip(y).map(|(mean, y)| (mean * total - t * y) / (total - t)).collect()
    }

    /// The rows of the part.
    fn cut(&self, whole: &Matrix) -> Matrix {
        let mut cut = Matrix::filled(self.part.n(), whole.n_cols(), 0.0);
        (0..self.part.n()).for_each(|row| cut.row_mut(row).copy_from_slice(whole.row(self.part.whole(row))));
        cut
    }

    /// Sums of a column over each component.
    fn sums(&self, x: &Matrix, column: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.parts.len()];
        x.rows().zip(&self.of_row).for_each(|(row, &part)| sums[part] += row[column]);
        sums
    }

    /// Graph and labeled rows of the part.
    pub fn system(&self) -> (&Graph, &[u32]) {
        (&self.part.graph, &self.part.labeled)
    }

    /// 1 − hᵢ = 1 − tᵢ/λ·((A⁻¹)ᵢᵢ − oᵢ²/1ᵀo) of all labels (l), if the solver knows the diagonal of A⁻¹.
    pub fn all_slacks(&self, smooth: &Smooth, run: &Run) -> Result<Option<Vec<f64>>> {
        let Some(inverse) = self.solver.inverse_diagonal(run)? else { return Ok(None) };
        let slack = |(label, &row): (usize, &u32)| {
            let o = smooth.potential[self.part.whole(row as usize)];
            let level = o * o / smooth.potential_sums[self.of_label[label]];
            1.0 - self.trust[label] * (inverse[row as usize] - level)
        };
        Ok(Some(self.part.labeled.iter().enumerate().map(slack).collect()))
    }

    /// 1 − hᵢ of the labels of `probes`, from columns that hold all labels of one number each; see [`Probe`].
    ///
    /// Solves sixteen columns at a time, so that memory does not depend on their number.
    pub fn slacks(&self, probes: &[Probe], smooth: &Smooth, run: &Run) -> Result<Vec<f64>> {
        let n_columns = probes.iter().map(|probe| probe.column + 1).max().unwrap_or(0);
        let mut slacks = vec![0.0; probes.len()];
        for first in (0..n_columns).step_by(BLOCK) {
            let width = BLOCK.min(n_columns - first);
            let own: Vec<usize> =
                (0..probes.len()).filter(|&at| (first..first + width).contains(&probes[at].column)).collect();
            let mut b = Matrix::filled(self.part.n(), width, 0.0);
            for probe in own.iter().map(|&at| &probes[at]) {
                let row = self.part.labeled[probe.label] as usize;
                b.row_mut(row)[probe.column - first] = probe.sign * self.trust[probe.label];
            }
            let run = run.part_of(first / BLOCK, n_columns.div_ceil(BLOCK), "");
            let (x, _) = self.solver.solve(&b, None, &run)?;
            let sums: Vec<Vec<f64>> = (0..width).map(|column| self.sums(&x, column)).collect();
            for &at in &own {
                let (probe, column) = (&probes[at], probes[at].column - first);
                let part = self.of_label[probe.label];
                slacks[at] = probe.sign * self.slack(&x, probe.label, column, sums[column][part], smooth);
            }
        }
        Ok(slacks)
    }

    /// Columns H(·, i) of the labels of `probes`, at most [`BLOCK`] of them, at the rows of the graph (n, columns): of A⁻¹T, centered as
    /// the scores if `is_stable`. NaN where no label reaches.
    pub fn columns(&self, probes: &[Probe], is_stable: bool, smooth: &Smooth, run: &Run) -> Result<Matrix> {
        let mut b = Matrix::filled(self.part.n(), probes.len(), 0.0);
        for (column, probe) in probes.iter().enumerate() {
            b.row_mut(self.part.labeled[probe.label] as usize)[column] = self.trust[probe.label];
        }
        let (x, _) = self.solver.solve(&b, None, run)?;
        let sums: Vec<Vec<f64>> = (0..probes.len()).map(|column| self.sums(&x, column)).collect();
        let mut found = Matrix::filled(smooth.scores.n_rows(), probes.len(), f64::NAN);
        for row in 0..self.part.n() {
            let (whole, part) = (self.part.whole(row), self.of_row[row]);
            let share = smooth.potential[whole] / smooth.potential_sums[part];
            for (column, out) in found.row_mut(whole).iter_mut().enumerate() {
                *out = x.row(row)[column] - if is_stable { share * sums[column][part] } else { 0.0 };
            }
        }
        Ok(found)
    }

    /// The number of the component of a row among those with labels.
    pub fn part_of(&self, row: usize) -> Option<usize> {
        let at = match &self.part.rows {
            None => row,
            Some(rows) => rows.binary_search(&(row as u32)).ok()?,
        };
        Some(self.of_row[at])
    }

    /// (L·x)ᵢ/(tᵢ/λ) + oᵢ·(1ᵀx)/(1ᵀo) at the row of a label, x a column of sum `sum` over the component: 1 − hᵢ if the column holds this
    /// label alone. The second term subtracts the level of the column, as centering does. Without it the estimates are useless:
    /// all labels of a column raise the level of all rows.
    fn slack(&self, x: &Matrix, label: usize, column: usize, sum: f64, smooth: &Smooth) -> f64 {
        let row = self.part.labeled[label] as usize;
        let (neighbors, weights) = self.part.graph.adjacency().row(row);
        let own = x.row(row)[column];
        let flows = neighbors.iter().zip(weights).map(|(&id, weight)| weight * (own - x.row(id as usize)[column]));
        let level = smooth.potential[self.part.whole(row)] * sum / smooth.potential_sums[self.of_label[label]];
        flows.sum::<f64>() / self.trust[label] + level
    }
}

/// Columns that are solved at a time.
pub(crate) const BLOCK: usize = 16;

/// A label in a column that may hold other labels too, times a sign.
pub(crate) struct Probe {
    pub label: usize,
    pub column: usize,
    pub sign: f64,
}

/// The labels of each component that has some, and the number of each component among these.
fn label_parts(components: &Components, targets: &Targets, holds: &[bool]) -> (Vec<Labels>, Vec<usize>) {
    let (mut parts, mut number) = (Vec::new(), vec![usize::MAX; holds.len()]);
    for id in (0..holds.len()).filter(|&id| holds[id]) {
        number[id] = parts.len();
        parts.push(Labels { n_rows: components.sizes[id], ..Labels::new(targets.n_columns()) });
    }
    for ((&row, y), &t) in targets.rows().iter().zip(targets.values().rows()).zip(targets.weights()) {
        let part = &mut parts[number[components.id[row as usize] as usize]];
        let class = largest(y);
        part.counts[class] += 1;
        part.weights[class] += t;
        part.sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += t * y);
    }
    (parts, number)
}
