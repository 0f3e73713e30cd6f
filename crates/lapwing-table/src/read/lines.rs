//! Lines and cells of a text in messages, and errors of reading it.

use std::path::Path;

use lapwing_core::Error;

/// Characters of a cell that a message shows.
const MAX_SHOWN: usize = 40;

/// Advice for text in another encoding.
pub(super) const AS_UTF8: &str = "save the file as UTF-8, for instance by `iconv -f LATIN1 -t UTF-8`";

/// Number of line ends in a text.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', bytes).count();
    let returns = memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) != Some(&b'\n')).count();
    (newlines + returns) as u64
}

/// The start of a cell on one line.
pub(crate) fn shown(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * MAX_SHOWN)]);
    let mut shown: String = text.chars().take(MAX_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MAX_SHOWN {
        shown.push('…');
    }
    shown
}

/// An error of reading text. Text that ends early or cannot be decompressed has damaged contents.
pub(super) fn text_error(path: &Path, line: Option<u64>, error: std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    match error.kind() {
        UnexpectedEof => Error::format(path, line, "the file is truncated"),
        InvalidData | InvalidInput | Other => Error::format(path, line, format!("the file is damaged ({error})")),
        _ => Error::io(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        assert_eq!(count_lines(b"a\nb\r\nc\rd"), 3);
        assert_eq!(count_lines(b"\r"), 1);
    }
}
