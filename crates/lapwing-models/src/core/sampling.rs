//! A sample of rows to fit, where not all rows can be held: the labeled rows, rows near them, rows drawn at random, and rows that none
//! of these are near.
//!
//! 1. Rows are drawn by a hash of their number, so that the sample is the same for any division of the rows into blocks.
//! 2. One pass over all rows finds rows near every labeled one, and rows that lie farther from the sample than rows of the
//!    sample are from each other. A row is *covered* if it is within reach of one of its nearest rows of the sample. A
//!    row of the sample reaches as far as its own k-th neighbor, times a factor of at most 2 that lets all rows of the sample but one in a
//!    thousand cover each other; the 1 % that lie alone reach no farther than others. A cluster of which no row was drawn is not covered.
//! 3. Of the rows that are not covered, those of the least hash join the sample.
//!
//! Cost: two passes over the rows; a visit to one cell of an index of the sample for each row; memory for the sample, twice.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::ops::Range;
use std::path::Path;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::rows::in_order;
use lapwing_core::{
    Error, Features, FittedScaling, Report, Result, RowReader, RowSource, Run, Scaling, Standardize, Targets,
    TermWeights, hash,
};
use lapwing_graph::{KnnParams, NeighborIndex, Neighbors};
use serde_json::{Value, json};

use super::expected::note_expected;
use super::extend::{HELD_BYTES, block_rows};
use super::held_out::folds::{NEVER, enough, in_turn, n_folds, stratified};
use super::held_out::{HeldOut, HeldOutSource};
use super::method::Method;
use super::plan::{Plan, PlanStep, Program, base_bytes};
use super::problem::{Problem, ProblemSize};
use super::row_fit::{Known, RowFit};
use super::scores::{largest, rows_at};
use super::stored::{features_of, store_features};

/// Neighbors of a labeled row that join the sample, and neighbors by which rows are covered.
const NEAR: usize = 15;
/// Share of the sample for rows that are not covered.
const FAR: f64 = 0.1;
/// Passes over the rows.
const PASSES: usize = 2;
/// Share of the rows without a label to which a method is fitted when labels are held out, and the most of them.
const HELD_OUT_SHARE: f64 = 1.0 / 3.0;
const HELD_OUT_ROWS: f64 = 30_000.0;
/// One in so many rows of a block are read one by one.
const FEW: usize = 64;
/// Rows that are fitted if memory does not hold all, at most and at least. On the curved mixture (ten classes, a million rows) a fit of
/// 300,000 rows is within .001 of a fit of all.
const MOST_FITTED: usize = 300_000;
const LEAST_FITTED: usize = 5_000;
/// Kind of the bytes that hold what was found.
const FOUND: &str = "rows-beside-a-sample";

/// Which rows are drawn at first, whatever they hold.
#[derive(Clone, Debug)]
pub struct Draw {
    labeled: Vec<u32>,
    share: f64,
    seed: u64,
    /// Whether other rows may join: so many near labeled ones, and so many that are not covered.
    compares: bool,
    n_near: usize,
    n_far: usize,
}

impl Draw {
    /// About `n_fit` of `n` rows, among them the rows `labeled`, ascending. `compares` says whether others may join.
    pub fn new(n: usize, labeled: &[u32], n_fit: usize, compares: bool, seed: u64) -> Self {
        let others = n_fit.saturating_sub(labeled.len());
        let [n_far, n_near] = match compares {
            true => [(FAR * others as f64) as usize, (NEAR * labeled.len()).min(others / 4)],
            false => [0, 0],
        };
        let share = if n_fit < n { (others - n_far - n_near) as f64 / n as f64 } else { 1.0 };
        let compares = compares && share < 1.0;
        Self { labeled: labeled.to_vec(), share, seed: hash::mix(seed), compares, n_near, n_far }
    }

