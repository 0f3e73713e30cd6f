//! What texts tell about themselves: 60 files with known answers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lapwing_core::{Run, Standardize};
use lapwing_table::prepare::LoadedTable;
use lapwing_table::read::{Doubt, ReadOptions, TableFile};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sniff")
}

/// The differences between a file and its answer.
fn differences(answer: &csv::StringRecord, run: &Run) -> Vec<String> {
    let options = ReadOptions::default();
    let table = match TableFile::open(&folder().join(&answer[0]), &options) {
        Ok(table) => table,
        Err(error) => return vec![error.to_string()],
    };
    let dialect = table.dialect().unwrap_or_default();
    let delimiter = match dialect.delimiter {
        b',' => "comma",
        b';' => "semicolon",
        b'\t' => "tab",
        b'|' => "pipe",
        _ => "other",
    };
    let doubts: BTreeSet<&str> = table
        .doubts()
        .iter()
        .map(|doubt| match doubt {
            Doubt::Delimiter => "delimiter",
            Doubt::Header => "header",
            Doubt::Decimal => "decimal",
            Doubt::Dates => "dates",
            _ => "other",
        })
        .collect();
    let types: Vec<String> = table.kinds().iter().map(|kind| kind.word().to_owned()).collect();
    let n_columns = table.names().len();
    let rows = match LoadedTable::read(table, &options, run) {
        Ok(loaded) => loaded.describe(Standardize::Auto, run).n_rows.to_string(),
        Err(error) if error.to_string().contains("no rows") => "0".into(),
        Err(error) => error.to_string(),
    };
    let decimal = if dialect.decimal == b',' { "comma" } else { "point" };
    let quote = if dialect.quote == Some(b'\'') { "single" } else { "double" };
    let found = [
        ("delimiter", delimiter.to_owned(), &answer[1]),
        ("quote", if &answer[2] == "none" && quote == "double" { "none".into() } else { quote.to_owned() }, &answer[2]),
        ("header", if dialect.has_header { "yes".into() } else { "no".into() }, &answer[3]),
        ("decimal", if &answer[4] == "none" { "none".into() } else { decimal.to_owned() }, &answer[4]),
        ("rows", rows, &answer[5]),
        ("columns", n_columns.to_string(), &answer[6]),
        ("types", types.join(" "), &answer[7]),
        ("question", doubts.into_iter().collect::<Vec<_>>().join(" "), &answer[8]),
    ];
    let differ = found.into_iter().filter(|(_, found, known)| found != known);
    differ.map(|(what, found, known)| format!("{what}: {found}, expected {known}")).collect()
}

#[test]
fn texts_tell_their_dialect_and_types() {
    let run = Run::new(Some(2), 0).unwrap();
    let mut answers = csv::Reader::from_path(folder().join("answers.csv")).unwrap();
    let mut wrong = Vec::new();
    let mut n = 0;
    for answer in answers.records() {
        let answer = answer.unwrap();
        wrong.extend(differences(&answer, &run).into_iter().map(|text| format!("{}: {text}", &answer[0])));
        n += 1;
    }
    assert!(n == 60 && wrong.is_empty(), "{n} files, wrong:\n{}", wrong.join("\n"));
}
