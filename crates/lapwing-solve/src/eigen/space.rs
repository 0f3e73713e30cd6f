//! Orthonormal bases with their products, in which the Rayleigh–Ritz method finds eigenvectors.

use lapwing_core::{Matrix, Result, Run};

use super::tall::{Tall, rotate, select, write};
use crate::dense::eigen_symmetric;
use crate::products::{times, transposed_times};

/// Directions of which the basis leaves less than this share (squared) are rounding errors.
const LEAST_SHARE: f64 = 1e-14;
/// One pass is enough if it leaves at least this share (squared) of every direction.
const EASY_SHARE: f64 = 0.01;
/// Most passes of an orthogonalization.
const PASSES: usize = 4;

/// Orthonormal vectors V, their products A·V with a symmetric operator, and VᵀAV.
pub(super) struct Space {
    pub capacity: usize,
    pub used: usize,
    v: Vec<f64>,
    av: Vec<f64>,
    /// VᵀAV (used, used).
    projected: Matrix,
}

/// Eigenpairs of A within a space.
pub(super) struct Ritz {
    /// Ascending.
    pub values: Vec<f64>,
    /// Coefficients of the vectors in the basis, as columns.
    pub vectors: Matrix,
}

impl Ritz {
    /// Coefficients of the first vectors, at most `count`.
    pub fn leading(&self, count: usize) -> Result<Matrix> {
        let count = count.min(self.values.len());
        select(&self.vectors, &(0..count).collect::<Vec<_>>())
    }
}

impl Space {
    pub fn new(n: usize, capacity: usize) -> Self {
        let zeros = || vec![0.0; n * capacity];
        Self { capacity, used: 0, v: zeros(), av: zeros(), projected: Matrix::filled(0, 0, 0.0) }
    }

    fn basis(&self) -> Tall<'_> {
        Tall { values: &self.v, stride: self.capacity, width: self.used }
    }

    fn products(&self) -> Tall<'_> {
        Tall { values: &self.av, stride: self.capacity, width: self.used }
    }

    /// An orthonormal basis (n, r), r ≤ s, of what W (n, s) adds to the space: block Gram–Schmidt, with the eigenvectors of WᵀW in
    /// place of a triangular factor (Stathopoulos & Wu 2002). Directions that are rounding errors are left out.
    ///
    /// A pass takes the products with the basis and those of W with itself from one W, so that it leaves errors of rounding over
    /// the least share that remains; passes are repeated until that is most of each direction. `project` takes known vectors out before
    /// each, since what rounding leaves of them grows with what is left.
    pub fn orthonormal(&self, mut w: Matrix, project: &dyn Fn(&mut Matrix), run: &Run) -> Result<Matrix> {
        for pass in 1..=PASSES {
            run.check()?;
            project(&mut w);
            let along = self.basis().dots(Tall::from(&w));
            let before = Tall::from(&w).dots(Tall::from(&w));
            let taken = transposed_times(&along, &along);
            let s = w.n_cols();
            let left = |i: usize, j: usize| before.row(i)[j] - taken.row(i)[j];
            let kept: Vec<usize> = (0..s).filter(|&i| left(i, i) > LEAST_SHARE * before.row(i)[i]).collect();
            let mut easy = kept.iter().all(|&i| left(i, i) >= EASY_SHARE * before.row(i)[i]);
            let scale: Vec<f64> = kept.iter().map(|&i| left(i, i).sqrt().recip()).collect();
            let mut change = Matrix::filled(s, kept.len(), 0.0);
            kept.iter().enumerate().for_each(|(at, &i)| change.row_mut(i)[at] = scale[at]);
            if easy || pass == PASSES {
                let (whitening, is_far_from_dependent) = whitening(kept.len(), |a, b| {
                    let (i, j) = (kept[a], kept[b]);
                    0.5 * (left(i, j) + left(j, i)) * scale[a] * scale[b]
                })?;
                easy = is_far_from_dependent;
                change = times(&change, &whitening);
            }
            let mut back = times(&along, &change);
            back.values_mut().iter_mut().for_each(|v| *v = -*v);
            let mut next = Tall::from(&w).times(&change);
            self.basis().add_product(&back, &mut next);
            w = next;
            if easy || w.n_cols() == 0 {
                break;
            }
        }
        Ok(w)
    }

    /// Appends orthonormal vectors W (n, s), orthogonal to the space, and their products A·W.
    pub fn extend(&mut self, w: &Matrix, aw: &Matrix) {
        let (m, s) = (self.used, w.n_cols());
        write(&mut self.v, self.capacity, m, w);
        write(&mut self.av, self.capacity, m, aw);
        self.used += s;
        let corner = self.basis().dots(Tall::from(aw));
        let mut projected = Matrix::filled(m + s, m + s, 0.0);
        for row in 0..m {
            projected.row_mut(row)[..m].copy_from_slice(self.projected.row(row));
        }
        for row in 0..m + s {
            for column in 0..s {
                let value = corner.row(row)[column];
                let value = if row < m { value } else { 0.5 * (value + corner.row(m + column)[row - m]) };
                projected.row_mut(row)[m + column] = value;
                projected.row_mut(m + column)[row] = value;
            }
        }
        self.projected = projected;
    }

    /// Rayleigh–Ritz.
    pub fn ritz(&self) -> Result<Ritz> {
        let (values, vectors) = eigen_symmetric(&self.projected)?;
        Ok(Ritz { values, vectors })
    }

    /// V·Y (n, s) for coefficients Y (used, s).
    pub fn vectors(&self, y: &Matrix) -> Matrix {
        self.basis().times(y)
    }

    /// A·V·Y (n, s).
    pub fn products_of(&self, y: &Matrix) -> Matrix {
        self.products().times(y)
    }

    /// V ← V·Y for Y (used, s) with orthonormal columns.
    pub fn rotate(&mut self, y: &Matrix) {
        rotate(&mut self.v, self.capacity, y);
        rotate(&mut self.av, self.capacity, y);
        let mut projected = transposed_times(y, &times(&self.projected, y));
        for row in 0..y.n_cols() {
            for column in 0..row {
                let mean = 0.5 * (projected.row(row)[column] + projected.row(column)[row]);
                (projected.row_mut(row)[column], projected.row_mut(column)[row]) = (mean, mean);
            }
        }
        (self.projected, self.used) = (projected, y.n_cols());
    }
}

