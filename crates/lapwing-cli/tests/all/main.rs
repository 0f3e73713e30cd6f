//! Tests of the program. They are one test program, because linking one for each file would take longer than running them.

mod bad_input;
mod baselines;
mod commands;
mod common;
mod compare;
mod kills;
mod label_loop;
mod lapsvm;
mod learn;
mod low_rank;
mod names;
mod outputs;
mod plan;
mod prior;
mod progress;
mod regression_damage;
mod regression_files;
mod regression_options;
mod regression_readers;
mod regression_words;
mod report;
mod scaling;
mod sparse_harmonic;
mod sparsify;
mod tables;
mod unfolded;
