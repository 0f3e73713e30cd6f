//! The checksum of a model file: a CRC-32 over all of its bytes, kept in the header's metadata.
//!
//! `lapwing.checksum` holds eight hexadecimal digits, for which zeros are taken while the sum is formed, and
//! `lapwing.checksum_kind` says which sum it is. There are two entries so that no single change makes a file look like
//! one of those that were written without. A CRC-32 finds every change within 32 bits in a row, so every changed byte.
//!
//! Cost: files are read once in blocks when they are loaded, at some 10 GB/s from the cache of the system; mapped pages
//! are left alone.

use std::io::{self, Read};
use std::ops::Range;

use crc32fast::Hasher;

/// Entries of the metadata.
pub(super) const NAME: &str = "lapwing.checksum";
pub(super) const KIND_NAME: &str = "lapwing.checksum_kind";
pub(super) const KIND: &str = "crc32";
/// What stands for the digits while the sum is formed.
pub(super) const UNKNOWN: &str = "00000000";

/// Bytes read at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// The longest header that safetensors allow.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// The checksum agrees.
    Sound,
    /// The checksum is that of other bytes.
    Damaged,
    /// There is none.
    Unknown,
}

/// Puts the checksum into a header that was written with [`UNKNOWN`]; `start` is what stands before the header.
pub(super) fn seal<'a>(start: &[u8], header: &mut [u8], arrays: impl Iterator<Item = &'a [u8]>) {
    let mut hasher = Hasher::new();
    hasher.update(start);
    hasher.update(header);
    arrays.for_each(|bytes| hasher.update(bytes));
    if let Some(digits) = digits(header) {
        header[digits].copy_from_slice(text(hasher).as_bytes());
    }
}

/// Holds the bytes of a file of `length` bytes against its checksum.
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

/// Where the digits stand in a header. Within names and settings every quotation mark has a backslash before it, so that
/// no other place looks like this.
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
