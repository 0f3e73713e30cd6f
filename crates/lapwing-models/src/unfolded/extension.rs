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

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Csr, Error, Features, Matrix, Result, Run};
use lapwing_graph::Graph;
use lapwing_solve::{PropagatorParams, Shortfall};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::attention::smoothed;
use super::rows::Inputs;
use crate::NeighborExtension;
use crate::classifier::{store_neighbors, stored_neighbors};

/// Residual of the scores that are returned.
pub(super) const SCORES_TOL: f64 = 1e-8;

/// The layers of f: F = X·W + b, or F = max(0, X·V + a)·W + b, where X are the rows less the center.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// V (d, h), with a in its last row if there is a bias; none if f is linear.
    pub hidden: Option<Matrix>,
    /// W (d or h, c), with b in its last row if there is a bias.
    pub output: Matrix,
    /// Whether the last row of each layer belongs to a constant column.
    pub bias: bool,
    /// Subtracted from rows (d); empty for none.
    pub center: Vec<f64>,
}

impl Layers {
    /// Columns of the features d.
    pub fn n_features(&self) -> usize {
        self.hidden.as_ref().unwrap_or(&self.output).n_rows() - usize::from(self.bias)
    }

    /// The first layer for rows that are not centered, (d or d + 1, h or c): its constants include those of the center.
    pub fn first(&self) -> Matrix {
        let mut first = self.hidden.as_ref().unwrap_or(&self.output).clone();
        for (at, center) in self.center.iter().enumerate() {
            let weights = first.row(at).to_vec();
            first
                .row_mut(self.center.len())
                .iter_mut()
                .zip(weights)
                .for_each(|(bias, weight)| *bias -= center * weight);
        }
        first
    }

    /// f of rows (m, d), (m, c).
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are d columns; [`Error::Columns`] for values that are not finite; [`Error::Interrupted`].
    pub fn outputs(&self, features: &Features<'_>, run: &Run) -> Result<Matrix> {
        if features.n_cols() != self.n_features() {
            let expected = format!("{} columns", self.n_features());
            return Err(Error::shape("features", expected, format!("{} columns", features.n_cols())));
        }
        features.check(run)?;
        let inputs = Inputs::centered(features, self.bias, &self.center)?;
        let Some(hidden) = &self.hidden else { return inputs.times(&self.output, run) };
        let mut units = inputs.times(hidden, run)?;
        units.values_mut().iter_mut().for_each(|x| *x = x.max(0.0));
        let (n, h) = (units.n_rows(), units.n_cols());
        let units = Features::from_f64(n, h, units.into_values())?;
        Inputs::new(&units, self.bias)?.times(&self.output, run)
    }
}

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
    pub step_size: Option<f64>,
    pub attention: Option<f64>,
    /// Added to every score: the mean of the given values in a regression.
    pub offset: f64,
}

impl Settings {
    pub fn propagation(self) -> PropagatorParams {
        let Self { graph_reg, self_loop, steps, step_size, .. } = self;
        PropagatorParams { graph_reg, self_loop, steps, step_size }
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

    /// Columns of the features.
    pub fn n_features(&self) -> usize {
        self.layers.n_features()
    }

    /// Classes, 1 for a regression.
    pub fn n_classes(&self) -> usize {
        self.layers.output.n_cols()
    }

    /// The layers.
    #[doc(hidden)]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// λ, the weight of smoothness over the graph.
    pub fn graph_reg(&self) -> f64 {
        self.settings.graph_reg
    }

    /// The rows of the fit, if new rows are joined to them.
    pub fn neighbors(&self) -> Option<&NeighborExtension<'a>> {
        self.neighbors.as_ref()
    }

    /// Scores (m, c) of new rows (m, d): joined to the rows of the fit, or from their features alone.
    ///
    /// # Errors
    /// As [`Layers::outputs`] and [`NeighborExtension::extend`].
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
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
        Ok(self.offset(out))
    }

    /// Scores (m, c) of rows (m, d) that are the nodes of a graph: the same layers, smoothed over that graph.
    ///
    /// # Errors
    /// [`Error::Shape`] unless graph and features have equally many rows; [`Error::NotConverged`] if scores overflow; as
    /// [`Layers::outputs`].
    ///
    /// # Complexity
    /// O(m·d·c), and c columns of the system of the graph.
    pub fn extend_on(&self, new: &Features<'_>, graph: &Graph, run: &Run) -> Result<Matrix> {
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

    fn offset(&self, mut scores: Matrix) -> Matrix {
        if self.settings.offset != 0.0 {
            scores.values_mut().iter_mut().for_each(|z| *z += self.settings.offset);
        }
        scores
    }

    /// The same extension, owning its data.
    ///
    /// # Errors
    /// None where all rows are in memory.
    pub fn into_owned(self) -> Result<UnfoldedExtension<'static>> {
        let neighbors = match self.neighbors {
            None => None,
            Some(NeighborExtension { features, graph, widths, scores, errors, index }) => {
                let all: Vec<u32> = (0..features.n_rows() as u32).collect();
                Some(NeighborExtension { features: features.select(&all)?, graph, widths, scores, errors, index })
            }
        };
        Ok(UnfoldedExtension { layers: self.layers, settings: self.settings, neighbors })
    }

    /// The extension as bytes, for a pickle.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = ModelFile::new(KIND, json!({ "n_classes": self.n_classes() }));
        self.store(&mut file)?;
        Ok(file.to_bytes())
    }

    /// The extension from the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::Format`] for other bytes, and for arrays that are missing or do not fit together.
    pub fn from_bytes(bytes: &[u8]) -> Result<UnfoldedExtension<'static>> {
        let file = ModelFile::from_bytes(bytes, "the bytes of an unfolded network")?;
        file.expect_kind(&[KIND])?;
        let n_classes = file.meta["n_classes"].as_u64().and_then(|c| usize::try_from(c).ok());
        let n_classes = n_classes.filter(|c| *c > 0).ok_or_else(|| file.error("the number of classes is missing"))?;
        UnfoldedExtension::stored(&file, n_classes)
    }

    /// Adds its arrays to a model.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub(crate) fn store(&self, file: &mut ModelFile) -> Result<()> {
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
            store_neighbors(neighbors, file)?;
        }
        let meta = Meta { settings: self.settings, bias: self.layers.bias, is_inductive: self.neighbors.is_some() };
        let fault = |e| Error::Internal { reason: format!("the settings cannot be written: {e}") };
        file.meta["unfolded"] = serde_json::to_value(meta).map_err(fault)?;
        Ok(())
    }

    /// The extension that [`store`](Self::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<UnfoldedExtension<'static>> {
        let Meta { settings, bias, is_inductive } = Meta::deserialize(&file.meta["unfolded"])
            .map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))?;
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
            layers.center =
                file.numbers::<f64>("layer.center", &[Some(layers.n_features())], Must::Finite)?.1.as_slice().to_vec();
        }
        let neighbors = if is_inductive { Some(stored_neighbors(file, n_classes)?) } else { None };
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

/// Tag of the bytes.
const KIND: &str = "unfolded-network";

/// Hidden states divided by the roots of the degrees, in the form that new nodes take from their neighbors.
pub(super) fn per_root(scores: &Matrix, adjacency: &Csr<f64>, self_loop: f64) -> Matrix {
    let mut out = scores.clone();
    for row in 0..out.n_rows() {
        let root = (self_loop + adjacency.row(row).1.iter().sum::<f64>()).sqrt();
        out.row_mut(row).iter_mut().for_each(|z| *z /= root);
    }
    out
}
