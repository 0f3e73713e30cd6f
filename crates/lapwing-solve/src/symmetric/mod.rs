//! Dense symmetric matrices, stored as the tiles of their lower half. This halves the memory, and the traffic that bounds the
//! speed of products.
//!
//! A product A·x reads each tile once, for both Aᵢⱼ·xⱼ and Aᵢⱼᵀ·xᵢ; two vectors share that reading. Tiles are f32 or f64, all
//! arithmetic is f64. If a matrix is too large to be stored, every product computes its tiles again. Cost of a product with s vectors: n²·s multiplications and one
//! pass over n²/2 numbers; n·s numbers for each of at most sixteen parts of the work, whose sums are added in a fixed order.
//! Parallel over these parts.

mod tile;

use std::ops::Range;

use lapwing_core::ordered::add;
use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run, memory};

use self::tile::{Parts, Stored, TILE};
use crate::real::{Real, zeros};

/// Parts of the work; fixed, so that sums do not depend on the number of threads.
const SHARES: usize = 16;

/// Precision in which a matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// f32, 4 bytes.
    Single,
    /// f64, 8 bytes.
    Double,
}

/// A symmetric matrix that is computed block by block.
pub trait SymmetricBlocks: Sync {
    /// Dimension n.
    fn n(&self) -> usize;

    /// The block (rows, cols), row-major; `rows` begins at or after the start of `cols`.
    ///
    /// # Errors
    /// Any that prevent the block from being computed.
    fn block(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [f64]) -> Result<()>;
}

/// A symmetric matrix (n, n), stored or computed when needed.
pub struct SymmetricMatrix<'a> {
    n: usize,
    tiles: Tiles<'a>,
}

/// Tiles row after row of the lower half, each `TILE` × `TILE`, padded with zeros.
enum Tiles<'a> {
    Single(Vec<f32>),
    Double(Vec<f64>),
    Made(Box<dyn SymmetricBlocks + 'a>),
}

impl std::fmt::Debug for SymmetricMatrix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SymmetricMatrix").field("n", &self.n).field("bytes", &self.bytes()).finish()
    }
}

/// Bytes of a stored matrix of n rows.
pub fn symmetric_bytes(n: usize, precision: Precision) -> usize {
    let width = if precision == Precision::Single { 4 } else { 8 };
    n_tiles(n).saturating_mul(TILE * TILE * width)
}

fn n_tiles(n: usize) -> usize {
    let edge = n.div_ceil(TILE);
    edge.saturating_mul(edge + 1) / 2
}

/// Row and column of a tile.
fn place(tile: usize) -> (usize, usize) {
    let mut row = (((8 * tile + 1) as f64).sqrt() as usize).saturating_sub(1) / 2;
    while (row + 1) * (row + 2) / 2 <= tile {
        row += 1;
    }
    while row * (row + 1) / 2 > tile {
        row -= 1;
    }
    (row, tile - row * (row + 1) / 2)
}

/// Computes a tile. Entries beyond the matrix are 0; a tile on the diagonal gets both halves.
fn make(blocks: &dyn SymmetricBlocks, tile: usize, scratch: &mut Vec<f64>, out: &mut [f64]) -> Result<()> {
    let n = blocks.n();
    let range = |at: usize| at * TILE..((at + 1) * TILE).min(n);
    let (row, col) = place(tile);
    let (rows, cols) = (range(row), range(col));
    if rows.len() == TILE && cols.len() == TILE {
        blocks.block(rows, cols, out)?;
    } else {
        scratch.resize(rows.len() * cols.len(), 0.0);
        blocks.block(rows, cols.clone(), scratch)?;
        out.fill(0.0);
        for (out, row) in out.chunks_exact_mut(TILE).zip(scratch.chunks_exact(cols.len())) {
            out[..row.len()].copy_from_slice(row);
        }
    }
    if row == col {
        // The entries of a mirrored pair may differ by rounding: one of them is used for both.
        for i in 0..TILE {
            for j in i + 1..TILE {
                out[i * TILE + j] = out[j * TILE + i];
            }
        }
    }
    Ok(())
}

fn stored<T: Real>(blocks: &dyn SymmetricBlocks, run: &Run) -> Result<Vec<T>> {
    let mut tiles = zeros(n_tiles(blocks.n()) * TILE * TILE);
    let done = run.counter(n_tiles(blocks.n()), "");
    run.install(|| {
        tiles.par_chunks_exact_mut(TILE * TILE).enumerate().try_for_each_init(
            || (vec![0.0; TILE * TILE], Vec::new()),
            |(wide, scratch), (tile, out)| {
                run.check()?;
                make(blocks, tile, scratch, wide)?;
                tile::pack(wide, out, T::round);
                done.add(1);
                Ok::<(), Error>(())
            },
        )
    })?;
    Ok(tiles)
}

