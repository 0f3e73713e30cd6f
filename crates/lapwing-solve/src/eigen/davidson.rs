//! The iteration: generalized Davidson with thick restarts; see the [module](super).

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, SolveSummary, Stream, fallen};
use rand::RngExt;

use super::space::{Ritz, Space};
use super::tall::{orthonormal_in_order, select};
use super::{ROUNDING, Search, Sizes};
use crate::blocks::{BLOCK_ROWS, column_dots};
use crate::cg::subtract_component_means;
use crate::columns::write_columns;
use crate::dispatch::WIDEST;

/// Relative residual of the solves for corrections. From 0.3 to 0.03 the time hardly changes.
const ROUGH_TOL: f64 = 0.1;
/// The share of the tolerance at which the residual of the recursion counts as converged; the rest is for its rounding errors.
const SHARE: f64 = 0.9;
/// The same for residuals of L⁺, so that those of L are within the tolerance.
const INVERSE_SHARE: f64 = 0.1;
/// Steps without progress, and recomputed residuals that contradict the recursion, after which L⁺ takes over, or the search ends.
const PATIENCE: usize = 30;
const MOST_CONTRADICTIONS: usize = 3;
/// Most attempts to fill a space with random directions.
const FILLS: u64 = 3;
/// Part of a unit vector that counts as a new direction.
const LEAST_PART: f64 = 1e-6;

/// The operator whose smallest eigenvalues are sought.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// L, with rough solves as corrections.
    Laplacian,
    /// −L⁺, by accurate solves, with residuals as directions: block Lanczos.
    Inverse,
}

enum End {
    Converged,
    /// Neither is there an answer, nor anything left to try.
    Short,
    /// The residuals of these pairs are rounding errors of the vectors, and above the tolerance; the others have converged.
    AtFloor(Vec<usize>),
    /// Products with L bring no more progress.
    Stuck,
}

/// What is known of a wanted pair.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    Open,
    Done,
    /// Its residual is rounding error of the vector, and still above the tolerance.
    AtFloor,
}

/// Ritz vectors and their residuals.
#[derive(Default)]
struct Measured {
    at: Vec<usize>,
    /// A·u − θu (n, s).
    residuals: Matrix,
    /// ‖Au − θu‖ / |θ| of each.
    relative: Vec<f64>,
    /// Rounding error of u in the same measure; 0 for L⁺.
    floors: Vec<f64>,
}

/// Whether the first open pair makes progress.
struct Watch {
    n_done: usize,
    best: f64,
    since: usize,
}

impl Watch {
    fn is_stuck(&mut self, n_done: usize, relative: f64) -> bool {
        if n_done > self.n_done || relative < 0.5 * self.best {
            *self = Self { n_done, best: relative, since: 0 };
        } else {
            self.since += 1;
        }
        self.since > PATIENCE
    }
}

