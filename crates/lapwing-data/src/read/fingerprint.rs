//! A number that tells files apart, so that work that is resumed notices another input.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::read::format::open;
use crate::{Error, Result};

/// Bytes looked at, at either end of the file.
const END_BYTES: u64 = 1 << 16;

/// FNV-1a of the length of the file, its first and its last 64 KiB.
pub(super) fn fingerprint(path: &Path) -> Result<u64> {
    let mut file = open(path)?;
    of_file(&mut file).map_err(|e| Error::io(path, e))
}

fn of_file(file: &mut File) -> std::io::Result<u64> {
    let length = file.metadata()?.len();
    let mut bytes = length.to_le_bytes().to_vec();
    for start in [0, length.saturating_sub(END_BYTES)] {
        file.seek(SeekFrom::Start(start))?;
        file.take(END_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(fnv1a(&bytes))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(super::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
