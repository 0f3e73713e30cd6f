//! Parameters of affinity graphs.

use lapwing_core::params::{Parameters, above, at_least};
use lapwing_core::{Error, Features, Result, choices, parameters};

use super::{KnnMethod, KnnParams, LearnModel, LearnParams, Metric, ZeroRows};

choices! {
    /// How a distance becomes an edge weight.
    pub enum Weighting("weights", default SelfTuning) {
        /// exp(−d²/(h²·σᵢσⱼ)), σᵢ the distance of row i to its last neighbor, h the bandwidth (Zelnik-Manor & Perona 2004,
        /// who have h = 1).
        SelfTuning = "self-tuning",
        /// exp(−d²/(2σ²)) with one σ, the bandwidth.
        Gaussian = "gaussian",
        /// max(0, 1 − d), for the cosine metric.
        Cosine = "cosine",
        /// 1 for every edge.
        Binary = "binary",
        /// Learned from the distances by the log-degree model, under which the features are smooth; which pairs are edges is
        /// learned as well.
        Learned = "learned",
        /// Learned by the l2-degree model.
        LearnedL2 = "learned-l2",
    }

    /// How the directed neighbor relation becomes an undirected graph.
    pub enum Symmetrize("symmetrize", default Mean) {
        /// An edge if either row is a neighbor of the other; the larger weight.
        Union = "union",
        /// (W + Wᵀ) / 2: an edge in one direction counts half. Fewer errors than the union on most data sets of
        /// `docs/results.md`.
        Mean = "mean",
        /// An edge only if each row is a neighbor of the other; the smaller weight.
        Mutual = "mutual",
    }
}

parameters! {
    /// How to build an affinity graph from features.
    pub struct GraphParams {
        /// Neighbors of each row. With fewer other rows than this, all of them are neighbors; learned weights refuse that.
        n_neighbors: usize = 15, in at_least(1.0);
        /// Distance between rows. Auto is cosine for sparse rows (rows of zeros are then allowed), and euclidean for dense rows and for
        /// gaussian weights.
        metric: Option<Metric> = None, or "auto";
        /// How a distance becomes an edge weight.
        weights: Weighting = Weighting::SelfTuning;
        /// How the directed neighbor relation becomes an undirected graph.
        symmetrize: Symmetrize = Symmetrize::Mean;
        /// Width of the weights: σ of gaussian weights, in the unit of distances; for self-tuning weights a factor h of the width of
        /// each row. Auto is σ = the median distance to the last neighbor, and h = 0.5.
        bandwidth: Option<f64> = None, or "auto", in above(0.0), if [weights: "self-tuning", "gaussian"];
        /// Neighbor search. Auto uses the faster one.
        knn_method: KnnMethod = KnnMethod::Auto;
        /// Share of the true neighbors that an approximate search must find.
        recall_target: f64 = 0.95, in above(0.0).at_most(1.0), if [knn_method: "auto", "partitions"];
        /// Rows of zeros under the cosine metric: an error, or at distance 1 from every row.
        zero_rows: ZeroRows = ZeroRows::Error, if [metric: "cosine"];
    }
    extra {
        /// How weights are learned, if they are.
        learn: LearnParams = LearnParams::default()
    }
}

/// Default h of the self-tuning weights: exp(−4d²/(σᵢσⱼ)) gives fewer errors than Zelnik-Manor & Perona's
/// exp(−d²/(σᵢσⱼ)) on most data sets of `docs/results.md` from three labels per class on.
pub const SELF_TUNING_BANDWIDTH: f64 = 0.5;

impl Weighting {
    /// The model by which weights are learned; `None` if they are not learned.
    pub fn model(self) -> Option<LearnModel> {
        match self {
            Self::Learned => Some(LearnModel::Log),
            Self::LearnedL2 => Some(LearnModel::L2),
            Self::SelfTuning | Self::Gaussian | Self::Cosine | Self::Binary => None,
        }
    }
}

impl From<LearnModel> for Weighting {
    fn from(model: LearnModel) -> Self {
        match model {
            LearnModel::Log => Self::Learned,
            LearnModel::L2 => Self::LearnedL2,
        }
    }
}

impl GraphParams {
    /// The same for `features`: with no more neighbors than a row has, unless weights are learned, and with the metric that auto
    /// takes. That is the cosine also for cosine weights, which need it, and never for gaussian ones: their width is in the unit of
    /// Euclidean distances, and underflows for rows that share no column with others.
    #[must_use]
    pub fn resolved(&self, features: &Features<'_>) -> Self {
        let mut params = self.clone();
        let auto = match self.weights {
            Weighting::Cosine => Metric::Cosine,
            Weighting::Gaussian => Metric::Euclidean,
            _ => Metric::auto(features),
        };
        Metric::resolve(&mut params.metric, &mut params.zero_rows, auto);
        if self.weights.model().is_none() {
            // A single row has no neighbor, which the search says.
            params.n_neighbors = self.n_neighbors.min(features.n_rows().saturating_sub(1)).max(1);
        }
        params
    }

