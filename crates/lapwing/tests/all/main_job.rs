//! The main job, with nothing but what the facade lists: tables and arrays to labels, files, models, new rows, doubts, suggestions.

use std::fs;

use lapwing::data::prepare::prepare;
use lapwing::data::read::{ReadOptions, TableFile, read_labels, read_samples};
use lapwing::data::write::{LabelColumns, write_labeling};
use lapwing::data::{Standardize, UNLABELED};
use lapwing::graph::Metric;
use lapwing::models::metrics::accuracy;
use lapwing::models::split::keep_labels_per_class;
use lapwing::models::{
    AuditParams, CompareParams, Keep, SetsParams, SuggestParams, Suggester, Wanted, audit, compare, prediction_sets,
};
use lapwing::prelude::*;

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lapwing-cli/data/digits.csv.gz");

struct Digits {
    features: Features<'static>,
    names: Option<Vec<String>>,
    truth: Labels,
    known: Labels,
    run: Run,
}

/// The digits, with some labels of each.
fn digits(per_class: usize) -> Digits {
    let run = Run::new(Some(2), 0).unwrap();
    let options = ReadOptions { label_column: Some("digit".into()), ..ReadOptions::default() };
    let samples = read_samples(DIGITS.as_ref(), &options, &run).unwrap();
    let truth = samples.labels.unwrap();
    let known = keep_labels_per_class(&truth, per_class, 0, &run).unwrap();
    Digits { features: samples.features, names: samples.feature_names, truth, known, run }
}

