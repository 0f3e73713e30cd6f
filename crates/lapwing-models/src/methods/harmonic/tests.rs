//! The harmonic methods against dense closed forms, golden figures, and the properties of exact solutions.

use crate::testkit::{blobs, nasty_graphs};
use lapwing_core::{Error, Labels, Matrix, Run, Targets, Warning};
use lapwing_graph::{AffinityGraph, Graph, affinity_graph};
use proptest::prelude::*;

use super::function::solve;
use super::solving::Solving;
use super::*;
use crate::ClassPrior;
use crate::SizeOptions;
use crate::core::metrics;
use crate::golden::golden;

mod decisions;
mod prior;
mod regression;
mod stream;

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

/// The harmonic function of `targets` on `graph`.
fn harmonic(graph: &Graph, targets: &Targets, params: &HarmonicParams, run: &Run) -> Result<HarmonicFunction> {
    params.validate()?;
    if targets.n_samples() != graph.n_samples() {
        let got = format!("targets for {} rows", targets.n_samples());
        return Err(Error::shape(
            "the problem",
            format!("targets for {} rows, as the graph has", graph.n_samples()),
            got,
        ));
    }
    let components = graph.components();
    solve(&Solving::new(graph, &components, targets, params), run)
}

fn exact(form: Form, graph_reg: f64) -> HarmonicParams {
    HarmonicParams { form, graph_reg: Some(graph_reg), tol: 1e-13, max_iter: 100_000, ..HarmonicParams::default() }
}

fn hard() -> HarmonicParams {
    HarmonicParams { form: Form::Plain, clamp: Clamp::Hard, tol: 1e-13, ..HarmonicParams::default() }
}

/// A·x = b for a dense M-matrix A given by its off-diagonal weights and its row sums: elimination without subtraction
/// (Grassmann, Taksar & Heyman 1985), which loses no digits however far the weights are apart.
fn eliminate(mut weights: Vec<Vec<f64>>, mut excess: Vec<f64>, b: &Matrix) -> Matrix {
    let n = excess.len();
    // Positive and negative parts of b are eliminated separately, so that nothing is subtracted before the end.
    let c = b.n_cols();
    let mut sides: Vec<Vec<f64>> =
        (0..n).map(|i| b.row(i).iter().flat_map(|v| [v.max(0.0), (-v).max(0.0)]).collect()).collect();
    let mut pivots = vec![0.0; n];
    for k in 0..n {
        let pivot = weights[k][k + 1..].iter().sum::<f64>() + excess[k];
        pivots[k] = pivot;
        for i in k + 1..n {
            let share = weights[i][k] / pivot;
            for j in k + 1..n {
                let added = share * weights[k][j];
                weights[i][j] += if i == j { 0.0 } else { added };
            }
            excess[i] += share * excess[k];
            for side in 0..2 * c {
                let added = share * sides[k][side];
                sides[i][side] += added;
            }
        }
    }
    for k in (0..n).rev() {
        for side in 0..2 * c {
            let later: f64 = (k + 1..n).map(|j| weights[k][j] * sides[j][side]).sum();
            sides[k][side] = (sides[k][side] + later) / pivots[k];
        }
    }
    Matrix::new(n, c, sides.iter().flat_map(|row| row.chunks(2).map(|pair| pair[0] - pair[1])).collect()).unwrap()
}

/// Dense closed forms on the reached rows, for the stable form component by component; the other rows are NaN.
fn dense_twin(graph: &Graph, targets: &Targets, params: &HarmonicParams) -> Matrix {
    let components = graph.components();
    let holds = components.holding(targets.rows());
    let mut out = Matrix::filled(graph.n_samples(), targets.n_columns(), f64::NAN);
    let all: Vec<usize> = (0..graph.n_samples()).filter(|&row| holds[components.id[row] as usize]).collect();
    let parts: Vec<Vec<usize>> = match params.form {
        Form::Stable => (0..holds.len() as u32)
            .filter(|&id| holds[id as usize])
            .map(|id| all.iter().copied().filter(|&row| components.id[row] == id).collect())
            .collect(),
        _ => vec![all],
    };
    for rows in parts {
        let solved = dense_part(graph, &rows, targets, params);
        rows.iter().enumerate().for_each(|(at, &row)| out.row_mut(row).copy_from_slice(solved.row(at)));
    }
    out
}

