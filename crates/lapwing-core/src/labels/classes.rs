//! Collects classes: recognizes markers of rows without a label, and names and orders the classes.

use std::collections::{BTreeMap, HashMap};

use unicode_normalization::UnicodeNormalization;

use super::ClassNames;
use super::open_markers::is_open_marker;
use crate::Warning;
use crate::text::parse_integer;

/// Classes of texts, by the rules of [`Labels::from_texts`](super::Labels); holds each distinct text once.
///
/// Texts that differ only in spaces, in the case of their letters, in how these are composed, or in a point at the end, and whole numbers
/// with and without decimals, are ways to write one class; it is named as it is written most often.
pub struct TextClasses {
    unlabeled: Option<String>,
    /// The number of each text as it is written; `None` for a marker.
    ids: HashMap<String, Option<u32>>,
    n_ids: u32,
}

/// Characters without width that are no white space to Unicode, and that no one sees.
const INVISIBLE: [char; 5] = ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// Classes that a message shows.
const MOST_SHOWN: usize = 3;

fn is_space(c: char) -> bool {
    c.is_whitespace() || INVISIBLE.contains(&c)
}

/// A label in quotes, with all spaces but the common one as their codes.
fn shown(text: &str) -> String {
    let visible = |c: char| if is_space(c) && c != ' ' { c.escape_default().to_string() } else { c.to_string() };
    format!("'{}'", text.chars().take(40).map(visible).collect::<String>())
}

/// What is the same for all ways to write a label.
fn folded(text: &str) -> String {
    let visible = text.chars().filter(|c| !INVISIBLE.contains(c)).nfc().collect::<String>();
    let text = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && !decimals.is_empty()
        && decimals.bytes().all(|b| b == b'0')
    {
        return format!("{sign}{whole}");
    }
    let text = text.strip_suffix('.').filter(|rest| !rest.is_empty()).unwrap_or(&text);
    // Single letters in both cases may be classes, as those of handwriting are.
    if text.chars().nth(1).is_some() { text.to_lowercase() } else { text.to_owned() }
}

impl TextClasses {
    pub fn new(unlabeled: Option<&str>) -> Self {
        let unlabeled = unlabeled.map(|marker| marker.trim_matches(is_space).to_owned());
        Self { unlabeled, ids: HashMap::new(), n_ids: 0 }
    }

    /// The text without spaces around it, if it is open whether it marks rows without a label: if no marker is given.
    pub fn open_marker<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.trim_matches(is_space);
        (self.unlabeled.is_none() && is_open_marker(text)).then_some(text)
    }

    /// The number of a label that would mark rows without one, but is a class.
    pub fn class(&mut self, text: &str) -> u32 {
        let id = self.n_ids;
        self.n_ids += 1;
        self.ids.insert(text.to_owned(), Some(id));
        id
    }

    /// Whether this text was a label, or a marker.
    pub fn has(&self, text: &str) -> bool {
        self.ids.keys().any(|written| written.trim_matches(is_space) == text)
    }

    /// The number of the label, the same for equal texts; `None` for a marker.
    pub fn id(&mut self, written: &str) -> Option<u32> {
        if let Some(&id) = self.ids.get(written) {
            return id;
        }
        let text = written.trim_matches(is_space);
        if text.is_empty() {
            return None;
        }
        let is_marker = self.unlabeled.as_ref().map_or_else(|| is_open_marker(text), |marker| text == marker);
        let id = (!is_marker).then_some(self.n_ids);
        self.n_ids += u32::from(id.is_some());
        self.ids.insert(written.to_owned(), id);
        id
    }

    /// The ways to write each class, with their numbers, the most frequent first; `counts` says how many labels have each number.
    fn ways(&self, counts: &HashMap<u32, usize>) -> Vec<Vec<(&str, u32)>> {
        let mut classes: BTreeMap<String, Vec<(&str, u32)>> = BTreeMap::new();
        let texts = self.ids.iter().filter_map(|(text, id)| Some((text.as_str(), (*id)?)));
        texts.for_each(|(text, id)| classes.entry(folded(text)).or_default().push((text, id)));
        let count = |id: u32| counts.get(&id).copied().unwrap_or(0);
        let mut ways: Vec<_> = classes.into_values().collect();
        ways.iter_mut().for_each(|ways| {
            ways.sort_unstable_by_key(|&(way, id)| (std::cmp::Reverse(count(id)), way.len(), way));
        });
        ways
    }

    /// For each number, that of the most frequent way to write its class; `counts` says how many labels have each number.
    pub fn usual(&self, counts: &HashMap<u32, usize>) -> Vec<u32> {
        let mut usual: Vec<u32> = (0..self.n_ids).collect();
        self.ways(counts).iter().for_each(|ways| ways.iter().for_each(|&(_, id)| usual[id as usize] = ways[0].1));
        usual
    }

    /// A warning if classes are written in several ways. `counts` returns how many labels have each number.
    pub fn spaced(&self, counts: impl FnOnce() -> HashMap<u32, usize>) -> Option<Warning> {
        let counts = counts();
        let ways = self.ways(&counts);
        let several: Vec<String> = ways
            .iter()
            .filter(|ways| ways.len() > 1)
            .map(|ways| {
                let count = |id: u32| counts.get(&id).copied().unwrap_or(0);
                let ways: Vec<String> =
                    ways.iter().map(|&(way, id)| format!("{} ({})", shown(way), count(id))).collect();
                format!("{} count as one class", ways.join(" and "))
            })
            .collect();
        let more = if several.len() > MOST_SHOWN { "; …" } else { "" };
        let list = several[..several.len().min(MOST_SHOWN)].join("; ") + more;
        (!several.is_empty()).then_some(Warning::SpacedLabels { list })
    }

    /// The names of the classes, ascending, and the class of each number; `counts` says how many labels have each number.
    pub fn finish(self, counts: &HashMap<u32, usize>) -> (ClassNames, Vec<u32>) {
        let ways = self.ways(counts);
        let names: Vec<String> = ways.iter().map(|ways| ways[0].0.trim_matches(is_space).to_owned()).collect();
        let (names, ranks) = match names.iter().map(|text| parse_integer(text)).collect::<Option<Vec<i64>>>() {
            Some(integers) => {
                let (names, ranks) = ranked(&integers);
                (ClassNames::Integers(names), ranks)
            }
            None => {
                let (names, ranks) = ranked(&names);
                (ClassNames::Texts(names), ranks)
            }
        };
        let mut class_of = vec![0; self.n_ids as usize];
        for (ways, rank) in ways.iter().zip(ranks) {
            ways.iter().for_each(|&(_, id)| class_of[id as usize] = rank);
        }
        (names, class_of)
    }
}

/// Classes of integers.
#[derive(Default)]
pub struct IntegerClasses {
    ids: HashMap<i64, u32>,
}

impl IntegerClasses {
    /// The number of the label, the same for equal integers.
    pub fn id(&mut self, label: i64) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(label).or_insert(next)
    }

    /// The names of the classes, and the class of each number.
    pub fn finish(self) -> (ClassNames, Vec<u32>) {
        let mut labels: Vec<(u32, i64)> = self.ids.into_iter().map(|(label, id)| (id, label)).collect();
        labels.sort_unstable();
        let (names, class_of) = ranked(&labels.into_iter().map(|(_, label)| label).collect::<Vec<_>>());
        (ClassNames::Integers(names), class_of)
    }
}

/// The distinct labels, ascending, and the index of each label among them.
fn ranked<T: Ord + Clone>(labels: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let class_of = labels.iter().map(|label| names.partition_point(|name| name < label) as u32).collect();
    (names, class_of)
}
