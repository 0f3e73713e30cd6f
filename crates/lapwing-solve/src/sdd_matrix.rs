//! Laplacians plus a diagonal, as sparse matrices.

use std::borrow::Cow;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, Result, Run};

use crate::Graph;
use crate::blocks::{BLOCK_ROWS, of_rows};

/// L + diag(g), with L = D − W the Laplacian of a symmetric W, and g ≥ 0. This covers combinatorial and regularized Laplacians,
/// and their principal blocks, where g holds the weights of the cut edges.
///
/// Products are computed as Σⱼ wᵢⱼ(xᵢ − xⱼ), so that weights far apart lose no digits to cancellation.
#[derive(Clone, Debug)]
pub struct SddMatrix<'a> {
    pub(crate) starts: Cow<'a, [u64]>,
    pub(crate) ids: Cow<'a, [u32]>,
    pub(crate) weights: Weights<'a>,
    shift: Cow<'a, [f64]>,
}

/// Weights in the smallest type that holds them exactly: reading them bounds the speed of the solver.
#[derive(Clone, Debug)]
pub(crate) enum Weights<'a> {
    Equal(f64),
    Single(Vec<f32>),
    Double(Cow<'a, [f64]>),
}

impl Graph {
    /// The Laplacian L = D − W.
    #[doc(hidden)]
    pub fn laplacian(&self) -> SddMatrix<'_> {
        SddMatrix::borrowed(self.adjacency(), Cow::Owned(vec![0.0; self.n_samples()]))
    }
}

impl<'a> SddMatrix<'a> {
    /// The Laplacian of `graph` plus diag(`shift`). Nothing is copied, and products do not read weights that are all equal.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one shift per node.
    pub fn new(graph: &'a Graph, shift: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let (n, shift) = (graph.n_samples(), shift.into());
        if shift.len() != n {
            return Err(Error::shape("diagonal", format!("{n} values"), format!("{} values", shift.len())));
        }
        Ok(Self::borrowed(graph.adjacency(), shift))
    }

    /// The same for sizes that are known to agree.
    pub(crate) fn borrowed(adjacency: &'a Csr<f64>, shift: impl Into<Cow<'a, [f64]>>) -> Self {
        let values = adjacency.values();
        let first = values.first().copied().unwrap_or(0.0);
        // Never uses the global pool: a process must be free to fork.
        let is_equal = match rayon::current_thread_index() {
            Some(_) => values.par_iter().all(|&w| w == first),
            None => values.iter().all(|&w| w == first),
        };
        Self {
            starts: Cow::Borrowed(adjacency.indptr()),
            ids: Cow::Borrowed(adjacency.indices()),
            weights: if is_equal { Weights::Equal(first) } else { Weights::Double(Cow::Borrowed(values)) },
            shift: shift.into(),
        }
    }

