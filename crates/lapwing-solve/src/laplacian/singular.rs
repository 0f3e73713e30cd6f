//! Components on which a system is singular: those without a positive diagonal entry.

use crate::Graph;

/// Components of the graph without a positive diagonal entry.
#[derive(Debug, Default)]
pub(super) struct SingularComponents {
    /// Number of the component of each row (n, empty if there is none), `u32::MAX` where the system is regular.
    pub ids: Vec<u32>,
    /// Rows of each.
    pub sizes: Vec<usize>,
}

impl SingularComponents {
    pub(super) fn new(graph: &Graph, diagonal: &[f64]) -> Self {
        if diagonal.iter().all(|g| *g > 0.0) {
            return Self::default();
        }
        let components = graph.components();
        let mut is_regular = vec![false; components.sizes.len()];
        let grounded = diagonal.iter().zip(&components.id).filter(|(g, _)| **g > 0.0);
        grounded.for_each(|(_, &id)| is_regular[id as usize] = true);
        let mut number = vec![u32::MAX; components.sizes.len()];
        let mut sizes = Vec::new();
        for component in (0..number.len()).filter(|&component| !is_regular[component]) {
            number[component] = sizes.len() as u32;
            sizes.push(components.sizes[component]);
        }
        if sizes.is_empty() {
            return Self::default();
        }
        Self { ids: components.id.into_iter().map(|id| number[id as usize]).collect(), sizes }
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.ids.len() + 8 * self.sizes.len()
    }
}
