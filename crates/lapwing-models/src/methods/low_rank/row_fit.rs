//! The result of a fit on rows that are not held: labels rows in blocks, and holds class sizes.

use std::sync::Arc;

use lapwing_core::{Matrix, Report, Result, RowSource, Run, Targets, Warning, hash};
use lapwing_graph::low_rank::labeled_within;

use super::LowRankExtension;
use crate::core::expected::note_expected;
use crate::{HeldOut, Labeling, Rule, SizeParams};

/// Rows that are labeled at a time if their scores are held.
const LABEL_ROWS: usize = 1 << 16;
/// Rows from which class sizes are estimated.
const SIZED_ROWS: usize = 1 << 17;

/// A fit that holds none of its rows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RowFit {
    /// Gives scores to rows.
    pub extension: LowRankExtension,
    /// How scores become labels.
    pub rule: Rule,
    /// Class shares of labeled rows from scores that did not see their label, at rank 0; `None` if labels are too few.
    pub held_out: Option<HeldOut>,
    /// Choices, solves, times and memory of the fit.
    pub report: Report,
    /// Factor (c) of trust times target, which a labeled row adds to its own score.
    pub(super) own: Vec<f64>,
    /// Scores of all rows (n, c), if a factor was learned from all of them.
    pub(super) scores: Option<Matrix>,
}

impl RowFit {
    /// Moves the offsets of the rule so that every class gets its size, in one more pass over the rows. Sizes are estimated on at
    /// most 131,072 rows, drawn at random; the share of a class among them is that among all rows to within 0.3 %.
    ///
    /// With several processes, each reads all rows and gets the same rule.
    ///
    /// # Errors
    /// As [`SizeParams::validate`] and [`Extend::label_rows`](crate::Extend::label_rows).
    pub fn hold_sizes(
        &mut self,
        source: &dyn RowSource,
        sizes: &SizeParams,
        targets: &Targets,
        run: &Run,
    ) -> Result<()> {
        let (n, c) = (source.n_rows(), targets.n_columns());
        sizes.validate(c)?;
        let share = SIZED_ROWS as f64 / n as f64;
        let seed = hash::mix(run.seed);
        let is_drawn = |row: usize| hash::uniform(seed ^ row as u64) < share;
        let mut report = std::mem::take(&mut self.report);
        let scores = report.time_steps("sizes", n as u64, run, |_| -> Result<Matrix> {
            let mut drawn = Vec::new();
            let keep = |first: usize, scores: Vec<f64>| {
                let rows = scores.chunks_exact(c).enumerate().filter(|(at, _)| is_drawn(first + at));
                Ok(rows.flat_map(|(_, row)| row.to_vec()).collect::<Vec<f64>>())
            };
            self.extension.each(source, 0..n, run, keep, |_, scores| {
                drawn.extend(scores);
                Ok(())
            })?;
            Matrix::new(drawn.len() / c, c, drawn)
        });
        let sized = sizes.decide(Arc::new(scores?), self.rule.clone(), targets, run)?;
        self.held_out = self.held_out.take().and_then(|held_out| held_out.moved(&self.rule, &sized.rule));
        note_expected(&mut report, self.held_out.as_ref());
        self.rule = sized.rule;
        report.parts.insert("sizes".into(), sized.part);
        report.warnings.extend(sized.warnings);
        self.report = report;
        Ok(())
    }

    /// Labels the rows `rows` in blocks and calls `take` with the first row of each block and its labeling, in the order of the
    /// rows. `targets` are those of the fit.
    ///
    /// # Errors
    /// As [`Extend::label_rows`](crate::Extend::label_rows).
    ///
    /// # Complexity
    /// One pass; none if a factor was learned from all rows.
    pub fn label_rows(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        rows: std::ops::Range<usize>,
        run: &Run,
        mut take: impl FnMut(usize, Labeling) -> Result<()> + Send,
    ) -> Result<()> {
        let c = targets.n_columns();
        let label = |first: usize, mut scores: Vec<f64>| {
            let n_rows = scores.len() / c;
            for at in labeled_within(targets, first..first + n_rows) {
                let row = &mut scores[(targets.rows()[at] as usize - first) * c..][..c];
                let (y, trust) = (targets.values().row(at), targets.weights()[at]);
                for ((score, y), own) in row.iter_mut().zip(y).zip(&self.own) {
                    let own = trust * y * own;
                    *score = if score.is_nan() { own } else { *score + own };
                }
                if row.iter().all(|score| *score == 0.0) {
                    row.fill(f64::NAN);
                }
            }
            self.rule.apply(Arc::new(Matrix::new(n_rows, c, scores)?))
        };
        let Some(scores) = &self.scores else { return self.extension.each(source, rows, run, label, take) };
        for first in rows.clone().step_by(LABEL_ROWS) {
            run.check()?;
            let end = rows.end.min(first + LABEL_ROWS);
            take(first, run.install(|| label(first, scores.values()[first * c..end * c].to_vec()))?)?;
            run.progress().update((end - rows.start) as u64, "rows");
        }
        Ok(())
    }

    /// Warns of rows without evidence, counted in `report.n_unreached`.
    pub fn note_unreached(report: &mut Report) {
        if report.n_unreached > 0 {
            let (n_rows, n_samples) = (report.n_unreached, report.n_samples);
            report.warnings.push(Warning::NoEvidence { n_rows, n_samples });
        }
    }
}
