//! Limits of the system, and files that change under the program: an error that says so, and no output that is not whole.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, Noise, Ran, assert_says, clouds, npy};

/// A run in a shell with limits, such as `ulimit -v 60000`.
fn limited(folder: &Folder, limits: &str, arguments: &str) -> Ran {
    let script = format!("{limits}; exec {} {arguments}", env!("CARGO_BIN_EXE_lapwing"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.path(".")).env("NO_COLOR", "1").stdin(Stdio::null());
    Ran::from(command.output().unwrap())
}

/// A table, labels, an array of clouds and the edges between its rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", clouds(300, 5));
    let mut noise = Noise(5);
    let (n, d) = (1500, 20);
    let cloud = |at: usize| if at.is_multiple_of(d) { (4 * (at / d % 3)) as f32 } else { 0.0 };
    folder.write("x.npy", npy(n, d, (0..n * d).map(|at| cloud(at) + noise.next() as f32)));
    folder.write("k.csv", (0..30).map(|row| format!("{row},{}\n", ["a", "b", "c"][row % 3])).collect::<String>());
    folder.ok("graph x.npy -o e.npz");
    folder.ok("label t.csv --label-column kind -o m.csv --model m");
    folder
}

/// Commands with every kind of output, each of which needs more than 1 KiB.
const WRITERS: [&str; 14] = [
    "label t.csv --label-column kind --probabilities -o o.csv",
    "label t.csv --label-column kind --probabilities -o o.npy",
    "label t.csv --label-column kind --probabilities -o o.parquet",
    "label t.csv --label-column kind --keep all -o o.csv",
    "label t.csv --label-column kind -o o.csv --model o.model",
    "label t.csv --label-column kind -o o.csv --report o.html",
    "label x.npy --labels k.csv --method low-rank -o o.npy",
    "label t.csv --label-column kind -o o.csv --save-graph o.npz",
    "predict m t.csv -o o.csv",
    "graph x.npy -o o.npz",
    "graph x.npy -o o.csv",
    "graph x.npy -o o.parquet",
    "sparsify e.npz --edge-budget 4k -o o.npz",
    "audit t.csv --label-column kind --report o.html",
];

#[test]
fn no_writer_leaves_a_part_where_files_are_limited() {
    let folder = folder();
    let before = folder.names();
    for arguments in WRITERS {
        let ran = limited(&folder, "ulimit -f 1", arguments);
        assert_eq!(ran.code, Some(2), "{arguments}: {ran:?}");
        assert_says(&ran.stderr, &["error: ", "File too large"]);
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

#[test]
fn what_replaces_a_private_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    for arguments in WRITERS {
        let outputs: Vec<&str> = arguments.split(' ').filter(|word| word.starts_with("o.")).collect();
        for output in &outputs {
            folder.write(output, "older");
            std::fs::set_permissions(folder.path(output), std::fs::Permissions::from_mode(0o4600)).unwrap();
        }
        folder.ok(arguments);
        for output in outputs {
            let mode = folder.path(output).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{arguments}: {output}");
            std::fs::remove_file(folder.path(output)).unwrap();
        }
    }
}

#[test]
fn without_memory_every_method_ends_with_an_error() {
    let folder = folder();
    let before = folder.names();
    let methods: Vec<String> = folder
        .ok("methods")
        .stdout
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(name, _)| name.into())
        .collect();
    assert!(methods.len() > 15, "{methods:?}");
    let mut n_refused = 0;
    for method in &methods {
        for kilobytes in [45_000, 55_000, 65_000, 90_000] {
            let arguments =
                format!("label x.npy --labels k.csv --method {method} -o o.csv --model o.model --threads 2 -q");
            let ran = limited(&folder, &format!("ulimit -c 0; ulimit -v {kilobytes}"), &arguments);
            match ran.code {
                Some(0) => {
                    ["o.csv", "o.model"].iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap())
                }
                Some(2) => n_refused += 1,
                _ => panic!("{method}, {kilobytes} kB: {ran:?}"),
            }
            let errors = ran.stderr.lines().filter(|line| line.starts_with("error: ")).count();
            assert_eq!(errors, usize::from(ran.code == Some(2)), "{method}, {kilobytes} kB: {}", ran.stderr);
            assert_eq!(folder.names(), before, "{method}, {kilobytes} kB");
        }
    }
    assert!(n_refused > 0, "no limit was too low");
}