    /// The drawn ones of the rows `rows`, ascending.
    pub fn of(&self, rows: Range<usize>) -> Vec<u32> {
        let is_drawn = |row: &u32| {
            hash::uniform(self.seed ^ u64::from(*row)) < self.share || self.labeled.binary_search(row).is_ok()
        };
        (rows.start as u32..rows.end as u32).filter(is_drawn).collect()
    }
}

/// What a pass over rows beside those drawn has found: rows near the labeled ones, and rows that are not covered.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The nearest rows of each labeled one with their distances, nearest first, by its place among the rows drawn.
    near: BTreeMap<u32, Vec<(f32, u32)>>,
    /// The rows of least hash that are not covered, with their hashes.
    chosen: BinaryHeap<(u64, u32)>,
    /// All rows that are not covered.
    far: Vec<u32>,
    /// The scaled features of rows that may join, and how many of them could when others were last dropped.
    kept: BTreeMap<u32, Features<'static>>,
    n_alive: usize,
}

impl Beside {
    /// Takes a row for a place among the nearest ones.
    fn offer(near: &mut Vec<(f32, u32)>, (distance, row): (f32, u32)) {
        let at = near.partition_point(|other| other.0.total_cmp(&distance).then(other.1.cmp(&row)).is_lt());
        near.insert(at, (distance, row));
        near.truncate(NEAR);
    }

    /// What was found, for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = ModelFile::new(FOUND, Value::Null);
        let near = self.near.iter().flat_map(|(place, near)| near.iter().map(|near| (*place, *near)));
        let (mut places, mut distances, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (distance, row)) in near {
            places.push(place);
            distances.push(distance);
            rows.push(row);
        }
        file.insert("near.places", &[places.len()], places)?;
        file.insert("near.distances", &[distances.len()], distances)?;
        file.insert("near.rows", &[rows.len()], rows)?;
        let chosen: Vec<u32> = self.chosen.iter().map(|chosen| chosen.1).collect();
        file.insert("chosen", &[chosen.len()], chosen)?;
        file.insert("far", &[self.far.len()], self.far.clone())?;
        let (kept, parts): (Vec<u32>, Vec<Features<'static>>) =
            self.kept.iter().map(|(row, features)| (*row, features.clone())).unzip();
        file.insert("kept", &[kept.len()], kept)?;
        if let Some(first) = parts.first() {
            store_features(&Features::stacked(&parts, first.n_cols())?, &mut file)?;
        }
        Ok(file.to_bytes())
    }

    /// Drops features of rows that others have displaced.
    fn drop_displaced(&mut self) {
        if self.kept.len() <= 2 * self.n_alive + 1024 {
            return;
        }
        let near = self.near.values().flatten().map(|near| near.1);
        let alive: HashSet<u32> = near.chain(self.chosen.iter().map(|chosen| chosen.1)).collect();
        self.kept.retain(|row, _| alive.contains(row));
        self.n_alive = self.kept.len();
    }
}

/// Compares rows with those that were drawn, to find others that join them.
#[derive(Clone, Debug)]
pub struct Search {
    draw: Draw,
    rows: Vec<u32>,
    /// Whether each of these has a label.
    is_labeled: Vec<bool>,
    /// The rows drawn, scaled.
    base: Features<'static>,
    scaling: FittedScaling,
    cover: Option<Cover>,
}

impl Search {
    /// Takes the rows `rows` that were drawn, all of them, with their features.
    ///
    /// # Errors
    /// [`Error::Columns`] for values that are not finite; [`Error::Interrupted`].
    pub fn new(
        draw: Draw,
        rows: Vec<u32>,
        features: Features<'static>,
        standardize: Standardize,
        run: &Run,
    ) -> Result<Self> {
        features.check(run)?;
        let scaling = Scaling::fit(&features, standardize, TermWeights::Off, run)?;
        let base = scaled(&scaling.scaling, features, run)?;
        let cover = if draw.compares { Cover::new(&base, &run.quiet())? } else { None };
        let is_labeled = rows.iter().map(|row| draw.labeled.binary_search(row).is_ok()).collect();
        Ok(Self { draw, rows, is_labeled, base, scaling, cover })
    }

