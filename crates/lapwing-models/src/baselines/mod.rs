//! Simple methods that others are measured against: nearest label, subsampling, least squares on smooth eigenvectors of
//! the graph, and eigenfunctions of the density.

mod eigenfunction;
mod nearest_label;
mod simple_harmonic;
mod subsampling;

use std::sync::Arc;

use lapwing_data::{Error, Features, Matrix, Report, Result, Run};

pub use eigenfunction::{
    EIGENFUNCTION, Eigenfunction, EigenfunctionExtension, EigenfunctionParams, EigenfunctionParts,
};
pub use nearest_label::{NEAREST_LABEL, NearestLabel, NearestLabelParams};
pub use simple_harmonic::{SIMPLE_HARMONIC, SimpleHarmonic, SimpleHarmonicParams};
pub use subsampling::{SUBSAMPLING, Subsampling, SubsamplingParams};

use crate::harmonic::TYPICAL_CONFIDENCE;
use crate::labeling::typical_temperature;
use crate::{Labeling, Problem, Rule, notes};

/// A report with what is known of a classification before it is done.
fn report(method: &str, problem: &Problem<'_, '_>) -> Report {
    let mut report = Report { n_classes: Some(problem.targets.n_columns()), ..problem.report(method) };
    notes::one_class(&mut report, problem.targets);
    report
}

/// The features of a problem, for methods that cannot do with a graph.
fn features<'p, 'a>(method: &str, problem: &Problem<'p, 'a>) -> Result<&'p Features<'a>> {
    problem.check()?;
    let missing = || Error::shape("the problem", format!("features, which {method} needs"), "a graph only");
    problem.features.ok_or_else(missing)
}

/// 1 for classes that have a label, 0 for others, which are never chosen.
fn present(mean: &[f64]) -> Vec<f64> {
    mean.iter().map(|m| f64::from(u8::from(*m > 0.0))).collect()
}

/// The largest of the scores (n, c) decides; `mean` (c) are the labeled class frequencies, the prior.
///
/// Fits by least squares have no scale of their own: the temperature is that of harmonic scores, at which the median row
/// gets [`TYPICAL_CONFIDENCE`].
fn decide_by_largest(scores: Matrix, mean: Vec<f64>, report: &mut Report, run: &Run) -> (Rule, Labeling) {
    report.time("decide", run, |report| {
        run.install(|| {
            let mut rule =
                Rule { offset: vec![0.0; mean.len()], scale: present(&mean), temperature: None, prior: mean };
            let temperature = typical_temperature(&rule, &scores, TYPICAL_CONFIDENCE);
            report.choose("temperature", temperature);
            rule.temperature = Some(temperature);
            let labeling = rule.apply(Arc::new(scores));
            (rule, labeling)
        })
    })
}

#[cfg(test)]
mod tests;
