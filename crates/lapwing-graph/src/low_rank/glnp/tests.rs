//! Learned factors against golden figures, dense gradients and each other.

use std::sync::Arc;

use lapwing_core::{CancelToken, Features, Progress, RowReader};

use super::course::Iterate;
use super::multiplicative::update;
use super::step::{Point, step};
use super::*;
use crate::golden::golden;
use crate::testkit::{blobs, dense_values};

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 5).unwrap()
}

/// Rows made of bytes, none below 0.
fn counts(n: usize, d: usize) -> Features<'static> {
    let value = |at: usize| ((at * 7919 + at / d * 104_729) % 251) as u8 / (1 + (at / d % 3 * at % 5) as u8);
    Features::from_u8(n, d, (0..n * d).map(value).collect()).unwrap()
}

/// The first k rows as centers.
fn first_rows(features: &Features<'_>, k: usize) -> Vec<f32> {
    dense_values(features)[..k * features.n_cols()].iter().map(|&x| x as f32).collect()
}

fn params(rank: usize, solver: GlnpSolver) -> GlnpParams {
    GlnpParams { rank, solver, max_iter: 20, tol: 0.0, ..GlnpParams::default() }
}

fn fit(features: &Features<'_>, params: &GlnpParams, run: &Run) -> GlnpFactor {
    let centers = first_rows(features, params.rank);
    glnp(features, Some(GlnpCenters { values: &centers, offset: &[] }), params, run).unwrap()
}

/// ‖X − F·Fᵀ·X‖² entry by entry.
fn direct(x: &[f64], f: &[f64], d: usize, k: usize) -> f64 {
    let n = x.len() / d;
    let e = |a: usize, j: usize| (0..n).map(|i| f[i * k + a] * x[i * d + j]).sum::<f64>();
    let e: Vec<f64> = (0..k * d).map(|at| e(at / d, at % d)).collect();
    let residual = |at: usize| x[at] - (0..k).map(|a| f[at / d * k + a] * e[a * d + at % d]).sum::<f64>();
    (0..n * d).map(|at| residual(at).powi(2)).sum()
}

/// ∇Q(F) (n, k), by one step of length 1 far from the bound at 0.
fn gradient(rows: &OffsetRows<'_>, at: &Iterate) -> Vec<f64> {
    let k = at.moments.k;
    let (of_rows, of_factor) = at.moments.gradient_maps();
    let mut out = vec![0.0; rows.n * k];
    rows.pass(&mut out, &mut [(); 4], |(), tile, out| {
        lapwing_solve::products::product(tile.x, &of_rows, rows.d, out);
        let f = &at.factor[tile.first * k..tile.first * k + out.len()];
        lapwing_solve::products::add_product(f, &of_factor, k, out);
    })
    .unwrap();
    out
}

fn close(found: &[f64], expected: &[f64], tol: f64) -> bool {
    let most = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tol * most)
}

#[test]
fn golden_figures_are_met() {
    let floats = |name: &str| golden("glnp_150.npz", name);
    let (n, d, k, run) = (150, 8, 10, run(2));
    let raw = floats("X_raw");
    let least = raw.iter().copied().fold(f64::INFINITY, f64::min);
    let x = Matrix::new(n, d, floats("X")).unwrap();
    assert!(close(&raw.iter().map(|x| x - least).collect::<Vec<_>>(), x.values(), 1e-15));
    let rows = OffsetRows::double(&x, &run);
    let (mut at, squared_norm) = start::begin(&rows, floats("F0"), k).unwrap();
    let trace = floats("Q_trace");
    assert!(close(&[at.moments.objective(squared_norm)], &floats("Q0"), 1e-12));
    assert!(close(&gradient(&rows, &at), &floats("grad0"), 1e-12));
    for (iteration, expected) in trace.iter().enumerate().skip(1) {
        update(&rows, &mut at).unwrap();
        // The trace was summed another way: differences of 1e-13·‖X‖² in sums are not of the updates.
        let found = at.moments.objective(squared_norm);
        assert!((found - expected).abs() < 1e-6 * expected + 1e-12 * squared_norm, "{iteration}: {found} {expected}");
        // An update amplifies rounding while it leaves the saddle: 1e-9, then 1e-6.
        if let Some(tol) =
            [(1, 1e-9), (5, 1e-9), (50, 1e-6)].iter().find(|(at, _)| *at == iteration).map(|(_, tol)| tol)
        {
            assert!(close(&at.factor, &floats(&format!("F_{iteration}")), *tol), "{iteration}");
        }
    }
}

