//! The machines against golden figures of another program, against each other, and by properties of exact solutions.

use std::sync::Arc;

use lapwing_data::{Csr, Labels};
use lapwing_graph::Graph;
use lapwing_graph::testkit::{blobs, dense_values};

use super::*;
use crate::golden::golden;
use crate::{Extension, Model};

/// A problem of a golden file.
struct Golden {
    file: &'static str,
    features: Features<'static>,
    graph: AffinityGraph,
    targets: Targets,
}

impl Golden {
    fn of(file: &'static str) -> Self {
        let (x, y) = (golden(file, "X"), golden(file, "y_labels_0_unlabelled"));
        let (edges, weights) = (golden(file, "W_edges"), golden(file, "W_w"));
        let n = y.len();
        let edges: Vec<(u32, u32, f64)> =
            edges.chunks_exact(2).zip(&weights).map(|(e, w)| (e[0] as u32, e[1] as u32, *w)).collect();
        let labels = Labels::from_integers(y.iter().map(|y| (*y != 0.0).then_some(*y as i64)));
        Self {
            file,
            features: Features::from_f64(n, x.len() / n, x).unwrap(),
            graph: AffinityGraph::given(Graph::from_edges(n, &edges).unwrap()),
            targets: Targets::one_hot(&labels, None).unwrap(),
        }
    }

    fn get(&self, name: &str) -> Vec<f64> {
        golden(self.file, name)
    }

    fn params(&self, laplacian: &str, bias: bool) -> LapSvmParams {
        let (kind, power) = laplacian.split_at(1);
        LapSvmParams {
            bandwidth: Some(self.get("sigma")[0]),
            ambient_reg: Some(self.get("gamma_A")[0]),
            graph_reg: Some(self.get("gamma_I")[0]),
            laplacian: if kind == "u" { LaplacianKind::Combinatorial } else { LaplacianKind::Normalized },
            laplacian_power: power.parse().unwrap(),
            bias,
            ..LapSvmParams::default()
        }
    }

    fn fit(&self, params: LapSvmParams, is_svm: bool) -> Found {
        let problem =
            Problem { features: Some(&self.features), graph: Some(&self.graph), ..Problem::new(&self.targets) };
        found(&method_of(params, is_svm).fit(&problem, &run(2)).unwrap())
    }
}

/// What tests look at: the positive class.
struct Found {
    f: Vec<f64>,
    bias: f64,
    coefficients: Vec<f64>,
    objective: f64,
    n_iter: usize,
    curve: Vec<f64>,
}

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 3).unwrap()
}

fn method_of(params: LapSvmParams, is_svm: bool) -> LapSvm {
    let graph = GraphParams::default();
    if is_svm { LapSvm::new(params, graph) } else { LapSvm::least_squares(params, graph) }.unwrap()
}

fn machine<'f, 'a>(fitted: &'f Fitted<'a>) -> &'f KernelExtension<'a> {
    let Some(Extension::Kernel(machine)) = &fitted.extension else { panic!("a kernel machine") };
    machine
}

