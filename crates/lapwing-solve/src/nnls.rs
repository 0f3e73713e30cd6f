//! Non-negative least squares: min ‖A·x − y‖² over x ≥ 0 from G = AᵀA and b = Aᵀy, by active sets (Lawson & Hanson 1974,
//! chapter 23, on the normal equations as in Bro & de Jong 1997).
//!
//! A set P of columns is free, the others are held at 0. The column of steepest descent joins P, and the least-squares solution
//! on P is computed. If an entry would fall to 0 or below, the step ends there and its column leaves P. The objective falls with
//! every change of P, so that no P comes twice. The iteration ends when no held column would lower the objective.
//!
//! Departures: columns are compared by bₖ − (G·x)ₖ over √Gₖₖ, so that their lengths do not matter. The Cholesky factor of G on P
//! grows by a row when a column joins, and is recomputed from the row of a column that leaves. A column that is a linear
//! combination of P up to rounding stays held until P changes, because it cannot lower the objective.
//!
//! Cost: O(k·|P| + |P|²) for each change of P, mostly |P| changes and seldom more than 2k; memory 8·k² bytes for the factor. On
//! the calling thread; sums in the order of the columns.

use lapwing_core::Matrix;

/// Steepest descent that counts as zero, over the length of the column and the largest such value at x = 0.
const TOL: f64 = 1e-12;
/// A column depends on P if a smaller share of its squared length than this lies outside the span of P.
const DEPENDENT: f64 = 1e-13;

/// Non-negative least squares for one G and any number of b.
#[derive(Clone, Debug)]
pub struct Nnls<'a> {
    gram: &'a Matrix,
    /// 1/√Gₖₖ, or 0 for a column of zeros.
    inverse_lengths: Vec<f64>,
    /// P, in the order of the rows of the factor.
    free: Vec<usize>,
    /// Lower Cholesky factor of G on P: row p in `p·k..p·k + p + 1`.
    factor: Vec<f64>,
    /// The factor's inverse times b on P.
    halfway: Vec<f64>,
    /// Columns in P, and those that depend on P: none of them may join.
    barred: Vec<bool>,
    /// b − G·x.
    descent: Vec<f64>,
    /// Least-squares solution on P.
    solution: Vec<f64>,
}

impl<'a> Nnls<'a> {
    /// For `gram` = AᵀA (k, k), symmetric and positive semidefinite.
    ///
    /// # Panics
    /// If it is not square.
    pub fn new(gram: &'a Matrix) -> Self {
        let k = gram.n_rows();
        Self {
            gram,
            inverse_lengths: (0..k)
                .map(|at| gram.row(at)[at])
                .map(|x| if x > 0.0 { x.sqrt().recip() } else { 0.0 })
                .collect(),
            free: Vec::with_capacity(k),
            factor: vec![0.0; k * k],
            halfway: Vec::with_capacity(k),
            barred: vec![false; k],
            descent: vec![0.0; k],
            solution: Vec::with_capacity(k),
        }
    }

    /// Writes the minimizer for b = Aᵀy (k) to `x` (k) and returns whether the conditions of optimality hold. Rounding alone may
    /// prevent that, after 5k + 50 changes of P; x is then feasible, and better than any earlier x.
    ///
    /// # Panics
    /// If b or x does not have k values.
    ///
    /// # Example
    /// ```
    /// use lapwing_core::Matrix;
    /// use lapwing_solve::Nnls;
    ///
    /// // Without the bound x would be (2, −1).
    /// let gram = Matrix::new(2, 2, vec![2.0, 1.0, 1.0, 2.0])?;
    /// let mut x = [0.0; 2];
    /// assert!(Nnls::new(&gram).solve(&[3.0, 0.0], &mut x));
    /// assert!((x[0] - 1.5).abs() < 1e-15 && x[1] == 0.0);
    /// # Ok::<(), lapwing_core::Error>(())
    /// ```
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> bool {
        let k = self.inverse_lengths.len();
        x.fill(0.0);
        self.free.clear();
        self.halfway.clear();
        self.barred.fill(false);
        self.descent.copy_from_slice(b);
        let tol = TOL * (0..k).map(|column| self.steepness(column)).fold(0.0, f64::max);
        for _ in 0..5 * k + 50 {
            let Some(column) = self.steepest(tol) else { return true };
            // Barred until P changes, whether it joins P or depends on P.
            self.barred[column] = true;
            if !self.join(column, b) || !self.descend(b, x) {
                continue;
            }
            self.barred.fill(false);
            self.descent.copy_from_slice(b);
            for &column in &self.free {
                self.barred[column] = true;
                let row = self.gram.row(column);
                self.descent.iter_mut().zip(row).for_each(|(descent, g)| *descent -= x[column] * g);
            }
        }
        false
    }

