//! Names of columns in options.

use std::str::FromStr;

use clap::Args;
use lapwing::data::Error;
use lapwing_table::read::{ReadAs, split_columns};

use crate::failure::Failure;

/// Names of columns, separated by commas; a name with a comma is in quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Names(pub Vec<String>);

impl Names {
    /// All names of an option that may be given several times.
    pub fn all(lists: &[Self]) -> Vec<String> {
        lists.iter().flat_map(|names| names.0.iter().cloned()).collect()
    }
}

impl FromStr for Names {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self, Error> {
        split_columns(list).map(Self)
    }
}

/// What columns are read as, by their names.
#[derive(Clone, Debug)]
pub struct ReadColumns(pub Vec<(String, ReadAs)>);

impl FromStr for ReadColumns {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        let one = |entry: &String| {
            let (name, word) = entry.rsplit_once('=').ok_or("expected a column, = and a kind, such as zip=text")?;
            Ok((name.to_owned(), ReadAs::parse(word).map_err(|error| error.to_string())?))
        };
        split_columns(list).map_err(|error| error.to_string())?.iter().map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// Which column names the rows.
#[derive(Args, Clone, Default)]
pub struct IdOption {
    /// Column of DATA that names the rows; outputs have it too
    ///
    /// It is no feature, and outputs have it instead of row numbers, except .npy. Names differ from each other, and none is empty.
    /// Files of labels and edges then name rows too.
    #[arg(long = "id", value_name = "COLUMN", help_heading = "Input")]
    pub column: Option<String>,
}

/// Columns of the outputs of `label`, `suggest` and `audit`.
const OUTPUT_COLUMNS: [&str; 16] = [
    "label",
    "confidence",
    "reached",
    "certified",
    "set",
    "reason",
    "score",
    "guess",
    "given",
    "proposed",
    "quality",
    "flagged",
    "judged",
    "duplicate_group",
    "contradicts",
    "outlier_percentile",
];

impl IdOption {
    /// Refuses a name that another column of an output has.
    pub fn check(&self) -> Result<(), Failure> {
        match self.column.as_deref().filter(|column| OUTPUT_COLUMNS.contains(column)) {
            Some(column) => Err(Failure::usage(format!(
                "--id {column}: outputs have another column of this name; rename the column of ids"
            ))),
            None => Ok(()),
        }
    }
}
