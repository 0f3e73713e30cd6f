//! Grows a tree.

use lapwing_core::{Run, Targets};
use rand::{Rng, RngExt};

use super::columns::Columns;

/// A leaf, in place of the column of a node.
pub(super) const LEAF: u32 = u32::MAX;

/// A node of a tree: a split, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// Column of the features, or [`LEAF`].
    pub column: u32,
    /// Rows with at most this value go to the first child.
    pub threshold: f32,
    /// The first child; the second is the next node. For a leaf its class k < c, or c plus the number of its mixture.
    pub next: u32,
}

/// A tree, root first, and the shares of the classes in its mixed leaves, c for each.
#[derive(Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub mixtures: Vec<f32>,
}

/// The labels of the rows, each a few classes with the trust in them.
pub(super) struct LabelSums {
    n_classes: usize,
    /// Entries of row i: those from `starts[i]` to `starts[i + 1]`.
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl LabelSums {
    pub fn new(targets: &Targets) -> Self {
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for (shares, trust) in targets.values().rows().zip(targets.weights()) {
            let given = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
            entries.extend(given.map(|(class, share)| (class as u32, share * trust)));
            starts.push(entries.len() as u32);
        }
        Self { n_classes: targets.n_columns(), starts, entries }
    }

    /// The classes of a row, each with its trust.
    fn of(&self, row: u32) -> &[(u32, f64)] {
        &self.entries[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }
}

/// A split of the rows of a node.
struct Split {
    /// Number among the columns.
    at: usize,
    threshold: f32,
    gain: f64,
}

/// The state of a tree that grows.
struct Grower<'g, R> {
    columns: &'g Columns,
    labels: &'g LabelSums,
    rng: &'g mut R,
    /// All rows; those of a node are in one piece.
    order: Vec<u32>,
    /// Place of each row in `order`.
    places: Vec<u32>,
    /// All columns; those drawn for a split are moved to the front.
    drawn: Vec<u32>,
    /// Values of the rows of a node.
    values: Vec<f32>,
    /// Sums of the classes on the left and in the node.
    left: Vec<f64>,
    all: Vec<f64>,
    /// Classes with rows in the node, ascending: small nodes have few of many classes.
    present: Vec<u32>,
}

/// A tree of all rows; a part of one once the run is canceled.
pub(super) fn grow<R: Rng>(columns: &Columns, labels: &LabelSums, rng: &mut R, run: &Run) -> Tree {
    let (l, c) = (columns.n_rows, labels.n_classes);
    let mut grower = Grower {
        columns,
        labels,
        rng,
        order: (0..l as u32).collect(),
        places: (0..l as u32).collect(),
        drawn: (0..columns.ids.len() as u32).collect(),
        values: vec![0.0; l],
        left: vec![0.0; c],
        all: vec![0.0; c],
        present: Vec::new(),
    };
    let mut tree = Tree::default();
    tree.nodes.push(Node { column: LEAF, threshold: 0.0, next: 0 });
    let mut open = vec![(0, 0, l)];
    while let Some((node, first, end)) = open.pop().filter(|_| !run.is_canceled()) {
        grower.sum(first, end);
        let split = if grower.is_pure() { None } else { grower.split(first, end) };
        let Some(split) = split else {
            tree.nodes[node].next = grower.leaf(&mut tree.mixtures);
            continue;
        };
        let middle = grower.partition(&split, first, end);
        let next = tree.nodes.len();
        let column = columns.ids[split.at];
        tree.nodes[node] = Node { column, threshold: split.threshold, next: next as u32 };
        tree.nodes.extend([Node { column: LEAF, threshold: 0.0, next: 0 }; 2]);
        open.extend([(next + 1, middle, end), (next, first, middle)]);
    }
    tree
}

impl<R: Rng> Grower<'_, R> {
    /// Sums the classes of the rows of a node.
    fn sum(&mut self, first: usize, end: usize) {
        let labels = self.labels;
        let Self { order, all, present, .. } = self;
        present.drain(..).for_each(|class| all[class as usize] = 0.0);
        for (class, trust) in order[first..end].iter().flat_map(|&row| labels.of(row)) {
            let sum = &mut all[*class as usize];
            if *sum == 0.0 {
                present.push(*class);
            }
            *sum += trust;
        }
        present.sort_unstable();
    }

