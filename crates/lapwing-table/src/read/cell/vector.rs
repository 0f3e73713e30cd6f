//! Lists of numbers in a cell: [0.1, 0.2], as NumPy prints them, or apart by blanks, `;` or `|`.

use super::number::plain;

/// Fewest numbers of a list without brackets.
const FEWEST_BARE: usize = 4;

/// Adds the numbers of a list to `out` and returns how many there are; `None`, with `out` as it was, if the cell holds no list.
pub(super) fn parse(cell: &[u8], out: &mut Vec<f32>) -> Option<usize> {
    let before = out.len();
    let inner = |open: u8, close: u8| cell.strip_prefix(&[open])?.strip_suffix(&[close]);
    let in_brackets = inner(b'[', b']').or_else(|| inner(b'(', b')')).or_else(|| inner(b'{', b'}'));
    let inside = in_brackets.unwrap_or(cell);
    let separator = [b',', b';', b'|'].into_iter().find(|mark| inside.contains(mark));
    let mut is_list = true;
    let mut take = |piece: &[u8]| match plain(piece, b'.') {
        _ if !is_list => {}
        Some(x) => out.push(x as f32),
        None if matches!(piece, b"None" | b"null" | b"NULL" | b"NA") => out.push(f32::NAN),
        None => is_list = false,
    };
    match separator {
        Some(mark) => inside.split(|byte| *byte == mark).for_each(|piece| take(piece.trim_ascii())),
        None => inside.split(u8::is_ascii_whitespace).filter(|piece| !piece.is_empty()).for_each(take),
    }
    let fewest = if in_brackets.is_some() { 2 } else { FEWEST_BARE };
    // Numbers with a comma between them may be one number with a decimal comma, or a list of names.
    let is_clear = in_brackets.is_some() || separator != Some(b',');
    let n = Some(out.len() - before).filter(|n| is_list && is_clear && *n >= fewest);
    out.truncate(before + n.unwrap_or(0));
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let of = |text: &str| {
            let mut out = Vec::new();
            parse(text.as_bytes(), &mut out).map(|n| (n, out))
        };
        assert_eq!(of("[0.5, -1e1]"), Some((2, vec![0.5, -10.0])));
        assert_eq!(of("[ 1.  2.\n 3.]"), Some((3, vec![1.0, 2.0, 3.0])));
        assert_eq!(of("1|2|3|4"), Some((4, vec![1.0, 2.0, 3.0, 4.0])));
        assert_eq!(of("(1;2)").map(|found| found.0), Some(2));
        for odd in ["", "[]", "[1]", "1 2 3", "1,2,3,4", "[1, x]", "a|b|c|d", "1.5"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
