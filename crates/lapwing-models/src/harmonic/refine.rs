//! Refines the solution on a sparsified graph H to the solution on the graph G itself, by a few passes over G's edges.
//!
//! Conjugate gradients for A_G·x = b, with A_H⁻¹ as preconditioner. The condition number is then (1 + ε)/(1 − ε) for a
//! sparsifier of distortion ε, so that a few steps give all digits that labels need. (Calandriello et al. 2015 stop at x =
//! A_H⁻¹b, the first direction here.) A product with A_G is one pass over the edges, for all columns at once; nothing of G is
//! held. Directions are made orthogonal by β = z′ᵀ(r′ − r)/zᵀr (Polak & Ribière), since the systems on H are solved only to a
//! tolerance.
//!
//! Cost: one pass over the edges and one solve on H for each step; memory: 7 blocks (n, s). In a pass every thread has rows of
//! its own and goes through all edges, so that sums are in the order of the stream for any number of threads.

use lapwing_data::{Edge, EdgeSource, Matrix, Result, Run};
use lapwing_graph::sparsify::for_each_portion;
use lapwing_solve::{Constraint, LaplacianSolver, column_dots};
use rayon::prelude::*;
use serde::Serialize;

/// Passes and residuals of a refinement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Refinement {
    /// Passes over the edges.
    pub passes: usize,
    /// Largest relative residual ‖b − A_G·x‖ / ‖b‖ over the columns, after each pass.
    pub residuals: Vec<f64>,
    /// Least and largest pᵀA_Gp / pᵀA_Hp over the columns of the first solution p = A_H⁻¹b.
    pub energy_ratios: [f64; 2],
}

/// Refinement by passes over the edges of the whole graph.
pub(super) struct Refiner<'a> {
    pub source: &'a dyn EdgeSource,
    pub passes: usize,
}

/// The system on the sparsified graph.
pub(super) struct Sparsified<'a> {
    pub solver: &'a LaplacianSolver,
    /// Its row numbers in the whole graph; `None` for all rows.
    pub rows: Option<&'a [u32]>,
    pub diagonal: Option<&'a [f64]>,
    pub constraint: Constraint,
    /// Relative residual that is enough.
    pub tol: f64,
}

impl Refiner<'_> {
    /// Refines `x` (n, s), the solution of the sparsified system with the right-hand side `b` (n, s).
    pub fn refine(&self, system: &Sparsified<'_>, b: &Matrix, x: &mut Matrix, run: &Run) -> Result<Refinement> {
        let s = b.n_cols();
        let product = Product { source: self.source, system, places: system.places(self.source.n_nodes()) };
        let norms: Vec<f64> = dots(b, b, run);
        let mut r = b.clone();
        system.project(&mut r);
        let mut z = std::mem::replace(x, Matrix::filled(b.n_rows(), s, 0.0));
        let mut zr = dots(&z, &r, run);
        let mut p = z.clone();
        let mut refinement = Refinement::default();
        for pass in 0..self.passes {
            run.progress().update(pass as u64, &format!("pass {} over the edges", pass + 1));
            let q = product.of(&p, run)?;
            let (pq, rp) = (dots(&p, &q, run), dots(&r, &p, run));
            if pass == 0 {
                refinement.energy_ratios = range((0..s).filter(|&c| zr[c] > 0.0).map(|c| pq[c] / zr[c]));
            }
            let steps: Vec<f64> = (0..s).map(|c| if pq[c] > 0.0 { rp[c] / pq[c] } else { 0.0 }).collect();
            add_scaled(x, &p, &steps, 1.0, run);
            let before = r.clone();
            add_scaled(&mut r, &q, &steps, -1.0, run);
            drop(q);
            let squares = dots(&r, &r, run);
            let relative = (0..s).filter(|&c| norms[c] > 0.0).map(|c| (squares[c] / norms[c]).sqrt());
            let residual = relative.fold(0.0, f64::max);
            refinement.passes += 1;
            refinement.residuals.push(residual);
            if residual <= system.tol || pass + 1 == self.passes {
                break;
            }
            z = system.solver.solve(&r, None, system.constraint, &run.quiet())?.0;
            let (new, old) = (dots(&z, &r, run), dots(&z, &before, run));
            let betas: Vec<f64> = (0..s).map(|c| if zr[c] > 0.0 { (new[c] - old[c]) / zr[c] } else { 0.0 }).collect();
            p.values_mut().chunks_exact_mut(s).zip(z.rows()).for_each(|(p, z)| {
                (0..s).for_each(|c| p[c] = z[c] + betas[c] * p[c]);
            });
            zr = new;
        }
        Ok(refinement)
    }
}

