//! One target under libFuzzer, which follows coverage; started by `fuzz campaign`.
#![no_main]

use std::path::PathBuf;
use std::sync::Mutex;

use lapwing_fuzz::found::Found;
use lapwing_fuzz::judge::{judge, note_panics};
use lapwing_fuzz::memory::Limited;
use lapwing_fuzz::mutate::{Mutator, mutate};
use lapwing_fuzz::{Bench, Target, campaign, target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[global_allocator]
static MEMORY: Limited = Limited::new();

struct Work {
    target: &'static Target,
    bench: Bench,
    found: Found,
}

static WORK: Mutex<Option<Work>> = Mutex::new(None);

/// The target and the folder come from the environment: the arguments are libFuzzer's.
fn work() -> Result<Work, String> {
    let name = std::env::var(campaign::TARGET).map_err(|_| "started by `fuzz campaign`, not by hand".to_owned())?;
    let target = target(&name).ok_or_else(|| format!("no target is called {name}"))?;
    let folder = PathBuf::from(std::env::var_os(campaign::FOLDER).unwrap_or_else(|| "target/fuzz".into()));
    let found = Found::open(&folder, target).map_err(|error| error.to_string())?;
    let bench = Bench::new().map_err(|error| error.to_string())?;
    note_panics();
    Ok(Work { target, bench, found })
}

fn with_work<T>(act: impl FnOnce(&mut Work) -> T) -> T {
    let mut guard = WORK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let work = guard.get_or_insert_with(|| {
        work().unwrap_or_else(|error| {
            eprintln!("guided: {error}");
            std::process::exit(2)
        })
    });
    act(work)
}

fuzz_target!(init: with_work(|_| ()), |data: &[u8]| {
    with_work(|work| {
        let outcome = judge(&work.bench, work.target, data);
        work.found.note(data, &outcome);
    });
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let target = with_work(|work| work.target);
    let mut blind = |bytes: &mut Vec<u8>, most: usize| {
        let (length, most) = (bytes.len(), most.max(bytes.len()));
        bytes.resize(most, 0);
        let length = fuzzer_mutate(bytes, length, most);
        bytes.truncate(length);
    };
    let mut bytes = data[..size].to_vec();
    mutate(target, &mut Mutator::new(seed.into(), max_size, &mut blind), &mut bytes);
    let length = bytes.len().min(max_size);
    data[..length].copy_from_slice(&bytes[..length]);
    length
});
