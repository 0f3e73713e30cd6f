//! The end of `label` and `demo`: writes labels, model and report of a fit together, and prints its summary.

use std::path::Path;

use lapwing::data::write::KeptColumns;
use lapwing::data::{Error, Labels, Matrix, Report, Warning};
use lapwing::label_table::LabelTable;
use lapwing::models::{Classifier, Fitted, Labeling, Model, PredictionSets, SetsParams, least_labels, prediction_sets};
use lapwing_core::peak_memory_bytes;
use lapwing_core::publish::Staged;
use lapwing_report::summary::{self, Row, row};
use lapwing_report::{ClassSize, FitPage, FittedRows, Origin, Parts, accuracy, stage_page, texts};
use serde_json::json;

use crate::failure::Failure;
use crate::input::{Input, Prepared, Reasons, numbered};
use crate::options::{SaveGraphOption, Unreached};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::count;
use crate::written::Written;

/// A fit and the files staged for it so far.
pub struct Finished<'a> {
    session: &'a Session<'a>,
    input: &'a Input,
    given: &'a Labels,
    fitted: Fitted<'static>,
    /// Class of each row; `None` for rows without a label.
    labels: Vec<Option<usize>>,
    written: Written,
    /// Sets of classes, if they are wanted, and the labels that they come from.
    sets: Option<(PredictionSets, &'static str)>,
    /// True class of each row, if it is known.
    pub truth: Option<Vec<i32>>,
}

impl<'a> Finished<'a> {
    /// Takes a fit; `before` holds the phases and notes that came before it.
    pub fn new(
        session: &'a Session<'a>,
        input: &'a Input,
        given: &'a Labels,
        mut fitted: Fitted<'static>,
        mut before: Report,
        unreached: Unreached,
    ) -> Self {
        before.join(std::mem::take(&mut fitted.report));
        fitted.report = before;
        let labels = unreached.labels(&fitted.labeling);
        Self { session, input, given, fitted, labels, written: Written::default(), sets: None, truth: None }
    }

    /// Stages the table of the labels of `data`.
    pub fn stage_labels(
        &mut self,
        path: &Path,
        data: Option<&Path>,
        probabilities: bool,
        kept: Option<KeptColumns>,
    ) -> Result<(), Failure> {
        let (labeling, classes, run) = (&self.fitted.labeling, &self.given.classes, &self.session.run);
        run.check()?;
        let names = self.input.names.as_ref();
        let table = LabelTable { path, classes, probabilities, names, kept, data };
        let stage = |_: &mut Report| match &self.sets {
            Some((sets, _)) => table.stage_with_sets(&self.labels, labeling, sets, run),
            None => table.stage(&self.labels, labeling, run),
        };
        self.written.add_labels(path, self.fitted.report.time("write", run, stage)?);
        self.fitted.report.warnings.extend(numbered(path, names));
        Ok(())
    }

    /// A warning if the accuracy to expect comes from labels that were suggested.
    pub fn note_suggested(&mut self, reasons: Option<&Reasons>) {
        let held_out = self.fitted.held_out.as_ref().map_or(&[][..], |held_out| &held_out.rows);
        if reasons.is_some_and(|reasons| reasons.any_suggested(held_out)) {
            self.fitted.report.warnings.push(Warning::SuggestedAccuracy {});
        }
    }

    /// Computes the sets of classes, from labels that were held out: those of `checks` alone if labels were suggested and these are enough.
    pub fn find_sets(&mut self, level: f64, reasons: Option<&Reasons>) -> Result<(), Failure> {
        let Some(held_out) = &self.fitted.held_out else {
            let (n, least) = (self.fitted.report.n_labeled, least_labels(level));
            let n_classes = self.fitted.report.n_classes.unwrap_or_default();
            let reason = match n < 2 * n_classes || n_classes < 2 {
                true => format!(
                    "{n} labels of {n_classes} classes are too few to hold any out; sets need two classes, two labels per class on average, \
                     and at least {least} labels"
                ),
                false => "with these options, a fit holds out no label; take --method harmonic without --form, --clamp, --graph-reg \
                          and --prior"
                    .to_owned(),
            };
            return Err(Failure::usage(format!("--sets: {reason}")));
        };
        let least = least_labels(level);
        let everything: Vec<usize> = (0..held_out.rows.len()).collect();
        let (used, source) = match reasons.filter(|reasons| reasons.any_suggested(&held_out.rows)) {
            None => (everything, "all labels"),
            Some(reasons) => {
                let checks: Vec<usize> =
                    everything.iter().copied().filter(|&at| reasons.is_check(held_out.rows[at])).collect();
                let n_check = checks.len();
                match n_check >= least {
                    true => (checks, "check labels"),
                    false => {
                        self.fitted.report.warnings.push(Warning::SuggestedLabels { n_check, least });
                        (everything, "suggested labels")
                    }
                }
            }
        };
        let classes: Vec<u32> = used.iter().map(|&at| held_out.classes[at]).collect();
        let shares = used.iter().flat_map(|&at| held_out.shares.row(at)).copied().collect();
        let shares = Matrix::new(used.len(), held_out.shares.n_cols(), shares)?;
        let labeling = &self.fitted.labeling;
        let params = SetsParams { level, ..SetsParams::default() };
        let found = prediction_sets(&classes, &shares, &labeling.label_distributions, &labeling.reached, &params)
            .map_err(|error| match error {
                Error::Param { value, expected, .. } => Error::Param { name: "--sets".into(), value, expected },
                error => error,
            })?;
        let mut summary = serde_json::to_value(&found.summary).unwrap_or_default();
        summary["calibration"] = json!(source);
        self.fitted.report.parts.insert("sets".into(), summary);
        self.sets = Some((found, source));
        Ok(())
    }