impl Search<'_> {
    /// The wanted vectors, orthonormal (n, wanted), by ascending eigenvalue.
    pub(super) fn davidson(&mut self, info: &mut SolveSummary) -> Result<Matrix> {
        let keep = Sizes::new(self.wanted).keep;
        self.solver.set_tol(ROUGH_TOL)?;
        let (mut found, mut end) = (self.solve(&self.random(keep, 0)?)?, End::Stuck);
        // Squares of products with weights beyond that may leave f64.
        let weights = self.graph.adjacency().values();
        if weights.iter().all(|w| (1e-90..1e90).contains(w)) {
            (found, end) = self.iterate(Side::Laplacian, found, info)?;
        }
        self.solver.set_tol(self.params.fine_tol())?;
        let settled = if let End::AtFloor(at) = &end { self.settled(&found, at)? } else { None };
        if let Some(settled) = settled {
            (found, end) = (settled, End::Converged);
        }
        if matches!(end, End::AtFloor(_) | End::Stuck) {
            let (better, end_of_inverse) = self.iterate(Side::Inverse, found.clone(), info)?;
            let first = select(&found, &(0..self.wanted).collect::<Vec<_>>())?;
            // Where an eigenvalue is below the last digits of the weights, L⁺ may lose the others beside it.
            let is_better = matches!(end_of_inverse, End::Converged) || self.n_within(&better) > self.n_within(&first);
            found = if is_better { better } else { first };
            end = end_of_inverse;
        }
        info.converged = matches!(end, End::Converged);
        Ok(found)
    }

    /// The wanted ones of the vectors `found`, L⁺ applied to those `at`, if that shows that these are eigenvectors.
    fn settled(&self, found: &Matrix, at: &[usize]) -> Result<Option<Matrix>> {
        let (n, s) = (found.n_rows(), at.len());
        let u = select(found, at)?;
        let mut x = u.clone();
        self.apply_inverse(&mut x)?;
        let values = column_dots(u.values(), x.values(), n, s);
        let mut residuals = x.clone();
        subtract_scaled(&mut residuals, &u, &values);
        let squares = column_dots(residuals.values(), residuals.values(), n, s);
        let limit = INVERSE_SHARE * self.params.tol;
        if !squares.iter().zip(&values).all(|(square, value)| square.sqrt() <= limit * value) {
            return Ok(None);
        }
        let mut wanted = select(found, &(0..self.wanted).collect::<Vec<_>>())?;
        write_columns(wanted.values_mut(), self.wanted, x.values(), s, at);
        Ok(orthonormal_in_order(wanted))
    }

    /// Iterates from the vectors `start` (n, ·). Returns the wanted vectors; if work is left for L⁺, as many as a
    /// restart keeps.
    fn iterate(&self, side: Side, start: Matrix, info: &mut SolveSummary) -> Result<(Matrix, End)> {
        let Sizes { keep, capacity, block } = Sizes::new(self.wanted);
        let mut space = Space::new(start.n_rows(), capacity);
        self.add(side, &mut space, start)?;
        self.fill(side, &mut space, keep)?;
        let mut status = vec![Status::Open; self.wanted];
        let (mut watch, mut n_contradictions) = (Watch { n_done: 0, best: f64::INFINITY, since: 0 }, 0);
        // Coefficients of the improved vectors one step ago.
        let mut previous = Matrix::filled(0, 0, 0.0);
        loop {
            self.run.check()?;
            let ritz = space.ritz()?;
            let open = self.open(side, &space, &ritz, block, &mut status)?;
            let n_done = status.iter().filter(|status| **status == Status::Done).count();
            self.run.share(self.done(n_done, &open), &format!("{n_done} of {} eigenvectors", self.wanted));
            let (mut is_over, is_spent) = (open.at.is_empty(), info.n_iter >= self.params.max_iter);
            if is_over && side == Side::Inverse {
                // Vectors may have changed places since they were judged.
                is_over = self.are_done(side, &space, &ritz, INVERSE_SHARE, &mut status)?;
                if !is_over && !is_spent {
                    info.n_iter += 1;
                    continue;
                }
            }
            let is_stuck = !is_over && watch.is_stuck(n_done, open.relative.first().copied().unwrap_or(f64::INFINITY));
            if side == Side::Inverse && (is_over || is_stuck || is_spent) {
                let found = space.vectors(&ritz.leading(self.wanted)?);
                drop(space);
                return Ok((self.polished(found)?, if is_over { End::Converged } else { End::Short }));
            }
            if is_over {
                let end;
                (space, end) = self.judged_again(space, &ritz, keep, &mut status)?;
                n_contradictions += 1;
                let end = end.or((n_contradictions >= MOST_CONTRADICTIONS).then_some(End::Stuck));
                if let Some(end) = end {
                    let kept = if matches!(end, End::Converged) { self.wanted } else { keep };
                    return Ok((space.vectors(&space.ritz()?.leading(kept)?), end));
                }
                previous = Matrix::filled(0, 0, 0.0);
                continue;
            }
            if is_spent || is_stuck {
                let (kept, end) = if is_spent { (self.wanted, End::Short) } else { (keep, End::Stuck) };
                return Ok((space.vectors(&ritz.leading(kept)?), end));
            }
            info.n_iter += 1;
            let directions = if side == Side::Laplacian { self.solve(&open.residuals)? } else { open.residuals };
            if space.used + directions.n_cols() > space.capacity {
                space.rotate(&restart(&ritz, keep, &previous)?);
                previous = units(space.used, &open.at);
            } else {
                previous = select(&ritz.vectors, &open.at)?;
            }
            if self.add(side, &mut space, directions)? == 0 {
                // The space is invariant, and only random vectors lead out of it.
                self.add(side, &mut space, self.random(open.at.len(), info.n_iter as u64)?)?;
            }
        }
    }

    /// Share of the search that is done: the pairs found, and how far the residuals of the next ones have fallen, in logarithms.
    fn done(&self, n_done: usize, open: &Measured) -> f64 {
        let shares = open.relative.iter().map(|relative| fallen(1.0, self.params.tol, *relative));
        (n_done as f64 + shares.sum::<f64>()) / self.wanted as f64
    }

    /// Extends the space by what `directions` add to it, and returns their number.
    fn add(&self, side: Side, space: &mut Space, directions: Matrix) -> Result<usize> {
        if directions.values().iter().any(|v| !v.is_finite()) {
            return Err(self.too_far_apart());
        }
        let w = space.orthonormal(directions, &|w| self.without_null(w), self.run)?;
        let all: Vec<usize> = (0..w.n_cols()).collect();
        for at in all.chunks(WIDEST) {
            self.run.check()?;
            let w = select(&w, at)?;
            let products = if side == Side::Inverse {
                let mut products = self.solve(&w)?;
                products.values_mut().iter_mut().for_each(|v| *v = -*v);
                products
            } else {
                let mut products = Matrix::filled(w.n_rows(), at.len(), 0.0);
                self.graph.laplacian().product(w.values(), products.values_mut(), at.len());
                products
            };
            space.extend(&w, &products);
        }
        Ok(all.len())
    }

    /// Extends the space by random directions to `count` vectors: solves for random vectors are nearly parallel if one eigenvalue is
    /// far below the others, and what they have in common is known after one.
    fn fill(&self, side: Side, space: &mut Space, count: usize) -> Result<()> {
        for draw in 1..=FILLS {
            if space.used >= count {
                return Ok(());
            }
            let random = self.random(count - space.used, u64::MAX - draw)?;
            self.add(side, space, random)?;
        }
        if space.used < self.wanted { Err(self.too_far_apart()) } else { Ok(()) }
    }

    /// Random vectors (n, s), orthogonal to the null vectors.
    fn random(&self, s: usize, draw: u64) -> Result<Matrix> {
        let n = self.graph.n_samples();
        let mut rng = self.run.rng(Stream::Start, draw);
        let mut block = Matrix::new(n, s, (0..n * s).map(|_| rng.random_range(-1.0..1.0f64)).collect())?;
        self.without_null(&mut block);
        Ok(block)
    }

    /// Takes the null vectors out of a block.
    fn without_null(&self, block: &mut Matrix) {
        let s = block.n_cols();
        if s > 0 {
            subtract_component_means(block.values_mut(), s, &self.components.id, &self.components.sizes);
        }
    }

    /// The residuals of the Ritz vectors `at`.
    fn measured(&self, side: Side, space: &Space, ritz: &Ritz, at: Vec<usize>) -> Result<Measured> {
        let (n, s) = (self.graph.n_samples(), at.len());
        let coefficients = select(&ritz.vectors, &at)?;
        let (mut u, mut residuals) = (space.vectors(&coefficients), space.products_of(&coefficients));
        let values: Vec<f64> = at.iter().map(|&k| ritz.values[k]).collect();
        subtract_scaled(&mut residuals, &u, &values);
        let relative = |block: &Matrix| -> Vec<f64> {
            let squares = column_dots(block.values(), block.values(), n, s);
            squares.iter().zip(&values).map(|(square, value)| square.sqrt() / value.abs()).collect()
        };
        let mut floors = vec![0.0; s];
        if side == Side::Laplacian {
            let rows = u.values_mut().par_chunks_mut(s).zip(self.graph.degree()).with_min_len(BLOCK_ROWS);
            rows.for_each(|(u, degree)| u.iter_mut().for_each(|u| *u *= 2.0 * f64::EPSILON * degree));
            floors = relative(&u);
        }
        Ok(Measured { relative: relative(&residuals), at, residuals, floors })
    }

    /// Notes which pairs are within a share of the tolerance, or of what rounding allows.
    fn judge(&self, measured: &Measured, share: f64, status: &mut [Status]) {
        for ((&k, relative), floor) in measured.at.iter().zip(&measured.relative).zip(&measured.floors) {
            status[k] = if *relative <= share * self.params.tol {
                Status::Done
            } else if *relative <= ROUNDING * floor {
                Status::AtFloor
            } else {
                Status::Open
            };
        }
    }

    /// Judges all wanted pairs, and returns whether all are done.
    fn are_done(&self, side: Side, space: &Space, ritz: &Ritz, share: f64, status: &mut [Status]) -> Result<bool> {
        self.judge(&self.measured(side, space, ritz, (0..self.wanted).collect())?, share, status);
        Ok(status.iter().all(|status| *status == Status::Done))
    }

    /// Judges the wanted pairs by products that no recursion has passed on: the space of these products, and the end of the search if no
    /// pair is open.
    fn judged_again(
        &self,
        space: Space,
        ritz: &Ritz,
        keep: usize,
        status: &mut [Status],
    ) -> Result<(Space, Option<End>)> {
        let space = self.recomputed(space, ritz, keep)?;
        if self.are_done(Side::Laplacian, &space, &space.ritz()?, 1.0, status)? {
            return Ok((space, Some(End::Converged)));
        }
        let is_open = status.contains(&Status::Open);
        let at_floor = (0..self.wanted).filter(|&k| status[k] == Status::AtFloor);
        let end = (!is_open).then(|| End::AtFloor(at_floor.collect()));
        Ok((space, end))
    }

    /// The first open pairs, at most `block`.
    fn open(&self, side: Side, space: &Space, ritz: &Ritz, block: usize, status: &mut [Status]) -> Result<Measured> {
        let share = if side == Side::Inverse { INVERSE_SHARE } else { SHARE };
        loop {
            let at: Vec<usize> = (0..self.wanted).filter(|&k| status[k] == Status::Open).take(block).collect();
            if at.is_empty() {
                return Ok(Measured::default());
            }
            let measured = self.measured(side, space, ritz, at)?;
            self.judge(&measured, share, status);
            let open: Vec<usize> = (0..measured.at.len()).filter(|&i| status[measured.at[i]] == Status::Open).collect();
            if open.len() == measured.at.len() {
                return Ok(measured);
            }
            if !open.is_empty() {
                return Ok(Measured {
                    at: open.iter().map(|&i| measured.at[i]).collect(),
                    residuals: select(&measured.residuals, &open)?,
                    relative: open.iter().map(|&i| measured.relative[i]).collect(),
                    floors: open.iter().map(|&i| measured.floors[i]).collect(),
                });
            }
        }
    }

    /// The `keep` best vectors as a space, orthonormalized again and with products that no recursion has passed on.
    fn recomputed(&self, space: Space, ritz: &Ritz, keep: usize) -> Result<Space> {
        let (capacity, best) = (space.capacity, space.vectors(&ritz.leading(keep)?));
        drop(space);
        let mut space = Space::new(best.n_rows(), capacity);
        self.add(Side::Laplacian, &mut space, best)?;
        self.fill(Side::Laplacian, &mut space, keep)?;
        Ok(space)
    }
}

