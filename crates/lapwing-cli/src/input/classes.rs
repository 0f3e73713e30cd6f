//! Labels that are no classes, or leave nothing to label.

use lapwing::data::{SparseLabels, Warning};

use crate::failure::Failure;

/// Labels of which half and more differ are measurements rather than classes, from this number on.
const MANY_NUMBERS: usize = 20;

/// Refuses labels that are measurements, and labels that leave no row without one and may mark such rows: if the most frequent one has half
/// of the rows, or looks like a mark. The warning is for others that leave no row without one.
pub fn check_classes(labels: &SparseLabels, has_model: bool) -> Result<Option<Warning>, Failure> {
    let names = labels.classes.names();
    let are_numbers =
        names.iter().all(|name| name.parse::<f64>().is_ok()) && names.iter().any(|name| name.contains('.'));
    if are_numbers && names.len() >= MANY_NUMBERS && 2 * names.len() > labels.n_labeled() {
        return Err(Failure::usage(format!(
            "the labels are {} different numbers, such as {}: measurements rather than classes; HarmonicRegressor of the Python package \
             predicts numbers, and numbers that are classes need a letter before them",
            names.len(),
            names[0]
        )));
    }
    let n = labels.n_samples;
    let counts = labels.counts();
    let most = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count);
    let Some((class, &count)) = most.filter(|_| !has_model && labels.n_labeled() == n) else { return Ok(None) };
    let name = names[class].clone();
    if names.len() < 3 || (2 * count < n && !labels.classes.is_marker(class)) {
        return Ok(Some(Warning::AllLabeled { name, count, n }));
    }
    let quoted = if name.chars().all(char::is_alphanumeric) { name.clone() } else { format!("'{name}'") };
    Err(Failure::usage(format!(
        "every row has a label, so there is none to find; the most frequent is '{name}' ({count} of {n} rows): if it marks rows without a \
         label, add --unlabeled {quoted}; to fit a model for new rows, add --model FILE"
    )))
}