/// T (s, r), r ≤ s, with TᵀGT = I for the products `gram` of s unit vectors, and whether these are far from dependent.
fn whitening(s: usize, gram: impl Fn(usize, usize) -> f64) -> Result<(Matrix, bool)> {
    let values = (0..s * s).map(|at| gram(at / s, at % s)).collect();
    let (values, vectors) = eigen_symmetric(&Matrix::new(s, s, values)?)?;
    let first = values.partition_point(|&value| value <= LEAST_SHARE);
    let mut out = Matrix::filled(s, s - first, 0.0);
    for row in 0..s {
        let pairs = vectors.row(row)[first..].iter().zip(&values[first..]);
        out.row_mut(row).iter_mut().zip(pairs).for_each(|(out, (v, value))| *out = v / value.sqrt());
    }
    Ok((out, values.iter().all(|&value| value >= EASY_SHARE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_orthonormal_and_those_that_are_known_are_left_out() {
        let (n, run) = (5000, Run::new(Some(2), 0).unwrap());
        let wave = |row: usize, k: usize| (0.001 * (row * (k + 1)) as f64 + k as f64).sin();
        let mut space = Space::new(n, 6);
        let first = Matrix::new(n, 2, (0..n).flat_map(|row| [wave(row, 0), wave(row, 1)]).collect()).unwrap();
        let first = space.orthonormal(first, &|_| (), &run).unwrap();
        let degree = |row: usize| 1.0 + (row % 3) as f64;
        let product = |w: &Matrix| {
            let mut out = w.clone();
            (0..n).for_each(|row| out.row_mut(row).iter_mut().for_each(|v| *v *= degree(row)));
            out
        };
        space.extend(&first, &product(&first));
        // A known direction, nearly the same, the same twice, one within the space.
        let row = |row: usize| {
            let (new, known) = (wave(row, 2), wave(row, 0));
            [known + 1e-6 * new, new, new, known, 1e9 * new + known]
        };
        let more = Matrix::new(n, 5, (0..n).flat_map(row).collect()).unwrap();
        let more = space.orthonormal(more, &|_| (), &run).unwrap();
        assert_eq!(more.n_cols(), 1);
        space.extend(&more, &product(&more));
        let dots = space.basis().dots(space.basis());
        for i in 0..3 {
            (0..3).for_each(|j| assert!((dots.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-13));
        }
        let expected = space.basis().dots(space.products());
        let difference = |projected: &Matrix| {
            let pairs = projected.values().iter().zip(expected.values());
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(difference(&space.projected) < 1e-13);
        let ritz = space.ritz().unwrap();
        space.rotate(&ritz.leading(2).unwrap());
        assert!((0..2).all(|k| (space.projected.row(k)[k] - ritz.values[k]).abs() < 1e-12) && space.used == 2);
    }
}
