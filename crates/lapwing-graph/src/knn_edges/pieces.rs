//! Computes edges in independent pieces: of pairs that are found again, or of held neighbors.
//!
//! Cost: that of [`crate::knn::exact::pairs_within`], or for neighbors that are held n·k searches among k.

use std::ops::Range;

use lapwing_core::{Edge, Result, Run};

use crate::knn::Neighbors;
use crate::knn::exact::pairs_within::{PairsWithin, Piece, Wanted};
use crate::{GraphParams, Symmetrize, Weighting, Widths};

/// Neighbors in a piece.
const HELD_PIECE: usize = 1 << 18;

/// Weighs pairs of rows.
#[derive(Clone, Copy)]
pub(crate) struct Weigher<'s> {
    pub params: &'s GraphParams,
    pub widths: &'s Widths,
}

impl Weigher<'_> {
    /// What is computed of a pair to weigh it.
    pub fn wanted(&self) -> Wanted {
        match (self.params.weights, self.params.symmetrize) {
            (Weighting::Binary, _) => Wanted::Nothing,
            (_, Symmetrize::Mutual) => Wanted::MutualDistances,
            _ => Wanted::Distances,
        }
    }

    /// Appends the edge between `rows`, of which the second is a k-neighbor of the first, if it has a weight.
    #[inline(always)]
    fn push(&self, rows: (u32, u32), distance: f32, other: Option<f32>, out: &mut Vec<Edge>) {
        let weight = self.widths.edge(self.params, (rows.0 as usize, rows.1 as usize), distance, other);
        if weight > 0.0 {
            out.push(Edge { u: rows.0.min(rows.1), v: rows.0.max(rows.1), weight });
        }
    }
}

/// Edges in independent pieces with an order.
pub(crate) trait Pieces: Send + Sync {
    type Piece: Clone + Send + Sync;
    fn first(&self) -> Option<Self::Piece>;
    fn next(&self, piece: &Self::Piece) -> Option<Self::Piece>;
    /// Most edges of a piece.
    fn most(&self, piece: &Self::Piece) -> usize;
    fn edges(&self, piece: &Self::Piece, run: &Run) -> Result<Vec<Edge>>;
}

/// Pairs found again.
pub(crate) struct Found<'s> {
    pub within: PairsWithin<'s>,
    pub graph: Weigher<'s>,
}

impl Pieces for Found<'_> {
    type Piece = Piece;

    fn first(&self) -> Option<Piece> {
        Some(self.within.first())
    }

    fn next(&self, piece: &Piece) -> Option<Piece> {
        self.within.next(piece)
    }

    fn most(&self, piece: &Piece) -> usize {
        self.within.most(piece)
    }

    fn edges(&self, piece: &Piece, run: &Run) -> Result<Vec<Edge>> {
        let mut out = Vec::new();
        self.within.visit(piece, run, &mut |pair| {
            self.graph.push(pair.rows, pair.distance, pair.is_mutual.then_some(pair.distance), &mut out);
        })?;
        Ok(out)
    }
}

/// Neighbors that are held, sorted by row.
pub(crate) struct HeldNeighbors<'s> {
    pub neighbors: &'s Neighbors,
    pub graph: Weigher<'s>,
}

impl HeldNeighbors<'_> {
    fn from(&self, first: usize) -> Option<Range<usize>> {
        let (n, rows) = (self.neighbors.n_samples(), HELD_PIECE.div_ceil(self.neighbors.n_neighbors));
        (first < n).then(|| first..(first + rows).min(n))
    }

    /// The distance of `other` in the list of `row`, if it is there.
    fn distance(&self, row: usize, other: u32) -> Option<f32> {
        let range = row * self.neighbors.n_neighbors..(row + 1) * self.neighbors.n_neighbors;
        let at = self.neighbors.indices[range.clone()].binary_search(&other).ok()?;
        Some(self.neighbors.distances[range.start + at])
    }
}

impl Pieces for HeldNeighbors<'_> {
    type Piece = Range<usize>;

    fn first(&self) -> Option<Range<usize>> {
        self.from(0)
    }

    fn next(&self, piece: &Range<usize>) -> Option<Range<usize>> {
        self.from(piece.end)
    }

    fn most(&self, piece: &Range<usize>) -> usize {
        piece.len() * self.neighbors.n_neighbors
    }

    fn edges(&self, piece: &Range<usize>, run: &Run) -> Result<Vec<Edge>> {
        run.check()?;
        let mut out = Vec::new();
        for row in piece.clone() {
            for (id, distance) in self.neighbors.row(row) {
                let other = self.distance(id as usize, row as u32);
                // Two rows that are neighbors of each other have one edge.
                if other.is_none() || id as usize > row {
                    self.graph.push((row as u32, id), distance, other, &mut out);
                }
            }
        }
        Ok(out)
    }
}
