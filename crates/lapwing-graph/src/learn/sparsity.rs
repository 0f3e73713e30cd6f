//! The sparsity θ of a learned graph, from the requested number of neighbors.
//!
//! Without symmetry, a row with squared distances z₁ ≤ z₂ ≤ … keeps exactly k neighbors for θ in [1/g(k + 1), 1/g(k)), where with
//! s(j) = Σ_{i≤k} (zⱼ − zᵢ) the log-degree model has g(j) = √(zⱼ·s(j)) (Kalofolias & Perraudin 2019, Theorem 2, without its
//! cancellation) and the l2-degree model g(j) = s(j) (the adaptive neighbors of Nie, Wang & Huang 2014). The ends of the interval of the graph are the
//! means over all rows (eq. 17), and θ is its geometric middle; for k = 1, where the upper end is infinite, 1.1 times the lower end.
//!
//! A row with ties has an infinite end: it is left out and counted. Rows that nearly coincide have ends so large that they
//! dominate the mean. Where at that θ single rows would keep less than half of k neighbors on average (not counting the first,
//! which they always keep), the geometric mean is used instead. Cost: O(n·k), parallel, in blocks of rows that are added in order.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run};
use serde::Serialize;

use super::single_node::single_node;
use super::support::{NeighborTable, SquaredDistance};
use super::{LearnModel, SparsityMean};

/// Rows of one unit of work.
const BLOCK: usize = 4096;
/// θ over the lower end where there is no upper end.
const BEYOND: f64 = 1.1;

/// A sparsity chosen from distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sparsity {
    /// θ.
    pub value: f64,
    /// Interval of θ for the requested number of neighbors; the upper end is infinite for one neighbor.
    pub bounds: (f64, f64),
    /// Mean by which the ends of the rows were averaged.
    pub mean: SparsityMean,
    /// Rows left out because of ties among their nearest neighbors.
    pub n_tied_rows: usize,
}

/// θ for `n_neighbors` of each row, by the geometric mean where a few rows dominate the arithmetic one.
pub(super) fn choose<R: SquaredDistance>(
    model: LearnModel,
    table: &NeighborTable<R>,
    n_neighbors: usize,
    run: &Run,
) -> Result<Sparsity> {
    let arithmetic = sparsity_for(model, table, n_neighbors, SparsityMean::Arithmetic, run)?;
    // Every row keeps one neighbor at any θ.
    let beyond_one = mean_active(model, table, arithmetic.value, run) - 1.0;
    if 2.0 * beyond_one >= n_neighbors as f64 - 1.0 {
        return Ok(arithmetic);
    }
    sparsity_for(model, table, n_neighbors, SparsityMean::Geometric, run)
}

/// θ for `n_neighbors` of each row, from a table of more neighbors.
///
/// # Errors
/// [`Error::Param`] unless 1 ≤ `n_neighbors` < K; [`Error::Graph`] where every row has ties.
///
/// # Complexity
/// O(n·k).
pub(super) fn sparsity_for<R: SquaredDistance>(
    model: LearnModel,
    table: &NeighborTable<R>,
    n_neighbors: usize,
    mean: SparsityMean,
    run: &Run,
) -> Result<Sparsity> {
    table.check_sizes()?;
    if n_neighbors == 0 || n_neighbors >= table.n_neighbors {
        let expected = format!("at least 1 and below the {} nearest that are known of each row", table.n_neighbors);
        return Err(Error::param("n_neighbors", n_neighbors, expected));
    }
    run.check()?;
    let sums = sum_rows(table.n_samples(), run, |row| {
        let (lower, upper) = ends(model, table.distances(row), n_neighbors);
        let term = |end: f64| match mean {
            SparsityMean::Arithmetic => end,
            SparsityMean::Geometric => end.ln(),
        };
        let is_usable = |end: f64| end.is_finite() && end > 0.0;
        // Both ends of a row, or the lower one where no row has an upper one.
        match (is_usable(lower), is_usable(upper)) {
            (true, true) => [term(lower), term(upper), 1.0, term(lower), 1.0],
            (true, false) => [0.0, 0.0, 0.0, term(lower), 1.0],
            (false, _) => [0.0; 5],
        }
    });
    let average = |sum: f64, count: f64| match mean {
        _ if count == 0.0 => f64::INFINITY,
        SparsityMean::Arithmetic => sum / count,
        SparsityMean::Geometric => (sum / count).exp(),
    };
    let (bounds, n_used) = if sums[2] > 0.0 {
        ((average(sums[0], sums[2]), average(sums[1], sums[2])), sums[2])
    } else {
        ((average(sums[3], sums[4]), f64::INFINITY), sums[4])
    };
    if !bounds.0.is_finite() || bounds.0 == 0.0 {
        let reason = format!(
            "no row has {} neighbors that are not all equally far away, so that no sparsity follows from the number of \
             neighbors; remove duplicate rows, ask for other neighbors, or give the sparsity",
            n_neighbors + 1
        );
        return Err(Error::graph(reason));
    }
    let value = if bounds.1.is_finite() { (bounds.0 * bounds.1).sqrt() } else { BEYOND * bounds.0 };
    Ok(Sparsity { value, bounds, mean, n_tied_rows: table.n_samples() - n_used as usize })
}

