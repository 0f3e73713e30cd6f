use std::sync::{Arc, Mutex};
use std::thread;

use lapwing_core::{Progress, UNLABELED};

use super::*;
use crate::baselines::{NearestLabel, NearestLabelParams};
use crate::{Fitted, Plan, ProblemSize};

/// Nearest label under another name, which may wait until it is canceled; notes its runs.
struct Noted {
    name: &'static str,
    waits: bool,
    runs: Arc<Mutex<Vec<&'static str>>>,
}

impl Method for Noted {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        self.runs.lock().unwrap().push(self.name);
        if self.waits {
            loop {
                run.check()?;
                thread::sleep(Duration::from_millis(1));
            }
        }
        NearestLabel::new(NearestLabelParams::default()).fit(problem, run)
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        NearestLabel::new(NearestLabelParams::default()).plan(size)
    }
}

/// Names of methods in the order of their runs.
type Runs = Arc<Mutex<Vec<&'static str>>>;

fn noted(methods: &[(&'static str, bool)]) -> (Vec<Box<dyn Method>>, Runs) {
    let runs = Arc::new(Mutex::new(Vec::new()));
    let boxed = |&(name, waits): &(&'static str, bool)| Box::new(Noted { name, waits, runs: runs.clone() }) as _;
    (methods.iter().map(boxed).collect(), runs)
}

/// Two clouds of 30 rows on a line, every row labeled.
fn clouds() -> (Features<'static>, Labels) {
    let rows = (0..60).map(|i| f64::from(i % 2) * 100.0 + f64::from(i)).collect();
    (Features::from_f64(60, 1, rows).unwrap(), Labels::from_integers((0..60).map(|i| Some(i % 2))))
}

fn run() -> Run {
    Run::new(Some(1), 5).unwrap()
}

#[test]
fn every_method_has_its_first_run_before_any_has_its_second() {
    let (features, labels) = clouds();
    let (methods, runs) = noted(&[("a", false), ("b", false)]);
    let keep = vec![Keep::Total(2), Keep::PerClass(5)];
    let params = CompareParams { keep, repeats: Some(2), budget: None };
    let progress = Arc::new(Notes::default());
    let found = compare(Some(&features), None, &labels, &methods, &params, &run().with_progress(progress.clone()));
    let found = found.unwrap();
    assert_eq!(*runs.lock().unwrap(), ["a", "b", "a", "b", "a", "b", "a", "b"]);
    let folds = CompareParams { keep: vec![Keep::Folds(4)], repeats: Some(2), budget: None };
    assert_eq!((params.n_runs(&labels, &run()).unwrap(), folds.n_runs(&labels, &run()).unwrap()), (4, 8));
    let rows: Vec<_> = found.rows.iter().map(|row| (row.method.as_str(), row.n_labeled, row.draws)).collect();
    let baseline = BASELINE;
    assert_eq!(rows[..3], [("a", 2, 2), ("b", 2, 2), (baseline, 2, 2)]);
    assert_eq!(rows[3..], [("a", 10, 2), ("b", 10, 2), (baseline, 10, 2)]);
    assert_eq!((found.rows[0].labels_per_class, found.rows[3].labels_per_class), (1.0, 5.0));
    assert_eq!(found.rows[0].accuracy, found.rows[1].accuracy);
    let notes = progress.0.lock().unwrap();
    assert_eq!((notes[0].as_str(), notes[7].as_str()), ("run 1 of 8: a, 2 labels", "run 8 of 8: b, 10 labels"));
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn start(&self, _: &str, _: u64) {}
    fn update(&self, _: u64, note: &str) {
        self.0.lock().unwrap().push(note.into());
    }
    fn finish(&self) {}
}

#[test]
fn a_budget_ends_runs_and_says_which_methods_have_none() {
    let (features, labels) = clouds();
    let (methods, _) = noted(&[("fast", false), ("endless", true)]);
    let params = |budget| CompareParams { keep: vec![Keep::Total(4)], repeats: None, budget: Some(budget) };
    let long = params(Duration::from_secs(2));
    let found = compare(Some(&features), None, &labels, &methods, &long, &run()).unwrap();
    assert_eq!((found.rows[0].method.as_str(), found.rows.len()), ("fast", 2));
    assert_eq!(found.unfinished, [Unfinished { method: "endless".into(), n_labeled: 4 }]);
    let short = params(Duration::from_millis(30));
    let error = compare(Some(&features), None, &labels, &methods[1..], &short, &run()).unwrap_err();
    assert!(error.to_string().contains("no method finished"), "{error}");
}

/// A method that cannot run with more than two labels.
struct Broken;

impl Method for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        if problem.targets.rows().len() > 2 {
            return Err(Error::not_positive_definite("the matrix", None, "raise it"));
        }
        NearestLabel::new(NearestLabelParams::default()).fit(problem, run)
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        NearestLabel::new(NearestLabelParams::default()).plan(size)
    }
}

#[test]
fn a_method_that_cannot_run_is_listed_and_the_others_go_on() {
    let (features, labels) = clouds();
    let (mut methods, _) = noted(&[("a", false)]);
    methods.push(Box::new(Broken));
    let params = CompareParams { keep: vec![Keep::Total(2), Keep::PerClass(5)], repeats: Some(2), budget: None };
    let found = compare(Some(&features), None, &labels, &methods, &params, &run()).unwrap();
    let rows: Vec<_> = found.rows.iter().map(|row| (row.method.as_str(), row.n_labeled, row.draws)).collect();
    assert_eq!(rows, [("a", 2, 2), ("broken", 2, 2), (BASELINE, 2, 2), ("a", 10, 2), (BASELINE, 10, 2)]);
    let reason = "the matrix is not positive definite; raise it".to_string();
    assert_eq!(found.failed, [Failed { method: "broken".into(), n_labeled: 10, reason: reason.clone() }]);
    let many = CompareParams { keep: vec![Keep::PerClass(5)], ..params };
    let alone = compare(Some(&features), None, &labels, &methods[1..], &many, &run()).unwrap_err();
    assert_eq!(alone.to_string(), reason);
}

#[test]
fn a_canceled_comparison_is_interrupted() {
    let (features, labels) = clouds();
    let (methods, _) = noted(&[("endless", true)]);
    let cancel = lapwing_core::CancelToken::default();
    let run = run().with_cancel(cancel.clone());
    let params = CompareParams { budget: Some(Duration::from_secs(3600)), ..CompareParams::default() };
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            cancel.cancel();
        });
        compare(Some(&features), None, &labels, &methods, &params, &run)
    });
    assert!(matches!(outcome, Err(Error::Interrupted)));
}

