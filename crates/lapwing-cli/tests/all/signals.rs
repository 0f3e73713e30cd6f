//! Ctrl-C and SIGTERM at any moment of any method: the program ends with its code and leaves nothing half done.
//!
//! How soon it ends depends on what else the machine does, so `cargo xtask bench signals` measures that. Here a run only must not go on.
//! `LAPWING_SIGNALS=1000 cargo test --release --workspace --test all signals` sends more.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::common::{Folder, Noise, npy};

/// Longer than an orderly end takes on any machine.
const HANG: Duration = Duration::from_secs(60);
/// The latest signal, in seconds after the program has begun to read.
const LATEST: f64 = 0.7;
const CLASSES: [usize; 5] = [3, 40, 300, 900, 2000];
const OUTPUTS: [&str; 3] = ["o.csv", "o.html", "o.model"];

fn n_signals() -> usize {
    std::env::var("LAPWING_SIGNALS").ok().and_then(|number| number.parse().ok()).unwrap_or(100)
}

/// Two rows or more of each class, of which one or five are labeled.
fn folder() -> Folder {
    let (folder, mut noise) = (Folder::new(), Noise(23));
    for c in CLASSES {
        let (n, d, given) = ((2 * c).max(500), 6, if c == 300 { 5 * c } else { c });
        let n = n.max(given + c);
        let centers: Vec<f64> = (0..c * d).map(|_| 9.0 * noise.next()).collect();
        let value = |at: usize| centers[(at / d) % c * d + at % d];
        folder.write(&format!("x{c}.npy"), npy(n, d, (0..n * d).map(|at| (value(at) + noise.next()) as f32)));
        folder.write(&format!("k{c}.csv"), (0..given).map(|row| format!("{row},k{}\n", row % c)).collect::<String>());
    }
    folder
}

/// The commands: each method, and what else takes long.
fn commands(folder: &Folder) -> Vec<String> {
    let methods = folder.ok("methods --json").json();
    let named = methods.as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap().to_owned());
    let mut commands: Vec<String> = named
        .map(|name| format!("label xC.npy --labels kC.csv --method {name} -o o.csv --model o.model --report o.html"))
        .collect();
    // Labels are hidden from these, so there must be two of a class.
    commands
        .extend(["compare x300.npy --labels k300.csv", "audit x300.npy --labels k300.csv -o o.csv"].map(str::to_owned));
    commands.push("suggest xC.npy --labels kC.csv -n 20 -o o.csv".into());
    commands
}

#[test]
fn every_run_ends_by_its_signal_and_leaves_nothing_half_done() {
    let (folder, mut noise) = (folder(), Noise(29));
    let (commands, inputs) = (commands(&folder), folder.names());
    let mut n_heard = 0;
    for at in 0..n_signals() {
        let turn = at / commands.len();
        let (signal, classes) = (["TERM", "INT"][at % 2], CLASSES[(at + turn) % CLASSES.len()]);
        let command = commands[at % commands.len()].replace('C', &classes.to_string());
        let command = format!("{command} --threads {} --progress json", 1 + turn % 2);
        let after = Duration::from_secs_f64(LATEST * noise.next().powi(2));
        let (code, words) = interrupted(&folder, &command, signal, after);
        let made: Vec<String> = folder.names().into_iter().filter(|name| !inputs.contains(name)).collect();
        assert!(made.iter().all(|name| OUTPUTS.contains(&name.as_str())), "{command}: {made:?}");
        // The signal comes too late if the work is done: then all outputs have their names.
        assert!(
            made.is_empty()
                || OUTPUTS.iter().all(|name| made.iter().any(|known| known == name) || !command.contains(name))
        );
        match code {
            Some(0) => assert!(!made.is_empty() || command.starts_with("compare"), "{command}: {words}"),
            Some(130) => assert!(words.contains("error: interrupted\n"), "{command}: {words}"),
            other => panic!("{command}: {other:?}, {words}"),
        }
        n_heard += usize::from(code == Some(130));
        made.iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap());
    }
    assert!(4 * n_heard > n_signals(), "{n_heard} runs were still at work");
}

/// Starts the program, sends a signal a while after it has begun to work, and waits for its end: code and standard error.
fn interrupted(folder: &Folder, command: &str, signal: &str, after: Duration) -> (Option<i32>, String) {
    let mut child = folder.command(command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let (begun, has_begun) = channel();
    let reader = std::thread::spawn(move || {
        let mut words = String::new();
        errors.read_line(&mut words).unwrap();
        begun.send(()).unwrap();
        errors.read_to_string(&mut words).unwrap();
        words
    });
    has_begun.recv().unwrap();
    std::thread::sleep(after);
    // A child that has ended keeps its number until it is waited for.
    Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    let code = ended(&mut child, command);
    (code, reader.join().unwrap())
}

fn ended(child: &mut Child, command: &str) -> Option<i32> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if since.elapsed() > HANG {
            child.kill().unwrap();
            panic!("{command} goes on after its signal");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The reader of the labels is stuck: nothing of the program can ask whether it is to stop.
#[test]
fn a_run_whose_reader_is_stuck_ends_and_removes_its_files() {
    let folder = folder();
    let command =
        "label x2000.npy --labels k2000.csv --method majority --probabilities -o - --model o.model --progress json";
    let mut child = folder.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let errors = BufReader::new(child.stderr.take().unwrap());
    // Nobody reads the labels, which are far more than a pipe holds.
    let mut lines = errors.lines();
    while !lines.next().unwrap().unwrap().contains(r#""phase":"write""#) {}
    std::thread::sleep(Duration::from_millis(300));
    let inputs = folder.names().into_iter().filter(|name| name.starts_with(['x', 'k'])).count();
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(ended(&mut child, command), Some(130));
    assert!(lines.any(|line| line.unwrap() == "error: interrupted"));
    assert_eq!(folder.names().len(), inputs, "{:?}", folder.names());
}
