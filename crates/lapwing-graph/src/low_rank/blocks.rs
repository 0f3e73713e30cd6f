//! Sums over all rows whose bits do not depend on threads, processes or interruptions: blocks of rows, added in a fixed binary
//! tree.
//!
//! Rows are cut into at most 256 blocks by their number alone. The sums of a block, from any thread, process or earlier run,
//! go into a [`SumTree`]; two sibling nodes are merged into their parent, always the left one plus the right one.
//! A process that owns consecutive blocks therefore sends only a few nodes, and a checkpoint keeps the tree.

use std::collections::BTreeMap;
use std::ops::Range;

use lapwing_core::ordered::{Summand, add};
use lapwing_core::{Communicator, Error, Result};

use super::kernel::CHUNK_ROWS;

/// Most blocks.
const MOST_BLOCKS: usize = 256;

/// How rows are cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    n_rows: usize,
    block_rows: usize,
}

impl Blocks {
    /// The blocks of `n_rows` rows.
    pub fn new(n_rows: usize) -> Self {
        Self { n_rows, block_rows: n_rows.div_ceil(MOST_BLOCKS).next_multiple_of(CHUNK_ROWS).max(CHUNK_ROWS) }
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.n_rows.div_ceil(self.block_rows)
    }

    /// Rows of block `block`.
    pub fn rows(&self, block: usize) -> Range<usize> {
        (block * self.block_rows).min(self.n_rows)..((block + 1) * self.block_rows).min(self.n_rows)
    }

    /// The blocks of one process. Numbers of blocks differ by at most 1; blocks are in the order of the processes.
    pub fn owned(&self, communicator: &dyn Communicator) -> Range<usize> {
        let (rank, size) = (communicator.rank(), communicator.size());
        rank * self.count() / size..(rank + 1) * self.count() / size
    }
}

/// Sums over the rows of some blocks, and the least of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSums {
    /// The sums.
    pub added: Vec<f64>,
    /// The least value.
    pub least: f64,
}

impl BlockSums {
    /// `n` sums over no rows.
    pub fn zero(n: usize) -> Self {
        Self { added: vec![0.0; n], least: f64::INFINITY }
    }
}

impl Summand for BlockSums {
    fn add(&mut self, right: &Self) {
        add(&mut self.added, &right.added);
        self.least = self.least.min(right.least);
    }
}

/// The sums of those blocks that are done.
#[derive(Clone, Debug, PartialEq)]
pub struct SumTree {
    n_blocks: usize,
    n_sums: usize,
    /// By level, 0 for single blocks, and place within it.
    nodes: BTreeMap<(u32, u32), BlockSums>,
}

impl SumTree {
    /// An empty tree for `n_blocks` blocks, each with `n_sums` sums.
    pub fn new(n_blocks: usize, n_sums: usize) -> Self {
        Self { n_blocks, n_sums, nodes: BTreeMap::new() }
    }

    /// Adds the sums of a block that was not yet done.
    pub fn insert(&mut self, block: usize, sums: BlockSums) {
        self.insert_at(0, block as u32, sums);
    }

