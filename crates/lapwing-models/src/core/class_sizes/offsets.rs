//! Offsets of the scores at which every class gets a number of rows within its bounds: coordinate descent on the dual of an
//! assignment problem; see the [module above](super).
//!
//! The two best classes of each row are kept ([`Leaders`]): all that an order statistic needs. A changed offset moves the place of one
//! class in each row; only rows whose leader or second falls are compared with all classes again, on average 2·n/c of them.
//!
//! Cost: O(n) for each offset that is changed, typically 2 to 5 for each class, and O(n·c) before the first. Parallel over blocks of rows;
//! counts and order statistics do not depend on the number of threads.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Targets, Warning};
use lapwing_graph::Graph;
use serde_json::{Value, json};

use super::bounds::SizeBounds;

/// Rows that a thread works on at a time.
pub(super) const BLOCK_ROWS: usize = 2048;
use crate::Rule;
use crate::core::scores::largest;

/// Share of the rows by which a size may be outside its bounds.
const SIZE_TOL: f64 = 1e-4;
/// Most changes of an offset for each class; on real scores two to five are enough.
const MOST_CHANGES: usize = 50;
/// Labels held to sizes may cut at most `.0` times the share of edge weight that labels without sizes cut, plus `.1`. On 38
/// cases of real data with labels drawn at random, the factor was at most 1.9 wherever `.1` was not enough.
const MOST_CUT: (f64, f64) = (2.0, 0.01);

/// The result of [`hold_sizes`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldSizes {
    /// Rows of each class (c).
    pub sizes: Vec<usize>,
    /// Rows that a label reaches.
    pub n_reached: usize,
    /// Rows by which the worst class is outside its bounds; 0 if all are within.
    pub miss: usize,
    /// The worst class.
    pub class: usize,
}

impl HeldSizes {
    /// The entry in a report.
    pub(super) fn part(&self, bounds: &SizeBounds, rounds: usize) -> Value {
        json!({
            "from": if bounds.is_given { "class_prior" } else { "labels" },
            "least": limits(&bounds.lower, self.n_reached),
            "most": limits(&bounds.upper, self.n_reached),
            "found": self.sizes,
            "refinements": rounds,
        })
    }

    /// A warning if a size is outside its bounds by more than 1 % of the rows.
    pub(super) fn warning(&self, targets: &Targets) -> Option<Warning> {
        let Self { miss, n_reached, class, .. } = *self;
        let is_far = miss as f64 > 0.01 * n_reached as f64;
        is_far.then(|| Warning::MissedSize { class: targets.class_name(class), miss, n_reached })
    }
}

/// Changes the offsets of `rule` so that the class sizes among the rows of `scores` (n, c) are within `bounds`. Rows of NaN are not
/// counted.
///
/// If many rows have equal scores, no offsets may reach the bounds. The best offsets found are taken; see [`HeldSizes::miss`].
pub(crate) fn hold_sizes(rule: &mut Rule, scores: &Matrix, bounds: &SizeBounds, run: &Run) -> Result<HeldSizes> {
    let c = scores.n_cols();
    let mut best: Option<(HeldSizes, Vec<f64>)> = None;
    let mut leaders = run.install(|| Leaders::new(rule, scores));
    for _ in 0..=MOST_CHANGES * c {
        run.check()?;
        let sizes = leaders.counts(c);
        let n_reached = sizes.iter().sum::<usize>();
        let (lower, upper) = (limits(&bounds.lower, n_reached), limits(&bounds.upper, n_reached));
        let misses: Vec<usize> =
            (0..c).map(|k| lower[k].saturating_sub(sizes[k]).max(sizes[k].saturating_sub(upper[k]))).collect();
        let class = (1..c).fold(0, |worst, k| if misses[k] > misses[worst] { k } else { worst });
        let held = HeldSizes { n_reached, miss: misses[class], class, sizes };
        let wanted = if held.sizes[class] < lower[class] { lower[class] } else { upper[class] };
        let is_enough = held.miss <= ((n_reached as f64 * SIZE_TOL) as usize).max(1);
        if best.as_ref().is_none_or(|(known, _)| held.miss < known.miss) {
            best = Some((held, rule.offset.clone()));
        }
        if is_enough || !run.install(|| leaders.shift_to(rule, scores, class, wanted)) {
            break;
        }
    }
    let (held, offset) =
        best.unwrap_or((HeldSizes { sizes: vec![0; c], n_reached: 0, miss: 0, class: 0 }, rule.offset.clone()));
    rule.offset = offset;
    Ok(held)
}

