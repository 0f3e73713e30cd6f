//! Simple methods that others are measured against: nearest label, subsampling, least squares on smooth eigenvectors of
//! the graph, eigenfunctions of the density, and methods of the labeled rows alone.

mod eigenfunction;
mod nearest_label;
mod simple_harmonic;
mod subsampling;
mod supervised;

pub(crate) use eigenfunction::EIGENFUNCTION;
pub use eigenfunction::{Eigenfunction, EigenfunctionExtension, EigenfunctionParams, EigenfunctionParts};
pub(crate) use nearest_label::NEAREST_LABEL;
pub use nearest_label::{NearestLabel, NearestLabelParams};
pub(crate) use simple_harmonic::SIMPLE_HARMONIC;
pub use simple_harmonic::{SimpleHarmonic, SimpleHarmonicParams};
pub(crate) use subsampling::SUBSAMPLING;
pub use subsampling::{Subsampling, SubsamplingParams};
pub(crate) use supervised::{FOREST, LINEAR, MAJORITY};
pub use supervised::{Forest, ForestParams, Linear, LinearParams, Majority, SupervisedExtension, Trees, linear_prior};

#[cfg(test)]
mod tests;
