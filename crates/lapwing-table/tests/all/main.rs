//! Tests of reading and writing files. They are one test program, because linking one for each file would take longer than running them.

mod bad_edge_files;
mod common;
mod damaged_files;
mod described;
mod edge_columns;
mod edge_files;
mod formats;
mod label_files;
mod label_writer;
mod layouts;
mod parquet_files;
mod read_labels_and_graphs;
mod read_samples;
mod regression_readers;
mod row_files;
mod row_names;
mod sniffing;
mod sparse_labels;
mod spreadsheets;
mod tables;
mod ways;
