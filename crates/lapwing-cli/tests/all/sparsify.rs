//! `lapwing sparsify`: what it writes, from what, in how much memory, and after it was killed.

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::common::interrupt;
use crate::common::{Folder, Noise};

/// Edges u < v of a dense random graph, row by row, with weights between 1 and 2 that f32 holds.
fn dense(n: u32, share: f64) -> Vec<(u32, u32, f32)> {
    let mut noise = Noise(11);
    let mut edges = Vec::new();
    for u in 0..n {
        for v in u + 1..n {
            if v == u + 1 || noise.next() < share {
                edges.push((u, v, 1.0 + noise.next() as f32));
            }
        }
    }
    edges
}

fn csv(edges: &[(u32, u32, f32)]) -> String {
    // All digits, so that the other formats hold the same numbers.
    let line = |(u, v, weight): &(u32, u32, f32)| format!("{u},{v},{}\n", f64::from(*weight));
    "u,v,weight\n".to_owned() + &edges.iter().map(line).collect::<String>()
}

/// Header and padding of a `.npy` file.
fn npy_head(descr: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}");
    let mut out = b"\x93NUMPY\x01\x00\xb6\x00".to_vec();
    out.extend(format!("{header:<181}\n").as_bytes());
    out
}

/// Records of 12 bytes.
fn records(edges: &[(u32, u32, f32)]) -> Vec<u8> {
    let mut out = npy_head("[('u', '<u4'), ('v', '<u4'), ('weight', '<f4')]", &format!("{},", edges.len()));
    for (u, v, weight) in edges {
        out.extend([u.to_le_bytes(), v.to_le_bytes(), weight.to_le_bytes()].concat());
    }
    out
}

/// A folder with `edges.npy`, and a sampler whose rounds are many enough to be stopped among them.
fn folder_with_long_work() -> (Folder, &'static str) {
    let folder = Folder::new();
    let mut noise = Noise(5);
    let mut node = || (noise.next() * 1500.0) as u32;
    let edges: Vec<_> = (0..3_000_000).map(|_| (node(), node(), 1.0)).collect();
    folder.write("edges.npy", records(&edges));
    (folder, "sparsify edges.npy --nodes 1500 --edge-budget 45000 --capacity 180000 --sampler kelner-levin --seed 3")
}

