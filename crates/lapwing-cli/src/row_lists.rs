//! Lists of rows in files, and columns of numbers beside the features.

use std::collections::HashMap;
use std::path::Path;

use lapwing::data::read::{ReadOptions, TableFile};
use lapwing::data::write::KeptColumns;
use lapwing::data::{Error, RowNames, Run};
use lapwing_data::read::is_rereadable_table;

use crate::failure::Failure;

/// The rows of a file, one in each line: numbers from 0, or names if rows have any. Only the first cell of a line counts, and a line that
/// holds the word row, or the name of the column of names, is a heading.
pub fn rows_of(path: &Path, n_rows: usize, names: Option<&RowNames>) -> Result<Vec<u32>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let (mut rows, mut is_seen) = (Vec::new(), vec![false; n_rows]);
    for (line, number) in text.lines().zip(1u64..) {
        let cell = line.split(',').next().unwrap_or_default().trim().trim_matches('"');
        let is_heading = number == 1 && (cell == "row" || names.is_some_and(|names| names.column() == cell));
        if cell.is_empty() || is_heading {
            continue;
        }
        let wrong =
            |expected: String| Error::format(path, Some(number), format!("'{cell}' is no row; expected {expected}"));
        let row = match names {
            Some(names) => names.find(cell).ok_or_else(|| wrong(format!("a name in the column {}", names.column())))?,
            None => {
                let row = cell.parse::<u32>().ok().filter(|&row| (row as usize) < n_rows);
                row.ok_or_else(|| wrong(format!("a number from 0 to {}", n_rows.saturating_sub(1))))?
            }
        };
        if std::mem::replace(&mut is_seen[row as usize], true) {
            return Err(Error::format(path, Some(number), format!("row '{cell}' is listed twice")).into());
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Why rows were suggested, from a filled-in output of `lapwing suggest`.
pub struct Reasons(HashMap<u32, String>);

impl Reasons {
    /// The reasons in a file of labels; `None` if it has no columns `row`, or that of the names, and `reason`.
    pub fn of(path: &Path, names: Option<&RowNames>, run: &Run) -> Result<Option<Self>, Failure> {
        if !is_rereadable_table(path) {
            return Ok(None);
        }
        let options = ReadOptions::default();
        let table = TableFile::open(path, &options)?;
        let first = names.map_or("row", RowNames::column);
        if ["reason", first].iter().any(|name| !table.names().iter().any(|column| column == name)) {
            return Ok(None);
        }
        drop(table);
        let column = |name: &str| -> Result<Vec<Option<String>>, Failure> {
            let kept =
                KeptColumns::open(TableFile::open(path, &options)?, Some(vec![name.to_owned()]), None, Vec::new())?;
            Ok(kept.texts(None, run)?)
        };
        let (rows, reasons) = (column(first)?, column("reason")?);
        let number = |name: &str| match names {
            Some(names) => names.find(name),
            None => name.trim().parse().ok(),
        };
        let pairs = rows.into_iter().zip(reasons).filter_map(|(row, reason)| Some((number(&row?)?, reason?)));
        Ok(Some(Self(pairs.collect())))
    }

    /// Whether any of the rows was chosen by more than chance.
    pub fn any_suggested(&self, rows: &[u32]) -> bool {
        let by_chance = ["check", "random"];
        rows.iter().filter_map(|row| self.0.get(row)).any(|reason| !by_chance.contains(&reason.as_str()))
    }

    /// Whether the row was drawn as a test.
    pub fn is_check(&self, row: u32) -> bool {
        self.0.get(&row).is_some_and(|reason| reason == "check")
    }
}

/// Whether a file of labels has a column `reason`, as a filled-in output of `lapwing suggest` has.
pub fn holds_suggestions(path: &Path) -> bool {
    let table = is_rereadable_table(path).then(|| TableFile::open(path, &ReadOptions::default()).ok()).flatten();
    table.is_some_and(|table| table.names().iter().any(|name| name == "reason"))
}

/// The numbers in a column of a table of `n_rows` rows.
pub fn numbers_of(
    path: &Path,
    column: &str,
    options: &ReadOptions,
    n_rows: usize,
    run: &Run,
) -> Result<Vec<f64>, Failure> {
    // The column is named here alone, whatever becomes features.
    let options = ReadOptions { columns: None, drop: Vec::new(), label_column: None, ..options.clone() };
    let table = TableFile::open(path, &options)?;
    let kept = KeptColumns::open(table, Some(vec![column.to_owned()]), None, Vec::new())?;
    let cells = kept.texts(Some(n_rows), run)?;
    let number = |(row, cell): (usize, &Option<String>)| {
        let text = cell.as_deref().unwrap_or_default();
        text.trim().parse::<f64>().map_err(|_| Error::Value {
            what: format!("column {column}"),
            row,
            col: None,
            value: if text.is_empty() { "empty".into() } else { format!("'{text}'") },
            advice: "costs are numbers above 0".into(),
        })
    };
    Ok(cells.iter().enumerate().map(number).collect::<Result<_, _>>()?)
}
