//! What a file is, by its first bytes and its name.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::encoding::is_text;
use super::packing::Packing;
use super::pairs::is_svmlight;
use super::{Format, ONLY_ONCE, archive, arff, foreign, is_rereadable, lowercase_name};
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result};

/// Bytes at the start of a file that tell what it is.
const START_BYTES: usize = 1 << 16;

impl Format {
    /// The format of `path`: that of its contents if it can be read more than once, else that of its ending.
    pub(crate) fn from_path(path: &Path) -> Self {
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
            start.archive = if named.is_some() { named } else { archive::format_of(path)? };
            if start.archive.is_some() {
                return Ok(start);
            }
            let (name, text) = archive::only_member(path)?;
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
            Format::Csv if is_svmlight(&self.bytes) => Format::Svmlight,
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

/// Whether the text of `path` is made of what the file stores, so that reading must start at its first byte.
pub(crate) fn is_packed(path: &Path) -> bool {
    let is_made = |start: Start| start.packing.is_some() || start.format() == Format::Arff;
    is_rereadable(path) && start_of(path).is_ok_and(is_made)
}

/// Bytes of a text as its reader counts them; `None` for pipes and packed text, whose length is not known before the end.
pub(crate) fn text_bytes(path: &Path) -> Option<u64> {
    let is_plain = is_rereadable(path) && !is_packed(path);
    is_plain.then(|| std::fs::metadata(path).ok()).flatten().map(|data| data.len())
}

/// The error for a file whose format is not among `known`, with what it is.
pub(crate) fn unread(path: &Path, known: &str) -> Error {
    let words = match is_rereadable(path) {
        true => start_of(path).map(|start| start.words(path)),
        false => Ok("this is a pipe".to_owned()),
    };
    words.map_or_else(|error| error, |words| Error::format(path, None, format!("{words}; expected {known}")))
}

/// The error for text that is none, for what can be read only once; `start` is its start.
pub(crate) fn not_text(path: &Path, start: &[u8]) -> Option<Error> {
    let bytes = start[..start.len().min(START_BYTES)].to_vec();
    let start = Start { bytes, packing: None, name: ".csv".into(), archive: None };
    let reason = || format!("{}; expected text, since {ONLY_ONCE}", start.words(path));
    (start.format() != Format::Csv).then(|| Error::format(path, None, reason()))
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
