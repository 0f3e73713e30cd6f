//! Runs of the program, each test in a folder of its own.
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder, and the program run inside it.
pub struct Folder(TempDir);

/// The result of a run of the program.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with a file of [`clouds`].
    pub fn with_clouds(name: &str, n_rows: usize, named: usize) -> Self {
        let folder = Self::new();
        folder.write(name, clouds(n_rows, named));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command of the program with arguments separated by spaces, not started yet.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lapwing"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("NO_COLOR", "1");
        command
    }

    /// A run whose input and errors are pipes of the caller.
    pub fn piped(&self, arguments: &str) -> Child {
        self.command(arguments).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A run that is killed as soon as it has written the file `checkpoint`.
    pub fn kill_after(&self, checkpoint: &str, arguments: &str) {
        let mut child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !self.path(checkpoint).exists() {
            assert!(child.try_wait().unwrap().is_none(), "ended before its first checkpoint");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "ended before it was killed");
    }

    pub fn run(&self, arguments: &str) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// A run that must succeed.
    pub fn ok(&self, arguments: &str) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments}: {ran:?}");
        ran
    }

    /// Standard error of a run that must fail with code 2.
    pub fn refused(&self, arguments: &str) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments}: {ran:?}");
        ran.stderr
    }

    /// The single line of a run that must fail with code 2, print nothing and leave no new file.
    pub fn error(&self, arguments: &str) -> String {
        let before = self.names();
        let ran = self.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments}: {ran:?}");
        let errors: Vec<&str> =
            ran.stderr.lines().filter(|line| !line.starts_with("warning: ") && !line.starts_with("hint: ")).collect();
        assert!(errors.len() == 1 && errors[0].starts_with("error: "), "{arguments}: {}", ran.stderr);
        assert_eq!(self.names(), before, "{arguments} left something behind");
        errors[0]["error: ".len()..].into()
    }

    /// Names of the files in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Sends Ctrl-C to a program, which must end by it within a second. That is counted in processor time of all its threads, which, unlike
/// the time on the clock, does not depend on what else the machine does.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn interrupt(child: &mut Child) {
    let id = child.id() as libc::pid_t;
    let before = processor_seconds(&std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap());
    // SAFETY: sends a signal to a child of ours that was not waited for.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
    // SAFETY: zero is a value of every field of this plain struct.
    let (mut status, mut used): (libc::c_int, libc::rusage) = (0, unsafe { std::mem::zeroed() });
    // SAFETY: the child is ours and nobody waits for it elsewhere; both pointers may be written to.
    assert_eq!(unsafe { libc::wait4(id, &mut status, 0, &mut used) }, id);
    assert_eq!(libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)), Some(130));
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    let spent = seconds(used.ru_utime) + seconds(used.ru_stime) - before;
    assert!(spent < 1.0, "{spent} s of processor time after the interrupt");
}

/// The processor time that `/proc/PID/stat` states: its 14th and 15th word, counted behind the name in parentheses.
#[cfg(target_os = "linux")]
fn processor_seconds(stat: &str) -> f64 {
    let words: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // SAFETY: asks for a constant of the system.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    words[11..13].iter().map(|word| word.parse::<f64>().unwrap()).sum::<f64>() / ticks
}

impl Ran {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Asserts that a message holds all of these parts.
#[track_caller]
pub fn assert_says(message: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(message.contains(part), "'{part}' is not in: {message}"));
}

/// Random numbers, the same in each run.
pub struct Noise(pub u64);

impl Noise {
    /// The next one, in [0, 1).
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A CSV table of three clouds with columns `x`, `y`, `kind`. Row i belongs to cloud i mod 3; the first `named` rows of each
/// cloud have a kind, the others none.
pub fn clouds(n_rows: usize, named: usize) -> String {
    let (mut noise, mut out) = (Noise(7), String::from("x,y,kind\n"));
    for row in 0..n_rows {
        let cloud = row % 3;
        let (x, y) = (4.0 * cloud as f64 + noise.next(), noise.next());
        let kind = if row / 3 < named { ["alder", "birch", "cedar"][cloud] } else { "" };
        out += &format!("{x},{y},{kind}\n");
    }
    out
}

/// A `.npy` file of f32 numbers.
pub fn npy(n_rows: usize, n_cols: usize, values: impl Iterator<Item = f32>) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n_rows}, {n_cols}), }}");
    let padded = format!("{header:<117}\n");
    let mut out = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    out.extend(padded.as_bytes());
    out.extend(values.flat_map(f32::to_le_bytes));
    out
}

/// Cuts a file to a share of its length.
pub fn truncate(path: &Path, share: f64) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
}
