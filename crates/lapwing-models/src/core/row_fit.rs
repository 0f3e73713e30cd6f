//! The result of a fit on rows that are not held: labels rows in blocks, and holds class sizes.

use std::ops::Range;
use std::sync::Arc;

use lapwing_core::{
    Features, Matrix, Report, Result, RowSource, Run, Scaling, Targets, Warning, hash, peak_memory_bytes,
};
use lapwing_graph::low_rank::labeled_within;

use super::expected::note_expected;
use super::extend::{Extension, in_blocks, label_scaled};
use super::fitted::Fitted;
use super::held_out::HeldOut;
use super::rule::{Labeling, Rule};
use super::sampling::Cover;
use crate::SizeParams;

/// Rows that are labeled at a time if their scores are held.
const LABEL_ROWS: usize = 1 << 16;
/// Rows from which class sizes are estimated.
const SIZED_ROWS: usize = 1 << 17;

/// A fit that holds none of the rows, or a sample of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RowFit {
    /// Scales rows first.
    pub scaling: Scaling,
    /// Gives scores to rows.
    pub extension: Extension<'static>,
    /// How scores become labels.
    pub rule: Rule,
    /// Class shares of labeled rows from scores that did not see their label, at rank 0; `None` if labels are too few.
    pub held_out: Option<HeldOut>,
    /// Choices, solves, times and memory of the fit.
    pub report: Report,
    /// What the fit knows of its own rows.
    pub(crate) known: Known,
}

/// What a fit knows of its own rows, beside the scores that they would get as new rows.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A labeled row adds this factor (c) of trust times target to its own score. `scores` (n, c) are those of all rows, if the fit has
    /// them.
    Own { own: Vec<f64>, scores: Option<Matrix> },
    /// The labels of the rows `rows`, ascending, which were fitted. Those of the rows `far`, ascending, that are beyond the cover are told
    /// nothing.
    Sample { rows: Vec<u32>, labeling: Labeling, far: Vec<u32>, cover: Option<Box<Cover>> },
}

