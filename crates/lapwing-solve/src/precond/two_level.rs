//! Two levels: the diagonal, and a coarse system on cells of the graph for smooth errors, which the diagonal reduces slowly.
//!
//! Cells are grown breadth first around seeds spread over the rows, all at once, so that they are round. With Z (n, k) the
//! indicators of the k cells, M⁻¹ = diag(A)⁻¹ + Z·(ZᵀAZ)⁻¹·Zᵀ (additive Schwarz with the coarse space of Nicolaides 1987). The
//! second term removes errors that hardly change within a cell. Their small eigenvalues cost the diagonal most of its iterations:
//! on neighbor graphs of 10⁶ rows a thousand cells leave a third of them.
//!
//! A row whose own diagonal entry of D outweighs its edges (a known label) belongs to no cell: its value is nearly fixed, and
//! would hold back the values of the other rows.
//!
//! Cost: one pass over the entries for the cells and one for the coarse matrix, O(k³) for its inverse; each application reads the
//! residuals twice and takes 2k²s operations. Memory: 8k² bytes.

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Matrix, Result, Run};

use super::{Bounded, Inverse, Preconditioner};
use crate::blocks::BLOCK_ROWS;
use crate::dispatch::{WIDEST, dispatch, with_width};
use crate::order::clusters;
use crate::real::Real;
use crate::{Graph, dense};
use lapwing_core::hash::uniform;

/// Most cells: the inverse of their system then stays within the last-level cache.
const MOST_CELLS: usize = 1024;
/// Least mean number of rows of a cell.
const LEAST_ROWS: usize = 32;
/// Least number of entries of the matrix for each entry of the coarse inverse, which is to cost little compared with a product.
const SHARE: usize = 8;
/// Rows in consecutive groups of neighboring cells, which fit a core's cache together.
const NEAR_ROWS: usize = 8192;
/// Cells may grow to this many times their mean size.
const LARGEST: usize = 4;
/// Rows assigned between two checks for cancellation.
const CHECK_EVERY: usize = 1 << 16;
/// Marks a row without a cell.
pub(crate) const NO_CELL: u32 = u32::MAX;

/// The rows of a graph in cells.
pub(crate) struct CoarseCells {
    /// Cell of each row (n), [`NO_CELL`] for none.
    pub home: Vec<u32>,
    /// The rows in the order in which they were reached, then those in no cell (n).
    reached: Vec<u32>,
    count: usize,
}

impl CoarseCells {
    /// Cells around seeds drawn from equal ranges of the rows.
    pub fn new(graph: &Graph, diagonal: &[f64], run: &Run) -> Result<Self> {
        let (n, adjacency) = (graph.n_samples(), graph.adjacency());
        let count = MOST_CELLS.min(n / LEAST_ROWS).min((adjacency.nnz() / SHARE).isqrt()).max(1);
        // Known rows and rows without an edge belong to no cell.
        let is_member: Vec<bool> = diagonal.iter().zip(graph.degree()).map(|(own, degree)| own < degree).collect();
        let most = LARGEST * n.div_ceil(count);
        let mut home = vec![NO_CELL; n];
        let (mut queue, mut sizes) = (Vec::with_capacity(n), Vec::with_capacity(count));
        let range = |cell: usize| cell * n / count..(cell + 1) * n / count;
        for seed in (0..count).filter_map(|cell| {
            let rows = range(cell);
            let first = rows.start + (uniform(cell as u64) * rows.len() as f64) as usize;
            (first..rows.end).chain(rows.start..first).find(|&row| is_member[row])
        }) {
            home[seed] = sizes.len() as u32;
            sizes.push(1);
            queue.push(seed as u32);
        }
        let mut read = 0;
        while let Some(&row) = queue.get(read) {
            read += 1;
            if read.is_multiple_of(CHECK_EVERY) {
                run.check()?;
            }
            let cell = home[row as usize];
            for &next in adjacency.row(row as usize).0 {
                let size = &mut sizes[cell as usize];
                if *size == most {
                    break;
                }
                if home[next as usize] == NO_CELL && is_member[next as usize] {
                    home[next as usize] = cell;
                    *size += 1;
                    queue.push(next);
                }
            }
        }
        queue.extend((0..n as u32).filter(|&row| home[row as usize] == NO_CELL));
        Ok(Self { home, reached: queue, count: sizes.len() })
    }

