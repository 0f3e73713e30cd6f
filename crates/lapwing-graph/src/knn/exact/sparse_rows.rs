//! Exact neighbors of sparse rows: frequent columns are multiplied as dense ones, the others through an inverted index.
//!
//! The search is by h(y) − xᵀy as for dense rows; xᵀy needs only columns that both rows use. A column used by c of n rows costs c²
//! single additions, or n² operations of a matrix product, each about eight times as fast. So frequent columns become a dense head.
//! Cost: n²·(head columns)/2 multiplications, and Σ c²/2 over the other columns for rows among themselves; memory the
//! head (at most 32 bytes per entry), one transposed copy of the tail, and the lists of [`crate::knn::exact::certified`].

use lapwing_data::{Csr, Error, Features, Result, Run};
use rayon::prelude::*;

use crate::knn::distance::Distances;
use crate::knn::exact::certified::{CertifiedSearch, Reranker, lowered};
use crate::knn::exact::products::{Side, Target};
use crate::knn::rows::{FAR, Frame, SearchRows, unit_scale};
use crate::knn::{KnnParams, Metric, Neighbors};

/// A column is dense if at least one row in so many uses it.
const DENSE_SHARE: usize = 8;

/// The k nearest rows of `train` for every row of `new`; `same` says they are one matrix and skips the row itself.
pub(crate) fn search(
    new: &std::sync::Arc<Csr<f32>>,
    train: &std::sync::Arc<Csr<f32>>,
    same: bool,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let (frame, layout, right) = ready(train, same, params.metric(), run)?;
    let left = if same { None } else { Some(run.install(|| layout.side(new, &frame))?) };
    let (new, train) = (Features::Sparse(new.clone()), Features::Sparse(train.clone()));
    let search = CertifiedSearch {
        left: left.as_ref().unwrap_or(&right),
        target: run.install(|| Target::new(&right)),
        reranker: Reranker {
            distances: Distances::new(&new, &train, params.metric()),
            frame: &frame,
            k: params.n_neighbors,
        },
        same,
        duplicates: if same { CertifiedSearch::duplicates(&train, params, run) } else { None },
        run,
    };
    search.neighbors()
}

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
    let frame = Frame { center: Vec::new(), scale, metric };
    let layout = Layout::new(train, same);
    let side = run.install(|| layout.side(train, &frame))?;
    Ok((frame, layout, side))
}

/// Which columns are dense and which are indexed.
pub(crate) struct Layout {
    columns: Vec<Place>,
    n_head: usize,
    n_tail: usize,
}

/// Place of a column.
#[derive(Clone, Copy)]
enum Place {
    Head(u32),
    Tail(u32),
    /// Left out, because no two rows share the column.
    Nowhere,
}

impl Layout {
    fn new(train: &Csr<f32>, same: bool) -> Self {
        let mut counts = vec![0u32; train.n_cols()];
        train.indices().iter().for_each(|&column| counts[column as usize] += 1);
        let dense = train.n_rows().div_ceil(DENSE_SHARE).max(2);
        let (mut n_head, mut n_tail) = (0u32, 0u32);
        let next = |counter: &mut u32| {
            *counter += 1;
            *counter - 1
        };
        let place = |count: u32| match count as usize {
            count if count >= dense => Place::Head(next(&mut n_head)),
            0 => Place::Nowhere,
            1 if same => Place::Nowhere,
            _ => Place::Tail(next(&mut n_tail)),
        };
        let columns = counts.into_iter().map(place).collect();
        Self { columns, n_head: n_head as usize, n_tail: n_tail as usize }
    }

    /// Rows cut into head and tail, scaled for the search.
    fn side(&self, rows: &Csr<f32>, frame: &Frame) -> Result<Side> {
        let n = rows.n_rows();
        let squared = |row: usize| rows.row(row).1.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let mut values = vec![0f32; n * self.n_head];
        let mut half_norms = Vec::with_capacity(n);
        let (mut indptr, mut indices, mut entries) = (vec![0u64], Vec::new(), Vec::new());
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
                    Place::Head(at) => values[row * self.n_head + at as usize] = value,
                    Place::Tail(at) => {
                        indices.push(at);
                        entries.push(value);
                    }
                    Place::Nowhere => {}
                }
            }
            indptr.push(indices.len() as u64);
        }
        let tail = Csr::new(n, self.n_tail, indptr, indices, entries)?;
        Ok(Side { head: SearchRows { n, d: self.n_head, values, half_norms }, tail: Some(tail) })
    }
}
