//! The diagonal of the inverse from a complete factor (Takahashi, Fagan & Chen 1973).
//!
//! Let ζ have covariance A⁻¹. Then ζₖ = Σ sⱼζⱼ + ξ with independent ξ of variance 1/dₖ, j the later neighbors of k in the factor. The
//! covariances of k with these neighbors therefore follow from those among them, last columns first. All of them lie within one front,
//! and those among the rows of a front lie within its parent. Nothing is subtracted.
//!
//! Cost: twice the multiplications of the factor; a square matrix for each front whose children have not been visited.

use lapwing_core::{Result, Run};

use super::SparseCholesky;
use crate::dispatch::dispatch;

/// Covariances among the columns and rows of a front: a square, by rows.
struct Square {
    /// Number of fronts that still need it.
    left: usize,
    values: Vec<f64>,
}

impl SparseCholesky {
    /// diag(A⁻¹) (n) in the order of elimination; 0 for vertices held at 0.
    pub(super) fn selected_inverse(&self, run: &Run) -> Result<Vec<f64>> {
        let (fronts, shares) = (&self.fronts.fronts, &self.columns.shares);
        let mut children = vec![0usize; fronts.len()];
        fronts.iter().filter_map(|front| front.parent).for_each(|parent| children[parent as usize] += 1);
        let mut squares: Vec<Option<Square>> = fronts.iter().map(|_| None).collect();
        let mut diagonal = vec![0.0; self.fronts.order.len()];
        let (mut places, mut end) = (vec![0u32; diagonal.len()], shares.len());
        for (number, front) in fronts.iter().enumerate().rev() {
            run.check()?;
            let (width, rows) = (front.columns.len(), &self.fronts.rows[front.rows.clone()]);
            let size = width + rows.len();
            let mut values = vec![0.0; size * size];
            if let Some(parent) = front.parent.map(|parent| parent as usize) {
                let above = &fronts[parent];
                let above_rows = &self.fronts.rows[above.rows.clone()];
                let positions = above.columns.clone().chain(above_rows.iter().map(|&row| row as usize));
                positions.enumerate().for_each(|(at, position)| places[position] = at as u32);
                if let Some(square) = &mut squares[parent] {
                    let above_size = above.columns.len() + above_rows.len();
                    copy_rows(&square.values, above_size, rows, &places, &mut values, width);
                    square.left -= 1;
                    if square.left == 0 {
                        squares[parent] = None;
                    }
                }
            }
            for (at, k) in front.columns.clone().enumerate().rev() {
                let own = &shares[end - (size - at - 1)..end];
                end -= own.len();
                add_column(&mut values, size, at, own, self.columns.inverse_pivots[k]);
                diagonal[k] = values[at * size + at];
            }
            if children[number] > 0 {
                squares[number] = Some(Square { left: children[number], values });
            }
        }
        Ok(diagonal)
    }
}

/// Copies the covariances of `rows` from a front of `above_size` into the last rows and columns of another, after the first `width`.
fn copy_rows(above: &[f64], above_size: usize, rows: &[u32], places: &[u32], values: &mut [f64], width: usize) {
    let size = width + rows.len();
    for (at, &row) in rows.iter().enumerate() {
        let from = &above[places[row as usize] as usize * above_size..][..above_size];
        let to = &mut values[(width + at) * size + width..][..rows.len()];
        to.iter_mut().zip(rows).for_each(|(to, &column)| *to = from[places[column as usize] as usize]);
    }
}

dispatch! {
    /// Fills row and column `at` of a square from the covariances of those after it.
    fn add_column(values: &mut [f64], size: usize, at: usize, shares: &[f64], inverse_pivot: f64) = add_column_plain
}

#[inline(always)]
fn add_column_plain(values: &mut [f64], size: usize, at: usize, shares: &[f64], inverse_pivot: f64) {
    let (own, later) = values[at * size..].split_at_mut(size);
    let row = &mut own[at + 1..];
    for (share, from) in shares.iter().zip(later.chunks_exact(size)) {
        row.iter_mut().zip(&from[at + 1..]).for_each(|(to, from)| *to += share * from);
    }
    own[at] = inverse_pivot + shares.iter().zip(&own[at + 1..]).map(|(share, value)| share * value).sum::<f64>();
    for (value, from) in own[at + 1..].iter().zip(later.chunks_exact_mut(size)) {
        from[at] = *value;
    }
}
