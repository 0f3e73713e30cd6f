//! `lapwing label` for methods that read rows in blocks: memory does not grow with the rows, and several processes may share
//! them.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::prepare::prepare_rows;
use lapwing::data::write::LabeledRows;
use lapwing::data::{ClassNames, Error, Matrix, Report, RowNames, RowSource, Run, SparseLabels, Standardize, Targets};
use lapwing::models::{Method, Model, RowFit, RowProblem, SizeParams, fit_rows};
use lapwing_core::communicator::agree;
use lapwing_core::hash::mix;
use lapwing_core::peak_memory_bytes;
use lapwing_core::publish::Staged;
use lapwing_graph::low_rank::labeled_within;
use lapwing_models::low_rank::remove_checkpoint;
use lapwing_report::summary::{self, row};
use lapwing_report::{ClassSize, Parts};
use lapwing_table::read::is_rereadable_table;
use serde_json::{Value, json};

use super::outputs::OutputOptions;
use crate::failure::Failure;
use crate::input::{RowStream, check_classes, names_of, numbered};
use crate::label_table::LabelTable;
use crate::options::{DataOptions, LabelOptions, read_options};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{bytes, count};
use crate::written::{Written, publish_after};

/// Rows that a process labels before it sends them to the one that writes.
const PIECE_ROWS: usize = 1 << 15;

/// Bytes of all pieces that are sent at a time, unless even the smallest take more.
const ROUND_BYTES: usize = 1 << 25;

/// Bytes of a row that is sent, without probabilities.
const ROW_BYTES: usize = 13;

/// Pieces begin at multiples of it, as blocks do.
const ALIGNED_ROWS: usize = 1 << 10;

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
    /// Rows that are fitted, by a method that does not sum over all.
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
        let mut read = self.agree(session, read)?;
        let (source, labels) = (read.rows.source(), &read.labels);
        if let Some(sizes) = &self.sizes {
            sizes.validate(labels.classes.len())?;
        }
        // Tables are scaled while they are read.
        let standardize = if read.rows.recipe().is_some() { Standardize::Off } else { self.data.table.standardize };
        let is_kept = self.checkpoint.is_some() && !self.method.reads_rows() && session.communicator.is_root();
        let of = is_kept.then(|| self.identity(source, &read, session)).transpose();
        let of = self.agree(session, of)?;
        let checkpoint = self.checkpoint.zip(of.as_deref());
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
        if let Some(model) = self.agree(session, model)?.flatten() {
            written.add("model", model);
        }
        report.join(std::mem::take(&mut read.notes));
        report.join(std::mem::take(&mut fit.report));
        let mut printed = Ok(());
        if let Some(path) = &self.outputs.output {
            let write = |_: &mut Report| self.write(path, &fit, &read, session, &mut counts);
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
            self.checkpoint
                .filter(|_| session.communicator.is_root())
                .map_or(Ok(()), |path| Ok(remove_checkpoint(path)?))
        });
        self.agree(session, finished)?;
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

    /// Waits until all ranks are done; then the result of this rank, or an error if any rank failed.
    fn agree<T>(&self, session: &Session, done: Result<T, Failure>) -> Result<T, Failure> {
        let mut failure = None;
        let done = done.map_err(|error| match error {
            Failure::Library(error) => error,
            other => {
                let reason = other.text().unwrap_or_default();
                failure = Some(other);
                Error::Internal { reason }
            }
        });
        agree(session.communicator, done).map_err(|error| failure.unwrap_or(Failure::Library(error)))
    }

    fn read(&self, session: &Session) -> Result<Read, Failure> {
        let (path, table, run) = (self.path, &self.data.table, &session.run);
        let names = names_of(path, table, run)?;
        let mut notes = Report::default();
        let (rows, known) = match table.prepares() && is_rereadable_table(path) {
            true => {
                let found = prepare_rows(path, &read_options(table, Some(self.labels)), table.standardize, run)?;
                if session.communicator.is_root() {
                    found.description.report(&mut notes);
                    notes.warnings.extend(found.warnings);
                }
                (RowStream::Table(Box::new(found.rows)), found.labels)
            }
            false => (RowStream::open(path, table, Some(self.labels), run)?, None),
        };
        let (labels, left_out) = match known {
            Some(labels) => (labels, Vec::new()),
            None => rows.labels(path, table, self.labels, names.as_deref(), run)?,
        };
        let targets = Targets::from_sparse(&labels)?;
        let complete = check_classes(&labels, self.outputs.model.is_some())?;
        let doubtful = labels.classes.doubtful_marker(self.labels.unlabeled.as_deref());
        notes.warnings.splice(0..0, left_out.into_iter().chain(doubtful).chain(complete));
        Ok(Read { rows, labels, targets, names, notes })
    }

    /// Labels all rows and writes them to one table. Ranks take pieces of the rows in turns; rank 0 writes and counts them. Returns the
    /// staged files at rank 0, and counts of what was labeled even if writing failed.
    fn write(
        &self,
        path: &Path,
        fit: &RowFit,
        read: &Read,
        session: &Session,
        counts: &mut Counts,
    ) -> Result<Vec<Staged>, Failure> {
        let (communicator, run, classes) = (session.communicator, &session.run, &read.labels.classes);
        let (n, size) = (read.rows.source().n_rows(), communicator.size());
        let probabilities = self.outputs.probabilities;
        let begin = || {
            let kept = self.outputs.kept(self.data, self.labels, || read.labels.rows.clone())?;
            let (names, data) = (read.names.as_ref(), Some(self.path));
            let table = LabelTable { path, classes, probabilities, names, kept, data };
            table.writer(n, fit.certifies())
        };
        let mut writer = self.agree(session, communicator.is_root().then(begin).transpose())?;
        let mut write = |first: usize, block: &LabeledRows<'_>| {
            counts.add(first, block, read);
            writer.as_mut().map_or(Ok(()), |writer| writer.write(first, block))
        };
        // What is read from its start for every piece is labeled by the one that writes.
        if size == 1 || !read.rows.source().is_seekable() {
            let labeled = if communicator.is_root() { self.each(fit, read, 0..n, run, write) } else { Ok(()) };
            agree(communicator, labeled)?;
        } else {
            let row_bytes = ROW_BYTES + if probabilities { 8 * classes.len() } else { 0 };
            let most = (ROUND_BYTES / (size * row_bytes)).clamp(ALIGNED_ROWS, PIECE_ROWS);
            let step = n.div_ceil(size).clamp(1, most).next_multiple_of(ALIGNED_ROWS);
            let (done, quiet) = (run.counter(n, "rows"), run.quiet());
            for first in (0..n).step_by(step * size) {
                let own = (first + communicator.rank() * step).min(n);
                let (own, mut packed) = (own..n.min(own + step), Vec::new());
                let labeled = self.each(fit, read, own, &quiet, |_, block| {
                    pack(block, &mut packed);
                    Ok(())
                });
                agree(communicator, labeled)?;
                // Only rank 0 gets any.
                let parts = communicator.gather(&packed)?;
                let written = (first..).step_by(step).zip(&parts).try_for_each(|(first, part)| {
                    unpack(part, classes, (fit.certifies(), probabilities), |block| run.install(|| write(first, block)))
                });
                agree(communicator, written)?;
                done.add((step * size).min(n - first));
            }
        }
        let staged = run.check().and_then(|()| writer.map(|writer| writer.stage()).transpose());
        Ok(agree(communicator, staged)?.unwrap_or_default())
    }

    /// Labels the rows `own`, and hands them on in blocks.
    fn each(
        &self,
        fit: &RowFit,
        read: &Read,
        own: std::ops::Range<usize>,
        run: &Run,
        mut take: impl FnMut(usize, &LabeledRows<'_>) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        fit.label_rows(read.rows.source(), &read.targets, own, run, |first, labeling| {
            let block = LabeledRows {
                classes: &read.labels.classes,
                labels: &self.outputs.unreached.labels(&labeling),
                confidence: &labeling.confidence,
                reached: &labeling.reached,
                certified: labeling.certified.as_deref(),
                probabilities: self.outputs.probabilities.then_some(&labeling.label_distributions),
            };
            take(first, &block)
        })
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

