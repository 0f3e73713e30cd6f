//! Texts of cells that hold nothing.

/// These texts, in any case; those with `#` are errors of spreadsheets.
const MISSING: [&str; 36] = [
    "na", "n/a", "n.a.", "n.a", "nan", "-nan", "nat", "null", "(null)", "[null]", "none", "nil", "<na>", "\\n", "?",
    "-", "--", "---", ".", "..", "...", "–", "—", "…", "#n/a", "#n/a n/a", "#na", "#ref!", "#div/0!", "#value!",
    "#name?", "#num!", "#null!", "1.#ind", "-1.#ind", "1.#qnan",
];

/// Bytes of the longest of these texts.
const MAX_MISSING: usize = 8;

/// Whether a cell, without spaces around it, holds nothing.
#[inline]
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    let Some(first) = cell.first() else { return true };
    // Most cells start with none of these.
    let may_be = matches!(first, b'n' | b'N' | b'-' | b'.' | b'?' | b'#' | b'(' | b'[' | b'<' | b'\\' | b'1' | 0xe2);
    may_be && cell.len() <= MAX_MISSING && MISSING.iter().any(|text| cell.eq_ignore_ascii_case(text.as_bytes()))
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
