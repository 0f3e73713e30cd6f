//! The order in which labels are doubted, and what is said of each.

use lapwing::data::{Labels, UNLABELED};
use lapwing::models::Audit;

use crate::text::number;

/// All rows: judged ones by their quality, then labels that were not judged, then rows without a label.
pub fn by_doubt(found: &Audit, labels: &Labels) -> Vec<u32> {
    let others = |is_labeled: bool| {
        let is_other = move |row: &usize| !found.judged[*row] && (labels.index[*row] != UNLABELED) == is_labeled;
        (0..labels.index.len()).filter(is_other)
    };
    found.ranked().into_iter().chain(others(true)).chain(others(false)).map(|row| row as u32).collect()
}

/// Heads of the [`cells`] about a label, behind that of its row.
pub(crate) const HEADS: [&str; 4] = ["given", "proposed", "quality", "flagged"];

/// What an audit found about the label of a row; `classes` are the names of the classes.
pub(crate) fn cells(found: &Audit, labels: &Labels, classes: &[String], row: usize) -> [String; 4] {
    let proposed = found.proposed[row].map_or("", |class| classes[class as usize].as_str());
    let flag = if found.flagged[row] { "yes" } else { "" };
    [given(labels, classes, row).into(), proposed.into(), number(found.quality[row]), flag.into()]
}

/// The given label of a row; empty without one.
pub(crate) fn given<'c>(labels: &Labels, classes: &'c [String], row: usize) -> &'c str {
    usize::try_from(labels.index[row]).map_or("", |class| &classes[class])
}
