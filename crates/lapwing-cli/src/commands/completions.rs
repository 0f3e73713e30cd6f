//! `lapwing completions`: a script that completes commands and options in a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::options::Subject;
use crate::outcome::Outcome;
use crate::session::print;

const EXAMPLES: &str = "\
Examples:
  lapwing completions bash > ~/.local/share/bash-completion/completions/lapwing
  lapwing completions zsh > ~/.zfunc/_lapwing
  lapwing completions fish > ~/.config/fish/completions/lapwing.fish";

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for `program`.
    pub fn run(&self, program: Command) -> Result<Outcome, Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut Subject::add_all_to(program), "lapwing", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Done)
    }
}
