//! Lines of sparse rows: a label and pairs of an index and a value.

/// Whether the first lines of a text are sparse rows: pairs of ascending indices, most often several, that are no times of day.
pub(crate) fn is_svmlight(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let is_time = |token: &str| token.split_once(':').is_some_and(|(hour, minute)| hour.len() < 3 && minute.len() == 2);
    let (mut n_rows, mut n_pairs, mut n_times) = (0, 0, 0);
    // The last line may be cut.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n') || line.len() == text.len()).take(50) {
        let (label, tokens) = label_of(line.split('#').next().unwrap_or_default());
        let pairs: Option<Vec<(u32, f32)>> = tokens.clone().map(pair).collect();
        let is_sorted = |pairs: &Vec<(u32, f32)>| pairs.is_sorted_by(|a, b| a.0 < b.0);
        let Some(pairs) = pairs.filter(is_sorted).filter(|_| !label.contains(['"', ';', '|'])) else { return false };
        n_rows += usize::from(!label.is_empty());
        n_pairs += pairs.len();
        n_times += tokens.filter(|token| is_time(token)).count();
    }
    n_pairs > n_rows && n_times < n_pairs
}

/// The label of a line, empty if it has none, and its entries.
pub(crate) fn label_of(line: &str) -> (&str, impl Iterator<Item = &str> + Clone) {
    let is_entry = |token: &str| {
        token
            .split_once(':')
            .is_some_and(|(index, _)| index == "qid" || index.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut tokens = line.split_ascii_whitespace();
    let label = tokens.clone().next().filter(|token| !is_entry(token)).unwrap_or_default();
    if !label.is_empty() {
        tokens.next();
    }
    (label, tokens.filter(|token| !token.starts_with("qid:")))
}

/// An entry.
pub(crate) fn pair(token: &str) -> Option<(u32, f32)> {
    let (index, value) = token.split_once(':')?;
    Some((index.parse().ok().filter(|index| *index < u32::MAX)?, value.parse().ok()?))
}
