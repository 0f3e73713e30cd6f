//! Fuzzing by libFuzzer, which follows coverage.
//!
//! Needs a build with the flags of `cargo xtask fuzz`. Without counters of coverage, libFuzzer mutates at random.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::Mutex;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

use crate::found::Found;
use crate::judge::note_panics;
use crate::mutate::{Mutator, mutate};
use crate::replay::Clock;
use crate::{Bench, Target, lock};

/// The function that libFuzzer calls for each input.
type Callback = unsafe extern "C" fn(*const u8, usize) -> c_int;

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(argc: *mut c_int, argv: *mut *mut *mut c_char, callback: Callback) -> c_int;
    fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int;
}

struct Work {
    target: &'static Target,
    bench: Bench,
    found: Found,
    clock: Clock,
}

/// Set before libFuzzer starts: its callbacks have no argument for it.
static WORK: Mutex<Option<Work>> = Mutex::new(None);

fn with_work<T>(act: impl FnOnce(&mut Work) -> T) -> Option<T> {
    lock(&WORK).as_mut().map(act)
}

/// Runs libFuzzer with these arguments and returns its exit code, if libFuzzer returns at all. Findings go to `folder`.
pub fn run(target: &'static Target, folder: &Path, args: &[&str]) -> std::io::Result<i32> {
    let work = Work { target, bench: Bench::new()?, found: Found::open(folder, target)?, clock: Clock::start() };
    *lock(&WORK) = Some(work);
    let args = ["fuzz"].iter().chain(args).map(|arg| CString::new(*arg)).collect::<Result<Vec<_>, _>>()?;
    let mut pointers: Vec<*mut c_char> = args.into_iter().map(CString::into_raw).collect();
    let mut count = pointers.len() as c_int;
    pointers.push(std::ptr::null_mut());
    let mut argv = pointers.as_mut_ptr();
    // SAFETY: the arguments are texts that end with zero, with a null pointer behind them. All live to the end of the
    // process, so libFuzzer may keep and replace them.
    Ok(unsafe { LLVMFuzzerRunDriver(&mut count, &mut argv, LLVMFuzzerTestOneInput) })
}

fuzz_target!(init: note_panics(), |data: &[u8]| {
    with_work(|work| {
        let outcome = work.clock.judge(&work.bench, work.target, data);
        work.found.note(data, &outcome);
    });
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let Some(target) = with_work(|work| work.target) else { return size };
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
