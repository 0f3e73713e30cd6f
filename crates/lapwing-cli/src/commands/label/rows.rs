//! `lapwing label` for methods that read rows in blocks: memory does not grow with the rows, and several processes may share
//! them.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::write::LabeledRows;
use lapwing::data::{Report, RowNames, RowSource, SparseLabels, Standardize, Targets};
use lapwing::label_journal::LabelJournal;
use lapwing::label_table::{LabelTable, RowLabels};
use lapwing::models::{Method, Model, RowFit, RowProblem, SizeParams, fit_rows};
use lapwing_core::communicator::agree;
use lapwing_core::hash::mix;
use lapwing_core::peak_memory_bytes;
use lapwing_core::publish::Staged;
use lapwing_graph::low_rank::labeled_within;
use lapwing_models::low_rank::remove_checkpoint;
use lapwing_report::summary::{self, row};
use lapwing_report::{ClassSize, Parts};
use serde_json::{Value, json};

use super::outputs::OutputOptions;
use crate::failure::Failure;
use crate::input::{RowInput, RowStream, check_classes, numbered};
use crate::options::{DataOptions, LabelOptions, Unreached};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{bytes, count};
use crate::written::{Written, publish_after};

/// Inputs, method and outputs of a run.
pub struct LabelRows<'l> {
    pub method: &'l dyn Method,
    /// The method and its parameters.
    pub described: String,
    pub path: &'l Path,
    pub data: &'l DataOptions,
    pub labels: &'l LabelOptions,
    pub outputs: &'l OutputOptions,
    pub checkpoint: Option<&'l Path>,
    /// The class sizes to hold, if any.
    pub sizes: Option<SizeParams>,
    /// Rows that are fitted.
    pub fit_rows: usize,
}

/// What a run reads before the fit.
struct Read {
    rows: RowStream,
    labels: SparseLabels,
    targets: Targets,
    /// Names of the rows, if they have any.
    names: Option<Arc<RowNames>>,
    /// What to look at, and what was done with the columns of a table.
    notes: Report,
}

