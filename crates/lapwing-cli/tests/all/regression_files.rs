//! Files are neither lost nor half there: outputs that would replace inputs or each other, outputs of one run of which one
//! fails, links, devices, and what messages call the files.

use crate::common::{Folder, Noise, assert_says, clouds, npy};

const LABEL: &str = "label t.csv --label-column kind";

/// A table, labels, an array and edges.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", clouds(90, 3));
    folder.write("k.csv", "0,a\n1,b\n2,c\n");
    let mut noise = Noise(5);
    folder.write("x.npy", npy(90, 2, (0..180).map(|_| noise.next() as f32)));
    folder.ok("graph x.npy -o e.npy");
    folder
}

/// Contents of every file.
fn contents(folder: &Folder) -> Vec<(String, Option<Vec<u8>>)> {
    folder.names().into_iter().map(|name| (name.clone(), std::fs::read(folder.path(&name)).ok())).collect()
}

#[test]
fn outputs_that_would_replace_inputs_or_each_other() {
    let folder = folder();
    folder.ok("label t.csv --label-column kind -o m.csv --model m");
    std::fs::create_dir(folder.path("sub")).unwrap();
    let before = contents(&folder);
    let cases = [
        ("label t.csv --label-column kind -o t.csv", "--output is t.csv", "DATA (t.csv), which is read"),
        ("label x.npy --labels k.csv -o k.csv", "--output is k.csv", "--labels (k.csv), which is read"),
        ("label x.npy --labels k.csv -o x.npy", "--output is x.npy", "DATA (x.npy), which is read"),
        ("label x.npy --labels k.csv -o ./sub/../x.npy", "--output is ./sub/../x.npy", "DATA (x.npy), which is read"),
        ("label --graph e.npy --labels k.csv -o e.npy", "--output is e.npy", "--graph (e.npy), which is read"),
        (
            "label t.csv --label-column kind -o o.csv --model o.csv",
            "--model is o.csv",
            "--output (o.csv), which is written",
        ),
        ("label t.csv --label-column kind -o o.csv --model t.csv", "--model is t.csv", "DATA (t.csv), which is read"),
        (
            "label t.csv --label-column kind -o o.csv --report r.html --model r.html",
            "--report is r.html",
            "--model (r.html), which is written",
        ),
        ("label x.npy --labels k.csv --method low-rank -o x.npy", "--output is x.npy", "DATA (x.npy), which is read"),
        (
            "label x.npy --labels k.csv --method low-rank -o o.npy --checkpoint x.npy",
            "--checkpoint is x.npy",
            "DATA (x.npy), which is read",
        ),
        ("predict m t.csv -o t.csv", "--output is t.csv", "DATA (t.csv), which is read"),
        ("predict m.npy t.csv -o m.npy", "--output is m.npy", "MODEL (m.npy), which is read"),
        ("sparsify e.npy -o e.npy", "--output is e.npy", "EDGES (e.npy), which is read"),
        ("sparsify e.npy -o o.npy --checkpoint o.npy", "--checkpoint is o.npy", "--output (o.npy), which is written"),
        ("graph --graph e.npy -o e.npy", "--output is e.npy", "--graph (e.npy), which is read"),
        ("compare x.npy --labels r.html --labeled 6 --report r.html", "--report is r.html", "--labels (r.html), which"),
    ];
    for (arguments, output, other) in cases {
        assert_says(&folder.error(arguments), &[output, other]);
        assert_eq!(contents(&folder), before, "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_one_file_are_seen_through() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    symlink("t.csv", folder.path("link.csv")).unwrap();
    std::fs::hard_link(folder.path("t.csv"), folder.path("hard.csv")).unwrap();
    let before = contents(&folder);
    for name in ["link.csv", "hard.csv"] {
        let message = folder.error(&format!("{LABEL} -o {name}"));
        assert!(message.contains("DATA (t.csv)"), "{message}");
        assert_eq!(contents(&folder), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn outputs_of_a_run_appear_together_or_not_at_all() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    folder.write("old.csv", "older");
    symlink("/dev/full", folder.path("full")).unwrap();
    symlink("/dev/full", folder.path("full.html")).unwrap();
    let before = folder.names();
    for options in [
        "-o old.csv --model full",
        "-o old.csv --report full.html",
        "-o old.csv --model m --report full.html",
        "-o old.csv --method low-rank --model full",
    ] {
        let message = folder.error(&format!("{LABEL} {options}"));
        assert!(message.contains("No space left"), "{options}: {message}");
        assert_eq!((folder.names(), folder.read("old.csv").as_str()), (before.clone(), "older"), "{options}");
    }
    let message = folder.error("graph x.npy -o old.csv --report full.html");
    assert!(message.contains("full.html") && folder.read("old.csv") == "older", "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_file_sizes_leaves_nothing() {
    // A limit of 1 KiB, whose signal is ignored so that writes fail as on a full disk.
    let folder = folder();
    folder.write("old.csv", "older");
    let before = folder.names();
    for options in ["-o old.csv", "-o old.csv --model m", "-o m.npy", "-o m.parquet", "-o old.csv --report r.html"] {
        let program = env!("CARGO_BIN_EXE_lapwing");
        let script = format!("ulimit -f 1; trap '' XFSZ; exec {program} {LABEL} --probabilities {options}");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.path("."))
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {words}");
        assert_eq!(words.lines().count(), 1, "{options}: {words}");
        assert!(words.contains("File too large"), "{options}: {words}");
        assert_eq!((folder.names(), folder.read("old.csv").as_str()), (before.clone(), "older"), "{options}");
    }
}

#[test]
fn a_model_is_kept_although_nobody_reads_the_labels() {
    let folder = folder();
    folder.write("t.csv", clouds(9000, 3));
    for method in ["harmonic", "low-rank"] {
        let mut child = folder
            .command(&format!("{LABEL} -o - --model {method} --method {method}"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        folder.ok(&format!("predict {method} t.csv -o new.csv"));
    }
}

#[cfg(unix)]
#[test]
fn links_that_loop_or_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    symlink("a.csv", folder.path("b.csv")).unwrap();
    symlink("b.csv", folder.path("a.csv")).unwrap();
    let message = folder.error(&format!("{LABEL} -o a.csv"));
    assert!(message.starts_with("a.csv: ") && message.contains("symbolic links"), "{message}");
    assert!(folder.path("a.csv").symlink_metadata().unwrap().is_symlink());
    // A link to nothing yet is a name for the file it leads to.
    symlink("new.csv", folder.path("c.csv")).unwrap();
    folder.ok(&format!("{LABEL} -o c.csv"));
    assert!(folder.path("c.csv").symlink_metadata().unwrap().is_symlink());
    assert!(folder.path("new.csv").symlink_metadata().unwrap().is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_outputs() {
    let folder = folder();
    let before = folder.names();
    folder.ok(&format!("{LABEL} -o /dev/null --model /dev/null --report /dev/null"));
    folder.ok(&format!("{LABEL} -o /dev/null --method low-rank --model /dev/null"));
    folder.ok("graph x.npy -o /dev/null");
    folder.ok("sparsify e.npy -o /dev/null");
    assert_eq!(folder.names(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn messages_name_what_the_user_gave() {
    let folder = folder();
    let message = folder.error(&format!("{LABEL} -o no/where/out.csv"));
    assert_eq!(message, "no/where/out.csv: there is no folder no/where");
    let message = folder.error(&format!("{LABEL} -o t.csv/out.csv"));
    assert_eq!(message, "t.csv/out.csv: Not a directory (os error 20)");
    let message = folder.error(&format!("{LABEL} -o /proc/out.csv"));
    assert!(message.starts_with("/proc: "), "{message}");
    assert!(!message.contains(".part"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_one_line_in_every_format() {
    let folder = folder();
    for ending in ["npz", "npy", "csv", "parquet"] {
        let name = format!("full.{ending}");
        std::os::unix::fs::symlink("/dev/full", folder.path(&name)).unwrap();
        for command in ["graph x.npy -o", "sparsify e.npy -o"] {
            let message = folder.error(&format!("{command} {name}"));
            assert_eq!(message, format!("{name}: No space left on device (os error 28)"));
        }
    }
}
