//! The operator and the preconditioner of a solver as its iterations see them: scaled, and in the solver's order of rows.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{LaplacianSolver, Placed};
use crate::Operator;
use crate::kernels::{BLOCK_ROWS, divide, gather, scatter};
use crate::precond::{Bounded, Preconditioner};

/// diag(s)·(L + D)·diag(s).
pub(super) struct Scaled<'a>(pub &'a LaplacianSolver);

impl Scaled<'_> {
    fn scale(&self, block: &mut [f64], s: usize) {
        if let Some(scaling) = &self.0.scaling {
            block.par_chunks_mut(s).zip(scaling).with_min_len(BLOCK_ROWS).for_each(|(row, scale)| {
                row.iter_mut().for_each(|v| *v *= scale);
            });
        }
    }
}

impl Operator for Scaled<'_> {
    fn n(&self) -> usize {
        self.0.n()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize) {
        let mut scaled = x.to_vec();
        self.scale(&mut scaled, s);
        self.0.matrix.apply(&scaled, y, s);
        self.scale(y, s);
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.0.matrix.diagonal();
        (0..2).for_each(|_| self.scale(&mut diagonal, 1));
        diagonal
    }
}

/// A factor in the order of the solver's rows.
pub(super) struct Applied<'a> {
    pub solver: &'a LaplacianSolver,
    pub placed: &'a Placed,
}

impl Preconditioner for Applied<'_> {
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize) {
        let mut source = Cow::Borrowed(r);
        if let Some(scaling) = &self.solver.scaling {
            divide(source.to_mut(), scaling, s);
        }
        match &self.placed.rows {
            None => self.placed.factor.apply(&source, z, s),
            Some(rows) => {
                let mut gathered = vec![0.0; r.len()];
                gather(&source, rows, &mut gathered, s);
                let mut solved = vec![0.0; r.len()];
                self.placed.factor.apply(&gathered, &mut solved, s);
                scatter(&solved, rows, z, s);
            }
        }
        if let Some(scaling) = &self.solver.scaling {
            divide(z, scaling, s);
        }
    }
}

impl Bounded for Applied<'_> {
    fn variances(&self) -> Vec<f64> {
        let mut variances = self.placed.factor.variances();
        if let Some(rows) = &self.placed.rows {
            let placed = std::mem::replace(&mut variances, vec![0.0; rows.len()]);
            scatter(&placed, rows, &mut variances, 1);
        }
        if let Some(scaling) = &self.solver.scaling {
            variances.iter_mut().zip(scaling).for_each(|(variance, scale)| *variance /= scale * scale);
        }
        variances
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        match &self.placed.rows {
            None => self.placed.factor.color(noise, m),
            Some(rows) => {
                let mut gathered = vec![0.0; noise.len()];
                gather(noise, rows, &mut gathered, m);
                self.placed.factor.color(&mut gathered, m);
                scatter(&gathered, rows, noise, m);
            }
        }
        Scaled(self.solver).scale(noise, m);
    }
}
