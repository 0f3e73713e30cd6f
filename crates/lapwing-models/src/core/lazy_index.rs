//! The index of the fitted rows, built when it is first needed.

use std::sync::OnceLock;

use lapwing_core::{Features, Result, Run};
use lapwing_graph::{IndexCells, KnnParams, NeighborIndex, Neighbors, query};

/// Share of the time of a query for the index, if there is none yet.
const BUILT: f64 = 0.4;

/// An index of the fitted rows, built by the first query.
#[derive(Debug, Default)]
pub struct LazyIndex {
    kept: Option<IndexCells>,
    ready: OnceLock<NeighborIndex>,
}

impl LazyIndex {
    /// An index that is restored from the cells in a saved model.
    pub fn kept(cells: IndexCells) -> Self {
        Self { kept: Some(cells), ready: OnceLock::new() }
    }

    /// The cells to save, if the index was built or restored.
    pub fn cells(&self) -> Option<&IndexCells> {
        self.ready.get().map(NeighborIndex::cells).or(self.kept.as_ref())
    }

    /// The index of the fitted rows `features`, built now if there is none yet; `None` if a query compares all rows anyway.
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    ///
    /// # Complexity
    /// About one partition of the fitted rows, and brute force for 500 of them; one copy if it is restored.
    pub fn of(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Option<&NeighborIndex>> {
        match NeighborIndex::pays(features, params) {
            true => self.get(features, params, run).map(Some),
            false => Ok(None),
        }
    }

    /// The k nearest of the fitted rows `features` for every row of `new`, by the index unless all rows are compared.
    ///
    /// # Errors
    /// As [`query`].
    ///
    /// # Complexity
    /// That of [`query`] or [`NeighborIndex::query`].
    pub fn query(
        &self,
        features: &Features<'_>,
        new: &Features<'_>,
        params: &KnnParams,
        run: &Run,
    ) -> Result<Neighbors> {
        if !NeighborIndex::pays(features, params) {
            return query(features, new, params, run);
        }
        if let Some(index) = self.ready.get() {
            return index.query(features, new, params, run);
        }
        let index = self.get(features, params, &run.part(0.0..BUILT, "index"))?;
        index.query(features, new, params, &run.part(BUILT..1.0, ""))
    }

    fn get(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<&NeighborIndex> {
        if let Some(index) = self.ready.get() {
            return Ok(index);
        }
        let index = match &self.kept {
            Some(cells) => NeighborIndex::from_cells(features, params, cells.clone(), run)?,
            None => NeighborIndex::build(features, params, run)?,
        };
        // Two threads may build it at once; both get the same index, and the first one stays.
        Ok(self.ready.get_or_init(|| index))
    }
}
