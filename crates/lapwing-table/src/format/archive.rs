//! Archives (`.zip`): of one table, of arrays, or the parts of a spreadsheet.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::CrcReader;
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::Format;
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result, check_memory};

fn opened(path: &Path) -> Result<ZipArchive<BufReader<File>>> {
    ZipArchive::new(BufReader::new(open(path)?)).map_err(|e| zip_error(path, e))
}

fn zip_error(path: &Path, error: ZipError) -> Error {
    Error::format(path, None, format!("the archive cannot be read ({error})"))
}

/// Whether an archive is an array archive of NumPy or a spreadsheet.
pub(crate) fn format_of(path: &Path) -> Result<Option<Format>> {
    let zip = opened(path)?;
    let is_sheet = zip.file_names_raw().any(|name| name == b"[Content_Types].xml" || name == b"content.xml");
    let are_arrays = !zip.is_empty() && zip.file_names_raw().all(|name| name.ends_with(b".npy"));
    Ok(if is_sheet { Some(Format::Sheet) } else { are_arrays.then_some(Format::Npz) })
}

/// The name and the contents of the only table in an archive.
///
/// # Errors
/// [`Error::Format`] for an archive that is damaged or locked, and for one that holds several tables, which are listed, or none.
pub(crate) fn only_member(path: &Path) -> Result<(String, Box<dyn Read + Send>)> {
    let mut zip = opened(path)?;
    // Archivers add folders, and files of their own.
    let is_own = |name: &str| name.ends_with('/') || name.starts_with("__MACOSX/") || name.contains("/.");
    let mut names = zip
        .file_names()
        .map(|name| name.map(Into::into))
        .collect::<Result<Vec<String>, _>>()
        .map_err(|e| zip_error(path, e))?;
    names.retain(|name| !is_own(name));
    names.sort();
    let is_known = |name: &str| Format::by_name(&name.to_lowercase()) != Format::Other;
    if names.iter().any(|name| is_known(name)) {
        names.retain(|name| is_known(name));
    }
    let [name] = names.as_slice() else {
        let (n, listed, first) = (names.len(), names.join(", "), names.first().map_or("", String::as_str));
        let reason = format!(
            "the archive holds {n} files, not one table: {listed}; give one of them: unzip -p {} '{first}' | lapwing label - …; or unpack \
             it, and give the folder if they are parts of one table",
            path.display(),
        );
        return Err(Error::format(path, None, reason));
    };
    let index = zip.index_for_name(name).unwrap_or(0);
    let method = zip.by_index_data(index).map_err(|e| zip_error(path, e))?.compression();
    if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
        let reason = format!("'{name}' in the archive is compressed by {method}; unpack it first");
        return Err(Error::format(path, None, reason));
    }
    // An error if a password is needed.
    let entry = zip.by_index(index).map_err(|e| zip_error(path, e))?;
    let start = entry.data_start().unwrap_or(0);
    let (packed, size, crc) = (entry.compressed_size(), entry.size(), entry.crc32());
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(start)).map_err(|e| Error::io(path, e))?;
    let packed = BufReader::new(file.take(packed));
    let is_stored = method == CompressionMethod::Stored;
    let text: Box<dyn Read + Send> =
        if is_stored { Box::new(packed) } else { Box::new(flate2::bufread::DeflateDecoder::new(packed)) };
    Ok((name.clone(), Box::new(Checked { text: CrcReader::new(text), size, crc })))
}

/// A member, whose length and CRC-32 are checked at its end.
struct Checked {
    text: CrcReader<Box<dyn Read + Send>>,
    size: u64,
    crc: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        let found = self.text.crc();
        match read == 0 && !buffer.is_empty() && (found.sum(), found.amount()) != (self.crc, self.size as u32) {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, "its length or its CRC-32 is another")),
            false => Ok(read),
        }
    }
}

/// Refuses an archive that is to be read whole, in memory of `times` what it holds, if so much is not free. A member that holds more than it
/// states is an error when it is read.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check_whole(path: &Path, times: u64, advice: &str) -> Result<()> {
    let zip = opened(path)?;
    let sizes = (0..zip.len()).filter_map(|at| zip.by_index_data(at).ok()).map(|entry| entry.size());
    check_memory(&path.display().to_string(), sizes.fold(0, u64::saturating_add).saturating_mul(times), advice)
}