#[test]
fn the_objective_and_its_gradient_are_those_of_their_definition() {
    let (features, k, run) = (blobs(60, 7, 4), 3, run(2));
    let (rows, x) = (OffsetRows::new(&features, &run), dense_values(&features));
    let factor = start::uniform(&rows, k, 0.1);
    let (at, squared_norm) = start::begin(&rows, factor, k).unwrap();
    let q = at.moments.objective(squared_norm);
    assert!((q - direct(&x, &at.factor, 7, k)).abs() < 1e-10 * squared_norm);
    let gradient = gradient(&rows, &at);
    let largest = gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
    for entry in 0..60 * k {
        let moved = |by: f64| {
            let mut f = at.factor.clone();
            f[entry] += by;
            direct(&x, &f, 7, k)
        };
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((gradient[entry] - difference).abs() < 1e-6 * largest, "{entry}");
    }
    // The results of a step from a point with momentum.
    let mut scaled = at.clone();
    scaled.scale(&run);
    let cross: Vec<f64> =
        (0..k * k).map(|e| (0..60).map(|i| scaled.factor[i * k + e / k] * at.factor[i * k + e % k]).sum()).collect();
    let beta = -0.3;
    let moments = Moments::beyond(&scaled.moments, &at.moments, &cross, beta);
    let y: Vec<f64> = scaled.factor.iter().zip(&at.factor).map(|(f, f0)| f + beta * (f - f0)).collect();
    let (there, _) = start::begin(&rows, y.clone(), k).unwrap();
    assert!(close(&moments.basis, &there.moments.basis, 1e-13) && close(&moments.gram, &there.moments.gram, 1e-13));
    let (g, s, mut next) = (super::tests::gradient(&rows, &there), 1e-3 / squared_norm, at.clone());
    let point = Point { now: &scaled, before: &at.factor, beta, moments: &moments };
    let found = step(&rows, &point, s, &mut next).unwrap();
    let to: Vec<f64> = y.iter().zip(&g).map(|(y, g)| (y - s * g).max(0.0)).collect();
    assert!(close(&next.factor, &to, 1e-12));
    let sum = |of: &dyn Fn(usize) -> f64| (0..60 * k).map(of).sum::<f64>();
    assert!(close(&[found.slope], &[sum(&|e| g[e] * (to[e] - y[e]))], 1e-9));
    assert!(close(&[found.moved], &[sum(&|e| (to[e] - y[e]).powi(2))], 1e-9));
    assert!(close(&[found.uphill], &[sum(&|e| (y[e] - to[e]) * (to[e] - scaled.factor[e]))], 1e-9));
    assert!(close(&[found.gradient], &[sum(&|e| if y[e] > 0.0 { g[e] } else { g[e].min(0.0) }.powi(2))], 1e-9));
    let (again, _) = start::begin(&rows, to, k).unwrap();
    assert!(close(&next.moments.outer, &again.moments.outer, 1e-11));
}

#[test]
fn objectives_fall() {
    for features in [counts(300, 12), blobs(300, 12, 5)] {
        for solver in [GlnpSolver::AcceleratedGradient, GlnpSolver::Multiplicative] {
            for start in [GlnpStart::KMeans, GlnpStart::Uniform] {
                let params = GlnpParams { start, max_iter: 60, ..params(5, solver) };
                let found = fit(&features, &params, &run(2));
                assert!(
                    found.objective.is_sorted_by(|a, b| *b <= a + 1e-12 * found.squared_norm),
                    "{solver:?} {start:?}"
                );
                assert!(found.objective[found.n_iter] < found.objective[0]);
                assert!(found.factor.values().iter().all(|f| *f >= 0.0));
                assert_eq!(found.n_iter + 1, found.objective.len());
                let passes = found.n_passes - found.n_iter;
                assert!(passes >= 1 && passes < found.n_iter, "{passes} passes more than iterations");
            }
        }
    }
}

