//! The smallest eigenpairs of a graph Laplacian: L·u = λ·u for the q smallest λ.
//!
//! Null vectors are known: one for each connected component, constant on it. Generalized Davidson finds the others (Morgan & Scott
//! 1986): the space of the search grows by a correction L⁺·r of each residual r = Lu − θu of the first few pairs that have not
//! converged. A [`LaplacianSolver`] solves for it to a tenth only, since an error of the correction slows the search but does not
//! end in the result. When the space is full, the best vectors so far are kept, a few more than wanted, and what the vectors of the
//! step before add to them: with these, as in LOBPCG (Knyazev 2001), a restart costs little speed (Stathopoulos & Saad 1998). New
//! directions are made orthonormal until rounding errors are small (Stathopoulos & Wu 2002; Duersch, Shao, Yang & Gu 2018). For small
//! graphs the basis is the whole space.
//!
//! **Multiple eigenvalues.** The search starts from eight more random vectors than are wanted, so that with probability 1 it has a
//! part in every eigenvector of a multiple eigenvalue.
//!
//! **Accuracy.** A pair counts as found when ‖Lu − λu‖ is within the tolerance times λ, recomputed from vectors that are made
//! orthonormal again. If λ is tiny, or weights are many orders of magnitude apart, this residual is rounding error of u, and accurate
//! solves tell: ‖L⁺u − u/λ‖ must be within a tenth of the tolerance over λ, and L⁺ is applied to u once more. Where that is not enough,
//! the search goes on with L⁺ as the operator (block Lanczos, Golub & Underwood 1977). Vectors whose eigenvalues tie within the
//! tolerance may be rotated among themselves.
//!
//! **Cost.** One to two steps for a pair, each a rough solve (3 to 10 iterations) for eight right-hand sides, and O(n·q) operations for
//! each of them. [`eigen_bytes`] is the memory besides the solver. Products and sums are parallel over rows, in blocks of a fixed size
//! that are added in order.
//!
//! For eigenvectors of a dense matrix: [`crate::dense::eigen_symmetric`].

mod davidson;
mod space;
mod tall;
mod whole;

use crate::blocks::column_dots;
use crate::dispatch::WIDEST;
use crate::scale::times_power;
use crate::{Components, Graph, LaplacianParams, LaplacianSolver};
use lapwing_core::{Error, Matrix, Result, Run, SolveSummary, check_memory};

/// Vectors kept beyond those wanted: the last wanted ones converge faster.
const GUARDS: usize = 8;
/// Blocks by which a space grows between restarts. Measured: 2 to 8 take about the same time.
const STEPS: usize = 3;
/// Up to this number of pairs, eight are improved at a time, beyond sixteen: restarts cost more, the more is kept.
const FEW_PAIRS: usize = 32;
/// A residual counts as rounding error up to this many units of rounding of the vector.
const ROUNDING: f64 = 16.0;

/// How to find eigenpairs.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenParams {
    /// Residual ‖Lu − λu‖ / λ of each unit vector u, in (0, 1); default 1e-8.
    pub tol: f64,
    /// Most steps, each a solve for eight right-hand sides, or sixteen for more than 32 pairs; default 1,000.
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
    /// Steps, or for small graphs solves; the largest residual; whether every pair reached the tolerance, or the least
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

    /// Tolerance of accurate solves.
    fn fine_tol(&self) -> f64 {
        (0.1 * self.tol).max(1e-13)
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
/// use lapwing_core::Run;
/// use lapwing_solve::Graph;
/// use lapwing_solve::eigen::{EigenParams, smallest_eigenpairs};
///
/// // A path: eigenvalues 2 − 2·cos(πk/n), and a second vector that falls from one end to the other.
/// let path = Graph::from_edges(10, &(0..9).map(|u| (u, u + 1, 1.0)).collect::<Vec<_>>())?;
/// let pairs = smallest_eigenpairs(&path, 2, &EigenParams::default(), &Run::new(None, 0)?)?;
/// assert!((pairs.values[1] - (2.0 - 2.0 * (std::f64::consts::PI / 10.0).cos())).abs() < 1e-9);
/// assert!(pairs.vectors.row(0)[1] * pairs.vectors.row(9)[1] < 0.0);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn smallest_eigenpairs(graph: &Graph, n_pairs: usize, params: &EigenParams, run: &Run) -> Result<Eigenpairs> {
    params.validate()?;
    let n = graph.n_samples();
    if n_pairs == 0 || n_pairs > n {
        return Err(Error::param("number of eigenpairs", n_pairs, format!("between 1 and {n}, the number of rows")));
    }
    let what = format!("a basis for {n_pairs} eigenvectors of {n} rows");
    check_memory(&what, eigen_bytes(n, n_pairs), "take fewer eigenvectors")?;
    run.install(|| {
        let moderate = graph.moderate();
        let (graph, exponent) = moderate.as_ref().map_or((graph, 0), |(graph, exponent)| (graph, *exponent));
        let components = graph.components();
        let n_null = components.sizes.len().min(n_pairs);
        if n_null == n_pairs {
            return Ok(null_vectors(&components, n_pairs));
        }
        let mut search = Search::new(graph, &components, n_pairs - n_null, params, run)?;
        let mut info = SolveSummary::default();
        let found = if n <= params.max_dense || n < 4 * n_pairs + 64 {
            search.whole_space(&mut info)?
        } else {
            search.davidson(&mut info)?
        };
        let pairs = search.measured_pairs(found, null_vectors(&components, n_null), info)?;
        in_unit(pairs, exponent)
    })
}

