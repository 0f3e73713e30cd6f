use crate::testkit::blobs;
use lapwing_core::Labels;
use lapwing_graph::{GraphParams, affinity_graph};
use rand::RngExt as _;

use super::*;

fn run() -> Run {
    Run::new(Some(2), 3).unwrap()
}

/// Edges of a ring of `n` rows from row `first` on, with chords of other weights.
fn ring(first: u32, n: u32) -> Vec<(u32, u32, f64)> {
    let edge = |row: u32, step: u32, weight: f64| (first + row, first + (row + step) % n, weight);
    let chord = |row: u32| edge(row, 7 + row % 5, 0.1 + f64::from(row % 4));
    (0..n).flat_map(|row| [edge(row, 1, 1.0), chord(row)]).collect()
}

/// A graph of one component, and one of two.
fn graphs() -> Vec<Graph> {
    let two = [ring(0, 60), ring(60, 50)].concat();
    vec![Graph::from_edges(120, &ring(0, 120)).unwrap(), Graph::from_edges(110, &two).unwrap()]
}

fn targets(n: usize, every: usize, trust: impl Fn(usize) -> f64) -> Targets {
    let labels =
        Labels::from_integers((0..n).map(|row| (row % every == 0).then_some(((row / every) * 7 % 5 % 3) as i64)));
    let weights: Vec<f64> = (0..n).map(trust).collect();
    Targets::one_hot(&labels, Some(&weights)).unwrap()
}

/// Scores of all rows from dense matrices: the equations of the smoother, component by component.
fn dense(graph: &Graph, targets: &Targets, lambda: f64) -> Matrix {
    let (n, c) = (graph.n_samples(), targets.n_columns());
    let components = graph.components();
    let mut scores = Matrix::filled(n, c, f64::NAN);
    let t = |row: usize| targets.rows().binary_search(&(row as u32)).ok();
    for id in 0..components.sizes.len() as u32 {
        let rows: Vec<usize> = (0..n).filter(|&row| components.id[row] == id).collect();
        let m = rows.len();
        let total: f64 = rows.iter().filter_map(|&row| t(row)).map(|at| targets.weights()[at]).sum();
        if total == 0.0 {
            continue;
        }
        let mut mean = vec![0.0; c];
        for at in rows.iter().filter_map(|&row| t(row)) {
            let weight = targets.weights()[at] / total;
            mean.iter_mut().zip(targets.values().row(at)).for_each(|(mean, y)| *mean += weight * y);
        }
        let (mut a, mut b) = (Matrix::filled(m, m, 0.0), Matrix::filled(m, c + 1, 0.0));
        for (i, &row) in rows.iter().enumerate() {
            b.row_mut(i)[c] = 1.0;
            if let Some(at) = t(row) {
                let trust = targets.weights()[at] / lambda;
                a.row_mut(i)[i] += trust;
                (0..c).for_each(|k| b.row_mut(i)[k] = trust * (targets.values().row(at)[k] - mean[k]));
            }
            let (columns, weights) = graph.adjacency().row(row);
            for (&column, weight) in columns.iter().zip(weights) {
                let j = rows.iter().position(|&other| other == column as usize).unwrap();
                a.row_mut(i)[i] += weight;
                a.row_mut(i)[j] -= weight;
            }
        }
        let x = lapwing_solve::dense::solve_spd(&a, &b).unwrap();
        let sum = |k: usize| x.rows().map(|row| row[k]).sum::<f64>();
        for (i, &row) in rows.iter().enumerate() {
            let level = |k: usize| mean[k] - targets.mean()[k];
            (0..c).for_each(|k| scores.row_mut(row)[k] = x.row(i)[k] - x.row(i)[c] * sum(k) / sum(c) + level(k));
        }
    }
    scores
}