    /// The same matrix with row and column i for `order[i]`, in a compact copy.
    pub(crate) fn reordered(&self, order: &[u32], run: &Run) -> Result<SddMatrix<'static>> {
        run.check()?;
        if order.iter().enumerate().all(|(at, &v)| at == v as usize) {
            return Ok(self.compact());
        }
        let mut positions = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(at, &v)| positions[v as usize] = at as u32);
        let row = |at: usize| self.entries(order[at] as usize);
        let mut starts = vec![0u64; order.len() + 1];
        (0..order.len()).for_each(|at| starts[at + 1] = starts[at] + row(at).len() as u64);
        let ids = scatter_rows(&starts, run, |at| self.ids[row(at)].iter().map(|&u| positions[u as usize]))?;
        let weights = match &self.weights {
            Weights::Equal(weight) => Weights::Equal(*weight),
            Weights::Single(all) => Weights::Single(scatter_rows(&starts, run, |at| all[row(at)].iter().copied())?),
            Weights::Double(all) if are_single(all) => {
                Weights::Single(scatter_rows(&starts, run, |at| all[row(at)].iter().map(|&w| w as f32))?)
            }
            Weights::Double(all) => {
                Weights::Double(Cow::Owned(scatter_rows(&starts, run, |at| all[row(at)].iter().copied())?))
            }
        };
        let shift = order.par_iter().map(|&v| self.shift[v as usize]).collect();
        Ok(SddMatrix { starts: Cow::Owned(starts), ids: Cow::Owned(ids), weights, shift })
    }

    /// A copy in the smallest type.
    fn compact(&self) -> SddMatrix<'static> {
        let weights = match &self.weights {
            Weights::Equal(weight) => Weights::Equal(*weight),
            Weights::Single(all) => Weights::Single(all.clone()),
            Weights::Double(all) if are_single(all) => Weights::Single(all.par_iter().map(|&w| w as f32).collect()),
            Weights::Double(all) => Weights::Double(Cow::Owned(all.par_iter().copied().collect())),
        };
        let ids = self.ids.par_iter().copied().collect();
        let (starts, shift) = (Cow::Owned(self.starts.to_vec()), Cow::Owned(self.shift.to_vec()));
        SddMatrix { starts, ids: Cow::Owned(ids), weights, shift }
    }

    /// Range of the entries of a row.
    fn entries(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// Entries off the diagonal.
    pub(crate) fn n_entries(&self) -> usize {
        self.ids.len()
    }

    /// Diagonal that is added to the Laplacian (n).
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// The adjacency matrix W, in the order of the rows here.
    pub(crate) fn to_adjacency(&self, run: &Run) -> Result<Csr<f64>> {
        let n = self.n();
        let (mut ids, mut values) = (Vec::with_capacity(self.ids.len()), Vec::with_capacity(self.ids.len()));
        let mut row = Vec::new();
        for at in 0..n {
            if at.is_multiple_of(BLOCK_ROWS) {
                run.check()?;
            }
            row.clear();
            row.extend(self.entries(at).map(|entry| (self.ids[entry], self.weight(entry))));
            row.sort_unstable_by_key(|edge| edge.0);
            ids.extend(row.iter().map(|edge| edge.0));
            values.extend(row.iter().map(|edge| edge.1));
        }
        Csr::new(n, n, self.starts.to_vec(), ids, values)
    }

    #[inline]
    fn weight(&self, entry: usize) -> f64 {
        match &self.weights {
            Weights::Equal(weight) => *weight,
            Weights::Single(weights) => weights[entry].into(),
            Weights::Double(weights) => weights[entry],
        }
    }

    /// Computes row `row` of the product with a block (n, s), term by term, and the sums of the absolute values of its terms;
    /// returns the number of entries.
    pub(crate) fn row_product(&self, row: usize, x: &[f64], s: usize, out: &mut [f64], sizes: &mut [f64]) -> usize {
        let own = &x[row * s..(row + 1) * s];
        for ((out, size), own) in out.iter_mut().zip(sizes.iter_mut()).zip(own) {
            *out = self.shift[row] * own;
            *size = out.abs();
        }
        let entries = self.entries(row);
        for entry in entries.clone() {
            let weight = self.weight(entry);
            let other = self.ids[entry] as usize * s;
            let pairs = own.iter().zip(&x[other..other + s]);
            for ((out, size), (own, other)) in out.iter_mut().zip(sizes.iter_mut()).zip(pairs) {
                let flow = weight * (own - other);
                *out += flow;
                *size += flow.abs();
            }
        }
        entries.len()
    }

    /// Rows n.
    pub fn n(&self) -> usize {
        self.shift.len()
    }

    /// Diagonal of A (n).
    pub fn diagonal(&self) -> Vec<f64> {
        let degree = |row: usize| {
            let range = self.entries(row);
            match &self.weights {
                Weights::Equal(weight) => weight * range.len() as f64,
                Weights::Single(weights) => weights[range].iter().map(|&w| f64::from(w)).sum(),
                Weights::Double(weights) => weights[range].iter().sum::<f64>(),
            }
        };
        of_rows(self.n(), |row| degree(row) + self.shift[row])
    }

    /// Bytes held or borrowed.
    pub fn bytes(&self) -> usize {
        let weights = match &self.weights {
            Weights::Equal(_) => 0,
            Weights::Single(weights) => 4 * weights.len(),
            Weights::Double(weights) => 8 * weights.len(),
        };
        8 * self.starts.len() + 4 * self.ids.len() + weights + 8 * self.shift.len()
    }
}

/// Whether single precision holds all weights.
fn are_single(weights: &[f64]) -> bool {
    weights.par_iter().all(|&w| f64::from(w as f32) == w)
}

/// The rows `row(at)` one after the other, filled in parallel.
fn scatter_rows<T: Copy + Default + Send, I: Iterator<Item = T>>(
    starts: &[u64],
    run: &Run,
    row: impl Fn(usize) -> I + Sync,
) -> Result<Vec<T>> {
    let n = starts.len() - 1;
    let mut out = vec![T::default(); starts[n] as usize];
    let mut pieces = Vec::with_capacity(n / BLOCK_ROWS + 1);
    let mut rest = out.as_mut_slice();
    for first in (0..n).step_by(BLOCK_ROWS) {
        let last = (first + BLOCK_ROWS).min(n);
        let (piece, more) = rest.split_at_mut((starts[last] - starts[first]) as usize);
        pieces.push((first..last, piece));
        rest = more;
    }
    pieces.into_par_iter().try_for_each(|(rows, piece)| {
        piece.iter_mut().zip(rows.flat_map(&row)).for_each(|(out, value)| *out = value);
        run.check()
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use lapwing_core::CancelToken;

    use super::*;

    #[test]
    fn a_stop_is_noticed_while_rows_are_reordered() {
        let path = Csr::from_entries(3, 3, &[(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.5), (2, 1, 2.5)]).unwrap();
        let matrix = SddMatrix::borrowed(&path, &[0.0, 1.0, 0.0]);
        let stop = CancelToken::default();
        let run = Run::new(Some(1), 0).unwrap().with_cancel(stop.clone());
        let reordered = matrix.reordered(&[2, 0, 1], &run).unwrap();
        assert_eq!((reordered.diagonal(), reordered.shift()), (vec![2.5, 1.0, 4.5], [0.0, 0.0, 1.0].as_slice()));
        stop.cancel();
        assert!(matches!(matrix.reordered(&[2, 0, 1], &run), Err(Error::Interrupted)));
        assert!(matches!(reordered.to_adjacency(&run), Err(Error::Interrupted)));
    }
}
