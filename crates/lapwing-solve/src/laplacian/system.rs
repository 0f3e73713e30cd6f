//! The prepared system: its matrix, with rows reordered so that neighbors lie close together, and the preconditioner that is not
//! a factor.

use lapwing_core::{Matrix, Result, Run, check_memory};

use super::choice::{Built, Given};
use super::placed::Placed;
use super::singular::SingularComponents;
use super::{LaplacianParams, PreconditionerChoice};
use crate::blocks::{column_dots, gather, scatter};
use crate::cg::Projection;
use crate::precond::{Coarse, Jacobi, TwoLevel};
use crate::{Graph, SddMatrix};

/// Largest ratio of diagonal entries for which systems are solved in single precision. Rounding the residuals of heavy rows, 6·10⁻⁸ of them,
/// hides those of rows that are lighter by more. Degrees of power laws have ratios of 10⁵.
const SINGLE_RANGE: f64 = 1e6;

/// A system L + D in the solver's order of rows.
#[derive(Debug)]
pub(super) struct System {
    /// The vertex of each row (n).
    pub order: Vec<u32>,
    pub matrix: SddMatrix<'static>,
    pub singular: SingularComponents,
    jacobi: Jacobi,
    /// The coarse system of the two-level preconditioner, if that is used.
    coarse: Option<Coarse>,
    /// Whether single precision holds preconditioned residuals near 1, and residuals of all rows side by side.
    pub fits_single: bool,
    pub chosen: PreconditionerChoice,
    /// Whether solutions have mean zero.
    zero_mean: bool,
}

impl System {
    /// The system of `graph` with `diagonal` (n), and the factor, if one was built for it.
    pub fn new(graph: &Graph, diagonal: &[f64], params: &LaplacianParams, run: &Run) -> Result<(Self, Option<Placed>)> {
        let (n, n_entries) = (graph.n_samples(), graph.adjacency().nnz());
        let bytes = 8 * n_entries as u64 + 64 * n as u64;
        check_memory(&format!("a system of {n} rows and {n_entries} entries"), bytes, "give fewer edges")?;
        let mut singular = SingularComponents::new(graph, diagonal);
        let natural = SddMatrix::new(graph, diagonal)?;
        let jacobi = match params.preconditioner {
            PreconditionerChoice::None => Jacobi::identity(n),
            _ => Jacobi::new(natural.diagonal())?,
        };
        run.check()?;
        let given = Given { graph, matrix: &natural, jacobi: &jacobi, singular: &singular.ids, params, run };
        let Built { chosen, order, coarse, factor } = given.build()?;
        let matrix = natural.reordered(&order, run)?;
        let jacobi = jacobi.reordered(&order);
        let (least, most) = jacobi
            .values()
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(least, most), &inverse| (least.min(inverse), most.max(inverse)));
        let fits_single = least > 1e-15 && most < 1e15 && most <= SINGLE_RANGE * least;
        if !singular.sizes.is_empty() {
            singular.ids = order.iter().map(|&v| singular.ids[v as usize]).collect();
        }
        let zero_mean = params.zero_mean;
        Ok((Self { order, matrix, singular, jacobi, coarse, fits_single, chosen, zero_mean }, factor))
    }

    pub fn n(&self) -> usize {
        self.order.len()
    }

    pub fn bytes(&self) -> usize {
        let coarse = self.coarse.as_ref().map_or(0, Coarse::bytes);
        coarse + self.matrix.bytes() + self.singular.bytes() + 12 * self.order.len()
    }

    /// The preconditioner without a factor.
    pub fn levels(&self) -> TwoLevel<'_> {
        TwoLevel { diagonal: self.jacobi.values(), coarse: self.coarse.as_ref() }
    }

    /// The part that right-hand sides and solutions must not have.
    pub fn projection(&self) -> Projection<'_> {
        let (ids, sizes) = (self.singular.ids.as_slice(), self.singular.sizes.as_slice());
        if self.zero_mean && *sizes != [self.n()] {
            return Projection::ZeroMean;
        }
        if sizes.is_empty() { Projection::None } else { Projection::Components { ids, sizes } }
    }

    /// The projection of an iteration without a factor. With the diagonal alone, the level of a regular system converges slowly;
    /// directions orthogonal to constants avoid that.
    pub fn projection_of_levels(&self) -> Projection<'_> {
        match self.projection() {
            Projection::None if self.coarse.is_none() && self.chosen != PreconditionerChoice::None => {
                Projection::OrthogonalToOnes(self.matrix.shift())
            }
            projection => projection,
        }
    }

    /// Removes the part that the projection excludes; returns its share of each column.
    pub fn discard(&self, block: &mut Matrix) -> Vec<f64> {
        let (n, s) = (block.n_rows(), block.n_cols());
        let projection = self.projection();
        if matches!(projection, Projection::None) || s == 0 {
            return vec![0.0; s];
        }
        let before = column_dots(block.values(), block.values(), n, s);
        projection.remove(block.values_mut(), s);
        let after = column_dots(block.values(), block.values(), n, s);
        before.iter().zip(&after).map(|(b, a)| if *b > 0.0 { ((b - a).max(0.0) / b).sqrt() } else { 0.0 }).collect()
    }

    /// A block from the caller's order of rows to the solver's.
    pub fn gathered(&self, block: &Matrix) -> Matrix {
        let mut out = Matrix::filled(block.n_rows(), block.n_cols(), 0.0);
        gather(block.values(), &self.order, out.values_mut(), block.n_cols());
        out
    }

    /// A block from the solver's order of rows to the caller's.
    pub fn scattered(&self, block: &Matrix) -> Matrix {
        let mut out = Matrix::filled(block.n_rows(), block.n_cols(), 0.0);
        scatter(block.values(), &self.order, out.values_mut(), block.n_cols());
        out
    }

    /// B ← B − A·Y.
    pub fn subtract_product(&self, y: &Matrix, b: &mut Matrix) {
        let y = self.gathered(y);
        let mut product = Matrix::filled(y.n_rows(), y.n_cols(), 0.0);
        self.matrix.product(y.values(), product.values_mut(), y.n_cols());
        let product = self.scattered(&product);
        b.values_mut().iter_mut().zip(product.values()).for_each(|(b, product)| *b -= product);
    }
}