/// The closed form on `rows`, which have no edges to others.
fn dense_part(graph: &Graph, rows: &[usize], targets: &Targets, params: &HarmonicParams) -> Matrix {
    let (n, c, mean) = (rows.len(), targets.n_columns(), targets.mean());
    let mut weights = vec![vec![0.0; n]; n];
    for (at, &row) in rows.iter().enumerate() {
        let (columns, values) = graph.adjacency().row(row);
        for (column, weight) in columns.iter().zip(values) {
            weights[at][rows.binary_search(&(*column as usize)).unwrap()] = *weight;
        }
    }
    let own = targets.subset(|at| rows.binary_search(&(targets.rows()[at] as usize)).is_ok()).unwrap();
    let place: Vec<usize> = own.rows().iter().map(|&r| rows.binary_search(&(r as usize)).unwrap()).collect();
    if params.clamp == Clamp::Hard {
        return dense_hard(&weights, &own, &place);
    }
    let first = own.values().row(0);
    if params.form == Form::Stable && own.values().rows().all(|row| row == first) {
        // All labels are equal: the solution is the label.
        let score: Vec<f64> = first.iter().zip(&mean).map(|(y, mean)| y - mean).collect();
        return Matrix::new(n, c, score.repeat(n)).unwrap();
    }
    let scale = params.graph_reg.unwrap() * targets.weights().iter().sum::<f64>();
    let mut f = dense_soft(weights, &own, &place, params.form, scale);
    let shift = own.mean()[0] - mean[0];
    if params.form == Form::Stable && c == 1 {
        f.values_mut().iter_mut().for_each(|f| *f += shift);
    }
    f
}

/// f = A⁻¹ỹ − μ·A⁻¹1, with μ such that f has zero mean for the stable form, and μ = 0 plus the mean for the plain form.
fn dense_soft(mut weights: Vec<Vec<f64>>, targets: &Targets, place: &[usize], form: Form, scale: f64) -> Matrix {
    let (n, c, mean) = (weights.len(), targets.n_columns(), targets.mean());
    weights.iter_mut().flatten().for_each(|w| *w *= scale);
    let (mut excess, mut b) = (vec![0.0; n], Matrix::filled(n, c + 1, 0.0));
    for (at, &row) in place.iter().enumerate() {
        excess[row] = targets.weights()[at];
        (0..c).for_each(|k| b.row_mut(row)[k] = excess[row] * (targets.values().row(at)[k] - mean[k]));
    }
    (0..n).for_each(|row| b.row_mut(row)[c] = 1.0);
    let x = eliminate(weights, excess, &b);
    let sum = |k: usize| (0..n).map(|row| x.row(row)[k]).sum::<f64>();
    let mut f = Matrix::filled(n, c, 0.0);
    for k in 0..c {
        let (mu, shift) = if form == Form::Stable { (sum(k) / sum(c), 0.0) } else { (0.0, mean[k]) };
        (0..n).for_each(|row| f.row_mut(row)[k] = x.row(row)[k] - mu * x.row(row)[c] + shift);
    }
    f
}

/// L_UU f_U = W_US y_S.
fn dense_hard(weights: &[Vec<f64>], targets: &Targets, place: &[usize]) -> Matrix {
    let (n, c) = (weights.len(), targets.n_columns());
    let open: Vec<usize> = (0..n).filter(|row| !place.contains(row)).collect();
    let mut f = Matrix::filled(n, c, 0.0);
    place.iter().enumerate().for_each(|(at, &row)| f.row_mut(row).copy_from_slice(targets.values().row(at)));
    let inner: Vec<Vec<f64>> = open.iter().map(|&i| open.iter().map(|&j| weights[i][j]).collect()).collect();
    let excess = open.iter().map(|&i| place.iter().map(|&held| weights[i][held]).sum()).collect();
    let mut b = Matrix::filled(open.len(), c, 0.0);
    for (at, &i) in open.iter().enumerate() {
        for &held in place {
            (0..c).for_each(|k| b.row_mut(at)[k] += weights[i][held] * f.row(held)[k]);
        }
    }
    let x = eliminate(inner, excess, &b);
    open.iter().enumerate().for_each(|(at, &row)| f.row_mut(row).copy_from_slice(x.row(at)));
    f
}