/// The rule with offsets that hold the sizes, and the sizes. `None` if the resulting labels cut through dense parts of the graph
/// ([`MOST_CUT`]): then the given labels, from which the bounds come, were hardly drawn at random.
pub(crate) fn hold_unless_cut(
    rule: &Rule,
    scores: &Matrix,
    bounds: &SizeBounds,
    graph: &Graph,
    run: &Run,
) -> Result<Option<(Rule, HeldSizes)>> {
    let mut sized = rule.clone();
    let held = hold_sizes(&mut sized, scores, bounds, run)?;
    if sized == *rule {
        return Ok(Some((sized, held)));
    }
    let none = vec![0; scores.n_rows()];
    let cut = |rule: &Rule| run.install(|| cut_share(graph, &class_of_rows(rule, scores, &none)));
    let (before, after) = (cut(rule), cut(&sized));
    Ok((after <= MOST_CUT.0 * before + MOST_CUT.1).then_some((sized, held)))
}

/// Share of the total edge weight on edges between rows of different labels.
fn cut_share(graph: &Graph, labels: &[u32]) -> f64 {
    let n = labels.len();
    let blocks: Vec<(f64, f64)> = (0..n.div_ceil(BLOCK_ROWS))
        .into_par_iter()
        .map(|block| {
            let (mut cut, mut all) = (0.0, 0.0);
            for row in block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(n) {
                let (columns, weights) = graph.adjacency().row(row);
                for (&column, weight) in columns.iter().zip(weights) {
                    all += weight;
                    cut += if labels[column as usize] == labels[row] { 0.0 } else { *weight };
                }
            }
            (cut, all)
        })
        .collect();
    let (cut, all) = blocks.iter().fold((0.0, 0.0), |(cut, all), block| (cut + block.0, all + block.1));
    if all > 0.0 { cut / all } else { 0.0 }
}

/// Shares as numbers of rows.
fn limits(shares: &[f64], n: usize) -> Vec<usize> {
    shares.iter().map(|share| (share * n as f64).round() as usize).collect()
}

/// A class and its standing in a row. Of equal standings the one of the first class counts for the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    standing: f64,
    class: u32,
}

impl Place {
    const LAST: Self = Self { standing: f64::NEG_INFINITY, class: u32::MAX };

    fn is_before(self, other: Self) -> bool {
        self.standing > other.standing || self.standing == other.standing && self.class < other.class
    }
}

/// The two best classes of each row that a label reaches, best first.
struct Leaders {
    rows: Vec<(u32, [Place; 2])>,
}

impl Leaders {
    fn new(rule: &Rule, scores: &Matrix) -> Self {
        let is_reached = |row: &u32| !scores.row(*row as usize).iter().any(|s| s.is_nan());
        let rows = (0..scores.n_rows() as u32).into_par_iter().with_min_len(BLOCK_ROWS).filter(is_reached);
        Self { rows: rows.map(|row| (row, two_best(rule, scores.row(row as usize)))).collect() }
    }

    /// Rows of each class (c).
    fn counts(&self, c: usize) -> Vec<usize> {
        let mut counts = vec![0; c];
        self.rows.iter().for_each(|(_, [best, _])| counts[(best.class as usize).min(c - 1)] += 1);
        counts
    }

