//! The footer of a Parquet file.
//!
//! The parquet crate passes over lists of fields that it does not know at the length that they state: 2³¹ elements of no bytes take it a
//! second. So a footer with a list of more elements than the bytes behind it is refused before. Cost: one pass over the footer.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ::parquet::errors::ParquetError;
use ::parquet::file::FOOTER_SIZE;
use ::parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader};

use lapwing_core::{Error, Result, memory};

/// Largest depth of nested structures; the format has about ten levels.
const MOST_DEPTH: u32 = 64;

/// The type of a structure in Thrift's compact protocol.
const STRUCTURE: u8 = 12;

/// Reads the footer of a file of `length` bytes.
pub(super) fn read(path: &Path, mut file: &File, length: u64) -> Result<ParquetMetaData> {
    let damaged = |reason: &str| Error::format(path, None, reason);
    let mut filled = |start: u64, bytes: &mut [u8]| {
        file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(bytes)).map_err(|e| Error::io(path, e))
    };
    let mut tail = [0; FOOTER_SIZE];
    let end = length.checked_sub(FOOTER_SIZE as u64).ok_or_else(|| damaged("the file is truncated"))?;
    filled(end, &mut tail)?;
    let tail = FooterTail::try_new(&tail).map_err(|e| parquet_error(path, e))?;
    if tail.is_encrypted_footer() {
        return Err(damaged("the file is encrypted; save it without encryption"));
    }
    let size = tail.metadata_length();
    let start = end.checked_sub(size as u64).ok_or_else(|| damaged("the file is truncated"))?;
    let mut bytes = memory::zeros("the footer of a Parquet file", size, "split the file")?;
    filled(start, &mut bytes)?;
    skip(&mut &bytes[..], STRUCTURE, MOST_DEPTH)
        .ok_or_else(|| damaged("the file is damaged (its footer is shorter than what it states)"))?;
    ParquetMetaDataReader::decode_metadata(&bytes).map_err(|e| parquet_error(path, e))
}

/// Passes over a value of a type of Thrift's compact protocol; `None` if it states more than `left` holds.
fn skip(left: &mut &[u8], kind: u8, depth: u32) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let (count, kinds) = match kind {
        1..=3 => return left.split_off(..1).map(drop),
        4..=6 => return number(left).map(drop),
        7 => return left.split_off(..8).map(drop),
        8 => {
            let bytes = usize::try_from(number(left)?).ok()?;
            return left.split_off(..bytes).map(drop);
        }
        9 | 10 => {
            let head = *left.split_off_first()?;
            (if head >> 4 == 0xf { number(left)? } else { u64::from(head >> 4) }, [Some(head & 0xf), None])
        }
        11 => match number(left)? {
            0 => return Some(()),
            count => (count, left.split_off_first().map(|kinds| [Some(kinds >> 4), Some(kinds & 0xf)])?),
        },
        STRUCTURE => loop {
            let head = *left.split_off_first()?;
            match (head >> 4, head & 0xf) {
                (_, 0) => return Some(()),
                (0, _) => drop(number(left)?),
                _ => {}
            }
            // The head of a field holds its truth value.
            if !matches!(head & 0xf, 1 | 2) {
                skip(left, head & 0xf, depth)?;
            }
        },
        13 => return left.split_off(..16).map(drop),
        _ => return None,
    };
    // An element takes at least a byte.
    let mut kinds = (0..count).flat_map(|_| kinds).flatten();
    if count > left.len() as u64 { None } else { kinds.try_for_each(|kind| skip(left, kind, depth)) }
}

/// An unsigned number of seven bits a byte (LEB128), which is taken off the bytes.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 + bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let digits = bytes.split_off(..length)?;
    Some(digits.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)))
}

/// The error of a damaged file.
pub(super) fn parquet_error(path: &Path, error: ParquetError) -> Error {
    let reason = match error {
        ParquetError::EOF(_) => "the file is truncated".to_owned(),
        ParquetError::General(text) | ParquetError::ArrowError(text) => {
            format!("not a Parquet file, or damaged ({text})")
        }
        other => format!("not a Parquet file, or damaged ({other})"),
    };
    Error::format(path, None, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_no_longer_than_what_is_left() {
        let fits = |mut bytes: &[u8]| skip(&mut bytes, STRUCTURE, MOST_DEPTH).is_some();
        // Field 1: an integer; field 2: a list of three truth values; field 3: a structure with a text.
        assert!(fits(&[0x15, 0x82, 0x01, 0x19, 0x31, 1, 2, 1, 0x1c, 0x18, 2, b'a', b'b', 0, 0]));
        assert!(!fits(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]));
        assert!(!fits(&[0x1b, 0xff, 0xff, 0x03, 0x88, 0]));
        // A map of one entry, a double, an integer of its own number, no end.
        let map = [0x1b, 1, 0x81, 1, b'k', 1, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x05, 0x90, 3, 2, 0];
        assert!(fits(&map) && !fits(&map[..19]));
        // Lists in lists without an end.
        assert!(!fits(&[&[0x19][..], &[0x19; 200]].concat()));
    }
}
