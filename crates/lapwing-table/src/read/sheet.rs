//! Sheets of spreadsheets (.xlsx, .xls, .xlsb, .ods) as text: a line for each row, so that titles above a table, units and footers are passed
//! over as in texts.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use calamine::{Cell, Data, DataRef, Range, Reader, Sheets, XlsError, XlsxError, open_workbook, open_workbook_auto};
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result, check_memory};
use memchr::memmem;
use zip::ZipArchive;

use super::batches::guarded;
use crate::format::archive::check_whole;
use crate::format::packing::Packing;

/// Bytes of memory for a byte of the XML of a sheet, about: a cell of some thirty bytes is held three times.
const OF_XML: u64 = 4;

/// Cells of a sheet of .ods of which its reader makes room, at most, and bytes of a tag that are looked at.
const MAX_ODS: u64 = 100_000_000;
const MAX_TAG: u64 = 1 << 16;

const ADVICE: &str = "save the sheet as CSV";

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
/// [`Error::Format`] for a damaged file, and for a name that no sheet has, listing those that there are; [`Error::TooLarge`] for one that
/// needs more memory than is free.
pub(super) fn read(path: &Path, name: Option<&str>) -> Result<Sheet> {
    let (file, _) = lapwing_core::mapped::open_filled(path)?;
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).map_err(|e| Error::io(path, e))?;
    if Packing::of("", &start) == Some(Packing::Zip) {
        check_whole(path, OF_XML, ADVICE)?;
        check_repeats(path)?;
    } else {
        check_records(path)?;
    }
    guarded(path, || {
        let failed = |error: calamine::Error| Error::format(path, None, format!("no spreadsheet ({error})"));
        // By the contents: the ending may be another.
        let modern = open_workbook(path).map(Sheets::Xlsx);
        let older = |_: XlsxError| open_workbook(path).map(Sheets::Xls);
        let mut book = modern.or_else(older).or_else(|_: XlsError| open_workbook_auto(path)).map_err(failed)?;
        let names = book.sheet_names();
        if let Some(name) = name.filter(|name| !names.iter().any(|known| known == name)) {
            let known = names.iter().map(|known| format!("'{known}'")).collect::<Vec<_>>().join(", ");
            return Err(Error::format(path, None, format!("no sheet '{name}'; the sheets are {known}")));
        }
        let (mut found, mut others) = (None, Vec::new());
        for sheet in names.into_iter().filter(|sheet| name.is_none_or(|name| name == sheet.as_str())) {
            let range = match cells(&mut book, &sheet).map_err(failed)? {
                Some(cells) => dense(path, cells)?,
                None => book.worksheet_range(&sheet).map_err(failed)?,
            };
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

/// The filled cells of a sheet; `None` for formats whose reader makes room for all cells itself, within limits.
fn cells(book: &mut Sheets<BufReader<File>>, sheet: &str) -> Result<Option<Vec<Cell<Data>>>, calamine::Error> {
    match book {
        Sheets::Xlsx(book) => match book.worksheet_cells_reader(sheet) {
            // A chart.
            Err(XlsxError::NotAWorksheet(_)) => Ok(Some(Vec::new())),
            reader => {
                let mut reader = reader?;
                filled(|| Ok(reader.next_cell()?)).map(Some)
            }
        },
        Sheets::Xlsb(book) => {
            let mut reader = book.worksheet_cells_reader(sheet)?;
            filled(|| Ok(reader.next_cell()?)).map(Some)
        }
        _ => Ok(None),
    }
}

/// The cells that `next` yields and that are filled.
fn filled<'b>(
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'b>>>, calamine::Error>,
) -> Result<Vec<Cell<Data>>, calamine::Error> {
    let mut cells = Vec::new();
    while let Some(cell) = next()? {
        let value = cell.get_value().clone();
        cells.extend((value != DataRef::Empty).then(|| Cell::new(cell.get_position(), value.into())));
    }
    Ok(cells)
}

/// Refuses an .ods file whose cells, each of which may stand for many, need more memory than is free.
fn check_repeats(path: &Path) -> Result<()> {
    let Ok(mut zip) = ZipArchive::new(BufReader::new(open(path)?)) else { return Ok(()) };
    let Ok(content) = zip.by_name("content.xml") else { return Ok(()) };
    let (mut xml, mut tag) = (BufReader::new(content), Vec::new());
    let (mut n_rows, mut width, mut n_read, mut at) = (0u64, 0u64, 0u64, 0);
    // What is damaged is named by the reader.
    while xml.by_ref().take(MAX_TAG).read_until(b'<', &mut tag).is_ok_and(|n| n > 0) {
        if tag.starts_with(b"table:table-row") {
            (n_rows, at) = (n_rows + repeats(&tag, b"rows-repeated=").min(1 << 20), 0);
        } else if tag.starts_with(b"table:table-cell") || tag.starts_with(b"table:covered") {
            at += repeats(&tag, b"columns-repeated=").min(1 << 14);
            // Empty cells behind the last filled one are passed over.
            if !tag.ends_with(b"/><") || memmem::find(&tag, b"office:value").is_some() {
                (width, n_read) = (width.max(at), n_read + at);
            }
        }
        tag.clear();
    }
    let n_cells = n_rows.saturating_mul(width).min(MAX_ODS).saturating_add(n_read);
    check_memory(&path.display().to_string(), n_cells.saturating_mul(2 * size_of::<Data>() as u64), ADVICE)
}

/// Refuses an .xls file of whose sheets the reader makes more room than there is memory: for the cells that a sheet states, and for all
/// between its outermost ones. What is damaged is named by the reader.
fn check_records(path: &Path) -> Result<()> {
    const BEGIN: [u16; 4] = [0x0009, 0x0209, 0x0409, 0x0809];
    const DIMENSIONS: u16 = 0x0200;
    const CELLS: [u16; 8] = [0x0006, 0x00bd, 0x00d6, 0x00fd, 0x0203, 0x0204, 0x0205, 0x027e];
    let Ok(mut file) = cfb::CompoundFile::open(open(path)?) else { return Ok(()) };
    let Ok(stream) = file.open_stream("/Workbook").or_else(|_| file.open_stream("/Book")) else { return Ok(()) };
    let (mut records, mut head) = (BufReader::new(stream), [0; 4]);
    const NONE: (u64, u64) = (u64::MAX, 0);
    // First, and behind the last.
    let (mut n_cells, mut rows, mut columns) = (0u64, NONE, NONE);
    let between = |rows: (u64, u64), columns: (u64, u64)| {
        rows.1.saturating_sub(rows.0).saturating_mul(columns.1.saturating_sub(columns.0))
    };
    while records.read_exact(&mut head).is_ok() {
        let [kind, len] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
        let mut body = Vec::new();
        if records.by_ref().take(len.into()).read_to_end(&mut body).is_err() {
            break;
        }
        let at = |at: usize| body.get(at..at + 2).map_or(0, |pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])));
        if BEGIN.contains(&kind) {
            n_cells = n_cells.saturating_add(between(rows, columns));
            (rows, columns) = (NONE, NONE);
        } else if kind == DIMENSIONS {
            let (n_rows, n_columns) = if body.len() < 14 { (at(2), at(6)) } else { (at(4) + (at(6) << 16), at(10)) };
            n_cells = n_cells.saturating_add(n_rows.saturating_mul(n_columns));
        } else if CELLS.contains(&kind) {
            // A record of several cells has six bytes for each.
            let last = at(2) + body.len().saturating_sub(6) as u64 / 6 * u64::from(kind == 0x00bd);
            rows = (rows.0.min(at(0)), rows.1.max(at(0) + 1));
            columns = (columns.0.min(at(2)), columns.1.max(last + 1));
        }
    }
    n_cells = n_cells.saturating_add(between(rows, columns));
    check_memory(&path.display().to_string(), n_cells.saturating_mul(2 * size_of::<Data>() as u64), ADVICE)
}

