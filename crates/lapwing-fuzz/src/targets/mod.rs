//! The readers that are tested, and the conditions on all that they accept.

mod checkpoints;
mod edges;
mod graphs;
mod labels;
mod models;
mod samples;

use std::io;
use std::path::{Path, PathBuf};

use lapwing_core::{Error, Result, Run};

use crate::judge::{Answer, Verdict};
use crate::memory::keep_pages;
use crate::mutate::{self, Mutator};
use crate::scratch::Scratch;
use crate::seeds::{self, Seed};

pub(crate) use self::labels::rows_of;
pub(crate) use self::samples::{table_options, values_of};

/// The workbench of the readers: a folder for their files, and a run.
#[derive(Debug)]
pub struct Bench {
    scratch: Scratch,
    run: Run,
}

impl Bench {
    /// A workbench with a single thread.
    pub fn new() -> io::Result<Self> {
        keep_pages();
        Ok(Self { scratch: Scratch::new()?, run: Run::new(Some(1), 0).map_err(io::Error::other)? })
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Writes a file of this name.
    ///
    /// # Panics
    /// When the file cannot be written: no reader is at fault then.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        self.scratch.file(name, bytes).unwrap_or_else(|error| panic!("cannot write {name}: {error}"))
    }

    /// The path of a file of this name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }
}

/// Valid files, always the same.
type Seeds = fn(&Bench) -> Vec<Seed>;
/// Damages a file of a known format.
type Mutate = fn(&mut Mutator<'_>, &mut Vec<u8>);
/// Gives a file, and its bytes, to a reader.
type Read = fn(&Bench, &Path, &[u8]) -> Verdict;

/// A reader that is tested with damaged files.
#[derive(Debug)]
pub struct Target {
    /// Its name in commands and folders.
    pub name: &'static str,
    /// The name of its files; the ending determines the format.
    pub file: &'static str,
    /// Reads a file and checks the result.
    pub read: Read,
    /// Valid files.
    pub seeds: Seeds,
    /// Damages a file of the format.
    pub mutate: Mutate,
    /// The most bytes of an input.
    pub most: usize,
    /// Share of the time, relative to other targets.
    pub share: u32,
}

/// All targets: name, file, reader, seeds, mutation, most bytes, share of the time.
pub const TARGETS: &[Target] = &[
    target("csv", "t.csv", samples::table, seeds::text::csv, mutate::csv, 4096, 4),
    target("csv-gz", "t.csv.gz", samples::table, seeds::text::csv_gz, mutate::gzip, 4096, 1),
    target("csv-zst", "t.csv.zst", samples::table, seeds::text::csv_zst, mutate::zstd, 4096, 1),
    target("jsonl", "t.jsonl", samples::table, seeds::text::jsonl, mutate::jsonl, 4096, 2),
    target("arrow", "t.arrow", samples::table, seeds::parquet::arrow_tables, mutate::havoc_of, 16384, 2),
    target("svmlight", "s.svm", samples::svmlight, seeds::text::svmlight, mutate::svmlight, 4096, 2),
    target("npy", "a.npy", samples::array, seeds::array::samples, mutate::npy, 4096, 4),
    target("npz", "x.npz", samples::array, seeds::array::archives, mutate::npz, 8192, 2),
    target("parquet", "t.parquet", samples::table, seeds::parquet::tables, mutate::parquet, 16384, 3),
    target("labels-text", "l.csv", labels::labels, seeds::text::labels, mutate::csv, 2048, 4),
    target("labels-npy", "l.npy", labels::labels, seeds::array::labels, mutate::npy, 2048, 1),
    target("edges-csv", "e.csv", edges::edges, seeds::text::edges, mutate::csv, 4096, 2),
    target("edges-npy", "e.npy", edges::edges, seeds::array::edges, mutate::npy, 4096, 2),
    target("edges-parquet", "e.parquet", edges::edges, seeds::parquet::edges, mutate::parquet, 16384, 2),
    target("graph-npz", "g.npz", graphs::npz, seeds::array::graphs, mutate::npz, 8192, 2),
    target("model", "m.lapwing", models::model, seeds::models::models, mutate::model, 32768, 4),
    target("forged-model", "m.lapwing", models::forged, seeds::models::models, mutate::forged_model, 32768, 4),
    target(
        "sparsifier",
        "s.checkpoint",
        checkpoints::sparsifier,
        checkpoints::kept_sparsifier,
        mutate::model,
        32768,
        2,
    ),
    target("low-rank-sums", "sums.checkpoint", checkpoints::sums, checkpoints::kept_sums, mutate::model, 32768, 2),
];

const fn target(
    name: &'static str,
    file: &'static str,
    read: Read,
    seeds: Seeds,
    mutate: Mutate,
    most: usize,
    share: u32,
) -> Target {
    Target { name, file, read, seeds, mutate, most, share }
}

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}

/// The result of a check: the error is a sentence about what is wrong.
type Checked<T = ()> = std::result::Result<T, String>;

/// A check that fails with `words` unless the condition holds.
fn holds(condition: bool, words: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(words()) }
}

/// The value of a result, `None` for errors of damaged files. Errors that no file may cause fail the check.
fn answer<T>(result: Result<T>) -> Checked<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => refused(&error).map(|()| None),
    }
}

/// Checks that an error is one of those that files may cause.
fn refused(error: &Error) -> Checked {
    let text = error.to_string();
    match error {
        Error::Internal { .. } => Err(format!("an internal error: {text}")),
        Error::Interrupted => Err("interrupted without an interruption".into()),
        _ => holds(!text.trim().is_empty(), || "an error without a text".into()),
    }
}

/// The verdict on an input that was read without a defect.
fn accepted(is_accepted: bool) -> Verdict {
    Ok(if is_accepted { Answer::Accepted } else { Answer::Refused })
}
