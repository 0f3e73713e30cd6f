//! Goes through a list of edges block by block, and reports how far it is.

use lapwing_core::{Edge, EdgeReader, Result, Run};

/// Rows of a block when all rows are read.
const BLOCK_ROWS: usize = 1 << 15;
/// Least share of a file between two reports of progress.
const LEAST_STEP: f64 = 0.005;

/// Hands all edges of a reader to `take`, block by block. Reports the share that has been read, if it is known and the number of rows is
/// not.
pub(in crate::read) fn each(
    mut reader: Box<dyn EdgeReader + '_>,
    n_rows: Option<u64>,
    run: &Run,
    mut take: impl FnMut(&[Edge]),
) -> Result<()> {
    let (mut reported, mut block) = (0.0, Vec::with_capacity(BLOCK_ROWS));
    loop {
        block.clear();
        reader.read(BLOCK_ROWS, &mut block, run)?;
        if block.is_empty() {
            return Ok(());
        }
        take(&block);
        report_share(reader.share().filter(|_| n_rows.is_none()), &mut reported, run);
    }
}

/// Reports the share of a file that has been read, unless it is hardly larger than the one reported last.
pub(super) fn report_share(share: Option<f64>, reported: &mut f64, run: &Run) {
    if let Some(share) = share.filter(|share| *share >= *reported + LEAST_STEP) {
        *reported = share;
        run.share(share, "");
    }
}
