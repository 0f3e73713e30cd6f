//! Missing numbers, told from the other numbers of their row.
//!
//! With z a number less the mean of its column, divided by its deviation, a gap of column j becomes z_j = Σ_k w_jk z_k. The weights are
//! those of a ridge regression, w = (C_SS + λI)⁻¹ C_Sj, C the correlations. The columns S are chosen one by one: each is the one that is
//! most correlated with what those before leave unexplained (orthogonal matching pursuit; Pati, Rezaiifar and Krishnaprasad 1993).
//!
//! Correlations come from a sample of rows. Its gaps are 0 in a first round, and what the regressions of the round before say in two
//! more. Gaps in one row are filled in the same way: 0 first, then three rounds.
//!
//! Cost of a fit: p² dot products of the sampled rows, p the number of number columns; of a gap: 48 products.

use std::borrow::Cow;

use arrow_array::{Array, ArrayRef};
use lapwing_core::parallel::*;
use serde::{Deserialize, Serialize};

use super::numbers::{is_usable, logged, numbers_of};
use super::survey::NumberSurvey;
use lapwing_core::Run;

/// Columns of a regression.
const MOST_TERMS: usize = 16;

/// λ, in a matrix with ones on the diagonal.
const RIDGE: f64 = 0.05;

/// Least square of the correlation of a further column with what is unexplained.
const LEAST_GAIN: f64 = 1e-3;

/// Rounds of a fit, and of the gaps of a row.
const ROUNDS: usize = 3;

/// Numbers farther from the mean count as this many deviations.
const FARTHEST: f64 = 4.0;

/// Columns that take part at most, and products of a fit.
const MOST_COLUMNS: usize = 1024;
const MOST_PRODUCTS: usize = 1 << 30;

/// Fewest rows that tell correlations.
const FEWEST_ROWS: usize = 20;

/// How gaps of number columns are told from the other number columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GapFill {
    /// The columns that take part, in the order of the table.
    pub columns: Vec<GapColumn>,
}

/// A column of numbers with its regression on others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GapColumn {
    /// Its place among the columns of the recipe.
    pub column: usize,
    /// What is added before the logarithm is taken, as in the step of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<f64>,
    /// The mean of its numbers, or of their logarithms.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// Places among the columns of the regressions, and weights. Empty in a column without gaps in the fit, and where no other column
    /// tells anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<(usize, f64)>,
}