#[test]
fn labels_decide_between_draws_and_folds() {
    let labels =
        |n: usize, n_labeled: i64| Labels::from_integers((0..n as i64).map(move |i| (i < n_labeled).then_some(i % 3)));
    let ladder = [1, 5, 20].map(Keep::PerClass);
    assert_eq!(Keep::suited(&labels(300, 300)).unwrap(), ladder);
    assert_eq!(Keep::suited(&labels(600, 300)).unwrap(), ladder);
    assert_eq!(Keep::suited(&labels(100, 100)).unwrap(), ladder[..2]);
    // Few rows are labeled; few labels at all; fewer labels than folds.
    assert_eq!(Keep::suited(&labels(700, 300)).unwrap(), [Keep::Folds(5)]);
    assert_eq!(Keep::suited(&labels(20, 20)).unwrap(), [Keep::Folds(5)]);
    assert_eq!(Keep::suited(&labels(20, 5)).unwrap(), [Keep::Folds(4)]);
    assert!(Keep::suited(&labels(20, 3)).unwrap_err().to_string().contains("no class has two labels"));
}

#[test]
fn folds_hide_every_label_once_except_single_ones() {
    let labels = Labels::from_integers((0..50).map(|i| match i {
        7 => Some(9),
        i if i % 2 == 0 => Some(i64::from(i % 4 == 0)),
        _ => None,
    }));
    let level = Level::new(Keep::Folds(4), Some(2), &labels, &run()).unwrap();
    assert_eq!((level.draws.len(), level.n_single), (8, 1));
    for split in level.draws.chunks(4) {
        for row in 0..50 {
            let hidden = split.iter().filter(|kept| kept.index[row] != labels.index[row]).count();
            assert_eq!(hidden, usize::from(labels.index[row] != UNLABELED && row != 7), "row {row}");
        }
    }
    assert_ne!(level.draws[0], level.draws[4]);
    for n_folds in [0, 1, 26] {
        assert!(Level::new(Keep::Folds(n_folds), None, &labels, &run()).is_err());
    }
    for n in [0, 13] {
        assert!(Level::new(Keep::PerClass(n), None, &labels, &run()).is_err());
    }
}

/// Rows of methods with these accuracies and seconds.
fn rows(level: &Level, methods: &[(&str, &[f64], f64)]) -> Vec<CompareRow> {
    let row = |&(method, accuracy, seconds): &(&str, &[f64], f64)| {
        let cell = Cell { accuracy: accuracy.into(), seconds: vec![seconds], unreached: vec![0.0], failure: None };
        CompareRow { baseline: method == BASELINE, ..row(method, level, &cell, 0.0) }
    };
    methods.iter().map(row).collect()
}

