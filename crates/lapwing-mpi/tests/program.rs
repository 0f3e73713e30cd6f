//! The program `lapwing-mpi`: a single process behaves as `lapwing`; several ranks print once, have one exit code, and
//! leave no files behind when they fail.

mod common;

use std::process::Command;

use common::{Job, alone, mpirun, names, program, ranks};
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let row =
        |row: usize| format!("{},{},{}\n", row % 3, row % 7, ["", "", "a", "b"][(row < 6) as usize * 2 + row % 2]);
    let table: String = (0..90).map(row).collect();
    std::fs::write(folder.path().join("table.csv"), format!("x,y,kind\n{table}")).unwrap();
    folder
}

#[test]
fn one_process_labels_with_and_without_mpirun() {
    let folder = folder();
    for (ran, out) in [
        (alone(&folder, "label table.csv --label-column kind -k 3 -o alone.csv"), "alone.csv"),
        (ranks(1, &folder, "label table.csv --label-column kind -k 3 -o one.csv"), "one.csv"),
    ] {
        assert_eq!(ran.code, Some(0), "{out}: {ran:?}");
        assert!(ran.stdout.contains("labels written to"), "{ran:?}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("alone.csv").lines().count(), 91);
    assert_eq!(read("alone.csv"), read("one.csv"));
}

#[test]
fn help_and_version_are_printed_once() {
    let folder = folder();
    for (arguments, text) in [("--help", "Usage:"), ("label --help", "Usage:"), ("--version", "lapwing ")] {
        let ran = ranks(3, &folder, arguments);
        assert_eq!((ran.code, ran.stdout.matches(text).count()), (Some(0), 1), "{arguments}: {ran:?}");
    }
}

#[test]
fn refusals_are_printed_once() {
    let folder = folder();
    for (arguments, text) in [
        ("label table.csv --label-column kind --no-such-option", "unexpected argument"),
        ("label table.csv -o out.csv", "no labels: "),
        ("label table.csv --label-column kind -o out.csv", "--method auto runs in one process"),
        ("demo", "only label and predict run across ranks"),
        ("completions bash", "only label and predict run across ranks"),
    ] {
        let ran = ranks(3, &folder, arguments);
        let errors = ran.errors();
        assert!(errors.len() == 1 && errors[0].contains(text), "{arguments}: {ran:?}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments}: {ran:?}");
    }
    assert_eq!(names(&folder), ["table.csv"]);
}

#[cfg(unix)]
#[test]
fn signals_to_mpirun_end_the_work_and_leave_nothing() {
    for signal in ["-INT", "-TERM"] {
        let folder = folder();
        let n = 40_000;
        let row =
            |row: usize| (0..40).map(|at| format!("{}", (row * 7919 + at * row * 104_729) % 1009)).collect::<Vec<_>>();
        let table: String = (0..n).map(|at| row(at).join(",") + "\n").collect();
        std::fs::write(folder.path().join("big.csv"), table).unwrap();
        std::fs::write(folder.path().join("labels.csv"), "0,a\n1,b\n").unwrap();
        let arguments = "label big.csv --labels labels.csv --knn-method exact -k 200 -o out.csv --model model";
        let job = Job::start(mpirun(1, program()).args(arguments.split_whitespace()).current_dir(folder.path()));
        std::thread::sleep(std::time::Duration::from_secs(2));
        Command::new("kill").args([signal, &job.id().to_string()]).status().unwrap();
        let ran = job.wait();
        assert_ne!(ran.code, Some(0), "{signal}: {ran:?}");
        assert_eq!(names(&folder), ["big.csv", "labels.csv", "table.csv"], "{signal}");
    }
}
