//! Available memory, and allocations that fail with an error instead of ending the process.
//!
//! A system that overcommits memory lets a large allocation succeed, and ends the process when it writes to the pages.
//! Therefore large requests are first compared with the free memory of the machine and of the control group of the
//! process (the limit of a container). The process's own limits (`ulimit -v`) are tested by allocating the bytes and
//! freeing them at once: memory that the allocator keeps for reuse counts toward these limits although it is free.
//! Cost: some 50 µs for a request of at least 1 MiB.

use std::cell::Cell;
use std::fs::read_to_string;

use crate::{Error, Result};

/// Smaller requests are not checked.
const LEAST_CHECKED: u64 = 1 << 20;

/// For smaller requests the system is not asked what is free, which takes a fifth of a millisecond.
const LEAST_ASKED: u64 = 1 << 24;

/// Returns an error if `bytes` are not free; `what` names what needs them, and `advice` says how to need less.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn check_memory(what: &str, bytes: u64, advice: &str) -> Result<()> {
    if bytes < LEAST_CHECKED {
        return Ok(());
    }
    let is_too_much = || bytes >= LEAST_ASKED && free_with_swap().is_some_and(|free| bytes > free);
    let can_have =
        || usize::try_from(bytes).is_ok_and(|bytes| ask(|| Vec::<u8>::new().try_reserve_exact(bytes).is_ok()));
    if is_too_much() || !can_have() {
        return Err(too_large(what, bytes, advice));
    }
    Ok(())
}

/// Returns an error if a step is planned to reach `bytes` of resident memory, those that the process holds already included, and so
/// many are not free.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn check_plan(what: &str, bytes: u64, advice: &str) -> Result<()> {
    let held = kibibytes("/proc/self/status", "VmRSS:").unwrap_or(0);
    match least([free_with_swap(), of_limits()]).map(|free| free.saturating_add(held)) {
        Some(limit) if bytes > limit => Err(Error::too_large(what, bytes, limit, advice)),
        _ => Ok(()),
    }
}

thread_local! {
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Makes a request of memory that may be refused.
pub fn ask<T>(request: impl FnOnce() -> T) -> T {
    IS_ASKING.set(true);
    let answer = request();
    IS_ASKING.set(false);
    answer
}

/// Whether this thread is prepared for an allocation to fail: for allocators, which are not told.
#[doc(hidden)]
pub fn is_asking() -> bool {
    IS_ASKING.try_with(Cell::get).unwrap_or(false)
}

/// `len` zeros, or an error if there is no memory for them. The pages are not touched.
///
/// # Errors
/// As [`check_memory`].
pub fn zeros<T: Clone + Default>(what: &str, len: usize, advice: &str) -> Result<Vec<T>> {
    // Allocates once with a check and frees that: an allocation of zeros cannot report a failure.
    drop(with_capacity::<T>(what, len, advice)?);
    Ok(vec![T::default(); len])
}

/// `len` copies of `value`, or an error if there is no memory for them.
///
/// # Errors
/// As [`check_memory`].
pub fn filled<T: Clone>(what: &str, len: usize, value: T, advice: &str) -> Result<Vec<T>> {
    let mut values = with_capacity(what, len, advice)?;
    values.resize(len, value);
    Ok(values)
}

/// An empty vector with room for `len` values, or an error if there is no memory for them.
///
/// # Errors
/// As [`check_memory`].
pub fn with_capacity<T>(what: &str, len: usize, advice: &str) -> Result<Vec<T>> {
    check_memory(what, bytes_of::<T>(len), advice)?;
    let mut values = Vec::new();
    ask(|| values.try_reserve_exact(len)).map_err(|_| too_large(what, bytes_of::<T>(len), advice))?;
    Ok(values)
}

/// Reserves room for `more` values in `values`, or returns an error.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn reserve<T>(what: &str, values: &mut Vec<T>, more: usize, advice: &str) -> Result<()> {
    let bytes = bytes_of::<T>(values.len().saturating_add(more));
    ask(|| values.try_reserve_exact(more)).map_err(|_| too_large(what, bytes, advice))
}

