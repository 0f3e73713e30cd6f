//! The main job: `cargo run --release --example label`.
//!
//! 1,797 images of digits, five labels of each. The plain method tries several ones on hidden labels and weighs them.

use lapwing::data::read::{ReadOptions, read_samples};
use lapwing::models::METHODS;
use lapwing::models::metrics::accuracy;
use lapwing::models::split::keep_labels_per_class;
use lapwing::prelude::*;

fn main() -> lapwing::Result<()> {
    let run = Run::new(None, 0)?; // every processor, seed 0
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lapwing-cli/data/digits.csv.gz");
    let options = ReadOptions { label_column: Some("digit".into()), ..ReadOptions::default() };
    let samples = read_samples(path.as_ref(), &options, &run)?;
    let truth = samples.labels.ok_or_else(|| lapwing::Error::labels("the file has no labels"))?;

    let known = keep_labels_per_class(&truth, 5, 0, &run)?;
    let targets = Targets::one_hot(&known, None)?;
    let problem = Problem { features: Some(&samples.features), ..Problem::new(&targets) };
    let fitted = method("auto", &MethodParams::default())?.fit(&problem, &run)?;

    let is_hidden = |row: usize| known.index[row] < 0;
    println!("{} labels given, {} methods to choose from", known.n_labeled(), METHODS.len());
    println!("{:.3} of the other rows get the right label", accuracy(&truth.index, &fitted.labeling.labels, is_hidden));
    if let Some(expected) = fitted.expected_accuracy() {
        println!("{:.3} were expected, {:.3} to {:.3}", expected.value, expected.low, expected.high);
    }
    // The rows to look at: those of least confidence.
    let mut rows: Vec<usize> = (0..truth.len()).filter(|&row| is_hidden(row)).collect();
    rows.sort_by(|&a, &b| fitted.labeling.confidence[a].total_cmp(&fitted.labeling.confidence[b]));
    for &row in &rows[..5] {
        let label = known.classes.name(fitted.labeling.labels[row] as usize);
        println!("row {row}: {label}, confidence {:.2}", fitted.labeling.confidence[row]);
    }
    Ok(())
}
