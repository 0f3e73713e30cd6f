//! Collects classes: recognizes markers of rows without a label, and names and orders the classes.

use std::collections::HashMap;

use super::ClassNames;
use super::minus_one::SPELLINGS;

/// Texts, in any case, that mark rows without a label if no other marker is given; an empty text always does.
pub(crate) const UNLABELED_TEXTS: [&str; 6] = ["-1", "-1.0", "nan", "null", "none", "na"];

/// Classes of texts, by the rules of [`Labels::from_texts`](super::Labels); holds each distinct text once.
pub(crate) struct TextClasses {
    unlabeled: Option<String>,
    /// The number of each text that is a label; `None` for a marker.
    ids: HashMap<String, Option<u32>>,
    n_ids: u32,
}

impl TextClasses {
    pub(crate) fn new(unlabeled: Option<&str>) -> Self {
        Self { unlabeled: unlabeled.map(|marker| marker.trim().to_owned()), ids: HashMap::new(), n_ids: 0 }
    }

    /// Which spelling of −1 a text is, if it is open whether that marks rows without a label: if no marker is given.
    pub(crate) fn minus_one(&self, text: &str) -> Option<usize> {
        let is_open = self.unlabeled.is_none() && text.trim_start().starts_with('-');
        is_open.then(|| SPELLINGS.iter().position(|spelling| text.trim() == *spelling)).flatten()
    }

    /// The number of a label that would mark rows without one, but is a class.
    pub(crate) fn class(&mut self, text: &str) -> u32 {
        let id = self.n_ids;
        self.n_ids += 1;
        self.ids.insert(text.to_owned(), Some(id));
        id
    }

    /// The number of the label, the same for equal texts; `None` for a marker.
    pub(crate) fn id(&mut self, text: &str) -> Option<u32> {
        let text = text.trim();
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

    /// The names of the classes, and the class of each number. The names are integers if every label is the text of
    /// one.
    pub(crate) fn finish(self) -> (ClassNames, Vec<u32>) {
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
pub(crate) struct IntegerClasses {
    ids: HashMap<i64, u32>,
}

impl IntegerClasses {
    /// The number of the label, the same for equal integers.
    pub(crate) fn id(&mut self, label: i64) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(label).or_insert(next)
    }

    /// The names of the classes, and the class of each number.
    pub(crate) fn finish(self) -> (ClassNames, Vec<u32>) {
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
