//! The checksum of a model file: a CRC-32 of all its bytes, in the header's metadata.
//!
//! `lapwing.checksum` holds eight hexadecimal digits, which count as zeros in the sum, and `lapwing.checksum_kind` names the
//! kind of the sum. With two entries, no single changed byte makes a file look like an old one without a checksum. A
//! CRC-32 detects every change within 32 consecutive bits, and so every changed byte.
//!
//! Cost: loading reads a file once in blocks, at some 10 GB/s from the page cache; it touches no mapped pages.

use std::io::{self, Read};
use std::ops::Range;

use crc32fast::Hasher;

/// Entries of the metadata.
pub(super) const NAME: &str = "lapwing.checksum";
pub(super) const KIND_NAME: &str = "lapwing.checksum_kind";
pub(super) const KIND: &str = "crc32";
/// The digits that count in the sum.
pub(super) const UNKNOWN: &str = "00000000";

/// Bytes read at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of the longest header that safetensors allows.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// Result of the comparison with the checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// The checksum is right.
    Sound,
    /// The checksum is wrong.
    Damaged,
    /// The file has no checksum.
    Unknown,
}

/// Writes the checksum into a header that holds [`UNKNOWN`]; `start` is the bytes before the header.
pub(super) fn seal<'a>(start: &[u8], header: &mut [u8], arrays: impl Iterator<Item = &'a [u8]>) {
    let mut hasher = Hasher::new();
    hasher.update(start);
    hasher.update(header);
    arrays.for_each(|bytes| hasher.update(bytes));
    if let Some(digits) = digits(header) {
        header[digits].copy_from_slice(text(hasher).as_bytes());
    }
}

/// Compares the bytes of a file of `length` bytes with its checksum.
pub(super) fn check(mut file: impl Read, length: u64) -> io::Result<Checked> {
    let mut start = [0; 8];
    if length < 8 {
        return Ok(Checked::Unknown);
    }
    file.read_exact(&mut start)?;
    let header_length = u64::from_le_bytes(start).min(length - 8).min(MOST_HEADER_BYTES);
    let mut header = Vec::new();
    file.by_ref().take(header_length).read_to_end(&mut header)?;
    let Some(digits) = digits(&header) else { return Ok(Checked::Unknown) };
    let kept = header[digits.clone()].to_vec();
    header[digits].copy_from_slice(UNKNOWN.as_bytes());
    let mut hasher = Hasher::new();
    hasher.update(&start);
    hasher.update(&header);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(read) => hasher.update(&block[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(if text(hasher).as_bytes() == kept { Checked::Sound } else { Checked::Damaged })
}

fn text(hasher: Hasher) -> String {
    format!("{:08x}", hasher.finalize())
}

/// The place of the digits in a header. Quotation marks within names and settings have a backslash before them, so that
/// no other place matches.
pub(super) fn digits(header: &[u8]) -> Option<Range<usize>> {
    let entry = format!("\"{NAME}\":\"");
    let start = header.windows(entry.len()).position(|bytes| bytes == entry.as_bytes())? + entry.len();
    (start + UNKNOWN.len() <= header.len()).then_some(start..start + UNKNOWN.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_found() {
        let start = 40u64.to_le_bytes();
        let mut header = format!("{{\"{NAME}\":\"{UNKNOWN}\",\"x\":1}}").into_bytes();
        seal(&start, &mut header, [&b"arr"[..], b"ays"].into_iter());
        let file = [&start[..], &header, b"arrays"].concat();
        let checked = |bytes: &[u8]| check(bytes, bytes.len() as u64).unwrap();
        assert_eq!(checked(&file), Checked::Sound);
        for (at, flip) in (0..file.len()).flat_map(|at| [1, 32, 128, 255].map(|flip| (at, flip))) {
            let mut other = file.clone();
            other[at] ^= flip;
            assert_ne!(checked(&other), Checked::Sound, "byte {at}");
        }
        (0..file.len()).for_each(|length| assert_ne!(checked(&file[..length]), Checked::Sound));
    }
}
