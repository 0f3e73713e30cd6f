//! Coordinates of rows in a picture: their first two principal components.

use lapwing::data::{Features, Matrix, Result, Run};
use lapwing_data::Stream;
use lapwing_solve::dense::principal_axes;

/// The most rows in a picture.
const MOST_ROWS: usize = 5_000;
/// The most feature values that are read: with many columns, the picture has fewer rows.
const MOST_VALUES: usize = 4_000_000;
/// The fewest rows of a picture.
const FEWEST_ROWS: usize = 10;

/// Rows chosen for a picture, and their coordinates.
pub struct Picture {
    /// Row numbers, ascending.
    pub rows: Vec<usize>,
    /// First two principal components of each.
    pub points: Vec<[f64; 2]>,
}

impl Picture {
    /// Chooses evenly spread rows, with `preferred` rows among them up to half, and computes their coordinates. `None` for
    /// fewer than ten rows or two columns.
    pub fn new(features: &Features<'_>, preferred: &[usize], run: &Run) -> Result<Option<Self>> {
        let most = MOST_ROWS.min(MOST_VALUES / features.n_cols().max(1));
        let rows = chosen_rows(features.n_rows(), preferred, most);
        if rows.len() < FEWEST_ROWS || features.n_cols() < 2 {
            return Ok(None);
        }
        let x = centered(features, &rows)?;
        let axes = principal_axes(&x, 2, &mut run.rng(Stream::Start, 0))?;
        let along = |row: &[f64], axis: usize| row.iter().zip(axes.row(axis)).map(|(x, a)| x * a).sum::<f64>();
        let points = x.rows().map(|row| [along(row, 0), along(row, 1)]).collect();
        Ok(Some(Self { rows, points }))
    }
}

/// At most `most` of `n` rows, sorted: up to half are preferred rows, the others evenly spread.
fn chosen_rows(n: usize, preferred: &[usize], most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let mut rows = evenly(preferred.len(), most / 2).map(|at| preferred[at]).collect::<Vec<_>>();
    rows.extend(evenly(n, most - rows.len()));
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// `count` evenly spread numbers below `n`, or all of them.
fn evenly(n: usize, count: usize) -> impl Iterator<Item = usize> {
    let count = count.min(n);
    (0..count).map(move |at| (at as u128 * n as u128 / count as u128) as usize)
}

/// The rows as a matrix whose columns have mean 0.
fn centered(features: &Features<'_>, rows: &[usize]) -> Result<Matrix> {
    let mut x = Matrix::filled(rows.len(), features.n_cols(), 0.0);
    for (at, &row) in rows.iter().enumerate() {
        match features {
            Features::Dense(dense) => dense.copy_row_f64(row, x.row_mut(at)),
            Features::Sparse(sparse) => {
                let (columns, values) = sparse.row(row);
                let out = x.row_mut(at);
                columns.iter().zip(values).for_each(|(&column, &value)| out[column as usize] = value.into());
            }
        }
    }
    let mut mean = vec![0.0; x.n_cols()];
    x.rows().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, value)| *m += value / rows.len() as f64));
    for at in 0..rows.len() {
        x.row_mut(at).iter_mut().zip(&mean).for_each(|(value, m)| *value -= m);
    }
    Ok(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_spread_and_keep_the_preferred() {
        assert_eq!(chosen_rows(4, &[1], 10), [0, 1, 2, 3]);
        let rows = chosen_rows(1000, &[17, 999], 10);
        assert!(rows.len() <= 10 && rows.is_sorted() && rows.contains(&17) && rows.contains(&999));
        assert_eq!(evenly(10, 5).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
    }

    #[test]
    fn points_follow_the_largest_variance() {
        let run = Run::new(Some(1), 0).unwrap();
        let values = (0..20).flat_map(|i| [f64::from(i) * 10.0, f64::from(i % 2), 7.0]).collect();
        let features = Features::from_f64(20, 3, values).unwrap();
        let picture = Picture::new(&features, &[], &run).unwrap().unwrap();
        let spread = |axis: usize| {
            let at = |row: usize| picture.points[row][axis];
            (at(19) - at(0)).abs()
        };
        assert!((spread(0) - 190.0).abs() < 1.0, "{}", spread(0));
        assert!(spread(1) < 2.0);
    }
}
