//! The collectives under mpirun: messages arrive, and all ranks end when one of them fails, panics or is killed.
//!
//! This program starts itself: without the variable [`CASE`] it is the test, with it one rank of a job.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use common::{Ran, mpirun, run};
use lapwing::data::{Communicator, Error, Result};
use lapwing_core::communicator::agree;
use lapwing_mpi::MpiCommunicator;

/// Variable with the case that the ranks run.
const CASE: &str = "LAPWING_TEST_CASE";
const OUT_OF_STEP: &str = "internal error: the ranks are out of step; please report it";

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(case) => rank(&case),
        Err(_) => {
            test();
            ExitCode::SUCCESS
        }
    }
}

fn test() {
    for ranks in [1, 2, 3, 16] {
        passes("lengths", ranks);
        passes("cuts", ranks);
        passes("large", ranks);
    }
    passes("threads", 2);
    for ranks in [2, 3, 16] {
        fails("agreed", ranks, Some("rank 1: out.csv: disk full"));
        fails("early", ranks, Some("rank 1: out.csv: disk full"));
        fails("everywhere", ranks, Some("out.csv: disk full"));
        fails("step", ranks, Some(OUT_OF_STEP));
        fails("panic", ranks, None);
        fails("killed", ranks, None);
    }
}

fn passes(case: &str, ranks: usize) {
    let ran = job(case, ranks);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "well\n"), "{case}, {ranks} ranks: {ran:?}");
}

/// All ranks fail in time, and print the text, if any, once.
fn fails(case: &str, ranks: usize, text: Option<&str>) {
    let ran = job(case, ranks);
    assert_ne!(ran.code, Some(0), "{case}, {ranks} ranks: {ran:?}");
    assert_eq!(ran.errors(), text.into_iter().collect::<Vec<_>>(), "{case}, {ranks} ranks: {ran:?}");
    assert!(text.is_none() || ran.code == Some(2), "{case}, {ranks} ranks: {ran:?}");
}

fn job(case: &str, ranks: usize) -> Ran {
    println!("{case}, {ranks} ranks");
    run(mpirun(ranks, &std::env::current_exe().unwrap()).env(CASE, case))
}

fn rank(case: &str) -> ExitCode {
    let communicator = MpiCommunicator::start().unwrap();
    let communicator = if case == "cuts" { communicator.with_pieces(7) } else { communicator };
    let ended = catch_unwind(AssertUnwindSafe(|| act(case, &communicator)));
    let result = ended.unwrap_or_else(|_| communicator.abort(101));
    if result.is_ok() && communicator.is_root() {
        println!("well");
    }
    lapwing_cli::end(&communicator, result)
}

fn act(case: &str, communicator: &MpiCommunicator) -> Result<()> {
    let (rank, size) = (communicator.rank(), communicator.size());
    let is_time = |round| rank == 1 && round == 3;
    match case {
        "lengths" => exchange(communicator, |rank| [0, 5, 1, 70_000][rank % 4]),
        "cuts" => exchange(communicator, |rank| [0, 7, 8, 13, 1][rank % 5]),
        "large" => exchange(communicator, |rank| if rank + 1 == size { 64 << 20 } else { rank }),
        "threads" => threads(communicator),
        "agreed" => meet(communicator, |round| agree(communicator, fail_if(is_time(round)))),
        "early" => meet(communicator, |round| fail_if(is_time(round))),
        "everywhere" => meet(communicator, |round| fail_if(round == 3)),
        "step" if rank == 0 => communicator.gather(b"x").map(|_| ()),
        "step" => communicator.broadcast(b"x".to_vec()).map(|_| ()),
        "panic" => meet(communicator, |round| {
            assert!(!is_time(round), "on purpose");
            Ok(())
        }),
        "killed" => meet(communicator, |round| {
            if is_time(round) {
                kill_self();
            }
            Ok(())
        }),
        _ => panic!("unknown case {case}"),
    }
}

/// Gathers messages of these lengths and broadcasts each of them; twice, because leftovers would show in the second round.
fn exchange(communicator: &MpiCommunicator, length: impl Fn(usize) -> usize) -> Result<()> {
    let message = |rank: usize| (0..length(rank)).map(|at| (at * 31 + rank) as u8).collect::<Vec<u8>>();
    for _ in 0..2 {
        let all = communicator.gather(&message(communicator.rank()))?;
        assert_eq!(all.len(), if communicator.is_root() { communicator.size() } else { 0 });
        assert!(all.iter().enumerate().all(|(rank, bytes)| *bytes == message(rank)));
        for rank in 0..communicator.size() {
            // Messages of other ranks than the root are ignored, whatever their length.
            let passed = if communicator.is_root() { message(rank) } else { vec![9; 10 * communicator.rank()] };
            assert!(communicator.broadcast(passed)? == message(rank));
        }
        agree(communicator, Ok(()))?;
    }
    Ok(())
}

/// All ranks of a machine together start at most as many threads as it has processors.
fn threads(communicator: &MpiCommunicator) -> Result<()> {
    let own = communicator.threads().expect("a rank beside others has a share");
    let all = communicator.gather(&[own as u8])?;
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let sum = all.iter().map(|threads| usize::from(threads[0])).sum::<usize>();
    assert!(
        !communicator.is_root() || (communicator.size()..=available.max(communicator.size())).contains(&sum),
        "{sum}"
    );
    Ok(())
}

/// More rounds of collectives than any case needs, with a call before each.
fn meet(communicator: &MpiCommunicator, mut before: impl FnMut(usize) -> Result<()>) -> Result<()> {
    for round in 0..100 {
        before(round)?;
        communicator.gather(b"something")?;
        communicator.broadcast(b"anything".to_vec())?;
    }
    panic!("no rank failed")
}

fn fail_if(fails: bool) -> Result<()> {
    if fails { Err(Error::io("out.csv", std::io::Error::other("disk full"))) } else { Ok(()) }
}

fn kill_self() {
    Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status().unwrap();
}
