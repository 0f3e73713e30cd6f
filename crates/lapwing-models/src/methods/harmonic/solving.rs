//! A harmonic problem, and how to solve it.

use lapwing_core::{Matrix, Targets};
use lapwing_graph::{Components, Graph};

use super::params::HarmonicParams;
use super::prior::Prior;
use super::refine::Refiner;

/// A problem and how to solve it.
pub(super) struct Solving<'a> {
    pub graph: &'a Graph,
    pub components: &'a Components,
    pub targets: &'a Targets,
    pub params: &'a HarmonicParams,
    /// For the plain form with soft clamping. All rows then count as one component.
    pub prior: Option<Prior<'a>>,
    pub refiner: Option<&'a Refiner<'a>>,
    /// Whether to compute the [`Influence`](super::influence::Influence) of labels as well; for the plain form with soft clamping.
    pub influence: bool,
    /// Scores (n, c) near the solution.
    pub start: Option<&'a Matrix>,
}

impl<'a> Solving<'a> {
    /// A problem of labels alone, solved from zero.
    pub fn new(graph: &'a Graph, components: &'a Components, targets: &'a Targets, params: &'a HarmonicParams) -> Self {
        Self { graph, components, targets, params, prior: None, refiner: None, influence: false, start: None }
    }
}
