//! Strips of at most sixteen columns: scaling, the iteration, and corrections in single precision.

use std::ops::Range;
use std::sync::atomic::Ordering;

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::blocks::{is_usual, largest_of_columns, scale_columns, scale_rows, scaled_rows};
use super::{
    CORRECTION, Fill, LEAST_REFINED, LEAST_SINGLE, MOST_CORRECTIONS, Propagator, Shortfall, Take, strips_of, together,
};
use crate::blocks::BLOCK_ROWS;
use crate::cg::steps::{self, Correction};
use crate::cg::{CgParams, Guides, Krylov, Measure, Projection, SolveInfo, Stop, Total};
use crate::precond::Inverse;
use crate::real::{Real, zeros};

impl Propagator {
    /// Solves for columns in strips: `fill` writes columns of F, `take` gets those of Z in their order.
    pub(super) fn strips<R: Real>(
        &self,
        n_columns: usize,
        tol: f64,
        run: &Run,
        fill: Fill<'_, R>,
        take: Take<'_, R>,
    ) -> Result<()> {
        let together = together(self.n(), size_of::<R>() == size_of::<f32>());
        let all: Vec<Range<usize>> = strips_of(n_columns).collect();
        run.install(|| {
            for group in all.chunks(together) {
                let solved = group.par_iter().map(|columns| self.strip(columns.clone(), tol, run, fill));
                let solved = solved.collect::<Result<Vec<Vec<R>>>>()?;
                group.iter().zip(solved).try_for_each(|(columns, part)| take(columns.clone(), &part))?;
            }
            Ok(())
        })
    }

    /// Solves for a few columns.
    fn strip<R: Real>(&self, columns: Range<usize>, tol: f64, run: &Run, fill: Fill<'_, R>) -> Result<Vec<R>> {
        let s = columns.len();
        let mut part = zeros::<R>(self.n() * s);
        fill(columns, &mut part);
        // Squares of very small or large values vanish or overflow. Such columns are scaled by a power of two, which rounds
        // nothing.
        let largest = largest_of_columns(&part, s);
        let is_scaled = !largest.iter().copied().all(is_usual);
        let unit: Vec<i32> = largest.into_iter().map(|x| if is_usual(x) { 0 } else { R::exponent(x) }).collect();
        let powers = |sign: i32| -> Vec<R> { unit.iter().map(|e| R::round(2f64.powi(sign * e))).collect() };
        if is_scaled {
            scale_columns(&mut part, &powers(-1));
        }
        let (g, part) = self.right_hand_side(part, s);
        let u = match self.params.steps {
            Some(steps) => self.unfold(&g, s, steps, run)?,
            None => {
                let is_refined = (LEAST_REFINED..LEAST_SINGLE).contains(&tol) && self.is_mild();
                let (u, shortfall) =
                    if is_refined { self.refine(g, s, tol, run)? } else { self.iterate(g, s, tol, run)? };
                self.note(shortfall);
                u
            }
        };
        let mut z = self.smoothed(u, part, s);
        if is_scaled {
            scale_columns(&mut z, &powers(1));
        }
        Ok(z)
    }

    /// D^(1/2)·F/λ in the order of the rows; and the block of F, for reuse, if it was only copied.
    fn right_hand_side<R: Real>(&self, mut part: Vec<R>, s: usize) -> (Vec<R>, Vec<R>) {
        let scale = |row: usize| R::round(self.root[row] / self.params.graph_reg);
        let Some(order) = &self.order else {
            scale_rows(&mut part, s, scale);
            return (part, Vec::new());
        };
        let mut g = zeros::<R>(part.len());
        scaled_rows(&part, s, &order.nodes, &mut g, |row, _| scale(row));
        (g, part)
    }

    /// D^(1/2)·u in the order of the nodes; `part` is the block for the result if the orders differ.
    fn smoothed<R: Real>(&self, mut u: Vec<R>, mut part: Vec<R>, s: usize) -> Vec<R> {
        let Some(order) = &self.order else {
            scale_rows(&mut u, s, |row| R::round(self.root[row]));
            return u;
        };
        scaled_rows(&u, s, &order.rows, &mut part, |_, row| R::round(self.root[row]));
        part
    }

