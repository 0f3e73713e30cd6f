//! The readers that are given damaged files, and what must hold of what they accept.

mod checkpoints;
mod edges;
mod graphs;
mod labels;
mod models;
mod samples;

use std::io;
use std::path::PathBuf;

use lapwing_data::{Error, Result, Run};

use crate::judge::{Answer, Verdict};
use crate::memory::keep_pages;
use crate::mutate::{self, Mutator};
use crate::scratch::Scratch;
use crate::seeds::{self, Seed};

pub(crate) use self::checkpoints::{kept_sparsifier, kept_sums};
pub(crate) use self::labels::rows_of;
pub(crate) use self::samples::{table_options, values_of};

/// What readers of damaged files need: a folder and a run.
#[derive(Debug)]
pub struct Bench {
    scratch: Scratch,
    run: Run,
}

impl Bench {
    /// One of a single thread.
    ///
    /// # Errors
    /// When no folder can be made or no thread started.
    pub fn new() -> io::Result<Self> {
        keep_pages();
        Ok(Self { scratch: Scratch::new()?, run: Run::new(Some(1), 0).map_err(io::Error::other)? })
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// A file of that name with these contents.
    ///
    /// # Panics
    /// When the folder takes no more files, which is no fault of a reader.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        self.scratch.file(name, bytes).unwrap_or_else(|error| panic!("cannot write {name}: {error}"))
    }

    /// Where a file of that name would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }
}

/// A reader that is given damaged files.
#[derive(Debug)]
pub struct Target {
    /// Its name in commands and folders.
    pub name: &'static str,
    /// What its files are called; the ending tells the format.
    pub file: &'static str,
    /// Reads bytes as such a file.
    pub run: fn(&Bench, &[u8]) -> Verdict,
    /// Valid files, always the same.
    pub seeds: fn(&Bench) -> Vec<Seed>,
    /// Damages a file by what is known of its format.
    pub mutate: fn(&mut Mutator<'_>, &mut Vec<u8>),
    /// Bytes of an input at most.
    pub most: usize,
    /// Share of the time, relative to the others'.
    pub share: u32,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "csv",
        file: "t.csv",
        run: samples::table,
        seeds: seeds::text::csv,
        mutate: mutate::text::csv,
        most: 4096,
        share: 4,
    },
    Target {
        name: "csv-gz",
        file: "t.csv.gz",
        run: samples::gzipped,
        seeds: seeds::text::csv_gz,
        mutate: mutate::compressed::gzip,
        most: 4096,
        share: 1,
    },
    Target {
        name: "csv-zst",
        file: "t.csv.zst",
        run: samples::zstandard,
        seeds: seeds::text::csv_zst,
        mutate: mutate::compressed::zstd,
        most: 4096,
        share: 1,
    },
    Target {
        name: "svmlight",
        file: "s.svm",
        run: samples::svmlight,
        seeds: seeds::text::svmlight,
        mutate: mutate::text::svmlight,
        most: 4096,
        share: 2,
    },
    Target {
        name: "npy",
        file: "a.npy",
        run: samples::npy,
        seeds: seeds::array::samples,
        mutate: mutate::npy::npy,
        most: 4096,
        share: 4,
    },
    Target {
        name: "npz",
        file: "x.npz",
        run: samples::npz,
        seeds: seeds::array::archives,
        mutate: mutate::zip::npz,
        most: 8192,
        share: 2,
    },
    Target {
        name: "parquet",
        file: "t.parquet",
        run: samples::parquet,
        seeds: seeds::parquet::tables,
        mutate: mutate::parquet::parquet,
        most: 16384,
        share: 3,
    },
    Target {
        name: "labels-text",
        file: "l.csv",
        run: labels::text,
        seeds: seeds::text::labels,
        mutate: mutate::text::labels,
        most: 2048,
        share: 4,
    },
    Target {
        name: "labels-npy",
        file: "l.npy",
        run: labels::npy,
        seeds: seeds::array::labels,
        mutate: mutate::npy::npy,
        most: 2048,
        share: 1,
    },
    Target {
        name: "edges-csv",
        file: "e.csv",
        run: edges::csv,
        seeds: seeds::text::edges,
        mutate: mutate::text::csv,
        most: 4096,
        share: 2,
    },
    Target {
        name: "edges-npy",
        file: "e.npy",
        run: edges::npy,
        seeds: seeds::array::edges,
        mutate: mutate::npy::npy,
        most: 4096,
        share: 2,
    },
    Target {
        name: "edges-parquet",
        file: "e.parquet",
        run: edges::parquet,
        seeds: seeds::parquet::edges,
        mutate: mutate::parquet::parquet,
        most: 16384,
        share: 2,
    },
    Target {
        name: "graph-npz",
        file: "g.npz",
        run: graphs::npz,
        seeds: seeds::array::graphs,
        mutate: mutate::zip::npz,
        most: 8192,
        share: 2,
    },
    Target {
        name: "model",
        file: "m.lapwing",
        run: models::model,
        seeds: seeds::models::models,
        mutate: mutate::model::model,
        most: 32768,
        share: 4,
    },
    Target {
        name: "sparsifier",
        file: "sparsifier.checkpoint",
        run: checkpoints::sparsifier,
        seeds: seeds::models::sparsifiers,
        mutate: mutate::model::model,
        most: 32768,
        share: 2,
    },
    Target {
        name: "low-rank-sums",
        file: "sums.checkpoint",
        run: checkpoints::sums,
        seeds: seeds::models::sums,
        mutate: mutate::model::model,
        most: 32768,
        share: 2,
    },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// What must hold: else the sentence is what is wrong.
fn holds(condition: bool, words: impl FnOnce() -> String) -> std::result::Result<(), String> {
    if condition { Ok(()) } else { Err(words()) }
}

/// An answer of errors that damaged files may lead to; faults of the program itself are defects.
fn answer<T>(result: Result<T>) -> std::result::Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => refused(&error).map(|()| None),
    }
}

/// Whether an error is one that files may lead to: one line, and no fault of the program's own.
fn refused(error: &Error) -> std::result::Result<(), String> {
    let text = error.to_string();
    match error {
        Error::Internal { .. } => Err(format!("an internal error: {text}")),
        Error::Interrupted => Err("an interruption that nobody asked for".into()),
        _ => holds(!text.trim().is_empty(), || "an error without words".into()),
    }
}

/// What both of two readings must come to.
fn same(what: &str, first: bool, second: bool) -> std::result::Result<(), String> {
    let word = |is_accepted: bool| if is_accepted { "accepted" } else { "refused" };
    holds(first == second, || format!("{what}: {} by one, {} by the other", word(first), word(second)))
}

/// The answer of a target that accepted something, or nothing.
fn accepted(is_accepted: bool) -> Verdict {
    Ok(if is_accepted { Answer::Accepted } else { Answer::Refused })
}
