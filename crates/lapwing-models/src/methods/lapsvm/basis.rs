//! From features to the Gram matrix K: how K is stored, and how coefficients become an expansion that scores new rows.
//!
//! Tiles of K take n²/2 similarities of d multiplications each. k landmarks take n·k similarities, an eigenproblem of k³, and
//! n·k² for Z = C·M, K ≈ Z·Zᵀ with M the pseudo-inverse root of the landmarks' kernel (Williams & Seeger 2001).

use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Matrix, Result, Run, Stream, available_memory_bytes, check_memory};
use lapwing_graph::low_rank::NystromMap;
use lapwing_solve::{Precision, SymmetricMatrix, symmetric_bytes};
use rand::seq::index::sample;

use super::extension::Expansion;
use super::gram::{Factor, Gram, nystrom_map};
use super::kernel::{GivenBlocks, GramBlocks, Kernel, KernelRows, middle, typical_bandwidth};
use super::objective::Solution;
use super::params::{EXACT_ROWS, KernelKind, KernelLandmarks, LapSvmParams, MOST_WEIGHTS, TYPICAL_LANDMARKS};

/// Most rows whose Gram matrix is held in double precision: products of larger ones are as fast as memory, of which it takes twice as
/// much.
const DOUBLE_ROWS: usize = 4096;
/// Validation rows whose similarities are computed at a time.
const CROSS_ROWS: usize = 64;
/// Eigenvalues of the landmarks' kernel below this share of the largest are left out, because Z is in single precision.
const RCOND: f64 = 1e-7;

/// How the Gram matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// As tiles.
    Tiles(Precision),
    /// Not stored: computed again in every product.
    Blocks,
    /// As Z·Zᵀ, from this number of landmarks.
    Landmarks(usize),
    /// As X·Xᵀ.
    Features,
}

impl Storage {
    /// The storage for n rows of d columns. Tiles may take half of the free memory.
    pub fn new(params: &LapSvmParams, n: usize, d: usize, is_sparse: bool) -> Self {
        let limit = available_memory_bytes().map_or(u64::MAX, |bytes| bytes / 2);
        Self::within(limit, params, n, d, is_sparse)
    }

    /// The storage, if tiles may take `limit` bytes.
    fn within(limit: u64, params: &LapSvmParams, n: usize, d: usize, is_sparse: bool) -> Self {
        let landmarks = match params.n_landmarks {
            KernelLandmarks::Count(count) => Some(count),
            KernelLandmarks::Auto if n > EXACT_ROWS || params.kernel == KernelKind::LowRank => Some(TYPICAL_LANDMARKS),
            _ => None,
        };
        match params.kernel {
            KernelKind::Linear if (is_sparse && n > DOUBLE_ROWS) || (!is_sparse && d < n) => return Self::Features,
            KernelKind::Rbf | KernelKind::LowRank | KernelKind::Poly => {
                if let Some(count) = landmarks {
                    return Self::Landmarks(count.min(n));
                }
            }
            _ => {}
        }
        let fits = |precision| symmetric_bytes(n, precision) as u64 <= limit;
        if n <= DOUBLE_ROWS && fits(Precision::Double) {
            Self::Tiles(Precision::Double)
        } else if fits(Precision::Single) {
            Self::Tiles(Precision::Single)
        } else {
            Self::Blocks
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiles(Precision::Single) => "single",
            Self::Tiles(Precision::Double) => "double",
            Self::Blocks => "blocks",
            Self::Landmarks(_) => "landmarks",
            Self::Features => "features",
        }
    }
}

/// The Gram matrix of the rows of a fit, and its origin.
pub(super) struct Basis<'b> {
    pub gram: Gram<'b>,
    pub storage: Storage,
    /// Mean of k(x, x).
    pub scale: f64,
    /// The kernel; none if similarities were given.
    pub kernel: Option<Kernel>,
    source: Source,
}

