//! The support of a learned graph: the pairs of rows that may carry weight, with their squared distances.
//!
//! Full: all pairs. Restricted: i and j are a pair if either is among the K nearest of the other (Kalofolias & Perraudin
//! 2019, section 3). A pair at distance 0 is a pair like any other. Every pair is stored in both of its rows: one thread sums a
//! row, in the order of columns. Cost: O(n·K) time; 8 bytes an entry in single precision, two entries a pair, and about 32 bytes
//! for each neighbor of the table while the support is made.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run};

use crate::Metric;
use crate::knn::{Neighbors, check_lists};
use crate::relation::{Incoming, assemble, merge, sort_by_row};

/// A stored squared distance; sums are in f64.
pub trait SquaredDistance: Copy + Default + PartialOrd + Into<f64> + Send + Sync + 'static {
    /// From the squared distance of a search, which is in single precision.
    fn from_f32(z: f32) -> Self;
}

impl SquaredDistance for f32 {
    fn from_f32(z: f32) -> Self {
        z
    }
}

impl SquaredDistance for f64 {
    fn from_f32(z: f32) -> Self {
        z.into()
    }
}

/// The nearest neighbors of each row with their **squared** distances, nearest first.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighborTable<R> {
    /// Neighbors of each row, K.
    pub n_neighbors: usize,
    /// Row numbers (n, K), never the row itself.
    pub indices: Vec<u32>,
    /// Squared distances (n, K), ascending in each row, at least 0.
    pub squared: Vec<R>,
}

impl NeighborTable<f32> {
    /// From the neighbors of a search: ‖x − y‖², or 2·(1 − cos), which is ‖x/‖x‖ − y/‖y‖‖².
    ///
    /// # Errors
    /// [`Error::Param`] for inner products, which are not distances.
    ///
    /// # Complexity
    /// O(n·K), in place.
    pub(crate) fn from_neighbors(neighbors: Neighbors, metric: Metric, run: &Run) -> Result<Self> {
        let Neighbors { n_neighbors, indices, distances: mut squared } = neighbors;
        if !metric.is_distance() {
            return Err(Error::param("metric", "inner-product", "a distance: a graph is learned from distances"));
        }
        run.install(|| {
            squared.par_chunks_mut(1 << 16).for_each(|part| part.iter_mut().for_each(|d| *d = metric.squared(*d)))
        });
        match squared.iter().position(|z| !z.is_finite()) {
            None => Ok(Self { n_neighbors, indices, squared }),
            Some(at) => Err(crate::knn::overflow(at / n_neighbors)),
        }
    }
}

impl<R: SquaredDistance> NeighborTable<R> {
    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.indices.len() / self.n_neighbors.max(1)
    }

    /// Squared distances of a row, ascending.
    pub fn distances(&self, row: usize) -> &[R] {
        &self.squared[row * self.n_neighbors..(row + 1) * self.n_neighbors]
    }

    /// Checks neighbors that the caller provides: they are rows, never the row itself, no row twice, at distances that are finite,
    /// at least 0 and ascending.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Graph`] naming the first offending row.
    pub fn check(&self) -> Result<()> {
        check_lists(self.n_neighbors, &self.indices, &self.squared, false)?;
        let nearest = (0..self.n_samples()).map(|row| self.distances(row)[0].into());
        match nearest.enumerate().find(|(_, distance)| *distance < 0.0) {
            None => Ok(()),
            Some((row, distance)) => {
                Err(Error::graph(format!("row {row} has squared distance {distance}; expected none below 0")))
            }
        }
    }

    /// Checks that every neighbor of every row has an index and a distance.
    pub(super) fn check_sizes(&self) -> Result<()> {
        let (n, k) = (self.n_samples(), self.n_neighbors);
        if k > 0 && self.indices.len() == n * k && self.squared.len() == n * k {
            return Ok(());
        }
        let got = format!("{} indices and {} distances for K = {k}", self.indices.len(), self.squared.len());
        Err(Error::shape("the neighbors", "n·K of each, K at least 1", got))
    }

    /// Squared distance of each row to its last neighbor (n).
    pub fn last(&self) -> Vec<R> {
        self.squared.chunks_exact(self.n_neighbors.max(1)).map(|row| row[self.n_neighbors - 1]).collect()
    }
}

/// Pairs that may carry weight, with their squared distances: a symmetric pattern without diagonal.
#[derive(Clone, Debug, PartialEq)]
pub struct Support<R> {
    pub(super) starts: Vec<u64>,
    pub(super) ids: Vec<u32>,
    pub(super) squared: Vec<R>,
}

