//! Stratified draws of labels to keep, and stratified folds.

use lapwing_core::{Error, Labels, Result, Run, Stream, UNLABELED};
use rand::seq::SliceRandom;

/// Keeps `n_labeled` of the given labels, drawn stratified, and hides the others. Draws with another number `draw` are
/// independent.
///
/// Every class keeps at least one label if `n_labeled` allows; the others are shared in proportion to the class sizes.
///
/// # Errors
/// [`Error::Param`] unless 0 < `n_labeled` < labeled rows; as [`Labels::check`].
pub fn keep_labels(labels: &Labels, n_labeled: usize, draw: u64, run: &Run) -> Result<Labels> {
    let given = labels.n_labeled();
    if n_labeled == 0 || n_labeled >= given {
        return Err(Error::param(
            "labeled",
            n_labeled,
            format!("between 1 and {}, one less than the given labels", given.saturating_sub(1)),
        ));
    }
    let rows = labels.rows_by_class()?;
    let sizes: Vec<usize> = rows.iter().map(Vec::len).collect();
    keep(labels, &shares(&sizes, n_labeled), draw, run)
}

/// Keeps `per_class` labels of every class and hides the others; classes with fewer keep all.
///
/// # Errors
/// [`Error::Param`] if `per_class` is 0; as [`Labels::check`].
pub fn keep_labels_per_class(labels: &Labels, per_class: usize, draw: u64, run: &Run) -> Result<Labels> {
    if per_class == 0 {
        return Err(Error::param("labels per class", 0, "at least 1"));
    }
    keep(labels, &vec![per_class; labels.n_classes()], draw, run)
}

/// Stratified folds: a fold below `n_folds` ≥ 2 for each labeled row, −1 for the others (n). Another number `split` draws others.
pub(crate) fn fold_labels(labels: &Labels, n_folds: usize, split: u64, run: &Run) -> Result<Vec<i32>> {
    let mut folds = vec![-1; labels.len()];
    // The fold number runs on from class to class, so that folds are of equal size even if classes are small.
    let mut next = 0;
    for rows in shuffled_by_class(labels, u64::MAX - split, run)? {
        for row in rows {
            folds[row] = (next % n_folds) as i32;
            next += 1;
        }
    }
    Ok(folds)
}

fn keep(labels: &Labels, counts: &[usize], draw: u64, run: &Run) -> Result<Labels> {
    let mut index = vec![UNLABELED; labels.len()];
    for (class, rows) in shuffled_by_class(labels, draw, run)?.into_iter().enumerate() {
        rows.into_iter().take(counts[class]).for_each(|row| index[row] = class as i32);
    }
    Ok(Labels { classes: labels.classes.clone(), index })
}

fn shuffled_by_class(labels: &Labels, draw: u64, run: &Run) -> Result<Vec<Vec<usize>>> {
    let mut rows = labels.rows_by_class()?;
    for (class, rows) in rows.iter_mut().enumerate() {
        rows.shuffle(&mut run.rng(Stream::Split, draw.wrapping_mul(1 << 20).wrapping_add(class as u64)));
    }
    Ok(rows)
}

/// Splits `total` among classes in proportion to their `sizes`, by the method of largest remainders; a class gets at most its
/// size, and at least 1 if `total` allows.
fn shares(sizes: &[usize], total: usize) -> Vec<usize> {
    let all: usize = sizes.iter().sum();
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&class| sizes[class] > 0).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(sizes[class]));
    let wanted = |class: usize| total as f64 * sizes[class] as f64 / all as f64;
    let mut counts: Vec<usize> = (0..sizes.len()).map(|class| (wanted(class) as usize).min(sizes[class])).collect();
    if total >= order.len() {
        order.iter().for_each(|&class| counts[class] = counts[class].max(1));
    }
    loop {
        let given: usize = counts.iter().sum();
        let missing = |class: &usize| wanted(*class) - counts[*class] as f64;
        let next = if given < total {
            order
                .iter()
                .copied()
                .filter(|&c| counts[c] < sizes[c])
                .max_by(|a, b| missing(a).total_cmp(&missing(b)).then(b.cmp(a)))
        } else if given > total {
            order
                .iter()
                .copied()
                .filter(|&c| counts[c] > 1)
                .min_by(|a, b| missing(a).total_cmp(&missing(b)).then(a.cmp(b)))
        } else {
            None
        };
        match next {
            Some(class) if given < total => counts[class] += 1,
            Some(class) => counts[class] -= 1,
            None => return counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels::from_integers((0..100).map(|i| if i % 10 == 9 { None } else { Some(i64::from(i >= 80)) }))
    }

    #[test]
    fn draws_are_stratified_and_have_the_given_size() {
        let run = Run::new(Some(1), 3).unwrap();
        for n in [1, 2, 7, 50, 89] {
            let kept = keep_labels(&labels(), n, 0, &run).unwrap();
            assert_eq!(kept.n_labeled(), n);
            assert!(n < 2 || kept.rows_by_class().unwrap().iter().all(|rows| !rows.is_empty()));
            assert!(kept.index.iter().zip(&labels().index).all(|(k, g)| k == g || *k == UNLABELED));
        }
        assert_ne!(keep_labels(&labels(), 7, 0, &run).unwrap(), keep_labels(&labels(), 7, 1, &run).unwrap());
        assert!(keep_labels(&labels(), 90, 0, &run).is_err());
        let per_class = keep_labels_per_class(&labels(), 5, 0, &run).unwrap();
        assert!(per_class.rows_by_class().unwrap().iter().all(|rows| rows.len() == 5));
    }

    #[test]
    fn folds_are_even_and_stratified() {
        let run = Run::new(Some(1), 3).unwrap();
        let folds = fold_labels(&labels(), 5, 0, &run).unwrap();
        for fold in 0..5 {
            let members: Vec<usize> = (0..100).filter(|&row| folds[row] == fold).collect();
            assert_eq!(members.len(), 18);
            let minor = members.iter().filter(|&&row| row >= 80).count();
            assert!((3..=4).contains(&minor));
        }
    }
}
