//! Approximate neighbours by overlapping partitions: ball carving and all pairs within the pieces.
//!
//! A set of rows is carved by random leaders: each row joins its f nearest ones, f = 3 at the first level, 2 at the
//! second, 1 below, until pieces hold about a thousand rows. Within a piece all pairs meet by one matrix product. The
//! whole is repeated with other leaders until the recall measured on a sample of rows reaches its target; every
//! repetition adds independent misses. The idea of overlapping balls is that of pick-in-partitions (arXiv 2602.21247).
//!
//! Beyond 96 columns the search runs on sketches of 64 and keeps more candidates, which are ranked on the full rows.
//!
//! Cost per repetition: about n · 6 · 600 · 2d operations, at matrix-product speed; memory one f32 copy of the searched
//! rows and 8 bytes per kept candidate. Parallel over pieces; lists do not depend on the order candidates arrive in.

use std::sync::atomic::{AtomicU64, Ordering};

use lapwing_data::{Dense, Features, Result, Run};
use rayon::prelude::*;

use super::carve::{Assign, CarveParams, MOST_FANOUT, Partition};
use super::distance::Distances;
use super::lists::{EMPTY, SharedLists};
use super::recall::Truth;
use super::rows::{Frame, Rows, products};
use super::scan::{Ids, fold};
use super::sketch::{SKETCH_BEYOND, sketch, sketched_width};
use super::{KnnParams, KnnReport, Neighbors, exact, list_width, refine};

/// Rows a piece may hold.
pub(crate) const PIECE: usize = 1000;
/// Most leaders of one level.
const LEADERS: usize = 1000;
/// Multiplications that are spent on all pairs where partitions fall short: some minutes. Beyond, the recall that was
/// reached is what the report says.
const MOST_EXACT_WORK: f64 = 2e13;
/// Most repetitions.
const REPETITIONS: usize = 10;

/// The k nearest neighbours of every row, found to the recall asked for.
pub(super) fn search(
    features: &Features<'_>,
    dense: &Dense<'_>,
    params: &KnnParams,
    run: &Run,
) -> Result<(Neighbors, KnnReport)> {
    let (n, k) = (dense.n_rows(), params.n_neighbors);
    let frame = Frame::of(dense, params.metric, run);
    let truth = Truth::of(features, dense, params, &frame, run)?;
    let distances = Distances::new(features, features, params.metric);
    let report = KnnReport { builder: "partitions", ..KnnReport::exact() };
    let with_lists = |width, truth, distances, report| Search {
        params,
        truth,
        distances,
        lists: SharedLists::new(n, width),
        width,
        report,
    };
    let mut is_reached = false;
    let mut search = if dense.n_cols() > SKETCH_BEYOND {
        let mut search = with_lists(sketched_width(k, n), truth, distances, report);
        is_reached = search.repeat(&sketch(dense, &frame, run)?, run)?;
        search
    } else {
        with_lists(list_width(k, n - 1), truth, distances, report)
    };
    if !is_reached {
        // No sketch, or one that lost what tells neighbours apart: its distances must not compete with full ones.
        let Search { truth, distances, report, .. } = search;
        search = with_lists(list_width(k, n - 1), truth, distances, report);
        is_reached = search.repeat(&Rows::prepare(dense, &frame, run), run)?;
    }
    let is_complete = search.lists.as_slice().chunks_exact(search.width).all(|list| list[k - 1] != EMPTY);
    if !is_complete || (!is_reached && n as f64 * n as f64 * dense.n_cols() as f64 <= MOST_EXACT_WORK) {
        // Rows of such high intrinsic dimension that partitions do not pay.
        drop(search);
        return Ok((exact::search((features, dense), (features, dense), true, params, run)?, KnnReport::exact()));
    }
    let Search { distances, mut lists, report, width, .. } = search;
    let (indices, values) = run.install(|| refine(lists.as_slice(), width, k, 0, &distances));
    Ok((Neighbors { n_neighbors: k, indices, distances: values }, report))
}

struct Search<'a> {
    params: &'a KnnParams,
    truth: Truth,
    distances: Distances<'a>,
    lists: SharedLists,
    width: usize,
    report: KnnReport,
}