    /// Rows cell after cell, then those in none; and where each cell begins, then where the last one ends.
    fn sorted(&self, names: &[u32]) -> (Vec<u32>, Vec<usize>) {
        let mut starts = vec![0; self.count + 2];
        let place = |row: usize| names.get(self.home[row] as usize).map_or(self.count, |&cell| cell as usize);
        (0..self.home.len()).for_each(|row| starts[place(row) + 1] += 1);
        (0..=self.count).for_each(|cell| starts[cell + 1] += starts[cell]);
        let mut order = vec![0; self.home.len()];
        let mut next = starts.clone();
        for &row in &self.reached {
            let at = &mut next[place(row as usize)];
            order[*at] = row;
            *at += 1;
        }
        starts.truncate(self.count + 1);
        (order, starts)
    }
}

/// Z·C·Zᵀ, where Z has the indicators of cells of consecutive rows as columns and C is dense.
#[derive(Debug)]
pub struct Coarse {
    /// Where each cell begins, and where the last one ends (k + 1); later rows lie in none.
    starts: Vec<usize>,
    /// C (k, k).
    inverse: Vec<f64>,
}

impl Coarse {
    /// The coarse part for the Laplacian of `graph` plus diag(`diagonal`), and its order of rows; `None` if the coarse matrix
    /// cannot be inverted in f64. `singular` holds the singular component of each row, `u32::MAX` for none; it is empty if no row
    /// has one.
    pub(crate) fn new(
        graph: &Graph,
        diagonal: &[f64],
        cells: &CoarseCells,
        singular: &[u32],
        run: &Run,
    ) -> Result<(Option<Self>, Vec<u32>)> {
        let k = cells.count;
        let natural: Vec<u32> = (0..k as u32).collect();
        let (order, starts) = cells.sorted(&natural);
        let coarse = coarse_matrix(graph.adjacency(), diagonal, cells, &order, &starts);
        run.check()?;
        // Near cells become consecutive, those joined by the heaviest edges first.
        let near: Vec<Vec<u32>> = coarse
            .par_chunks(k.max(1))
            .map(|row| {
                let mut near: Vec<u32> = (0..k as u32).filter(|&other| row[other as usize] < 0.0).collect();
                near.sort_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize]));
                near
            })
            .collect();
        let most = (NEAR_ROWS * k / order.len().max(1)).max(1);
        let sequence = clusters(k, most, |cell| &near[cell], run)?.order;
        let mut matrix = Matrix::filled(k, k, 0.0);
        for (at, &cell) in sequence.iter().enumerate() {
            let row = &coarse[cell as usize * k..][..k];
            matrix.row_mut(at).iter_mut().zip(&sequence).for_each(|(value, &other)| *value = row[other as usize]);
        }
        let component = |&cell: &u32| singular.get(order[starts[cell as usize]] as usize).copied().unwrap_or(u32::MAX);
        hold(&mut matrix, &sequence.iter().map(component).collect::<Vec<_>>());
        let mut identity = Matrix::filled(k, k, 0.0);
        (0..k).for_each(|cell| identity.row_mut(cell)[cell] = 1.0);
        let mut names = vec![0; k];
        sequence.iter().enumerate().for_each(|(at, &cell)| names[cell as usize] = at as u32);
        let (order, starts) = cells.sorted(&names);
        let inverse = dense::solve_spd(&matrix, &identity).ok();
        Ok((inverse.map(|inverse| Self { starts, inverse: inverse.values().to_vec() }), order))
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        8 * (self.inverse.len() + self.starts.len())
    }

    fn k(&self) -> usize {
        self.starts.len() - 1
    }

    /// Parts of a range of rows: the cell, if any, and its rows within the range.
    pub(crate) fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (Option<usize>, Range<usize>)> {
        let mut cell = self.starts.partition_point(|&start| start <= rows.start).saturating_sub(1);
        let mut first = rows.start;
        std::iter::from_fn(move || {
            if first >= rows.end {
                return None;
            }
            let own = (cell < self.k()).then_some(cell);
            let end = own.map_or(rows.end, |cell| self.starts[cell + 1].min(rows.end));
            let part = first..end;
            (first, cell) = (end, cell + 1);
            Some((own, part))
        })
    }

    /// Sums of a block (rows, s), which begins at row `first`, over each cell that it overlaps.
    pub(crate) fn sums<R: Real>(&self, first: usize, block: &[R], s: usize) -> Vec<(usize, Vec<f64>)> {
        let sums = |(cell, rows): (Option<usize>, Range<usize>)| {
            let mut sums = vec![0.0; s];
            for row in block[(rows.start - first) * s..(rows.end - first) * s].chunks_exact(s) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value.wide());
            }
            Some((cell?, sums))
        };
        self.parts(first..first + block.len() / s).filter_map(sums).collect()
    }

    /// Sums of the cells (k, s) from those of consecutive blocks.
    pub(crate) fn add_up(&self, blocks: &[Vec<(usize, Vec<f64>)>], s: usize) -> Vec<f64> {
        let mut total = vec![0.0; self.k() * s];
        for (cell, sums) in blocks.iter().flatten() {
            total[cell * s..(cell + 1) * s].iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        total
    }

    /// Zᵀ·R (k, s).
    pub(crate) fn restrict<R: Real>(&self, r: &[R], s: usize) -> Vec<f64> {
        let rows = BLOCK_ROWS * s;
        let blocks: Vec<_> =
            r.par_chunks(rows).enumerate().map(|(block, r)| self.sums(block * BLOCK_ROWS, r, s)).collect();
        self.add_up(&blocks, s)
    }

    /// C·`sums` (k, s).
    pub(crate) fn solve(&self, sums: &[f64], s: usize) -> Vec<f64> {
        let mut values = vec![0.0; self.k() * s];
        let (k, rows) = (self.k().max(1), 16);
        values.par_chunks_mut(rows * s).zip(self.inverse.par_chunks(rows * k)).for_each(|(values, inverse)| {
            coarse_rows(inverse, sums, values, s);
        });
        values
    }
}

