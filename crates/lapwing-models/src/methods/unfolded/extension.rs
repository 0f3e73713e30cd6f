//! The extension to new nodes: the layers, smoothed over a graph of the new nodes or together with the nodes of the fit.
//!
//! Without a graph, each new row is joined to its neighbors among the rows of the fit, whose hidden states Z are kept. Only the
//! new block of the system is solved, and new nodes are not joined to each other:
//!
//! ```text
//! z = (f(x) + λ·Σ wⱼ·zⱼ/√(d·dⱼ)) / (1 + λ·Σ wⱼ/d),   d = self_loop + Σ wⱼ
//! ```
//!
//! If the graph of the fit was given, new rows without a graph have no neighbors: z = f(x). With a graph of the new nodes, its
//! whole system is solved.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Csr, Error, Features, Matrix, Result, Run};
use lapwing_graph::Graph;
use lapwing_solve::{PropagatorParams, Shortfall};
use serde::{Deserialize, Serialize};

use super::attention::smoothed;
use crate::core::extend::{Extend, Extension, Shape};
use crate::core::neighbors::NeighborExtension;
use crate::core::scores::Extended;
use crate::core::stored::{read_settings, settings};
use crate::maps::Layers;

/// Name of the kind.
pub(crate) const KIND: &str = "unfolded";

/// A trained network.
#[derive(Clone, Debug)]
pub struct UnfoldedExtension<'a> {
    layers: Layers,
    settings: Settings,
    /// The rows of the fit with Z·D^(−1/2), if their graph was built from features.
    neighbors: Option<NeighborExtension<'a>>,
}

/// The parameters of the smoothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub graph_reg: f64,
    pub self_loop: f64,
    pub steps: Option<usize>,
    pub attention: Option<f64>,
    /// Added to every score: the mean of the given values in a regression.
    pub offset: f64,
}

impl Settings {
    pub fn propagation(self) -> PropagatorParams {
        let Self { graph_reg, self_loop, steps, .. } = self;
        PropagatorParams { graph_reg, self_loop, steps }
    }
}

/// All fields but the arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    #[serde(flatten)]
    settings: Settings,
    bias: bool,
    is_inductive: bool,
}

impl<'a> UnfoldedExtension<'a> {
    pub(super) fn new(layers: Layers, settings: Settings, neighbors: Option<NeighborExtension<'a>>) -> Self {
        Self { layers, settings, neighbors }
    }

    /// The layers.
    #[cfg(test)]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    fn offset(&self, mut scores: Matrix) -> Matrix {
        if self.settings.offset != 0.0 {
            scores.values_mut().iter_mut().for_each(|z| *z += self.settings.offset);
        }
        scores
    }

    /// The extension that [`store`](Extend::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<UnfoldedExtension<'static>> {
        let Meta { settings, bias, is_inductive } = read_settings(file, &file.meta[KIND])?;
        settings.propagation().validate().map_err(|e| file.error(e.to_string()))?;
        let layer = |name: &str, columns: Option<usize>| -> Result<Matrix> {
            let layer = file.matrix(name, [None, columns], Must::Finite)?;
            let is_filled = layer.n_rows() > usize::from(bias);
            is_filled.then_some(layer).ok_or_else(|| file.error("its layers are empty"))
        };
        let output = layer("layer.output", Some(n_classes))?;
        let units = output.n_rows() - usize::from(bias);
        let hidden = match file.contains("layer.hidden") {
            true => Some(layer("layer.hidden", Some(units))?),
            false => None,
        };
        let mut layers = Layers { hidden, output, bias, center: Vec::new() };
        if file.contains("layer.center") {
            layers.center = file.vector::<f64>("layer.center", &[Some(layers.n_features())], Must::Finite)?;
        }
        let neighbors = if is_inductive { Some(NeighborExtension::stored(file, n_classes)?) } else { None };
        let fits = neighbors.as_ref().is_none_or(|neighbors| neighbors.features.n_cols() == layers.n_features());
        if !fits
            || (!bias && !layers.center.is_empty())
            || !settings.offset.is_finite()
            || settings.attention.is_some_and(|power| !(power > 0.0 && power < 2.0))
        {
            return Err(file.error("its layers, rows and settings do not fit together"));
        }
        Ok(UnfoldedExtension { layers, settings, neighbors })
    }
}

