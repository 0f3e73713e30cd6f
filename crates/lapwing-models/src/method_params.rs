//! The parameters of all methods.

use lapwing_graph::GraphParams;

use crate::choose::auto::AutoParams;
use crate::core::class_sizes::SizingParams;
use crate::methods::eigenfunction::EigenfunctionParams;
use crate::methods::forest::ForestParams;
use crate::methods::harmonic::{HarmonicParams, SparseHarmonicParams};
use crate::methods::lapsvm::LapSvmParams;
use crate::methods::linear::LinearParams;
use crate::methods::low_rank::LowRankParams;
use crate::methods::nearest_label::NearestLabelParams;
use crate::methods::simple_harmonic::SimpleHarmonicParams;
use crate::methods::subsampling::SubsamplingParams;
use crate::methods::unfolded::UnfoldedParams;

/// Parameters of all methods. A method uses the structs that its [`MethodSpec`](crate::MethodSpec) lists.
#[derive(Clone, Debug, Default)]
pub struct MethodParams {
    /// The automatic choice.
    pub auto: AutoParams,
    /// The graph, for methods that use one.
    pub graph: GraphParams,
    /// Harmonic propagation.
    pub harmonic: HarmonicParams,
    /// Sparsifying, for harmonic propagation on a sparsified graph.
    pub sparse: SparseHarmonicParams,
    /// Low-rank propagation.
    pub low_rank: LowRankParams,
    /// Laplacian SVM and least squares.
    pub lapsvm: LapSvmParams,
    /// Unfolded graph networks.
    pub unfolded: UnfoldedParams,
    /// Harmonic propagation among a sample of the rows.
    pub subsampling: SubsamplingParams,
    /// Least squares on smooth eigenvectors of the graph.
    pub simple_harmonic: SimpleHarmonicParams,
    /// Eigenfunctions of the density.
    pub eigenfunction: EigenfunctionParams,
    /// The nearest labeled row.
    pub nearest_label: NearestLabelParams,
    /// Randomized and bagged trees on the labeled rows.
    pub forest: ForestParams,
    /// Logistic regression on the labeled rows.
    pub linear: LinearParams,
    /// Class sizes, for all methods except harmonic propagation, whose own parameters include them.
    pub sizing: SizingParams,
}
