//! Whether the columns of a table are in units so different that a few of them decide every distance.
//!
//! Such columns are scaled by `standardize auto` ([`Scaling`](crate::Scaling)). It must leave alone what shares a unit, such as
//! pixels and embeddings: there a column that hardly varies says little, and scaling would make it as loud as the others. So three
//! things are asked, of a sample of rows:
//!
//! - The largest spread is at least [`ORDERS`] times the median spread. The spread of a column is the width of the middle nine tenths
//!   of its values, so that a few far values do not make it large. From [`ORDER`] times on, auto only says so: there some tables gain
//!   by scaling, and others lose more (positions in meters beside angles).
//! - Most columns vary among ordinary rows. Where half of the values or more are equal, as in flags and counts of rare events, the
//!   standard deviation comes from few rows, and scaling by it makes these rows the farthest of all.
//! - The spreads do not descend from the first column to the last, as those of principal components do.
//!
//! Cost: a sort of each column of the sample. Parallel over columns.

use rayon::prelude::*;

use crate::{Dense, DenseValues, Run};

/// Columns are scaled if the largest spread is this many times the median one. In tables with columns in different units that gain by
/// scaling it was 370 (wine) and 7,450 times (breast cancer), in one that loses (Covertype) 21, in images, embeddings and tables of one
/// unit at most 3.3: `docs/results/scaling.md`.
const ORDERS: f64 = 100.0;
/// The user is told from here on.
const ORDER: f64 = 10.0;

/// With fewer rows spreads are not known well enough.
const FEWEST_ROWS: usize = 20;

/// Rows of a sample, and its values.
const MOST_ROWS: usize = 4096;
const MOST_VALUES: usize = 1 << 22;

/// Spreads that descend over at least this many columns are those of principal components; of fewer they may by chance.
const FEWEST_DESCENDING: usize = 6;

/// What the spreads of the columns of a table say about its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spreads {
    /// Largest spread divided by the smallest, among columns whose middle nine tenths vary.
    pub ratio: f64,
    /// Whether they differ by an order of magnitude, and not as principal components do.
    pub differ: bool,
    /// Whether auto scales the columns.
    pub decide: bool,
}

impl Spreads {
    /// The spreads of `dense` (n, d); `None` for bytes, which are pixels, for few rows, and for fewer than two columns that vary.
    pub fn of(dense: &Dense<'_>, run: &Run) -> Option<Self> {
        if matches!(dense.values(), DenseValues::U8(_)) {
            return None;
        }
        let rows = Self::n_sampled(dense.n_rows(), dense.n_cols());
        let mut sample = vec![0.0; rows * dense.n_cols()];
        for (at, row) in sample.chunks_exact_mut(dense.n_cols().max(1)).enumerate() {
            dense.copy_row_f64((at as u128 * dense.n_rows() as u128 / rows as u128) as usize, row);
        }
        Self::of_sample(&sample, dense.n_cols(), run)
    }

    /// Number of rows in a sample of `n_rows` of `n_cols` columns.
    #[doc(hidden)]
    pub fn n_sampled(n_rows: usize, n_cols: usize) -> usize {
        n_rows.min(MOST_ROWS).min((MOST_VALUES / n_cols.max(1)).max(FEWEST_ROWS))
    }

    /// The spreads of a sample of rows, row-major with `n_cols` columns; `None` as [`of`](Self::of) says, and for values that are not
    /// finite.
    #[doc(hidden)]
    pub fn of_sample(sample: &[f64], n_cols: usize, run: &Run) -> Option<Self> {
        let n_rows = sample.len() / n_cols.max(1);
        if n_rows < FEWEST_ROWS || sample.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let column = |col: usize| Column::of(sample.iter().skip(col).step_by(n_cols).copied().collect());
        let columns: Vec<Column> = run.install(|| (0..n_cols).into_par_iter().map(column).collect());
        let varying: Vec<Column> = columns.into_iter().filter(|column| column.range > 0.0).collect();
        let spreads: Vec<f64> = varying.iter().map(|column| column.tenths).filter(|spread| *spread > 0.0).collect();
        let mut sorted = spreads.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (least, most) = (sorted.first()?, sorted.last()?);
        // Of two columns, the smaller spread is the median.
        let median = sorted[(sorted.len() - 1) / 2];
        let descend = spreads.len() >= FEWEST_DESCENDING && spreads.is_sorted_by(|a, b| a >= b);
        let n_ordinary = varying.iter().filter(|column| column.half > 0.0).count();
        let differ = sorted.len() > 1 && *most >= ORDER * median && !descend;
        let decide = differ && *most >= ORDERS * median && 2 * n_ordinary >= varying.len();
        Some(Self { ratio: most / least, differ, decide })
    }
}

