//! Spectral sparsifiers: a small weighted graph H that replaces a graph G too large to hold, with
//! (1 − ε)·xᵀL_Gx ≤ xᵀL_Hx ≤ (1 + ε)·xᵀL_Gx for all x. Cuts, effective resistances and harmonic functions are preserved with it.
//!
//! Edges are read once, in any order. When the edges held reach a capacity they are thinned: an edge of weight a and effective
//! resistance R is kept with a probability proportional to its leverage score a·R, and its weight is divided by that probability
//! (Kelner & Levin 2013; Calandriello, Lazaric, Valko & Koutis 2015; Calandriello, Lazaric & Valko 2016). The Laplacian of H is
//! that of G in the mean, and H has the components of G at any moment. [`Sampler`] lists other sampling rules.
//!
//! Departures from the published routine: one draw for each edge instead of copies, which spends fewer edges on the same
//! distortion; probabilities from original weights and resistances of the weighted graph; a spanning forest that is always
//! kept; hysteresis; new edges sampled by a bound from the last round before they are held; budgets from a measured law instead
//! of N = α²·n·ln²n/ε², which exceeds most neighbor graphs.
//!
//! | | |
//! |---|---|
//! | distortion | ε ≈ 1.56·(2√(n/q) + n/q) for q edges kept, as a prototype measured over streams of 6 and 20 blocks |
//! | memory | 68 bytes for each edge of the capacity during a round, 24 between rounds, and 2.2 KiB for each node |
//! | time | 32 columns of a Laplacian system on a part of the edges held, each time the graph has grown about capacity/q times; 32 differences for each edge |
//!
//! Parallel over edges, rows and columns. Random streams belong to the seed, the round and the place of an edge, and sums are
//! taken in a fixed order: any number of threads gives the same bits.
//!
//! [`Sparsifier`] (`stream.rs`) holds the edges and calls a round (`round.rs`); `samplers.rs` has the sampling rules, `scores.rs`
//! their scores of edges, `resistance.rs` the resistances.

mod checkpoint;
mod digest;
mod edge;
mod forest;
mod normalized;
mod params;
mod probes;
mod read;
mod report;
mod resistance;
mod round;
mod samplers;
mod scores;
mod sizes;
mod stream;

pub use checkpoint::Checkpoint;
pub use normalized::{RidgeParams, RidgeSparsifier, sparsify_ridge};
pub use params::{Budget, Sampler, SparsifyParams, SparsifyReport};
pub use read::{for_each_portion, sparsify};
pub use resistance::{ResistanceMethod, Resistances, effective_resistances};
pub use sizes::SparsifyPlan;
pub use stream::Sparsifier;
