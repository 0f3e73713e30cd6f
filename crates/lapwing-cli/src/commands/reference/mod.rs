//! `lapwing reference`: pages about every command and option, for the documentation site and for those who package the program.
//!
//! All pages are made from the definitions with which arguments are parsed, so that none can be forgotten or differ from `--help`.

mod markdown;
mod page;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate_to};
use lapwing::data::Error;
use lapwing::models::METHODS;

use crate::failure::Failure;
use crate::options::Subject;
use crate::outcome::Outcome;
use page::{Page, pages};

/// Write pages about every command and option
#[derive(Args)]
#[command(hide = true)]
pub struct Reference {
    /// The folder, which is made if it is not there
    folder: PathBuf,

    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Pages of the documentation site
    Markdown,
    /// Manual pages, section 1
    Man,
    /// Completion scripts for all shells
    Completions,
}

impl Reference {
    /// Writes the pages of `program`.
    pub fn run(&self, program: &clap::Command) -> Result<Outcome, Failure> {
        fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, error))?;
        match self.format {
            Format::Markdown => {
                markdown::pages(&pages(program)).into_iter().try_for_each(|(name, text)| self.write(&name, &text))?
            }
            Format::Man => {
                pages(program).iter().try_for_each(|page| self.write(&format!("{}.1", page.name), manual(page)))?
            }
            Format::Completions => {
                let mut all = Subject::add_all_to(program.clone());
                // Each under the name that its shell looks for.
                Shell::value_variants().iter().try_for_each(|shell| {
                    let made = generate_to(*shell, &mut all, "lapwing", &self.folder);
                    made.map(drop).map_err(|error| Error::io(&self.folder, error))
                })?
            }
        }
        Ok(Outcome::Done)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| Error::io(&path, error))
    }
}

/// A manual page.
fn manual(page: &Page) -> Vec<u8> {
    let others = match page.method {
        Some(_) => "\n\nThe other options are those of lapwing-label(1).".into(),
        None if page.command.get_name() == "lapwing-label" => {
            let methods = METHODS.iter().map(|spec| format!("lapwing-label-{}(1)", spec.name)).collect::<Vec<_>>();
            format!("\n\nThe parameters of the methods are options too: {}.", methods.join(", "))
        }
        None => String::new(),
    };
    let examples = page.command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = page.command.clone().after_help(format!("{examples}{others}").trim().to_owned());
    let source = concat!("lapwing ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command).title(&page.name).section("1").date(" ").source(source).manual("lapwing");
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = man.render(&mut text);
    text
}
