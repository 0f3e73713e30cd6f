//! Folds of the labeled rows.

use lapwing_core::{Run, Stream};
use rand::seq::SliceRandom;

pub(crate) const FOLDS: usize = 5;

/// Fold of each labeled row. The shuffled rows of a class are dealt out in turn, so that every fold has its share of each class.
pub(crate) fn folds(classes: &[usize], c: usize, run: &Run) -> Vec<usize> {
    let (mut folds, mut of_class) = (vec![0; classes.len()], vec![Vec::new(); c]);
    classes.iter().enumerate().for_each(|(at, &class)| of_class[class].push(at));
    for (class, mut members) in of_class.into_iter().enumerate() {
        members.shuffle(&mut run.rng(Stream::Split, u64::MAX - class as u64));
        members.iter().enumerate().for_each(|(at, &member)| folds[member] = at % FOLDS);
    }
    folds
}