    /// Whether no other rows may join, which need not be looked at then; so it is with sparse rows.
    pub fn is_done(&self) -> bool {
        self.cover.is_none()
    }

    /// Compares the rows of `block`, the first of which is row `first`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn compare(&self, first: usize, block: Features<'static>, run: &Run) -> Result<Beside> {
        let mut found = Beside::default();
        let Some(cover) = &self.cover else { return Ok(found) };
        let block = scaled(&self.scaling.scaling, block, run)?;
        let of = cover.of(&block, &run.quiet());
        let (covered, neighbors) = of.map_err(|error| error.at_rows("features", |row| first + row))?;
        let drawn = self.draw.of(first..first + block.n_rows());
        for (at, row) in (first as u32..).take(block.n_rows()).enumerate() {
            if drawn.binary_search(&row).is_ok() {
                continue;
            }
            for (place, distance) in neighbors.row(at).filter(|(place, _)| self.is_labeled[*place as usize]) {
                Beside::offer(found.near.entry(place).or_default(), (distance, row));
            }
            if !covered[at] {
                self.choose(&mut found, row);
                found.far.push(row);
            }
        }
        let near = found.near.values().flatten().map(|near| near.1);
        let rows: BTreeSet<u32> = near.chain(found.chosen.iter().map(|chosen| chosen.1)).collect();
        for row in rows {
            found.kept.insert(row, block.select(&[row - first as u32])?);
        }
        Ok(found)
    }

    /// Joins what was found in other rows to `all`; the order does not matter.
    pub fn join(&self, all: &mut Beside, other: Beside) {
        for (place, near) in other.near {
            let own = all.near.entry(place).or_default();
            near.into_iter().for_each(|near| Beside::offer(own, near));
        }
        other.chosen.into_iter().for_each(|chosen| self.choose(all, chosen.1));
        all.far.extend(other.far);
        all.kept.extend(other.kept);
        all.drop_displaced();
    }

    /// What [`Beside::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Format`] for other bytes.
    pub fn found(&self, bytes: &[u8]) -> Result<Beside> {
        let file = ModelFile::from_bytes(bytes, FOUND)?;
        file.expect_kind(&[FOUND])?;
        let rows = |name: &str| -> Result<Vec<u32>> { Ok(file.array::<u32>(name, &[None])?.1.as_slice().to_vec()) };
        let (places, near) = (rows("near.places")?, rows("near.rows")?);
        let n = Some(places.len());
        let distances = file.numbers::<f32>("near.distances", &[n], Must::Finite)?.1;
        let mut found = Beside { far: rows("far")?, ..Beside::default() };
        for ((place, row), distance) in places.into_iter().zip(near).zip(distances.as_slice()) {
            found.near.entry(place).or_default().push((*distance, row));
        }
        rows("chosen")?.into_iter().for_each(|row| self.choose(&mut found, row));
        let kept = rows("kept")?;
        if !kept.is_empty() {
            let features = features_of(&file)?;
            for (at, row) in kept.into_iter().enumerate() {
                found.kept.insert(row, features.select(&[at as u32])?);
            }
        }
        Ok(found)
    }

    fn choose(&self, found: &mut Beside, row: u32) {
        found.chosen.push((hash::mix(!self.draw.seed ^ u64::from(row)), row));
        if found.chosen.len() > self.draw.n_far {
            found.chosen.pop();
        }
    }

    /// The sample: the rows drawn, and those found.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn sample(self, mut found: Beside) -> Result<Sample> {
        // The nearest row of every labeled one first, then the second, and so on.
        let ranks = (0..NEAR).flat_map(|rank| found.near.values().filter_map(move |near| near.get(rank)));
        let mut more = BTreeSet::new();
        for &(_, row) in ranks {
            if more.len() == self.draw.n_near {
                break;
            }
            more.insert(row);
        }
        let near = more.iter().copied().collect();
        more.extend(found.chosen.iter().map(|chosen| chosen.1));
        let joined: Vec<Features<'static>> = more.iter().filter_map(|row| found.kept.remove(row)).collect();
        let joined = Features::stacked(&joined, self.base.n_cols())?;
        let (rows, features) = merged((self.rows, self.base), (more.into_iter().collect(), joined))?;
        found.far.sort_unstable();
        let n_far_taken = found.chosen.len();
        Ok(Sample { rows, features, scaling: self.scaling, near, n_far_taken, far: found.far })
    }
}