#[test]
fn multiplicative_updates_forget_the_scale() {
    let (features, run) = (counts(100, 6), run(1));
    let rows = OffsetRows::new(&features, &run);
    let factor = start::uniform(&rows, 3, 1.0);
    let after = |t: f64| {
        let scaled = factor.iter().map(|f| t * f).collect();
        let (mut at, _) = start::begin(&rows, scaled, 3).unwrap();
        update(&rows, &mut at).unwrap();
        at.factor
    };
    assert!([1e-6, 0.3, 1e4].iter().all(|&t| close(&after(t), &after(1.0), 1e-13)));
}

#[test]
fn clusters_start_at_their_inertia() {
    let (features, k, run) = (blobs(90, 5, 6), 6, run(2));
    let (mut rows, x) = (OffsetRows::new(&features, &run), dense_values(&features));
    let offset = [1.5, -2.0, 0.0, 0.25, 3.0];
    let values: Vec<f32> =
        first_rows(&features, k).iter().enumerate().map(|(at, c)| c - offset[at % 5] as f32).collect();
    let (nearest, least) = start::clusters(&rows, GlnpCenters { values: &values, offset: &offset }, k).unwrap();
    assert_eq!(least, x.iter().copied().fold(f64::INFINITY, f64::min));
    let distance = |i: usize, g: usize| (0..5).map(|j| (x[i * 5 + j] - x[g * 5 + j]).powi(2)).sum::<f64>();
    let mut inertia = 0.0;
    for i in 0..90 {
        let best = (0..k).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap();
        assert_eq!(nearest[i] as usize, best);
        let members: Vec<usize> = (0..90).filter(|&other| nearest[other] == nearest[i]).collect();
        let mean = |j: usize| members.iter().map(|m| x[m * 5 + j]).sum::<f64>() / members.len() as f64;
        inertia += (0..5).map(|j| (x[i * 5 + j] - mean(j)).powi(2)).sum::<f64>();
    }
    let factor = start::at_clusters(&rows, &nearest, k, 0.0);
    let (mut at, norm) = start::begin(&rows, factor, k).unwrap();
    assert!((at.moments.objective(norm) - inertia).abs() < 1e-10 * norm);
    // The best scale of an indicator is 1, and no entry of what is started from is 0.
    at.scale(&run);
    assert!((at.moments.objective(norm) - inertia).abs() < 1e-10 * norm);
    let noisy = start::at_clusters(&rows, &nearest, k, start::NOISE);
    assert!(noisy.iter().all(|f| *f > 0.0));
    rows.offset = least;
    assert_eq!(start::minimum(&rows).unwrap(), 0.0);
}

/// A source that can only be read once through.
struct OnceThrough<'a>(&'a Features<'a>);

impl RowSource for OnceThrough<'_> {
    fn n_rows(&self) -> usize {
        self.0.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.0.n_cols()
    }
    fn bytes(&self) -> u64 {
        0
    }
    fn is_seekable(&self) -> bool {
        false
    }
    fn open<'s>(&'s self, first: usize, offset: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        assert_eq!(first, 0, "opened at the start alone");
        self.0.open(first, offset, run)
    }
}

#[test]
fn any_number_of_threads_and_any_source_give_the_same_bits() {
    let (n, d, k) = (6_500, 300, 4);
    let features = blobs(n, d, 4);
    let centers = first_rows(&features, k);
    for solver in [GlnpSolver::AcceleratedGradient, GlnpSolver::Multiplicative, GlnpSolver::PaperGradient] {
        let params = GlnpParams { max_iter: 6, ..params(k, solver) };
        let fit = |source: &dyn RowSource, threads: usize| {
            let centers = GlnpCenters { values: &centers, offset: &[] };
            glnp(source, Some(centers), &params, &run(threads)).unwrap()
        };
        let first = fit(&features, 1);
        for other in
            [fit(&features, 2), fit(&features, 7), fit(&OnceThrough(&features), 1), fit(&OnceThrough(&features), 7)]
        {
            assert_eq!((&first.factor, &first.objective), (&other.factor, &other.objective), "{solver:?}");
            assert_eq!((&first.extension, first.n_passes), (&other.extension, other.n_passes));
        }
        let extended = first.extension.extend(&features, &run(1)).unwrap();
        assert_eq!(extended, first.extension.extend(&OnceThrough(&features), &run(7)).unwrap());
        // Streamed in blocks, the objective is that of the whole in memory.
        let x: Vec<f64> = dense_values(&features).iter().map(|x| x - first.extension.offset()).collect();
        let best = first.objective.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((direct(&x, first.factor.values(), d, k) - best).abs() < 1e-10 * first.squared_norm, "{solver:?}");
    }
}