impl Extend for UnfoldedExtension<'_> {
    fn shape(&self) -> Shape {
        Shape { kind: KIND, n_features: self.layers.n_features(), n_outputs: self.layers.output.n_cols() }
    }

    /// New rows are joined to the rows of the fit, or scored from their features alone.
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        let mut out = self.layers.outputs(new, run)?;
        if let Some(neighbors) = &self.neighbors {
            let (sums, totals) = neighbors.sums(new, run)?;
            let Settings { graph_reg, self_loop, .. } = self.settings;
            for (row, total) in totals.into_iter().enumerate() {
                let d = self_loop + total;
                let (own, share) = (1.0 + graph_reg * total / d, graph_reg / d.sqrt());
                let values = out.row_mut(row).iter_mut().zip(sums.row(row));
                values.for_each(|(f, sum)| *f = (*f + share * sum) / own);
            }
        }
        Ok(self.offset(out).into())
    }

    /// Scores (m, c) of rows (m, d) that are the nodes of a graph: the same layers, smoothed over that graph.
    ///
    /// # Errors
    /// [`Error::Shape`] unless graph and features have equally many rows; [`Error::NotConverged`] if scores overflow; as
    /// [`Layers::outputs`].
    ///
    /// # Complexity
    /// O(m·d·c), and c columns of the system of the graph.
    fn extend_on(&self, new: &Features<'_>, graph: &Graph, run: &Run) -> Result<Matrix> {
        let f = self.layers.outputs(new, run)?;
        if graph.n_samples() != f.n_rows() {
            let expected = format!("{} nodes, as there are rows", f.n_rows());
            return Err(Error::shape("the graph", expected, format!("{} nodes", graph.n_samples())));
        }
        let (scores, shortfall) = smoothed(graph, self.settings.propagation(), self.settings.attention, &f, run)?;
        match shortfall {
            Some(Shortfall { n_iter: iterations, residual, tol }) => {
                // Scores have no report that could carry a warning.
                Err(Error::NotConverged { solver: "smoothing over the graph".into(), iterations, residual, tol })
            }
            None => Ok(self.offset(scores)),
        }
    }

    fn takes_graph(&self) -> bool {
        true
    }

    fn misses_graph(&self) -> bool {
        self.neighbors.is_none()
    }

    fn prepare(&self, run: &Run) -> Result<()> {
        self.neighbors.as_ref().map_or(Ok(()), |neighbors| neighbors.prepare(run))
    }

    fn owned(&self) -> Result<Extension<'static>> {
        let neighbors = self.neighbors.as_ref().map(NeighborExtension::with_own_rows).transpose()?;
        Ok(Arc::new(UnfoldedExtension { layers: self.layers.clone(), settings: self.settings, neighbors }))
    }

    /// Settings, layers, and the rows of the fit if new rows are joined to them.
    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let mut insert =
            |name: &str, layer: &Matrix| file.insert(name, &[layer.n_rows(), layer.n_cols()], layer.values().to_vec());
        insert("layer.output", &self.layers.output)?;
        if let Some(hidden) = &self.layers.hidden {
            insert("layer.hidden", hidden)?;
        }
        if !self.layers.center.is_empty() {
            file.insert("layer.center", &[self.layers.center.len()], self.layers.center.clone())?;
        }
        if let Some(neighbors) = &self.neighbors {
            neighbors.store(file)?;
        }
        let meta = Meta { settings: self.settings, bias: self.layers.bias, is_inductive: self.neighbors.is_some() };
        file.meta[KIND] = settings(meta)?;
        Ok(())
    }
}

/// Hidden states divided by the roots of the degrees, in the form that new nodes take from their neighbors.
pub(super) fn per_root(scores: &Matrix, adjacency: &Csr<f64>, self_loop: f64) -> Matrix {
    let mut out = scores.clone();
    for row in 0..out.n_rows() {
        let root = (self_loop + adjacency.row(row).1.iter().sum::<f64>()).sqrt();
        out.row_mut(row).iter_mut().for_each(|z| *z /= root);
    }
    out
}