/// A sample of the rows of a source.
#[derive(Debug)]
pub struct Sample {
    /// Rows, ascending.
    pub rows: Vec<u32>,
    /// Their features, scaled.
    pub features: Features<'static>,
    /// How they were scaled.
    pub scaling: FittedScaling,
    /// Rows near labeled ones that joined the sample, ascending.
    pub near: Vec<u32>,
    /// Rows that were not covered, ascending.
    pub far: Vec<u32>,
    /// How many of them joined the sample.
    pub n_far_taken: usize,
}

impl Sample {
    /// The rows of `source` that `draw` says, and those that join them.
    ///
    /// # Errors
    /// [`Error::Columns`] for values that are not finite; what the source cannot do; [`Error::Interrupted`].
    pub(crate) fn draw(source: &dyn RowSource, draw: Draw, standardize: Standardize, run: &Run) -> Result<Self> {
        let n = source.n_rows();
        let rows = draw.of(0..n);
        let drawn = hold(source, &rows, &run.part(0.0..0.3, "rows drawn"))?;
        let search = Search::new(draw, rows, drawn, standardize, &run.quiet())?;
        let mut found = Beside::default();
        if search.is_done() {
            return search.sample(found);
        }
        let run = run.part(0.3..1.0, "rows compared with the sample");
        let make = |_: &mut (), reader: &mut Box<dyn RowReader + '_>, rows: Range<usize>| {
            search.compare(rows.start, reader.hold(rows.len(), &run)?, &run)
        };
        in_order(
            source,
            |first| source.open(first, &[], &run),
            (0..n, block_rows(source.n_cols())),
            &run,
            || (),
            make,
            |_, other| {
                search.join(&mut found, other);
                Ok(())
            },
        )?;
        search.sample(found)
    }
}

/// Tells rows that are near a sample from those that are beyond it.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    pub features: Features<'static>,
    params: KnnParams,
    index: NeighborIndex,
    reach: Vec<f32>,
}

impl Cover {
    /// Takes the sample; `None` if its rows are sparse, for which there is no index, or fewer than two.
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    pub fn new(sample: &Features<'static>, run: &Run) -> Result<Option<Self>> {
        if matches!(sample, Features::Sparse(_)) || sample.n_rows() < 2 {
            return Ok(None);
        }
        let params = KnnParams { n_neighbors: NEAR.min(sample.n_rows() - 1), ..KnnParams::default() };
        let index = NeighborIndex::build(sample, &params, run)?;
        let reach = index.reach(sample, &params, run)?;
        Ok(Some(Self { features: sample.clone(), params, index, reach }))
    }

    /// Whether each row is near the sample, and the nearest rows of the sample that were found for it, roughly.
    ///
    /// # Errors
    /// As [`NeighborIndex::query`].
    pub fn of(&self, new: &Features<'_>, run: &Run) -> Result<(Vec<bool>, Neighbors)> {
        self.index.covers(&self.features, new, &self.reach, &self.params, run)
    }
}

