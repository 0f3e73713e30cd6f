//! What `--plan` says against what the run then needs.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, npy};
use lapwing::models::METHODS;
use serde_json::{Value, json};

/// The least share of a plan that a run allocates: a plan far above what is needed would refuse work that fits.
const LEAST: f64 = 0.7;
/// Bytes beside the arrays of a run: the parsed options of all methods, and buffers of matrix products, whose size follows the caches of
/// the processor and of which a run touches, and a plan counts, a part.
const OTHER_BYTES: f64 = 16e6;

/// A number in [0, 1) that looks random.
fn scattered(a: usize, b: usize) -> f32 {
    let mixed = (a as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (b as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
    (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / (1u64 << 24) as f32
}

/// Four clusters along curves, of nine dimensions: what neighbors there are is not noise, and the graph mixes well enough to be
/// solved without a factor, which plans leave out.
fn curves(row: usize, column: usize) -> f32 {
    let along = scattered(row, 0) * 3.0 + (column as f32 * 0.37 + (row % 4) as f32 * 2.0);
    along.sin() + 0.3 * (scattered(row, 1 + column % 8) * 6.0 + column as f32).sin()
}

fn values(n: usize, d: usize) -> Vec<u8> {
    npy(n, d, (0..n).flat_map(|row| (0..d).map(move |column| curves(row, column))))
}

/// Rows, and a class of each of the first forty.
fn rows(n: usize, d: usize) -> Folder {
    let folder = Folder::new();
    folder.write("rows.npy", values(n, d));
    write_labels(&folder);
    folder
}

/// Edges at random, twelve for each node, and labels.
fn edges(n: usize) -> Folder {
    let folder = Folder::new();
    let end = |edge: usize, side: usize| (scattered(edge, 100 + side) * n as f32) as usize % n;
    let ends = (0..12 * n).map(|edge| (end(edge, 0), end(edge, 1))).filter(|(u, v)| u < v);
    let lines: BTreeSet<String> = ends.map(|(u, v)| format!("{u},{v}\n")).collect();
    folder.write("edges.csv", format!("u,v\n{}", lines.into_iter().collect::<String>()));
    folder.write("rows.npy", values(n, 16));
    write_labels(&folder);
    folder
}

fn write_labels(folder: &Folder) {
    let labels: String = (0..40).map(|row| format!("{row},{}\n", row % 4)).collect();
    folder.write("labels.csv", format!("row,label\n{labels}"));
}

/// Bytes that a run allocates at most at a time, in all threads; in JSON beside them, what is planned.
fn allocated(folder: &Folder, run: &str) -> f64 {
    let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_lapwing")).with_file_name("examples/counted"));
    command.args(run.split_whitespace()).current_dir(folder.path("")).env("LAPWING_COUNTED", "counted");
    let ran = command.output().expect("`cargo test` without `--test` builds the example `counted`");
    assert!(ran.status.success(), "{run}: {}", String::from_utf8_lossy(&ran.stderr));
    folder.read("counted").parse().unwrap()
}

/// What a run needs and what is planned for it, if it is more than was planned or less than [`LEAST`] of it. Rows of `.npy` files are
/// mapped, not allocated.
fn outside_of_plan(folder: &Folder, arguments: &str) -> Option<String> {
    let run = format!("label {arguments} --labels labels.csv -o out.npy --threads 2");
    let plan = folder.ok(&format!("{run} --plan --json")).json();
    let number = |value: &Value| value.as_f64().unwrap();
    let mapped = if plan["size"]["streamed"] == json!(true) { 0.0 } else { number(&plan["size"]["input_bytes"]) };
    let planned = number(&plan["peak_bytes"]) - number(&plan["program_bytes"]);
    let needed = allocated(folder, &run) + mapped;
    let share = needed / planned;
    println!("{arguments}: {share:.3} of {planned}");
    let is_within = needed <= planned + OTHER_BYTES && needed + OTHER_BYTES >= LEAST * planned;
    (!is_within).then(|| format!("{arguments}: needed {needed} of {planned} planned, {share:.2}"))
}

/// Runs that need more than was planned, or less than three quarters of it.
fn outside<'a>(folder: &Folder, runs: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    runs.into_iter().filter_map(|run| outside_of_plan(folder, run)).collect()
}

const OF_ROWS: [&str; 20] = [
    "rows.npy --method harmonic",
    "rows.npy --method auto",
    "rows.npy --method sparse-harmonic",
    "rows.npy --method low-rank",
    "rows.npy --method low-rank --n-landmarks 300",
    "rows.npy --method anchor",
    "rows.npy --method nystrom",
    "rows.npy --method glnp --glnp-max-iter 5",
    "rows.npy --method lapsvm",
    "rows.npy --method lapsvm --n-landmarks 200",
    "rows.npy --method laprls",
    "rows.npy --method unfolded-gnn",
    "rows.npy --method eigenfunction",
    "rows.npy --method subsampling",
    "rows.npy --method simple-harmonic",
    "rows.npy --method nearest-label",
    "rows.npy --method linear",
    "rows.npy --method forest",
    "rows.npy --method majority",
    "rows.npy --standardize",
];

#[test]
fn plans_of_every_method_are_upper_bounds_for_few_rows() {
    let methods =
        OF_ROWS.iter().flat_map(|run| run.split("--method ").nth(1)?.split(' ').next()).collect::<BTreeSet<_>>();
    assert_eq!(methods.len(), METHODS.len(), "a method is missing: {methods:?}");
    let outside = outside(&rows(1000, 8), OF_ROWS);
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn plans_of_every_method_are_upper_bounds_for_more_rows() {
    // Beyond what is factored at once, and columns enough for their copies to count.
    let outside = outside(&rows(4000, 48), OF_ROWS);
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn plans_of_graphs_that_are_given_are_upper_bounds() {
    let runs = [
        "--graph edges.csv",
        "--graph edges.csv --method sparse-harmonic",
        "--graph edges.csv --method simple-harmonic",
        "rows.npy --graph edges.csv --method unfolded-gnn",
        "rows.npy --graph edges.csv --method laprls",
    ];
    let outside = outside(&edges(3000), runs);
    assert!(outside.is_empty(), "{outside:#?}");
}

/// All pairs, partitions, and partitions of rows rounded to bytes.
#[test]
fn plans_are_upper_bounds_for_every_neighbor_search() {
    for (n, d) in [(20_000, 12), (120_000, 24), (30_000, 300)] {
        let runs = ["rows.npy --method harmonic", "rows.npy --method unfolded-gnn", "rows.npy --method nearest-label"];
        let outside = outside(&rows(n, d), runs);
        assert!(outside.is_empty(), "{n} × {d}: {outside:#?}");
    }
}

/// Labels of a table are counted without reading its features, whatever their size; passes and bytes are those of the run.
#[test]
fn plans_tell_passes_labels_and_bytes() {
    let folder = Folder::new();
    let lines: String = (0..3000)
        .map(|row| {
            format!("{},{},{}\n", curves(row, 0), curves(row, 1), if row < 60 { ["a", "b", "c"][row % 3] } else { "" })
        })
        .collect();
    folder.write("rows.csv", format!("x,y,kind\n{lines}"));
    let plan = |more: &str| folder.ok(&format!("label rows.csv --label-column kind --plan --json {more}")).json();
    let held = plan("--method harmonic");
    assert_eq!((&held["size"]["n_classes"], &held["size"]["n_labeled"]), (&json!(3), &json!(60)), "{held}");
    assert_eq!((&held["labels_counted"], &held["read_bytes"]), (&json!(true), &json!(3 * 8 * 2 * 3000)), "{held}");
    // Rows that are read in blocks are text in every pass.
    let length = std::fs::metadata(folder.path("rows.csv")).unwrap().len();
    let streamed = plan("--method anchor");
    assert_eq!((&streamed["passes"], &streamed["read_bytes"]), (&json!(2), &json!(2 * length)), "{streamed}");
}

/// Edges that all fit are read once more to find their nodes, and never again: nothing was thinned that could be refined.
#[test]
fn plans_count_the_readings_of_a_stream() {
    let folder = edges(500);
    let plan = |more: &str| {
        folder
            .ok(&format!("label --graph edges.csv --labels labels.csv --method sparse-harmonic --plan --json {more}"))
            .json()
    };
    let length = std::fs::metadata(folder.path("edges.csv")).unwrap().len();
    let all = plan("");
    assert_eq!((&all["passes"], &all["read_bytes"]), (&json!(2), &json!(2 * length)), "{all}");
    assert_eq!(plan("--nodes 500")["passes"], 1);
    assert_eq!(plan("--nodes 500 --edge-budget 1500")["passes"], 4);
    assert_eq!(plan("--nodes 500 --edge-budget 1500 --refinements 0")["passes"], 1);
}
