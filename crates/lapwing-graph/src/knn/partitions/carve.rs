//! Recursive ball carving: a tree of leaders and, below it, overlapping leaves of neighboring rows.
//!
//! A set of rows too large for a leaf draws random leaders from itself. Every row joins its nearest ones — several at
//! the first levels, one below — and the rows of each leader are carved again. The idea of overlapping balls is that of
//! pick-in-partitions (arXiv 2602.21247). The first of a row's leaders is its *home*: following homes down the tree,
//! every row lives in exactly one leaf, and rows that live together are near each other.
//!
//! Cost: about n · (leaders of the first level) · d multiplications; 4 bytes for every place in a leaf (the fanouts
//! multiplied, some n · 4), about twice that while carving. Parallel over sets and over the rows of large ones; the
//! random stream of a set comes from its path in the tree, so the result is the same for any number of threads.

use lapwing_core::parallel::*;
use lapwing_core::{Counter, Result, Run, Stream};
use rand::RngExt;
use rand::seq::index;

/// Rows that a thread assigns to leaders at a time.
const BLOCK: usize = 512;
/// Levels after which sets are cut by row number. Trees get this deep only if leaders hardly divide their rows.
const DEEPEST: usize = 24;

/// How finely rows are carved.
#[derive(Clone, Debug)]
pub(crate) struct CarveParams {
    /// Rows a leaf may hold, at least 8.
    pub leaf: usize,
    /// Leaders each row joins at the first, second, … level, each 1 to [`MOST_FANOUT`]; 1 at all levels below.
    pub fanout: Vec<usize>,
    /// Most leaders of one set, at most 65,536.
    pub leaders: usize,
}

/// Most leaders a row may join at one level.
pub(crate) const MOST_FANOUT: usize = 4;

/// Assigns rows to their nearest leaders. Carving needs nothing else of the rows.
pub(crate) trait Assign: Sync {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// For each row of `ids` the numbers within `leaders` (which are rows too) of its nearest ones, nearest first:
    /// `nearest` is (ids, fanout), fanout at most the number of leaders.
    fn assign(&self, ids: &[u32], leaders: &[u32], nearest: &mut [u16]);
}

/// Leaders and leaves of one carving.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Partition {
    /// Inner nodes, parents before children; the first is the root. None if all rows fit into one leaf.
    pub nodes: Vec<Node>,
    /// Rows that lead, node after node.
    pub leaders: Vec<u32>,
    /// Child of each leader. Several leaders may share one.
    pub children: Vec<Child>,
    /// First place of each leaf in `ids`, and the end of the last (leaves + 1).
    pub starts: Vec<usize>,
    /// Rows of the leaves, one leaf after another: first those at home there, then the others.
    pub ids: Vec<u32>,
    /// Rows at home in each leaf (leaves): every row is at home in exactly one.
    pub homes: Vec<u32>,
}

/// The leaders of an inner node: a range of [`Partition::leaders`] and of [`Partition::children`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub first: usize,
    pub end: usize,
}

/// Node or leaf below a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    Node(u32),
    Leaf(u32),
}

impl Partition {
    /// Carves all rows; each `round` has its own random streams.
    pub fn carve(rows: &impl Assign, params: &CarveParams, round: u64, run: &Run) -> Result<Self> {
        Self::carve_rows(rows, (0..rows.n_rows() as u32).collect(), params, round, run)
    }

    /// Carves the rows `ids`.
    pub fn carve_rows(rows: &impl Assign, ids: Vec<u32>, params: &CarveParams, round: u64, run: &Run) -> Result<Self> {
        let done = run.counter(ids.len(), "");
        let set = Set { n_home: ids.len(), ids };
        let tree = run.install(|| Carving { rows, params, run, done: &done }.carve(set, 0, round))?;
        let mut partition = Self { starts: vec![0], ..Self::default() };
        partition.place(tree);
        Ok(partition)
    }

    pub fn n_leaves(&self) -> usize {
        self.homes.len()
    }

    /// Rows of a leaf.
    pub fn leaf(&self, leaf: usize) -> &[u32] {
        &self.ids[self.starts[leaf]..self.starts[leaf + 1]]
    }

    /// Rows at home in a leaf.
    pub fn home(&self, leaf: usize) -> &[u32] {
        &self.leaf(leaf)[..self.homes[leaf] as usize]
    }

    /// Moves a tree into the flat lists, depth first.
    fn place(&mut self, tree: Tree) -> Child {
        match tree {
            Tree::Leaf(set) => {
                self.homes.push(set.n_home as u32);
                self.ids.extend(set.ids);
                self.starts.push(self.ids.len());
                Child::Leaf(self.homes.len() as u32 - 1)
            }
            Tree::Node { leaders, piece_of, pieces } => {
                let (node, first) = (self.nodes.len(), self.leaders.len());
                self.nodes.push(Node { first, end: first + leaders.len() });
                self.children.resize(first + leaders.len(), Child::Leaf(0));
                self.leaders.extend(leaders);
                let placed: Vec<Child> = pieces.into_iter().map(|piece| self.place(piece)).collect();
                for (at, piece) in piece_of.into_iter().enumerate() {
                    self.children[first + at] = placed[piece as usize];
                }
                Child::Node(node as u32)
            }
        }
    }
}

