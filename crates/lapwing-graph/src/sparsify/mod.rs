//! Spectral sparsifiers: a small weighted graph H in the place of a graph G that is too large to hold, with
//! (1 − ε)·xᵀL_Gx ≤ xᵀL_Hx ≤ (1 + ε)·xᵀL_Gx for all x. Cuts, effective resistances and harmonic functions are preserved with it.
//!
//! Edges are read once, in any order. What is held is thinned whenever it reaches a capacity: an edge of weight a and effective
//! resistance R stays with a probability proportional to its leverage a·R, and then weighs as much more (Kelner & Levin 2013;
//! Calandriello, Lazaric, Valko & Koutis 2015; Calandriello, Lazaric & Valko 2016). The Laplacian of H is that of G in the
//! mean, and its components are those of G at any moment. [`Sampler`] has other ways to draw.
//!
//! Departures from the published routine: one draw for each edge instead of copies, which spends fewer edges on the same
//! distortion; probabilities from original weights and resistances of the weighted graph; a spanning forest that is always
//! kept; hysteresis; edges that the last round bounds are drawn before they are held; budgets from a measured law instead of N = α²·n·ln²n/ε², which exceeds most graphs.
//!
//! | | |
//! |---|---|
//! | distortion | ε ≈ 1.56·(2√(n/q) + n/q) for q edges kept, as measured over streams of 6 and 20 blocks |
//! | memory | 68 bytes for each edge of the capacity while it is thinned, 24 between, and 2.2 KiB for each node |
//! | time | 32 columns of a Laplacian system on a part of the edges held, each time the graph has grown about capacity/q times; 32 differences for each edge |
//!
//! Parallel over edges, rows and columns; streams of random numbers belong to the seed, the round and the place of an edge, and
//! sums are taken in a fixed order, so that any number of threads gives the same bits.

mod checkpoint;
mod digest;
mod forest;
mod held;
mod normalized;
mod params;
mod probes;
mod read;
mod resistance;
mod round;
mod shares;
mod stream;

pub use checkpoint::Checkpoint;
pub(crate) use held::adjacency;
pub use normalized::{RidgeParams, RidgeSparsifier, ridge_leverages, sparsify_ridge};
pub use params::{Budget, Sampler, SparsifyParams, SparsifyPlan, SparsifyReport};
pub use read::{for_each_portion, sparsify};
pub use resistance::{MOST_EXACT, ResistanceMethod, effective_resistances};
pub use stream::Sparsifier;
