//! Folds of the labeled rows.

use lapwing_data::{Run, Stream};
use rand::seq::SliceRandom;

pub(crate) const FOLDS: usize = 5;

/// Fold of each labeled row. The shuffled rows of a class are dealt out in turn, so that every fold has its share of each class.
pub(crate) fn folds(classes: &[usize], c: usize, run: &Run) -> Vec<usize> {
    let mut folds = vec![0; classes.len()];
    for class in 0..c {
        let mut members: Vec<usize> = (0..classes.len()).filter(|&at| classes[at] == class).collect();
        members.shuffle(&mut run.rng(Stream::Split, u64::MAX - class as u64));
        members.iter().enumerate().for_each(|(at, &member)| folds[member] = at % FOLDS);
    }
    folds
}