#[test]
fn the_fastest_method_within_noise_of_the_best_is_recommended() {
    let (_, labels) = clouds();
    let level = Level::new(Keep::Total(10), Some(4), &labels, &run()).unwrap();
    let best = [0.90, 0.80, 0.92, 0.82];
    // Differences of 0.01, −0.01, 0.02 and 0 are noise; of 0.1 each time they are none, although accuracies vary more.
    let equal = [0.89, 0.81, 0.90, 0.82];
    let worse = [0.80, 0.70, 0.82, 0.72];
    let baseline = (BASELINE, &[0.5; 4][..], 0.0);
    let found = |methods: &[(&str, &[f64], f64)]| Winner::new(&rows(&level, methods), &level).unwrap();
    let slow_best = found(&[("a", &best, 5.0), ("b", &equal, 0.1), ("c", &worse, 0.01), baseline]);
    assert_eq!((slow_best.best.as_str(), slow_best.recommended.as_str()), ("a", "b"));
    let text = "with 10 labels (5 per class): b, 0.855; within noise of the best, a (0.860, higher by 0.005 ± 0.006), and 50 \
                times faster";
    assert_eq!(slow_best.text, text);
    let noise: Vec<_> = slow_best.rivals.iter().map(|r| (r.method.as_str(), r.within_noise)).collect();
    assert_eq!(noise, [("b", true), ("c", false), (BASELINE, false)]);
    let fast_best = found(&[("a", &best, 0.1), ("b", &equal, 1.2), baseline]);
    let text = "with 10 labels (5 per class): a, 0.860; within noise of it: b, 0.855 (lower by 0.005 ± 0.006; 12 times slower)";
    assert_eq!((fast_best.recommended.as_str(), fast_best.text.as_str()), ("a", text));
    // A little faster is no reason to take a less accurate method.
    assert_eq!(found(&[("a", &best, 10.0), ("b", &equal, 8.0), baseline]).recommended, "a");
    // Neither are milliseconds.
    let both_fast = found(&[("a", &best, 0.5), ("b", &equal, 0.01), baseline]);
    let text = "with 10 labels (5 per class): a, 0.860; within noise of it: b, 0.855 (lower by 0.005 ± 0.006; 50 times faster)";
    assert_eq!((both_fast.recommended.as_str(), both_fast.text.as_str()), ("a", text));
    let alone = found(&[("a", &best, 0.1), (BASELINE, &[0.86; 4], 0.0)]);
    let text = "with 10 labels (5 per class): a, 0.860; no method is clearly better than the majority class (0.860)";
    assert_eq!(alone.text, text);
    assert!(Winner::new(&rows(&level, &[baseline]), &level).is_none());
}

#[test]
fn methods_that_a_budget_left_with_fewer_draws_are_compared_over_the_shared_ones() {
    let (_, labels) = clouds();
    let level = Level::new(Keep::Total(10), Some(8), &labels, &run()).unwrap();
    // In the two draws of both, b is better; the mean over all of its draws is lower.
    let methods: [(&str, &[f64], f64); 2] = [("a", &[0.9, 0.8], 1.0), ("b", &[0.95, 0.9, 0.2, 0.2], 1.0)];
    let winner = Winner::new(&rows(&level, &methods), &level).unwrap();
    assert_eq!((winner.best.as_str(), winner.accuracy_mean), ("b", 0.925));
    assert!(winner.text.contains(", over the 2 draws of all methods: b, 0.925"), "{}", winner.text);
    assert!(winner.text.ends_with("; 2 of 8 draws tell little: give more time"), "{}", winner.text);
    // A method with less than half of the draws is not judged; in few draws, speed is no reason.
    let [a, b] = methods;
    let slow: (&str, &[f64], f64) = ("c", &[1.0], 90.0);
    let winner = Winner::new(&rows(&level, &[a, b, slow]), &level).unwrap();
    assert_eq!((winner.best.as_str(), winner.rivals.len()), ("b", 1));
    assert!(winner.text.contains("of all methods but c, which had fewer: b"), "{}", winner.text);
    let fast: (&str, &[f64], f64) = ("d", &[0.9, 0.85], 0.01);
    assert_eq!(Winner::new(&rows(&level, &[("a", &[0.95, 0.8], 60.0), fast]), &level).unwrap().recommended, "a");
}

#[test]
fn folds_and_single_draws_have_larger_errors() {
    let (_, labels) = clouds();
    let rival = |keep, a: &[f64], b: &[f64]| {
        let level = Level::new(keep, Some(1), &labels, &run()).unwrap();
        Winner::new(&rows(&level, &[("a", a, 1.0), ("b", b, 1.0)]), &level).unwrap().rivals.remove(0)
    };
    let draws = rival(Keep::Total(10), &[0.9, 0.8, 0.9], &[0.8, 0.8, 0.8]);
    let folds = rival(Keep::Folds(3), &[0.9, 0.8, 0.9], &[0.8, 0.8, 0.8]);
    // s² = 1/300; 1/3 of it, and 1/3 + 1/2.
    assert!((draws.standard_error - (1.0f64 / 900.0).sqrt()).abs() < 1e-12);
    assert!((folds.standard_error - (5.0f64 / 1800.0).sqrt()).abs() < 1e-12);
    // 50 hidden rows: √(0.9·0.1/50 + 0.8·0.2/50).
    let single = rival(Keep::Total(10), &[0.9], &[0.8]);
    assert!((single.standard_error - 0.005f64.sqrt()).abs() < 1e-12 && single.within_noise);
}

#[test]
fn the_baseline_is_the_most_frequent_class_of_all_labels() {
    let labels = Labels::from_integers([Some(1), Some(1), Some(1), Some(0), Some(0), None]);
    let kept = Labels { index: vec![1, UNLABELED, UNLABELED, 0, UNLABELED, UNLABELED], ..labels.clone() };
    assert!((draws::majority_accuracy(&labels, &kept) - 2.0 / 3.0).abs() < 1e-12);
}