/// Rows, those at home first.
#[derive(Default)]
struct Set {
    ids: Vec<u32>,
    n_home: usize,
}

enum Tree {
    Leaf(Set),
    /// Leaders, the piece each leads to, the pieces.
    Node {
        leaders: Vec<u32>,
        piece_of: Vec<u32>,
        pieces: Vec<Tree>,
    },
}

struct Carving<'a, R> {
    rows: &'a R,
    params: &'a CarveParams,
    run: &'a Run,
    /// Counts rows that are at home in a leaf.
    done: &'a Counter<'a>,
}

impl<R: Assign> Carving<'_, R> {
    /// Carves `set`, whose place in the tree is `path`.
    fn carve(&self, set: Set, level: usize, path: u64) -> Result<Tree> {
        self.run.check()?;
        if set.ids.len() <= self.params.leaf {
            self.done.add(set.n_home);
            return Ok(Tree::Leaf(set));
        }
        let size = set.ids.len();
        let fanout = self.params.fanout.get(level).copied().unwrap_or(1).clamp(1, MOST_FANOUT);
        let is_stuck = |pieces: &[Set]| pieces.iter().any(|piece| piece.ids.len() == size);
        let (mut leaders, mut piece_of, mut pieces) = self.pieces(&set, fanout, self.params.leaf / 4, path)?;
        if is_stuck(&pieces) {
            // There are so few leaders that all rows joined one of them, or small pieces joined a large one.
            (leaders, piece_of, pieces) = self.pieces(&set, 1, 0, path)?;
        }
        if level >= DEEPEST || is_stuck(&pieces) {
            // The leaders do not divide the rows (many duplicates): cut by place instead.
            self.done.add(set.n_home);
            return Ok(self.cut(&set));
        }
        drop(set);
        let pieces: Result<Vec<Tree>> = pieces
            .into_par_iter()
            .enumerate()
            .map(|(at, piece)| {
                let path = path.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(at as u64 + 1);
                self.carve(piece, level + 1, path)
            })
            .collect();
        Ok(Tree::Node { leaders, piece_of, pieces: pieces? })
    }

    /// Leaves of equal size, each led by its first row.
    fn cut(&self, set: &Set) -> Tree {
        let even = set.ids.len().div_ceil(set.ids.len().div_ceil(self.params.leaf));
        let pieces: Vec<Set> = (0..set.ids.len().div_ceil(even))
            .map(|at| {
                let range = at * even..((at + 1) * even).min(set.ids.len());
                let n_home = set.n_home.clamp(range.start, range.end) - range.start;
                Set { ids: set.ids[range].to_vec(), n_home }
            })
            .collect();
        Tree::Node {
            leaders: pieces.iter().map(|piece| piece.ids[0]).collect(),
            piece_of: (0..pieces.len() as u32).collect(),
            pieces: pieces.into_iter().map(Tree::Leaf).collect(),
        }
    }

    /// Leaders of a set, the piece of each, and the pieces; pieces of fewer rows than `small` are joined.
    fn pieces(&self, set: &Set, fanout: usize, small: usize, path: u64) -> Result<(Vec<u32>, Vec<u32>, Vec<Set>)> {
        let mut rng = self.run.rng(Stream::Leaders, path);
        let ids = &set.ids;
        // Pieces come out uneven: aim at six tenths of a leaf.
        let wanted = (fanout * ids.len()).div_ceil((self.params.leaf * 6 / 10).max(1));
        let n_leaders = wanted.clamp(2, self.params.leaders.max(2)).min(ids.len());
        let leaders: Vec<u32> = index::sample(&mut rng, ids.len(), n_leaders).iter().map(|at| ids[at]).collect();
        let fanout = fanout.min(n_leaders);
        let mut nearest = vec![0u16; ids.len() * fanout];
        nearest.par_chunks_mut(BLOCK * fanout).zip(ids.par_chunks(BLOCK)).try_for_each(|(nearest, ids)| {
            self.run.check()?;
            self.rows.assign(ids, &leaders, nearest);
            Ok(())
        })?;
        let (piece_of, n_pieces) = join_small(&nearest, n_leaders, small, rng.random_range(0..n_leaders));
        let pieces = gather(set, &nearest, fanout, &piece_of, n_pieces);
        Ok((leaders, piece_of, pieces))
    }
}

