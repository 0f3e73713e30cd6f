//! The readers that are tested, and the conditions on all that they accept.

mod checkpoints;
mod edges;
mod graphs;
mod labels;
mod models;
mod samples;

use std::path::Path;

pub(crate) use self::labels::rows_of;
pub(crate) use self::samples::{table_options, values_of};
use crate::bench::{Bench, Verdict};
use crate::mutate::{self, Mutator};

/// Gives a file, and its bytes, to a reader.
type Read = fn(&Bench, &Path, &[u8]) -> Verdict;
/// Damages a file.
type Mutate = fn(&mut Mutator<'_>, &mut Vec<u8>);
/// Names and bytes of valid files, always the same.
type Valid = fn(&Bench) -> Vec<(String, Vec<u8>)>;

/// A reader that is tested with damaged files.
#[derive(Debug)]
pub struct Target {
    /// Its name in commands and folders.
    pub name: &'static str,
    /// The name of its files; the ending determines the format.
    pub file: &'static str,
    /// Reads a file and checks the result.
    pub read: Read,
    /// Damages a file of the format.
    pub mutate: Mutate,
    /// Valid files, besides those in `tests/corpus`.
    pub valid: Valid,
}

const fn target(name: &'static str, file: &'static str, read: Read, mutate: Mutate) -> Target {
    Target { name, file, read, mutate, valid: |_| Vec::new() }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("csv", "t.csv", samples::table, mutate::plain),
    target("csv-gz", "t.csv.gz", samples::table, mutate::gzip),
    target("csv-zst", "t.csv.zst", samples::table, mutate::zstd),
    target("jsonl", "t.jsonl", samples::table, mutate::plain),
    target("arrow", "t.arrow", samples::table, mutate::plain),
    target("svmlight", "s.svm", samples::svmlight, mutate::plain),
    target("npy", "a.npy", samples::array, mutate::plain),
    target("npz", "x.npz", samples::array, mutate::npz),
    target("parquet", "t.parquet", samples::table, mutate::plain),
    target("labels-text", "l.csv", labels::labels, mutate::plain),
    target("labels-npy", "l.npy", labels::labels, mutate::plain),
    target("edges-csv", "e.csv", edges::edges, mutate::plain),
    target("edges-npy", "e.npy", edges::edges, mutate::plain),
    target("edges-parquet", "e.parquet", edges::edges, mutate::plain),
    target("graph-npz", "g.npz", graphs::npz, mutate::npz),
    Target { valid: models::valid, ..target("model", "m.lapwing", models::model, mutate::model) },
    Target { valid: models::valid, ..target("forged-model", "m.lapwing", models::forged, mutate::forged_model) },
    Target {
        valid: checkpoints::valid_sparsifiers,
        ..target("sparsifier", "s.checkpoint", checkpoints::sparsifier, mutate::model)
    },
    Target {
        valid: checkpoints::valid_sums,
        ..target("low-rank-sums", "sums.checkpoint", checkpoints::sums, mutate::model)
    },
];

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}
