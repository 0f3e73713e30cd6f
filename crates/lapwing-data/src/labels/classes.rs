//! Classes as they turn up: which labels mark a row without one, and how the others are named and ordered.

use std::collections::HashMap;

use super::ClassNames;

/// Texts that mark rows without a label, in any case, where no other marker is given; an empty text always does.
pub(crate) const UNLABELED_TEXTS: [&str; 6] = ["-1", "-1.0", "nan", "null", "none", "na"];

/// Classes told by texts, each distinct text held once; the rules are those of [`Labels::from_texts`](super::Labels).
pub(crate) struct TextClasses {
    unlabeled: Option<String>,
    /// What each text turned out to be: the number of a label, or a marker.
    ids: HashMap<String, Option<u32>>,
    n_ids: u32,
}

impl TextClasses {
    pub(crate) fn new(unlabeled: Option<&str>) -> Self {
        Self { unlabeled: unlabeled.map(|marker| marker.trim().to_owned()), ids: HashMap::new(), n_ids: 0 }
    }

    /// A number for the label, the same for the same text; none where it marks a row without a label.
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

    /// The names of the classes, and which class each number is: integers where every label is the
    /// text of one.
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

/// Classes told by integers.
#[derive(Default)]
pub(crate) struct IntegerClasses {
    ids: HashMap<i64, u32>,
}

impl IntegerClasses {
    /// A number for the label, the same for the same integer.
    pub(crate) fn id(&mut self, label: i64) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(label).or_insert(next)
    }

    /// The names of the classes, and which class each number is.
    pub(crate) fn finish(self) -> (ClassNames, Vec<u32>) {
        let mut labels: Vec<(u32, i64)> = self.ids.into_iter().map(|(label, id)| (id, label)).collect();
        labels.sort_unstable();
        let (names, class_of) = ranked(&labels.into_iter().map(|(_, label)| label).collect::<Vec<_>>());
        (ClassNames::Integers(names), class_of)
    }
}

/// The distinct labels ascending, and the place of each label among them.
fn ranked<T: Ord + Clone>(labels: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let class_of = labels.iter().map(|label| names.partition_point(|name| name < label) as u32).collect();
    (names, class_of)
}

/// The integer whose own text this is: `7`, but not `007`, `+7` or `7.0`, which would come back as another text.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|integer: &i64| integer.to_string() == text)
}
