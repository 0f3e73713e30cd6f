//! Mutations that know the formats: what damages a file so that it is still read far.
//!
//! A [`Mutator`] has random numbers and a way to change bytes without knowing anything (libFuzzer's, which follows
//! comparisons, or [`havoc`]); every format takes a file apart, changes one of its parts, and puts it together again, with
//! its lengths and checksums in order or not.

pub mod compressed;
pub mod havoc;
pub mod model;
pub mod npy;
pub mod parquet;
pub mod text;
pub mod zip;

use crate::Target;
use crate::rng::Rng;

/// Changes bytes without knowing anything of them, to at most so many.
pub type Blind<'b> = &'b mut dyn FnMut(&mut Vec<u8>, usize);

/// What mutations are made with.
pub struct Mutator<'b> {
    /// Random numbers.
    pub rng: Rng,
    blind: Blind<'b>,
    most: usize,
}

impl std::fmt::Debug for Mutator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mutator").field("rng", &self.rng).field("most", &self.most).finish_non_exhaustive()
    }
}

impl<'b> Mutator<'b> {
    /// One that makes files of at most `most` bytes.
    pub fn new(seed: u64, most: usize, blind: Blind<'b>) -> Self {
        Self { rng: Rng::new(seed), blind, most }
    }

    /// Changes bytes without knowing anything of them.
    pub fn blindly(&mut self, bytes: &mut Vec<u8>) {
        (self.blind)(bytes, self.most);
    }

    /// One to four times.
    fn some_times(&mut self) -> usize {
        1 + self.rng.below(4).min(self.rng.below(4))
    }
}

/// A file for `target` made of `bytes`: one time in four by no more than bytes, else by its format.
pub fn mutate(target: &Target, mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    if mutator.rng.one_in(4) {
        mutator.blindly(bytes);
    } else {
        (target.mutate)(mutator, bytes);
    }
    bytes.truncate(mutator.most);
}

/// Numbers at which sizes and offsets go wrong.
const EDGES: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    127,
    128,
    255,
    256,
    4096,
    65_535,
    65_536,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 48,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

impl Rng {
    /// A number at which something goes wrong, or near `value`.
    pub fn edge(&mut self, value: u64) -> u64 {
        match self.below(4) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            _ => self.of(&EDGES),
        }
    }
}
