//! Scores of new rows: what every fit with features leaves behind.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use lapwing_core::model_file::ModelFile;
use lapwing_core::rows::{held_rows, in_order};
use lapwing_core::{Error, Features, Matrix, Result, RowReader, RowSource, Run, Scaling};
use lapwing_graph::Graph;

use super::neighbors::NeighborExtension;
use super::rule::{Labeling, Rule};
use super::scores::Extended;

/// What gives scores to new rows; fits, regressions and models share it.
pub type Extension<'a> = Arc<dyn Extend + 'a>;

/// The kind of an extension, and the widths of what it takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Name of the kind in model files.
    pub kind: &'static str,
    /// Columns of the features (d).
    pub n_features: usize,
    /// Scores of each row (c): classes, or 1 for a regression.
    pub n_outputs: usize,
}

/// Gives scores to new rows. Each kind is stored in model files under its name, and loaded by the table of kinds
/// ([`KINDS`](crate::KINDS)).
pub trait Extend: Debug + Send + Sync {
    /// The kind, and the numbers of features and scores.
    fn shape(&self) -> Shape;

    /// Name of the kind in model files.
    fn kind(&self) -> &'static str {
        self.shape().kind
    }

    /// Columns of the features (d).
    fn n_features(&self) -> usize {
        self.shape().n_features
    }

    /// Scores of each row (c): classes, or 1 for a regression.
    fn n_outputs(&self) -> usize {
        self.shape().n_outputs
    }

    /// Scores (m, c) of new rows (m, d), with bounds on their errors if the fit has any.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are d columns; [`Error::Columns`] for values that are not finite; [`Error::Interrupted`].
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended>;

    /// The scores alone.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    fn scores_of(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        Ok(self.extend(new, run)?.scores)
    }

    /// Whether [`extend_on`](Self::extend_on) has a use for the graph of new rows.
    fn takes_graph(&self) -> bool {
        false
    }

    /// Scores (m, c) of rows (m, d) that are the nodes of a given graph.
    ///
    /// # Errors
    /// [`Error::Shape`] for a graph of other rows; as [`extend`](Self::extend); [`Error::Internal`] unless the kind
    /// [takes a graph](Self::takes_graph).
    fn extend_on(&self, new: &Features<'_>, graph: &Graph, run: &Run) -> Result<Matrix> {
        let _ = (new, graph, run);
        Err(Error::Internal { reason: format!("a model of kind {} has no use for a graph", self.kind()) })
    }

    /// Whether scores come with bounds on their errors, so that labels can be certified.
    fn certifies(&self) -> bool {
        false
    }

    /// Whether new rows miss a graph if none is given: they were fitted on one, and are not joined to the rows of the fit.
    fn misses_graph(&self) -> bool {
        false
    }

    /// Labels the rows `rows` of a source in blocks by `rule`. `take` gets the first row of a block and its labels, in the order of the
    /// rows; several blocks are labeled in parallel. The labels of a row do not depend on the blocks.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and what `take` returns.
    fn label_rows(
        &self,
        rule: &Rule,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
    ) -> Result<()> {
        in_blocks(source, self.n_outputs(), rows, run, |_, new| rule.apply_with_errors(self.extend(new, run)?), take)
    }

    /// The rows of the fit, if new rows get means over their neighbors among these.
    fn neighbors(&self) -> Option<&NeighborExtension<'_>> {
        None
    }

    /// Replaces the averaged scores of the fitted rows (n, c), and the bounds on the errors of their standings (n). Without effect on kinds
    /// that average nothing, or other rows than these.
    fn set_scores(&mut self, scores: &Arc<Matrix>, errors: Option<Vec<f64>>) {
        let _ = (scores, errors);
    }

    /// Builds what predictions need (an index of the rows of the fit) now, instead of at the first prediction.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    fn prepare(&self, run: &Run) -> Result<()> {
        run.check()
    }

    /// A copy that borrows nothing: rows of the fit are copied, if it keeps any.
    ///
    /// # Errors
    /// Those of reading rows from a mapped file.
    fn owned(&self) -> Result<Extension<'static>>;

    /// Adds settings and arrays to a model file.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    fn store(&self, file: &mut ModelFile) -> Result<()>;
}

/// [`Extend::label_rows`] of rows that are scaled first.
pub(crate) fn label_scaled(
    (scaling, extension, rule): (&Scaling, &Extension<'_>, &Rule),
    source: &dyn RowSource,
    rows: Range<usize>,
    run: &Run,
    take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
) -> Result<()> {
    if scaling.is_none() {
        return extension.label_rows(rule, source, rows, run, take);
    }
    let label = |_: usize, new: &Features<'_>| {
        let scaled = scaling.apply(new, run)?;
        rule.apply_with_errors(extension.extend(scaled.as_ref().unwrap_or(new), run)?)
    };
    in_blocks(source, extension.n_outputs(), rows, run, label, take)
}

/// Labels the rows `rows` of a source in blocks that are held one after another, by `label`, which gets the first row; labels have `c`
/// classes.
pub(crate) fn in_blocks(
    source: &dyn RowSource,
    c: usize,
    rows: Range<usize>,
    run: &Run,
    label: impl Fn(usize, &Features<'_>) -> Result<Labeling> + Sync,
    take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
) -> Result<()> {
    // Scores and shares of the rows that wait to be taken.
    let held = |rows: usize| size_of::<f64>() * 2 * c.max(1) * held_rows(rows) * run.threads();
    let mut block_rows = block_rows(source.n_cols());
    while block_rows > LEAST_ROWS && held(block_rows) > HELD_BYTES {
        block_rows /= 2;
    }
    let open = |first: usize| source.open(first, &[], run);
    let make = |_: &mut (), reader: &mut Box<dyn RowReader + '_>, rows: Range<usize>| {
        let new = reader.hold(rows.len(), run)?;
        label(rows.start, &new).map_err(|error| error.at_rows("features", |row| rows.start + row))
    };
    in_order(source, open, (rows, block_rows), run, || (), make, take)
}

/// Rows of `d` columns that are read at a time, a power of 2: so many that queries of an index go over its rows once for many of them, but
/// not more than 8,192 beyond some megabytes.
pub(crate) fn block_rows(d: usize) -> usize {
    const BLOCK_BYTES: usize = 1 << 23;
    let rows = BLOCK_BYTES / (4 * d.max(1));
    (1 << rows.max(1).ilog2()).clamp(1 << 13, 1 << 15)
}

/// Fewest rows of a block, and bytes of labels that are held at a time.
const LEAST_ROWS: usize = 64;
pub(crate) const HELD_BYTES: usize = 100 << 20;

/// Refuses rows of another number of columns than the features of the fit had.
pub(crate) fn check_columns(new: &Features<'_>, n_features: usize) -> Result<()> {
    match new.n_cols() {
        d if d == n_features => Ok(()),
        d => Err(Error::shape("features", format!("{n_features} columns"), format!("{d} columns"))),
    }
}

/// Whether new rows get means of the scores of the `n` fitted rows.
pub(crate) fn averages(extension: &Extension<'_>, n: usize) -> bool {
    extension.neighbors().is_some_and(|neighbors| neighbors.scores.n_rows() == n)
}

/// [`Extend::set_scores`] of an extension that a fit has just made, and shares with nobody.
pub(crate) fn set_scores(extension: &mut Extension<'_>, scores: &Arc<Matrix>, errors: Option<Vec<f64>>) {
    if let Some(extension) = Arc::get_mut(extension) {
        extension.set_scores(scores, errors);
    }
}
