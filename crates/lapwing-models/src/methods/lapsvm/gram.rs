//! The Gram matrix as an operator: stored as tiles, computed block by block, or a factor Z (n, r) with K = Z·Zᵀ.
//!
//! A product takes n² multiplications for each vector, 2·n·r by a factor. ZᵀLᵖZ takes n·r² and p·r products with L; 24·64·n bytes
//! are used at a time. Parallel over blocks of rows; sums of sixteen parts of the rows are added in order.

use std::ops::Range;
use std::sync::Arc;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Matrix, Result, Run, memory};
use lapwing_graph::low_rank::NystromMap;
use lapwing_solve::SymmetricMatrix;
use lapwing_solve::products::{add_transposed_product, product, product_transposed};

use super::smoothness::Smoothness;

/// Rows of Z that are processed as one block.
pub(super) const BLOCK_ROWS: usize = 1024;
/// Parts of the work whose sums are added in order.
pub(super) const SHARES: usize = 16;
/// Columns of L·Z that are computed together.
pub(super) const PANEL: usize = 64;

/// The Gram matrix K (n, n).
pub(super) enum Gram<'a> {
    /// K itself.
    Matrix(SymmetricMatrix<'a>),
    /// Z·Zᵀ.
    Factor(Factor),
}

/// Z (n, r).
pub(super) enum Factor {
    /// Row-major.
    Dense {
        /// Columns.
        rank: usize,
        values: Vec<f32>,
    },
    /// The features themselves, for a linear kernel, and their transpose.
    Sparse(Arc<Csr<f32>>, Csr<f32>),
}

impl Gram<'_> {
    pub fn n(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.n(),
            Self::Factor(factor) => factor.n(),
        }
    }

    /// The columns `cols` of K as rows of (cols, n).
    pub fn columns(&self, cols: &[u32], run: &Run) -> Result<Vec<f64>> {
        match self {
            Self::Matrix(matrix) => matrix.columns(cols, run),
            Self::Factor(factor) => {
                let mut out = memory::zeros("columns of the Gram matrix", cols.len() * factor.n(), "give fewer rows")?;
                run.install(|| factor.spread(&factor.rows(cols), &mut out));
                Ok(out)
            }
        }
    }

    /// Y ← K·X for vectors one after the other (s, n).
    ///
    /// # Errors
    /// Errors of blocks that are computed; [`Interrupted`](lapwing_core::Error::Interrupted).
    pub fn apply(&self, x: &[f64], y: &mut [f64], run: &Run) -> Result<()> {
        match self {
            Self::Matrix(matrix) => matrix.apply(x, y, run),
            Self::Factor(factor) => {
                run.check()?;
                let weights = run.install(|| factor.gather(x));
                run.check()?;
                run.install(|| factor.spread(&weights, y));
                Ok(())
            }
        }
    }
}

impl Factor {
    pub fn n(&self) -> usize {
        match self {
            Self::Dense { rank, values } => values.len() / rank.max(&1),
            Self::Sparse(rows, _) => rows.n_rows(),
        }
    }

    /// Number of columns r.
    pub fn rank(&self) -> usize {
        match self {
            Self::Dense { rank, .. } => *rank,
            Self::Sparse(rows, _) => rows.n_cols(),
        }
    }

    /// Z = C·M of n rows. Their similarities C (n, k) to landmarks are computed a few rows at a time; M is that of the Nyström
    /// approximation.
    ///
    /// # Errors
    /// A similarity that is not finite; [`Interrupted`](lapwing_core::Error::Interrupted).
    pub fn nystrom(
        similarities: impl Fn(Range<usize>) -> Result<Vec<f64>> + Sync,
        n: usize,
        map: &NystromMap,
        run: &Run,
    ) -> Result<Self> {
        let rank = map.rank();
        let mut values = memory::zeros::<f32>("the factor of the Gram matrix", n * rank, "take fewer landmarks")?;
        let done = run.counter(n.div_ceil(BLOCK_ROWS), "");
        run.install(|| {
            values.par_chunks_mut((BLOCK_ROWS * rank).max(1)).enumerate().try_for_each(|(block, out)| {
                run.check()?;
                let first = block * BLOCK_ROWS;
                let similarities = similarities(first..(first + BLOCK_ROWS).min(n))?;
                let mut rows = vec![0.0; out.len()];
                product(&similarities, map.map.values(), map.map.n_rows(), &mut rows);
                out.iter_mut().zip(&rows).for_each(|(out, value)| *out = *value as f32);
                done.add(1);
                Ok::<(), lapwing_core::Error>(())
            })
        })?;
        Ok(Self::Dense { rank, values })
    }

