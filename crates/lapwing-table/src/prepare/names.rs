//! What the names of columns say about their cells.

/// Whether a column has no name of its own, as an index that was written has.
pub(super) fn is_nameless(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    lower.is_empty() || lower.starts_with("unnamed") || lower == "index" || lower.starts_with("__index_level_")
}

/// Whether the name of a column says that it names the rows.
pub(super) fn names_rows(name: &str) -> bool {
    let is_camel = name.ends_with("Id") || name.ends_with("ID");
    is_camel || ends_in(name, &["id", "ids", "uuid", "guid", "key", "index", "number", "nr", "no"])
}

/// Whether the name of a column says that its numbers are codes.
pub(super) fn names_codes(name: &str) -> bool {
    let words = ["code", "codes", "id", "ids", "zip", "zipcode", "postcode", "plz"];
    ends_in(name, &words) || ["Id", "ID", "Code"].iter().any(|word| name.ends_with(word))
}

/// Whether the name of a column says that its values may be those of a category.
pub(super) fn names_groups(name: &str) -> bool {
    ends_in(name, &["type", "class", "group", "cat", "category", "kind", "cluster", "region", "department"])
}

/// Whether the last word of a name is one of some.
fn ends_in(name: &str, words: &[&str]) -> bool {
    let lower = name.trim().to_lowercase();
    let is_last = |word: &&str| {
        lower.strip_suffix(*word).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-', ' ', '.']))
    };
    words.iter().any(is_last)
}
