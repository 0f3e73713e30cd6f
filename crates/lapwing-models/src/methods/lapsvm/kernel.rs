//! Kernels, and blocks of them between two sets of rows, in double precision.
//!
//! A block of m rows with k others takes m·k·d multiplications as one matrix product; for sparse rows, one multiplication for
//! each stored value of the first, times k. Squared distances are |x|² + |x′|² − 2·xᵀx′ of rows with the mean subtracted, at
//! least 0.

use std::ops::Range;
use std::sync::Arc;

use lapwing_core::{Csr, Dense, Error, Features, Result, Run, memory};
use lapwing_solve::SymmetricBlocks;
use lapwing_solve::products::product_transposed_by_rows;
use serde::{Deserialize, Serialize};

use crate::core::scores::exponentials;

/// A kernel function of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Kernel {
    /// exp(−‖x − x′‖²/(2σ²)).
    Rbf {
        /// σ > 0, in the unit of distances.
        bandwidth: f64,
    },
    /// (xᵀx′)^degree.
    Poly {
        /// Degree, at least 1.
        degree: u32,
    },
    /// xᵀx′.
    Linear,
}

/// Rows prepared for blocks of a kernel.
#[derive(Clone, Debug)]
pub(super) struct KernelRows {
    values: RowValues,
    /// |x|² (n), for kernels of distances.
    squares: Vec<f64>,
    n_features: usize,
    /// Their numbers in the input, for errors: counted from `first` if there are none.
    ids: Vec<u32>,
    first: usize,
}

#[derive(Clone, Debug)]
enum RowValues {
    /// (n, d), row-major.
    Dense(Vec<f64>),
    Sparse(Arc<Csr<f32>>),
}

impl KernelRows {
    /// The rows `range` of `features`, less `center` (d, or empty) if they are dense.
    pub fn new(features: &Features<'_>, range: Range<usize>, center: &[f64]) -> Result<Self> {
        let d = features.n_cols();
        let values = match features {
            Features::Dense(dense) => {
                let advice = "give fewer rows, or take landmarks";
                let mut values = memory::zeros("a copy of the rows in double precision", range.len() * d, advice)?;
                for (row, out) in range.clone().zip(values.chunks_exact_mut(d.max(1))) {
                    dense.copy_row_f64(row, out);
                    out.iter_mut().zip(center).for_each(|(x, c)| *x -= c);
                }
                RowValues::Dense(values)
            }
            Features::Sparse(all) if range.len() == all.n_rows() => RowValues::Sparse(all.clone()),
            Features::Sparse(_) => {
                let rows: Vec<u32> = range.clone().map(|row| row as u32).collect();
                match features.select(&rows)? {
                    Features::Sparse(part) => RowValues::Sparse(part),
                    Features::Dense(_) => return Err(Error::Internal { reason: "sparse rows became dense".into() }),
                }
            }
        };
        let mut rows = Self { values, squares: Vec::new(), n_features: d, ids: Vec::new(), first: range.start };
        rows.squares = (0..range.len()).map(|row| rows.square(row)).collect();
        Ok(rows)
    }

    /// The same rows, which have the numbers `ids` in the input.
    pub fn named(self, ids: Vec<u32>) -> Self {
        Self { ids, ..self }
    }

    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// The number of a row in the input.
    fn id(&self, at: usize) -> usize {
        self.ids.get(at).map_or(self.first + at, |&id| id as usize)
    }

    /// The products (a, b) of rows of these and of others, row-major.
    fn products(&self, rows: Range<usize>, b: &Self, cols: Range<usize>, out: &mut [f64]) -> Result<()> {
        let d = self.n_features;
        match (&self.values, &b.values) {
            (RowValues::Dense(a), RowValues::Dense(b)) => {
                product_transposed_by_rows(&a[rows.start * d..rows.end * d], &b[cols.start * d..cols.end * d], d, out);
            }
            (RowValues::Sparse(a), RowValues::Sparse(b)) => sparse_products(a, rows, b, cols, out),
            (RowValues::Dense(_), _) => {
                return Err(Error::shape("features", "sparse rows, as the fit had", "dense rows"));
            }
            _ => return Err(Error::shape("features", "dense rows, as the fit had", "sparse rows")),
        }
        Ok(())
    }

    fn square(&self, row: usize) -> f64 {
        match &self.values {
            RowValues::Dense(values) => values[row * self.n_features..][..self.n_features].iter().map(|x| x * x).sum(),
            RowValues::Sparse(csr) => csr.row(row).1.iter().map(|x| f64::from(*x).powi(2)).sum(),
        }
    }
}

