//! Columns as features by a recipe: of the rows of its fit, and of new rows.

use std::path::Path;

use arrow_array::ArrayRef;

use super::columns::unfit_cells;
use super::encode::{Encoder, Unlike};
use super::held::Held;
use super::{Applied, ColumnRecipe, Recipe, notes};
use crate::cell::{CellType, Reading, Tally};
use crate::read::table::no_rows;
use crate::read::{ColumnKind, ReadOptions, TableFile};
use crate::scan::{Ask, TableRows};
use lapwing_core::{Error, Fault, Result, Run, Warning};

impl Recipe {
    /// The features of new rows. Columns are found by their names, or by `columns`, the names that the used columns have in this table;
    /// other columns of the table are not read.
    ///
    /// # Errors
    /// [`Error::Format`] naming columns that are missing; [`Error::Shape`] for another number of `columns`; as [`TableFile::open`];
    /// [`Error::Interrupted`].
    pub fn apply(&self, table: &TableFile, columns: Option<&[String]>, run: &Run) -> Result<Applied> {
        let asks = self.asks(table, columns)?;
        let (mut rows, mut held) = (table.scan(&asks)?, Held::new(table, &asks)?);
        rows.each(|_| true, |arrays, _| held.push(arrays), run)?;
        if rows.n_rows() == 0 {
            return Err(no_rows(table.path()));
        }
        self.check_cells(table, &asks, &rows)?;
        let used = self.used_places();
        let (features, unlike) = held.encode(self, &used, run)?;
        Ok(Applied { features, warnings: self.warnings(&used, &unlike, rows.tallies()) })
    }

    /// Refuses a column that no longer holds what it held: most of its cells must be of its kind. The others are counted. Where numbers are
    /// taken as they are, all cells must be numbers.
    pub(super) fn check_cells(&self, table: &TableFile, asks: &[Ask], rows: &TableRows) -> Result<()> {
        let is_strict = self.keeps_gaps();
        let is_other = |tally: &Tally| tally.unfit > if is_strict { 0 } else { tally.filled / 2 };
        let cells = asks.iter().map(|ask| ask.column).zip(rows.tallies());
        unfit_cells(Fault::Changed, table, cells, rows.n_rows(), is_other).map_or(Ok(()), Err)
    }

    /// Places of the used columns among those of the recipe.
    pub(super) fn used_places(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].step.width() > 0).collect()
    }

    /// How the used columns are read in a table. Stored columns of another kind than the fit had are refused; cells that are texts are
    /// looked at one by one.
    pub(super) fn asks(&self, table: &TableFile, columns: Option<&[String]>) -> Result<Vec<Ask>> {
        use ColumnKind::{Boolean, Empty, Number, Text, Vector};
        let used: Vec<&ColumnRecipe> = self.used_places().into_iter().map(|at| &self.columns[at]).collect();
        let names = match columns {
            None => used.iter().map(|column| column.name.clone()).collect(),
            Some(columns) if columns.len() == used.len() => columns.to_vec(),
            Some(columns) => {
                let expected = format!("{} columns, those of the fit", used.len());
                return Err(Error::shape("the list of columns", expected, format!("{} columns", columns.len())));
            }
        };
        let options = ReadOptions { columns: Some(names), ..ReadOptions::default() };
        let places = crate::read::choose(table.path(), table.names(), &options)?.features;
        for (column, &place) in used.iter().zip(&places) {
            let agree = match (&column.kind, &table.kinds()[place]) {
                (_, Empty) | (Text, _) | (Number | Boolean | Empty, Number | Boolean) => true,
                (Vector(length), Vector(other)) => length == other,
                (fit, new) => fit == new || table.is_stored_text(place),
            };
            if !agree {
                let (name, fit, new) = (&table.names()[place], column.kind.word(), table.stored_type(place));
                let reason = format!("column '{name}' holds {new}; expected the kind that it had in the fit, {fit}");
                return Err(Error::format(table.path(), None, reason));
            }
        }
        let ask = |(column, at): (&&ColumnRecipe, usize)| {
            let cells = table.reconciled(at, column.reading.cells)?;
            let ask = table.ask_as(at, &column.kind, Reading { cells, ..column.reading });
            Ok(ask.unwrap_or(Ask::new(at, CellType::Text)))
        };
        used.iter().zip(places).map(ask).collect()
    }

    /// The encoders of arrays; `columns` are the places of their columns among those of the recipe, and `path` is the table in messages.
    ///
    /// # Errors
    /// [`Error::Format`] for columns of other types than the recipe reads.
    pub(super) fn encoders<'a>(
        &'a self,
        path: &Path,
        arrays: &'a [ArrayRef],
        columns: &[usize],
    ) -> Result<Vec<Encoder<'a>>> {
        let widths: Vec<usize> = self.columns.iter().map(|column| column.step.width()).collect();
        let first = |at: usize| widths[..at].iter().sum();
        let filled = self.gaps.as_ref().map_or_else(Vec::new, |gaps| gaps.filled(arrays, columns));
        let filled = filled.into_iter().chain(std::iter::repeat(None));
        let used = columns.iter().zip(arrays).zip(filled).filter(|((at, _), _)| widths[**at] > 0);
        used.map(|((&at, array), filled)| Encoder::new(&self.columns[at].step, array, first(at), filled))
            .collect::<Option<_>>()
            .ok_or_else(|| Error::format(path, None, "the columns are not of the types that the recipe reads"))
    }

    /// What is unlike the fit in new rows; `columns` are the places of the columns that were read.
    pub(super) fn warnings(&self, columns: &[usize], unlike: &[Unlike], tallies: &[Tally]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (place, (&at, unlike)) in columns.iter().zip(unlike).enumerate() {
            let column = || self.columns[at].name.clone();
            if let Some(first) = unlike.first_unknown.clone() {
                warnings.push(Warning::UnknownLevels { column: column(), n_cells: unlike.n_unknown, first });
            }
            if unlike.n_gaps > 0 {
                warnings.push(Warning::NewGaps { column: column(), n_cells: unlike.n_gaps });
            }
            if let Some((tally, first)) = tallies.get(place).and_then(|tally| Some((tally, tally.first_unfit()?))) {
                let kind = notes::a_kind(&self.columns[at].kind);
                let (n_cells, first, place) = (tally.unfit, first.shown(), first.place());
                warnings.push(Warning::UnfitCells { column: column(), n_cells, kind, first, place });
            }
        }
        warnings
    }
}
