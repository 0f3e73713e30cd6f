//! `lapwing completions`: a script that completes commands and options in a shell.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::session::print;
use crate::{Outcome, command_of_all};

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
    pub fn run(&self) -> Result<Outcome, Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut command_of_all(), "lapwing", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Done)
    }
}
