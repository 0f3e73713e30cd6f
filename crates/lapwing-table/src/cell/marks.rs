//! The decimal mark of numbers.

use std::borrow::Cow;

/// What numbers say about their decimal mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Numbers that have decimals behind a point, and behind a comma.
    pub point: usize,
    pub comma: usize,
    /// Numbers such as 1,234 that may be whole, and such as 1.234.
    pub unclear: usize,
    pub unclear_point: usize,
}

impl Marks {
    /// Looks at cells.
    pub(crate) fn of<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Self {
        let mut marks = Self::default();
        cells.for_each(|cell| marks.look(cell));
        marks
    }

    /// The mark, if the numbers show it.
    pub(crate) fn decimal(&self) -> Option<u8> {
        (self.comma != self.point).then_some(if self.comma > self.point { b',' } else { b'.' })
    }

    /// Looks at a cell, from its first digit to its last; texts around them are those of units and currencies.
    fn look(&mut self, cell: &[u8]) {
        let Some(first) = cell.iter().position(u8::is_ascii_digit) else { return };
        let last = cell.iter().rposition(u8::is_ascii_digit).unwrap_or(first);
        // A mark before all digits: .5 and ,5.
        let first = if first > 0 && matches!(cell[first - 1], b'.' | b',') { first - 1 } else { first };
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
        let mut digits = Cow::Borrowed(without_exponent(&cell[first..=last]));
        if !digits.iter().all(is_part) {
            digits = Cow::Owned(joined(&digits));
        }
        if !digits.iter().all(is_part) {
            return;
        }
        let digits = &digits[..];
        let count = |mark: u8| digits.iter().filter(|&&byte| byte == mark).count();
        let behind = |mark: u8| digits.iter().rev().take_while(|&&byte| byte != mark).count();
        let before = |mark: u8| digits.iter().take_while(|&&byte| byte != mark).count();
        let may_group = |mark: u8| behind(mark) == 3 && (1..=3).contains(&before(mark)) && digits[0] != b'0';
        match (count(b'.'), count(b',')) {
            (0, 1) if may_group(b',') => self.unclear += 1,
            (0, 1) => self.comma += 1,
            (1, 0) if may_group(b'.') => self.unclear_point += 1,
            (1, 0) => self.point += 1,
            // 1,234,567 and 1.234.567: the mark that comes again separates groups.
            (0, 2..) if behind(b',') == 3 => self.point += 1,
            (2.., 0) if before(b'.') <= 3 && are_groups(digits) => self.comma += 1,
            (1, 1..) if behind(b'.') < behind(b',') => self.point += 1,
            (1.., 1) if behind(b',') < behind(b'.') => self.comma += 1,
            _ => {}
        }
    }
}

/// Digits without the exponent behind them.
fn without_exponent(digits: &[u8]) -> &[u8] {
    let Some(at) = digits.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return digits };
    let exponent = &digits[at + 1..];
    let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
    if exponent.iter().all(u8::is_ascii_digit) { &digits[..at] } else { digits }
}

/// Digits without the blanks of all kinds, and the apostrophes, which separate groups, if all stand between digits.
fn joined(cell: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(cell);
    let pieces: Vec<&str> = text.split([' ', '\'', '’', '\u{a0}', '\u{202f}', '\u{2009}']).collect();
    let is_digit = |c: char| c.is_ascii_digit();
    let are_apart = |pair: &[&str]| pair[0].ends_with(is_digit) && pair[1].starts_with(is_digit);
    if pieces.windows(2).all(are_apart) { pieces.concat().into_bytes() } else { cell.to_vec() }
}

/// Whether all groups between points but the first have three digits.
fn are_groups(digits: &[u8]) -> bool {
    digits.split(|&byte| byte == b'.').skip(1).all(|group| group.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_shown_by_numbers() {
        let of = |cells: &[&str]| Marks::of(cells.iter().map(|cell| cell.as_bytes())).decimal();
        assert_eq!(of(&["1,5", "2"]), Some(b','));
        assert_eq!(of(&["12,5 km", "1.234,5 km"]), Some(b','));
        assert_eq!(of(&["€1.5M", ",5"]), None);
        assert_eq!(of(&["1,234,567", "$2,345"]), Some(b'.'));
        assert_eq!(of(&["1,234", "2,345"]), None);
        assert_eq!(of(&["1.234.567"]), Some(b','));
        assert_eq!(of(&["1\u{a0}234,5", "2\u{202f}345,25"]), Some(b','));
        assert_eq!(of(&["9,58e+06", "1,2E3"]), Some(b','));
        assert_eq!(of(&["192.168.0.1", "2024-01-02"]), None);
    }
}
