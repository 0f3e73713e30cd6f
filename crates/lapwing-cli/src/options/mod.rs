//! Options that several commands share, in the groups that the help shows.

mod data;
mod parameters;
mod run;
mod subject;
mod table;

pub use data::{
    BesideOptions, DataOptions, IdOption, IgnoreOption, LabelOptions, Names, SaveGraphOption, edge_options,
};
pub use lapwing_core::params::{count, duration};
pub use parameters::option;
pub use run::{ProgressStyle, RunOptions};
pub use subject::{DEFAULT_METHOD, GraphSettings, ParamsOptions, Subject};
pub use table::{Nodes, StandardizeOption, TableOptions, TextOptions, TfidfOption, joined_words};