impl LabelRows<'_> {
    pub fn run(&self, session: &Session) -> Result<Outcome, Failure> {
        let mut report = Report::default();
        let read = session.read(&mut report, || self.read(session));
        let mut read = session.agree(read)?;
        let (source, labels) = (read.rows.source(), &read.labels);
        if let Some(sizes) = &self.sizes {
            sizes.validate(labels.classes.len())?;
        }
        // Tables are scaled while they are read.
        let standardize = if read.rows.recipe().is_some() { Standardize::Off } else { self.data.table.standardize };
        let is_sampled = !self.method.reads_rows() || self.fit_rows < source.n_rows();
        let kept = self.checkpoint.filter(|_| session.communicator.is_root());
        let of = session.agree(kept.map(|_| self.identity(source, &read, session)).transpose())?;
        let checkpoint = kept.zip(of.as_deref()).filter(|_| is_sampled);
        let problem = RowProblem { source, targets: &read.targets, fit_rows: self.fit_rows, standardize, checkpoint };
        let fit = fit_rows(self.method, &problem, session.communicator, &session.run);
        let mut fit = fit.map_err(|error| read.rows.explained(error, &session.run))?;
        if let Some(sizes) = &self.sizes {
            let held = fit.hold_sizes(source, sizes, &read.targets, &session.run);
            agree(session.communicator, held)?;
        }
        let mut counts = Counts::new(labels.classes.len());
        let mut written = Written::default();
        // The model comes before the labels, which may go to standard output and cannot be undone there.
        let model = session.communicator.is_root().then(|| self.stage_model(&fit, &read)).transpose();
        if let Some(model) = session.agree(model)?.flatten() {
            written.add("model", model);
        }
        report.join(std::mem::take(&mut read.notes));
        report.join(std::mem::take(&mut fit.report));
        let mut printed = Ok(());
        if let Some(path) = &self.outputs.output {
            let write = |_: &mut Report| self.write(path, (&fit, of.as_deref()), &read, session, &mut counts);
            let staged = report.time_steps("write", source.n_rows() as u64, &session.run, write);
            report.warnings.extend(numbered(path, read.names.as_ref()));
            printed = staged.map(|staged| written.add_labels(path, staged));
        }
        report.n_unreached = counts.unreached;
        if let Some(Value::Object(certificate)) = report.parts.get_mut("certificate") {
            certificate.insert("n_open".into(), json!(counts.open));
        }
        fit.note_unreached(&mut report);
        let finished = publish_after(printed, || {
            written.publish()?;
            kept.map_or(Ok(()), |path| {
                let _ = std::fs::remove_file(LabelJournal::beside(path));
                Ok(remove_checkpoint(path)?)
            })
        });
        session.agree(finished)?;
        let unscaled = session.communicator.is_root() && self.data.table.standardize == Standardize::Auto;
        report.warnings.extend(unscaled.then(|| read.rows.unscaled(&session.run)).flatten());
        report.peak_bytes = peak_memory_bytes();
        self.print(session, &report, labels, &counts, &written)?;
        let is_fine = counts.unreached == 0 && report.solve.as_ref().is_none_or(|solve| solve.converged);
        Ok(Outcome::of(self.outputs.strict, is_fine))
    }

    /// What identifies the fit: method, parameters, labels, rows and seed.
    fn identity(&self, source: &dyn RowSource, read: &Read, session: &Session) -> Result<String, Failure> {
        let rows = source.identity(&session.run)?.unwrap_or_default();
        let Read { targets, .. } = read;
        let (labels, trust) = (targets.values().values(), targets.weights());
        let given = format!("{:?} {labels:?} {trust:?} {}", targets.rows(), self.described);
        let given = given.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
        let (seed, standardize) = (session.run.seed, self.data.table.standardize);
        Ok(format!("{rows}, {given:016x}, {} rows, {standardize:?}, seed {seed}", self.fit_rows))
    }

    fn read(&self, session: &Session) -> Result<Read, Failure> {
        let read = RowInput::read(self.path, &self.data.table, self.labels, true, &session.run)?;
        let RowInput { rows, labels, names, description, warnings } = read;
        let mut notes = Report::default();
        if let Some(description) = description.filter(|_| session.communicator.is_root()) {
            description.report(&mut notes);
        }
        notes.warnings = warnings;
        let targets = Targets::from_sparse(&labels)?;
        notes.warnings.extend(check_classes(&labels, self.outputs.model.is_some())?);
        Ok(Read { rows, labels, targets, names, notes })
    }

    /// Labels all rows and writes them to one table. Returns the staged files at rank 0, and counts of what was labeled even if writing failed.
    fn write(
        &self,
        path: &Path,
        (fit, of): (&RowFit, Option<&str>),
        read: &Read,
        session: &Session,
        counts: &mut Counts,
    ) -> Result<Vec<Staged>, Failure> {
        let (classes, source) = (&read.labels.classes, read.rows.source());
        let probabilities = self.outputs.probabilities;
        let begin = || -> Result<LabelTable<'_>, Failure> {
            let kept = self.outputs.kept(self.data, self.labels, || read.labels.rows.clone())?;
            let (names, data) = (read.names.as_ref(), Some(self.path));
            Ok(LabelTable { path, classes, probabilities, names, kept, data })
        };
        let table = session.agree(session.communicator.is_root().then(begin).transpose())?;
        let journal = self.checkpoint.map(LabelJournal::beside);
        let of = of.map(|of| format!("{of}, {:?}", self.sizes));
        let labels = RowLabels {
            source,
            classes,
            probabilities,
            fills: self.outputs.unreached == Unreached::Prior,
            certifies: fit.certifies(),
            kept: journal.as_deref().zip(of.as_deref()),
            each: &|rows, run, take| fit.label_rows(source, &read.targets, rows, run, take),
        };
        let note = &mut |first: usize, block: &LabeledRows<'_>| counts.add(first, block, read);
        Ok(labels.write(table, session.communicator, &session.run, note)?.files)
    }

    /// The model, if one is wanted.
    fn stage_model(&self, fit: &RowFit, read: &Read) -> Result<Option<Staged>, Failure> {
        let Some(path) = &self.outputs.model else { return Ok(None) };
        let model = Model {
            feature_names: read.rows.feature_names(),
            recipe: read.rows.recipe().cloned(),
            id: self.data.table.id.column.clone(),
            ..Model::of_rows(fit, read.labels.classes.clone())
        };
        Ok(Some(model.stage(path)?))
    }

    fn print(
        &self,
        session: &Session,
        report: &Report,
        labels: &SparseLabels,
        counts: &Counts,
        written: &Written,
    ) -> Result<(), Failure> {
        let accuracy = (counts.hidden > 0).then(|| counts.right as f64 / counts.hidden as f64);
        let body = || {
            let (sizes, ranks) = (counts.class_sizes(labels), session.communicator.size());
            (report, json!({"classes": sizes, "ranks": ranks, "accuracy": accuracy}))
        };
        let rows = || {
            let parts = Parts::of(report);
            let mut rows = summary::of_fit(report, &parts);
            if let Some(accuracy) = accuracy {
                rows.push(row("accuracy", format!("{accuracy:.4} on {} hidden labels", count(counts.hidden))));
            }
            if session.communicator.size() > 1 {
                rows.push(row("processes", count(session.communicator.size())));
            }
            rows.extend(summary::of_choices(report, " (auto)"));
            let read = parts.read_bytes.filter(|bytes| *bytes > 0);
            rows.extend(read.map(|read| row("read to fit", bytes(read))));
            rows.extend(summary::of_cost(&report.phases, report.peak_bytes));
            rows
        };
        session.print_end("label", &report.warnings, body, rows, (written, self.outputs.to_stdout()))
    }
}