impl<'a> SymmetricMatrix<'a> {
    /// The matrix, stored.
    ///
    /// # Errors
    /// Those of the blocks; [`Error::Interrupted`].
    pub fn stored(blocks: &dyn SymmetricBlocks, precision: Precision, run: &Run) -> Result<Self> {
        let tiles = match precision {
            Precision::Single => Tiles::Single(stored(blocks, run)?),
            Precision::Double => Tiles::Double(stored(blocks, run)?),
        };
        Ok(Self { n: blocks.n(), tiles })
    }

    /// The matrix, computed again in every product.
    pub fn made(blocks: impl SymmetricBlocks + 'a) -> Self {
        Self { n: blocks.n(), tiles: Tiles::Made(Box::new(blocks)) }
    }

    /// Dimension n.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bytes that are stored.
    pub fn bytes(&self) -> usize {
        match &self.tiles {
            Tiles::Single(values) => 4 * values.len(),
            Tiles::Double(values) => 8 * values.len(),
            Tiles::Made(_) => 0,
        }
    }

    /// Y ← A·X for s vectors one after the other (s, n).
    ///
    /// # Errors
    /// Errors of computed blocks; [`Error::Interrupted`].
    pub fn apply(&self, x: &[f64], y: &mut [f64], run: &Run) -> Result<()> {
        let (n, edge) = (self.n, self.n.div_ceil(TILE));
        if x.is_empty() {
            return Ok(());
        }
        let (s, padded) = (x.len() / n, edge * TILE);
        let mut wide = vec![0.0; s * padded];
        wide.chunks_exact_mut(padded).zip(x.chunks_exact(n)).for_each(|(wide, x)| wide[..n].copy_from_slice(x));
        let count = n_tiles(n);
        let shares = SHARES.min(count);
        let bound = |share: usize| share * count / shares;
        let shares: Vec<Vec<f64>> = run.install(|| {
            let share = |share: usize| self.share(bound(share)..bound(share + 1), &wide, s, run);
            (0..shares).into_par_iter().map(share).collect::<Result<_>>()
        })?;
        run.install(|| {
            y.par_chunks_exact_mut(n).enumerate().for_each(|(column, y)| {
                y.fill(0.0);
                shares.iter().for_each(|sums| add(y, &sums[column * padded..][..n]));
            });
        });
        Ok(())
    }

