//! Colors of labels, by which their leverages are estimated from few columns.
//!
//! A column of a solve holds the labels of one color. The estimate of the leverage of a label then errs by the influence of the other
//! labels of its color on its row, so labels near each other get different colors (probing; Tang & Saad 2012). Near are labels whose
//! cells touch, and those whose cells touch a common third one.
//!
//! With columns of random signs instead, which hold all labels, the error is the influence of *all* other labels divided by the root of
//! the number of columns, and the nearest ones are most of it.
//!
//! Cost: O(m) for the cells of the labels, and one step for each pair of cells that touch or have a touching cell in common, at most
//! [`MOST_STEPS`].

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};
use lapwing_graph::Graph;
use rayon::slice::ParallelSliceMut;

use crate::core::cells::{NO_CELL, grow};

/// Most pairs of steps from cell to cell: beyond, only cells that touch count as near.
const MOST_STEPS: usize = 200_000_000;

/// A color below `n_colors` for each of the `labeled` rows.
pub(super) fn colors(graph: &Graph, labeled: &[u32], n_colors: usize, run: &Run) -> Result<Vec<u32>> {
    let home = grow(graph, labeled, run)?;
    let near = Touching::new(graph, &home, labeled.len(), run);
    let n_steps: usize = near.entries.iter().map(|&(other, _)| near.row(other as usize).len()).sum();
    let is_two_steps = n_steps <= MOST_STEPS;
    let (mut found, mut counts) = (vec![u32::MAX; labeled.len()], vec![0usize; n_colors]);
    let mut conflict = vec![0.0; n_colors];
    for label in 0..labeled.len() {
        if label.is_multiple_of(4096) {
            run.check()?;
        }
        conflict.fill(0.0);
        let mut add = |color: u32, weight: f64| {
            if let Some(conflict) = conflict.get_mut(color as usize) {
                *conflict += weight;
            }
        };
        for &(other, weight) in near.row(label) {
            add(found[other as usize], weight);
            if is_two_steps {
                near.row(other as usize).iter().for_each(|&(third, next)| add(found[third as usize], weight * next));
            }
        }
        let is_better = |a: usize, b: usize| (conflict[a], counts[a]) < (conflict[b], counts[b]);
        let best = (1..n_colors).fold(0, |best, color| if is_better(color, best) { color } else { best });
        found[label] = best as u32;
        counts[best] += 1;
    }
    Ok(found)
}

/// Which cells touch, with the share of a cell's outward weight that leads to the other.
struct Touching {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Touching {
    fn new(graph: &Graph, home: &[u32], n_cells: usize, run: &Run) -> Self {
        let crossing = |row: usize| {
            let (columns, weights) = graph.adjacency().row(row);
            let pairs =
                columns.iter().zip(weights).map(move |(&column, &weight)| (home[row], home[column as usize], weight));
            pairs.filter(|&(own, other, _)| own != other && own != NO_CELL)
        };
        let mut pairs: Vec<(u32, u32, f64)> = run.install(|| {
            let mut pairs: Vec<_> = (0..home.len()).into_par_iter().with_min_len(256).flat_map_iter(crossing).collect();
            // A stable sort: equal pairs stay in the order of their rows, so that sums do not depend on threads.
            pairs.par_sort_by_key(|pair| (pair.0, pair.1));
            pairs
        });
        pairs.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        let mut starts = vec![0; n_cells + 1];
        pairs.iter().for_each(|pair| starts[pair.0 as usize + 1] += 1);
        (0..n_cells).for_each(|cell| starts[cell + 1] += starts[cell]);
        let mut touching = Self { starts, entries: pairs.into_iter().map(|pair| (pair.1, pair.2)).collect() };
        for cell in 0..n_cells {
            let row = &mut touching.entries[touching.starts[cell]..touching.starts[cell + 1]];
            let total: f64 = row.iter().map(|entry| entry.1).sum();
            row.iter_mut().for_each(|entry| entry.1 /= total);
        }
        touching
    }

    fn row(&self, cell: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[cell]..self.starts[cell + 1]]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::blobs;
    use lapwing_graph::{GraphParams, affinity_graph};

    use super::*;

    #[test]
    fn labels_near_each_other_have_different_colors() {
        let run = Run::new(Some(2), 0).unwrap();
        let graph = affinity_graph(&blobs(600, 3, 5), &GraphParams::default(), &run).unwrap().graph;
        let labeled: Vec<u32> = (0..600).step_by(3).collect();
        let found = colors(&graph, &labeled, 16, &run).unwrap();
        let mut counts = [0; 16];
        found.iter().for_each(|color| counts[*color as usize] += 1);
        assert!(counts.iter().all(|count| *count >= 4), "{counts:?}");
        let color = |row: u32| labeled.binary_search(&row).ok().map(|at| found[at]);
        let mut same = 0;
        for &row in &labeled {
            let others = graph.adjacency().row(row as usize).0;
            same += others.iter().filter(|other| color(**other) == color(row)).count();
        }
        assert!(same * 50 < graph.adjacency().nnz() / 3, "{same}");
    }
}
