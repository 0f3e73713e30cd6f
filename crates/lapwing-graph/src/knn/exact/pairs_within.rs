//! Finds pairs of rows of which one is a k-neighbor of the other, by thresholds instead of lists.
//!
//! The key (distance, row) of the last neighbor of every row x is given: y is a k-neighbor of x iff (d(x, y), y) ≤ last(x).
//! Each pair is compared once, and only pairs whose lower bound is within the limit of x or y need more than a product.
//! Cost: n²/2 products, and one exact distance for each pair that is found, unless bounds decide and the distance is not
//! wanted. Pieces are independent: they may be found in parallel and read in their order.

use std::ops::Range;

use lapwing_core::{Result, Run};

use crate::knn::distance::Distances;
use crate::knn::exact::bounds::before;
use crate::knn::exact::certified::{reach, rounded_up};
use crate::knn::exact::pass::{Limits, pass};
use crate::knn::exact::products::Target;
use crate::knn::exact::signed::{distance_of, key};
use crate::knn::exact::thresholds::AllPairs;
use crate::knn::from_row::FromRow;
use crate::knn::rows::TILE_ROWS;

/// Approximate number of pairs in a piece.
const PIECE_PAIRS: usize = 1 << 19;

/// The last neighbor of every row, and limits that follow from it.
pub(crate) struct Thresholds {
    /// [`key`] of the last neighbor of each row (n).
    pub last: Vec<u64>,
    /// A row at a larger v is certainly not a neighbor (n).
    limits: Vec<f32>,
    /// A row at a smaller distance, in the unit of the search, is certainly a neighbor (n).
    sure: Vec<f32>,
}

impl Thresholds {
    /// The thresholds of rows whose last neighbors have the keys `last`.
    pub fn new(pairs: &AllPairs<'_>, last: Vec<u64>) -> Self {
        let rows = last.iter().zip(&pairs.side.rows.half_norms);
        let limits = rows.map(|(&last, &h)| rounded_up(reach(&pairs.frame, distance_of(last)), h)).collect();
        let sure = last.iter().map(|&last| before(pairs.frame.in_search(distance_of(last)) as f32)).collect();
        Self { last, limits, sure }
    }
}

/// Two rows of which at least one is a k-neighbor of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// The two rows; the second is a k-neighbor of the first.
    pub rows: (u32, u32),
    /// Their distance, if it is wanted.
    pub distance: f32,
    /// The first is a k-neighbor of the second, too.
    pub is_mutual: bool,
}

/// Some rows, and a block of rows before them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    rows: Range<usize>,
    block: usize,
}

/// All pairs, piece by piece.
pub(crate) struct PairsWithin<'a> {
    pairs: &'a AllPairs<'a>,
    thresholds: &'a Thresholds,
    target: Target<'a>,
    distances: Distances<'a>,
    wanted: Wanted,
}

/// What is computed of a pair besides which row is a k-neighbor of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// Nothing.
    Nothing,
    /// Its distance.
    Distances,
    /// Its distance if each row is a k-neighbor of the other.
    MutualDistances,
}

impl Wanted {
    fn is_distance_of(self, a_has_b: bool, b_has_a: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::Distances => a_has_b || b_has_a,
            Self::MutualDistances => a_has_b && b_has_a,
        }
    }
}

impl<'a> PairsWithin<'a> {
    pub fn new(pairs: &'a AllPairs<'a>, thresholds: &'a Thresholds, wanted: Wanted, run: &Run) -> Self {
        let (target, distances) = (pairs.target(run), pairs.distances());
        Self { pairs, thresholds, target, distances, wanted }
    }

    /// The first piece.
    pub fn first(&self) -> Piece {
        Piece { rows: 0..self.piece_rows().min(self.pairs.n()), block: 0 }
    }

    /// The piece after `piece`: of the same rows with the next block, or of the next rows with the first one.
    pub fn next(&self, piece: &Piece) -> Option<Piece> {
        let (n, Piece { rows, block }) = (self.pairs.n(), piece.clone());
        if (block + 1) * self.target.block < rows.end {
            return Some(Piece { rows, block: block + 1 });
        }
        (rows.end < n).then(|| Piece { rows: rows.end..(rows.end + self.piece_rows()).min(n), block: 0 })
    }