impl Kernel {
    /// Mean of k(x, x) over all rows.
    pub(super) fn mean_diagonal(self, rows: &KernelRows) -> f64 {
        let of = |square: &f64| match self {
            Self::Rbf { .. } => 1.0,
            Self::Poly { degree } => square.powi(degree as i32),
            Self::Linear => *square,
        };
        rows.squares.iter().map(of).sum::<f64>() / rows.len().max(1) as f64
    }

    /// The block (a, b) of similarities, row-major.
    ///
    /// # Errors
    /// [`Error::Value`] for a similarity that is not finite.
    pub(super) fn block(
        self,
        a: &KernelRows,
        rows: Range<usize>,
        b: &KernelRows,
        cols: Range<usize>,
        out: &mut [f64],
    ) -> Result<()> {
        let k = cols.len();
        if a.n_features == 0 || k == 0 {
            return Ok(());
        }
        a.products(rows.clone(), b, cols.clone(), out)?;
        let last = match self {
            Self::Linear => f64::from(f32::MAX),
            Self::Poly { degree } => {
                out.iter_mut().for_each(|value| *value = value.powi(degree as i32));
                // The range of single precision, in which similarities may be stored.
                f64::from(f32::MAX)
            }
            Self::Rbf { bandwidth } => {
                let rate = -0.5 / (bandwidth * bandwidth);
                for (row, out) in rows.clone().zip(out.chunks_exact_mut(k)) {
                    let own = a.squares[row];
                    for (value, other) in out.iter_mut().zip(&b.squares[cols.clone()]) {
                        *value = rate * (own + other - 2.0 * *value).max(0.0);
                    }
                }
                exponentials(out);
                1.0
            }
        };
        if let Some(at) = out.iter().position(|value| !(value.abs() <= last && value.is_finite())) {
            let (row, col) = (rows.start + at / k, cols.start + at % k);
            // Rows of a fit that new rows are compared with have no numbers here.
            let is_known = !b.ids.is_empty() || std::ptr::eq(a, b);
            let is_own = a.squares[row] >= b.squares[col] || !is_known;
            return Err(Error::Value {
                what: "features".into(),
                row: if is_own { a.id(row) } else { b.id(col) },
                col: None,
                value: format!("values so large that the kernel of two rows is {}", out[at]),
                advice: "scale the features or remove the row".into(),
            });
        }
        Ok(())
    }
}

/// OUT (rows, cols) ← the products of sparse rows: those of `b` are stored by columns, sixteen at a time.
fn sparse_products(a: &Csr<f32>, rows: Range<usize>, b: &Csr<f32>, cols: Range<usize>, out: &mut [f64]) {
    const WIDTH: usize = 16;
    let k = cols.len();
    let mut panel = vec![[0.0f64; WIDTH]; a.n_cols().max(b.n_cols())];
    for first in cols.clone().step_by(WIDTH) {
        let last = (first + WIDTH).min(cols.end);
        for (lane, row) in (first..last).enumerate() {
            let (ids, values) = b.row(row);
            ids.iter().zip(values).for_each(|(&id, value)| panel[id as usize][lane] = f64::from(*value));
        }
        for (at, row) in rows.clone().enumerate() {
            let (ids, values) = a.row(row);
            let mut sums = [0.0; WIDTH];
            for (&id, value) in ids.iter().zip(values) {
                let (value, others) = (f64::from(*value), &panel[id as usize]);
                sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += value * other);
            }
            out[at * k + first - cols.start..][..last - first].copy_from_slice(&sums[..last - first]);
        }
        for row in first..last {
            b.row(row).0.iter().for_each(|&id| panel[id as usize] = [0.0; WIDTH]);
        }
    }
}

/// A Gram matrix of rows, block by block.
pub(super) struct GramBlocks {
    pub kernel: Kernel,
    pub rows: KernelRows,
}

impl SymmetricBlocks for GramBlocks {
    fn n(&self) -> usize {
        self.rows.len()
    }

    fn block(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [f64]) -> Result<()> {
        self.kernel.block(&self.rows, rows, &self.rows, cols, out)
    }
}

/// A given Gram matrix, checked for symmetry while it is read.
pub(super) struct GivenBlocks<'g, 'a> {
    pub features: &'g Features<'a>,
}

