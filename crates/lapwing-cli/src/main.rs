//! The program `lapwing`, in one process; the rest is in the library of this crate.

use std::process::ExitCode;

use lapwing::data::Alone;

fn main() -> ExitCode {
    lapwing_cli::main(&Alone, None)
}
