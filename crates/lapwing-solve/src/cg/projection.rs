//! Projections that remove known vectors from an iteration.

use lapwing_core::parallel::*;

use crate::blocks::{BLOCK_ROWS, reduce};
use crate::columns::{column_sums, subtract};
use crate::real::Real;

/// Known vectors that are removed from right-hand sides, iterations and solutions.
#[derive(Clone, Copy, Debug)]
pub enum Projection<'a> {
    /// Nothing: A is positive definite and well enough conditioned.
    None,
    /// The indicators of some components, on which A is singular: right-hand sides and solutions have mean zero on each.
    Components {
        /// Component of each row (n), `u32::MAX` where A is regular.
        ids: &'a [u32],
        /// Rows of each component.
        sizes: &'a [usize],
    },
    /// Constants: the system is P·A·P·x = P·b with P = I − 11ᵀ/n, the minimum over zero-mean vectors. A may be singular on constants.
    ZeroMean,
    /// Constants, by directions that are A-orthogonal to 1, where A·1 = c (n), c ≥ 0: every z becomes z − (cᵀz)/(Σc). Needs
    /// 1ᵀb = 0; the solution has cᵀx = 0.
    OrthogonalToOnes(&'a [f64]),
}

/// Up to this number of components, their sums are taken in parallel: each block of rows needs a sum for each component.
const MOST_PARALLEL: usize = 512;

impl Projection<'_> {
    /// Subtracts from each column of a block (n, s) the part that the projection removes.
    pub(crate) fn remove<R: Real>(&self, block: &mut [R], s: usize) {
        match self {
            Self::None => {}
            Self::Components { ids, sizes } => subtract_component_means(block, s, ids, sizes),
            Self::ZeroMean | Self::OrthogonalToOnes(_) => {
                let n = block.len() / s;
                let mean: Vec<f64> = column_sums(block, n, s).iter().map(|sum| sum / n as f64).collect();
                subtract(block, &mean);
            }
        }
    }
}

/// Subtracts from each column its mean over each component; rows of component `u32::MAX` stay.
pub(crate) fn subtract_component_means<R: Real>(block: &mut [R], s: usize, ids: &[u32], sizes: &[usize]) {
    let add = |rows: std::ops::Range<usize>, sums: &mut [f64]| {
        for (row, &id) in block[rows.start * s..].chunks_exact(s).zip(&ids[rows]).filter(|(_, id)| **id != u32::MAX) {
            let sum = &mut sums[id as usize * s..(id as usize + 1) * s];
            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += v.wide());
        }
    };
    let width = sizes.len() * s;
    let mut means = if sizes.len() <= MOST_PARALLEL {
        reduce(ids.len(), width, add)
    } else {
        let mut sums = vec![0.0; width];
        add(0..ids.len(), &mut sums);
        sums
    };
    for (mean, size) in means.chunks_exact_mut(s).zip(sizes) {
        mean.iter_mut().for_each(|mean| *mean /= *size as f64);
    }
    block.par_chunks_mut(s).zip(ids).with_min_len(BLOCK_ROWS).filter(|(_, id)| **id != u32::MAX).for_each(
        |(row, &id)| {
            row.iter_mut().zip(&means[id as usize * s..]).for_each(|(v, mean)| *v = *v - R::round(*mean));
        },
    );
}