dispatch! {
    fn coarse_rows(inverse: &[f64], sums: &[f64], values: &mut [f64], s: usize) = coarse_plain
}

/// Rows of C times `sums` (k, s).
#[inline(always)]
fn coarse_plain(inverse: &[f64], sums: &[f64], values: &mut [f64], s: usize) {
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        with_width!(width, coarse_width(inverse, sums, values, s, at));
    }
}

#[inline(always)]
fn coarse_width<const S: usize>(inverse: &[f64], sums: &[f64], values: &mut [f64], s: usize, at: usize) {
    for (values, inverse) in values.chunks_exact_mut(s).zip(inverse.chunks_exact(sums.len() / s)) {
        let mut total = [[0.0; S]; 4];
        for (fours, inverse) in sums.chunks(4 * s).zip(inverse.chunks(4)) {
            for ((total, sums), inverse) in total.iter_mut().zip(fours.chunks_exact(s)).zip(inverse) {
                let sums = &sums[at..at + S];
                for lane in 0..S {
                    total[lane] += inverse * sums[lane];
                }
            }
        }
        for lane in 0..S {
            values[at + lane] = (total[0][lane] + total[1][lane]) + (total[2][lane] + total[3][lane]);
        }
    }
}

/// The diagonal and, where there is one, a coarse part.
#[derive(Clone, Copy)]
pub struct TwoLevel<'a> {
    /// Inverse diagonal of A (n).
    pub(crate) diagonal: &'a [f64],
    pub(crate) coarse: Option<&'a Coarse>,
}