#[test]
fn an_array_that_is_cut_short_while_it_is_used_is_named() {
    let folder = folder();
    let (n, d) = (50_000, 8);
    for (method, output) in [("nearest-label", "o.csv"), ("linear", "o.npy")] {
        folder.write("big.npy", npy(n, d, (0..n * d).map(|at| (at % 1009) as f32)));
        let fifo = folder.path("labels");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let before = folder.names();
        let arguments = format!("label big.npy --labels labels --method {method} -o {output}");
        let child = folder.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The array is mapped before the labels are asked for, and used after that.
        let mut labels = std::fs::File::options().write(true).open(&fifo).unwrap();
        std::fs::File::options().write(true).open(folder.path("big.npy")).unwrap().set_len(100_000).unwrap();
        labels.write_all(b"0,a\n1,b\n2,a\n").unwrap();
        drop(labels);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(2), "{method}: {ran:?}");
        assert_says(&ran.stderr, &["error: big.npy: ", "cut short"]);
        assert_eq!(folder.names(), before, "{method}");
        std::fs::remove_file(fifo).unwrap();
    }
}

#[test]
fn two_outputs_do_not_come_to_one_place() {
    let folder = folder();
    let before = folder.names();
    std::os::unix::fs::symlink("/dev/stdout", folder.path("link")).unwrap();
    let label = "label t.csv --label-column kind";
    for (arguments, redirected) in [
        (format!("{label} -o - --model /dev/stdout"), "> all"),
        (format!("{label} -o - --model /dev/stdout"), "| cat > all"),
        (format!("{label} -o - --model /dev/fd/1"), "> all"),
        (format!("{label} -o /dev/stdout --model /proc/self/fd/1"), "| cat > all"),
        (format!("{label} -o - --report link"), "> all"),
        (format!("{label} -o o.csv --model /dev/stdout"), "| cat > all"),
        (format!("{label} -o /dev/fd/3 --model /dev/fd/3"), "3>&1 | cat > all"),
        (format!("{label} -o - --model /dev/fd/3"), "3>&1 | cat > all"),
        (format!("{label} -o /dev/fd/3"), "3>&1 | cat > all"),
        (format!("{label} -o /dev/stdout --json"), "| cat > all"),
        (format!("{label} -o all.csv"), "> all.csv"),
        ("graph x.npy -o - --report /dev/stdout".into(), "> all"),
        ("predict m t.csv -o /dev/fd/1 --json".into(), "> all"),
    ] {
        let script = format!("({} {arguments}; echo $? > code) {redirected}", env!("CARGO_BIN_EXE_lapwing"));
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(folder.read("code"), "2\n", "{arguments} {redirected}: {words}");
        assert!(words.starts_with("error: ") && words.lines().count() == 1, "{arguments} {redirected}: {words}");
        for name in ["all", "all.csv"].iter().filter(|name| folder.path(name).exists()) {
            assert_eq!(folder.read(name), "", "{arguments} {redirected}");
            std::fs::remove_file(folder.path(name)).unwrap();
        }
        std::fs::remove_file(folder.path("code")).unwrap();
    }
    // One output on standard output, by any of its names, is alone there: the summary goes to standard error.
    let plain = folder.ok(&format!("{label} -o -")).stdout;
    for name in ["/dev/stdout", "/dev/fd/1", "link"] {
        assert_eq!(folder.ok(&format!("{label} -o {name}")).stdout, plain, "{name}");
    }
    folder.ok(&format!("{label} -o /dev/null --model /dev/null"));
    std::fs::remove_file(folder.path("link")).unwrap();
    assert_eq!(folder.names(), before);
}

