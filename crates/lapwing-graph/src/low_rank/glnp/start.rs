//! The start of F. At clusters: F_ig = 1/√n_g for the cluster g of row i, plus 0.05·u/√n everywhere with random u in (0, 1]. Or
//! uniform in (0, 1]. No entry is 0, because multiplicative updates never leave 0.
//!
//! For the cluster indicator alone, each row of F·Fᵀ·X is the mean of its cluster, so that Q is the inertia of the clusters. A
//! uniform F is near a saddle with equal columns, however it is scaled.
//!
//! Cost: one pass and O(n·d·k) for clusters, one pass and O(n·(d·k + k²)) for the sums of the start. Parallel over blocks of
//! rows, each with a random stream of its own.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Stream};
use lapwing_solve::products::product_transposed;
use rand::RngExt;

use super::course::Iterate;
use super::moments::{MomentSums, Moments};
use super::rows::{BLOCK_ROWS, OffsetRows, n_slots};

/// Added to a cluster indicator in units of 1/√n, at most.
pub(super) const NOISE: f64 = 0.05;

/// Centers of clusters, one for each column of F.
#[derive(Clone, Copy, Debug)]
pub struct GlnpCenters<'a> {
    /// Row-major (k, d), minus `offset`.
    pub values: &'a [f32],
    /// Vector that was subtracted from every row (d); empty if none was.
    pub offset: &'a [f64],
}

impl GlnpCenters<'_> {
    /// The centers with the offset added back, in f64 (k, d).
    fn raw_values(&self, k: usize, d: usize) -> Result<Vec<f64>> {
        if self.values.len() != k * d {
            return Err(Error::shape("centers", format!("{k} × {d} values"), format!("{} values", self.values.len())));
        }
        if !self.offset.is_empty() && self.offset.len() != d {
            return Err(Error::shape("offset", format!("{d} values"), format!("{} values", self.offset.len())));
        }
        let offset = |at: usize| self.offset.get(at % d).copied().unwrap_or(0.0);
        let centers: Vec<f64> = self.values.iter().enumerate().map(|(at, &c)| f64::from(c) + offset(at)).collect();
        match centers.iter().position(|c| !c.is_finite()) {
            None => Ok(centers),
            Some(at) => Err(Error::Value {
                what: "centers".into(),
                row: at / d,
                col: Some(at % d),
                value: centers[at].to_string(),
                advice: "every center must be finite".into(),
            }),
        }
    }
}

/// The nearest center of each row (the first of equally near ones), and the least value of X; one pass.
pub(super) fn clusters(rows: &OffsetRows<'_>, centers: GlnpCenters<'_>, k: usize) -> Result<(Vec<u32>, f64)> {
    let d = rows.d;
    let centers = centers.raw_values(k, d)?;
    let halves: Vec<f64> = centers.chunks_exact(d).map(|c| c.iter().map(|c| c * c).sum::<f64>() / 2.0).collect();
    let (mut nearest, mut least) = (vec![0u32; rows.n], vec![f64::INFINITY; n_slots(rows.n, d, k)]);
    rows.pass(&mut nearest, &mut least, |least, tile, nearest| {
        *least = tile.x.iter().fold(*least, |least, &x| x.min(least));
        tile.scratch.resize(nearest.len() * k, 0.0);
        product_transposed(tile.x, &centers, d, tile.scratch);
        for (nearest, products) in nearest.iter_mut().zip(tile.scratch.chunks_exact(k)) {
            // Half the squared distance, less that of the row.
            let distances = halves.iter().zip(products).map(|(half, product)| half - product);
            let best = distances.enumerate().reduce(|best, next| if next.1 < best.1 { next } else { best });
            *nearest = best.map_or(0, |(center, _)| center as u32);
        }
    })?;
    Ok((nearest, least.into_iter().fold(f64::INFINITY, f64::min)))
}

/// The least value of X; one pass.
pub(super) fn minimum(rows: &OffsetRows<'_>) -> Result<f64> {
    let mut least = vec![f64::INFINITY; n_slots(rows.n, rows.d, 1)];
    rows.pass(&mut vec![(); rows.n], &mut least, |least, tile, _| {
        *least = tile.x.iter().fold(*least, |least, &x| x.min(least));
    })?;
    Ok(least.into_iter().fold(f64::INFINITY, f64::min))
}

/// F (n, k) at the clusters `nearest` (n) of the rows, plus up to `noise`/√n.
pub(super) fn at_clusters(rows: &OffsetRows<'_>, nearest: &[u32], k: usize, noise: f64) -> Vec<f64> {
    let mut sizes = vec![0usize; k];
    nearest.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    let mut factor = uniform(rows, k, noise / (rows.n as f64).sqrt());
    for (f, &cluster) in factor.chunks_exact_mut(k).zip(nearest) {
        f[cluster as usize] += (sizes[cluster as usize] as f64).sqrt().recip();
    }
    factor
}

/// F (n, k) uniform in (0, `most`].
pub(super) fn uniform(rows: &OffsetRows<'_>, k: usize, most: f64) -> Vec<f64> {
    let mut factor = vec![0.0; rows.n * k];
    let fill = |(block, values): (usize, &mut [f64])| {
        let mut rng = rows.run.rng(Stream::Start, block as u64);
        values.iter_mut().for_each(|value| *value = most * (1.0 - rng.random::<f64>()));
    };
    rows.run.install(|| factor.par_chunks_mut(BLOCK_ROWS * k).enumerate().for_each(fill));
    factor
}

/// Computes the moments of `factor`, and ‖X‖²; one pass.
pub(super) fn begin(rows: &OffsetRows<'_>, mut factor: Vec<f64>, k: usize) -> Result<(Iterate, f64)> {
    let zero = || (MomentSums::zero(rows.d, k), 0.0);
    let (sums, squared_norm) = rows.sum(k, &mut factor, zero, |(sums, norm), tile, f| {
        sums.add_rows(tile.x, f, f.len() / k);
        *norm += tile.x.chunks_exact(rows.d).map(|x| x.iter().map(|x| x * x).sum::<f64>()).sum::<f64>();
    })?;
    Ok((Iterate { factor, moments: Moments::new(k, sums.basis, sums.gram) }, squared_norm))
}
