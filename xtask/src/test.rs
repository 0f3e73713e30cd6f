//! `cargo xtask test`: all checks, the cheapest first; stops at the first that fails.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{Call, Result, root, target};
use crate::python::Venv;
use crate::site::{self, doc};
use crate::{layers, levels, mpi, wheel};

/// Packages for the Python tests, besides the requirements of the wheel.
const TEST_PACKAGES: [&str; 12] = [
    "pytest",
    "pytest-xdist",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "matplotlib",
    "mypy",
    "pyright[nodejs]",
    "numpydoc",
    "dask[array,dataframe,distributed]",
    "pyspark",
];

/// Runs all checks and prints the time of each.
pub fn test() -> Result<()> {
    let mut log = Log::default();
    let outcome = checks(&mut log);
    log.summary(outcome.is_ok());
    outcome
}

fn checks(log: &mut Log) -> Result<()> {
    log.step("format", || Call::cargo("fmt").args(["--all", "--", "--check"]).run())?;
    log.step("layers", || layers::check(&[]))?;
    log.step("MPI library", mpi::ensure)?;
    // Packages come while crates compile.
    let packages = std::thread::spawn(|| {
        let venv = Venv::kept("test")?;
        venv.install(TEST_PACKAGES)?;
        site::environment().map(|site| (venv, site))
    });
    log.step("clippy", || {
        let scope = ["--release", "--locked", "--workspace", "--all-targets"];
        Call::cargo("clippy").args(scope).args(mpi::FEATURES).args(["--", "-D", "warnings"]).run()
    })?;
    log.step("documentation", || doc(&mpi::FEATURES))?;
    log.step("Rust tests", || Call::cargo("test").args(["--release", "--locked", "--workspace"]).run())?;
    log.step("kernels without vector instructions", levels::test)?;
    log.step("MPI tests", mpi::test)?;
    let wheel = log.step("wheel", || wheel::build(None))?;
    log.step("wheel in a clean environment", || smoke(&wheel))?;
    let (venv, site) = log.step("environment of the Python tests", || {
        let (venv, site) = packages.join().map_err(|_| "the packages could not be installed".to_owned())??;
        venv.install_wheel(&wheel)?;
        Ok((venv, site))
    })?;
    log.step("Python tests", || python_tests(&venv))?;
    log.step("site", || site::build(site, &wheel, &target().join("site"), true).map(drop))
}

/// Imports the wheel in an environment with only its requirements, in a folder without the sources.
fn smoke(wheel: &Path) -> Result<()> {
    let venv = Venv::fresh("clean")?;
    venv.install([wheel])?;
    venv.call().args(["-c", "import lapwing; lapwing.show_versions()"]).within(target()).run()
}

/// Runs the tests from outside `python/` and keeps that folder off the import path, so that they test the installed wheel. Files run side by
/// side.
fn python_tests(venv: &Venv) -> Result<()> {
    let options =
        ["-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"];
    venv.call().args(options).args([root().join("python/tests")]).within(target()).run()
}

/// Names and durations of the checks so far. Only the last one can have failed.
#[derive(Default)]
struct Log {
    steps: Vec<(&'static str, Duration)>,
}

impl Log {
    fn step<T>(&mut self, name: &'static str, check: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n=== {name}");
        // The checks write to the same stdout; flushing keeps the order.
        let _ = std::io::stdout().flush();
        let start = Instant::now();
        let outcome = check();
        let took = start.elapsed();
        self.steps.push((name, took));
        println!("=== {name}: {} after {:.1} s", if outcome.is_ok() { "passed" } else { "FAILED" }, took.as_secs_f64());
        outcome.map_err(|message| format!("{name} failed: {message}"))
    }

    fn summary(&self, all_passed: bool) {
        println!();
        for (index, (name, took)) in self.steps.iter().enumerate() {
            let failed = !all_passed && index + 1 == self.steps.len();
            println!("{:<40} {:>8.1} s  {}", name, took.as_secs_f64(), if failed { "FAILED" } else { "passed" });
        }
        let total: Duration = self.steps.iter().map(|step| step.1).sum();
        println!("{:<40} {:>8.1} s", "total", total.as_secs_f64());
    }
}
