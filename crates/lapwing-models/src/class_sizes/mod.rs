//! Class sizes: offsets of the scores at which every class gets a number of rows within bounds.
//!
//! The label of row i is the class of the largest s_ic + b_c, s the scores as a [`Rule`] compares them. Offsets b with
//! lower_c·n ≤ #{rows of class c} ≤ upper_c·n are the prices of an assignment problem with bounds. They are found one class
//! at a time: the class that is farthest outside its bounds gets the offset that brings it to the nearer bound, which is an
//! order statistic of max over k ≠ c of (s_ik + b_k) − s_ic. With all bounds equal to shares this is coordinate descent on
//! the dual Σᵢ max_c (s_ic + b_c) − n Σ_c share_c·b_c. Rows that no label reaches take no part.
//!
//! **Where the bounds come from.** Shares that the caller gives, plus or minus a slack; else the Wilson interval at 90 % of each
//! class's share among the labels, if these look drawn at random. Labels of which there are about as many for every class
//! were chosen so, and say nothing about sizes.
//!
//! **Refinement** (volume-constrained auction dynamics, Jacobs, Merkurjev & Esedoḡlu 2018; PoissonMBO, Calder, Cook, Thorpe &
//! Slepčev 2020, from another start): repeat the one-hot matrix of the present labels, [`WALKS`] steps of the random walk
//! D⁻¹W with given labels held, offsets by sizes. It pays where sizes are known; see `docs/results/accuracy.md`.
//!
//! Cost: O(n·c) for each offset that is changed, typically 2 to 5 for each class; refinement O(m·c) for each of at most
//! [`ROUNDS`]·[`WALKS`] products. Parallel over blocks of rows; counts and order statistics do not depend on the threads.

use std::sync::Arc;

use lapwing_data::{Error, Matrix, Result, Run, Targets, parse_choice};
use lapwing_graph::{Components, Graph};
use lapwing_solve::{Operator, SddMatrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harmonic::{ClassPrior, TYPICAL_CONFIDENCE};
use crate::labeling::{largest, typical_temperature};
use crate::{Fitted, Labeling, Method, Plan, Problem, ProblemSize, Rule};

/// Normal quantile of the Wilson intervals: 90 % of them hold the true share.
const Z: f64 = 1.645;
/// Sizes may miss a bound by this share of the rows.
const SIZE_TOL: f64 = 1e-4;
/// Offsets changed for each class, at most: on real scores two to five are enough.
const MOST_CHANGES: usize = 50;
/// Rounds of refinement; they end sooner when no label changes.
const ROUNDS: usize = 20;
/// Steps of the random walk in each round.
const WALKS: usize = 7;
/// Sizes from labels may cut this many times the edge weights that labels cut without them, and this share of all on top. On 38 cells
/// of real data with labels drawn at random the first is at most 1.9 where the second does not rule.
const MOST_CUT: (f64, f64) = (2.0, 0.01);
/// Rows of one unit of work.
const BLOCK_ROWS: usize = 2048;

/// How the labeled rows were chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelsDrawn {
    /// Found out: balanced if the counts are more even than 95 % of random draws from equal classes, or if a component of
    /// the graph has far more labels than its share of the rows; else random.
    #[default]
    Auto,
    /// At random among all rows, so that their shares estimate the sizes of the classes.
    Random,
    /// About as many of every class, whatever its size.
    Balanced,
}

/// What sizes are held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeOptions {
    /// How far a size may be from a given share, as a share of the rows, in [0, 1); default 0.
    pub slack: f64,
    /// How the labeled rows were chosen, where no shares are given; default auto.
    pub labels_drawn: LabelsDrawn,
}

/// Bounds on the sizes of classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeParams {
    /// Shares of the classes; default from the given labels.
    pub class_prior: ClassPrior,
    /// Slack, and how labels were drawn.
    pub options: SizeOptions,
}

/// Least and largest share of each class (c).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeBounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// Whether the shares are known rather than estimated.
    is_given: bool,
}

