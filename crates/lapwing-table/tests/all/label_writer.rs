//! The labeled table in blocks: the bytes of the table written at once, whoever writes them.

use std::path::Path;

use crate::common::{Folder, run, write_labels};
use lapwing_core::publish::AtomicFile;
use lapwing_core::{ClassNames, Error, Matrix, Run};
use lapwing_table::read::ReadOptions;
use lapwing_table::read_label_column;
use lapwing_table::write::{LABEL_ENDINGS, LabelColumns, LabelWriter, LabeledRows};
use proptest::prelude::*;

/// Answers for some rows.
#[derive(Clone, Debug)]
struct Answers {
    classes: ClassNames,
    labels: Vec<Option<usize>>,
    confidence: Vec<f64>,
    reached: Vec<bool>,
    certified: Option<Vec<bool>>,
    probabilities: Option<Matrix>,
}

impl Answers {
    /// With all columns, or the first four.
    fn new(n: usize, classes: ClassNames, all: bool) -> Self {
        let c = classes.len();
        let labels: Vec<_> = (0..n).map(|row| (row % 7 != 3).then_some(row * 5 % c)).collect();
        let confidence = (0..n).map(|row| if row % 11 == 5 { f64::NAN } else { row as f64 / n as f64 }).collect();
        let reached = (0..n).map(|row| row % 7 != 3).collect();
        let p = |at: usize| if at % 13 == 8 { f64::NAN } else { (at as f64).sin().abs().powi(at as i32 % 9) };
        let probabilities = all.then(|| Matrix::new(n, c, (0..n * c).map(p).collect()).unwrap());
        let certified = all.then(|| (0..n).map(|row| row % 5 != 2).collect());
        Self { classes, labels, confidence, reached, certified, probabilities }
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    /// The rows from `first` to before `end`.
    fn part(&self, first: usize, end: usize) -> Self {
        let some = |matrix: &Matrix| {
            let c = matrix.n_cols();
            Matrix::new(end - first, c, matrix.values()[first * c..end * c].to_vec()).unwrap()
        };
        Self {
            classes: self.classes.clone(),
            labels: self.labels[first..end].to_vec(),
            confidence: self.confidence[first..end].to_vec(),
            reached: self.reached[first..end].to_vec(),
            certified: self.certified.as_ref().map(|certified| certified[first..end].to_vec()),
            probabilities: self.probabilities.as_ref().map(some),
        }
    }

    fn rows(&self) -> LabeledRows<'_> {
        let Self { classes, labels, confidence, reached, certified, probabilities } = self;
        let (certified, probabilities) = (certified.as_deref(), probabilities.as_ref());
        LabeledRows { classes, labels, confidence, reached, certified, probabilities }
    }

    fn columns(&self) -> LabelColumns {
        LabelColumns { certified: self.certified.is_some(), probabilities: self.probabilities.is_some() }
    }

    fn writer(&self, path: &Path) -> LabelWriter {
        LabelWriter::create(path, &self.classes, self.len(), self.columns()).unwrap()
    }
}

fn endings() -> impl Iterator<Item = &'static str> {
    LABEL_ENDINGS.into_iter()
}

fn texts() -> ClassNames {
    ClassNames::Texts(["", "a,b", "line\nline", "say \"x\"", "ä"].map(String::from).to_vec())
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Holds tables in blocks that end at `cuts` against the table at once.
fn check(answers: &Answers, cuts: &[usize], run: &Run) {
    let n = answers.len();
    let bounds: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([n]).collect();
    for ending in endings() {
        let folder = Folder::new();
        let (at_once, path) = (folder.path(&format!("once{ending}")), folder.path(&format!("blocks{ending}")));
        write_labels(&at_once, &answers.rows()).unwrap();
        let expected = std::fs::read(at_once).unwrap();

        let mut writer = answers.writer(&path);
        for pair in bounds.windows(2) {
            let block = answers.part(pair[0], pair[1]);
            run.install(|| writer.write(pair[0], &block.rows())).unwrap();
        }
        assert!(!path.exists());
        writer.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == expected, "{ending} in blocks {bounds:?} is another");

        assert_eq!(names(&folder), [format!("blocks{ending}"), format!("once{ending}")]);
    }
}