impl<R: SquaredDistance> Support<R> {
    /// Pairs of a row and a neighbor of it, at the smaller of their two distances where these differ.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Graph`] for an invalid table; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(n·K·log K), parallel.
    pub fn from_table(mut table: NeighborTable<R>, run: &Run) -> Result<Self> {
        run.check()?;
        table.check_sizes()?;
        let (n, k) = (table.n_samples(), table.n_neighbors);
        run.install(|| {
            let is_wrong = |(row, ids): (usize, &[u32])| ids.iter().any(|&id| id as usize >= n || id as usize == row);
            if let Some((row, _)) = table.indices.par_chunks_exact(k).enumerate().find_first(|&row| is_wrong(row)) {
                return Err(Error::graph(format!("row {row} names a neighbor that is itself or not below {n}")));
            }
            sort_by_row(k, &mut table.indices, &mut table.squared);
            run.check()?;
            let incoming = Incoming::new(&table.indices, &table.squared, k);
            run.check()?;
            let (starts, ids, squared) = assemble(n, |own: &mut Vec<(u32, R)>, row, emit: &mut dyn FnMut(u32, R)| {
                let range = row * k..(row + 1) * k;
                own.clear();
                own.extend(table.indices[range.clone()].iter().copied().zip(table.squared[range].iter().copied()));
                merge(own, incoming.row(row), |id, z, other| emit(id, other.filter(|o| *o < z).unwrap_or(z)));
            });
            Ok(Self { starts, ids, squared })
        })
    }

    /// The pairs `edges` among `n` rows, with their squared distances.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every edge has a distance; [`Error::Graph`] naming the first edge that is out of range, joins a row
    /// to itself, is there twice (in either direction), or has a distance that is negative or not finite.
    ///
    /// # Complexity
    /// O(n + m·log m).
    pub fn from_edges(n: usize, edges: &[(u32, u32)], squared: &[R], run: &Run) -> Result<Self> {
        if edges.len() != squared.len() {
            return Err(Error::shape(
                "squared distances",
                format!("{} values, one an edge", edges.len()),
                squared.len(),
            ));
        }
        if n > u32::MAX as usize {
            return Err(Error::param("n_samples", n, format!("at most {}", u32::MAX)));
        }
        check_memory("a support", 40 * n as u64 + 48 * edges.len() as u64)?;
        run.check()?;
        run.install(|| {
            check_edges(n, edges, squared)?;
            // Each row has first its edges of which it is the second end, then those of which it is the first end: sorted edges give
            // sorted rows.
            let (mut second, mut first) = (vec![0u32; n], vec![0u32; n]);
            for &(u, v) in edges {
                first[u as usize] += 1;
                second[v as usize] += 1;
            }
            let mut starts = vec![0u64; n + 1];
            (0..n).for_each(|row| starts[row + 1] = starts[row] + u64::from(second[row]) + u64::from(first[row]));
            let (mut ids, mut values) = (vec![0u32; 2 * edges.len()], vec![R::default(); 2 * edges.len()]);
            let mut of_second: Vec<usize> = starts[..n].iter().map(|&start| start as usize).collect();
            let mut of_first: Vec<usize> =
                of_second.iter().zip(&second).map(|(at, &count)| at + count as usize).collect();
            for (&(u, v), &z) in edges.iter().zip(squared) {
                for (next, other) in [(&mut of_second[v as usize], u), (&mut of_first[u as usize], v)] {
                    (ids[*next], values[*next]) = (other, z);
                    *next += 1;
                }
            }
            let is_ordered = edges.par_windows(2).all(|pair| pair[0] < pair[1]) && edges.par_iter().all(|e| e.0 < e.1);
            if !is_ordered {
                sort_rows(&starts, &mut ids, &mut values)?;
            }
            Ok(Self { starts, ids, squared: values })
        })
    }

    /// This support and the pairs `more`, none of which it has, with their squared distances.
    pub(super) fn with(&self, more: &[(u32, u32, R)], run: &Run) -> Self {
        let mut both: Vec<(u32, u32, R)> = more.iter().flat_map(|&(u, v, z)| [(u, v, z), (v, u, z)]).collect();
        both.sort_unstable_by_key(|&(u, v, _)| (u, v));
        let (starts, ids, squared) = run.install(|| {
            assemble(self.n_samples(), |(own, new): &mut (Vec<_>, Vec<_>), row, emit| {
                let (ids, squared) = self.row(row);
                own.clear();
                own.extend(ids.iter().copied().zip(squared.iter().copied()));
                let first = both.partition_point(|entry| (entry.0 as usize) < row);
                new.clear();
                new.extend(both[first..].iter().take_while(|e| e.0 as usize == row).map(|&(_, id, z)| (id, z)));
                merge(own, new, |id, z, _| emit(id, z));
            })
        });
        Self { starts, ids, squared }
    }

