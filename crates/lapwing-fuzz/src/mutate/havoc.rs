//! Changes of bytes of any format, for builds without libFuzzer.

use crate::rng::Rng;

/// Changes one to four places, and cuts the bytes to at most `most`.
pub fn havoc(rng: &mut Rng, bytes: &mut Vec<u8>, most: usize) {
    for _ in 0..1 + rng.below(4) {
        change(rng, bytes);
    }
    bytes.truncate(most);
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len());
    let length = 1 + rng.below(8);
    let end = (at + length).min(bytes.len());
    match rng.below(7) {
        0 => bytes.insert(at, rng.bits() as u8),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let part = bytes[at..end].to_vec();
            let to = rng.below(bytes.len() + 1);
            bytes.splice(to..to, part);
        }
        3 => write_number(rng, &mut bytes[at..]),
        4 => bytes.truncate(at),
        _ => flip(rng, bytes),
    }
}

/// Flips a bit.
pub fn flip(rng: &mut Rng, bytes: &mut [u8]) {
    let at = rng.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << rng.below(8);
    }
}

/// Writes a number of [`super::edges`] in one, two, four or eight bytes of either order.
pub fn write_number(rng: &mut Rng, place: &mut [u8]) {
    let width = [1, 2, 4, 8][rng.below(4)].min(place.len());
    let mut old = [0; 8];
    old[..width].copy_from_slice(&place[..width]);
    let mut new = rng.edge(u64::from_le_bytes(old)).to_le_bytes();
    if rng.one_in(3) {
        new[..width].reverse();
    }
    place[..width].copy_from_slice(&new[..width]);
}
