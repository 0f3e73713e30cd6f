//! Exact neighbors of rows of few columns among each other, by a k-d tree (Friedman, Bentley & Finkel 1977).
//!
//! The rows are halved along the widest column until at most sixteen are left: a leaf. The rows of a leaf are searched together. The
//! search visits the nearest node first. It skips a node whose box is farther from the box of the leaf than the last neighbor of every
//! row of the leaf. Distances are those of [`crate::knn::distance`], to the bit.
//!
//! Equal rows always stay in one leaf. If these are more than k, each has its neighbors there, and only the first k of them can be
//! neighbors of other rows.
//!
//! Cost: about n·log n operations to build, and for each row a number of leaves that grows with 2ᵈ but not with n. Memory: 8 bytes a
//! value, and 8 for each place of a list. Parallel over leaves; the result is exact, so it does not depend on the order.

use std::cmp::Ordering;
use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Dense, Result, Run};
use lapwing_simd::dispatch;

use super::certified::write;
use super::signed::{distance_of, key};
use crate::knn::Neighbors;
use crate::knn::kernels::lists::EMPTY;

/// Rows of a leaf, and lanes of a distance: two vector registers of f64.
const LANES: usize = 16;
/// Leaves that one thread searches at a time.
const LEAVES: usize = 32;
/// Nodes of more rows are built by two threads.
const MOST_SERIAL_ROWS: usize = 4096;

/// A node; the nodes of its first half follow it.
struct Node {
    /// Its rows, as positions in the order of the tree.
    rows: Range<u32>,
    /// The node of the second half, counted from this one; 0 for a leaf.
    second: u32,
    /// Whether all rows are equal.
    is_point: bool,
    /// Of a leaf, the first of its blocks of [`LANES`] rows and their number.
    blocks: Range<u32>,
}

/// A tree on rows (n, d).
struct Tree {
    d: usize,
    nodes: Vec<Node>,
    /// Least and largest value of each column in each node (nodes, 2, d).
    boxes: Vec<f64>,
    /// Rows in the order of the tree (n).
    ids: Vec<u32>,
    /// Values of the rows of leaves that can be neighbors (blocks, d, LANES), NaN where a block has fewer rows.
    values: Vec<f64>,
    /// Their numbers (blocks, LANES).
    row_ids: Vec<u32>,
}

/// The k nearest of every row among the others, by Euclidean distance.
pub(crate) fn search(dense: &Dense<'_>, k: usize, run: &Run) -> Result<Neighbors> {
    let (n, d) = (dense.n_rows(), dense.n_cols());
    let tree = run.install(|| {
        let mut values = vec![0.0; n * d];
        let copy = |(row, out): (usize, &mut [f64])| {
            dense.copy_row_f64(row, out);
            // −0 and 0 are one value.
            out.iter_mut().for_each(|x| *x += 0.0);
        };
        values.par_chunks_mut(d).with_min_len(LEAVES * LANES).enumerate().for_each(copy);
        Tree::new(&values, d, k, run)
    })?;
    let leaves: Vec<usize> = (0..tree.nodes.len()).filter(|&at| tree.nodes[at].second == 0).collect();
    let mut lists = vec![EMPTY; n * k];
    let mut pieces = Vec::with_capacity(leaves.len() / LEAVES + 1);
    let mut rest = lists.as_mut_slice();
    for some in leaves.chunks(LEAVES) {
        let n_rows: usize = some.iter().map(|&leaf| tree.nodes[leaf].rows.len()).sum();
        let (piece, others) = rest.split_at_mut(n_rows * k);
        pieces.push((some, piece));
        rest = others;
    }
    let done = run.counter(n, "rows");
    run.install(|| {
        pieces.into_par_iter().with_max_len(1).try_for_each(|(some, mut lists)| {
            run.check()?;
            let n_rows = lists.len() / k;
            let mut search = Search::default();
            for &leaf in some {
                let (own, others) = lists.split_at_mut(tree.nodes[leaf].rows.len() * k);
                search_leaf(&tree, leaf, k, &mut search, own);
                lists = others;
            }
            done.add(n_rows);
            Ok(())
        })
    })?;
    let mut places = vec![0u32; n];
    tree.ids.iter().enumerate().for_each(|(at, &id)| places[id as usize] = at as u32);
    let mut neighbors = Neighbors::none(n, k);
    run.install(|| {
        let rows = neighbors.indices.par_chunks_mut(k).zip(neighbors.distances.par_chunks_mut(k));
        rows.zip(&places).with_min_len(LEAVES * LANES).for_each(|((ids, distances), &place)| {
            write(&lists[place as usize * k..][..k], ids, distances);
        });
    });
    Ok(neighbors)
}

