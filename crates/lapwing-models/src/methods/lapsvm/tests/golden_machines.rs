//! Golden results of another program.

use super::*;

/// A problem of a golden file.
struct Golden {
    file: &'static str,
    features: Features<'static>,
    graph: AffinityGraph,
    targets: Targets,
}

impl Golden {
    fn new(file: &'static str) -> Self {
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

const FILES: [&str; 3] = ["lapsvm_moons200.npz", "lapsvm_moons300n.npz", "lapsvm_g50creal.npz"];
const VARIANTS: [(&str, bool); 5] = [("u1", false), ("u1", true), ("n1", false), ("n2", false), ("n5", false)];

/// Every machine of every file: the problem, its tag in the file, its parameters, and whether it has the loss of an SVM.
fn each_machine(check: impl Fn(&Golden, &str, LapSvmParams, bool)) {
    for file in FILES {
        let golden = Golden::new(file);
        for (laplacian, bias) in VARIANTS {
            for (loss, is_svm) in [("svm", true), ("rls", false)] {
                let tag = format!("{laplacian}_b{}_{loss}", u8::from(bias));
                check(&golden, &tag, golden.params(laplacian, bias), is_svm);
            }
        }
    }
}

/// Optimum and number of steps of the other program's Newton method on the full matrix.
#[test]
fn newton_meets_the_golden_optima() {
    each_machine(|golden, tag, params, is_svm| {
        let params = LapSvmParams { solver: KernelSolver::Newton, ..params };
        let found = golden.fit(params, is_svm);
        let what = format!("{} {tag}", golden.file);
        let objective = golden.get(&format!("{tag}_opt_obj"))[0];
        assert!(
            (found.objective - objective).abs() < 1e-9 * objective.max(1.0),
            "{what}: {} {objective}",
            found.objective
        );
        let f = golden.get(&format!("{tag}_opt_f_code"));
        assert_close(&found.f, &f, 1e-7 * largest(&f).max(1.0), &what);
        assert!((found.bias - golden.get(&format!("{tag}_opt_b_code"))[0]).abs() < 1e-7, "{what}");
        let alpha = golden.get(&format!("{tag}_opt_alpha_code"));
        assert_close(&found.coefficients, &alpha, 1e-6 * largest(&alpha), &what);
        assert!(found.n_iter <= 6, "{what}: {} steps", found.n_iter);
    });
}

/// Iterates and objectives of the other program's conjugate gradients, as far as rounding lets two programs agree.
#[test]
fn conjugate_gradients_meet_the_golden_iterates() {
    each_machine(|golden, tag, params, is_svm| {
        let what = format!("{} {tag}", golden.file);
        let cg = |max_iter: usize| LapSvmParams {
            solver: KernelSolver::Cg,
            stopping: Stopping::Gradient,
            max_iter,
            ..params.clone()
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
    });
}

/// Stops where the other program does, or as soon after as the objective hardly falls.
#[test]
fn stable_labels_stop_where_the_other_program_stopped() {
    for file in FILES {
        let golden = Golden::new(file);
        for (laplacian, bias) in VARIANTS {
            let tag = format!("{laplacian}_b{}_svm", u8::from(bias));
            let curve = golden.get(&format!("{tag}_pcg_obj_code"));
            let params = LapSvmParams { solver: KernelSolver::Cg, ..golden.params(laplacian, bias) };
            let found = golden.fit(params, true).n_iter;
            let mut expected = golden.get(&format!("{tag}_stab_iters_code"))[0] as usize;
            let interval = StoppingRule::interval(golden.targets.n_samples());
            if expected == 200 {
                // The other program's last iteration.
                assert!(found >= expected - interval, "{file} {tag}: {found}");
                continue;
            }
            while curve.get(expected).is_some_and(|now| curve[expected - interval] - now > FALLING * now) {
                expected += interval;
            }
            if expected >= curve.len() {
                assert!(found >= curve.len() / 2, "{file} {tag}: {found}");
                continue;
            }
            // After some ten iterations rounding makes the programs differ, so only the size of later stops is compared.
            let is_alike = found.abs_diff(expected) <= interval
                || (expected > 12 && found <= 2 * expected && expected <= 2 * found);
            assert!(is_alike, "{file} {tag}: {found} {expected}");
        }
    }
}

/// One class of twenty against the rest: from the first iteration on nearly all rows stay on one side.
#[test]
fn many_classes_do_not_stop_while_the_objective_falls() {
    let (n, d, classes) = (600, 40, 20);
    let uniform = |at: usize| (lapwing_core::hash::mix(at as u64) % 2001) as f64 / 1000.0 - 1.0;
    let row = |i: usize| (0..d).map(move |j| uniform((i % classes) * d + j) + 1.5 * uniform((1000 + i) * d + j));
    let unit = |i: usize| {
        let length = row(i).map(|x| x * x).sum::<f64>().sqrt();
        row(i).map(move |x| x / length)
    };
    let features = Features::from_f64(n, d, (0..n).flat_map(unit).collect()).unwrap();
    let labels = Labels::from_integers((0..n).map(|i| (i < 3 * classes).then_some((i % classes) as i64)));
    let graph = affinity_graph(&features, &GraphParams::default(), &run(2)).unwrap();
    let problem = (features, graph, Targets::one_hot(&labels, None).unwrap());
    let of =
        |solver| LapSvmParams { solver, ambient_reg: Some(1e-6), graph_reg: Some(1e-3), ..LapSvmParams::default() };
    let (newton, cg) =
        (fit(&of(KernelSolver::Newton), true, &problem, &run(2)), fit(&of(KernelSolver::Cg), true, &problem, &run(2)));
    // Twice the interval: the first time that the sides of rows look stable.
    let early =
        LapSvmParams { stopping: Stopping::Gradient, max_iter: 2 * StoppingRule::interval(n), ..of(KernelSolver::Cg) };
    let early = fit(&early, true, &problem, &run(2));
    let worst = |fitted: &Fitted<'_>| {
        objectives(fitted).iter().zip(objectives(&newton)).map(|(found, best)| found / best).fold(0.0, f64::max)
    };
    assert!(worst(&cg) < 1.2 && worst(&early) > 1.3, "{} {}", worst(&cg), worst(&early));
    let right = |fitted: &Fitted<'_>| (0..n).filter(|&i| fitted.labeling.labels[i] as usize == i % classes).count();
    assert!(right(&cg) + n / 100 >= right(&newton), "{} {}", right(&cg), right(&newton));
}

#[test]
fn the_dual_meets_the_golden_one() {
    for file in FILES {
        let golden = Golden::new(file);
        for laplacian in ["u1", "n1"] {
            let bias = golden.get(&format!("{laplacian}_dual_b"))[0];
            let params =
                LapSvmParams { solver: KernelSolver::Dual, tol: 1e-18, ..golden.params(laplacian, bias != 0.0) };
            let found = golden.fit(params, true);
            let what = format!("{file} {laplacian}");
            let expected = golden.get(&format!("{laplacian}_dual_primal_obj"))[0];
            assert!((found.objective / expected - 1.0).abs() < 2e-5, "{what}: {} {expected}", found.objective);
            let f = golden.get(&format!("{laplacian}_dual_f"));
            let shared =
                found.f.iter().zip(&f).filter(|(a, b)| (*a - bias - *b).abs() < 1e-3 || (*a - *b).abs() < 1e-3);
            assert_eq!(shared.count(), f.len(), "{what}");
        }
    }
}
