//! Connected components, and which of them hold a label.

use lapwing_data::Csr;

/// Connected components of a graph, numbered by their smallest row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// Component of each row (n).
    pub id: Vec<u32>,
    /// Rows of each component.
    pub sizes: Vec<usize>,
}

impl Components {
    /// Components of a symmetric matrix, by breadth-first search.
    ///
    /// # Complexity
    /// O(n + m) time, 8 bytes per row.
    pub(crate) fn of(adjacency: &Csr<f64>) -> Self {
        let n = adjacency.n_rows();
        let (mut id, mut sizes, mut queue) = (vec![u32::MAX; n], Vec::new(), Vec::new());
        for start in 0..n {
            if id[start] != u32::MAX {
                continue;
            }
            let component = sizes.len() as u32;
            id[start] = component;
            queue.clear();
            queue.push(start as u32);
            let mut size = 0;
            while let Some(row) = queue.pop() {
                size += 1;
                for &column in adjacency.row(row as usize).0 {
                    if id[column as usize] == u32::MAX {
                        id[column as usize] = component;
                        queue.push(column);
                    }
                }
            }
            sizes.push(size);
        }
        Self { id, sizes }
    }

    /// Which components hold at least one of `rows`.
    pub fn holding(&self, rows: &[u32]) -> Vec<bool> {
        let mut holds = vec![false; self.sizes.len()];
        rows.iter().for_each(|&row| holds[self.id[row as usize] as usize] = true);
        holds
    }
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    #[test]
    fn components_are_numbered_by_their_first_row() {
        let graph = Graph::from_edges(6, &[(0, 3, 1.0), (3, 5, 1.0), (1, 2, 1.0)]).unwrap();
        let components = graph.components();
        assert_eq!(components.id, [0, 1, 1, 0, 2, 0]);
        assert_eq!(components.sizes, [3, 2, 1]);
        assert_eq!(components.holding(&[2, 4]), [false, true, true]);
    }
}