impl LabelsDrawn {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        let known = [("auto", Self::Auto), ("random", Self::Random), ("balanced", Self::Balanced)];
        parse_choice("labels_drawn", name, &known)
    }

    /// Never `Auto`: what the counts of the labels (c) say, if it was left to them.
    pub(crate) fn resolved(self, counts: &[usize]) -> Self {
        match self {
            Self::Auto if are_balanced(counts) => Self::Balanced,
            Self::Auto => Self::Random,
            known => known,
        }
    }
}

impl SizeOptions {
    /// Checks the slack.
    ///
    /// # Errors
    /// [`Error::Param`] unless it is in [0, 1).
    pub fn validate(&self) -> Result<()> {
        match (0.0..1.0).contains(&self.slack) {
            true => Ok(()),
            false => Err(Error::param("size_slack", self.slack, "at least 0 and below 1")),
        }
    }
}

/// Labels that are held to sizes.
#[derive(Debug)]
pub struct SizedLabeling {
    /// The rule with its new offsets.
    pub rule: Rule,
    /// What it makes of the scores.
    pub labeling: Labeling,
    /// Bounds and sizes, for a report.
    pub part: Value,
    /// Things to look at.
    pub warnings: Vec<String>,
}

impl SizeParams {
    /// Checks shares and slack for `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::Param`] for shares that are not positive, do not add up to 1 or are not one per class; for a slack outside [0, 1).
    pub fn validate(&self, n_classes: usize) -> Result<()> {
        self.class_prior.validate()?;
        self.class_prior.shares(&vec![0.0; n_classes])?;
        self.options.validate()
    }

    /// Labels of rows with `scores` (n, c), the offsets of `rule` moved so that every class gets its size; rows of NaN take no part.
    ///
    /// # Errors
    /// As [`SizeParams::validate`]; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(n·c) for each offset that is moved, two to five for each class on most scores.
    pub fn decide(&self, scores: Arc<Matrix>, mut rule: Rule, targets: &Targets, run: &Run) -> Result<SizedLabeling> {
        self.validate(targets.n_columns())?;
        if let ClassPrior::Given(_) = &self.class_prior {
            rule.prior = self.class_prior.shares(&rule.prior)?;
        }
        let (mut part, mut warnings) = (Value::Null, Vec::new());
        match self.bounds(targets)? {
            Some(bounds) => {
                let held = hold_sizes(&mut rule, &scores, &bounds, run)?;
                part = held.part(&bounds, 0);
                warnings.extend(held.warning());
            }
            None => warnings.push(NO_SIZES.into()),
        }
        let labeling = run.install(|| rule.apply(scores));
        Ok(SizedLabeling { rule, labeling, part, warnings })
    }

    /// The bounds for classes with so many labels; `None` where nothing is known about sizes.
    pub(crate) fn bounds(&self, targets: &Targets) -> Result<Option<SizeBounds>> {
        let counts = label_counts(targets);
        match &self.class_prior {
            ClassPrior::Given(_) => {
                let shares = self.class_prior.shares(&targets.mean())?;
                Ok(Some(SizeBounds::around(&shares, self.options.slack, &counts)))
            }
            ClassPrior::Labeled => match self.options.labels_drawn.resolved(&counts) {
                LabelsDrawn::Balanced => Ok(None),
                _ => Ok(Some(SizeBounds::of_labels(&counts))),
            },
        }
    }
}

impl SizeBounds {
    /// Given shares, more or less; classes without a label get no row, and their shares go to the others.
    fn around(shares: &[f64], slack: f64, counts: &[usize]) -> Self {
        let kept: f64 = shares.iter().zip(counts).filter(|(_, count)| **count > 0).map(|(share, _)| share).sum();
        let share = |(share, count): (&f64, &usize)| if *count > 0 { share / kept } else { 0.0 };
        let shares: Vec<f64> = shares.iter().zip(counts).map(share).collect();
        let lower = shares.iter().map(|share| (share - slack).max(0.0)).collect();
        let upper = shares.iter().map(|share| if *share > 0.0 { (share + slack).min(1.0) } else { 0.0 }).collect();
        Self { lower, upper, is_given: true }
    }