    /// u ← u − αλ·D⁻¹·(M·u − g), M = D/λ + L, from u = λ·D⁻¹·g.
    fn unfold<R: Real>(&self, g: &[R], s: usize, steps: usize, run: &Run) -> Result<Vec<R>> {
        let reg = self.params.graph_reg;
        let alpha = 1.0 / (1.0 + reg * self.growth);
        let mut u = g.to_vec();
        scale_rows(&mut u, s, |row| R::round(reg / (self.root[row] * self.root[row])));
        let mut product = zeros::<R>(u.len());
        for _ in 0..steps {
            run.check()?;
            self.matrix.product(&u, &mut product, s);
            u.par_chunks_mut(s)
                .zip(&self.root)
                .zip(product.par_chunks(s).zip(g.par_chunks(s)))
                .with_min_len(BLOCK_ROWS)
                .for_each(|((u, root), (product, g))| {
                    let factor = R::round(alpha * reg / (root * root));
                    u.iter_mut().zip(product).zip(g).for_each(|((u, p), g)| *u = *u - factor * (*p - *g));
                });
        }
        self.passes.fetch_add((steps * s) as u64, Ordering::Relaxed);
        Ok(u)
    }

    /// Solves M·u = g. Corrections in single precision are added until the residual r = g − M·u, kept in the precision of the
    /// columns, is small.
    fn refine<R: Real>(&self, g: Vec<R>, s: usize, tol: f64, run: &Run) -> Result<(Vec<R>, Option<Shortfall>)> {
        let correction = Correction::new(&Inverse::<R>::from(&self.jacobi), Projection::None, self.n(), run)?;
        let rest = vec![0.0; s];
        let mut r = g;
        let (mut u, mut product) = (zeros::<R>(r.len()), zeros::<R>(r.len()));
        let descend = |r: &mut Vec<R>, product: &[R], lengths: &[f64]| {
            correction.diagonal_products(&steps::descend(r, product, lengths, &rest, &correction)).1
        };
        let mut rz = descend(&mut r, &product, &rest);
        let first = rz.clone();
        let mut left = 1.0;
        for _ in 0..MOST_CORRECTIONS {
            let lengths: Vec<f64> = rz.iter().map(|rz| rz.sqrt()).collect();
            let unit: Vec<f64> = lengths.iter().map(|l| if *l > 0.0 { l.recip() } else { 0.0 }).collect();
            let mut scaled = zeros::<f32>(r.len());
            scaled.par_chunks_mut(s).zip(r.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(to, r)| {
                to.iter_mut().zip(r).zip(&unit).for_each(|((to, r), unit)| *to = (r.wide() * unit) as f32);
            });
            let (found, _) = self.iterate(scaled, s, (0.5 * tol / left).max(CORRECTION), run)?;
            let found = f32::cast::<R>(found);
            self.matrix.product(&found, &mut product, s);
            self.passes.fetch_add(s as u64, Ordering::Relaxed);
            steps::add(&mut u, (&found, s), &lengths);
            rz = descend(&mut r, &product, &lengths);
            let relative =
                rz.iter().zip(&first).map(|(rz, first)| if *first == 0.0 { 0.0 } else { (rz / first).sqrt() });
            left = relative.fold(0.0f64, |worst, r| if r.is_nan() || r > worst { r } else { worst });
            if left <= tol {
                return Ok((u, None));
            }
        }
        Ok((u, Some(Shortfall { n_iter: MOST_CORRECTIONS, residual: left, tol })))
    }

    /// Solves M·u = g from zero by conjugate gradients with the diagonal, each column with its own steps.
    fn iterate<R: Real>(&self, g: Vec<R>, s: usize, tol: f64, run: &Run) -> Result<(Vec<R>, Option<Shortfall>)> {
        // Twice the upper bound that follows from the condition number.
        let max_iter = (self.condition().sqrt() * (2.0 / tol).ln()).ceil() as usize + 20;
        let params = CgParams { tol, max_iter, measure: Measure::Energy, ..CgParams::default() };
        let (run, inverse) = (run.quiet(), Inverse::from(&self.jacobi));
        let krylov = Krylov::<R>::new(&self.matrix, inverse, Projection::None, params, &run)?;
        let (mut u, mut info) = (Vec::new(), SolveInfo::new(s));
        let all: Vec<usize> = (0..s).collect();
        krylov.iterate(g, &vec![1.0; s], Total { x: &mut u, width: s }, &all, &mut info, Guides::default())?;
        self.passes.fetch_add((info.curve.len() * s) as u64, Ordering::Relaxed);
        let last = info.curve.last().copied().unwrap_or(0.0);
        // The curve leaves out columns that overflowed.
        let residual = if info.reason == Stop::Stagnated && last <= tol { f64::NAN } else { last };
        let shortfall = Shortfall { n_iter: info.curve.len(), residual, tol };
        Ok((u, (info.reason != Stop::Converged).then_some(shortfall)))
    }
}
