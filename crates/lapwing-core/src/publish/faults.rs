//! System calls of this thread that fail on purpose, for tests of what a failure leaves behind.

use std::cell::Cell;
use std::io;

thread_local! {
    /// Calls of this thread until one fails; none fails where it is `None`.
    static UNTIL_FAULT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Counts a call, and fails if its turn has come.
pub(super) fn step() -> io::Result<()> {
    match UNTIL_FAULT.get() {
        None => Ok(()),
        Some(0) => {
            UNTIL_FAULT.set(None);
            Err(io::Error::from_raw_os_error(libc::EIO))
        }
        Some(left) => {
            UNTIL_FAULT.set(Some(left - 1));
            Ok(())
        }
    }
}

/// Does `work` once for each of its calls, of which another one fails each time, and at last without a failure.
/// `check` looks at what each attempt left: the number of the call that failed, and what `work` returned.
pub fn each_call_fails<T>(mut work: impl FnMut() -> T, mut check: impl FnMut(Option<usize>, T)) {
    for call in 0.. {
        UNTIL_FAULT.set(Some(call));
        let done = work();
        let has_failed = UNTIL_FAULT.take().is_none();
        check(has_failed.then_some(call), done);
        if !has_failed {
            return;
        }
    }
}