impl TwoLevel<'_> {
    /// Z ← M⁻¹·R for blocks (n, s).
    pub(crate) fn product<R: Real>(&self, r: &[R], z: &mut [R], s: usize) {
        let lift = self.coarse.map(|coarse| coarse.solve(&coarse.restrict(r, s), s));
        let rows = BLOCK_ROWS * s;
        z.par_chunks_mut(rows).zip(r.par_chunks(rows)).enumerate().for_each(|(block, (z, r))| {
            let first = block * BLOCK_ROWS;
            for ((z, r), d) in z.chunks_exact_mut(s).zip(r.chunks_exact(s)).zip(&self.diagonal[first..]) {
                z.iter_mut().zip(r).for_each(|(z, r)| *z = *r * R::round(*d));
            }
            let (Some(coarse), Some(lift)) = (self.coarse, &lift) else { return };
            for (cell, rows) in coarse.parts(first..first + z.len() / s) {
                let Some(cell) = cell else { continue };
                for z in z[(rows.start - first) * s..(rows.end - first) * s].chunks_exact_mut(s) {
                    z.iter_mut().zip(&lift[cell * s..]).for_each(|(z, lift)| *z = *z + R::round(*lift));
                }
            }
        });
    }
}

impl<R: Real> Preconditioner<R> for TwoLevel<'_> {
    fn apply(&self, r: &[R], z: &mut [R], s: usize, run: &Run) -> Result<()> {
        run.install(|| self.product(r, z, s));
        Ok(())
    }
}

impl Bounded for TwoLevel<'_> {
    fn variances(&self) -> Vec<f64> {
        let mut variances = self.diagonal.to_vec();
        let Some(coarse) = self.coarse else { return variances };
        for (cell, ends) in coarse.starts.windows(2).enumerate() {
            let shared = coarse.inverse[cell * coarse.k() + cell];
            variances[ends[0]..ends[1]].iter_mut().for_each(|variance| *variance += shared);
        }
        variances
    }

    /// Colors by diag(A), which is no less than M.
    fn color(&self, noise: &mut [f64], m: usize) {
        noise.par_chunks_mut(m).zip(self.diagonal).with_min_len(BLOCK_ROWS).for_each(|(row, inverse)| {
            let deviation = inverse.sqrt().recip();
            row.iter_mut().for_each(|v| *v *= deviation);
        });
    }

    fn inverse(&self) -> Inverse<'_> {
        Inverse::Fused(*self)
    }
}

/// ZᵀAZ (k, k), each row computed from the rows of its cell.
fn coarse_matrix(
    adjacency: &Csr<f64>,
    diagonal: &[f64],
    cells: &CoarseCells,
    order: &[u32],
    starts: &[usize],
) -> Vec<f64> {
    let mut coarse = vec![0.0; cells.count * cells.count];
    coarse.par_chunks_mut(cells.count.max(1)).enumerate().for_each(|(cell, sums)| {
        for &row in &order[starts[cell]..starts[cell + 1]] {
            let (ids, weights) = adjacency.row(row as usize);
            sums[cell] += diagonal[row as usize];
            for (&id, &weight) in ids.iter().zip(weights) {
                let other = cells.home[id as usize];
                if other != cell as u32 {
                    sums[cell] += weight;
                    if other != NO_CELL {
                        sums[other as usize] -= weight;
                    }
                }
            }
        }
    });
    coarse
}

