//! Fits: the weights W (k, c) that minimize Σ mᵢ·(logsumexp zᵢ − yᵢᵀzᵢ) + (ρ/2)·‖W‖², zᵢ = Wᵀ(row i), by L-BFGS.
//!
//! Before the first step all shares are 1/c, and the Hessian is (RᵀMR/c + ρI) ⊗ (I − 11ᵀ/c), R the rows. The preconditioner is its
//! first factor: a diagonal in coordinates, where RᵀR is one; factored for up to 1,024 columns; else its diagonal.

use std::time::Instant;

use lapwing_core::{Features, Matrix, Result, Run, Targets};

use crate::maps::{
    Accuracy, Inputs, Loss, Map, NodeLoss, Preconditioner, State, Stored, StoredRows, StoredValues, Task, Trace, lbfgs,
};

/// Most columns for which the preconditioner is factored.
const MOST_FACTORED: usize = 1024;
/// Copies of the weights that L-BFGS typically keeps; for plans.
pub(super) const KEPT_WEIGHTS: usize = 64;

/// Labeled rows, or some of them, in the form that is fitted.
pub(super) enum Rows {
    /// In coordinates, and the sums of squares of these over all labeled rows.
    Coordinates { rows: StoredRows, squares: Vec<f64> },
    /// Dense rows, centered and scaled.
    Dense(StoredRows),
    /// Sparse rows as they are, x̄ and s.
    Sparse { rows: Features<'static>, center: Vec<f64>, scale: f64 },
}

/// When a fit ends.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Suboptimality.
    pub tol: f64,
    pub max_iter: usize,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Coordinates { rows, .. } | Self::Dense(rows) => rows.n_rows(),
            Self::Sparse { rows, .. } => rows.n_rows(),
        }
    }

    /// The wanted rows.
    pub fn subset(&self, wanted: impl Fn(usize) -> bool) -> Result<Self> {
        Ok(match self {
            Self::Coordinates { rows, squares } => {
                Self::Coordinates { rows: rows.subset(wanted), squares: squares.clone() }
            }
            Self::Dense(rows) => Self::Dense(rows.subset(wanted)),
            Self::Sparse { rows, center, scale } => {
                let ids: Vec<u32> = (0..rows.n_rows() as u32).filter(|&row| wanted(row as usize)).collect();
                Self::Sparse { rows: rows.select(&ids)?, center: center.clone(), scale: *scale }
            }
        })
    }

    /// The weights for the labels of these rows, from `start` or from zero.
    pub fn fit(
        &self,
        targets: &Targets,
        ridge: f64,
        limits: Limits,
        start: Option<Matrix>,
        run: &Run,
    ) -> Result<(Matrix, Trace)> {
        self.with_map(run, |map| {
            let loss = Loss::new(NodeLoss::CrossEntropy, targets);
            let preconditioner = self.preconditioner(&loss, ridge, run)?;
            let Limits { tol, max_iter } = limits;
            let task =
                Task { map, loss: &loss, ridge, preconditioner: &preconditioner, is_close: false, tol, max_iter, run };
            let mut state = State::new(start, &task)?;
            let mut trace = Trace::new(Instant::now());
            lbfgs(&mut state, &task, &mut trace)?;
            Ok((state.weights, trace))
        })
    }

    /// Scores (l, c) of these rows.
    pub fn scores(&self, weights: &Matrix, run: &Run) -> Result<Matrix> {
        self.with_map(run, |map| map.forward(weights, Accuracy::Whole))
    }

    fn with_map<T>(&self, run: &Run, work: impl FnOnce(&dyn Map) -> Result<T>) -> Result<T> {
        match self {
            Self::Coordinates { rows, .. } | Self::Dense(rows) => work(&Stored { rows, run }),
            Self::Sparse { rows, center, scale } => work(&Centered::new(Inputs::new(rows, true)?, center, *scale, run)),
        }
    }

    fn preconditioner(&self, loss: &Loss<'_>, ridge: f64, run: &Run) -> Result<Preconditioner> {
        let trust = loss.trust.iter().sum::<f64>() / loss.trust.len().max(1) as f64;
        let share = trust / loss.n_outputs() as f64;
        let diagonal = |squares: &[f64]| {
            Preconditioner::Diagonal(squares.iter().map(|square| (share * square + ridge).recip()).collect())
        };
        Ok(match self {
            Self::Coordinates { squares, .. } => diagonal(squares),
            Self::Dense(rows) if rows.width <= MOST_FACTORED => {
                let root = share.sqrt() as f32;
                let values: Vec<f32> = match &rows.values {
                    StoredValues::Single(values) => values.iter().map(|x| x * root).collect(),
                    StoredValues::Double(values) => values.iter().map(|x| *x as f32 * root).collect(),
                };
                Preconditioner::from_rows(&values, rows.width, ridge, false, run)?.0
            }
            Self::Dense(rows) => diagonal(&column_squares(rows)),
            Self::Sparse { rows, center, scale } => {
                let mut squares = Inputs::new(rows, true)?.column_squares();
                let l = rows.n_rows() as f64;
                for (square, center) in squares.iter_mut().zip(center) {
                    *square = (*square - l * center * center).max(0.0) / (scale * scale);
                }
                diagonal(&squares)
            }
        })
    }
}

/// Sum of the squares of each column (k).
fn column_squares(rows: &StoredRows) -> Vec<f64> {
    let mut sums = vec![0.0; rows.width];
    let mut add = |at: usize, x: f64| sums[at % rows.width] += x * x;
    match &rows.values {
        StoredValues::Single(values) => values.iter().enumerate().for_each(|(at, &x)| add(at, x.into())),
        StoredValues::Double(values) => values.iter().enumerate().for_each(|(at, &x)| add(at, x)),
    }
    sums
}

/// Sparse rows as a map, with the center subtracted from products.
pub(super) struct Centered<'m, 'a> {
    inputs: Inputs<'m, 'a>,
    center: &'m [f64],
    scale: f64,
    run: &'m Run,
}

impl<'m, 'a> Centered<'m, 'a> {
    pub fn new(inputs: Inputs<'m, 'a>, center: &'m [f64], scale: f64, run: &'m Run) -> Self {
        Self { inputs, center, scale, run }
    }
}

impl Map for Centered<'_, '_> {
    fn width(&self) -> usize {
        self.inputs.width()
    }

    fn forward(&self, weights: &Matrix, _: Accuracy) -> Result<Matrix> {
        let (d, c) = (self.center.len(), weights.n_cols());
        let mut own = weights.clone();
        let (coefficients, bias) = own.values_mut().split_at_mut(d * c);
        for (row, center) in coefficients.chunks_exact_mut(c).zip(self.center) {
            for (value, bias) in row.iter_mut().zip(bias.iter_mut()) {
                *value /= self.scale;
                *bias -= center * *value;
            }
        }
        self.inputs.times(&own, self.run)
    }

    fn adjoint(&self, residual: &Matrix, _: Accuracy) -> Result<Matrix> {
        let (d, c) = (self.center.len(), residual.n_cols());
        let mut out = self.inputs.transposed_times(residual.values(), c, self.run)?;
        let (coefficients, sums) = out.values_mut().split_at_mut(d * c);
        for (row, center) in coefficients.chunks_exact_mut(c).zip(self.center) {
            row.iter_mut().zip(sums.iter()).for_each(|(value, sum)| *value = (*value - center * sum) / self.scale);
        }
        Ok(out)
    }
}
