//! Draws of labels to keep, and folds of labels to hide.

use lapwing_core::{Error, Labels, Result, Run, UNLABELED};

use crate::Labeling;
use crate::core::counts::counted;
use crate::core::held_out::folds::FOLDS;
use crate::core::metrics::accuracy;
use crate::core::split::{fold_labels, keep_labels, keep_labels_per_class};

/// Labels of a class to keep, if nothing else is asked for.
const LADDER: [usize; 3] = [1, 5, 20];
/// Draws of labels, and splits into folds, if nothing else is asked for: about as many runs with five folds as with three numbers
/// of labels.
const DRAWS: usize = 5;
const SPLITS: usize = 3;

/// Which labels a draw keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// That many in all, drawn stratified: at least one of each class where the number allows.
    Total(usize),
    /// That many of each class; classes with fewer keep all.
    PerClass(usize),
    /// All but one of that many stratified folds, which are hidden in turn; a class with a single label keeps it.
    Folds(usize),
}

impl Keep {
    /// What suits the labels. If at least half of the rows have one: 1, 5 and 20 labels a class, as far as these are at most half
    /// of the labels. If fewer rows have a label, or classes have too few for two of these numbers: five folds, or as many as
    /// there are labels to hide.
    ///
    /// # Errors
    /// [`Error::Labels`] if no class has two labels; as [`Labels::check`].
    pub fn suited(labels: &Labels) -> Result<Vec<Self>> {
        let sizes: Vec<usize> = labels.rows_by_class()?.iter().map(Vec::len).collect();
        let n_labeled: usize = sizes.iter().sum();
        let kept = |per_class: usize| sizes.iter().map(|&size| size.min(per_class)).sum::<usize>();
        let ladder: Vec<Self> =
            LADDER.iter().filter(|&&rung| 2 * kept(rung) <= n_labeled).map(|&rung| Self::PerClass(rung)).collect();
        if 2 * n_labeled >= labels.len() && ladder.len() >= 2 {
            return Ok(ladder);
        }
        Ok(vec![Self::Folds(FOLDS.min(n_hideable(&sizes)?))])
    }

    /// The number of folds, if labels are split.
    pub(super) fn n_folds(self) -> Option<usize> {
        if let Self::Folds(n_folds) = self { Some(n_folds) } else { None }
    }

    /// Draws, or splits into folds.
    fn repeats(self, wanted: Option<usize>) -> usize {
        wanted.unwrap_or(if self.n_folds().is_some() { SPLITS } else { DRAWS })
    }

    /// Runs of a method: one for each draw, or for each fold of each split.
    pub(super) fn n_runs(self, repeats: Option<usize>) -> usize {
        self.repeats(repeats).saturating_mul(self.n_folds().unwrap_or(1))
    }
}

/// Labels of classes that have at least two.
fn n_hideable(sizes: &[usize]) -> Result<usize> {
    match sizes.iter().filter(|&&size| size > 1).sum() {
        0 => Err(Error::labels("no class has two labels, so none can be hidden to measure a method: give more labels")),
        n => Ok(n),
    }
}

/// One number of labels, and its draws.
pub(super) struct Level {
    pub keep: Keep,
    pub draws: Vec<Labels>,
    pub n_labeled: usize,
    pub labels_per_class: f64,
    /// Hidden labels of the first draw.
    pub n_hidden: usize,
    /// Labels that no fold hides, because they are the only ones of their class.
    pub n_single: usize,
}