/// Nodes and boxes of a part of the rows.
type Part = (Vec<Node>, Vec<f64>);

impl Tree {
    /// The tree of `values` (n, d), for searches of `k` neighbors.
    fn new(values: &[f64], d: usize, k: usize, run: &Run) -> Result<Self> {
        let mut ids: Vec<u32> = (0..(values.len() / d) as u32).collect();
        let (mut nodes, boxes) = grow(values, d, &mut ids, 0, run)?;
        let (mut kept, mut row_ids) = (Vec::with_capacity(values.len() + values.len() / 8), Vec::new());
        for (number, node) in nodes.iter_mut().filter(|node| node.second == 0).enumerate() {
            if number.is_multiple_of(MOST_SERIAL_ROWS) {
                run.check()?;
            }
            let own = &mut ids[node.rows.start as usize..node.rows.end as usize];
            own.sort_unstable();
            let first = (row_ids.len() / LANES) as u32;
            let able = if node.is_point { own.len().min(k) } else { own.len() };
            for block in own[..able].chunks(LANES) {
                let lane = |lane: usize| block.get(lane).copied();
                row_ids.extend((0..LANES).map(|at| lane(at).unwrap_or(u32::MAX)));
                for column in 0..d {
                    kept.extend((0..LANES).map(|at| lane(at).map_or(f64::NAN, |id| values[id as usize * d + column])));
                }
            }
            node.blocks = first..(row_ids.len() / LANES) as u32;
        }
        Ok(Self { d, nodes, boxes, ids, values: kept, row_ids })
    }

    /// Least and largest values of a node.
    #[inline(always)]
    fn bounds(&self, node: usize) -> (&[f64], &[f64]) {
        self.boxes[node * 2 * self.d..(node + 1) * 2 * self.d].split_at(self.d)
    }

    /// Square of the least distance between rows of two nodes.
    #[inline(always)]
    fn gap(&self, a: usize, b: usize) -> f64 {
        let ((a_least, a_most), (b_least, b_most)) = (self.bounds(a), self.bounds(b));
        let mut sum = 0.0;
        for column in 0..self.d {
            let gap = (a_least[column] - b_most[column]).max(b_least[column] - a_most[column]).max(0.0);
            sum += gap * gap;
        }
        sum
    }
}

/// Orders `ids`, the rows from position `first` on, into a tree.
fn grow(values: &[f64], d: usize, ids: &mut [u32], first: u32, run: &Run) -> Result<Part> {
    let mut bounds = [vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]].concat();
    let (least, most) = bounds.split_at_mut(d);
    for &id in ids.iter() {
        for (column, &value) in values[id as usize * d..][..d].iter().enumerate() {
            least[column] = least[column].min(value);
            most[column] = most[column].max(value);
        }
    }
    let width = |&column: &usize| most[column] - least[column];
    let widest = (0..d).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
    let is_point = (0..d).all(|column| most[column] <= least[column]);
    let rows = first..first + ids.len() as u32;
    let node = |second| Node { rows, second, is_point, blocks: 0..0 };
    if is_point || ids.len() <= LANES {
        return Ok((vec![node(0)], bounds));
    }
    let middle = halve(ids, |id| values[id as usize * d + widest]);
    let (left, right) = ids.split_at_mut(middle);
    let second = first + middle as u32;
    let (ours, theirs) = if left.len() + right.len() > MOST_SERIAL_ROWS {
        run.check()?;
        rayon::join(|| grow(values, d, left, first, run), || grow(values, d, right, second, run))
    } else {
        (grow(values, d, left, first, run), grow(values, d, right, second, run))
    };
    let (ours, theirs) = (ours?, theirs?);
    let mut nodes = vec![node(ours.0.len() as u32 + 1)];
    nodes.extend(ours.0);
    nodes.extend(theirs.0);
    bounds.extend(ours.1);
    bounds.extend(theirs.1);
    Ok((nodes, bounds))
}

