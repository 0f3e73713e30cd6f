//! Columns that alone tell the labels, as one does that is filled in after the label is known.
//!
//! A column tells n labels exactly if each of its values has one class, if a few cuts of its numbers separate the classes, or if it is
//! missing in just the rows of one class. Of the n! / ∏ nₖ! ways to give the labels of c classes to the rows, at most c^D have one class
//! for each of D values, at most R · C(D − 1, R − 1) · c · (c − 1)^(R − 1) have R or fewer pieces of one class (c! if there is one for each
//! class), and at most c · (n − g)! g! / n! of all have one class in just the g gaps. The sum of these shares over all columns bounds the
//! chance that random labels look so; it must be below [`CHANCE`]. Such a column is named if no other comes near: the others foretell at least
//! [`OTHER_ERRORS`] labels wrongly, each by those of the same or neighboring values, so that one as good as the best of them is exact with a
//! chance of e⁻¹⁰. Measurements that cuts separate may be good features: there the others leave half of the errors of the most frequent
//! class, at least.
//!
//! Cost: a sort of each column in up to [`MOST_ROWS`] labeled rows.

use super::dates::DatePart;
use super::recipe::{ColumnRecipe, Recipe, Step};
use super::survey::{Cells, Survey};

/// The chance that random labels make a column look as if it told them.
const CHANCE: f64 = 1e-6;

/// Labels that the best of the other columns foretells wrongly, at least.
const OTHER_ERRORS: usize = 10;

/// Fewest labeled rows that can tell.
const FEWEST_ROWS: usize = 20;

/// Labeled rows, and cells of them, that are looked at.
const MOST_ROWS: usize = 4096;
const MOST_CELLS: usize = 1 << 24;

/// Most levels of a text that is looked at.
const MOST_LEVELS: usize = 1000;

/// A recipe with one number for each column that `recipe` uses: the number itself, or the place of a level; NaN if the cell is missing.
/// Also whether the order of these numbers means something.
pub(super) fn probe(recipe: &Recipe, surveys: &[Survey]) -> (Recipe, Vec<bool>) {
    let step = |(column, survey): (&ColumnRecipe, &Survey)| match (&column.step, &survey.cells) {
        (Step::Number { .. }, _) => Step::Number { fill: f64::NAN, center: 0.0, scale: 1.0, log: None, gap: None },
        (Step::Boolean { .. }, _) => Step::Boolean { size: 1.0, fill: f64::NAN, gap: None },
        (Step::Date { .. }, _) => Step::Date { parts: vec![(DatePart::Seconds, 0.0, 1.0)], fill: i64::MIN, gap: None },
        (Step::LeaveOut { .. } | Step::Vector { .. }, _) => Step::LeaveOut { reason: super::LeftOut::Type },
        (_, Cells::Texts(texts)) if texts.levels.len() <= MOST_LEVELS => {
            let levels = texts.levels.keys().cloned().collect();
            Step::Ordered { levels, fill: f64::NAN, center: 0.0, scale: 1.0, gap: None }
        }
        _ => Step::LeaveOut { reason: super::LeftOut::Type },
    };
    let steps = recipe.columns.iter().zip(surveys).map(step);
    let columns: Vec<ColumnRecipe> =
        recipe.columns.iter().zip(steps).map(|(column, step)| ColumnRecipe { step, ..column.clone() }).collect();
    let used = columns.iter().filter(|column| column.step.width() > 0);
    let have_order = used.map(|column| !matches!(column.step, Step::Ordered { .. })).collect();
    (Recipe { columns, ..Recipe::default() }, have_order)
}

/// The places, of `n` labeled ones, of the rows that are looked at in `n_columns` columns; none if they are too few.
pub(super) fn chosen_rows(n: usize, n_columns: usize) -> impl Iterator<Item = usize> + Clone {
    let most = (MOST_CELLS / n_columns.max(1)).clamp(1, MOST_ROWS);
    let is_enough = n.min(most) >= FEWEST_ROWS;
    (0..if is_enough { n } else { 0 }).step_by(n.div_ceil(most).max(1))
}

/// Labels of rows, each of a class.
struct Given<'c> {
    classes: &'c [u32],
    counts: Vec<usize>,
    /// The number of classes that occur.
    n_classes: usize,
    /// The logarithm of the ways to give them to the rows, and of the share of these below which chance does not do it.
    ways: f64,
    limit: f64,
}

