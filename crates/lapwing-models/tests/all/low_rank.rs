//! Low-rank propagation on real data: accuracies that are known for it, over several draws of the labels.

use std::path::Path;
use std::sync::OnceLock;

use lapwing_core::{Alone, Features, Labels, Run, Stream, Targets};
use lapwing_graph::low_rank::LandmarkRule;
use lapwing_models::low_rank::{Balance, FactorKind, Select};
use lapwing_models::{Fitted, LowRank, LowRankParams, Method, Problem, RowProblem};
use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;
use rand::seq::index;

const DRAWS: u64 = 5;

/// Rows of a set that are looked at: enough for accuracies to be those of all rows within a point.
const ROWS: usize = 10_000;

/// Rows with their classes.
struct Set {
    features: Features<'static>,
    classes: Vec<usize>,
    n_classes: usize,
}

impl Set {
    /// So many rows of a data set at random; `None` where it is not at hand.
    fn of(name: &str, most: usize) -> Option<Self> {
        let run = Run::new(None, 0).unwrap();
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        let file = std::env::var_os("LAPWING_DATA").map_or(beside, Into::into).join(name);
        if !file.exists() {
            eprintln!("skipped: no {}", file.display());
            return None;
        }
        let samples = read_samples(&file, &ReadOptions::default(), &run).unwrap();
        let labels = samples.labels.unwrap();
        let Features::Dense(dense) = samples.features else { panic!("{name} is dense") };
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let rows: Vec<usize> = index::sample(&mut run.rng(Stream::Synthetic, 1), n, n.min(most)).into_vec();
        let mut values = vec![0.0; rows.len() * d];
        for (&row, out) in rows.iter().zip(values.chunks_exact_mut(d)) {
            dense.copy_rows_f32(row..row + 1, out);
        }
        Some(Self {
            features: Features::from_f32(rows.len(), d, values).unwrap(),
            classes: rows.iter().map(|&row| labels.index[row] as usize).collect(),
            n_classes: labels.n_classes(),
        })
    }

    /// Handwritten digits, read once for all tests.
    fn mnist() -> Option<&'static Self> {
        static MNIST: OnceLock<Option<Set>> = OnceLock::new();
        MNIST.get_or_init(|| Self::of("mnist.npz", 3 * ROWS)).as_ref()
    }

    /// Its first rows, which are rows at random.
    fn first(&self, most: usize) -> Self {
        let rows: Vec<u32> = (0..most.min(self.classes.len()) as u32).collect();
        Self {
            features: self.features.select(&rows).unwrap(),
            classes: self.classes[..rows.len()].to_vec(),
            n_classes: self.n_classes,
        }
    }

    /// Every column at mean 0 and deviation 1.
    fn standardized(mut self) -> Self {
        let Features::Dense(dense) = &self.features else { return self };
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let mut values = vec![0.0; n * d];
        dense.copy_rows_f32(0..n, &mut values);
        for col in 0..d {
            let column = || values.iter().skip(col).step_by(d).map(|x| f64::from(*x));
            let mean = column().sum::<f64>() / n as f64;
            let deviation = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            values.iter_mut().skip(col).step_by(d).for_each(|x| *x = ((f64::from(*x) - mean) / deviation) as f32);
        }
        self.features = Features::from_f32(n, d, values).unwrap();
        self
    }

    /// So many labels of each class.
    fn draw(&self, per_class: &[usize], draw: u64) -> Targets {
        let run = Run::new(None, 0).unwrap();
        let mut known = vec![None; self.classes.len()];
        for (class, count) in per_class.iter().enumerate() {
            let rows: Vec<usize> = (0..known.len()).filter(|&row| self.classes[row] == class).collect();
            let mut rng = run.rng(Stream::Synthetic, 100 * (draw + 1) + class as u64);
            index::sample(&mut rng, rows.len(), *count).into_iter().for_each(|at| known[rows[at]] = Some(class as i64));
        }
        Targets::one_hot(&Labels::from_integers(known), None).unwrap()
    }

    fn fit(&self, params: &LowRankParams, targets: &Targets, seed: u64) -> Fitted<'_> {
        let run = Run::new(None, seed).unwrap();
        let problem = Problem { features: Some(&self.features), ..Problem::new(targets) };
        LowRank::new(params.clone()).unwrap().fit(&problem, &run).unwrap()
    }

    /// Mean accuracy on the rows without a label, over five draws.
    fn accuracy(&self, params: &LowRankParams, per_class: &[usize]) -> f64 {
        self.accuracy_of(params, per_class, DRAWS)
    }

    fn accuracy_of(&self, params: &LowRankParams, per_class: &[usize], draws: u64) -> f64 {
        let one = |draw| {
            let targets = self.draw(per_class, draw);
            let fit = self.fit(params, &targets, draw);
            let hidden = (0..self.classes.len()).filter(|&row| targets.rows().binary_search(&(row as u32)).is_err());
            let right = hidden.filter(|&row| fit.labeling.labels[row] as usize == self.classes[row]).count();
            right as f64 / (self.classes.len() - targets.rows().len()) as f64
        };
        (0..draws).map(one).sum::<f64>() / draws as f64
    }

    fn even(&self, count: usize) -> Vec<usize> {
        vec![count; self.n_classes]
    }
}

fn fixed(n_landmarks: usize) -> LowRankParams {
    LowRankParams { n_landmarks, select: Select::Off, ..LowRankParams::default() }
}