#[test]
fn scores_are_those_of_dense_matrices_and_of_the_kernel() {
    for graph in graphs() {
        let n = graph.n_samples();
        let targets = targets(n, 5, |row| 1.0 + (row % 3) as f64);
        let lambda = 2.0 / graph.mean_degree();
        let components = graph.components();
        let smoother = Smoother::new(&graph, &components, &targets, 2.0, 1e-9, &run()).unwrap();
        let smooth = smoother.solve(None, &run()).unwrap();
        let expected = dense(&graph, &targets, lambda);
        let worst = smooth.scores.values().iter().zip(expected.values()).map(|(a, b)| (a - b).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-6);
        // A warm solve has the same solution.
        let warm = smoother.solve(Some(&smooth.raw), &run()).unwrap();
        assert!(warm.info.n_iter() <= 1, "{}", warm.info.n_iter());
        // Kernel ridge regression on one component: f = K(K_SS + λI)⁻¹(Y − ȳ), K = L⁺, for equal trust.
        if components.sizes.len() > 1 {
            continue;
        }
        let targets = self::targets(n, 5, |_| 1.0);
        let found = Smoother::new(&graph, &components, &targets, 2.0, 1e-9, &run()).unwrap();
        let found = found.solve(None, &run()).unwrap().scores;
        let kernel = pseudo_inverse(&graph);
        let l = targets.rows().len();
        let (mut system, mut y) = (Matrix::filled(l, l, 0.0), Matrix::filled(l, 3, 0.0));
        let mean = targets.mean();
        for i in 0..l {
            let row = targets.rows()[i] as usize;
            (0..l).for_each(|j| system.row_mut(i)[j] = kernel.row(row)[targets.rows()[j] as usize]);
            system.row_mut(i)[i] += lambda;
            (0..3).for_each(|k| y.row_mut(i)[k] = targets.values().row(i)[k] - mean[k]);
        }
        let alpha = lapwing_solve::dense::solve_spd(&system, &y).unwrap();
        for row in 0..n {
            for k in 0..3 {
                let of = |j: usize| kernel.row(row)[targets.rows()[j] as usize] * alpha.row(j)[k];
                let value: f64 = (0..l).map(of).sum();
                assert!((value - found.row(row)[k]).abs() < 1e-6, "{row} {k}: {value} {}", found.row(row)[k]);
            }
        }
    }
}

/// L⁺ = (L + 11ᵀ/n)⁻¹ − 11ᵀ/n.
fn pseudo_inverse(graph: &Graph) -> Matrix {
    let n = graph.n_samples();
    let mut a = Matrix::filled(n, n, 1.0 / n as f64);
    for row in 0..n {
        let (columns, weights) = graph.adjacency().row(row);
        for (&column, weight) in columns.iter().zip(weights) {
            a.row_mut(row)[row] += weight;
            a.row_mut(row)[column as usize] -= weight;
        }
    }
    let mut eye = Matrix::filled(n, n, 0.0);
    (0..n).for_each(|row| eye.row_mut(row)[row] = 1.0);
    let mut inverse = lapwing_solve::dense::solve_spd(&a, &eye).unwrap();
    inverse.values_mut().iter_mut().for_each(|value| *value -= 1.0 / n as f64);
    inverse
}

#[test]
fn leaving_out_in_closed_form_is_leaving_out() {
    for (graph, every) in graphs().iter().flat_map(|graph| [(graph, 4), (graph, 1)]) {
        let n = graph.n_samples();
        let targets = targets(n, every, |row| 0.5 + (row % 3) as f64);
        let (smoothness, components) = (3.0, graph.components());
        let smoother = Smoother::new(graph, &components, &targets, smoothness, 1e-10, &run()).unwrap();
        let smooth = smoother.solve(None, &run()).unwrap();
        let found = LeftOut::new(&smoother, &smooth, &targets, &run()).unwrap();
        for at in (0..targets.rows().len()).step_by(3) {
            let others = targets.subset(|other| other != at).unwrap();
            let expected = dense(graph, &others, smoothness / graph.mean_degree());
            let row = expected.row(targets.rows()[at] as usize);
            for (a, b) in found.scores.row(at).iter().zip(row) {
                assert!((a - b.clamp(-1.0, 1.0)).abs() < 1e-6, "{at}: {a} {b}");
            }
        }
    }
}

