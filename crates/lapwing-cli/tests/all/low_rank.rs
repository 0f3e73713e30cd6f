//! Low-rank methods on the command line: rows in blocks, the same bytes however they are read, models, plans, checkpoints.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What a run left.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn lapwing(folder: &TempDir, arguments: &str) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_lapwing"))
        .args(arguments.split_whitespace())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: out.status.code(), stdout: text(out.stdout), stderr: text(out.stderr) }
}

fn ok(folder: &TempDir, arguments: &str) -> String {
    let ran = lapwing(folder, arguments);
    assert_eq!(ran.code, Some(0), "{arguments}: {}", ran.stderr);
    ran.stdout
}

fn read(folder: &TempDir, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

/// A table of 3,000 rows in three groups, the first nine labeled, as CSV and as an array with a file of labels.
fn tables() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let value = |row: usize, column: usize| {
        let noise = ((row * 37 + column * 101) % 89) as f64 / 89.0;
        // As CSV and as f32 the same number.
        f64::from(([0.0, 3.0, 6.5][row % 3] * (column + 1) as f64 + noise) as f32)
    };
    let mut table = "a,b,kind\n".to_owned();
    for row in 0..3000 {
        let kind = if row < 9 { ["x", "y", "z"][row % 3] } else { "" };
        table.push_str(&format!("{:?},{:?},{kind}\n", value(row, 0), value(row, 1)));
    }
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    let labels: String = (0..9).map(|row| format!("{row},{}\n", ["x", "y", "z"][row % 3])).collect();
    std::fs::write(folder.path().join("known.csv"), format!("row,label\n{labels}")).unwrap();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3000, 2), }";
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend(118u16.to_le_bytes());
    array.extend(format!("{header:<117}\n").as_bytes());
    (0..6000).for_each(|at| array.extend((value(at / 2, at % 2) as f32).to_le_bytes()));
    std::fs::write(folder.path().join("array.npy"), array).unwrap();
    folder
}

#[test]
fn rows_in_blocks_and_rows_that_are_held_get_the_same_labels() {
    let folder = tables();
    for method in ["low-rank", "anchor", "nystrom", "glnp"] {
        let common = format!("--method {method} --n-landmarks 9 --probabilities");
        ok(&folder, &format!("label table.csv --label-column kind -o a.csv {common}"));
        ok(&folder, &format!("label array.npy --labels known.csv -o b.csv {common} --threads 1"));
        // A report wants all rows.
        ok(&folder, &format!("label array.npy --labels known.csv -o c.csv --report r.html {common}"));
        let (a, b, c) = (read(&folder, "a.csv"), read(&folder, "b.csv"), read(&folder, "c.csv"));
        assert!(a == b && b == c, "{method}");
        let text = String::from_utf8(a).unwrap();
        assert_eq!(text.lines().count(), 3001);
        let right = text
            .lines()
            .skip(1)
            .enumerate()
            .filter(|(row, line)| line.split(',').nth(1) == Some(["x", "y", "z"][row % 3]));
        assert!(right.count() > 2700, "{method}");
    }
}

#[test]
fn models_label_new_rows_in_blocks() {
    let folder = tables();
    ok(
        &folder,
        "label table.csv --label-column kind -o a.npy --method nystrom --n-landmarks 9 --model m --probabilities",
    );
    assert!(folder.path().join("m").metadata().unwrap().len() < 4000);
    ok(&folder, "predict m array.npy -o b.csv");
    ok(&folder, "predict m table.csv -o c.csv");
    assert!(read(&folder, "b.csv") == read(&folder, "c.csv"));
    let summary = ok(&folder, "predict m array.npy -o - ");
    assert!(summary.into_bytes() == read(&folder, "b.csv"));
    let wrong = lapwing(&folder, "predict m known.csv --columns row -o d.csv");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("expected 2 columns"), "{}", wrong.stderr);
    assert!(!folder.path().join("d.csv").exists());
}

#[test]
fn a_checkpoint_is_no_other_file() {
    let folder = tables();
    let before = read(&folder, "array.npy");
    let common = "label array.npy --labels known.csv --method low-rank --n-landmarks 9 -o out.npy --model m";
    for other in ["./out.npy", "m", "./m", "array.npy", "./array.npy", "known.csv", "./known.csv"] {
        let refused = lapwing(&folder, &format!("{common} --checkpoint {other}"));
        assert!(
            refused.code == Some(2)
                && refused.stderr.contains("--checkpoint is")
                && refused.stderr.contains("expected another file than"),
            "{other}: {}",
            refused.stderr
        );
    }
    let refused = lapwing(&folder, &format!("{common} --bandwidth 1e-9"));
    assert!(refused.stderr.contains("--bandwidth is 1.0e-9"), "{}", refused.stderr);
    assert!(read(&folder, "array.npy") == before && !folder.path().join("out.npy").exists());
}

