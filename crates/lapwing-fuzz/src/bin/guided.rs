//! libFuzzer on the target that the variable `LAPWING_FUZZ_TARGET` names, with arguments of libFuzzer.
//!
//! Coverage leads the mutations if the build has the flags of `cargo xtask fuzz`.

#![no_main]

use std::sync::{LazyLock, Mutex};

use cap::Cap;
use lapwing_fuzz::mutate::Mutator;
use lapwing_fuzz::{Bench, MEMORY, Target, judge, note_panics};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, MEMORY);

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("LAPWING_FUZZ_TARGET").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| panic!("LAPWING_FUZZ_TARGET names no target: '{name}'"))
});
static BENCH: LazyLock<Mutex<Bench>> = LazyLock::new(|| Mutex::new(Bench::new().expect("a folder for the inputs")));

fuzz_target!(init: note_panics(), |data: &[u8]| {
    let bench = BENCH.lock().expect("an input with a defect ends the process");
    if let Err(words) = judge(&bench, &TARGET, data) {
        eprintln!("DEFECT {words}");
        std::process::abort();
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut blind = |bytes: &mut Vec<u8>| {
        let (length, most) = (bytes.len(), max_size.max(bytes.len()));
        bytes.resize(most, 0);
        let length = fuzzer_mutate(bytes, length, most);
        bytes.truncate(length);
    };
    let mut bytes = data[..size].to_vec();
    (TARGET.mutate)(&mut Mutator::new(seed.into(), &mut blind), &mut bytes);
    let length = bytes.len().min(max_size);
    data[..length].copy_from_slice(&bytes[..length]);
    length
});