    /// Stages the graph of the fit, or the given one.
    pub fn stage_graph(&mut self, option: &SaveGraphOption) -> Result<(), Failure> {
        let Some(graph) = self.fitted.graph.as_ref().or(self.input.graph.as_ref()) else {
            return match &option.path {
                None => Ok(()),
                Some(_) => Err(Failure::usage(format!(
                    "--save-graph: the method {} builds no graph; lapwing graph does",
                    self.fitted.report.method
                ))),
            };
        };
        let names = self.input.names.as_deref();
        option.stage(graph, names, &mut self.fitted.report, &self.session.run, &mut self.written)
    }

    /// Stages the model.
    pub fn stage_model(&mut self, path: &Path, prepared: Prepared) -> Result<(), Failure> {
        self.session.run.check()?;
        let extension = self.fitted.extension.take().ok_or_else(|| {
            let method = &self.fitted.report.method;
            Failure::usage(match self.input.graph.is_some() && self.input.features.is_some() {
                true => format!(
                    "--model: {method} joins new rows to the graph that it builds from DATA, not to a given one; leave --graph out"
                ),
                false => format!("--model: the method {method} cannot label new rows"),
            })
        })?;
        let classifier = Classifier {
            method: self.fitted.report.method.clone(),
            classes: self.given.classes.clone(),
            scaling: prepared.scaling.scaling,
            rule: self.fitted.rule.clone(),
            extension,
        };
        let Prepared { feature_names, recipe, .. } = prepared;
        let model = Model { classifier, feature_names, recipe, id: self.input.id() };
        let run = &self.session.run;
        // The index is built once here, not in every process that predicts.
        let stage = |_: &mut Report| model.classifier.extension.prepare(run).and_then(|()| model.stage(path));
        self.written.add("model", self.fitted.report.time("save model", run, stage)?);
        Ok(())
    }

    /// Stages the HTML report.
    pub fn stage_report(&mut self, path: &Path, title: &str, tol: f64) -> Result<(), Failure> {
        let run = &self.session.run;
        run.check()?;
        self.fitted.report.peak_bytes = peak_memory_bytes();
        let page = FitPage {
            title,
            report: &self.fitted.report,
            warnings: texts(&self.fitted.report),
            origin: Origin { command: self.session.command(), seed: Some(run.seed) },
            rows: self.fitted_rows(),
            graph: self.fitted.graph.as_ref().or(self.input.graph.as_ref()).map(|affinity| &affinity.graph),
            features: self.input.features.as_ref(),
            tol,
        };
        let mut clock = Report::default();
        let page = clock.time("report", run, |_| stage_page(path, &page.render(run)?))?;
        self.fitted.report.phases.append(&mut clock.phases);
        self.written.add("report", page);
        Ok(())
    }

    /// Adds a staged file that holds `what`.
    pub fn add(&mut self, what: &'static str, staged: Staged) {
        self.written.add(what, staged);
    }

    /// Gives all staged files their names, or none.
    pub fn publish(&mut self) -> Result<(), Failure> {
        self.session.run.check()?;
        self.written.publish()
    }

    /// Prints the summary on standard output, or on standard error if the labels went to standard output; warnings on
    /// standard error.
    pub fn print(&mut self, command: &str, to_stderr: bool) -> Result<(), Failure> {
        self.fitted.report.peak_bytes = peak_memory_bytes();
        let report = &self.fitted.report;
        let body = || {
            let mut more = json!({"classes": ClassSize::of_rows(&self.given.classes, &self.given.index, &self.labels)});
            if let Some(accuracy) = accuracy(&self.fitted_rows()) {
                more["accuracy"] = json!(accuracy);
            }
            (report, more)
        };
        self.session.print_end(command, &report.warnings, body, || self.rows(), (&self.written, to_stderr))
    }

    /// The outcome: with `strict`, [`Outcome::Look`] if the solver did not converge or rows are unreached or undecided.
    pub fn outcome(&self, strict: bool) -> Outcome {
        let report = &self.fitted.report;
        let is_solved = report.solve.as_ref().is_none_or(|solve| solve.converged);
        let is_reached = report.warnings.iter().all(|warning| warning.kind() != "unreached");
        let is_fine = report.n_unreached == 0 && is_reached && is_solved && Parts::of(report).n_undecided() == 0;
        Outcome::of(strict, is_fine)
    }

    /// What the fit says of the rows.
    fn fitted_rows(&self) -> FittedRows<'_> {
        let Labeling { label_distributions: shares, confidence, reached, .. } = &self.fitted.labeling;
        let (labels, names) = (self.labels.as_slice(), self.input.names.as_deref());
        FittedRows { given: self.given, labels, shares, confidence, reached, truth: self.truth.as_deref(), names }
    }

    fn rows(&self) -> Vec<Row> {
        let (report, parts) = (&self.fitted.report, Parts::of(&self.fitted.report));
        let mut rows = summary::of_fit(report, &parts);
        rows.extend(summary::of_hardest(&parts, &self.given.classes.names()));
        if let Some(accuracy) = accuracy(&self.fitted_rows()) {
            let hidden = count(report.n_samples - report.n_labeled);
            rows.push(row("accuracy", format!("{accuracy:.3} on {hidden} hidden labels")));
        }
        rows.extend(self.sets.iter().map(|(sets, source)| summary::of_sets(&sets.summary, source)));
        rows.extend(summary::of_choices(report, " (auto)"));
        rows.extend(summary::of_cost(&report.phases, report.peak_bytes));
        rows
    }
}