/// R ← R − U·diag(`values`) for blocks (n, s), s ≥ 1.
fn subtract_scaled(r: &mut Matrix, u: &Matrix, values: &[f64]) {
    let s = values.len();
    let rows = r.values_mut().par_chunks_mut(s).zip(u.values().par_chunks(s)).with_min_len(BLOCK_ROWS);
    rows.for_each(|(r, u)| r.iter_mut().zip(u).zip(values).for_each(|((r, u), value)| *r -= value * u));
}

/// Unit vectors `at` of `m` entries, as columns.
fn units(m: usize, at: &[usize]) -> Matrix {
    let mut out = Matrix::filled(m, at.len(), 0.0);
    at.iter().enumerate().for_each(|(column, &row)| out.row_mut(row)[column] = 1.0);
    out
}

/// Orthonormal coefficients of what a restart keeps: the `keep` best vectors, and what those of the step before add to them.
fn restart(ritz: &Ritz, keep: usize, previous: &Matrix) -> Result<Matrix> {
    let m = ritz.values.len();
    let column = |matrix: &Matrix, k: usize| -> Vec<f64> { matrix.rows().map(|row| row[k]).collect() };
    let mut kept: Vec<Vec<f64>> = (0..keep.min(m)).map(|k| column(&ritz.vectors, k)).collect();
    for k in 0..previous.n_cols() {
        let mut own = column(previous, k);
        own.resize(m, 0.0);
        if (0..2).all(|_| {
            for other in &kept {
                let dot: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
            let norm = own.iter().map(|v| v * v).sum::<f64>().sqrt();
            own.iter_mut().for_each(|v| *v /= norm.max(LEAST_PART));
            norm > LEAST_PART
        }) {
            kept.push(own);
        }
    }
    Matrix::new(m, kept.len(), (0..m).flat_map(|row| kept.iter().map(move |column| column[row])).collect())
}
