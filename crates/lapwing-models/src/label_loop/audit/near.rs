//! Duplicates and outliers, from the distances of the rows to their neighbors in the graph.
//!
//! Two rows are duplicates if their distance is 0, or below a share of the median positive distance of one of them to its other
//! neighbors, the [`NEAREST`] nearest. Groups are the components of these pairs. A single threshold for all rows finds few duplicates in
//! sparse regions and many false ones in dense regions.
//!
//! In d dimensions, chance neighbors are within the share s of the median with a probability of some 8·sᵈ. So s is at most
//! [`BY_CHANCE`]^(1/d), with the intrinsic dimension d by maximum likelihood from the same distances (Levina & Bickel 2005): .3 stands from ten
//! dimensions on, and in two dimensions only rows that are all but equal count. The likelihood takes of the nearer half only that it is
//! nearer, so that duplicates, however many rows have some, do not count as a low dimension.
//!
//! The outlier percentile ranks rows by their mean distance to their neighbors. It is weak where strangers come in groups.

use lapwing_core::parallel::*;
use lapwing_core::{Features, Result, Run, Targets};
use lapwing_graph::{Graph, Metric, edge_distances, equal_rows};
use lapwing_solve::DisjointSets;

use crate::core::counts::label_classes;
use crate::core::ranks::median;

/// Neighbors of a row that are compared.
const NEAREST: usize = 15;
/// How often chance neighbors may be as near as duplicates, up to a factor.
const BY_CHANCE: f64 = 1e-5;

pub(super) struct Near {
    /// Group of each row (n), numbered by its first row.
    pub group: Vec<Option<u32>>,
    /// Percentile of the mean distance to the neighbors (n); 100 for rows without neighbors.
    pub percentile: Vec<f64>,
}

impl Near {
    pub fn find(graph: &Graph, features: &Features<'_>, metric: Metric, share: f64, run: &Run) -> Result<Self> {
        let (n, adjacency) = (graph.n_samples(), graph.adjacency());
        let distances = edge_distances(features, graph, metric, run)?;
        let nearest = |row: usize| {
            let (columns, _) = adjacency.row(row);
            let own = &distances[adjacency.indptr()[row] as usize..][..columns.len()];
            let mut near: Vec<(f32, u32)> = own.iter().copied().zip(columns.iter().copied()).collect();
            near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(NEAREST);
            near
        };
        let dimensions: Vec<f64> = run
            .install(|| (0..n).into_par_iter().with_min_len(256).filter_map(|row| dimension(&nearest(row))).collect());
        let share = share.min(BY_CHANCE.powf(1.0 / median(dimensions).unwrap_or(1.0)));
        let look = |row: usize| {
            let near = nearest(row);
            let sum = near.iter().map(|(d, _)| f64::from(*d)).sum::<f64>();
            let mean = if near.is_empty() { f64::INFINITY } else { sum / near.len() as f64 };
            let alike: Vec<u32> =
                (0..near.len()).filter(|&at| is_alike(&near, at, share)).map(|at| near[at].1).collect();
            (mean, alike)
        };
        let found: Vec<(f64, Vec<u32>)> = run.install(|| (0..n).into_par_iter().with_min_len(256).map(look).collect());
        let mut sets = DisjointSets::new(n);
        for (row, (_, alike)) in found.iter().enumerate() {
            alike.iter().for_each(|&other| {
                sets.join(row as u32, other);
            });
        }
        let equal = equal_rows(features, run);
        let mut first = std::collections::HashMap::new();
        for (row, group) in equal {
            let first = *first.entry(group).or_insert(row);
            sets.join(first, row);
        }
        let means: Vec<f64> = found.into_iter().map(|(mean, _)| mean).collect();
        Ok(Self { group: numbered(&mut sets, n), percentile: percentiles(&means) })
    }

    /// Whether another row of the group has another label (n).
    pub fn contradicts(&self, targets: &Targets) -> Vec<bool> {
        let n_groups = self.group.iter().flatten().max().map_or(0, |most| *most as usize + 1);
        let (mut class, mut is_mixed) = (vec![None; n_groups], vec![false; n_groups]);
        for (&row, label) in targets.rows().iter().zip(label_classes(targets)) {
            if let Some(group) = self.group[row as usize] {
                let group = group as usize;
                is_mixed[group] |= class[group].is_some_and(|known| known != label);
                class[group] = Some(label);
            }
        }
        let mut found = vec![false; self.group.len()];
        for &row in targets.rows() {
            found[row as usize] = self.group[row as usize].is_some_and(|group| is_mixed[group as usize]);
        }
        found
    }
}

/// Estimate of the intrinsic dimension from the positive distances of a row, ascending; `None` for fewer than three different ones.
/// The nearer half of them, which duplicates make too small, counts as within the distance of the next one (a censored sample).
fn dimension(near: &[(f32, u32)]) -> Option<f64> {
    let positive: Vec<f64> = near.iter().map(|(d, _)| f64::from(*d)).filter(|d| *d > 0.0).collect();
    let (last, others) = positive.split_last()?;
    let n_censored = others.len() / 2;
    let kept = &others[n_censored..];
    let sum: f64 = kept.iter().map(|d| (last / d).ln()).sum::<f64>();
    let sum = sum + n_censored as f64 * (last / kept.first()?).ln();
    (others.len() > 1 && sum > 0.0).then(|| kept.len() as f64 / sum)
}

/// Whether neighbor `at`, of those sorted by distance, is a duplicate.
fn is_alike(near: &[(f32, u32)], at: usize, share: f64) -> bool {
    let own = near[at].0;
    if own == 0.0 {
        return true;
    }
    let first = near.partition_point(|(d, _)| *d <= 0.0);
    // The median of the positive distances without this one.
    let n_others = near.len() - first - 1;
    if n_others == 0 {
        return false;
    }
    let place = first + n_others / 2;
    let median = near[if place >= at { place + 1 } else { place }].0;
    f64::from(own) < share * f64::from(median)
}

/// Groups of at least two rows, numbered by their first row.
fn numbered(sets: &mut DisjointSets, n: usize) -> Vec<Option<u32>> {
    let roots: Vec<u32> = (0..n as u32).map(|row| sets.root(row)).collect();
    let mut sizes = vec![0usize; n];
    roots.iter().for_each(|&root| sizes[root as usize] += 1);
    let (mut number, mut next) = (vec![None; n], 0);
    let of = |&root: &u32| {
        let root = root as usize;
        if sizes[root] > 1 && number[root].is_none() {
            number[root] = Some(next);
            next += 1;
        }
        number[root]
    };
    roots.iter().map(of).collect()
}

/// Mean rank of each value among those equal to it, in percent of their number (n): the largest has 100, if no other is as large, and
/// equal ones about 50. 100 for infinite values.
fn percentiles(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = values.len().max(1) as f64;
    let rank = |value: f64| {
        let (less, most) =
            (sorted.partition_point(|other| *other < value), sorted.partition_point(|other| *other <= value));
        if value.is_infinite() { n } else { (less + most + 1) as f64 / 2.0 }
    };
    values.iter().map(|value| 100.0 * rank(*value) / n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_mean_rank() {
        assert_eq!(percentiles(&[3.0, 1.0, 2.0, 4.0]), [75.0, 25.0, 50.0, 100.0]);
        assert_eq!(percentiles(&[1.0; 4]), [62.5; 4]);
        assert_eq!(percentiles(&[f64::INFINITY, 1.0, f64::INFINITY]), [100.0, 100.0 / 3.0, 100.0]);
    }
}