impl Search<'_> {
    /// Repeats the partition of `rows` until the recall is reached; false once it is out of sight.
    fn repeat(&mut self, rows: &Rows, run: &Run) -> Result<bool> {
        let params = CarveParams { leaf: PIECE, fanout: vec![3, 2], leaders: LEADERS };
        let mut last = 0.0;
        for _ in 0..REPETITIONS {
            self.report.repetitions += 1;
            let round = self.report.repetitions;
            let partition = Partition::carve(rows, &params, round as u64, run)?;
            let joining = Joining { rows, lists: &self.lists, run, done: AtomicU64::new(0), round };
            run.install(|| {
                (0..partition.n_leaves()).into_par_iter().try_for_each(|leaf| {
                    run.check()?;
                    joining.join(partition.leaf(leaf));
                    Ok(())
                })
            })?;
            let recall = self.measure(run);
            if recall >= self.params.recall_target {
                return Ok(true);
            }
            // Each repetition gains less than the one before: give up where five like this one would not do.
            if recall - last < (self.params.recall_target - recall) / 5.0 {
                return Ok(false);
            }
            last = recall;
        }
        Ok(false)
    }

    fn measure(&mut self, run: &Run) -> f64 {
        let (width, k) = (self.width, self.params.n_neighbors);
        let keys = self.lists.as_slice();
        let refined = |&row: &usize| refine(&keys[row * width..(row + 1) * width], width, k, row, &self.distances).1;
        let found: Vec<f32> = run.install(|| self.truth.rows.par_iter().flat_map_iter(refined).collect());
        (self.report.recall, self.report.recall_error) = self.truth.recall(&found, k);
        self.report.recall
    }
}

struct Joining<'a> {
    rows: &'a Rows,
    lists: &'a SharedLists,
    run: &'a Run,
    done: AtomicU64,
    round: usize,
}

impl Joining<'_> {
    /// All pairs of a piece meet.
    fn join(&self, ids: &[u32]) {
        let m = ids.len();
        let (mut values, mut half_norms) = (Vec::with_capacity(m * self.rows.d), Vec::with_capacity(m));
        self.rows.gather(ids, &mut values, &mut half_norms);
        let mut out = vec![0f32; m * m];
        products(&values, &values, self.rows.d, &mut out);
        for (at, &id) in ids.iter().enumerate() {
            let products = &out[at * m..(at + 1) * m];
            let half_norm = half_norms[at];
            self.lists.with_row(id as usize, |list| fold(list, id, half_norm, products, &half_norms, Ids::List(ids)));
        }
        let done = self.done.fetch_add(m as u64, Ordering::Relaxed) + m as u64;
        self.run.progress().update(done, &format!("rows joined, round {}", self.round));
    }
}

impl Assign for Rows {
    fn n_rows(&self) -> usize {
        self.n
    }

    fn assign(&self, ids: &[u32], leaders: &[u32], nearest: &mut [u16]) {
        let (mut leader_rows, mut half_norms) = (Vec::new(), Vec::new());
        self.gather(leaders, &mut leader_rows, &mut half_norms);
        let (mut block, mut norms) = (Vec::new(), Vec::new());
        self.gather(ids, &mut block, &mut norms);
        let mut out = vec![0f32; ids.len() * leaders.len()];
        products(&block, &leader_rows, self.d, &mut out);
        let fanout = nearest.len() / ids.len();
        for (nearest, products) in nearest.chunks_exact_mut(fanout).zip(out.chunks_exact(leaders.len())) {
            nearest_leaders(products, &half_norms, nearest);
        }
    }
}

/// The leaders with the smallest ‖y‖²/2 − xᵀy, by (value, number).
fn nearest_leaders(products: &[f32], half_norms: &[f32], nearest: &mut [u16]) {
    let mut values = [f32::INFINITY; MOST_FANOUT];
    let f = nearest.len();
    for (leader, (p, h)) in products.iter().zip(half_norms).enumerate() {
        let v = h - p;
        if v < values[f - 1] {
            let at = values[..f].partition_point(|&x| x <= v);
            values.copy_within(at..f - 1, at + 1);
            nearest.copy_within(at..f - 1, at + 1);
            (values[at], nearest[at]) = (v, leader as u16);
        }
    }
}