fn scaled(scaling: &Scaling, features: Features<'static>, run: &Run) -> Result<Features<'static>> {
    Ok(scaling.apply(&features, run)?.unwrap_or(features))
}

/// The rows `rows`, ascending, in the type that keeps their values.
fn hold(source: &dyn RowSource, rows: &[u32], run: &Run) -> Result<Features<'static>> {
    let mut parts = Vec::new();
    let open = |first: usize| source.open(first, &[], run);
    let make = |_: &mut (), reader: &mut Box<dyn RowReader + '_>, block: Range<usize>| {
        let start = rows.partition_point(|&row| (row as usize) < block.start);
        let end = rows.partition_point(|&row| (row as usize) < block.end);
        let places: Vec<u32> = rows[start..end].iter().map(|&row| row - block.start as u32).collect();
        if places.len() * FEW > block.len() {
            reader.hold(block.len(), run)?.select(&places)
        } else {
            few(reader, &places, block.len(), run)
        }
    };
    in_order(
        source,
        open,
        (0..source.n_rows(), block_rows(source.n_cols())),
        run,
        || (),
        make,
        |_, part: Features<'static>| {
            parts.push(part);
            Ok(())
        },
    )?;
    Features::stacked(&parts, source.n_cols())
}

/// Some rows at the places `places`, ascending, of the next `n` of a reader, in parts of one row.
fn few(reader: &mut Box<dyn RowReader + '_>, places: &[u32], n: usize, run: &Run) -> Result<Features<'static>> {
    let (mut parts, mut next) = (Vec::with_capacity(places.len()), 0);
    let pass = |reader: &mut Box<dyn RowReader + '_>, n_rows: usize| -> Result<()> {
        if n_rows > 0 && !reader.skip(n_rows, run)? {
            reader.hold(n_rows, run)?;
        }
        Ok(())
    };
    for &place in places {
        pass(reader, place as usize - next)?;
        parts.push(reader.hold(1, run)?);
        next = place as usize + 1;
    }
    pass(reader, n - next)?;
    if parts.is_empty() {
        parts.push(reader.hold(0, run)?);
    }
    let d = parts.first().map_or(0, Features::n_cols);
    Features::stacked(&parts, d)
}

/// Rows of two parts in ascending order.
fn merged(
    (rows, features): (Vec<u32>, Features<'static>),
    (more, found): (Vec<u32>, Features<'static>),
) -> Result<(Vec<u32>, Features<'static>)> {
    if more.is_empty() {
        return Ok((rows, features));
    }
    let all: Vec<u32> = rows.iter().chain(&more).copied().collect();
    let mut order: Vec<u32> = (0..all.len() as u32).collect();
    order.sort_unstable_by_key(|&at| all[at as usize]);
    let d = features.n_cols();
    let features = Features::stacked(&[features, found], d)?.select(&order)?;
    let rows = order.iter().map(|&at| all[at as usize]).collect();
    if features.n_rows() == order.len() {
        Ok((rows, features))
    } else {
        Err(Error::shape("the sample", order.len(), features.n_rows()))
    }
}

/// Rows to label, and how many of them are fitted.
#[derive(Clone, Copy)]
pub struct RowProblem<'p> {
    /// The rows.
    pub source: &'p dyn RowSource,
    /// Given labels.
    pub targets: &'p Targets,
    /// Rows that are fitted, about; all labeled rows are among them.
    pub fit_rows: usize,
    /// Whether columns are scaled.
    pub standardize: Standardize,
    /// Where a fit to a sample is kept until it is no longer needed, with what identifies the method, its parameters and the rows.
    pub checkpoint: Option<(&'p Path, &'p str)>,
}

impl<'p> RowProblem<'p> {
    /// All rows of `source` with their labels, not scaled.
    pub fn new(source: &'p dyn RowSource, targets: &'p Targets) -> Self {
        Self { source, targets, fit_rows: usize::MAX, standardize: Standardize::Off, checkpoint: None }
    }
}

/// About `n_fit` rows of a source: the rows `labeled`, ascending, rows near them, rows drawn at random, and some that none of these are near.
///
/// # Errors
/// [`Error::Columns`] for values that are not finite; what the source cannot do; [`Error::Interrupted`].
///
/// # Complexity
/// Two passes over the rows.
pub fn draw_sample(
    source: &dyn RowSource,
    labeled: &[u32],
    n_fit: usize,
    standardize: Standardize,
    run: &Run,
) -> Result<Sample> {
    Sample::draw(source, Draw::new(source.n_rows(), labeled, n_fit, true, run.seed), standardize, run)
}

/// The plan of [fitting](crate::fit_rows) a sample of about `fit_rows` rows and labeling all, of a problem of that size.
pub fn plan_rows(method: &dyn Method, size: &ProblemSize, fit_rows: usize) -> Plan {
    if fit_rows >= size.n_samples {
        return method.plan(size);
    }
    let (part, d) = (size.part(fit_rows), size.n_features);
    let fit = method.plan(&part);
    let base = base_bytes(Program::Graph, &part);
    // Rows of an index, and those of a block for each thread: as they are, scaled, and with their neighbors.
    let indexed = if size.sparse { 0 } else { 4 * part.n_samples * d };
    let blocks = size.threads * block_rows(d) * (12 * d + 24 * NEAR);
    let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: bytes as u64 };
    let mut steps = vec![step("sample", base + 2 * part.input_bytes + indexed + blocks)];
    steps.extend(fit.steps);
    // The model has its own rows; labels wait to be written.
    let model = 2 * part.input_bytes + 2 * indexed + 16 * part.n_samples * size.n_classes.max(2);
    steps.push(step("write", base + model + blocks + HELD_BYTES));
    let passes = if method.reads_rows() { 2 } else { 3 };
    Plan::from_steps(Program::Graph, size.n_samples, fit.n_edges, passes, steps)
}

