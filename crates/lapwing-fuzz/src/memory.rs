//! A limit on memory: the allocator refuses what goes beyond it.
//!
//! A small file must not take gigabytes. Readers allocate sizes that a file states with a check, and return an error when
//! the limit refuses them. Any other allocation beyond the limit ends the process, and the campaign reports its input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most bytes of a process at a time.
pub const LIMIT: usize = 64 << 20;

/// The allocator of the system, up to [`LIMIT`].
#[derive(Debug, Default)]
pub struct Limited {
    held: AtomicUsize,
}

impl Limited {
    /// An allocator that has allocated nothing.
    pub const fn new() -> Self {
        Self { held: AtomicUsize::new(0) }
    }

    /// Counts `size` bytes and allocates; null if they go beyond the limit or the system refuses them.
    fn counted(&self, size: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
        let held = self.held.fetch_add(size, Ordering::Relaxed);
        let fits = held.saturating_add(size) <= LIMIT;
        let pointer = if fits { allocate() } else { std::ptr::null_mut() };
        if pointer.is_null() {
            self.forget(size);
        }
        pointer
    }

    fn forget(&self, size: usize) {
        self.held.fetch_sub(size, Ordering::Relaxed);
    }
}

// SAFETY: every call goes unchanged to the allocator of the system, or returns null, which stands for no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is that of the caller.
        self.counted(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is that of the caller.
        self.counted(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.forget(layout.size());
        // SAFETY: pointer and layout are those of the caller, from `alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: pointer, layout and size are those of the caller.
        let new = self.counted(size, || unsafe { System.realloc(pointer, layout, size) });
        if !new.is_null() {
            self.forget(layout.size());
        }
        new
    }
}

/// Lets the allocator of the system keep the pages of large buffers. Readers allocate buffers of 256 KiB for each file, and
/// mapping and unmapping them for each input takes longer than reading the input.
pub fn keep_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}
