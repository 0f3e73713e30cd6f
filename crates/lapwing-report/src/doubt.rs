//! The order in which labels are doubted.

use lapwing::data::{Labels, UNLABELED};
use lapwing::models::Audit;

/// All rows: judged ones by their quality, then labels that were not judged, then rows without a label.
pub fn by_doubt(found: &Audit, labels: &Labels) -> Vec<u32> {
    let others = |is_labeled: bool| {
        let is_other = move |row: &usize| !found.judged[*row] && (labels.index[*row] != UNLABELED) == is_labeled;
        (0..labels.index.len()).filter(is_other)
    };
    found.ranked().into_iter().chain(others(true)).chain(others(false)).map(|row| row as u32).collect()
}
