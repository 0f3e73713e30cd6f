//! The commands, one file each.

pub mod audit;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod describe;
mod finished;
pub mod graph;
pub mod label;
pub mod methods;
mod plan;
pub mod predict;
pub mod reference;
pub mod sparsify;
pub mod suggest;