fn bytes_of<T>(len: usize) -> u64 {
    (len as u64).saturating_mul(size_of::<T>() as u64)
}

/// The error for `bytes` that are not free.
fn too_large(what: &str, bytes: u64, advice: &str) -> Error {
    let free = least([free_with_swap(), of_limits()]).unwrap_or(isize::MAX as u64);
    // More may be free than that, in several pieces: the allocator needs one.
    Error::too_large(what, bytes, free.min(bytes.saturating_sub(1)), advice)
}

/// Memory that this process could allocate now without swapping, in bytes: the least of the system, its control group
/// and its own limits; `None` if all are unknown.
pub fn available_memory_bytes() -> Option<u64> {
    least([meminfo("MemAvailable:"), of_control_group(), of_limits()])
}

/// Free memory of the system and the control group, including swap space.
fn free_with_swap() -> Option<u64> {
    let system = meminfo("MemAvailable:").map(|free| free.saturating_add(meminfo("SwapFree:").unwrap_or(0)));
    least([system, of_control_group()])
}

fn least<const N: usize>(limits: [Option<u64>; N]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

fn meminfo(name: &str) -> Option<u64> {
    kibibytes("/proc/meminfo", name)
}

/// The bytes that a line of a file of the kernel states in kB.
pub fn kibibytes(file: &str, name: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Memory left within the limits of the process (`ulimit -v`, `ulimit -d`).
fn of_limits() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let left = |limit: &str, used: &str| {
        let limit = soft_limit(&limits, limit)?;
        Some(limit.saturating_sub(kibibytes("/proc/self/status", used).unwrap_or(0)))
    };
    least([left("Max address space", "VmSize:"), left("Max data size", "VmData:")])
}

/// The first number of a line; `None` if it is "unlimited".
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Memory left within the control group of the process and the groups above it.
fn of_control_group() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let mut free: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        for part in ancestors(path) {
            free = least([free, left_in(&format!("{root}{part}"), limit, used)]);
        }
    }
    free
}

/// A path of control groups and the paths above it, up to the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    std::iter::successors(Some(path), |path| path.rfind('/').map(|at| &path[..at]))
}

/// Cached pages of files, which count as used but can be freed.
fn left_in(folder: &str, limit: &str, used: &str) -> Option<u64> {
    let number = |name: &str| read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(used)?);
    let files = read_to_string(format!("{folder}/memory.stat")).ok().and_then(|text| {
        let inactive = text.lines().find_map(|line| line.strip_prefix("inactive_file "))?;
        inactive.trim().parse::<u64>().ok()
    });
    Some(limit.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused_with_what_to_do() {
        for error in [
            zeros::<f64>("a matrix", usize::MAX / 64, "give fewer rows").unwrap_err(),
            filled("a matrix", usize::MAX / 64, 1.0f64, "give fewer rows").unwrap_err(),
            with_capacity::<[u64; 8]>("a matrix", usize::MAX / 2, "give fewer rows").unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.starts_with("a matrix needs ") && text.ends_with("; give fewer rows"), "{text}");
            assert!(text.contains("EiB"), "{text}");
        }
        assert_eq!(zeros::<f64>("", 3, "").unwrap(), [0.0; 3]);
        assert_eq!(filled("", 2, 7u8, "").unwrap(), [7, 7]);
        assert!(with_capacity::<u64>("", 1 << 20, "").unwrap().capacity() >= 1 << 20);
        assert!(check_memory("", LEAST_CHECKED - 1, "").is_ok());
    }

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         4294967296           unlimited            bytes     \n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(1 << 32));
        assert_eq!(soft_limit(limits, "Max data size"), None);
        assert_eq!(soft_limit(limits, "Max stack size"), None);
        assert_eq!(ancestors("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", ""]);
        assert_eq!(ancestors("/").collect::<Vec<_>>(), [""]);
        assert_eq!(least([None, Some(3), Some(2)]), Some(2));
    }
}