    /// Zᵀ·x of vectors (s, n), as vectors (s, r).
    pub fn gather(&self, x: &[f64]) -> Vec<f64> {
        let (n, rank) = (self.n(), self.rank());
        let s = x.len() / n.max(1);
        let mut out = vec![0.0; s * rank];
        match self {
            Self::Dense { values, .. } => {
                let parts = self.shares(|rows, sum: &mut Vec<f64>| {
                    sum.resize(s * rank, 0.0);
                    for row in rows {
                        let z = &values[row * rank..(row + 1) * rank];
                        for (column, sum) in sum.chunks_exact_mut(rank).enumerate() {
                            let x = x[column * n + row];
                            sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += x * f64::from(*z));
                        }
                    }
                });
                for part in parts {
                    out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
                }
            }
            Self::Sparse(_, columns) => {
                out.par_chunks_mut(rank.max(1))
                    .zip(x.par_chunks(n.max(1)))
                    .for_each(|(out, x)| multiply(columns, x, out));
            }
        }
        out
    }

    /// Z·w of vectors (s, r), as vectors (s, n).
    pub fn spread(&self, weights: &[f64], y: &mut [f64]) {
        let (n, rank) = (self.n(), self.rank());
        for (w, y) in weights.chunks_exact(rank.max(1)).zip(y.chunks_exact_mut(n.max(1))) {
            match self {
                Self::Dense { values, .. } => {
                    let rows = y.par_iter_mut().zip(values.par_chunks_exact(rank)).with_min_len(BLOCK_ROWS);
                    rows.for_each(|(y, z)| *y = z.iter().zip(w).map(|(z, w)| f64::from(*z) * w).sum());
                }
                Self::Sparse(rows, _) => multiply(rows, w, y),
            }
        }
    }

    /// Some rows of Z (rows, r).
    pub fn rows(&self, rows: &[u32]) -> Vec<f64> {
        let rank = self.rank();
        let mut out = vec![0.0; rows.len() * rank];
        for (out, &row) in out.chunks_exact_mut(rank.max(1)).zip(rows) {
            self.copy_block(0..rank, row as usize..row as usize + 1, out);
        }
        out
    }

    /// Zᵀ·L^p·Z (r, r), a panel of columns at a time; only the part on and below the diagonal is multiplied. `done` is called
    /// with the number of finished columns.
    pub fn smooth_gram(&self, smoothness: &Smoothness<'_>, run: &Run, mut done: impl FnMut(usize)) -> Result<Matrix> {
        let (n, rank) = (self.n(), self.rank());
        let mut gram = Matrix::filled(rank, rank, 0.0);
        for first in (0..rank).step_by(PANEL) {
            run.check()?;
            let (width, below) = (PANEL.min(rank - first), rank - first);
            let mut panel = vec![0.0; n * width];
            run.install(|| self.copy_columns(first..first + width, 0..n, &mut panel));
            smoothness.apply(&mut panel, width, run)?;
            let parts = run.install(|| {
                self.shares(|rows, sum: &mut Vec<f64>| {
                    sum.resize(below * width, 0.0);
                    let mut wide = vec![0.0; BLOCK_ROWS.min(rows.len()) * below];
                    let last = rows.end;
                    for start in rows.step_by(BLOCK_ROWS) {
                        let end = (start + BLOCK_ROWS).min(last);
                        let wide = &mut wide[..(end - start) * below];
                        self.copy_block(first..rank, start..end, wide);
                        add_transposed_product(wide, &panel[start * width..end * width], end - start, sum);
                    }
                })
            });
            for part in parts {
                for (row, part) in (first..rank).zip(part.chunks_exact(width)) {
                    gram.row_mut(row)[first..first + width].iter_mut().zip(part).for_each(|(out, v)| *out += v);
                }
            }
            done(first + width);
        }
        for i in 0..rank {
            for j in i + 1..rank {
                gram.row_mut(i)[j] = gram.row(j)[i];
            }
        }
        Ok(gram)
    }

    /// Columns `cols` of the rows `rows` of Z (rows, cols), in parallel.
    fn copy_columns(&self, cols: Range<usize>, rows: Range<usize>, out: &mut [f64]) {
        let pieces = out.par_chunks_mut(BLOCK_ROWS * cols.len()).enumerate();
        pieces.for_each(|(block, out)| {
            let start = rows.start + block * BLOCK_ROWS;
            self.copy_block(cols.clone(), start..(start + BLOCK_ROWS).min(rows.end), out);
        });
    }

    /// As the parallel one, on the calling thread.
    fn copy_block(&self, cols: Range<usize>, rows: Range<usize>, out: &mut [f64]) {
        for (row, out) in rows.zip(out.chunks_exact_mut(cols.len())) {
            match self {
                Self::Dense { rank, values } => {
                    let z = &values[row * rank + cols.start..row * rank + cols.end];
                    out.iter_mut().zip(z).for_each(|(out, z)| *out = f64::from(*z));
                }
                Self::Sparse(all, _) => {
                    out.fill(0.0);
                    let (ids, values) = all.row(row);
                    let (from, to) = (
                        ids.partition_point(|&id| (id as usize) < cols.start),
                        ids.partition_point(|&id| (id as usize) < cols.end),
                    );
                    ids[from..to]
                        .iter()
                        .zip(&values[from..to])
                        .for_each(|(&id, z)| out[id as usize - cols.start] = f64::from(*z));
                }
            }
        }
    }

    /// Runs `work` on equal parts of the rows, in parallel.
    fn shares(&self, work: impl Fn(Range<usize>, &mut Vec<f64>) + Sync) -> Vec<Vec<f64>> {
        let n = self.n();
        let bound = |share: usize| share * n / SHARES;
        (0..SHARES)
            .into_par_iter()
            .map(|share| {
                let mut sum = Vec::new();
                work(bound(share)..bound(share + 1), &mut sum);
                sum
            })
            .collect()
    }
}

