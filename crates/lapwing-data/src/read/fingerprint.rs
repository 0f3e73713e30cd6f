//! A number that tells the contents of files apart, so that work that is resumed notices another input.
//!
//! XXH3 of 64 bits over the hashes of blocks of 8 MiB and the length: copies of a file have the same, whatever their names
//! and dates. Cost: one reading of the file, its blocks in parallel, at the speed of the disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::read::format::open;
use crate::{Error, Result, Run};

/// Bytes that are hashed together.
const BLOCK_BYTES: u64 = 8 << 20;

/// The number of a file's contents.
pub(super) fn fingerprint(path: &Path, run: &Run) -> Result<u64> {
    let length = open(path)?.metadata().map_err(|e| Error::io(path, e))?.len();
    let blocks = length.div_ceil(BLOCK_BYTES);
    run.progress().start("compare", length);
    let hashes = run.install(|| {
        (0..blocks)
            .into_par_iter()
            .map_init(
                || vec![0; length.min(BLOCK_BYTES) as usize],
                |room, block| {
                    run.check()?;
                    let hash = of_block(open(path)?, block, room).map_err(|e| Error::io(path, e))?;
                    Ok(hash.to_le_bytes())
                },
            )
            .collect::<Result<Vec<[u8; 8]>>>()
    });
    run.progress().finish();
    let mut all = hashes?.concat();
    all.extend(length.to_le_bytes());
    Ok(xxh3_64(&all))
}

/// The hash of a block, or of what there is of it: a file may become shorter meanwhile.
fn of_block(mut file: File, block: u64, room: &mut [u8]) -> io::Result<u64> {
    file.seek(SeekFrom::Start(block * BLOCK_BYTES))?;
    let mut filled = 0;
    while filled < room.len() {
        match file.read(&mut room[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(xxh3_64(&room[..filled]))
}
