//! LU with partial pivoting of a large dense matrix: P·A = L·U, in panels of columns ([`crate::panels`]).
//!
//! faer factors each panel and multiplies. Cost: ⅔·n³ flops, in place; parallel over pieces of 256 columns. The panels (n²·256
//! flops in all) run on one thread.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};
use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run};

use crate::panels::{self, Factorization, Panel};

/// A factored matrix.
#[derive(Clone, Debug)]
pub struct Lu {
    n: usize,
    /// L below the diagonal, without its ones, and U; column after column.
    values: Vec<f64>,
    /// Row of A that became row i of P·A (n).
    order: Vec<usize>,
}

impl Lu {
    /// Factors A (n, n), column after column; `done` gets the number of columns that are finished.
    ///
    /// # Errors
    /// [`Error::Param`] for a matrix that is singular, or holds values that are not finite; [`Error::Interrupted`].
    pub fn factor(n: usize, mut values: Vec<f64>, run: &Run, done: impl FnMut(usize)) -> Result<Self> {
        let mut pivoting = Pivoting { order: (0..n).collect(), swaps: Vec::new() };
        panels::factor(&mut pivoting, n, &mut values, run, done)?;
        if let Some(at) = (0..n).find(|&at| {
            let pivot = values[at * n + at];
            pivot == 0.0 || !pivot.is_finite()
        }) {
            let found = format!("singular at column {at}");
            return Err(Error::param("matrix", found, "a regular one of finite values"));
        }
        Ok(Self { n, values, order: pivoting.order })
    }

    /// X ← A⁻¹·B for vectors one after the other (s, n); O(n²·s).
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn solve(&self, b: &mut [f64], run: &Run) -> Result<()> {
        const COLUMNS: usize = 16;
        let n = self.n;
        let factors = MatRef::from_column_major_slice(&self.values, n, n);
        run.install(|| {
            b.par_chunks_mut((COLUMNS * n).max(1)).try_for_each(|piece| {
                run.check()?;
                for column in piece.chunks_exact_mut(n) {
                    let given = column.to_vec();
                    column.iter_mut().zip(&self.order).for_each(|(out, &row)| *out = given[row]);
                }
                let columns = piece.len() / n;
                let mut x = MatMut::from_column_major_slice_mut(piece, n, columns);
                solve_unit_lower_triangular_in_place(factors, x.as_mut(), Par::Seq);
                solve_upper_triangular_in_place(factors, x, Par::Seq);
                Ok(())
            })
        })
    }
}

/// The pivots so far.
struct Pivoting {
    order: Vec<usize>,
    /// For each row of the last panel, counted from its first column, the row that took its place.
    swaps: Vec<usize>,
}

impl Factorization for Pivoting {
    fn factor(&mut self, Panel { n, first, width }: Panel, values: &mut [f64]) -> Result<()> {
        let rows = n - first;
        let (mut swaps, mut inverse) = (vec![0usize; rows], vec![0usize; rows]);
        let matrix = MatMut::from_column_major_slice_mut(values, n, width).subrows_mut(first, rows);
        let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, f64>(rows, width, Par::Seq, Default::default()));
        lu_in_place(matrix, &mut swaps, &mut inverse, Par::Seq, MemStack::new(&mut memory), Default::default());
        permute(&mut self.order[first..], &swaps);
        self.swaps = swaps;
        Ok(())
    }

    fn update_before(&self, panel: Panel, columns: &mut [f64]) {
        permute_columns(columns, panel.n, panel.first, &self.swaps);
    }

    fn update_after(&self, Panel { n, first, width }: Panel, values: &[f64], columns: &mut [f64], _at: usize) {
        permute_columns(columns, n, first, &self.swaps);
        let panel = MatRef::from_column_major_slice(values, n, width);
        let lower = panel.submatrix(first, 0, width, width);
        let below = panel.submatrix(first + width, 0, n - first - width, width);
        let n_columns = columns.len() / n;
        let piece = MatMut::from_column_major_slice_mut(columns, n, n_columns).subrows_mut(first, n - first);
        let (mut top, bottom) = piece.split_at_row_mut(width);
        solve_unit_lower_triangular_in_place(lower, top.as_mut(), Par::Seq);
        matmul(bottom, Accum::Add, below, top.as_ref(), -1.0, Par::Seq);
    }
}

/// Element i ← element `order[i]`.
fn permute<T: Copy>(values: &mut [T], order: &[usize]) {
    let given = values.to_vec();
    values.iter_mut().zip(order).for_each(|(out, &row)| *out = given[row]);
}

/// The same for the rows from `first` on, in some columns of n rows.
fn permute_columns(piece: &mut [f64], n: usize, first: usize, order: &[usize]) {
    // Few rows move far; the others keep their place.
    let moved: Vec<(usize, usize)> = order
        .iter()
        .enumerate()
        .filter(|(to, from)| to != *from)
        .map(|(to, from)| (first + to, first + from))
        .collect();
    let mut held = vec![0.0; moved.len()];
    for column in piece.chunks_exact_mut(n) {
        held.iter_mut().zip(&moved).for_each(|(held, &(_, from))| *held = column[from]);
        held.iter().zip(&moved).for_each(|(held, &(to, _))| column[to] = *held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_the_system_for_any_number_of_threads() {
        for n in [1, 7, 128, 300, 517] {
            // Far from diagonally dominant, so that pivoting swaps rows.
            let entry = |i: usize, j: usize| (((i * 31 + j * 17 + i * j) % 101) as f64 - 50.0) / 50.0;
            let values: Vec<f64> =
                (0..n * n).map(|at| entry(at % n, at / n) + if at % n == at / n { 0.5 } else { 0.0 }).collect();
            let x: Vec<f64> = (0..3 * n).map(|i| ((i * 7) % 13) as f64 - 6.0).collect();
            let b: Vec<f64> =
                (0..3 * n).map(|at| (0..n).map(|j| values[j * n + at % n] * x[at / n * n + j]).sum()).collect();
            let mut first: Option<Vec<f64>> = None;
            for threads in [1, 2, 7] {
                let run = Run::new(Some(threads), 0).unwrap();
                let lu = Lu::factor(n, values.clone(), &run, |_| ()).unwrap();
                let mut found = b.clone();
                lu.solve(&mut found, &run).unwrap();
                let worst = found.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-7, "{n}: {worst}");
                assert!(first.get_or_insert_with(|| found.clone()) == &found);
            }
        }
    }

    #[test]
    fn singular_matrices_and_stops_are_errors() {
        let run = Run::new(Some(1), 0).unwrap();
        let text = Lu::factor(2, vec![1.0, 1.0, 1.0, 1.0], &run, |_| ()).unwrap_err().to_string();
        assert!(text.contains("singular at column 1"), "{text}");
        assert!(Lu::factor(2, vec![1.0; 3], &run, |_| ()).is_err());
        let stop = lapwing_core::CancelToken::default();
        stop.cancel();
        assert!(matches!(Lu::factor(1, vec![1.0], &run.with_cancel(stop), |_| ()), Err(Error::Interrupted)));
    }
}
