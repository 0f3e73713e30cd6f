//! Given labels: classes, the unlabeled marker, and targets for solvers.

mod classes;
mod open_markers;
mod sparse;
mod targets;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Warning};

pub use self::classes::{IntegerClasses, TextClasses};
pub use self::open_markers::{OpenMarkers, is_open_marker};
pub use self::sparse::{LabelRows, SparseLabels};
pub use self::targets::Targets;

/// Class index of a row without a label.
pub const UNLABELED: i32 = -1;

/// Texts that may mark rows without a label, in lower case, and are used as classes with a warning.
const MARKERS: [&str; 18] = [
    "?",
    "-",
    "--",
    ".",
    "n/a",
    "n.a.",
    "#n/a",
    "<na>",
    "unknown",
    "unlabeled",
    "unlabelled",
    "missing",
    "tbd",
    "tba",
    "todo",
    "to do",
    "pending",
    "unassigned",
];

/// Names of the classes, ascending: integers or strings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClassNames {
    /// Integer labels.
    Integers(Vec<i64>),
    /// Text labels.
    Texts(Vec<String>),
}

impl ClassNames {
    /// Number of classes.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(names) => names.len(),
            Self::Texts(names) => names.len(),
        }
    }

    /// Whether there is no class at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of class `class` as text.
    pub fn name(&self, class: usize) -> String {
        match self {
            Self::Integers(names) => names[class].to_string(),
            Self::Texts(names) => names[class].clone(),
        }
    }

    /// Name of class `class` for messages: an integer, or a text in quotes and on one line.
    pub fn quoted(&self, class: usize) -> String {
        match self {
            Self::Integers(names) => names[class].to_string(),
            Self::Texts(names) => format!("'{}'", names[class].replace(char::is_control, " ")),
        }
    }

    /// A warning if no marker of rows without a label was given and a class may be one: −1, `None` and the like, which readers of files
    /// take for markers unless other rows have an empty label; or a text such as `?` or `unknown`.
    pub fn doubtful_marker(&self, unlabeled: Option<&str>) -> Option<Warning> {
        if unlabeled.is_some() {
            return None;
        }
        match self {
            Self::Integers(names) => names.contains(&-1).then(|| Warning::OpenClass { name: "-1".into() }),
            Self::Texts(names) => {
                let open = names.iter().find(|name| is_open_marker(name));
                let marker = || names.iter().find(|name| MARKERS.contains(&name.to_lowercase().as_str()));
                open.map(|name| Warning::OpenClass { name: name.clone() })
                    .or_else(|| marker().map(|name| Warning::MarkerClass { name: name.clone() }))
            }
        }
    }

    /// Whether the name of a class is one of those by which people mark rows without a label.
    pub fn is_marker(&self, class: usize) -> bool {
        const NUMBERS: [&str; 7] = ["0", "-1", "99", "999", "9999", "-99", "-999"];
        let name = self.name(class).to_lowercase();
        is_open_marker(&name) || MARKERS.contains(&name.as_str()) || NUMBERS.contains(&name.as_str())
    }

    /// All names as text, in class order.
    pub fn names(&self) -> Vec<String> {
        (0..self.len()).map(|class| self.name(class)).collect()
    }
}

/// A class per row, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Names of the classes, ascending.
    pub classes: ClassNames,
    /// Class index of each row (n), [`UNLABELED`] if it has none.
    pub index: Vec<i32>,
}

impl Labels {
    /// Labels from integers, `None` marking the unlabeled rows.
    pub fn from_integers(labels: impl IntoIterator<Item = Option<i64>>) -> Self {
        let mut classes = IntegerClasses::default();
        let ids: Vec<_> = labels.into_iter().map(|label| label.map(|label| classes.id(label))).collect();
        Self::from_ids(&ids, classes.finish())
    }

