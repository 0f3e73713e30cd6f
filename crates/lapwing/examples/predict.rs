//! A model for new rows, kept in a file: `cargo run --release --example predict`.
//!
//! Two interleaved half circles with one label each. The program `lapwing predict` and Python's `load_model` read the same file.

use lapwing::prelude::*;

/// Points along both half circles, `shift` of a step from those of another call; even rows are on the upper one.
fn half_circles(n: usize, shift: f32) -> lapwing::Result<Features<'static>> {
    let point = |row: usize| {
        let (y, x) = ((row as f32 + shift) / n as f32 * std::f32::consts::PI).sin_cos();
        if row.is_multiple_of(2) { [x, y] } else { [1.0 - x, 0.5 - y] }
    };
    Features::from_f32(n, 2, (0..n).flat_map(point).collect())
}

fn main() -> lapwing::Result<()> {
    let run = Run::new(None, 0)?;
    let features = half_circles(2000, 0.0)?;
    let labels = Labels::from_texts((0..2000).map(|row| ["upper", "lower"].get(row).copied().unwrap_or("")), None);
    let targets = Targets::one_hot(&labels, None)?;
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = method("harmonic", &MethodParams::default())?.fit(&problem, &run)?;

    // Every method labels new rows; a fit on a graph alone, whose nodes have no features, cannot.
    let model = Model::of(fitted, labels.classes)?;
    let path = std::env::temp_dir().join("half-circles.lapwing");
    model.save(&path)?;

    let model = Model::load(&path)?;
    let labeling = model.predict(&half_circles(1000, 0.5)?, &run)?;
    let right = (0..1000)
        .filter(|&row| model.classifier.classes.name(labeling.labels[row] as usize) == ["upper", "lower"][row % 2]);
    println!("{} of 1000 new rows get the right label", right.count());
    println!("the model is kept in {}", path.display());
    Ok(())
}