#[test]
fn new_rows_find_the_best_combination_that_is_not_negative() {
    let features = counts(200, 10);
    let found = fit(&features, &params(6, GlnpSolver::AcceleratedGradient), &run(2));
    let extended = found.extension.extend(&features, &run(2)).unwrap();
    let (x, e) = (dense_values(&features), found.extension.basis());
    let residual = |i: usize, f: &[f64]| -> f64 {
        (0..10).map(|j| (x[i * 10 + j] - f.iter().zip(e.row(j)).map(|(f, e)| f * e).sum::<f64>()).powi(2)).sum()
    };
    for i in 0..200 {
        let f = extended.row(i);
        assert!(residual(i, f) <= residual(i, found.factor.row(i)) + 1e-9 * found.squared_norm);
        for at in 0..6 {
            let mut other = f.to_vec();
            other[at] = (other[at] * 1.01 - 1e-6).max(0.0);
            assert!(f[at] >= 0.0 && residual(i, f) <= residual(i, &other) + 1e-12 * found.squared_norm);
        }
    }
    let other = counts(10, 9);
    assert!(found.extension.extend(&other, &run(1)).unwrap_err().to_string().contains("expected 10 columns"));
    assert_eq!(found.extension.extend(&counts(0, 10), &run(1)).unwrap().n_rows(), 0);
    assert!(GlnpExtension::new(Matrix::filled(2, 2, f64::NAN), 0.0).is_err());
    assert!(GlnpExtension::new(Matrix::filled(2, 0, 0.0), 0.0).is_err());
}

#[test]
fn negative_data_is_shifted_for_multiplicative_updates_alone() {
    let features = blobs(120, 4, 3);
    let least = dense_values(&features).into_iter().fold(f64::INFINITY, f64::min);
    assert!(least < 0.0);
    let offset = |features: &Features<'_>, solver, start| {
        fit(features, &GlnpParams { start, ..params(3, solver) }, &run(1)).extension.offset()
    };
    for start in [GlnpStart::KMeans, GlnpStart::Uniform] {
        assert_eq!(offset(&features, GlnpSolver::Multiplicative, start), least);
        assert_eq!(offset(&features, GlnpSolver::AcceleratedGradient, start), 0.0);
        assert_eq!(offset(&counts(50, 4), GlnpSolver::Multiplicative, start), 0.0);
    }
}

#[test]
fn extreme_ranks_and_data_are_factored() {
    let all = [GlnpSolver::AcceleratedGradient, GlnpSolver::Multiplicative, GlnpSolver::PaperGradient];
    for solver in all {
        // One column; a column for every row, which is exact at the start; rows that are all alike; nothing but zeros.
        let one = fit(&counts(40, 5), &params(1, solver), &run(2));
        assert!(one.objective[one.n_iter] < one.squared_norm);
        let full = fit(&counts(12, 5), &params(12, solver), &run(2));
        assert!(full.objective.iter().all(|q| *q < 1e-2 * full.squared_norm), "{solver:?} {:?}", full.objective);
        let alike = Features::from_f32(30, 3, [1.0, 2.0, 0.5].repeat(30)).unwrap();
        let alike = fit(&alike, &GlnpParams { max_iter: 300, ..params(2, solver) }, &run(2));
        let best = alike.objective.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(best < 1e-4 * alike.squared_norm, "{solver:?} {best}");
        let zeros = fit(&Features::from_f32(9, 2, vec![0.0; 18]).unwrap(), &params(2, solver), &run(2));
        assert_eq!((zeros.n_iter, zeros.converged, zeros.objective.as_slice()), (0, true, [0.0].as_slice()));
        let unmoved = fit(&counts(40, 5), &GlnpParams { max_iter: 0, ..params(3, solver) }, &run(1));
        assert_eq!((unmoved.n_iter, unmoved.objective.len(), unmoved.converged), (0, 1, false));
    }
}

