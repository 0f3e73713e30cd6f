//! The program killed at any moment: what it leaves is whole, and the same command ends with the same bytes.
//!
//! Each job is killed a few times; `LAPWING_KILLS=200 cargo test --release -p lapwing-cli --test all kills` kills as often in all.
#![cfg(unix)]

use std::time::{Duration, Instant};

use crate::common::{Folder, Noise, npy};

/// Kills of all jobs together.
fn n_kills() -> usize {
    std::env::var("LAPWING_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(8)
}

/// What is done again and again.
struct Job {
    arguments: &'static str,
    /// Files that it writes.
    outputs: &'static [&'static str],
    checkpoint: Option<&'static str>,
}

const JOBS: [Job; 5] = [
    Job {
        arguments: "label rows.npy --labels k.csv -o o.csv --model o.model",
        outputs: &["o.csv", "o.model"],
        checkpoint: None,
    },
    Job {
        arguments: "sparsify edges.npy --nodes 20000 --edge-budget 40k -o s.npz --checkpoint s.part",
        outputs: &["s.npz"],
        checkpoint: Some("s.part"),
    },
    Job {
        arguments: "label rows.npy --labels k.csv --method low-rank -o l.npy --model l.model --checkpoint l.part",
        outputs: &["l.npy", "l.model"],
        checkpoint: Some("l.part"),
    },
    Job {
        arguments: "label rows.npy --labels k.csv --method harmonic --fit-rows 2k -o f.csv --checkpoint f.part",
        outputs: &["f.csv"],
        checkpoint: Some("f.part"),
    },
    Job {
        arguments: "label --graph edges.npy --labels k.csv --method sparse-harmonic --nodes 20000 --edge-budget 40k -o h.npy --checkpoint h.part",
        outputs: &["h.npy"],
        checkpoint: Some("h.part"),
    },
];

/// Rows in a few clouds, and edges between nodes whose numbers are near.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut noise = Noise(11);
    let (n, d) = (20_000, 8);
    let cell = |at: usize| (4 * ((at / d) % 3)) as f32;
    folder.write("rows.npy", npy(n, d, (0..n * d).map(|at| cell(at) + 3.0 * noise.next() as f32)));
    let m = 400_000;
    let mut ends = Vec::with_capacity(2 * m);
    for _ in 0..m {
        let u = (noise.next() * n as f64) as usize;
        ends.extend([u as f32, ((u + 1 + (noise.next() * 60.0) as usize) % n) as f32]);
    }
    folder.write("edges.npy", npy(m, 2, ends.into_iter()));
    folder.write("k.csv", "0,a\n1,b\n2,c\n3,a\n4,b\n5,c\n");
    folder
}

#[test]
fn a_killed_run_leaves_whole_files_and_goes_on_to_the_same_bytes() {
    let (folder, mut noise) = (folder(), Noise(u64::from(std::process::id())));
    let mut n_left = n_kills();
    for (at, job) in JOBS.iter().enumerate() {
        let own = n_left / (JOBS.len() - at);
        n_left -= own;
        let start = Instant::now();
        folder.ok(job.arguments);
        let lasts = start.elapsed();
        let read = |name: &str| std::fs::read(folder.path(name)).ok();
        let expected: Vec<Vec<u8>> = job.outputs.iter().map(|name| read(name).unwrap()).collect();
        let mut killed = 0;
        while killed < own {
            job.outputs.iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap());
            // A checkpoint shortens what is left, so that every second run begins anew.
            if let Some(checkpoint) = job.checkpoint.filter(|_| killed % 2 == 0) {
                let _ = std::fs::remove_file(folder.path(checkpoint));
            }
            killed += usize::from(kill(&folder, job.arguments, lasts.mul_f64(noise.next())));
            for (name, expected) in job.outputs.iter().zip(&expected) {
                assert!(read(name).is_none_or(|found| found == *expected), "{name} is not whole");
            }
            folder.ok(job.arguments);
            for (name, expected) in job.outputs.iter().zip(&expected) {
                assert!(read(name).as_ref() == Some(expected), "{name} has other bytes after a kill");
            }
            assert!(job.checkpoint.is_none_or(|name| !folder.path(name).exists()), "{}", job.arguments);
        }
    }
}

/// Starts the program and kills it after a while; whether it was still running then.
fn kill(folder: &Folder, arguments: &str, after: Duration) -> bool {
    let mut child = folder.command(arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}