/// The Nyström map of a kernel; one column of zeros if the kernel is zero.
pub(super) fn nystrom_map(among: Matrix, rcond: f64) -> Result<NystromMap> {
    let k = among.n_rows();
    let map = NystromMap::from_kernel(&symmetrized(among), rcond)?;
    let is_empty = map.rank() == 0;
    Ok(if is_empty { NystromMap { map: Matrix::filled(k, 1, 0.0), ..map } } else { map })
}

/// y ← A·x.
fn multiply(a: &Csr<f32>, x: &[f64], y: &mut [f64]) {
    y.par_iter_mut().enumerate().with_min_len(BLOCK_ROWS).for_each(|(row, y)| {
        let (ids, values) = a.row(row);
        *y = ids.iter().zip(values).map(|(&id, value)| f64::from(*value) * x[id as usize]).sum();
    });
}

/// (A + Aᵀ) / 2.
pub(super) fn symmetrized(mut a: Matrix) -> Matrix {
    for i in 0..a.n_rows() {
        for j in 0..i {
            let mean = 0.5 * (a.row(i)[j] + a.row(j)[i]);
            a.row_mut(i)[j] = mean;
            a.row_mut(j)[i] = mean;
        }
    }
    a
}

/// A·Bᵀ (m, k) of rows of `inner` numbers, rows of A in parallel.
pub(super) fn products(a: &[f64], b: &[f64], inner: usize, run: &Run) -> Result<Matrix> {
    const ROWS: usize = 64;
    let (m, k) = (a.len() / inner.max(1), b.len() / inner.max(1));
    let mut out = Matrix::filled(m, k, 0.0);
    if m * k > 0 {
        run.install(|| {
            let pieces = out.values_mut().par_chunks_mut(ROWS * k).zip(a.par_chunks(ROWS * inner));
            pieces.try_for_each(|(out, a)| {
                product_transposed(a, b, inner, out);
                run.check()
            })
        })?;
    }
    Ok(out)
}
