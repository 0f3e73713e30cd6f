//! Certified labels against exact solutions, on graphs where a small residual alone says little.

#[path = "../../../lapwing-solve/tests/all/elimination.rs"]
mod elimination;

use elimination::{Reference, Wide};
use lapwing_core::{Labels, Run, Stream, Targets, Warning};
use lapwing_graph::{AffinityGraph, Graph, GraphParams};
use lapwing_models::{Certify, Clamp, Decision, Fitted, Form, Harmonic, HarmonicParams, Method, Problem};
use rand::{Rng, RngExt};

type Edges = Vec<(u32, u32, f64)>;

/// Random systems of the suite; `LAPWING_RANDOM_SYSTEMS` asks for more.
const SYSTEMS: u64 = 60;

fn run() -> Run {
    Run::new(Some(2), 1).unwrap()
}

fn targets(n: usize, given: &[(usize, i32)]) -> Targets {
    let mut index = vec![-1; n];
    given.iter().for_each(|&(row, class)| index[row] = class);
    let c = given.iter().map(|given| given.1).max().unwrap_or(0) + 1;
    let classes = lapwing_core::ClassNames::Integers((0..i64::from(c)).collect());
    Targets::one_hot(&Labels { classes, index }, None).unwrap()
}

fn fit(n: usize, edges: &Edges, targets: &Targets, params: HarmonicParams, run: &Run) -> Fitted<'static> {
    let graph = AffinityGraph::given(Graph::from_edges(n, edges).unwrap());
    let harmonic = Harmonic::new(params, GraphParams::default()).unwrap();
    harmonic.fit(&Problem { graph: Some(&graph), ..Problem::new(targets) }, run).unwrap()
}

fn n_open(fitted: &Fitted<'_>) -> usize {
    fitted.report.parts["certificate"]["n_open"].as_u64().unwrap() as usize
}

fn argmax(form: Form, clamp: Clamp) -> HarmonicParams {
    HarmonicParams { form, clamp, decision: Decision::Argmax, ..HarmonicParams::default() }
}

/// Two cliques of 200, the second of weights `inner`, a bridge between them, and a label in each.
fn cliques(inner: f64, bridge: f64) -> (usize, Edges, Vec<(usize, i32)>) {
    let m = 200u32;
    let pairs = (0..m).flat_map(|i| (0..i).map(move |j| (j, i)));
    let mut edges: Edges = pairs.flat_map(|(j, i)| [(j, i, 1.0), (m + j, m + i, inner)]).collect();
    edges.push((m - 1, 2 * m - 1, bridge));
    edges.sort_by_key(|edge| (edge.0, edge.1));
    (2 * m as usize, edges, vec![(0, 0), (m as usize, 1)])
}

const FORMS: [(Form, Clamp); 3] = [(Form::Plain, Clamp::Soft), (Form::Plain, Clamp::Hard), (Form::Stable, Clamp::Soft)];

/// Fits of the cliques in every form, and the labels of the exact solution.
fn clique_fits(certify: Certify) -> Vec<(String, Fitted<'static>, Vec<u32>)> {
    let mut fits = Vec::new();
    for (inner, bridge) in [(1e-3, 1e-6), (1e-5, 1e-8), (1e-7, 1e-10)] {
        let (n, edges, given) = cliques(inner, bridge);
        for (form, clamp) in FORMS {
            let graph_reg = 0.01;
            let exact = exact_scores(n, &edges, &given, (form, clamp), graph_reg);
            let standing = exact_standing(&exact, &given, Decision::Argmax);
            let label = |row: usize| u32::from((standing[1][row] - standing[0][row]).to_f64() > 0.0);
            let graph_reg = (clamp == Clamp::Soft).then_some(graph_reg);
            let params = HarmonicParams { certify, graph_reg, ..argmax(form, clamp) };
            let fitted = fit(n, &edges, &targets(n, &given), params, &run());
            fits.push((format!("{inner} {form:?} {clamp:?}"), fitted, (0..n).map(label).collect()));
        }
    }
    fits
}

#[test]
fn labels_of_a_clique_of_small_weights_are_certain_and_right() {
    for (name, fitted, exact) in clique_fits(Certify::Auto) {
        if name == "0.0000001 Stable Soft" {
            // The mean over all rows takes the rounding of a system of condition 10¹² to every score: nothing is certain.
            assert_eq!(n_open(&fitted), exact.len(), "{name}");
            continue;
        }
        assert_eq!(fitted.labeling.labels, exact, "{name}");
        assert_eq!(n_open(&fitted), 0, "{name}");
        assert!(fitted.report.solve.unwrap().n_iter <= 20, "{name}");
    }
}

