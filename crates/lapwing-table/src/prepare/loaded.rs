//! A table in memory: read once, described, and made features.

use std::fmt;

use super::choose::{self, Verdict};
use super::columns::{Extent, Surveyed};
use super::decide::suggested;
use super::scale::Choices;
use super::{Description, MAX_TERMS, Prepared, Recipe, Step, leak};
use crate::read::{ReadOptions, TableFile};
use lapwing_core::{Labels, Result, Run, SparseLabels, Standardize};

/// A table in memory whose columns have been looked at.
///
/// The typed columns are held until [`prepare`](Self::prepare) turns them into features, batch by batch: memory is needed for one copy of
/// the larger of the two.
pub struct LoadedTable {
    found: Surveyed,
    labels: Option<Labels>,
}

impl LoadedTable {
    /// Reads the columns that `options` choose, and the label column if one is named.
    ///
    /// # Errors
    /// As [`prepare`](super::prepare).
    pub fn read(table: TableFile, options: &ReadOptions, run: &Run) -> Result<Self> {
        let mut found = Surveyed::new(table, options)?.read(options, Extent::Held, run)?;
        let labels = found.labels.take().map(Labels::from);
        Ok(Self { found, labels })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.found.n_rows
    }

    /// The labels, if a label column was named.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// What the table holds and what [`prepare`](Self::prepare) would do, with examples, also if no column tells rows apart.
    pub fn describe(&self, standardize: Standardize, run: &Run) -> Description {
        let choices = Choices { standardize, is_told: false, max_terms: MAX_TERMS };
        let (recipe, spreads) = suggested(&self.found, &choices, run);
        let mut description = Description::new(&self.found, &recipe, standardize, spreads, None);
        description.add_examples(&self.found, &recipe);
        if let Some(labels) = &self.labels {
            description.add_leaks(self.leaks(&recipe, &labels.into()));
        }
        description
    }

    /// Makes features of the columns. `labels` are those of the rows if they are not in the table: they are asked whether numbers are
    /// scaled, where the numbers alone do not tell.
    ///
    /// # Errors
    /// [`Error::Format`](lapwing_core::Error::Format) if no column tells rows apart;
    /// [`Error::Interrupted`](lapwing_core::Error::Interrupted).
    pub fn prepare(self, standardize: Standardize, labels: Option<&Labels>, run: &Run) -> Result<Prepared> {
        let found = &self.found;
        let choices = Choices { standardize, is_told: false, max_terms: MAX_TERMS };
        let (mut recipe, spreads) = found.decided(&choices, run)?;
        let known = labels.or(self.labels.as_ref()).map(SparseLabels::from);
        // Whether the numbers alone do not tell if they are to be scaled.
        let is_auto = standardize == Standardize::Auto;
        let is_open = is_auto && !recipe.is_scaled && spreads.is_some_and(|spreads| spreads.differ);
        let mut verdict = None;
        if let Some(known) = known.as_ref().filter(|_| is_open) {
            let (scaled, _) = found.decided(&Choices { is_told: true, ..choices }, run)?;
            verdict = self.verdict(&recipe, &scaled, known);
            recipe = if verdict.is_some_and(|verdict| verdict.scale) { scaled } else { recipe };
        }
        let mut description = Description::new(found, &recipe, standardize, spreads, verdict);
        if let Some(known) = &known {
            description.add_leaks(self.leaks(&recipe, known));
        }
        let mut warnings = description.warnings(found.table.path());
        let readable = found.readable();
        let Self { found, labels } = self;
        warnings.extend(found.spaced);
        let (features, _) = found.held.encode(&recipe, &readable, run)?;
        Ok(Prepared { features, recipe, labels, names: None, description, warnings })
    }

    /// The columns that alone tell the labels, as places in the recipe, with how, and the number of labels that were looked at.
    fn leaks(&self, recipe: &Recipe, labels: &SparseLabels) -> (Vec<(usize, String)>, usize) {
        let probe = leak::probe(recipe, &self.found.columns);
        let used = probe.used_places();
        let chosen = leak::chosen_rows(labels.rows.len(), used.len());
        let (rows, classes) = labeled(labels, chosen);
        let values = self.found.held.some_rows(&probe, &self.found.readable(), &rows).unwrap_or_default();
        let are_levels: Vec<bool> =
            used.iter().map(|&at| matches!(probe.columns[at].step, Step::Ordered { .. })).collect();
        let found = leak::leaking(&values, &are_levels, &classes);
        (found.into_iter().map(|(at, how)| (used[at], how)).collect(), classes.len())
    }

    /// What the labels say about two recipes.
    fn verdict(&self, raw: &Recipe, scaled: &Recipe, labels: &SparseLabels) -> Option<Verdict> {
        let (rows, classes) = labeled(labels, choose::chosen_rows(&labels.rows, &labels.index, raw.n_features()));
        let features = |recipe: &Recipe| self.found.held.some_rows(recipe, &self.found.readable(), &rows).ok();
        choose::compare(&features(raw)?, &features(scaled)?, &classes)
    }
}

/// The rows of some labels, and their classes.
fn labeled(labels: &SparseLabels, chosen: Vec<usize>) -> (Vec<usize>, Vec<u32>) {
    chosen.into_iter().map(|at| (labels.rows[at] as usize, labels.index[at])).unzip()
}

impl fmt::Debug for LoadedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedTable")
            .field("table", &self.found.table)
            .field("n_rows", &self.n_rows())
            .finish_non_exhaustive()
    }
}
