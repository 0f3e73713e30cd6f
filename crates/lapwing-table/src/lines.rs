//! Lines and cells of a text in messages, and errors of reading it.

use std::path::Path;

use lapwing_core::Error;
use lapwing_core::text::start_of;

/// Characters of a cell that a message shows.
const MAX_SHOWN: usize = 40;

/// Advice for text in another encoding.
pub(crate) const AS_UTF8: &str = "save the file as UTF-8, for instance by `iconv -f LATIN1 -t UTF-8`";

/// The lines of a text, also empty ones, without their ends.
pub(crate) fn each_line(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (line, end) = rest.split_at_checked(length).filter(|_| !rest.is_empty())?;
        rest = end.strip_prefix(b"\r\n").or(end.get(1..)).unwrap_or_default();
        Some(line)
    })
}

/// Number of line ends in a text.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', bytes).count();
    let returns = memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) != Some(&b'\n')).count();
    (newlines + returns) as u64
}

/// A number of fields in messages.
pub(crate) fn n_fields(n: usize) -> String {
    format!("{n} field{}", if n == 1 { "" } else { "s" })
}

/// The start of a cell on one line.
pub(crate) fn shown(cell: &[u8]) -> String {
    start_of(&String::from_utf8_lossy(&cell[..cell.len().min(4 * MAX_SHOWN)]), MAX_SHOWN)
}

/// What an error of reading says of the contents, if it does: these end early, or cannot be decompressed.
pub(crate) fn damage(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    match error.kind() {
        UnexpectedEof => Some("the file is truncated".into()),
        InvalidData | InvalidInput | Other => Some(format!("the file is damaged ({error})")),
        _ => None,
    }
}

/// An error of reading text.
pub(crate) fn text_error(path: &Path, line: Option<u64>, error: std::io::Error) -> Error {
    damage(&error).map_or_else(|| Error::io(path, error), |reason| Error::format(path, line, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        assert_eq!(count_lines(b"a\nb\r\nc\rd"), 3);
        assert_eq!(count_lines(b"\r"), 1);
        let lines = |text| each_line(text).collect::<Vec<&[u8]>>();
        assert_eq!(lines(b"a\n\nb\r\n\rc\rd"), [&b"a"[..], b"", b"b", b"", b"c", b"d"]);
        assert_eq!((lines(b"a\r\n"), lines(b"").len()), (vec![&b"a"[..]], 0));
    }
}
