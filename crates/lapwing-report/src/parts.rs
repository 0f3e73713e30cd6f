//! What summaries and pages read of the parts of a report, which only some methods have.

use lapwing::data::Report;
use lapwing::data::read::ColumnKind;
use lapwing::graph::sparsify::SparsifyReport;
use lapwing::models::{ClassAccuracy, ExpectedAccuracy, ReliabilityBin};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde::de::value::MapDeserializer;

/// The parts that are read, each under its name in the report. A number that is NaN or infinite is missing, as in JSON.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Parts {
    pub(crate) prepare: Option<Table>,
    pub(crate) scaling: Option<Scaled>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) expected_accuracy: Option<ExpectedAccuracy>,
    /// In the order of the classes.
    pub(crate) class_accuracy: Vec<ClassAccuracy>,
    pub(crate) reliability: Vec<ReliabilityBin>,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) sparsify: Option<SparsifyReport>,
    pub(crate) resume: Option<Resumed>,
    pub(crate) refine: Option<Refined>,
    passes: Option<Passes>,
    /// There if a network was trained.
    pub(crate) unfolded: Option<IgnoredAny>,
    /// There if classes were held to sizes.
    pub(crate) sizes: Option<IgnoredAny>,
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

/// The row after which a stream was read on.
#[derive(Deserialize)]
pub struct Resumed {
    pub rows: usize,
}

/// The residual on all edges after each pass over them.
#[derive(Deserialize)]
pub struct Refined {
    pub residuals: Vec<Option<f64>>,
}

/// The bytes that were read to fit.
#[derive(Deserialize)]
pub struct Passes {
    pub bytes: u64,
}

impl Parts {
    /// The parts of a report.
    pub fn of(report: &Report) -> Self {
        let parts = report.parts.iter().map(|(name, part)| (name.as_str(), part));
        // What another version wrote in another form is not shown.
        Self::deserialize(MapDeserializer::<_, serde_json::Error>::new(parts)).unwrap_or_default()
    }

    /// The bytes that were read to fit, if rows were read in blocks.
    pub fn read_bytes(&self) -> Option<u64> {
        self.passes.as_ref().map(|passes| passes.bytes)
    }

    /// The number of labels that the certificate leaves undecided.
    pub fn n_undecided(&self) -> usize {
        self.certificate.as_ref().map_or(0, |certificate| certificate.n_open)
    }
}
