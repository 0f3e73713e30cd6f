//! Linear algebra on operators: what graphs, sparsifiers and learned models are computed with.
//!
//! [`solve`] is block preconditioned conjugate gradients: one pass over the matrix serves all right-hand sides. Blocks of
//! vectors are row-major (n, s), so that the s values of a row lie together. This crate knows matrices, not graphs as
//! affinities.

mod cg;
pub mod dense;
mod kernels;
mod operator;
pub mod precond;

pub use cg::{CgInfo, CgParams, Projection, solve};
pub use operator::{Operator, SddMatrix};
