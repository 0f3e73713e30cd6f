//! The program `lapwing-mpi`: `lapwing` as one rank of several.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use lapwing_mpi::MpiCommunicator;

#[global_allocator]
static ALLOCATOR: lapwing_cli::Allocator = lapwing_cli::Allocator;

/// The exit code of a panic in Rust.
const PANICKED: i32 = 101;

fn main() -> ExitCode {
    let communicator = match MpiCommunicator::start() {
        Ok(communicator) => communicator,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let threads = communicator.threads();
    let ended = catch_unwind(AssertUnwindSafe(|| lapwing_cli::main(&communicator, threads)));
    // Other ranks wait in a collective that this rank will not call.
    ended.unwrap_or_else(|_| communicator.abort(PANICKED))
}
