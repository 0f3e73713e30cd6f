//! Lists of numbers in a cell: [0.1, 0.2], as NumPy prints them, or apart by blanks, `;` or `|`; and measures of several short numbers,
//! 1920x1080, 120/80, 16:9, and places, 48.137, 11.575 and POINT (11.575 48.137).

use super::number::plain;

/// Fewest numbers of a list without brackets; two are enough if all have decimals.
const FEWEST_BARE: usize = 4;

/// Marks between the numbers of a measure, the last two between two numbers only, since dates and times have three; and the bytes of its
/// longest number: longer ones are codes and telephone numbers.
const MEASURE_MARKS: [&str; 5] = ["x", "×", "X", "/", ":"];
const MEASURE_BYTES: usize = 6;

/// Adds the numbers of a list to `out` and returns how many there are; `None`, with `out` as it was, if the cell holds no list.
pub(super) fn parse(cell: &[u8], out: &mut Vec<f32>) -> Option<usize> {
    let before = out.len();
    if let Some(n) = measure(cell, out) {
        return Some(n);
    }
    let cell = cell.strip_prefix(b"POINT").map_or(cell, <[u8]>::trim_ascii);
    let inner = |open: u8, close: u8| cell.strip_prefix(&[open])?.strip_suffix(&[close]);
    let in_brackets = inner(b'[', b']').or_else(|| inner(b'(', b')')).or_else(|| inner(b'{', b'}'));
    let inside = in_brackets.unwrap_or(cell);
    let separator = [b',', b';', b'|'].into_iter().find(|mark| inside.contains(mark));
    let (mut is_list, mut have_decimals) = (true, true);
    let mut take = |piece: &[u8]| match plain(piece, b'.').inspect(|_| have_decimals &= piece.contains(&b'.')) {
        _ if !is_list => {}
        Some(x) => out.push(x as f32),
        None if matches!(piece, b"None" | b"null" | b"NULL" | b"NA") => out.push(f32::NAN),
        None => is_list = false,
    };
    match separator {
        Some(mark) => inside.split(|byte| *byte == mark).for_each(|piece| take(piece.trim_ascii())),
        None => inside.split(u8::is_ascii_whitespace).filter(|piece| !piece.is_empty()).for_each(take),
    }
    let fewest = if in_brackets.is_some() || have_decimals { 2 } else { FEWEST_BARE };
    // Numbers with a comma between them may be one number with a decimal comma, or a list of names.
    let is_clear = in_brackets.is_some() || have_decimals || separator != Some(b',');
    let n = Some(out.len() - before).filter(|n| is_list && is_clear && *n >= fewest);
    out.truncate(before + n.unwrap_or(0));
    n
}

/// Adds the numbers of a measure to `out`, and returns how many there are.
fn measure(cell: &[u8], out: &mut Vec<f32>) -> Option<usize> {
    let text = std::str::from_utf8(cell).ok().filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))?;
    let mark = MEASURE_MARKS.into_iter().find(|mark| text.contains(mark))?;
    let number = |piece: &str| {
        let is_short = piece.len() <= MEASURE_BYTES && piece.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        plain(piece.as_bytes(), b'.').filter(|_| is_short).map(|x| x as f32)
    };
    let numbers: Vec<f32> = text.split(mark).map(|piece| number(piece.trim())).collect::<Option<_>>()?;
    let is_measure = numbers.len() == 2 || !matches!(mark, "/" | ":");
    is_measure.then(|| out.extend_from_slice(&numbers)).map(|()| numbers.len())
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
        assert_eq!(of("1920x1080"), Some((2, vec![1920.0, 1080.0])));
        assert_eq!(of("2.5 × 3 × 10"), Some((3, vec![2.5, 3.0, 10.0])));
        assert_eq!(of("48.137, 11.575"), Some((2, vec![48.137, 11.575])));
        assert_eq!(of("POINT (11.5 48)"), Some((2, vec![11.5, 48.0])));
        assert_eq!(of("120/80").or(of("5:0")).map(|found| found.0), Some(2));
        for odd in [
            "",
            "[]",
            "[1]",
            "1 2 3",
            "1,2,3,4",
            "1.5,2",
            "48,5 11,5",
            "[1, x]",
            "a|b|c|d",
            "1.5",
            "0x1f",
            "31/12/2020",
            "030/1234567",
            "1/",
            "3 x 4 cm",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