    /// Wilson intervals of the shares of labels that were drawn at random.
    fn of_labels(counts: &[usize]) -> Self {
        let n = counts.iter().sum::<usize>().max(1) as f64;
        let interval = |&count: &usize| {
            let (p, z) = (count as f64 / n, Z * Z / n);
            let middle = (p + z / 2.0) / (1.0 + z);
            let half = (z * (p * (1.0 - p) + z / 4.0)).sqrt() / (1.0 + z);
            if count > 0 { ((middle - half).max(0.0), (middle + half).min(1.0)) } else { (0.0, 0.0) }
        };
        let (lower, upper) = counts.iter().map(interval).unzip();
        Self { lower, upper, is_given: false }
    }
}

/// Labels of each class (c); soft labels count for their largest share.
pub(crate) fn label_counts(targets: &Targets) -> Vec<usize> {
    let mut counts = vec![0; targets.n_columns()];
    targets.values().rows().for_each(|row| counts[largest(row)] += 1);
    counts
}

/// Whether no component of the graph has more labels than chance gives it: four standard deviations, and three more.
pub(crate) fn are_spread(targets: &Targets, components: &Components) -> bool {
    let mut counts = vec![0usize; components.sizes.len()];
    targets.rows().iter().for_each(|&row| counts[components.id[row as usize] as usize] += 1);
    let share = targets.rows().len() as f64 / targets.n_samples() as f64;
    counts.iter().zip(&components.sizes).all(|(&count, &size)| {
        let expected = share * size as f64;
        count as f64 <= expected + 4.0 * expected.sqrt() + 3.0
    })
}

/// Whether the counts of the classes that have labels are more even than chance makes them: Pearson's χ² against equal
/// shares is below its 5 % quantile, or no two differ by more than 1.
fn are_balanced(counts: &[usize]) -> bool {
    let seen: Vec<f64> = counts.iter().filter(|count| **count > 0).map(|&count| count as f64).collect();
    let (least, most) =
        seen.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &count| (least.min(count), most.max(count)));
    if seen.len() < 2 || most - least <= 1.0 {
        return true;
    }
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let statistic: f64 = seen.iter().map(|count| (count - mean).powi(2) / mean).sum();
    // Wilson & Hilferty's approximation of the quantile.
    let freedom = (seen.len() - 1) as f64;
    let quantile = freedom * (1.0 - 2.0 / (9.0 * freedom) - Z * (2.0 / (9.0 * freedom)).sqrt()).max(0.0).powi(3);
    statistic < quantile
}

/// What [`hold_sizes`] found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    /// Rows of each class (c).
    pub sizes: Vec<usize>,
    /// Rows that a label reaches.
    pub n_reached: usize,
    /// Rows by which the size farthest outside its bounds misses them.
    pub miss: usize,
}

impl Held {
    /// What goes into a report.
    fn part(&self, bounds: &SizeBounds, rounds: usize) -> Value {
        json!({
            "from": if bounds.is_given { "class_prior" } else { "labels" },
            "least": limits(&bounds.lower, self.n_reached),
            "most": limits(&bounds.upper, self.n_reached),
            "found": self.sizes,
            "refinements": rounds,
        })
    }

    /// What is said if a size is missed by more than 1 % of the rows.
    fn warning(&self) -> Option<String> {
        let Self { miss, n_reached, .. } = self;
        (*miss as f64 > 0.01 * *n_reached as f64).then(|| {
            format!(
                "a class misses its size by {miss} of {n_reached} rows: so many rows have equal scores, which no offset tells \
                 apart"
            )
        })
    }
}

