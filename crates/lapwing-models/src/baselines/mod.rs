//! Simple methods that others are measured against: nearest label, subsampling, least squares on smooth eigenvectors of
//! the graph, and eigenfunctions of the density.

mod eigenfunction;
mod nearest_label;
mod simple_harmonic;
mod subsampling;

pub(crate) use eigenfunction::EIGENFUNCTION;
pub use eigenfunction::{Eigenfunction, EigenfunctionExtension, EigenfunctionParams, EigenfunctionParts};
pub(crate) use nearest_label::NEAREST_LABEL;
pub use nearest_label::{NearestLabel, NearestLabelParams};
pub(crate) use simple_harmonic::SIMPLE_HARMONIC;
pub use simple_harmonic::{SimpleHarmonic, SimpleHarmonicParams};
pub(crate) use subsampling::SUBSAMPLING;
pub use subsampling::{Subsampling, SubsamplingParams};

#[cfg(test)]
mod tests;