    /// Labels from texts. What differs only in spaces, in the case of letters or in how they are composed, in a point at the end, or in
    /// decimals of zeros (1 and 1.0) is one class. Empty texts mean no label, and so do texts equal to
    /// `unlabeled`; if no marker is given, `-1`, `-1.0`, `nan`, `nat`, `null`, `none` and `na` (in any case) do. Classes are
    /// integers if every other label is the canonical text of one, and otherwise texts: `007`, `+7` and `7.0` are not
    /// canonical.
    ///
    /// Readers of files take these for classes if other rows have no label in another way, and warn.
    pub fn from_texts<S: AsRef<str>>(labels: impl IntoIterator<Item = S>, unlabeled: Option<&str>) -> Self {
        let mut classes = TextClasses::new(unlabeled);
        let ids: Vec<_> = labels.into_iter().map(|label| classes.id(label.as_ref())).collect();
        let mut counts = HashMap::new();
        ids.iter().flatten().for_each(|id| *counts.entry(*id).or_default() += 1);
        Self::from_ids(&ids, classes.finish(&counts))
    }

    fn from_ids(ids: &[Option<u32>], (classes, class_of): (ClassNames, Vec<u32>)) -> Self {
        let index = ids.iter().map(|id| id.map_or(UNLABELED, |id| class_of[id as usize] as i32)).collect();
        Self { classes, index }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no row at all.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of rows that have a label.
    pub fn n_labeled(&self) -> usize {
        self.index.iter().filter(|&&class| class != UNLABELED).count()
    }

    /// Checks that every row has no label or one of the classes.
    ///
    /// # Errors
    /// [`Error::Labels`] naming the first row that has neither.
    pub fn check(&self) -> Result<()> {
        let n_classes = self.n_classes();
        let is_known = |class: i32| class == UNLABELED || usize::try_from(class).is_ok_and(|class| class < n_classes);
        match self.index.iter().position(|&class| !is_known(class)) {
            None => Ok(()),
            Some(row) => {
                let class = self.index[row];
                Err(Error::labels(format!("row {row} has class index {class}; there are {n_classes} classes")))
            }
        }
    }

    /// Rows of each class, ascending.
    ///
    /// # Errors
    /// As [`Labels::check`].
    pub fn rows_by_class(&self) -> Result<Vec<Vec<usize>>> {
        self.check()?;
        let mut rows = vec![Vec::new(); self.n_classes()];
        for (row, &class) in self.index.iter().enumerate() {
            if class != UNLABELED {
                rows[class as usize].push(row);
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_integers_become_integers() {
        let labels = Labels::from_texts(["3", "", "-1", " 1 ", "NaN", "-1.0", "3"], None);
        assert_eq!(labels.classes, ClassNames::Integers(vec![1, 3]));
        assert_eq!(labels.index, [1, UNLABELED, UNLABELED, 0, UNLABELED, UNLABELED, 1]);
        let labels = Labels::from_texts(["spam", "?", "ham", "-1"], Some("?"));
        assert_eq!(labels.classes, ClassNames::Texts(vec!["-1".into(), "ham".into(), "spam".into()]));
        assert_eq!(labels.index, [2, UNLABELED, 1, 0]);
    }

    #[test]
    fn ways_to_write_a_class_are_one_class() {
        let names = |texts: &[&str]| Labels::from_texts(texts, None).classes.names();
        assert_eq!(names(&["Yes", "YES", "Yes", "no "]), ["Yes", "no"]);
        assert_eq!(names(&["1", "1.0", "1", "2.5"]), ["1", "2.5"]);
        assert_eq!(names(&["<=50K.", "<=50K", "<=50K", ">50K."]), ["<=50K", ">50K."]);
        assert_eq!(names(&["e\u{301}te", "\u{e9}te", "\u{e9}te", "red  wine", "red wine"]), ["red wine", "\u{e9}te"]);
        // Letters in both cases, and numbers with zeros before them, are classes of their own.
        assert_eq!(names(&["A", "a", "A."]), ["A", "a"]);
        assert_eq!(names(&["007", "7"]), ["007", "7"]);
    }

    #[test]
    fn no_label_loses_a_character() {
        for odd in ["007", "+7", "7.0", "-0", "1e3", "9223372036854775808", "0x7"] {
            let labels = Labels::from_texts(["8", odd, ""], None);
            assert_eq!(labels.n_classes(), 2, "{odd}");
            assert!(labels.classes.names().contains(&odd.to_owned()), "{:?}", labels.classes);
        }
    }
}
