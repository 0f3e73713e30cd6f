//! Grown trees: shares of rows, and the arrays of a model.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Matrix, Result, Run};
use serde_json::json;

use super::FOREST;
use super::grow::{LEAF, Node, Tree};
use crate::core::extend::{Extend, Extension, Shape, check_columns};
use crate::core::scores::Extended;
use crate::core::stored::stored_width;

/// Values of a block of dense rows that walk through the trees together.
pub(super) const BLOCK_VALUES: usize = 1 << 15;
/// Most rows of a block.
const MOST_ROWS: usize = 64;

/// The trees of a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    n_features: usize,
    n_classes: usize,
    /// As [`Columns::centers`](super::columns::Columns::centers).
    centers: Vec<f64>,
    /// The first node of each tree (T).
    roots: Vec<u32>,
    /// The nodes of all trees, each before its children.
    nodes: Vec<Node>,
    /// Shares of the classes in the mixed leaves (m, c).
    mixtures: Vec<f32>,
}

impl Trees {
    /// Joins trees of `n_features` columns and `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for 2³¹ nodes or more.
    pub(super) fn new(n_features: usize, n_classes: usize, centers: Vec<f64>, trees: Vec<Tree>) -> Result<Self> {
        let n_nodes: usize = trees.iter().map(|tree| tree.nodes.len()).sum();
        if n_nodes >= 1 << 31 {
            let (what, bytes) = (format!("a forest of {n_nodes} nodes"), 12 * n_nodes as u64);
            return Err(Error::too_large(what, bytes, 12 << 31, "take fewer trees (n_trees)"));
        }
        let (roots, nodes, mixtures) = Default::default();
        let mut all = Self { n_features, n_classes, centers, roots, nodes, mixtures };
        for tree in trees {
            let (root, mixed) = (all.nodes.len() as u32, (all.mixtures.len() / n_classes) as u32);
            all.roots.push(root);
            all.nodes.extend(tree.nodes.iter().map(|node| match *node {
                Node { column: LEAF, next, .. } if (next as usize) < n_classes => *node,
                Node { column: LEAF, next, .. } => Node { next: next + mixed, ..*node },
                Node { next, .. } => Node { next: next + root, ..*node },
            }));
            all.mixtures.extend(tree.mixtures);
        }
        Ok(all)
    }

    /// Logarithms of the shares of the classes (m, c) for rows (m, d); see [`Forest`](super::Forest).
    pub(super) fn scores(&self, rows: &Features<'_>, run: &Run) -> Result<Matrix> {
        let (n, c, d) = (rows.n_rows(), self.n_classes, self.n_features);
        let block = (BLOCK_VALUES / d.max(1)).clamp(1, MOST_ROWS);
        let mut out = Matrix::filled(n, c, 0.0);
        let done = run.counter(n, "rows");
        run.install(|| {
            out.values_mut().par_chunks_mut(block * c).enumerate().try_for_each_init(
                || (vec![0f32; block * d], vec![0f64; d]),
                |(wide, exact), (at, out)| {
                    run.check()?;
                    let first = at * block;
                    let own = first..first + out.len() / c;
                    for (row, wide) in own.clone().zip(wide.chunks_exact_mut(d)) {
                        self.fill(rows, row, exact, wide);
                    }
                    self.add(wide, out);
                    if let Features::Sparse(sparse) = rows {
                        for (row, wide) in own.zip(wide.chunks_exact_mut(d)) {
                            sparse.row(row).0.iter().for_each(|&column| wide[column as usize] = 0.0);
                        }
                    }
                    let (floor, total) = (1.0 / c as f64, self.roots.len() as f64 + 1.0);
                    out.iter_mut().for_each(|sum| *sum = ((*sum + floor) / total).ln());
                    done.add(out.len() / c);
                    Ok::<(), Error>(())
                },
            )
        })?;
        Ok(out)
    }