/// Appends labeled rows as bytes: of each its class (4 bytes), confidence (8), whether it was reached and is certified (1), and
/// probabilities (8 each).
fn pack(block: &LabeledRows<'_>, out: &mut Vec<u8>) {
    let is_certain = |row: usize| block.certified.is_some_and(|certified| certified[row]);
    for (row, class) in block.labels.iter().enumerate() {
        out.extend(class.map_or(NO_CLASS, |class| class as u32).to_le_bytes());
        out.extend(block.confidence[row].to_le_bytes());
        out.push(u8::from(block.reached[row]) | u8::from(is_certain(row)) << 1);
        block.probabilities.iter().flat_map(|matrix| matrix.row(row)).for_each(|p| out.extend(p.to_le_bytes()));
    }
}

/// Stands for no class; there are fewer.
const NO_CLASS: u32 = u32::MAX;

/// Hands on the rows that [`pack`] wrote, if there are any.
fn unpack(
    bytes: &[u8],
    classes: &ClassNames,
    (certifies, has_probabilities): (bool, bool),
    take: impl FnOnce(&LabeledRows<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let n_probabilities = if has_probabilities { classes.len() } else { 0 };
    let (mut labels, mut confidence, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reached, mut certified) = (Vec::new(), Vec::new());
    for row in bytes.chunks_exact(ROW_BYTES + 8 * n_probabilities) {
        let class = row.first_chunk().map_or(NO_CLASS, |bytes| u32::from_le_bytes(*bytes));
        labels.push(Some(class as usize).filter(|_| class != NO_CLASS));
        confidence.extend(row[4..].first_chunk().map(|bytes| f64::from_le_bytes(*bytes)));
        reached.push(row[12] & 1 != 0);
        certified.push(row[12] & 2 != 0);
        probabilities.extend(row[ROW_BYTES..].as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    }
    if labels.is_empty() {
        return Ok(());
    }
    let matrix = Matrix::new(labels.len(), n_probabilities, probabilities)?;
    let (labels, confidence, reached) = (&labels[..], &confidence[..], &reached[..]);
    let probabilities = has_probabilities.then_some(&matrix);
    let certified = certifies.then_some(&certified[..]);
    take(&LabeledRows { classes, labels, confidence, reached, certified, probabilities })
}
