//! Simple methods that others are measured against: nearest label, subsampling, least squares on smooth eigenvectors of
//! the graph, and eigenfunctions of the density.

mod eigenfunction;
mod nearest_label;
mod simple_harmonic;
mod subsampling;

pub use eigenfunction::{
    EIGENFUNCTION, Eigenfunction, EigenfunctionExtension, EigenfunctionParams, EigenfunctionParts,
};
pub use nearest_label::{NEAREST_LABEL, NearestLabel, NearestLabelParams};
pub use simple_harmonic::{SIMPLE_HARMONIC, SimpleHarmonic, SimpleHarmonicParams};
pub use subsampling::{SUBSAMPLING, Subsampling, SubsamplingParams};

#[cfg(test)]
mod tests;
