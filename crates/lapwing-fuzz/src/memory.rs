//! A machine of little memory: an allocator that refuses what goes beyond a limit.
//!
//! A small file must not take gigabytes. Sizes that a file states are asked for fallibly and refused here; any other
//! allocation beyond the limit ends the process, which the campaign reports with the input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be held at a time.
pub const LIMIT: usize = 64 << 20;

/// The allocator of the system up to [`LIMIT`].
#[derive(Debug)]
pub struct Limited {
    held: AtomicUsize,
    limit: AtomicUsize,
}

impl Limited {
    /// Refuses nothing beyond [`LIMIT`].
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { held: AtomicUsize::new(0), limit: AtomicUsize::new(LIMIT) }
    }

    /// Whether `more` bytes fit; if so they are counted.
    fn take(&self, more: usize) -> bool {
        let held = self.held.fetch_add(more, Ordering::Relaxed);
        let fits = held.saturating_add(more) <= self.limit.load(Ordering::Relaxed);
        if !fits {
            self.give(more);
        }
        fits
    }

    fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed to the allocator of the system unchanged, or answered with null, which says that there is
// no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.give(layout.size());
        // SAFETY: pointer and layout are the caller's, from `alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: pointer, layout and size are the caller's.
        let new = unsafe { System.realloc(pointer, layout, size) };
        self.give(if new.is_null() { size } else { layout.size() });
        new
    }
}

/// Lets the allocator keep the pages of large buffers: readers take some of 256 KiB for each file, and to map and unmap
/// these anew for each input takes longer than to read it.
pub fn keep_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}
