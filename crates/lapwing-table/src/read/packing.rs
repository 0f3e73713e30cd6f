//! Packed texts: compressed files, and archives that hold one table. Their first bytes tell them; they are read as a stream of what they
//! hold, so that a small file that holds very much takes no more memory than any other long text. Cost: that of unpacking, once for each reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::CrcReader;
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::format::{Format, is_text};
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result, check_memory};

/// Memory that an .xz may ask for, in KiB; its highest level asks for 65 MiB.
const MAX_XZ_KIB: u32 = 1 << 20;

/// How a text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Zip,
}

impl Packing {
    /// The packing that the end of a name, in lower case, states, and the name without it.
    pub(super) fn of_name(name: &str) -> (Option<Self>, &str) {
        use Packing::{Bzip2, Gzip, Xz, Zip, Zstd};
        let endings = [(Gzip, ".gz"), (Zstd, ".zst"), (Bzip2, ".bz2"), (Xz, ".xz"), (Zip, ".zip")];
        let stated = endings.iter().find_map(|(packing, ending)| Some((Some(*packing), name.strip_suffix(ending)?)));
        stated.unwrap_or((None, name))
    }

    /// The packing of a file with these first bytes. A name states it only if these are no text.
    pub(super) fn of(name: &str, start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, 0x41 | 0x72, ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => Self::of_name(name).0.filter(|_| !is_text(start)),
        }
    }

    /// What `text`, the contents of `path`, holds.
    pub(super) fn open(self, path: &Path, text: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(text)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(text).map_err(|e| Error::io(path, e))?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(text)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(text, true, MAX_XZ_KIB)),
            Self::Zip => only_member(path)?.1,
        })
    }
}

fn opened(path: &Path) -> Result<ZipArchive<BufReader<File>>> {
    ZipArchive::new(BufReader::new(open(path)?)).map_err(|e| zip_error(path, e))
}

fn zip_error(path: &Path, error: ZipError) -> Error {
    Error::format(path, None, format!("the archive cannot be read ({error})"))
}

/// Whether an archive is an array archive of NumPy or a spreadsheet.
pub(super) fn format_of(path: &Path) -> Result<Option<Format>> {
    let zip = opened(path)?;
    let is_sheet = zip.file_names_raw().any(|name| name == b"[Content_Types].xml" || name == b"content.xml");
    let are_arrays = !zip.is_empty() && zip.file_names_raw().all(|name| name.ends_with(b".npy"));
    Ok(if is_sheet { Some(Format::Sheet) } else { are_arrays.then_some(Format::Npz) })
}

/// The name and the contents of the only table in an archive.
///
/// # Errors
/// [`Error::Format`] for an archive that is damaged or locked, and for one that holds several tables, which are listed, or none.
pub(super) fn only_member(path: &Path) -> Result<(String, Box<dyn Read + Send>)> {
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
pub(super) fn check_whole(path: &Path, times: u64, advice: &str) -> Result<()> {
    let zip = opened(path)?;
    let sizes = (0..zip.len()).filter_map(|at| zip.by_index_data(at).ok()).map(|entry| entry.size());
    check_memory(&path.display().to_string(), sizes.fold(0, u64::saturating_add).saturating_mul(times), advice)
}
