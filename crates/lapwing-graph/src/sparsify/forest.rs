//! A spanning forest of largest weight: filter-Kruskal (Osipov, Sanders & Singler 2009).
//!
//! The heaviest edges are sorted and joined. Of the other edges, those within one component are dropped unsorted, and so on.
//! Edges of equal weight are taken in random order: then a few edges for each node join nearly all of a dense graph, whereas in
//! the order of their ends they would join its first nodes only. Weights are compared in single precision.
//!
//! Cost: O(m + n·log n) on graphs whose heaviest edges reach most nodes, O(m·log m) at worst; 8 bytes an edge at most. The
//! passes over edges and the sort are parallel, the joins are serial.

use lapwing_core::hash::mix;
use lapwing_core::parallel::*;
use lapwing_solve::DisjointSets;
use rayon::slice::ParallelSliceMut;

/// Edges of one step, for each node.
const STEP: usize = 4;
/// Edges of the sample from which the last rank of a step is estimated.
const SAMPLE: usize = 1 << 14;

/// Marks a spanning forest of largest weight among `m` edges of `n` nodes; `edge` returns the ends and the weight of each.
pub(super) fn max_spanning_forest(n: usize, m: usize, edge: impl Fn(usize) -> (u32, u32, f64) + Sync) -> Vec<bool> {
    let mut sets = DisjointSets::new(n);
    let mut is_chosen = vec![false; m];
    // The heaviest edges have the smallest ranks; edges of equal weight have random ones.
    let rank = |at: usize| {
        let weight = !(edge(at).2 as f32).to_bits();
        (u64::from(weight) << 32) | (mix(at as u64) >> 32)
    };
    let mut left: Option<Vec<u32>> = None;
    loop {
        let count = left.as_ref().map_or(m, Vec::len);
        let at = |place: usize| left.as_ref().map_or(place, |left| left[place] as usize);
        if count == 0 {
            return is_chosen;
        }
        let last = last_rank(count, (STEP * n).max(count / 8), |place| rank(at(place)));
        let places = (0..count).into_par_iter().with_min_len(1 << 14);
        let mut heavy: Vec<(u64, u32)> =
            places.clone().map(|place| (rank(at(place)), at(place) as u32)).filter(|e| e.0 <= last).collect();
        heavy.par_sort_unstable();
        for &(_, at) in &heavy {
            let (u, v, _) = edge(at as usize);
            is_chosen[at as usize] = sets.join(u, v);
        }
        drop(heavy);
        let set: Vec<u32> = (0..n as u32).map(|node| sets.root(node)).collect();
        let is_open = |at: &u32| {
            let (u, v, _) = edge(*at as usize);
            set[u as usize] != set[v as usize]
        };
        left = Some(places.map(|place| at(place) as u32).filter(|at| is_open(at)).collect());
    }
}

/// A rank that about `wanted` of the `count` edges do not exceed.
fn last_rank(count: usize, wanted: usize, rank: impl Fn(usize) -> u64) -> u64 {
    if wanted >= count {
        return u64::MAX;
    }
    let step = (count / SAMPLE).max(1);
    let mut sample: Vec<u64> = (0..count).step_by(step).map(rank).collect();
    let place = (sample.len() as f64 * wanted as f64 / count as f64) as usize;
    let place = place.min(sample.len() - 1);
    *sample.select_nth_unstable(place).1
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Run, Stream};
    use rand::RngExt;

    use super::*;

    /// By sorting everything.
    fn kruskal(n: usize, edges: &[(u32, u32, f64)]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..edges.len()).collect();
        order.sort_by(|&a, &b| {
            edges[b].2.total_cmp(&edges[a].2).then((mix(a as u64) >> 32).cmp(&(mix(b as u64) >> 32)))
        });
        let mut sets = DisjointSets::new(n);
        let mut chosen = vec![false; edges.len()];
        order.into_iter().for_each(|at| chosen[at] = sets.join(edges[at].0, edges[at].1));
        chosen
    }

    #[test]
    fn forests_are_those_of_kruskal() {
        let mut rng = Run::new(Some(1), 5).unwrap().rng(Stream::Synthetic, 0);
        for (n, m, levels) in [(1, 0, 1), (10, 60, 3), (40, 2000, 5), (300, 2000, 1000), (50, 30, 1)] {
            let edges: Vec<(u32, u32, f64)> = (0..m)
                .map(|_| {
                    let (u, v) = (rng.random_range(0..n as u32), rng.random_range(0..n as u32));
                    (u, v, f64::from(rng.random_range(1..=levels)))
                })
                .collect();
            assert_eq!(max_spanning_forest(n, m, |at| edges[at]), kruskal(n, &edges), "{n} {m}");
        }
    }
}
