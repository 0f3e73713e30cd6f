//! Covering a graph by few rows: which cells should hold the next labels.
//!
//! With Z (n, k) the indicators of the cells, K = (Zᵀ(L + τI)Z)⁻¹ says how much a label in one cell tells about another. Scaled to
//!
//! ```text
//! G_ab = K_ab / √(K_aa·K_bb)   in [0, 1]
//! ```
//!
//! it is 1 within a cell and falls off along the graph. Picks are greedy: the next one is the cell b of largest gain
//! Σ_a μ_a·(max(best_a, G_ab) − best_a), where μ is the mass of each cell and best_a the largest G of cell a to a cell that holds a label.
//! The result is within 1 − 1/e of the optimum (facility location; Nemhauser, Wolsey & Fisher 1978).
//!
//! Picking single rows by their posterior variance under the graph, or to reduce it most (VOpt), prefers rows of tiny degree, and
//! k-center prefers outliers: both are worse than rows at random. Cells average that out.
//!
//! A component without a seed is a cell of its own that covers nothing else; there are at most [`MOST_PARTS`] of these, the largest ones.
//!
//! Cost: O(m) for the cells, k³ once, k² for each pick; 8k² bytes.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Stream};
use lapwing_graph::{Components, Graph};
use lapwing_solve::Cholesky;
use rand::seq::index::sample;

use crate::core::cells::{NO_CELL, grow};

/// Most seeds, and rows for each.
const MOST_SEEDS: usize = 1000;
const ROWS_PER_SEED: usize = 5;
/// Most components without a seed that are cells of their own.
const MOST_PARTS: usize = 1000;
/// τ over the mean degree.
const DAMPING: f64 = 0.01;
/// Gain, as a share of all mass, below which everything counts as covered.
const LEAST_GAIN: f64 = 1e-9;
/// Share of the time for cells up to their factor.
const FACTORED: f64 = 0.2;

/// The cells of a graph, and how much they tell about each other.
#[derive(Debug)]
pub(super) struct Cover {
    /// Cell of each row (n), [`NO_CELL`] in small components without a seed.
    pub home: Vec<u32>,
    /// Rows of each cell.
    pub members: Vec<Vec<u32>>,
    /// Weight of each row within its own cell (n).
    pub inner: Vec<f64>,
    /// G among the cells with seeds.
    likeness: Matrix,
}

impl Cover {
    pub fn new(graph: &Graph, components: &Components, run: &Run) -> Result<Self> {
        let n = graph.n_samples();
        let k = MOST_SEEDS.min(n.div_ceil(ROWS_PER_SEED));
        let mut seeds: Vec<u32> =
            sample(&mut run.rng(Stream::Cells, 0), n, k).into_iter().map(|row| row as u32).collect();
        seeds.sort_unstable();
        let mut home = grow(graph, &seeds, run)?;
        let n_cells = k + add_parts(&mut home, k, components);
        let mut members = vec![Vec::new(); n_cells];
        for (row, &cell) in home.iter().enumerate().filter(|(_, cell)| **cell != NO_CELL) {
            members[cell as usize].push(row as u32);
        }
        let inner = |row: usize| {
            let (columns, weights) = graph.adjacency().row(row);
            columns.iter().zip(weights).filter(|(column, _)| home[**column as usize] == home[row]).map(|(_, w)| w).sum()
        };
        let inner = run.install(|| (0..n).into_par_iter().with_min_len(256).map(inner).collect());
        let likeness = likeness(graph, &home, &members[..k], run)?;
        Ok(Self { home, members, inner, likeness })
    }

    /// G of two cells.
    fn like(&self, a: usize, b: usize) -> f64 {
        let k = self.likeness.n_rows();
        if a < k && b < k { self.likeness.row(a)[b] } else { f64::from(u8::from(a == b)) }
    }

    /// Largest G of each cell to those that hold one of `rows`.
    pub fn reach(&self, rows: &[u32]) -> Vec<f64> {
        let mut best = vec![0.0; self.members.len()];
        let mut is_done = vec![false; best.len()];
        for cell in rows.iter().map(|&row| self.home[row as usize]).filter(|cell| *cell != NO_CELL) {
            if !std::mem::replace(&mut is_done[cell as usize], true) {
                self.raise(&mut best, cell as usize);
            }
        }
        best
    }

    fn raise(&self, best: &mut [f64], cell: usize) {
        let k = self.likeness.n_rows();
        if cell < k {
            best.iter_mut().zip(self.likeness.row(cell)).for_each(|(best, like)| *best = best.max(*like));
        } else {
            best[cell] = 1.0;
        }
    }

    /// The picks one after the other: see [`Picks`].
    pub fn picks<'a>(&'a self, mass: Vec<f64>, best: Vec<f64>, run: &'a Run) -> Picks<'a> {
        let total = mass.iter().sum();
        Picks { cover: self, mass, best, total, run }
    }

