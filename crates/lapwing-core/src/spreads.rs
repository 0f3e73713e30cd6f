//! Whether the columns of a table are in units so different that a few of them decide every distance.
//!
//! Such columns are scaled by `standardize auto` ([`Scaling`](crate::Scaling)). It must leave alone what shares a unit, such as
//! pixels and embeddings: there a column that hardly varies says little, and scaling would make it as loud as the others. So these
//! things are asked, of a sample of rows. The spread of a column is the width of the middle nine tenths of its values, so that a few
//! far values do not make it large.
//!
//! - The largest spread is at least `ORDERS` times the median spread; or the decimal logarithms of the spreads have a standard
//!   deviation of at least `DEVIATIONS`, the smallest tenth of the spreads left out. From `ORDER` times or `DEVIATION` on, auto
//!   only says so: there some tables gain by scaling, and others lose more (positions in meters beside angles).
//! - The spreads do not descend from the first column to the last, as those of principal components do.
//!
//! Columns are scaled to one [`width`], because it is nearer to a unit that columns shared than the standard deviation is: pixels from 0
//! to 255 have one width whatever they show, and flags that are rarely set do not become the largest numbers of all. Milligan and
//! Cooper found the same for clustering (*A study of standardization of variables in cluster analysis*, Journal of Classification 5,
//! 1988).
//!
//! Cost: a sort of each column of the sample. Parallel over columns.

use crate::parallel::*;

use crate::{Csr, Dense, DenseValues, Features, Run};

/// Columns are scaled if the largest spread is this many times the median one. In tables with columns in different units that gain by
/// scaling it was 370 (wine) to 7,900 times (breast cancer), in one that loses (Covertype) 31, in images, embeddings and tables of one
/// unit at most 3.3: `docs/results/scaling.md`.
const ORDERS: f64 = 100.0;
/// The user is told from here on.
const ORDER: f64 = 10.0;

/// Columns are scaled if the decimal logarithms of spreads have this standard deviation. It was 0.01 to 0.27 in tables whose columns share
/// a unit, 0.62 and 0.68 in two that scaling may help or hurt, 0.82 to 1.4 in three that it helps: `docs/results/scaling.md`.
const DEVIATIONS: f64 = 0.8;
/// The user is told from here on.
const DEVIATION: f64 = 0.6;

/// The width of a column is at most this many times that of the middle 98 hundredths of its values.
const FAR: f64 = 3.0;

/// With fewer rows spreads are not known well enough.
const FEWEST_ROWS: usize = 20;

/// Rows of a sample, and its values.
const MOST_ROWS: usize = 4096;
const MOST_VALUES: usize = 1 << 22;

/// Sparse rows of more columns are texts or links, whose columns share a unit.
const MOST_SPARSE_COLUMNS: usize = 1 << 12;

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
    /// The column of the largest spread, the first of equals.
    pub widest: usize,
}

impl Spreads {
    /// The spreads of `dense` (n, d); `None` for bytes, which are pixels, for few rows, and for fewer than two columns that vary.
    pub fn of(dense: &Dense<'_>, run: &Run) -> Option<Self> {
        if matches!(dense.values(), DenseValues::U8(_)) {
            return None;
        }
        Self::of_sample(&sampled_dense(dense), dense.n_cols(), run)
    }

    /// The spreads of `features` (n, d); of sparse rows only if they have few columns, as tables have and texts have not.
    pub fn of_features(features: &Features<'_>, run: &Run) -> Option<Self> {
        match features {
            Features::Dense(dense) => Self::of(dense, run),
            Features::Sparse(rows) if rows.n_cols() <= MOST_SPARSE_COLUMNS => {
                Self::of_sample(&sampled_sparse(rows), rows.n_cols(), run)
            }
            Features::Sparse(_) => None,
        }
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
        let column = |col: usize| tenths(sample.iter().skip(col).step_by(n_cols).copied().collect());
        let columns: Vec<f64> = run.install(|| (0..n_cols).into_par_iter().map(column).collect());
        let widest = columns.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1))?.0;
        let spreads: Vec<f64> = columns.into_iter().filter(|spread| *spread > 0.0).collect();
        let mut sorted = spreads.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (least, most) = (sorted.first()?, sorted.last()?);
        // Of two columns, the smaller spread is the median.
        let median = sorted[(sorted.len() - 1) / 2];
        let descend = spreads.len() >= FEWEST_DESCENDING && spreads.is_sorted_by(|a, b| a >= b);
        let deviation = deviation_of_logs(&sorted[sorted.len().div_ceil(10)..]);
        let reaches = |times: f64, logs: f64| !descend && (*most >= times * median || deviation >= logs);
        let (differ, decide) = (reaches(ORDER, DEVIATION), reaches(ORDERS, DEVIATIONS));
        Some(Self { ratio: most / least, differ, decide, widest })
    }
}

