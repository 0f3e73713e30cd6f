//! Starting programs as ranks, whichever MPI is there, and not waiting for them without end.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longest that any of these jobs may take: far more than it needs, far less than a wait without end.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What a job left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A job that runs.
pub struct Job {
    child: Child,
    words: [JoinHandle<String>; 2],
    /// Where MPI keeps what is of this job: Open MPI's folder of a user fails in the second of two that make it at once.
    session: TempDir,
}

/// `program` as so many ranks on this machine, of which there may be more than processors; arguments are to follow.
pub fn mpirun(ranks: usize, program: &Path) -> Command {
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output().expect("mpirun is on the search path");
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        command.arg("--oversubscribe");
        if is_root() {
            command.arg("--allow-run-as-root");
        }
    }
    command.args(["-n", &ranks.to_string()]).arg(program).env("NO_COLOR", "1");
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| String::from_utf8_lossy(&id.stdout).trim() == "0")
}

/// Runs to the end, which must come soon.
pub fn run(command: &mut Command) -> Ran {
    Job::start(command).wait()
}

impl Job {
    pub fn start(command: &mut Command) -> Self {
        let session = tempfile::tempdir().unwrap();
        command.env("TMPDIR", session.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let words = [collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap())];
        Self { child, words, session }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn wait(mut self) -> Ran {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("still running after {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let [stdout, stderr] = self.words.map(|words| words.join().unwrap());
        Ran { code: status.code(), stdout, stderr }
    }
}

impl Ran {
    /// Lines of the program's own errors, among the words of mpirun.
    pub fn errors(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect()
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
