//! Functions of the features: one linear layer, or two with a rectifier between them.

use lapwing_core::{Features, Matrix, Result, Run};

use super::rows::Inputs;
use crate::core::extend::check_columns;

/// The layers of f: F = X·W + b, or F = max(0, X·V + a)·W + b, where X are the rows less the center.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// V (d, h), with a in its last row if there is a bias; none if f is linear.
    pub hidden: Option<Matrix>,
    /// W (d or h, c), with b in its last row if there is a bias.
    pub output: Matrix,
    /// Whether the last row of each layer belongs to a constant column.
    pub bias: bool,
    /// Subtracted from rows (d); empty for none.
    pub center: Vec<f64>,
}

impl Layers {
    /// Columns of the features d.
    pub fn n_features(&self) -> usize {
        self.hidden.as_ref().unwrap_or(&self.output).n_rows() - usize::from(self.bias)
    }

    /// f of rows (m, d), (m, c).
    ///
    /// # Errors
    /// Those of [`Extend::extend`](crate::Extend::extend).
    pub fn outputs(&self, features: &Features<'_>, run: &Run) -> Result<Matrix> {
        check_columns(features, self.n_features())?;
        features.check(run)?;
        let inputs = Inputs::centered(features, self.bias, &self.center)?;
        let Some(hidden) = &self.hidden else { return inputs.times(&self.output, run) };
        let mut units = inputs.times(hidden, run)?;
        units.values_mut().iter_mut().for_each(|x| *x = x.max(0.0));
        let (n, h) = (units.n_rows(), units.n_cols());
        let units = Features::from_f64(n, h, units.into_values())?;
        Inputs::new(&units, self.bias)?.times(&self.output, run)
    }
}
