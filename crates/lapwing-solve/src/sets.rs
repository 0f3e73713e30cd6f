//! Disjoint sets of rows, joined pair by pair (union–find with path halving).
//!
//! Cost: nearly constant for each call, 4 bytes a row.

/// Sets of the rows 0..n; each is named by its smallest row.
#[derive(Clone, Debug)]
pub struct DisjointSets(Vec<u32>);

impl DisjointSets {
    /// Every row for itself.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The smallest row of the set of `row`.
    pub fn root(&mut self, mut row: u32) -> u32 {
        while self.0[row as usize] != row {
            let parent = self.0[row as usize];
            self.0[row as usize] = self.0[parent as usize];
            row = self.0[row as usize];
        }
        row
    }

    /// Joins the sets of two rows; whether they were apart.
    pub fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.0[a.max(b) as usize] = a.min(b);
        }
        a != b
    }
}