    /// Moves the offset of `class` so that the class is the largest in `wanted` rows. Returns whether the offset changed.
    fn shift_to(&mut self, rule: &mut Rule, scores: &Matrix, class: usize, wanted: usize) -> bool {
        if rule.scale[class] <= 0.0 {
            return false;
        }
        let own = |rule: &Rule, row: u32| (scores.row(row as usize)[class] - rule.offset[class]) * rule.scale[class];
        // Amount by which the class is below the largest other class, in each row.
        let lack = |(row, [best, second]): &(u32, [Place; 2])| {
            let other = if best.class as usize == class { second } else { best };
            other.standing - own(rule, *row)
        };
        let mut lacks: Vec<f64> = self.rows.par_iter().with_min_len(BLOCK_ROWS).map(lack).collect();
        let by = between(&mut lacks, wanted);
        if !by.is_finite() || by == 0.0 {
            return false;
        }
        rule.offset[class] -= by / rule.scale[class];
        let rule = &*rule;
        self.rows.par_iter_mut().with_min_len(BLOCK_ROWS).for_each(|(row, places)| {
            let moved = Place { standing: own(rule, *row), class: class as u32 };
            let [best, second] = *places;
            *places = if best.class == moved.class && moved.is_before(second) {
                [moved, second]
            } else if best.class == moved.class || second.class == moved.class && second.is_before(moved) {
                // Another class may have come before it.
                two_best(rule, scores.row(*row as usize))
            } else if moved.is_before(best) {
                [moved, best]
            } else if second.class == moved.class || moved.is_before(second) {
                [best, moved]
            } else {
                [best, second]
            };
        });
        true
    }
}

fn two_best(rule: &Rule, scores: &[f64]) -> [Place; 2] {
    let mut places = [Place::LAST; 2];
    for (class, ((score, offset), scale)) in scores.iter().zip(&rule.offset).zip(&rule.scale).enumerate() {
        let standing = if *scale > 0.0 { (score - offset) * scale } else { f64::NEG_INFINITY };
        let own = Place { standing, class: class as u32 };
        if own.is_before(places[0]) {
            places = [own, places[0]];
        } else if own.is_before(places[1]) {
            places[1] = own;
        }
    }
    places
}

/// A number above exactly `wanted` of the values (ties aside), midway between two of them.
fn between(values: &mut [f64], wanted: usize) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let at = wanted.min(n - 1);
    let (below, next, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    let last = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (wanted >= n, last.is_finite()) {
        // Above all values: just above the largest.
        (true, _) => *next + next.abs().max(f64::MIN_POSITIVE) * 1e-9,
        (false, true) => last + (*next - last) / 2.0,
        (false, false) => *next - next.abs().max(f64::MIN_POSITIVE) * 1e-9,
    }
}

/// The class of each row (n); rows that no label reaches keep the one they have.
pub(super) fn class_of_rows(rule: &Rule, scores: &Matrix, labels: &[u32]) -> Vec<u32> {
    let c = scores.n_cols();
    let rows = scores.values().par_chunks(c).zip(labels).with_min_len(BLOCK_ROWS);
    rows.map_init(
        || vec![0.0; c],
        |standing, (row, &label)| {
            if row.iter().any(|s| s.is_nan()) {
                return label;
            }
            rule.standing(row, standing);
            largest(standing) as u32
        },
    )
    .collect()
}

#[cfg(test)]
mod tests {
    use lapwing_core::Run;

    use super::*;

    #[test]
    fn the_two_best_classes_are_kept_through_all_moves() {
        let (n, c) = (3000, 40);
        // Few values, so that there are ties, and rows that no label reaches.
        let value = |at: usize| match at / c % 50 {
            7 => f64::NAN,
            _ => (lapwing_core::hash::uniform(at as u64) * 30.0).floor() / 8.0,
        };
        let scores = Matrix::new(n, c, (0..n * c).map(value).collect()).unwrap();
        let mut rule = Rule::largest((0..c).map(|class| if class == 5 { 0.0 } else { 0.025 }).collect());
        Run::new(Some(2), 0).unwrap().install(|| {
            let (mut leaders, mut n_moved) = (Leaders::new(&rule, &scores), 0);
            for step in 0..200 {
                let (class, wanted) = ((step * 17 + step / 40) % c, (step * 731) % 190);
                n_moved += usize::from(leaders.shift_to(&mut rule, &scores, class, wanted));
                assert_eq!(leaders.rows, Leaders::new(&rule, &scores).rows, "step {step}");
            }
            assert!(n_moved > 50, "{n_moved}");
            let labels = class_of_rows(&rule, &scores, &vec![u32::MAX; n]);
            let count = |class: usize| labels.iter().filter(|label| **label as usize == class).count();
            assert_eq!(leaders.counts(c), (0..c).map(count).collect::<Vec<_>>());
        });
    }
}
