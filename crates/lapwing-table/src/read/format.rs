//! Formats of files, by the endings of their names; opening files and texts.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

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

/// Opens text for reading, decompressing by the ending.
pub(super) fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    if is_stdin(path) {
        return Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, std::io::stdin())));
    }
    let file = open(path)?;
    if is_compressed(path) {
        return open_compressed(path, file, lowercase_name(path).ends_with(".gz"));
    }
    Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, file)))
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
