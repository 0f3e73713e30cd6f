//! Labels for new points: the weighted mean of their neighbours' scores.
//!
//! f(x) = Σⱼ w(x, xⱼ) fⱼ / Σⱼ w(x, xⱼ) over the k nearest fitted rows, which is what the harmonic condition says of a
//! node with those edges (Delalleau, Bengio & Le Roux 2005, eq. 7). Cost: one neighbour query per new row; where the
//! graph was built by partitions, through an index that the first query makes and a saved model keeps.

use std::sync::{Arc, OnceLock};

use lapwing_data::{Error, Features, Matrix, Result, Run};
use lapwing_graph::{Cells, GraphParams, KnnParams, NeighborIndex, Neighbors, SELF_TUNING_BANDWIDTH, Widths, query};
use rayon::prelude::*;

/// What labels new rows from fitted ones.
#[derive(Clone, Debug)]
pub struct Extension<'a> {
    /// Fitted features (n, d).
    pub features: Features<'a>,
    /// How the fitted graph was built; new points are attached likewise.
    pub graph: GraphParams,
    /// Kernel widths of the fitted rows.
    pub widths: Widths,
    /// Scores of the fitted rows (n, c), NaN where no label reaches.
    pub scores: Arc<Matrix>,
    /// Index of the fitted rows, made when it is first needed.
    pub index: Arc<LazyIndex>,
}

/// An index of fitted rows that is made when it is first needed.
#[derive(Debug, Default)]
pub struct LazyIndex {
    kept: Option<Cells>,
    ready: OnceLock<NeighborIndex>,
}

impl LazyIndex {
    /// One that is made again from what a model kept.
    pub fn kept(cells: Cells) -> Self {
        Self { kept: Some(cells), ready: OnceLock::new() }
    }

    /// What is to be kept of it, if it was made or kept before.
    pub fn cells(&self) -> Option<&Cells> {
        self.ready.get().map(NeighborIndex::cells).or(self.kept.as_ref())
    }

    /// The index of the fitted rows `features`, made now unless it is there; none where all of them are compared.
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    ///
    /// # Complexity
    /// About one partition of the fitted rows and brute force for 500 of them; one copy if its cells were kept.
    pub fn of(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Option<&NeighborIndex>> {
        match NeighborIndex::pays(features, params) {
            true => self.get(features, params, run).map(Some),
            false => Ok(None),
        }
    }

    /// The k nearest of the fitted rows `features` for every row of `new`, through the index where there is one.
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
        match self.of(features, params, run)? {
            Some(index) => index.query(features, new, params, run),
            None => query(features, new, params, run),
        }
    }

    fn get(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<&NeighborIndex> {
        if let Some(index) = self.ready.get() {
            return Ok(index);
        }
        let index = match &self.kept {
            Some(cells) => NeighborIndex::of_cells(features, params, cells.clone(), run)?,
            None => NeighborIndex::build(features, params, run)?,
        };
        // Whoever made it first: all make the same.
        Ok(self.ready.get_or_init(|| index))
    }
}

impl Extension<'_> {
    /// Scores (m, c) of new rows (m, d); NaN where no neighbour is reached by a label.
    ///
    /// # Errors
    /// `Error::Shape` unless the columns are those of the fit; what a neighbour query refuses; `Error::Interrupted`.
    ///
    /// # Complexity
    /// That of [`LazyIndex::query`], and O(m·k·c).
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        let n = self.features.n_rows();
        if self.scores.n_rows() != n {
            return Err(Error::shape(
                "scores of the model",
                format!("{n} rows"),
                format!("{} rows", self.scores.n_rows()),
            ));
        }
        if let Widths::PerRow(widths) = &self.widths
            && widths.len() != n
        {
            return Err(Error::shape("widths of the model", format!("{n} values"), format!("{} values", widths.len())));
        }
        let neighbors = self.index.query(&self.features, new, &self.knn(), run)?;
        let c = self.scores.n_cols();
        let mut out = Matrix::filled(new.n_rows(), c, 0.0);
        run.install(|| {
            let rows = out.values_mut().par_chunks_mut(c.max(1)).with_min_len(256).enumerate();
            rows.for_each(|(row, out)| self.row(&neighbors, row, out));
        });
        Ok(out)
    }

    /// The index of the fitted rows, as [`LazyIndex::of`].
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    pub fn index(&self, run: &Run) -> Result<Option<&NeighborIndex>> {
        self.index.of(&self.features, &self.knn(), run)
    }

    fn knn(&self) -> KnnParams {
        GraphParams { n_neighbors: self.graph.n_neighbors.min(self.features.n_rows()), ..self.graph.clone() }.knn()
    }

    fn row(&self, neighbors: &Neighbors, row: usize, out: &mut [f64]) {
        // The new row's own width, by the rule of the fitted rows.
        let h = self.graph.bandwidth.unwrap_or(SELF_TUNING_BANDWIDTH) as f32;
        let own = h * neighbors.row(row).map(|(_, d)| d).fold(0f32, f32::max);
        let (mut total, mut plain, mut reached) = (0.0, vec![0.0; out.len()], 0.0);
        for (id, distance) in neighbors.row(row) {
            let scores = self.scores.row(id as usize);
            if scores.iter().any(|s| s.is_nan()) {
                continue;
            }
            let width = self.widths.of_row(id as usize);
            let own = if own > 0.0 { own } else { width };
            let weight = self.widths.weight(self.graph.weights, distance, own, width);
            (total, reached) = (total + weight, reached + 1.0);
            out.iter_mut().zip(scores).for_each(|(out, score)| *out += weight * score);
            plain.iter_mut().zip(scores).for_each(|(plain, score)| *plain += score);
        }
        if total > 0.0 {
            out.iter_mut().for_each(|value| *value /= total);
        } else {
            // So far away that every weight underflows: the neighbours count alike. Without any: 0 / 0, NaN.
            out.iter_mut().zip(&plain).for_each(|(value, plain)| *value = plain / reached);
        }
    }
}
