//! Refines the solution on a sparsified graph H to the solution on the graph G itself, by a few passes over G's edges.
//!
//! Conjugate gradients for A_G·x = b, with A_H⁻¹ as preconditioner. The condition number is then (1 + ε)/(1 − ε) for a
//! sparsifier of distortion ε, so that a few steps give all digits that labels need. (Calandriello et al. 2015 stop at x =
//! A_H⁻¹b, the first direction here.) A product with A_G is one pass over the edges, for all columns at once; nothing of G is
//! held. Systems on H are solved only to a tolerance, so the iteration is a flexible one.
//!
//! Cost: one pass over the edges and one solve on H for each step; memory: 7 blocks (n, s). In a pass every thread has
//! rows of its own and reads all edges: sums are taken in the order of the stream, by any number of threads.

use std::sync::{Mutex, OnceLock};

use lapwing_core::parallel::*;
use lapwing_core::{Edge, EdgeSource, Matrix, Result, Run, lock};
use lapwing_graph::sparsify::for_each_portion;
use lapwing_solve::precond::{Inverse, Preconditioner};
use lapwing_solve::{CgParams, LaplacianSolver, Operator, Projection, column_dots, iterate};
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
    /// Whether solutions add up to zero.
    pub zero_mean: bool,
    /// Relative residual that is enough.
    pub tol: f64,
}

impl Refiner<'_> {
    /// Refines `x` (n, s), the solution of the sparsified system with the right-hand side `b` (n, s).
    pub fn refine(&self, system: &Sparsified<'_>, b: &Matrix, x: &mut Matrix, run: &Run) -> Result<Refinement> {
        let places = system.places(self.source.n_nodes());
        let product = Product { source: self.source, system, places, energies: OnceLock::new() };
        let norms: Vec<f64> = dots(b.values(), b.values(), b, run).into_iter().map(f64::sqrt).collect();
        let mut r = b.clone();
        system.project(r.values_mut(), b.n_cols());
        let sparsified = dots(x.values(), r.values(), b, run);
        let known = std::mem::replace(x, Matrix::filled(0, 0, 0.0));
        let inner = Inner { system, known: Mutex::new(Some(known)) };
        let params = CgParams { tol: system.tol, max_iter: self.passes, is_flexible: true, ..CgParams::default() };
        let (found, info) = iterate(&product, Inverse::Applied(&inner), Projection::None, r, &norms, params, run)?;
        *x = found;
        let energy_ratios = product.energies.get().map_or([0.0; 2], |whole| range_of_ratios(whole, &sparsified));
        Ok(Refinement { passes: info.curve.len(), residuals: info.curve, energy_ratios })
    }
}

/// Least and largest ratio of the columns, where the denominator is positive.
fn range_of_ratios(numerators: &[f64], denominators: &[f64]) -> [f64; 2] {
    let positive = numerators.iter().zip(denominators).filter(|(_, denominator)| **denominator > 0.0);
    positive
        .map(|(numerator, denominator)| numerator / denominator)
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], ratio| [low.min(ratio), high.max(ratio)])
}

/// A_H⁻¹ as a preconditioner.
struct Inner<'a> {
    system: &'a Sparsified<'a>,
    /// A_H⁻¹b, for the first residual.
    known: Mutex<Option<Matrix>>,
}

impl Preconditioner for Inner<'_> {
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize, run: &Run) -> Result<()> {
        let known = lock(&self.known).take();
        let found = match known {
            Some(known) => known,
            None => self.system.solver.solve(&Matrix::new(r.len() / s, s, r.to_vec())?, None, &run.quiet())?.0,
        };
        z.copy_from_slice(found.values());
        Ok(())
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

    /// Takes the mean off each column of a block (n, s), where solutions add up to zero.
    fn project(&self, block: &mut [f64], s: usize) {
        if !self.zero_mean {
            return;
        }
        let mut means = vec![0.0; s];
        block.chunks_exact(s).for_each(|row| means.iter_mut().zip(row).for_each(|(mean, v)| *mean += v));
        means.iter_mut().for_each(|mean| *mean /= (block.len() / s) as f64);
        block.chunks_exact_mut(s).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
    }
}

/// Products with A_G.
struct Product<'a> {
    source: &'a dyn EdgeSource,
    system: &'a Sparsified<'a>,
    places: Option<Vec<u32>>,
    /// pᵀA_Gp of the first direction p = A_H⁻¹b, for each column.
    energies: OnceLock<Vec<f64>>,
}

impl Operator for Product<'_> {
    fn n(&self) -> usize {
        self.system.solver.n()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize, run: &Run) -> Result<Vec<f64>> {
        y.fill(0.0);
        let share = self.n().div_ceil(run.threads()).max(1);
        for_each_portion(self.source, run, |edges| {
            run.install(|| {
                let shares = y.par_chunks_mut(share * s).enumerate();
                shares.for_each(|(at, y)| self.add(edges, x, y, (at * share, s)));
            });
            Ok(())
        })?;
        if let Some(diagonal) = self.system.diagonal {
            let rows = y.chunks_exact_mut(s).zip(x.chunks_exact(s)).zip(diagonal);
            rows.filter(|(_, d)| **d > 0.0).for_each(|((y, x), d)| y.iter_mut().zip(x).for_each(|(y, x)| *y += d * x));
        }
        self.system.project(y, s);
        let products = run.install(|| column_dots(x, y, self.n(), s));
        self.energies.get_or_init(|| products.clone());
        Ok(products)
    }
}

impl Product<'_> {
    /// Adds Σ w·(xᵤ − x_v) of `edges` to `y`, which holds the rows from `first` on.
    fn add(&self, edges: &[Edge], x: &[f64], y: &mut [f64], (first, s): (usize, usize)) {
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
                    let (own, other) = (&x[own * s..][..s], &x[other * s..][..s]);
                    (0..s).for_each(|c| y[c] += edge.weight * (own[c] - other[c]));
                }
            }
        }
    }
}

/// xᵀy of each column of blocks of the shape of `of`.
fn dots(x: &[f64], y: &[f64], of: &Matrix, run: &Run) -> Vec<f64> {
    run.install(|| column_dots(x, y, of.n_rows(), of.n_cols()))
}
