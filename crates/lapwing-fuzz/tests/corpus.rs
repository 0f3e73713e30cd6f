//! Valid files, the files of `tests/corpus` and newly damaged files: each is read within its limits of time and memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lapwing_fuzz::mutate::{FORGED, Mutator, Parts};
use lapwing_fuzz::{Answer, Bench, TARGETS, Target, files_of, judge};

fn corpus(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(target.name)
}

/// Reads files in a process of their own, because an input may end it.
fn replayed(target: &Target, files: &[PathBuf]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fuzz")).arg("run").arg(target.name).args(files).output().unwrap()
}

/// A sentence about a failed run, with the input; `None` for success.
fn complaint(target: &Target, output: &Output) -> Option<String> {
    let words = String::from_utf8_lossy(&output.stdout);
    let last = words.lines().rfind(|line| line.starts_with("begin ")).unwrap_or("no input");
    let errors = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{}: {} at {last}\n{errors}", target.name, output.status))
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
        let kept =
            files_of(&corpus(target).join("valid")).unwrap().into_iter().map(|file| std::fs::read(file).unwrap());
        let seeds: Vec<Vec<u8>> = kept.chain((target.valid)(&bench).into_iter().map(|(_, bytes)| bytes)).collect();
        let fresh = (0..100).map(|seed| damaged(target, &seeds[seed % seeds.len()], seed as u64)).collect();
        let written = |prefix: &str, inputs: Vec<Vec<u8>>| -> Vec<PathBuf> {
            let path = |at: usize| folder.path().join(format!("{prefix}{at}-{}", target.file));
            let file = |(at, bytes): (usize, Vec<u8>)| std::fs::write(path(at), bytes).map(|()| path(at)).unwrap();
            inputs.into_iter().enumerate().map(file).collect()
        };
        let valid = replayed(target, &written("valid", seeds.clone()));
        let broken = replayed(target, &written("damaged", fresh));
        complaints.extend([&valid, &broken].into_iter().filter_map(|output| complaint(target, output)));
        assert!(2 * count(&valid, "accepted") > seeds.len(), "{}: most valid files are refused", target.name);
        // Changes make both: files that are refused, and files that are still accepted.
        let answers = ["refused", "accepted"].map(|answer| count(&broken, answer));
        assert!(answers.iter().all(|count| *count > 0), "{}: {answers:?} refused and accepted", target.name);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The number of inputs with this answer.
fn count(output: &Output, answer: &str) -> usize {
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| *line == answer).count()
}

/// A file with one to four changes.
fn damaged(target: &Target, bytes: &[u8], seed: u64) -> Vec<u8> {
    let (mut bytes, mut rng) = (bytes.to_vec(), fastrand::Rng::with_seed(seed));
    let mut blind = |bytes: &mut Vec<u8>| changed(&mut rng, bytes);
    let mut mutator = Mutator::new(seed, &mut blind);
    for _ in 0..1 + seed % 4 {
        (target.mutate)(&mut mutator, &mut bytes);
    }
    bytes
}

/// Changes one place: a bit, a number, or a part that goes, comes twice or is the last.
fn changed(rng: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return bytes.push(rng.u8(..));
    }
    let at = rng.usize(..bytes.len());
    let end = (at + rng.usize(1..9)).min(bytes.len());
    match rng.usize(..6) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.extend_from_within(at..end),
        2 => bytes.truncate(at),
        3 => bytes[at..end].fill(0xFF),
        _ => bytes[at] ^= 1 << rng.u32(..8),
    }
}

#[test]
fn every_number_of_a_model_of_every_kind_is_checked() {
    let bench = Bench::new().unwrap();
    let target = Target::named("forged-model").unwrap();
    let models = (target.valid)(&bench);
    assert!(models.len() > 12, "{}", models.len());
    let mut defects = Vec::new();
    for (kind, bytes) in &models {
        let (mut n_files, mut n_refused) = (0, 0);
        each_forged(&Parts::new(bytes).unwrap(), |what, file| match judge(&bench, target, &file) {
            Ok(answer) => {
                n_files += 1;
                n_refused += usize::from(answer == Answer::Refused);
            }
            Err(words) => defects.push(format!("{kind}, {what}: {words}")),
        });
        assert!(n_files > 40 && n_refused > 10, "{kind}: {n_refused} of {n_files} refused");
    }
    assert!(defects.is_empty(), "{} defects:\n{}", defects.len(), defects.join("\n"));
}

/// Calls `take` with files in which one number is forged, and with what that is: at the first, the middle and the last place of every
/// array, and at every place of the settings. The container is sound.
fn each_forged(parts: &Parts, mut take: impl FnMut(&str, Vec<u8>)) {
    let mut try_with = |what: &str, forge: &dyn Fn(&mut Parts)| {
        let mut other = parts.clone();
        forge(&mut other);
        take(what, other.sealed().unwrap());
    };
    for value in FORGED {
        for (at, array) in parts.arrays.iter().enumerate() {
            let n = array.n_values();
            let mut places: Vec<usize> =
                [0, n / 2, n.saturating_sub(1)].into_iter().filter(|place| *place < n).collect();
            places.dedup();
            for place in places {
                try_with(&format!("{}[{place}] = {value:?}", array.name), &|parts| parts.arrays[at].put(place, value));
            }
        }
        for place in parts.numbers() {
            try_with(&format!("{place} = {value:?}"), &|parts| parts.put(&place, value));
        }
    }
}
