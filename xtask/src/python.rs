//! Virtual environments of Python under `target/`, created at their first use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result, target};
use crate::system::provide;

const OLDEST: (u32, u32) = (3, 10);
const CANDIDATES: [&str; 7] =
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];

/// A virtual environment.
pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// The environment `target/venv-NAME`: that of an earlier run if it works, else a new one.
    pub fn kept(name: &str) -> Result<Self> {
        let venv = Self::named(name);
        let works = Call::new(venv.python()).args(["-m", "pip", "--version"]).read().is_ok();
        if works { Ok(venv) } else { Self::fresh(name) }
    }

    /// An empty environment `target/venv-NAME`.
    pub fn fresh(name: &str) -> Result<Self> {
        let venv = Self::named(name);
        if venv.folder.exists() {
            fs::remove_dir_all(&venv.folder)
                .map_err(|error| format!("cannot remove {}: {error}", venv.folder.display()))?;
        }
        let python = interpreter()?;
        ensure_venv_module(&python)?;
        Call::new(&python).args(["-m", "venv"]).args([&venv.folder]).quiet_stdout().run()?;
        Ok(venv)
    }

    fn named(name: &str) -> Self {
        Self { folder: target().join(format!("venv-{name}")) }
    }

    /// The Python interpreter of the environment.
    pub fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python")
    }

    /// A call of the interpreter that writes no bytecode files and ignores the user's packages.
    pub fn call(&self) -> Call {
        Call::new(self.python()).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONNOUSERSITE", "1")
    }

    /// `pip install ARGS`.
    pub fn install<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(&self, args: I) -> Result<()> {
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
        self.call().args(pip).args(args).quiet_stdout().run()
    }

    /// Whether a package is installed.
    pub fn has(&self, package: &str) -> bool {
        self.call().args(["-m", "pip", "show", "--quiet", package]).read().is_ok()
    }

    /// Installs a wheel and its requirements, replacing an earlier build of the same version.
    pub fn install_wheel(&self, wheel: &Path) -> Result<()> {
        self.install([wheel])?;
        self.install([Path::new("--force-reinstall"), Path::new("--no-deps"), wheel])
    }
}

/// The first interpreter on the search path that is new enough.
fn interpreter() -> Result<String> {
    let mut seen = Vec::new();
    for name in CANDIDATES {
        let script = "import sys; print(sys.version_info[0], sys.version_info[1])";
        let Ok(version) = Call::new(name).args(["-c", script]).read() else { continue };
        let mut numbers = version.split(' ').filter_map(|number| number.parse::<u32>().ok());
        let Some(version) = numbers.next().zip(numbers.next()) else { continue };
        if version >= OLDEST {
            return Ok(name.to_owned());
        }
        seen.push(format!("{name} is {}.{}", version.0, version.1));
    }
    let seen = if seen.is_empty() { "none was found".to_owned() } else { seen.join(", ") };
    Err(format!("Python {}.{} or newer is needed on the search path ({seen})", OLDEST.0, OLDEST.1))
}

/// Makes sure of the module `venv`, which Debian packages separately from Python.
fn ensure_venv_module(python: &str) -> Result<()> {
    let is_there = || Call::new(python).args(["-c", "import ensurepip, venv"]).read().is_ok();
    provide(&format!("{python} lacks the venv module"), &["python3-venv"], is_there)
}
