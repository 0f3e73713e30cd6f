//! Labels: columns of tables, arrays, and files of their own.
//!
//! All formats collect labels one by one in [`LabelTexts`] or [`LabelIntegers`], which keep only rows that have one.

mod array;
mod named;
mod text;

use std::path::Path;

pub(super) use self::array::from_array;
pub use self::named::{NamedLabels, read_named_labels};
pub use self::text::each_line;
use super::format::{Format, unknown_ending};
use super::npy::{ArrayName, NpyReader};
use super::{ColumnKind, ReadOptions, TableFile};
use lapwing_core::labels::{IntegerClasses, LabelRows, OpenMarkers, TextClasses};
use lapwing_core::mapped::open_filled;
use lapwing_core::row_names::Named;
use lapwing_core::{Error, Labels, Result, RowNames, Run, SparseLabels, UNLABELED, Warning, check_memory};

/// Collects labels as texts, of every row or of chosen ones.
pub(crate) struct LabelTexts {
    classes: TextClasses,
    rows: LabelRows,
    open: OpenMarkers,
}

impl LabelTexts {
    /// No rows yet; `unlabeled` marks those without a label, as in [`Labels::from_texts`], but −1 is a class if other rows have
    /// none.
    pub(super) fn new(unlabeled: Option<&str>) -> Self {
        let classes = TextClasses::new(unlabeled);
        Self { classes, rows: LabelRows::default(), open: OpenMarkers::default() }
    }

    /// No labels yet, among `n_rows` rows.
    fn among(n_rows: usize, unlabeled: Option<&str>) -> Result<Self> {
        Ok(Self { rows: LabelRows::among(n_rows)?, ..Self::new(unlabeled) })
    }

    /// Adds the label of the next row.
    pub(crate) fn push(&mut self, text: &str) {
        let id = self.id(self.rows.n_samples(), text);
        self.rows.push(id);
    }

    /// The number of the label of `row`, if it surely has one.
    fn id(&mut self, row: usize, text: &str) -> Option<u32> {
        if let Some(marker) = self.classes.open_marker(text) {
            self.open.add(marker, row);
            return None;
        }
        let id = self.classes.id(text);
        if id.is_none() {
            self.open.gap();
        }
        id
    }

    /// No rows yet, of labels that are numbers; if `unlabeled` is a number, its spelling does not matter.
    pub(super) fn from_numbers(unlabeled: Option<&str>) -> Self {
        let number = unlabeled.and_then(|text| text.trim().parse().ok()).map(number_text);
        Self::new(number.as_deref().or(unlabeled))
    }

    /// No rows yet, of labels in column `at` of a table.
    pub(crate) fn of_column(table: &TableFile, at: usize, unlabeled: Option<&str>) -> Self {
        match table.kinds()[at] {
            ColumnKind::Number if !table.is_text() => Self::from_numbers(unlabeled),
            _ => Self::new(unlabeled),
        }
    }

    /// Adds a number as text, integers without a decimal point; NaN is no label.
    pub(super) fn push_number(&mut self, value: f64) {
        if value.is_nan() { self.push("") } else { self.push(&number_text(value)) }
    }

    /// Adds the label of a row that has none yet.
    fn put(&mut self, row: u32, text: &str) {
        if let Some(id) = self.id(row as usize, text) {
            self.rows.put(row, id);
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.rows.n_samples()
    }

    /// Whether a row has this label, or mark of none.
    pub(super) fn has(&self, text: &str) -> bool {
        self.classes.has(text)
    }

    /// A warning if labels differ in white space alone.
    pub(crate) fn spaced(&self) -> Option<Warning> {
        self.classes.spaced(|| self.rows.counts())
    }

    pub(crate) fn finish(mut self) -> Result<SparseLabels> {
        for (text, rows) in self.open.classes() {
            let id = self.classes.class(text);
            rows.for_each(|row| self.rows.put(row, id));
        }
        let counts = self.rows.counts();
        self.rows.finish(self.classes.finish(&counts))
    }
}

/// The integer that `text` spells, also as `3.0`.
fn integer(text: &str) -> Option<i64> {
    let of_float = || text.parse().ok().filter(|x: &f64| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i64);
    text.parse().ok().or_else(of_float)
}

/// The shortest text of a number; negative zero is written as zero.
pub(crate) fn number_text(value: f64) -> String {
    (value + 0.0).to_string()
}

/// Collects labels as integers, one for each row.
pub(super) struct LabelIntegers {
    classes: IntegerClasses,
    rows: LabelRows,
    marker: Option<i64>,
    /// If no marker is given: the rows with −1, and whether others have no label.
    open: Option<OpenMarkers>,
}

impl LabelIntegers {
    /// No rows yet; the integer that `unlabeled` spells marks rows without a label. If none is given, −1 does, unless other rows
    /// have no label.
    pub(super) fn new(unlabeled: Option<&str>) -> Self {
        let marker = unlabeled.map_or(Some(i64::from(UNLABELED)), |text| integer(text.trim()));
        let open = unlabeled.is_none().then(OpenMarkers::default);
        Self { classes: IntegerClasses::default(), rows: LabelRows::default(), marker, open }
    }

    /// Adds the label of the next row.
    pub(super) fn push(&mut self, label: Option<i64>) {
        if let Some(open) = &mut self.open {
            match label {
                None => open.gap(),
                Some(-1) => open.add("-1", self.rows.n_samples()),
                Some(_) => {}
            }
        }
        let label = label.filter(|_| label != self.marker);
        self.rows.push(label.map(|label| self.classes.id(label)));
    }

