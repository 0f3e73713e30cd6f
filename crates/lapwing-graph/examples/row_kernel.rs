//! Rows a second and core through the kernels of low-rank factors, as lines of JSON: `row_kernel [REPEATS]`.
//!
//! 200,000 rows of 100 columns in memory, one thread: reading and turning them, distances to k landmarks, exponentials and
//! their sums (`distances`); the same with degrees and AᵀA (`gram`), and with scores of 10 classes (`scores`). `generate` is
//! the making of generated rows alone.

use std::time::Instant;

use lapwing_core::{Features, GeneratedRows, Matrix, Result, RowSource, Run, Targets, gather};
use lapwing_graph::low_rank::{Blocks, Coefficients, FactorSpace, FactorSums, RowFactor, RowKernel, RowPass, SumTree};

const ROWS: usize = 200_000;
const COLUMNS: usize = 100;
const CLASSES: usize = 10;
const LANDMARKS: [usize; 2] = [20, 100];

fn main() -> Result<()> {
    let repeats = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let run = Run::new(Some(1), 0)?;
    let generated = GeneratedRows::new(ROWS, COLUMNS, CLASSES, 0)?;
    let all: Vec<u32> = (0..ROWS as u32).collect();
    let values = gather(&generated, &all, &[], &run)?;
    measure("generate", 0, repeats, || {
        let mut rows = vec![0.0; 256 * COLUMNS];
        let mut reader = generated.open(0, &[], &run)?;
        (0..ROWS / 256).try_for_each(|_| reader.read(&mut rows, &run))
    })?;
    let features = Features::from_f32(ROWS, COLUMNS, values.clone())?;
    let targets = Targets::new(ROWS, vec![0], Matrix::filled(1, CLASSES, 0.1), vec![1.0])?;
    for k in LANDMARKS {
        // A width as of the rule for landmarks that are rows.
        let kernel = RowKernel::new(&features, &[], &values[..k * COLUMNS], 6.0);
        let pass = RowPass { source: &features, center: &[], kernel: &kernel };
        let nystrom = RowFactor::Nystrom { weights: vec![1.0; k], floor: 1e-3 };
        for (task, factor) in [("distances", &RowFactor::Similarities), ("gram", &nystrom)] {
            let sums = FactorSums::new(k, CLASSES, false);
            let blocks = Blocks::new(ROWS);
            measure(task, k, repeats, || {
                let tree = SumTree::new(blocks.count(), sums.count()).into();
                pass.sum(
                    blocks,
                    0..blocks.count(),
                    &tree,
                    &run,
                    FactorSpace::default,
                    |space, chunk, out| {
                        sums.add(factor, chunk, &targets, space, out);
                        Ok(())
                    },
                    |_| Ok(()),
                )
            })?;
        }
        let coefficients = Coefficients::new(&Matrix::filled(k, CLASSES, 0.5));
        let mut total = 0.0;
        measure("scores", k, repeats, || {
            pass.visit(
                0..ROWS,
                &run,
                FactorSpace::default,
                |space, chunk| {
                    let mut scores = vec![0.0; chunk.n_rows * CLASSES];
                    nystrom.scores(chunk, &coefficients, space, &mut scores);
                    Ok(scores[0])
                },
                |_, score| {
                    total += score;
                    Ok(())
                },
            )
        })?;
        assert!(total.is_finite());
    }
    Ok(())
}

/// Prints the median rate of several runs, after one that is not counted.
fn measure(task: &str, k: usize, repeats: usize, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    work()?;
    let mut rates = Vec::new();
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        work()?;
        rates.push(ROWS as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let (least, most, median) = (rates[0], rates[rates.len() - 1], rates[rates.len() / 2]);
    let lanes = lanes();
    println!(
        "{{\"task\": \"{task}\", \"k\": {k}, \"lanes\": \"{lanes}\", \"rows_per_second_per_core\": {median:.0}, \
         \"least\": {least:.0}, \"most\": {most:.0}}}"
    );
    Ok(())
}

/// The vectors that the kernels will choose here.
fn lanes() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return if is_x86_feature_detected!("avx512f") { "avx512" } else { "avx2" };
        }
    }
    "portable"
}
