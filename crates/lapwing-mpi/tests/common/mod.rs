//! Starts programs as ranks under any MPI, and waits for them up to a time limit.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The longest time of a job: far more than it needs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The result of a job.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A running job.
pub struct Job {
    child: Child,
    words: [JoinHandle<String>; 2],
    /// A folder for the files of MPI. Two jobs that make Open MPI's default folder at the same time fail.
    session: TempDir,
}

/// A command for `program` in several ranks on this machine, possibly more than processors; without arguments.
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

/// The program `lapwing-mpi`.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_lapwing-mpi"))
}

/// A run of the program in `n` ranks, with arguments separated by spaces.
pub fn ranks(n: usize, folder: &TempDir, arguments: &str) -> Ran {
    run(mpirun(n, program()).args(arguments.split_whitespace()).current_dir(folder.path()))
}

/// A run of the program without mpirun, with arguments separated by spaces.
pub fn alone(folder: &TempDir, arguments: &str) -> Ran {
    run(Command::new(program()).args(arguments.split_whitespace()).current_dir(folder.path()))
}

/// Names of the files in a folder, sorted.
pub fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs a command to its end, within the time limit.
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

    /// Number of the process.
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
    /// Lines with errors of the program, among the output of mpirun.
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
