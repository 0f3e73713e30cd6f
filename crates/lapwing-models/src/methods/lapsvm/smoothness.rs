//! The Laplacian of a graph to a power p, applied p times and never formed: p·m multiplications for each vector and m edges.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};
use lapwing_graph::Graph;
use lapwing_solve::SddMatrix;

use super::params::LaplacianKind;

/// Rows that are scaled as one task.
const ROWS: usize = 4096;

/// L^p, L = D − W or I − D^(−1/2)·W·D^(−1/2).
pub(super) struct Smoothness<'g> {
    laplacian: SddMatrix<'g>,
    /// d^(−1/2) (n), 0 where d = 0; none for D − W.
    scale: Option<Vec<f64>>,
    power: usize,
}

impl<'g> Smoothness<'g> {
    /// The smoothness over a graph.
    pub fn new(graph: &'g Graph, kind: LaplacianKind, power: usize) -> Self {
        let laplacian = graph.laplacian();
        let scale = match kind {
            LaplacianKind::Combinatorial => None,
            LaplacianKind::Normalized => {
                Some(graph.degree().iter().map(|d| if *d > 0.0 { d.sqrt().recip() } else { 0.0 }).collect())
            }
        };
        Self { laplacian, scale, power }
    }

    pub fn n(&self) -> usize {
        self.laplacian.n()
    }

    /// X ← L^p·X on a block (n, s), row-major.
    pub fn apply(&self, x: &mut Vec<f64>, s: usize, run: &Run) -> Result<()> {
        if s == 0 {
            return Ok(());
        }
        let mut y = vec![0.0; x.len()];
        for _ in 0..self.power {
            run.check()?;
            run.install(|| self.once(x, &mut y, s));
            std::mem::swap(x, &mut y);
        }
        Ok(())
    }

    /// Y ← L·X; scales X in place.
    fn once(&self, x: &mut [f64], y: &mut [f64], s: usize) {
        let Some(scale) = &self.scale else {
            self.laplacian.product(x, y, s);
            return;
        };
        // For a node without edges, D^(−1/2)·(D − W)·D^(−1/2) is 0 but I − D^(−1/2)·W·D^(−1/2) is 1.
        let alone: Vec<(usize, Vec<f64>)> = (0..scale.len())
            .filter(|&row| scale[row] == 0.0)
            .map(|row| (row, x[row * s..(row + 1) * s].to_vec()))
            .collect();
        scale_rows(x, scale, s);
        self.laplacian.product(x, y, s);
        scale_rows(y, scale, s);
        alone.into_iter().for_each(|(row, values)| y[row * s..(row + 1) * s].copy_from_slice(&values));
    }
}

fn scale_rows(x: &mut [f64], scale: &[f64], s: usize) {
    x.par_chunks_mut(ROWS * s).zip(scale.par_chunks(ROWS)).for_each(|(x, scale)| {
        for (x, scale) in x.chunks_exact_mut(s).zip(scale) {
            x.iter_mut().for_each(|x| *x *= scale);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_dense_matrix() {
        let graph = Graph::from_edges(5, &[(0, 1, 1.0), (1, 2, 0.5), (0, 2, 2.0), (2, 3, 1e-3)]).unwrap();
        let run = Run::new(Some(2), 0).unwrap();
        let weight = |i: usize, j: usize| {
            let (ids, weights) = graph.adjacency().row(i);
            ids.iter().position(|&id| id as usize == j).map_or(0.0, |at| weights[at])
        };
        let d = graph.degree();
        for kind in [LaplacianKind::Normalized, LaplacianKind::Combinatorial] {
            let entry = |i: usize, j: usize| match kind {
                LaplacianKind::Combinatorial => (if i == j { d[i] } else { 0.0 }) - weight(i, j),
                LaplacianKind::Normalized if d[i] == 0.0 || d[j] == 0.0 => f64::from(u8::from(i == j)),
                LaplacianKind::Normalized => f64::from(u8::from(i == j)) - weight(i, j) / (d[i] * d[j]).sqrt(),
            };
            for power in [1, 3] {
                let mut expected: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7)).collect();
                for _ in 0..power {
                    expected =
                        (0..10).map(|at| (0..5).map(|j| entry(at / 2, j) * expected[j * 2 + at % 2]).sum()).collect();
                }
                let mut found: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7)).collect();
                Smoothness::new(&graph, kind, power).apply(&mut found, 2, &run).unwrap();
                for (a, b) in found.iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-11, "{kind:?} {power}: {a} {b}");
                }
            }
        }
    }
}
