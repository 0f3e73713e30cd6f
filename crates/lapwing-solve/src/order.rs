//! An order of the vertices in which neighbors lie close together, cut into clusters that fit a core's cache.
//!
//! Clusters are grown breadth first, each from a neighbor of earlier ones, so that consecutive clusters touch. Small clusters in
//! the remaining gaps are joined. Cost: one serial pass over the edges, O(n + m).

use std::collections::VecDeque;

use lapwing_core::{Result, Run};

/// Vertices in clusters, cluster after cluster.
pub(crate) struct Clusters {
    /// Vertices in the new order (n).
    pub order: Vec<u32>,
    /// Where each cluster begins, and n.
    pub starts: Vec<usize>,
}

/// Clusters of at most `size` of `n` vertices; `neighbors(v)` are the ends of the edges at v.
pub(crate) fn clusters<'a>(
    n: usize,
    size: usize,
    neighbors: impl Fn(usize) -> &'a [u32],
    run: &Run,
) -> Result<Clusters> {
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut is_placed = vec![false; n];
    let (mut seeds, mut next, mut pieces) = (VecDeque::new(), 0, vec![0]);
    while order.len() < n {
        run.check()?;
        let seed = loop {
            match seeds.pop_front() {
                Some(seed) if is_placed[seed as usize] => {}
                Some(seed) => break seed,
                None => {
                    while is_placed[next] {
                        next += 1;
                    }
                    break next as u32;
                }
            }
        };
        let start = order.len();
        is_placed[seed as usize] = true;
        order.push(seed);
        let mut read = start;
        while read < order.len() && order.len() - start < size {
            for &v in neighbors(order[read] as usize) {
                if !is_placed[v as usize] && order.len() - start < size {
                    is_placed[v as usize] = true;
                    order.push(v);
                }
            }
            read += 1;
        }
        // The next clusters begin at the rim, the vertices with neighbors that were not reached.
        for &v in &order[read.saturating_sub(1).max(start)..] {
            seeds.extend(neighbors(v as usize).iter().filter(|&&u| !is_placed[u as usize]).take(2));
        }
        pieces.push(order.len());
    }
    Ok(Clusters { starts: joined(&pieces, size), order })
}

/// Joins consecutive pieces up to `size` vertices.
fn joined(pieces: &[usize], size: usize) -> Vec<usize> {
    let mut starts = vec![0];
    for pair in pieces.windows(2) {
        if pair[1] - starts[starts.len() - 1] > size {
            starts.push(pair[0]);
        }
    }
    match pieces.last() {
        Some(&n) if n > 0 => starts.push(n),
        _ => {}
    }
    starts
}

#[cfg(test)]
mod tests {
    use lapwing_core::{CancelToken, Error};

    use super::*;

    #[test]
    fn a_stop_is_noticed() {
        let stop = CancelToken::default();
        stop.cancel();
        let run = Run::new(Some(1), 0).unwrap().with_cancel(stop);
        assert!(matches!(clusters(3, 2, |_| &[], &run), Err(Error::Interrupted)));
    }

    #[test]
    fn every_vertex_has_one_place_and_clusters_keep_their_size() {
        // A ring of 1000, a chord every 50, and 30 isolated vertices.
        let n = 1030;
        let lists: Vec<Vec<u32>> = (0..n as u32)
            .map(|v| match v {
                1000.. => Vec::new(),
                v if v % 50 == 0 => vec![(v + 1) % 1000, (v + 999) % 1000, (v + 500) % 1000],
                v => vec![(v + 1) % 1000, (v + 999) % 1000],
            })
            .collect();
        let run = Run::new(Some(1), 0).unwrap();
        let clusters = clusters(n, 100, |v| &lists[v], &run).unwrap();
        let mut sorted = clusters.order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &v)| at == v as usize));
        assert_eq!((clusters.starts[0], *clusters.starts.last().unwrap()), (0, n));
        assert!(clusters.starts.windows(2).all(|pair| pair[1] > pair[0] && pair[1] - pair[0] <= 100));
        assert!(clusters.starts.len() < 25);
    }
}
