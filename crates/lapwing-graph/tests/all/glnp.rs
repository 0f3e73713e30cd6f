//! Global linear neighborhoods on handwritten digits: the curves of the objective that are known for them.

use std::path::Path;
use std::time::Instant;

use lapwing_core::{Features, Run};
use lapwing_graph::low_rank::{GlnpCenters, GlnpFactor, GlnpParams, GlnpSolver, GlnpStart, glnp};
use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;

const ROWS: usize = 4000;
const PIXELS: usize = 784;
const RANK: usize = 50;

/// The first rows of MNIST in [0, 1], where the data set is at hand.
fn digits(run: &Run) -> Option<Vec<f32>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = std::env::var_os("LAPWING_DATA").map_or(beside, Into::into).join("mnist.npz");
    if !file.exists() {
        eprintln!("skipped: no {}", file.display());
        return None;
    }
    let samples = read_samples(&file, &ReadOptions::default(), run).unwrap();
    let Features::Dense(dense) = samples.features else { return None };
    let mut values = vec![0.0; ROWS * PIXELS];
    dense.copy_rows_f32(0..ROWS, &mut values);
    values.iter_mut().for_each(|value| *value /= 255.0);
    Some(values)
}

/// Centers after ten rounds of Lloyd's algorithm from evenly spaced rows.
fn centers(x: &[f32]) -> Vec<f32> {
    let mut centers: Vec<f32> =
        (0..RANK).flat_map(|g| x[g * (ROWS / RANK) * PIXELS..][..PIXELS].iter().copied()).collect();
    for _ in 0..10 {
        let (mut sums, mut sizes) = (vec![0.0f32; RANK * PIXELS], [0.0f32; RANK]);
        for row in x.chunks_exact(PIXELS) {
            let distance = |center: &[f32]| row.iter().zip(center).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
            let nearest = centers.chunks_exact(PIXELS).map(distance).enumerate();
            let (nearest, _) = nearest.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            sizes[nearest] += 1.0;
            sums[nearest * PIXELS..][..PIXELS].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        for ((center, sum), size) in centers.chunks_exact_mut(PIXELS).zip(sums.chunks_exact(PIXELS)).zip(sizes) {
            center.iter_mut().zip(sum).for_each(|(center, sum)| *center = sum / size.max(1.0));
        }
    }
    centers
}

/// Q/‖X‖² at the start and after 10, 30 and 60 iterations.
fn shares(found: &GlnpFactor) -> [f64; 4] {
    [0, 10, 30, 60].map(|at: usize| found.objective[at.min(found.n_iter)] / found.squared_norm)
}

#[test]
fn digits_follow_their_known_curves() {
    let run = Run::new(Some(2), 0).unwrap();
    let Some(x) = digits(&run) else { return };
    let centers = centers(&x);
    let features = Features::from_f32(ROWS, PIXELS, x).unwrap();
    let fit = |solver, start| {
        let params = GlnpParams { rank: RANK, solver, start, max_iter: 60, tol: 0.0 };
        let clock = Instant::now();
        let found = glnp(&features, Some(GlnpCenters { values: &centers, offset: &[] }), &params, &run).unwrap();
        let milliseconds = clock.elapsed().as_secs_f64() * 1e3 / found.n_passes as f64;
        let shares = shares(&found);
        eprintln!("{solver:?} {start:?}: {shares:.3?}, {} passes of {milliseconds:.1} ms", found.n_passes);
        assert!(found.n_passes < 85, "{}", found.n_passes);
        (found, shares)
    };
    let near = |found: [f64; 4], expected: [f64; 4], tol: f64| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < tol), "{found:?}, expected {expected:?}");
    };
    // Another start of the clusters, and with it other digits in the third place.
    let (found, accelerated) = fit(GlnpSolver::AcceleratedGradient, GlnpStart::KMeans);
    near(accelerated, [0.362, 0.320, 0.297, 0.291], 0.01);
    near(fit(GlnpSolver::Multiplicative, GlnpStart::KMeans).1, [0.362, 0.331, 0.324, 0.316], 0.01);
    let uniform = fit(GlnpSolver::AcceleratedGradient, GlnpStart::Uniform).1;
    near([uniform[0], uniform[1], 0.0, 0.0], [0.599, 0.561, 0.0, 0.0], 0.01);
    // Rows of the fit, extended as if they were new, are approximated no worse.
    let extended = found.extension.extend(&features, &run).unwrap();
    let trace: f64 = (0..RANK).map(|at| found.extension.gram().row(at)[at]).sum();
    assert!(trace > 0.0 && extended.values().iter().all(|f| *f >= 0.0 && f.is_finite()));
}