    /// Sum of the products of some of the tiles with `x` (s, padded).
    fn share(&self, tiles: Range<usize>, x: &[f64], s: usize, run: &Run) -> Result<Vec<f64>> {
        let mut y = vec![0.0; x.len()];
        let (mut wide, mut tile, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        for at in tiles {
            run.check()?;
            let range = at * TILE * TILE..(at + 1) * TILE * TILE;
            match &self.tiles {
                Tiles::Single(values) => multiply(&values[range], place(at), x, &mut y, s),
                Tiles::Double(values) => multiply(&values[range], place(at), x, &mut y, s),
                Tiles::Made(blocks) => {
                    wide.resize(TILE * TILE, 0.0);
                    tile.resize(TILE * TILE, 0.0);
                    make(&**blocks, at, &mut scratch, &mut wide)?;
                    tile::pack(&wide, &mut tile, |value| value);
                    multiply(&tile, place(at), x, &mut y, s);
                }
            }
        }
        Ok(y)
    }

    /// The columns `cols` of A as rows of `out` (cols, n).
    ///
    /// # Errors
    /// Errors of computed blocks; [`Error::Interrupted`].
    pub fn columns(&self, cols: &[u32], run: &Run) -> Result<Vec<f64>> {
        let (n, edge) = (self.n, self.n.div_ceil(TILE));
        let mut out =
            memory::zeros("columns of the matrix of all rows", cols.len() * n, "give fewer rows, or take landmarks")?;
        // Columns of one tile column are cut out together, so that each tile is computed once.
        let mut groups: Vec<Vec<(usize, &mut [f64])>> = Vec::new();
        groups.resize_with(edge, Vec::new);
        for (&col, out) in cols.iter().zip(out.chunks_exact_mut(n.max(1))) {
            groups[col as usize / TILE].push((col as usize % TILE, out));
        }
        run.install(|| {
            groups.into_par_iter().enumerate().filter(|(_, group)| !group.is_empty()).try_for_each(
                |(block, mut members)| {
                    let (mut tile, mut scratch) = (vec![0.0; TILE * TILE], Vec::new());
                    for other in 0..edge {
                        run.check()?;
                        let (row, col) = (block.max(other), block.min(other));
                        self.tile(row * (row + 1) / 2 + col, &mut scratch, &mut tile)?;
                        let range = other * TILE..((other + 1) * TILE).min(n);
                        for (at, out) in &mut members {
                            for (i, out) in out[range.clone()].iter_mut().enumerate() {
                                *out = tile[if other >= block { tile::place(i, *at) } else { tile::place(*at, i) }];
                            }
                        }
                    }
                    Ok(())
                },
            )
        })?;
        Ok(out)
    }

    /// A tile in double precision, in the order of [`tile`].
    fn tile(&self, at: usize, scratch: &mut Vec<f64>, out: &mut [f64]) -> Result<()> {
        let range = at * TILE * TILE..(at + 1) * TILE * TILE;
        match &self.tiles {
            Tiles::Single(values) => out.iter_mut().zip(&values[range]).for_each(|(out, v)| *out = v.wide()),
            Tiles::Double(values) => out.copy_from_slice(&values[range]),
            Tiles::Made(blocks) => {
                let mut wide = vec![0.0; TILE * TILE];
                make(&**blocks, at, scratch, &mut wide)?;
                tile::pack(&wide, out, |value| value);
            }
        }
        Ok(())
    }
}

/// Adds the products of a tile, and of its mirror image where it is not on the diagonal, for s vectors.
fn multiply<T: Stored>(tile: &[T], (row, col): (usize, usize), x: &[f64], y: &mut [f64], s: usize) {
    let padded = x.len() / s.max(1);
    let mut vectors = Vec::with_capacity(s);
    for (x, y) in x.chunks_exact(padded).zip(y.chunks_exact_mut(padded)) {
        let (low, high) = y.split_at_mut(row * TILE);
        vectors.push(Parts {
            x_row: &x[row * TILE..][..TILE],
            x_col: &x[col * TILE..][..TILE],
            y_row: &mut high[..TILE],
            y_col: (row != col).then(|| &mut low[col * TILE..][..TILE]),
        });
    }
    tile::multiply(tile, &mut vectors);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entries(usize);

    impl Entries {
        fn get(i: usize, j: usize) -> f64 {
            let (i, j) = (i.max(j), i.min(j));
            ((i * 7 + j * 13) % 31) as f64 / 8.0 - 1.5
        }
    }

    impl SymmetricBlocks for Entries {
        fn n(&self) -> usize {
            self.0
        }

        fn block(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [f64]) -> Result<()> {
            assert!(rows.start >= cols.start && out.len() == rows.len() * cols.len());
            let width = cols.len();
            for (at, i) in rows.enumerate() {
                cols.clone().enumerate().for_each(|(j, col)| out[at * width + j] = Self::get(i, col));
            }
            Ok(())
        }
    }

    #[test]
    fn products_and_columns_are_those_of_the_full_matrix() {
        for n in [1, 5, 256, 257, 700] {
            let x: Vec<f64> = (0..2 * n).map(|i| ((i * 5) % 17) as f64 - 8.0).collect();
            // Entries are eighths: every order of summation is exact.
            let expected: Vec<f64> =
                (0..2 * n).map(|at| (0..n).map(|j| Entries::get(at % n, j) * x[at / n * n + j]).sum()).collect();
            let cols = [(n - 1) as u32, 0, (n / 2) as u32];
            for threads in [1, 2, 7] {
                let run = Run::new(Some(threads), 0).unwrap();
                let all = [
                    SymmetricMatrix::stored(&Entries(n), Precision::Single, &run).unwrap(),
                    SymmetricMatrix::stored(&Entries(n), Precision::Double, &run).unwrap(),
                    SymmetricMatrix::made(Entries(n)),
                ];
                for matrix in &all {
                    let mut y = vec![f64::NAN; 2 * n];
                    matrix.apply(&x, &mut y, &run).unwrap();
                    assert!(y == expected, "{n} {matrix:?}");
                    let found = matrix.columns(&cols, &run).unwrap();
                    for (col, values) in cols.iter().zip(found.chunks_exact(n)) {
                        assert!((0..n).all(|i| values[i] == Entries::get(i, *col as usize)));
                    }
                }
            }
        }
        assert_eq!(symmetric_bytes(300, Precision::Single), 3 * 4 * 65536);
    }

    #[test]
    fn a_stop_is_noticed() {
        let run = Run::new(Some(1), 0).unwrap();
        let stop = lapwing_core::CancelToken::default();
        let matrix = SymmetricMatrix::made(Entries(300));
        stop.cancel();
        let run = run.with_cancel(stop);
        assert!(matches!(matrix.apply(&[0.0; 300], &mut [0.0; 300], &run), Err(Error::Interrupted)));
        assert!(SymmetricMatrix::stored(&Entries(300), Precision::Double, &run).is_err());
    }
}