impl Level {
    pub(super) fn new(keep: Keep, repeats: Option<usize>, labels: &Labels, run: &Run) -> Result<Self> {
        let sizes: Vec<usize> = labels.rows_by_class()?.iter().map(Vec::len).collect();
        let repeats = keep.repeats(repeats) as u64;
        let (draws, n_single) = match keep {
            Keep::Total(n) => ((0..repeats).map(|draw| keep_labels(labels, n, draw, run)).collect::<Result<_>>()?, 0),
            Keep::PerClass(n) => {
                let most = sizes.iter().copied().max().unwrap_or(0);
                if n == 0 || n >= most {
                    let expected = format!("between 1 and {}, one less than the largest class has", most.max(1) - 1);
                    return Err(Error::param("per_class", n, expected));
                }
                ((0..repeats).map(|draw| keep_labels_per_class(labels, n, draw, run)).collect::<Result<_>>()?, 0)
            }
            Keep::Folds(n) => {
                let single = sizes.iter().filter(|&&size| size == 1).count();
                (folds(labels, n, &sizes, repeats, run)?, single)
            }
        };
        Ok(Self::from_draws(keep, draws, &sizes, n_single))
    }

    fn from_draws(keep: Keep, draws: Vec<Labels>, sizes: &[usize], n_single: usize) -> Self {
        let kept: usize = draws.iter().map(Labels::n_labeled).sum();
        let mean = kept as f64 / draws.len().max(1) as f64;
        let n_classes = sizes.iter().filter(|&&size| size > 0).count().max(1);
        let labels_per_class = match keep {
            Keep::PerClass(n) => n as f64,
            _ => mean / n_classes as f64,
        };
        let n_hidden = sizes.iter().sum::<usize>() - draws.first().map_or(0, Labels::n_labeled);
        Self { keep, draws, n_labeled: mean.round() as usize, labels_per_class, n_hidden, n_single }
    }
}

/// The labels without one fold, for each fold of each split.
fn folds(labels: &Labels, n_folds: usize, sizes: &[usize], repeats: u64, run: &Run) -> Result<Vec<Labels>> {
    let most = n_hideable(sizes)?;
    if n_folds < 2 || n_folds > most {
        let expected = format!("between 2 and {most}, the number of labels that can be hidden");
        return Err(Error::param("folds", n_folds, expected));
    }
    let mut hideable = labels.clone();
    hideable.index.iter_mut().filter(|class| **class != UNLABELED && sizes[**class as usize] == 1).for_each(|class| {
        *class = UNLABELED;
    });
    let mut draws = Vec::new();
    for split in 0..repeats {
        let fold_of = fold_labels(&hideable, n_folds, split, run)?;
        for fold in 0..n_folds as i32 {
            let mut kept = labels.clone();
            kept.index.iter_mut().zip(&fold_of).filter(|(_, own)| **own == fold).for_each(|(class, _)| {
                *class = UNLABELED;
            });
            draws.push(kept);
        }
    }
    Ok(draws)
}

/// Accuracy of a labeling on the hidden labels, of which those that it does not reach are wrong, and the share of these.
pub(super) fn found(labels: &Labels, kept: &Labels, labeling: &Labeling) -> (f64, f64) {
    let is_hidden = |row: usize| kept.index[row] != labels.index[row];
    let classes = labeling.labels.iter().zip(&labeling.reached);
    let predicted: Vec<u32> = classes.map(|(&class, reached)| if *reached { class } else { u32::MAX }).collect();
    let missed = (0..labels.len()).filter(|&row| is_hidden(row) && !labeling.reached[row]).count();
    let n_hidden = labels.n_labeled() - kept.n_labeled();
    (accuracy(&labels.index, &predicted, is_hidden), missed as f64 / n_hidden as f64)
}

/// Accuracy on the hidden labels of the most frequent class of all labels, the first of them if several tie.
pub(super) fn majority_accuracy(labels: &Labels, kept: &Labels) -> f64 {
    let classes = labels.index.iter().filter(|class| **class != UNLABELED).map(|class| *class as usize);
    let sizes = counted(classes, labels.n_classes());
    let majority = (0..sizes.len()).rev().max_by_key(|&class| sizes[class]).unwrap_or_default();
    accuracy(&labels.index, &vec![majority as u32; labels.len()], |row| kept.index[row] != labels.index[row])
}
