//! Linear algebra for graphs, sparsifiers and learned models.
//!
//! [`LaplacianSolver`] solves systems of graph Laplacians for any number of right-hand sides at once; it chooses and builds its
//! preconditioner. [`solve`] is the block preconditioned conjugate gradients underneath: one pass over the matrix serves all
//! right-hand sides. [`eigen`] finds the smoothest eigenvectors of a Laplacian; [`dense`], [`products`] and [`Nnls`] serve small
//! and dense problems. Blocks of vectors are row-major (n, s), so that the s values of a row lie together.
//!
//! An internal part of lapwing: its items may change in any version. The items that the crate `lapwing` lists are stable.

mod cg;
mod check;
mod cholesky;
mod components;
pub mod dense;
mod dispatch;
pub mod eigen;
mod gram;
mod graph;
mod kernels;
pub mod laplacian;
pub mod layout;
mod lu;
mod nnls;
mod operator;
mod order;
mod pages;
mod panels;
pub mod precond;
mod probes;
pub mod products;
mod propagator;
mod right_hand_sides;
mod scale;
mod sets;
mod sketch;
mod steps;
mod symmetric;
// For the tests of the workspace, no part of the interface. A Cargo feature in its place would compile every crate above twice.
#[doc(hidden)]
pub mod testkit;

pub use cg::{CgParams, Measure, Projection, Solution, SolveInfo, Stop, iterate, solve};
pub use cholesky::Cholesky;
pub use components::Components;
pub use gram::gram_of_rows;
pub use graph::Graph;
pub use kernels::column_dots;
pub use laplacian::{
    Certificate, CountOpen, Differences, ErrorBounds, FallbackLevel, Goal, LaplacianParams, LaplacianSolver,
    NormalizedSolver, PreconditionerChoice, RowError,
};
pub use lu::Lu;
pub use nnls::Nnls;
pub use operator::{Operator, SddMatrix};
pub use pages::Real;
pub use propagator::{Fill, Propagator, PropagatorParams, Shortfall, Take};
pub use right_hand_sides::RightHandSides;
pub use scale::{exponent_to_one, times_power};
pub use sets::DisjointSets;
pub use sketch::HadamardSketch;
pub use symmetric::{Precision, SymmetricBlocks, SymmetricMatrix, symmetric_bytes};
