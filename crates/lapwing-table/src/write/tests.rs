//! Tests of all writers with failing system calls: each call fails once.

use std::path::Path;

use lapwing_core::publish::faults::each_call_fails;
use lapwing_core::{ClassNames, Csr, Error, Result};

use super::{LabelWriter, LabeledRows, write_graph};

/// Writes a labeled table as one block.
pub(super) fn write_labels(path: &Path, rows: &LabeledRows<'_>) -> Result<()> {
    let mut writer = LabelWriter::create(path, rows.classes, rows.labels.len(), rows.columns())?;
    writer.write(0, rows)?;
    writer.finish()
}

/// Writes to `name` with each call failing in turn: the error names the file, the older file remains, and no other file
/// does.
fn check(name: &str, write: impl Fn(&Path) -> Result<()>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut n_failed = 0;
    each_call_fails(
        || {
            std::fs::write(&path, "older").unwrap();
            write(&path)
        },
        |call, done| {
            match (call, done) {
                (None, done) => done.unwrap_or_else(|e| panic!("{name}, no fault: {e}")),
                (Some(call), Err(Error::Io { path: named, source })) => {
                    assert_eq!(source.raw_os_error(), Some(libc::EIO), "{name}, call {call}");
                    assert!(named.starts_with(folder.path()), "{name}, call {call}: {}", named.display());
                    assert_eq!(std::fs::read(&path).unwrap(), b"older", "{name}, call {call}");
                    n_failed += 1;
                }
                (call, other) => panic!("{name}, call {call:?}: {other:?}"),
            }
            let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(names, [name], "call {call:?}");
        },
    );
    assert_ne!(std::fs::read(&path).unwrap(), b"older", "{name}");
    // Creating, writing, syncing and renaming a file take at least one call each.
    assert!(n_failed >= 4, "{name}: {n_failed} calls");
}

/// More rows than one buffer holds, so that writing a file takes several calls.
const N_ROWS: usize = 120_000;

struct Answers {
    classes: ClassNames,
    labels: Vec<Option<usize>>,
    confidence: Vec<f64>,
    reached: Vec<bool>,
}

impl Answers {
    fn new() -> Self {
        let labels = (0..N_ROWS).map(|row| (row % 3 != 0).then_some(row % 2)).collect();
        let confidence = (0..N_ROWS).map(|row| 1.0 / (row + 1) as f64).collect();
        Self { classes: ClassNames::Integers(vec![3, 8]), labels, confidence, reached: vec![true; N_ROWS] }
    }

    fn rows(&self) -> LabeledRows<'_> {
        let Self { classes, labels, confidence, reached } = self;
        LabeledRows { classes, labels, confidence, reached, certified: None, probabilities: None }
    }
}

#[test]
fn labels() {
    let answers = Answers::new();
    for ending in super::LABEL_ENDINGS {
        check(&format!("labels{ending}"), |path| write_labels(path, &answers.rows()));
    }
}

#[test]
fn graphs() {
    let n = 40_000u32;
    let both = |i: u32| [(i, i + 1, 0.1 * f64::from(i)), (i + 1, i, 0.1 * f64::from(i))];
    let entries: Vec<(u32, u32, f64)> = (1..n - 1).flat_map(both).collect();
    let graph = Csr::from_entries(n as usize, n as usize, &entries).unwrap();
    for ending in super::GRAPH_ENDINGS {
        check(&format!("graph{ending}"), |path| write_graph(path, &graph));
    }
}
