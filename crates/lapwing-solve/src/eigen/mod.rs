//! The smallest eigenpairs of a graph Laplacian: L·u = λ·u for the q smallest λ.
//!
//! Null vectors are known: one for each connected component, constant on it. The others are the largest eigenvectors of the
//! pseudo-inverse L⁺, which a [`LaplacianSolver`] applies; there they are well separated from the rest of the spectrum. Block
//! Lanczos with full orthogonalization finds them (Golub & Underwood 1977), restarted with the best vectors so far when the basis
//! is full (Wu & Simon 2000). For small graphs the basis is the whole space.
//!
//! **Multiple eigenvalues.** A block Krylov space finds at most as many copies of an eigenvalue as the block has columns. Once
//! all pairs have converged, a few steps from random vectors orthogonal to them find missed copies with high probability.
//!
//! **Accuracy.** At the end L⁺ is applied to each vector once more. That brings its residual ‖Lu − λu‖ down to the tolerance
//! times λ, or to the rounding error of u if weights are many orders of magnitude apart. This residual is returned. Vectors whose
//! eigenvalues tie within the tolerance may be rotated among themselves.
//!
//! **Cost.** One to three solves for eight right-hand sides for every pair (43 for 18 pairs of a neighbor graph of 40,000 rows),
//! O(n·q²) for every restart, and 8·n·(2q + 56) bytes besides the solver. Products and sums are parallel over rows, in blocks of
//! a fixed size that are added in order.
//!
//! For eigenvectors of a dense matrix: [`crate::dense::eigen_symmetric`].

mod basis;

use crate::cg::subtract_component_means;
use crate::dense::eigen_symmetric;
use crate::kernels::column_dots;
use crate::scale::times_power;
use crate::{Components, Graph, LaplacianParams, LaplacianSolver};
use basis::Basis;
use lapwing_data::{Error, Matrix, Result, Run, SolveSummary, Stream, check_memory};
use rand::RngExt;

/// Columns of a block: as many as one pass over the matrix serves well.
const BLOCK: usize = 8;
/// Steps from random vectors without a new eigenvector after which none counts as missed.
const CALM_STEPS: usize = 3;
/// A residual counts as rounding error up to this many units of rounding of the vector.
const ROUNDING: f64 = 16.0;

/// How to find eigenpairs.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenParams {
    /// Residual ‖Lu − λu‖ / λ of each unit vector u, in (0, 1); default 1e-8.
    pub tol: f64,
    /// Most steps, each one solve for a block of right-hand sides; default 1,000.
    pub max_iter: usize,
    /// Up to this number of rows, the basis is the whole space; default 300.
    pub max_dense: usize,
}

impl Default for EigenParams {
    fn default() -> Self {
        Self { tol: 1e-8, max_iter: 1000, max_dense: 300 }
    }
}

/// Eigenvalues, ascending, and their vectors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigenpairs {
    /// Eigenvalues (q), ascending; exactly 0 for null vectors.
    pub values: Vec<f64>,
    /// Orthonormal vectors as columns (n, q); null vectors first, in the order of the components' first rows.
    pub vectors: Matrix,
    /// ‖Lu − λu‖ / λ of each pair (q), recomputed at the end; 0 for null vectors.
    pub residuals: Vec<f64>,
    /// Solves for a block of right-hand sides; the largest residual; whether every pair reached the tolerance, or the least
    /// residual that f64 allows.
    pub info: SolveSummary,
}

impl EigenParams {
    fn validate(&self) -> Result<()> {
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "above 0 and below 1"));
        }
        if self.max_iter == 0 {
            return Err(Error::param("max_iter", 0, "at least 1"));
        }
        Ok(())
    }
}