#[test]
fn without_certificate_a_small_residual_is_not_enough() {
    let mut wrong = Vec::new();
    for (name, fitted, exact) in clique_fits(Certify::Off) {
        assert!(fitted.labeling.certified.is_none());
        let solve = fitted.report.solve.unwrap();
        assert!(solve.converged && solve.residual <= HarmonicParams::default().tol, "{name}");
        if fitted.labeling.labels != exact {
            wrong.push(name);
        }
    }
    assert!(wrong.contains(&"0.0000001 Plain Hard".to_owned()), "{wrong:?}");
}

#[test]
fn the_potential_of_a_path_is_known_over_many_orders_of_weights() {
    for (decades, largest) in [(6.0, 1e-6), (8.0, 1e-5)] {
        let n = 20_000u32;
        let mut rng = run().rng(Stream::Synthetic, 5);
        let weight = |rng: &mut dyn FnMut() -> f64| 10f64.powf(decades * (2.0 * rng() - 1.0));
        let edges: Edges = (1..n).map(|v| (v - 1, v, weight(&mut || rng.random::<f64>()))).collect();
        let mut values = vec![f64::NAN; n as usize];
        (values[0], values[n as usize - 1]) = (0.0, 1.0);
        let targets = Targets::regression(&values, None).unwrap();
        let graph = AffinityGraph::given(Graph::from_edges(n as usize, &edges).unwrap());
        let params = HarmonicParams { form: Form::Plain, clamp: Clamp::Hard, ..HarmonicParams::default() };
        let harmonic = Harmonic::new(params, GraphParams::default()).unwrap();
        let problem = Problem { graph: Some(&graph), ..Problem::new(&targets) };
        let fitted = harmonic.regress(&problem, &run()).unwrap();
        let total: f64 = edges.iter().map(|edge| edge.2.recip()).sum();
        let radius = fitted.score_radius.unwrap();
        let mut potential = 0.0;
        for row in 0..n as usize {
            let error = (fitted.values.row(row)[0] - potential / total).abs();
            assert!(error <= radius[row] + 1e-12, "row {row}: {error} {}", radius[row]);
            assert!(radius[row] <= largest, "row {row}: radius {}", radius[row]);
            potential += edges.get(row).map_or(0.0, |edge| edge.2.recip());
        }
    }
}

#[test]
fn a_region_of_small_weights_without_a_label_is_seen() {
    // A ring of neighbors, and a clique of weights 1e-3 that hangs on it by 1e-9.
    let (n, m) = (800u32, 60u32);
    let mut edges: Edges =
        (0..n).flat_map(|v| [1, 2, 5, 11].map(|d| (v, (v + d) % n, 1.0 + f64::from(v % 3)))).collect();
    edges.extend((0..m).flat_map(|i| (0..i).map(move |j| (n + j, n + i, 1e-3))));
    edges.extend([(17, n, 1e-9), (400, n + 1, 1.1e-9)]);
    let size = (n + m) as usize;
    let targets = targets(size, &[(10, 0), (410, 1)]);
    let exact = fit(size, &edges, &targets, HarmonicParams { tol: 1e-13, ..argmax(Form::Plain, Clamp::Hard) }, &run());
    let fitted = fit(size, &edges, &targets, argmax(Form::Plain, Clamp::Hard), &run());
    let certified = fitted.labeling.certified.as_ref().unwrap();
    assert_eq!(n_open(&fitted), 0);
    assert!((0..size).all(|row| certified[row] && fitted.labeling.labels[row] == exact.labeling.labels[row]));
}

/// The work for a class pair does not grow with the number of classes: with a bound that takes c² operations this test takes minutes.
#[test]
fn hundreds_of_classes_are_certified() {
    // Triangles in a ring, each with a label of its own.
    let c = 500u32;
    let triangle = |t: u32| {
        let next = 3 * ((t + 1) % c);
        [(3 * t, 3 * t + 1, 1.0), (3 * t, 3 * t + 2, 1.0), (3 * t + 1, 3 * t + 2, 1.0), (3 * t + 2, next, 0.01)]
    };
    let edges: Edges = (0..c).flat_map(triangle).collect();
    let given: Vec<(usize, i32)> = (0..c).map(|t| (3 * t as usize, t as i32)).collect();
    let targets = targets(3 * c as usize, &given);
    for decision in [Decision::Auto, Decision::Argmax, Decision::Mass] {
        for (form, clamp) in FORMS {
            if form == Form::Stable && decision == Decision::Mass {
                continue;
            }
            let params = HarmonicParams { form, clamp, decision, ..HarmonicParams::default() };
            let fitted = fit(3 * c as usize, &edges, &targets, params, &run());
            assert!((0..3 * c).all(|row| fitted.labeling.labels[row as usize] == row / 3), "{form:?} {decision:?}");
            assert_eq!(n_open(&fitted), 0, "{form:?} {clamp:?} {decision:?}");
        }
    }
}

