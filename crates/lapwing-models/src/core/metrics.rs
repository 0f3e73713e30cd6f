//! Accuracy of predicted classes.

use lapwing_core::UNLABELED;

/// Share of rows whose predicted class is the true one, over the rows of `truth` that have a label and for which
/// `counted` holds; NaN if there is none.
pub fn accuracy(truth: &[i32], predicted: &[u32], counted: impl Fn(usize) -> bool) -> f64 {
    let (mut rows, mut right) = (0usize, 0usize);
    for (row, (&t, &p)) in truth.iter().zip(predicted).enumerate() {
        if t != UNLABELED && counted(row) {
            rows += 1;
            right += usize::from(t as u32 == p);
        }
    }
    right as f64 / rows as f64
}
