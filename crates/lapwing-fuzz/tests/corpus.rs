//! Valid files, the files of `tests/corpus` and newly damaged files: each is read within its limits of time and memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lapwing_fuzz::mutate::{Mutator, havoc, mutate};
use lapwing_fuzz::replay::{HANG, files_of};
use lapwing_fuzz::rng::Rng;
use lapwing_fuzz::{Bench, TARGETS, Target};

fn corpus(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(target.name)
}

/// Reads files in a process of their own, because an input may end it.
fn replayed(target: &Target, files: &[PathBuf]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fuzz")).arg("run").arg(target.name).args(files).output().unwrap()
}

/// A sentence about a failed run, with the input; `None` for success.
fn complaint(target: &Target, output: &Output) -> Option<String> {
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = words.lines().rfind(|line| line.starts_with("begin ")).unwrap_or("no input");
    match output.status.code() {
        Some(0) => None,
        Some(HANG) => Some(format!("{}: took more than 5 s: {last}", target.name)),
        Some(_) => Some(format!("{}: {}\n{words}", target.name, String::from_utf8_lossy(&output.stderr))),
        None => Some(format!("{}: the process was ended ({}): {last}", target.name, output.status)),
    }
}

#[test]
fn earlier_defects_stay_mended() {
    let mut complaints = Vec::new();
    for target in TARGETS {
        let files = files_of(&corpus(target)).unwrap();
        let output = replayed(target, &files);
        complaints.extend(complaint(target, &output));
        let count = String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with("begin ")).count();
        assert_eq!(count, files.len(), "{}", target.name);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn valid_files_are_accepted_and_damaged_ones_show_no_defect() {
    let (bench, folder) = (Bench::new().unwrap(), tempfile::tempdir().unwrap());
    let mut complaints = Vec::new();
    for target in TARGETS {
        let seeds = (target.seeds)(&bench);
        let fresh = (0..100).map(|seed| damaged(target, &seeds[seed % seeds.len()].1, seed as u64));
        let written = |prefix: &str, inputs: Vec<Vec<u8>>| -> Vec<PathBuf> {
            let path = |at: usize| folder.path().join(format!("{prefix}{at}-{}", target.file));
            let file = |(at, bytes): (usize, Vec<u8>)| std::fs::write(path(at), bytes).map(|()| path(at)).unwrap();
            inputs.into_iter().enumerate().map(file).collect()
        };
        let valid = replayed(target, &written("valid", seeds.iter().map(|seed| seed.1.clone()).collect()));
        let broken = replayed(target, &written("damaged", fresh.collect()));
        complaints.extend([&valid, &broken].into_iter().filter_map(|output| complaint(target, output)));
        assert!(2 * count(&valid, "accepted") > seeds.len(), "{}: most seeds are refused", target.name);
        // Mutations make both: files that are refused, and files that are still accepted.
        let answers = ["refused", "accepted"].map(|answer| count(&broken, answer));
        assert!(answers.iter().all(|count| *count > 0), "{}: {answers:?} refused and accepted", target.name);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The number of inputs with this answer.
fn count(output: &Output, answer: &str) -> usize {
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| *line == answer).count()
}

fn damaged(target: &Target, bytes: &[u8], seed: u64) -> Vec<u8> {
    let (mut bytes, mut rng) = (bytes.to_vec(), Rng::new(seed));
    let mut blind = |bytes: &mut Vec<u8>, most: usize| havoc(&mut rng, bytes, most);
    mutate(target, &mut Mutator::new(seed, target.most, &mut blind), &mut bytes);
    bytes
}

#[test]
fn a_defect_an_abort_and_a_hang_have_different_texts() {
    let target = &TARGETS[0];
    let output = |code: &str| Command::new("sh").arg("-c").arg(format!("echo begin x; {code}")).output().unwrap();
    assert_eq!(complaint(target, &output("exit 0")), None);
    assert!(complaint(target, &output("echo DEFECT; exit 1")).unwrap().contains("DEFECT"));
    assert!(complaint(target, &output(&format!("exit {HANG}"))).unwrap().contains("took more than 5 s: begin x"));
    assert!(complaint(target, &output("kill -ABRT $$")).unwrap().contains("was ended"));
}
