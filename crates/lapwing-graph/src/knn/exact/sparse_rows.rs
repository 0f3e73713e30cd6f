//! Sparse rows for an exact search: frequent columns are multiplied by whole vectors, the others through an inverted index.
//!
//! The search is by h(y) − xᵀy as for dense rows; xᵀy needs only columns that both rows use. A column used by c of n rows costs c²
//! single additions through an inverted index, or c·n multiplications of vectors, each some sixty times as fast: see
//! [`crate::knn::exact::frequent`].
//! Cost for rows among themselves: Σ c·n/2 multiplications over the frequent columns, Σ c²/2 over the others; memory: a copy of
//! the entries, one transposed copy of those in rare columns, and the lists of [`crate::knn::exact::certified`].

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, Result, Run};

use crate::knn::Metric;
use crate::knn::exact::frequent;
use crate::knn::exact::products::{Side, SparseRows};
use crate::knn::rows::{FAR, Frame, SearchRows, lowered, unit_scale};

/// The rows of `train` prepared for the search, among themselves if `same`; with the layout for other rows.
///
/// # Errors
/// [`Error::TooLarge`] for columns beyond counting.
pub(crate) fn ready(train: &Csr<f32>, same: bool, metric: Metric, run: &Run) -> Result<(Frame, Layout, Side)> {
    // The layout holds a number for every column, used or not.
    if train.n_cols() > (64 * train.nnz()).max(1 << 27) {
        let bytes = 8 * train.n_cols() as u64;
        let what = format!("an index of {} columns", train.n_cols());
        return Err(Error::too_large(what, bytes, 1 << 30, "number the columns without gaps"));
    }
    let most = run.install(|| train.values().par_iter().map(|v| v.abs()).reduce(|| 0.0, f32::max));
    let scale = if metric == Metric::Cosine { 1.0 } else { unit_scale(most.into()) };
    let frame = Frame { center: Vec::new(), scale, longest: 0.0, metric };
    let layout = Layout::new(train, same);
    let side = run.install(|| layout.side(train, &frame))?;
    Ok((frame, layout, side))
}

/// Which columns are frequent and which are rare.
pub(crate) struct Layout {
    columns: Vec<Place>,
    n_frequent: usize,
    n_rare: usize,
}

/// Place of a column.
#[derive(Clone, Copy)]
enum Place {
    Frequent(u32),
    Rare(u32),
    /// Left out, because no two rows share the column.
    Nowhere,
}

impl Layout {
    fn new(train: &Csr<f32>, same: bool) -> Self {
        let mut counts = vec![0u32; train.n_cols()];
        train.indices().iter().for_each(|&column| counts[column as usize] += 1);
        let most = frequent::least_uses(&counts, train.n_rows());
        let (mut n_frequent, mut n_rare) = (0u32, 0u32);
        let next = |counter: &mut u32| {
            *counter += 1;
            *counter - 1
        };
        let place = |count: u32| match count {
            0 => Place::Nowhere,
            1 if same => Place::Nowhere,
            count if count >= most => Place::Frequent(next(&mut n_frequent)),
            _ => Place::Rare(next(&mut n_rare)),
        };
        let columns = counts.into_iter().map(place).collect();
        Self { columns, n_frequent: n_frequent as usize, n_rare: n_rare as usize }
    }

    /// Rows cut in two, scaled for the search.
    pub fn side(&self, rows: &Csr<f32>, frame: &Frame) -> Result<Side> {
        let n = rows.n_rows();
        let squared = |row: usize| rows.row(row).1.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let mut half_norms = Vec::with_capacity(n);
        let (mut frequent, mut rare) = (Part::new(n), Part::new(n));
        for row in 0..n {
            let squared = squared(row);
            let (scale, half_norm) = match frame.metric {
                Metric::Cosine if squared == 0.0 => (0.0, FAR),
                Metric::Cosine => (1.0 / squared.sqrt(), 0.5),
                Metric::Euclidean => (frame.scale, (squared * frame.scale * frame.scale / 2.0) as f32),
                Metric::InnerProduct => (frame.scale, 0.0),
            };
            let (columns, row_values) = rows.row(row);
            half_norms.push(lowered(half_norm, columns.len(), (squared * scale * scale / 2.0) as f32));
            for (&column, &value) in columns.iter().zip(row_values) {
                let value = (f64::from(value) * scale) as f32;
                match self.columns[column as usize] {
                    Place::Frequent(at) => frequent.push(at, value),
                    Place::Rare(at) => rare.push(at, value),
                    Place::Nowhere => {}
                }
            }
            frequent.end_row();
            rare.end_row();
        }
        let sparse = SparseRows { frequent: frequent.finish(self.n_frequent)?, rare: rare.finish(self.n_rare)? };
        Ok(Side { rows: SearchRows { n, d: 0, values: Vec::new(), half_norms }, sparse: Some(sparse) })
    }
}

/// Rows in the making.
struct Part {
    indptr: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Part {
    fn new(n: usize) -> Self {
        let mut indptr = Vec::with_capacity(n + 1);
        indptr.push(0);
        Self { indptr, indices: Vec::new(), values: Vec::new() }
    }

    fn push(&mut self, column: u32, value: f32) {
        self.indices.push(column);
        self.values.push(value);
    }

    fn end_row(&mut self) {
        self.indptr.push(self.indices.len() as u64);
    }

    fn finish(self, n_cols: usize) -> Result<Csr<f32>> {
        Csr::new(self.indptr.len() - 1, n_cols, self.indptr, self.indices, self.values)
    }
}
