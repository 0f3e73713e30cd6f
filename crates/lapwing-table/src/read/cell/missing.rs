//! Texts of cells that hold nothing.

/// These texts, in any case; those with `#` are errors of spreadsheets.
const MISSING: [&[u8]; 36] = [
    b"na",
    b"n/a",
    b"n.a.",
    b"n.a",
    b"nan",
    b"-nan",
    b"nat",
    b"null",
    b"(null)",
    b"[null]",
    b"none",
    b"nil",
    b"<na>",
    b"\\n",
    b"?",
    b"-",
    b"--",
    b"---",
    b".",
    b"..",
    b"...",
    "\u{2013}".as_bytes(),
    "\u{2014}".as_bytes(),
    "\u{2026}".as_bytes(),
    b"#n/a",
    b"#n/a n/a",
    b"#na",
    b"#ref!",
    b"#div/0!",
    b"#value!",
    b"#name?",
    b"#num!",
    b"#null!",
    b"1.#ind",
    b"-1.#ind",
    b"1.#qnan",
];

/// Bytes of the longest of these texts.
const MAX_MISSING: usize = 8;

/// Whether a cell, without spaces around it, holds nothing.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    let Some(first) = cell.first() else { return true };
    // Most cells start with none of these.
    let may_be = matches!(first, b'n' | b'N' | b'-' | b'.' | b'?' | b'#' | b'(' | b'[' | b'<' | b'\\' | b'1' | 0xe2);
    may_be && cell.len() <= MAX_MISSING && MISSING.iter().any(|text| text.eq_ignore_ascii_case(cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cells_are_known() {
        for cell in
            ["", "NA", "n/a", "N.A.", "NaN", "null", "None", "?", "-", ".", "..", "—", "\\N", "NaT", "#REF!", "#DIV/0!"]
        {
            assert!(is_missing(cell.as_bytes()), "{cell}");
        }
        for cell in ["0", "no", "-1", "unknown", "nano", "#N/A N/A?"] {
            assert!(!is_missing(cell.as_bytes()), "{cell}");
        }
    }
}