    /// Inserts a node and merges siblings. A node whose sibling would be after the last block becomes its own parent.
    fn insert_at(&mut self, level: u32, place: u32, sums: BlockSums) {
        let (mut level, mut place, mut sums) = (level, place, sums);
        while (1 << level) < self.n_blocks {
            let sibling = place ^ 1;
            if (sibling as usize) << level < self.n_blocks {
                let Some(other) = self.nodes.remove(&(level, sibling)) else { break };
                let (mut left, right) = if sibling < place { (other, sums) } else { (sums, other) };
                left.add(&right);
                sums = left;
            }
            (level, place) = (level + 1, place / 2);
        }
        self.nodes.insert((level, place), sums);
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// Number of sums of each block.
    pub fn n_sums(&self) -> usize {
        self.n_sums
    }

    /// Whether block `block` is done.
    pub fn holds(&self, block: usize) -> bool {
        (0..=self.top()).any(|level| self.nodes.contains_key(&(level, (block >> level) as u32)))
    }

    fn top(&self) -> u32 {
        self.n_blocks.next_power_of_two().trailing_zeros()
    }

    /// The sums over all rows, once all blocks are done.
    pub fn total(&self) -> Option<&BlockSums> {
        self.nodes.get(&(self.top(), 0))
    }

    /// Adds the blocks of another tree that this one lacks. If both have some of the same blocks, one node contains the other, and
    /// the larger one is kept.
    pub fn merge(&mut self, other: Self) {
        for ((level, place), sums) in other.nodes {
            if (level..=self.top()).any(|above| self.nodes.contains_key(&(above, place >> (above - level)))) {
                continue;
            }
            self.nodes.retain(|&(below, at), _| below > level || at >> (level - below) != place);
            self.insert_at(level, place, sums);
        }
    }

    /// The tree as bytes, for other processes and checkpoints.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.nodes.len() * (16 + 8 * self.n_sums));
        for size in [self.n_blocks, self.n_sums, self.nodes.len()] {
            out.extend((size as u64).to_le_bytes());
        }
        for ((level, place), sums) in &self.nodes {
            out.extend(level.to_le_bytes());
            out.extend(place.to_le_bytes());
            out.extend(sums.least.to_le_bytes());
            sums.added.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
        }
        out
    }