/// Counts of labeled rows.
struct Counts {
    /// Rows of each class.
    inferred: Vec<usize>,
    unreached: usize,
    /// Reached rows whose label is not certified, if labels are.
    open: usize,
    /// Rows without a given label whose class is known (generated rows).
    hidden: usize,
    /// Those of them that got their class.
    right: usize,
}

impl Counts {
    fn new(n_classes: usize) -> Self {
        Self { inferred: vec![0; n_classes], unreached: 0, open: 0, hidden: 0, right: 0 }
    }

    /// Adds the rows from `first` on.
    fn add(&mut self, first: usize, block: &LabeledRows<'_>, read: &Read) {
        block.labels.iter().flatten().for_each(|class| self.inferred[*class] += 1);
        self.unreached += block.reached.iter().filter(|reached| !**reached).count();
        let certified = block.certified.into_iter().flatten().zip(block.reached);
        self.open += certified.filter(|(is_certain, reached)| **reached && !**is_certain).count();
        if read.rows.class(first).is_none() {
            return;
        }
        let is_right = |row: usize| read.rows.class(row) == block.labels[row - first];
        let rows = first..first + block.labels.len();
        self.hidden += rows.len();
        self.right += rows.clone().filter(|row| is_right(*row)).count();
        // Rows with a given label do not count as hidden.
        for at in labeled_within(&read.targets, rows) {
            self.hidden -= 1;
            self.right -= usize::from(is_right(read.targets.rows()[at] as usize));
        }
    }

    fn class_sizes(&self, labels: &SparseLabels) -> Vec<ClassSize> {
        let names = labels.classes.names().into_iter();
        let sizes = names.zip(labels.counts()).zip(&self.inferred);
        sizes.map(|((name, given), &inferred)| ClassSize { name, given, inferred }).collect()
    }
}
