//! Linear algebra for graphs, sparsifiers and learned models.
//!
//! [`LaplacianSolver`] solves systems of graph Laplacians for any number of right-hand sides at once; it chooses and builds its
//! preconditioner. [`solve`] is the block preconditioned conjugate gradients underneath: one pass over the matrix serves all
//! right-hand sides. [`eigen`] finds the smoothest eigenvectors of a Laplacian; [`dense`], [`products`] and [`Nnls`] serve small
//! and dense problems. Blocks of vectors are row-major (n, s), so that the s values of a row lie together.
//!
//! An internal part of lapwing: its items may change in any version. The items that the crate `lapwing` lists are stable.

// What tests share names the crate as other crates do.
#[cfg(test)]
extern crate self as lapwing_solve;

mod blocks;
mod cg;
mod check;
mod cholesky;
mod columns;
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
mod panels;
pub mod precond;
mod probes;
pub mod products;
mod propagator;
mod real;
mod right_hand_sides;
mod scale;
mod sdd_matrix;
mod sets;
mod sketch;
mod symmetric;
#[cfg(test)]
#[path = "../../../tests/testkit/graphs.rs"]
mod testkit;

pub use blocks::column_dots;
pub use cg::{CgParams, Measure, Projection, Solution, SolveInfo, Stop, iterate, solve};
pub use cholesky::Cholesky;
pub use components::Components;
pub use gram::gram_of_rows;
pub use graph::Graph;
pub use laplacian::{
    Certificate, CountOpen, Differences, ErrorBounds, Goal, LaplacianParams, LaplacianSolver, NormalizedSolver,
    PreconditionerChoice, RowError,
};
pub use lu::Lu;
pub use nnls::Nnls;
pub use operator::Operator;
pub use precond::FallbackLevel;
pub use propagator::{Fill, Propagator, PropagatorParams, Shortfall, Take};
pub use real::Real;
pub use right_hand_sides::RightHandSides;
pub use scale::{exponent_to_one, times_power};
pub use sdd_matrix::SddMatrix;
pub use sets::DisjointSets;
pub use sketch::HadamardSketch;
pub use symmetric::{Precision, SymmetricBlocks, SymmetricMatrix, symmetric_bytes};
