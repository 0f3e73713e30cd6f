//! What an attempt at a block of columns works on: [`Columns`] are the right-hand sides, [`Engine`] is the preconditioner.

use lapwing_core::Matrix;

use super::goal::Goal;
use super::placed::Placed;
use super::scales::{column_scales, scale_columns};
use super::system::System;
use crate::RightHandSides;
use crate::cg::Projection;
use crate::precond::{Bounded, TwoLevel};

/// Right-hand sides in the solver's order of rows.
pub(super) struct Columns {
    pub b: RightHandSides<'static>,
    /// Exponents of two that bring the largest value of each column near 1, so that squares neither vanish nor overflow.
    pub scales: Vec<f64>,
    /// Share of each column that lies outside the range of the system.
    pub discarded: Vec<f64>,
}

impl Columns {
    /// From blocks in the caller's order; also the initial solution, if there is one.
    pub fn new(system: &System, b: &RightHandSides<'_>, start: Option<&Matrix>) -> (Self, Option<Matrix>) {
        let mut b = b.reordered(&system.order);
        let scales = column_scales(&b.given);
        scale_columns(b.given.to_mut(), &scales, 1.0);
        let discarded = match system.projection() {
            Projection::None => vec![0.0; b.n_cols()],
            _ => system.discard(b.fill()),
        };
        let x = start.map(|start| {
            let mut x = system.gathered(start);
            scale_columns(&mut x, &scales, 1.0);
            system.discard(&mut x);
            x
        });
        (Self { b, scales, discarded }, x)
    }

    /// Restores the caller's scales of a solution.
    pub fn unscale(&self, x: &mut Matrix) {
        scale_columns(x, &self.scales, -1.0);
    }
}

/// The preconditioner and the projection of an attempt.
pub(super) struct Engine<'a> {
    pub levels: TwoLevel<'a>,
    pub factor: Option<&'a Placed>,
    pub projection: Projection<'a>,
}

impl Engine<'_> {
    /// The factor, or the preconditioner without one.
    pub fn preconditioner(&self) -> &dyn Bounded {
        match self.factor {
            Some(factor) => factor,
            None => &self.levels,
        }
    }
}

/// An attempt at some columns.
pub(super) struct Task<'a> {
    pub columns: &'a Columns,
    pub goal: Option<&'a dyn Goal>,
    /// Whether a stronger preconditioner is left.
    pub may_fall_back: bool,
    /// Number of earlier attempts.
    pub number: usize,
    /// Iterations of earlier attempts.
    pub spent: usize,
}

impl System {
    /// The preconditioner for `factor`, or the one without a factor, and its projection.
    pub fn engine<'a>(&'a self, factor: Option<&'a Placed>) -> Engine<'a> {
        let projection = match factor {
            Some(_) => self.projection(),
            None => self.projection_of_levels(),
        };
        Engine { levels: self.levels(), factor, projection }
    }
}