/// The `n_pairs` smallest eigenpairs of the Laplacian of `graph` (n); see the [module](self).
///
/// # Errors
/// [`Error::Param`] unless 1 ≤ `n_pairs` ≤ n, or for a parameter outside its range; what [`LaplacianSolver::new`] refuses;
/// [`Error::Interrupted`]. Not converging is no error: see [`Eigenpairs::info`].
///
/// # Complexity
/// See the [module](self).
///
/// # Example
/// ```
/// use lapwing_data::Run;
/// use lapwing_solve::Graph;
/// use lapwing_solve::eigen::{EigenParams, smallest_eigenpairs};
///
/// // A path: eigenvalues 2 − 2·cos(πk/n), and a second vector that falls from one end to the other.
/// let path = Graph::from_edges(10, &(0..9).map(|u| (u, u + 1, 1.0)).collect::<Vec<_>>())?;
/// let pairs = smallest_eigenpairs(&path, 2, &EigenParams::default(), &Run::new(None, 0)?)?;
/// assert!((pairs.values[1] - (2.0 - 2.0 * (std::f64::consts::PI / 10.0).cos())).abs() < 1e-9);
/// assert!(pairs.vectors.row(0)[1] * pairs.vectors.row(9)[1] < 0.0);
/// # Ok::<(), lapwing_data::Error>(())
/// ```
pub fn smallest_eigenpairs(graph: &Graph, n_pairs: usize, params: &EigenParams, run: &Run) -> Result<Eigenpairs> {
    params.validate()?;
    let n = graph.n_samples();
    if n_pairs == 0 || n_pairs > n {
        return Err(Error::param("number of eigenpairs", n_pairs, format!("between 1 and {n}, the number of rows")));
    }
    let bytes = (8 * n as u64).saturating_mul(2 * n_pairs as u64 + 7 * BLOCK as u64);
    check_memory(&format!("a basis for {n_pairs} eigenvectors of {n} rows"), bytes, "take fewer eigenvectors")?;
    run.install(|| {
        let moderate = graph.moderate();
        let (graph, exponent) = moderate.as_ref().map_or((graph, 0), |(graph, exponent)| (graph, *exponent));
        let components = graph.components();
        let n_null = components.sizes.len().min(n_pairs);
        if n_null == n_pairs {
            return Ok(null_vectors(&components, n_pairs));
        }
        let search = Search::new(graph, &components, n_pairs - n_null, params, run)?;
        let mut info = SolveSummary::default();
        let found = if n <= params.max_dense || n < 4 * n_pairs + 8 * BLOCK {
            search.whole_space(&mut info)?
        } else {
            search.lanczos(&mut info)?
        };
        let pairs = search.polished(found, null_vectors(&components, n_null), info)?;
        in_unit(pairs, exponent)
    })
}

/// Eigenvalues at the original scale of the weights, which were multiplied by 2^`exponent`.
fn in_unit(mut pairs: Eigenpairs, exponent: i32) -> Result<Eigenpairs> {
    pairs.values.iter_mut().for_each(|value| *value = times_power(*value, -exponent));
    if pairs.values.iter().all(|value| value.is_finite()) {
        return Ok(pairs);
    }
    Err(Error::graph("an eigenvalue of its Laplacian is above 1.8e308: divide all weights by one number"))
}

/// Unit vectors, each constant on one of the first `n_null` components.
fn null_vectors(components: &Components, n_null: usize) -> Eigenpairs {
    let mut vectors = Matrix::filled(components.id.len(), n_null, 0.0);
    for (row, &id) in components.id.iter().enumerate().filter(|(_, id)| (**id as usize) < n_null) {
        vectors.row_mut(row)[id as usize] = (components.sizes[id as usize] as f64).sqrt().recip();
    }
    let info = SolveSummary { converged: true, ..SolveSummary::default() };
    Eigenpairs { values: vec![0.0; n_null], vectors, residuals: vec![0.0; n_null], info }
}

/// A search for the largest eigenpairs of L⁺.
struct Search<'s> {
    graph: &'s Graph,
    components: &'s Components,
    solver: LaplacianSolver,
    /// Pairs wanted.
    wanted: usize,
    /// Dimension of the range of L.
    n_free: usize,
    params: &'s EigenParams,
    run: &'s Run,
}

impl<'s> Search<'s> {
    fn new(
        graph: &'s Graph,
        components: &'s Components,
        wanted: usize,
        params: &'s EigenParams,
        run: &'s Run,
    ) -> Result<Self> {
        let solver = LaplacianParams { tol: (0.1 * params.tol).max(1e-13), ..LaplacianParams::default() };
        let solver = LaplacianSolver::new(graph, None, solver, &run.quiet())?;
        let n_free = graph.n_samples() - components.sizes.len();
        Ok(Self { graph, components, solver, wanted, n_free, params, run })
    }

    /// L⁺·B.
    fn inverse(&self, b: &Matrix) -> Result<Matrix> {
        self.solver.solve(b, None, &self.run.quiet()).map(|(x, _)| x)
    }

