//! What summaries and pages read of the parts of a report, which only some methods have.

use lapwing::data::Report;
use lapwing::data::read::ColumnKind;
use lapwing::graph::sparsify::SparsifyReport;
use lapwing::models::{ClassAccuracy, ExpectedAccuracy, ReliabilityBin};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The parts of a report that are read, under their names in it. JSON has no NaN and no infinity: such a number is missing.
pub struct Parts {
    pub(crate) prepare: Option<Table>,
    pub(crate) scaling: Option<Scaled>,
    /// The sample that was fitted, if not all rows were.
    pub(crate) sample: Option<Sampled>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) expected_accuracy: Option<ExpectedAccuracy>,
    /// In the order of the classes.
    pub(crate) class_accuracy: Vec<ClassAccuracy>,
    pub(crate) reliability: Vec<ReliabilityBin>,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) sparsify: Option<SparsifyReport>,
    /// The row after which a stream was read on.
    pub(crate) resumed_after: Option<usize>,
    /// The residual on all edges after each pass over them.
    pub(crate) refined: Option<Vec<Option<f64>>>,
    /// The bytes that were read to fit, if rows were read in blocks.
    pub read_bytes: Option<u64>,
    /// Whether a network was trained.
    pub(crate) is_trained: bool,
    /// Whether classes were held to sizes.
    pub(crate) holds_sizes: bool,
}

/// What was done with the columns of a table.
#[derive(Deserialize)]
pub struct Table {
    /// How a text was read, if it is not plain CSV.
    pub reading: Option<String>,
    pub columns: Vec<Column>,
}

#[derive(Deserialize)]
pub struct Column {
    pub name: String,
    pub kind: ColumnKind,
    pub n_missing: usize,
    /// What was done with it, in words.
    pub done: String,
}

/// How features were scaled.
#[derive(Deserialize)]
pub struct Scaled {
    /// By how much the widths of columns differed, where that decided.
    pub ratio: Option<f64>,
    pub text: String,
}

/// A sample of the rows that was fitted.
#[derive(Deserialize)]
pub struct Sampled {
    pub n_rows: usize,
    /// Rows near labeled ones among them.
    pub n_near: usize,
    /// Rows that no row drawn was near, and those of them that joined.
    pub n_far: usize,
    pub n_far_taken: usize,
}

/// A candidate of an automatic choice.
#[derive(Deserialize)]
pub struct Candidate {
    pub name: String,
    /// Share of the labels hidden from it that it gets right, if it was tried.
    pub estimate: Option<f64>,
    pub weight: Option<f64>,
    pub failure: Option<String>,
}

/// Why confidence is a guess, if it is one.
#[derive(Deserialize)]
pub struct Confidence {
    pub reason: Option<String>,
}

/// How near labels or values are to the exact solution.
#[derive(Deserialize)]
pub struct Certificate {
    /// Labels that are undecided.
    pub n_open: usize,
    /// Largest bound on the error of a score.
    pub largest_radius: Option<f64>,
}

/// A part of a report; `None` also if it is of another form, which hides no other part.
fn part<T: DeserializeOwned>(report: &Report, name: &str) -> Option<T> {
    report.parts.get(name).and_then(|part| T::deserialize(part).ok())
}

/// A field of a part, likewise.
fn field<T: DeserializeOwned>(report: &Report, name: &str, field: &str) -> Option<T> {
    report.parts.get(name).and_then(|part| T::deserialize(part.get(field)?).ok())
}

impl Parts {
    /// The parts of a report.
    pub fn of(report: &Report) -> Self {
        Self {
            prepare: part(report, "prepare"),
            scaling: part(report, "scaling"),
            sample: part(report, "sample"),
            candidates: part(report, "candidates").unwrap_or_default(),
            confidence: part(report, "confidence"),
            expected_accuracy: part(report, "expected_accuracy"),
            class_accuracy: part(report, "class_accuracy").unwrap_or_default(),
            reliability: part(report, "reliability").unwrap_or_default(),
            certificate: part(report, "certificate"),
            sparsify: part(report, "sparsify"),
            resumed_after: field(report, "resume", "rows"),
            refined: field(report, "refine", "residuals"),
            read_bytes: field(report, "passes", "bytes"),
            is_trained: report.parts.contains_key("unfolded"),
            holds_sizes: report.parts.contains_key("sizes"),
        }
    }

    /// The number of labels that the certificate leaves undecided.
    pub fn n_undecided(&self) -> usize {
        self.certificate.as_ref().map_or(0, |certificate| certificate.n_open)
    }
}

#[cfg(test)]
mod tests {
    use lapwing::data::{Features, Labels, Run, Targets};
    use lapwing::models::{MethodParams, Problem, method};
    use serde_json::json;

    use super::*;

    /// A report of a method on two groups of rows that can be told apart.
    fn report(name: &str) -> Report {
        let values = (0..120).map(|at| f64::from(at / 2 % 2) * 9.0 + f64::from(at * 7 % 10) / 10.0).collect();
        let features = Features::from_f64(60, 2, values).unwrap();
        let labels = Labels::from_integers((0..60).map(|row| (row < 20).then_some(i64::from(row % 2 == 1))));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let run = Run::new(Some(2), 0).unwrap();
        method(name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap().report
    }

    #[test]
    fn parts_of_a_fit_are_read() {
        let parts = Parts::of(&report("auto"));
        assert!(parts.expected_accuracy.is_some() && parts.confidence.is_some() && parts.sparsify.is_none());
        assert!(parts.candidates.len() > 1 && parts.class_accuracy.len() == 2 && !parts.reliability.is_empty());
        assert!(parts.candidates.iter().any(|candidate| candidate.estimate.is_some()));
        let parts = Parts::of(&report("sparse-harmonic"));
        assert!(parts.certificate.is_some() && parts.sparsify.is_some());
    }

    #[test]
    fn parts_of_a_table_are_read() {
        let column = |kind| json!({"name": "a", "kind": kind, "n_missing": 1, "done": "number", "values": "0 to 1"});
        let kinds = [json!("number"), json!({"vector": 3}), json!({"other": "Decimal"})];
        let mut report = Report::default();
        report.parts.insert("prepare".into(), json!({"n_rows": 2, "columns": kinds.map(column)}));
        report.parts.insert("scaling".into(), json!({"kind": "standardize", "ratio": null, "text": "one width"}));
        let parts = Parts::of(&report);
        assert_eq!(parts.prepare.unwrap().columns.len(), 3);
        assert!(parts.scaling.is_some_and(|scaling| scaling.ratio.is_none()));
        // A part of another form hides no other.
        report.parts.insert("certificate".into(), json!({"n_open": "many"}));
        let parts = Parts::of(&report);
        assert!(parts.prepare.is_some() && parts.certificate.is_none());
    }
}
