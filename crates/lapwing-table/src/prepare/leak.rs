//! Columns that alone tell the labels, as one does that is filled in after the label is known.
//!
//! A column tells n labels exactly if each of its values has one class, if its numbers are in the order of the classes, or if it is missing
//! in just the rows of one class. Of the n! / ∏ nₖ! ways to give c classes to the rows, at most c^D, c! and a share of c · g! (n − g)! / n!
//! look so, for D values and g gaps. The sum of these shares over all columns, a bound of the chance of random labels, must be below
//! [`CHANCE`]. And no other column may come near: the best foretells [`OTHER_ERRORS`] labels wrongly, each by the others of its value or
//! by the value before, so that one as good is exact with a chance of e⁻¹⁰. Measurements in the order of the classes may be good features:
//! there the best other one leaves half of the errors of the most frequent class. Cost: a sort of each column in up to [`MOST_ROWS`] rows.

use super::LeftOut;
use super::columns::Column;
use super::dates::DatePart;
use super::recipe::{ColumnRecipe, Recipe, Step};
use super::survey::{Cells, Survey};

/// The chance that random labels make a column look as if it told them.
const CHANCE: f64 = 1e-6;

/// Labels that the best of the other columns foretells wrongly, at least.
const OTHER_ERRORS: usize = 10;

/// Fewest labeled rows that can tell; the most that are looked at, and cells of these; levels of a text, at most.
const FEWEST_ROWS: usize = 20;
const MOST_ROWS: usize = 4096;
const MOST_CELLS: usize = 1 << 24;
const MOST_LEVELS: usize = 1000;

/// A recipe with one number for each column that `recipe` uses: the number itself, or the place of a level; NaN if the cell is missing.
pub(super) fn probe(recipe: &Recipe, columns: &[Column]) -> Recipe {
    let step = |column: &ColumnRecipe, survey: &Survey| match (&column.step, &survey.cells) {
        (Step::Number { .. }, _) => Step::Number { fill: f64::NAN, center: 0.0, scale: 1.0, log: None, gap: None },
        (Step::Boolean { .. }, _) => Step::Boolean { size: 1.0, fill: f64::NAN, gap: None },
        (Step::Date { .. }, _) => Step::Date { parts: vec![(DatePart::Seconds, 0.0, 1.0)], fill: i64::MIN, gap: None },
        (Step::Category { .. } | Step::Ordered { .. } | Step::Text { .. }, Cells::Texts(texts))
            if texts.levels.len() <= MOST_LEVELS =>
        {
            Step::Ordered { levels: texts.sorted_levels(), fill: f64::NAN, center: 0.0, scale: 1.0, gap: None }
        }
        _ => Step::LeaveOut { reason: LeftOut::Type },
    };
    let columns = recipe.columns.iter().zip(columns);
    let columns = columns.map(|(recipe, column)| ColumnRecipe { step: step(recipe, &column.survey), ..recipe.clone() });
    Recipe { columns: columns.collect(), ..Recipe::default() }
}

/// The places, of `n` labeled ones, of the rows that are looked at in `n_columns` columns; none if they are too few.
pub(super) fn chosen_rows(n: usize, n_columns: usize) -> Vec<usize> {
    let most = (MOST_CELLS / n_columns.max(1)).clamp(1, MOST_ROWS);
    let n = if n.min(most) >= FEWEST_ROWS { n } else { 0 };
    (0..n).step_by(n.div_ceil(most).max(1)).collect()
}

/// Columns of `values` (l, d), row-major, that tell `classes` (l) alone, each with how; `are_levels` (d) says which hold levels.
pub(super) fn leaking(values: &[f64], are_levels: &[bool], classes: &[u32]) -> Vec<(usize, String)> {
    let (n, d) = (classes.len(), are_levels.len());
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| *most as usize + 1)];
    classes.iter().for_each(|class| counts[*class as usize] += 1);
    let most = counts.iter().max().copied().unwrap_or(0);
    if most == n || values.is_empty() {
        return Vec::new();
    }
    let look = |at: usize| {
        let column = values.iter().copied().skip(at).step_by(d).zip(classes.iter().copied());
        look(column, are_levels[at], &counts, CHANCE / (3 * d) as f64)
    };
    let looks: Vec<Result<(String, bool), usize>> = (0..d).map(look).collect();
    let best = looks.iter().filter_map(|look| look.as_ref().err()).min().copied().unwrap_or(n);
    let is_alone = |by_order: bool| if by_order { 2 * best >= n - most } else { best >= OTHER_ERRORS };
    let told = looks.into_iter().enumerate().filter_map(|(at, look)| Some((at, look.ok()?)));
    told.filter(|(_, told)| is_alone(told.1)).map(|(at, (how, _))| (at, how)).collect()
}

