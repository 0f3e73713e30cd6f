//! Texts as weights of their terms (TF-IDF), by hashes of the terms.
//!
//! A term is a word of at least two letters or digits; or, where words say little (languages without blanks, names, addresses, codes),
//! a run of two to four characters; or a piece of a list. All are in lower case. The hash of a term is one of [`N_BUCKETS`] numbers. Of
//! these, the ones that most rows hold become columns. A term that comes f > 0 times in a cell weighs
//! (1 + ln f) · (ln((1 + n) / (1 + nₜ)) + 1), n the rows of the fit and nₜ those that hold the term; then the weights of a cell get unit
//! length.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Number of different hashes of terms.
const N_BUCKETS: u64 = 1 << 20;

/// Letters or digits of the shortest word.
const MIN_CHARS: usize = 2;

/// Characters of the longest run.
const MAX_RUN: usize = 4;

/// Characters that end and start a cell, so that runs at its ends are told from others.
const EDGE: char = '\u{2}';

/// What the terms of a text are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// Words.
    #[default]
    Words,
    /// Pieces between such characters.
    Pieces(char),
    /// Runs of characters.
    Characters,
}

/// Numbers of rows that hold each term, by its hash.
#[derive(Clone, Debug, Default)]
pub(super) struct TermCounts {
    tokens: Tokens,
    rows: HashMap<u32, u32>,
    /// Hashes of the terms of the current cell.
    cell: Vec<u32>,
}

impl TermCounts {
    /// The terms of some cells, each of which comes so many times.
    pub(super) fn of<'c>(tokens: Tokens, cells: impl Iterator<Item = (&'c str, usize)>) -> Self {
        let mut counts = Self { tokens, ..Self::default() };
        cells.for_each(|(text, count)| counts.add(text, u32::try_from(count).unwrap_or(u32::MAX)));
        counts
    }

    /// Adds the terms of a cell that comes so many times.
    pub(super) fn add(&mut self, text: &str, count: u32) {
        self.cell.clear();
        self.tokens.each(text, |hash| self.cell.push(hash));
        self.cell.sort_unstable();
        self.cell.dedup();
        for &hash in &self.cell {
            let rows = self.rows.entry(hash).or_default();
            *rows = rows.saturating_add(count);
        }
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
            tokens: self.tokens,
            hashes: kept.iter().map(|kept| kept.0).collect(),
            idf: kept.iter().map(|kept| idf(kept.1)).collect(),
        }
    }
}

/// Terms that are columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TermColumns {
    /// What they are.
    #[serde(default)]
    pub(super) tokens: Tokens,
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
        self.tokens.each(text, |hash| {
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

impl Tokens {
    /// The number of terms of a text.
    pub(super) fn count(self, text: &str) -> usize {
        let mut n = 0;
        self.each(text, |_| n += 1);
        n
    }

    /// Calls `take` with the hash of every term of a text.
    fn each(self, text: &str, mut take: impl FnMut(u32)) {
        let mut hashed = |term: &[u8]| take((xxh3_64(term) % N_BUCKETS) as u32);
        match self {
            Self::Words => {
                let words = text.split(|c: char| !c.is_alphanumeric());
                for word in words.filter(|word| word.chars().nth(MIN_CHARS - 1).is_some()) {
                    match word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
                        true => hashed(word.as_bytes()),
                        false => hashed(word.to_lowercase().as_bytes()),
                    }
                }
            }
            Self::Pieces(mark) => {
                let inner = text.trim_start_matches(['[', '{', '(']).trim_end_matches([']', '}', ')']);
                let pieces = inner.split(mark).map(|piece| piece.trim_matches([' ', '"', '\'']));
                pieces.filter(|piece| !piece.is_empty()).for_each(|piece| hashed(piece.to_lowercase().as_bytes()));
            }
            Self::Characters => {
                let lower = text.to_lowercase();
                let chars: Vec<char> = std::iter::once(EDGE).chain(lower.chars()).chain([EDGE]).collect();
                let mut run = String::new();
                for start in 0..chars.len() {
                    run.clear();
                    for (length, &c) in chars[start..].iter().take(MAX_RUN).enumerate() {
                        run.push(c);
                        // A single character says something where it is a word.
                        if length > 0 || is_ideograph(c) {
                            hashed(run.as_bytes());
                        }
                    }
                }
                // The whole cell: levels that are no neighbors of others are levels still.
                hashed(lower.as_bytes());
            }
        }
    }
}

/// Whether a character is a word or a part of one by itself.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character belongs to a script that has no blanks between words.
pub(super) fn is_unspaced(c: char) -> bool {
    let is_south_east_asian = matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    (is_ideograph(c) && !matches!(c, '\u{ac00}'..='\u{d7af}')) || is_south_east_asian
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_formula() {
        let mut counts = TermCounts::default();
        let texts = ["red shoe, red", "Red boot", "a boot!"];
        texts.iter().for_each(|text| counts.add(text, 1));
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

    #[test]
    fn terms_are_runs_and_pieces_too() {
        let shared = |tokens: Tokens, a: &str, b: &str| {
            let counts = TermCounts::of(tokens, [(a, 1), (b, 1)].into_iter());
            counts.columns(2, 1000).len()
        };
        assert_eq!(shared(Tokens::Pieces('|'), "red| old |SHOE", "[\"shoe\"|red]"), 2);
        assert!(
            shared(Tokens::Characters, "sock 1000", "sock 1001") > shared(Tokens::Characters, "sock 1000", "pear 1001")
        );
        assert_eq!(shared(Tokens::Characters, "包装好", "喜欢好"), 2, "a character, alone and at the end");
    }
}