fn assert_close(found: &Matrix, expected: &Matrix, tol: f64, what: &str) {
    let scale = expected.values().iter().filter(|v| !v.is_nan()).fold(1e-300f64, |m, v| m.max(v.abs()));
    for (at, (f, e)) in found.values().iter().zip(expected.values()).enumerate() {
        assert_eq!(f.is_nan(), e.is_nan(), "{what}: entry {at}");
        assert!(f.is_nan() || (f - e).abs() <= tol * scale, "{what}: entry {at} is {f}, dense {e}");
    }
}

fn three_classes(n: usize) -> Labels {
    Labels::from_integers((0..n).map(|row| (row % 4 == 0).then_some((row / 4 % 3) as i64)))
}

#[test]
fn every_form_equals_its_dense_closed_form_on_every_graph() {
    for (name, graph) in nasty_graphs() {
        let n = graph.n_samples();
        let label_weights: Vec<f64> = (0..n).map(|row| 0.5 + (row % 5) as f64).collect();
        let values: Vec<f64> = (0..n).map(|row| if row % 3 == 0 { row as f64 - 4.0 } else { f64::NAN }).collect();
        let soft =
            Matrix::new(n, 2, (0..n).flat_map(|row| if row % 3 == 1 { [0.25, 0.75] } else { [0.0, 0.0] }).collect());
        let cases = [
            ("classes", Targets::one_hot(&three_classes(n), None).unwrap()),
            ("weighted", Targets::one_hot(&three_classes(n), Some(&label_weights)).unwrap()),
            ("regression", Targets::regression(&values, None).unwrap()),
            ("soft", Targets::soft(&soft.unwrap(), None).unwrap()),
            ("one label", Targets::regression(&values, None).unwrap().subset(|at| at == 0).unwrap()),
        ];
        for (case, targets) in &cases {
            let mut all = vec![hard()];
            for graph_reg in [1e-3, 1.0, 50.0] {
                all.extend([exact(Form::Stable, graph_reg), exact(Form::Plain, graph_reg)]);
            }
            for params in all {
                let found = harmonic(&graph, targets, &params, &run()).unwrap();
                let what = format!("{name}, {case}, {:?} {:?} {:?}", params.form, params.clamp, params.graph_reg);
                assert_close(&found.scores, &dense_twin(&graph, targets, &params), 1e-8, &what);
            }
        }
    }
}

#[test]
fn unreached_rows_are_marked_and_change_nothing_else() {
    // A triangle with labels, a pair without, a labeled isolated row, an isolated row without.
    let edges = [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 1.0), (3, 4, 1.0)];
    let graph = Graph::from_edges(7, &edges).unwrap();
    let labels = Labels::from_integers([Some(0), None, Some(1), None, None, Some(1), None]);
    let targets = Targets::one_hot(&labels, None).unwrap();
    let reached = [true, true, true, false, false, true, false];
    for params in [exact(Form::Stable, 0.1), exact(Form::Plain, 0.1), hard()] {
        let found = harmonic(&graph, &targets, &params, &run()).unwrap();
        assert_eq!(found.reached, reached);
        assert_close(&found.scores, &dense_twin(&graph, &targets, &params), 1e-10, "mixed components");
    }
    let plain = harmonic(&graph, &targets, &exact(Form::Plain, 0.1), &run()).unwrap();
    assert!((plain.scores.row(5)[1] - 1.0).abs() < 1e-12, "a labeled isolated row keeps its label");

    let affinity = AffinityGraph::given(graph);
    let method = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    let fitted = method.fit(&Problem { graph: Some(&affinity), ..Problem::new(&targets) }, &run()).unwrap();
    assert_eq!(fitted.labeling.reached, reached);
    assert_eq!((fitted.report.n_unreached, fitted.report.n_unlabeled_components), (3, 2));
    assert_eq!(fitted.report.warnings.len(), 1, "{:?}", fitted.report.warnings);
    assert!(fitted.report.warnings[0].to_string().contains("3 rows in 2 components"));
    let prior = [1.0 / 3.0, 2.0 / 3.0];
    assert_eq!(fitted.labeling.label_distributions.row(3), prior);
    assert_eq!(fitted.labeling.labels[3], 1);
}