#[test]
fn rows_that_are_all_given_are_certain() {
    let edges = vec![(0, 1, 1.0), (1, 2, 2.0)];
    let all = targets(3, &[(0, 0), (1, 1), (2, 0)]);
    let fitted = fit(3, &edges, &all, argmax(Form::Plain, Clamp::Hard), &run());
    assert_eq!((fitted.labeling.certified, fitted.labeling.labels), (Some(vec![true; 3]), vec![0, 1, 0]));
}

#[test]
fn ties_stay_undecided_and_all_else_is_certain() {
    // An even ring with opposite labels: the two rows half way between stand exactly between the classes.
    let n = 40u32;
    let edges: Edges = (0..n).map(|v| (v, (v + 1) % n, 1.0)).collect();
    let targets = targets(n as usize, &[(0, 0), (20, 1)]);
    for (form, clamp) in FORMS {
        let fitted = fit(n as usize, &edges, &targets, argmax(form, clamp), &run());
        let certified = fitted.labeling.certified.as_ref().unwrap();
        let open: Vec<usize> = (0..n as usize).filter(|&row| !certified[row]).collect();
        assert_eq!(open, [10, 30], "{form:?} {clamp:?}");
        assert!(!fitted.report.warnings.iter().any(|warning| matches!(warning, Warning::Undecided { .. })));
    }
}

/// A connected random graph with weights over some orders of magnitude, and labels of c classes.
fn random_problem(rng: &mut impl Rng) -> (usize, Edges, Vec<(usize, i32)>) {
    let n = rng.random_range(8..90usize);
    let decades = f64::from(rng.random_range(0..13u32));
    let draw = |rng: &mut dyn FnMut() -> f64| 10f64.powf(decades * (rng() - 0.5));
    let scales = [0, 1, 2].map(|_| draw(&mut || rng.random::<f64>()));
    let mut edges: Edges = Vec::new();
    for v in 1..n {
        for k in 0..rng.random_range(1..5) {
            let u = if k == 0 { v - 1 } else { rng.random_range(0..v) };
            let weight = match rng.random_range(0..10) {
                0 => draw(&mut || rng.random::<f64>()),
                _ => scales[u * 3 / n].min(scales[v * 3 / n]) * (0.5 + rng.random::<f64>()),
            };
            edges.push((u as u32, v as u32, weight));
        }
    }
    edges.sort_by_key(|edge| (edge.0, edge.1));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    let c = rng.random_range(2..5);
    let given = (0..2 * c).map(|at| (at as usize * n / (2 * c) as usize, at % c)).collect();
    (n, edges, given)
}

