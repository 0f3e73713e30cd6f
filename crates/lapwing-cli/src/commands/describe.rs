//! `lapwing describe`: what a table holds, and what `label` does with each of its columns.

use std::path::{Path, PathBuf};

use clap::Args;
use lapwing::data::prepare::{ColumnSummary, Description, LoadedTable};
use lapwing::data::read::{ColumnKind, TableFile};
use lapwing::data::{Labels, Report, SparseLabels, Warning};
use lapwing_report::summary::shortened;
use serde_json::json;

use crate::failure::Failure;
use crate::files::Files;
use crate::options::{LabelOptions, RunOptions, TableOptions, read_options};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{aligned, count, plain, wrapped};
use crate::written::SCHEMA;

const EXAMPLES: &str = "\
Examples:
  lapwing describe flowers.csv --label-column species
      the columns, and what label does with each; the classes and their numbers of labels
  lapwing describe orders.parquet --json
      the same for programs";

/// Characters of a line.
const WIDTH: usize = 100;

/// Classes that are listed.
const MOST_CLASSES: usize = 30;

/// Show what a table holds, and what label does with each of its columns
///
/// For each column: its kind, the missing cells, the number of different values, and what becomes of it; then its values, a cell as
/// written and what it is read as, the cells that do not fit, and what else the cells may be read as, with the option that does so.
/// Lines that are passed over are counted. With labels, a column that alone tells them is named. Nothing is written.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Describe {
    /// Table, in any format that `lapwing label` reads as one: text, Parquet, Arrow, JSON lines, or a folder of these
    #[arg(value_name = "TABLE")]
    data: PathBuf,

    #[command(flatten)]
    table: TableOptions,

    /// Column that holds the labels
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    label_column: Option<String>,

    /// Text that marks rows without a label [default: empty, -1, -1.0, nan, null, none, na]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, hide_short_help = true, help_heading = "Labels")]
    unlabeled: Option<String>,

    #[command(flatten)]
    run: RunOptions,
}

impl Describe {
    pub fn run(&self) -> Result<Outcome, Failure> {
        let session = Session::start(&self.run)?;
        Files::default().read("TABLE", Some(&self.data)).check()?;
        let labels = LabelOptions {
            label_column: self.label_column.clone(),
            unlabeled: self.unlabeled.clone(),
            ..LabelOptions::default()
        };
        let options = read_options(&self.table, Some(&labels));
        let (found, labels) = session.read(&mut Report::default(), || {
            let loaded = LoadedTable::read(TableFile::open(&self.data, &options)?, &options, &session.run)?;
            let found = loaded.describe(self.table.standardize, &session.run);
            Ok::<_, Failure>((found, loaded.labels().cloned()))
        })?;
        let warnings = found.warnings(&self.data);
        warnings.iter().for_each(|warning| session.warn(warning));
        match session.json {
            true => session.print(&json_text(&self.data, &found, labels.as_ref(), &warnings)),
            false => session.print(&text(&self.data, &found, labels.as_ref())),
        }?;
        Ok(Outcome::Done)
    }
}

/// The number of labels of each class.
fn class_counts(labels: &Labels) -> Vec<(String, usize)> {
    labels.classes.names().into_iter().zip(SparseLabels::from(labels).counts()).collect()
}

fn json_text(path: &Path, found: &Description, labels: Option<&Labels>, warnings: &[Warning]) -> String {
    let classes = labels.map(|labels| {
        let counts = class_counts(labels);
        counts.into_iter().map(|(name, n)| json!({"class": name, "n_labels": n})).collect::<Vec<_>>()
    });
    let mut object = json!({"schema": SCHEMA, "command": "describe", "file": path.display().to_string()});
    if let (Some(object), Some(table)) = (object.as_object_mut(), json!(found).as_object()) {
        object.extend(table.clone());
        object.insert("classes".into(), json!(classes));
        object.insert("warnings".into(), json!(warnings));
    }
    format!("{object:#}\n")
}

/// The number of different values; decimals are not counted to the end.
fn different(column: &ColumnSummary) -> String {
    match column.n_distinct {
        Some(n) if column.is_estimate => format!("about {}", count(n)),
        Some(n) => count(n),
        None if column.kind == ColumnKind::Number && column.values.is_some() => "many".to_owned(),
        None => String::new(),
    }
}

fn text(path: &Path, found: &Description, labels: Option<&Labels>) -> String {
    let mut lines = vec![format!("{}: {} rows, {} columns", path.display(), count(found.n_rows), found.columns.len())];
    lines.extend(found.reading().map(|reading| format!("read: {reading}")));
    found.passed.iter().for_each(|what| lines.extend(wrapped(&plain(what), WIDTH, 2)));
    lines.push(String::new());
    let row = |column: &ColumnSummary| {
        let gaps = if column.n_missing == 0 { String::new() } else { count(column.n_missing) };
        vec![shortened(&column.name), column.kind.word().to_owned(), gaps, different(column), column.done.clone()]
    };
    let heads = ["column", "kind", "gaps", "different", "becomes"].map(str::to_owned).to_vec();
    let rows: Vec<_> = [heads].into_iter().chain(found.columns.iter().map(row)).collect();
    let mut rows = aligned(&rows, usize::MAX).into_iter();
    let head = rows.next().unwrap_or_default();
    let hang = head.find("becomes").unwrap_or(0);
    lines.push(head);
    for (row, column) in rows.zip(&found.columns) {
        lines.extend(wrapped(&row, WIDTH, hang));
        column.notes().iter().for_each(|note| lines.extend(wrapped(&format!("    {}", plain(note)), WIDTH, 6)));
    }
    lines.push(String::new());
    let form = if found.is_sparse { "sparse" } else { "dense" };
    let scaled = found.scaling.as_ref().map(|text| format!("; {text}")).unwrap_or_default();
    lines.push(format!("{} features, {form}{scaled}", count(found.n_features)));
    if let Some(labels) = labels {
        lines.extend(class_lines(labels));
    }
    lines.join("\n") + "\n"
}

/// The lines about the classes.
fn class_lines(labels: &Labels) -> Vec<String> {
    let counts = class_counts(labels);
    let given = format!("{} of {} rows have a label", count(labels.n_labeled()), count(labels.len()));
    let mut lines = vec![String::new(), format!("{} classes; {given}", counts.len())];
    let row = |(name, n): &(String, usize)| vec![format!("  {}", shortened(name)), count(*n)];
    let mut rows: Vec<_> = counts.iter().take(MOST_CLASSES).map(row).collect();
    if counts.len() > MOST_CLASSES {
        rows.push(vec![format!("  {} more", count(counts.len() - MOST_CLASSES)), String::new()]);
    }
    lines.extend(aligned(&rows, usize::MAX));
    lines
}
