//! Names of rows or nodes that cannot be used, for one error.

use std::fmt;

use crate::text::{counted, option};

/// Faults of one kind that a message shows.
const MOST_SHOWN: usize = 5;

/// Names that cannot be used: everything that is wrong with a file at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadNames {
    /// The file.
    pub what: String,
    /// What is wrong: one text for each kind of fault, with the number of faults and the first few of them.
    pub facts: Vec<String>,
    /// What to do.
    pub advice: &'static str,
    /// Whether some names are unknown, which a reader leaves out if `ignore_unknown` is set.
    pub has_unknown: bool,
}

impl BadNames {
    /// The message without the advice.
    pub fn facts(&self) -> String {
        format!("{}: {}", self.what, self.facts.join("; "))
    }
}

impl fmt::Display for BadNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_leave = if self.has_unknown { ", or leave the unknown ones out: " } else { "" };
        let how = if self.has_unknown { option("ignore_unknown", "") } else { String::new() };
        write!(f, "{}; {}{or_leave}{how}", self.facts(), self.advice)
    }
}

/// Counts faults of one kind, and keeps the first few.
#[derive(Debug, Default)]
pub struct Tally {
    pub count: usize,
    shown: Vec<String>,
}

impl Tally {
    /// Counts a fault; calls `show` only for the first few.
    pub fn note(&mut self, show: impl FnOnce() -> String) {
        if self.shown.len() < MOST_SHOWN {
            self.shown.push(show());
        }
        self.count += 1;
    }

    /// The first few faults, in brackets.
    pub fn list(&self) -> String {
        let more = if self.count > self.shown.len() { ", …" } else { "" };
        format!("({}{more})", self.shown.join(", "))
    }

    /// The number of faults with a noun, whose plural has an s.
    pub fn counted(&self, noun: &str) -> String {
        counted(self.count, noun)
    }
}