#[test]
fn fewer_edges_of_the_same_weight_in_all() {
    let folder = Folder::new();
    let edges = dense(300, 0.6);
    folder.write("edges.csv", csv(&edges) + "5,5,7\n6,7,0\n");
    let ran = folder.ok("sparsify edges.csv --edge-budget 6000 -o sparse.csv --json");
    let json = ran.json();
    let sparsifier = &json["sparsifier"];
    assert_eq!((json["schema"].as_u64(), json["command"].as_str()), (Some(2), Some("sparsify")));
    assert_eq!((json["n_samples"].as_u64(), sparsifier["n_dropped"].as_u64()), (Some(300), Some(2)));
    assert_eq!(sparsifier["n_edges"].as_u64(), Some(edges.len() as u64));
    for key in ["peak_edges", "rounds", "solve_seconds", "seconds", "probe_ratios", "capacity", "warnings"] {
        assert!(!sparsifier[key].is_null(), "{key}: {sparsifier}");
    }
    let kept: Vec<Vec<f64>> =
        folder.read("sparse.csv").lines().skip(1).map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!(sparsifier["n_kept"].as_u64(), Some(kept.len() as u64));
    let share = json["kept_share"].as_f64().unwrap();
    assert!((share - kept.len() as f64 / edges.len() as f64).abs() < 1e-12 && (0.2..0.27).contains(&share), "{share}");
    let weight = kept.iter().map(|row| row[2]).sum::<f64>();
    let whole = edges.iter().map(|e| f64::from(e.2)).sum::<f64>();
    assert!((weight / whole - 1.0).abs() < 0.05, "{weight} {whole}");
    assert_eq!(json["graph"]["n_components"], 1);
    assert_eq!(json["outputs"]["graph"], "sparse.csv");

    let table = folder.ok("sparsify edges.csv --edge-budget 6000 -o sparse.npz --sampler auto").stdout;
    for part in ["nodes", "edges kept", "rounds", "sampler", "weakest cuts", "scan", "graph written to"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let ran = folder.ok("sparsify edges.csv --edge-budget 6000 -o -");
    assert_eq!(ran.stdout, folder.read("sparse.csv"));
    assert!(ran.stderr.contains("edges kept"), "{}", ran.stderr);
    folder.write("known.csv", "0,a\n299,b\n");
    folder.ok("label --graph sparse.npz --labels known.csv -o labels.csv");
}

#[test]
fn formats_and_threads_do_not_show() {
    let folder = Folder::new();
    let edges = dense(200, 0.8);
    folder.write("edges.csv", csv(&edges));
    folder.write("records.npy", records(&edges));
    for name in ["edges.parquet", "table.npy", "matrix.npz"] {
        folder.ok(&format!("graph --graph edges.csv -o {name}"));
    }
    let sparse = |edges: &str, options: &str| {
        folder.ok(&format!("sparsify {edges} --edge-budget 2000 --capacity 5000 -o sparse.npz {options}"));
        std::fs::read(folder.path("sparse.npz")).unwrap()
    };
    let expected = sparse("edges.csv", "--threads 1");
    for name in ["edges.csv", "edges.parquet", "table.npy", "records.npy", "matrix.npz"] {
        assert!(sparse(name, "--threads 2") == expected, "{name}");
        assert!(sparse(name, "--threads 1 --nodes 200") == expected, "{name}");
    }
    assert!(sparse("edges.csv", "--seed 1") != expected);
    let input = std::fs::File::open(folder.path("edges.csv")).unwrap();
    let piped = "sparsify - --nodes 200 --edge-budget 2000 --capacity 5000 -o piped.npz";
    assert!(folder.command(piped).stdin(input).output().unwrap().status.success());
    assert!(std::fs::read(folder.path("piped.npz")).unwrap() == expected);
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    let says = |arguments: &str, parts: &[&str]| {
        let message = folder.error(&format!("sparsify {arguments} -o out.npz"));
        parts.iter().for_each(|part| assert!(message.contains(part), "'{part}' is not in: {message}"));
    };
    folder.write("edges.csv", "u,v,weight\n0,1,1\n1,2,-3\n");
    says("edges.csv", &["edges.csv", "line 3", "weight -3", "at least 0"]);
    folder.write("edges.csv", "u,v\n0,1\n1,9\n");
    says("edges.csv --nodes 5", &["edges.csv", "line 3", "node 9 is out of range"]);
    let mut edges = dense(60, 0.5);
    edges[40].2 = f32::NAN;
    folder.write("edges.npy", records(&edges));
    says("edges.npy", &["edges.npy", "row 40", "weight NaN"]);
    says("edges.npy --nodes 3", &["edges.npy", "out of range"]);
    crate::common::truncate(&folder.path("edges.npy"), 0.7);
    says("edges.npy", &["edges.npy", "truncated"]);
    says("none.csv", &["none.csv", "No such file"]);
    says("edges.xlsx", &["edges.xlsx"]);

    folder.write("edges.csv", "u,v\n0,1\n");
    says("edges.csv --distortion 0", &["--distortion is 0"]);
    says("edges.csv --edge-budget 0", &["--edge-budget is 0"]);
    says("edges.csv --edge-budget 50 --capacity 60", &["--capacity is 60", "100"]);
    says("edges.csv --n-projections 0", &["--n-projections is 0"]);
    says("edges.csv --memory 1k", &["needs"]);
    says("edges.csv --nodes 99999999999", &["--nodes is 99999999999"]);
    says("- --checkpoint c", &["--checkpoint needs a file of edges", "cannot be read again"]);
    says("- --json", &["--nodes", "standard input"]);
    says("m.npz --checkpoint c", &["an .npz is read whole"]);
    says("edges.csv --checkpoint edges.csv", &["another file than"]);
    says("edges.csv --checkpoint nowhere/c", &["nowhere"]);
    folder.write("c", "something else");
    says("edges.csv --checkpoint c", &["c: not a model file"]);
    assert_eq!(folder.read("c"), "something else");
    for option in ["--memory 2X", "--sampler best", "--memory 2G --distortion 0.5"] {
        let ran = folder.run(&format!("sparsify edges.csv -o out.npz {option}"));
        assert_eq!(ran.code, Some(2), "{option}");
    }
}

/// Starts a run and waits until its checkpoint appears.
fn started(folder: &Folder, arguments: &str) -> Child {
    let mut child = folder.command(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    while !folder.path("state").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before its first checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let (folder, arguments) = folder_with_long_work();
    folder.ok(&format!("{arguments} -o expected.npz"));
    let kept = format!("{arguments} -o out.npz --checkpoint state --json");
    let mut child = started(&folder, &kept);
    // SIGKILL: nothing can be tidied up. What may be left are hidden temporaries of files being written.
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "ended before it was killed");
    let names: Vec<String> = folder.names().into_iter().filter(|name| !name.starts_with(".lapwing-")).collect();
    assert_eq!(names, ["edges.npy", "expected.npz", "state"]);

    let other = folder.run(&format!("{arguments} --seed 4 -o out.npz --checkpoint state").replacen("--seed 3", "", 1));
    assert!(other.code == Some(2) && other.stderr.contains("another seed"), "{other:?}");

    let ran = folder.ok(&kept);
    assert!(ran.stderr.contains("going on after"), "{}", ran.stderr);
    let (resumed_at, rows) = (ran.json()["resumed_at"].as_u64().unwrap(), 3_000_000);
    assert!(resumed_at > 0 && resumed_at < rows, "{resumed_at}");
    assert!(std::fs::read(folder.path("out.npz")).unwrap() == std::fs::read(folder.path("expected.npz")).unwrap());
    assert!(!folder.path("state").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn interrupts_end_within_a_second_and_keep_the_checkpoint() {
    let (folder, arguments) = folder_with_long_work();
    let mut child = started(&folder, &format!("{arguments} -o out.npz --checkpoint state"));
    let words = interrupted(&mut child);
    assert!(words.contains("kept in state: the same command goes on from there"), "{words}");
    assert!(words.ends_with("error: interrupted\n"), "{words}");
    assert_eq!(folder.names(), ["edges.npy", "state"]);

    // In the middle of a pipe that nobody writes to.
    let mut child = folder.piped("sparsify - --nodes 10 -o out.npz --progress json");
    let mut input = child.stdin.take().unwrap();
    // More than is looked at to tell the columns.
    input.write_all(("u,v\n".to_string() + &"0,1\n1,2\n".repeat(100_000)).as_bytes()).unwrap();
    child.stderr.as_mut().unwrap().read_exact(&mut [0; 16]).unwrap();
    interrupted(&mut child);
    assert_eq!(folder.names(), ["edges.npy", "state"]);
    drop(input);
}

/// Sends Ctrl-C, and returns what was said.
#[cfg(target_os = "linux")]
fn interrupted(child: &mut Child) -> String {
    interrupt(child);
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    words
}

/// The limit holds for what the process writes to: the stacks of four threads (8 MB) and what is allocated, about `--memory`
/// and the blocks that wait between reading and thinning (12 MB). An edge takes 4 bytes of the file, which need not fill the disk,
/// and 24 when it is read.
#[cfg(target_os = "linux")]
#[test]
fn a_file_far_larger_than_the_memory() {
    const LIMIT_KIB: usize = 40_000;
    const ROWS: usize = 20_000_000;
    let folder = Folder::new();
    let file = std::fs::File::create(folder.path("edges.npy")).unwrap();
    let mut file = std::io::BufWriter::with_capacity(1 << 20, file);
    file.write_all(&npy_head("'<i2'", &format!("{ROWS}, 2"))).unwrap();
    let mut noise = Noise(1);
    for _ in 0..ROWS {
        let (u, step) = (noise.next() * 2000.0, 1.0 + noise.next() * 300.0);
        let row = [u as i16, ((u + step) % 2000.0) as i16];
        file.write_all(row.map(i16::to_le_bytes).as_flattened()).unwrap();
    }
    file.into_inner().unwrap();
    const { assert!(24 * ROWS > 10 * 1024 * LIMIT_KIB) };

    let arguments = "sparsify edges.npy --nodes 2000 --memory 16M --sampler degree --threads 2 -o";
    folder.ok(&format!("{arguments} expected.npz"));
    let program = env!("CARGO_BIN_EXE_lapwing");
    let limited = format!("ulimit -d {LIMIT_KIB}; exec {program} {arguments} out.npz");
    let mut shell = std::process::Command::new("sh");
    // One arena: those of every thread would count, though no memory stands behind them.
    shell.args(["-c", &limited]).current_dir(folder.path("")).env("MALLOC_ARENA_MAX", "1");
    let ran = shell.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(std::fs::read(folder.path("out.npz")).unwrap() == std::fs::read(folder.path("expected.npz")).unwrap());
}

#[test]
fn progress_tells_rows_of_all() {
    let (folder, arguments) = folder_with_long_work();
    let ran = folder.ok(&format!("{arguments} -o out.npz --progress json"));
    let events: Vec<serde_json::Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let updates: Vec<_> = events.iter().filter(|event| event["event"] == "update").collect();
    let done: Vec<u64> = updates.iter().map(|event| event["done"].as_u64().unwrap()).collect();
    assert!(done.len() > 10 && done.len() < 300 && done.is_sorted(), "{done:?}");
    assert!(updates.iter().all(|event| event["total"] == 3_000_000));
    let note = updates[updates.len() - 1]["note"].as_str().unwrap();
    assert!(note.contains("edges kept") && note.contains("rounds"), "{note}");
}
