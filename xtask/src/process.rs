//! Starting other programs, without input from the terminal; errors name the command to repeat.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Errors are sentences for the user of the command.
pub type Result<T> = std::result::Result<T, String>;

/// A call of a program, in the root of the repository.
pub struct Call {
    command: Command,
}

impl Call {
    /// `program`, without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.current_dir(root()).stdin(Stdio::null());
        Self { command }
    }

    /// `cargo SUBCOMMAND`, with the cargo that started this program.
    pub fn cargo(subcommand: &str) -> Self {
        Self::new(cargo()).args([subcommand])
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable of the call.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Another folder to run in.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sends the program's output to stderr, so that stdout holds only the result of this command.
    pub fn quiet_stdout(mut self) -> Self {
        self.command.stdout(std::io::stderr());
        self
    }

    /// Runs the program to its end.
    pub fn run(mut self) -> Result<()> {
        let status = self.command.status().map_err(|error| self.cannot_start(&error))?;
        if status.success() { Ok(()) } else { Err(format!("{status} from `{}`", self.line())) }
    }

    /// Runs the program to its end and returns its output, trimmed; its stderr is shown in the error only.
    pub fn read(mut self) -> Result<String> {
        let output = self.command.output().map_err(|error| self.cannot_start(&error))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} from `{}`\n{}", output.status, self.line(), words.trim_end()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn cannot_start(&self, error: &std::io::Error) -> String {
        format!("cannot start `{}`: {error}", self.line())
    }

    fn line(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// Whether an option asks for help.
pub fn is_help(option: &&str) -> bool {
    ["-h", "--help"].contains(option)
}

/// Runs a command instead of this program and returns its exit code.
pub fn replaced_by(command: &mut Command) -> ExitCode {
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("xtask: cannot start {}: {error}", command.get_program().to_string_lossy());
            ExitCode::FAILURE
        }
    }
}

/// The file of this program, which other programs call instead of cargo or rustc.
pub fn own_file() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| format!("the path of this program is unknown: {error}"))
}

/// The cargo that started this program, else the one on the search path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The folder in which cargo builds; all other files that commands create are there too.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
