//! Streams of edges against fits of the window.

use lapwing_core::{Edge, Labels, Run, Targets};
use lapwing_graph::GraphParams;

use super::super::*;

fn threads(count: usize) -> Run {
    Run::new(Some(count), 0).unwrap()
}

/// Two communities of nodes, of which the first two are labeled, and edges that are nine times in ten within one.
fn community_stream(n: usize, count: usize, seed: u64) -> Vec<Edge> {
    let next = |at: u64| lapwing_core::hash::mix(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let edge = |at: u64| {
        let (u, other) = ((next(3 * at) % n as u64) as u32, (next(3 * at + 1) % (n as u64 / 2)) as u32 * 2);
        let same = next(3 * at + 2) % 10 != 0;
        Edge { u, v: other + u32::from((u % 2 == 1) == same), weight: 1.0 + f64::from(u % 3) }
    };
    (0..count as u64).map(edge).collect()
}

fn stream_of(n: usize, window: usize, settle: f64) -> (HarmonicStream, Targets) {
    let labels = Labels::from_integers((0..n).map(|row| (row < 40).then_some((row % 2) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let harmonic = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    let params = StreamParams { window, settle };
    (HarmonicStream::new(harmonic, params, targets.clone()).unwrap(), targets)
}

#[test]
fn answers_over_a_stream_are_those_of_fits() {
    let (n, run) = (600, threads(2));
    let edges = community_stream(n, 30_000, 5);
    let (mut stream, targets) = stream_of(n, 6000, 1e-3);
    let (mut fits, mut relaxed) = (0, 0);
    for portion in edges.chunks(300) {
        stream.add(portion).unwrap();
        let answer = stream.answer(&run).unwrap();
        (fits, relaxed) = (fits + usize::from(answer.is_fit), relaxed + usize::from(!answer.is_fit));
        assert!(answer.residual < 0.01, "{} after {} edges", answer.residual, stream.n_seen());
        // The solution is that of the graph of the window with the γ of the last fit.
        let graph_reg = answer.report.chosen["graph_reg"].as_f64().unwrap();
        let params = HarmonicParams { graph_reg: Some(graph_reg), form: Form::Plain, ..HarmonicParams::default() };
        let exact = super::harmonic(&stream.window().graph(&run).unwrap(), &targets, &params, &run).unwrap();
        let found = answer.labeling.scores.as_ref();
        for class in 0..2 {
            let apart = |row: usize| found.row(row)[class] - exact.scores.row(row)[class];
            let rows: Vec<usize> = (0..n).filter(|&row| exact.reached[row]).collect();
            assert!((0..n).all(|row| exact.reached[row] == answer.labeling.reached[row]));
            let mean = rows.iter().map(|&row| apart(row)).sum::<f64>() / rows.len() as f64;
            let spread =
                (rows.iter().map(|&row| exact.scores.row(row)[class].powi(2)).sum::<f64>() / rows.len() as f64).sqrt();
            let most = rows.iter().map(|&row| (apart(row) - mean).abs()).fold(0.0, f64::max);
            assert!(most < 0.05 * spread, "{most} of {spread} after {} edges", stream.n_seen());
        }
    }
    assert!(fits < 20 && relaxed > 80, "{fits} fits, {relaxed} relaxed");
    let right = (40..n).filter(|&row| stream.answer(&run).unwrap().labeling.labels[row] as usize == row % 2).count();
    assert!(right > 540, "{right}");
}

#[test]
fn a_stream_forgets_what_left_the_window() {
    let (n, run) = (200, threads(2));
    let (mut stream, _) = stream_of(n, 2000, 0.02);
    stream.add(&community_stream(n, 2000, 7)).unwrap();
    assert!(stream.answer(&run).unwrap().labeling.reached.iter().all(|reached| *reached));
    // From here on only the first hundred nodes have edges, and node 60 none at all.
    let near: Vec<Edge> = community_stream(100, 2500, 9).into_iter().filter(|e| e.u != 60 && e.v != 60).collect();
    for portion in near[..2200].chunks(50) {
        stream.add(portion).unwrap();
        stream.answer(&run).unwrap();
    }
    let answer = stream.answer(&run).unwrap();
    assert!(answer.labeling.reached[59] && !answer.labeling.reached[60] && !answer.labeling.reached[150]);
    let (fresh, _) = stream_of(n, 2000, 0.02);
    let mut fresh = fresh;
    fresh.add(&near[200..2200]).unwrap();
    let expected = fresh.answer(&run).unwrap().labeling;
    let same = (0..n).filter(|&row| expected.labels[row] == answer.labeling.labels[row]).count();
    assert!(same >= 196, "{same}");
}

/// Edges of weight 1e25 leave, and those of weight 1 that stay are less than the rounding of their sums.
#[test]
fn heavy_edges_leave_nothing_behind() {
    let (n, run) = (100, threads(2));
    let (mut stream, targets) = stream_of(n, 600, 0.02);
    let heavy = |edges: Vec<Edge>| edges.into_iter().map(|edge| Edge { weight: 1e25 * edge.weight, ..edge });
    let all: Vec<Edge> = heavy(community_stream(n, 300, 3))
        .chain(community_stream(n, 300, 4))
        .chain(community_stream(n, 300, 5))
        .collect();
    stream.add(&all[..600]).unwrap();
    stream.answer(&run).unwrap();
    stream.add(&all[600..]).unwrap();
    let found = stream.answer(&run).unwrap();
    assert!(found.is_fit);
    let (mut fresh, _) = stream_of(n, 600, 0.02);
    fresh.set_targets(targets).unwrap();
    fresh.add(&all[300..]).unwrap();
    let expected = fresh.answer(&run).unwrap();
    assert_eq!(found.labeling.labels, expected.labeling.labels);
}

#[test]
fn streams_do_not_depend_on_threads_or_portions() {
    let edges = community_stream(300, 6000, 11);
    let last = |count: usize, portion: usize| {
        let (mut stream, _) = stream_of(300, 2000, 0.02);
        let run = threads(count);
        for edges in edges.chunks(500) {
            edges.chunks(portion).for_each(|edges| stream.add(edges).unwrap());
            stream.answer(&run).unwrap();
        }
        stream.answer(&run).unwrap().labeling.scores
    };
    assert!(last(1, 500) == last(7, 500) && last(1, 500) == last(2, 3));
}

#[test]
fn what_cannot_be_streamed_is_named() {
    let labels = Labels::from_integers((0..5).map(|row| (row < 2).then_some(row as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let of = |params| {
        HarmonicStream::new(
            Harmonic::new(params, GraphParams::default()).unwrap(),
            StreamParams::default(),
            targets.clone(),
        )
    };
    let stable = of(HarmonicParams { form: Form::Stable, ..HarmonicParams::default() });
    assert!(stable.unwrap_err().to_string().contains("auto or plain"));
    let infinite = of(HarmonicParams { graph_reg: Some(f64::INFINITY), ..HarmonicParams::default() });
    assert!(infinite.unwrap_err().to_string().starts_with("graph_reg is inf"));
    let mut stream = of(HarmonicParams::default()).unwrap();
    let edge = |u, v, weight| Edge { u, v, weight };
    stream.add(&[edge(0, 1, 1.0)]).unwrap();
    let text = |edges: &[Edge], stream: &mut HarmonicStream| stream.add(edges).unwrap_err().to_string();
    assert!(text(&[edge(0, 1, 1.0), edge(0, 9, 1.0)], &mut stream).contains("row 2 of the edges: node 9"));
    assert!(text(&[edge(0, 1, f64::NAN)], &mut stream).contains("row 1 of the edges: weight NaN"));
    assert!(text(&[edge(0, 1, 1e-200)], &mut stream).contains("scale all weights"));
    assert_eq!((stream.n_seen(), stream.window().n_edges()), (1, 1));
    stream.set_targets(targets.clone()).unwrap();
    assert!(stream.answer(&threads(1)).unwrap().is_fit);
}
