//! Parquet: changes to the footer, which holds all sizes and offsets, and to the pages; or another table.

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

/// The range of the footer, by the length behind it.
fn footer(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let end = bytes.len().checked_sub(8)?;
    let length = u32::from_le_bytes(bytes.get(end..end + 4)?.try_into().ok()?) as usize;
    Some(end.checked_sub(length)?..end)
}

/// Changes a byte of a range: to a number near it, to one that continues in the next byte, or by a bit.
fn number(rng: &mut Rng, bytes: &mut [u8], range: std::ops::Range<usize>) {
    let at = range.start + rng.below(range.len());
    let Some(byte) = bytes.get_mut(at) else { return };
    *byte = match rng.below(6) {
        0 => byte.wrapping_add(2),
        1 => byte.wrapping_sub(2),
        2 => rng.of(&[0, 1, 2, 0x7f, 0x80, 0xff]),
        3 => *byte | 0x80,
        _ => *byte ^ (1 << rng.below(8)),
    };
}

/// Makes the footer longer or shorter, with a correct length.
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
    write_number(rng, &mut bytes[at..]);
}

/// Changes a byte of a likely header of a page: it begins with the type of the page in a field of 32 bits.
fn header_of_page(rng: &mut Rng, bytes: &mut [u8], end: usize) {
    let end = end.min(bytes.len());
    let is_start = |&at: &usize| bytes.get(at) == Some(&0x15) && bytes.get(at + 2) == Some(&0x15);
    let starts: Vec<usize> = (0..end).filter(is_start).collect();
    if starts.is_empty() {
        return page(rng, bytes, end);
    }
    let start = rng.of(&starts);
    number(rng, bytes, start..(start + 24).min(end));
}
