//! A hash of the contents of a file, so that resumed work detects another input.
//!
//! It is the 64-bit XXH3 of the hashes of blocks of 8 MiB and of the length; names and dates of files do not count.
//! Cost: one reading of the file, its blocks in parallel, at the speed of the disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use lapwing_core::parallel::*;
use xxhash_rust::xxh3::xxh3_64;

use lapwing_core::mapped::open;
use lapwing_core::{Error, Result, Run};

/// Bytes of a block, which has one hash.
const BLOCK_BYTES: u64 = 8 << 20;

/// The hash of a file's contents.
pub(crate) fn fingerprint(path: &Path, run: &Run) -> Result<u64> {
    let length = open(path)?.metadata().map_err(|e| Error::io(path, e))?.len();
    let n_blocks = length.div_ceil(BLOCK_BYTES) as usize;
    run.progress().start("compare", length);
    let bytes = run.counter(length as usize, "bytes");
    let hashes = run.install(|| {
        (0..n_blocks)
            .into_par_iter()
            .map_init(
                || Vec::with_capacity(length.min(BLOCK_BYTES) as usize),
                |room, block| {
                    run.check()?;
                    let block = block as u64;
                    let hash = of_block(open(path)?, block, room).map_err(|e| Error::io(path, e))?;
                    bytes.add((length - block * BLOCK_BYTES).min(BLOCK_BYTES) as usize);
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

/// The hash of a block, or of a part of it if the file has become shorter.
fn of_block(mut file: File, block: u64, room: &mut Vec<u8>) -> io::Result<u64> {
    room.clear();
    file.seek(SeekFrom::Start(block * BLOCK_BYTES))?;
    file.take(BLOCK_BYTES).read_to_end(room)?;
    Ok(xxh3_64(room))
}
