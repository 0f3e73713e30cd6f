//! Sparsifiers against dense eigenvalues: distortion, unbiasedness, components, the same bits from any portion or thread.

use crate::edges::Edges;
use crate::testkit::{Distortion, dumbbell, nasty_graphs};
use lapwing_core::{CancelToken, Edge, EdgeSource, Error, Features, Matrix, Run, Stream};
use lapwing_graph::sparsify::{Budget, Checkpoint, Sampler, Sparsifier, SparsifyParams, SparsifyReport, sparsify};
use lapwing_graph::{Graph, GraphParams, Symmetrize, Weighting, affinity_graph};
use rand::RngExt;
use rand::seq::SliceRandom;

mod checkpoints;

fn run(seed: u64) -> Run {
    Run::new(Some(2), seed).unwrap()
}

/// Neighbors of points of two normal distributions in five dimensions.
fn neighbors(n: usize, k: usize) -> Graph {
    let mut rng = run(0).rng(Stream::Synthetic, 1);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let values = (0..n * 5).map(|at| normal() + if at % 10 == 0 { 3.0 } else { 0.0 }).collect();
    let features = Features::from_f64(n, 5, values).unwrap();
    let binary = GraphParams { weights: Weighting::Binary, symmetrize: Symmetrize::Union, ..GraphParams::default() };
    affinity_graph(&features, &GraphParams { n_neighbors: k, ..binary }, &run(0)).unwrap().graph
}

/// The edges of a graph, shuffled.
fn shuffled(graph: &Graph, seed: u64) -> Vec<Edge> {
    let mut edges = Vec::new();
    graph.adjacency().open(&run(0)).unwrap().read(usize::MAX >> 1, &mut edges, &run(0)).unwrap();
    edges.shuffle(&mut run(seed).rng(Stream::Synthetic, 2));
    edges
}

/// The edges of 300 nodes with about 60 neighbors each.
fn stream() -> Vec<Edge> {
    shuffled(&neighbors(300, 60), 5)
}

/// Room for all edges in so many blocks.
fn in_blocks(sampler: Sampler, n_edges: usize, edge_budget: usize, blocks: usize) -> SparsifyParams {
    let capacity = ((n_edges + (blocks - 1) * edge_budget) / blocks).max(2 * edge_budget);
    SparsifyParams {
        sampler,
        budget: Budget::Edges(edge_budget),
        capacity: Some(capacity),
        ..SparsifyParams::default()
    }
}

