//! What the program tells of its memory against what the system counted. Alone in its test program: Linux hands the peak of the
//! process that starts another one on to it.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "this program uses a part of it")]
#[path = "all/common/mod.rs"]
mod common;

use std::process::Stdio;

use common::{Folder, npy};
use serde_json::Value;

/// Bytes that the system counted at most for a child that is waited for here.
fn peak_bytes(child: &std::process::Child) -> u64 {
    // SAFETY: zero is a value of every field of this plain struct.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and nobody waits for it elsewhere; both pointers may be written to or are null.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, std::ptr::null_mut(), 0, &mut used) };
    assert_eq!(waited, child.id() as libc::pid_t);
    1024 * used.ru_maxrss as u64
}

#[test]
#[allow(clippy::zombie_processes, reason = "the child is waited for by wait4")]
fn the_peak_memory_is_that_of_the_system() {
    let folder = Folder::new();
    let (n, d) = (40_000, 40);
    folder.write("rows.npy", npy(n, d, (0..n * d).map(|at| (at * 101 % 1009) as f32)));
    folder.write("labels.csv", "row,label\n0,a\n1,b\n2,a\n3,b\n");
    let run = "label rows.npy --labels labels.csv -o out.npy --json --method eigenfunction";
    let told = std::fs::File::create(folder.path("told.json")).unwrap();
    let child = folder.command(run).stdout(told).stderr(Stdio::null()).spawn().unwrap();
    let counted = peak_bytes(&child);
    let told: Value = serde_json::from_str(&folder.read("told.json")).unwrap();
    let told = told["peak_bytes"].as_u64().unwrap();
    // The program looks a little before it ends, and the system counts in batches of pages.
    assert!(told.abs_diff(counted) < 2 << 20, "the program tells {told}, the system counts {counted}");
}
