//! Formats of files, by their contents and the endings of their names; opening files and texts.
//!
//! The first bytes tell the formats that have marks. Texts have none: their ending counts, and where there is none that is known, what
//! their first lines hold. So a file is read as what it is, whatever its name; what is known and not read is named. Cost: the first 64 KiB
//! of the file, and of what it unpacks to.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use chardetng::EncodingDetector;
use encoding_rs::Encoding;
use encoding_rs_io::DecodeReaderBytesBuilder;

use super::arff::{self, ArffText};
use super::packing::{self, Packing};
use super::svmlight;
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result};

/// Bytes of text read at a time.
pub(super) const TEXT_BYTES: usize = 1 << 18;

/// Bytes at the start of a file that tell what it is.
const START_BYTES: usize = 1 << 16;

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
    Arff,
    /// Anything else.
    Other,
}

/// Marks of files that are known and not read, and what to do with them.
const FOREIGN: [(&[u8], &str); 10] = [
    (
        b"SQLite format 3\0",
        "a database of SQLite; hand a table of it over: sqlite3 -csv -header FILE 'select * from TABLE' | lapwing label - …, or \
         duckdb -csv -c \"select * from sqlite_scan('FILE', 'TABLE')\" | lapwing label - …",
    ),
    (b"\x89HDF", "HDF5; save it from Python: pandas.read_hdf('FILE').to_parquet('table.parquet')"),
    (b"\x80\x04\x95", "a pickle; save it from Python: pandas.read_pickle('FILE').to_parquet('table.parquet')"),
    (b"\x80\x05\x95", "a pickle; save it from Python: pandas.read_pickle('FILE').to_parquet('table.parquet')"),
    (b"X\n\0\0\0", "data of R; save it from R: write.csv(readRDS('FILE'), 'table.csv', row.names = FALSE)"),
    (b"<!doctype html", "a page (HTML), as servers send in the place of a file; get the file itself"),
    (b"<html", "a page (HTML), as servers send in the place of a file; get the file itself"),
    (b"\xff\xfe\0\0", "text in UTF-32; save it as UTF-8: iconv -f UTF-32 -t UTF-8 FILE > table.csv"),
    (b"\0\0\xfe\xff", "text in UTF-32; save it as UTF-8: iconv -f UTF-32 -t UTF-8 FILE > table.csv"),
    (b"<?xml", "XML; save it from Python: pandas.read_xml('FILE').to_parquet('table.parquet')"),
];
const JSON: &str = "JSON with other lines than objects; write one object a line: jq -c '.[]' FILE > table.jsonl";

/// What is known of a file that is not read.
fn foreign(start: &[u8]) -> Option<&'static str> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let is_mark = |mark: &[u8]| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    let known = FOREIGN.iter().find(|(mark, _)| is_mark(mark)).map(|(_, what)| *what);
    let is_list = || text.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"));
    let is_long = || is_mark(b"{\n") || is_mark(b"{\r\n");
    known.or_else(|| (is_list() || is_long()).then_some(JSON))
}

impl Format {
    /// The format of `path`: that of its contents if it can be read more than once, else that of its ending.
    pub(super) fn from_path(path: &Path) -> Self {
        let named = Self::by_name(&lowercase_name(path));
        if !is_rereadable(path) {
            // What a pipe holds is a text, unless its name is another's.
            return if named == Self::Other { Self::Csv } else { named };
        }
        match start_of(path) {
            Ok(start) => start.format(),
            Err(Error::Io { .. }) => named,
            Err(_) => Self::Other,
        }
    }