#[test]
fn plain_scores_without_a_label_are_those_of_the_others() {
    for graph in graphs() {
        let n = graph.n_samples();
        let targets = targets(n, 4, |row| 0.5 + (row % 3) as f64);
        let smoothness = 2.0;
        let lambda = smoothness / graph.mean_degree();
        let of = |centering| leave_one_out_scores(&graph, &targets, smoothness, centering, &run()).unwrap();
        let (plain, centered) = (of(Centering::Plain), of(Centering::RowMean));
        for at in (0..targets.rows().len()).step_by(5) {
            let others = targets.subset(|other| other != at).unwrap();
            // (λL + C)f = CY by dense matrices.
            let (mut a, mut b) = (Matrix::filled(n, n, 0.0), Matrix::filled(n, 3, 0.0));
            for row in 0..n {
                let (columns, weights) = graph.adjacency().row(row);
                for (&column, weight) in columns.iter().zip(weights) {
                    a.row_mut(row)[row] += lambda * weight;
                    a.row_mut(row)[column as usize] -= lambda * weight;
                }
            }
            for (other, &row) in others.rows().iter().enumerate() {
                let (row, weight) = (row as usize, others.weights()[other]);
                a.row_mut(row)[row] += weight;
                (0..3).for_each(|k| b.row_mut(row)[k] = weight * others.values().row(other)[k]);
            }
            let f = lapwing_solve::dense::solve_spd(&a, &b).unwrap();
            let row = targets.rows()[at] as usize;
            for k in 0..3 {
                let mean = f.rows().map(|f| f[k]).sum::<f64>() / n as f64;
                assert!((plain.row(at)[k] - f.row(row)[k]).abs() < 1e-4, "{at} {k}");
                assert!((centered.row(at)[k] - (f.row(row)[k] - mean)).abs() < 1e-4, "{at} {k}");
            }
        }
    }
}

#[test]
fn colors_estimate_leverages_better_than_signs_alone() {
    let run = run();
    let graph = affinity_graph(&blobs(1500, 3, 5), &GraphParams::default(), &run).unwrap().graph;
    let targets = targets(1500, 3, |_| 1.0);
    let components = graph.components();
    let smoother = Smoother::new(&graph, &components, &targets, 3.0, 1e-8, &run).unwrap();
    let smooth = smoother.solve(None, &run).unwrap();
    let l = targets.rows().len();
    let each: Vec<Probe> = (0..l).map(|label| Probe { label, column: label, sign: 1.0 }).collect();
    let exact = smoother.slacks(&each, &smooth, &run).unwrap();
    let error = |probes: &[Probe]| {
        let found = smoother.slacks(probes, &smooth, &run).unwrap();
        found.iter().zip(&exact).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max)
    };
    let colored = error(&probes(&smoother, COLORS, &run).unwrap());
    let mut rng = run.rng(Stream::LeftOut, 9);
    let random: Vec<Probe> = (0..l)
        .map(|label| Probe { label, column: rng.random_range(0..COLORS), sign: if rng.random() { 1.0 } else { -1.0 } })
        .collect();
    let random = error(&random);
    assert!(colored < 0.1 && colored < 0.5 * random, "{colored} {random}");
    assert!(error(&probes(&smoother, 256, &run).unwrap()) < 0.03);
}

#[test]
fn labels_without_a_like_are_not_judged() {
    // Two parts: in one a class has a single label, in the other there is one label.
    let path = |first: u32, n: u32| (first..first + n - 1).map(|row| (row, row + 1, 1.0));
    let edges: Vec<_> = path(0, 6).chain(path(6, 4)).collect();
    let graph = Graph::from_edges(10, &edges).unwrap();
    let given = [Some(0), None, Some(0), None, None, Some(1), None, Some(1), None, None];
    let targets = Targets::one_hot(&Labels::from_integers(given), None).unwrap();
    let components = graph.components();
    let smoother = Smoother::new(&graph, &components, &targets, 1.0, 1e-8, &run()).unwrap();
    let smooth = smoother.solve(None, &run()).unwrap();
    let found = LeftOut::new(&smoother, &smooth, &targets, &run()).unwrap();
    assert_eq!(found.judged, [true, true, true, false]);
    // Without the label of row 5 only class 0 is left there; without that of row 7 nothing is.
    assert!((found.scores.row(2)[0] - 1.0 / 3.0).abs() < 1e-6 && (found.scores.row(2)[1] + 1.0 / 3.0).abs() < 1e-6);
    assert!(found.scores.row(3).iter().all(|score| score.is_nan()));
    // A component with one class has the scores of that class.
    assert!((smooth.scores.row(9)[0] + 0.5).abs() < 1e-6 && (smooth.scores.row(9)[1] - 0.5).abs() < 1e-6);
}