    fn is_pure(&self) -> bool {
        self.present.iter().filter(|class| self.all[**class as usize] > 0.0).count() < 2
    }

    /// The best of √d random splits by columns that vary in the node, or of those that vary among √d columns of sparse rows, at least
    /// one; none if all rows are equal.
    fn split(&mut self, first: usize, end: usize) -> Option<Split> {
        let d = self.drawn.len();
        let wanted = (d as f64).sqrt() as usize;
        let (mut best, mut found): (Option<Split>, usize) = (None, 0);
        let counts_constant = self.columns.is_sparse();
        for visited in 0..d {
            if found >= wanted || counts_constant && visited >= wanted && found > 0 {
                break;
            }
            let other = self.rng.random_range(visited..d);
            self.drawn.swap(visited, other);
            let at = self.drawn[visited] as usize;
            let Some((threshold, gain)) = self.candidate(at, first, end) else { continue };
            found += 1;
            if best.as_ref().is_none_or(|best| gain > best.gain) {
                best = Some(Split { at, threshold, gain });
            }
        }
        best
    }

    /// A random threshold for a column, and Σ L_k²/L + Σ R_k²/R; none if the column is constant.
    fn candidate(&mut self, at: usize, first: usize, end: usize) -> Option<(f32, f64)> {
        let order = &self.order[first..end];
        let values = &mut self.values[..order.len()];
        self.columns.gather(at, order, first, &self.places, values);
        let (mut least, mut most) = (values[0], values[0]);
        for &x in values.iter() {
            (least, most) = (least.min(x), most.max(x));
        }
        if least >= most {
            return None;
        }
        let (low, high) = (f64::from(least), f64::from(most));
        let drawn = (low + self.rng.random::<f64>() * (high - low)) as f32;
        // Rounding may give the largest value, which would leave the right side empty.
        let threshold = if drawn < most { drawn } else { least };
        let (labels, sums) = (self.labels, &mut self.left);
        self.present.iter().for_each(|&class| sums[class as usize] = 0.0);
        let is_left = order.iter().zip(values.iter()).filter(|(_, x)| **x <= threshold);
        let on_left = is_left.flat_map(|(&row, _)| labels.of(row));
        on_left.for_each(|&(class, trust)| sums[class as usize] += trust);
        let [mut left, mut right, mut left_squares, mut right_squares] = [0.0; 4];
        for class in self.present.iter().map(|&class| class as usize) {
            let (own, other) = (sums[class], self.all[class] - sums[class]);
            (left, left_squares) = (left + own, left_squares + own * own);
            (right, right_squares) = (right + other, right_squares + other * other);
        }
        Some((threshold, left_squares / left + right_squares / right))
    }

    /// Moves the rows of the left side to the front, both sides in their order; returns where the right side begins.
    fn partition(&mut self, split: &Split, first: usize, end: usize) -> usize {
        let order = &mut self.order[first..end];
        let values = &mut self.values[..order.len()];
        self.columns.gather(split.at, order, first, &self.places, values);
        let mut right = Vec::with_capacity(order.len());
        let mut n_left = 0;
        for at in 0..order.len() {
            if values[at] <= split.threshold {
                order[n_left] = order[at];
                n_left += 1;
            } else {
                right.push(order[at]);
            }
        }
        order[n_left..].copy_from_slice(&right);
        if self.columns.is_sparse() {
            order.iter().zip(first as u32..).for_each(|(&row, place)| self.places[row as usize] = place);
        }
        first + n_left
    }

    /// The leaf of the summed classes; adds its shares to `mixtures` if there are several.
    fn leaf(&self, mixtures: &mut Vec<f32>) -> u32 {
        if self.is_pure() {
            return self.present.iter().copied().find(|class| self.all[*class as usize] > 0.0).unwrap_or(0);
        }
        let c = self.all.len();
        let total: f64 = self.all.iter().sum();
        let number = mixtures.len() / c;
        mixtures.extend(self.all.iter().map(|sum| (sum / total) as f32));
        (c + number) as u32
    }
}