    /// Cells joined by G above `least`: the region of each cell.
    pub fn regions(&self, least: f64) -> Vec<usize> {
        let k = self.likeness.n_rows();
        let mut sets = lapwing_solve::DisjointSets::new(self.members.len());
        for a in 0..k {
            (0..a).filter(|&b| self.likeness.row(a)[b] > least).for_each(|b| {
                sets.join(a as u32, b as u32);
            });
        }
        (0..self.members.len()).map(|cell| sets.root(cell as u32) as usize).collect()
    }
}

/// Components without a seed become cells from number `k` on, the largest first; returns how many.
fn add_parts(home: &mut [u32], k: usize, components: &Components) -> usize {
    let mut is_open = vec![false; components.sizes.len()];
    home.iter()
        .zip(&components.id)
        .filter(|(cell, _)| **cell == NO_CELL)
        .for_each(|(_, &id)| is_open[id as usize] = true);
    let mut open: Vec<usize> = (0..is_open.len()).filter(|&id| is_open[id]).collect();
    open.sort_by_key(|&id| (std::cmp::Reverse(components.sizes[id]), id));
    open.truncate(MOST_PARTS);
    let mut number = vec![NO_CELL; components.sizes.len()];
    open.iter().enumerate().for_each(|(at, &id)| number[id] = (k + at) as u32);
    for (cell, &id) in home.iter_mut().zip(&components.id).filter(|(cell, _)| **cell == NO_CELL) {
        *cell = number[id as usize];
    }
    open.len()
}

/// G among the cells of `members`.
fn likeness(graph: &Graph, home: &[u32], members: &[Vec<u32>], run: &Run) -> Result<Matrix> {
    let k = members.len();
    let mean = graph.mean_degree();
    let tau = DAMPING * if mean > 0.0 { mean } else { 1.0 };
    let mut coarse = vec![0.0; k * k];
    for (a, rows) in members.iter().enumerate() {
        run.check()?;
        let own = &mut coarse[a * k..(a + 1) * k];
        own[a] += tau * rows.len() as f64;
        for &row in rows {
            let (columns, weights) = graph.adjacency().row(row as usize);
            for (&column, weight) in columns.iter().zip(weights) {
                let b = home[column as usize] as usize;
                if b != a {
                    own[b] -= weight;
                    own[a] += weight;
                }
            }
        }
    }
    let factor = Cholesky::factor(k, coarse, run)?;
    let mut inverse = vec![0.0; k * k];
    let rest = run.part(FACTORED..1.0, "");
    let done = rest.counter(k, "cells compared");
    run.install(|| {
        inverse.par_chunks_exact_mut(k.max(1)).enumerate().for_each(|(a, column)| {
            column[a] = 1.0;
            factor.solve(column);
            done.add(1);
        });
    });
    let root: Vec<f64> = (0..k).map(|a| inverse[a * k + a].sqrt()).collect();
    for (a, row) in inverse.chunks_exact_mut(k.max(1)).enumerate() {
        row.iter_mut().zip(&root).for_each(|(value, root_b)| *value = (*value / (root[a] * root_b)).clamp(0.0, 1.0));
        row[a] = 1.0;
    }
    Matrix::new(k, k, inverse)
}

/// Greedy picks of cells.
pub(super) struct Picks<'a> {
    cover: &'a Cover,
    /// μ of each cell.
    mass: Vec<f64>,
    /// Largest G to a picked cell.
    best: Vec<f64>,
    total: f64,
    run: &'a Run,
}

impl Picks<'_> {
    /// The cell of largest gain per cost, and its gain as a share of all mass. `cost` is that of the row a cell would give, `None` for a
    /// cell without free rows. Once everything is covered, covering starts again.
    pub fn next(&mut self, cost: &(dyn Fn(usize) -> Option<f64> + Sync)) -> Option<(usize, f64)> {
        if self.total <= 0.0 {
            return None;
        }
        let found = match self.best_cell(cost) {
            Some((_, gain)) if gain <= LEAST_GAIN * self.total => {
                self.best.fill(0.0);
                self.best_cell(cost)
            }
            found => found,
        };
        let (cell, gain) = found.filter(|(_, gain)| *gain > 0.0)?;
        self.cover.raise(&mut self.best, cell);
        Some((cell, gain / self.total))
    }

    fn best_cell(&self, cost: &(dyn Fn(usize) -> Option<f64> + Sync)) -> Option<(usize, f64)> {
        let gains = |cell: usize| cost(cell).map(|cost| (cell, self.gain(cell), cost));
        let n = self.mass.len();
        let all: Vec<_> = self.run.install(|| (0..n).into_par_iter().with_min_len(64).filter_map(gains).collect());
        let best = all.into_iter().reduce(|best, next| if next.1 / next.2 > best.1 / best.2 { next } else { best });
        best.map(|(cell, gain, _)| (cell, gain))
    }

    fn gain(&self, cell: usize) -> f64 {
        let k = self.cover.likeness.n_rows();
        if cell >= k {
            return self.mass[cell] * (self.cover.like(cell, cell) - self.best[cell]);
        }
        let row = self.cover.likeness.row(cell);
        row.iter().zip(&self.best).zip(&self.mass).map(|((like, best), mass)| mass * (like - best).max(0.0)).sum()
    }
}