/// A sample of `n` rows of `d` columns, row-major; `copy` writes a row to where only zeros are.
fn sampled(n: usize, d: usize, copy: impl Fn(usize, &mut [f64])) -> Vec<f64> {
    let n_sampled = Spreads::n_sampled(n, d);
    let mut sample = vec![0.0; n_sampled * d];
    for (at, row) in sample.chunks_exact_mut(d.max(1)).enumerate() {
        copy((at as u128 * n as u128 / n_sampled as u128) as usize, row);
    }
    sample
}

fn sampled_dense(dense: &Dense<'_>) -> Vec<f64> {
    sampled(dense.n_rows(), dense.n_cols(), |row, out| dense.copy_row_f64(row, out))
}

fn sampled_sparse(rows: &Csr<f32>) -> Vec<f64> {
    sampled(rows.n_rows(), rows.n_cols(), |row, out| {
        let (columns, values) = rows.row(row);
        columns.iter().zip(values).for_each(|(&col, &value)| out[col as usize] = value.into());
    })
}

/// The [`width`] of each column (d).
pub fn widths(dense: &Dense<'_>, run: &Run) -> Vec<f64> {
    let (sample, ranges) = (sampled_dense(dense), dense.column_ranges(run));
    let of =
        |(col, range): (usize, f64)| width(range, sample.iter().skip(col).step_by(ranges.len()).copied().collect());
    run.install(|| ranges.par_iter().copied().enumerate().map(of).collect())
}

/// The standard deviation of the decimal logarithms of some spreads; 0 for fewer than two.
fn deviation_of_logs(spreads: &[f64]) -> f64 {
    let logs: Vec<f64> = spreads.iter().map(|spread| spread.log10()).collect();
    let n = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / n;
    (logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / n).sqrt()
}

/// The width of a column with values in `range`, which scaling makes the same for all columns: that of the range, but at most `FAR`
/// times that of the middle 98 hundredths of `sample`, if these are not all equal.
pub fn width(range: f64, mut sample: Vec<f64>) -> f64 {
    sample.sort_unstable_by(f64::total_cmp);
    let middle = if sample.is_empty() { 0.0 } else { middle(&sample, 0.01) };
    if middle > 0.0 { range.min(FAR * middle) } else { range }
}

/// Scales that are in proportion to `widths`, and for which the median of the scaled deviations is 1. A column of width 0 keeps its
/// deviation.
pub fn scales(widths: &[f64], deviations: &[f64]) -> Vec<f64> {
    let of = |(width, deviation): (&f64, &f64)| (*width > 0.0).then(|| deviation / width);
    let mut shares: Vec<f64> = widths.iter().zip(deviations).filter_map(of).filter(|share| *share > 0.0).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let share = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
    let scale = |(width, deviation): (&f64, &f64)| if *width > 0.0 { width * share } else { *deviation };
    widths.iter().zip(deviations).map(scale).collect()
}

/// The width of sorted values without the share `outside` at each end.
fn middle(sorted: &[f64], outside: f64) -> f64 {
    let last = sorted.len() - 1;
    let outside = (outside * last as f64) as usize;
    sorted[last - outside] - sorted[outside]
}