impl GapFill {
    /// The regressions of number columns, each with its place among the columns of the table and whether it has gaps; `log` is what is
    /// added before the logarithm of the numbers of each of them. `None` without gaps that others tell.
    pub(super) fn fit(
        numbers: &[(usize, &NumberSurvey, bool)],
        log: impl Fn(usize) -> Option<f64>,
        run: &Run,
    ) -> Option<Self> {
        let n_rows = numbers.first()?.1.sample.values.len();
        let p = numbers.len();
        if !(2..=MOST_COLUMNS).contains(&p) || n_rows < FEWEST_ROWS || !numbers.iter().any(|number| number.2) {
            return None;
        }
        let step = n_rows.div_ceil((MOST_PRODUCTS / (p * p)).max(FEWEST_ROWS));
        let bare = |(k, &(column, survey, _)): (usize, &(usize, &NumberSurvey, bool))| {
            let (mean, deviation) = survey.mean_and_deviation(log(k));
            let deviation = if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 };
            GapColumn { column, log: log(k), mean, deviation, terms: Vec::new() }
        };
        let mut columns: Vec<GapColumn> = numbers.iter().enumerate().map(bare).collect();
        let sampled = |(column, number): (&GapColumn, &(usize, &NumberSurvey, bool))| -> Vec<f64> {
            number.1.sample.values.iter().step_by(step).map(|x| column.normal(*x)).collect()
        };
        let known: Vec<Vec<f64>> = columns.iter().zip(numbers).map(sampled).collect();
        let mut rows: Vec<Vec<f64>> = known.iter().map(|z| z.iter().map(|z| or_zero(*z)).collect()).collect();
        for round in 0..ROUNDS {
            let correlations = run.install(|| correlations(&rows));
            let terms = |at: usize| if numbers[at].2 { chosen(&correlations, p, at) } else { Vec::new() };
            let all: Vec<Vec<(usize, f64)>> = run.install(|| (0..p).into_par_iter().map(terms).collect());
            columns.iter_mut().zip(all).for_each(|(column, terms)| column.terms = terms);
            if round + 1 < ROUNDS {
                let filled = |at: usize| -> Vec<f64> {
                    let fill =
                        |(row, &z): (usize, &f64)| if z.is_nan() { columns[at].told(|at| rows[at][row]) } else { z };
                    known[at].iter().enumerate().map(fill).collect()
                };
                rows = run.install(|| (0..p).into_par_iter().map(filled).collect());
            }
        }
        columns.iter().any(|column| !column.terms.is_empty()).then_some(Self { columns })
    }

    /// Whether the numbers of a stored recipe of `n_columns` columns are in range.
    pub(super) fn is_valid(&self, n_columns: usize) -> bool {
        let is_term = |(at, weight): &(usize, f64)| *at < self.columns.len() && weight.is_finite();
        self.columns.iter().all(|column| {
            column.column < n_columns
                && column.mean.is_finite()
                && column.deviation > 0.0
                && column.deviation.is_finite()
                && column.log.is_none_or(|shift| shift > 0.0 && shift.is_finite())
                && column.terms.iter().all(is_term)
        })
    }

    /// Whether gaps of a column of the recipe are told from others.
    pub(super) fn fills(&self, column: usize) -> bool {
        self.columns.iter().any(|one| one.column == column && !one.terms.is_empty())
    }

    /// The numbers of the columns whose gaps are told from others, those in gaps filled: one for each of `arrays`, which are of the
    /// columns `places` of the recipe. `None` for columns without such gaps.
    pub(super) fn filled(&self, arrays: &[ArrayRef], places: &[usize]) -> Vec<Option<Vec<f64>>> {
        let numbers: Vec<Cow<'_, [f64]>> = arrays.iter().map(|array| numbers_of(array).unwrap_or_default()).collect();
        let array_of = |column: &GapColumn| places.iter().position(|place| *place == column.column);
        let at: Vec<Option<usize>> = self.columns.iter().map(array_of).collect();
        let n_rows = arrays.first().map_or(0, |array| array.len());
        let mut has_gap = vec![false; n_rows];
        for (_, at) in self.columns.iter().zip(&at).filter(|(column, _)| !column.terms.is_empty()) {
            let cells = at.iter().flat_map(|at| numbers[*at].iter());
            has_gap.iter_mut().zip(cells).for_each(|(has_gap, x)| *has_gap |= !is_usable(*x));
        }
        let mut filled: Vec<Option<Vec<f64>>> = vec![None; arrays.len()];
        let (mut z, mut gaps, mut next) = (vec![0.0; self.columns.len()], Vec::new(), Vec::new());
        for row in (0..n_rows).filter(|row| has_gap[*row]) {
            gaps.clear();
            for (place, (column, at)) in self.columns.iter().zip(&at).enumerate() {
                let known = column.normal(at.and_then(|at| numbers[at].get(row)).map_or(f64::NAN, |x| *x));
                z[place] = or_zero(known);
                if known.is_nan() && !column.terms.is_empty() {
                    gaps.push(place);
                }
            }
            for _ in 0..ROUNDS {
                next.clear();
                next.extend(gaps.iter().map(|&place| self.columns[place].told(|at| z[at])));
                gaps.iter().zip(&next).for_each(|(&place, told)| z[place] = *told);
            }
            for &place in &gaps {
                if let Some(at) = at[place] {
                    let values = filled[at].get_or_insert_with(|| vec![f64::NAN; n_rows]);
                    values[row] = self.columns[place].number(z[place]);
                }
            }
        }
        filled
    }
}

impl GapColumn {
    /// z of a number; NaN if it is missing.
    fn normal(&self, x: f64) -> f64 {
        let x = if is_usable(x) { logged(x, self.log) } else { return f64::NAN };
        ((x - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)
    }

    /// The number of z.
    fn number(&self, z: f64) -> f64 {
        let x = self.mean + self.deviation * z;
        self.log.map_or(x, |shift| (x.exp() - shift).max(0.0))
    }

    /// What the others tell.
    fn told(&self, z: impl Fn(usize) -> f64) -> f64 {
        self.terms.iter().map(|(at, weight)| weight * z(*at)).sum::<f64>().clamp(-FARTHEST, FARTHEST)
    }
}

fn or_zero(z: f64) -> f64 {
    if z.is_nan() { 0.0 } else { z }
}

/// Correlations (p, p), row-major, of columns whose gaps are filled; those above the diagonal stay 0.
fn correlations(columns: &[Vec<f64>]) -> Vec<f64> {
    let p = columns.len();
    let n = columns.first().map_or(1, Vec::len).max(1) as f64;
    let mut all = vec![0.0; p * p];
    all.par_chunks_mut(p).enumerate().for_each(|(row, out)| {
        out[..=row].iter_mut().zip(columns).for_each(|(out, column)| *out = dot(&columns[row], column) / n);
    });
    all
}

/// The terms of the regression of column `j`.
fn chosen(correlations: &[f64], p: usize, j: usize) -> Vec<(usize, f64)> {
    let c = |a: usize, b: usize| correlations[a.max(b) * p + a.min(b)];
    let (mut columns, mut weights) = (Vec::new(), Vec::new());
    while columns.len() < MOST_TERMS.min(p - 1) {
        let told = |k: usize| columns.iter().zip(&weights).map(|(&s, w): (&usize, &f64)| c(k, s) * w).sum::<f64>();
        let free = (0..p).filter(|k| *k != j && !columns.contains(k)).map(|k| ((c(k, j) - told(k)).abs(), k));
        let Some((gain, next)) = free.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) else { break };
        if gain * gain < LEAST_GAIN {
            break;
        }
        columns.push(next);
        weights = regression(&columns, c, j);
    }
    columns.into_iter().zip(weights).collect()
}

