//! Values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind a lock. Nothing here leaves such a value half changed when it panics, so that a thread that did has done no harm.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
