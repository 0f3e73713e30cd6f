//! Cells: the rows of a graph in groups around seeds.
//!
//! The seeds grow breadth first, all at once. A row joins the cell of its heaviest neighbor among those that joined before. Cost: O(m),
//! 4 bytes a row; the result does not depend on threads.

use lapwing_core::{Result, Run};
use lapwing_graph::Graph;

/// Marks a row that no seed reaches.
pub(crate) const NO_CELL: u32 = u32::MAX;

/// The cell of each row (n), numbered by its seed; [`NO_CELL`] where no seed is in the component. `seeds` are distinct.
pub(crate) fn grow(graph: &Graph, seeds: &[u32], run: &Run) -> Result<Vec<u32>> {
    let mut home = vec![NO_CELL; graph.n_samples()];
    seeds.iter().zip(0u32..).for_each(|(&row, cell)| home[row as usize] = cell);
    let mut is_met = vec![false; graph.n_samples()];
    let (mut wave, mut next) = (seeds.to_vec(), Vec::new());
    while !wave.is_empty() {
        run.check()?;
        next.clear();
        for &row in &wave {
            for &other in graph.adjacency().row(row as usize).0 {
                if home[other as usize] == NO_CELL && !is_met[other as usize] {
                    is_met[other as usize] = true;
                    next.push(other);
                }
            }
        }
        let found: Vec<u32> = next.iter().map(|&row| heaviest(graph, &home, row)).collect();
        next.iter().zip(found).for_each(|(&row, cell)| home[row as usize] = cell);
        std::mem::swap(&mut wave, &mut next);
    }
    Ok(home)
}

/// The cell of the heaviest neighbor of `row` that has one, the first of equals.
fn heaviest(graph: &Graph, home: &[u32], row: u32) -> u32 {
    let (columns, weights) = graph.adjacency().row(row as usize);
    let with_cell = columns.iter().zip(weights).filter(|(column, _)| home[**column as usize] != NO_CELL);
    let best = with_cell.fold(None, |best: Option<(u32, f64)>, (&column, &weight)| match best {
        Some((_, most)) if most >= weight => best,
        _ => Some((home[column as usize], weight)),
    });
    best.map_or(NO_CELL, |(cell, _)| cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_join_their_heaviest_neighbor_with_a_cell() {
        // A path 0 − 1 − 2 − 3 − 4 whose middle is tied more strongly to the right, and a part without a seed.
        let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 2.0), (3, 4, 1.0), (5, 6, 1.0)];
        let graph = Graph::from_edges(7, &edges).unwrap();
        let home = grow(&graph, &[0, 4], &Run::new(Some(1), 0).unwrap()).unwrap();
        assert_eq!(home, [0, 0, 1, 1, 1, NO_CELL, NO_CELL]);
    }
}
