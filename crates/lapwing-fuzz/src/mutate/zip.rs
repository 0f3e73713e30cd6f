//! Archives of arrays: changes to the members, with correct records; and changes to the records.

use std::io::{Cursor, Read};

use zip::{CompressionMethod, ZipArchive};

use super::havoc::{flip, write_number};
use super::{Mutator, npy};
use crate::seeds::array::{Member, archive};

/// Names with a meaning, and names that are invalid.
const NAMES: &str = "X.npy;y.npy;X_data.npy;X_indices.npy;X_indptr.npy;X_shape.npy;data.npy;indices.npy;indptr.npy;\
    shape.npy;format.npy;row.npy;col.npy;edges.npy;X;../X.npy;;.npy;X.npy/";
/// The most bytes that are read of a member.
const MOST: u64 = 1 << 16;

/// An archive of arrays.
pub fn npz(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some(mut members) = members(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..mutator.some_times() {
        change(mutator, &mut members);
    }
    *bytes = archive(&members);
    if mutator.rng.one_in(3) {
        record(mutator, bytes);
    }
}

fn members(bytes: &[u8]) -> Option<Vec<Member>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut members = Vec::new();
    for at in 0..zip.len() {
        let file = zip.by_index(at).ok()?;
        let (name, method, mut contents) = (file.name().ok()?.into_owned(), file.compression(), Vec::new());
        file.take(MOST).read_to_end(&mut contents).ok()?;
        members.push((name, contents, method == CompressionMethod::Deflated));
    }
    (!members.is_empty()).then_some(members)
}

fn change(mutator: &mut Mutator<'_>, members: &mut Vec<Member>) {
    if members.is_empty() {
        return;
    }
    let at = mutator.rng.below(members.len());
    match mutator.rng.below(12) {
        0 => members[at].0 = mutator.rng.word(NAMES).to_owned(),
        1 => members[at].2 = !members[at].2,
        2 => drop(members.remove(at)),
        3 => members.push(members[at].clone()),
        4 => {
            let other = mutator.rng.below(members.len());
            members.swap(at, other);
        }
        5 => mutator.blindly(&mut members[at].1),
        _ => npy(mutator, &mut members[at].1),
    }
}

/// Changes a field of a record of the archive: local header, central header or end.
fn record(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let signatures: [&[u8]; 3] = [b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"];
    let signature = mutator.rng.of(&signatures);
    let starts: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(signature)).collect();
    if starts.is_empty() {
        return mutator.blindly(bytes);
    }
    let start = mutator.rng.of(&starts);
    match mutator.rng.below(8) {
        0 => mutator.blindly(bytes),
        1 => {
            // Damages a member, whose checksum is wrong then.
            let end = bytes.windows(4).position(|part| part == b"PK\x01\x02").unwrap_or(bytes.len());
            flip(&mut mutator.rng, &mut bytes[..end]);
        }
        _ => {
            let at = (start + 4 + 2 * mutator.rng.below(21)).min(bytes.len() - 1);
            write_number(&mut mutator.rng, &mut bytes[at..]);
        }
    }
}