/// Rows to fit of a problem of that size, if `free` bytes of memory do not hold a fit of all.
pub fn rows_that_fit(method: &dyn Method, size: &ProblemSize, free: u64) -> usize {
    let mut rows = MOST_FITTED.min(size.n_samples);
    while rows > LEAST_FITTED && plan_rows(method, size, rows).peak_bytes > free {
        rows /= 2;
    }
    rows
}

/// Fits a method on a sample of the rows.
pub(crate) fn fit(method: &(impl Method + ?Sized), problem: &RowProblem<'_>, run: &Run) -> Result<RowFit> {
    let RowProblem { source, targets, .. } = *problem;
    let n = source.n_rows();
    if targets.n_samples() != n {
        return Err(Error::shape("features", format!("{} rows, as there are labels", targets.n_samples()), n));
    }
    let mut report = Report::new(method.name(), n, Some(source.n_cols()), targets.rows().len());
    let steps = (PASSES * n) as u64;
    // A method that sums over rows has no use for rows that were chosen.
    let draw = Draw::new(n, targets.rows(), problem.fit_rows, !method.reads_rows(), run.seed);
    let draw = |_: &mut Report| Sample::draw(source, draw, problem.standardize, run);
    let sample = report.time_steps("sample", steps, run, draw)?;
    fit_drawn(method, sample, targets, report, run)
}

/// Fits a method to a sample of rows that lie elsewhere. `targets` are those of all rows.
///
/// # Errors
/// As [`Method::fit`].
pub fn fit_sample(method: &dyn Method, sample: Sample, targets: &Targets, run: &Run) -> Result<RowFit> {
    let (n, d) = (targets.n_samples(), sample.features.n_cols());
    let report = Report::new(method.name(), n, Some(d), targets.rows().len());
    fit_drawn(method, sample, targets, report, run)
}