#[test]
fn blocks_of_any_size_give_the_same_bytes() {
    let two = Run::new(Some(2), 0).unwrap();
    for classes in [texts(), ClassNames::Integers(vec![-1, 7])] {
        for probabilities in [false, true] {
            let answers = Answers::new(100, classes.clone(), probabilities);
            check(&answers, &[], &run());
            check(&answers, &(1..100).collect::<Vec<_>>(), &run());
            check(&answers, &[0, 33, 33, 60, 100], &two);
        }
    }
    // Several chunks for each thread, and several batches of a table.
    let answers = Answers::new(150_000, texts(), false);
    check(&answers, &[10, 70_000, 140_001], &two);
    check(&Answers::new(0, texts(), true), &[0], &two);
}

#[test]
fn a_table_is_divided_among_files() {
    let folder = Folder::new();
    let answers = Answers::new(100, ClassNames::Integers(vec![-1, 7]), true);
    write_labels(&folder.path("all.csv"), &answers.rows()).unwrap();
    let all = std::fs::read_to_string(folder.path("all.csv")).unwrap();
    for step in [1, 7, 100] {
        let files = [("a.csv", 30), ("b.csv", 0), ("c.csv", 69), ("d.csv", 1), ("e.csv", 0)];
        let files = files.map(|(name, n_rows)| (folder.path(name), n_rows)).to_vec();
        let mut writer = answers.writer(&files[0].0).divided(files.clone()).unwrap();
        for first in (0..100).step_by(step) {
            writer.write(first, &answers.part(first, 100.min(first + step)).rows()).unwrap();
        }
        assert!(files.iter().all(|file| !file.0.exists()));
        writer.finish().unwrap();
        let mut lines: Vec<String> = vec![all.lines().next().unwrap().into()];
        for (path, n_rows) in &files {
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(
                (text.lines().count(), text.lines().next()),
                (n_rows + 1, all.lines().next()),
                "{}",
                path.display()
            );
            lines.extend(text.lines().skip(1).map(String::from));
            std::fs::remove_file(path).unwrap();
        }
        assert!(lines.iter().map(String::as_str).eq(all.lines()));
    }
    let divided = |files: &[(&str, usize)]| {
        let files = files.iter().map(|&(name, n_rows)| (folder.path(name), n_rows)).collect();
        answers.writer(&folder.path("a.csv")).divided(files).map(drop).unwrap_err().to_string()
    };
    assert!(divided(&[("a.csv", 99)]).contains("100 rows"));
    assert!(divided(&[("a.csv", 50), ("b.parquet", 50)]).contains("all end in .csv"));
}

#[test]
fn the_text_is_that_of_a_plain_writer() {
    let answers = Answers::new(300, texts(), true);
    let folder = Folder::new();
    let path = folder.path("t.csv");
    write_labels(&path, &answers.rows()).unwrap();
    let mut plain = csv::Writer::from_writer(Vec::new());
    let names = answers.classes.names();
    let header = ["row", "label", "confidence", "reached", "certified"].map(String::from).into_iter();
    plain.write_record(header.chain(names.iter().map(|name| format!("p_{name}")))).unwrap();
    let number = |x: f64| if x.is_nan() { String::new() } else { format!("{x:?}") };
    for row in 0..answers.len() {
        let class = answers.labels[row];
        let label = class.map_or("", |class| &names[class]).to_owned();
        let confidence = class.map_or(String::new(), |_| number(answers.confidence[row]));
        let certified = answers.certified.as_ref().unwrap()[row].to_string();
        let cells = [row.to_string(), label, confidence, answers.reached[row].to_string(), certified].into_iter();
        let probabilities = answers.probabilities.as_ref().unwrap().row(row).iter().map(|&p| number(p));
        plain.write_record(cells.chain(probabilities)).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), plain.into_inner().unwrap());
}

