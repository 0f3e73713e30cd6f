//! Sparsifiers that are kept as bytes or in a checkpoint, and go on.

use super::*;

#[test]
fn bytes_go_on_to_the_same_result() {
    let edges = stream();
    for sampler in Sampler::ALL.iter().copied() {
        let params = in_blocks(sampler, edges.len(), 1200, 8);
        let mut sparsifier = Sparsifier::new(300, params, &run(4)).unwrap();
        let (first, rest) = edges.split_at(edges.len() / 2 + 17);
        sparsifier.add(first, &run(4)).unwrap();
        let bytes = sparsifier.to_bytes().unwrap();
        let mut other = Sparsifier::from_bytes(&bytes).unwrap();
        assert_eq!(other.n_rows(), first.len() as u64);
        let [expected, found] = [&mut sparsifier, &mut other].map(|sparsifier| {
            sparsifier.add(rest, &run(4)).unwrap();
            sparsifier.clone().finish(&run(4)).unwrap()
        });
        assert_eq!((found.0, found.1.probe_ratios), (expected.0, expected.1.probe_ratios), "{sampler:?}");
        assert!(Sparsifier::from_bytes(&bytes[..bytes.len() / 2]).is_err());
        assert!(Sparsifier::from_bytes(b"no sparsifier").unwrap_err().to_string().contains("sparsifier"));
    }
}

/// Checkpoints of an earlier version, after 200 edges or with a round that was interrupted; see `tests/golden/README.md`.
#[test]
fn golden_checkpoints_go_on_to_the_same_result() {
    let all: Vec<Edge> =
        (0..24).flat_map(|u| (0..u).map(move |v| Edge { u, v, weight: f64::from(1 + (7 * u + v) % 5) })).collect();
    let edges: Vec<Edge> = (0..all.len()).map(|at| all[at * 37 % all.len()]).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let (budget, capacity, n_projections) = (Budget::Edges(30), Some(80), 4);
    for sampler in [Sampler::Streaming, Sampler::KelnerLevin, Sampler::Uniform, Sampler::Ridge, Sampler::Auto] {
        let params = SparsifyParams { sampler, budget, capacity, n_projections, ..SparsifyParams::default() };
        let (expected, whole) = sparsify(&Edges(24, &edges), params.clone(), &run(3)).unwrap();
        for state in ["", "_due"] {
            let path = folder.join(format!("sparsifier_{}{state}.checkpoint", sampler.name()));
            let mut resumed = Checkpoint::new(&path).resume(24, &params, &run(3)).unwrap().unwrap();
            let rows = resumed.n_rows() as usize;
            assert!(rows > 0 && rows < edges.len() && resumed.report(&run(3)).n_edges == rows as u64);
            resumed.add(&edges[rows..], &run(3)).unwrap();
            let (found, report) = resumed.finish(&run(3)).unwrap();
            assert_eq!(found, expected, "{sampler:?}{state}");
            // The factor behind the probes of the checkpoint may round otherwise than today's.
            assert_eq!(report.probe_ratios.is_some(), whole.probe_ratios.is_some(), "{sampler:?}{state}");
            let ratios = |ratios: Option<[f64; 2]>| ratios.into_iter().flatten();
            for (found, expected) in ratios(report.probe_ratios).zip(ratios(whole.probe_ratios)) {
                assert!((found / expected - 1.0).abs() < 1e-14, "{sampler:?}{state}: {found} {expected}");
            }
        }
    }
}

#[test]
fn damaged_bytes_are_refused_or_harmless() {
    let graph = neighbors(60, 30);
    let edges = shuffled(&graph, 5);
    let (first, rest) = edges.split_at(edges.len() * 2 / 3);
    let mut rng = run(8).rng(Stream::Synthetic, 3);
    for sampler in [Sampler::Streaming, Sampler::Degree, Sampler::Ridge] {
        let mut sparsifier = Sparsifier::new(60, in_blocks(sampler, edges.len(), 150, 8), &run(4)).unwrap();
        sparsifier.add(first, &run(4)).unwrap();
        let bytes = sparsifier.to_bytes().unwrap();
        let mut n_refused = 0;
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = rng.random_range(0..damaged.len());
            damaged[at] = rng.random();
            match Sparsifier::from_bytes(&damaged) {
                Ok(mut sparsifier) => drop(sparsifier.add(rest, &run(4)).and_then(|()| sparsifier.finish(&run(4)))),
                Err(_) => n_refused += 1,
            }
        }
        assert!(n_refused > 0, "{sampler:?}");
    }
}

#[test]
fn what_was_interrupted_is_done_again() {
    let edges = stream();
    for sampler in [Sampler::Streaming, Sampler::KelnerLevin, Sampler::Degree, Sampler::Ridge] {
        let params = in_blocks(sampler, edges.len(), 900, 12);
        let source = Edges(300, &edges);
        let (expected, whole) = sparsify(&source, params.clone(), &run(9)).unwrap();
        let mut sparsifier = Sparsifier::new(300, params, &run(9)).unwrap();
        let (mut stops, mut taken) = (0, 0);
        while taken < edges.len() {
            let cancel = CancelToken::default();
            let stopped = run(9).with_cancel(cancel.clone());
            // Every round is stopped before it has done anything, and once more when it is tried again.
            cancel.cancel();
            for portion in edges[taken..].chunks(97) {
                match sparsifier.add(portion, &stopped) {
                    Ok(()) => continue,
                    Err(Error::Interrupted) => stops += 1,
                    Err(error) => panic!("{error}"),
                }
                assert!(matches!(sparsifier.add(&[], &stopped), Err(Error::Interrupted)));
                sparsifier.snapshot(&run(9)).unwrap();
                sparsifier = Sparsifier::from_bytes(&sparsifier.to_bytes().unwrap()).unwrap();
                sparsifier.add(&[], &run(9)).unwrap();
                break;
            }
            taken = sparsifier.n_rows() as usize;
        }
        let (found, report) = sparsifier.finish(&run(9)).unwrap();
        assert!(stops >= 3, "{stops}");
        assert_eq!((found, report.probe_ratios), (expected, whole.probe_ratios), "{sampler:?}");
    }
}

