//! Texts as weights of their terms (TF-IDF), by hashes of the terms.
//!
//! A term is a word of at least two letters or digits, in lower case. Its hash is one of [`N_BUCKETS`] numbers. Of these, the ones that
//! most rows hold become columns. A term that comes f > 0 times in a cell weighs (1 + ln f) · (ln((1 + n) / (1 + nₜ)) + 1), n the rows
//! of the fit and nₜ those that hold the term; then the weights of a cell get unit length.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Number of different hashes of terms.
const N_BUCKETS: u64 = 1 << 20;

/// Letters or digits of the shortest term.
const MIN_CHARS: usize = 2;

/// Numbers of rows that hold each term, by its hash.
#[derive(Clone, Debug, Default)]
pub(super) struct TermCounts {
    rows: HashMap<u32, u32>,
    /// Hashes of the terms of the current cell.
    cell: Vec<u32>,
}

impl TermCounts {
    pub(super) fn add(&mut self, text: &str) {
        self.cell.clear();
        each_term(text, |hash| self.cell.push(hash));
        self.cell.sort_unstable();
        self.cell.dedup();
        self.cell.iter().for_each(|&hash| *self.rows.entry(hash).or_default() += 1);
    }

    /// The columns of a text of `n_rows` rows: at most `most` terms, each in two rows or more.
    pub(super) fn columns(&self, n_rows: usize, most: usize) -> TermColumns {
        let mut kept: Vec<(u32, u32)> =
            self.rows.iter().map(|(&hash, &rows)| (hash, rows)).filter(|kept| kept.1 > 1).collect();
        kept.sort_unstable_by_key(|&(hash, rows)| (std::cmp::Reverse(rows), hash));
        kept.truncate(most);
        kept.sort_unstable();
        let idf = |rows: u32| ((1.0 + n_rows as f64) / (1.0 + f64::from(rows))).ln() + 1.0;
        TermColumns {
            hashes: kept.iter().map(|kept| kept.0).collect(),
            idf: kept.iter().map(|kept| idf(kept.1)).collect(),
        }
    }
}

/// Terms that are columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TermColumns {
    /// Hashes of the terms, ascending.
    pub(super) hashes: Vec<u32>,
    /// ln((1 + n) / (1 + nₜ)) + 1 of each.
    pub(super) idf: Vec<f64>,
}

impl TermColumns {
    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The columns of the terms of a cell, ascending, with weights of unit length.
    pub(super) fn weigh(&self, text: &str, out: &mut Vec<(u32, f64)>) {
        out.clear();
        each_term(text, |hash| {
            if let Ok(at) = self.hashes.binary_search(&hash) {
                out.push((at as u32, 1.0));
            }
        });
        out.sort_unstable_by_key(|entry| entry.0);
        out.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        out.iter_mut().for_each(|(at, weight)| *weight = (1.0 + weight.ln()) * self.idf[*at as usize]);
        let length = out.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        if length > 0.0 {
            out.iter_mut().for_each(|(_, weight)| *weight /= length);
        }
    }

    /// Whether the numbers of a stored recipe are in range.
    pub(super) fn is_valid(&self) -> bool {
        let are_hashes = self.hashes.is_sorted_by(|a, b| a < b);
        are_hashes && self.idf.len() == self.hashes.len() && self.idf.iter().all(|idf| *idf > 0.0 && idf.is_finite())
    }
}

/// Calls `take` with the hash of every term of a text.
fn each_term(text: &str, mut take: impl FnMut(u32)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().nth(MIN_CHARS - 1).is_some()) {
        let hash = match word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            true => xxh3_64(word.as_bytes()),
            false => xxh3_64(word.to_lowercase().as_bytes()),
        };
        take((hash % N_BUCKETS) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_formula() {
        let mut counts = TermCounts::default();
        let texts = ["red shoe, red", "Red boot", "a boot!"];
        texts.iter().for_each(|text| counts.add(text));
        let columns = counts.columns(3, 100);
        // "red" and "boot" are in two rows each; "shoe" in one, "a" is too short.
        assert_eq!(columns.len(), 2);
        let mut weights = Vec::new();
        columns.weigh("red red boot shoe", &mut weights);
        let (red, boot) = (1.0 + 2f64.ln(), 1.0);
        let length = (red * red + boot * boot).sqrt();
        let mut found: Vec<f64> = weights.iter().map(|entry| entry.1).collect();
        found.sort_unstable_by(f64::total_cmp);
        assert!((found[0] - boot / length).abs() < 1e-12 && (found[1] - red / length).abs() < 1e-12);
        columns.weigh("unknown", &mut weights);
        assert!(weights.is_empty() && columns.is_valid());
        assert_eq!(counts.columns(3, 1).len(), 1);
    }
}