/// Orders rows into those of smaller and of larger values, about half of them each; returns the number of the first. Rows of equal
/// values stay together, and the values are not all equal.
fn halve(ids: &mut [u32], value: impl Fn(u32) -> f64) -> usize {
    // Halves of whole blocks of lanes.
    let half = (ids.len() / 2).next_multiple_of(LANES).min(ids.len() - 1);
    let by_value = |a: &u32, b: &u32| value(*a).total_cmp(&value(*b)).then(a.cmp(b));
    let pivot = value(*ids.select_nth_unstable_by(half, by_value).1);
    if value(ids[..half].iter().copied().max_by(by_value).unwrap_or(ids[0])) < pivot {
        return half;
    }
    // The pivot's equals lie on both sides: they all go to the side that leaves the halves less uneven.
    let is_below = |id: u32, has_equal: bool| match value(id).total_cmp(&pivot) {
        Ordering::Less => true,
        Ordering::Equal => has_equal,
        Ordering::Greater => false,
    };
    let [below, up_to] = [false, true].map(|has_equal| ids.iter().filter(|&&id| is_below(id, has_equal)).count());
    let has_equal = below == 0 || (up_to < ids.len() && up_to - half < half - below);
    ids.sort_unstable_by_key(|&id| (!is_below(id, has_equal), id));
    if has_equal { up_to } else { below }
}

/// Space for the search of one leaf.
#[derive(Default)]
struct Search {
    /// Nodes to visit, with the square of their distance.
    open: Vec<(f64, u32)>,
    /// Largest square of a distance that the list of each row would take.
    limits: Vec<f64>,
}

dispatch! {
    /// The lists (rows, k) of the rows of a leaf.
    fn search_leaf(tree: &Tree, leaf: usize, k: usize, search: &mut Search, lists: &mut [u64]) = search_leaf_plain
}

#[inline(always)]
fn search_leaf_plain(tree: &Tree, leaf: usize, k: usize, search: &mut Search, lists: &mut [u64]) {
    let node = &tree.nodes[leaf];
    let own = &tree.ids[node.rows.start as usize..node.rows.end as usize];
    if node.is_point && own.len() > k {
        for (&row, list) in own.iter().zip(lists.chunks_exact_mut(k)) {
            let others = own.iter().filter(|&&id| id != row);
            list.iter_mut().zip(others).for_each(|(place, &id)| *place = key(0.0, id));
        }
        return;
    }
    let d = tree.d;
    let Search { open, limits } = search;
    limits.clear();
    limits.resize(own.len(), f64::INFINITY);
    open.clear();
    open.push((0.0, 0));
    let mut most = f64::INFINITY;
    while let Some((gap, at)) = open.pop() {
        if gap > most {
            continue;
        }
        let other = &tree.nodes[at as usize];
        if other.second > 0 {
            let halves = [at + 1, at + other.second].map(|half| (tree.gap(leaf, half as usize), half));
            // The nearer half is visited first.
            let [near, far] = if halves[1].0 < halves[0].0 { [halves[1], halves[0]] } else { halves };
            open.extend([far, near].into_iter().filter(|half| half.0 <= most));
            continue;
        }
        for block in other.blocks.start as usize..other.blocks.end as usize {
            let ids = &tree.row_ids[block * LANES..(block + 1) * LANES];
            let values = &tree.values[block * d * LANES..(block + 1) * d * LANES];
            for (at, (&row, list)) in own.iter().zip(lists.chunks_exact_mut(k)).enumerate() {
                let place = node.blocks.start as usize + at / LANES;
                let x = &tree.values[place * d * LANES + at % LANES..];
                let mut squares = [0f64; LANES];
                for (column, values) in values.chunks_exact(LANES).enumerate() {
                    let x = x[column * LANES];
                    for lane in 0..LANES {
                        let difference = x - values[lane];
                        squares[lane] += difference * difference;
                    }
                }
                let limit = limits[at];
                let mut hits = 0u32;
                for lane in 0..LANES {
                    hits |= u32::from(squares[lane] <= limit) << lane;
                }
                while hits != 0 {
                    let lane = hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    if ids[lane] != row && squares[lane] <= limits[at] {
                        take(list, squares[lane], ids[lane], &mut limits[at]);
                    }
                }
            }
        }
        most = limits.iter().copied().fold(0.0, f64::max);
    }
}

/// Offers a row to a list, at the square of its distance; it comes only once.
#[inline(always)]
fn take(list: &mut [u64], square: f64, id: u32, limit: &mut f64) {
    let distance = square.sqrt() as f32;
    let candidate = key(distance, id);
    let last = list.len() - 1;
    if candidate >= list[last] || !distance.is_finite() {
        return;
    }
    let mut at = last;
    while at > 0 && list[at - 1] > candidate {
        list[at] = list[at - 1];
        at -= 1;
    }
    list[at] = candidate;
    if list[last] != EMPTY {
        *limit = reach(distance_of(list[last]));
    }
}

/// The square of a distance that rounds to `distance` in f32 is at most this.
#[inline(always)]
fn reach(distance: f32) -> f64 {
    let next = f64::from(f32::from_bits(distance.to_bits() + 1));
    next * next
}

