//! Formats of files, by the endings of their names; opening files and texts.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use chardetng::EncodingDetector;
use encoding_rs::Encoding;
use encoding_rs_io::DecodeReaderBytesBuilder;

use lapwing_core::mapped::open;
use lapwing_core::{Error, Result};

/// Bytes of text read at a time.
pub(super) const TEXT_BYTES: usize = 1 << 18;

/// Formats of input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Npz,
    Parquet,
    /// CSV, possibly compressed; also standard input.
    Csv,
    /// A JSON object in each line, possibly compressed.
    JsonLines,
    /// Arrow IPC, also called Feather.
    Ipc,
    /// A sheet of a spreadsheet.
    Sheet,
    Svmlight,
    /// Anything else.
    Other,
}

impl Format {
    /// The format of `path` by its ending, without `.gz` or `.zst` behind a text format.
    pub(super) fn from_path(path: &Path) -> Self {
        if is_stdin(path) {
            return Self::Csv;
        }
        let name = lowercase_name(path);
        let inner = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"));
        let ending = inner.unwrap_or(&name).rsplit_once('.').map_or("", |(_, ending)| ending);
        match (ending, inner.is_some()) {
            ("csv" | "tsv" | "tab" | "txt", _) => Self::Csv,
            ("jsonl" | "ndjson", _) => Self::JsonLines,
            ("arrow" | "feather" | "ipc", false) => Self::Ipc,
            ("svm" | "libsvm" | "svmlight", _) => Self::Svmlight,
            ("xlsx" | "xls" | "xlsb" | "xlsm" | "ods", false) => Self::Sheet,
            ("npy", false) => Self::Npy,
            ("npz", false) => Self::Npz,
            ("parquet", false) => Self::Parquet,
            _ => Self::Other,
        }
    }
}

/// Whether the name of `path` says that tabs separate the cells.
pub(super) fn is_tsv(path: &Path) -> bool {
    let name = lowercase_name(path);
    let inner = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    inner.ends_with(".tsv") || inner.ends_with(".tab")
}

/// Whether the text of `path` is compressed, so that reading must start at its first byte.
pub(super) fn is_compressed(path: &Path) -> bool {
    let name = lowercase_name(path);
    name.ends_with(".gz") || name.ends_with(".zst")
}

/// Bytes of a text as its reader counts them; `None` for pipes and compressed text, whose length is not known before the end.
pub(super) fn text_bytes(path: &Path) -> Option<u64> {
    let is_plain = is_rereadable(path) && !is_compressed(path);
    is_plain.then(|| std::fs::metadata(path).ok()).flatten().map(|data| data.len())
}

/// Whether `path` means standard input or output.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether `path` can be read more than once: no pipe, terminal or standard input.
pub(super) fn is_rereadable(path: &Path) -> bool {
    let is_device = || std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    !is_stdin(path) && !is_device()
}

/// The reason in errors about paths that are not [`is_rereadable`].
pub(super) const ONLY_ONCE: &str = "a pipe or standard input can be read only once";

/// The error for a second reading of `path`.
pub(super) fn only_once(path: &Path) -> Error {
    Error::param("file", path.display(), format!("a file, since {ONLY_ONCE}"))
}

fn lowercase_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// The error for a file whose ending is not among `known`.
pub(super) fn unknown_ending(path: &Path, known: &str) -> Error {
    Error::format(path, None, format!("the format cannot be told from the name; expected {known}"))
}

/// Opens text for reading as UTF-8, decompressing by the ending.
pub(super) fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut text = open_stored(path)?;
    match encoding_of(text.fill_buf().map_err(|e| Error::io(path, e))?) {
        None => Ok(text),
        Some(encoding) => {
            let decoder = DecodeReaderBytesBuilder::new().encoding(Some(encoding)).build(text);
            Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, decoder)))
        }
    }
}

/// Opens text as it is stored, decompressing by the ending.
fn open_stored(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    if is_stdin(path) {
        return Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, std::io::stdin())));
    }
    let file = open(path)?;
    if is_compressed(path) {
        return open_compressed(path, file, lowercase_name(path).ends_with(".gz"));
    }
    Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, file)))
}

/// The encoding of a text, told from its start; `None` for UTF-8, with or without its mark.
pub(super) fn encoding_of(start: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(start) {
        return Some(encoding).filter(|&encoding| encoding != encoding_rs::UTF_8);
    }
    // Every second byte of most texts in UTF-16 is 0.
    let n_zeros = |odd: usize| start.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = start.len() / 2;
    match (n_zeros(0), n_zeros(1)) {
        (0, low) if half > 1 && 2 * low > half => return Some(encoding_rs::UTF_16LE),
        (high, 0) if half > 1 && 2 * high > half => return Some(encoding_rs::UTF_16BE),
        _ => {}
    }
    match std::str::from_utf8(start) {
        Ok(_) => None,
        // The last character is cut.
        Err(error) if error.error_len().is_none() => None,
        Err(_) => {
            let mut detector = EncodingDetector::new();
            detector.feed(start, false);
            Some(detector.guess(None, true)).filter(|&encoding| encoding != encoding_rs::UTF_8)
        }
    }
}

/// The encoding of the text of a file that can be read more than once; `None` for UTF-8.
pub(super) fn encoding_of_file(path: &Path) -> Result<Option<&'static Encoding>> {
    let mut text = open_stored(path)?;
    Ok(encoding_of(text.fill_buf().map_err(|e| Error::io(path, e))?))
}

fn open_compressed(path: &Path, file: File, gzip: bool) -> Result<Box<dyn BufRead + Send>> {
    if gzip {
        return Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, flate2::read::MultiGzDecoder::new(file))));
    }
    let decoder = zstd::stream::read::Decoder::new(file).map_err(|e| Error::io(path, e))?;
    Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, decoder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_the_ending() {
        let of = |name: &str| Format::from_path(Path::new(name));
        assert_eq!(of("a/b.NPY"), Format::Npy);
        assert_eq!(of("x.csv.gz"), Format::Csv);
        assert_eq!(of("x.svm.zst"), Format::Svmlight);
        assert_eq!(of("-"), Format::Csv);
        assert_eq!(of("x.npy.gz"), Format::Other);
        assert_eq!(of("csv"), Format::Other);
    }
}
