//! Options of a run: threads, seed, and what is printed.

use clap::{Args, ValueEnum};
use lapwing_core::params::count;

/// A part of the rows instead of all.
#[derive(Args)]
pub struct SampleOption {
    /// Take about N rows instead of all: the labeled ones, rows near them, and others drawn at random
    ///
    /// All rows are read in blocks, so that there may be any number of them.
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Input")]
    pub fit_rows: Option<usize>,
}

/// Threads, seed, and what is printed.
#[derive(Args)]
#[command(next_help_heading = "Run")]
pub struct RunOptions {
    /// Seed of every random choice; the same seed gives the same bytes with any number of threads
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    pub seed: u64,

    /// Worker threads [default: every processor this process may use]
    #[arg(long, value_name = "N", value_parser = count, hide_short_help = true)]
    pub threads: Option<usize>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,

    /// Progress on standard error [default: bar on a terminal, else none]
    #[arg(long, value_enum, value_name = "STYLE", hide_short_help = true)]
    pub progress: Option<ProgressStyle>,

    /// No warnings, no progress bar, and no summary of what was written
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print the seconds of each phase at its end
    #[arg(short, long)]
    pub verbose: bool,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressStyle {
    /// A bar, on terminals
    Bar,
    /// One JSON object a line
    Json,
    /// Nothing
    None,
}
