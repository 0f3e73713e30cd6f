//! Folds of the labels: dealt class by class, held out in turn.

use lapwing_core::{Matrix, Result, Run, Stream, Targets};
use rand::seq::SliceRandom;

use crate::core::counts::{has_each, has_mean, label_classes};
use crate::core::scores::rows_at;

/// Folds, unless a method says otherwise.
pub(crate) const FOLDS: usize = 5;
/// The fold of labels that are never held out.
pub(crate) const NEVER: usize = usize::MAX;
/// Labels of a class, on average, of which any are held out.
pub(crate) const LEAST_PER_CLASS: usize = 2;
/// Folds are held out until they have this many labels together: enough to compare candidates by.
const ENOUGH_HELD: usize = 250;

/// How the labels of a class follow those of the class before it, which decides how even folds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dealing {
    /// Each class begins with the first fold.
    Anew,
    /// Each class goes on where the one before ended, so that folds are of equal size even if classes are small.
    On,
}

/// Folds below `n_folds` of labels by their `classes` (l), below `c`. The shuffled labels of a class are dealt out in turn, so that every
/// fold has its share of each class.
pub(crate) fn dealt(classes: &[usize], c: usize, n_folds: usize, dealing: Dealing, run: &Run) -> Vec<usize> {
    let (mut folds, mut of_class) = (vec![0; classes.len()], vec![Vec::new(); c]);
    classes.iter().enumerate().for_each(|(at, &class)| of_class[class].push(at));
    let mut next = 0;
    for (class, mut members) in of_class.into_iter().enumerate() {
        members.shuffle(&mut run.rng(Stream::Split, u64::MAX - class as u64));
        if dealing == Dealing::Anew {
            next = 0;
        }
        for member in members {
            folds[member] = next % n_folds;
            next += 1;
        }
    }
    folds
}

/// Five folds of l values, dealt at random.
pub(crate) fn of_values(l: usize, run: &Run) -> Vec<usize> {
    dealt(&vec![0; l], 1, FOLDS, Dealing::Anew, run)
}

/// Five folds of the labels (l), each with its share of every class; `None` if there are fewer than two labels a class on average, one
/// class only, or shares of classes.
pub(crate) fn stratified(targets: &Targets, run: &Run) -> Option<Vec<usize>> {
    can_hold_out(targets).then(|| of_classes(targets, run))
}

/// Five folds of the labels (l), each with its share of every class; `None` if a class that has labels has fewer than `fewest`, or if there
/// is one class only. A soft label counts for the class of its largest share.
pub(crate) fn stratified_of(fewest: usize, targets: &Targets, run: &Run) -> Option<Vec<usize>> {
    has_each(targets, fewest).then(|| of_classes(targets, run))
}

/// Whether every label is of one class, and there are two labels a class on average and two classes.
pub(crate) fn can_hold_out(targets: &Targets) -> bool {
    targets.values().values().iter().all(|share| *share == 0.0 || *share == 1.0) && has_mean(targets, LEAST_PER_CLASS)
}

fn of_classes(targets: &Targets, run: &Run) -> Vec<usize> {
    dealt(&label_classes(targets), targets.n_columns(), FOLDS, Dealing::Anew, run)
}

/// Number of folds that are held out in turn.
pub(crate) fn n_folds(folds: &[usize]) -> usize {
    folds.iter().filter(|fold| **fold != NEVER).max().map_or(0, |most| most + 1)
}

/// The first of five folds (l), as many as hold enough labels to compare candidates by; the others are never held out.
pub(crate) fn enough(mut folds: Vec<usize>) -> Vec<usize> {
    let kept = (FOLDS * ENOUGH_HELD).div_ceil(folds.len().max(1)).min(FOLDS);
    folds.iter_mut().filter(|fold| **fold >= kept).for_each(|fold| *fold = NEVER);
    folds
}

/// One fold of the labels.
#[derive(Clone, Debug)]
pub(crate) struct Fold<'f> {
    folds: &'f [usize],
    pub number: usize,
    /// Places of its labels among all.
    pub held: Vec<usize>,
}

impl<'f> Fold<'f> {
    /// The folds that have labels and are held out.
    pub fn all(folds: &'f [usize]) -> impl Iterator<Item = Self> {
        let places = |number: usize| (0..folds.len()).filter(|&at| folds[at] == number).collect();
        let all = (0..n_folds(folds)).map(move |number| Self { folds, number, held: places(number) });
        all.filter(|fold| !fold.held.is_empty())
    }

    /// Whether the label at a place is of another fold.
    pub fn is_kept(&self, at: usize) -> bool {
        self.folds[at] != self.number
    }

    /// The labels of the other folds, and those that are never held out.
    pub fn kept(&self, targets: &Targets) -> Result<Targets> {
        targets.subset(|at| self.is_kept(at))
    }

    /// The labels that are held out.
    pub fn own(&self, targets: &Targets) -> Result<Targets> {
        targets.subset(|at| !self.is_kept(at))
    }

    /// Their rows.
    pub fn rows(&self, targets: &Targets) -> Vec<u32> {
        self.held.iter().map(|&at| targets.rows()[at]).collect()
    }

    /// Their rows of a matrix (n, c) of all rows.
    pub fn rows_of(&self, all: &Matrix, targets: &Targets) -> Matrix {
        rows_at(all, self.held.iter().map(|&at| targets.rows()[at] as usize))
    }

    /// Copies `values` (m, c) of its m labels to those of all labels (l, c).
    pub fn put(&self, values: &Matrix, all: &mut Matrix) {
        self.held.iter().zip(values.rows()).for_each(|(&at, values)| all.row_mut(at).copy_from_slice(values));
    }
}

/// Holds out the labels of each fold in turn: values (l, c) of all labels, of which `of` gives those of a fold, from the labels of the others.
/// It gets a part of the progress. NaN for labels that are never held out.
pub(crate) fn in_turn(
    targets: &Targets,
    folds: &[usize],
    run: &Run,
    mut of: impl FnMut(&Targets, &Fold<'_>, &Run) -> Result<Matrix>,
) -> Result<Matrix> {
    let mut all = Matrix::filled(folds.len(), targets.n_columns(), f64::NAN);
    let n_folds = n_folds(folds);
    for fold in Fold::all(folds) {
        run.check()?;
        let run = run.part_of(fold.number, n_folds, &format!("fold {} of {n_folds}", fold.number + 1));
        fold.put(&of(&fold.kept(targets)?, &fold, &run)?, &mut all);
    }
    Ok(all)
}
