//! What the program leaves behind when an output fails or the user stops it.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::common::interrupt;
use crate::common::{Folder, Noise, clouds, npy};

const LABEL: &str = "label in.csv --label-column kind";

#[test]
fn outputs_are_checked_before_the_work() {
    let folder = Folder::with_clouds("in.csv", 90, 3);
    for option in ["-o nowhere/out.csv", "-o out.csv --model nowhere/m", "-o out.csv --report nowhere/r.html"] {
        let message = folder.error(&format!("{LABEL} {option}"));
        assert!(message.contains("nowhere"), "{option}: {message}");
    }
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    assert!(folder.error(&format!("{LABEL} -o folder.csv")).contains("folder.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk() {
    let folder = Folder::with_clouds("in.csv", 90, 3);
    for (name, options) in [
        ("out.csv", "-o out.csv"),
        ("model", "-o labels.csv --model model"),
        ("report.html", "-o labels.csv --report report.html"),
    ] {
        std::os::unix::fs::symlink("/dev/full", folder.path(name)).unwrap();
        let ran = folder.run(&format!("{LABEL} {options}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}: {ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("No space left"), "{name}: {}", ran.stderr);
        assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", folder.names());
    }
}

#[test]
fn closed_pipe_is_success() {
    let folder = Folder::new();
    // More than a pipe holds, so that the program must notice.
    folder.write("in.csv", clouds(9000, 3));
    for arguments in [&format!("{LABEL} -o -"), "label --help", "completions bash"] {
        let mut child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut words = String::new();
        child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}: {words}");
        assert!(!words.contains("error"), "{arguments}: {words}");
    }
}

#[test]
fn labels_on_standard_output() {
    let folder = Folder::with_clouds("in.csv", 90, 3);
    folder.ok(&format!("{LABEL} -o out.csv"));
    let ran = folder.ok(&format!("{LABEL} -o -"));
    assert_eq!(ran.stdout, folder.read("out.csv"));
    assert!(ran.stderr.contains("rows no label reaches"), "{}", ran.stderr);
    assert_eq!(folder.ok(&format!("{LABEL} -o - -q")).stderr, "");
}

#[cfg(target_os = "linux")]
#[test]
fn interrupt_ends_within_a_second() {
    let folder = Folder::new();
    let mut noise = Noise(3);
    let (n, d) = (30_000, 512);
    folder.write("big.npy", npy(n, d, (0..n * d).map(|_| noise.next() as f32)));
    folder.write("labels.csv", "0,a\n1,b\n");
    let arguments = "label big.npy --labels labels.csv -o out.csv --knn-method exact --progress json";
    let mut child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Into the neighbor search, which takes many seconds here.
    wait_for(child.stderr.as_mut().unwrap(), r#""phase":"graph""#);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the job is too short for this test");
    interrupt(&mut child);
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.ends_with("error: interrupted\n"), "{words}");
    assert_eq!(folder.names(), ["big.npy", "labels.csv"]);
}

/// Reads until a text occurs.
fn wait_for(stream: &mut impl Read, text: &str) {
    let (mut seen, mut byte) = (String::new(), [0]);
    while !seen.contains(text) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "ended with: {seen}");
        seen.push(byte[0].into());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn interrupt_while_waiting_for_input() {
    let folder = Folder::new();
    let mut child = folder.piped("label - --label-column kind -o out.csv --progress json");
    // Held open: waiting for a child closes its input, which would end the table.
    let input = child.stdin.take();
    wait_for(child.stderr.as_mut().unwrap(), "read");
    interrupt(&mut child);
    drop(input);
}