/// Changes the offsets of `rule` so that the sizes of the classes among the rows of `scores` (n, c) lie within `bounds`; rows of NaN
/// take no part.
///
/// Sizes that no offsets reach, because many rows have equal scores, stay as near as they come: see [`Held::miss`].
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn hold_sizes(rule: &mut Rule, scores: &Matrix, bounds: &SizeBounds, run: &Run) -> Result<Held> {
    let c = scores.n_cols();
    let mut best: Option<(Held, Vec<f64>)> = None;
    for _ in 0..=MOST_CHANGES * c {
        run.check()?;
        let sizes = run.install(|| class_counts(rule, scores));
        let n_reached = sizes.iter().sum::<usize>();
        let (lower, upper) = (limits(&bounds.lower, n_reached), limits(&bounds.upper, n_reached));
        let misses: Vec<usize> =
            (0..c).map(|k| lower[k].saturating_sub(sizes[k]).max(sizes[k].saturating_sub(upper[k]))).collect();
        let class = (1..c).fold(0, |worst, k| if misses[k] > misses[worst] { k } else { worst });
        let held = Held { n_reached, miss: misses[class], sizes };
        let wanted = if held.sizes[class] < lower[class] { lower[class] } else { upper[class] };
        let is_enough = held.miss <= ((n_reached as f64 * SIZE_TOL) as usize).max(1);
        if best.as_ref().is_none_or(|(known, _)| held.miss < known.miss) {
            best = Some((held, rule.offset.clone()));
        }
        if is_enough || !run.install(|| shift_to(rule, scores, class, wanted)) {
            break;
        }
    }
    let (held, offset) = best.unwrap_or((Held { sizes: vec![0; c], n_reached: 0, miss: 0 }, rule.offset.clone()));
    rule.offset = offset;
    Ok(held)
}

/// The rule with offsets that hold the sizes, and the sizes; `None` where such labels cut through dense parts of the graph, so that the
/// labels that the bounds come from can hardly have been drawn at random.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn hold_unless_cut(
    rule: &Rule,
    scores: &Matrix,
    bounds: &SizeBounds,
    graph: &Graph,
    run: &Run,
) -> Result<Option<(Rule, Held)>> {
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

/// Share of the edge weights that join rows of different labels.
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

/// Rows of each class (c) by `rule`.
fn class_counts(rule: &Rule, scores: &Matrix) -> Vec<usize> {
    let c = scores.n_cols();
    let blocks: Vec<Vec<usize>> = scores
        .values()
        .par_chunks((BLOCK_ROWS * c).max(1))
        .map(|rows| {
            let (mut counts, mut standing) = (vec![0; c], vec![0.0; c]);
            for row in rows.chunks_exact(c).filter(|row| !row.iter().any(|s| s.is_nan())) {
                rule.standing(row, &mut standing);
                counts[largest(&standing)] += 1;
            }
            counts
        })
        .collect();
    let mut counts = vec![0; c];
    blocks.iter().flatten().enumerate().for_each(|(at, count)| counts[at % c] += count);
    counts
}

/// Moves the offset of `class` so that it is the largest in `wanted` rows; whether that changed it.
fn shift_to(rule: &mut Rule, scores: &Matrix, class: usize, wanted: usize) -> bool {
    let c = scores.n_cols();
    if rule.scale[class] <= 0.0 {
        return false;
    }
    // What the class lacks in each row to be the largest.
    let mut lacks: Vec<f64> = scores
        .values()
        .par_chunks((BLOCK_ROWS * c).max(1))
        .flat_map_iter(|rows| {
            let mut standing = vec![0.0; c];
            let lack = |row: &[f64]| {
                if row.iter().any(|s| s.is_nan()) {
                    return None;
                }
                rule.standing(row, &mut standing);
                let own = std::mem::replace(&mut standing[class], f64::NEG_INFINITY);
                Some(standing.iter().fold(f64::NEG_INFINITY, |top, s| top.max(*s)) - own)
            };
            rows.chunks_exact(c).filter_map(lack).collect::<Vec<_>>()
        })
        .collect();
    let by = between(&mut lacks, wanted);
    if !by.is_finite() || by == 0.0 {
        return false;
    }
    rule.offset[class] -= by / rule.scale[class];
    true
}

/// A number above exactly `wanted` of the values, as far as ties allow: midway to the next one.
fn between(values: &mut [f64], wanted: usize) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let at = wanted.min(n - 1);
    let (below, next, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    let last = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (wanted >= n, last.is_finite()) {
        // All of them: just above the largest.
        (true, _) => *next + next.abs().max(f64::MIN_POSITIVE) * 1e-9,
        (false, true) => last + (*next - last) / 2.0,
        (false, false) => *next - next.abs().max(f64::MIN_POSITIVE) * 1e-9,
    }
}

/// Labels by sizes, of a fit that is otherwise complete: its rule, labeling and report; refined on the graph where the sizes are given.
pub(crate) fn decide<'a>(
    mut fitted: Fitted<'a>,
    problem: &Problem<'_, 'a>,
    bounds: &SizeBounds,
    run: &Run,
) -> Result<Fitted<'a>> {
    let mut report = std::mem::take(&mut fitted.report);
    let graph = problem.graph.or(fitted.graph.as_ref()).map(|affinity| &affinity.graph);
    let outcome = report.time("sizes", run, |_| -> Result<_> {
        let mut rule = fitted.rule.clone();
        let mut held = hold_sizes(&mut rule, &fitted.labeling.scores, bounds, run)?;
        let mut labeling = run.install(|| rule.apply(fitted.labeling.scores.clone()));
        let mut rounds = 0;
        // Scores of the random walk extend to new rows by neighbors only.
        let extends = fitted.extension.as_ref().is_none_or(|extension| extension.averages(labeling.labels.len()));
        if let Some(graph) = graph.filter(|_| bounds.is_given && extends) {
            let refined = refine(graph, problem.targets, &labeling.labels, &labeling.reached, bounds, &rule, run)?;
            (rule, held, rounds) = (refined.rule, refined.held, refined.rounds);
            labeling = run.install(|| rule.apply(Arc::new(refined.scores)));
        }
        Ok((rule, held, labeling, rounds))
    });
    let (rule, held, labeling, rounds) = outcome?;
    report.add_part("sizes", &held.part(bounds, rounds))?;
    report.warnings.extend(held.warning());
    if let Some(extension) = &mut fitted.extension {
        extension.replace_scores(&labeling.scores);
    }
    Ok(Fitted { labeling, rule, report, ..fitted })
}

