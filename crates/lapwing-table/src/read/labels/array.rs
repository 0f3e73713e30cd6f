//! Labels from arrays.

use super::collect::{LabelIntegers, LabelTexts, check_count};
use crate::read::npy::{NpyReader, Source};
use lapwing_core::{Result, Run, SparseLabels};

/// Labels from an array of one dimension (or one column).
pub(in crate::read) fn from_array<R: Source>(
    reader: NpyReader<'_, R>,
    n_rows: usize,
    unlabeled: Option<&str>,
    run: &Run,
) -> Result<SparseLabels> {
    let ([found] | [found, 1]) = reader.header.shape[..] else {
        let shape = reader.header.shape_text();
        return Err(reader.origin.error(format!("shape {shape}; expected one label per row")));
    };
    check_count(reader.origin, n_rows, found)?;
    if reader.header.dtype.is_integer() {
        let mut integers = LabelIntegers::new(unlabeled);
        reader.each_number(run, |value| integers.push(Some(value)))?;
        return integers.finish();
    }
    if reader.header.dtype.is_number() {
        let mut numbers = LabelTexts::from_numbers(unlabeled);
        reader.each_number(run, |value| numbers.push_number(value))?;
        return numbers.finish();
    }
    let mut texts = LabelTexts::new(unlabeled);
    reader.each_text(run, |text| texts.push(text))?;
    texts.finish()
}
