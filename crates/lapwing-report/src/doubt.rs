//! The order in which labels are doubted.

use lapwing::data::{Labels, UNLABELED};
use lapwing::models::Audit;

/// All rows: judged ones by their quality, then labels that were not judged, then rows without a label.
pub fn by_doubt(found: &Audit, labels: &Labels) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..labels.index.len() as u32).collect();
    let group = |row: usize| match (found.judged[row], labels.index[row]) {
        (true, _) => 0,
        (false, UNLABELED) => 2,
        (false, _) => 1,
    };
    let quality = |row: usize| if found.judged[row] { found.quality[row] } else { 0.0 };
    rows.sort_by(|&a, &b| {
        let (x, y) = (a as usize, b as usize);
        group(x).cmp(&group(y)).then(quality(x).total_cmp(&quality(y))).then(a.cmp(&b))
    });
    rows
}
