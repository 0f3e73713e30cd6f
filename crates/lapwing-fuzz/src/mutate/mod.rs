//! Mutations of the formats: they damage a file so that readers still come far.
//!
//! A [`Mutator`] has random numbers, and a way to change bytes of any format (that of libFuzzer, which follows comparisons,
//! or [`havoc()`]). The mutation of a format takes a file apart, changes one of its parts and writes a file again, with
//! correct or with damaged lengths and checksums.

mod compressed;
mod havoc;
mod model;
mod npy;
mod parquet;
mod text;
mod zip;

pub use compressed::{gzip, zstd};
pub use havoc::havoc;
pub use model::{each_forged, forged_model, model, unsound_number};
pub use npy::npy;
pub use parquet::parquet;
pub use text::{csv, jsonl, svmlight};
pub use zip::npz;

use crate::Target;
use crate::rng::Rng;

/// Changes bytes of any format, to at most a number of bytes.
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
    /// A mutator that makes files of at most `most` bytes.
    pub fn new(seed: u64, most: usize, blind: Blind<'b>) -> Self {
        Self { rng: Rng::new(seed), blind, most }
    }

    /// Changes bytes as those of any format.
    pub fn blindly(&mut self, bytes: &mut Vec<u8>) {
        (self.blind)(bytes, self.most);
    }

    /// The number of changes to a file: one to four.
    fn some_times(&mut self) -> usize {
        1 + self.rng.below(4).min(self.rng.below(4))
    }
}

/// Changes bytes as those of any format, some times.
pub fn havoc_of(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    for _ in 0..mutator.some_times() {
        mutator.blindly(bytes);
    }
}

/// Makes a file for `target` of `bytes`: one time in four by its bytes, else by its format.
pub fn mutate(target: &Target, mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    if mutator.rng.one_in(4) {
        mutator.blindly(bytes);
    } else {
        (target.mutate)(mutator, bytes);
    }
    bytes.truncate(mutator.most);
}

/// Numbers at which sizes and offsets overflow or change their encoding.
fn edges() -> impl Iterator<Item = u64> {
    let powers = [7, 8, 12, 16, 20, 31, 32, 48, 63].into_iter().flat_map(|bits| [(1 << bits) - 1, 1 << bits]);
    powers.chain([0, 1, 2, 3, 7, 8, u64::MAX])
}

impl Rng {
    /// One of [`edges`], or a number beside `value`.
    pub fn edge(&mut self, value: u64) -> u64 {
        match self.below(4) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            _ => edges().nth(self.below(edges().count())).unwrap_or_default(),
        }
    }
}