/// How a column of values with their classes, of which there are so many rows each, tells these exactly and not by a chance above
/// `chance`, and whether by the order of measurements; or how many it tells wrongly.
fn look(
    values: impl Iterator<Item = (f64, u32)>,
    are_levels: bool,
    counts: &[usize],
    chance: f64,
) -> Result<(String, bool), usize> {
    let mut cells: Vec<(f64, u32)> = values.map(|(x, class)| (if x.is_nan() { f64::NAN } else { x }, class)).collect();
    cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (n, n_classes) = (cells.len(), counts.iter().filter(|count| **count > 0).count());
    let ways = ln_factorial(n) - counts.iter().map(|&count| ln_factorial(count)).sum::<f64>();
    let is_beyond = |share: f64| share < chance.ln();
    let gaps = &cells[cells.partition_point(|cell| !cell.0.is_nan())..];
    if let [first, .., last] = gaps
        && first.1 == last.1
        && counts[first.1 as usize] == gaps.len()
        && is_beyond(
            (n_classes as f64).ln() + ln_factorial(gaps.len()) + ln_factorial(n - gaps.len()) - ln_factorial(n),
        )
    {
        return Ok(("it is missing in all rows of one class and in no other".into(), false));
    }
    let (mut wrong, mut single, mut changes, mut n_values, mut before) = (0, 0, 0, 0usize, None);
    for group in cells.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let largest = group.chunk_by(|a, b| a.1 == b.1).max_by_key(|of_class| of_class.len()).unwrap_or(group);
        wrong += if 2 * largest.len() > group.len() { group.len() - largest.len() } else { group.len() };
        single += usize::from(group.len() == 1);
        changes += usize::from(before.is_some_and(|class| class != largest[0].1));
        (n_values, before) = (n_values + 1, Some(largest[0].1));
    }
    let are_few = are_levels || n_values <= 2 * n_classes;
    let by_levels = n_values as f64 * (n_classes as f64).ln() - ways;
    match wrong == 0 {
        true if are_few && 10 * single <= n && is_beyond(by_levels) => {
            Ok((format!("each of its {n_values} values has one class"), false))
        }
        true if !are_levels && changes + 1 == n_classes && is_beyond(ln_factorial(n_classes) - ways) => {
            Ok(("its values are in the order of the classes".into(), true))
        }
        _ => Err(wrong + if are_levels { single } else { changes.min(single) }),
    }
}

fn ln_factorial(n: usize) -> f64 {
    (2..=n).map(|k| (k as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaks among columns of numbers with the classes; other columns say nothing.
    fn of(columns: &[(&[f64], bool)], classes: &[u32]) -> Vec<(usize, String)> {
        let values: Vec<f64> =
            (0..classes.len()).flat_map(|row| columns.iter().map(move |column| column.0[row])).collect();
        leaking(&values, &columns.iter().map(|column| column.1).collect::<Vec<_>>(), classes)
    }

    fn noise(n: usize, most: usize) -> Vec<f64> {
        (0..n).map(|row| ((row * 7919 + 13) % 1009 % most) as f64).collect()
    }

    #[test]
    fn columns_that_copy_the_labels_are_found() {
        let n = 60;
        let classes: Vec<u32> = noise(n, 3).iter().map(|x| *x as u32).collect();
        let copy: Vec<f64> =
            classes.iter().enumerate().map(|(row, class)| f64::from(5 - class) + 10.0 * (row % 2) as f64).collect();
        let order: Vec<f64> =
            classes.iter().enumerate().map(|(row, &class)| f64::from(class * 100) + row as f64).collect();
        let gaps: Vec<f64> =
            classes.iter().zip(noise(n, 50)).map(|(class, x)| if *class == 1 { f64::NAN } else { x }).collect();
        let other = noise(n, 7);
        let found = of(&[(&other, true), (&copy, true), (&order, false), (&gaps, false)], &classes);
        let expected = [
            (1, "each of its 6 values has one class"),
            (2, "its values are in the order of the classes"),
            (3, "it is missing in all rows of one class and in no other"),
        ];
        assert_eq!(found, expected.map(|(at, how)| (at, how.to_owned())));
        // One wrong label is enough to doubt it.
        let mut wrong = classes.clone();
        wrong[7] = (wrong[7] + 1) % 3;
        assert_eq!(of(&[(&other, true), (&copy, true), (&order, false), (&gaps, false)], &wrong), []);
    }

    #[test]
    fn chance_and_good_features_are_no_leaks() {
        // Of ten rows of each class, c! of n! / ∏ nₖ! = 184 756 ways are ordered: 1.1e-5.
        let order = |n: u32| (0..n).map(f64::from).collect::<Vec<_>>();
        let halves = |n: u32| (0..n).map(|row| u32::from(row >= n / 2)).collect::<Vec<_>>();
        assert_eq!(of(&[(&order(20), false)], &halves(20)), []);
        assert_eq!(of(&[(&order(40), false)], &halves(40)).len(), 1);
        // Another measurement gets three quarters of the labels right that the most frequent class gets wrong.
        let near: Vec<f64> = (0..40).map(|row| f64::from(row) + if row % 8 == 3 { 100.0 } else { 0.0 }).collect();
        assert_eq!(of(&[(&order(40), false), (&near, false)], &halves(40)), []);
        // Every row has a level of its own.
        assert_eq!(of(&[(&order(40), true)], &halves(40)), []);
        assert_eq!(of(&[(&order(40), true)], &[1; 40]), []);
        assert!(chosen_rows(19, 3).is_empty());
        assert_eq!((chosen_rows(10_000, 3).len(), chosen_rows(40, 3).len()), (3334, 40));
    }

    #[test]
    fn random_labels_leak_in_no_column() {
        let classes: Vec<u32> = (0..24).map(|row| u32::from((row * 37 + 11) % 101 % 2 == 0)).collect();
        let columns: Vec<Vec<f64>> = (1..400)
            .map(|at| (0..24).map(|row| ((row * 7919 + at * 104_729) % 1009 % (at % 9 + 2)) as f64).collect())
            .collect();
        let columns: Vec<(&[f64], bool)> =
            columns.iter().enumerate().map(|(at, column)| (column.as_slice(), at % 2 == 0)).collect();
        assert_eq!(of(&columns, &classes), []);
    }
}