    /// Descent along a column of unit length.
    fn steepness(&self, column: usize) -> f64 {
        self.descent[column] * self.inverse_lengths[column]
    }

    /// The column of steepest descent that may join, if its descent is above `tol`; the first of several.
    fn steepest(&self, tol: f64) -> Option<usize> {
        let open = (0..self.inverse_lengths.len()).filter(|&column| !self.barred[column]);
        let steep = open.map(|column| (self.steepness(column), column)).filter(|(steepness, _)| *steepness > tol);
        steep.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, column)| column)
    }

    /// Moves x to the least-squares solution on P; columns whose entries reach 0 leave P. Returns whether x has moved. It has not
    /// if, by rounding, the column that has just joined would be the first to leave.
    fn descend(&mut self, b: &[f64], x: &mut [f64]) -> bool {
        loop {
            self.least_squares();
            let steps = self.free.iter().zip(&self.solution).map(|(&column, &target)| step_to_zero(x[column], target));
            let step = steps.fold(1.0, f64::min);
            for (&column, &target) in self.free.iter().zip(&self.solution) {
                let leaves = step_to_zero(x[column], target) <= step;
                x[column] = if leaves { 0.0 } else { x[column] + step * (target - x[column]) };
            }
            let shrinks = self.release(b, x);
            // Only a column that has just joined is at 0; without it, x is already the least-squares solution.
            if step == 0.0 {
                return false;
            }
            if !shrinks {
                self.free.iter().zip(&self.solution).for_each(|(&column, &value)| x[column] = value);
                return true;
            }
        }
    }

    /// Adds a column to P unless it depends on P.
    fn join(&mut self, column: usize, b: &[f64]) -> bool {
        let independent = self.append(column, b) > DEPENDENT * self.gram.row(column)[column];
        if !independent {
            self.free.pop();
            self.halfway.pop();
        }
        independent
    }

    /// Appends a column to P and its row to the factor; returns its squared distance from the span of the columns before it.
    fn append(&mut self, column: usize, b: &[f64]) -> f64 {
        let (k, p) = (self.inverse_lengths.len(), self.free.len());
        let (above, row) = self.factor.split_at_mut(p * k);
        let products = self.gram.row(column);
        let mut rest = products[column];
        for (at, &other) in self.free.iter().enumerate() {
            row[at] = (products[other] - dot(&row[..at], &above[at * k..])) / above[at * k + at];
            rest -= row[at] * row[at];
        }
        // A column that stays when others leave is as independent as before, up to rounding.
        row[p] = rest.max(f64::EPSILON * DEPENDENT * products[column]).sqrt();
        self.free.push(column);
        self.halfway.push((b[column] - dot(&self.halfway, row)) / row[p]);
        rest
    }

    /// Removes columns whose entry is 0 from P; returns whether there were any.
    fn release(&mut self, b: &[f64], x: &[f64]) -> bool {
        let Some(first) = self.free.iter().position(|&column| x[column] == 0.0) else { return false };
        let after: Vec<usize> = self.free.drain(first..).collect();
        self.halfway.truncate(first);
        for column in after.into_iter().filter(|&column| x[column] > 0.0) {
            self.append(column, b);
        }
        true
    }

    /// The least-squares solution on P by the factor.
    fn least_squares(&mut self) {
        let k = self.inverse_lengths.len();
        self.solution.clone_from(&self.halfway);
        for at in (0..self.free.len()).rev() {
            let (before, value) = self.solution.split_at_mut(at);
            value[0] /= self.factor[at * k + at];
            before.iter_mut().zip(&self.factor[at * k..]).for_each(|(z, l)| *z -= value[0] * l);
        }
    }
}