    /// Rayleigh–Ritz with the unit vectors as basis: the eigenvectors of the dense L⁺.
    fn whole_space(&self, info: &mut SolveSummary) -> Result<Matrix> {
        let n = self.graph.n_samples();
        let mut inverse = Matrix::filled(n, n, 0.0);
        for first in (0..n).step_by(2 * BLOCK) {
            self.run.check()?;
            let width = (2 * BLOCK).min(n - first);
            let mut units = Matrix::filled(n, width, 0.0);
            (0..width).for_each(|column| units.row_mut(first + column)[column] = 1.0);
            let columns = self.inverse(&units)?;
            info.n_iter += 1;
            for (row, values) in columns.rows().enumerate() {
                inverse.row_mut(row)[first..first + width].copy_from_slice(values);
            }
        }
        for row in 0..n {
            for column in 0..row {
                let mean = (inverse.row(row)[column] + inverse.row(column)[row]) / 2.0;
                (inverse.row_mut(row)[column], inverse.row_mut(column)[row]) = (mean, mean);
            }
        }
        let (_, vectors) = eigen_symmetric(&inverse)?;
        let mut found = Matrix::filled(n, self.wanted, 0.0);
        for row in 0..n {
            (0..self.wanted).for_each(|k| found.row_mut(row)[k] = vectors.row(row)[n - 1 - k]);
        }
        info.converged = true;
        Ok(found)
    }

    /// Restarted block Lanczos; vectors by descending eigenvalue of L⁺.
    fn lanczos(&self, info: &mut SolveSummary) -> Result<Matrix> {
        let n = self.graph.n_samples();
        let mut basis = Basis::new(n, 2 * self.wanted + 7 * BLOCK);
        let mut projected = Matrix::filled(basis.capacity, basis.capacity, 0.0);
        let mut next = self.random(&basis, 0)?;
        let (mut is_second_look, mut calm) = (false, 0);
        loop {
            self.run.check()?;
            let old = basis.used;
            basis.push(&next);
            let mut w = self.inverse(&next)?;
            info.n_iter += 1;
            let coefficients = basis.orthogonalize(&mut w);
            for row in 0..basis.used {
                for column in old..basis.used {
                    let value = coefficients.row(row)[column - old];
                    (projected.row_mut(row)[column], projected.row_mut(column)[row]) = (value, value);
                }
            }
            let (block, coupling) = basis.orthonormal(&w, &coefficients);
            let ritz = Ritz::new(&projected, &basis, &coupling)?;
            let n_done =
                (0..self.wanted.min(basis.used)).take_while(|&k| ritz.residual[k] <= 0.1 * self.params.tol).count();
            self.run.progress().update(info.n_iter as u64, &format!("{n_done} of {} eigenvectors", self.wanted));
            calm = if n_done == self.wanted { calm + 1 } else { 0 };
            let is_over = basis.used >= self.n_free || is_second_look && calm >= CALM_STEPS;
            if is_over || info.n_iter >= self.params.max_iter {
                info.converged = is_over;
                basis.rotate(&ritz.vectors, self.wanted);
                return Ok(basis.block());
            }
            next = if calm > 0 && !is_second_look {
                is_second_look = true;
                ritz.restart(&mut basis, &mut projected, self.wanted);
                self.random(&basis, info.n_iter as u64)?
            } else {
                if basis.used + BLOCK > basis.capacity {
                    ritz.restart(&mut basis, &mut projected, self.wanted + BLOCK);
                }
                // No new direction: the space is invariant, and only random vectors lead out of it.
                if block.n_cols() > 0 { block } else { self.random(&basis, info.n_iter as u64)? }
            };
        }
    }

    /// Random orthonormal vectors, orthogonal to the basis and the null vectors.
    fn random(&self, basis: &Basis, draw: u64) -> Result<Matrix> {
        let (n, width) = (self.graph.n_samples(), BLOCK.min(self.n_free - basis.used));
        let mut rng = self.run.rng(Stream::Start, draw);
        let values = (0..n * width).map(|_| rng.random_range(-1.0..1.0f64)).collect();
        let mut block = Matrix::new(n, width, values)?;
        subtract_component_means(block.values_mut(), width, &self.components.id, &self.components.sizes);
        let coefficients = basis.orthogonalize(&mut block);
        Ok(basis.orthonormal(&block, &coefficients).0)
    }

    /// The error if solves gave no linearly independent vectors.
    fn too_far_apart(&self) -> Error {
        let weights = self.graph.adjacency().values();
        let (least, most) =
            weights.iter().fold((f64::INFINITY, 0.0f64), |(least, most), w| (least.min(*w), most.max(*w)));
        Error::graph(format!(
            "eigenvectors of its Laplacian are lost in rounding: weights go from {least:.0e} to {most:.0e}; drop the \
             weakest edges, or bring weights closer to one another"
        ))
    }