/// Bytes that a search for `n_pairs` eigenpairs of a graph of `n` rows takes, besides the graph and the solver for it. The few graphs
/// that need L⁺ as the operator take a fifth more.
pub fn eigen_bytes(n: usize, n_pairs: usize) -> u64 {
    let Sizes { keep, capacity, block } = Sizes::new(n_pairs);
    // The space and its products; beside them, the kept vectors and products with some, or the vectors of a solve.
    let columns = 2 * capacity + (keep + 2 * WIDEST).max(10 * block);
    (8 * n as u64).saturating_mul(columns as u64)
}

/// Numbers of vectors.
#[derive(Clone, Copy)]
struct Sizes {
    /// Kept at a restart.
    keep: usize,
    /// Most in the space.
    capacity: usize,
    /// Improved in a step.
    block: usize,
}

impl Sizes {
    fn new(wanted: usize) -> Self {
        let block = if wanted <= FEW_PAIRS { 8 } else { 16 };
        let keep = wanted.saturating_add(GUARDS);
        Self { keep, capacity: keep.saturating_add(STEPS * block), block }
    }
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

/// A search for the smallest eigenpairs of L that are not null.
struct Search<'s> {
    graph: &'s Graph,
    components: &'s Components,
    solver: LaplacianSolver,
    /// Pairs wanted.
    wanted: usize,
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
        let solver = LaplacianParams { tol: params.fine_tol(), ..LaplacianParams::default() };
        let solver = LaplacianSolver::new(graph, None, solver, &run.quiet())?;
        Ok(Self { graph, components, solver, wanted, params, run })
    }

    /// L⁺·B to the tolerance of the solver.
    fn solve(&self, b: &Matrix) -> Result<Matrix> {
        self.solver.solve(b, None, &self.run.quiet()).map(|(x, _)| x)
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

    /// Rayleigh quotients θ of unit vectors u, and Lu − θu, row-major.
    fn residuals(&self, vectors: &Matrix) -> (Vec<f64>, Vec<f64>) {
        let q = vectors.n_cols();
        let mut product = vec![0.0; vectors.values().len()];
        let values = self.graph.laplacian().product(vectors.values(), &mut product, q);
        for (product, vector) in product.chunks_exact_mut(q).zip(vectors.rows()) {
            product.iter_mut().zip(vector).zip(&values).for_each(|((r, u), value)| *r -= value * u);
        }
        (values, product)
    }

    /// Number of unit vectors whose residuals are within the tolerance.
    fn n_within(&self, vectors: &Matrix) -> usize {
        let (values, residuals) = self.residuals(vectors);
        let squares = column_dots(&residuals, &residuals, vectors.n_rows(), vectors.n_cols());
        squares.iter().zip(&values).filter(|(square, value)| square.sqrt() <= self.params.tol * **value).count()
    }

    /// Rayleigh quotients and residuals of `vectors` (n, wanted), which follow the null vectors in `pairs`.
    fn measured_pairs(&self, vectors: Matrix, mut pairs: Eigenpairs, info: SolveSummary) -> Result<Eigenpairs> {
        let n = self.graph.n_samples();
        let q = self.wanted;
        if vectors.values().iter().any(|v| !v.is_finite()) {
            return Err(self.too_far_apart());
        }
        let (values, mut product) = self.residuals(&vectors);
        let norms = |block: &[f64]| -> Vec<f64> { column_dots(block, block, n, q).iter().map(|v| v.sqrt()).collect() };
        let residuals = norms(&product);
        for ((terms, vector), degree) in product.chunks_exact_mut(q).zip(vectors.rows()).zip(self.graph.degree()) {
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