    /// Most pairs that a piece may find.
    pub fn most(&self, piece: &Piece) -> usize {
        piece.rows.len() * self.columns(piece)
    }

    fn piece_rows(&self) -> usize {
        (PIECE_PAIRS / self.target.block).clamp(16, TILE_ROWS)
    }

    fn columns(&self, piece: &Piece) -> usize {
        self.target.block.min(piece.rows.end - piece.block * self.target.block)
    }

    /// Calls `found` for the pairs of `piece`, row by row, each with the rows before it in ascending order.
    pub fn visit(&self, piece: &Piece, run: &Run, found: &mut impl FnMut(Found)) -> Result<()> {
        let (rows, columns) = (piece.rows.clone(), self.columns(piece));
        let ids: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
        let left = self.pairs.side.gather(&ids);
        let mut products = vec![0f32; ids.len() * columns];
        self.target.products(&left, piece.block, columns, &mut products);
        let first = piece.block * self.target.block;
        let mut limits = self.thresholds.limits[first..first + columns].to_vec();
        let mut from = FromRow::new(&self.distances);
        for (row, products) in rows.zip(products.chunks_exact(columns)) {
            run.check()?;
            let earlier = columns.min(row.saturating_sub(first));
            if earlier > 0 {
                from.set(row);
                self.visit_row((row, &from), first, &products[..earlier], &mut limits[..earlier], found);
            }
        }
        Ok(())
    }

    fn visit_row(
        &self,
        (row, from): (usize, &FromRow<'_>),
        first: usize,
        products: &[f32],
        limits: &mut [f32],
        found: &mut impl FnMut(Found),
    ) {
        let half_norms = &self.pairs.side.rows.half_norms;
        let (own, others) = (half_norms[row], &half_norms[first..first + products.len()]);
        let limit = self.thresholds.limits[row];
        let all = &self.thresholds.limits[first..first + products.len()];
        let bounds = Limits { half_norms: others, row: limit, half_norm: own, columns: limits };
        pass(products, bounds, &mut |at| {
            let (product, other) = (products[at], first + at);
            let upper = 2.0 * ((others[at] - product) + own) + (self.pairs.slacks[row] + self.pairs.slacks[other]);
            let has = self.known(row, upper, others[at] - product);
            let is_had = self.known(other, upper, own - product);
            if let Some(pair) = self.reranker(from, (row, has), (other, is_had)) {
                found(pair);
            }
            (limit, all[at])
        });
    }

    /// Whether another row, at v and at most at the distance `upper`, is a k-neighbor of `row`; `None` if bounds do not decide.
    #[inline(always)]
    fn known(&self, row: usize, upper: f32, v: f32) -> Option<bool> {
        if upper < self.thresholds.sure[row] {
            Some(true)
        } else if v > self.thresholds.limits[row] {
            Some(false)
        } else {
            None
        }
    }

    /// Which row is a k-neighbor of the other. The exact distance is computed if bounds do not decide or it is wanted; `a_has_b`
    /// is whether b is a k-neighbor of a, if bounds decide.
    #[inline(always)]
    fn reranker(
        &self,
        from: &FromRow<'_>,
        (a, a_has_b): (usize, Option<bool>),
        (b, b_has_a): (usize, Option<bool>),
    ) -> Option<Found> {
        let (distance, a_has_b, b_has_a) = match (a_has_b, b_has_a) {
            (Some(a_has_b), Some(b_has_a)) if !self.wanted.is_distance_of(a_has_b, b_has_a) => (0.0, a_has_b, b_has_a),
            _ => {
                let distance = from.get(b);
                let has = |row: usize, other: usize| key(distance, other as u32) <= self.thresholds.last[row];
                (distance, a_has_b.unwrap_or_else(|| has(a, b)), b_has_a.unwrap_or_else(|| has(b, a)))
            }
        };
        let rows = if a_has_b { (a as u32, b as u32) } else { (b as u32, a as u32) };
        (a_has_b || b_has_a).then_some(Found { rows, distance, is_mutual: a_has_b && b_has_a })
    }
}