#[test]
fn plans_tell_passes_and_bytes() {
    let folder = tables();
    let plan = |method: &str| ok(&folder, &format!("label array.npy --labels known.csv --method {method} --plan"));
    let (two, three) = (plan("anchor"), plan("nystrom"));
    let line = |plan: &str, name: &str| {
        let line = plan.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{plan}"));
        line[name.len()..].trim().to_owned()
    };
    assert_eq!((line(&two, "passes over the input"), line(&three, "passes over the input")), ("2".into(), "3".into()));
    assert_eq!((line(&two, "bytes read"), line(&three, "bytes read")), ("46.9 KiB".into(), "70.3 KiB".into()));
}

#[test]
fn generated_rows_try_any_size() {
    let folder = tables();
    let run = "label generated:20000x10x4 --labels generated:5 --method low-rank --n-landmarks 8 -o out.npy --json";
    let first = ok(&folder, run);
    assert!(first.contains("\"accuracy\":0.") && first.contains("\"n_samples\":20000"), "{first}");
    let labels = read(&folder, "out.npy");
    ok(&folder, &format!("{run} --threads 1"));
    assert!(labels == read(&folder, "out.npy"));
    let plan = "label generated:1000000000x32x10 --labels generated:100 --plan --json --method";
    for method in ["low-rank", "harmonic --fit-rows 300k"] {
        let planned: serde_json::Value = serde_json::from_str(&ok(&folder, &format!("{plan} {method}"))).unwrap();
        assert_eq!(planned["size"]["n_labeled"], 1000);
        assert!(planned["peak_bytes"].as_u64().unwrap() < 2 << 30, "{method}: {planned}");
    }
    for wrong in ["generated:5", "generated:0x1x1", "generated:axbxc"] {
        let ran = lapwing(&folder, &format!("label {wrong} --labels generated:5 --method low-rank -o o.npy"));
        assert_eq!(ran.code, Some(2), "{wrong}: {}", ran.stderr);
    }
    let held = lapwing(&folder, "label generated:200x4x2 --labels generated:5 -o o.npy");
    assert!(held.code == Some(2) && held.stderr.contains("such as --method low-rank"), "{}", held.stderr);
}

#[test]
fn bad_input_is_named_and_leaves_nothing() {
    let folder = tables();
    let mut array = read(&folder, "array.npy");
    let place = 128 + (2345 * 2 + 1) * 4;
    array[place..place + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(folder.path().join("bad.npy"), &array).unwrap();
    array.truncate(9000);
    std::fs::write(folder.path().join("short.npy"), &array).unwrap();
    for (arguments, text) in [
        ("bad.npy --labels known.csv", "first NaN in row 2345"),
        ("short.npy --labels known.csv", "truncated"),
        ("array.npy --labels known.csv --alpha 1", "--alpha is 1"),
        ("array.npy --labels known.csv --n-landmarks 0", "--n-landmarks is 0"),
        ("array.npy --labels array.npy", "expected one label per row"),
        (
            "array.npy --labels known.csv --checkpoint array.npy",
            "--checkpoint is array.npy; expected another file than DATA",
        ),
        ("array.npy --labels known.csv --checkpoint c --report r.html", "--checkpoint needs rows"),
        ("array.npy --labels known.csv --method harmonic --checkpoint c", "--checkpoint needs"),
    ] {
        let method = if arguments.contains("--method") { "" } else { "--method low-rank" };
        let ran = lapwing(&folder, &format!("label {arguments} {method} -o o.npy"));
        assert!(ran.code == Some(2) && ran.stderr.contains(text), "{arguments}: {}", ran.stderr);
        assert!(!folder.path().join("o.npy").exists() && !folder.path().join("c").exists(), "{arguments}");
    }
}

/// Waits until `path` is there.
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_that_was_killed_is_resumed_to_the_same_bytes() {
    let folder = tables();
    let run =
        "label generated:400000x60x4 --labels generated:5 --method nystrom --n-landmarks 60 --select off --threads 1";
    ok(&folder, &format!("{run} -o whole.npy"));
    for (attempt, delay) in [0u64, 40, 160].into_iter().enumerate() {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lapwing"))
            .args(run.split_whitespace())
            .args(["-o", "resumed.npy", "--checkpoint", "sums"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&folder.path().join("sums"));
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        // A fast machine may have come to the end, and then begins anew.
        let done = folder.path().join("resumed.npy");
        if done.exists() {
            assert!(read(&folder, "whole.npy") == read(&folder, "resumed.npy"), "attempt {attempt}");
            std::fs::remove_file(done).unwrap();
        }
    }
    let other = lapwing(&folder, &format!("{run} --seed 5 -o resumed.npy --checkpoint sums"));
    if folder.path().join("sums").exists() {
        assert!(other.code == Some(2) && other.stderr.contains("a checkpoint of another fit"), "{}", other.stderr);
    }
    ok(&folder, &format!("{run} -o resumed.npy --checkpoint sums"));
    assert!(read(&folder, "whole.npy") == read(&folder, "resumed.npy"));
    assert!(!folder.path().join("sums").exists());
}
