//! `lapwing demo`: the digits, labeled from five examples of each.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use flate2::read::GzDecoder;
use lapwing::data::{Error, Features, Labels, Report, Targets};
use lapwing::models::split::keep_labels_per_class;
use lapwing::models::{HarmonicParams, MethodParams, method};
use lapwing_core::publish::stage_atomic;
use lapwing_table::write::LABEL_ENDINGS;

use super::finished::Finished;
use crate::failure::Failure;
use crate::files::{ANY_ENDING, Files, REPORT_ENDINGS};
use crate::input::Input;
use crate::options::{DEFAULT_METHOD, RunOptions, Unreached};
use crate::outcome::Outcome;
use crate::session::Session;

/// 1,797 images of handwritten digits, 8 × 8; origin and license in `data/README.md`.
const DIGITS: &[u8] = include_bytes!("../../data/digits.csv.gz");
const TITLE: &str = "1,797 handwritten digits";
const LABELS_PER_CLASS: usize = 5;

const EXAMPLES: &str = "\
Example:
  lapwing demo -o try      write try/labels.csv and try/report.html, and the data, try/digits.csv.gz

The data: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), UCI Machine Learning
Repository, doi 10.24432/C50P49, CC BY 4.0.";

/// Label handwritten digits from five examples of each, to try the program
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// Folder for the labels, the report and the data
    #[arg(short, long, value_name = "DIR", default_value = "lapwing-demo")]
    output: PathBuf,

    #[command(flatten)]
    run: RunOptions,
}

impl Demo {
    pub fn run(&self) -> Result<Outcome, Failure> {
        let session = Session::start(&self.run)?;
        let [labels_path, report_path, data_path] =
            ["labels.csv", "report.html", "digits.csv.gz"].map(|name| self.output.join(name));
        std::fs::create_dir_all(&self.output).map_err(|e| Error::io(&self.output, e))?;
        let files = Files::default().write("--output", Some(&labels_path), &LABEL_ENDINGS);
        let files = files.write("--output", Some(&report_path), REPORT_ENDINGS);
        files.write("--output", Some(&data_path), ANY_ENDING).check()?;

        let mut before = Report::default();
        let (features, truth) = before.time("read", &session.run, |_| digits())?;
        let given = keep_labels_per_class(&truth, LABELS_PER_CLASS, 0, &session.run)?;
        let targets = Targets::one_hot(&given, None)?;
        let input = Input::from_features(features);
        let fitted = method(DEFAULT_METHOD, &MethodParams::default())?.fit(&input.problem(&targets), &session.run)?;

        let mut result = Finished::new(&session, &input, &given, fitted, before, Unreached::Empty);
        result.truth = Some(truth.index);
        result.stage_labels(&labels_path, None, true, None)?;
        result.stage_report(&report_path, TITLE, HarmonicParams::default().tol)?;
        result.add("data", stage_atomic(&data_path, |out| out.write_all(DIGITS))?);
        result.publish()?;
        result.print("demo", false)?;
        session.note(&format!(
            "\nOpen {} in a browser. Next, your own table, its label column empty where unknown:\n  \
             lapwing label TABLE.csv --label-column NAME -o labels.csv --report report.html",
            report_path.display()
        ));
        Ok(Outcome::Done)
    }
}

/// The embedded images and their digits.
fn digits() -> Result<(Features<'static>, Labels), Failure> {
    let broken = |reason: &str| Failure::Library(Error::Internal { reason: format!("embedded digits: {reason}") });
    let mut text = String::new();
    GzDecoder::new(DIGITS).read_to_string(&mut text).map_err(|e| broken(&e.to_string()))?;
    let (mut pixels, mut digits) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let values: Result<Vec<u8>, _> = line.split(',').map(str::parse::<u8>).collect();
        let mut values = values.map_err(|e| broken(&e.to_string()))?;
        digits.push(values.pop().map(i64::from));
        pixels.extend(values);
    }
    let n = digits.len();
    Ok((Features::from_u8(n, pixels.len() / n.max(1), pixels)?, Labels::from_integers(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_complete() {
        let (features, labels) = digits().unwrap_or_else(|failure| panic!("{:?}", failure.text()));
        assert_eq!((features.n_rows(), features.n_cols()), (1797, 64));
        assert_eq!((labels.n_classes(), labels.n_labeled()), (10, 1797));
    }
}