struct Refined {
    scores: Matrix,
    rule: Rule,
    held: Held,
    rounds: usize,
}

/// Volume-constrained rounds from `labels` (n); scores are the random walk's shares, NaN where no label reaches.
fn refine(
    graph: &Graph,
    targets: &Targets,
    labels: &[u32],
    reached: &[bool],
    bounds: &SizeBounds,
    start: &Rule,
    run: &Run,
) -> Result<Refined> {
    let (n, c) = (labels.len(), targets.n_columns());
    let laplacian = SddMatrix::new(graph.adjacency(), vec![0.0; n])?;
    let mut rule =
        Rule { offset: vec![0.0; c], scale: start.scale.iter().map(|s| s.signum()).collect(), ..start.clone() };
    let mut labels = labels.to_vec();
    let (mut scores, mut product) = (Matrix::filled(n, c, 0.0), vec![0.0; n * c]);
    let mut held = Held { sizes: Vec::new(), n_reached: 0, miss: 0 };
    let mut rounds = 0;
    while rounds < ROUNDS {
        rounds += 1;
        set_one_hot(&mut scores, &labels, targets);
        for _ in 0..WALKS {
            run.check()?;
            run.install(|| walk(&laplacian, graph.degree(), targets, &mut scores, &mut product));
        }
        run.install(|| hide_unreached(&mut scores, reached));
        held = hold_sizes(&mut rule, &scores, bounds, run)?;
        let found = run.install(|| class_of_rows(&rule, &scores, &labels));
        if found == labels {
            break;
        }
        labels = found;
    }
    let temperature = run.install(|| typical_temperature(&rule, &scores, TYPICAL_CONFIDENCE));
    rule.temperature = Some(temperature);
    Ok(Refined { scores, rule, held, rounds })
}