    /// Adds the shares of the leaves to which rows (m, d) come to `out` (m, c).
    fn add(&self, rows: &[f32], out: &mut [f64]) {
        let (c, d) = (self.n_classes, self.n_features);
        for &root in &self.roots {
            for (row, out) in rows.chunks_exact(d).zip(out.chunks_exact_mut(c)) {
                let mut node = self.nodes[root as usize];
                while node.column != LEAF {
                    let is_right = row[node.column as usize] > node.threshold;
                    node = self.nodes[node.next as usize + usize::from(is_right)];
                }
                match out.get_mut(node.next as usize) {
                    Some(sum) => *sum += 1.0,
                    None => {
                        let shares = &self.mixtures[(node.next as usize - c) * c..][..c];
                        out.iter_mut().zip(shares).for_each(|(sum, share)| *sum += f64::from(*share));
                    }
                }
            }
        }
    }

    /// The trees that [`store`](Extend::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let n_features = stored_width(file, FOREST)?;
        let centers = match file.contains("centers") {
            true => file.vector::<f64>("centers", &[Some(n_features)], Must::Finite)?,
            false => Vec::new(),
        };
        let roots = file.array::<u32>("roots", &[None])?.1.as_slice().to_vec();
        let columns = file.array::<u32>("columns", &[None])?.1.as_slice();
        let n = columns.len();
        let thresholds = file.numbers::<f32>("thresholds", &[Some(n)], Must::Finite)?.1.as_slice();
        let next = file.array::<u32>("next", &[Some(n)])?.1.as_slice();
        let mixtures = file.vector::<f32>("mixtures", &[None, Some(n_classes)], Must::Shares)?;
        let node = |((&column, &threshold), &next): ((&u32, &f32), &u32)| Node { column, threshold, next };
        let nodes = columns.iter().zip(thresholds).zip(next).map(node).collect();
        let trees = Self { n_features, n_classes, centers, roots, nodes, mixtures };
        if !trees.is_sound() {
            return Err(file.error("its trees are out of range, or do not fit together"));
        }
        Ok(trees)
    }

    /// Whether every row comes to a leaf that has shares.
    fn is_sound(&self) -> bool {
        let (n, n_leaves) = (self.nodes.len(), self.n_classes + self.mixtures.len() / self.n_classes);
        let is_node = |(at, node): (usize, &Node)| match node.column {
            LEAF => (node.next as usize) < n_leaves,
            column => {
                let next = node.next as usize;
                (column as usize) < self.n_features && next > at && next + 1 < n
            }
        };
        !self.roots.is_empty()
            && self.centers.iter().all(|center| center.is_finite())
            && self.roots.iter().all(|root| (*root as usize) < n)
            && self.nodes.iter().enumerate().all(is_node)
    }

    /// A row in f32, less the centers; `wide` holds zeros if rows are sparse.
    fn fill(&self, rows: &Features<'_>, row: usize, exact: &mut [f64], wide: &mut [f32]) {
        match rows {
            Features::Dense(dense) => {
                dense.copy_row_f64(row, exact);
                exact.iter_mut().zip(&self.centers).for_each(|(x, center)| *x -= center);
                wide.iter_mut().zip(exact).for_each(|(wide, x)| *wide = *x as f32);
            }
            Features::Sparse(sparse) => {
                let (columns, values) = sparse.row(row);
                columns.iter().zip(values).for_each(|(&column, &x)| wide[column as usize] = x);
            }
        }
    }
}

impl Extend for Trees {
    fn shape(&self) -> Shape {
        Shape { kind: FOREST, n_features: self.n_features, n_outputs: self.n_classes }
    }

    /// # Complexity
    /// O(m·(d + T·log l)) for T trees of l labeled rows.
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        check_columns(new, self.n_features)?;
        new.check(run)?;
        self.scores(new, run).map(Extended::from)
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.clone()))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        file.meta[FOREST] = json!({ "n_features": self.n_features });
        if !self.centers.is_empty() {
            file.insert("centers", &[self.n_features], self.centers.clone())?;
        }
        file.insert("roots", &[self.roots.len()], self.roots.clone())?;
        let n = self.nodes.len();
        file.insert("columns", &[n], self.nodes.iter().map(|node| node.column).collect::<Vec<_>>())?;
        file.insert("thresholds", &[n], self.nodes.iter().map(|node| node.threshold).collect::<Vec<_>>())?;
        file.insert("next", &[n], self.nodes.iter().map(|node| node.next).collect::<Vec<_>>())?;
        file.insert("mixtures", &[self.mixtures.len() / self.n_classes, self.n_classes], self.mixtures.clone())
    }
}