/// Ends of the interval of a row.
fn ends<R: SquaredDistance>(model: LearnModel, squared: &[R], k: usize) -> (f64, f64) {
    let nearest = &squared[..k];
    let end = |z: f64| {
        let sum: f64 = nearest.iter().map(|&near| z - near.into()).sum();
        match model {
            LearnModel::Log => 1.0 / (z.sqrt() * sum.sqrt()),
            LearnModel::L2 => 1.0 / sum,
        }
    };
    (end(squared[k].into()), end(squared[k - 1].into()))
}

/// Mean number of neighbors that rows keep at a sparsity, each solved by itself.
fn mean_active<R: SquaredDistance>(model: LearnModel, table: &NeighborTable<R>, sparsity: f64, run: &Run) -> f64 {
    let n = table.n_samples();
    let active = |row| single_node(model, table.distances(row).iter().map(|&z| z.into()), sparsity).n_active;
    sum_rows(n, run, |row| [active(row) as f64])[0] / n as f64
}

/// Sums over all rows, block by block.
fn sum_rows<const S: usize>(n: usize, run: &Run, of_row: impl Fn(usize) -> [f64; S] + Sync) -> [f64; S] {
    let add = |mut sums: [f64; S], terms: [f64; S]| {
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        sums
    };
    let block = |block: usize| (block * BLOCK..((block + 1) * BLOCK).min(n)).map(&of_row).fold([0.0; S], add);
    let blocks: Vec<[f64; S]> = run.install(|| (0..n.div_ceil(BLOCK)).into_par_iter().map(block).collect());
    blocks.into_iter().fold([0.0; S], add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run::new(Some(2), 0).unwrap()
    }

    fn table(rows: &[&[f64]]) -> NeighborTable<f64> {
        let k = rows[0].len();
        NeighborTable { n_neighbors: k, indices: vec![0; rows.len() * k], squared: rows.concat() }
    }

    #[test]
    fn within_its_interval_a_row_keeps_as_many_as_were_asked_for() {
        let z = [0.3, 0.5, 0.5, 1.1, 2.0, 2.5, 7.0];
        for model in [LearnModel::Log, LearnModel::L2] {
            for k in [1, 3, 4, 5, 6] {
                let Sparsity { value, bounds, .. } =
                    sparsity_for(model, &table(&[&z]), k, SparsityMean::Arithmetic, &run()).unwrap();
                assert!(bounds.0 < value && value < bounds.1);
                let kept = |theta| single_node(model, z, theta).n_active;
                assert_eq!([bounds.0 * 1.0001, value, (bounds.1 * 0.9999).min(1e9)].map(kept), [k; 3], "{model:?} {k}");
                assert!(kept(bounds.0 * 0.9999) > k);
            }
        }
    }

    #[test]
    fn rows_with_ties_are_left_out_and_counted() {
        let (plain, tied): (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[2.0, 2.0, 2.0, 5.0]);
        let of = |rows: &[&[f64]]| sparsity_for(LearnModel::Log, &table(rows), 2, SparsityMean::Arithmetic, &run());
        let alone = of(&[plain]).unwrap();
        let both = of(&[plain, tied]).unwrap();
        assert_eq!((both.bounds, both.n_tied_rows), (alone.bounds, 1));
        let text = of(&[tied, tied]).unwrap_err().to_string();
        assert!(text.contains("no row has 3 neighbors that are not all equally far away"), "{text}");
        let text = sparsity_for(LearnModel::Log, &table(&[plain]), 4, SparsityMean::Geometric, &run()).unwrap_err();
        assert!(text.to_string().contains("n_neighbors is 4; expected at least 1 and below the 4"));
    }

    #[test]
    fn a_few_rows_that_nearly_coincide_do_not_decide() {
        let plain: &[f64] = &[1.0, 2.0, 3.0, 4.0];
        let near: &[f64] = &[1e-12, 2e-12, 3e-12, 4.0];
        let mut rows = vec![plain; 99];
        let alone = choose(LearnModel::Log, &table(&rows), 2, &run()).unwrap();
        assert_eq!(alone.mean, SparsityMean::Arithmetic);
        rows.push(near);
        let with = choose(LearnModel::Log, &table(&rows), 2, &run()).unwrap();
        assert_eq!(with.mean, SparsityMean::Geometric);
        assert!(with.value / alone.value < 1.5);
    }
}
