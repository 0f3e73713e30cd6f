//! Results of the reference program on Cora.

use super::*;

const FILE: &str = "twirls_cora.npz";

/// The graph and the features of the golden file, with rows scaled to sum 1.
struct Cora {
    graph: AffinityGraph,
    features: Features<'static>,
    labels: Vec<usize>,
    train: Vec<u32>,
}

fn cora() -> Cora {
    let edges: Vec<_> =
        golden(FILE, "edge_i").iter().zip(golden(FILE, "edge_j")).map(|(u, v)| (*u as u32, v as u32, 1.0)).collect();
    let (starts, ids) = (golden(FILE, "X_indptr"), golden(FILE, "X_indices"));
    let mut values = vec![0.0; 2708 * 1433];
    for row in 0..2708 {
        let columns = &ids[starts[row] as usize..starts[row + 1] as usize];
        columns.iter().for_each(|&id| values[row * 1433 + id as usize] = 1.0 / columns.len() as f64);
    }
    Cora {
        graph: AffinityGraph::given(Graph::from_edges(2708, &edges).unwrap()),
        features: Features::from_f64(2708, 1433, values).unwrap(),
        labels: golden(FILE, "labels").iter().map(|y| *y as usize).collect(),
        train: golden(FILE, "train_idx").iter().map(|row| *row as u32).collect(),
    }
}

impl Cora {
    fn targets(&self, is_full: bool) -> Targets {
        let mut rows = if is_full { (0..2708).collect() } else { self.train.clone() };
        rows.sort_unstable();
        let mut values = Matrix::filled(rows.len(), 7, 0.0);
        rows.iter().enumerate().for_each(|(at, &row)| values.row_mut(at)[self.labels[row as usize]] = 1.0);
        let trust = vec![1.0; rows.len()];
        Targets::new(2708, rows, values, trust).unwrap()
    }
}

fn matrix(name: &str, columns: usize) -> Matrix {
    let values = golden(FILE, name);
    Matrix::new(values.len() / columns, columns, values).unwrap()
}

#[test]
fn hidden_states_losses_and_gradients_are_those_of_the_reference() {
    let (cora, run) = (cora(), Run::new(Some(2), 0).unwrap());
    let (rows, start) = (golden(FILE, "rows"), matrix("W0", 7));
    let inputs = Inputs::new(&cora.features, false).unwrap();
    for (reg, name) in [(1.0, "lam1"), (20.0, "lam20")] {
        let params = UnfoldedParams { graph_reg: Some(reg), ..UnfoldedParams::default() };
        let propagator = Propagator::new(&cora.graph.graph, params.propagation(), &run).unwrap();
        let f = inputs.times(&start, &run).unwrap();
        let z = propagator.solve(&f, 1e-12, &run).unwrap();
        let picked = |z: &Matrix| {
            Matrix::new(rows.len(), 7, rows.iter().flat_map(|row| z.row(*row as usize).to_vec()).collect()).unwrap()
        };
        assert!(distance(&picked(&z), &matrix(&format!("{name}_Zstar_rows"), 7)) < 1e-9);
        for steps in [1, 8, 16, 64] {
            let unfolded = UnfoldedParams { steps: Some(steps), ..params.clone() };
            let unfolded = Propagator::new(&cora.graph.graph, unfolded.propagation(), &run).unwrap();
            let found = picked(&unfolded.solve(&f, 1e-12, &run).unwrap());
            assert!(distance(&found, &matrix(&format!("{name}_unfold_noprecond_{steps}"), 7)) < 1e-9, "{name} {steps}");
        }
        for (is_full, kind, key, nodes) in [
            (true, NodeLoss::Mse, "mse_full", 1.0),
            (false, NodeLoss::Mse, "mse_train", 1.0),
            (false, NodeLoss::CrossEntropy, "ce_train_mean", 2166.0),
        ] {
            let targets = cora.targets(is_full);
            let map =
                OnGraph { inputs: &inputs, propagator: &propagator, labeled: targets.rows(), tol: 1e-12, run: &run };
            let loss = Loss::new(kind, &targets);
            let preconditioner = Preconditioner::Identity;
            let task = one_step(&map, &loss, 0.0, &preconditioner, &run);
            let state = State::new(Some(start.clone()), &task).unwrap();
            let expected = golden(FILE, &format!("{name}_{key}_loss"))[0];
            assert!((state.value / nodes / expected - 1.0).abs() < 1e-9, "{name} {key}");
            let mut gradient = state.gradient;
            gradient.values_mut().iter_mut().for_each(|g| *g /= nodes);
            assert!(distance(&gradient, &matrix(&format!("{name}_{key}_grad"), 7)) < 1e-9, "{name} {key}");
        }
    }
}

#[test]
fn the_weight_of_smoothness_that_is_chosen_labels_citations_better_than_a_small_one() {
    let (cora, run) = (cora(), Run::new(Some(2), 0).unwrap());
    let targets = cora.targets(false).subset(|at| at % 15 == 0).unwrap();
    let problem = Problem { features: Some(&cora.features), graph: Some(&cora.graph), ..Problem::new(&targets) };
    let fit = |graph_reg| {
        let params = UnfoldedParams { graph_reg, ..UnfoldedParams::default() };
        let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
        let hits = (0..2708).filter(|&row| fitted.labeling.labels[row] as usize == cora.labels[row]).count();
        (hits as f64 / 2708.0, fitted)
    };
    let (auto, chosen) = fit(None);
    let (small, _) = fit(Some(1.0));
    assert!(auto > 0.8 && auto > small + 0.05, "{auto} {small}");
    // The given value is the chosen one, so the bits are the same.
    let reg = chosen.report.chosen["graph_reg"].as_f64().unwrap();
    let (_, given) = fit(Some(reg));
    assert_eq!(chosen.labeling.scores.values(), given.labeling.scores.values());
    assert_eq!(chosen.report.chosen["cross_validation"].as_array().unwrap().len(), 5);
}