#[test]
fn iterations_end_where_little_is_gained() {
    let features = blobs(300, 6, 4);
    let loose =
        fit(&features, &GlnpParams { tol: 1e-2, max_iter: 100, ..params(4, GlnpSolver::AcceleratedGradient) }, &run(2));
    assert!(loose.converged && loose.n_iter < 20, "{}", loose.n_iter);
    let tight = fit(&features, &GlnpParams { max_iter: 5000, ..params(4, GlnpSolver::AcceleratedGradient) }, &run(2));
    assert!(tight.converged && tight.n_iter > loose.n_iter, "{}", tight.n_iter);
    // Stationary: the gradient is 0 where F > 0 and not below elsewhere.
    let run = run(1);
    let rows = OffsetRows::new(&features, &run);
    let (at, norm) = start::begin(&rows, tight.factor.clone().into_values(), 4).unwrap();
    let largest = gradient(&rows, &start::begin(&rows, start::uniform(&rows, 4, 0.1), 4).unwrap().0);
    let largest = largest.iter().fold(0.0f64, |most, g| most.max(g.abs()));
    for (g, f) in gradient(&rows, &at).iter().zip(&at.factor) {
        assert!(*g > -1e-4 * largest && (*f == 0.0 || *g < 1e-4 * largest), "{g} at {f}, {largest}");
    }
    assert!(at.moments.objective(norm) <= loose.objective[loose.n_iter]);
}

#[test]
fn the_published_algorithm_returns_its_best() {
    let features = counts(200, 10);
    let found = fit(&features, &GlnpParams { max_iter: 40, ..params(5, GlnpSolver::PaperGradient) }, &run(2));
    let best = found.objective.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best < found.objective[0]);
    let value = direct(&dense_values(&features), found.factor.values(), 10, 5);
    assert!((value - best).abs() < 1e-10 * found.squared_norm);
    assert!(found.n_passes >= 2 * found.n_iter);
}

#[test]
fn mistakes_are_named() {
    let features = counts(50, 3);
    let text = |features: &Features<'_>, centers: Option<GlnpCenters<'_>>, params: &GlnpParams| {
        glnp(features, centers, params, &run(2)).unwrap_err().to_string()
    };
    let params = params(4, GlnpSolver::AcceleratedGradient);
    assert!(text(&features, None, &params).starts_with("centers is none"));
    let values = first_rows(&features, 5);
    let centers = |values, offset| Some(GlnpCenters { values, offset });
    assert!(text(&features, centers(&values, &[]), &params).contains("expected 4 × 3 values"));
    assert!(text(&features, centers(&values[..12], &[0.0; 2]), &params).contains("expected 3 values"));
    let mut bad = values[..12].to_vec();
    bad[7] = f32::NAN;
    assert!(text(&features, centers(&bad, &[]), &params).starts_with("row 2 of centers holds NaN (column 1)"));
    assert!(text(&features, None, &GlnpParams { rank: 51, ..params.clone() }).contains("rank is 51"));
    let mut holed: Vec<f32> = dense_values(&features).iter().map(|&x| x as f32).collect();
    holed[3 * 17 + 1] = f32::INFINITY;
    let holed = Features::from_f32(50, 3, holed).unwrap();
    for start in [GlnpStart::KMeans, GlnpStart::Uniform] {
        let params = GlnpParams { start, ..params.clone() };
        assert!(
            text(&holed, centers(&values[..12], &[]), &params).starts_with("row 17 of features holds inf (column 1)")
        );
    }
}

/// Cancels after some iterations.
struct CancelAt(u64, CancelToken);

impl Progress for CancelAt {
    fn start(&self, _: &str, _: u64) {}
    fn update(&self, done: u64, note: &str) {
        assert!(note.starts_with("Q/|X|² 0."));
        if done == self.0 {
            self.1.cancel();
        }
    }
    fn finish(&self) {}
}

#[test]
fn a_canceled_run_ends_between_blocks() {
    let features = counts(100, 5);
    let centers = first_rows(&features, 3);
    for solver in [GlnpSolver::AcceleratedGradient, GlnpSolver::Multiplicative, GlnpSolver::PaperGradient] {
        let cancel = CancelToken::default();
        let run = run(2).with_cancel(cancel.clone()).with_progress(Arc::new(CancelAt(3, cancel)));
        let centers = GlnpCenters { values: &centers, offset: &[] };
        let ended = glnp(&features, Some(centers), &params(3, solver), &run);
        assert!(matches!(ended, Err(Error::Interrupted)), "{solver:?}");
    }
}