/// Widths of a column.
struct Column {
    /// Of all values.
    range: f64,
    /// Of the middle nine tenths.
    tenths: f64,
    /// Of the middle half.
    half: f64,
}

impl Column {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len() - 1;
        let width = |share: f64| {
            let outside = (share * last as f64) as usize;
            values[last - outside] - values[outside]
        };
        Self { range: width(0.0), tenths: width(0.05), half: width(0.25) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spreads of columns that count 0, 1, …, 99 times a factor, in an order of their own.
    fn counted(factors: &[f64]) -> Option<Spreads> {
        let value = |row: usize, col: usize| ((row * (2 * col + 7)) % 101) as f64 * factors[col];
        let sample: Vec<f64> =
            (0..101).flat_map(|row| (0..factors.len()).map(move |col| (row, col))).map(|(r, c)| value(r, c)).collect();
        Spreads::of_sample(&sample, factors.len(), &Run::new(Some(2), 0).unwrap())
    }

    #[test]
    fn units_are_found_and_common_ones_are_left() {
        let differ = |factors: &[f64]| counted(factors).is_some_and(|spreads| spreads.differ);
        let decide = |factors: &[f64]| counted(factors).is_some_and(|spreads| spreads.decide);
        assert!(decide(&[1.0, 1000.0]) && decide(&[1e-3, 1.0, 0.5, 2e-3]));
        assert!(differ(&[1.0, 12.0, 0.1]) && !decide(&[1.0, 12.0, 0.1]));
        assert!(!differ(&[1.0, 9.0]) && !differ(&[3.0, 1.0, 2.0, 5.0]) && !differ(&[1.0]) && !differ(&[]));
        // A column that hardly varies among columns of one unit.
        assert!(!differ(&[1.0, 1.1, 1e-6, 0.9]));
        // Principal components; five columns may descend by chance.
        assert!(!differ(&[300.0, 100.0, 30.0, 10.0, 3.0, 1.0]) && differ(&[300.0, 100.0, 10.0, 3.0, 1.0]));
        assert_eq!(counted(&[1.0, 0.0, 4.0]).map(|spreads| spreads.ratio), Some(4.0));
    }

    #[test]
    fn far_values_constants_and_few_rows_decide_nothing() {
        let run = Run::new(Some(1), 0).unwrap();
        let table = |n: usize, second: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..n).flat_map(|row| [row as f64, second(row)]).collect()
        };
        // One of a hundred values is far.
        let far = |row: usize| if row == 50 { 1e9 } else { row as f64 };
        assert!(!Spreads::of_sample(&table(100, &far), 2, &run).unwrap().differ);
        assert!(Spreads::of_sample(&table(100, &|row| 1e9 * row as f64), 2, &run).unwrap().decide);
        // A table of flags beside two columns of different units.
        let flags: Vec<f64> = (0..100)
            .flat_map(|row| [row as f64, 1e4 * row as f64, f64::from(row % 10 == 0), f64::from(row == 9), 0.0])
            .collect();
        assert!(Spreads::of_sample(&flags, 5, &run).unwrap().decide);
        let rare: Vec<f64> = flags.chunks(5).flat_map(|row| [row[0], 1e4 * row[2], row[2], row[3]]).collect();
        let spreads = Spreads::of_sample(&rare, 4, &run).unwrap();
        assert!(spreads.differ && !spreads.decide);
        assert_eq!(Spreads::of_sample(&table(19, &|_| 1.0), 2, &run), None);
        assert_eq!(Spreads::of_sample(&[5.0; 80], 2, &run), None);
        assert_eq!(Spreads::of_sample(&[f64::NAN; 80], 2, &run), None);
        assert_eq!(Spreads::of_sample(&[], 0, &run), None);
        let bytes = Dense::new(100, 2, DenseValues::U8((0..200u8).collect::<Vec<_>>().into())).unwrap();
        assert_eq!(Spreads::of(&bytes, &run), None);
    }

    #[test]
    fn large_tables_are_sampled() {
        let run = Run::new(Some(2), 0).unwrap();
        let values: Vec<f32> = (0..20_000).flat_map(|row| [row as f32, 1e3 * (row % 89) as f32]).collect();
        let dense = Dense::new(20_000, 2, DenseValues::F32(values.into())).unwrap();
        let spreads = Spreads::of(&dense, &run).unwrap();
        assert!(!spreads.differ && (3.0..6.0).contains(&spreads.ratio), "{spreads:?}");
        assert_eq!(Spreads::n_sampled(100_000, 100_000), 41);
    }
}