    /// Number of rows n.
    pub fn n_samples(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of pairs m.
    pub fn n_pairs(&self) -> usize {
        self.ids.len() / 2
    }

    /// The rows that make a pair with a row, ascending, and their squared distances.
    pub fn row(&self, row: usize) -> (&[u32], &[R]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.ids[range.clone()], &self.squared[range])
    }
}

/// Checks that so many bytes are free.
pub(super) fn check_memory(what: &str, bytes: u64) -> Result<()> {
    lapwing_core::check_memory(what, bytes, "give fewer rows, or fewer candidates for edges")
}

/// Checks ends and distances of edges; the error names the first invalid one.
fn check_edges<R: SquaredDistance>(n: usize, edges: &[(u32, u32)], squared: &[R]) -> Result<()> {
    let fault = |(&(u, v), &z): (&(u32, u32), &R)| {
        let z: f64 = z.into();
        if u.max(v) as usize >= n || u == v {
            return Some(format!("edge ({u}, {v}): expected two different rows below {n}"));
        }
        let is_fine = z >= 0.0 && z.is_finite();
        (!is_fine).then(|| format!("edge ({u}, {v}) has squared distance {z}; expected a finite number of at least 0"))
    };
    match edges.par_iter().zip(squared).with_min_len(1 << 14).find_map_first(fault) {
        Some(reason) => Err(Error::graph(reason)),
        None => Ok(()),
    }
}

/// Sorts each row by its ids; the error names the first repeated pair.
fn sort_rows<R: SquaredDistance>(starts: &[u64], ids: &mut [u32], values: &mut [R]) -> Result<()> {
    let mut own = Vec::new();
    for (row, ends) in starts.windows(2).enumerate() {
        let range = ends[0] as usize..ends[1] as usize;
        own.clear();
        own.extend(ids[range.clone()].iter().copied().zip(values[range.clone()].iter().copied()));
        own.sort_unstable_by_key(|entry| entry.0);
        if let Some(pair) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let reason = format!("edge ({row}, {}) stands twice; expected every pair once", pair[0].0);
            return Err(Error::graph(reason));
        }
        let places = ids[range.clone()].iter_mut().zip(&mut values[range]);
        own.iter().zip(places).for_each(|(entry, (id, value))| (*id, *value) = *entry);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_takes_every_pair_once_zeros_included() {
        let run = Run::new(Some(2), 0).unwrap();
        let table = NeighborTable { n_neighbors: 1, indices: vec![1, 0, 1, 0], squared: vec![0.0f64, 0.0, 2.0, 5.0] };
        table.check().unwrap();
        let support = Support::from_table(table, &run).unwrap();
        assert_eq!(support.row(0), ([1, 3].as_slice(), [0.0, 5.0].as_slice()));
        assert_eq!(support.row(1), ([0, 2].as_slice(), [0.0, 2.0].as_slice()));
        let edges = [(0, 1), (2, 1), (0, 3)];
        assert_eq!(Support::from_edges(4, &edges, &[0.0, 2.0, 5.0], &run).unwrap(), support);
        let more = support.with(&[(3, 2, 1.0)], &run);
        assert_eq!((more.n_pairs(), more.row(3)), (4, ([0, 2].as_slice(), [5.0, 1.0].as_slice())));
    }

    #[test]
    fn edges_that_cannot_be_are_named() {
        let run = Run::new(Some(1), 0).unwrap();
        let text = |edges: &[(u32, u32)], z: &[f64]| Support::from_edges(3, edges, z, &run).unwrap_err().to_string();
        assert!(text(&[(0, 3)], &[1.0]).contains("edge (0, 3): expected two different rows below 3"));
        assert!(text(&[(1, 1)], &[1.0]).contains("edge (1, 1)"));
        assert!(text(&[(0, 1)], &[f64::NAN]).contains("squared distance NaN"));
        assert!(text(&[(0, 1)], &[-1.0]).contains("squared distance -1"));
        assert!(text(&[(0, 1), (1, 0)], &[1.0, 1.0]).contains("edge (0, 1) stands twice"));
        assert!(text(&[(0, 1)], &[]).contains("squared distances has 0"));
        let table = NeighborTable { n_neighbors: 1, indices: vec![1, 0], squared: vec![-1.0f32, 0.0] };
        assert!(table.check().unwrap_err().to_string().contains("row 0 has squared distance -1"));
    }
}