/// The weights of the ridge regression of column `j` on others, by elimination, which needs no pivots in a positive definite system.
fn regression(columns: &[usize], c: impl Fn(usize, usize) -> f64, j: usize) -> Vec<f64> {
    let entry = |a: usize, b: usize| c(a, b) + if a == b { RIDGE } else { 0.0 };
    let row = |&a: &usize| columns.iter().map(|&b| entry(a, b)).chain([c(a, j)]).collect();
    let mut rows: Vec<Vec<f64>> = columns.iter().map(row).collect();
    for at in 0..rows.len() {
        let own = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = row[at] / own[at];
            row.iter_mut().zip(&own).for_each(|(x, own)| *x -= factor * own);
        }
    }
    rows.iter().enumerate().map(|(at, row)| row[rows.len()] / row[at]).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, others) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = chunks.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in chunks.zip(others) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Float64Array;

    use super::*;
    use crate::prepare::survey::{Cells, Survey};
    use crate::read::ColumnKind;

    fn array(values: &[f64]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    fn surveyed(values: &[f64]) -> Survey {
        let mut survey = Survey::new(&ColumnKind::Number);
        survey.add(&array(values));
        survey
    }

    fn numbers(survey: &Survey) -> &NumberSurvey {
        let Cells::Numbers(numbers) = &survey.cells else { unreachable!("numbers stay numbers") };
        numbers
    }

    /// A column, its double plus another, and a third that tells nothing of them.
    fn columns() -> [Vec<f64>; 3] {
        let wave = |row: usize, of: usize| ((row * of % 101) as f64 / 101.0 - 0.5) * 3.0;
        let first: Vec<f64> = (0..300).map(|row| wave(row, 7)).collect();
        let other: Vec<f64> = (0..300).map(|row| wave(row, 23)).collect();
        let sum = first.iter().zip(&other).map(|(a, b)| 100.0 + 20.0 * a + 2.0 * b).collect();
        [first, sum, other]
    }

    fn fitted(columns: &[Vec<f64>], threads: usize) -> Option<GapFill> {
        let surveys: Vec<Survey> = columns.iter().map(|column| surveyed(column)).collect();
        let listed: Vec<(usize, &NumberSurvey, bool)> =
            surveys.iter().enumerate().map(|(at, survey)| (at, numbers(survey), survey.n_missing > 0)).collect();
        GapFill::fit(&listed, |_| None, &Run::new(Some(threads), 0).unwrap())
    }

    #[test]
    fn gaps_are_told_from_the_other_columns() {
        let whole = columns();
        let mut holed = whole.clone();
        (0..300).filter(|row| row % 9 == 0).for_each(|row| holed[1][row] = f64::NAN);
        let fill = fitted(&holed, 2).unwrap();
        assert!(fill.fills(1) && !fill.fills(0) && fill.is_valid(3) && !fill.is_valid(1));
        assert_eq!(Some(&fill), fitted(&holed, 1).as_ref(), "any number of threads gives the same bits");
        let arrays: Vec<ArrayRef> = holed.iter().map(|column| array(column)).collect();
        let filled = fill.filled(&arrays, &[0, 1, 2]);
        assert!(filled[0].is_none() && filled[2].is_none());
        let told = filled[1].as_ref().unwrap();
        let far = (0..300).step_by(9).map(|row| (told[row] - whole[1][row]).abs()).fold(0.0, f64::max);
        // A ridge of .05 moves what is told to the mean by about a twentieth.
        assert!(far < 3.0, "{far}");
    }

    #[test]
    fn two_gaps_in_a_row_tell_each_other_nothing_new() {
        let mut holed = columns();
        (0..300).filter(|row| row % 9 == 0).for_each(|row| holed[1][row] = f64::NAN);
        (0..300).filter(|row| row % 18 == 0).for_each(|row| holed[0][row] = f64::NAN);
        let fill = fitted(&holed, 2).unwrap();
        let arrays: Vec<ArrayRef> = holed.iter().map(|column| array(column)).collect();
        let filled = fill.filled(&arrays, &[0, 1, 2]);
        let told = filled[1].as_ref().unwrap();
        assert!((told[18] - 100.0).abs() < 10.0 && told[1].is_nan(), "near the mean: {}", told[18]);
        // A column that new rows lack altogether is as one with gaps.
        assert_eq!(fill.filled(&arrays[1..], &[1, 2]).len(), 2);
    }

    #[test]
    fn nothing_is_told_without_gaps_or_without_correlations() {
        assert_eq!(fitted(&columns(), 1), None);
        let first: Vec<f64> = (0..300).map(|row| f64::from(row % 2)).collect();
        let mut other: Vec<f64> = (0..300).map(|row| f64::from(row / 2 % 2)).collect();
        other[5] = f64::NAN;
        assert_eq!(fitted(&[first, other], 1), None);
        let [first, ..] = columns();
        let few =
            vec![first[..10].to_vec(), first[..10].iter().map(|x| if *x > 1.0 { f64::NAN } else { *x }).collect()];
        assert_eq!(fitted(&few, 1), None);
    }
}