    /// The tree from the bytes of [`to_bytes`](Self::to_bytes); `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_at_checked(24)?;
        let [n_blocks, n_sums, n_nodes] =
            [0, 8, 16].map(|at| usize::try_from(u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default())));
        let (n_blocks, n_sums, n_nodes) = (n_blocks.ok()?, n_sums.ok()?, n_nodes.ok()?);
        if n_blocks > MOST_BLOCKS || rest.len() != n_nodes.checked_mul(n_sums.checked_mul(8)?.checked_add(16)?)? {
            return None;
        }
        let mut tree = Self::new(n_blocks, n_sums);
        for _ in 0..n_nodes {
            let (node, later) = rest.split_at_checked(16 + 8 * n_sums)?;
            rest = later;
            let word = |at: usize| u32::from_le_bytes(node[at..at + 4].try_into().unwrap_or_default());
            let real = |at: usize| f64::from_le_bytes(node[at..at + 8].try_into().unwrap_or_default());
            let (level, place) = (word(0), word(4));
            let blocks = (place as usize).checked_mul(1 << level.min(tree.top()))?;
            let is_new = |block: usize| !tree.holds(block);
            let within = blocks..blocks.saturating_add(1 << level.min(tree.top())).min(n_blocks);
            if level > tree.top() || within.is_empty() || !within.into_iter().all(is_new) {
                return None;
            }
            let added = (0..n_sums).map(|at| real(16 + 8 * at)).collect();
            tree.insert_at(level, place, BlockSums { added, least: real(8) });
        }
        Some(tree)
    }

    /// The sums over the blocks of all processes, at each of them.
    ///
    /// # Errors
    /// [`Error::Comm`].
    pub fn total_over(&self, communicator: &dyn Communicator) -> Result<BlockSums> {
        let damaged = || Error::Comm { rank: communicator.rank(), reason: "sums of other ranks do not fit".into() };
        let mut all = Self::new(self.n_blocks, self.n_sums);
        for bytes in communicator.gather(&self.to_bytes())? {
            let part =
                Self::from_bytes(&bytes).filter(|part| (part.n_blocks, part.n_sums) == (self.n_blocks, self.n_sums));
            all.merge(part.ok_or_else(damaged)?);
        }
        let all = Self::from_bytes(&communicator.broadcast(all.to_bytes())?).ok_or_else(damaged)?;
        match (all.total(), self.n_blocks) {
            (Some(total), _) => Ok(total.clone()),
            (None, 0) => Ok(BlockSums::zero(self.n_sums)),
            (None, _) => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::Alone;

    use super::*;

    /// Values whose sum depends on the order.
    fn sums(block: usize) -> BlockSums {
        BlockSums { added: vec![1.0 / (block as f64 + 0.3), (block as f64).exp2() * 0.1], least: -(block as f64) }
    }

    #[test]
    fn the_order_of_arrival_cannot_be_seen() {
        for n in [1usize, 2, 3, 7, 13, 64, 255, 256] {
            let forward = (0..n).fold(SumTree::new(n, 2), |mut tree, block| {
                assert!(!tree.holds(block) && tree.total().is_none());
                tree.insert(block, sums(block));
                tree
            });
            let total = forward.total().unwrap();
            assert_eq!(total.least, 1.0 - n as f64);
            assert!(forward.nodes.len() == 1 && (0..n).all(|block| forward.holds(block)));
            for stride in [3, 5, 7, 11] {
                if n.is_multiple_of(stride) {
                    continue;
                }
                let mut tree = SumTree::new(n, 2);
                (0..n).for_each(|at| tree.insert(at * stride % n, sums(at * stride % n)));
                assert_eq!(tree.total().unwrap(), total);
            }
            for parts in [2, 3, 16] {
                let part = |p: usize| {
                    let mut tree = SumTree::new(n, 2);
                    (p * n / parts..(p + 1) * n / parts).for_each(|block| tree.insert(block, sums(block)));
                    assert_eq!(SumTree::from_bytes(&tree.to_bytes()), Some(tree.clone()));
                    tree
                };
                let mut tree = SumTree::new(n, 2);
                (0..parts).rev().for_each(|p| tree.merge(part(p)));
                assert_eq!(tree.total().unwrap(), total);
                tree.merge(part(0));
                assert_eq!(tree.total_over(&Alone).unwrap(), *total);

                // Each part starts with blocks of an earlier run.
                let begun = |blocks: &mut dyn Iterator<Item = usize>| {
                    let mut tree = SumTree::new(n, 2);
                    (0..n).step_by(3).for_each(|block| tree.insert(block, sums(block)));
                    blocks.filter(|block| !block.is_multiple_of(3)).for_each(|block| tree.insert(block, sums(block)));
                    tree
                };
                let mut all = SumTree::new(n, 2);
                for p in 0..parts {
                    all.merge(begun(&mut (p * n / parts..(p + 1) * n / parts)));
                }
                assert_eq!(all.total().unwrap(), total);
            }
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut tree = SumTree::new(5, 2);
        for block in [0, 1, 4] {
            tree.insert(block, sums(block));
        }
        let bytes = tree.to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(SumTree::from_bytes(&bytes[..length]), None);
        }
        for at in 0..32 {
            let mut other = bytes.clone();
            other[at] ^= 0x41;
            if let Some(other) = SumTree::from_bytes(&other) {
                assert!((0..300).all(|block| block < 5 || !other.holds(block) || other.n_blocks > 5));
            }
        }
        assert!(SumTree::new(5, 2).total_over(&Alone).is_err());
        // A block occurs twice: by itself and within a larger node.
        let twice = |nodes: &[(u32, u32)]| {
            let nodes = nodes.iter().map(|&node| (node, sums(0))).collect();
            SumTree::from_bytes(&SumTree { n_blocks: 5, n_sums: 2, nodes }.to_bytes())
        };
        assert_eq!(twice(&[(0, 1), (1, 0)]), None);
        assert_eq!(twice(&[(0, 0), (3, 0)]), None);
        // Siblings that were not merged are merged, so that the root can be reached.
        assert!(twice(&[(0, 0), (0, 1), (0, 4), (1, 1)]).unwrap().total().is_some());
    }

    #[test]
    fn blocks_cover_all_rows_once() {
        for n in [0, 1, 1023, 1024, 1025, 300_000, 100_000_000] {
            let blocks = Blocks::new(n);
            assert!(blocks.count() <= MOST_BLOCKS);
            let rows: usize = (0..blocks.count()).map(|block| blocks.rows(block).len()).sum();
            assert_eq!((rows, blocks.rows(blocks.count()).len()), (n, 0));
            assert_eq!(blocks.owned(&Alone), 0..blocks.count());
        }
    }
}
