//! Joins pieces of edges to one stream, a batch at a time.
//!
//! Parallel over the pieces of a batch, read in their order. Memory: a batch, about 64 MiB of edges where every pair is
//! one, and what vectors grow by; far less for k far below n.

use std::collections::VecDeque;

use lapwing_core::parallel::*;
use lapwing_core::{Edge, EdgeReader, Result, Run};

use crate::knn_edges::pieces::Pieces;

/// Approximate number of pairs compared for one batch.
pub(crate) const BATCH_PAIRS: usize = 1 << 22;

/// Reads pieces a batch at a time.
pub(crate) struct Reader<P: Pieces> {
    pieces: P,
    next: Option<P::Piece>,
    /// Finished pieces, in order.
    ready: VecDeque<Vec<Edge>>,
    /// Number of edges of the first piece that were read.
    at: usize,
}

impl<P: Pieces> Reader<P> {
    pub fn new(pieces: P) -> Self {
        Self { next: pieces.first(), pieces, ready: VecDeque::new(), at: 0 }
    }

    /// Makes the edges of the next batch.
    fn fill(&mut self, run: &Run) -> Result<()> {
        let (mut batch, mut n_pairs, mut next) = (Vec::new(), 0, self.next.clone());
        while n_pairs < BATCH_PAIRS
            && let Some(piece) = next
        {
            n_pairs += self.pieces.most(&piece);
            next = self.pieces.next(&piece);
            batch.push(piece);
        }
        let pieces = &self.pieces;
        let made: Result<Vec<_>> = run.install(|| batch.par_iter().map(|piece| pieces.edges(piece, run)).collect());
        (self.ready, self.next) = (made?.into(), next);
        Ok(())
    }
}

impl<P: Pieces> EdgeReader for Reader<P> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        run.check()?;
        let end = out.len() + most;
        while out.len() < end {
            let Some(edges) = self.ready.front() else {
                if self.next.is_none() {
                    break;
                }
                self.fill(run)?;
                continue;
            };
            let taken = (end - out.len()).min(edges.len() - self.at);
            out.extend_from_slice(&edges[self.at..self.at + taken]);
            self.at += taken;
            if self.at == edges.len() {
                self.ready.pop_front();
                self.at = 0;
            }
        }
        Ok(())
    }
}
