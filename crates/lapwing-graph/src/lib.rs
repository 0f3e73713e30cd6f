//! Affinity graphs and low-rank affinities from features; sparsifiers of graphs.
//!
//! From features to a graph in one call: [`affinity_graph`]. Step by step: [`kneighbors`] finds neighbors and
//! distances, [`Weighting`] and [`Symmetrize`] turn them into the weights of a [`Graph`].
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

// What tests share names the crate as other crates do.
#[cfg(test)]
extern crate self as lapwing_graph;

mod affinity;
#[cfg(test)]
#[path = "../../../tests/golden/reader.rs"]
mod golden;
mod growth;
pub mod knn;
mod knn_edges;
pub mod learn;
pub mod low_rank;
mod params;
mod plan;
mod relation;
pub mod sparsify;
#[cfg(test)]
#[path = "../../../tests/testkit/mod.rs"]
mod testkit;
mod widths;
mod window;

pub use affinity::{AffinityGraph, affinity_graph, weigh};
pub use knn::{
    IndexCells, IndexStart, KnnReport, NeighborIndex, Neighbors, edge_distances, equal_rows, kneighbors, query,
};
pub use knn_edges::KnnEdges;
pub use lapwing_solve::{Components, Graph};
pub use params::{GraphParams, KnnMethod, KnnParams, Metric, SELF_TUNING_BANDWIDTH, Symmetrize, Weighting, ZeroRows};
pub use plan::{GraphPlan, graph_bytes};
pub use widths::Widths;
pub use window::WindowGraph;
