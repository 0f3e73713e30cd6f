//! Parameters of neighbor searches.

use lapwing_core::params::{above, at_least};
use lapwing_core::{Features, choices, parameters};

choices! {
    /// Distance between rows.
    pub enum Metric("metric", default Euclidean) {
        /// ‖x − y‖.
        Euclidean = "euclidean",
        /// 1 − xᵀy / (‖x‖‖y‖), in [0, 2].
        Cosine = "cosine",
        /// −xᵀy: the nearest rows are those of the largest product. Not a distance: it may be negative, and a row need not
        /// be nearest to itself.
        InnerProduct = "inner-product",
    }

    /// Treatment of rows of zeros under the cosine metric; other metrics allow them.
    pub enum ZeroRows("zero_rows", default Error) {
        /// They are an error, which names the first one.
        Error = "error",
        /// They are at distance 1 from every row, as if orthogonal to it.
        Allow = "allow",
    }

    /// Which neighbor search.
    pub enum KnnMethod("knn_method", default Auto) {
        /// Whichever is faster for the size.
        Auto = "auto",
        /// All distances.
        Exact = "exact",
        /// Overlapping partitions, repeated until the measured recall reaches its target.
        Partitions = "partitions",
    }

}

parameters! {
    /// Parameters of a neighbor search.
    pub struct KnnParams {
        /// Neighbors of each row, below the number of rows.
        n_neighbors: usize = 15, in at_least(1.0);
        /// Distance between rows. Auto is cosine for sparse rows (rows of zeros are then allowed) and euclidean for dense rows.
        metric: Option<Metric> = None, or "auto";
        /// Neighbor search. Auto uses the faster one.
        method: KnnMethod = KnnMethod::Auto;
        /// Share of the true neighbors that an approximate search must find.
        recall_target: f64 = 0.95, in above(0.0).at_most(1.0), if [method: "auto", "partitions"];
        /// Rows of zeros under the cosine metric: an error, or at distance 1 from every row.
        zero_rows: ZeroRows = ZeroRows::Error, if [metric: "cosine"];
    }
}

impl Metric {
    /// The metric that auto takes: for sparse rows the cosine, because the length of a row of counts is that of its text.
    pub fn auto(features: &Features<'_>) -> Self {
        if matches!(features, Features::Sparse(_)) { Self::Cosine } else { Self::Euclidean }
    }

    /// The metric and the treatment of rows of zeros of a search whose metric is auto, which no row of zeros may stop.
    pub(super) fn resolve(metric: &mut Option<Self>, zero_rows: &mut ZeroRows, auto: Self) {
        if metric.replace(metric.unwrap_or(auto)).is_none() && auto == Self::Cosine {
            *zero_rows = ZeroRows::Allow;
        }
    }

    /// The squared Euclidean distance that a distance stands for: d², or 2d = ‖x/‖x‖ − y/‖y‖‖² of d = 1 − cos.
    pub(crate) fn squared(self, d: f32) -> f32 {
        match self {
            Self::Cosine => 2.0 * d.max(0.0),
            Self::Euclidean | Self::InnerProduct => d * d,
        }
    }

    /// Whether distances are at least 0, so that no row is nearer than one at distance 0.
    pub(crate) fn is_distance(self) -> bool {
        self != Self::InnerProduct
    }
}

impl KnnParams {
    /// The same with the metric that auto takes for `features`.
    #[must_use]
    pub fn resolved(&self, features: &Features<'_>) -> Self {
        let mut params = self.clone();
        Metric::resolve(&mut params.metric, &mut params.zero_rows, Metric::auto(features));
        params
    }

    /// The metric; where it is auto, that of dense rows.
    pub(crate) fn metric(&self) -> Metric {
        self.metric.unwrap_or_default()
    }
}