impl Sparsified<'_> {
    /// Position of each of `n` nodes among the rows; `u32::MAX` for nodes outside.
    fn places(&self, n: usize) -> Option<Vec<u32>> {
        let rows = self.rows?;
        let mut places = vec![u32::MAX; n];
        rows.iter().enumerate().for_each(|(place, &row)| places[row as usize] = place as u32);
        Some(places)
    }

    /// Projects each column on the constraint.
    fn project(&self, block: &mut Matrix) {
        if self.constraint != Constraint::ZeroMean {
            return;
        }
        let (n, s) = (block.n_rows(), block.n_cols());
        let mut means = vec![0.0; s];
        block.rows().for_each(|row| means.iter_mut().zip(row).for_each(|(mean, v)| *mean += v));
        means.iter_mut().for_each(|mean| *mean /= n as f64);
        block.values_mut().chunks_exact_mut(s).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
    }
}

/// Products with A_G.
struct Product<'a> {
    source: &'a dyn EdgeSource,
    system: &'a Sparsified<'a>,
    places: Option<Vec<u32>>,
}

impl Product<'_> {
    fn of(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        let s = x.n_cols();
        let mut y = Matrix::filled(x.n_rows(), s, 0.0);
        let share = x.n_rows().div_ceil(run.threads()).max(1);
        for_each_portion(self.source, run, |edges| {
            run.install(|| {
                let shares = y.values_mut().par_chunks_mut(share * s).enumerate();
                shares.for_each(|(at, y)| self.add(edges, x, y, at * share));
            });
            Ok(())
        })?;
        if let Some(diagonal) = self.system.diagonal {
            let rows = y.values_mut().chunks_exact_mut(s).zip(x.rows()).zip(diagonal);
            rows.filter(|(_, d)| **d > 0.0).for_each(|((y, x), d)| y.iter_mut().zip(x).for_each(|(y, x)| *y += d * x));
        }
        self.system.project(&mut y);
        Ok(y)
    }

    /// Adds Σ w·(xᵤ − x_v) of `edges` to `y`, which holds the rows from `first` on.
    fn add(&self, edges: &[Edge], x: &Matrix, y: &mut [f64], first: usize) {
        let s = x.n_cols();
        let rows = first..first + y.len() / s;
        let place = |node: u32| self.places.as_ref().map_or(node, |places| places[node as usize]) as usize;
        for edge in edges {
            let (u, v) = (place(edge.u), place(edge.v));
            let outside = u32::MAX as usize;
            if u == outside || v == outside {
                continue;
            }
            for (own, other) in [(u, v), (v, u)] {
                if rows.contains(&own) {
                    let y = &mut y[(own - first) * s..][..s];
                    let (own, other) = (x.row(own), x.row(other));
                    (0..s).for_each(|c| y[c] += edge.weight * (own[c] - other[c]));
                }
            }
        }
    }
}

/// xᵀy of each column.
fn dots(x: &Matrix, y: &Matrix, run: &Run) -> Vec<f64> {
    run.install(|| column_dots(x.values(), y.values(), x.n_rows(), x.n_cols()))
}

/// X ← X + sign·Y·diag(steps).
fn add_scaled(x: &mut Matrix, y: &Matrix, steps: &[f64], sign: f64, run: &Run) {
    let s = steps.len();
    let add = |(x, y): (&mut [f64], &[f64])| (0..s).for_each(|c| x[c] += sign * steps[c] * y[c]);
    run.install(|| x.values_mut().par_chunks_mut(s).zip(y.values().par_chunks(s)).with_min_len(1024).for_each(add));
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}
