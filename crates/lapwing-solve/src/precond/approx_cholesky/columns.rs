//! The columns of a factor, and their order by level. Cost of the order: O(entries + n log n) for n columns.

use lapwing_core::{Result, Run};

/// State of a vertex that is not a neighbor of the one being eliminated.
pub(super) const FREE: u32 = u32::MAX;
/// Entries or columns between two checks for cancellation.
pub(super) const UNCHECKED: usize = 1 << 16;

/// Columns of the factor, in the order of elimination.
#[derive(Default)]
pub(super) struct Columns {
    /// Vertex of each column.
    pub vertices: Vec<u32>,
    /// Where each column ends in `ids` and `shares`.
    pub ends: Vec<usize>,
    /// Its neighbors when it was eliminated.
    pub ids: Vec<u32>,
    /// Their shares of its degree.
    pub shares: Vec<f32>,
    /// Its pivot, the degree.
    pub pivots: Vec<f64>,
}

impl Columns {
    /// The same columns sorted by level and length: a column of level l receives from lower levels only. Consecutive columns are
    /// then independent, and their equal lengths let the processor predict loop ends. Vertices are numbered below `n`.
    pub fn by_level(self, n: usize, run: &Run) -> Result<Self> {
        run.check()?;
        let mut place = vec![FREE; n];
        self.vertices.iter().enumerate().for_each(|(at, &v)| place[v as usize] = at as u32);
        let mut levels = vec![0u32; self.vertices.len()];
        let starts: Vec<usize> = std::iter::once(0).chain(self.ends.iter().copied()).collect();
        for at in 0..levels.len() {
            if at.is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            for &id in &self.ids[starts[at]..starts[at + 1]] {
                if let Some(level) = levels.get(place[id as usize] as usize) {
                    levels[place[id as usize] as usize] = (*level).max(levels[at] + 1);
                }
            }
        }
        let mut order: Vec<u32> = (0..levels.len() as u32).collect();
        let length = |at: u32| starts[at as usize + 1] - starts[at as usize];
        order.sort_by_key(|&at| (levels[at as usize], length(at)));
        let mut sorted = Self {
            vertices: order.iter().map(|&at| self.vertices[at as usize]).collect(),
            pivots: order.iter().map(|&at| self.pivots[at as usize]).collect(),
            ends: Vec::with_capacity(order.len()),
            ids: Vec::with_capacity(self.ids.len()),
            shares: Vec::with_capacity(self.ids.len()),
        };
        for (place, &at) in order.iter().enumerate() {
            if place.is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            let list = starts[at as usize]..starts[at as usize + 1];
            sorted.ids.extend_from_slice(&self.ids[list.clone()]);
            sorted.shares.extend_from_slice(&self.shares[list]);
            sorted.ends.push(sorted.ids.len());
        }
        Ok(sorted)
    }
}