impl GivenBlocks<'_, '_> {
    /// The mean of the diagonal.
    pub fn mean_diagonal(&self) -> f64 {
        let Features::Dense(dense) = self.features else { return 1.0 };
        let mut value = [0.0];
        let mut total = 0.0;
        for row in 0..dense.n_rows() {
            dense.copy_part_f64(row, row..row + 1, &mut value);
            total += value[0];
        }
        total / dense.n_rows().max(1) as f64
    }
}

impl SymmetricBlocks for GivenBlocks<'_, '_> {
    fn n(&self) -> usize {
        self.features.n_rows()
    }

    fn block(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [f64]) -> Result<()> {
        let Features::Dense(dense) = self.features else {
            return Err(Error::shape("the Gram matrix", "a dense array", "a sparse one"));
        };
        let k = cols.len();
        let mut mirror = vec![0.0; rows.len() * k];
        for (col, part) in cols.clone().zip(mirror.chunks_exact_mut(rows.len().max(1))) {
            dense.copy_part_f64(col, rows.clone(), part);
        }
        for (row, part) in rows.clone().zip(out.chunks_exact_mut(k.max(1))) {
            dense.copy_part_f64(row, cols.clone(), part);
        }
        // In small squares, so that rows and columns both stay in the L1 cache.
        const EDGE: usize = 16;
        for i0 in (0..rows.len()).step_by(EDGE) {
            for j0 in (0..k).step_by(EDGE) {
                for i in i0..(i0 + EDGE).min(rows.len()) {
                    for j in j0..(j0 + EDGE).min(k) {
                        let (here, there) = (out[i * k + j], mirror[j * rows.len() + i]);
                        // Mirrored entries may come from products in another order, perhaps in single precision.
                        let is_mirrored = (here - there).abs() <= 1e-5 * here.abs().max(there.abs()) + 1e-7;
                        if here != there && !is_mirrored {
                            return Err(Error::Value {
                                what: "the Gram matrix".into(),
                                row: rows.start + i,
                                col: Some(cols.start + j),
                                value: here.to_string(),
                                advice: format!("its mirror image is {there}; it must be symmetric"),
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The middle value of each column (d) among rows spread over all. A huge value does not move it as it would move the mean, from which
/// all other rows would then differ by no more than rounding.
pub(super) fn middle(dense: &Dense<'_>) -> Vec<f64> {
    const ROWS: usize = 501;
    const COLUMNS: usize = 512;
    let (n, d) = (dense.n_rows(), dense.n_cols());
    let rows: Vec<usize> = (0..n).step_by(n.div_ceil(ROWS).max(1)).collect();
    let mut out = Vec::with_capacity(d);
    for first in (0..d).step_by(COLUMNS) {
        let width = COLUMNS.min(d - first);
        let mut values = vec![0.0; rows.len() * width];
        for (&row, part) in rows.iter().zip(values.chunks_exact_mut(width)) {
            dense.copy_part_f64(row, first..first + width, part);
        }
        out.extend((0..width).map(|column| {
            let mut own: Vec<f64> = values.iter().skip(column).step_by(width).copied().collect();
            let middle = own.len() / 2;
            *own.select_nth_unstable_by(middle, f64::total_cmp).1
        }));
    }
    out
}

/// Half the median distance among drawn rows, the default of σ; 1 if all rows are equal.
pub(super) fn typical_bandwidth(features: &Features<'_>, center: &[f64], run: &Run) -> Result<f64> {
    use lapwing_core::Stream;
    use rand::seq::index::sample;
    const ROWS: usize = 500;
    let n = features.n_rows();
    let mut drawn: Vec<u32> =
        sample(&mut run.rng(Stream::Landmarks, 7), n, n.min(ROWS)).iter().map(|row| row as u32).collect();
    drawn.sort_unstable();
    let chosen = features.select(&drawn)?;
    let m = drawn.len();
    let rows = KernelRows::new(&chosen, 0..m, center)?;
    let mut products = vec![0.0; m * m];
    rows.products(0..m, &rows, 0..m, &mut products)?;
    // Equal rows are at distance 0 up to rounding.
    let squared = |i: usize, j: usize| {
        let sizes = rows.squares[i] + rows.squares[j];
        let squared = sizes - 2.0 * products[i * m + j];
        if squared > 1e-12 * sizes { squared } else { 0.0 }
    };
    let mut distances: Vec<f64> =
        (0..m).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| squared(i, j)).collect();
    distances.retain(|distance| *distance > 0.0);
    if distances.is_empty() {
        return Ok(1.0);
    }
    let middle = distances.len() / 2;
    let median = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    Ok(0.5 * median.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_definitions_for_dense_and_sparse_rows() {
        let (n, d) = (37, 5);
        let values: Vec<f64> =
            (0..n * d).map(|i| if i % 3 == 0 { 0.0 } else { ((i * 7) % 11) as f64 / 4.0 - 1.0 }).collect();
        let entries: Vec<(u32, u32, f32)> = values
            .iter()
            .enumerate()
            .filter(|(_, x)| **x != 0.0)
            .map(|(at, x)| ((at / d) as u32, (at % d) as u32, *x as f32))
            .collect();
        let dense = Features::from_f64(n, d, values.clone()).unwrap();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
        let x = |i: usize| &values[i * d..(i + 1) * d];
        let product = |i: usize, j: usize| x(i).iter().zip(x(j)).map(|(a, b)| a * b).sum::<f64>();
        let squared = |i: usize, j: usize| x(i).iter().zip(x(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        for (features, center) in [(&dense, vec![0.3, -0.2, 0.0, 0.5, 1.0]), (&sparse, Vec::new())] {
            for kernel in [Kernel::Rbf { bandwidth: 0.8 }, Kernel::Poly { degree: 3 }, Kernel::Linear] {
                let center = if matches!(kernel, Kernel::Rbf { .. }) { &center[..] } else { &[] };
                let rows = KernelRows::new(features, 0..n, center).unwrap();
                let mut out = vec![0.0; 9 * 20];
                kernel.block(&rows, 20..29, &rows, 3..23, &mut out).unwrap();
                for (at, value) in out.iter().enumerate() {
                    let (i, j) = (20 + at / 20, 3 + at % 20);
                    let expected = match kernel {
                        Kernel::Rbf { bandwidth } => (-squared(i, j) / (2.0 * bandwidth * bandwidth)).exp(),
                        Kernel::Poly { .. } => product(i, j).powi(3),
                        Kernel::Linear => product(i, j),
                    };
                    assert!(
                        (value - expected).abs() < 1e-12 * expected.abs().max(1.0),
                        "{kernel:?} {value} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn overflow_is_named_and_given_matrices_must_be_symmetric() {
        let features = Features::from_f64(2, 1, vec![1e30, 2e30]).unwrap();
        let rows = KernelRows::new(&features, 0..2, &[]).unwrap();
        let text = Kernel::Poly { degree: 9 }.block(&rows, 0..2, &rows, 0..2, &mut [0.0; 4]).unwrap_err().to_string();
        assert!(text.contains("row 0 of features holds values so large that the kernel of two rows is inf"), "{text}");
        let skew = Features::from_f64(2, 2, vec![1.0, 0.5, 0.4, 1.0]).unwrap();
        let text = GivenBlocks { features: &skew }.block(0..2, 0..2, &mut [0.0; 4]).unwrap_err().to_string();
        assert!(text.contains("must be symmetric"), "{text}");
    }

    #[test]
    fn a_huge_value_leaves_the_other_rows_as_they_are() {
        let run = Run::new(Some(1), 0).unwrap();
        let values: Vec<f64> = (0..600).map(|i| f64::from((i * 37) % 101) / 10.0).collect();
        let similarities = |values: Vec<f64>| {
            let features = Features::from_f64(200, 3, values).unwrap();
            let Features::Dense(dense) = &features else { unreachable!() };
            let center = middle(dense);
            let kernel = Kernel::Rbf { bandwidth: typical_bandwidth(&features, &center, &run).unwrap() };
            let rows = KernelRows::new(&features, 0..200, &center).unwrap();
            let mut out = vec![0.0; 100 * 100];
            kernel.block(&rows, 100..200, &rows, 100..200, &mut out).unwrap();
            out
        };
        let (plain, mut moved) = (similarities(values.clone()), values);
        moved[7] = 1e30;
        let pairs = plain.iter().zip(similarities(moved));
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 0.02);
    }

    #[test]
    fn the_typical_width_follows_the_unit() {
        let run = Run::new(Some(1), 0).unwrap();
        let values: Vec<f64> = (0..300).map(|i| f64::from((i * 37) % 101)).collect();
        let width = |scale: f64| {
            let features = Features::from_f64(100, 3, values.iter().map(|x| x * scale).collect()).unwrap();
            typical_bandwidth(&features, &[], &run).unwrap()
        };
        assert!((width(8.0) / width(1.0) - 8.0).abs() < 1e-9);
        let equal = Features::from_f64(4, 1, vec![2.0; 4]).unwrap();
        assert_eq!(typical_bandwidth(&equal, &[], &run).unwrap(), 1.0);
    }
}