#[test]
fn squares_reach_the_optimum_of_the_reference() {
    let (cora, run) = (cora(), Run::new(Some(2), 0).unwrap());
    let rows = golden(FILE, "rows");
    for (reg, name) in [(1.0, "lam1"), (20.0, "lam20")] {
        for (is_full, key) in [(true, "mse_full"), (false, "mse_train")] {
            let params = UnfoldedParams {
                graph_reg: Some(reg),
                loss: NodeLoss::Mse,
                l2_reg: Some(0.0),
                bias: false,
                solver: LayerSolver::Direct,
                tol: 1e-10,
                ..UnfoldedParams::default()
            };
            let targets = cora.targets(is_full);
            let problem =
                Problem { features: Some(&cora.features), graph: Some(&cora.graph), ..Problem::new(&targets) };
            let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
            let part = &fitted.report.parts["unfolded"];
            let loss = part["loss"].as_array().unwrap().last().unwrap().as_f64().unwrap();
            let optimum = golden(FILE, &format!("{name}_{key}_opt_loss"))[0];
            assert!((loss / optimum - 1.0).abs() < 1e-8, "{name} {key}: {loss} {optimum} {part}");
            assert_eq!(part["rank"].as_f64().unwrap(), golden(FILE, &format!("{name}_{key}_opt_rank"))[0]);
            let found = rows.iter().flat_map(|row| fitted.labeling.scores.row(*row as usize).to_vec()).collect();
            let found = Matrix::new(rows.len(), 7, found).unwrap();
            assert!(distance(&found, &matrix(&format!("{name}_{key}_opt_Zrows"), 7)) < 1e-3, "{name} {key}");
        }
    }
}

#[test]
fn cross_entropy_of_many_features_ends_where_it_says() {
    let (cora, run) = (cora(), Run::new(Some(2), 0).unwrap());
    let targets = cora.targets(false);
    let problem = Problem { features: Some(&cora.features), graph: Some(&cora.graph), ..Problem::new(&targets) };
    // With a small ridge classes are separated, and the curvature is far below that of squares.
    let fit = |solver, tol| {
        let params = UnfoldedParams { l2_reg: Some(1e-3), solver, tol, ..UnfoldedParams::default() };
        let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
        assert!(fitted.report.solve.as_ref().unwrap().converged);
        value(&fitted)
    };
    // A hundred times more accurate than the fits compared with it.
    let optimum = fit(LayerSolver::MatrixFree, 1e-6);
    for solver in [LayerSolver::Direct, LayerSolver::RoughPcg, LayerSolver::MatrixFree] {
        let found = fit(solver, 1e-4);
        assert!((found / optimum - 1.0) < 1e-4, "{solver:?}: {found} {optimum}");
    }
}

#[test]
fn sparsified_preconditioners_have_the_condition_of_the_reference() {
    let (cora, run) = (cora(), Run::new(Some(2), 0).unwrap());
    let inputs = Inputs::new(&cora.features, false).unwrap();
    let edges: Vec<(u32, u32)> =
        golden(FILE, "edge_i").iter().zip(golden(FILE, "edge_j")).map(|(u, v)| (*u as u32, v as u32)).collect();
    for (reg, name) in [(1.0, "lam1_herta_fac16"), (20.0, "lam20_herta_fac16")] {
        let factors = golden(FILE, &format!("{name}_edge_multiplier"));
        let kept: Vec<_> = edges.iter().zip(&factors).filter(|(_, w)| **w > 0.0).map(|(e, w)| (e.0, e.1, *w)).collect();
        let thin = Graph::from_edges(2708, &kept).unwrap();
        let params = UnfoldedParams { graph_reg: Some(reg), ..UnfoldedParams::default() };
        let degrees = cora.graph.graph.degree();
        let smoother = Propagator::with_degrees(&thin, degrees, params.propagation(), &run).unwrap();
        let all: Vec<u32> = (0..2708).collect();
        let rows = smooth::by_columns(&inputs, &smoother, &all, 1e-6, &run).unwrap();
        let rows = smooth::weighted(&rows, &[1.0; 2708]);
        let (preconditioner, _) = Preconditioner::from_rows(&rows, 1433, 0.0, false, &run).unwrap();
        let propagator = Propagator::new(&cora.graph.graph, params.propagation(), &run).unwrap();
        let targets = cora.targets(true);
        let map = OnGraph { inputs: &inputs, propagator: &propagator, labeled: targets.rows(), tol: 1e-10, run: &run };
        let loss = Loss::new(NodeLoss::Mse, &targets);
        let task = one_step(&map, &loss, 0.0, &preconditioner, &run);
        let (least, most) = spectrum(&task, 80).unwrap();
        let key = name.replace("_herta", "_mse_full_herta");
        let expected = golden(FILE, &format!("{key}_kappa_edges"))[0];
        assert!((most / least / expected - 1.0).abs() < 0.05, "{name}: {} {expected}", most / least);
    }
}
