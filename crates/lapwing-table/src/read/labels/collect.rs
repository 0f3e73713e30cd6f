//! Labels collected one by one, of every row or of some, and those of arrays.

use crate::cell::number_text;
use crate::read::npy::{ArrayName, NpyReader, Source};
use crate::read::table::{ColumnKind, TableFile};
use lapwing_core::labels::{IntegerClasses, LabelRows, OpenMarkers, TextClasses};
use lapwing_core::{Error, Result, Run, SparseLabels, UNLABELED, Warning};

/// Collects labels as texts, of every row or of chosen ones.
pub(crate) struct LabelTexts {
    classes: TextClasses,
    rows: LabelRows,
    open: OpenMarkers,
}

impl LabelTexts {
    /// No rows yet; `unlabeled` marks those without a label, as in [`Labels::from_texts`], but −1 is a class if other rows have
    /// none.
    pub(in crate::read) fn new(unlabeled: Option<&str>) -> Self {
        let classes = TextClasses::new(unlabeled);
        Self { classes, rows: LabelRows::default(), open: OpenMarkers::default() }
    }

    /// No labels yet, among `n_rows` rows.
    pub(super) fn among(n_rows: usize, unlabeled: Option<&str>) -> Result<Self> {
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

    /// No rows yet, of labels that are numbers, written as [`number_text`] does; if `unlabeled` is a number, its spelling does not matter.
    fn from_numbers(unlabeled: Option<&str>) -> Self {
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

    /// Adds the label of a row that has none yet.
    pub(super) fn put(&mut self, row: u32, text: &str) {
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

/// Labels from an array of one dimension (or one column). Integers stay integers: the one that `unlabeled` spells, or −1 if it is not
/// given, marks rows without a label.
pub(in crate::read) fn from_array<R: Source>(
    reader: NpyReader<'_, R>,
    n_rows: usize,
    unlabeled: Option<&str>,
    run: &Run,
) -> Result<SparseLabels> {
    let ([found] | [found, 1]) = reader.header.shape[..] else {
        let shape = reader.header.shape_text();
        return Err(reader.origin.error(format!("shape {shape}; expected one label per row")));
    };
    check_count(reader.origin, n_rows, found)?;
    if reader.header.dtype.is_integer() {
        let marker = unlabeled.map_or(Some(i64::from(UNLABELED)), |text| integer(text.trim()));
        let (mut classes, mut rows) = (IntegerClasses::default(), LabelRows::default());
        reader.each_number(run, |label| rows.push((Some(label) != marker).then(|| classes.id(label))))?;
        return rows.finish(classes.finish());
    }
    if reader.header.dtype.is_number() {
        let mut numbers = LabelTexts::from_numbers(unlabeled);
        let text = |number: f64| if number.is_nan() { String::new() } else { number_text(number) };
        reader.each_number(run, |number| numbers.push(&text(number)))?;
        return numbers.finish();
    }
    let mut texts = LabelTexts::new(unlabeled);
    reader.each_text(run, |text| texts.push(text))?;
    texts.finish()
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

/// Labels that were found by the names of their rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NamedLabels {
    /// The labels.
    pub labels: SparseLabels,
    /// What to look at in the first line and in the labels, and how many were left out.
    pub warnings: Vec<Warning>,
}

impl NamedLabels {
    /// The labels that were collected.
    pub(super) fn of_texts(texts: LabelTexts) -> Result<Self> {
        let warnings = texts.spaced().into_iter().collect();
        Ok(Self { labels: texts.finish()?, warnings })
    }
}

/// Refuses another number of labels than that of the rows.
pub(super) fn check_count(origin: ArrayName<'_>, n_rows: usize, found: usize) -> Result<()> {
    if found == n_rows {
        return Ok(());
    }
    let what = match origin.array {
        "" => origin.path.display().to_string(),
        array => format!("array '{array}' of {}", origin.path.display()),
    };
    Err(Error::shape(what, format!("{n_rows} labels, one per row of the data"), format!("{found} labels")))
}
