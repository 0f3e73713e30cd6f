//! Approximate neighbors by overlapping partitions: ball carving, all pairs within the leaves, neighbors of neighbors.
//!
//! 1. Rows become words for the kernels ([`crate::knn::kernels::element`]): bytes stay bytes, long rows are rounded to bytes if that
//!    hardly changes the order of neighbors, others are f32.
//! 2. Carving ([`crate::knn::partitions::carve`]): each row joins a few leaves of some hundred rows near it. Rows are then renumbered by
//!    the leaf they are at home in, so that neighbors lie side by side in memory in the later steps.
//! 3. In each leaf all pairs are compared ([`crate::knn::kernels::tile`]).
//! 4. Rows are compared with the neighbors of their neighbors ([`crate::knn::partitions::polish`]), once or twice; the second
//!    time only along edges that are new.
//! 5. Where the recall measured on a sample falls short, 2–4 again with other leaders, which add independent misses.
//!
//! In the end the candidates are re-ranked by exact distances of the rows as they were given.
//!
//! Cost: about n · 3000 · d multiplications for a recall of .99 on data of intrinsic dimension 10, at the speed of
//! matrix products, and n · 200 insertions into sorted lists, which weigh as much for short rows. Memory: the words, 8
//! bytes for each place of a list, 4 for each place in a leaf or neighbor in a snapshot. Parallel over leaves and rows;
//! lists do not depend on the order candidates arrive in.

pub(crate) mod carve;
pub(crate) mod polish;

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Dense, Features, Result, Run, Stream};
use rand::seq::index;

use crate::knn::distance::Distances;
use crate::knn::kernels::element::{Bytes, Element};
use crate::knn::kernels::lists::{EMPTY, SharedLists, distance_of, id_of, key, shared_lists};
use crate::knn::kernels::points::{ByteSource, FloatSource, Panels, Points, RoundedSource, Source};
use crate::knn::kernels::tile::{Leaf, assign, join};
use crate::knn::partitions::carve::{Assign, CarveParams, Partition};
use crate::knn::partitions::polish::{Degrees, Snapshot, polish};
use crate::knn::recall::Truth;
use crate::knn::rows::Frame;
use crate::knn::{KnnParams, KnnReport, Metric, Neighbors, exact};

/// Most rows of a leaf, unless very many neighbors are wanted.
const LEAF: usize = 440;
/// Most neighbors for which partitions are made: leaves hold eight times as many rows.
pub(crate) const MOST_NEIGHBORS: usize = 125;
/// Most leaders of one set.
const LEADERS: usize = 280;
/// From this many columns on rows are rounded to bytes.
const ROUNDED_COLUMNS: usize = 16;
/// Most rounding error of a distance, as a share of the distance to the last neighbor.
const ROUNDED_ERROR: f64 = 0.02;
/// Leaves that each row joins at the first two levels. With more, the leaves cost more than they save in rounds over neighbors;
/// with fewer, a round has too many neighbors to find.
pub(crate) const FANOUT: [usize; 2] = [4, 2];
/// Above this recall, lists of rounded distances need more places: rounding may swap rows at the end of a list.
const HIGH_RECALL: f64 = 0.96;
/// Share of missing neighbors up to which a first round over a few neighbors finds enough.
const SMALL_GAP: f64 = 0.05;
/// Most multiplications of an exact search, some minutes, that replaces partitions below their target recall. If it would take
/// more, the result of the partitions stays, with its recall in the report.
const MOST_EXACT_WORK: f64 = 2e13;
/// Most repetitions.
const REPETITIONS: usize = 10;
/// Most rounds over neighbors of neighbors after each partition.
const ROUNDS: usize = 3;
/// Share of the time for the neighbors of a sample, and for the search; the rest is for what is made of the neighbors.
const SAMPLED: Range<f64> = 0.0..0.05;
const FOUND: Range<f64> = 0.05..0.95;
/// The same within a search: repetitions, of which each is expected to take a fifth of what is left, and the final ranking.
const REPEATED: f64 = 0.95;
const LEFT: f64 = 0.2;
/// The same within a repetition: carving, leaves, and rounds over neighbors.
const CARVED: Range<f64> = 0.0..0.3;
const JOINED: Range<f64> = 0.3..0.6;
const POLISHED: Range<f64> = 0.6..1.0;

