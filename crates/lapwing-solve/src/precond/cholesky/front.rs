//! The numbers of a complete factor, front by front (Duff & Reid 1983).
//!
//! A front is a dense matrix of the columns that are eliminated together and of their later neighbors. It takes up the edges of its columns
//! and what earlier fronts left, eliminates, and leaves the weights among the neighbors to its parent. The ground is the last row of
//! every front.
//!
//! Nothing is subtracted: a pivot is the sum of the weights at its vertex, and elimination adds wᵢwⱼ/W to other weights. All entries
//! are therefore exact to a few units of rounding, whatever the range of the weights.

use lapwing_core::{Csr, Result, Run};

use super::fronts::Fronts;
use crate::dispatch::dispatch;

/// The numbers of a factor.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// 1/pivot of each column; 0 for the last vertex of a component without ground.
    pub inverse_pivots: Vec<f64>,
    /// Column after column: the shares of later columns of the front, then those of its rows.
    pub shares: Vec<f64>,
}

/// Weights among the rows of a front and the ground, which it leaves to its parent: a square by columns, of which the part below the
/// diagonal counts.
struct Left {
    front: usize,
    weights: Vec<f64>,
}

/// Factors the Laplacian of `adjacency` plus diag(`ground`) (n), of which `fronts` is the structure; weights are multiplied by `scale`.
pub(super) fn factor(fronts: &Fronts, adjacency: &Csr<f64>, ground: &[f64], scale: f64, run: &Run) -> Result<Columns> {
    let n = fronts.order.len();
    let mut positions = vec![0u32; n];
    fronts.order.iter().enumerate().for_each(|(at, &v)| positions[v as usize] = at as u32);
    let mut columns = Columns { inverse_pivots: vec![0.0; n], shares: Vec::with_capacity(fronts.n_entries) };
    // What fronts have left and their parents have not taken up: the last ones first.
    let mut left: Vec<Left> = Vec::new();
    let (mut places, mut matrix) = (vec![0u32; n], Vec::new());
    for (number, front) in fronts.fronts.iter().enumerate() {
        run.check()?;
        let (width, rows) = (front.columns.len(), &fronts.rows[front.rows.clone()]);
        let size = width + rows.len() + 1;
        front.columns.clone().enumerate().for_each(|(at, position)| places[position] = at as u32);
        rows.iter().enumerate().for_each(|(at, &row)| places[row as usize] = (width + at) as u32);
        matrix.clear();
        matrix.resize(size * size, 0.0);
        for (position, column) in front.columns.clone().zip(matrix.chunks_exact_mut(size)) {
            let v = fronts.order[position] as usize;
            let (ids, weights) = adjacency.row(v);
            for (&u, weight) in ids.iter().zip(weights) {
                let other = positions[u as usize] as usize;
                if other > position {
                    column[places[other] as usize] += weight * scale;
                }
            }
            column[size - 1] += ground[v] * scale;
        }
        while let Some(child) = left.pop_if(|left| fronts.fronts[left.front].parent == Some(number as u32)) {
            let rows = &fronts.rows[fronts.fronts[child.front].rows.clone()];
            take_up(&mut matrix, size, &child.weights, rows, &places);
        }
        eliminate(&mut matrix, size, &mut columns.inverse_pivots[front.columns.clone()]);
        for (at, column) in matrix.chunks_exact(size).take(width).enumerate() {
            columns.shares.extend_from_slice(&column[at + 1..size - 1]);
        }
        if front.parent.is_some() {
            let mut weights = Vec::with_capacity((size - width).pow(2));
            matrix.chunks_exact(size).skip(width).for_each(|column| weights.extend_from_slice(&column[width..]));
            left.push(Left { front: number, weights });
        }
    }
    columns.inverse_pivots.iter_mut().for_each(|inverse| *inverse *= scale);
    Ok(columns)
}

/// Adds what a front with these `rows` has left to a `matrix` of `size` rows.
fn take_up(matrix: &mut [f64], size: usize, weights: &[f64], rows: &[u32], places: &[u32]) {
    let n = rows.len() + 1;
    for (at, (&row, weights)) in rows.iter().zip(weights.chunks_exact(n)).enumerate() {
        let column = &mut matrix[places[row as usize] as usize * size..][..size];
        for (&row, weight) in rows[at + 1..].iter().zip(&weights[at + 1..]) {
            column[places[row as usize] as usize] += weight;
        }
        column[size - 1] += weights[n - 1];
    }
}

dispatch! {
    /// Eliminates the first columns of a front of `size` rows, as many as there are `inverse_pivots`, and leaves their shares in place.
    fn eliminate(matrix: &mut [f64], size: usize, inverse_pivots: &mut [f64]) = eliminate_plain
}

#[inline(always)]
fn eliminate_plain(matrix: &mut [f64], size: usize, inverse_pivots: &mut [f64]) {
    for (k, inverse_pivot) in inverse_pivots.iter_mut().enumerate() {
        let (done, rest) = matrix.split_at_mut((k + 1) * size);
        let weights = &mut done[k * size + k + 1..];
        let pivot = sum(weights);
        if pivot < f64::MIN_POSITIVE {
            weights.fill(0.0);
            continue;
        }
        let inverse = 1.0 / pivot;
        for (j, column) in rest.chunks_exact_mut(size).enumerate() {
            let share = weights[j] * inverse;
            if share > 0.0 {
                let later = &weights[j + 1..];
                column[k + j + 2..].iter_mut().zip(later).for_each(|(to, weight)| *to += share * weight);
            }
        }
        weights.iter_mut().for_each(|weight| *weight *= inverse);
        *inverse_pivot = inverse;
    }
}

/// A sum in eight parts.
#[inline(always)]
fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        (0..8).for_each(|lane| sums[lane] += chunk[lane]);
    }
    let whole = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    whole + rest.iter().sum::<f64>()
}