    /// The format that a name, in lower case, states, without the ending of a packing behind that of a text.
    pub(super) fn by_name(name: &str) -> Self {
        let (packing, inner) = Packing::of_name(name);
        let ending = inner.rsplit_once('.').map_or("", |(_, ending)| ending);
        match (ending, packing.is_some()) {
            ("csv" | "tsv" | "tab" | "txt", _) => Self::Csv,
            ("jsonl" | "ndjson", _) => Self::JsonLines,
            ("arrow" | "feather" | "ipc", false) => Self::Ipc,
            ("svm" | "libsvm" | "svmlight", _) => Self::Svmlight,
            ("arff", _) => Self::Arff,
            ("xlsx" | "xls" | "xlsb" | "xlsm" | "ods", false) => Self::Sheet,
            ("npy", false) => Self::Npy,
            ("npz", false) => Self::Npz,
            ("parquet", false) => Self::Parquet,
            _ => Self::Other,
        }
    }

    /// The format of the marks that files start with.
    fn of_marks(start: &[u8]) -> Option<Self> {
        match start {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            [b'P', b'A', b'R', b'1', rest @ ..] if !is_text(rest) => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(Self::Ipc),
            [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, ..] => Some(Self::Sheet),
            _ if Packing::of("", start).is_some() => Some(Self::Other),
            _ => foreign(start).map(|_| Self::Other),
        }
    }

    /// What a file of it is, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Npy => "an array (.npy)",
            Self::Npz => "an archive of arrays (.npz)",
            Self::Parquet => "a Parquet file",
            Self::Csv => "text",
            Self::JsonLines => "JSON lines",
            Self::Ipc => "an Arrow file",
            Self::Sheet => "a spreadsheet",
            Self::Svmlight => "sparse rows (svmlight)",
            Self::Arff => "an ARFF table",
            Self::Other => "neither text nor a known format",
        }
    }

    /// Whether it is one of tables of named columns.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines | Self::Arff | Self::Parquet | Self::Ipc | Self::Sheet)
    }
}

/// How a file starts, behind its packing.
struct Start {
    bytes: Vec<u8>,
    packing: Option<Packing>,
    /// Its name in lower case, without the ending of the packing; that of the member of an archive.
    name: String,
    /// The format of an archive that is no packed text.
    archive: Option<Format>,
}

fn start_of(path: &Path) -> Result<Start> {
    let mut file = BufReader::with_capacity(START_BYTES, open(path)?);
    let bytes = file.fill_buf().map_err(|e| Error::io(path, e))?.to_vec();
    let name = lowercase_name(path);
    let packing = Packing::of(&name, &bytes);
    let named = Some(Format::by_name(&name)).filter(|named| matches!(named, Format::Npz | Format::Sheet));
    let mut start = Start { bytes, packing, name: Packing::of_name(&name).1.to_owned(), archive: None };
    let mut text = match packing {
        None => return Ok(start),
        Some(Packing::Zip) => {
            start.archive = if named.is_some() { named } else { packing::format_of(path)? };
            if start.archive.is_some() {
                return Ok(start);
            }
            let (name, text) = packing::only_member(path)?;
            start.name = name.to_lowercase();
            text
        }
        Some(packing) => packing.open(path, file)?,
    };
    start.bytes.clear();
    // What is damaged is read up to there: an error of the reader names it.
    let _ = text.by_ref().take(START_BYTES as u64).read_to_end(&mut start.bytes);
    Ok(start)
}

impl Start {
    fn format(&self) -> Format {
        if let Some(archive) = self.archive {
            return archive;
        }
        let found = Format::of_marks(&self.bytes).unwrap_or(match Format::by_name(&self.name) {
            Format::Other | Format::Sheet if is_text(&self.bytes) => Format::Csv,
            named => named,
        });
        match found {
            Format::Csv if arff::is_arff(&self.bytes) => Format::Arff,
            Format::Csv if svmlight::is_svmlight(&self.bytes) => Format::Svmlight,
            Format::Csv | Format::JsonLines | Format::Svmlight | Format::Arff => found,
            _ if self.packing.is_some() => Format::Other,
            found => found,
        }
    }

