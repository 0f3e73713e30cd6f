//! The methods, a folder or file each. They know the core and the linear maps, never each other.

pub(crate) mod eigenfunction;
pub(crate) mod forest;
pub mod harmonic;
pub mod lapsvm;
pub(crate) mod linear;
pub mod low_rank;
pub(crate) mod majority;
pub(crate) mod nearest_label;
pub(crate) mod simple_harmonic;
pub(crate) mod subsampling;
#[cfg(test)]
mod tests;
pub mod unfolded;
