//! Text compressed by gzip or zstd: changes to the text, to the frames and to their order.

use std::io::Read;

use super::havoc::flip;
use super::{Mutator, csv};
use crate::seeds::text::{gzip as gzipped, zstd as zstandard};

/// The most bytes that are decompressed.
const MOST: u64 = 1 << 14;

/// A table compressed by gzip.
pub fn gzip(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let mut inner = Vec::new();
    let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).take(MOST).read_to_end(&mut inner);
    change(mutator, bytes, inner, gzipped);
}

/// A table compressed by zstd.
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
            flip(&mut mutator.rng, bytes);
        }
        _ => {
            csv(mutator, &mut inner);
            *bytes = compress(&inner);
        }
    }
}
