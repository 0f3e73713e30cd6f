//! Limits of the system that end a program without a word, unless it listens: on the size of files, and on memory.

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(unix)]
use std::io::Write;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

use lapwing_core::memory::is_asking;
use lapwing_core::publish::{note_unfinished, remove_unfinished};

/// Lets writes beyond a limit on the size of files (`ulimit -f`) fail with an error, as on a full disk. Unfinished files are noted, so
/// that an end without memory leaves none.
pub fn listen() {
    note_unfinished();
    #[cfg(unix)]
    // SAFETY: ignoring a signal changes nothing else.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// The allocator of the system for a program. Large requests are refused with an error that the caller passes on
/// ([`lapwing_core::memory`]). For all others, which cannot be refused, the program ends here with a message and the code of errors,
/// and not by a fault that looks like one of its own. No output is left unfinished.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: all calls go to the allocator of the system; a null pointer is passed on or ends the program.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn told(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && !is_asking() {
        end(size);
    }
    pointer
}

/// Ends the program, which has no memory for `size` more bytes. Allocates nothing. Where several threads get here, the first one speaks
/// and the others wait for the end.
#[cold]
#[cfg(unix)]
fn end(size: usize) {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
    remove_unfinished();
    let mut line = [0; 256];
    let mut rest = &mut line[..];
    // Formats a number without memory of its own; the line is long enough.
    let _ = writeln!(
        rest,
        "error: the memory is used up: {size} more bytes cannot be had; free memory or raise its limit (ulimit -v), \
         or give fewer rows or threads: --plan tells what is needed"
    );
    let length = 256 - rest.len();
    // SAFETY: the bytes are those of an array.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), length) };
    // SAFETY: ends the process at once, without destructors, which might allocate.
    unsafe { libc::_exit(crate::outcome::ERROR.into()) };
}

/// The standard library ends the program with a message of its own.
#[cold]
#[cfg(not(unix))]
fn end(_: usize) {
    remove_unfinished();
}