/// Places of a list: k + 1, so that a rounded distance at the end does not decide, and more where all distances are
/// rounded and the target recall is high.
pub(crate) fn list_width(k: usize, is_rounded: bool, recall_target: f64) -> usize {
    (k + if is_rounded && recall_target > HIGH_RECALL { 6 } else { 1 })
        .next_multiple_of(crate::knn::kernels::lists::STEP)
}

/// Whether rows of `d` columns may be rounded to bytes.
pub(crate) fn may_round(d: usize) -> bool {
    (ROUNDED_COLUMNS..=Bytes::MOST_COLUMNS).contains(&d)
}

/// The k nearest neighbors of every row, to the target recall.
pub(crate) fn search(
    features: &Features<'_>,
    dense: &Dense<'_>,
    params: &KnnParams,
    run: &Run,
) -> Result<(Neighbors, KnnReport)> {
    let n = dense.n_rows();
    let distances = Distances::new(features, features, params.metric());
    let found = match ByteSource::from_dense(dense) {
        Some(source) if params.metric() == Metric::Euclidean => {
            let truth = Truth::new(&source, &distances, params, &run.part(SAMPLED, ""))?;
            PartitionSearch { source, truth, distances: &distances, params, is_rounded: false }
                .find(&run.part(FOUND, ""))?
        }
        _ => find_floats(dense, &distances, params, run)?,
    };
    let is_affordable = n as f64 * n as f64 * dense.n_cols() as f64 <= MOST_EXACT_WORK;
    match found {
        Some((neighbors, report)) if report.recall >= params.recall_target || !is_affordable => Ok((neighbors, report)),
        // Partitions do not pay, because the intrinsic dimension is too high.
        _ => Ok((exact::search(features, features, true, params, run)?, KnnReport::exact())),
    }
}

/// The search over rows that are not bytes: rounded to bytes if that is precise enough, and as f32 if not or if that fails.
fn find_floats(dense: &Dense<'_>, distances: &Distances<'_>, params: &KnnParams, run: &Run) -> Result<Found> {
    let frame = Frame::new(dense, params.metric(), run);
    let rows = || FloatSource { dense, frame: &frame };
    let mut truth = Truth::new(&rows(), distances, params, &run.part(SAMPLED, ""))?;
    if may_round(dense.n_cols()) {
        let scale = byte_scale(&rows(), run)?;
        if is_precise(scale, &truth) {
            let source = RoundedSource { rows: rows(), scale };
            let search = PartitionSearch { source, truth, distances, params, is_rounded: true };
            let found = search.find(&run.part(FOUND, ""))?;
            if found.as_ref().is_some_and(|(_, report)| report.recall >= params.recall_target) {
                return Ok(found);
            }
            truth = search.truth;
            // The progress begins anew, too.
            run.progress().expect(0);
        }
    }
    PartitionSearch { source: rows(), truth, distances, params, is_rounded: false }.find(&run.part(FOUND, ""))
}

/// Whether rows that are rounded to bytes, `scale` to a unit of length, have nearly the same neighbors.
pub(crate) fn is_precise(scale: f32, truth: &Truth) -> bool {
    // Two values, each rounded to a multiple of 1/scale, differ by that much more or less (standard deviation).
    (1.0 / 6f64).sqrt() / f64::from(scale) <= ROUNDED_ERROR * truth.typical
}

/// Bytes per unit of length such that the largest value of some rows fits; larger ones are cut off.
pub(crate) fn byte_scale(rows: &FloatSource<'_>, run: &Run) -> Result<f32> {
    const SAMPLE: usize = 2000;
    let sample = index::sample(&mut run.rng(Stream::Projection, 0), rows.n_rows(), SAMPLE.min(rows.n_rows()));
    let mut values = vec![0f32; rows.width()];
    let mut most = 0f32;
    for row in sample {
        rows.copy(row, &mut values)?;
        most = values.iter().fold(most, |most, x| most.max(x.abs()));
    }
    Ok(127.0 / most.max(f32::MIN_POSITIVE * 127.0))
}

impl<E: Element> Assign for Points<E> {
    fn n_rows(&self) -> usize {
        self.n
    }

    fn assign(&self, ids: &[u32], leaders: &[u32], nearest: &mut [u16]) {
        let mut panels = Panels::default();
        panels.fill(self, leaders);
        assign(self, ids, &panels, nearest);
    }
}

