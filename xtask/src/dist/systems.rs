//! The systems for which releases are built, and compilers for those that this machine is not.

use crate::process::{Call, Result, root};
use crate::python::Venv;

/// The C compiler and linker for other systems, the cargo that uses it, and the program that makes wheels. The workflows and this
/// machine take the same versions.
const TOOLS: [&str; 4] = ["ziglang==0.17.*", "cargo-zigbuild>=0.24,<1", "maturin>=1.16,<2", "auditwheel>=6.8,<7"];

/// A system for which releases are built.
pub struct System {
    /// The triple of Rust.
    pub name: &'static str,
    /// Name of the Python platform that wheels state, on Linux.
    pub platform: Option<&'static str>,
    /// Version of the C library, if files for it are linked by zig.
    c_library: Option<&'static str>,
}

/// All systems. glibc 2.17 is the oldest with which Rust's standard library works; every NumPy that is supported needs it too.
pub const SYSTEMS: [System; 7] = [
    System { name: "x86_64-unknown-linux-gnu", platform: Some("manylinux_2_17"), c_library: Some(".2.17") },
    System { name: "aarch64-unknown-linux-gnu", platform: Some("manylinux_2_17"), c_library: Some(".2.17") },
    System { name: "x86_64-unknown-linux-musl", platform: Some("musllinux_1_2"), c_library: Some("") },
    System { name: "aarch64-unknown-linux-musl", platform: Some("musllinux_1_2"), c_library: Some("") },
    System { name: "x86_64-apple-darwin", platform: None, c_library: None },
    System { name: "aarch64-apple-darwin", platform: None, c_library: None },
    System { name: "x86_64-pc-windows-msvc", platform: None, c_library: None },
];

impl System {
    /// The system of this machine.
    pub fn own() -> Result<Self> {
        Self::named(&host()?)
    }

    /// The system with a triple.
    pub fn named(name: &str) -> Result<Self> {
        let known = SYSTEMS.into_iter().find(|system| system.name == name);
        let names = SYSTEMS.map(|system| system.name).join(", ");
        known.ok_or_else(|| format!("no releases are built for {name:?}; there are: {names}"))
    }

    /// Whether files for it are linked by zig.
    pub fn takes_zig(&self) -> bool {
        self.c_library.is_some()
    }

    /// Whether it is Windows.
    pub fn is_windows(&self) -> bool {
        self.name.contains("windows")
    }

    /// The target for cargo-zigbuild: the triple, with the version of the C library.
    pub fn with_c_library(&self) -> String {
        format!("{}{}", self.name, self.c_library.unwrap_or_default())
    }

    /// Makes sure of Rust's standard library for the system.
    pub fn ensure_library(&self) -> Result<()> {
        ensure_library(self.name)
    }
}

/// The environment with compilers and packers.
pub fn tools() -> Result<Venv> {
    let venv = Venv::kept("dist")?;
    venv.install(TOOLS)?;
    Ok(venv)
}

/// The arguments of a call of cargo that compiles and links with zig: `python -m ziglang` is the compiler.
pub fn zig_cargo(venv: &Venv) -> Call {
    let program = venv.python().with_file_name("cargo-zigbuild");
    Call::new(program).env("CARGO_ZIGBUILD_PYTHON_PATH", venv.python())
}

/// Type-checks the program and the Python module for systems, by default for all.
pub fn check(names: &[&str]) -> Result<()> {
    let names: Vec<&str> =
        if names.is_empty() { SYSTEMS.map(|system| checked_as(system.name)).to_vec() } else { names.to_vec() };
    let venv = tools()?;
    for name in names {
        eprintln!("{name}");
        ensure_library(name)?;
        let packages = ["--package", "lapwing-cli", "--package", "lapwing-python"];
        let call = zig_cargo(&venv).args(["check", "--release", "--locked", "--target", name]).args(packages);
        call.within(root()).run()?;
    }
    Ok(())
}

/// The target with which a system is type-checked from another one. The C parts of some crates need headers of Windows; zig has
/// those of MinGW. What the Rust code sees is the same.
fn checked_as(name: &str) -> &str {
    if name == "x86_64-pc-windows-msvc" && !cfg!(windows) { "x86_64-pc-windows-gnu" } else { name }
}

fn ensure_library(name: &str) -> Result<()> {
    let sysroot = Call::new("rustc").args(["--print", "sysroot"]).read()?;
    let library = std::path::Path::new(&sysroot).join("lib/rustlib").join(name).join("lib");
    if library.exists() {
        return Ok(());
    }
    let call = Call::new("rustup").args(["target", "add", name]).quiet_stdout();
    call.run().map_err(|error| format!("Rust's standard library for {name} is missing: {error}"))
}

/// The triple of this machine.
fn host() -> Result<String> {
    let text = Call::new("rustc").args(["--version", "--verbose"]).read()?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not name its system".into())
}