#[test]
fn blocks_must_follow_one_another() {
    let folder = Folder::new();
    let answers = Answers::new(10, texts(), false);
    for ending in endings() {
        let path = folder.path(&format!("t{ending}"));
        let mut writer = answers.writer(&path);
        let mut text = |first, block: &Answers| writer.write(first, &block.rows()).unwrap_err().to_string();
        assert_eq!(text(1, &answers.part(1, 3)), "first row of the block is 1; expected row 0");
        assert!(text(0, &Answers::new(11, texts(), false)).contains("11 rows from row 0 on; expected at most 10 rows"));
        assert!(text(usize::MAX, &answers).contains("at most 10 rows"));
        assert!(text(0, &Answers::new(2, ClassNames::Integers(vec![0, 1]), false)).contains("not those of the table"));
        assert!(
            text(0, &Answers::new(2, texts(), true))
                .contains("has certified and probabilities; expected no probabilities")
        );
        let mut beyond = answers.part(0, 2);
        beyond.labels[1] = Some(5);
        assert!(text(0, &beyond).contains("row 1 has a class beyond the 5"));
        beyond.confidence.pop();
        assert!(text(0, &beyond).contains("confidence has 1 values"));
        // A refused block leaves the table as it was.
        writer.write(0, &answers.part(0, 4).rows()).unwrap();
        assert!(writer.write(0, &answers.part(0, 4).rows()).unwrap_err().to_string().contains("expected row 4"));
        assert!(writer.finish().unwrap_err().to_string().contains("the table of labels has 4; expected 10 rows"));
        drop(answers.writer(&path));
        assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    }
    let unknown =
        LabelWriter::create(&folder.path("t.txt"), &texts(), 1, LabelColumns::default()).unwrap_err().to_string();
    assert!(unknown.contains(".parquet"), "{unknown}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_ends_the_table() {
    let folder = Folder::new();
    let answers = Answers::new(200_000, texts(), false);
    for ending in endings().filter(|&ending| ending != ".parquet") {
        let path = folder.path(&format!("full{ending}"));
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut writer = answers.writer(&path);
        match writer.write(0, &answers.rows()) {
            Err(Error::Io { source, .. }) => assert_eq!(source.kind(), std::io::ErrorKind::StorageFull),
            other => panic!("{other:?}"),
        }
        let again = writer.write(0, &answers.rows()).unwrap_err().to_string();
        assert!(again.contains("a block before could not be written"), "{again}");
        assert!(writer.finish().is_err());
    }
}

#[test]
fn a_file_that_is_not_committed_was_never_there() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = Folder::new();
    let path = folder.file("t.bin", "older");
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(&[1; 3 << 20]).unwrap();
    assert_eq!(names(&folder).len(), 2);
    drop(file);
    assert_eq!((names(&folder).len(), std::fs::read(&path).unwrap()), (1, b"older".to_vec()));
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"abc").unwrap();
    file.seek(SeekFrom::Start(1)).unwrap();
    file.write_all(b"x").unwrap();
    file.stage().unwrap().publish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"axc");
    assert!(AtomicFile::create(&folder.path("none/t.bin")).unwrap_err().to_string().contains("none"));
}

#[test]
fn what_was_written_is_read_again() {
    let folder = Folder::new();
    let answers = Answers::new(1000, ClassNames::Texts(vec!["a".into(), "b,c".into()]), false);
    let options = ReadOptions { label_column: Some("label".into()), ..ReadOptions::default() };
    for ending in endings().filter(|&ending| ending != ".npy") {
        let path = folder.path(&format!("t{ending}"));
        write_labels(&path, &answers.rows()).unwrap();
        let labels = read_label_column(&path, &options, &run()).unwrap();
        assert_eq!((&labels.classes, labels.n_samples), (&answers.classes, 1000));
        let found = labels.rows.iter().zip(&labels.index);
        assert!(found.clone().all(|(&row, &class)| answers.labels[row as usize] == Some(class as usize)));
        assert_eq!(found.len(), answers.labels.iter().flatten().count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_cuts_give_the_same_bytes(
        n in 1usize..200,
        probabilities in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let answers = Answers::new(n, texts(), probabilities);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(n)).collect();
        cuts.sort();
        check(&answers, &cuts, &run());
    }
}
