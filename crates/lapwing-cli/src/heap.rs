//! Options of the C library's allocator that make memory predictable, for `--plan`.

/// Blocks of 4 MiB and more are mapped one by one, and go back to the system when they are freed. So does free memory at
/// the end of the heap, from 512 KiB on. All threads share one heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OPTIONS: [(libc::c_int, libc::c_int); 3] =
    [(libc::M_MMAP_THRESHOLD, 4 << 20), (libc::M_TRIM_THRESHOLD, 512 << 10), (libc::M_ARENA_MAX, 1)];

/// Makes the allocator return freed memory to the system at once.
///
/// By default, glibc raises the size of blocks that are mapped one by one, up to 32 MiB, and does not return smaller freed blocks.
/// The memory of a run then depends on the order in which arrays are allocated and freed, which no plan can predict. Measured
/// on `harmonic` with 60,000 × 16 rows: 1.67 s and 137 MiB without these options, 1.67 s and 123 MiB with them, 1.94 s when
/// blocks of 512 KiB are mapped one by one.
///
/// By default each thread has a heap of its own, and a block in use at its end keeps what was freed before it. With 120,000 × 24 rows on
/// busy processors, where threads end late, that is 7 of 117 MiB. Threads allocate rarely, so one heap takes no longer:
/// measured with two threads on `auto`, `forest` and `low-rank`.
///
/// Other systems are left unchanged.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (option, bytes) in OPTIONS {
        // SAFETY: mallopt may be called at any time: it sets a number under a lock, and ignores unknown ones.
        unsafe { libc::mallopt(option, bytes) };
    }
}