/// The piece of each leader, and the number of pieces. Leaders with fewer rows than `small` share pieces, going round from `first`, and
/// so do leaders without rows: no piece is empty.
fn join_small(nearest: &[u16], n_leaders: usize, small: usize, first: usize) -> (Vec<u32>, usize) {
    // Equal leaders are equally near: all rows join the first of them, and the others have none.
    let small = small.max(1);
    let mut sizes = vec![0usize; n_leaders];
    nearest.iter().for_each(|&leader| sizes[leader as usize] += 1);
    let (mut piece_of, mut n_pieces) = (vec![0u32; n_leaders], 0);
    let (mut pending, mut pending_rows) = (Vec::new(), 0);
    for at in 0..n_leaders {
        let leader = (first + at) % n_leaders;
        let is_large = sizes[leader] >= small;
        if !is_large {
            pending.push(leader);
            pending_rows += sizes[leader];
        }
        if is_large || pending_rows >= small {
            if is_large {
                piece_of[leader] = n_pieces;
            } else {
                pending.drain(..).for_each(|leader| piece_of[leader] = n_pieces);
                pending_rows = 0;
            }
            n_pieces += 1;
        }
    }
    let rest = n_pieces.saturating_sub(1);
    pending.into_iter().for_each(|leader| piece_of[leader] = rest);
    (piece_of, n_pieces.max(1) as usize)
}

/// The rows of each piece in the order of `set`, those at home first.
fn gather(set: &Set, nearest: &[u16], fanout: usize, piece_of: &[u32], n_pieces: usize) -> Vec<Set> {
    let mut pieces: Vec<Set> = (0..n_pieces).map(|_| Set::default()).collect();
    let rows = || set.ids.iter().zip(nearest.chunks_exact(fanout)).map(|(&id, leaders)| (id, leaders));
    for (id, leaders) in rows().take(set.n_home) {
        pieces[piece_of[leaders[0] as usize] as usize].ids.push(id);
    }
    pieces.iter_mut().for_each(|piece| piece.n_home = piece.ids.len());
    for (at, (id, leaders)) in rows().enumerate() {
        for (choice, &leader) in leaders.iter().enumerate() {
            let piece = piece_of[leader as usize];
            // Two leaders of a row may have the same piece.
            let is_there = leaders[..choice].iter().any(|&other| piece_of[other as usize] == piece);
            if !is_there && (choice > 0 || at >= set.n_home) {
                pieces[piece as usize].ids.push(id);
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::Metric;
    use crate::knn::kernels::element::Floats;
    use crate::knn::kernels::points::{FloatSource, Points};
    use crate::knn::rows::Frame;
    use crate::testkit::blobs;
    use lapwing_core::Features;

    fn rows(features: &Features<'_>, run: &Run) -> Points<Floats> {
        let Features::Dense(dense) = features else { unreachable!("the test makes dense rows") };
        let frame = Frame::new(dense, Metric::Euclidean, run);
        Points::prepare(&FloatSource { dense, frame: &frame }, None, run).unwrap()
    }

    fn params() -> CarveParams {
        CarveParams { leaf: 100, fanout: vec![3, 2], leaders: 30 }
    }

    #[test]
    fn every_row_has_one_home_and_leaves_hold_no_row_twice() {
        let run = Run::new(Some(2), 1).unwrap();
        let same = Features::from_f32(3000, 2, vec![1.0; 6000]).unwrap();
        for features in [blobs(5000, 6, 5), blobs(80, 3, 2), same] {
            let n = features.n_rows();
            let partition = Partition::carve(&rows(&features, &run), &params(), 1, &run).unwrap();
            let mut homes: Vec<u32> = (0..partition.n_leaves()).flat_map(|l| partition.home(l).to_vec()).collect();
            homes.sort_unstable();
            assert!(homes.iter().copied().eq(0..n as u32));
            for leaf in 0..partition.n_leaves() {
                let mut ids = partition.leaf(leaf).to_vec();
                assert!(ids.len() <= 100);
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), partition.leaf(leaf).len());
            }
        }
    }

    #[test]
    fn following_the_nearest_leaders_leads_home() {
        let run = Run::new(Some(2), 1).unwrap();
        let rows = rows(&blobs(5000, 6, 5), &run);
        let partition = Partition::carve(&rows, &params(), 1, &run).unwrap();
        let mut child = vec![Child::Node(0); 5000];
        while let Some(row) = child.iter().position(|c| matches!(c, Child::Node(_))) {
            let Child::Node(node) = child[row] else { unreachable!("found as a node") };
            let range = partition.nodes[node as usize].first..partition.nodes[node as usize].end;
            let mut nearest = [0];
            rows.assign(&[row as u32], &partition.leaders[range.clone()], &mut nearest);
            child[row] = partition.children[range.start + nearest[0] as usize];
        }
        for (row, child) in child.iter().enumerate() {
            let Child::Leaf(leaf) = child else { unreachable!("the walk ends at leaves") };
            assert!(partition.home(*leaf as usize).contains(&(row as u32)));
        }
    }

    #[test]
    fn any_number_of_threads_carves_alike() {
        let features = blobs(5000, 6, 5);
        let carve = |threads| {
            let run = Run::new(Some(threads), 9).unwrap();
            Partition::carve(&rows(&features, &run), &params(), 1, &run).unwrap()
        };
        assert_eq!(carve(1), carve(2));
        assert_eq!(carve(1), carve(7));
    }
}
