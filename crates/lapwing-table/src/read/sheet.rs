//! Sheets of spreadsheets (.xlsx, .xls, .xlsb, .ods) as text: a line for each row, so that titles above a table, units and footers are passed
//! over as in texts.

use std::path::Path;

use calamine::{Data, Reader, open_workbook_auto};
use lapwing_core::{Error, Result};

use super::parquet::guarded;

/// A sheet as text.
pub(super) struct Sheet {
    /// CSV with commas.
    pub text: Vec<u8>,
    /// The other sheets that hold anything, if none was asked for.
    pub others: Vec<String>,
}

/// Reads the sheet named `name`, or the first that holds anything.
///
/// # Errors
/// [`Error::Format`] for a damaged file, and for a name that no sheet has, listing those that there are.
pub(super) fn read(path: &Path, name: Option<&str>) -> Result<Sheet> {
    lapwing_core::mapped::open_filled(path)?;
    guarded(path, || {
        let failed = |error: calamine::Error| Error::format(path, None, format!("no spreadsheet ({error})"));
        let mut book = open_workbook_auto(path).map_err(failed)?;
        let names = book.sheet_names();
        if let Some(name) = name.filter(|name| !names.iter().any(|known| known == name)) {
            let known = names.iter().map(|known| format!("'{known}'")).collect::<Vec<_>>().join(", ");
            return Err(Error::format(path, None, format!("no sheet '{name}'; the sheets are {known}")));
        }
        let (mut found, mut others) = (None, Vec::new());
        for sheet in names.into_iter().filter(|sheet| name.is_none_or(|name| name == sheet.as_str())) {
            let range = book.worksheet_range(&sheet).map_err(failed)?;
            match (range.start(), &found) {
                (None, _) => {}
                (Some((first, _)), None) => {
                    found = Some(lines(path, first as usize, &range.rows().collect::<Vec<_>>())?);
                }
                (Some(_), Some(_)) => others.push(sheet),
            }
        }
        let text = found.ok_or_else(|| Error::format(path, None, "all sheets are empty"))?;
        Ok(Sheet { text, others })
    })
}

/// Rows as lines, behind an empty line for each row above them. Titles above a table and notes below it are lines of one cell.
fn lines(path: &Path, first: usize, rows: &[&[Data]]) -> Result<Vec<u8>> {
    let is_wide = |row: &&[Data]| row.iter().skip(1).any(|cell| *cell != Data::Empty);
    let table =
        rows.iter().position(is_wide).unwrap_or(0)..rows.iter().rposition(is_wide).map_or(rows.len(), |at| at + 1);
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(vec![b'\n'; first]);
    for (at, row) in rows.iter().enumerate() {
        let row = if table.contains(&at) { row } else { &row[..row.len().min(1)] };
        let cells: Vec<String> = row.iter().map(text).collect();
        writer.write_record(&cells).map_err(|e| Error::format(path, None, e.to_string()))?;
    }
    writer.into_inner().map_err(|e| Error::format(path, None, e.to_string()))
}

/// A cell as text.
fn text(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::DateTime(date) if date.is_duration() => date
            .as_duration()
            .map_or_else(String::new, |length| format!("PT{}S", length.num_milliseconds() as f64 / 1e3)),
        Data::DateTime(date) => date.as_datetime().map_or_else(|| date.to_string(), |date| date.to_string()),
        Data::Error(_) => "#N/A".into(),
        other => other.to_string(),
    }
}
