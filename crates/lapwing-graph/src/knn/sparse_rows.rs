//! Exact neighbours of sparse rows through an inverted index: products with all rows, accumulated column by column.
//!
//! ‖x − y‖² = ‖x‖² + ‖y‖² − 2·xᵀy, where xᵀy touches only columns both rows use. Cost: for each new row, the lengths of
//! its columns added up; memory one transposed copy and one f32 accumulator (n) per thread. Parallel over rows.

use lapwing_data::{Csr, Error, Features, Result, Run};
use rayon::prelude::*;

use super::distance::Distances;
use super::lists::EMPTY;
use super::rows::zero_row;
use super::scan::{Ids, fold};
use super::{KnnParams, Metric, Neighbors, list_width, refine};

/// Rows of one unit of work.
const BLOCK: usize = 64;

/// The k nearest rows of `train` for every row of `new`; `same` skips the row itself.
pub(super) fn search(
    new: &std::sync::Arc<Csr<f32>>,
    train: &std::sync::Arc<Csr<f32>>,
    same: bool,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let (m, n, k) = (new.n_rows(), train.n_rows(), params.n_neighbors);
    let (new_scale, new_half) = scales(new, params.metric)?;
    let (train_scale, train_half) = scales(train, params.metric)?;
    // The index has an offset for every column, used or not.
    if train.n_cols() > (64 * train.nnz()).max(1 << 27) {
        let bytes = 16 * train.n_cols() as u64;
        return Err(Error::TooLarge { what: format!("an index of {} columns", train.n_cols()), bytes, limit: 1 << 31 });
    }
    let mut index = train.transpose();
    let columns: Vec<u32> = index.indices().to_vec();
    index.values_mut().iter_mut().zip(&columns).for_each(|(v, &row)| *v *= train_scale[row as usize]);
    drop(columns);
    let width = list_width(k, n);
    let (left, right) = (Features::Sparse(new.clone()), Features::Sparse(train.clone()));
    let distances = Distances::new(&left, &right, params.metric);
    let blocks: Result<Vec<(Vec<u32>, Vec<f32>)>> = run.install(|| {
        (0..m.div_ceil(BLOCK))
            .into_par_iter()
            .map_init(
                || vec![0f32; n],
                |sums, block| {
                    run.check()?;
                    let rows = block * BLOCK..((block + 1) * BLOCK).min(m);
                    let mut lists = vec![EMPTY; rows.len() * width];
                    for (row, list) in rows.clone().zip(lists.chunks_exact_mut(width)) {
                        sums.fill(0.0);
                        let (columns, values) = new.row(row);
                        for (&column, &value) in columns.iter().zip(values) {
                            let value = value * new_scale[row];
                            let (others, entries) = index.row(column as usize);
                            for (&other, &entry) in others.iter().zip(entries) {
                                sums[other as usize] += value * entry;
                            }
                        }
                        let own = if same { row as u32 } else { u32::MAX };
                        fold(list, own, new_half[row], sums, &train_half, Ids::From(0));
                    }
                    Ok(refine(&lists, width, k, rows.start, &distances))
                },
            )
            .collect()
    });
    Ok(Neighbors::from_blocks(k, blocks?))
}

/// Factor on each row and half its squared norm after it: 1 and ‖x‖²/2, or 1/‖x‖ and 1/2 under the cosine metric.
fn scales(rows: &Csr<f32>, metric: Metric) -> Result<(Vec<f32>, Vec<f32>)> {
    let half = |row: usize| rows.row(row).1.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / 2.0;
    let halves: Vec<f64> = (0..rows.n_rows()).map(half).collect();
    match metric {
        Metric::Euclidean => Ok((vec![1.0; halves.len()], halves.iter().map(|&h| h as f32).collect())),
        Metric::Cosine => match halves.iter().position(|&h| h == 0.0) {
            Some(row) => Err(zero_row(row)),
            None => Ok((halves.iter().map(|h| (1.0 / (2.0 * h).sqrt()) as f32).collect(), vec![0.5; halves.len()])),
        },
    }
}
