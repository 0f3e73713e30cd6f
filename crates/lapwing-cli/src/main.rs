//! The program `lapwing`, in one process; the rest is in the library of this crate.

use std::process::ExitCode;

use lapwing::data::Alone;

#[global_allocator]
static ALLOCATOR: lapwing_cli::Allocator = lapwing_cli::Allocator;

fn main() -> ExitCode {
    lapwing_cli::main(&Alone, None)
}
