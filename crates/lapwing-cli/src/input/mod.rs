//! Reads what a command works on: features or a graph, labels, names of rows.

mod classes;
mod held;
mod named;
mod prior;
mod row_lists;
mod rows;

pub use classes::check_classes;
pub use held::{Input, Prepared};
pub use named::{labels_of, names_of, numbered};
pub use prior::{Prior, check_prior, refuse_weight};
pub use row_lists::{Reasons, holds_suggestions, numbers_of, rows_of};
pub use rows::{RowInput, RowStream, are_rows, generated};
