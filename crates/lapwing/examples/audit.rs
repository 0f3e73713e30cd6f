//! Which labels are probably wrong: `cargo run --release --example audit`.
//!
//! The digits with 300 labels, ten of which were made wrong on purpose.

use lapwing::data::read::{ReadOptions, read_samples};
use lapwing::graph::Metric;
use lapwing::models::split::keep_labels;
use lapwing::models::{AuditParams, audit};
use lapwing::prelude::*;

fn main() -> lapwing::Result<()> {
    let run = Run::new(None, 0)?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lapwing-cli/data/digits.csv.gz");
    let options = ReadOptions { label_column: Some("digit".into()), ..ReadOptions::default() };
    let samples = read_samples(path.as_ref(), &options, &run)?;
    let truth = samples.labels.ok_or_else(|| lapwing::Error::labels("the file has no labels"))?;
    let mut given = keep_labels(&truth, 300, 0, &run)?;
    let labeled: Vec<usize> = (0..truth.len()).filter(|&row| given.index[row] >= 0).collect();
    let spoiled: Vec<usize> = labeled.into_iter().step_by(30).collect();
    for &row in &spoiled {
        given.index[row] = (given.index[row] + 1) % 10;
    }

    let affinity = affinity_graph(&samples.features, &GraphParams::default(), &run)?;
    let features = Some((&samples.features, Metric::Euclidean));
    let found = audit(&affinity.graph, features, &Targets::one_hot(&given, None)?, &AuditParams::default(), &run)?;

    let doubtful: Vec<usize> = found.ranked().into_iter().filter(|&row| found.flagged[row]).collect();
    for &row in &doubtful {
        let name = |class: Option<u32>| class.map_or_else(|| "?".into(), |class| given.classes.name(class as usize));
        let (label, better) = (given.classes.name(given.index[row] as usize), name(found.proposed[row]));
        let was = if spoiled.contains(&row) { "made wrong" } else { "as it was" };
        println!("row {row:4}: {label}, rather {better} (quality {:.3}; {was})", found.quality[row]);
    }
    let n_found = spoiled.iter().filter(|&&row| found.flagged[row]).count();
    println!(
        "{n_found} of the {} labels that were made wrong are flagged, and {} others",
        spoiled.len(),
        doubtful.len() - n_found
    );
    Ok(())
}
