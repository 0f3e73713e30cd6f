//! Opening texts: unpacked, in UTF-8.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use encoding_rs::Encoding;
use encoding_rs_io::DecodeReaderBytesBuilder;

use super::archive::only_member;
use super::arff::{self, ArffText};
use super::encoding::encoding_of;
use super::packing::Packing;
use super::start::not_text;
use super::{Format, is_rereadable, is_stdin, lowercase_name};
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result};

/// Bytes of text read at a time.
pub(crate) const TEXT_BYTES: usize = 1 << 18;

/// Memory that an .xz may ask for, in KiB; its highest level asks for 65 MiB.
const MAX_XZ_KIB: u32 = 1 << 20;

impl Packing {
    /// What `text`, the contents of `path`, holds.
    pub(crate) fn open(self, path: &Path, text: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(text)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(text).map_err(|e| Error::io(path, e))?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(text)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(text, true, MAX_XZ_KIB)),
            Self::Zip => only_member(path)?.1,
        })
    }
}

/// Opens text for reading as UTF-8, unpacked; an ARFF table as CSV.
pub(crate) fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut text = open_decoded(path)?;
    match is_rereadable(path) && arff::is_arff(text.fill_buf().map_err(|e| Error::io(path, e))?) {
        true => Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, ArffText::open(path, text)?))),
        false => Ok(text),
    }
}

/// Opens text for reading as UTF-8, unpacked.
pub(crate) fn open_decoded(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut text = open_stored(path)?;
    let start = text.fill_buf().map_err(|e| Error::io(path, e))?;
    if !is_rereadable(path)
        && Format::of_marks(start).is_some()
        && let Some(error) = not_text(path, start)
    {
        return Err(error);
    }
    match encoding_of(start) {
        None => Ok(text),
        Some(encoding) => {
            let decoder = DecodeReaderBytesBuilder::new().encoding(Some(encoding)).build(text);
            Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, decoder)))
        }
    }
}

/// Opens text as it is stored, unpacked.
fn open_stored(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let file: Box<dyn Read + Send> = if is_stdin(path) { Box::new(std::io::stdin()) } else { Box::new(open(path)?) };
    let mut file = BufReader::with_capacity(TEXT_BYTES, file);
    let start = file.fill_buf().map_err(|e| Error::io(path, e))?;
    match Packing::of(&lowercase_name(path), start) {
        None => Ok(Box::new(file)),
        Some(packing) => Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, packing.open(path, file)?))),
    }
}

/// The encoding of the text of a file that can be read more than once; `None` for UTF-8.
pub(crate) fn encoding_of_file(path: &Path) -> Result<Option<&'static Encoding>> {
    let mut text = open_stored(path)?;
    Ok(encoding_of(text.fill_buf().map_err(|e| Error::io(path, e))?))
}