/// Adds a multiple of the all-ones matrix to the block of each singular component, whose constants would otherwise have no
/// energy.
fn hold(matrix: &mut Matrix, component: &[u32]) {
    let first = |at: usize| component.iter().position(|other| *other == component[at]).unwrap_or(at);
    let energy = |at: usize| match matrix.row(first(at))[first(at)] {
        energy if energy > 0.0 => energy,
        _ => 1.0,
    };
    let scales: Vec<f64> = (0..component.len()).map(energy).collect();
    for at in (0..component.len()).filter(|&at| component[at] != u32::MAX) {
        let row = matrix.row_mut(at).iter_mut().zip(component);
        row.filter(|(_, other)| **other == component[at]).for_each(|(value, _)| *value += scales[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SddMatrix;
    use crate::precond::Jacobi;

    /// A ring of n rows, each joined to the next two, and a row without an edge.
    fn ring(n: u32) -> Graph {
        let weight = |v: u32| 1.0 + f64::from(v % 5);
        let edges = (0..n).flat_map(|v| [(v, (v + 1) % n, weight(v)), (v, (v + 2) % n, 0.5 * weight(v))]);
        Graph::from_edges(n as usize + 1, &edges.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn cells_are_disjoint_of_limited_size_and_leave_out_what_is_known() {
        let run = Run::new(Some(2), 0).unwrap();
        let graph = ring(5000);
        let diagonal: Vec<f64> = (0..5001).map(|row| if row % 1000 == 7 { 1e9 } else { 0.1 }).collect();
        let cells = CoarseCells::new(&graph, &diagonal, &run).unwrap();
        let mut sizes = vec![0; cells.count];
        for (row, &home) in cells.home.iter().enumerate() {
            assert_eq!(home == NO_CELL, row % 1000 == 7 || row == 5000, "row {row}");
            if home != NO_CELL {
                sizes[home as usize] += 1;
            }
        }
        assert!(
            cells.count > 30 && sizes.iter().all(|size| (1..=LARGEST * 5001usize.div_ceil(cells.count)).contains(size))
        );
        let names: Vec<u32> = (0..cells.count as u32).rev().collect();
        let (mut order, starts) = cells.sorted(&names);
        for (name, range) in starts.windows(2).enumerate() {
            assert!(
                order[range[0]..range[1]].iter().all(|&row| names[cells.home[row as usize] as usize] == name as u32)
            );
        }
        order.sort_unstable();
        assert!(order.into_iter().eq(0..5001));
    }

    /// M⁻¹ is diag(A)⁻¹ + Z·(ZᵀAZ)⁻¹·Zᵀ, whether applied or taken from the sums of an iteration.
    #[test]
    fn the_coarse_part_is_the_inverse_on_the_cells() {
        let run = Run::new(Some(2), 0).unwrap();
        let graph = ring(3000);
        let diagonal: Vec<f64> = (0..3001).map(|row| if row % 300 == 7 { 1e9 } else { 0.0 }).collect();
        let cells = CoarseCells::new(&graph, &diagonal, &run).unwrap();
        let (coarse, order) = Coarse::new(&graph, &diagonal, &cells, &[], &run).unwrap();
        let coarse = coarse.unwrap();
        let natural = SddMatrix::new(&graph, &diagonal).unwrap();
        let matrix = natural.reordered(&order, &run).unwrap();
        let (n, s, k) = (3001, 2, cells.count);
        // The coarse solve inverts A on a restricted vector of the coarse space.
        let values: Vec<f64> = (0..k * s).map(|i| ((i * 31) % 17) as f64 - 8.0).collect();
        let mut x = vec![0.0; n * s];
        for (cell, rows) in coarse.parts(0..n).filter_map(|(cell, rows)| Some((cell?, rows))) {
            x[rows.start * s..rows.end * s]
                .chunks_exact_mut(s)
                .for_each(|x| x.copy_from_slice(&values[cell * s..][..s]));
        }
        let mut product = vec![0.0; n * s];
        matrix.product(&x, &mut product, s);
        let found = coarse.solve(&coarse.restrict(&product, s), s);
        assert!(found.iter().zip(&values).all(|(found, value)| (found - value).abs() < 1e-8));
        let jacobi = Jacobi::new(matrix.diagonal()).unwrap();
        let plain_level = TwoLevel { diagonal: jacobi.values(), coarse: None };
        let two_level = TwoLevel { coarse: Some(&coarse), ..plain_level };
        let (mut z, mut plain) = (vec![0.0; n * s], vec![0.0; n * s]);
        two_level.product(&product, &mut z, s);
        plain_level.product(&product, &mut plain, s);
        assert!(z.iter().zip(&plain).zip(&x).all(|((z, plain), x)| (z - plain - x).abs() < 1e-8));
    }
}
