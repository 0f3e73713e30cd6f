//! Text behind gzip or zstd: the text, the frames, and what stands between them.

use std::io::Read;

use super::{Mutator, text};
use crate::seeds::text::{gzip as gzipped, zstd as zstandard};

/// Bytes that are decompressed, at most.
const MOST: u64 = 1 << 14;

/// A table behind gzip.
pub fn gzip(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let mut inner = Vec::new();
    let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).take(MOST).read_to_end(&mut inner);
    change(mutator, bytes, inner, gzipped);
}

/// A table behind zstd.
pub fn zstd(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let mut inner = Vec::new();
    if let Ok(decoder) = ::zstd::stream::read::Decoder::new(&bytes[..]) {
        let _ = decoder.take(MOST).read_to_end(&mut inner);
    }
    change(mutator, bytes, inner, zstandard);
}

fn change(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>, mut inner: Vec<u8>, compress: fn(&[u8]) -> Vec<u8>) {
    match mutator.rng.below(8) {
        0 => mutator.blindly(bytes),
        1 => bytes.truncate(mutator.rng.below(bytes.len())),
        2 => bytes.extend(bytes.clone()),
        3 => {
            let at = mutator.rng.below(inner.len());
            *bytes = [compress(&inner[..at]), compress(&inner[at..])].concat();
        }
        4 => {
            *bytes = compress(&inner);
            let at = mutator.rng.below(bytes.len());
            bytes[at] ^= 1 << mutator.rng.below(8);
        }
        _ => {
            text::csv(mutator, &mut inner);
            *bytes = compress(&inner);
        }
    }
}
