//! Compressed text, and archives of arrays: changes to what is packed, with correct checksums, and to the packing.

use std::io::{Cursor, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::Mutator;

/// The most bytes that are unpacked.
const MOST: u64 = 1 << 16;

/// A table compressed by gzip.
pub fn gzip(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let packed = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).ok()?;
        encoder.finish().ok()
    };
    let unpacked = unpacked(MultiGzDecoder::new(&bytes[..]));
    repacked(mutator, bytes, unpacked, packed);
}

/// A table compressed by zstd.
pub fn zstd(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let packed = |text: &[u8]| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).ok()?;
        encoder.include_checksum(true).ok()?;
        encoder.write_all(text).ok()?;
        encoder.finish().ok()
    };
    let unpacked = zstd::stream::read::Decoder::new(&bytes[..]).ok().and_then(unpacked);
    repacked(mutator, bytes, unpacked, packed);
}

fn unpacked(reader: impl Read) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    reader.take(MOST).read_to_end(&mut text).ok().map(|_| text)
}

fn repacked(
    mutator: &mut Mutator<'_>,
    bytes: &mut Vec<u8>,
    text: Option<Vec<u8>>,
    packed: impl Fn(&[u8]) -> Option<Vec<u8>>,
) {
    let Some(mut text) = text.filter(|_| !mutator.one_in(4)) else { return mutator.blindly(bytes) };
    mutator.blindly(&mut text);
    // Now and then in two parts, each with a head of its own.
    let at = if mutator.one_in(4) { mutator.place(text.len() + 1) } else { text.len() };
    let parts = if at < text.len() { vec![&text[..at], &text[at..]] } else { vec![&text[..]] };
    if let Some(parts) = parts.into_iter().map(packed).collect::<Option<Vec<_>>>() {
        *bytes = parts.concat();
    }
}

/// An archive of arrays.
pub fn npz(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let members = members(bytes).filter(|members| !members.is_empty() && !mutator.one_in(3));
    let Some(mut members) = members else { return mutator.blindly(bytes) };
    let (at, other) = (mutator.place(members.len()), mutator.place(members.len()));
    match mutator.place(8) {
        0 => drop(members.remove(at)),
        1 => members[at].0 = members[other].0.clone(),
        2 => members.swap(at, other),
        3 => members[at].1 = members[other].1.clone(),
        _ => mutator.blindly(&mut members[at].1),
    }
    if let Some(archive) = archive(&members) {
        *bytes = archive;
    }
}

/// Names, contents and methods.
type Members = Vec<(String, Vec<u8>, CompressionMethod)>;

fn members(bytes: &[u8]) -> Option<Members> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut members = Members::new();
    for at in 0..archive.len() {
        let file = archive.by_index(at).ok()?;
        let (name, method) = (file.name().ok()?.into_owned(), file.compression());
        members.push((name, unpacked(file)?, method));
    }
    Some(members)
}

fn archive(members: &Members) -> Option<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents, method) in members {
        archive.start_file(name.as_str(), SimpleFileOptions::default().compression_method(*method)).ok()?;
        archive.write_all(contents).ok()?;
    }
    archive.finish().ok().map(Cursor::into_inner)
}
