//! Lists of rows in files, and columns of numbers beside the features.

use std::collections::HashMap;
use std::path::Path;

use lapwing::data::read::{ReadOptions, TableFile};
use lapwing::data::write::KeptColumns;
use lapwing::data::{Error, RowNames, Run};
use lapwing::models::Reason;
use lapwing_table::read::{each_line, is_rereadable_table};

use crate::failure::Failure;

/// The rows of a file, one in each line: numbers from 0, or names if rows have any. Only the first cell of a line counts, and a first
/// line that holds the word row, or the name of the column of names, is a heading.
pub fn rows_of(path: &Path, n_rows: usize, names: Option<&RowNames>) -> Result<Vec<u32>, Failure> {
    let (mut rows, mut is_seen) = (Vec::new(), vec![false; n_rows]);
    each_line(path, |fields, number| {
        let cell = fields[0];
        let is_heading = number == 1 && (cell == "row" || names.is_some_and(|names| names.column() == cell));
        if cell.is_empty() || is_heading {
            return Ok(());
        }
        let wrong = |expected: String| {
            Err(Error::format(path, Some(number), format!("'{cell}' is no row; expected {expected}")))
        };
        let found = match names {
            Some(names) => names.find(cell),
            None => cell.parse::<u32>().ok().filter(|&row| (row as usize) < n_rows),
        };
        match (found, names) {
            (None, Some(names)) => wrong(format!("a name in the column {}", names.column())),
            (None, None) => wrong(format!("a number from 0 to {}", n_rows.saturating_sub(1))),
            (Some(row), _) if std::mem::replace(&mut is_seen[row as usize], true) => {
                Err(Error::format(path, Some(number), format!("row '{cell}' is listed twice")))
            }
            (Some(row), _) => {
                rows.push(row);
                Ok(())
            }
        }
    })?;
    Ok(rows)
}

/// Why rows were suggested, from a filled-in output of `lapwing suggest`.
pub struct Reasons(HashMap<u32, String>);

impl Reasons {
    /// The reasons in a file of labels that was read without an error; none if it has no columns `row`, or that of the names, and `reason`.
    pub fn of(path: &Path, names: Option<&RowNames>) -> Self {
        let mut reasons = HashMap::new();
        each_reason(path, names.map_or("row", RowNames::column), |row, _, reason| {
            let row = if let Some(names) = names { names.find(row) } else { row.parse().ok() };
            reasons.extend(row.map(|row| (row, reason.to_owned())));
        });
        Self(reasons)
    }

    /// Whether any of the rows was chosen by more than chance.
    pub fn any_suggested(&self, rows: &[u32]) -> bool {
        rows.iter().filter_map(|row| self.0.get(row)).any(|reason| is_choice(reason))
    }

    /// Whether the row was drawn as a test.
    pub fn is_check(&self, row: u32) -> bool {
        self.0.get(&row).is_some_and(|reason| reason == Reason::Check.name())
    }
}

/// Whether a file has labels of rows that `lapwing suggest` chose by more than chance. `id` is the column that names rows.
pub fn holds_suggestions(path: &Path, id: Option<&str>) -> bool {
    let mut any = false;
    each_reason(path, id.unwrap_or("row"), |_, label, reason| any |= !label.is_empty() && is_choice(reason));
    any
}

/// Whether this is a reason of a suggestion that chance alone did not choose.
fn is_choice(reason: &str) -> bool {
    [Reason::Cover, Reason::Border, Reason::Far, Reason::Fill].iter().any(|choice| choice.name() == reason)
}

/// Calls `each` with row, label and reason of every line of a filled-in output of `lapwing suggest`. A file that cannot be read so has no
/// reasons: what is wrong with it, the reader of labels says.
fn each_reason(path: &Path, row: &str, mut each: impl FnMut(&str, &str, &str)) {
    if !is_rereadable_table(path) {
        return;
    }
    let mut places: Option<[usize; 3]> = None;
    let _ = each_line(path, |fields, _| {
        let Some([row_at, label_at, reason_at]) = places else {
            let find = |name: &str| fields.iter().position(|field| *field == name);
            let row_at = find(row).or_else(|| find("id"));
            places = row_at.zip(find("label")).zip(find("reason")).map(|((row, label), reason)| [row, label, reason]);
            return if places.is_some() { Ok(()) } else { Err(Error::format(path, None, "no suggestions")) };
        };
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        each(field(row_at), field(label_at), field(reason_at));
        Ok(())
    });
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
    let options =
        ReadOptions { columns: None, drop: Vec::new(), label_column: None, read_as: Vec::new(), ..options.clone() };
    let table = TableFile::open(path, &options)?;
    let has_commas = table.dialect().is_some_and(|dialect| dialect.decimal == b',');
    let kept = KeptColumns::open(table, Some(vec![column.to_owned()]), None, Vec::new())?;
    let cells = kept.texts(Some(n_rows), run)?;
    let number = |(row, cell): (usize, &Option<String>)| {
        let text = cell.as_deref().unwrap_or_default();
        let plain = if has_commas { text.replace(',', ".") } else { text.to_owned() };
        plain.trim().parse::<f64>().map_err(|_| Error::Value {
            what: format!("column {column}"),
            row,
            col: None,
            value: if text.is_empty() { "empty".into() } else { format!("'{text}'") },
            advice: "costs are numbers above 0".into(),
        })
    };
    Ok(cells.iter().enumerate().map(number).collect::<Result<_, _>>()?)
}
