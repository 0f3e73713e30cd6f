//! The summary that every fit returns: input, graph, choices, cost.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::memory::kibibytes;
use crate::{Error, Result, Run, Warning};

/// One timed part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Name of the part, such as `neighbors` or `solve`.
    pub name: String,
    /// Wall seconds.
    pub seconds: f64,
}

/// Facts about the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphSummary {
    /// Undirected edges, each counted once.
    pub n_edges: usize,
    /// Connected components.
    pub n_components: usize,
    /// Sizes of the ten largest components, descending.
    pub largest_components: Vec<usize>,
    /// Rows without any edge.
    pub n_isolated: usize,
    /// Smallest, median and largest weighted degree.
    pub degree: [f64; 3],
    /// Mean weighted degree.
    pub mean_degree: f64,
    /// Share of true nearest neighbors found, measured on a sample of rows; 1 if the builder is exact.
    pub recall: Option<f64>,
    /// Standard error of the measured recall.
    pub recall_error: Option<f64>,
    /// Rows whose neighbors are all at distance 0.
    pub n_duplicate_rows: Option<usize>,
    /// Summary of learned weights, if they were learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Value>,
}

/// Summary of a linear solve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolveSummary {
    /// Iterations of the slowest column.
    pub n_iter: usize,
    /// Largest relative residual ‖b − Ax‖ / ‖b‖ over the columns, recomputed at the end.
    #[serde(deserialize_with = "nan_of_null")]
    pub residual: f64,
    /// Whether every column reached the tolerance.
    pub converged: bool,
    /// Largest relative residual over the columns after each iteration.
    #[serde(deserialize_with = "nans_of_nulls")]
    pub residual_curve: Vec<f64>,
    /// The last preconditioner used.
    pub preconditioner: String,
}

/// The summary that every fit returns.
///
/// Python keeps it as JSON and hands it back where a page is made of it. JSON has no NaN: it comes back from `null`. Warnings do not
/// come back, since JSON has their texts only.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Method, as on the command line.
    pub method: String,
    /// Rows.
    pub n_samples: usize,
    /// Columns of the features; absent when a graph was given.
    pub n_features: Option<usize>,
    /// Classes; absent in regression.
    pub n_classes: Option<usize>,
    /// Rows with a given label.
    pub n_labeled: usize,
    /// Rows that no label reaches through the graph.
    pub n_unreached: usize,
    /// Components of the graph without a label.
    pub n_unlabeled_components: usize,
    /// The graph, for methods that use one.
    pub graph: Option<GraphSummary>,
    /// The linear solve, for methods that need one.
    pub solve: Option<SolveSummary>,
    /// Everything that was chosen by "auto", by parameter name.
    pub chosen: BTreeMap<String, Value>,
    /// Summaries of parts that only some methods have, such as `sparsify`, by name.
    pub parts: BTreeMap<String, Value>,
    /// Timed parts in order.
    pub phases: Vec<Phase>,
    /// Largest memory of the process so far in bytes, if the system reports it.
    pub peak_bytes: Option<u64>,
    /// What to look at.
    #[serde(skip_deserializing)]
    pub warnings: Vec<Warning>,
}

impl Report {
    /// The report of a fit that begins.
    pub fn new(method: &str, n_samples: usize, n_features: Option<usize>, n_labeled: usize) -> Self {
        Self { method: method.into(), n_samples, n_features, n_labeled, ..Self::default() }
    }

    /// Runs `work` as the phase `name` and records its time.
    pub fn time<T>(&mut self, name: &str, run: &Run, work: impl FnOnce(&mut Self) -> T) -> T {
        self.time_steps(name, 0, run, work)
    }

    /// Runs `work` as the phase `name` of `total` steps (0 if unknown) and records its time.
    pub fn time_steps<T>(&mut self, name: &str, total: u64, run: &Run, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        run.progress().start(name, total);
        let out = work(self);
        run.progress().finish();
        self.phases.push(Phase { name: name.into(), seconds: start.elapsed().as_secs_f64() });
        out
    }

    /// Records a value chosen by "auto".
    pub fn choose(&mut self, name: &str, value: impl Into<Value>) {
        self.chosen.insert(name.into(), value.into());
    }

    /// Records the summary of a part.
    ///
    /// # Errors
    /// [`Error::Internal`] if the summary cannot be written as JSON.
    pub fn add_part(&mut self, name: &str, summary: &impl Serialize) -> Result<()> {
        let fault = |e| Error::Internal { reason: format!("the summary of {name} cannot be written: {e}") };
        self.parts.insert(name.into(), serde_json::to_value(summary).map_err(fault)?);
        Ok(())
    }

    /// Adds the report of a later part of the same run: its phases, choices, parts and warnings follow, and what it says of method, rows,
    /// labels and solve replaces what was said before.
    #[doc(hidden)]
    pub fn join(&mut self, mut later: Self) {
        later.phases.splice(0..0, std::mem::take(&mut self.phases));
        later.warnings.splice(0..0, std::mem::take(&mut self.warnings));
        for (earlier, all) in [(&mut self.chosen, &mut later.chosen), (&mut self.parts, &mut later.parts)] {
            for (name, value) in std::mem::take(earlier) {
                all.entry(name).or_insert(value);
            }
        }
        later.n_features = later.n_features.or(self.n_features);
        later.graph = later.graph.or(self.graph.take());
        *self = later;
    }

    /// Seconds of all phases together.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }
}

/// A number, NaN from `null`.
fn nan_of_null<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Numbers, NaN from `null`.
fn nans_of_nulls<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<f64>, D::Error> {
    Ok(Vec::<Option<f64>>::deserialize(from)?.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
}

/// Largest resident memory of this process so far, in bytes; `None` if the system does not report it.
pub fn peak_memory_bytes() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}
