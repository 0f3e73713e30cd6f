//! A single row of a learned graph without symmetry, in closed form.
//!
//! Log-degree: min over w ≥ 0 of θ·wᵀz − log(wᵀ1) + ½‖w‖² (Kalofolias & Perraudin 2019, eq. 8) has wᵢ = max(0, λ − θzᵢ), where
//! kλ² − θ·bₖ·λ − 1 = 0 for the k nearest, whose squared distances sum to bₖ (Theorem 1). l2-degree: with wᵀ1 = 1 in the place
//! of the logarithm, λ = (1 + θ·bₖ)/k, the projection onto the simplex.
//!
//! The solution tells how many neighbors a row keeps at some θ ([`super::sparsity`]), and has the weights of new rows.

use super::LearnModel;
use crate::Metric;

/// Solution for one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleNode {
    /// λ: the weight at squared distance z is max(0, λ − θz).
    pub level: f64,
    /// λ in two parts: the mean cost θz of the active neighbors, and the rest, which is lost in the sum where costs are large.
    parts: (f64, f64),
    /// Neighbors with a positive weight, k.
    pub n_active: usize,
}

/// Algorithm 1: the solution for a row with neighbors at squared distances `squared`, at least one, ascending.
///
/// # Complexity
/// O(k).
///
/// # Example
/// ```
/// use lapwing_graph::learn::{LearnModel, single_node};
///
/// // Far neighbors get nothing; the level is 1 over the sum of the weights.
/// let row = single_node(LearnModel::Log, [1.0, 1.2, 9.0], 1.0);
/// let weights = [row.level - 1.0, row.level - 1.2];
/// assert_eq!(row.n_active, 2);
/// assert!((row.level * (weights[0] + weights[1]) - 1.0).abs() < 1e-12);
/// ```
pub fn single_node(model: LearnModel, squared: impl IntoIterator<Item = f64>, sparsity: f64) -> SingleNode {
    let (mut sum, mut k, mut parts) = (0.0, 0usize, (0.0, f64::INFINITY));
    for z in squared {
        let cost = sparsity * z;
        if k > 0 && parts.1 <= cost - parts.0 {
            break;
        }
        sum += cost;
        k += 1;
        parts = of_active(model, sum, k as f64);
    }
    SingleNode { level: parts.0 + parts.1, parts, n_active: k }
}

/// Weights of a new row to its neighbors among the rows of a learned graph, at plain `distances`, ascending: the row is solved by
/// itself, at the sparsity of the graph.
///
/// # Complexity
/// O(k).
pub fn single_node_weights(model: LearnModel, metric: Metric, distances: &[f32], sparsity: f64) -> Vec<f64> {
    let squared = distances.iter().map(|&d| f64::from(metric.squared(d)));
    let node = single_node(model, squared.clone(), sparsity);
    squared.map(|z| node.weight(sparsity * z)).collect()
}

impl SingleNode {
    /// Weight of a neighbor that costs θz, without the cancellation of λ − θz.
    pub fn weight(&self, cost: f64) -> f64 {
        (self.parts.1 + (self.parts.0 - cost)).max(0.0)
    }
}

/// The level of a row with k active neighbors that cost `sum` together: their mean cost, and the rest.
fn of_active(model: LearnModel, sum: f64, k: f64) -> (f64, f64) {
    let above = match model {
        LearnModel::Log => 2.0 / (sum + (sum * sum + 4.0 * k).sqrt()),
        LearnModel::L2 => 1.0 / k,
    };
    (sum / k, above)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_solution_is_optimal(mut z in prop::collection::vec(0.0..10.0f64, 1..40), theta in 0.01..10.0f64) {
            for model in [LearnModel::Log, LearnModel::L2] {
                z.sort_unstable_by(f64::total_cmp);
                let found = single_node(model, z.iter().copied(), theta);
                let weights: Vec<f64> = z.iter().map(|z| (found.level - theta * z).max(0.0)).collect();
                let degree: f64 = weights.iter().sum();
                let expected = if model == LearnModel::Log { found.level.recip() } else { 1.0 };
                prop_assert!((degree - expected).abs() <= 1e-9 * expected);
                prop_assert_eq!(weights.iter().filter(|w| **w > 0.0).count(), found.n_active);
            }
        }
    }

    #[test]
    fn equal_and_zero_distances_are_rows_like_others() {
        let zeros = single_node(LearnModel::Log, [0.0; 4], 3.0);
        assert_eq!((zeros.n_active, zeros.level), (4, 0.5));
        let far = single_node_weights(LearnModel::Log, Metric::Euclidean, &[1e9, 2e9], 1.0);
        assert!((far[0] * 1e18 - 1.0).abs() < 1e-6 && far[1] == 0.0, "{far:?}");
        let one = single_node(LearnModel::Log, [7.0], 1.0);
        assert!((one.level * (one.level - 7.0) - 1.0).abs() < 1e-12 && one.n_active == 1);
    }
}
