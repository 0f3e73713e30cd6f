//! The Python literals in the header of an array: a dictionary of strings, tuples and truth values.
//!
//! As in NumPy, a header that is no such dictionary or has another key is an error: one changed byte of a header may
//! change every value of the array.

/// The values, unparsed, of a dictionary that has exactly these `keys`; `None` for anything else.
pub(super) fn dictionary<'t, const N: usize>(text: &'t str, keys: [&str; N]) -> Option<[&'t str; N]> {
    let mut values = [None; N];
    for entry in items(text.trim_ascii(), '{', '}')? {
        let quote = entry.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (key, value) = entry[1..].split_once(quote)?;
        let place = &mut values[keys.iter().position(|known| *known == key)?];
        if place.is_some() {
            return None;
        }
        *place = Some(value.trim_ascii_start().strip_prefix(':')?.trim_ascii());
    }
    let found = values.map(Option::unwrap_or_default);
    values.iter().all(Option::is_some).then_some(found)
}

/// The integers of a tuple; old versions of Python write an L behind each.
pub(super) fn lengths(text: &str) -> Option<Vec<usize>> {
    let dims = items(text, '(', ')')?;
    // A number in brackets without a comma is no tuple.
    if dims.len() == 1 && !text.contains(',') {
        return None;
    }
    let length = |dim: &&str| {
        let digits = dim.strip_suffix('L').unwrap_or(dim);
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        digits.parse().ok().filter(|length: &usize| is_plain && isize::try_from(*length).is_ok())
    };
    dims.iter().map(length).collect()
}

/// The items of a list in brackets: the text between commas that are in no further bracket and no string. The last may have a
/// comma behind it.
pub(super) fn items(text: &str, open: char, close: char) -> Option<Vec<&str>> {
    let text = text.strip_prefix(open)?.strip_suffix(close)?;
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let (mut quote, mut is_escaped) = (None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) => {
                if byte == open && !is_escaped {
                    quote = None;
                }
                is_escaped = byte == b'\\' && !is_escaped;
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.checked_sub(1)?,
            (None, b',') if depth == 0 => {
                items.push(text[start..at].trim_ascii());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim_ascii();
    if !last.is_empty() {
        items.push(last);
    }
    (quote.is_none() && depth == 0 && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// The inside of a text in quotes, with its escapes unchanged.
pub(super) fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].strip_suffix(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_have_the_keys_that_are_asked_for_and_no_others() {
        let read = |text| dictionary(text, ["descr", "shape"]);
        let expected = Some(["[('a,', '<f4'), (\"}\", '<u1')]", "(3,)"]);
        assert_eq!(read("{'descr': [('a,', '<f4'), (\"}\", '<u1')], 'shape': (3,), }  \n"), expected);
        assert_eq!(read("{\"shape\" :(3,),'descr':'<f4'}"), Some(["'<f4'", "(3,)"]));
        for damaged in [
            "",
            "{}",
            "{'descr': 1, 'shape': 2} x",
            "{'descr': 1, 'shape': 2",
            "{'descr': 1}",
            "{'descr': 1, 'shape': 2, 'more': 3}",
            "{'descr': 1, 'shape': 2, 'shape': 2}",
            "{'descr': 1,, 'shape': 2}",
            "{'descr': 1 'shape': 2}",
            "{'descr' 1, 'shape': 2}",
            "{'descr': '1, 'shape': 2}",
            "{'descr': (1, 'shape': 2}",
            "{descr: 1, 'shape': 2}",
        ] {
            assert_eq!(read(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn lengths_are_whole_numbers_in_a_tuple() {
        assert_eq!(lengths("()"), Some(vec![]));
        assert_eq!(lengths("(3,)"), Some(vec![3]));
        assert_eq!(lengths("( 3L , 2 ,)"), Some(vec![3, 2]));
        for damaged in
            ["3", "(3)", "(3, 2", "(3 2)", "(-1,)", "(+1,)", "(03,)", "(,)", "(1,,2)", "(9223372036854775808, 0)"]
        {
            assert_eq!(lengths(damaged), None, "{damaged}");
        }
    }
}
