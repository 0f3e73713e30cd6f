//! Labels for new points: the weighted mean of their neighbours' scores.
//!
//! f(x) = Σⱼ w(x, xⱼ) fⱼ / Σⱼ w(x, xⱼ) over the k nearest fitted rows, which is what the harmonic condition says of a
//! node with those edges (Delalleau, Bengio & Le Roux 2005, eq. 7). Cost: one neighbour query per new row.

use std::sync::Arc;

use lapwing_data::{Error, Features, Matrix, Result, Run};
use lapwing_graph::{GraphParams, Neighbors, SELF_TUNING_BANDWIDTH, Widths, query};
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
}

impl Extension<'_> {
    /// Scores (m, c) of new rows (m, d); NaN where no neighbour is reached by a label.
    ///
    /// # Errors
    /// `Error::Shape` unless the columns are those of the fit; what a neighbour query refuses; `Error::Interrupted`.
    ///
    /// # Complexity
    /// That of [`query`], and O(m·k·c).
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
        let k = self.graph.n_neighbors.min(n);
        let neighbors = query(&self.features, new, &GraphParams { n_neighbors: k, ..self.graph.clone() }.knn(), run)?;
        let c = self.scores.n_cols();
        let mut out = Matrix::filled(new.n_rows(), c, 0.0);
        run.install(|| {
            let rows = out.values_mut().par_chunks_mut(c.max(1)).with_min_len(256).enumerate();
            rows.for_each(|(row, out)| self.row(&neighbors, row, out));
        });
        Ok(out)
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
