//! Coordinates of rows in a picture: a layout of the graph, or the first two principal components.
//!
//! Two principal components show dense rows whose variance they hold. Of other rows, such as texts, they show little, while the
//! graph says which rows are alike.

use lapwing::data::{Features, Matrix, Result, Run};
use lapwing::graph::Graph;
use lapwing_core::Stream;
use lapwing_solve::dense::principal_axes;
use lapwing_solve::layout::layout;

/// The most rows in a picture.
const MOST_ROWS: usize = 5_000;
/// The most feature values that are read: with many columns, principal components are those of fewer rows.
const MOST_VALUES: usize = 4_000_000;
/// The fewest rows of a picture.
const FEWEST_ROWS: usize = 10;
/// Share of the variance that two principal components must hold to be preferred to a layout. On digits they hold 0.29 of it, and
/// of the ten nearest points most have the class of the row for 64 % of the rows; in a layout, for 98 %.
const LEAST_VARIANCE: f64 = 0.5;

/// What the two directions of a picture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// The first two principal components.
    Components,
    /// A layout of the graph.
    Layout,
}

/// Rows chosen for a picture, and their coordinates.
pub struct Picture {
    /// Row numbers, ascending.
    pub rows: Vec<usize>,
    /// Coordinates of each.
    pub points: Vec<[f64; 2]>,
    /// Their meaning.
    pub axes: Axes,
}

impl Picture {
    /// Chooses evenly spread rows, with `preferred` rows among them up to half, and computes their coordinates. `None` for
    /// fewer than ten rows, and for features of one column without a graph.
    pub fn new(
        features: Option<&Features<'_>>,
        graph: Option<&Graph>,
        preferred: &[usize],
        run: &Run,
    ) -> Result<Option<Self>> {
        let is_dense = matches!(features, Some(Features::Dense(_)));
        if let Some(features) = features.filter(|_| is_dense || graph.is_none()) {
            let components = Self::of_components(features, preferred, run)?;
            match (components, graph) {
                (Some((picture, variance)), Some(_)) if variance >= LEAST_VARIANCE => return Ok(Some(picture)),
                (components, None) => return Ok(components.map(|(picture, _)| picture)),
                _ => {}
            }
        }
        graph.map_or(Ok(None), |graph| Self::of_graph(graph, preferred, run))
    }

    /// Rows by their first two principal components, and the share of the variance that these hold.
    fn of_components(features: &Features<'_>, preferred: &[usize], run: &Run) -> Result<Option<(Self, f64)>> {
        let most = MOST_ROWS.min(MOST_VALUES / features.n_cols().max(1));
        let rows = chosen_rows(features.n_rows(), preferred, most);
        if rows.len() < FEWEST_ROWS || features.n_cols() < 2 {
            return Ok(None);
        }
        let x = centered(features, &rows)?;
        let axes = principal_axes(&x, 2, &mut run.rng(Stream::Start, 0))?;
        let along = |row: &[f64], axis: usize| row.iter().zip(axes.row(axis)).map(|(x, a)| x * a).sum::<f64>();
        let points: Vec<[f64; 2]> = x.rows().map(|row| [along(row, 0), along(row, 1)]).collect();
        let squares = |values: &mut dyn Iterator<Item = &f64>| values.map(|v| v * v).sum::<f64>();
        let (shown, all) = (squares(&mut points.iter().flatten()), squares(&mut x.values().iter()));
        let variance = if all > 0.0 { shown / all } else { 1.0 };
        Ok(Some((Self { rows, points, axes: Axes::Components }, variance)))
    }

    /// Rows by a layout of the whole graph.
    fn of_graph(graph: &Graph, preferred: &[usize], run: &Run) -> Result<Option<Self>> {
        if graph.n_samples() < FEWEST_ROWS {
            return Ok(None);
        }
        let rows = chosen_rows(graph.n_samples(), preferred, MOST_ROWS);
        let all = layout(graph, run)?;
        let points = rows.iter().map(|&row| all[row]).collect();
        Ok(Some(Self { rows, points, axes: Axes::Layout }))
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
        let picture = Picture::new(Some(&features), None, &[], &run).unwrap().unwrap();
        let spread = |axis: usize| {
            let at = |row: usize| picture.points[row][axis];
            (at(19) - at(0)).abs()
        };
        assert!((spread(0) - 190.0).abs() < 1.0, "{}", spread(0));
        assert!(spread(1) < 2.0);
    }

    #[test]
    fn rows_that_two_components_do_not_show_are_laid_out() {
        let run = Run::new(Some(1), 0).unwrap();
        // Twelve columns of equal variance: two components hold a sixth of it.
        let values: Vec<f64> = (0..240).flat_map(|i| (0..12).map(move |j| f64::from(u8::from(i % 12 == j)))).collect();
        let features = Features::from_f64(240, 12, values).unwrap();
        let edges: Vec<_> = (0..228).map(|u| (u, u + 12, 1.0)).collect();
        let graph = Graph::from_edges(240, &edges).unwrap();
        let axes = |features: Option<&Features<'_>>, graph: Option<&Graph>| {
            Picture::new(features, graph, &[], &run).unwrap().map(|picture| picture.axes)
        };
        assert_eq!(axes(Some(&features), Some(&graph)), Some(Axes::Layout));
        assert_eq!(axes(Some(&features), None), Some(Axes::Components));
        assert_eq!(axes(None, Some(&graph)), Some(Axes::Layout));
        let line = Features::from_f64(240, 2, (0..480).map(f64::from).collect()).unwrap();
        assert_eq!(axes(Some(&line), Some(&graph)), Some(Axes::Components));
        assert_eq!(axes(None, None), None);
    }
}
