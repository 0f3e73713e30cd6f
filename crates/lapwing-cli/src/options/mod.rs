//! Options that several commands share, in the groups that the help shows.

mod columns;
mod data;
mod method_name;
mod outputs;
mod parameters;
mod run;
mod subject;
mod table;

pub use columns::{IdOption, Names, ReadColumns};
pub use data::{DataOptions, IgnoreOption, LabelOptions, edge_options, no_labels, read_options};
pub use method_name::MethodName;
pub use outputs::{BesideOptions, ReportOption, SaveGraphOption, Unreached, check_rereadable};
pub use run::{ProgressStyle, RunOptions, SampleOption};
pub use subject::{DEFAULT_METHOD, GraphSettings, ParamsOptions, Subject};
pub use table::{Nodes, TableOptions, TextOptions, joined_words};