    pub(super) fn finish(mut self) -> Result<SparseLabels> {
        for (_, rows) in self.open.iter().flat_map(OpenMarkers::classes) {
            let id = self.classes.id(i64::from(UNLABELED));
            rows.for_each(|row| self.rows.put(row, id));
        }
        self.rows.finish(self.classes.finish())
    }
}

/// Reads the labels of `n_rows` rows from a file of their own.
///
/// `.npy`: one label per row; integers, floats, truth values or fixed-width text. Text, also `.gz` and `.zst`: one label per
/// line after an optional header `label`, `labels`, `class`, `target` or `y`, which is a label if it comes again and the lines are as many
/// as the rows; or
/// `row,label` pairs, with rows counted from 0 and an optional header, whose words tell the columns (further columns are ignored; an
/// index without a name is one of rows); rows without a pair are unlabeled. Empty texts, −1,
/// NaN, null, none and na, or texts equal to `unlabeled` mean no label: see [`Labels::from_texts`]. If no `unlabeled` is given and
/// some texts are empty or missing, −1 is a class: [`ClassNames::doubtful_marker`](lapwing_core::ClassNames::doubtful_marker) warns.
///
/// # Errors
/// [`Error::Shape`] naming both numbers if there are more or fewer labels than rows, or for 2³² rows and more;
/// [`Error::Format`] naming the line of a pair that is malformed, out of range, or a second one for its row.
pub fn read_labels(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<Labels> {
    let labels = read_sparse_labels(path, n_rows, unlabeled)?;
    let bytes = 8 * n_rows as u64;
    check_memory(&format!("a list of labels of {n_rows} rows"), bytes, "number the rows from 0 without gaps")?;
    Ok(labels.into())
}

/// As [`read_labels`], with memory only for rows that have a label.
///
/// # Errors
/// As [`read_labels`].
///
/// # Complexity
/// One pass; 8 bytes for each row that has a label, and one bit for every row if the file holds pairs.
pub fn read_sparse_labels(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<SparseLabels> {
    let options = LabelFileOptions { unlabeled, ..LabelFileOptions::default() };
    read_label_file(path, n_rows, None, &options).map(|found| found.labels)
}

/// What is known of a file of labels before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelFileOptions<'o> {
    /// Text that marks rows without a label, instead of −1.
    pub unlabeled: Option<&'o str>,
    /// Whether labels of unknown names are left out.
    pub ignore_unknown: bool,
    /// Whether the first line of a text is a header, where its words leave it open.
    pub header: Option<bool>,
}

/// Reads a file of labels of `n_rows` rows, which may have names, as [`read_sparse_labels`] and [`read_named_labels`] do; with
/// warnings about the first line, and about labels that differ in white space alone.
///
/// # Errors
/// As [`read_labels`] and [`read_named_labels`].
pub fn read_label_file(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelFileOptions<'_>,
) -> Result<NamedLabels> {
    match (Format::from_path(path), names) {
        (Format::Csv | Format::Other, Some(names)) => named::read(path, names, options),
        (Format::Csv | Format::Other, None) => text::read(path, n_rows, options),
        (_, Some(names)) if names.named() == Named::Nodes => {
            Err(Error::format(path, None, format!("holds no names of nodes; {}", named::TWO_COLUMNS)))
        }
        (Format::Npy, _) => {
            let (file, length) = open_filled(path)?;
            let reader = NpyReader::new(file, length, ArrayName::from_path(path))?;
            let labels = from_array(reader, n_rows, options.unlabeled, &Run::new(Some(1), 0)?)?;
            Ok(NamedLabels { labels, n_unknown: 0, warnings: Vec::new() })
        }
        _ => Err(unknown_ending(path, "labels as .npy, or as text with one label or row,label pair a line")),
    }
}

/// Reads the label column of a table alone: the labels of [`read_samples`](super::read_samples), without the features.
///
/// `options` names the column and the text that marks rows without a label; other columns are not decoded.
///
/// # Errors
/// [`Error::Param`] if no label column is named; [`Error::Format`] for files that are no tables, an unknown column, and
/// values that cannot be labels; [`Error::Shape`] for 2³² rows and more; [`Error::Io`], [`Error::Interrupted`].
///
/// # Complexity
/// One pass over the text, or over that column of a Parquet file; 8 bytes for each row that has a label.
pub fn read_label_column(path: &Path, options: &ReadOptions, run: &Run) -> Result<SparseLabels> {
    let Some(column) = &options.label_column else {
        return Err(Error::param("label column", "not given", "the name of a column"));
    };
    match super::is_table(path) {
        true => crate::prepare::plain::read_labels(path, options, column, run),
        false => Err(unknown_ending(path, "a table: .parquet, .arrow, .jsonl, .csv, .csv.gz or .csv.zst")),
    }
}

fn check_count(origin: ArrayName<'_>, n_rows: usize, found: usize) -> Result<()> {
    if found == n_rows {
        return Ok(());
    }
    let what = match origin.array {
        "" => origin.path.display().to_string(),
        array => format!("array '{array}' of {}", origin.path.display()),
    };
    Err(Error::shape(what, format!("{n_rows} labels, one per row of the data"), format!("{found} labels")))
}
