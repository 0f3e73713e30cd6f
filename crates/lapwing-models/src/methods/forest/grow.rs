//! Grows a tree.

use lapwing_core::{Run, Targets};
use rand::seq::index::sample;
use rand::{Rng, RngExt};

use super::columns::Columns;

/// Rows of a node by which a best threshold is found, at most; of more a part tells it well enough.
const MOST_SORTED: usize = 2048;

/// How a tree comes to differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Extremely randomized: a random threshold for each column that is drawn.
    Random,
    /// Of a forest of Breiman: a bootstrap sample of the rows, and the best threshold of each column that is drawn.
    Bagged,
}

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
    kind: Kind,
    rng: &'g mut R,
    /// How often each row is in the sample (l).
    counts: Vec<u32>,
    /// The rows of the sample; those of a node are in one piece.
    order: Vec<u32>,
    /// Place of each row in `order`; of rows that are not in it, the number of rows.
    places: Vec<u32>,
    /// Values of the rows of a node by which it may be split, and their places in it, by values.
    sorted: Vec<(f32, u32)>,
    /// All columns; those drawn for a split are moved to the front.
    drawn: Vec<u32>,
    /// Values of the rows of a node.
    values: Vec<f32>,
    /// Sums of the classes on the left, on the right, and in the node.
    left: Vec<f64>,
    right: Vec<f64>,
    all: Vec<f64>,
    /// Classes with rows in the node, ascending: small nodes have few of many classes.
    present: Vec<u32>,
}

/// A tree; a part of one once the run is canceled.
pub(super) fn grow<R: Rng>(columns: &Columns, labels: &LabelSums, kind: Kind, rng: &mut R, run: &Run) -> Tree {
    let (l, c) = (columns.n_rows, labels.n_classes);
    let counts = match kind {
        Kind::Random => vec![1; l],
        Kind::Bagged => {
            let mut counts = vec![0; l];
            (0..l).for_each(|_| counts[rng.random_range(0..l)] += 1);
            counts
        }
    };
    let order: Vec<u32> = (0..l as u32).filter(|&row| counts[row as usize] > 0).collect();
    let mut places = vec![l as u32; l];
    order.iter().zip(0..).for_each(|(&row, place)| places[row as usize] = place);
    let n_rows = order.len();
    let mut grower = Grower {
        columns,
        labels,
        kind,
        rng,
        counts,
        order,
        places,
        sorted: Vec::new(),
        drawn: (0..columns.ids.len() as u32).collect(),
        values: vec![0.0; l],
        left: vec![0.0; c],
        right: vec![0.0; c],
        all: vec![0.0; c],
        present: Vec::new(),
    };
    let mut tree = Tree::default();
    tree.nodes.push(Node { column: LEAF, threshold: 0.0, next: 0 });
    let mut open = vec![(0, 0, n_rows)];
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
        let Self { order, counts, all, present, .. } = self;
        present.drain(..).for_each(|class| all[class as usize] = 0.0);
        for &row in &order[first..end] {
            for (class, trust) in labels.of(row) {
                let sum = &mut all[*class as usize];
                if *sum == 0.0 {
                    present.push(*class);
                }
                *sum += trust * f64::from(counts[row as usize]);
            }
        }
        present.sort_unstable();
    }

    fn is_pure(&self) -> bool {
        self.present.iter().filter(|class| self.all[**class as usize] > 0.0).count() < 2
    }

    /// The best of √d splits by columns that vary in the node, or of those that vary among √d columns of sparse rows, at least
    /// one; none if all rows are equal.
    fn split(&mut self, first: usize, end: usize) -> Option<Split> {
        let d = self.drawn.len();
        let wanted = (d as f64).sqrt() as usize;
        let (mut best, mut found): (Option<Split>, usize) = (None, 0);
        let counts_constant = self.columns.is_sparse();
        let kept = match (self.kind, end - first) {
            (Kind::Random, _) => Vec::new(),
            (Kind::Bagged, n) if n > MOST_SORTED => sample(self.rng, n, MOST_SORTED).into_vec(),
            (Kind::Bagged, n) => (0..n).collect(),
        };
        for visited in 0..d {
            if found >= wanted || counts_constant && visited >= wanted && found > 0 {
                break;
            }
            let other = self.rng.random_range(visited..d);
            self.drawn.swap(visited, other);
            let at = self.drawn[visited] as usize;
            let found_split = match self.kind {
                Kind::Random => self.random_split(at, first, end),
                Kind::Bagged => self.best_split(at, first, end, &kept),
            };
            let Some((threshold, gain)) = found_split else { continue };
            found += 1;
            if best.as_ref().is_none_or(|best| gain > best.gain) {
                best = Some(Split { at, threshold, gain });
            }
        }
        best
    }

    /// A random threshold for a column, and Σ L_k²/L + Σ R_k²/R; none if the column is constant.
    fn random_split(&mut self, at: usize, first: usize, end: usize) -> Option<(f32, f64)> {
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
        // Every row is there once.
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

    /// The threshold of a column with the largest Σ L_k²/L + Σ R_k²/R over the rows at the places `kept` of the node, and this sum; none
    /// if the column is constant.
    fn best_split(&mut self, at: usize, first: usize, end: usize, kept: &[usize]) -> Option<(f32, f64)> {
        let order = &self.order[first..end];
        let values = &mut self.values[..order.len()];
        self.columns.gather(at, order, first, &self.places, values);
        let (labels, counts, sorted) = (self.labels, &self.counts, &mut self.sorted);
        sorted.clear();
        sorted.extend(kept.iter().map(|&place| (values[place], place as u32)));
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if sorted.first()?.0 >= sorted.last()?.0 {
            return None;
        }
        let (left, right) = (&mut self.left, &mut self.right);
        let entries = |place: u32| {
            let row = order[place as usize];
            labels.of(row).iter().map(move |&(class, trust)| (class as usize, trust * f64::from(counts[row as usize])))
        };
        for &class in &self.present {
            (left[class as usize], right[class as usize]) = (0.0, 0.0);
        }
        sorted.iter().flat_map(|&(_, place)| entries(place)).for_each(|(class, trust)| right[class] += trust);
        let on_right = self.present.iter().map(|&class| right[class as usize]);
        let (mut n_right, mut right_squares) =
            on_right.fold((0.0, 0.0), |(n, squares), own| (n + own, squares + own * own));
        let (mut n_left, mut left_squares) = (0.0, 0.0);
        let mut best: Option<(f32, f64)> = None;
        for pair in sorted.windows(2) {
            let [(x, place), (next, _)] = [pair[0], pair[1]];
            for (class, trust) in entries(place) {
                left_squares += trust * (2.0 * left[class] + trust);
                right_squares -= trust * (2.0 * right[class] - trust);
                (left[class], right[class]) = (left[class] + trust, right[class] - trust);
                (n_left, n_right) = (n_left + trust, n_right - trust);
            }
            let gain = left_squares / n_left + right_squares / n_right;
            if x < next && best.is_none_or(|best| gain > best.1) {
                let middle = x + (next - x) / 2.0;
                best = Some((if middle < next { middle } else { x }, gain));
            }
        }
        best
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