enum Source {
    /// From similarities to all rows, after subtracting this center.
    Rows(Vec<f64>),
    /// From similarities to landmarks.
    Landmarks { center: Vec<f64>, landmarks: Features<'static>, rows: KernelRows, map: NystromMap },
    /// The features, of a linear kernel.
    Features,
    /// Given as similarities.
    Given,
}

impl<'b> Basis<'b> {
    /// The basis of a given Gram matrix (n, n).
    fn given(features: &'b Features<'_>, storage: Storage, run: &Run) -> Result<Self> {
        let n = features.n_rows();
        if features.n_cols() != n {
            let expected = format!("{n} columns, as it has rows");
            return Err(Error::shape("the Gram matrix", expected, format!("{} columns", features.n_cols())));
        }
        let blocks = GivenBlocks { features };
        let (scale, kernel, source) = (blocks.mean_diagonal(), None, Source::Given);
        Ok(Self { gram: Gram::Matrix(matrix(blocks, storage, run)?), storage, scale, kernel, source })
    }

    /// The basis of features (n, d); the labeled rows are among the landmarks, if there are any.
    ///
    /// # Errors
    /// [`Error::Shape`] for a Gram matrix that is not square; [`Error::Value`] for one that is not symmetric, or similarities
    /// that are not finite; [`Error::Interrupted`].
    pub fn new(params: &LapSvmParams, features: &'b Features<'_>, labeled: &[u32], run: &Run) -> Result<Self> {
        let (n, is_sparse) = (features.n_rows(), matches!(features, Features::Sparse(_)));
        let storage = Storage::new(params, n, features.n_cols(), is_sparse);
        if params.kernel == KernelKind::Precomputed {
            return Self::given(features, storage, run);
        }
        let bytes = match storage {
            Storage::Tiles(precision) => symmetric_bytes(n, precision) as u64,
            Storage::Landmarks(count) => 4 * (n as u64).saturating_mul(count as u64),
            _ => 0,
        };
        check_memory(&format!("the Gram matrix of {n} rows"), bytes, "take landmarks (n_landmarks)")?;
        let center = match (params.kernel, features) {
            (KernelKind::Rbf | KernelKind::LowRank, Features::Dense(dense)) => middle(dense),
            _ => Vec::new(),
        };
        let kernel = match params.kernel {
            KernelKind::Poly => Kernel::Poly { degree: params.degree },
            KernelKind::Linear => Kernel::Linear,
            _ => Kernel::Rbf {
                bandwidth: match params.bandwidth {
                    Some(bandwidth) => bandwidth,
                    None => typical_bandwidth(features, &center, run)?,
                },
            },
        };
        let kernel_of = Some(kernel);
        match storage {
            Storage::Features => {
                let scale = kernel.mean_diagonal(&KernelRows::new(features, 0..n.min(EXACT_ROWS), &center)?);
                let gram = Gram::Factor(linear_factor(features, run)?);
                Ok(Self { gram, storage, scale, kernel: kernel_of, source: Source::Features })
            }
            Storage::Landmarks(count) => {
                let chosen = landmark_rows(n, count, labeled, run);
                let landmarks = features.select(&chosen)?;
                let rows = KernelRows::new(&landmarks, 0..chosen.len(), &center)?.named(chosen);
                let scale = kernel.mean_diagonal(&rows);
                let map = landmark_map(kernel, &rows)?;
                let factor =
                    Factor::nystrom(|range| similarities(kernel, features, range, &center, &rows), n, &map, run)?;
                let source = Source::Landmarks { center, landmarks, rows, map };
                Ok(Self { gram: Gram::Factor(factor), storage, scale, kernel: kernel_of, source })
            }
            Storage::Tiles(_) | Storage::Blocks => {
                let rows = KernelRows::new(features, 0..n, &center)?;
                let scale = kernel.mean_diagonal(&rows);
                let gram = Gram::Matrix(matrix(GramBlocks { kernel, rows }, storage, run)?);
                Ok(Self { gram, storage, scale, kernel: kernel_of, source: Source::Rows(center) })
            }
        }
    }

