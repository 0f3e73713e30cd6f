//! Labeled rows by which conjugate gradients stop: a given set, or held-out labels.

use lapwing_core::{Error, Features, Matrix, Result, Run, Stream, Targets};
use rand::seq::SliceRandom;

use super::basis::Basis;
use super::loss::positive_classes;
use super::params::Stopping;
use super::stopping::{Validation, ValidationRows};
use crate::core::scores::largest;

/// Share of the labels of a class that is held back for validation where no rows are given for it.
const HELD_BACK: f64 = 0.2;

/// Labeled rows that only decide when conjugate gradients stop.
#[derive(Clone, Copy, Debug)]
pub struct ValidationSet<'v, 'a> {
    /// Features (v, d).
    pub features: &'v Features<'a>,
    /// Their labels, in the form of those of the fit; rows without one are left out.
    pub targets: &'v Targets,
}

/// Optional inputs of a fit besides its problem.
#[derive(Clone, Copy, Debug, Default)]
pub struct FitOptions<'v, 'a> {
    /// The validation set by which conjugate gradients stop; default: some labels are held out.
    pub validation: Option<ValidationSet<'v, 'a>>,
    /// Coefficients (n, k) and bias (k) from which conjugate gradients start, if they are those of a machine that keeps every row of this
    /// fit; default: start at zero.
    pub start: Option<(&'v Matrix, &'v [f64])>,
}

/// A given validation set, for a fit on the rows `features` with the targets `own`.
pub(super) fn given(
    basis: &Basis<'_>,
    features: &Features<'_>,
    set: ValidationSet<'_, '_>,
    own: &Targets,
    run: &Run,
) -> Result<Validation> {
    let ValidationSet { features: other, targets } = set;
    if targets.n_samples() != other.n_rows() || targets.n_columns() != own.n_columns() {
        let expected = format!("{} rows and {} classes", other.n_rows(), own.n_columns());
        let got = format!("{} rows and {} classes", targets.n_samples(), targets.n_columns());
        return Err(Error::shape("validation labels", expected, got));
    }
    let rows = other.select(targets.rows())?;
    let cross = basis.cross(features, &rows, run)?;
    let all: Vec<usize> = (0..targets.rows().len()).collect();
    Ok(Validation { rows: ValidationRows::Beyond(cross), signs: signs(targets, &all) })
}

/// The targets without a share of each class, and that share as a validation set.
pub(super) fn held_back(stopping: Stopping, targets: &Targets, run: &Run) -> Result<(Targets, Validation)> {
    let mut held = vec![false; targets.rows().len()];
    for class in 0..targets.n_columns() {
        let is_of = |at: &usize| largest(targets.values().row(*at)) == class;
        let mut members: Vec<usize> = (0..held.len()).filter(is_of).collect();
        members.shuffle(&mut run.rng(Stream::Split, (1 << 41) + class as u64));
        let count = ((members.len() as f64 * HELD_BACK).round() as usize).min(members.len().saturating_sub(1));
        members.iter().take(count).for_each(|&at| held[at] = true);
    }
    let chosen: Vec<usize> = (0..held.len()).filter(|&at| held[at]).collect();
    if chosen.is_empty() {
        let expected = "stability or gradient, or more labels: none can be held back for validation";
        return Err(Error::param("stopping", stopping.name(), expected));
    }
    let rows = chosen.iter().map(|&at| targets.rows()[at]).collect();
    let validation = Validation { rows: ValidationRows::Within(rows), signs: signs(targets, &chosen) };
    Ok((targets.subset(|at| !held[at])?, validation))
}

/// For each problem, whether each of the `chosen` targets is of the positive class.
fn signs(targets: &Targets, chosen: &[usize]) -> Vec<Vec<bool>> {
    let of = |class: usize| chosen.iter().map(|&at| targets.values().row(at)[class] > 0.5).collect();
    positive_classes(targets.n_columns()).map(of).collect()
}