    /// What the file is, in words.
    fn words(&self, path: &Path) -> String {
        let marked = Format::of_marks(&self.bytes).unwrap_or(Format::Other);
        match (self.format(), foreign(&self.bytes)) {
            (_, Some(what)) => format!("this is {}", what.replace("FILE", &path.display().to_string())),
            (Format::Other, _) if marked != Format::Other => {
                format!("this is {} in a packed file; unpack it first", marked.words())
            }
            (Format::Other, _) => {
                let start = &self.bytes[..self.bytes.len().min(8)];
                format!("{}: it starts with {start:02x?}, '{}'", Format::Other.words(), start.escape_ascii())
            }
            (format, _) => format!("this is {}", format.words()),
        }
    }
}

/// Whether bytes are those of a text: nearly none are control characters.
pub(super) fn is_text(start: &[u8]) -> bool {
    let is_wide = |encoding: &Encoding| encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    if encoding_of(start).is_some_and(is_wide) {
        return true;
    }
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1a | 0x1b);
    !start.contains(&0) && start.iter().filter(|byte| is_control(byte)).count() * 30 <= start.len()
}

/// Whether the name of `path` says that tabs separate the cells.
pub(super) fn is_tsv(path: &Path) -> bool {
    let name = lowercase_name(path);
    let inner = Packing::of_name(&name).1;
    inner.ends_with(".tsv") || inner.ends_with(".tab")
}

/// Whether the text of `path` is made of what the file stores, so that reading must start at its first byte.
pub(super) fn is_packed(path: &Path) -> bool {
    let is_made = |start: Start| start.packing.is_some() || start.format() == Format::Arff;
    is_rereadable(path) && start_of(path).is_ok_and(is_made)
}

/// Bytes of a text as its reader counts them; `None` for pipes and packed text, whose length is not known before the end.
pub(super) fn text_bytes(path: &Path) -> Option<u64> {
    let is_plain = is_rereadable(path) && !is_packed(path);
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

/// The error for a file whose format is not among `known`, with what it is.
pub(super) fn unknown_format(path: &Path, known: &str) -> Error {
    // A folder or a pattern of no tables.
    if let Err(error) = super::table::parts_of(path) {
        return error;
    }
    if !is_rereadable(path) {
        return Error::format(path, None, format!("this is a pipe; expected {known}"));
    }
    match start_of(path) {
        Ok(start) => Error::format(path, None, format!("{}; expected {known}", start.words(path))),
        Err(error) => error,
    }
}

/// The error for text that is none, for what can be read only once; `start` is its start.
pub(super) fn not_text(path: &Path, start: &[u8]) -> Option<Error> {
    let bytes = start[..start.len().min(START_BYTES)].to_vec();
    let start = Start { bytes, packing: None, name: ".csv".into(), archive: None };
    let reason = || format!("{}; expected text, since {ONLY_ONCE}", start.words(path));
    (start.format() != Format::Csv).then(|| Error::format(path, None, reason()))
}

/// Opens text for reading as UTF-8, unpacked; an ARFF table as CSV.
pub(super) fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut text = open_decoded(path)?;
    match is_rereadable(path) && arff::is_arff(text.fill_buf().map_err(|e| Error::io(path, e))?) {
        true => Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, ArffText::open(path, text)?))),
        false => Ok(text),
    }
}

/// Opens text for reading as UTF-8, unpacked.
pub(super) fn open_decoded(path: &Path) -> Result<Box<dyn BufRead + Send>> {
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
    let mut file = BufReader::with_capacity(TEXT_BYTES, open_once(path)?);
    let start = file.fill_buf().map_err(|e| Error::io(path, e))?;
    match Packing::of(&lowercase_name(path), start) {
        None => Ok(Box::new(file)),
        Some(packing) => Ok(Box::new(BufReader::with_capacity(TEXT_BYTES, packing.open(path, file)?))),
    }
}

/// Opens a file, or standard input.
fn open_once(path: &Path) -> Result<Box<dyn Read + Send>> {
    if is_stdin(path) { Ok(Box::new(std::io::stdin())) } else { Ok(Box::new(open(path)?)) }
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
        // Letters of other encodings hardly ever make up those of UTF-8: a cell behind these is damaged.
        Err(error) if !start[..error.valid_up_to()].is_ascii() => None,
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