    /// The expansion that scores any rows, from solved problems on the rows of `features`.
    ///
    /// # Errors
    /// None for features of the fit.
    pub fn expansion<'a>(&self, features: &Features<'a>, solutions: &[Solution], run: &Run) -> Result<Expansion<'a>> {
        let own: Vec<Vec<f64>> = solutions.iter().map(|solution| self.weights(solution, run)).collect();
        let coefficients = columns(&own);
        Ok(match (&self.source, self.kernel) {
            (Source::Landmarks { center, landmarks, map, .. }, Some(kernel)) => {
                let mapped: Vec<Vec<f64>> = own
                    .iter()
                    .map(|w| map.map.rows().map(|row| row.iter().zip(w).map(|(m, w)| m * w).sum()).collect())
                    .collect();
                let (center, rows) = (center.clone(), landmarks.clone());
                Expansion::Rows { kernel, center, rows, coefficients: columns(&mapped) }
            }
            (Source::Rows(center), Some(kernel)) => {
                let used: Vec<u32> = (0..features.n_rows() as u32)
                    .filter(|&row| coefficients.row(row as usize).iter().any(|a| *a != 0.0))
                    .collect();
                let center = center.clone();
                if used.len() == features.n_rows() {
                    return Ok(Expansion::Rows { kernel, center, rows: features.clone(), coefficients });
                }
                let kept = used.iter().flat_map(|&row| coefficients.row(row as usize)).copied().collect();
                let coefficients = Matrix::new(used.len(), coefficients.n_cols(), kept)?;
                Expansion::Rows { kernel, center, rows: features.select(&used)?, coefficients }
            }
            _ => Expansion::Weights(coefficients),
        })
    }

    /// The coefficients of a solution: of the columns of a factor if there is one, else of rows.
    fn weights(&self, solution: &Solution, run: &Run) -> Vec<f64> {
        match &self.gram {
            Gram::Factor(factor) if solution.is_of_rows => run.install(|| factor.gather(&solution.coefficients)),
            _ => solution.coefficients.clone(),
        }
    }

    /// Similarities of other rows (v), with the same columns, to those of the fit (v, n).
    ///
    /// # Errors
    /// [`Error::TooLarge`]; similarities that are not finite; [`Error::Interrupted`].
    pub fn cross(&self, fitted: &Features<'_>, new: &Features<'_>, run: &Run) -> Result<Vec<f64>> {
        new.check(run)?;
        let (v, n) = (new.n_rows(), fitted.n_rows());
        let bytes = (v as u64).saturating_mul(n as u64).saturating_mul(8);
        let what = format!("the matrix of similarities of {v} validation rows");
        check_memory(&what, bytes, "give fewer of them, or take landmarks")?;
        let mut out = vec![0.0; v * n];
        match (&self.source, self.kernel, &self.gram) {
            (Source::Rows(center), Some(kernel), _) => {
                let fitted = KernelRows::new(fitted, 0..n, center)?;
                run.install(|| {
                    out.par_chunks_mut(CROSS_ROWS * n).enumerate().try_for_each(|(block, out)| {
                        run.check()?;
                        let rows = block * CROSS_ROWS..((block + 1) * CROSS_ROWS).min(v);
                        let here = KernelRows::new(new, rows.clone(), center)?;
                        kernel.block(&here, 0..rows.len(), &fitted, 0..n, out)
                    })
                })?;
            }
            (Source::Landmarks { center, rows, map, .. }, Some(kernel), Gram::Factor(factor)) => {
                let near = similarities(kernel, new, 0..v, center, rows)?;
                let mut weights = vec![0.0; v * map.rank()];
                lapwing_solve::products::product(&near, map.map.values(), rows.len(), &mut weights);
                run.install(|| factor.spread(&weights, &mut out));
            }
            (Source::Features, _, Gram::Factor(factor)) => {
                let mut weights = vec![0.0; v * new.n_cols()];
                wide_rows(new, &mut weights);
                run.install(|| factor.spread(&weights, &mut out));
            }
            _ => wide_rows(new, &mut out),
        }
        Ok(out)
    }
}

/// Writes the rows in double precision, including zeros.
fn wide_rows(features: &Features<'_>, out: &mut [f64]) {
    for (row, out) in out.chunks_exact_mut(features.n_cols().max(1)).enumerate() {
        match features {
            Features::Dense(dense) => dense.copy_row_f64(row, out),
            Features::Sparse(csr) => {
                let (ids, values) = csr.row(row);
                ids.iter().zip(values).for_each(|(&id, x)| out[id as usize] = f64::from(*x));
            }
        }
    }
}