/// Columns of `values` (l, d), row-major, that tell `classes` (l) alone, each with how.
pub(super) fn leaking(values: &[f64], have_order: &[bool], classes: &[u32]) -> Vec<(usize, String)> {
    let (n, d) = (classes.len(), have_order.len());
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| *most as usize + 1)];
    classes.iter().for_each(|class| counts[*class as usize] += 1);
    let n_classes = counts.iter().filter(|count| **count > 0).count();
    if n < FEWEST_ROWS || n_classes < 2 || values.len() != n * d {
        return Vec::new();
    }
    let ways = ln_factorial(n) - counts.iter().map(|&count| ln_factorial(count)).sum::<f64>();
    let n_wrong = n - counts.iter().max().copied().unwrap_or(0);
    let given = Given { classes, counts, n_classes, ways, limit: (CHANCE / (3 * d) as f64).ln() };
    let look = |at: usize| given.look(values.iter().copied().skip(at).step_by(d), have_order[at]);
    let looks: Vec<Look> = (0..d).map(look).collect();
    let of_others = |look: &Look| if let Look::Wrong(n) = look { Some(*n) } else { None };
    let best = looks.iter().filter_map(of_others).min().unwrap_or(n);
    let how = |look| match look {
        Look::Levels(how) if best >= OTHER_ERRORS => Some(how),
        Look::Cuts(how) if 2 * best >= n_wrong => Some(how),
        _ => None,
    };
    looks.into_iter().enumerate().filter_map(|(at, look)| Some((at, how(look)?))).collect()
}

/// How a column tells the labels.
enum Look {
    /// Exactly, by a few values or gaps.
    Levels(String),
    /// Exactly, by the order of its numbers.
    Cuts(String),
    /// About so many are wrong.
    Wrong(usize),
}

impl Given<'_> {
    /// How a column tells the classes, or about how many labels it gets wrong.
    fn look(&self, values: impl Iterator<Item = f64>, has_order: bool) -> Look {
        let values = values.map(|x| if x.is_nan() { f64::NAN } else { x });
        let mut cells: Vec<(f64, u32)> = values.zip(self.classes.iter().copied()).collect();
        cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let n = cells.len();
        let gaps = &cells[cells.partition_point(|cell| !cell.0.is_nan())..];
        if let [first, .., last] = gaps
            && first.1 == last.1
            && self.counts[first.1 as usize] == gaps.len()
            && self.is_beyond((self.n_classes as f64).ln() + self.ways - ln_choose(n, gaps.len()))
        {
            return Look::Levels("it is missing in all rows of one class and in no other".into());
        }
        let (mut wrong, mut single, mut changes, mut n_values, mut before) = (0, 0, 0, 0usize, None);
        for group in cells.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            let largest = group.chunk_by(|a, b| a.1 == b.1).max_by_key(|of_class| of_class.len()).unwrap_or(group);
            // Each label is foretold by those of the other rows of its value.
            let has_most = 2 * largest.len() > group.len();
            wrong += group.len() - if has_most { largest.len() } else { 0 };
            single += usize::from(group.len() == 1);
            changes += usize::from(before.is_some_and(|class| class != largest[0].1));
            n_values += 1;
            before = Some(largest[0].1);
        }
        let c = self.n_classes as f64;
        let are_levels = !has_order || n_values <= 2 * self.n_classes;
        if wrong == 0 && are_levels && 10 * single <= n && self.is_beyond(n_values as f64 * c.ln()) {
            return Look::Levels(format!("each of its {n_values} values has one class"));
        }
        let pieces = changes + 1;
        let arrangements = match pieces == self.n_classes {
            true => ln_factorial(pieces),
            false => {
                (pieces as f64 * c).ln() + ln_choose(n_values.max(1) - 1, changes) + changes as f64 * (c - 1.0).ln()
            }
        };
        if has_order && wrong == 0 && pieces <= 2 * self.n_classes && self.is_beyond(arrangements) {
            let cuts = if changes == 1 {
                "1 cut of its values separates".into()
            } else {
                format!("{changes} cuts of its values separate")
            };
            return Look::Cuts(format!("{cuts} the classes"));
        }
        Look::Wrong(wrong + if has_order { changes.min(single) } else { single })
    }

    /// Whether so many of the ways to give the labels, by the logarithm, are too few for chance.
    fn is_beyond(&self, ways: f64) -> bool {
        ways - self.ways < self.limit
    }
}

fn ln_factorial(n: usize) -> f64 {
    (2..=n).map(|k| (k as f64).ln()).sum()
}

fn ln_choose(n: usize, k: usize) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n.saturating_sub(k))
}
