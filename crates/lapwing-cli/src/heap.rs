//! How the allocator of the C library treats large blocks, for a program that plans its memory.

/// Blocks from this size on go back to the system as soon as they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: libc::c_int = 512 << 10;

/// Lets freed memory go back to the system at once.
///
/// By itself glibc raises the size from which blocks are mapped on their own to that of the largest one that was freed, up to
/// 32 MiB, and keeps what is smaller: then the memory of a run depends on the order in which its arrays came and went, up to a third
/// above what is in use, and no plan can tell. Arrays are made once for a phase, so that mapping them anew costs nothing that can be
/// measured. Elsewhere nothing is changed.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: mallopt sets a number of the allocator under its own lock; it may be called at any time, and what it refuses it
        // leaves as it was.
        unsafe { libc::mallopt(option, RETURNED_BYTES) };
    }
}
