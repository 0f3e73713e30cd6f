//! `lapwing-mpi label` and `predict`: any number of ranks writes the bytes of one process, and a job that lost a
//! rank writes no output.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Job, PATIENCE, alone, mpirun, names, program, ranks};
use tempfile::TempDir;

fn read(folder: &TempDir, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

/// 5,000 rows in two groups, with a few labels: five blocks, fewer than some jobs have ranks.
fn table(folder: &TempDir) {
    let row = |row: usize| {
        let noise = |salt: usize| ((row * 7919 + salt * 104_729) % 1009) as f64 / 1009.0;
        let group = (row % 2) as f64;
        format!(
            "{:?},{:?},{}\n",
            group + noise(1),
            2.0 * group + noise(2),
            if row < 20 { ["a", "b"][row % 2] } else { "" }
        )
    };
    let rows: String = (0..5000).map(row).collect();
    std::fs::write(folder.path().join("table.csv"), format!("x,y,kind\n{rows}")).unwrap();
}

#[test]
fn any_number_of_ranks_writes_the_bytes_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    table(&folder);
    for (method, ending) in [
        ("low-rank --n-landmarks 12", "npy"),
        ("nystrom --n-landmarks 12", "csv"),
        ("anchor --n-landmarks 12", "parquet"),
        ("nystrom --keep kind,x --n-landmarks 12", "csv"),
        ("nystrom --fit-rows 900 --n-landmarks 12", "npy"),
        ("glnp --n-landmarks 12", "npy"),
        ("glnp --fit-rows 900 --n-landmarks 12", "npy"),
        ("harmonic --fit-rows 900", "csv"),
        ("auto --fit-rows 900", "npy"),
        ("linear --fit-rows 900 --decision sizes --class-prior 0.5,0.5", "csv"),
    ] {
        let run = format!("label table.csv --label-column kind --method {method} --probabilities");
        let ran = alone(&folder, &format!("{run} -o one.{ending} --model one.model"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let ran = alone(&folder, &format!("predict one.model table.csv -o new.{ending} --probabilities"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let predicted = read(&folder, &format!("new.{ending}"));
        for n in [1, 2, 3, 4, 16] {
            let ran = ranks(n, &folder, &format!("{run} -o many.{ending} --model many.model"));
            assert_eq!(ran.code, Some(0), "{method}, {n} ranks: {ran:?}");
            assert_eq!(ran.stdout.matches("labels written to").count(), 1, "{ran:?}");
            let (one, many) = (read(&folder, &format!("one.{ending}")), read(&folder, &format!("many.{ending}")));
            assert!(one == many, "{method}, {n} ranks: other labels");
            assert!(read(&folder, "one.model") == read(&folder, "many.model"), "{method}, {n} ranks: another model");
            let ran = ranks(n, &folder, &format!("predict one.model table.csv -o many.{ending} --probabilities"));
            assert_eq!(ran.code, Some(0), "{method}, {n} ranks: {ran:?}");
            assert!(predicted == read(&folder, &format!("many.{ending}")), "{method}, {n} ranks: other predictions");
            std::fs::remove_file(folder.path().join(format!("many.{ending}"))).unwrap();
        }
    }
}

/// Parts of a table are read from the start of the first one.
#[test]
fn tables_that_are_read_from_their_start_are_labeled_alike() {
    let folder = tempfile::tempdir().unwrap();
    table(&folder);
    let text = String::from_utf8(read(&folder, "table.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    for (name, rows) in [("a.csv", &lines[1..3000]), ("b.csv", &lines[3000..])] {
        std::fs::write(folder.path().join("parts").join(name), format!("{}\n{}\n", lines[0], rows.join("\n"))).unwrap();
    }
    let run = "label parts --label-column kind --method anchor --n-landmarks 12 --keep all";
    assert_eq!(alone(&folder, &format!("{run} -o one.csv")).code, Some(0));
    let ran = ranks(3, &folder, &format!("{run} -o many.csv"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(read(&folder, "one.csv") == read(&folder, "many.csv"));
}

#[test]
fn bad_values_are_named_once_in_any_rank() {
    let folder = tempfile::tempdir().unwrap();
    table(&folder);
    let text = String::from_utf8(read(&folder, "table.csv")).unwrap();
    let bad: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 4501 { "1,nan,\n".into() } else { format!("{line}\n") })
        .collect();
    std::fs::write(folder.path().join("bad.csv"), bad).unwrap();
    let run = "label bad.csv --label-column kind --prepare none --method low-rank --n-landmarks 5 -o out.csv";
    let ran = ranks(3, &folder, run);
    let errors = ran.errors();
    let says = "bad.csv: 1 column with missing or infinite values: 'y' (1 of 5000 rows, first NaN in line 4502)";
    assert!(errors.len() == 1 && errors[0].contains(says), "{ran:?}");
    assert_eq!((ran.code, names(&folder)), (Some(2), vec!["bad.csv".into(), "table.csv".into()]));
}

/// The ranks of a job: the children of mpirun.
fn children(job: &Job) -> Vec<u32> {
    let out = Command::new("pgrep").args(["-P", &job.id().to_string()]).output().unwrap();
    String::from_utf8_lossy(&out.stdout).lines().filter_map(|line| line.trim().parse().ok()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_job_that_lost_a_rank_is_resumed_by_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        "label generated:600000x80x4 --labels generated:5 --method nystrom --n-landmarks 80 --select off --threads 1";
    assert_eq!(alone(&folder, &format!("{run} -o whole.npy")).code, Some(0));
    let arguments = format!("{run} -o out.npy --checkpoint sums");
    let job = Job::start(mpirun(2, program()).args(arguments.split_whitespace()).current_dir(folder.path()));
    let start = Instant::now();
    while !folder.path().join("sums").exists() || !folder.path().join("sums.1").exists() {
        assert!(start.elapsed() < PATIENCE, "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ranks_of_job = children(&job);
    let last = ranks_of_job.last().expect("mpirun starts ranks as its children");
    Command::new("kill").args(["-KILL", &last.to_string()]).status().unwrap();
    let ran = job.wait();
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(!folder.path().join("out.npy").exists());

    let resumed = ranks(3, &folder, &arguments);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(read(&folder, "whole.npy") == read(&folder, "out.npy"));
    // The resumed job has replaced the unfinished files of the lost one.
    assert_eq!(names(&folder), ["out.npy", "whole.npy"]);
}