fn fit_drawn(
    method: &(impl Method + ?Sized),
    sample: Sample,
    targets: &Targets,
    mut report: Report,
    run: &Run,
) -> Result<RowFit> {
    let n = targets.n_samples();
    let Sample { rows, features, scaling, near, far, n_far_taken } = sample;
    let (n_near, n_far) = (near.len(), far.len());
    let place = |row: &u32| rows.binary_search(row).map(|at| at as u32);
    let places = targets.rows().iter().map(place).collect::<std::result::Result<Vec<u32>, _>>();
    let places = places.map_err(|_| Error::Internal { reason: "a sample without a labeled row".into() })?;
    let moved = targets.moved(rows.len(), places)?;
    // Rows near a label that is held out would not be there if it were not known.
    let others: Vec<u32> =
        (0..rows.len() as u32).filter(|&at| near.binary_search(&rows[at as usize]).is_err()).collect();
    let held_out = report.time("hold out", run, |_| held_out(method, &features, &others, &moved, run))?;
    let problem = Problem { features: Some(&features), ..Problem::new(&moved) };
    let fitted = method.fit(&problem, run)?;
    scaling.describe(&mut report);
    let (n_labeled, own) = (report.n_labeled, fitted.report);
    report.join(own);
    (report.n_samples, report.n_labeled) = (n, n_labeled);
    report.add_part(
        "sample",
        &json!({ "n_rows": rows.len(), "n_near": n_near, "n_far": n_far, "n_far_taken": n_far_taken }),
    )?;
    let held_out = held_out.map(|held_out| held_out.at(|at| rows[at as usize]));
    note_expected(&mut report, held_out.as_ref());
    let missing = || Error::Internal { reason: format!("{} labels no new rows", method.name()) };
    let extension = fitted.extension.ok_or_else(missing)?.owned()?;
    extension.prepare(&run.quiet())?;
    let cover = if far.is_empty() { None } else { Cover::new(&features, &run.quiet())?.map(Box::new) };
    let known = Known::Sample { rows, labeling: fitted.labeling, far, cover };
    Ok(RowFit { scaling: scaling.scaling, extension, rule: fitted.rule, held_out, report, known })
}

/// Class shares of labels that were held out with their rows, and predicted as new rows are. To save time, each fold is fitted to a third of
/// the rows `others`, and no more than 30,000, besides the labeled ones; so the accuracy is rather too low than too high.
fn held_out(
    method: &(impl Method + ?Sized),
    features: &Features<'_>,
    others: &[u32],
    targets: &Targets,
    run: &Run,
) -> Result<Option<HeldOut>> {
    let Some(folds) = stratified(targets, run) else { return Ok(None) };
    let folds = enough(folds);
    let seed = hash::mix(!run.seed);
    let share = HELD_OUT_SHARE.min(HELD_OUT_ROWS / others.len() as f64);
    let shares = in_turn(targets, &folds, run, |kept, fold, run| {
        let own = fold.rows(targets);
        let is_kept = |row: &u32| kept.rows().binary_search(row).is_ok();
        let is_fitted = |row: &u32| {
            is_kept(row) || (own.binary_search(row).is_err() && hash::uniform(seed ^ u64::from(*row)) < share)
        };
        let rows: Vec<u32> = others.iter().copied().filter(is_fitted).collect();
        let places = (0..rows.len() as u32).filter(|&at| is_kept(&rows[at as usize])).collect();
        let (fitted_rows, moved) = (features.select(&rows)?, kept.moved(rows.len(), places)?);
        let fitted = method.fit(&Problem { features: Some(&fitted_rows), ..Problem::new(&moved) }, &run.quiet())?;
        let missing = || Error::Internal { reason: format!("{} labels no new rows", method.name()) };
        let extended = fitted.extension.ok_or_else(missing)?.extend(&features.select(&own)?, &run.quiet())?;
        Ok(run.install(|| fitted.rule.apply_with_errors(extended))?.label_distributions)
    })?;
    let held: Vec<usize> = (0..folds.len()).filter(|&at| folds[at] != NEVER).collect();
    let classes = held.iter().map(|&at| largest(targets.values().row(at)) as u32).collect();
    let rows = held.iter().map(|&at| targets.rows()[at]).collect();
    let source = HeldOutSource::Folds(n_folds(&folds));
    Ok(Some(HeldOut { rows, classes, shares: rows_at(&shares, held.into_iter()), source, values: None }))
}

#[cfg(test)]
mod tests;
