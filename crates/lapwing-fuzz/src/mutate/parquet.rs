//! Parquet: the footer, whose numbers say where everything is, the pages, and other tables altogether.

use super::Mutator;
use super::havoc::write_number;
use crate::rng::Rng;
use crate::seeds::parquet::{edge_table, table};

/// A table.
pub fn parquet(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    if mutator.rng.one_in(12) {
        *bytes = match bytes.windows(6).any(|part| part == b"weight") || mutator.rng.one_in(3) {
            true => edge_table(&mut mutator.rng),
            false => table(&mut mutator.rng),
        };
    }
    let Some(footer) = footer(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..mutator.some_times() {
        match mutator.rng.below(8) {
            0 => resized(mutator, bytes),
            1 => page(&mut mutator.rng, bytes, footer.start),
            2..=3 => header_of_page(&mut mutator.rng, bytes, footer.start),
            _ => number(&mut mutator.rng, bytes, footer.clone()),
        }
    }
}

/// Where the footer is, by the length behind it.
fn footer(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let end = bytes.len().checked_sub(8)?;
    let length = u32::from_le_bytes(bytes.get(end..end + 4)?.try_into().ok()?) as usize;
    Some(end.checked_sub(length)?..end)
}

/// A byte of the footer: a number near it, one with more bytes to come, or a flipped bit.
fn number(rng: &mut Rng, bytes: &mut [u8], footer: std::ops::Range<usize>) {
    let at = footer.start + rng.below(footer.len());
    let Some(byte) = bytes.get_mut(at) else { return };
    *byte = match rng.below(6) {
        0 => byte.wrapping_add(2),
        1 => byte.wrapping_sub(2),
        2 => rng.of(&[0, 1, 2, 0x7f, 0x80, 0xff]),
        3 => *byte | 0x80,
        _ => *byte ^ (1 << rng.below(8)),
    };
}

/// A longer or shorter footer, with its length in order.
fn resized(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some(range) = footer(bytes) else { return };
    let mut footer = bytes[range.clone()].to_vec();
    mutator.blindly(&mut footer);
    bytes.truncate(range.start);
    bytes.extend_from_slice(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
}

fn page(rng: &mut Rng, bytes: &mut [u8], end: usize) {
    let at = rng.below(end.min(bytes.len()));
    if let Some(place) = bytes.get_mut(at..) {
        write_number(rng, place);
    }
}

/// A byte where the header of a page is likely: they begin with the type of the page in a field of 32 bits.
fn header_of_page(rng: &mut Rng, bytes: &mut [u8], end: usize) {
    let end = end.min(bytes.len());
    let starts: Vec<usize> = bytes[..end]
        .windows(3)
        .enumerate()
        .filter(|(_, part)| part[0] == 0x15 && part[2] == 0x15)
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return page(rng, bytes, end);
    }
    let start = rng.of(&starts);
    number(rng, bytes, start..(start + 24).min(end));
}
