//! Collects classes: recognizes markers of rows without a label, and names and orders the classes.

use std::collections::{BTreeMap, HashMap};

use super::ClassNames;
use super::minus_one::SPELLINGS;
use crate::Warning;

/// Texts, in any case, that mark rows without a label if no other marker is given; an empty text always does.
pub const UNLABELED_TEXTS: [&str; 6] = ["-1", "-1.0", "nan", "null", "none", "na"];

/// Classes of texts, by the rules of [`Labels::from_texts`](super::Labels); holds each distinct text once.
pub struct TextClasses {
    unlabeled: Option<String>,
    /// The number of each text that is a label; `None` for a marker.
    ids: HashMap<String, Option<u32>>,
    n_ids: u32,
    /// How often labels were written with spaces around them, by their numbers.
    spaced: BTreeMap<(u32, String), usize>,
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

impl TextClasses {
    pub fn new(unlabeled: Option<&str>) -> Self {
        Self {
            unlabeled: unlabeled.map(|marker| marker.trim_matches(is_space).to_owned()),
            ids: HashMap::new(),
            n_ids: 0,
            spaced: BTreeMap::new(),
        }
    }

    /// Which spelling of −1 a text is, if it is open whether that marks rows without a label: if no marker is given.
    pub fn minus_one(&self, text: &str) -> Option<usize> {
        let is_open = self.unlabeled.is_none() && text.trim_start().starts_with('-');
        is_open.then(|| SPELLINGS.iter().position(|spelling| text.trim() == *spelling)).flatten()
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
        self.ids.contains_key(text)
    }

    /// The number of the label, the same for equal texts; `None` for a marker.
    pub fn id(&mut self, written: &str) -> Option<u32> {
        let text = written.trim_matches(is_space);
        let id = self.id_of(text);
        if let (true, Some(id)) = (text.len() < written.len(), id) {
            *self.spaced.entry((id, written.to_owned())).or_default() += 1;
        }
        id
    }

    fn id_of(&mut self, text: &str) -> Option<u32> {
        if text.is_empty() {
            return None;
        }
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = (!self.is_marker(text)).then_some(self.n_ids);
        self.n_ids += u32::from(id.is_some());
        self.ids.insert(text.to_owned(), id);
        id
    }

    fn is_marker(&self, text: &str) -> bool {
        match &self.unlabeled {
            Some(marker) => text == marker,
            None => UNLABELED_TEXTS.iter().any(|marker| text.eq_ignore_ascii_case(marker)),
        }
    }

    /// A warning if labels differ in white space alone: at their ends, where they are one class, or within them, where they are not.
    /// `counts` returns how many labels have each number.
    pub fn spaced(&self, counts: impl FnOnce() -> HashMap<u32, usize>) -> Option<Warning> {
        let texts: Vec<(&String, u32)> = self.ids.iter().filter_map(|(text, id)| Some((text, (*id)?))).collect();
        let mut ways: BTreeMap<u32, Vec<(&str, usize)>> = BTreeMap::new();
        self.spaced.iter().for_each(|((id, way), n)| ways.entry(*id).or_default().push((way, *n)));
        let counts = if ways.is_empty() { HashMap::new() } else { counts() };
        for (text, id) in &texts {
            let Some(ways) = ways.get_mut(id) else { continue };
            let n_spaced: usize = ways.iter().map(|way| way.1).sum();
            let n_plain = counts.get(id).map_or(0, |n| n.saturating_sub(n_spaced));
            ways.extend((n_plain > 0).then_some((text.as_str(), n_plain)));
        }
        let merged = ways.into_values().filter(|ways| ways.len() > 1).map(|ways| {
            let ways: Vec<String> = ways.iter().rev().map(|(way, n)| format!("{} ({n})", shown(way))).collect();
            format!("{} count as one class", ways.join(" and "))
        });
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (text, _) in texts.iter().filter(|(text, _)| text.contains(is_space)) {
            let folded = text.split(char::is_whitespace).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            alike.entry(folded.replace(&INVISIBLE[..], "")).or_default().push(text);
        }
        for (folded, ways) in &mut alike {
            // Without invisible characters, a text may be one without any space.
            ways.extend(self.ids.get_key_value(folded).filter(|(_, id)| id.is_some()).map(|(text, _)| text.as_str()));
            ways.sort_unstable();
            ways.dedup();
        }
        let apart = alike.into_values().filter(|ways| ways.len() > 1);
        let apart = apart.map(|ways| {
            format!("{} stay different classes", ways.into_iter().map(shown).collect::<Vec<_>>().join(" and "))
        });
        let all: Vec<String> = merged.chain(apart).collect();
        let more = if all.len() > MOST_SHOWN { "; …" } else { "" };
        let list = all[..all.len().min(MOST_SHOWN)].join("; ") + more;
        (!all.is_empty()).then_some(Warning::SpacedLabels { list })
    }

    /// The names of the classes, and the class of each number. The names are integers if every label is the text of
    /// one.
    pub fn finish(self) -> (ClassNames, Vec<u32>) {
        let mut texts: Vec<(u32, String)> = self.ids.into_iter().filter_map(|(text, id)| Some((id?, text))).collect();
        texts.sort_unstable();
        let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
        match texts.iter().map(|text| parse_integer(text)).collect::<Option<Vec<i64>>>() {
            Some(integers) => {
                let (names, class_of) = ranked(&integers);
                (ClassNames::Integers(names), class_of)
            }
            None => {
                let (names, class_of) = ranked(&texts);
                (ClassNames::Texts(names), class_of)
            }
        }
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

/// The integer whose canonical text this is: `7`, but not `007`, `+7` or `7.0`, which would be written as another text.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|integer: &i64| integer.to_string() == text)
}
