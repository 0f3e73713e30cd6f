//! The end of `label` and `demo`: writes labels, model and report of a fit together, and prints its summary.

use std::path::Path;

use lapwing::data::write::KeptColumns;
use lapwing::data::{Labels, Report};
use lapwing::models::{Fitted, Model};
use lapwing_data::peak_memory_bytes;
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;
use crate::html::{FitPage, stage_page};
use crate::input::{Input, Prepared};
use crate::named::numbered;
use crate::output::{self, ClassSize, Unreached, Written, class_sizes, folded};
use crate::session::Session;
use crate::summary::{self, Row, row};
use crate::text::count;

/// A fit and the files staged for it so far.
pub struct Finished<'a> {
    session: &'a Session<'a>,
    input: &'a Input,
    given: &'a Labels,
    fitted: Fitted<'static>,
    /// Class of each row; `None` for rows without a label.
    labels: Vec<Option<usize>>,
    written: Written,
    /// Accuracy on hidden labels, if they are known.
    accuracy: Option<f64>,
}

impl<'a> Finished<'a> {
    /// Takes a fit; `before` holds the phases and notes that came before it.
    pub fn new(
        session: &'a Session<'a>,
        input: &'a Input,
        given: &'a Labels,
        mut fitted: Fitted<'static>,
        before: Report,
        unreached: Unreached,
    ) -> Self {
        fitted.report.phases.splice(0..0, before.phases);
        fitted.report.warnings.splice(0..0, before.warnings);
        fitted.report.parts.extend(before.parts);
        let labels = folded(&fitted.labeling, unreached);
        Self { session, input, given, fitted, labels, written: Written::default(), accuracy: None }
    }

    pub fn set_accuracy(&mut self, accuracy: f64) {
        self.accuracy = Some(accuracy);
    }

    /// Stages the table of labels.
    pub fn stage_labels(&mut self, path: &Path, probabilities: bool, kept: Option<KeptColumns>) -> Result<(), Failure> {
        let (labeling, classes, run) = (&self.fitted.labeling, &self.given.classes, &self.session.run);
        run.check()?;
        let names = self.input.names.as_ref();
        let stage = |_: &mut Report| output::stage(path, classes, &self.labels, labeling, probabilities, names, kept);
        self.written.add("labels", self.fitted.report.time("write", run, stage)?);
        self.fitted.report.warnings.extend(numbered(path, names));
        Ok(())
    }

    /// Stages the model.
    pub fn stage_model(&mut self, path: &Path, prepared: Prepared) -> Result<(), Failure> {
        self.session.run.check()?;
        let extension = self.fitted.extension.take().ok_or_else(|| {
            Failure::usage(format!("--model: the method {} cannot label new rows", self.fitted.report.method))
        })?;
        let model = Model {
            method: self.fitted.report.method.clone(),
            classes: self.given.classes.clone(),
            feature_names: prepared.feature_names,
            recipe: prepared.recipe,
            scaling: prepared.scaling.scaling,
            id: self.input.id(),
            rule: self.fitted.rule.clone(),
            extension,
        };
        let run = &self.session.run;
        // The index is built once here, not in every process that predicts.
        let stage = |_: &mut Report| model.extension.prepare(run).and_then(|()| model.stage(path));
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
            accuracy: self.accuracy,
            classes: &self.class_sizes(),
            given: &self.given.index,
            labels: &self.labels,
            labeling: &self.fitted.labeling,
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

    /// Gives all staged files their names, or none.
    pub fn publish(&mut self) -> Result<(), Failure> {
        self.session.run.check()?;
        self.written.publish()
    }

    /// Prints the summary on standard output, or on standard error if the labels went to standard output; warnings on
    /// standard error.
    pub fn print(&mut self, command: &str, to_stderr: bool) -> Result<(), Failure> {
        self.fitted.report.peak_bytes = peak_memory_bytes();
        self.fitted.report.warnings.iter().for_each(|warning| self.session.warn(warning));
        if self.session.json {
            let mut more = json!({"classes": self.class_sizes()});
            if let Some(accuracy) = self.accuracy {
                more["accuracy"] = json!(accuracy);
            }
            return self.session.print(&output::json_object(command, &self.fitted.report, more, &self.written)?);
        }
        self.session.print_summary(&self.rows(), to_stderr)
    }

    /// The outcome: with `strict`, [`Outcome::Look`] if the solver did not converge or rows are unreached or undecided.
    pub fn outcome(&self, strict: bool) -> Outcome {
        let report = &self.fitted.report;
        let is_solved = report.solve.as_ref().is_none_or(|solve| solve.converged);
        let is_reached = report.warnings.iter().all(|warning| warning.kind() != "unreached");
        let is_fine = report.n_unreached == 0 && is_reached && is_solved && summary::undecided(report) == 0;
        if strict && !is_fine { Outcome::Look } else { Outcome::Done }
    }

    fn class_sizes(&self) -> Vec<ClassSize> {
        class_sizes(&self.given.classes, &self.given.index, &self.labels)
    }

    fn rows(&self) -> Vec<Row> {
        let report = &self.fitted.report;
        let mut rows = summary::of_fit(report);
        if let Some(accuracy) = self.accuracy {
            let hidden = count(report.n_samples - report.n_labeled);
            rows.push(row("accuracy", format!("{accuracy:.3} on {hidden} hidden labels")));
        }
        let choices = summary::of_choices(report).into_iter();
        rows.extend(choices.map(|(name, value)| row(format!("{name} (auto)"), value)));
        rows.extend(summary::of_cost(&report.phases, report.peak_bytes));
        rows.extend(self.written.rows());
        rows
    }
}