/// Vectors as columns.
fn columns(vectors: &[Vec<f64>]) -> Matrix {
    let (m, k) = (vectors.first().map_or(0, Vec::len), vectors.len());
    let mut out = Matrix::filled(m, k, 0.0);
    for (at, vector) in vectors.iter().enumerate() {
        out.values_mut()[at..].iter_mut().step_by(k).zip(vector).for_each(|(out, value)| *out = *value);
    }
    out
}

fn matrix<'m>(
    blocks: impl lapwing_solve::SymmetricBlocks + 'm,
    storage: Storage,
    run: &Run,
) -> Result<SymmetricMatrix<'m>> {
    match storage {
        Storage::Tiles(precision) => SymmetricMatrix::stored(&blocks, precision, run),
        _ => Ok(SymmetricMatrix::made(blocks)),
    }
}

/// Rows that become landmarks, ascending: up to half of them labeled, the others drawn uniformly.
pub(super) fn landmark_rows(n: usize, count: usize, labeled: &[u32], run: &Run) -> Vec<u32> {
    let mut rng = run.rng(Stream::Landmarks, 8);
    let from_labeled = labeled.len().min(count / 2);
    let mut chosen: Vec<u32> = sample(&mut rng, labeled.len(), from_labeled).iter().map(|at| labeled[at]).collect();
    chosen.sort_unstable();
    let mut others: Vec<u32> = Vec::new();
    for row in sample(&mut rng, n, count.min(n)).iter().map(|row| row as u32) {
        if chosen.len() + others.len() < count && chosen.binary_search(&row).is_err() {
            others.push(row);
        }
    }
    chosen.extend(others);
    chosen.sort_unstable();
    chosen
}

fn landmark_map(kernel: Kernel, landmarks: &KernelRows) -> Result<NystromMap> {
    let k = landmarks.len();
    let mut among = Matrix::filled(k, k, 0.0);
    kernel.block(landmarks, 0..k, landmarks, 0..k, among.values_mut())?;
    nystrom_map(among, RCOND)
}

/// Similarities of some rows to the landmarks.
fn similarities(
    kernel: Kernel,
    features: &Features<'_>,
    range: std::ops::Range<usize>,
    center: &[f64],
    landmarks: &KernelRows,
) -> Result<Vec<f64>> {
    let m = range.len();
    let rows = KernelRows::new(features, range, center)?;
    let mut out = vec![0.0; m * landmarks.len()];
    kernel.block(&rows, 0..m, landmarks, 0..landmarks.len(), &mut out)?;
    Ok(out)
}

/// The features as a factor of their Gram matrix.
fn linear_factor(features: &Features<'_>, run: &Run) -> Result<Factor> {
    Ok(match features {
        Features::Sparse(csr) => Factor::Sparse(csr.clone(), csr.transpose()?),
        Features::Dense(dense) => {
            let mut values = vec![0.0f32; dense.n_rows() * dense.n_cols()];
            dense.copy_rows_f32(0..dense.n_rows(), &mut values);
            run.check()?;
            Factor::Dense { rank: dense.n_cols(), values }
        }
    })
}

/// Whether matrices over the factor's columns are formed.
pub(super) fn has_few_weights(factor: &Factor) -> bool {
    factor.rank() <= MOST_WEIGHTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_of_the_gram_matrix_follows_rows_and_memory() {
        let of = |limit: u64, n: usize| Storage::within(limit, &LapSvmParams::default(), n, 5, false);
        assert_eq!(of(u64::MAX, 4096), Storage::Tiles(Precision::Double));
        assert_eq!(of(u64::MAX, 4097), Storage::Tiles(Precision::Single));
        assert_eq!(of(symmetric_bytes(4096, Precision::Single) as u64, 4096), Storage::Tiles(Precision::Single));
        assert_eq!(of(0, 4096), Storage::Blocks);
        assert_eq!(of(0, 30_001), Storage::Landmarks(500));
    }
}