/// Whether a text holds what a terminal obeys, beside ends of lines.
fn steers(text: &str) -> bool {
    let turns = |c: char| ('\u{202A}'..='\u{202E}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
    text.chars().any(|c| c != '\n' && (c.is_control() || turns(c)))
}

#[test]
fn no_name_steers_the_terminal() {
    let folder = folder();
    let bad = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}b\u{9b}31m\u{7f}";
    let table =
        clouds(90, 3).replace("x,y,kind", &format!("x{bad},y,kind{bad}")).replace("alder", &format!("alder{bad}"));
    folder.write(&format!("{bad}.csv"), &table);
    folder.write(&format!("broken{bad}.csv"), format!("x{bad},y\n1,{bad}\n2,3,4\n"));
    folder.write("cells.csv", table.replacen(&format!("kind{bad}"), "kind", 1).replacen("0.", &format!("{bad}0."), 3));
    let word = |arguments: &str| -> Vec<String> { arguments.split(' ').map(|word| word.replace('@', bad)).collect() };
    for arguments in [
        "label @.csv --label-column kind@ -o o@.csv",
        "label @.csv --label-column kind@ -o o@.csv --json",
        "label @.csv --label-column kind@ -o o@.csv --model o@.model --report o@.html --verbose",
        "label @.csv --label-column none@ -o o.csv",
        "label @.csv --label-column kind@ -o none@/o.csv",
        "label @.csv --label-column kind@ -o o.csv --method @",
        "label @.csv --label-column kind@ -o o.csv --@ 3",
        "label cells.csv --label-column kind -o o.csv --progress json",
        "label cells.csv --label-column kind -o o.csv --prepare off",
        "label none@.csv --label-column kind -o o.csv",
        "label broken@.csv --label-column y -o o.csv",
        "label t.csv --label-column kind --drop none@ -o o.csv",
        "label t.csv --labels broken@.csv -o o.csv",
        "describe @.csv",
        "describe @.csv --label-column kind@ --json",
        "audit @.csv --label-column kind@",
        "suggest @.csv --label-column kind@ -o s.csv",
        "compare @.csv --label-column kind@ --methods majority,nearest-label",
        "predict m @.csv -o o.csv",
        "predict @.csv t.csv -o o.csv",
        "graph @.csv --label-column kind@ -o o.csv",
        "sparsify @.csv -o o.csv",
    ] {
        let output = folder.command("").args(word(arguments)).output().unwrap();
        let ran = Ran::from(output);
        assert!(!steers(&ran.stdout) && !steers(&ran.stderr), "{arguments}: {:?} {:?}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{arguments}");
        if arguments.ends_with("--json") {
            assert!(ran.json()["command"].is_string(), "{arguments}");
        }
    }
    assert!(!steers(&folder.read(&format!("o{bad}.html")).replace(['\t', '\r'], "")));
}

#[test]
fn rows_that_memory_does_not_hold_are_fitted_in_part() {
    let folder = Folder::new();
    let (mut noise, n, d) = (Noise(3), 60_000, 16);
    let cloud = |at: usize| if at % d == at / d % 3 { 4.0 } else { 0.0 };
    folder.write("x.npy", npy(n, d, (0..n * d).map(|at| cloud(at) + noise.next() as f32)));
    folder.write("k.csv", (0..60).map(|row| format!("{row},{}\n", ["a", "b", "c"][row % 3])).collect::<String>());
    let run = "label x.npy --labels k.csv --method harmonic --threads 1 -o o.csv";
    let ran = limited(&folder, "ulimit -v 150000", run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_says(
        &ran.stderr,
        &["a fit of all 60,000 rows needs up to", "rows are fitted, and all are labeled by the model"],
    );
    assert_eq!(folder.read("o.csv").lines().count(), n + 1);
}