#[test]
fn golden_figures_are_met() {
    for file in ["hfs_100.npz", "hfs_300.npz"] {
        let floats = |name: &str| golden(file, name);
        let (weights, y, gammas) = (floats("edge_w"), floats("y"), floats("gammas"));
        let n_gammas = gammas.len();
        let golden: Vec<(Vec<f64>, Vec<f64>)> = (0..n_gammas)
            .map(|at| (floats(&format!("f_centred_labels_{at}")), floats(&format!("hfs_unconstrained_{at}"))))
            .collect();
        let (i, j, labeled) = (floats("edge_i"), floats("edge_j"), floats("labelled"));
        let edges: Vec<_> = i.iter().zip(&j).zip(&weights).map(|((&i, &j), &w)| (i as u32, j as u32, w)).collect();
        let graph = Graph::from_edges(y.len(), &edges).unwrap();
        let given: Vec<f64> =
            (0..y.len()).map(|row| if labeled.contains(&(row as f64)) { y[row] } else { f64::NAN }).collect();
        let targets = Targets::regression(&given, None).unwrap();
        for (gamma, (stable, plain)) in gammas.iter().zip(golden) {
            // The golden figures state 1e-8 for γ ≥ 1e-2 and 1e-7 below.
            let tol = if *gamma >= 1e-2 { 1e-8 } else { 1e-7 };
            let found = harmonic(&graph, &targets, &exact(Form::Stable, *gamma), &run()).unwrap().scores;
            assert_close(&found, &Matrix::new(y.len(), 1, stable).unwrap(), tol, file);
            let found = harmonic(&graph, &targets, &exact(Form::Plain, *gamma), &run()).unwrap().scores;
            assert_close(&found, &Matrix::new(y.len(), 1, plain).unwrap(), tol, file);
        }
    }
}

