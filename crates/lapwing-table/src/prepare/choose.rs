//! Whether to scale numbers, by what the labels say.
//!
//! Where the spreads of columns differ, but not by so much that they must be in different units, some tables gain by scaling and others
//! lose. Then each labeled row is given the label of the nearest other labeled row, once with numbers as they are and once with scaled
//! ones. Scaled numbers are taken if they get clearly more labels right: if of the rows that only one way gets right, b are right with
//! scaled numbers and c without, b − c > √(b + c), one deviation of that difference by chance.

/// Pairs of labeled rows, times columns, that are compared at most.
const MOST_DIFFERENCES: usize = 1 << 28;

/// Fewest labeled rows that can tell.
const FEWEST_ROWS: usize = 8;

/// What the labels say about two ways to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub n_rows: usize,
    /// Labels that are right with numbers as they are, and with scaled ones.
    pub n_right_raw: usize,
    pub n_right_scaled: usize,
    /// Whether scaled numbers are clearly better.
    pub scale: bool,
}

/// Compares features (l, d) of labeled rows of both ways; `None` if there are too few.
pub(super) fn compare(raw: &[f64], scaled: &[f64], classes: &[u32]) -> Option<Verdict> {
    let n = classes.len();
    let d = raw.len() / n.max(1);
    if n < FEWEST_ROWS || d == 0 || n.saturating_mul(n).saturating_mul(d) > MOST_DIFFERENCES {
        return None;
    }
    let right = [raw, scaled].map(|features| are_right(features, d, classes));
    let only = |a: usize, b: usize| (0..n).filter(|&row| right[a][row] && !right[b][row]).count() as f64;
    let (gained, lost) = (only(1, 0), only(0, 1));
    let n_right = |way: usize| right[way].iter().filter(|right| **right).count();
    let scale = gained - lost > (gained + lost).sqrt();
    Some(Verdict { n_rows: n, n_right_raw: n_right(0), n_right_scaled: n_right(1), scale })
}

/// The labeled rows that are compared: the first of each class in turn, as many as can be compared.
pub(super) fn chosen_rows(rows: &[u32], classes: &[u32], d: usize) -> Vec<usize> {
    let most = ((MOST_DIFFERENCES / d.max(1)) as f64).sqrt() as usize;
    if rows.len() <= most {
        return (0..rows.len()).collect();
    }
    let n_classes = classes.iter().max().map_or(0, |class| *class as usize + 1);
    let mut ranks = vec![0usize; n_classes];
    let mut ranked: Vec<(usize, usize)> = Vec::with_capacity(rows.len());
    for (at, &class) in classes.iter().enumerate() {
        ranked.push((ranks[class as usize], at));
        ranks[class as usize] += 1;
    }
    ranked.sort_unstable();
    let mut chosen: Vec<usize> = ranked.into_iter().take(most).map(|(_, at)| at).collect();
    chosen.sort_unstable();
    chosen
}

/// Whether the nearest other row of each row is of its class.
fn are_right(features: &[f64], d: usize, classes: &[u32]) -> Vec<bool> {
    let row = |at: usize| &features[at * d..(at + 1) * d];
    let distance = |a: usize, b: usize| row(a).iter().zip(row(b)).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let nearest = |a: usize| {
        let others = (0..classes.len()).filter(|&b| b != a);
        others.map(|b| (distance(a, b), b)).min_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)))
    };
    (0..classes.len()).map(|a| nearest(a).is_some_and(|(_, b)| classes[a] == classes[b])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_tell_which_scale_is_better() {
        // The first column tells the classes apart, the second is loud and does not.
        let classes: Vec<u32> = (0..30).map(|row| row % 2).collect();
        let quiet = |row: usize| (row % 2) as f64 + (row * 7 % 30) as f64 / 100.0;
        let loud = |row: usize| (row * 11 % 30) as f64;
        let raw: Vec<f64> = (0..30).flat_map(|row| [quiet(row), 40.0 * loud(row)]).collect();
        let scaled: Vec<f64> = (0..30).flat_map(|row| [3.0 * quiet(row), loud(row) / 20.0]).collect();
        let verdict = compare(&raw, &scaled, &classes).unwrap();
        assert!(verdict.scale && verdict.n_right_scaled == 30, "{verdict:?}");
        assert!(!compare(&scaled, &raw, &classes).unwrap().scale);
        assert!(!compare(&raw, &raw, &classes).unwrap().scale);
        assert!(compare(&raw[..8], &scaled[..8], &classes[..4]).is_none());
    }

    #[test]
    fn too_many_rows_are_chosen_class_by_class() {
        let rows: Vec<u32> = (0..100_000).collect();
        let classes: Vec<u32> = rows.iter().map(|row| u32::from(*row >= 99_990)).collect();
        let chosen = chosen_rows(&rows, &classes, 10);
        assert!(chosen.len() < 6_000 && chosen.iter().filter(|&&at| classes[at] == 1).count() == 10);
        assert_eq!(chosen_rows(&rows[..50], &classes[..50], 10).len(), 50);
    }
}