#[cfg(test)]
mod tests {
    use lapwing_core::Features;
    use rand::RngExt;

    use super::*;
    use crate::knn::KnnParams;
    use crate::testkit::blobs;

    fn run(threads: usize) -> Run {
        Run::new(Some(threads), 0).unwrap()
    }

    fn found(features: &Features<'_>, k: usize, threads: usize) -> Neighbors {
        let Features::Dense(dense) = features else { unreachable!("dense rows were made") };
        search(dense, k, &run(threads)).unwrap()
    }

    /// The neighbors by products of all pairs.
    fn expected(features: &Features<'_>, k: usize) -> Neighbors {
        let params = KnnParams { n_neighbors: k, ..KnnParams::default() };
        super::super::search(features, features, true, &params, &run(2)).unwrap()
    }

    /// Rows on a grid: many are equal, and many distances.
    fn grid(n: usize, d: usize, cells: usize) -> Features<'static> {
        let mut rng = run(1).rng(lapwing_core::Stream::Synthetic, 3);
        let values = (0..n * d).map(|_| (rng.random::<f64>().powi(3) * cells as f64).floor());
        Features::from_f64(n, d, values.collect()).unwrap()
    }

    #[test]
    fn rows_of_any_number_have_the_neighbors_of_all_pairs() {
        for (n, k) in [(2, 1), (16, 15), (17, 16), (33, 3), (400, 7), (5000, 20)] {
            for d in [1, 2, 3, 8] {
                let features = blobs(n, d, 4);
                assert_eq!(found(&features, k, 2), expected(&features, k), "{n} rows of {d}, k = {k}");
            }
        }
    }

    #[test]
    fn equal_rows_and_equal_distances_are_ordered_by_index() {
        for cells in [1, 2, 5, 40] {
            for (d, k) in [(1, 4), (2, 20), (3, 60)] {
                let features = grid(700, d, cells);
                let expected = expected(&features, k);
                assert_eq!(found(&features, k, 1), expected, "{cells} cells in {d} columns, k = {k}");
                assert_eq!(found(&features, k, 2), expected);
            }
        }
    }

    #[test]
    fn a_value_of_half_the_rows_does_not_make_the_tree_deep() {
        let values: Vec<f64> = (0..60_000).map(|row| if row % 3 == 0 { f64::from(row) } else { 7.0 }).collect();
        let features = Features::from_f64(60_000, 1, values).unwrap();
        let Features::Dense(dense) = &features else { unreachable!("dense rows were made") };
        let tree = Tree::new(&crate::testkit::dense_values(&features), 1, 5, &run(1)).unwrap();
        assert!(tree.nodes.len() < 2 * 20_000 / 8, "{} nodes", tree.nodes.len());
        let neighbors = search(dense, 5, &run(2)).unwrap();
        let ids: Vec<u32> = neighbors.row(4).map(|(id, _)| id).collect();
        assert_eq!(ids, [1, 2, 5, 7, 8]);
    }

    #[test]
    fn a_stop_is_noticed_while_the_tree_grows() {
        let stop = lapwing_core::CancelToken::default();
        let run = run(1).with_cancel(stop.clone());
        stop.cancel();
        let values: Vec<f64> = (0..2 * MOST_SERIAL_ROWS).map(|row| row as f64).collect();
        assert!(grow(&values, 1, &mut [0, 1, 2], 0, &run).is_ok());
        let mut ids: Vec<u32> = (0..values.len() as u32).collect();
        assert!(matches!(grow(&values, 1, &mut ids, 0, &run), Err(lapwing_core::Error::Interrupted)));
        assert!(matches!(Tree::new(&values[..20], 1, 5, &run), Err(lapwing_core::Error::Interrupted)));
    }

    #[test]
    fn distances_that_overflow_leave_lists_incomplete() {
        let features = Features::from_f64(40, 1, (0..40).map(|row| f64::from(row % 2) * 1e39).collect()).unwrap();
        let neighbors = found(&features, 30, 1);
        assert!(neighbors.complete(&features, &features).is_err());
    }

    #[test]
    fn a_square_that_rounds_to_a_distance_is_within_its_reach() {
        for distance in [0f32, 1e-45, 1e-40, 1e-20, 0.1, 1.0, 3e38] {
            let above = f64::from(f32::from_bits(distance.to_bits() + 1));
            let half_way = (f64::from(distance) + above) / 2.0;
            assert!(half_way * half_way * (1.0 - 1e-15) <= reach(distance), "{distance}");
        }
    }
}