fn nystrom(n_landmarks: usize) -> LowRankParams {
    LowRankParams { factor: FactorKind::Nystrom, ..fixed(n_landmarks) }
}

/// Asks for an accuracy and says which one it is.
fn at_least(what: &str, found: f64, least: f64) {
    eprintln!("{what}: {found:.4}, at least {least}");
    assert!(found >= least, "{what}: {found:.4}, below {least}");
}

#[test]
fn digits_are_told_apart() {
    let Some(mnist) = Set::mnist().map(|all| all.first(ROWS)) else { return };
    let ten = mnist.even(10);
    at_least("500 anchors", mnist.accuracy(&fixed(500), &ten), 0.86);
    at_least("100 anchors", mnist.accuracy(&fixed(100), &ten), 0.79);
    // One label of each class decides differently from draw to draw, by six points.
    at_least("100 anchors, 1 label", mnist.accuracy(&fixed(100), &mnist.even(1)), 0.6);
    at_least("500 anchors, 100 labels", mnist.accuracy(&fixed(500), &mnist.even(100)), 0.904);
    // Draws vary by two points.
    at_least("Nyström", mnist.accuracy_of(&nystrom(100), &ten, 10), 0.755);
    let uniform = LowRankParams { landmarks: LandmarkRule::Uniform, ..nystrom(100) };
    at_least("Nyström, landmarks drawn at random", mnist.accuracy(&uniform, &ten), 0.634);
    let Some(usps) = Set::of("usps.npz", usize::MAX) else { return };
    at_least("USPS, 1 label", usps.accuracy(&fixed(100), &usps.even(1)), 0.7);
    at_least("USPS, 10 labels", usps.accuracy(&fixed(100), &usps.even(10)), 0.864);
    at_least("USPS, Nyström", usps.accuracy(&nystrom(100), &usps.even(10)), 0.822);
}

#[test]
fn balance_matters_where_labels_are_uneven() {
    let Some(mnist) = Set::mnist().map(|all| all.first(ROWS)) else { return };
    let uneven: Vec<usize> = (0..10).map(|class| if class < 2 { 50 } else { 5 }).collect();
    at_least("balanced columns", mnist.accuracy(&nystrom(100), &uneven), 0.69);
    for (alpha, most) in [(0.01, 0.45), (0.5, 0.4), (0.9, 0.4)] {
        let raw = LowRankParams { balance: Balance::Raw, alpha, ..nystrom(100) };
        at_least("errors of raw columns", 1.0 - mnist.accuracy(&raw, &uneven), 1.0 - most);
    }
}

#[test]
fn a_factor_that_is_learned_is_better_at_few_columns() {
    let Some(mnist) = Set::mnist().map(|all| all.first(4000)) else { return };
    let learned = LowRankParams { factor: FactorKind::Glnp, ..fixed(50) };
    let ten = mnist.even(10);
    let found = mnist.accuracy(&learned, &ten);
    at_least("GLNP, 50 columns", found, 0.79);
    at_least("what GLNP gains over anchors", found - mnist.accuracy(&fixed(50), &ten), 0.0);
}

#[test]
fn ten_thousand_rows_are_as_good_as_all() {
    let Some(mnist) = Set::mnist() else { return };
    for params in [fixed(100), nystrom(100)] {
        let right = |labels: &[u32]| {
            let all = labels.iter().zip(&mnist.classes);
            all.filter(|&(&label, &class)| label as usize == class).count() as f64 / labels.len() as f64
        };
        let gain = |draw| {
            let targets = mnist.draw(&mnist.even(10), draw);
            let problem = RowProblem { fit_rows: ROWS, ..RowProblem::new(&mnist.features, &targets) };
            let (run, method) = (Run::new(None, draw).unwrap(), LowRank::new(params.clone()).unwrap());
            let part = method.fit_rows(&problem, &Alone, &run).unwrap();
            let part = part.into_fitted(Some(&mnist.features), &targets, &run).unwrap();
            right(&part.labeling.labels) - right(&mnist.fit(&params, &targets, draw).labeling.labels)
        };
        // Landmarks of other rows decide differently from draw to draw, by two points.
        at_least("what a sample gains", (0..DRAWS).map(gain).sum::<f64>() / DRAWS as f64, -0.02);
    }
}

#[test]
fn cross_validation_gains_and_does_not_lose() {
    let chosen = |k| LowRankParams { n_landmarks: k, ..LowRankParams::default() };
    let sets = [
        ("mnist.npz", 100, 10),
        ("mnist.npz", 100, 100),
        ("fashion_mnist.npz", 100, 10),
        ("usps.npz", 100, 10),
        ("cover_2class.npz", 300, 50),
        ("magic_gamma.npz", 100, 50),
    ];
    for (name, k, count) in sets {
        let set = match name {
            "mnist.npz" => Set::mnist().map(|all| all.first(ROWS / 2)),
            // Of few columns, and a class that is rare or hard to tell.
            "cover_2class.npz" | "magic_gamma.npz" => Set::of(name, 12_000),
            name => Set::of(name, ROWS / 2),
        };
        let Some(set) = set else { return };
        let set = if name.starts_with("cover") { set.standardized() } else { set };
        let labels = set.even(count);
        let (found, given) = (set.accuracy(&chosen(k), &labels), set.accuracy(&fixed(k), &labels));
        at_least(&format!("{name}, {count} labels, gain by cross-validation"), found - given, -0.01);
        if name == "mnist.npz" && count == 100 {
            at_least("MNIST with 100 labels, chosen", found, 0.875);
        }
    }
}