    /// Applies L⁺ once more and computes Rayleigh quotients and residuals; the results follow the null vectors in `pairs`.
    fn polished(&self, found: Matrix, mut pairs: Eigenpairs, info: SolveSummary) -> Result<Eigenpairs> {
        let n = self.graph.n_samples();
        let mut basis = Basis::new(n, self.wanted);
        for first in (0..self.wanted).step_by(2 * BLOCK) {
            self.run.check()?;
            let width = (2 * BLOCK).min(self.wanted - first);
            let mut w = self.inverse(&columns(&found, first, width))?;
            let coefficients = basis.orthogonalize(&mut w);
            let (block, _) = basis.orthonormal(&w, &coefficients);
            basis.push(&block);
        }
        drop(found);
        let (vectors, q) = (basis.block(), basis.used);
        // An iteration that stopped early may have found fewer.
        let is_lost = q == 0 || q < self.wanted && info.converged;
        if is_lost || vectors.values().iter().any(|v| !v.is_finite()) {
            return Err(self.too_far_apart());
        }
        let laplacian = self.graph.laplacian();
        let mut product = vec![0.0; n * q];
        let values = laplacian.product(vectors.values(), &mut product, q);
        for (product, vector) in product.chunks_exact_mut(q).zip(vectors.rows()) {
            product.iter_mut().zip(vector).zip(&values).for_each(|((r, u), value)| *r -= value * u);
        }
        let norms = |block: &[f64]| -> Vec<f64> { column_dots(block, block, n, q).iter().map(|v| v.sqrt()).collect() };
        let residuals = norms(&product);
        for ((terms, vector), degree) in product.chunks_exact_mut(q).zip(vectors.rows()).zip(laplacian.diagonal()) {
            terms.iter_mut().zip(vector).for_each(|(term, u)| *term = 2.0 * degree * u);
        }
        let roundings = norms(&product);
        let is_accurate =
            (0..q).all(|k| residuals[k] <= (self.params.tol * values[k]).max(ROUNDING * f64::EPSILON * roundings[k]));
        let mut order: Vec<usize> = (0..q).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let n_null = pairs.values.len();
        let mut all = Matrix::filled(n, n_null + q, 0.0);
        for row in 0..n {
            let out = all.row_mut(row);
            out[..n_null].copy_from_slice(pairs.vectors.row(row));
            out[n_null..].iter_mut().zip(&order).for_each(|(out, &k)| *out = vectors.row(row)[k]);
        }
        pairs.vectors = all;
        pairs.values.extend(order.iter().map(|&k| values[k]));
        pairs.residuals.extend(order.iter().map(|&k| residuals[k] / values[k]));
        let residual = pairs.residuals.iter().copied().fold(0.0, f64::max);
        pairs.info = SolveSummary { converged: info.converged && is_accurate, residual, ..info };
        Ok(pairs)
    }
}

/// Eigenpairs of L⁺ within the space of a basis.
struct Ritz {
    /// Descending.
    values: Vec<f64>,
    /// Coefficients of the vectors in the basis, as columns.
    vectors: Matrix,
    /// ‖L⁺u − μu‖ / μ of each.
    residual: Vec<f64>,
}

impl Ritz {
    /// `coupling` (r, s): coefficients of the part of L⁺ times the last s basis vectors that lies outside the basis.
    fn new(projected: &Matrix, basis: &Basis, coupling: &Matrix) -> Result<Self> {
        let m = basis.used;
        let mut small = Matrix::filled(m, m, 0.0);
        (0..m).for_each(|row| small.row_mut(row).copy_from_slice(&projected.row(row)[..m]));
        let (ascending, reversed) = eigen_symmetric(&small)?;
        let values: Vec<f64> = ascending.iter().rev().copied().collect();
        let mut vectors = Matrix::filled(m, m, 0.0);
        for row in 0..m {
            vectors.row_mut(row).iter_mut().zip(reversed.row(row).iter().rev()).for_each(|(v, r)| *v = *r);
        }
        let last = m - coupling.n_cols();
        let outside = |k: usize| {
            let part = |row: &[f64]| row.iter().enumerate().map(|(at, c)| c * vectors.row(last + at)[k]).sum::<f64>();
            coupling.rows().map(|row| part(row).powi(2)).sum::<f64>().sqrt()
        };
        let residual = (0..m).map(|k| outside(k) / values[k].abs().max(f64::MIN_POSITIVE)).collect();
        Ok(Self { values, vectors, residual })
    }

    /// Keeps the `keep` best vectors as the basis.
    fn restart(&self, basis: &mut Basis, projected: &mut Matrix, keep: usize) {
        let keep = keep.min(basis.used);
        basis.rotate(&self.vectors, keep);
        projected.values_mut().fill(0.0);
        (0..keep).for_each(|k| projected.row_mut(k)[k] = self.values[k]);
    }
}

/// Columns `first..first + width`.
fn columns(matrix: &Matrix, first: usize, width: usize) -> Matrix {
    let mut out = Matrix::filled(matrix.n_rows(), width, 0.0);
    (0..matrix.n_rows()).for_each(|row| out.row_mut(row).copy_from_slice(&matrix.row(row)[first..first + width]));
    out
}
