//! Labels that mark rows without a label, as other programs write them, or are classes: −1, `None`, `NA`, `nan`.
//!
//! If no marker is given, these mark rows without a label, unless other rows have no label in another way: an empty or missing cell.
//! Then they are classes (−1 most often with +1 as the other). Which of both holds is known only after the last row. Until then, their
//! rows are kept as ranges: no more ranges than there are other rows.

use std::collections::BTreeMap;

/// Such texts, in the lower case.
const OPEN: [&str; 7] = ["-1", "-1.0", "nan", "nat", "null", "none", "na"];

/// Whether a label, without spaces around it, is a mark of no label or a class.
pub fn is_open_marker(text: &str) -> bool {
    text.len() <= 4 && OPEN.iter().any(|marker| text.eq_ignore_ascii_case(marker))
}

/// Rows whose label may be a mark of no label, by its text.
#[derive(Default)]
pub struct OpenMarkers {
    /// Ranges of rows: the first, and their number.
    ranges: BTreeMap<String, Vec<(u32, u32)>>,
    /// Whether another row has no label.
    has_gaps: bool,
}

impl OpenMarkers {
    /// Notes that row `row` has the label `text`.
    pub fn add(&mut self, text: &str, row: usize) {
        // Rows from 2³² on are refused in the end.
        let Ok(row) = u32::try_from(row) else { return };
        if !self.ranges.contains_key(text) {
            self.ranges.insert(text.to_owned(), Vec::new());
        }
        let Some(ranges) = self.ranges.get_mut(text) else { return };
        match ranges.last_mut() {
            Some((first, length)) if first.checked_add(*length) == Some(row) => *length += 1,
            _ => ranges.push((row, 1)),
        }
    }

    /// Notes that a row has no label in another way.
    pub fn gap(&mut self) {
        self.has_gaps = true;
    }

    /// The labels that are classes, with their rows.
    pub fn classes(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32> + '_)> {
        let used = self.ranges.iter().filter(|_| self.has_gaps);
        used.map(|(text, ranges)| {
            let rows = ranges.iter().flat_map(|&(first, length)| first..first.saturating_add(length));
            (text.as_str(), rows)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_as_ranges() {
        let mut rows = OpenMarkers::default();
        [3, 4, 5, 9, 10, 2].into_iter().for_each(|row| rows.add("-1", row));
        rows.add("None", 6);
        assert_eq!(rows.ranges["-1"], [(3, 3), (9, 2), (2, 1)]);
        assert_eq!(rows.classes().count(), 0);
        rows.gap();
        let classes: Vec<(&str, Vec<u32>)> = rows.classes().map(|(text, rows)| (text, rows.collect())).collect();
        assert_eq!(classes, [("-1", vec![3, 4, 5, 9, 10, 2]), ("None", vec![6])]);
        assert!(["-1", "None", "NAN"].iter().all(|text| is_open_marker(text)));
        assert!(["1", "no", "nap", ""].iter().all(|text| !is_open_marker(text)));
    }
}
