//! Reads inputs again, and writes valid ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cap::Cap;
use lapwing_fuzz::reading::reading;
use lapwing_fuzz::{Bench, MEMORY, TARGETS, Target, note_panics, replay};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, MEMORY);

const HELP: &str = "\
fuzz targets                the names of all targets
fuzz valid TARGET FOLDER    writes valid files of a format that only lapwing writes
fuzz run TARGET FILE…       reads inputs again; fails if one shows a defect
fuzz read TARGET FILE…      the contents of files, a line of JSON for each
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    note_panics();
    match dispatch(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[&str]) -> Result<bool, String> {
    let words = |error: std::io::Error| error.to_string();
    let bench = Bench::new().map_err(words)?;
    match args {
        ["targets"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["valid", name, folder] => {
            for (name, bytes) in (named(name)?.valid)(&bench) {
                std::fs::write(Path::new(folder).join(name), bytes).map_err(words)?;
            }
        }
        ["run", name, files @ ..] => {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            return Ok(replay(&bench, named(name)?, &files).map_err(words)? == 0);
        }
        ["read", name, files @ ..] => {
            for file in files {
                let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
                let mut line = reading(&bench, named(name)?, &bytes);
                line["file"] = (*file).into();
                println!("{line}");
            }
        }
        _ => print!("{HELP}"),
    }
    Ok(true)
}

fn named(name: &str) -> Result<&'static Target, String> {
    Target::named(name).ok_or_else(|| format!("no target is called '{name}'; `fuzz targets` lists them"))
}