/// Neighbors and report of the search; `None` if a row has too few neighbors.
type Found = Option<(Neighbors, KnnReport)>;

struct PartitionSearch<'a, S> {
    source: S,
    truth: Truth,
    distances: &'a Distances<'a>,
    params: &'a KnnParams,
    /// Whether rows were rounded to bytes.
    is_rounded: bool,
}

impl<S: Source> PartitionSearch<'_, S> {
    /// Partitions and rounds over neighbors until the recall reaches its target, or would not in five more partitions.
    fn find(&self, run: &Run) -> Result<Found> {
        let target = self.params.recall_target;
        let share = |repetitions: usize| REPEATED * (1.0 - LEFT.powi(repetitions as i32));
        let part = |repetitions: usize| {
            let name = if repetitions == 0 { String::new() } else { format!("repetition {}", repetitions + 1) };
            run.part(share(repetitions)..share(repetitions + 1), &name)
        };
        let (partition, order) = self.first_partition(&part(0).part(CARVED, "rows carved"))?;
        let mut partition = Some(partition);
        let points = Points::prepare(&self.source, Some(&order.rows), run)?;
        let width = list_width(self.params.n_neighbors, self.is_rounded, target);
        let mut lists = shared_lists(points.n, width);
        let mut report = KnnReport { method: "partitions", recall: 0.0, ..KnnReport::exact() };
        let mut snapshot = None;
        while let Some(joined) = partition.take() {
            let before = report.recall;
            let own = part(report.repetitions);
            report.repetitions += 1;
            self.join(&points, &joined, &lists, &own.part(JOINED, ""))?;
            drop(joined);
            self.polish(&points, &mut lists, &order, &mut report, &mut snapshot, &own.part(POLISHED, ""))?;
            // Each repetition gains less than the one before: stop if five more like this one would not reach the target.
            let is_in_sight = report.recall - before >= (target - report.recall) / 5.0;
            if report.recall < target && is_in_sight && report.repetitions < REPETITIONS {
                let own = part(report.repetitions).part(CARVED, "rows carved");
                partition = Some(Partition::carve(&points, &self.carving(), report.repetitions as u64 + 1, &own)?);
            }
        }
        drop((points, snapshot));
        let neighbors = self.finish(lists, &order, &run.part(REPEATED..1.0, ""))?;
        let is_complete = neighbors.are_full();
        Ok(is_complete.then_some((neighbors, report)))
    }

    fn carving(&self) -> CarveParams {
        let leaf = LEAF.max(8 * self.params.n_neighbors);
        CarveParams { leaf, fanout: FANOUT.to_vec(), leaders: LEADERS }
    }

    /// The first partition and the order of rows by its leaves. The leaves then hold places in that order, not row numbers.
    fn first_partition(&self, run: &Run) -> Result<(Partition, Order)> {
        let points = Points::prepare(&self.source, None, run)?;
        let mut partition = Partition::carve(&points, &self.carving(), 1, run)?;
        let order = Order::new(&partition, points.n);
        run.install(|| partition.ids.par_iter_mut().for_each(|id| *id = order.places[*id as usize]));
        Ok((partition, order))
    }

    /// Compares all pairs of each leaf.
    fn join(&self, points: &Points<S::Element>, partition: &Partition, lists: &SharedLists, run: &Run) -> Result<()> {
        let rows = run.counter(points.n, "rows joined");
        run.install(|| {
            (0..partition.n_leaves()).into_par_iter().try_for_each_init(Leaf::default, |leaf, at| {
                run.check()?;
                let ids = partition.leaf(at);
                join(leaf, points, ids, lists);
                rows.add(partition.homes[at] as usize);
                Ok(())
            })
        })
    }

    /// Rounds over neighbors of neighbors while the recall is short of its target and grows; `snapshot` is the graph of the last
    /// round.
    fn polish(
        &self,
        points: &Points<S::Element>,
        lists: &mut SharedLists,
        order: &Order,
        report: &mut KnnReport,
        snapshot: &mut Option<Snapshot>,
        run: &Run,
    ) -> Result<()> {
        let target = self.params.recall_target;
        self.measure(lists, order, report, run);
        for round in 0..ROUNDS {
            let before = report.recall;
            if before >= target {
                break;
            }
            let is_close = target - before < SMALL_GAP && snapshot.is_none();
            let degrees = if is_close { Degrees::few } else { Degrees::full }(self.params.n_neighbors);
            let graph = Snapshot::new(lists, degrees, snapshot.as_ref(), run)?;
            polish(points, lists, &graph, &run.part_of(round, ROUNDS, ""))?;
            *snapshot = Some(graph);
            self.measure(lists, order, report, run);
            if report.recall - before < (target - report.recall) / 2.0 {
                break;
            }
        }
        Ok(())
    }

    fn measure(&self, lists: &mut SharedLists, order: &Order, report: &mut KnnReport, run: &Run) {
        let (width, k) = (lists.width(), self.params.n_neighbors);
        let keys = &*lists.as_mut_slice();
        let found = |&row: &usize| {
            let list = &keys[order.places[row] as usize * width..][..width];
            let mut exact: Vec<f32> = self.exact(list, row, order).map(distance_of).collect();
            exact.sort_unstable_by(f32::total_cmp);
            exact.resize(k, f32::INFINITY);
            exact
        };
        let found: Vec<f32> = run.install(|| self.truth.rows.par_iter().flat_map_iter(found).collect());
        (report.recall, report.recall_error) = self.truth.recall(&found, k);
    }

    /// Keys of a list by exact distance and row number.
    fn exact(&self, list: &[u64], row: usize, order: &Order) -> impl Iterator<Item = u64> {
        list.iter().take_while(|&&key| key != EMPTY).map(move |&found| {
            let id = order.rows[id_of(found) as usize];
            key(self.distances.get(row, id as usize), id)
        })
    }

    /// The k best of each list by exact distance.
    fn finish(&self, mut lists: SharedLists, order: &Order, run: &Run) -> Result<Neighbors> {
        const BLOCK: usize = 1024;
        let (n, k, width) = (lists.n_rows(), self.params.n_neighbors, lists.width());
        // In the order of the search, where neighbors lie side by side.
        let rows = run.counter(n, "rows ranked");
        let ranked = lists.as_mut_slice().par_chunks_mut(BLOCK * width).enumerate().map(|(block, lists)| {
            run.check()?;
            let mut exact = Vec::with_capacity(width);
            for at in 0..lists.len() / width {
                if let Some(next) = lists.get((at + 1) * width..(at + 2) * width) {
                    for &key in next.iter().take_while(|&&key| key != EMPTY) {
                        self.distances.prefetch(order.rows[id_of(key) as usize] as usize);
                    }
                }
                let list = &mut lists[at * width..(at + 1) * width];
                exact.clear();
                exact.extend(self.exact(list, order.rows[block * BLOCK + at] as usize, order));
                exact.sort_unstable();
                list[..exact.len()].copy_from_slice(&exact);
            }
            rows.add(lists.len() / width);
            Ok(())
        });
        run.install(|| ranked.collect::<Result<()>>())?;
        let keys = &*lists.as_mut_slice();
        // Empty places of a short list have row u32::MAX at infinite distance.
        let mut found = Neighbors::none(n, k);
        let rows = found.indices.par_chunks_exact_mut(k).zip(found.distances.par_chunks_exact_mut(k)).enumerate();
        run.install(|| {
            rows.with_min_len(BLOCK).for_each(|(row, (ids, values))| {
                let list = &keys[order.places[row] as usize * width..][..k];
                for ((&key, id), value) in list.iter().zip(ids).zip(values).filter(|((key, _), _)| **key != EMPTY) {
                    (*id, *value) = (id_of(key), distance_of(key));
                }
            });
        });
        Ok(found)
    }
}

/// The order of rows in the search: by the leaf they are at home in.
struct Order {
    /// Row at each place (n).
    rows: Vec<u32>,
    /// Place of each row (n).
    places: Vec<u32>,
}

impl Order {
    fn new(partition: &Partition, n: usize) -> Self {
        let mut rows = Vec::with_capacity(n);
        (0..partition.n_leaves()).for_each(|leaf| rows.extend_from_slice(partition.home(leaf)));
        let mut places = vec![0u32; n];
        rows.iter().enumerate().for_each(|(place, &row)| places[row as usize] = place as u32);
        Self { rows, places }
    }
}