fn sparsified(graph: &Graph, params: SparsifyParams, seed: u64) -> (Graph, SparsifyReport) {
    let edges = shuffled(graph, seed);
    sparsify(&Edges(graph.n_samples(), &edges), params, &run(seed)).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn streams_of_neighbor_graphs_keep_their_forms() {
    let graph = neighbors(500, 100);
    let measure = Distortion::from(&graph);
    for (per_node, rounds, most) in [(20, 2, 0.70), (40, 1, 0.45)] {
        let distortions = (0..5).map(|seed| {
            let params = in_blocks(Sampler::Streaming, graph.n_edges(), 500 * per_node, 6);
            let (sparse, report) = sparsified(&graph, SparsifyParams { n_projections: 64, ..params }, seed);
            assert_eq!(report.rounds, rounds, "{report:?}");
            let [low, high] = report.probe_ratios.unwrap();
            assert!(low > 0.5 && high < 1.5, "{report:?}");
            measure.of(&sparse)
        });
        let found = median(distortions.collect());
        assert!(found <= most, "{per_node} edges a node: {found}");
    }
}

#[test]
fn weak_cuts_survive() {
    let graph = dumbbell(250);
    let measure = Distortion::from(&graph);
    let params = in_blocks(Sampler::Streaming, graph.n_edges(), 500 * 20, 6);
    let distortions = (0..10).map(|seed| {
        let (sparse, report) = sparsified(&graph, params.clone(), seed);
        assert!(report.warnings.is_empty(), "{report:?}");
        assert_eq!(sparse.components().sizes.len(), 1);
        measure.of(&sparse)
    });
    let found = median(distortions.collect());
    assert!(found <= 0.8, "{found}");
    let (_, report) = sparsified(&graph, SparsifyParams { tol: 1e-2, ..params }, 0);
    assert!(report.warnings[0].to_string().contains("solved to 1e-2 only"), "{:?}", report.warnings);
}

#[test]
fn a_lost_cut_shows_in_the_probes() {
    // Drawn alike, the ten edges of the cut are mostly lost, and one that is not weighs far too much.
    let graph = dumbbell(250);
    let params = in_blocks(Sampler::Uniform, graph.n_edges(), 500 * 4, 2);
    let lows = (0..7).map(|seed| sparsified(&graph, params.clone(), seed).1.probe_ratios.unwrap()[0]).collect();
    assert!(median(lows) < 0.7);
    let side = (0..500).map(|v| if v < 250 { 1.0 } else { -1.0 }).collect();
    let given = Sparsifier::new(500, params, &run(1)).unwrap();
    let mut given = given.with_probes(Matrix::new(500, 1, side).unwrap()).unwrap();
    given.add(&shuffled(&graph, 1), &run(1)).unwrap();
    let (sparse, report) = given.finish(&run(1)).unwrap();
    let cut: f64 = shuffled(&sparse, 0).iter().filter(|e| (e.u < 250) != (e.v < 250)).map(|e| e.weight).sum();
    let [low, high] = report.probe_ratios.unwrap();
    assert!((low - cut).abs() < 1e-9 && low == high, "{low} {cut}");
}

#[test]
fn reports_in_the_middle_compare_with_all_that_was_read() {
    let graph = dumbbell(100);
    let edges = shuffled(&graph, 3);
    let side = Matrix::new(200, 1, (0..200).map(|v| if v < 150 { 1.0 } else { -1.0 }).collect()).unwrap();
    let cut = |edges: &[Edge]| -> f64 { edges.iter().filter(|e| (e.u < 150) != (e.v < 150)).map(|e| e.weight).sum() };
    let params = SparsifyParams { budget: Budget::Edges(1500), capacity: Some(3000), ..SparsifyParams::default() };
    let mut sparsifier = Sparsifier::new(200, params, &run(1)).unwrap().with_probes(side).unwrap();
    let mut n_compared = 0;
    for (at, portion) in edges.chunks(611).enumerate() {
        sparsifier.add(portion, &run(1)).unwrap();
        let read = &edges[..(at * 611 + portion.len())];
        let so_far = shuffled(&sparsifier.snapshot(&run(1)).unwrap(), 0);
        if let Some([low, high]) = sparsifier.report(&run(1)).probe_ratios {
            let expected = cut(&so_far) / cut(read);
            assert!((low / expected - 1.0).abs() < 1e-9 && low == high, "{low} {expected}");
            n_compared += 1;
        }
    }
    assert!(n_compared > 5, "{n_compared}");
}

#[test]
fn every_sampler_is_right_in_the_mean() {
    let graph = neighbors(40, 12);
    let (n, m) = (40, graph.n_edges());
    let vectors: Vec<Vec<f64>> = vec![
        (0..n).map(|v| f64::from(u8::from(v < n / 2))).collect(),
        (0..n).map(|v| v as f64 / n as f64).collect(),
        (0..n).map(|v| (v as f64).sin()).collect(),
        (0..n).map(|v| f64::from(u8::from(v == 7))).collect(),
    ];
    let form = |graph: &Graph, x: &[f64]| -> f64 {
        shuffled(graph, 0).iter().map(|e| e.weight * (x[e.u as usize] - x[e.v as usize]).powi(2)).sum()
    };
    for sampler in Sampler::ALL.iter().copied() {
        let budget = 90;
        let params = SparsifyParams { hysteresis: 1.0, ..in_blocks(sampler, m, budget, 5) };
        let found: Vec<Vec<f64>> = (0..200)
            .map(|seed| {
                let (sparse, report) = sparsified(&graph, params.clone(), seed);
                assert!(report.rounds >= 1 && report.n_edges == m as u64, "{report:?}");
                vectors.iter().map(|x| form(&sparse, x)).collect()
            })
            .collect();
        for (at, x) in vectors.iter().enumerate() {
            let values: Vec<f64> = found.iter().map(|forms| forms[at]).collect();
            let mean = values.iter().sum::<f64>() / 200.0;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 199.0;
            let z = (mean - form(&graph, x)) / (variance / 200.0).sqrt();
            assert!(z.abs() < 4.0, "{sampler:?}, form {at}: mean off by {z:.1} standard errors");
        }
    }
}

#[test]
fn components_are_kept_whatever_is_drawn() {
    for (name, graph) in nasty_graphs() {
        let expected = graph.components();
        for sampler in Sampler::ALL.iter().copied() {
            let params = SparsifyParams { budget: Budget::Edges(1), sampler, ..SparsifyParams::default() };
            let (sparse, _) = sparsified(&graph, params, 3);
            if sampler != Sampler::KelnerLevin {
                assert_eq!(sparse.components(), expected, "{name}, {sampler:?}");
            }
        }
    }
}

#[test]
fn portions_and_threads_do_not_show() {
    let edges = stream();
    for sampler in Sampler::ALL.iter().copied() {
        let params = in_blocks(sampler, edges.len(), 1500, 4);
        let result = |threads: usize, portion: usize| {
            let run = Run::new(Some(threads), 9).unwrap();
            let mut sparsifier = Sparsifier::new(300, params.clone(), &run).unwrap();
            for portion in edges.chunks(portion) {
                sparsifier.add(portion, &run).unwrap();
                if portion.len() == 777 {
                    sparsifier.snapshot(&run).unwrap();
                }
            }
            let (graph, report) = sparsifier.finish(&run).unwrap();
            (graph, report.probe_ratios)
        };
        let expected = result(1, edges.len());
        assert!(expected.0.n_edges() < edges.len(), "{sampler:?}");
        assert_eq!(result(2, 777), expected, "{sampler:?}");
        assert_eq!(result(7, 1), expected, "{sampler:?}");
    }
}

#[test]
fn the_unit_of_the_weights_does_not_show() {
    let graph = neighbors(200, 60);
    let weights = |edges: Vec<Edge>, exponent: i32| -> Vec<Edge> {
        // In two steps: 2^-1040 alone is no normal number.
        let unit = |weight: f64| weight * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        edges.into_iter().zip(0u32..).map(|(e, at)| Edge { weight: unit(1.0 + f64::from(at % 8)), ..e }).collect()
    };
    for sampler in Sampler::ALL.iter().copied() {
        let params = in_blocks(sampler, graph.n_edges(), 1000, 4);
        let found = |exponent: i32| {
            let edges = weights(shuffled(&graph, 5), exponent);
            let (sparse, report) = sparsify(&Edges(200, &edges), params.clone(), &run(1)).unwrap();
            (sparse, report.probe_ratios.unwrap(), report.warnings)
        };
        let (expected, ratios, _) = found(0);
        assert!(expected.n_edges() < graph.n_edges(), "{sampler:?}");
        for exponent in [990, 600, -600, -1022, -1040] {
            let (sparse, other_ratios, warnings) = found(exponent);
            assert_eq!((other_ratios, warnings), (ratios, vec![]), "{sampler:?} 2^{exponent}");
            let [ours, theirs] = [&sparse, &expected].map(Graph::adjacency);
            assert_eq!(ours.indices(), theirs.indices(), "{sampler:?} 2^{exponent}");
            let unit = |weight: &f64| weight * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            assert!(
                ours.values().iter().eq(theirs.values().iter().map(unit).collect::<Vec<_>>().iter()),
                "{sampler:?}"
            );
        }
    }
}

/// No unit brings these together: what cannot be compared is said.
#[test]
fn weights_too_far_apart_end_in_order() {
    let graph = neighbors(100, 40);
    for (first, then) in [(1e-300, 1e300), (1e300, 1e-300), (5e-324, 1.0), (1.0, 1e300), (1e-200, 1e200)] {
        for sampler in Sampler::ALL.iter().copied() {
            let edges: Vec<Edge> = shuffled(&graph, 3)
                .into_iter()
                .enumerate()
                .map(|(at, e)| Edge { weight: if at < graph.n_edges() / 2 { first } else { then }, ..e })
                .collect();
            let params = in_blocks(sampler, edges.len(), 400, 4);
            let found = sparsify(&Edges(100, &edges), params, &run(1));
            let (sparse, report) = match found {
                Ok(found) => found,
                Err(error) => {
                    assert!(matches!(error, Error::Graph { .. }), "{sampler:?} {first} {then}: {error}");
                    continue;
                }
            };
            assert!(
                sparse.adjacency().values().iter().all(|w| w.is_finite() && *w > 0.0),
                "{sampler:?} {first} {then}"
            );
            let is_compared = report.probe_ratios.is_some_and(|[low, high]| low.is_finite() && high.is_finite());
            assert!(is_compared || !report.warnings.is_empty(), "{sampler:?} {first} {then}: {report:?}");
        }
    }
}

#[test]
fn a_long_stream_takes_few_rounds() {
    // A round is due whenever the graph has grown by as many times as the capacity exceeds the budget, not for every
    // capacity of edges.
    let complete: Vec<(u32, u32, f64)> = (0..400).flat_map(|u| (0..u).map(move |v| (v, u, 1.0))).collect();
    let graph = Graph::from_edges(400, &complete).unwrap();
    for sampler in [Sampler::Streaming, Sampler::Degree, Sampler::Uniform, Sampler::Auto] {
        let params =
            SparsifyParams { sampler, budget: Budget::Edges(4000), capacity: Some(8000), ..Default::default() };
        let (sparse, report) = sparsified(&graph, params, 2);
        assert!((3..=7).contains(&report.rounds), "{sampler:?}: {report:?}");
        assert!(report.peak_edges <= 8000 && report.n_kept < 6000, "{sampler:?}: {report:?}");
        let weight: f64 = shuffled(&sparse, 0).iter().map(|e| e.weight).sum();
        assert!((weight / complete.len() as f64 - 1.0).abs() < 0.1, "{sampler:?}: {weight}");
    }
}

#[test]
fn an_edge_that_joins_components_is_never_refused() {
    // Two cliques, thinned long before the one edge between them comes, twice, and some of them again.
    let clique =
        |first: u32| (first..first + 60).flat_map(move |u| (first..u).map(move |v| Edge { u: v, v: u, weight: 1.0 }));
    let mut edges: Vec<Edge> = clique(0).chain(clique(60)).collect();
    edges.shuffle(&mut run(1).rng(Stream::Synthetic, 2));
    edges.extend([Edge { u: 3, v: 70, weight: 1e-3 }; 2]);
    let again: Vec<Edge> = clique(0).collect();
    edges.extend(&again);
    let source = Edges(120, &edges);
    for sampler in [Sampler::Streaming, Sampler::Degree, Sampler::Uniform, Sampler::Auto] {
        for seed in 0..5 {
            let params =
                SparsifyParams { sampler, budget: Budget::Edges(400), capacity: Some(800), ..Default::default() };
            let (sparse, report) = sparsify(&source, params, &run(seed)).unwrap();
            assert!(report.rounds > 1 && sparse.n_edges() < 700, "{report:?}");
            let cut: Vec<Edge> = shuffled(&sparse, 0).into_iter().filter(|e| (e.u < 60) != (e.v < 60)).collect();
            assert!(cut.len() == 1 && cut[0].weight >= 1e-3 && cut[0].weight < 0.1, "{sampler:?}, {seed}: {cut:?}");
        }
    }
}

#[test]
fn resistances_of_any_range_are_told_apart() {
    // Within the cliques places differ by less than single precision has beside the distance between them.
    let clique = |first: u32| (first..first + 100).flat_map(move |u| (first..u).map(move |v| (v, u, 1.0)));
    for (bridge, unit) in [(1e-16, 1.0), (1.0, 1e-90), (1e-16, 1e90)] {
        let edges: Vec<(u32, u32, f64)> = clique(0).chain(clique(100)).chain([(0, 100, bridge)]).collect();
        let edges: Vec<_> = edges.into_iter().map(|(u, v, weight)| (u, v, weight * unit)).collect();
        let graph = Graph::from_edges(200, &edges).unwrap();
        let params = SparsifyParams { budget: Budget::Edges(2000), capacity: Some(4000), ..SparsifyParams::default() };
        let (sparse, report) = sparsified(&graph, params, 1);
        assert!((1500..3000).contains(&report.n_kept) && report.rounds < 6, "{bridge} {unit}: {report:?}");
        let inside: f64 = shuffled(&sparse, 0).iter().filter(|e| (e.u < 100) == (e.v < 100)).map(|e| e.weight).sum();
        assert!((inside / (2.0 * 4950.0 * unit) - 1.0).abs() < 0.1, "{bridge} {unit}: {inside}");
        assert_eq!(sparse.components().sizes.len(), 1);
    }
}

#[test]
fn auto_sees_weak_cuts_that_come_late() {
    // Clusters in a chain of strong links; the light edge that closes the ring comes last, when no weak cut is held.
    let size = 40;
    let mut edges = Vec::new();
    let clique = |first: u32| (first..first + size).flat_map(move |u| (first..u).map(move |v| (v, u, 1.0)));
    (0..24).for_each(|cluster| edges.extend(clique(cluster * size)));
    for cluster in 0..23 {
        edges.extend((0..size).map(|at| (cluster * size + at, (cluster + 1) * size + at, 0.5)));
    }
    let mut edges: Vec<Edge> = edges.into_iter().map(|(u, v, weight)| Edge { u, v, weight }).collect();
    edges.shuffle(&mut run(1).rng(Stream::Synthetic, 2));
    let closing = Edge { u: 3, v: 23 * size + 3, weight: 0.5 };
    edges.push(closing);
    let params = SparsifyParams { sampler: Sampler::Auto, budget: Budget::Edges(4400), ..SparsifyParams::default() };
    let mut n_kept = 0;
    for seed in 0..10 {
        let params = SparsifyParams { capacity: Some(8800), ..params.clone() };
        let (sparse, report) = sparsify(&Edges(960, &edges), params, &run(seed)).unwrap();
        assert!(report.rounds > 1, "{report:?}");
        n_kept += shuffled(&sparse, 0).iter().filter(|e| e.u < size && e.v >= 23 * size).count();
    }
    // By degree it would stay with a probability of about a ninth.
    assert!(n_kept >= 9, "{n_kept} of 10");
}

#[test]
fn a_snapshot_is_the_graph_itself_until_there_is_too_much() {
    let graph = neighbors(100, 10);
    let edges = shuffled(&graph, 1);
    let mut sparsifier = Sparsifier::new(100, SparsifyParams::default(), &run(0)).unwrap();
    sparsifier.add(&edges, &run(0)).unwrap();
    assert_eq!(sparsifier.snapshot(&run(0)).unwrap(), graph);
    assert_eq!(sparsifier.report(&run(0)).probe_ratios, None);
    let (finished, report) = sparsifier.finish(&run(0)).unwrap();
    assert_eq!((&finished, report.rounds), (&graph, 0));
}

#[test]
fn loops_and_zeros_are_counted_and_repeated_edges_add_up() {
    let edge = |u, v, weight| Edge { u, v, weight };
    let mut sparsifier = Sparsifier::new(3, SparsifyParams::default(), &run(0)).unwrap();
    let edges = [edge(0, 1, 1.0), edge(1, 1, 5.0), edge(1, 0, 2.0), edge(1, 2, 0.0), edge(2, 0, 4.0)];
    sparsifier.add(&edges, &run(0)).unwrap();
    let text = sparsifier.add(&[edge(0, 2, 1.0), edge(0, 3, 1.0)], &run(0)).unwrap_err().to_string();
    assert!(text.contains("row 6 of the edges: node 3 is out of range"), "{text}");
    let (graph, report) = sparsifier.finish(&run(0)).unwrap();
    assert_eq!(graph, Graph::from_edges(3, &[(0, 1, 3.0), (0, 2, 5.0)]).unwrap());
    assert_eq!((report.n_edges, report.n_dropped, report.n_kept), (4, 2, 2));
}