/// Exact centered scores of each class, for γ `graph_reg`, or labels kept exactly.
fn exact_scores(
    n: usize,
    edges: &Edges,
    given: &[(usize, i32)],
    (form, clamp): (Form, Clamp),
    graph_reg: f64,
) -> Vec<Vec<Wide>> {
    let c = given.iter().map(|g| g.1).max().unwrap_or(0) + 1;
    let l = given.len() as f64;
    let mean = |class: i32| given.iter().filter(|g| g.1 == class).count() as f64 / l;
    let value = |g: &(usize, i32), class: i32| f64::from(u8::from(g.1 == class)) - mean(class);
    let is_given = |row: usize| given.iter().find(|g| g.0 == row);
    (0..c)
        .map(|class| {
            let mut b = vec![0.0; n];
            if clamp == Clamp::Hard {
                let place: Vec<usize> = (0..n).filter(|&row| is_given(row).is_none()).collect();
                let at = |row: usize| place.partition_point(|&p| p < row);
                let (mut inner, mut cut, mut b) = (Vec::new(), vec![0.0; place.len()], vec![0.0; place.len()]);
                for &(u, v, w) in edges {
                    let (u, v) = (u as usize, v as usize);
                    match (is_given(u), is_given(v)) {
                        (None, None) => inner.push((at(u) as u32, at(v) as u32, w)),
                        (Some(g), None) => (cut[at(v)], b[at(v)]) = (cut[at(v)] + w, b[at(v)] + w * value(g, class)),
                        (None, Some(g)) => (cut[at(u)], b[at(u)]) = (cut[at(u)] + w, b[at(u)] + w * value(g, class)),
                        _ => {}
                    }
                }
                let open = Reference::new(place.len(), &inner, Some(&cut)).solve(&b, false);
                let score = |row| is_given(row).map_or_else(|| open[at(row)], |g| Wide::of(value(g, class)));
                return (0..n).map(score).collect();
            }
            let mut diagonal = vec![0.0; n];
            for g in given {
                diagonal[g.0] = 1.0 / l / graph_reg;
                b[g.0] = if graph_reg.is_finite() { diagonal[g.0] * value(g, class) } else { value(g, class) };
            }
            let diagonal = graph_reg.is_finite().then_some(diagonal);
            Reference::new(n, edges, diagonal.as_deref()).solve(&b, form == Form::Stable)
        })
        .collect()
}

#[test]
fn no_certified_label_of_random_systems_is_wrong() {
    let systems = std::env::var("LAPWING_RANDOM_SYSTEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(SYSTEMS);
    let run = Run::new(Some(1), 3).unwrap();
    let (mut rows, mut certified, mut wrong) = (0, 0, 0);
    for system in 0..systems {
        let mut rng = run.rng(Stream::Synthetic, system);
        let (n, edges, given) = random_problem(&mut rng);
        let targets = targets(n, &given);
        for (at, (form, clamp, graph_reg)) in [
            (Form::Plain, Clamp::Soft, 0.1),
            (Form::Plain, Clamp::Hard, 0.0),
            (Form::Stable, Clamp::Soft, 1.0),
            (Form::Stable, Clamp::Soft, f64::INFINITY),
        ]
        .into_iter()
        .enumerate()
        {
            let exact = exact_scores(n, &edges, &given, (form, clamp), graph_reg);
            for decision in [Decision::Centered, Decision::RowMean, Decision::Argmax, Decision::Mass] {
                if form == Form::Stable && decision == Decision::Mass {
                    continue;
                }
                let max_iter = [1, 2, 3, 5, 10_000][(system as usize + at) % 5];
                let graph_reg = (clamp == Clamp::Soft).then_some(graph_reg);
                let params = HarmonicParams { form, clamp, decision, graph_reg, max_iter, ..HarmonicParams::default() };
                let fitted = fit(n, &edges, &targets, params, &run.with_seed(system));
                let standing = exact_standing(&exact, &given, decision);
                let labeling = &fitted.labeling;
                let marks = labeling.certified.as_ref().unwrap();
                rows += n;
                for row in (0..n).filter(|&row| marks[row]) {
                    certified += 1;
                    let own = standing[labeling.labels[row] as usize][row];
                    let beaten = standing.iter().any(|other| (other[row] - own).to_f64() > 0.0);
                    wrong += usize::from(beaten);
                }
            }
        }
    }
    println!("{rows} rows, {certified} certified, {wrong} wrong");
    assert_eq!(wrong, 0);
    assert!(certified > rows / 2);
}

/// What the rule makes of exact centered scores.
fn exact_standing(exact: &[Vec<Wide>], given: &[(usize, i32)], decision: Decision) -> Vec<Vec<Wide>> {
    let l = given.len() as f64;
    exact
        .iter()
        .enumerate()
        .map(|(class, scores)| {
            let mean = given.iter().filter(|g| g.1 as usize == class).count() as f64 / l;
            let total = scores.iter().fold(Wide::default(), |sum, score| sum + *score);
            let offset = match decision {
                Decision::Centered => Wide::default(),
                // The graphs are connected.
                Decision::RowMean => Wide::default() - total / Wide::of(scores.len() as f64),
                _ => Wide::of(mean),
            };
            let scores: Vec<Wide> = scores.iter().map(|score| *score + offset).collect();
            if decision != Decision::Mass {
                return scores;
            }
            let mass = scores.iter().fold(Wide::default(), |sum, score| sum + *score);
            let scale = if mass.to_f64() > 0.0 { Wide::of(mean) / mass } else { Wide::default() };
            scores.iter().map(|score| *score * scale).collect()
        })
        .collect()
}
