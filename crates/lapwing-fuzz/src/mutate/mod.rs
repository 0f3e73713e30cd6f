//! Changes to files whose checksums no change of bytes gets past: a file is taken apart, one part changed, and written again.
//!
//! All other formats are changed byte by byte ([`plain`]).

mod model;
mod packed;

pub use model::{FORGED, Parts, forged_model, model};
pub use packed::{gzip, npz, zstd};

/// What changes are made with.
pub struct Mutator<'b> {
    /// Random numbers.
    pub rng: fastrand::Rng,
    blind: &'b mut dyn FnMut(&mut Vec<u8>),
}

impl<'b> Mutator<'b> {
    /// Makes changes of bytes by `blind`.
    pub fn new(seed: u64, blind: &'b mut dyn FnMut(&mut Vec<u8>)) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), blind }
    }

    /// Changes bytes as those of any format.
    pub fn blindly(&mut self, bytes: &mut Vec<u8>) {
        (self.blind)(bytes);
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.rng.usize(..n) == 0
    }

    /// A place in a list of this length, which must not be 0.
    fn place(&mut self, length: usize) -> usize {
        self.rng.usize(..length)
    }
}

/// Changes bytes as those of any format.
pub fn plain(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    mutator.blindly(bytes);
}