/// Σ aᵢbᵢ over the shorter of the two.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Share of the way from `start` ≥ 0 to `target` at which 0 is reached; infinite if it is not.
fn step_to_zero(start: f64, target: f64) -> f64 {
    if target > 0.0 {
        f64::INFINITY
    } else if start > 0.0 {
        start / (start - target)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Run, Stream};
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::dense::{gram, solve_spd};

    /// A (m, k) with entries in [−1, 1) and Aᵀy for such a y; if `twins`, the last column is twice the first.
    fn problem(m: usize, k: usize, twins: bool, seed: u64) -> (Matrix, Vec<f64>) {
        let mut rng = Run::new(Some(1), seed).unwrap().rng(Stream::Synthetic, 0);
        let mut a = Matrix::new(m, k, (0..m * k).map(|_| rng.random_range(-1.0..1.0)).collect()).unwrap();
        if twins {
            (0..m).for_each(|i| a.row_mut(i)[k - 1] = 2.0 * a.row(i)[0]);
        }
        let y: Vec<f64> = (0..m).map(|_| rng.random_range(-1.0..1.0)).collect();
        let b = (0..k).map(|j| (0..m).map(|i| a.row(i)[j] * y[i]).sum()).collect();
        (gram(&a), b)
    }

    /// ½xᵀGx − bᵀx.
    fn objective(gram: &Matrix, b: &[f64], x: &[f64]) -> f64 {
        (0..b.len()).map(|j| x[j] * (dot(gram.row(j), x) / 2.0 - b[j])).sum()
    }

    /// The least objective over all sets of free columns whose least-squares solution is positive.
    fn brute_force(gram: &Matrix, b: &[f64]) -> f64 {
        let k = b.len();
        let of = |set: u32| -> Option<f64> {
            let free: Vec<usize> = (0..k).filter(|j| set >> j & 1 == 1).collect();
            let part = free.iter().flat_map(|&i| free.iter().map(move |&j| gram.row(i)[j])).collect();
            let part = Matrix::new(free.len(), free.len(), part).unwrap();
            let right = Matrix::new(free.len(), 1, free.iter().map(|&j| b[j]).collect()).unwrap();
            let found = solve_spd(&part, &right).ok()?;
            let mut x = vec![0.0; k];
            free.iter().zip(found.values()).for_each(|(&j, &value)| x[j] = value);
            x.iter().all(|&x| x >= 0.0).then(|| objective(gram, b, &x))
        };
        (1..1 << k).filter_map(of).fold(0.0, f64::min)
    }

    fn conditions_hold(gram: &Matrix, b: &[f64], x: &[f64], tol: f64) -> bool {
        (0..b.len()).all(|j| {
            let slope = dot(gram.row(j), x) - b[j];
            x[j] >= 0.0 && slope > -tol && (x[j] == 0.0 || slope.abs() < tol)
        })
    }

    proptest! {
        #[test]
        fn no_set_of_columns_is_better(k in 1usize..=6, extra in 0usize..4, seed in 0u64..10_000) {
            let (gram, b) = problem(k + extra, k, false, seed);
            let mut x = vec![0.0; k];
            prop_assert!(Nnls::new(&gram).solve(&b, &mut x));
            prop_assert!(x.iter().all(|x| *x >= 0.0), "{x:?}");
            // Of nearly dependent columns the twin's solutions are the less exact ones: what is found may lie below them.
            let (found, least) = (objective(&gram, &b, &x), brute_force(&gram, &b));
            prop_assert!(found - least < 1e-9 * (1.0 + least.abs()), "{found} {least}");
        }

        #[test]
        fn conditions_of_optimality_hold(k in 2usize..40, m in 1usize..60, twins: bool, seed in 0u64..10_000) {
            let (gram, b) = problem(m, k, twins, seed);
            let mut x = vec![0.0; k];
            prop_assert!(Nnls::new(&gram).solve(&b, &mut x));
            prop_assert!(conditions_hold(&gram, &b, &x, 1e-6));
        }
    }

    #[test]
    fn one_solver_serves_any_number_of_right_hand_sides() {
        let (gram, b) = problem(30, 12, false, 1);
        let other: Vec<f64> = b.iter().rev().copied().collect();
        let mut solver = Nnls::new(&gram);
        let (mut first, mut x) = (vec![0.0; 12], vec![0.0; 12]);
        solver.solve(&b, &mut first);
        solver.solve(&other, &mut x);
        solver.solve(&b, &mut x);
        assert_eq!(first, x);
        // Scaling columns only scales x.
        let scaled = Matrix::new(12, 12, gram.values().iter().map(|g| g * 1e-40).collect()).unwrap();
        let b: Vec<f64> = b.iter().map(|b| b * 1e-40).collect();
        assert!(Nnls::new(&scaled).solve(&b, &mut x));
        assert!(x.iter().zip(&first).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn columns_of_zeros_and_descents_below_zero_stay_at_zero() {
        let gram = Matrix::new(3, 3, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0]).unwrap();
        let mut x = vec![7.0; 3];
        assert!(Nnls::new(&gram).solve(&[-1.0, 0.0, 2.0], &mut x));
        assert_eq!(x, [0.0, 0.0, 0.5]);
    }
}