fn set_one_hot(scores: &mut Matrix, labels: &[u32], targets: &Targets) {
    let c = scores.n_cols();
    scores.values_mut().par_chunks_mut(c).zip(labels).with_min_len(BLOCK_ROWS).for_each(|(row, &label)| {
        row.fill(0.0);
        row[label as usize] = 1.0;
    });
    hold_labels(scores, targets);
}

fn hold_labels(scores: &mut Matrix, targets: &Targets) {
    targets
        .rows()
        .iter()
        .zip(targets.values().rows())
        .for_each(|(&row, y)| scores.row_mut(row as usize).copy_from_slice(y));
}

/// One step of the random walk, U ← D⁻¹W·U = U − D⁻¹L·U; given labels and rows without edges stay.
fn walk(laplacian: &SddMatrix<'_>, degree: &[f64], targets: &Targets, scores: &mut Matrix, product: &mut [f64]) {
    let c = scores.n_cols();
    laplacian.apply(scores.values(), product, c);
    scores.values_mut().par_chunks_mut(c).zip(product.par_chunks(c)).zip(degree).with_min_len(BLOCK_ROWS).for_each(
        |((row, product), &degree)| {
            if degree > 0.0 {
                row.iter_mut().zip(product).for_each(|(u, lu)| *u -= lu / degree);
            }
        },
    );
    hold_labels(scores, targets);
}

fn hide_unreached(scores: &mut Matrix, reached: &[bool]) {
    let c = scores.n_cols();
    let rows = scores.values_mut().par_chunks_mut(c).zip(reached).with_min_len(BLOCK_ROWS);
    rows.filter(|(_, reached)| !**reached).for_each(|(row, _)| row.fill(f64::NAN));
}

/// The class of each row (n); rows that no label reaches keep the one they have.
fn class_of_rows(rule: &Rule, scores: &Matrix, labels: &[u32]) -> Vec<u32> {
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

/// A method whose labels are held to class sizes.
pub struct WithSizes {
    inner: Box<dyn Method>,
    params: SizeParams,
}

impl std::fmt::Debug for WithSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WithSizes").field("inner", &self.inner.name()).field("params", &self.params).finish()
    }
}

impl WithSizes {
    /// The method `inner`, its labels held to the sizes of `params`.
    ///
    /// # Errors
    /// [`Error::Param`] for shares that do not add up to 1, a slack outside its range, or a method without scores.
    pub fn new(inner: Box<dyn Method>, params: SizeParams) -> Result<Self> {
        params.class_prior.validate()?;
        params.options.validate()?;
        if inner.name() == crate::baselines::NEAREST_LABEL {
            let expected = "auto for nearest-label, which has no scores to shift";
            return Err(Error::param("decision", "sizes", expected));
        }
        Ok(Self { inner, params })
    }
}

impl Method for WithSizes {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn graph_params(&self) -> Option<&lapwing_graph::GraphParams> {
        self.inner.graph_params()
    }

    fn needs_features(&self) -> bool {
        self.inner.needs_features()
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        problem.check()?;
        self.params.validate(problem.targets.n_columns())?;
        let bounds = self.params.bounds(problem.targets)?;
        let mut fitted = self.inner.fit(problem, run)?;
        if let ClassPrior::Given(_) = &self.params.class_prior {
            fitted.rule.prior = self.params.class_prior.shares(&fitted.rule.prior)?;
        }
        match bounds {
            Some(bounds) => decide(fitted, problem, &bounds, run),
            None => {
                fitted.report.warnings.push(NO_SIZES.into());
                Ok(fitted)
            }
        }
    }

    fn reads_streams(&self) -> bool {
        self.inner.reads_streams()
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        self.inner.plan(size)
    }
}

/// What is said where sizes were asked for and nothing is known about them.
pub(crate) const NO_SIZES: &str = "labels look chosen evenly, about as many of every class, and say nothing about the \
    sizes of the classes: decided without sizes; give class_prior, or labels_drawn random if they were drawn at random";

#[cfg(test)]
mod tests;