/// A connected random graph.
fn random_graph(n: usize, seed: u64) -> Graph {
    let mut edges = Vec::new();
    for u in 0..n as u32 {
        for v in u + 1..n as u32 {
            let hash = (u64::from(u) * 7919 + u64::from(v) * 104_729 + seed * 31) % 101;
            if v == u + 1 || hash < 12 {
                edges.push((u, v, 0.05 + hash as f64 / 20.0));
            }
        }
    }
    Graph::from_edges(n, &edges).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn identities_of_exact_solutions_hold(n in 16usize..80, seed in 0u64..500, log_reg in -3.0..1.7f64) {
        let graph = random_graph(n, seed);
        let targets = Targets::one_hot(&three_classes(n), None).unwrap();
        let plain = harmonic(&graph, &targets, &exact(Form::Plain, 10f64.powf(log_reg)), &run()).unwrap().scores;
        for row in plain.rows() {
            // Maximum principle: shares in [0, 1] that sum to 1.
            prop_assert!(row.iter().all(|f| (-1e-9..=1.0 + 1e-9).contains(f)));
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let mean = targets.mean();
        for class in 0..3 {
            let fitted: f64 = targets.rows().iter().map(|&row| plain.row(row as usize)[class]).sum();
            prop_assert!((fitted - mean[class] * targets.rows().len() as f64).abs() < 1e-8);
        }
        let stable = harmonic(&graph, &targets, &exact(Form::Stable, 10f64.powf(log_reg)), &run()).unwrap().scores;
        for class in 0..3 {
            prop_assert!(stable.rows().map(|row| row[class]).sum::<f64>().abs() < 1e-8);
        }
        prop_assert!(stable.rows().all(|row| row.iter().sum::<f64>().abs() < 1e-9));
    }

    #[test]
    fn the_order_of_rows_does_not_matter(n in 16usize..60, seed in 0u64..500) {
        let graph = random_graph(n, seed);
        let labels = three_classes(n);
        let place = |row: usize| (row * 7 + 3) % n;
        prop_assume!(n % 7 != 0);
        let edges: Vec<_> = (0..n).flat_map(|row| {
            let (columns, weights) = graph.adjacency().row(row);
            columns.iter().zip(weights).filter(move |(c, _)| row < **c as usize)
                .map(move |(&c, &w)| (place(row) as u32, place(c as usize) as u32, w)).collect::<Vec<_>>()
        }).collect();
        let moved = Graph::from_edges(n, &edges).unwrap();
        let mut moved_labels = labels.clone();
        (0..n).for_each(|row| moved_labels.index[place(row)] = labels.index[row]);
        let params = exact(Form::Stable, 0.1);
        let before = harmonic(&graph, &Targets::one_hot(&labels, None).unwrap(), &params, &run()).unwrap().scores;
        let after = harmonic(&moved, &Targets::one_hot(&moved_labels, None).unwrap(), &params, &run()).unwrap().scores;
        for row in 0..n {
            for class in 0..3 {
                prop_assert!((before.row(row)[class] - after.row(place(row))[class]).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn one_label_twice_is_one_label_of_twice_the_weight() {
    let graph = random_graph(30, 1);
    let target = |weights: &[f64]| {
        let values: Vec<f64> = (0..30).map(|row| if row < 3 { row as f64 } else { f64::NAN }).collect();
        Targets::regression(&values, Some(weights)).unwrap()
    };
    let mut weights = vec![1.0; 30];
    let once = harmonic(&graph, &target(&weights), &exact(Form::Plain, 0.1), &run()).unwrap().scores;
    weights.iter_mut().for_each(|w| *w = 2.0);
    let twice = harmonic(&graph, &target(&weights), &exact(Form::Plain, 0.1), &run()).unwrap().scores;
    assert_close(&twice, &once, 1e-9, "only ratios of label weights matter");
}

#[test]
fn without_a_label_term_the_solution_is_the_pseudo_inverse() {
    let graph = random_graph(40, 2);
    let targets = Targets::one_hot(&three_classes(40), None).unwrap();
    let limit = harmonic(&graph, &targets, &exact(Form::Stable, f64::INFINITY), &run()).unwrap().scores;
    // f·γ·c_tot tends to L⁺ỹ.
    let (gamma, total) = (1e6, targets.rows().len() as f64);
    let mut far = harmonic(&graph, &targets, &exact(Form::Stable, gamma), &run()).unwrap().scores;
    far.values_mut().iter_mut().for_each(|v| *v *= gamma * total);
    assert_close(&far, &limit, 1e-5, "large graph_reg");
}

#[test]
fn parameters_outside_their_range_are_named() {
    let text = |params: HarmonicParams| params.validate().unwrap_err().to_string();
    let with = |graph_reg| HarmonicParams { graph_reg: Some(graph_reg), ..HarmonicParams::default() };
    assert!(text(with(0.0)).contains("clamp the labels hard"));
    assert!(text(with(f64::NAN)).contains("graph_reg is NaN"));
    assert!(text(HarmonicParams { tol: 0.0, ..HarmonicParams::default() }).contains("tol is 0"));
    assert!(
        text(HarmonicParams { form: Form::Stable, clamp: Clamp::Hard, ..HarmonicParams::default() })
            .contains("form plain")
    );
    let mass = HarmonicParams { form: Form::Stable, decision: Decision::Mass, ..HarmonicParams::default() };
    assert!(text(mass).contains("sizes with the stable form"));
    let shares = HarmonicParams { class_prior: ClassPrior::Given(vec![0.5, 0.4]), ..HarmonicParams::default() };
    assert!(text(shares).contains("add up to 1"));
    let prior = ClassPrior::Given(vec![0.5, 0.5]);
    assert!(prior.shares(&[0.1, 0.2, 0.7]).unwrap_err().to_string().contains("class_prior is 2 shares; expected 3"));
}
