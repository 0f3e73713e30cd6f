//! Names of temporary files, for a program that has to end without dropping them.

use std::ffi::CString;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// A name, and those that were noted before it. It lives as long as the program.
struct Noted {
    path: CString,
    before: *const Noted,
}

/// Held while a temporary file is created, and while files get their names.
static CHANGING: Mutex<()> = Mutex::new(());

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static LAST: AtomicPtr<Noted> = AtomicPtr::new(ptr::null_mut());

/// Holds up every thread that creates temporary files or gives files their names, until the result is dropped: for a process that removes
/// them and ends without waiting for its threads.
#[doc(hidden)]
#[must_use = "files are created again once this is dropped"]
pub fn hold_files() -> MutexGuard<'static, ()> {
    lock(&CHANGING)
}

/// Notes the temporary files of this process from now on, for [`remove_unfinished`]. Each takes some hundred bytes, which are not
/// given back: this is for programs, not for libraries.
#[doc(hidden)]
pub fn note_unfinished() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Removes the temporary files that are noted and still there. Allocates nothing and waits for nothing: a program may call it when it
/// has no memory left, or in a signal handler.
#[doc(hidden)]
pub fn remove_unfinished() {
    let mut at = LAST.load(Ordering::Acquire).cast_const();
    // SAFETY: the pointers are those of `remember`, whose values are never freed or changed.
    while let Some(Noted { path, before }) = unsafe { at.as_ref() } {
        remove(path);
        at = *before;
    }
}

#[cfg(unix)]
fn remove(path: &CString) {
    // SAFETY: the path is a C string. A name that is gone is no harm.
    unsafe { libc::unlink(path.as_ptr()) };
}

#[cfg(not(unix))]
fn remove(path: &CString) {
    let _ = path.to_str().map(std::fs::remove_file);
}

/// Notes the name of a temporary file.
pub(super) fn remember(path: &Path) {
    let absolute = || std::path::absolute(path).ok();
    if let Some(path) = absolute().filter(|_| IS_WANTED.load(Ordering::Relaxed))
        && let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes())
    {
        let noted = Box::into_raw(Box::new(Noted { path, before: ptr::null() }));
        let _ = LAST.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
            // SAFETY: until it is in the list, nothing else refers to the value.
            unsafe { (*noted).before = last };
            Some(noted)
        });
    }
}