/// The width of the middle nine tenths of values, of which there are at least [`FEWEST_ROWS`]: as [`middle`] of the sorted ones, without
/// sorting.
fn tenths(mut values: Vec<f64>) -> f64 {
    let outside = (0.05 * (values.len() - 1) as f64) as usize;
    let (_, low, above) = values.select_nth_unstable_by(outside, f64::total_cmp);
    let (low, last) = (*low, above.len() - 1 - outside);
    *above.select_nth_unstable_by(last, f64::total_cmp).1 - low
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
        // No column is a hundred times the median, but units differ from column to column.
        let units: Vec<f64> = (0..20).map(|at| 10f64.powf(f64::from(at * 7 % 20) / 6.0 - 2.0)).collect();
        assert!(decide(&units));
        assert!(!differ(&[1.0, 9.0]) && !differ(&[3.0, 1.0, 2.0, 5.0]) && !differ(&[1.0]) && !differ(&[]));
        // A column that hardly varies among columns of one unit.
        assert!(!differ(&[1.0, 1.1, 1e-6, 0.9]));
        // Principal components; five columns may descend by chance.
        assert!(!differ(&[300.0, 100.0, 30.0, 10.0, 3.0, 1.0]) && differ(&[300.0, 100.0, 10.0, 3.0, 1.0]));
        assert_eq!(counted(&[1.0, 0.0, 4.0]).map(|spreads| (spreads.ratio, spreads.widest)), Some((4.0, 2)));
    }

    #[test]
    fn widths_need_no_sorting() {
        for n in [20, 21, 40, 97, 4096] {
            let mut values: Vec<f64> = (0..n).map(|at| f64::from(at * 7919 % 101)).collect();
            let found = tenths(values.clone());
            values.sort_unstable_by(f64::total_cmp);
            assert_eq!(found, middle(&values, 0.05), "{n}");
        }
    }

    #[test]
    fn sparse_rows_of_a_table_have_the_spreads_of_dense_ones() {
        let run = Run::new(Some(2), 0).unwrap();
        let value = |row: u32, col: u32| ((row * 7 + col * 3) % 11) as f32 * [1.0, 2000.0, 0.0][col as usize];
        let entries: Vec<(u32, u32, f32)> =
            (0..60).flat_map(|row| (0..3).map(move |col| (row, col, value(row, col)))).collect();
        let dense = Features::from_f32(60, 3, entries.iter().map(|entry| entry.2).collect()).unwrap();
        let sparse = |n_cols: usize| Features::Sparse(Csr::from_entries(60, n_cols, &entries).unwrap().into());
        let found = Spreads::of_features(&sparse(3), &run).unwrap();
        assert!(found.decide && found.widest == 1 && Some(found) == Spreads::of_features(&dense, &run), "{found:?}");
        assert_eq!(Spreads::of_features(&sparse(MOST_SPARSE_COLUMNS + 1), &run), None);
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
        assert!(Spreads::of_sample(&rare, 4, &run).unwrap().decide);
        assert_eq!(Spreads::of_sample(&table(19, &|_| 1.0), 2, &run), None);
        assert_eq!(Spreads::of_sample(&[5.0; 80], 2, &run), None);
        assert_eq!(Spreads::of_sample(&[f64::NAN; 80], 2, &run), None);
        assert_eq!(Spreads::of_sample(&[], 0, &run), None);
        let bytes = Dense::new(100, 2, DenseValues::U8((0..200u8).collect::<Vec<_>>().into())).unwrap();
        assert_eq!(Spreads::of(&bytes, &run), None);
    }

    #[test]
    fn widths_pass_over_far_values_and_keep_rare_ones() {
        let values = |far: f64| (0..200).map(|at| if at == 7 { far } else { f64::from(at) }).collect::<Vec<_>>();
        assert_eq!(width(199.0, values(7.0)), 199.0);
        assert_eq!(width(1e9, values(1e9)), 3.0 * 198.0);
        let rare: Vec<f64> = (0..200).map(|at| f64::from(at == 7)).collect();
        assert_eq!((width(1.0, rare), width(5.0, Vec::new())), (1.0, 5.0));
        // The median of the scaled deviations is 1; a column without a width keeps its deviation.
        assert_eq!(scales(&[10.0, 4.0, 0.0, 1.0], &[2.0, 1.0, 7.0, 0.5]), [2.5, 1.0, 7.0, 0.25]);
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
