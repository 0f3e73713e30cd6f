//! Ctrl-C and SIGTERM: the run stops in order if it can, and the program ends within a second in any case.
//!
//! The first signal cancels the run. Loops of the library ask for that every few milliseconds and return an error; the program then ends
//! as after any other error, without temporary files, and with the checkpoint that it has. This is the better way, and the only one for
//! callers in Python, whose process goes on. But not all that takes time can ask: the sync of a file to a slow disk, a write to a pipe
//! that nobody reads, memory that is freed or swapped, code of other libraries. So a second thread waits for [`PATIENCE`] and then ends
//! the process with the same message and code. Before that it removes the temporary files, under a lock that keeps the other threads from
//! creating more and from renaming some of several files only; a file system that hangs in one of these holds it up.
//!
//! A second signal ends the program at once in the same way, and so does the first one while no output has been begun.

use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lapwing::data::{CancelToken, Error};
use lapwing_core::publish::{hold_files, remove_unfinished};

use crate::failure::Failure;
use crate::outcome::INTERRUPTED;
use crate::stderr::say_after;

/// Time for an orderly end after the first signal.
const PATIENCE: Duration = Duration::from_millis(700);
/// Time for the message, whose reader may be stuck.
const MESSAGE: Duration = Duration::from_millis(100);

/// What a signal does to this process.
#[derive(Default)]
pub struct Interrupts {
    /// Cancels the run.
    pub cancel: CancelToken,
    /// Whether nothing is lost if the program ends at once.
    may_exit: AtomicBool,
    prints: AtomicBool,
}

/// The state of this process.
pub static INTERRUPTS: LazyLock<Interrupts> = LazyLock::new(Interrupts::default);

/// Listens for signals from now on; until a session begins, they end the program at once. Only a process that `prints` says why.
pub fn listen(prints: bool) -> Result<(), Failure> {
    INTERRUPTS.prints.store(prints, Ordering::SeqCst);
    INTERRUPTS.may_exit(true);
    ctrlc::set_handler(|| INTERRUPTS.hear())
        .map_err(|e| Failure::Library(Error::Internal { reason: format!("cannot listen for Ctrl-C: {e}") }))
}

impl Interrupts {
    /// Whether a signal ends the program at once from now on.
    pub fn may_exit(&self, may: bool) {
        self.may_exit.store(may, Ordering::SeqCst);
    }

    /// Signals end the program without a message from now on.
    pub fn say_nothing(&self) {
        self.prints.store(false, Ordering::SeqCst);
    }

    fn hear(&'static self) {
        if self.cancel.is_canceled() || self.may_exit.load(Ordering::SeqCst) {
            self.end();
        }
        self.cancel.cancel();
        let wait = move || {
            thread::sleep(PATIENCE);
            self.end()
        };
        // Without a thread of its own, a second signal has to wait as well.
        if thread::Builder::new().spawn(wait).is_err() {
            wait();
        }
    }

    /// Ends the process without its other threads.
    fn end(&self) -> ! {
        let _held = hold_files();
        remove_unfinished();
        if self.prints.load(Ordering::SeqCst) {
            let (sender, said) = channel();
            let message = move || {
                say_after("error:", "31", "interrupted");
                // The reader may have given up.
                let _ = sender.send(());
            };
            if thread::Builder::new().spawn(message).is_ok() {
                let _ = said.recv_timeout(MESSAGE);
            }
        }
        process::exit(INTERRUPTED.into())
    }
}
