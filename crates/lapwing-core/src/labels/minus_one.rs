//! The label −1: a mark of rows without a label, as scikit-learn has it, or a class.
//!
//! If no marker is given, −1 marks rows without a label, unless other rows have no label in another way: an empty or missing
//! cell. Then −1 is one of the classes, most often with +1 as the other. Which of both holds is known only after the last
//! row. Until then, rows with −1 are kept as ranges: no more ranges than there are other rows.

/// The spellings of −1.
pub const SPELLINGS: [&str; 2] = ["-1", "-1.0"];

/// Rows with the label −1.
#[derive(Default)]
pub struct MinusOne {
    /// For each spelling, first rows and lengths of ranges.
    ranges: [Vec<(u32, u32)>; 2],
    /// Whether other rows have no label.
    has_gaps: bool,
}

impl MinusOne {
    /// Adds a row with the label −1 in that spelling.
    pub fn add(&mut self, spelling: usize, row: usize) {
        // Rows from 2³² on are refused in the end.
        let (Some(ranges), Ok(row)) = (self.ranges.get_mut(spelling), u32::try_from(row)) else { return };
        match ranges.last_mut() {
            Some((first, length)) if first.checked_add(*length) == Some(row) => *length += 1,
            _ => ranges.push((row, 1)),
        }
    }

    /// Notes a row without a label.
    pub fn gap(&mut self) {
        self.has_gaps = true;
    }

    /// Spellings that are classes, each with its rows.
    pub fn classes(&self) -> impl Iterator<Item = (&'static str, impl Iterator<Item = u32> + '_)> {
        let used = SPELLINGS.into_iter().zip(&self.ranges).filter(|(_, ranges)| self.has_gaps && !ranges.is_empty());
        used.map(|(spelling, ranges)| {
            let rows = ranges.iter().flat_map(|&(first, length)| first..first.saturating_add(length));
            (spelling, rows)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_as_ranges() {
        let mut rows = MinusOne::default();
        [3, 4, 5, 9, 10, 2].into_iter().for_each(|row| rows.add(0, row));
        rows.add(1, 6);
        assert_eq!(rows.ranges, [vec![(3, 3), (9, 2), (2, 1)], vec![(6, 1)]]);
        assert_eq!(rows.classes().count(), 0);
        rows.gap();
        let classes: Vec<(&str, Vec<u32>)> = rows.classes().map(|(text, rows)| (text, rows.collect())).collect();
        assert_eq!(classes, [("-1", vec![3, 4, 5, 9, 10, 2]), ("-1.0", vec![6])]);
    }
}
