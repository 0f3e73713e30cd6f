//! The linear system of one part of a harmonic problem, in each of the forms of [`super::function`].
//!
//! With L the Laplacian of the part, C the label weights, divided by their sum, and ỹ = C(y − ȳ): (L + C/γ)·g = ỹ/γ for the plain form, the
//! same for zero means for the stable one, L⁺ỹ for γ = ∞, and L_UU·g_U = W_US·g_S for labels that are kept exactly.
//!
//! Cost: one system with a right-hand side for each class but the last; see [`LaplacianSolver`].

use lapwing_core::{Matrix, Result, Run};
use lapwing_graph::Graph;
use lapwing_solve::{LaplacianParams, LaplacianSolver, RightHandSides, SolveInfo};

use super::certificate::Certificate;
use super::influence::Influence;
use super::params::HarmonicParams;
use super::refine::{Refinement, Sparsified};
use super::settling::Settling;
use super::solving::Solving;
use crate::core::parts::{Part, kept_rows};

/// Seed of the random columns of a certificate, and of the choice of labels that are left out.
const PROBE_SEED: u64 = 0x6c61_7077_696e_6721;

/// Share of the time for the solution, if labels are left out as well.
const SOLVED: f64 = 0.5;

/// The system of a part of the graph.
pub(super) struct System<'a> {
    pub part: &'a Part<'a>,
    /// Mean that is subtracted from the targets (c).
    pub mean: &'a [f64],
    pub settling: Option<&'a Settling>,
    pub is_last_implied: bool,
    pub solving: &'a Solving<'a>,
    pub run: &'a Run,
}

/// A solution on the part, and how it was found.
pub(super) struct Solution {
    pub x: Matrix,
    pub info: SolveInfo,
    pub refinement: Option<Refinement>,
    pub influence: Option<Influence>,
    pub certificate: Option<Certificate>,
}