    /// The metric; where it is auto, that of dense rows.
    pub fn metric(&self) -> Metric {
        self.metric.unwrap_or_default()
    }

    /// Checks every parameter against its range, and against the others.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one that is wrong.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if let Some(sigma) = self.bandwidth
            && !matches!(self.weights, Weighting::SelfTuning | Weighting::Gaussian)
        {
            let expected = format!("auto: {} weights have none", self.weights.name());
            return Err(Error::param("bandwidth", sigma, expected));
        }
        if self.weights.model().is_some() {
            self.learn.check_ranges()?;
            if self.symmetrize != Symmetrize::default() {
                let expected = "mean, the default: learned weights are symmetric as they are";
                return Err(Error::param("symmetrize", self.symmetrize.name(), expected));
            }
        }
        if self.weights == Weighting::Cosine && self.metric.is_some_and(|metric| metric != Metric::Cosine) {
            return Err(Error::param("weights", "cosine", "the cosine metric with cosine weights"));
        }
        if self.metric() == Metric::InnerProduct && self.weights != Weighting::Binary {
            let expected = "binary with the inner-product metric, whose distances may be negative";
            return Err(Error::param("weights", self.weights.name(), expected));
        }
        Ok(())
    }

    /// The search for the neighbors of new rows among `n` fitted ones.
    pub fn knn_of_new(&self, n: usize) -> KnnParams {
        let n_neighbors = match self.weights.model() {
            Some(_) => self.learn.n_allowed_of_new(self.n_neighbors),
            None => self.n_neighbors,
        };
        KnnParams { n_neighbors: n_neighbors.min(n), ..self.knn() }
    }

    /// Parameters of the neighbor search; learned graphs search more neighbors, see [`LearnParams`].
    pub fn knn(&self) -> KnnParams {
        KnnParams {
            n_neighbors: self.n_neighbors,
            metric: self.metric,
            method: self.knn_method,
            recall_target: self.recall_target,
            zero_rows: self.zero_rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lapwing_core::{Csr, Report, Run, Warning};

    use super::*;
    use crate::affinity_graph;

    #[test]
    fn auto_is_the_cosine_where_it_cannot_stop_a_run() {
        // Two rows of zeros, and one that shares no column with any other.
        let entries: Vec<(u32, u32, f32)> =
            (0..20).flat_map(|row| [(row, row % 3, 1.0 + row as f32), (row, 3 + row % 4, 2.0)]).collect();
        let sparse = [entries, vec![(20, 7, 5.0)]].concat();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(23, 8, &sparse).unwrap()));
        let dense = Features::from_f32(5, 1, vec![0.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
        let run = Run::new(Some(2), 0).unwrap();
        for weights in Weighting::ALL.iter().copied() {
            let params = GraphParams { n_neighbors: 4, weights, ..GraphParams::default() };
            let expected = if weights == Weighting::Gaussian { Metric::Euclidean } else { Metric::Cosine };
            assert_eq!(params.resolved(&sparse).metric, Some(expected));
            let on_dense = if weights == Weighting::Cosine { Metric::Cosine } else { Metric::Euclidean };
            assert_eq!(params.resolved(&dense).metric, Some(on_dense));
            assert_eq!(params.resolved(&sparse), params.resolved(&sparse).resolved(&dense));
            affinity_graph(&sparse, &params, &run).unwrap();
            let mut report = Report::default();
            params.note_metric(&sparse, &mut report);
            let is_noted = report.warnings == [Warning::ZeroRows { n_rows: 2, n_samples: 23 }];
            assert_eq!(is_noted, expected == Metric::Cosine, "{weights:?}");
        }
        let asked = GraphParams { metric: Some(Metric::Cosine), ..GraphParams::default() };
        assert_eq!(asked.resolved(&sparse), asked);
        assert!(affinity_graph(&sparse, &asked, &run).unwrap_err().to_string().contains("only zeros"));
    }

    #[test]
    fn a_row_has_no_more_neighbors_than_there_are() {
        let (few, run) = (Features::from_f32(4, 1, vec![0.0, 1.0, 2.5, 3.0]).unwrap(), Run::new(Some(1), 0).unwrap());
        let (params, most) = (GraphParams::default(), GraphParams { n_neighbors: 3, ..GraphParams::default() });
        assert_eq!(params.resolved(&few).n_neighbors, 3);
        let edges = |params| affinity_graph(&few, params, &run).unwrap().graph.n_edges();
        assert_eq!(edges(&params), edges(&most));
        let warnings = |params: &GraphParams| {
            let mut report = Report::default();
            params.note(&few, &mut report);
            report.warnings
        };
        assert_eq!(warnings(&params), [Warning::ManyNeighbors { given: 15, used: 3, n_samples: 4 }]);
        assert!(warnings(&most).is_empty());
        let learned = GraphParams { weights: Weighting::Learned, ..params };
        assert_eq!(learned.resolved(&few).n_neighbors, 15);
        let one = Features::from_f32(1, 1, vec![0.0]).unwrap();
        assert!(
            affinity_graph(&one, &most, &run).unwrap_err().to_string().contains("n_neighbors is 1; expected below")
        );
    }
}
