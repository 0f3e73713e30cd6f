//! Running other programs: no terminal input, and errors that name the command to repeat.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Errors are sentences for whoever ran the command.
pub type Result<T> = std::result::Result<T, String>;

/// A program about to be called from the root of the repository.
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

    /// `cargo SUBCOMMAND`, the cargo that runs us.
    pub fn cargo(subcommand: &str) -> Self {
        Self::new(cargo()).args([subcommand])
    }

    /// More arguments.
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    /// An environment variable for this call.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Another directory to run in.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Send what the program prints to stderr, so that stdout holds our result alone.
    pub fn quiet_stdout(mut self) -> Self {
        self.command.stdout(std::io::stderr());
        self
    }

    /// Run to the end.
    ///
    /// # Errors
    /// When the program cannot be started or ends with anything but success.
    pub fn run(mut self) -> Result<()> {
        let status = self.command.status().map_err(|error| self.cannot_start(&error))?;
        if status.success() { Ok(()) } else { Err(format!("{status} from `{}`", self.line())) }
    }

    /// Run to the end and return what the program printed, trimmed; its stderr is shown only in the error.
    ///
    /// # Errors
    /// As [`Call::run`].
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

/// The cargo that runs us, else the one on the search path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Where cargo builds, and where everything else goes that a command makes.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