fn found(fitted: &Fitted<'_>) -> Found {
    let part = &fitted.report.parts["lapsvm"];
    let machine = machine(fitted);
    Found {
        f: fitted.labeling.scores.rows().map(|row| row[1]).collect(),
        bias: machine.bias()[0],
        coefficients: machine.coefficients().values().to_vec(),
        objective: part["objective"][0].as_f64().unwrap(),
        n_iter: part["n_iter"][0].as_u64().unwrap() as usize,
        curve: part["objective_curve"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect(),
    }
}

fn assert_close(found: &[f64], expected: &[f64], tol: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tol, "{what}: off by {worst:e}");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

const FILES: [&str; 3] = ["lapsvm_moons200.npz", "lapsvm_moons300n.npz", "lapsvm_g50creal.npz"];
const VARIANTS: [(&str, bool); 5] = [("u1", false), ("u1", true), ("n1", false), ("n2", false), ("n5", false)];

/// Optimum and steps of another program's Newton method on the full matrix.
#[test]
fn newton_meets_the_golden_optima() {
    for file in FILES {
        let golden = Golden::of(file);
        for (laplacian, bias) in VARIANTS {
            for (loss, is_svm) in [("svm", true), ("rls", false)] {
                let tag = format!("{laplacian}_b{}_{loss}", u8::from(bias));
                let params = LapSvmParams { solver: KernelSolver::Newton, ..golden.params(laplacian, bias) };
                let found = golden.fit(params, is_svm);
                let what = format!("{file} {tag}");
                let objective = golden.get(&format!("{tag}_opt_obj"))[0];
                assert!((found.objective - objective).abs() < 1e-9 * objective.max(1.0), "{what}: {} {objective}", found.objective);
                let f = golden.get(&format!("{tag}_opt_f_code"));
                assert_close(&found.f, &f, 1e-7 * largest(&f).max(1.0), &what);
                assert!((found.bias - golden.get(&format!("{tag}_opt_b_code"))[0]).abs() < 1e-7, "{what}");
                let alpha = golden.get(&format!("{tag}_opt_alpha_code"));
                assert_close(&found.coefficients, &alpha, 1e-6 * largest(&alpha), &what);
                assert!(found.n_iter <= 6, "{what}: {} steps", found.n_iter);
            }
        }
    }
}

/// Iterates and objectives of another program's conjugate gradients, as far as rounding lets two programs agree.
#[test]
fn conjugate_gradients_meet_the_golden_iterates() {
    for file in FILES {
        let golden = Golden::of(file);
        for (laplacian, bias) in VARIANTS {
            for (loss, is_svm) in [("svm", true), ("rls", false)] {
                let tag = format!("{laplacian}_b{}_{loss}", u8::from(bias));
                let what = format!("{file} {tag}");
                let cg = |max_iter: usize| LapSvmParams {
                    solver: KernelSolver::Cg,
                    stopping: Stopping::Gradient,
                    max_iter,
                    ..golden.params(laplacian, bias)
                };
                for (iterations, tol) in [(1, 1e-10), (2, 1e-10), (5, 1e-7)] {
                    let found = golden.fit(cg(iterations), is_svm);
                    let f = golden.get(&format!("{tag}_pcg_f_{iterations}"));
                    assert_close(&found.f, &f, tol * largest(&f).max(1.0), &format!("{what} after {iterations}"));
                }
                let curve = golden.fit(cg(50), is_svm).curve;
                let (theirs, optimum) = (golden.get(&format!("{tag}_pcg_obj_code")), golden.get(&format!("{tag}_opt_obj"))[0]);
                for at in 0..=8.min(curve.len() - 1) {
                    let (own, their) = (curve[at] - optimum, theirs[at] - optimum);
                    assert!((own - their).abs() < 5e-2 * their.abs() + 1e-9, "{what} {at}: {own} {their}");
                }
                assert!(curve.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-12)), "{what}: {curve:?}");
            }
        }
    }
}

#[test]
fn stable_labels_stop_where_the_other_program_stopped() {
    for file in FILES {
        let golden = Golden::of(file);
        for (laplacian, bias) in VARIANTS {
            let tag = format!("{laplacian}_b{}_svm", u8::from(bias));
            for (every, name) in [(None, "stab"), (Some(3), "stab3")] {
                let params = LapSvmParams { solver: KernelSolver::Cg, check_every: every, ..golden.params(laplacian, bias) };
                let found = golden.fit(params, true).n_iter;
                let expected = golden.get(&format!("{tag}_{name}_iters_code"))[0] as usize;
                let interval = every.unwrap_or_else(|| StoppingRule::typical_interval(golden.targets.n_samples()));
                if expected == 200 {
                    // The other program's last iteration.
                    assert!(found >= expected - interval, "{file} {tag} {name}: {found}");
                    continue;
                }
                // Beyond some ten iterations rounding has parted the programs: late stops may differ by a few checks.
                assert!(found.abs_diff(expected) <= interval.max(expected / 5), "{file} {tag} {name}: {found} {expected}");
            }
        }
    }
}

#[test]
fn the_dual_meets_the_golden_one() {
    for file in FILES {
        let golden = Golden::of(file);
        for laplacian in ["u1", "n1"] {
            let bias = golden.get(&format!("{laplacian}_dual_b"))[0];
            let params = LapSvmParams { solver: KernelSolver::Dual, tol: 1e-10, ..golden.params(laplacian, bias != 0.0) };
            let found = golden.fit(params, true);
            let what = format!("{file} {laplacian}");
            let expected = golden.get(&format!("{laplacian}_dual_primal_obj"))[0];
            assert!((found.objective / expected - 1.0).abs() < 2e-5, "{what}: {} {expected}", found.objective);
            let f = golden.get(&format!("{laplacian}_dual_f"));
            let shared = found.f.iter().zip(&f).filter(|(a, b)| (*a - bias - *b).abs() < 1e-3 || (*a - *b).abs() < 1e-3);
            assert_eq!(shared.count(), f.len(), "{what}");
        }
    }
}
