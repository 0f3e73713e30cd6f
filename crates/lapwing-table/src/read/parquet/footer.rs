//! A check of the footer of a Parquet file before the parquet crate reads it.
//!
//! The crate passes over lists of fields that it does not know at the length that they state: 2³¹ elements of no bytes take it a second.
//! This check refuses a list with more elements than the remaining bytes. Cost: one pass over the footer.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::varint;
use lapwing_core::{Error, Result, memory};

/// The last bytes of a Parquet file whose footer is not encrypted.
const MAGIC: &[u8] = b"PAR1";
/// The length of the footer and the mark.
const TAIL_BYTES: u64 = 8;
/// Largest depth of nested structures; the format has about ten levels.
const MOST_DEPTH: u32 = 64;

/// Refuses a footer with a list that is longer than the footer. The parquet crate reports all other damage.
pub(super) fn check(path: &Path, file: &File, length: u64) -> Result<()> {
    let Some(bytes) = read(file, length).map_err(|e| Error::io(path, e))? else { return Ok(()) };
    match (Walk { left: &bytes? }).structure(0) {
        Err(Flaw::TooLong) => Err(Error::format(path, None, "the file is damaged (a list in its footer is too long)")),
        Ok(()) | Err(Flaw::Other) => Ok(()),
    }
}

/// The bytes of the footer; `None` if the file does not end like a Parquet file.
fn read(mut file: &File, length: u64) -> std::io::Result<Option<Result<Vec<u8>>>> {
    if length < TAIL_BYTES {
        return Ok(None);
    }
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(length - TAIL_BYTES))?;
    file.read_exact(&mut tail)?;
    let (size, magic) = tail.split_at(4);
    let size = u64::from(u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    if magic != MAGIC || size > length - TAIL_BYTES {
        return Ok(None);
    }
    let mut bytes = match memory::zeros::<u8>("the footer of a Parquet file", size as usize, "split the file") {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Some(Err(error))),
    };
    file.seek(SeekFrom::Start(length - TAIL_BYTES - size))?;
    file.read_exact(&mut bytes)?;
    Ok(Some(Ok(bytes)))
}

/// The reason for which a walk ended early.
enum Flaw {
    /// More elements than bytes.
    TooLong,
    Other,
}

/// A walk over bytes in Thrift's compact protocol.
struct Walk<'b> {
    left: &'b [u8],
}

type Walked<T = ()> = std::result::Result<T, Flaw>;

impl Walk<'_> {
    fn skip(&mut self, bytes: u64) -> Walked {
        let bytes = usize::try_from(bytes).map_err(|_| Flaw::Other)?;
        self.left = self.left.get(bytes..).ok_or(Flaw::Other)?;
        Ok(())
    }

    fn byte(&mut self) -> Walked<u8> {
        let byte = *self.left.first().ok_or(Flaw::Other)?;
        self.skip(1)?;
        Ok(byte)
    }

    fn varint(&mut self) -> Walked<u64> {
        let (value, rest) = varint(self.left).ok_or(Flaw::Other)?;
        self.left = rest;
        Ok(value)
    }

    fn structure(&mut self, depth: u32) -> Walked {
        if depth > MOST_DEPTH {
            return Err(Flaw::Other);
        }
        loop {
            let head = self.byte()?;
            match (head >> 4, head & 0xf) {
                (_, 0) => return Ok(()),
                // The head of a field holds its truth value.
                (delta, kind) => {
                    if delta == 0 {
                        self.varint()?;
                    }
                    if !matches!(kind, 1 | 2) {
                        self.value(kind, depth)?;
                    }
                }
            }
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Walked {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let bytes = self.varint()?;
                self.skip(bytes)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 0xf { self.varint()? } else { u64::from(head >> 4) };
                self.elements(count, &[head & 0xf], depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 0xf], depth)
                }
            },
            12 => self.structure(depth + 1),
            13 => self.skip(16),
            _ => Err(Flaw::Other),
        }
    }

    /// `count` elements, each with values of these kinds, which take at least a byte each.
    fn elements(&mut self, count: u64, kinds: &[u8], depth: u32) -> Walked {
        if depth > MOST_DEPTH {
            return Err(Flaw::Other);
        }
        if count > self.left.len() as u64 {
            return Err(Flaw::TooLong);
        }
        (0..count).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.value(kind, depth + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(bytes: &[u8]) -> &'static str {
        match (Walk { left: bytes }).structure(0) {
            Ok(()) => "none",
            Err(Flaw::TooLong) => "too long",
            Err(Flaw::Other) => "other",
        }
    }

    #[test]
    fn lists_are_no_longer_than_what_is_left() {
        // Field 1: an integer; field 2: a list of three truth values; field 3: a structure with a text.
        assert_eq!(flaw(&[0x15, 0x82, 0x01, 0x19, 0x31, 1, 2, 1, 0x1c, 0x18, 2, b'a', b'b', 0, 0]), "none");
        assert_eq!(flaw(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), "too long");
        assert_eq!(flaw(&[0x1b, 0xff, 0xff, 0x03, 0x88, 0]), "too long");
        // A map of one entry, a double, an integer of its own number, no end.
        assert_eq!(flaw(&[0x1b, 1, 0x81, 1, b'k', 1, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x05, 0x90, 3, 2, 0]), "none");
        assert_eq!(flaw(&[0x15, 0x82]), "other");
        // Lists in lists without an end.
        assert_eq!(flaw(&[&[0x19][..], &[0x19; 200]].concat()), "other");
    }
}