#[test]
fn arrays_become_labels_a_file_and_a_model() {
    let Digits { features, names, truth, known, run } = digits(5);
    let targets = Targets::one_hot(&known, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = method("harmonic", &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
    let right = accuracy(&truth.index, &fitted.labeling.labels, |row| known.index[row] == UNLABELED);
    assert!(right > 0.92, "{right}");
    let expected = fitted.expected_accuracy().unwrap();
    assert!(expected.low < right && right < expected.high, "{expected:?}, {right}");

    let folder = tempfile::tempdir().unwrap();
    let (table, file) = (folder.path().join("labels.csv"), folder.path().join("digits.lapwing"));
    let columns = LabelColumns { certified: true, probabilities: true };
    write_labeling(&table, &fitted.labeling, &known.classes, None, columns).unwrap();
    let text = fs::read_to_string(&table).unwrap();
    assert!(text.starts_with("row,label,confidence,reached,certified,p_0,") && text.lines().count() == 1798);

    // A model predicts the rows of its own fit as the fit labeled them, up to rows between two classes.
    let own = fitted.labeling.labels.clone();
    let model = Model::of(fitted, known.classes.clone()).unwrap();
    Model { feature_names: names, ..model }.save(&file).unwrap();
    let loaded = Model::load(&file).unwrap();
    assert_eq!(loaded.classifier.classes.names(), known.classes.names());
    let again = loaded.predict(&features, &run).unwrap();
    let same = own.iter().zip(&again.labels).filter(|(a, b)| a == b).count();
    assert!(same > 1750, "{same}");
}

#[test]
fn a_table_of_mixed_columns_is_prepared_and_predicted() {
    let run = Run::new(Some(2), 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let row = |at: usize| {
        let is_large = at % 2 == 1;
        let (color, size) = if is_large { ("dark red", 200 + at % 37) } else { ("pale blue", 20 + at % 11) };
        (format!("{color},{size},2024-0{}-11", 1 + at % 6), if is_large { "large" } else { "small" })
    };
    let text = |range: std::ops::Range<usize>, is_known: bool| -> String {
        let head = if is_known { "color,size,day,kind\n" } else { "color,size,day\n" };
        let line = |at: usize| match (is_known, row(at)) {
            (true, (cells, kind)) => format!("{cells},{}\n", if at < 20 { kind } else { "" }),
            (false, (cells, _)) => format!("{cells}\n"),
        };
        range.map(line).fold(head.to_owned(), |text, line| text + &line)
    };
    let (fit, new) = (folder.path().join("fit.csv"), folder.path().join("new.csv"));
    fs::write(&fit, text(0..200, true)).unwrap();
    fs::write(&new, text(200..260, false)).unwrap();

    let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
    let prepared = prepare(&fit, &options, Standardize::Auto, &run).unwrap();
    let labels = prepared.labels.unwrap();
    assert_eq!((labels.n_labeled(), labels.classes.names()), (20, vec!["large".to_owned(), "small".to_owned()]));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&prepared.features), ..Problem::new(&targets) };
    let fitted = method("auto", &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
    let name = |class: u32| labels.classes.name(class as usize);
    assert!((0..200).all(|at| name(fitted.labeling.labels[at]) == row(at).1));

    let model = Model { recipe: Some(prepared.recipe), ..Model::of(fitted, labels.classes.clone()).unwrap() };
    let table = TableFile::open(&new, &ReadOptions::default()).unwrap();
    let (labeling, warnings) = model.predict_table(&table, &run).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!((0..60).all(|at| name(labeling.labels[at]) == row(200 + at).1));
}

#[test]
fn a_graph_labels_doubts_and_suggests() {
    let Digits { features, truth, mut known, run, .. } = digits(20);
    let spoiled = (0..truth.len()).find(|&row| known.index[row] == 4).unwrap();
    known.index[spoiled] = 7;
    let affinity = affinity_graph(&features, &GraphParams::default(), &run).unwrap();
    let targets = Targets::one_hot(&known, None).unwrap();
    let near = Some((&features, Metric::Euclidean));
    let found = audit(&affinity.graph, near, &targets, &AuditParams::default(), &run).unwrap();
    assert!(found.flagged[spoiled] && found.proposed[spoiled] == Some(4));
    assert!(found.ranked()[..3].contains(&spoiled) && found.summary.n_flagged > 0);

    known.index[spoiled] = 4;
    let targets = Targets::one_hot(&known, None).unwrap();
    let problem = Problem { graph: Some(&affinity), ..Problem::new(&targets) };
    let fitted = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
    let held_out = fitted.held_out.as_ref().unwrap();
    let labeling = &fitted.labeling;
    let params = SetsParams { level: 0.9, ..SetsParams::default() };
    let sets =
        prediction_sets(&held_out.classes, &held_out.shares, &labeling.label_distributions, &labeling.reached, &params)
            .unwrap();
    let holds = |row: usize| sets.holds[row * sets.n_classes + truth.index[row] as usize];
    let share = (0..truth.len()).filter(|&row| holds(row)).count() as f64 / truth.len() as f64;
    assert!(share > 0.85, "{share}");

    let wanted = Wanted { n: 7, ..Wanted::default() };
    let mut suggester = Suggester::new(&affinity.graph, &run).unwrap();
    let batch = suggester.next(Some(&targets), &wanted, &SuggestParams::default(), &run).unwrap();
    let rows: Vec<usize> = batch.rows.iter().map(|suggestion| suggestion.row as usize).collect();
    assert!(rows.len() == 7 && rows.iter().all(|&row| known.index[row] == UNLABELED), "{rows:?}");
}

#[test]
fn methods_are_compared_on_hidden_labels() {
    let Digits { features, truth, run, .. } = digits(5);
    let methods = ["harmonic", "linear"].map(|name| method(name, &MethodParams::default()).unwrap());
    let params = CompareParams { keep: vec![Keep::PerClass(3)], repeats: Some(2), ..CompareParams::default() };
    let found = compare(Some(&features), None, &truth, &methods, &params, &run).unwrap();
    let accuracies: Vec<f64> = found.rows.iter().map(|row| row.accuracy_mean).collect();
    // Harmonic, linear, and the most frequent class.
    assert!(accuracies.len() == 3 && accuracies.is_sorted_by(|a, b| a > b), "{accuracies:?}");
}

#[test]
fn labels_in_files_are_those_in_tables() {
    let Digits { truth, .. } = digits(5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("known.csv");
    let lines: String =
        (0..30).map(|row| format!("{row},{}\n", truth.classes.name(truth.index[row] as usize))).collect();
    fs::write(&path, lines).unwrap();
    let labels = read_labels(&path, truth.len(), None).unwrap();
    assert_eq!(labels.n_labeled(), 30);
    let names = |labels: &Labels, row: usize| labels.classes.name(labels.index[row] as usize);
    assert!((0..30).all(|row| names(&labels, row) == names(&truth, row)));
}
