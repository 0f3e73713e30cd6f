//! Formats of files, by the endings of their names and the marks that files start with; `start` tells what a file is, `open` unpacks and decodes
//! a text.
//!
//! The first bytes tell the formats that have marks. Texts have none: their ending counts, and where there is none that is known, what
//! their first lines hold. So a file is read as what it is, whatever its name; what is known and not read is named. Cost: the first 64 KiB
//! of the file, and of what it unpacks to.

pub(crate) mod archive;
pub(crate) mod arff;
mod encoding;
pub(crate) mod open;
pub(crate) mod packing;
pub(crate) mod pairs;
pub(crate) mod start;

use std::path::Path;

use self::encoding::is_text;
use self::packing::Packing;
use lapwing_core::Error;

/// Formats of input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
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
pub(crate) fn foreign(start: &[u8]) -> Option<&'static str> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let is_mark = |mark: &[u8]| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    let known = FOREIGN.iter().find(|(mark, _)| is_mark(mark)).map(|(_, what)| *what);
    let is_list = || text.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"));
    let is_long = || is_mark(b"{\n") || is_mark(b"{\r\n");
    known.or_else(|| (is_list() || is_long()).then_some(JSON))
}

impl Format {
    /// The format that a name, in lower case, states, without the ending of a packing behind that of a text.
    pub(crate) fn by_name(name: &str) -> Self {
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
    pub(crate) fn of_marks(start: &[u8]) -> Option<Self> {
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
    pub(crate) fn words(self) -> &'static str {
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
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines | Self::Arff | Self::Parquet | Self::Ipc | Self::Sheet)
    }
}

/// Whether the name of `path` says that tabs separate the cells.
pub(crate) fn is_tsv(path: &Path) -> bool {
    let name = lowercase_name(path);
    let inner = Packing::of_name(&name).1;
    inner.ends_with(".tsv") || inner.ends_with(".tab")
}

/// Whether `path` means standard input or output.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether `path` can be read more than once: no pipe, terminal or standard input.
pub(crate) fn is_rereadable(path: &Path) -> bool {
    let is_device = || std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    !is_stdin(path) && !is_device()
}

/// The reason in errors about paths that are not [`is_rereadable`].
pub(crate) const ONLY_ONCE: &str = "a pipe or standard input can be read only once";

/// The error for a second reading of `path`.
pub(crate) fn only_once(path: &Path) -> Error {
    Error::param("file", path.display(), format!("a file, since {ONLY_ONCE}"))
}

pub(crate) fn lowercase_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
}
