//! Reads a table into features and prints one line of JSON: `cargo bench --workspace --bench reading -- FILE [none]`.
//!
//! `none` takes the columns as they are, as `--prepare none` does. Seconds are those of the library call; the peak is that of the
//! whole process.

use std::path::Path;
use std::time::Instant;

use lapwing_core::{Features, Result, Run, Standardize};
use lapwing_table::prepare::prepare;
use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;

fn main() -> Result<()> {
    // Cargo passes `--bench` to every benchmark.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some(path) = words.first().map(Path::new) else { return Ok(()) };
    let is_prepared = words.get(1).is_none_or(|word| word != "none");
    let (options, run) = (ReadOptions::default(), Run::new(None, 0)?);
    let start = Instant::now();
    let features: Features<'static> = match is_prepared {
        true => prepare(path, &options, Standardize::Auto, &run)?.features,
        false => read_samples(path, &options, &run)?.features,
    };
    let seconds = start.elapsed().as_secs_f64();
    let (rows, columns, bytes) = (features.n_rows(), features.n_cols(), features.bytes());
    println!(
        "{{\"seconds\": {seconds}, \"rows\": {rows}, \"columns\": {columns}, \"feature_bytes\": {bytes}, \"peak_bytes\": {}}}",
        peak_bytes().unwrap_or(0)
    );
    Ok(())
}

/// The peak memory of this process, on Linux.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}