impl System<'_> {
    fn columns(&self) -> usize {
        self.solving.targets.n_columns() - usize::from(self.is_last_implied)
    }

    /// Label weights as shares of their sum: the system is divided by c_tot, so that their scale does not matter.
    fn label_shares(&self) -> impl Iterator<Item = f64> {
        let weights = self.solving.targets.weights();
        let total: f64 = weights.iter().sum();
        self.part.labels.iter().map(move |&at| weights[at] / total)
    }

    /// C(y − ȳ)/c_tot, divided by `divisor`, at the labeled rows of the part, for the columns to be solved.
    fn centered_targets(&self, divisor: f64) -> Result<RightHandSides<'_>> {
        let mut values = Matrix::filled(self.part.labels.len(), self.columns(), 0.0);
        for (place, (weight, &at)) in self.label_shares().zip(&self.part.labels).enumerate() {
            let (targets, out) = (self.solving.targets.values().row(at), values.row_mut(place));
            out.iter_mut()
                .zip(targets)
                .zip(self.mean)
                .for_each(|((out, y), mean)| *out = weight * (y - mean) / divisor);
        }
        RightHandSides::of_rows(self.part.n(), &self.part.labeled, values)
    }

    fn label_weights(&self) -> Vec<f64> {
        let mut c = vec![0.0; self.part.n()];
        self.part.labeled.iter().zip(self.label_shares()).for_each(|(&row, weight)| c[row as usize] = weight);
        c
    }

    /// A = γL + C/c_tot, divided by γ: (L + C/(γ·c_tot))·f = b/γ; with a prior plus κD on the left and κD(p − ȳ) on the right.
    fn solve_regularized(&self, graph_reg: f64, c: &[f64], zero_mean: bool) -> Result<Solution> {
        let diagonal: Vec<f64> = c.iter().map(|c| c / graph_reg).collect();
        let mut b = self.centered_targets(graph_reg)?;
        if let Some(prior) = &self.solving.prior {
            let mut all = b.to_matrix().into_owned();
            prior.add_targets(&self.part.graph, self.mean, &mut all);
            b = all.into();
        }
        self.solve(&self.part.graph, Some(&diagonal), zero_mean, b)
    }

    /// Solves with L of `graph`, the label weights or cut edges `weights`, and the pulls of the prior.
    fn solve(
        &self,
        graph: &Graph,
        weights: Option<&[f64]>,
        zero_mean: bool,
        b: RightHandSides<'_>,
    ) -> Result<Solution> {
        let HarmonicParams { tol, max_iter, .. } = *self.solving.params;
        let params = LaplacianParams { tol, max_iter, zero_mean, ..LaplacianParams::default() };
        let pulls = self.solving.prior.as_ref().map(|prior| prior.pulls(graph));
        let whole: Option<Vec<f64>> = match (weights, &pulls) {
            (Some(weights), Some(pulls)) => {
                Some(weights.iter().zip(pulls).map(|(weight, pull)| weight + pull).collect())
            }
            _ => None,
        };
        let diagonal = whole.as_deref().or(weights);
        let mut solver = LaplacianSolver::new(graph, diagonal, params, self.run)?;
        // If labels are left out as well, each takes about as long as the solution.
        let is_more = self.solving.influence && weights.is_some();
        let own = if is_more { self.run.part(0.0..SOLVED, "") } else { self.run.clone() };
        let start = self.start(graph.n_samples(), b.n_cols(), zero_mean);
        if let Some(goal) = self.settling {
            // A fixed seed, so that fits without a seed give the same bits each time.
            let run = own.with_seed(PROBE_SEED);
            let (x, info, bounds) = solver.solve_certified(b, start.as_ref(), goal, &run)?;
            let mut certificate = Certificate::default();
            certificate.add(None, bounds, self.is_last_implied, &info);
            let influence = self.influence(&mut solver, weights, pulls.as_deref())?;
            return Ok(Solution { x, info, refinement: None, influence, certificate: Some(certificate) });
        }
        let (mut x, info) = solver.solve(&b, start.as_ref(), &own)?;
        let refinement = match self.solving.refiner {
            Some(refiner) => {
                let rows = self.part.rows.as_deref();
                let system = Sparsified { solver: &solver, rows, diagonal, zero_mean, tol };
                Some(refiner.refine(&system, &b.to_matrix(), &mut x, self.run)?)
            }
            None => None,
        };
        let influence = self.influence(&mut solver, weights, pulls.as_deref())?;
        Ok(Solution { x, info, refinement, influence, certificate: None })
    }

    /// The start on the rows of the part (n, columns): 0 where it has no scores. With `zero_mean` its columns have mean zero, as the
    /// solution has. `None` if it is of other rows or classes, or the system is not on all rows of the part.
    fn start(&self, n: usize, columns: usize, zero_mean: bool) -> Option<Matrix> {
        let Solving { targets, .. } = self.solving;
        let fits = |start: &&Matrix| {
            (start.n_rows(), start.n_cols()) == (targets.n_samples(), targets.n_columns()) && n == self.part.n()
        };
        let scores = self.solving.start.filter(fits)?;
        let mut start = Matrix::filled(n, columns, 0.0);
        for row in 0..n {
            let own = scores.row(self.part.whole(row)).iter().map(|score| if score.is_finite() { *score } else { 0.0 });
            start.row_mut(row).iter_mut().zip(own).for_each(|(start, score)| *start = score);
        }
        if zero_mean {
            for column in 0..columns {
                let mean = start.rows().map(|row| row[column]).sum::<f64>() / n.max(1) as f64;
                (0..n).for_each(|row| start.row_mut(row)[column] -= mean);
            }
        }
        Some(start)
    }

    /// The influence of the labels, of the given `weights`, if [`Solving::influence`] is set.
    fn influence(
        &self,
        solver: &mut LaplacianSolver,
        weights: Option<&[f64]>,
        pulls: Option<&[f64]>,
    ) -> Result<Option<Influence>> {
        match weights.filter(|_| self.solving.influence) {
            Some(weights) => {
                let run = self.run.part(SOLVED..1.0, "leave one out").with_seed(PROBE_SEED);
                Influence::find(solver, self.part, weights, pulls, &run).map(Some)
            }
            None => Ok(None),
        }
    }

    /// P A P f = ỹ.
    pub fn stable(&self, graph_reg: f64) -> Result<Solution> {
        self.solve_regularized(graph_reg, &self.label_weights(), true)
    }

    /// A g = ỹ. Without a prior, exact solutions have cᵀg = 0; this is restored at the end, except for certified solutions, whose
    /// bounds hold for g as solved.
    pub fn plain(&self, graph_reg: f64) -> Result<Solution> {
        let c = self.label_weights();
        let mut solution = self.solve_regularized(graph_reg, &c, false)?;
        if solution.certificate.is_some() || self.solving.prior.is_some() {
            return Ok(solution);
        }
        let g = &mut solution.x;
        let mut mean = vec![0.0; g.n_cols()];
        for (row, weight) in g.rows().zip(&c).filter(|(_, weight)| **weight > 0.0) {
            mean.iter_mut().zip(row).for_each(|(mean, g)| *mean += weight * g);
        }
        let columns = g.n_cols().max(1);
        g.values_mut().chunks_exact_mut(columns).for_each(|row| {
            row.iter_mut().zip(&mean).for_each(|(g, mean)| *g -= mean);
        });
        Ok(solution)
    }

    /// L⁺ỹ, with the label weights as given, not as shares. The solver projects the targets on the range of L.
    pub fn pseudo_inverse(&self) -> Result<Solution> {
        let total: f64 = self.solving.targets.weights().iter().sum();
        self.solve(&self.part.graph, None, false, self.centered_targets(total.recip())?)
    }

    /// g = y − ȳ on S, L_UU g_U = W_US g_S on the others.
    pub fn hard(&self) -> Result<Solution> {
        let mut g = Matrix::filled(self.part.n(), self.columns(), 0.0);
        let mut is_open = vec![true; self.part.n()];
        for (&row, &at) in self.part.labeled.iter().zip(&self.part.labels) {
            is_open[row as usize] = false;
            let values = self.solving.targets.values().row(at).iter().zip(self.mean).map(|(y, mean)| y - mean);
            g.row_mut(row as usize).iter_mut().zip(values).for_each(|(g, value)| *g = value);
        }
        let open = kept_rows(&is_open);
        let graph = self.part.graph.part(&open, &mut Vec::new())?;
        // Only rows beside labeled ones have a right-hand side.
        let (mut cut, mut beside, mut pulls) = (vec![0.0; open.len()], Vec::new(), Vec::new());
        let mut pull = vec![0.0; g.n_cols()];
        for (at, &row) in open.iter().enumerate() {
            let (columns, weights) = self.part.graph.adjacency().row(row as usize);
            for (&column, weight) in columns.iter().zip(weights).filter(|(column, _)| !is_open[**column as usize]) {
                cut[at] += weight;
                pull.iter_mut().zip(g.row(column as usize)).for_each(|(pull, g)| *pull += weight * g);
            }
            if cut[at] > 0.0 {
                beside.push(at as u32);
                pulls.extend_from_slice(&pull);
                pull.fill(0.0);
            }
        }
        let pulls = Matrix::new(beside.len(), g.n_cols(), pulls)?;
        let b = RightHandSides::of_rows(open.len(), &beside, pulls)?;
        let solved = self.solve(&graph, Some(&cut), false, b)?;
        open.iter().zip(solved.x.rows()).for_each(|(&row, values)| g.row_mut(row as usize).copy_from_slice(values));
        let n_open = open.len();
        let certificate = solved.certificate.map(|certificate| certificate.placed(|row| open[row as usize], n_open));
        Ok(Solution { x: g, certificate, ..solved })
    }
}