/// How often a tag says that it stands.
fn repeats(tag: &[u8], name: &[u8]) -> u64 {
    let digits = memmem::find(tag, name).and_then(|at| tag.get(at + name.len() + 1..)).unwrap_or_default();
    digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0u64, |n, byte| n.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
        .max(1)
}

/// All cells between the outermost filled ones, if there is memory for them.
fn dense(path: &Path, cells: Vec<Cell<Data>>) -> Result<Range<Data>> {
    let span = |at: fn((u32, u32)) -> u32| {
        let places = || cells.iter().map(|cell| at(cell.get_position()));
        places().max().zip(places().min()).map_or(0, |(most, least)| u64::from(most - least) + 1)
    };
    let n_cells = span(|(row, _)| row).saturating_mul(span(|(_, column)| column));
    check_memory(&path.display().to_string(), n_cells.saturating_mul(size_of::<Data>() as u64), ADVICE)?;
    Ok(Range::from_sparse(cells))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_are_cut_stand_once() {
        let of = |tag: &[u8]| repeats(tag, b"rows-repeated=");
        assert_eq!(
            (of(b"x rows-repeated='12'><"), of(b"x"), of(b"x rows-repeated="), of(b"x rows-repeated='")),
            (12, 1, 1, 1)
        );
    }
}