#[test]
fn a_checkpoint_goes_on_to_the_same_bytes() {
    let folder = std::env::temp_dir().join(format!("lapwing-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let edges = stream();
    let source = Edges(300, &edges);
    for sampler in [Sampler::Streaming, Sampler::Ridge, Sampler::KelnerLevin] {
        let path = folder.join(sampler.name());
        let params = in_blocks(sampler, edges.len(), 1200, 8);
        let (expected, whole) = sparsify(&source, params.clone(), &run(4)).unwrap();
        let mut checkpoint = Checkpoint::new(&path);
        assert!(checkpoint.resume(300, &params, &run(4)).unwrap().is_none());
        // Stopped in the middle, some edges after the last checkpoint.
        let mut sparsifier = Sparsifier::new(300, params.clone(), &run(4)).unwrap();
        for portion in edges[..edges.len() * 2 / 3].chunks(100) {
            let rounds = sparsifier.n_rounds();
            sparsifier.add(portion, &run(4)).unwrap();
            if sparsifier.n_rounds() > rounds && rounds < 2 {
                checkpoint = Checkpoint::new(&path);
                checkpoint.keep(&sparsifier).unwrap();
            }
        }
        drop(sparsifier);
        let mut resumed = checkpoint.resume(300, &params, &run(4)).unwrap().unwrap();
        assert!(resumed.n_rows() > 0 && resumed.n_rows() < edges.len() as u64 * 2 / 3);
        resumed.read(&source, Some(&mut checkpoint), &run(4)).unwrap();
        let (found, report) = resumed.finish(&run(4)).unwrap();
        assert_eq!(found, expected, "{sampler:?}");
        assert_eq!((report.probe_ratios, report.rounds), (whole.probe_ratios, whole.rounds));
        let refusal =
            |params: &SparsifyParams, seed| checkpoint.resume(300, params, &run(seed)).unwrap_err().to_string();
        assert!(refusal(&SparsifyParams::default(), 4).contains("other parameters"));
        assert!(refusal(&params, 5).contains("another seed"));
        checkpoint.clear().unwrap();
        assert!(checkpoint.resume(300, &params, &run(4)).unwrap().is_none());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Wherever one of the rows that were read is another now; whatever follows them is free.
#[test]
fn a_checkpoint_of_other_edges_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let edges = stream();
    let params = in_blocks(Sampler::Streaming, edges.len(), 1200, 8);
    let checkpoint = Checkpoint::new(&folder.path().join("state"));
    let mut sparsifier = Sparsifier::new(300, params.clone(), &run(4)).unwrap();
    let half = edges.len() / 2;
    sparsifier.add(&edges[..half], &run(4)).unwrap();
    let resumed = |edges: &[Edge]| {
        // Those that get on write over it.
        checkpoint.clone().keep(&sparsifier).unwrap();
        let source = Edges(300, edges);
        let mut resumed = checkpoint.resume(300, &params, &run(4)).unwrap().unwrap();
        assert_eq!(resumed.n_rows(), half as u64);
        resumed.read(&source, Some(&mut checkpoint.clone()), &run(4))?;
        resumed.finish(&run(4)).map(|(graph, _)| graph)
    };
    for row in [0, half / 2, half - 1] {
        let mut other = edges.clone();
        other[row].weight *= 2.0;
        let text = resumed(&other).unwrap_err().to_string();
        assert!(text.contains(&format!("the first {half} rows are not those that were read before")), "{text}");
        assert!(text.contains("remove the checkpoint") && text.contains("state"), "{text}");
    }
    let mut other = edges.clone();
    other.swap(3, 4);
    assert!(resumed(&other).is_err() && resumed(&edges[..half - 1]).is_err() && resumed(&[]).is_err());
    other = edges.clone();
    other[half].weight *= 2.0;
    other.pop();
    let whole = sparsify(&Edges(300, &other), params.clone(), &run(4)).unwrap().0;
    assert_eq!(resumed(&other).unwrap(), whole);
    assert!(resumed(&edges).is_ok());
}

#[test]
fn every_changed_byte_of_a_sparsifier_is_refused() {
    let edges = shuffled(&neighbors(30, 6), 5);
    let mut sparsifier = Sparsifier::new(30, in_blocks(Sampler::Streaming, edges.len(), 60, 2), &run(4)).unwrap();
    sparsifier.add(&edges, &run(4)).unwrap();
    let bytes = sparsifier.to_bytes().unwrap();
    assert!(Sparsifier::from_bytes(&bytes).is_ok());
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        let text = Sparsifier::from_bytes(&other).unwrap_err().to_string();
        assert!(text.contains("the file is damaged"), "byte {at}: {text}");
    }
}