impl Known {
    /// Corrects the labels of the rows from `first` on.
    fn correct(&self, labeling: &mut Labeling, first: usize, targets: &Targets, rule: &Rule) -> Result<()> {
        let range = first..first + labeling.labels.len();
        match self {
            Self::Own { own, .. } => {
                let (places, c) = (labeled_within(targets, range), own.len());
                let mut scores = Matrix::filled(places.len(), c, 0.0);
                for (at, place) in places.clone().enumerate() {
                    let (y, trust) = (targets.values().row(place), targets.weights()[place]);
                    let row = scores.row_mut(at);
                    row.copy_from_slice(labeling.scores.row(targets.rows()[place] as usize - first));
                    for ((score, y), own) in row.iter_mut().zip(y).zip(own) {
                        let own = trust * y * own;
                        *score = if score.is_nan() { own } else { *score + own };
                    }
                    if row.iter().all(|score| *score == 0.0) {
                        row.fill(f64::NAN);
                    }
                }
                let corrected = rule.apply(Arc::new(scores))?;
                for (at, place) in places.enumerate() {
                    labeling.put(targets.rows()[place] as usize - first, &corrected, at);
                }
            }
            Self::Sample { rows, labeling: fitted, .. } => {
                let start = rows.partition_point(|&row| (row as usize) < range.start);
                let own = rows[start..].iter().take_while(|&&row| (row as usize) < range.end);
                own.enumerate().for_each(|(at, &row)| labeling.put(row as usize - first, fitted, start + at));
            }
        }
        Ok(())
    }
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
            self.new_rows(source, 0..n, run, &mut |first, labeling| {
                let rows = labeling.scores.rows().enumerate().filter(|(at, _)| is_drawn(first + at));
                rows.for_each(|(_, row)| drawn.extend_from_slice(row));
                Ok(())
            })?;
            Matrix::new(drawn.len() / c, c, drawn)
        });
        let sized = sizes.decide(Arc::new(scores?), self.rule.clone(), targets, run)?;
        self.held_out = self.held_out.take().and_then(|held_out| held_out.moved(&self.rule, &sized.rule));
        note_expected(&mut report, self.held_out.as_ref());
        self.rule = sized.rule;
        if let Known::Sample { labeling, .. } = &mut self.known {
            *labeling = run.install(|| self.rule.apply(labeling.scores.clone()))?;
            labeling.certified = self.extension.certifies().then(|| vec![false; labeling.labels.len()]);
        }
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
    /// One pass; none if the fit has scores of all rows.
    pub fn label_rows(
        &self,
        source: &dyn RowSource,
        targets: &Targets,
        rows: Range<usize>,
        run: &Run,
        mut take: impl FnMut(usize, Labeling) -> Result<()> + Send,
    ) -> Result<()> {
        let mut corrected = |first: usize, mut labeling: Labeling| {
            self.known.correct(&mut labeling, first, targets, &self.rule)?;
            take(first, labeling)
        };
        let Known::Own { scores: Some(scores), .. } = &self.known else {
            return self.new_rows(source, rows, run, &mut corrected);
        };
        let c = scores.n_cols();
        for first in rows.clone().step_by(LABEL_ROWS) {
            run.check()?;
            let end = rows.end.min(first + LABEL_ROWS);
            let own = Matrix::new(end - first, c, scores.values()[first * c..end * c].to_vec())?;
            corrected(first, run.install(|| self.rule.apply(Arc::new(own)))?)?;
            run.progress().update((end - rows.start) as u64, "rows");
        }
        Ok(())
    }

    /// The fit with the labels of all rows of a source, which are held; without a source it has none.
    ///
    /// # Errors
    /// As [`label_rows`](Self::label_rows).
    pub fn into_fitted(
        mut self,
        source: Option<&dyn RowSource>,
        targets: &Targets,
        run: &Run,
    ) -> Result<Fitted<'static>> {
        let mut report = std::mem::take(&mut self.report);
        let steps = source.map_or(0, |source| source.n_rows() as u64);
        let labeling = report.time_steps("apply", steps, run, |_| self.label_all(source, targets, run))?;
        report.n_unreached = labeling.reached.iter().filter(|reached| !**reached).count();
        self.note_unreached(&mut report);
        report.peak_bytes = peak_memory_bytes();
        let Self { extension, rule, held_out, .. } = self;
        let extension = Some(extension);
        Ok(Fitted { labeling, rule, extension, graph: None, held_out, best: None, report })
    }

    fn label_all(&self, source: Option<&dyn RowSource>, targets: &Targets, run: &Run) -> Result<Labeling> {
        let (n, c) = (source.map_or(0, |source| source.n_rows()), targets.n_columns());
        let mut all = Labeling {
            scores: Arc::default(),
            label_distributions: Matrix::filled(n, c, 0.0),
            labels: Vec::with_capacity(n),
            confidence: Vec::with_capacity(n),
            reached: Vec::with_capacity(n),
            certified: self.certifies().then(|| Vec::with_capacity(n)),
            score_radius: None,
        };
        let mut scores = Matrix::filled(n, c, 0.0);
        let Some(source) = source else { return Ok(Labeling { scores: Arc::new(scores), ..all }) };
        self.label_rows(source, targets, 0..n, run, |first, part| {
            let place = first * c..first * c + part.scores.values().len();
            scores.values_mut()[place.clone()].copy_from_slice(part.scores.values());
            all.label_distributions.values_mut()[place].copy_from_slice(part.label_distributions.values());
            all.labels.extend(part.labels);
            all.confidence.extend(part.confidence);
            all.reached.extend(part.reached);
            all.certified.iter_mut().for_each(|all| all.extend(part.certified.iter().flatten()));
            Ok(())
        })?;
        all.scores = Arc::new(scores);
        Ok(all)
    }

    /// Labels rows as if the fit did not know them.
    fn new_rows(
        &self,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
    ) -> Result<()> {
        let Known::Sample { far, cover: Some(cover), .. } = &self.known else {
            return label_scaled((&self.scaling, &self.extension, &self.rule), source, rows, run, take);
        };
        let label = |first: usize, new: &Features<'_>| {
            let scaled = self.scaling.apply(new, run)?;
            let new = scaled.as_ref().unwrap_or(new);
            let mut labeling = self.rule.apply_with_errors(self.extension.extend(new, &run.quiet())?)?;
            let start = far.partition_point(|&row| (row as usize) < first);
            let doubtful = far[start..].iter().take_while(|&&row| (row as usize) < first + new.n_rows());
            let doubtful: Vec<u32> = doubtful.map(|&row| row - first as u32).collect();
            if !doubtful.is_empty() {
                let covered = cover.of(&new.select(&doubtful)?, &run.quiet())?.0;
                let beyond = doubtful.iter().zip(covered).filter(|(_, is_covered)| !is_covered);
                beyond.for_each(|(&row, _)| labeling.forget(row as usize, &self.rule));
            }
            Ok(labeling)
        };
        in_blocks(source, self.extension.n_outputs(), rows, run, label, take)
    }

    /// Whether labels are certified.
    pub fn certifies(&self) -> bool {
        self.extension.certifies()
    }

    /// Warns of rows that no label reaches, counted in `report.n_unreached`.
    pub fn note_unreached(&self, report: &mut Report) {
        let (n_rows, n_samples) = (report.n_unreached, report.n_samples);
        if n_rows > 0 {
            report.warnings.push(match self.known {
                Known::Own { .. } => Warning::NoEvidence { n_rows, n_samples },
                Known::Sample { .. } => Warning::BeyondSample { n_rows, n_samples },
            });
        }
    }
}
